"""Random steps and programs, borders included, through every formulation and solver, judged in exact arithmetic.

    python tests/soundness/campaign.py --count 1000000 --jobs 2 --out FOLDER

Killed and started again it goes on where it was. Reproducers of what went wrong lie in FOLDER/faults; `--summary PAGE`
writes the tables between the markers of a page. The exit code is 1 if anything crashed or was called solved that the
judge refutes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
ROOT = Path(__file__).resolve().parents[2]
# The package under test is this one; the tests import each other from their folder.
for folder in (str(ROOT / "tests"), str(ROOT)):
    if folder not in sys.path:
        sys.path.insert(0, folder)
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])


def parser(description: str | None, trials: str, count: int, block: int) -> argparse.ArgumentParser:
    """The options of a campaign."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--count", type=int, default=count, help=f"{trials} (default {count})")
    made.add_argument("--jobs", type=int, default=1, help="worker processes (default 1)")
    made.add_argument("--out", type=Path, help="folder of the campaign")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--block", type=int, default=block, help="programs or states of a block")
    made.add_argument("--summary", type=Path, help="page whose section between the markers is written")
    return made


def carry_out(
    given: argparse.Namespace, summary: Callable[[list[dict[str, Any]], dict[str, Any]], str], marks: tuple[str, str],
    *work: Any, folders: Sequence[str] = (),
) -> int:  # fmt: skip
    """Run, or go on; then write faults and summary; `work` is the module that does it and what counts its trials."""
    from soundness.trials import page, pool

    settings = {"seed": given.seed, "block": given.block, "code": pool.digest(ROOT, *folders)}
    try:
        pool.claim_folder(given.out, settings)
    except pool.OtherCode as error:
        print(error, file=sys.stderr)
        return 2
    try:
        done = pool.drive(given.out, given.count, max(given.jobs, 1), given.seed, given.block, pool.show, *work)
    except KeyboardInterrupt:
        print("Stopped; the same command goes on from here.", file=sys.stderr)
        return 130
    results = [done[block] for block in sorted(done)]
    bad = page.write_faults(given.out, page.faults_of(results))
    section = summary(results, settings)
    (given.out / "summary.md").write_text(section + "\n")
    if given.summary is not None:
        page.insert(given.summary, section, marks)
    print(section)
    return 1 if bad else 0


def main(arguments: list[str] | None = None) -> int:
    """Run, or go on; then write faults and summary."""
    from soundness.trials import page, work

    options = parser(__doc__, "trials", 20_000, work.BLOCK)
    given = options.parse_args(arguments)
    if given.out is None:
        options.error("give --out FOLDER")

    def summary(results: list[dict[str, Any]], settings: dict[str, Any]) -> str:
        return page.summary(page.rows_of(results), settings, sum(r["seconds"] for r in results))

    return carry_out(given, summary, (page.BEGIN, page.END))


if __name__ == "__main__":
    sys.exit(main())
