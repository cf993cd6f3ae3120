"""Writing down the states of a motion with their certificates, drifts, energies and contacts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.integration.events.accelerations import ContactAccelerations
from gaussopt.integration.events.modes import ContactModes
from gaussopt.integration.trajectory import Recorder
from gaussopt.solving.answer import Answer

Record = Callable[[float, Vector, Vector, Answer], None]
"""Writes down a state (t, q, v) with the certified answer there."""

FEW = 50
"""Numbers up to which a list is faster than an array."""


def recording(recorder: Recorder, motion: CertifiedAccelerations) -> Record:
    """What writes down a state of a motion."""
    system = motion.system

    def record(t: float, q: Vector, v: Vector, answer: Answer) -> None:
        drift = _largest(system.position_residual(t, q)), _largest(system.velocity_residual(t, q, v))
        energy = system.energy(t, q, v)
        c = answer.certificate
        motion.singular.note(t, c.independence, c.closeness)
        if isinstance(motion, ContactAccelerations):
            drift = _with_contacts(drift, motion.whole(t, q, v), motion.phase)
        row: tuple[Any, ...] = (
            t, q, v, answer.a, answer.lam, c.error_bound, c.relative_error, *drift,
            *((math.nan,) * 3 if energy is None else (energy.kinetic, energy.potential, energy.power)),
            motion.determined(t, q, v, answer),
        )  # fmt: skip
        if isinstance(motion, ContactAccelerations):
            step = motion.whole(t, q, v)
            lam_N, lam_T = motion.forces(answer)
            row = (*row, lam_N, step.g_N, motion.phase.modes(), lam_T, step.v_T)
        recorder.add(*row)

    return record


def _with_contacts(drift: tuple[float, float], step: StepData, phase: ContactModes) -> tuple[float, float]:
    """Drift of joints, closed gaps and sticking slips."""
    closed = list(phase.closed)
    if not closed or step.g_N is None or step.gdot_N is None:
        return drift
    # A NaN, where there are no joints, loses the comparison.
    position, velocity = _largest(step.g_N[closed]), _largest(step.gdot_N[closed])
    if phase.sticking:
        velocity = max(velocity, _largest(step.v_T[list(phase.sticking)]))
    return max(position, drift[0]), max(velocity, drift[1])


def _largest(residual: Vector | None) -> float:
    if residual is None:
        return math.nan
    if not 0 < len(residual) <= FEW:
        return float(np.abs(residual).max(initial=0.0))
    values = residual.ravel().tolist()
    return max(0.0, max(values), -min(values)) if math.isfinite(sum(values)) else math.nan
