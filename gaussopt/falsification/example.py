"""Examples with exact rational numbers (LCPs, steps or contact problems), and simpler examples derived from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.programs import LCP
from gaussopt.core.step_data import StepData
from gaussopt.linalg.rational import Exact, exact

AXES = {
    "lcp": {"M": "kk", "q": "k"},
    "contact": {"W": "rr", "q": "r", "mu": "k"},
    "step": {
        "M": "nn", "Q": "n", "J": "mn", "gamma": "m", "J_N": "kn", "zeta_N": "k", "J_T": "kn", "v_T": "k", "mu": "k",
        "v": "n", "e_N": "k",
    },
}  # fmt: skip
"""Arrays of each kind of example, and their axes: contacts k, rows r of contacts in space, coordinates n, rows m."""

SYMMETRIC = {"lcp": "", "contact": "W", "step": "M"}
FIXED = ("v_T",)
"""Arrays whose entries are signs, which the search neither rounds nor varies."""

ROUNDINGS = (1, 2, 4, 8, 32, 1024)
"""Integers d, tried in turn: all entries of an example are rounded to multiples of 1/d."""

Numbers = Mapping[str, NDArray[np.float64]]
"""The arrays of an example as floats."""

READERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "lcp": LCP.from_mapping, "contact": ConeComplementarity.from_mapping, "step": StepData.from_mapping,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Example:
    """A problem whose numbers are exact fractions.

    Attributes
    ----------
    kind : "lcp", "step" or "contact", as in the files of these problems
    arrays : its arrays of fractions, by name; see `AXES`
    setting : name -> value
        Parameters of the mechanism whose step this is, and the slip sign of each contact; empty without a mechanism.
    """

    kind: str
    arrays: Mapping[str, Exact]
    setting: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: str, numbers: Mapping[str, Any], setting: Mapping[str, float] | None = None) -> Example:
        """Return the example whose fractions are exactly the given numbers."""
        arrays = {name: exact(numbers[name]) for name in AXES[kind] if name in numbers and np.size(numbers[name])}
        return cls(kind, arrays, setting or {})

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """The arrays as the nearest floats."""
        return {name: np.array(array, dtype=np.float64) for name, array in self.arrays.items()}

    def size(self, axis: str) -> int:
        """Return the number of contacts "k", coordinates "n" or rows "m"."""
        for name, axes in AXES[self.kind].items():
            if axis in axes and name in self.arrays:
                return int(self.arrays[name].shape[axes.index(axis)])
        return 0

    @property
    def complexity(self) -> tuple[int, ...]:
        """Numbers of contacts, coordinates, rows, entries and digits; shrinking lowers this tuple lexicographically."""
        digits = [self.setting[name] for name in self.setting] if self.setting else []
        if digits:
            return (sum(len(f"{abs(value):.12g}") for value in digits),)
        entries = [e for name, array in self.arrays.items() if name not in FIXED for e in array.ravel() if e]
        size = sum(2 * abs(e.numerator).bit_length() + 3 * (e.denominator.bit_length() - 1) + (e < 0) for e in entries)
        return (self.size("k"), self.size("n"), self.size("m"), len(entries), size)

    def simpler(self) -> Iterator[Example]:
        """Yield simpler examples: one contact, row or coordinate less, rounded entries, or one smaller entry."""
        for axis in "kmn":
            for i in range(self.size(axis) if self.size(axis) > (axis != "m") else 0):
                yield self._without(axis, i)
        for d in ROUNDINGS:
            yield Example(self.kind, {n: a if n in FIXED else _rounded(a, d) for n, a in self.arrays.items()})
        for name, array in self.arrays.items():
            if name not in FIXED:
                for place in np.ndindex(array.shape):
                    if name != SYMMETRIC[self.kind] or place[0] <= place[1]:
                        yield from self._with_entry(name, place)

    def _without(self, axis: str, i: int) -> Example:
        arrays = {}
        for name, array in self.arrays.items():
            kept = array
            for number, of in enumerate(AXES[self.kind][name]):
                if of == axis or (of, axis) == ("r", "k"):
                    kept = np.delete(kept, i if of == axis else range(3 * i, 3 * i + 3), axis=number)
            if kept.size:
                arrays[name] = kept
        return Example(self.kind, arrays)

    def _with_entry(self, name: str, place: tuple[int, ...]) -> Iterator[Example]:
        entry = self.arrays[name][place]
        sign = 1 if entry > 0 else -1
        whole = [Fraction(v) for v in (0, sign, -sign, 2 * sign, 3 * sign, 4 * sign)]
        for value in (*whole, *(Fraction(round(entry * d), d) for d in (1, 2, 4, 8))):
            if _height(value) < _height(entry):
                changed = self.arrays[name].copy()
                changed[place] = value
                if name == SYMMETRIC[self.kind]:
                    changed[place[::-1]] = value
                yield Example(self.kind, {**self.arrays, name: changed})

    def to_mapping(self) -> dict[str, Any]:
        """Return the contents of a file that `gaussopt solve` takes, with all fractions as text under "exact"."""
        found: dict[str, Any] = {"kind": self.kind, **{n: a.tolist() for n, a in self.numbers.items()}}
        found["exact"] = {name: _texts(array.tolist()) for name, array in self.arrays.items()}
        return found | ({"setting": dict(self.setting)} if self.setting else {})


def _height(value: Fraction) -> tuple[int, int, bool]:
    return value.denominator, abs(value.numerator), value < 0


def _rounded(array: Exact, d: int) -> Exact:
    return exact([Fraction(round(e * d), d) for e in array.ravel()]).reshape(array.shape)


def _texts(values: Any) -> Any:
    return [_texts(v) for v in values] if isinstance(values, list) else str(values)


def vector(values: Any) -> str:
    """Write a vector of fractions as text, such as "(7/8, 1/4)"."""
    return f"({', '.join(map(str, values))})"


def floats(values: Any) -> Vector:
    """Convert fractions to floats."""
    return np.array(list(values), dtype=np.float64)
