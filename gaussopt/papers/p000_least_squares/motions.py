"""Motions of the crank-slider for the report."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from gaussopt.papers import report_parts as common
from gaussopt.papers.report_parts import motion_case
from gaussopt.processes.job import Job

PROBLEM = "crank-slider"
REFERENCE = "crank-A-2s"

MOTIONS = (
    ("lagrange", "kkt"), ("gauss", "kkt"), ("gauss", "osqp"), ("gauss", "newton"), ("gauss", "cvxpy"),
    ("least-squares", "kkt"),
)  # fmt: skip
"""Pairs of formulation and solver that simulate the printed case with RK4."""

CONTROLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("kkt", "kkt", {}),
    ("osqp", "osqp", {}),
    ("newton", "newton", {}),
    ("deap, null-space coordinates", "deap", {}),
    ("deap, full coordinates with penalty", "deap", {"coordinates": "full", "generations": 80}),
)
"""Label, solver and solver options of short runs, which use the integrator of the papers."""


def cases(quick: bool) -> list[Job]:
    """Return all cases of this paper."""
    shown, t_end, compared, control, grid = (0.5, 0.05, 0.02, 0.005, 0.01) if quick else (2.0, 2.0, 0.25, 0.05, 1e-3)
    exact: dict[str, Any] = {"stepper": "dop853", "rtol": 1e-12, "atol": 1e-12}
    near: dict[str, Any] = {"stepper": "dop853", "rtol": 1e-8 if quick else 1e-10, "atol": 1e-8 if quick else 1e-10}
    case = partial(motion_case, name=PROBLEM)
    mechanism = partial(case, pair=common.EXACT, engine=common.ENGINE)
    found = [
        mechanism("motion: exact", 0.4, dt=0.01, t_end=shown, stabilisation="projection", **exact),
        mechanism("motion: settles", 0.2, settings={"tau": 0.0}, dt=0.1 if quick else 0.05,
                  t_end=5.0 if quick else 20.0, **near),
    ]  # fmt: skip
    for tau in (-0.5, 0.0):
        short: dict[str, Any] = {"settings": {"tau": tau}, "dt": grid, "t_end": 0.25, "tolerance": math.inf, **near}
        by = "least-squares-as-printed"
        found += [
            mechanism(f"eq. (16): exact, tau = {tau:g}", 0.1, **short),
            case(f"eq. (16): {by}, tau = {tau:g}", 1.0, pair=(by, "kkt"), **short),
        ]
    for pair in MOTIONS:
        weight = {"cvxpy": 10.0, "osqp": 1.5, "newton": 1.5}.get(pair[1], 1.0) * compared
        found.append(case(f"rk4: {' by '.join(pair)}", weight, pair=pair, dt=1e-3, t_end=compared))
    found += [
        case(f"control: {label}", 40.0 * control if solver == "deap" else 0.2, pair=("gauss", solver),
             stepper="semi-implicit", dt=1e-3, t_end=control, tolerance=math.inf, solver_options=options)
        for label, solver, options in CONTROLS
    ]  # fmt: skip
    drifting: dict[str, Any] = {"dt": 1e-3, "t_end": 2 * t_end}
    found += [mechanism(f"drift: rk4, {how}", 0.4, stabilisation=how, **drifting) for how in ("none", "projection")]
    # Baumgarte's stabilisation and semi-implicit Euler have no compiled form.
    found += [
        case("drift: rk4, baumgarte", 1.5 * t_end, pair=common.EXACT, stabilisation="baumgarte", **drifting),
        case("drift: semi-implicit, none", 1.0, pair=common.EXACT, stepper="semi-implicit", **drifting),
    ]
    found += common.states_cases(PROBLEM, (REFERENCE,), 100 if quick else 8, quick)
    return found + common.errata_cases(PROBLEM, {"000-10": 4.0})
