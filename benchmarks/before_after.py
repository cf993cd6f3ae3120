"""Time two checkouts of gaussopt beside each other: every row of `benchmarks/run.py`, old against new.

    python benchmarks/before_after.py OLD [NEW] [--only SECTION ...] [--rounds N] [--budget SECONDS] [--out FILE]
        [--json FILE]

Each round runs the old and the new suite one after the other, in turns of either order, each with a cache of its own.
The ratio of a row is the median over rounds of new divided by old: above 1 is slower. Contact motions take
milliseconds and are run in turns, motion for motion (`in_turns.py`), as are compiled motions without contacts. Rows
of the suites need a quiet machine; `--only` without a name leaves them out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import in_turns
from measuring import Spread

TIMES = ("seconds_per_step", "seconds", "microseconds")
"""Names under which a row tells its time."""

HERE = Path(__file__).resolve().parents[1]
SECTIONS = ("crank-slider", "four-bar", "steps", "batch", "chain", "starting")

Rows = dict[tuple[str, str], float]


def main() -> None:
    """Measure in turns, print the ratios, write them on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="checkout to compare with")
    parser.add_argument("new", type=Path, nargs="?", default=HERE, help="checkout that is judged; this one by default")
    parser.add_argument("--only", nargs="*", default=SECTIONS, help="sections of benchmarks/run.py")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--budget", type=float, default=6.0, help="seconds for a section in a round, about")
    parser.add_argument("--out", type=Path, help="Markdown page")
    parser.add_argument("--json", type=Path, help="ratios as numbers")
    arguments = parser.parse_args()
    trees = {"old": arguments.old.resolve(), "new": arguments.new.resolve()}
    with tempfile.TemporaryDirectory() as folder:
        caches = {which: Path(folder) / which for which in trees}
        rounds = []
        for k in range(arguments.rounds if arguments.only else 0):
            order = ("old", "new") if k % 2 == 0 else ("new", "old")
            print(f"round {k + 1} of {arguments.rounds} ...", file=sys.stderr, flush=True)
            sides = {which: suite(trees[which], caches[which], arguments.only, arguments.budget) for which in order}
            rounds.append((sides["old"], sides["new"]))
        print("compiled motions in turns ...", file=sys.stderr, flush=True)
        turns = in_turns.table(trees, caches)
    print("first motions in turns ...", file=sys.stderr, flush=True)
    first = in_turns.first_table(trees)
    ratios = compared(rounds) if rounds else {}
    found = f"Compiled motions, one of each checkout in turns, processor time:\n\n{turns}"
    found += f"\n\nFirst motions of a contact model, whose kernels are compiled for it, processor time:\n\n{first}"
    found += f"\n\nRows of the benchmarks:\n\n{table(ratios, rounds)}" if rounds else ""
    print(found)
    if arguments.out:
        versions = {which: version(tree) for which, tree in trees.items()}
        arguments.out.write_text(page(versions, found, arguments.only), encoding="utf-8")
    if arguments.json:
        numbers = [{"section": s, "row": r, "ratio": x.median, "quartiles": [x.lower, x.upper]}
                   for (s, r), x in ratios.items()]  # fmt: skip
        arguments.json.write_text(json.dumps(numbers, indent=1), encoding="utf-8")


def suite(tree: Path, cache: Path, sections: list[str], budget: float) -> Rows:
    """Seconds (or whatever unit the row has) of every row of one run of a checkout's suite."""
    cache.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "numbers.json"
        environment = {**os.environ, "PYTHONPATH": str(tree), "GAUSSOPT_CACHE": str(cache)}
        command = [
            sys.executable,
            "benchmarks/run.py",
            "--json",
            str(out),
            "--budget",
            str(budget),
            "--only",
            *sections,
        ]
        subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
        return dict(rows(json.loads(out.read_text(encoding="utf-8"))))


def rows(numbers: dict[str, Any]) -> Iterator[tuple[tuple[str, str], float]]:
    """Every row that tells a time: section, what is timed, time."""
    for section in numbers["sections"]:
        for data in section["tables"]:
            for row in data:
                time = next((row[key] for key in TIMES if isinstance(row.get(key), float)), None)
                if time is not None and time > 0:
                    yield (section["section"], label(row)), time


def label(row: dict[str, Any]) -> str:
    """The words of a row, and the sizes that tell it from others."""
    sizes = ("contacts", "links", "bodies", "size", "n", "k")
    words = [str(v) for k, v in row.items() if isinstance(v, str) and k != "does_more"]
    return ", ".join([*words, *(f"{k} = {row[k]}" for k in sizes if isinstance(row.get(k), int | float))])


def compared(rounds: list[tuple[Rows, Rows]]) -> dict[tuple[str, str], Spread]:
    """New divided by old for the rows that both suites have in every round."""
    common = [key for key in rounds[0][0] if all(key in old and key in new for old, new in rounds)]
    return {key: Spread.of([new[key] / old[key] for old, new in rounds]) for key in common}


def version(tree: Path) -> str:
    """The commit of a checkout."""
    command = ["git", "-C", str(tree), "describe", "--always", "--dirty"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def page(versions: dict[str, str], found: str, only: list[str]) -> str:
    """The ratios with what they compare."""
    return (
        "# Before and after\n\n"
        f"Times of commit {versions['new']} divided by those of commit {versions['old']}. The two were run in turns "
        "on one machine, each with a cache of its own. A ratio below 1 means that the newer one is faster.\n\n"
        f"{found}\n\nWritten by `python benchmarks/before_after.py OLD NEW{'' if only else ' --only'} "
        "--out docs/before-after.md`.\n"
    )


def table(ratios: dict[tuple[str, str], Spread], rounds: list[tuple[Rows, Rows]]) -> str:
    """Markdown, the rows that became slowest first."""
    lines = ["| section | row | new divided by old, median (quartiles) |", "|---|---|---|"]
    for (section, row), x in sorted(ratios.items(), key=lambda item: -item[1].median):
        lines.append(f"| {section} | {row} | {x.median:.3f} ({x.lower:.3f} to {x.upper:.3f}) |")
    lines.append(f"\n{len(ratios)} rows, {len(rounds)} rounds.")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
