"""Two-sided contacts (guides) at velocity level: equality constraints whose impulses may have either sign.

A guide has no clearance: its gap rate stays zero, J_N v' + dg/dt = 0, whatever the coefficients of restitution. Without
friction it is an equality row. With friction it bears on one of its two walls during an impact or a step, where the law
|Lam_T| <= mu |Lam_N| is that of a one-sided contact that stays closed. All combinations of walls are tried; exactly one
velocity must result. Two opposed one-sided contacts without a gap would be a different model: two normal impulses that
cancel each other would add to the friction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact.activity import TOUCHING, refuse_penetration, tolerances
from gaussopt.contact.joints import eliminate_joints
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput, NotAccepted
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.accelerations import Rejected
from gaussopt.integration.events.modes import TOLERANCES
from gaussopt.linalg.dense import coordinate_scale, norm
from gaussopt.solving.answer import Answer

MOST_ROUGH = 6
"""Largest number r of guides with friction; each may bear on either wall, and all 2^r combinations are tried."""

SAME = 1e-8
"""Difference of two velocity jumps, relative to their size, that counts as zero."""

DEPENDENT = 1e-8
"""A guide depends on joints and other guides if they leave less than this part of its direction free."""


def without_restitution(step: StepData, guides: NDArray[np.bool_]) -> StepData:
    """Return the step with e_N = 0 at guides: in a jump, restitution would only multiply rounding errors there."""
    if step.e_N is None or not step.e_N[guides].any():
        return step
    return replace(step, e_N=np.where(guides, 0.0, step.e_N))


def solve_guided(jump: StepData, guides: NDArray[np.bool_], solve: Callable[[StepData], Answer]) -> Answer:
    """Solve for a jump of the velocity, with the guides as equality constraints.

    Parameters
    ----------
    jump : StepData, made by `jump_step` or `restitution_step`; its guides have no restitution
    guides : (k,) bool, True at guides
    solve : callable that solves a step whose contacts are one-sided, or raises Rejected

    Returns
    -------
    Answer
        The impulse of a guide is negative if it comes from the second wall. What is certified is the step in which
        guides without friction are equality constraints.

    Raises
    ------
    Rejected
        If the laws have no solution or several for one of the combinations of walls, or if `solve` raises it.
    """
    if not guides.any():
        return solve(jump)
    held, others = np.flatnonzero(guides & (jump.mu == 0)), np.flatnonzero(~guides | (jump.mu > 0))
    rough = np.flatnonzero((guides & (jump.mu > 0))[others])
    part = with_equalities(jump, held, others)
    found: list[tuple[Vector, Answer]] = []
    last: Answer | None = None
    for walls in product((1.0, -1.0), repeat=len(rough)):
        side = np.ones(len(others))
        side[rough] = walls
        one = part if not len(rough) else replace(part, J_N=side[:, None] * part.J_N, zeta_N=side * part.zeta_N)
        try:
            last = solve(one)
        except Rejected as error:
            if error.answer.status is not Status.NO_SOLUTION:
                raise
            last = error.answer
            continue
        if _bears(one, last, rough) and not any(_same(one, last, known) for _, known in found):
            found.append((side, last))
    if len(found) != 1:
        assert last is not None
        raise Rejected(part, _undetermined(last, len(found)))
    side, answer = found[0]
    lam_N, lam_T = np.zeros(jump.k), np.zeros(jump.v_T.shape)
    assert answer.lam is not None or not len(held)
    lam = answer.lam
    if lam is not None:
        lam, lam_N[held] = lam[: jump.m], lam[jump.m :]
    lam_N[others], lam_T[others] = side * answer.lam_N, answer.lam_T
    return replace(answer, lam=lam, lam_N=lam_N, lam_T=lam_T)


def with_equalities(step: StepData, held: NDArray[np.intp], others: NDArray[np.intp]) -> StepData:
    """Return the step with the contacts `others` only; the rows of the contacts `held` are appended to J and gamma."""
    if not len(held):
        return step
    J, gamma = np.vstack((step.J, step.J_N[held])), np.concatenate((step.gamma, -step.zeta_N[held]))
    # Where J_terms is zero, the rounding errors of an entry of J are taken relative to the entry itself.
    J_terms = None if step.J_terms is None else np.vstack((step.J_terms, np.zeros((len(held), step.n))))
    gamma_terms = None if step.gamma_terms is None else np.concatenate((step.gamma_terms, np.zeros(len(held))))
    return replace(step.select(others), J=J, gamma=gamma, arithmetic=None, J_terms=J_terms, gamma_terms=gamma_terms)


def _bears(step: StepData, answer: Answer, rough: NDArray[np.intp]) -> bool:
    """Return whether the gap rate of every guide with friction is zero, so that the guide stays on its wall."""
    a, d = answer.a, coordinate_scale(step.M, step.J)
    assert a is not None
    w = step.J_N @ a + step.zeta_N
    size = np.linalg.norm(step.J_N * d, axis=1) * norm(a / d) + np.abs(step.zeta_N)
    return bool((w <= TOLERANCES.vanishing * size)[rough].all())


def _same(step: StepData, one: Answer, other: Answer) -> bool:
    assert one.a is not None
    assert other.a is not None
    d = coordinate_scale(step.M, step.J)
    return norm((one.a - other.a) / d) <= SAME * (norm(one.a / d) + norm(other.a / d))


def _undetermined(answer: Answer, solutions: int) -> Answer:
    """Return an answer without a solution, for a jump for which the laws allow no velocity or several velocities."""
    if not solutions:
        words = "Whichever walls the guides with friction bear on, no impulses obey the contact and friction laws."
        return replace(answer, a=None, status=Status.NO_SOLUTION, message=words)
    words = f"The guides with friction may bear on {solutions} sets of walls, each with another velocity afterwards."
    return replace(answer, a=None, status=Status.MULTIPLE_SOLUTIONS, message=words)


def refuse_open_compression(jump: StepData, guides: NDArray[np.bool_], e_N: Vector, answer: Answer) -> None:
    """Check that the compression impulses are unique, since Poisson's law gives back a part of them.

    With friction they may be arbitrary: a tangential impulse may replace part of another impulse along the same line.
    Raises Rejected if an impulse is not unique.
    """
    contact, others = answer.contact, ~guides | (jump.mu > 0)
    if contact is None or contact.ranges is None or not jump.mu.any():
        return
    low, high = contact.ranges["lam_N"].T
    if (e_N[others] * (high - low) > SAME * np.abs(answer.lam_N).max()).any():
        words = (
            "Friction leaves the impulses of the compression open, and after Poisson contacts give back a part of "
            "them; choose the impact law newton."
        )
        raise Rejected(jump, replace(answer, a=None, status=Status.MULTIPLE_SOLUTIONS, message=words))


def refuse_start(system: AbstractSystem, step: StepData, allowed: float | None = None) -> None:
    """Check that no contact starts deep inside its obstacle, and that the friction of guides is determined.

    Gaps down to -`allowed`, relative to 1 + max |q|, pass; None means `TOUCHING`.
    Raises BadInput as `refuse_penetration` does, for too many guides with friction, and for guides with friction whose
    direction is also constrained by joints or other guides.
    """
    if step.g_N is not None:
        tolerance = tolerances(step)[0] * (1.0 if allowed is None else allowed / TOUCHING)
        refuse_penetration(system, step.g_N, step.gdot_N, tolerance)
    guides = np.array(system.two_sided, dtype=bool)
    rough = np.flatnonzero(guides & (step.mu > 0))
    if not len(rough):
        return
    names = [system.contact_names[i] for i in rough]
    if len(rough) > MOST_ROUGH:
        raise BadInput(
            f"{system.name!r} has {len(rough)} two-sided contacts with friction; every set of their walls has to be "
            f"tried, and that is done for up to {MOST_ROUGH}. Join some of them, or leave out the friction of some."
        )
    held = np.flatnonzero(guides & (step.mu == 0))
    try:
        root: Matrix = eliminate_joints(with_equalities(step, held, rough)).root
    except NotAccepted:
        return  # the first step reports the error in the joints
    length = np.linalg.norm(step.J_N[rough] * coordinate_scale(step.M, step.J), axis=1)
    rows = (step.J_N[rough] @ root) / length[:, None]
    for i in range(len(rows)):
        before = rows[:i]
        left = rows[i] - np.linalg.lstsq(before.T, rows[i], rcond=None)[0] @ before if i else rows[i]
        if norm(left) <= DEPENDENT:
            raise BadInput(
                f"The two-sided contact {names[i]!r} of {system.name!r} has friction, and joints or other two-sided "
                "contacts hold its direction as well: how strongly they are pressed against each other decides the "
                "friction, and no law states that. Give friction to one of them, or hold the direction once."
            )
