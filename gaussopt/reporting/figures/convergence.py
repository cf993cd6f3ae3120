"""Figures of convergence: Newton's residuals by iteration, best costs of evolutionary searches by generation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.comparison.convergence import convergence
from gaussopt.core.programs import Program
from gaussopt.modelling.problem import problem
from gaussopt.reporting.document import Figure
from gaussopt.reporting.figures import plots
from gaussopt.reporting.texts import Texts
from gaussopt.solving.defaults import formulate

texts = Texts(__file__, str)

ROUNDING = 1e-12
"""Residuals below this are rounding errors and show no order of convergence."""

EVOLUTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "genetic algorithm, null-space": ("deap", {}),
    "CMA-ES, null-space": ("deap-cma", {}),
    "genetic algorithm, full with penalty": ("deap", {"coordinates": "full", "generations": 300}),
    "CMA-ES, full with penalty": ("deap-cma", {"coordinates": "full"}),
}
"""Evolutionary algorithms by label; in full coordinates the genetic one gets as much time as CMA-ES."""

CRANK = "crank-slider"
STATE = 50
"""Row of the crank-slider's reference; in the first row zero acceleration, the search's origin, is feasible."""


def contact_programs(problems: Collection[str] | None = None) -> dict[str, Program]:
    """Return a QP and an LCP, one for a box that tips about one of three contacts, one for two bars with two contacts.

    If problem labels are given, only programs of these problems are returned.
    """
    found = {}
    for entry, words, formulation in (
        (problem("box", case="tips"), "tipping box", "lcp-qp"), (problem("two-bar"), "two bars", "frozen-friction"),
    ):  # fmt: skip
        if problems is None or entry.label in problems:
            step = entry.system.evaluate(0.0, entry.q0, entry.v0)
            found[f"QP ({formulation}), {words}"] = formulate(step, formulation)
            found[f"LCP, {words}"] = formulate(step, "lcp")
    return found


def of_compared(problems: Collection[str], solvers: Collection[str]) -> list[Figure]:
    """Return the convergence figures for a comparison, from the labels of its problems and the names of its solvers."""
    figures = []
    if "newton" in solvers and contact_programs(problems):
        figures.append(newton(problems))
    if CRANK in problems and {"deap", "deap-cma"} & set(solvers):
        figures.append(evolution())
    return figures


def newton(problems: Collection[str] | None = None) -> Figure:
    """Draw Newton's residual by iteration on the `contact_programs`, on a logarithmic axis."""
    curves = {label: convergence(program, "newton") for label, program in contact_programs(problems).items()}
    last = {label: exponent for label, r in curves.items() if (exponent := order(r)) is not None}
    words = "; ".join(f"{label} {value:.2f}" for label, value in last.items())
    caption = texts("newton", exponents=words)
    return _figure("newton-convergence", caption, "Residual of Newton's method", curves, "iteration", "max |Φ|", 0)


def evolution() -> Figure:
    """Draw the excess of the best individual's cost over the least cost, by generation, for a crank-slider program."""
    crank = problem(CRANK)
    rows = crank.reference("crank-A-2s")
    program = formulate(crank.system.evaluate(float(rows.t[STATE]), rows.q[STATE], rows.v[STATE]), "gauss")
    curves = {label: convergence(program, solver, **options) for label, (solver, options) in EVOLUTIONS.items()}
    caption = texts("evolution", time=rows.t[STATE])
    return _figure(
        "evolution-convergence", caption, "Cost above the least", curves, "generation", "cost above the least", 1
    )


def order(residuals: Sequence[float]) -> float | None:
    """Return the order log r_{k+1} / log r_k at the last r_k < 0.1 with r_{k+1} > ROUNDING; None if there is none."""
    for before, after in reversed(list(pairwise(residuals))):
        if before < 0.1 and after > ROUNDING:
            return float(np.log(after) / np.log(before))
    return None


def _figure(
    name: str, caption: str, title: str, curves: Mapping[str, Sequence[float]], xlabel: str, ylabel: str, first: int
) -> Figure:
    """Draw curves that begin at iteration `first`."""
    x = {label: np.arange(first, first + len(r), dtype=float) for label, r in curves.items()}
    # The cost is infinite until a point is feasible; such values are not drawn.
    y = {label: np.where(np.isfinite(r), r, np.nan) for label, r in curves.items()}
    ends = ", ".join(
        f"{label} from {r[0]:.1e} to {r[-1]:.1e} in {len(r) - 1 + first} {xlabel}s" for label, r in curves.items()
    )
    size = (6.4, 3.4 + 0.2 * (len(curves) > 2))
    svg = plots.lines(x, y, xlabel, ylabel, log=True, above=True, size=size)
    points = [(label, i, value) for label, r in curves.items() for i, value in enumerate(r, first)]
    data = pd.DataFrame(points, columns=["curve", xlabel, "value"])
    return Figure(name, caption, f"{title}, logarithmic, by {xlabel}: {ends}.", svg, data)
