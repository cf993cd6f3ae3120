"""Figures of convergence: Newton's residuals by iteration, costs of the evolutions by generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.comparison.convergence import convergence
from gaussopt.core.programs import Program
from gaussopt.modelling.problem import problem
from gaussopt.reporting.document import Figure
from gaussopt.reporting.figures import plots
from gaussopt.solving.defaults import formulate

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-12
"""Residuals below this are rounding and tell nothing of an order of convergence."""

EVOLUTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "genetic algorithm, null-space": ("deap", {}),
    "CMA-ES, null-space": ("deap-cma", {}),
    "genetic algorithm, full with penalty": ("deap", {"coordinates": "full", "generations": 300}),
    "CMA-ES, full with penalty": ("deap-cma", {"coordinates": "full"}),
}
"""Searches by label, with their options; in full coordinates the genetic algorithm has as long as CMA-ES."""

STATE = 50
"""Row of the crank-slider's reference: at its start the right acceleration of the rows is zero, and so is the search's
origin, which would be an unfair first individual."""


def contact_programs() -> dict[str, Program]:
    """A QP and an LCP each of a box that tips about one of its three contacts, and of two bars with two contacts."""
    box, bars = problem("box", case="tips"), problem("two-bar")
    tipping = box.system.evaluate(0.0, box.q0, box.v0)
    falling = bars.system.evaluate(0.0, bars.q0, bars.v0)
    return {
        "QP (lcp-qp), tipping box": formulate(tipping, "lcp-qp"),
        "LCP, tipping box": formulate(tipping, "lcp"),
        "QP (frozen-friction), two bars": formulate(falling, "frozen-friction"),
        "LCP, two bars": formulate(falling, "lcp"),
    }


def newton(programs: Mapping[str, Program] | None = None) -> Figure:
    """Newton's residual by iteration, on a logarithmic axis.

    Parameters
    ----------
    programs : mapping, optional
        By label; by default those of `contact_programs`.
    """
    found = contact_programs() if programs is None else programs
    curves = {label: convergence(program, "newton") for label, program in found.items()}
    last = {label: exponent for label, r in curves.items() if (exponent := order(r)) is not None}
    words = "; ".join(f"{label} {value:.2f}" for label, value in last.items())
    caption = (
        "Semismooth Newton on programs of contact steps: largest entry of the residual Φ, in scaled variables, after "
        "each iteration. Once the iteration has found which contacts push, each step squares the residual, so the "
        "curves bend down ever more steeply: the convergence is quadratic."
    )
    if last:
        caption += f" Exponent of the last step above rounding, log r(k+1) / log r(k): {words}."
    return _figure("newton-convergence", caption, "Residual of Newton's method", curves, "iteration", "max |Φ|", 0)


def evolution(program: Program | None = None) -> Figure:
    """Cost of the best individual less the least cost, by generation, on a logarithmic axis.

    Parameters
    ----------
    program : Program, optional
        With equality rows; by default the Gauss program of the crank-slider in motion.
    """
    if program is None:
        crank = problem("crank-slider")
        rows = crank.reference("crank-A-2s")
        program = formulate(crank.system.evaluate(float(rows.t[STATE]), rows.q[STATE], rows.v[STATE]), "gauss")
        subject = f"the Gauss program of the crank-slider at {rows.t[STATE]:g} s"
    else:
        subject = f"a program with {program.n} unknowns"
    curves = {label: convergence(program, solver, **options) for label, (solver, options) in EVOLUTIONS.items()}
    caption = (
        f"Evolutions on {subject}: cost of the best individual less the least cost, by generation; seed 0. CMA-ES "
        "falls along a straight line, linear convergence, once it has learned the shape of the cost; in full "
        "coordinates, where a penalty makes a long and narrow valley, that takes it some hundred generations. The "
        "genetic algorithm falls into that valley and stays where it fell. Where a curve meets the axis below, only "
        "rounding is left; the error that the penalty itself makes is not shown."
    )
    return _figure(
        "evolution-convergence", caption, "Cost above the least", curves, "generation", "cost above the least", 1
    )


def order(residuals: Sequence[float]) -> float | None:
    """Exponent log r_{k+1} / log r_k of the last step that ends above rounding; None without such a step.

    It tends to 2 for quadratic convergence and to 1 for linear.
    """
    for before, after in reversed(list(pairwise(residuals))):
        if before < 0.1 and after > ROUNDING:
            return float(np.log(after) / np.log(before))
    return None


def _figure(
    name: str, caption: str, title: str, curves: Mapping[str, Sequence[float]], xlabel: str, ylabel: str, first: int
) -> Figure:
    """A figure of curves that begin at iteration `first`."""
    x = {label: np.arange(first, first + len(r), dtype=float) for label, r in curves.items()}
    # An infinite cost, no point feasible yet, is no place in a picture.
    y = {label: np.where(np.isfinite(r), r, np.nan) for label, r in curves.items()}
    ends = ", ".join(
        f"{label} from {r[0]:.1e} to {r[-1]:.1e} in {len(r) - 1 + first} {xlabel}s" for label, r in curves.items()
    )
    size = (6.4, 3.4 + 0.2 * (len(curves) > 2))
    svg = plots.lines(x, y, xlabel, ylabel, log=True, above=True, size=size)
    return Figure(name, caption, f"{title}, logarithmic, by {xlabel}: {ends}.", svg, _table(x, curves, xlabel))


def _table(x: Mapping[str, Any], curves: Mapping[str, Sequence[float]], xlabel: str) -> pd.DataFrame:
    """Table with one row a point: curve, iteration, value."""
    import pandas as pd

    parts = [
        pd.DataFrame({"curve": label, xlabel: x[label].astype(int), "value": list(r)}) for label, r in curves.items()
    ]
    return pd.concat(parts, ignore_index=True)
