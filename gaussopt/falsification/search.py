"""Search for an example by random draws, optimisation and enumeration of small integers; then shrink and prove it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import GaussoptError
from gaussopt.falsification.answers import FloatAnswer
from gaussopt.falsification.example import FIXED, READERS, SYMMETRIC, Example, Numbers
from gaussopt.falsification.spaces import Size, Space
from gaussopt.linalg.rational import exact
from gaussopt.papers.evidence.adversarial_search import maximise

DIFFERENT = 1e-6
"""Relative difference of two answers above which an example is shrunk; it is infinite if only one answer exists."""

NOTHING = 1e-6
"""Largest size of an answer that counts as zero, relative to the largest number of the example."""

CLEAR = 1e-3
"""Relative difference that an example must keep while it is shrunk and not yet proved."""

ROUND = 300
"""Number of random examples of each size that are drawn in a round."""

TOLD = 100
"""Number of examples of one method and size that are tried between two reports of progress."""

STARTS = 3
"""Number of examples of one size that are shrunk; the least complex result is kept."""

GENERATIONS = 20

INTEGERS = (0, 1, -1)
MOST_ENUMERATED = 20_000
"""The integers that are entries of the enumerated examples, and the largest number of these examples."""

Lines = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Proof:
    """Three lines that prove a difference, and the numbers that they name.

    `exact` is False if a user's function returned one of the answers in floating point.
    """

    lines: Lines
    numbers: dict[str, Any]
    exact: bool = True

    def to_mapping(self) -> dict[str, Any]:
        """Return the contents for JSON, with fractions as text."""
        return {"lines": list(self.lines), "numbers": _plain(self.numbers)}


def _plain(value: Any) -> Any:
    """Return a value with fractions as text and arrays as lists."""
    if isinstance(value, dict):
        return {name: _plain(of) for name, of in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else str(value)


@dataclass
class Search:
    """A search and its record.

    Attributes
    ----------
    space : the space of examples
    answers : functions that return the answers of both formulations in floating point
    prove : function that returns the proof of a difference on an example, or None
    seconds : time limit
    most : largest number of examples that are tried
    seed : seed of all draws
    progress : function that is called with the fraction of the limits that is used up
    account : record of the search, a row for each method and size
    """

    space: Space
    answers: tuple[FloatAnswer, FloatAnswer]
    prove: Callable[[Example], Proof | None]
    seconds: float
    most: float
    seed: int
    progress: Callable[[float], None] | None = None
    begin: float = field(default_factory=perf_counter)
    account: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @property
    def spent(self) -> float:
        """Seconds since the search began."""
        return perf_counter() - self.begin

    @property
    def over(self) -> bool:
        """Whether the time limit is exceeded."""
        return self.spent > self.seconds

    @property
    def tries(self) -> int:
        """Number of examples that satisfied the assumptions and were passed to both formulations."""
        return sum(row["tried"] for row in self.account.values())

    @property
    def limit(self) -> str:
        """The limit that ended the search, in words; "" if none has done so yet."""
        if self.over:
            return f"the time limit of {self.seconds:g} s"
        return f"the limit of {self.most} tries" if self.tries >= self.most else ""

    def run(self) -> tuple[Example, Proof] | None:
        """Return the least complex example that was found, with its proof, or None.

        Sizes are searched in increasing order; the search ends at the first size with an example.
        """
        rng = np.random.default_rng(self.seed)
        rounds, before = 0, -1
        while not self.limit and self.tries > before:
            before = self.tries
            for size in self.space.sizes:
                found = self._smallest(self._drawn(size, rng))
                if found is not None:
                    return found
                if rounds == 0 and not self.limit:
                    found = self._smallest(self._optimised(size, rng))
                    if found is not None:
                        return found
            if rounds == 0:
                found = self._smallest(self._enumerated())
                if found is not None:
                    return found
            rounds += 1
        return None

    def difference(self, numbers: Numbers) -> float:
        """Return the relative difference of the answers; infinite if one is missing, NaN if both are missing."""
        x, y = (answer(numbers) for answer in self.answers)
        if x is None or y is None:
            return np.nan if x is None and y is None else np.inf
        # If the true answer is zero, both answers consist of rounding errors.
        floor = NOTHING * max(float(np.abs(array).max(initial=0.0)) for array in numbers.values())
        size = max(float(np.abs(x).max(initial=0.0)), float(np.abs(y).max(initial=0.0)), floor)
        return float(np.abs(x - y).max(initial=0.0)) / size if size else 0.0

    def _row(self, way: str, size: Size | None) -> dict[str, Any]:
        words = "entries " + ", ".join(map(str, INTEGERS)) if size is None else self.space.words(size)
        empty = {"way": way, "size": words, "tried": 0, "compared": 0, "one has no answer": 0, "largest": 0.0}
        return self.account.setdefault((way, words), empty)

    def _counted(self, row: dict[str, Any], numbers: Numbers | None) -> float:
        """Return the difference on an example and count the example in `row`; NaN if the answers are not compared."""
        if numbers is None:
            return np.nan
        row["tried"] += 1
        if self.progress is not None and row["tried"] % TOLD == 0:
            self.progress(min(1.0, max(self.spent / self.seconds, self.tries / self.most)))
        value = self.difference(numbers)
        row["compared"] += bool(np.isfinite(value))
        row["one has no answer"] += bool(np.isinf(value))
        if np.isfinite(value):
            row["largest"] = max(row["largest"], value)
        return value

    def _drawn(self, size: Size, rng: np.random.Generator) -> Iterator[Example]:
        row = self._row("random draws", size)
        points = rng.uniform(-1.0, 1.0, (ROUND, self.space.count(size)))
        for x, numbers in zip(points, self.space.decoded(size, points), strict=True):
            if self.limit:
                return
            if self._counted(row, numbers) > DIFFERENT:
                example = self.space.example(size, x)
                if example is not None:
                    yield example

    def _optimised(self, size: Size, rng: np.random.Generator) -> Iterator[Example]:
        row, count = self._row("differential evolution", size), self.space.count(size)

        def gain(x: Vector) -> float:
            if self.limit:
                return -20.0
            value = self._counted(row, self.space.decode(size, x))
            return float(np.log10(min(value, 1e3) + 1e-18)) if np.isfinite(value) else -20.0

        best = maximise(gain, [(-1.0, 1.0)] * count, GENERATIONS, rng, population=1)
        if best.value > np.log10(DIFFERENT):
            example = self.space.example(size, best.at)
            if example is not None:
                yield example

    def _enumerated(self) -> Iterator[Example]:
        """Yield all examples of the smallest size with small integer entries; none if there are too many."""
        first = next((e for e in (self.space.example(self.space.sizes[0], x) for x in self._points()) if e), None)
        if first is None or first.setting:
            return
        places = [
            (name, place) for name, array in first.arrays.items() if name not in FIXED
            for place in np.ndindex(array.shape) if name != SYMMETRIC[first.kind] or place[0] <= place[1]
        ]  # fmt: skip
        if len(INTEGERS) ** len(places) > MOST_ENUMERATED:
            return
        row = self._row("enumeration", None)
        for values in product(INTEGERS, repeat=len(places)):
            if self.limit:
                return
            arrays = {name: array.copy() for name, array in first.arrays.items()}
            for (name, place), value in zip(places, values, strict=True):
                for at in {place, place[::-1]} if name == SYMMETRIC[first.kind] else {place}:
                    arrays[name][at] = exact([value])[0]
            example = Example(first.kind, arrays)
            valid = self._valid(example)
            if self._counted(row, example.numbers if valid else None) > DIFFERENT:
                yield example

    def _points(self) -> Iterator[Vector]:
        rng = np.random.default_rng(self.seed)
        return (rng.uniform(-1.0, 1.0, self.space.count(self.space.sizes[0])) for _ in range(100))

    def _valid(self, example: Example) -> bool:
        try:
            READERS[example.kind](example.numbers)
        except GaussoptError:
            return False
        return self.space.allows(example)

    def _smallest(self, examples: Iterator[Example]) -> tuple[Example, Proof] | None:
        """Shrink the first few examples for which a difference is proved, and return the least complex result."""
        found: list[tuple[Example, Proof]] = []
        for failed, example in enumerate(examples):
            shrunk = self._shrunk(example)
            if shrunk is not None:
                found.append(shrunk)
            if len(found) >= STARTS or self.over or failed - len(found) > 10 * STARTS:
                break
        return min(found, key=lambda of: of[0].complexity, default=None)

    def _shrunk(self, example: Example) -> tuple[Example, Proof] | None:
        """Simplify an example while the answers differ; None if no difference is proved for the last example."""
        proof = self.prove(example) if example.setting else None
        moved = True
        while moved and not self.over:
            moved = False
            for candidate in self.space.simpler(example):
                if candidate.complexity >= example.complexity or not self._valid(candidate):
                    continue
                better = self.prove(candidate)
                if better is not None or (proof is None and self.difference(candidate.numbers) > CLEAR):
                    example, proof, moved = candidate, better, True
                    break
        return None if proof is None else (example, proof)
