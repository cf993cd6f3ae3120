"""Decide which contacts are closed at a state; refuse contacts that penetrate, or that touch and still approach."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem

TOUCHING = 1e-8
"""A contact counts as touching if its gap in m, relative to 1 + max |q|, is at most this."""

RESTING = 1e-8
"""Gap rate or slip speed in m/s, relative to 1 + max |v|, that counts as zero."""


def tolerances(step: StepData) -> tuple[float, float]:
    """Return the largest gap and the largest gap rate that count as zero at this state."""
    q = 0.0 if step.q is None else float(np.abs(step.q).max(initial=0.0))
    v = 0.0 if step.v is None else float(np.abs(step.v).max(initial=0.0))
    return TOUCHING * (1.0 + q), RESTING * (1.0 + v)


def closed_contacts(step: StepData) -> NDArray[np.intp]:
    """Return the indices of the contacts that touch and do not open; all contacts if the step has no gaps.

    Raises BadInput if a contact penetrates, or touches and approaches.
    """
    if step.g_N is None or not step.k:
        return np.arange(step.k)
    gap, rate = tolerances(step)
    gdot = np.zeros(step.k) if step.gdot_N is None else step.gdot_N
    for i in range(step.k):
        numbers = f"its gap is {step.g_N[i]:.6g} m, its gap rate {gdot[i]:.6g} m/s"
        if step.g_N[i] < -gap:
            raise BadInput(f"Contact {i + 1} penetrates: {numbers}; start with closed or open contacts.")
        if step.g_N[i] <= gap and gdot[i] < -rate:
            raise BadInput(
                f"Contact {i + 1} impacts: {numbers}; no finite force stops it, so solve an impact first (simulate "
                "does)."
            )
    return np.flatnonzero((step.g_N <= gap) & (gdot <= rate))


def refuse_penetration(system: AbstractSystem, gaps: Vector, rates: Vector | None, tolerance: float) -> None:
    """Raise BadInput if a contact penetrates at the start of a motion; two-sided contacts are not checked.

    Gaps down to -`tolerance`, m, pass. The message states gap and gap rate.
    """
    rate = np.zeros(len(gaps)) if rates is None else rates
    for i in np.flatnonzero(gaps < -tolerance):
        if not system.two_sided[i]:
            raise BadInput(
                f"The start of {system.name!r} penetrates: contact {system.contact_names[i]!r} has the gap "
                f"{gaps[i]:.6g} m and the gap rate {rate[i]:.6g} m/s; move the start out of the obstacle. If it is "
                "a state of a Moreau-Jean motion, whose steps leave such gaps, go on with start=motion instead of "
                "q0 and v0."
            )
