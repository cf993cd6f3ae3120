"""Which rows of a step depend on which, and what that leaves undetermined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.certificate import CONSISTENCY
from gaussopt.errors import NotAccepted
from gaussopt.linalg import equilibrate, row_space
from gaussopt.stepdata import Matrix, StepData

NEGLIGIBLE = 1e-9
"""Coefficients of a dependency below this (of unit rows) are rounding."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Row `row` of J is the sum of `coefficients[k]` times row k; `contradiction` is what is left in gamma."""

    row: int
    coefficients: dict[int, float]
    contradiction: float

    def sentence(self) -> str:
        """In words, rows counted from 1."""
        if self.coefficients:
            terms = " + ".join(f"{c:.6g} x row {k + 1}" for k, c in self.coefficients.items())
            text = f"Row {self.row + 1} of J is {terms}"
        else:
            text = f"Row {self.row + 1} of J is zero"
        return f"{text}, but gamma differs by {self.contradiction:.3g}." if self.contradiction else f"{text}."


@dataclass(frozen=True, slots=True)
class RankReport:
    """Ranks of a step without contacts.

    Attributes
    ----------
    n, m : int
    rank_M, rank_J, rank_MJ : int
        Of M, J and [M; J], coordinates scaled by their masses and rows to unit length.
    dependencies : rows of J that are combinations of others
    open_multipliers : (0-based) multipliers that are not determined
    free_directions : (n, n - rank_MJ)
        Accelerations that neither mass nor constraint resists.
    """

    n: int
    m: int
    rank_M: int
    rank_J: int
    rank_MJ: int
    dependencies: tuple[Dependency, ...]
    open_multipliers: tuple[int, ...]
    free_directions: Matrix

    @property
    def regular(self) -> bool:
        """Whether M and J have full rank."""
        return self.rank_M == self.n and self.rank_J == self.m

    def sentences(self) -> list[str]:
        """What a person should know."""
        out = []
        if self.rank_M < self.n:
            out.append(f"M is singular: rank {self.rank_M} of {self.n}.")
        out += [d.sentence() for d in self.dependencies]
        if self.open_multipliers:
            names = ", ".join(str(i + 1) for i in self.open_multipliers)
            out.append(f"Multipliers {names} are not unique; their resultant J^T lam is.")
        if self.rank_MJ < self.n:
            out.append(f"rank [M; J] = {self.rank_MJ} < n = {self.n}: the acceleration is not unique.")
        return out

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rank_M": self.rank_M,
            "rank_J": self.rank_J,
            "rank_MJ": self.rank_MJ,
            "open_multipliers": list(self.open_multipliers),
            "sentences": self.sentences(),
        }


def rank_report(step: StepData) -> RankReport:
    """Analyse the ranks of a step.

    Parameters
    ----------
    step : StepData

    Returns
    -------
    RankReport

    Raises
    ------
    NotAccepted
        If the step is sparse: ranks are read off dense singular values.
    """
    if step.sparse:
        raise NotAccepted(f"Ranks need dense matrices, and this step of {step.n} coordinates is sparse.")
    n, m = step.n, step.m
    d, row = equilibrate(step.M, step.J)
    unit = 1.0 / row
    M, J = step.M * np.outer(d, d), step.J * d * row[:, None]
    space = row_space(J)
    both = row_space(np.vstack((M, J)))
    return RankReport(
        n, m, row_space(M).rank, space.rank, both.rank, _dependencies(J, step.gamma / unit, unit, space.rank),
        tuple(int(i) for i in np.flatnonzero(np.abs(space.left_null).max(axis=1, initial=0.0) > NEGLIGIBLE)),
        both.Z * d[:, None],
    )  # fmt: skip


def _dependencies(
    J: Matrix, gamma: np.ndarray[Any, Any], unit: np.ndarray[Any, Any], rank: int
) -> tuple[Dependency, ...]:
    """Rows are taken in order; each one that adds nothing to those before it is expressed by them."""
    kept: list[int] = []
    found = []
    for i in range(len(J)):
        if len(kept) < rank and row_space(J[[*kept, i]]).rank > len(kept):
            kept.append(i)
            continue
        c = np.linalg.lstsq(J[kept].T, J[i], rcond=None)[0] if kept else np.zeros(0)
        miss = float(gamma[i] - c @ gamma[kept])
        contradiction = miss * unit[i] if abs(miss) > CONSISTENCY * (1.0 + np.abs(gamma).max()) else 0.0
        coefficients = {k: float(x * unit[i] / unit[k]) for k, x in zip(kept, c, strict=True) if abs(x) > NEGLIGIBLE}
        found.append(Dependency(i, coefficients, contradiction))
    return tuple(found)
