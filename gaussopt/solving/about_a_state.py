"""Inverse dynamics and linearisation of any system at a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.contact.activity import TOUCHING
from gaussopt.core.arrays import Matrix, Vector, as_array, as_state
from gaussopt.core.errors import BadInput, NotAccepted, UnknownName
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.core.time_step import SteppedSystem
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.modelling.assembly import assemble, null_space
from gaussopt.modelling.contact_surface import ContactSurface
from gaussopt.solving.solve import judge_acceleration, solve_step

SHIFT = 1e-4
"""Change of a coordinate or velocity, relative to 1 + the largest, for central differences of accelerations."""


@dataclass(frozen=True, slots=True)
class Linearisation:
    """The linearised equations x' = c + A x + B tau, x = (y, w), with q = q0 + Y y and v = v0 + W w to first order.

    Attributes
    ----------
    A : (p + f, p + f)
    B : (p + f, n), for generalised forces tau in addition to those of the system
    c : (p + f,), zero at an equilibrium
    Y : (n, p), orthonormal basis of the displacements that the constraints allow, as columns
    W : (n, f), orthonormal basis of the allowed velocities; equal to Y if there are no nonholonomic constraints
    """

    A: Matrix
    B: Matrix
    c: Vector
    Y: Matrix
    W: Matrix


def inverse_dynamics(
    system: AbstractSystem, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, t: float = 0.0, held: Sequence[str] = ()
) -> Vector:
    """Return the smallest additional generalised forces tau, (n,), that give a system the acceleration a.

    The result is tau = M (a - a0), where a0 is the acceleration without tau; it has the least tau^T M^-1 tau of all
    forces that, together with the constraint forces, cause a. Since J (a - a0) = 0, the constraint forces are the same
    as for a0. Without constraints tau = M a + h - Q.

    Parameters
    ----------
    system : a system with or without contacts; the forces of closed contacts are the same as without tau
    q, v, a : (n,); a must satisfy the constraints at acceleration level
    t : time, s
    held : as in `linearise`

    Raises BadInput if a contradicts the constraints or contacts, or the system has no unique acceleration at the state.

    References
    ----------
    C. F. Gauss, J. reine angew. Math. 4, 1829.

    Examples
    --------
    >>> import gaussopt as go
    >>> bars = go.problem("four-bar")
    >>> held = go.inverse_dynamics(bars.system, bars.q0, 0 * bars.v0, 0 * bars.v0)
    """
    system = _holding(system, held, *as_state(t, q, v))
    step = system.evaluate(*as_state(t, q, v))
    given, free = as_array("a", a, (step.n,)), _acceleration(step)
    tau: Vector = step.M @ (given - free)
    judged = judge_acceleration(replace(step, Q=step.Q + tau, arithmetic=None), given)
    # In equilibrium the step calls for nothing, and its error is small beside what tau changes.
    small, error = DEFAULT_TOLERANCE * float(np.sqrt(abs(tau @ (given - free)))), judged.certificate
    if judged.status is not Status.SOLVED and not (error is not None and error.error_bound <= small):
        missed = np.abs(step.J @ given - step.gamma)
        i, names = int(np.argmax(missed)) if len(missed) else 0, system.row_names
        row = f" (row {names[i] if i < len(names) else i + 1} by {missed[i]:.3g})" if len(missed) else ""
        raise BadInput(
            f"No forces give this acceleration with the constraints and contacts of {system.name!r}{row}: give one "
            f"that they allow. {judged.message}"
        )
    return tau


def linearise(
    system: AbstractSystem, q: ArrayLike, v: ArrayLike, *, t: float = 0.0, held: Sequence[str] = ()
) -> Linearisation:
    """Linearise the equations of a system at a state that satisfies the constraints, in independent coordinates.

    Nearby states are projected onto the constraints by `assemble`, and their certified accelerations are differentiated
    by central differences of second order.

    Parameters
    ----------
    system : a system with dense matrices
    q, v : (n,)
    t : time, s
    held : names of closed contacts that become constraints of unlimited force; with friction they do not slip either.
        The other contacts are open and exert no force.

    Raises BadInput as `assemble` does, or if there is no unique acceleration; NotAccepted for contacts, unless some are
    held, or for sparse matrices; UnknownName for a contact that the system does not have.

    Examples
    --------
    >>> import gaussopt as go
    >>> bars = go.problem("four-bar")
    >>> go.linearise(bars.system, bars.q0, bars.v0).A.shape
    (2, 2)
    """
    t, place, speed = as_state(t, q, v)
    system = _holding(system, held, t, place, speed)
    step = system.evaluate(t, place, speed)
    if step.sparse or system.contact_names or step.k:
        raise NotAccepted(
            f"{system.name!r} has contacts or sparse matrices; linear equations are those of a dense system whose "
            "constraints stay the same beside the state: name the contacts that stay as held=[...]."
        )
    place, speed = assemble(system, place, speed, t=t)
    phi = system.position_residual(t, place)
    Y = null_space(step.J[:0] if phi is None else system.position_jacobian(t, place))
    W, p = null_space(step.J), Y.shape[1]

    def rates(y: Vector, w: Vector) -> Vector:
        here = assemble(system, place + Y @ y, speed + W @ w, t=t)
        return np.concatenate((Y.T @ here[1], W.T @ _acceleration(system.evaluate(t, *here))))

    shifts = SHIFT * np.repeat((1.0 + np.abs(place).max(), 1.0 + np.abs(speed).max()), (p, W.shape[1]))
    columns = [(rates(x[:p], x[p:]) - rates(-x[:p], -x[p:])) / (2.0 * x.max()) for x in np.diag(shifts)]
    B = np.vstack((np.zeros((p, step.n)), np.linalg.solve(W.T @ step.M @ W, W.T)))
    return Linearisation(np.transpose(columns), B, rates(np.zeros(p), np.zeros(W.shape[1])), Y, W)


def _holding(system: AbstractSystem, held: Sequence[str], t: float, q: Vector, v: Vector) -> AbstractSystem:
    """Return the system with these contacts as constraints; raises UnknownName, or BadInput for what is no system."""
    if not isinstance(system, AbstractSystem):
        raise BadInput(f"A {type(system).__name__} is no system; give that of a problem, go.problem(...).system.")
    if not isinstance(held, list | tuple):
        raise BadInput(f"held is {held!r:.60}; give a list of names of contacts.")
    if isinstance(system, SteppedSystem):
        near = system.time_step(t, q, v).found
        for i in np.flatnonzero(near.gaps <= TOUCHING * (1.0 + np.abs(q).max())).tolist():
            raise NotAccepted(
                f"The contact {near.names[i]!r} of {system.name!r} touches at this state, and contacts that a model "
                "finds while it moves are in its steps only: give a state in which nothing touches."
            )
    if not held:
        return system
    names, mu = list(system.contact_names), system.evaluate(t, q, v).mu
    for name in held:
        if name not in names:
            raise UnknownName("contact", name, names)
    closed = [names.index(name) for name in held]
    return ContactSurface(system, system.evaluate, tuple(closed), tuple(i for i in closed if mu[i] > 0))


def _acceleration(step: StepData) -> Vector:
    """Return the certified acceleration of a step, (n,)."""
    answer = solve_step(step)
    if answer.status is not Status.SOLVED or answer.a is None:
        raise BadInput(f"The state has no unique acceleration: {answer.message}")
    return answer.a
