"""The rod's Painleve states for the report of paper 001: number of solutions, and the status that each pair reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from gaussopt.certificates.contact import certify_contact
from gaussopt.core.errors import NotAccepted
from gaussopt.modelling.problem import Problem, problem
from gaussopt.papers.report_parts import PaperResults, part
from gaussopt.problems import sliding_rod
from gaussopt.processes.job import Job
from gaussopt.reporting.document import Section, Table
from gaussopt.reporting.texts import Texts
from gaussopt.solving.step_solver import StepSolver

PROBLEM = "sliding-rod"

STATES = (
    "regular", "separating", "inconsistent", "indeterminate",
    "unit-contact", "unit-lift-off", "unit-right", "unit-inconsistent", "unit-indeterminate",
)  # fmt: skip
"""Cases of the rod; only the initial state of each is studied."""

PAIRS = (
    ("lcp", "lemke"), ("lcp", "newton"), ("lcp", "pgs"), ("lcp", "enumerate"), ("stick-slip", "lemke"),
    ("normal-force-qp", "newton"), ("weighted-normal-force-qp", "newton"), ("lcp-qp", "daqp"),
    ("frozen-friction", "daqp"),
)  # fmt: skip

GRID_PAIRS = (("lcp", "lemke"), ("normal-force-qp", "newton"))

SIGNS = {
    (True, True): "unique, contact",
    (True, False): "unique, lift-off",
    (False, True): "none",
    (False, False): "several",
}
"""Number and kind of solutions by the signs of A (positive?) and B (negative?)."""

EXPECTED = {
    "unique, contact": "solved", "unique, lift-off": "solved", "none": "no_solution", "several": "multiple_solutions",
}  # fmt: skip
"""The correct status for each number and kind of solutions."""

texts = Texts(__file__)


@dataclass(frozen=True, slots=True)
class RodState:
    """A state of the rod: A and B, solutions expected by their signs, forces, and the status of each pair."""

    label: str
    degrees: float
    omega: float
    mu: float
    slip: float
    A: float
    B: float
    signs: str
    forces: tuple[float, ...]
    found: int
    statuses: Mapping[str, str]


def states() -> list[RodState]:
    """Solve the named states by all pairs of formulation and solver."""
    return [_state(name, problem(PROBLEM, case=name), PAIRS) for name in STATES]


@dataclass(frozen=True, slots=True)
class Grid:
    """Statuses counted on a grid of states; `counts` maps (signs, pair, status) to the number of states."""

    counts: Mapping[tuple[str, str, str], int]
    wrong: int
    states: int


def grid(step: float) -> Grid:
    """Count statuses over angles every `step` degrees, four rates, four friction coefficients and two slip signs."""
    counts: Counter[tuple[str, str, str]] = Counter()
    wrong = states = 0
    for mu, omega, degrees, slip in product(
        (0.3, 1.0, 1.5, 2.0), (0.0, 2.0, 5.0, 7.0), np.arange(step, 90.0, step), (-1.0, 1.0)
    ):
        entry = problem(PROBLEM, mu=mu, omega0=omega, theta0=float(np.radians(degrees)), vA0=slip)
        state = _state("", entry, GRID_PAIRS)
        states += 1
        wrong += state.statuses["lcp by lemke"] != EXPECTED[state.signs]
        for pair, status in state.statuses.items():
            counts[state.signs, pair, status] += 1
    return Grid(dict(counts), wrong, states)


def _state(label: str, entry: Problem, pairs: Sequence[tuple[str, str]]) -> RodState:
    p = entry.parameter_values
    step = entry.system.evaluate(0.0, entry.q0, entry.v0)
    theta, omega, slip = p["theta0"], p["omega0"], p["vA0"]
    sigma = -int(np.sign(slip))
    A, B = sliding_rod.delassus(theta, sigma, p), sliding_rod.bias(theta, omega, p)
    statuses = {}
    for formulation, solver in pairs:
        try:
            status = str(StepSolver(formulation, solver).solve(step).status)
        except NotAccepted:
            status = "refused"
        statuses[f"{formulation} by {solver}"] = status
    verdict = certify_contact(step, None).contact
    found = {"solved": 1, "no_solution": 0}.get(str(verdict.status), len(verdict.solutions))
    forces = sliding_rod.normal_forces(theta, omega, sigma, p)
    return RodState(
        label, float(np.degrees(theta)), omega, p["mu"], slip, A, B, SIGNS[A > 0, B < 0], forces, found, statuses
    )


def cases(quick: bool) -> list[Job]:
    """Return the cases of the named states and of the grid."""
    return [
        Job("painleve: states", states, {}, 0.3),
        Job("painleve: grid", grid, {"step": 22.5 if quick else 5.0}, 0.3 if quick else 2.5),
    ]


def section(results: PaperResults, findings: list[str]) -> Section:
    """Show the number of solutions at each state, and the status that each formulation and solver reports."""
    blocks = texts.blocks("lead")
    rows: list[RodState] | None = results.value("painleve: states")
    if rows:
        blocks.append(texts.table("painleve-001", (
            (r.label, r.degrees, r.omega, r.mu, r.slip, r.A, r.B, r.signs,
             "; ".join(f"{x:.6g}" for x in r.forces) or "–", r.found) for r in rows
        )))  # fmt: skip
        blocks.append(Table(
            "painleve-statuses-001", "The status that each pair reports for these states.",
            ("formulation by solver", *(r.label for r in rows)),
            tuple((pair, *(r.statuses[pair] for r in rows)) for pair in rows[0].statuses),
        ))  # fmt: skip
        right = sum(r.found == len(r.forces) and r.statuses["lcp by lemke"] == EXPECTED[r.signs] for r in rows)
        findings.append(texts("right", right=right, states=len(rows)))
    scan: Grid | None = results.value("painleve: grid")
    if scan is not None:
        table = []
        for signs in EXPECTED:
            for pair in (f"{f} by {s}" for f, s in GRID_PAIRS):
                of = {s: n for (k, q, s), n in scan.counts.items() if (k, q) == (signs, pair)}
                if of:
                    table.append((signs, pair, sum(of.values()), ", ".join(f"{n} {s}" for s, n in of.items())))
        blocks.append(texts.table("painleve-grid-001", table, scan=scan))
        findings.append(
            f"Rod, grid of {scan.states} states: the status of the LCP contradicts the sign table on {scan.wrong}."
        )
    return part("painleve-001", "Rod: one solution, none or two", blocks)
