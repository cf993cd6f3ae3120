"""Assemble consistent initial states near a guess, and count degrees of freedom and redundant constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gaussopt.core.arrays import Matrix, Vector, as_state, is_sparse
from gaussopt.core.display import counted, listed
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.linalg.redundancy import rank_report

CLOSED = 1e-13
"""Joints are closed if the residual is at most this times 1 + max|q|; Newton's method goes on while it halves."""

ROUNDING = 1e-15
"""A guess is returned unchanged if its residual is at most this times max|q|; others are refined by Newton's method."""

OPEN = 1e-9
"""A joint is open if its residual exceeds this, relative to 1 + the largest coordinate or velocity."""

DEPENDENT = 1e-9
"""Singular value, relative to the largest, below which rows count as dependent."""

SLIGHT = 1e-6
"""Columns of J shorter than this, relative to the longest, are not scaled up: they may be pure rounding error."""

PARTICIPATES = 1e-6
"""Magnitude of an entry of the null-space basis of J above which its coordinate counts as movable."""

ITERATIONS = 60

NEARBY, APART = 1e-3, 1e-6
"""Dependent rows are examined again at a second position, at the distance NEARBY, relative to 1 + max|q|. A row is
independent there if the sine of its angle to the span of the other rows exceeds APART."""

ASIDE = (1e-3, 1e-3, 1e-2, 1e-2, 1e-1, 1e-1)
"""Distances, relative to 1 + max|q|, of further guesses from the first guess, tried if the joints do not close."""


@dataclass(frozen=True, slots=True)
class Mobility:
    """Degrees of freedom, movable coordinates and redundant constraints of a state.

    Attributes
    ----------
    coordinates, rows : the number n of coordinates and the number m of constraint rows
    freedoms : n minus the rank of J, the number of independent velocities
    movable : names of the coordinates that can still move
    redundant : names (row, rows that imply it), for each row that other rows imply
    joints : names of the joints that act on a movable coordinate; for a row without a joint's name, the row's name
    loose : names of the coordinates on which no row acts in this position
    only_here : the rows of `redundant` that are independent at nearby positions, so that this position is a dead centre
    """

    coordinates: int
    rows: int
    freedoms: int
    movable: tuple[str, ...]
    redundant: tuple[tuple[str, tuple[str, ...]], ...]
    joints: tuple[str, ...]
    loose: tuple[str, ...]
    only_here: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def sentences(self) -> list[str]:
        """Return degrees of freedom, redundant rows and dead centres as English sentences."""
        counts = f"{counted(self.coordinates, 'coordinate')} and {counted(self.rows, 'row')}"
        if self.freedoms:
            why = [f"what moves is joined by {listed(self.joints)}"] if self.joints else []
            why += [f"in this position no row acts on {listed(self.loose)}"] if self.loose else []
            left = f"leave {counted(self.freedoms, 'degree')} of freedom, in {listed(self.movable)}"
            moving = f"{counts} {left}{'; ' if why else ''}{', and '.join(why)}."
        else:
            moving = f"{counts} leave no degree of freedom."
        found, always = [moving], [pair for pair in self.redundant if pair not in self.only_here]
        if always:
            found.append(
                f"It is over-constrained: {_implied(always)}, so their forces are not unique; release "
                f"{'one' if len(always) == 1 else len(always)} of these rows, or take only the motion as determined."
            )
        return [*found, self.dead_centre()] if self.only_here else found

    def dead_centre(self) -> str:
        """Return the sentence that explains the dead centre."""
        return (
            f"This position is a dead centre: here, and not beside it, {_implied(self.only_here)}, so how it moves on "
            "is not determined; start beside it, or drive another joint."
        )


def mobility(system: AbstractSystem, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> Mobility:
    """Count degrees of freedom and redundant rows at the state q, v, (n,) each.

    Raises BadInput if the state does not fit the system, and NotAccepted if its matrices are sparse.
    """
    _check_system(system)
    t, place, speed = as_state(t, q, np.zeros(np.shape(q)) if v is None else v)
    step = system.evaluate(t, place, speed)
    names, rows = system.coordinates(step.n), _row_names(system, step.m)
    report = rank_report(step)
    free = null_space(step.J)
    moves = np.abs(free).max(axis=1, initial=0.0) > PARTICIPATES
    movable = tuple(names[i] for i in np.flatnonzero(moves))
    joints = joints_of([rows[k] for k in np.flatnonzero(step.J[:, moves].any(axis=1))])
    loose = tuple(name for name, held in zip(names, step.J.T, strict=True) if not held.any())
    redundant = tuple((rows[d.row], tuple(rows[k] for k in sorted(d.coefficients))) for d in report.dependencies)
    here = _only_here(system, step, free, [d.row for d in report.dependencies])
    only_here = tuple(pair for pair, only in zip(redundant, here, strict=True) if only)
    return Mobility(step.n, step.m, step.n - report.rank_J, movable, redundant, joints, loose, only_here)


def _only_here(system: AbstractSystem, step: StepData, free: Matrix, dependent: list[int]) -> list[bool]:
    """Return for each dependent row whether it is independent at a nearby position that satisfies the other rows."""
    assert step.q is not None
    q, others = step.q, np.setdiff1d(np.arange(step.m), dependent)
    phi = system.position_residual(step.t, q) if dependent and free.shape[1] else None
    if phi is None:
        return [False] * len(dependent)
    way = free @ np.random.default_rng(0).standard_normal(free.shape[1])
    q, closing = q + NEARBY * (1.0 + np.abs(q).max()) * way / np.abs(way).max(), others[others < len(phi)]
    for _ in range(ITERATIONS):
        phi = system.position_residual(step.t, q)
        if phi is None or np.abs(phi[closing]).max(initial=0.0) <= CLOSED * (1.0 + np.abs(q).max()):
            break
        q = q - _least(system.position_jacobian(step.t, q)[closing], phi[closing], np.ones(len(q), dtype=bool))
    J = system.evaluate(step.t, q, np.zeros(len(q))).J
    J = J / np.maximum(np.linalg.norm(J, axis=1), 1e-300)[:, None]
    left = J[dependent] - np.linalg.lstsq(J[others].T, J[dependent].T, rcond=None)[0].T @ J[others]
    return [bool(x) for x in np.linalg.norm(left, axis=1) > APART]


def _implied(pairs: Sequence[tuple[str, tuple[str, ...]]]) -> str:
    """Return an English clause that names, for each redundant row, the joints whose rows imply it."""
    by_joints: dict[str, list[str]] = {}
    for row, others in pairs:
        by_joints.setdefault(listed(joints_of(others)), []).append(row)
    each = [f"the row{'s' * (len(rows) > 1)} {listed(rows)} follow{'s' * (len(rows) == 1)} from those of {joints}"
            for joints, rows in by_joints.items()]  # fmt: skip
    return ", and ".join(each)


def assemble(
    system: AbstractSystem, q: ArrayLike, v: ArrayLike | None = None, hold: str | Sequence[str] = (), t: float = 0.0
) -> tuple[Vector, Vector]:
    """Return the state on the constraints that is nearest to a guess.

    Gauss-Newton steps of minimum norm, halved until the residual falls, solve phi(t, q) = 0; a last step solves
    J v + phi_t = 0. If joints stay open, the iteration is repeated from random points near the guess.

    Parameters
    ----------
    system : AbstractSystem
    q, v : (n,), the guess; v is zero if not given
    hold : names of coordinates whose values and velocities stay as guessed
    t : time, s

    Raises
    ------
    BadInput
        If joints do not close, or velocities cannot satisfy them; the message names the joints. UnknownName if `hold`
        names a coordinate that the system does not have.

    Examples
    --------
    >>> import gaussopt as go
    >>> system = go.problem("crank-slider").system
    >>> guess, rates = [0.1, 0.05, 0.5, 0.4, 0, -0.1, 0.7], [0, 0, 2, 0, 0, 0, 0]
    >>> q, v = go.assemble(system, guess, rates, hold=["theta1"])
    >>> float(q[2]), float(abs(system.position_residual(0.0, q)).max()) < 1e-13
    (0.5, True)
    """
    _check_system(system)
    t, q, v = as_state(t, q, np.zeros(np.shape(q)) if v is None else v)
    names, hold = system.coordinates(len(q)), [hold] if isinstance(hold, str) else hold
    for name in hold:
        if name not in names:
            raise UnknownName(f"coordinate of {system.name}", name, names)
    free = np.array([name not in hold for name in names])
    q = _closed(system, t, q, free, tuple(hold))
    rate = system.velocity_residual(t, q, v)
    if rate is not None and len(rate):
        step = _least(system.smooth_part(t, q, v).J, rate, free)
        v = v.copy()
        v[free] -= step
        left = system.velocity_residual(t, q, v)
        assert left is not None
        if np.abs(left).max() > OPEN * (1.0 + np.abs(v).max()):
            raise BadInput(_impossible(system, "velocities", left, tuple(hold), "m/s or rad/s"))
    return q, v


def _check_system(system: Any) -> None:
    if not callable(getattr(system, "evaluate", None)):
        raise BadInput(
            f"The system is {type(system).__name__}; give a system, such as that of a problem: problem.system."
        )


def _closed(system: AbstractSystem, t: float, q: Vector, free: NDArray[np.bool_], hold: tuple[str, ...]) -> Vector:
    """Return positions that satisfy the holonomic constraints."""
    if (left := system.position_residual(t, q)) is None or not len(left):
        return q
    found, left, closed = _nearest(system, t, q, free)
    directions = np.random.default_rng(0).standard_normal((len(ASIDE), len(q)))
    for distance, direction in zip(ASIDE, directions, strict=True):
        if closed:
            break
        aside = q + np.where(free, distance * (1.0 + np.abs(q).max()) * direction, 0.0)
        found, _, closed = _nearest(system, t, aside, free)
    if not closed:
        raise BadInput(_impossible(system, "joints", left, hold, "m or rad"))
    return found


def _nearest(
    system: AbstractSystem, t: float, q: Vector, free: NDArray[np.bool_]
) -> tuple[Vector, Vector, bool]:  # fmt: skip
    """Run Newton's method from q; return the last iterate, its residual, and whether the joints are closed."""
    phi = system.position_residual(t, q)
    assert phi is not None
    for k in range(ITERATIONS):
        size, largest = float(np.abs(phi).max()), float(np.abs(q).max())
        closed = size <= CLOSED * (1.0 + largest)
        if size == 0.0 or (k == 0 and size <= ROUNDING * largest):
            return q, phi, True
        step = _least(system.position_jacobian(t, q), phi, free)
        for share in 0.5 ** np.arange(12):
            trial = q.copy()
            trial[free] -= share * step
            there = system.position_residual(t, trial)
            assert there is not None
            if np.linalg.norm(there) < (0.5 if closed else 1.0) * np.linalg.norm(phi):
                break
            if closed:
                return q, phi, True
        else:
            break
        q, phi = trial, there
    return q, phi, bool(np.abs(phi).max() <= OPEN * (1.0 + np.abs(q).max()))


def _impossible(system: AbstractSystem, what: str, left: Vector, hold: tuple[str, ...], unit: str) -> str:
    """Return the message of a failed assembly: which joints stay open, and the largest residual."""
    rows, size = _row_names(system, len(left)), np.abs(left)
    order = [i for i in np.argsort(-size) if size[i] > 0.01 * size.max()]
    joints = joints_of([rows[i] for i in order]) or [rows[order[0]]]
    held = f" while {listed(hold)} {'is' if len(hold) == 1 else 'are'} held" if hold else ""
    stay = "stays" if len(joints) == 1 else "stay"
    found = "cannot be made consistent" if what == "velocities" else "do not close from this guess or beside it"
    return (
        f"The {what} of {system.name!r} {found}{held}: {listed(joints)} {stay} open, "
        f"{rows[order[0]]} by {size[order[0]]:.3g} {unit}; change the lengths, the guess or what is held."
    )


def joints_of(rows: Sequence[str]) -> tuple[str, ...]:
    """Return the joints of named rows, each joint once: its name is the part of a row's name before the last dot.

    A row whose name ends in .unit keeps a quaternion at unit length and belongs to no joint.
    """
    return tuple(dict.fromkeys(row.rpartition(".")[0] or row for row in rows if not row.endswith(".unit")))


def _row_names(system: AbstractSystem, m: int) -> tuple[str, ...]:
    """Return the names of m rows; 'row 1', 'row 2' ... if the system does not name them."""
    names = system.row_names
    return names[:m] if len(names) >= m else tuple(f"row {i + 1}" for i in range(m))


def _least(J: Any, r: Vector, free: NDArray[np.bool_]) -> Vector:
    """Return the minimum-norm solution of J x = r in the free coordinates, by least squares if it is inconsistent."""
    J = (J.toarray() if is_sparse(J) else J)[:, free]
    # Scale the columns to equal length before deciding the rank: angles and displacements have different units.
    length = np.linalg.norm(J, axis=0)
    units = np.maximum(length, SLIGHT * length.max(initial=0.0))
    units[units == 0.0] = 1.0
    U, s, Vt = np.linalg.svd(J / units)
    rank = int((s > DEPENDENT * s.max(initial=0.0)).sum())
    x = (U[:, :rank].T @ r / s[:rank]) @ Vt[:rank] / units
    nothing, _ = np.linalg.qr(Vt[rank:].T / units[:, None])
    return np.asarray(x - nothing @ (nothing.T @ x))


def null_space(J: Matrix) -> Matrix:
    """Return an orthonormal basis of the null space of J, (n, n - rank J)."""
    if not len(J):
        return np.eye(J.shape[1])
    _, s, Vt = np.linalg.svd(J)
    rank = int((s > DEPENDENT * s.max(initial=0.0)).sum())
    return np.asarray(Vt[rank:].T)
