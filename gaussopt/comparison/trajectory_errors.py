"""Errors of trajectories against a reference, and drift of their energy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.modelling.reference import ReferenceData

if TYPE_CHECKING:
    from gaussopt.integration.trajectory import Trajectory

Indices = NDArray[np.intp]


def common_instants(traj: Trajectory, reference: ReferenceData) -> tuple[Indices, Indices]:
    """Return the row indices, in trajectory and reference, of the instants that both have."""
    index = np.searchsorted(traj.t, reference.t - 1e-9)
    keep = (index < len(traj.t)) & (np.abs(traj.t[np.minimum(index, len(traj.t) - 1)] - reference.t) < 1e-9)
    return index[keep], np.flatnonzero(keep)


def errors_against(traj: Trajectory, reference: ReferenceData) -> tuple[Vector, Vector]:
    """Return the common instants, and the largest |q - q_ref| at each."""
    here, there = common_instants(traj, reference)
    return reference.t[there], np.abs(traj.q[here] - reference.q[there]).max(axis=1)


def energy_drift(traj: Trajectory) -> float:
    """Return max |E(t) - E(0) - work up to t|, relative to the largest kinetic energy or change of potential energy.

    The work is the integral, by Simpson's rule, of the recorded power of the non-conservative forces; drifts smaller
    than the error of the rule cannot be detected. An unknown power counts as zero. The drift is NaN if the system
    states no energy, if events can change it at an instant, or with fewer than three recorded instants.
    """
    from scipy.integrate import cumulative_simpson

    if len(traj.t) < 3 or traj.events or not np.isfinite(traj.energy).all():
        return math.nan
    power = np.nan_to_num(traj.power)
    work = cumulative_simpson(power, x=traj.t, initial=0.0)
    size = max(float(np.abs(traj.kinetic).max()), float(np.abs(traj.potential - traj.potential[0]).max()))
    drift = float(np.abs(traj.energy - traj.energy[0] - work).max())
    return drift / size if size > 0 else drift
