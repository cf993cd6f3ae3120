"""Stabilisation of a trajectory on its constraints: none, Baumgarte's feedback, or projection.

An acceleration-level formulation satisfies phi'' = 0, so that errors of position and velocity grow; a stabilisation
limits their growth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix, Vector, is_sparse
from gaussopt.core.endings import settled
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.row_rounding import rounding
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stabilisation
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.redundant_rows import DOUBTFUL, agreeing
from gaussopt.linalg.dense import cholesky, nearest, solve_lower, solve_lower_transposed
from gaussopt.linalg.sparse_saddle_point import nearest_sparse

LOST = 1e6
"""Factor by which a residual may exceed its best value before the iteration is given up."""


class Settling:
    """Stopping criterion of an iteration; its tolerance is relative to 1 + the largest unknown, see `core.endings`."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance, self._best, self.lost = tolerance, math.inf, False

    def ended(self, size: float, reach: float) -> bool:
        """Return whether a residual is small enough; `reach` is the largest unknown. Set `lost` on divergence."""
        goal = self._tolerance * (1.0 + reach)
        ended = settled(size, goal, self._best)
        self.lost = not (ended or size <= LOST * self._best)
        self._best = min(self._best, size)
        return ended


class _Inactive:
    """Base of the stabilisations: by default they change neither equations nor states."""

    def shape(self, system: AbstractSystem, step: StepData) -> StepData:
        return step

    def correct(self, system: AbstractSystem, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector] | None:
        return None


@dataclass(frozen=True)
class Unstabilised(_Inactive):
    """No stabilisation: constraint errors are not corrected."""

    name: str = "none"


@dataclass(frozen=True)
class Baumgarte(_Inactive):
    """Baumgarte's feedback, J a = gamma - 2 alpha phi' - beta^2 phi: errors decay like a damped oscillator.

    Attributes
    ----------
    alpha, beta : float
        In 1/s; equal values are critically damped. Too large values make the equations stiff.

    References
    ----------
    J. Baumgarte, Comput. Methods Appl. Mech. Engrg. 1, 1972.

    Examples
    --------
    >>> import gaussopt as go
    >>> damped = go.Baumgarte(alpha=50.0, beta=50.0)
    >>> motion = go.simulate("four-bar", stabilisation=damped, dt=1e-3, t_end=0.1)
    >>> float(motion.position_drift.max()) < 1e-6
    True
    """

    alpha: float = 20.0
    beta: float = 20.0
    name: str = "baumgarte"

    def shape(self, system: AbstractSystem, step: StepData) -> StepData:
        """Add the feedback to the right-hand side of the equality rows."""
        assert step.q is not None
        assert step.v is not None
        phi = system.position_residual(step.t, step.q)
        rate = system.velocity_residual(step.t, step.q, step.v)
        gamma = step.gamma.copy()
        if rate is not None:
            gamma -= 2.0 * self.alpha * rate
        if phi is not None:
            gamma[: len(phi)] -= self.beta**2 * phi
        return step.with_gamma(gamma)


@dataclass(frozen=True)
class Projection(_Inactive):
    """Moves the state after every step to the nearest state on the constraints, in the mass metric.

    Attributes
    ----------
    tolerance : float
        Largest accepted constraint residual after the projection, relative to 1 + the largest coordinate.

    Examples
    --------
    >>> import gaussopt as go
    >>> motion = go.simulate("four-bar", stabilisation=go.Projection(), dt=1e-3, t_end=0.1)
    >>> float(motion.position_drift.max()) < 1e-13
    True
    """

    tolerance: float = 1e-14
    max_iter: int = 20
    name: str = "projection"

    def correct(self, system: AbstractSystem, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return q corrected by `positions` and v corrected by `velocities`; raises BadInput as `positions` does."""
        q = self.positions(system, t, q, v)
        return q, self.velocities(system, t, q, v)

    def velocities(self, system: AbstractSystem, t: float, q: Vector, v: Vector) -> Vector:
        """Return v, (n,), after one Newton step on phi'(q, v) = 0 at unchanged positions."""
        rate = system.velocity_residual(t, q, v)
        if rate is None or not rate.any():
            return v
        step = system.evaluate(t, q, v)
        return v - _least_agreed(system, step, step.J, rate)

    def positions(self, system: AbstractSystem, t: float, q: Vector, v: Vector) -> Vector:
        """Solve phi(q) = 0 by Newton's method from q, (n,).

        Raises
        ------
        BadInput
            If the positions cannot be projected.
        """
        phi = system.position_residual(t, q)
        if phi is None or not len(phi):
            return q
        reach, settling = float(np.abs(q).max()), Settling(self.tolerance)
        for _ in range(self.max_iter):
            if settling.ended(float(np.abs(phi).max()), reach):
                return q
            q = q - _least_agreed(system, system.evaluate(t, q, v), system.position_jacobian(t, q), phi)
            phi = system.position_residual(t, q)
            assert phi is not None
        i, names = int(np.argmax(np.abs(phi))), system.row_names
        if abs(phi[i]) <= system.row_rounding * (1.0 + reach):
            return q  # the rows contradict each other by their rounding
        where = names[i] if i < len(names) else f"constraint {i + 1}"
        raise BadInput(
            f"The positions at t = {t:.9g} cannot be projected onto the constraints: residual {abs(phi[i]):.3g} in "
            f"{where} after {self.max_iter} iterations; start closer, use smaller steps, and drive no joint beyond a "
            "dead centre."
        )


def least_motion(M: Matrix, J: Matrix, r: Vector) -> Vector:
    """Return the smallest x in the mass metric with J x = r, (n,)."""
    return _least_motion(M, J, r)[0]


def _least_agreed(system: AbstractSystem, step: StepData, J: Matrix, r: Vector) -> Vector:
    """Return the smallest x with J x = r; rows count as redundant if they are so where the constraints hold."""
    x, least = _least_motion(step.M, J, r, system.row_rounding)
    found = agreeing(system, step, J, r, without_rounding=True) if least < DOUBTFUL else None
    return x if found is None else _least_motion(step.M, *found, system.row_rounding)[0]


def _least_motion(M: Matrix, J: Matrix, r: Vector, row_rounding: float = 0.0) -> tuple[Vector, float]:
    """Return the smallest x with J x = r, and the ratio of the smallest nonzero to the largest singular value of J.

    Singular values up to `row_rounding`, relative to the largest, count as zero.
    """
    if is_sparse(M):
        return nearest_sparse(M, J, r), 1.0  # type: ignore[arg-type]
    L = cholesky(M)
    if L is None:
        return nearest(M, J, r)
    B = solve_lower(L, J.T)
    # x = L^-T B (B^T B)^+ r, with the rank tolerance of `agreeing`
    y, _, rank, s = np.linalg.lstsq(B.T, r, rcond=max(rounding(len(M), len(J)), row_rounding))
    return solve_lower_transposed(L, np.asarray(y, dtype=np.float64)), float(s[rank - 1] / s[0]) if rank else 1.0


STABILISATIONS: dict[str, Stabilisation] = {x.name: x for x in (Unstabilised(), Baumgarte(), Projection())}


def make(stabilisation: str | Stabilisation) -> Stabilisation:
    """Return the stabilisation of this name, or the given object itself; raises UnknownName for an unknown name."""
    if not isinstance(stabilisation, str):
        return stabilisation
    if stabilisation not in STABILISATIONS:
        raise UnknownName("stabilisation", stabilisation, STABILISATIONS)
    return STABILISATIONS[stabilisation]
