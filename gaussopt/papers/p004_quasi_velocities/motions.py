"""Motions of the body on a knife edge for the report: cases, and their errors and constraint violations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.comparison.trajectory_errors import common_instants
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.reference import ReferenceData
from gaussopt.papers import report_parts as common
from gaussopt.papers.p004_quasi_velocities import spread
from gaussopt.papers.p004_quasi_velocities.knife_edge import CASES, across
from gaussopt.papers.p004_quasi_velocities.pole import poles
from gaussopt.papers.report_parts import motion_case
from gaussopt.problems.knife_edge_body import exact_cycloid
from gaussopt.processes.job import Job

PROBLEM = "knife-edge-body"
REFERENCES = ("NH-A", "NH-B", "NH-C")
QUASI, FORMULA = "quasi-velocities", "quasi-velocities, formula only"
REGULAR, TAN = "Routh, regular row", "Routh, tan row"
METHODS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    QUASI: ("quasi-velocity", {}, {"state": "quasi-velocity"}),
    FORMULA: ("quasi-velocity", {}, {"state": "velocity"}),
    REGULAR: ("routh", {}, {}),
    TAN: ("routh", {"variant": "tan-row"}, {}),
}
"""By method: formulation, settings of the problem, options of the simulation. The paper prints the row of TAN."""

DRAWN = (QUASI, REGULAR, TAN)
INTEGRATORS: dict[str, dict[str, Any]] = {
    "RK4, 0.01 s": {"stepper": "rk4", "dt": 0.01},
    "RK45, rtol 1e-6": {"stepper": "rk45", "rtol": 1e-6, "atol": 1e-9},
    "RK45, rtol 1e-9": {"stepper": "rk45", "rtol": 1e-9, "atol": 1e-12},
}
DRAWN_STEP = "RK4, 0.01 s"

SEEN = {"NH-A": 10.0}
"""Cases that are animated, and the end of the animation, s."""

FULL = (("NH-B", 60.0, 0.01), ("NH-C", 10.0, 0.01))
"""Further cases of a full run: name, end of the motion, s, and step, s."""

FRACTION = 0.25
"""Position of the pole within its step in the convergence study, as a fraction of the step."""

STEPS_TO_POLE = (25, 50, 100, 200)
ORDER_END = 3.0
"""End of the convergence study, s: after the first pole and before the second."""

PLACES = (0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.45, 0.6, 0.75, 0.9)
"""Positions of the pole within its step, as fractions of the step."""

OTHER = 0.99
"""Factor by which the step size of NH-B with the row in tan(phi) is multiplied in an additional run."""


def cases(quick: bool) -> list[Job]:
    """Return all cases of this paper."""
    found = []
    for integrator, options in INTEGRATORS.items():
        for method in METHODS:
            end = 2.5 if quick else 30.0
            found.append(_case(f"NH-A, {integrator}: {method}", method, "NH-A", t_end=end, **options))
    for case, end, step in (("NH-B", 22.0, 0.05), ("NH-C", 10.0, 0.05)) if quick else FULL:
        found += [_case(f"{case}: {m}", m, case, stepper="rk4", dt=step, t_end=end) for m in DRAWN]
        if case == "NH-B":
            key = f"{case}: {other_step(step)}"
            found.append(_case(key, TAN, case, stepper="rk4", dt=OTHER * step, t_end=end))
    counts = STEPS_TO_POLE[:3] if quick else STEPS_TO_POLE
    for m in METHODS:
        found.append(Job(f"order: {m}", convergence, {"method": m, "counts": counts}, 1e-3 * sum(counts)))
    found.append(Job("order: place of the pole", places, {"count": 25 if quick else 100}, 1.0))
    found.append(Job("order: forces", spread.orders, {"quick": quick}, 3.0))
    for row in spread.ROWS:
        found.append(Job(f"spread: NH-A, {row}", spread.measured, {"case": "NH-A", "row": row, "quick": quick}, 2.0))
    found.append(Job("spread: NH-B", spread.at_crests, {"case": "NH-B", "quick": quick}, 4.0))
    found += common.states_cases(PROBLEM, REFERENCES[: 1 if quick else None], 50 if quick else 8, quick)
    return found + common.errata_cases(PROBLEM, {"004-6": 1.5})


def _case(key: str, method: str, case: str, **options: Any) -> Job:
    formulation, settings, state = METHODS[method]
    weight = 0.3 if "rtol" in options else 5e-4 * options["t_end"] / options["dt"]
    return motion_case(key, weight, PROBLEM, (formulation, "kkt"), {"case": case, **settings}, **state, **options)


def position_error(traj: Trajectory) -> Vector:
    """Return the larger of the errors of x and y, m, at each recorded instant, against the closed form of NH-A."""
    return np.asarray(np.abs(traj.q - exact_cycloid(traj.t))[:, [0, 2]].max(axis=1))


def reference_error(traj: Trajectory, reference: ReferenceData) -> float:
    """Return the largest distance of a coordinate of the centroid from a reference at common instants, m."""
    here, there = common_instants(traj, reference)
    return float(np.abs(traj.q[here] - reference.q[there])[:, [0, 2]].max())


def violation(traj: Trajectory) -> Vector:
    """Return |vx sin(phi) - vy cos(phi)|, the velocity across the blade, m/s; the formula is the same for every row."""
    return across_blade(traj.q, traj.v)


def across_blade(q: Matrix, v: Matrix) -> Vector:
    """Return the magnitude of the velocity across the blade at K instants; q and v are (K, 3)."""
    return np.abs(across(np.concatenate((q, v), axis=1)))


@dataclass(frozen=True, slots=True)
class Convergence:
    """Step sizes, s, and for each the largest position error of NH-A, m; the motion passes one pole."""

    steps: tuple[float, ...]
    errors: tuple[float, ...]

    @property
    def orders(self) -> list[float]:
        """Observed order between successive step sizes."""
        pairs = zip(self.steps, self.steps[1:], self.errors, self.errors[1:], strict=False)
        return [math.log(e / g) / math.log(h / k) if e > 0 and g > 0 else math.nan for h, k, e, g in pairs]


def convergence(method: str, counts: Sequence[int]) -> Convergence:
    """Return errors of RK4 for decreasing step sizes, with the pole at t = pi/2 always at FRACTION of a step."""
    steps = tuple(math.pi / 2 / (count + FRACTION) for count in counts)
    return Convergence(steps, tuple(float(position_error(_to_end(method, dt)).max()) for dt in steps))


def places(count: int) -> list[tuple[float, float, float, float]]:
    """Return for each of PLACES the place, the step size, and |omega3| after the pole by TAN and in closed form."""
    (pole,) = poles(CASES["NH-A"][0], ORDER_END)
    steps = [(fraction, math.pi / 2 / (count + fraction)) for fraction in PLACES]
    return [(f, dt, float(_to_end(TAN, dt).velocity_drift[-1]), float(abs(pole.left(dt)))) for f, dt in steps]


def other_step(step: float) -> str:
    """Return the label of the run TAN whose step is `step` times OTHER."""
    return f"{TAN}, {OTHER * step:.4g} s"


def _to_end(method: str, dt: float) -> Trajectory:
    formulation, settings, state = METHODS[method]
    return common.motion(PROBLEM, formulation, "kkt", {"case": "NH-A", **settings}, dt=dt, t_end=ORDER_END, **state)
