"""Random mechanisms with joints, loops and forces through gaussopt, judged by Newton and Euler to sixty decimals.

    python tests/soundness/models.py --count 100000 --jobs 2 --out FOLDER

Killed and started again it goes on where it was. Reproducers of what went wrong lie in FOLDER/faults; `--summary PAGE`
writes the tables between the markers of a page; `--only BLOCK` tries one block again and says what came of it. The exit
code is 1 if anything crashed or was called solved that the judge refutes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

FOLDER = str(Path(__file__).resolve().parent)
if FOLDER not in sys.path:
    sys.path.insert(0, FOLDER)

from campaign import ROOT  # noqa: E402  which also makes this package the one under test

FOLDERS = ("tests/soundness/mechanisms",)


def main(arguments: list[str] | None = None) -> int:
    """Run, or go on; then write faults and summary."""
    from soundness.mechanisms import page, work
    from soundness.trials import pool
    from soundness.trials.page import faults_of, insert, rows_of, write_faults

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="states (default 2000)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (default 1)")
    parser.add_argument("--out", type=Path, help="folder of the campaign")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--block", type=int, default=work.STATES, help="states of a block")
    parser.add_argument("--only", type=int, help="number of a block that is tried alone, without a folder")
    parser.add_argument("--summary", type=Path, help="page whose section between the markers is written")
    given = parser.parse_args(arguments)
    settings = {"seed": given.seed, "block": given.block, "code": pool.digest(ROOT, *FOLDERS)}
    if given.only is not None:
        results = [work.run_block(given.seed, given.only, set(), lambda index, name: None, given.block).mapping()]
        for fault in faults_of(results):
            print(*(fault[key] for key in ("kind", "index", "formulation", "solver", "outcome", "cause", "number")))
        print(page.summary(rows_of(results), results, settings))
        return 0
    if given.out is None:
        parser.error("give --out FOLDER, or --only BLOCK")
    try:
        pool.claim_folder(given.out, settings)
    except pool.OtherCode as error:
        print(error, file=sys.stderr)
        return 2
    try:
        what = given.seed, given.block, pool.show, work.__name__, work.states_of
        done = pool.drive(given.out, given.count, max(given.jobs, 1), *what)
    except KeyboardInterrupt:
        print("Stopped; the same command goes on from here.", file=sys.stderr)
        return 130
    results = [done[block] for block in sorted(done)]
    bad = write_faults(given.out, faults_of(results))
    section = page.summary(rows_of(results), results, settings)
    (given.out / "summary.md").write_text(section + "\n")
    if given.summary is not None:
        insert(given.summary, section, (page.BEGIN, page.END))
    print(section)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
