"""The kinds of problems: a `Page` for each describes how its problems are read, solved, certified, judged and named.

Code whose behaviour depends on the kind of a program calls the methods of its `Page`; it never tests the kind itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.core.errors import BadInput
from gaussopt.core.programs import Program
from gaussopt.kinds.base import Page as Page
from gaussopt.kinds.base import Residuals as Residuals
from gaussopt.kinds.cone import ContactPage, GlobalContactPage
from gaussopt.kinds.cone_program import ConeProgramPage
from gaussopt.kinds.lcp import LCPPage
from gaussopt.kinds.least_squares import LeastSquaresPage
from gaussopt.kinds.linear import LinearPage
from gaussopt.kinds.qp import QPPage
from gaussopt.kinds.step import StepPage

PAGES: tuple[Page[Any], ...] = (
    StepPage(), QPPage(), LinearPage(), LeastSquaresPage(), LCPPage(), ContactPage(), ConeProgramPage(),
    GlobalContactPage(),
)  # fmt: skip
"""The `Page` of every kind; a new kind of problem is added here."""

_PAGES = {page.kind: page for page in PAGES}


def page_of(problem: object) -> Page[Any]:
    """Return the `Page` of the kind of a problem; raises BadInput for any other object."""
    for kind in type(problem).__mro__:
        if kind in _PAGES:
            return _PAGES[kind]
    raise _no_program(problem)


def checked(program: object) -> Any:
    """Check a program made by hand as if it came from a file, and return it; raises BadInput for other objects.

    Steps, and contacts in global form, have a `Page`, too, but are not programs for a solver.
    """
    page = page_of(program)
    if not issubclass(page.kind, Program):
        raise _no_program(program)
    return page.check(program)


def _no_program(given: object) -> BadInput:
    names = ", ".join(kind.__name__ for kind in _PAGES if issubclass(kind, Program))
    return BadInput(f"A program is one of {names}, not {type(given).__name__}; see formulate and solve_step.")


def residuals(program: Program, x: Any, y: Any) -> Residuals:
    """Return the residuals of x with duals y, which are estimated if absent; infinite if x is None or not finite."""
    if x is None or x.shape != (program.n,) or not np.isfinite(x).all():
        return Residuals()
    return page_of(program).residuals(program, x, y)
