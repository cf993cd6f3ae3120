"""Find dependencies between the rows of a step, and the forces and accelerations that they leave undetermined."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import NotAccepted
from gaussopt.core.sparse_arrays import times
from gaussopt.core.step_data import StepData, parts
from gaussopt.linalg.balance import EVALUATED, Balanced
from gaussopt.linalg.dense import EPS, equilibrate, mass_scale, norm, row_space
from gaussopt.linalg.sparse_saddle_point import Saddle

NEGLIGIBLE = 1e-9
"""In a dependency between unit rows, coefficients below this size are rounding errors."""

NEAR = 1e-4
"""Unit rows are nearly dependent if a combination with weights of norm 1 is shorter than this."""

LOOSE = 1e-6
"""When forces are examined, unit columns count as dependent if a singular value is at most this, as in
`gaussopt.contact.complementarity.ComplementarityLaws.quick`."""

CONTRADICTION = 1e-12
"""If v is not given, a contradiction up to this, relative to the data of the step, counts as rounding error."""

TINY = 64 * EPS
"""A message warns of rounding errors if the largest entry of a row, relative to all rows, is below this."""

MOST_NAMED = 6
"""Maximum number of rows named in a sentence."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Row J_i = sum c_k J_k, with i = `row` and c = `coefficients`; `contradiction` is gamma_i - sum c_k gamma_k."""

    row: int
    coefficients: dict[int, float]
    contradiction: float

    def sentence(self) -> str:
        """Return the dependency in words; rows are counted from 1."""
        if self.coefficients:
            listed = sorted(self.coefficients.items(), key=lambda term: -abs(term[1]))
            named = sorted(listed[:MOST_NAMED])
            terms = " + ".join(f"{c:.6g} x row {k + 1}" for k, c in named)
            more = f" + parts of {len(listed) - len(named)} more" if len(listed) > len(named) else ""
            text = f"Row {self.row + 1} of J is {terms}{more}"
        else:
            text = f"Row {self.row + 1} of J is zero"
        return f"{text}, but gamma differs by {self.contradiction:.3g}." if self.contradiction else f"{text}."


@dataclass(frozen=True, slots=True)
class RankReport:
    """Ranks of a step without contacts.

    Attributes
    ----------
    rank_M, rank_J, rank_MJ : ranks of M, J and [M; J], with coordinates scaled to unit mass and rows to unit length
    dependencies : rows of J that are combinations of earlier rows
    open_multipliers : indices, from 0, of the multipliers that are not unique
    free_directions : (n, n - rank_MJ), accelerations that neither mass nor constraint resists, as columns
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
        """Return sentences on singular masses, dependent rows and multipliers that are not unique."""
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
        """Return ranks, multipliers that are not unique, and sentences for JSON."""
        ranks = {"rank_M": self.rank_M, "rank_J": self.rank_J, "rank_MJ": self.rank_MJ}
        return {**ranks, "open_multipliers": list(self.open_multipliers), "sentences": self.sentences()}


def rank_report(step: StepData) -> RankReport:
    """Return the ranks of a step and the dependencies between its rows.

    Raises NotAccepted if the step is sparse, because ranks are computed from dense singular values.

    Examples
    --------
    >>> import gaussopt as go
    >>> given = {"M": [[1, 0], [0, 1]], "Q": [0, 0], "J": [[1, 0], [2, 0]], "gamma": [0, 0]}
    >>> report = go.rank_report(go.StepData.from_mapping(given))
    >>> len(report.dependencies)
    1
    """
    if step.sparse:
        raise NotAccepted(f"Ranks need dense matrices, and this step of {step.n} coordinates is sparse.")
    n, m = step.n, step.m
    data = Balanced.of(step)
    M, J, d, space = data.M, data.J, data.d, data.space
    both = row_space(np.vstack((M, J)))
    return RankReport(
        n, m, row_space(M).rank, space.rank, both.rank, _dependencies(data),
        tuple(int(i) for i in np.flatnonzero(np.abs(space.left_null).max(axis=1, initial=0.0) > NEGLIGIBLE)),
        both.Z * d[:, None],
    )  # fmt: skip


def _dependencies(data: Balanced) -> tuple[Dependency, ...]:
    """Find each row that depends on the rows before it, and return it as a linear combination of these rows."""
    J, gamma, unit, rank = data.J, data.g, 1.0 / data.row, data.space.rank
    limits = data.limits_g() if rank < len(J) else gamma
    kept: list[int] = []
    found = []
    for i in range(len(J)):
        noise = None if data.noise_J is None else data.noise_J[[*kept, i]]
        if len(kept) < rank and row_space(J[[*kept, i]], noise=noise).rank > len(kept):
            kept.append(i)
            continue
        c = np.linalg.lstsq(J[kept].T, J[i], rcond=None)[0] if kept else np.zeros(0)
        miss = float(gamma[i] - c @ gamma[kept])
        contradiction = miss * unit[i] if abs(miss) > limits[i] + np.abs(c) @ limits[kept] else 0.0
        coefficients = {k: float(x * unit[i] / unit[k]) for k, x in zip(kept, c, strict=True) if abs(x) > NEGLIGIBLE}
        found.append(Dependency(i, coefficients, contradiction))
    return tuple(found)


def contradictions(step: StepData) -> list[Dependency]:
    """Return the dependencies between rows of J that gamma contradicts; for a sparse step at most one is found."""
    if not step.sparse:
        return [d for d in rank_report(step).dependencies if d.contradiction]
    found = _idle_combination(step, by_gamma=True)
    if found is None:
        return []
    w, row, closeness = found
    contradiction = float(w @ (row * step.gamma))
    if closeness > NEGLIGIBLE or abs(contradiction) <= least_contradiction(step, row, mass_scale(step.M)):
        return []
    i = _leading(w)
    terms = {int(k): float(-w[k] * row[k] / (w[i] * row[i])) for k in np.flatnonzero(np.abs(w) > NEGLIGIBLE) if k != i}
    return [Dependency(i, terms, contradiction / float(w[i] * row[i]))]


def least_contradiction(step: StepData, row: Vector, d: Vector) -> float:
    """Return the largest contradiction, in unit masses and unit rows, that counts as rounding in a sparse step."""
    return (CONTRADICTION if step.v is None else EVALUATED) * size_in_units(step, row, d)


def size_in_units(step: StepData, row: Vector, d: Vector) -> float:
    """Return |row gamma| + |d (Q - h)|, the size of a step's data in unit masses and rows of unit length."""
    return norm(step.gamma * row) + norm(step.force * d)


def _idle_combination(step: StepData, by_gamma: bool = False) -> tuple[Vector, Vector, float] | None:
    """Find a combination of the rows of a sparse step that vanishes or nearly vanishes.

    If there are several, take any of them, or with `by_gamma` the combination that gamma contradicts most. Return the
    weights, of norm 1, for rows scaled to unit length, the scales of the rows, and the length of the weighted sum.
    Return None if all rows are clearly independent, or if the step cannot be factorised.
    """
    M, J = parts(step)
    saddle = Saddle.of(M, J)
    if saddle is None or saddle.regular:
        return None
    row = saddle.row
    probe = step.gamma if by_gamma else np.random.default_rng(0).standard_normal(step.m) / row
    whole = saddle.left_null(probe)
    if not norm(whole) > 0:
        return None
    # `whole` may mix several combinations. Take the one with the largest weight on the row that is leading in `whole`.
    w = saddle.left_null((np.arange(step.m) == _leading(whole)) / row)
    if not norm(w) > 0:
        return None
    w = w / norm(w)
    return w, row, norm(times(J.T, w * row) * saddle.scale)


def _leading(w: Vector) -> int:
    """Return the row with the largest weight; among equal weights the last, as `_dependencies` does for dense rows."""
    size = np.abs(w)
    return int(np.flatnonzero(size > (1.0 - 1e-6) * size.max())[-1])


def tiny_row(step: StepData) -> str:
    """Return a sentence on a tiny row of J, which may consist of rounding errors only; "" if no row is tiny."""
    if step.m < 2 or step.sparse or step.J_terms is not None:
        return ""
    sizes = np.abs(step.J).max(axis=1)
    i, largest = int(sizes.argmin()), float(sizes.max())
    if not 0.0 < sizes[i] < TINY * largest:
        return ""
    return (
        f" Row {i + 1} of J holds nothing larger than {sizes[i]:.2g}, beside {largest:.2g} in others, and counts as a "
        "constraint: where it is rounding, give the sizes of the terms of J as J_terms, or leave the row out."
    )


def near_dependency(step: StepData) -> str | None:
    """Return a sentence on rows of J that are nearly, but not quite, dependent; None if there are no such rows.

    Rows, scaled to unit length in coordinates of unit mass, are nearly dependent if a linear combination of them with
    weights of norm 1 is shorter than NEAR.
    """
    if not step.m:
        return None
    if step.sparse:
        found = _idle_combination(step)
        if found is None:
            return None
        weights, _, closeness = found
    else:
        data = Balanced.of(step)
        last = data.space.rank - 1
        if last < 0:
            return None
        U, s, _ = np.linalg.svd(data.J, full_matrices=False)
        weights, closeness = U[:, last], float(s[last])
    if not closeness < NEAR:
        return None
    size = np.abs(weights)
    rows = np.flatnonzero(size > 0.01 * size.max())
    largest = np.sort(rows[np.argsort(-size[rows], kind="stable")][:MOST_NAMED])
    names = ", ".join(str(i + 1) for i in largest)
    more = f" and {len(rows) - len(largest)} more" if len(rows) > len(largest) else ""
    return (
        f"The rows {names}{more} of J nearly depend on each other, to {closeness:.2g} of their length: too close for "
        "independent rows and not close enough for redundant ones. Remove one of them, or correct it."
    )


def open_forces(step: StepData) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the forces that are not unique: they may change together without any change of the acceleration.

    They occur in the null space of [J^T, J_N^T, J_T^T], where the column of a sliding contact belongs to its normal
    force with the friction that it causes. Bounds on the forces (unilateral contact, Coulomb's law) are ignored,
    although they may make forces unique. All contacts must be closed; `v_T` shows which of them slide.

    Returns
    -------
    lam, lam_N, lam_T : indices of multipliers and of contacts, counted from 0
    """
    held = np.flatnonzero(step.resting)
    columns = np.vstack((step.J, step.friction_map.T, step.J_T[held].reshape(-1, step.n)))
    if not len(columns):
        return (), (), ()
    d, row = equilibrate(step.M, columns)
    U, s, _ = np.linalg.svd(columns * d * row[:, None])
    null = U[:, int((s > LOOSE).sum()) :]
    taking = np.flatnonzero(np.abs(null).max(axis=1, initial=0.0) > LOOSE)
    m, k, tangents = step.m, step.k, step.J_T.shape[1]
    normal = [int(i) - m for i in taking if m <= i < m + k]
    friction = {int(held[(i - m - k) // tangents]) for i in taking if i >= m + k}
    friction |= {i for i in normal if step.mu[i] > 0 and i not in held}
    return tuple(int(i) for i in taking if i < m), tuple(normal), tuple(sorted(friction))


def named_forces(forces: Mapping[str, Sequence[Any]], rows: Sequence[str] = ()) -> str:
    """Return forces in words; an entry of lam, given by index, is called by its name in `rows` or by its number."""
    named = []
    for name, where in forces.items():
        listed = [str(x) if name != "lam" else rows[x] if rows else str(x + 1) for x in where[:MOST_NAMED]]
        more = f" and {len(where) - MOST_NAMED} more" if len(where) > MOST_NAMED else ""
        kind = ("row " if len(where) == 1 else "rows ") if name == "lam" else ""
        named.append(f"{name} of {kind}{', '.join(listed)}{more}")
    return "; ".join(named)


def rows_by_name(sentence: str, rows: Sequence[str]) -> str:
    """Return a sentence that names the rows of J which `sentence` lists by number; "" if it lists none."""
    found = re.findall(r"Row \d+ of J is .*?(?=, but gamma|\.(?:\s|$))", sentence)
    met = dict.fromkeys(int(n) for text in found for n in re.findall(r"\b[Rr]ow (\d+)\b", text))
    named = [f"row {n} is {rows[n - 1]}" for n in met if n <= len(rows)]
    return f" Here {', '.join(named)}." if named else ""
