"""Check by numerical differentiation that constraint rows agree with the position and gap functions given with them.

    phi_q = C J for some C,   phi'' = 0 for every a with J a = gamma;   J_N = dg_N/dq,   zeta_N = g_N'' at a = 0

Rows may be scaled, permuted, redundant or more numerous than the functions, provided J a = gamma keeps phi zero.
The estimated error of a derivative is added to its tolerance, so that functions that are hard to differentiate pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData, parts
from gaussopt.core.system import AbstractSystem
from gaussopt.linalg.sparse_saddle_point import nearest_sparse
from gaussopt.modelling.contact_points import FIRST, SECOND

AGREE = 1e-4
"""Relative difference up to which a user's derivative and the numerical derivative count as equal."""

SAFETY = 20.0
"""Safety factor on the estimated error of a numerical derivative."""

DEPENDENT = 1e-10
"""Rows count as dependent if a singular value of J, with rows scaled to largest entry 1, is below this."""

FLOOR = 1e-6
"""Second derivatives below this, relative to the gradient times the squared speed, count as rounding errors."""

Along = Callable[[float], Vector]
"""Maps the parameter s of a curve to the values of functions there; the curve passes through the state at s = 0."""


def check_rows(system: AbstractSystem, t: float, q: Vector, v: Vector, gaps: bool) -> None:
    """Check rows against `position`, and against the gaps if `gaps` is set, at a state on the constraints.

    Raises BadInput if they contradict each other; the message states the row and its error.
    """
    step = system.evaluate(t, q, v)
    if step.sparse:
        _check_sparse(system, step, t, q, v)
        return
    size = np.abs(step.J).max(axis=1, initial=0.0, keepdims=True)
    _, singular, basis = np.linalg.svd(step.J / np.where(size > 0, size, 1.0))
    rows, free = np.split(basis, [int((singular > DEPENDENT * max(1.0, singular.max(initial=0.0))).sum())])
    # Move along free directions, so that velocity-dependent terms show even if a motion starts at rest.
    quick = v + max(1.0, float(np.abs(v).max(initial=0.0))) * (np.cos(1.0 + np.arange(len(free))) @ free)
    try:
        step = system.evaluate(t, q, quick)
    except BadInput:  # a user's function may be undefined at these velocities
        quick = v
    if len(_phi(system, t, q)):
        _check_position(system, t, q, quick, rows)
    if step.k and gaps:
        _check_gaps(system, t, q, quick)


def _check_sparse(system: AbstractSystem, step: StepData, t: float, q: Vector, v: Vector) -> None:
    """Check the rows of a sparse system along one free direction, in time proportional to the number of entries."""
    if not len(_phi(system, t, q)):
        return
    way = np.cos(1.0 + np.arange(len(q)))
    free = way - nearest_sparse(*parts(step), step.J @ way)
    size = np.abs(_derivative(lambda s: _phi(system, t, q + s * way), 1, 0.02)[0])
    gradient, error = _derivative(lambda s: _phi(system, t, q + s * free), 1, 0.02)
    i = _worst(np.abs(gradient), AGREE * max(float(size.max()), 1e-300) + SAFETY * error)
    if i is not None:
        raise BadInput(
            f"position of {system.name!r} contradicts equality: along a direction that J leaves free, row {i + 1} of "
            f"position changes at the rate {gradient[i]:.6g}, at t = {t:.9g}."
        )
    quick = v + max(1.0, float(np.abs(v).max())) * free
    step = system.evaluate(t, q, quick)
    a = nearest_sparse(*parts(step), step.gamma)
    bound = AGREE * float(size.max()) * _motion(quick, a) ** 2
    _check_along(system, step, (t, q, quick, a), bound, f"t = {t:.9g}")


def _phi(system: AbstractSystem, t: float, q: Vector) -> Vector:
    """Return the residuals of `position`, or an empty array if the system has none."""
    found = system.position_residual(t, q)
    return np.zeros(0) if found is None else found


def _check_along(
    system: AbstractSystem, step: StepData, motion: tuple[float, Vector, Vector, Vector], bound: Any, where: str
) -> None:
    """Raise BadInput if phi'' is not zero along the motion (t, q, v), for an acceleration a with J a = gamma."""
    t, q, v, a = motion
    if np.abs(step.J @ a - step.gamma).max() > 1e-8 * np.abs(step.gamma).max(initial=0.0):
        return  # the rows contradict each other, as the certificate will report
    second, error = _second(lambda s: _phi(system, t + s, q + s * v + 0.5 * s**2 * a), v, a)
    i = _worst(np.abs(second), bound + SAFETY * error)
    if i is not None:
        raise BadInput(
            f"position of {system.name!r} contradicts equality: where J a = gamma, the second time derivative of row "
            f"{i + 1} of position is {second[i]:.6g} instead of 0; check gamma, at {where}."
        )


def _check_position(system: AbstractSystem, t: float, q: Vector, v: Vector, rows: Matrix) -> None:
    step = system.evaluate(t, q, v)
    gradient, error = _gradient(lambda q: _phi(system, t, q), q)
    off = gradient - gradient @ rows.T @ rows
    i = _worst(np.abs(off).max(axis=1), AGREE * np.abs(gradient).max(axis=1) + SAFETY * error)
    if i is not None:
        raise BadInput(
            f"position of {system.name!r} contradicts equality: the gradient of row {i + 1} of position is "
            f"{_row(gradient[i])} and no combination of the rows of J (off by {np.abs(off[i]).max():.3g}); row {i + 1} "
            f"of J is {_row(step.J[i])}, at t = {t:.9g}, q = {_row(q)}."
        )
    a: Vector = np.asarray(np.linalg.lstsq(step.J, step.gamma, rcond=DEPENDENT)[0], dtype=np.float64)
    bound = AGREE * np.abs(gradient) @ np.abs(a) + FLOOR * np.abs(gradient).sum(axis=1) * _motion(v, a) ** 2
    _check_along(system, step, (t, q, v, a), bound, f"t = {t:.9g}, q = {_row(q)}, v = {_row(v)}")


def _check_gaps(system: AbstractSystem, t: float, q: Vector, v: Vector) -> None:
    step = system.evaluate(t, q, v)
    gradient, error = _gradient(lambda q: system.gaps(t, q), q)
    moving = np.abs(gradient).max(axis=1) > 0  # a constant gap, as of a contact that never opens, is not compared
    off = np.where(moving, np.abs(gradient - step.J_N).max(axis=1), 0.0)
    i = _worst(off, AGREE * np.abs(gradient).max(axis=1) + SAFETY * error)
    if i is not None:
        raise BadInput(
            f"contacts of {system.name!r} contradict themselves: the gradient of the gap of contact "
            f"{system.contact_names[i]!r} is {_row(gradient[i])} and its J_N is {_row(step.J_N[i])}, at t = {t:.9g}, "
            f"q = {_row(q)}."
        )
    second, error = _second(lambda s: system.gaps(t + s, q + s * v), v, np.zeros_like(v))
    off = np.where(moving, np.abs(second - step.zeta_N), 0.0)
    bound = AGREE * np.abs(step.zeta_N) + FLOOR * np.abs(gradient).sum(axis=1) * _motion(v) ** 2
    i = _worst(off, bound + SAFETY * error)
    if i is not None:
        raise BadInput(
            f"contacts of {system.name!r} contradict themselves: the second time derivative of the gap of contact "
            f"{system.contact_names[i]!r} at constant velocity is {second[i]:.6g} and its zeta_N is "
            f"{step.zeta_N[i]:.6g}, at t = {t:.9g}, q = {_row(q)}, v = {_row(v)}."
        )


def _worst(off: Vector, bound: Vector) -> int | None:
    """Return the index of the row that exceeds its bound by most; None if none does. Bounds may be infinite or NaN."""
    beyond = np.where(np.isfinite(bound) & (off > bound), off, 0.0)
    return int(beyond.argmax()) if beyond.any() else None


def _motion(*parts: Vector) -> float:
    """Return a scale of the motion: the largest of 1, |v_i| and sqrt |a_i| over all entries."""
    v, *a = (float(np.abs(x).max(initial=0.0)) for x in parts)
    return max(1.0, v, *map(math.sqrt, a))


def _gradient(function: Callable[[Vector], Vector], q: Vector) -> tuple[Matrix, Vector]:
    """Return the derivative with respect to q, (rows, n), and the estimated error of each row."""
    columns = []
    for j, unit in enumerate(np.eye(len(q))):
        size = max(1.0, abs(float(q[j])))
        columns.append(_derivative(lambda s, e=unit: function(q + s * e), 1, 0.02 * size))  # type: ignore[misc]
    return np.stack([c[0] for c in columns], axis=1), np.max([c[1] for c in columns], axis=0)


def _second(function: Along, v: Vector, a: Vector) -> tuple[Vector, Vector]:
    """Return the second derivative of functions along a curve, and its estimated error."""
    return _derivative(function, 2, 0.1 / _motion(v, a))


def _derivative(function: Along, order: int, longest: float) -> tuple[Vector, Vector]:
    """Return the eighth-order central difference at the best step size, and its error, infinite if no size works."""
    middle = function(0.0)
    tries: list[Vector] = []
    kink = np.full(len(middle), np.inf)
    for h in longest * 4.0 ** -np.arange(8):
        try:
            ends = [(function(i * h), function(-i * h)) for i, _ in FIRST]
        except BadInput:  # the user's function is undefined at a sample point
            tries.append(np.full(len(middle), np.nan))
            continue
        if order == 1:
            tries.append(np.sum([c * (p - m) for (_, c), (p, m) in zip(FIRST, ends, strict=True)], axis=0) / h)
        else:
            bent = [c * (p - 2.0 * middle + m) for (_, c), (p, m) in zip(SECOND, ends, strict=True)]
            tries.append(np.sum(bent, axis=0) / h**2)
        # A central difference cannot detect a kink; a second difference that shrinks only like h shows it.
        kink = np.minimum(kink, np.abs(ends[0][0] - 2.0 * middle + ends[0][1]) / h)
    errors = np.array([np.abs(a - b) for a, b in pairwise(tries)])
    errors = np.where(np.isfinite(errors), errors, np.inf)
    best = errors.argmin(axis=0)
    column = np.arange(len(middle))
    error = errors[best, column] + (kink if order == 1 else 0.0)
    found = np.array(tries)[best + 1, column]
    return np.where(np.isfinite(found), found, 0.0), error


def _row(x: Vector) -> str:
    return np.array2string(x, precision=6, separator=", ", max_line_width=10**9)
