"""Trials that are kept as lines of a file, so that a campaign goes on where it was interrupted."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .page import insert

Row = dict[str, Any]


def run(count: int, out: Path, trial: Callable[[int], Row], told: Callable[[Row], str | None]) -> list[Row]:
    """Trials 0, ..., count - 1; those that the file already holds are not repeated.

    What is `told` of a trial, and every fiftieth number, go to standard error.
    """
    kept = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    known = {row["seed"] for row in kept}
    with out.open("a") as file:
        for seed in range(count):
            if seed not in known:
                row = trial(seed)
                kept.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
                if (words := told(row)) is not None:
                    print(f"motion {seed}: {words}", file=sys.stderr)
            if seed % 50 == 49:
                print(f"{seed + 1} of {count}", file=sys.stderr)
    return [row for row in kept if row["seed"] < count]


def campaign(
    description: str, count: int, out: str, trial: Callable[[int], Row], told: Callable[[Row], str | None],
    summary: Callable[[Sequence[Row]], str], marks: tuple[str, str],
) -> list[Row]:  # fmt: skip
    """The command line of such a campaign: run it, print its summary, and put that between the marks of a page."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--out", type=Path, default=Path(out))
    parser.add_argument("--summary", type=Path)
    given = parser.parse_args()
    rows = run(given.count, given.out, trial, told)
    text = summary(rows)
    if given.summary is not None:
        insert(given.summary, f"{marks[0]}\n{text}\n{marks[1]}", marks)
    print(text)
    return rows
