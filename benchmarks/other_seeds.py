"""Check that other seeds give the numbers of Table 1 of the papers' report within the bands that it states.

    python benchmarks/other_seeds.py 1000 2000

Every claim is checked again with all seeds increased by 1000, then by 2000, and its sentence compared with the one in
the committed table: a number after "about" may change by a tenth, one after "roughly" by a factor of
two, and a power of ten with one digit is an order of magnitude. The sizes of samples are not compared, and all other
numbers must be the same. Takes two minutes of processor time for each number.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from gaussopt.papers import ledger
from gaussopt.papers.claim import Judgement
from gaussopt.papers.evidence import adversarial_search
from gaussopt.solvers._evolution import Evolution

TABLE = Path(__file__).parents[1] / "reports" / "papers" / "data" / "claims.csv"

NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")

BANDS = (
    (r"about $", "", 1.1),
    (r"roughly $", "", 2.0),
    ("", " random", float("inf")),
)
"""What stands before a number and behind it, and the factor by which it may change."""

ORDER = re.compile(r"\de[-+]\d+"), 1e3
"""A number that is an order of magnitude, and the factor by which it may change."""


MEASURED = re.compile(r"; one evaluation (takes|does not always take) longer")
"""What a sentence says of times, which the load of the machine may change."""


def outside(stated: str, found: str) -> list[str]:
    """Return what a sentence says otherwise than the stated one; nothing if all its numbers are in their bands."""
    stated, found = (MEASURED.sub("", text) for text in (stated, found))
    if NUMBER.sub("#", stated) != NUMBER.sub("#", found):
        return [f"the words differ: {found}"]
    off = []
    for one, other in zip(NUMBER.finditer(stated), NUMBER.finditer(found), strict=True):
        a, b = (float(of[0].replace("−", "-")) for of in (one, other))
        low, high = sorted((abs(a), abs(b)))
        if a != b and (a * b < 0 or high > _factor(one) * low):
            off.append(f"{other[0]} in place of {one[0]}")
    return off


def _factor(number: re.Match[str]) -> float:
    """Return the factor by which a number may change, from itself and the words around it."""
    before, behind = number.string[: number.start()], number.string[number.end() :]
    order, factor = ORDER
    found = [f for a, b, f in BANDS if re.search(a, before) and re.match(b, behind)]
    return max([1.0, *found, *([factor] if order.fullmatch(number[0]) else [])])


def table() -> dict[str, tuple[str, str]]:
    """Return verdict and sentence of each claim in the committed table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {number: (verdict, sentence) for number, _, _, verdict, sentence in rows}


def judged(shift: int) -> Iterator[tuple[str, Judgement]]:
    """Yield the judgement of each claim with all seeds increased."""
    draw, search, begin = np.random.default_rng, adversarial_search.minimise, Evolution.__init__

    def drawn(seed: Any = None) -> Any:
        return draw(seed + shift if isinstance(seed, int) else [*seed, shift] if isinstance(seed, list) else seed)

    def searched(cost: Any, bounds: Any, generations: int, seed: Any, *more: Any, **options: Any) -> Any:
        return search(cost, bounds, generations, seed + shift if isinstance(seed, int) else seed, *more, **options)

    def begun(self: Any, variant: Any, options: Any) -> None:
        begin(self, variant, replace(options, seed=options.seed + shift))

    claims = ledger.ledger()
    with ExitStack() as stack:
        stack.enter_context(patch.object(np.random, "default_rng", drawn))
        stack.enter_context(patch.object(Evolution, "__init__", begun))
        for module in [of for of in sys.modules.values() if getattr(of, "minimise", None) is search]:
            stack.enter_context(patch.object(module, "minimise", searched))
        for claim in claims:
            yield claim.id, ledger.check(claim.id, False)


def main() -> int:
    """Run the command line; the number of claims with something outside its band."""
    parser = argparse.ArgumentParser(description="Compare Table 1 of the papers' report with other seeds.")
    parser.add_argument("shifts", type=int, nargs="+", help="numbers that are added to all seeds")
    stated, wrong = table(), 0
    for shift in parser.parse_args().shifts:
        for number, found in judged(shift):
            verdict, sentence = stated[number]
            off = [] if str(found.verdict) == verdict else [f"the verdict is {found.verdict}"]
            off += outside(sentence, found.reason)
            wrong += bool(off)
            print(f"seeds + {shift}, {number}: {'; '.join(off) or 'within the bands'}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
