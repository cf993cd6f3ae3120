"""Random mechanisms with joints, loops and forces through gaussopt, judged by Newton and Euler to sixty decimals.

    python tests/soundness/models.py --count 100000 --jobs 2 --out FOLDER

Killed and started again it goes on where it was. Reproducers of what went wrong lie in FOLDER/faults; `--summary PAGE`
writes the tables between the markers of a page; `--only BLOCK` tries one block again and says what came of it. The exit
code is 1 if anything crashed or was called solved that the judge refutes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

FOLDER = str(Path(__file__).resolve().parent)
if FOLDER not in sys.path:
    sys.path.insert(0, FOLDER)

from campaign import ROOT, carry_out, parser  # noqa: E402  which also makes this package the one under test

FOLDERS = ("tests/soundness/mechanisms",)


def main(arguments: list[str] | None = None) -> int:
    """Run, or go on; then write faults and summary."""
    from soundness.mechanisms import page, work
    from soundness.trials import pool
    from soundness.trials.page import faults_of, rows_of

    def summary(results: list[dict[str, Any]], settings: dict[str, Any]) -> str:
        return page.summary(rows_of(results), results, settings)

    options = parser(__doc__, "states", 2000, work.STATES)
    options.add_argument("--only", type=int, help="number of a block that is tried alone, without a folder")
    given = options.parse_args(arguments)
    if given.only is not None:
        results = [work.run_block(given.seed, given.only, set(), lambda index, name: None, given.block).mapping()]
        for fault in faults_of(results):
            print(*(fault[key] for key in ("kind", "index", "formulation", "solver", "outcome", "cause", "number")))
        print(summary(results, {"seed": given.seed, "block": given.block, "code": pool.digest(ROOT, *FOLDERS)}))
        return 0
    if given.out is None:
        options.error("give --out FOLDER, or --only BLOCK")
    counted = work.__name__, work.states_of
    return carry_out(given, summary, (page.BEGIN, page.END), *counted, folders=FOLDERS)


if __name__ == "__main__":
    sys.exit(main())
