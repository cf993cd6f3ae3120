"""Trials that are kept as lines of a file, so that a campaign goes on where it was interrupted."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
