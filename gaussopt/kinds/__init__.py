"""A page for each kind of problem: how one is read, solved, certified and judged, and the words for it.

Code that treats kinds differently looks up their pages; no other code asks what kind a program is of.
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
"""A kind of problem is known by being named here."""

_PAGES = {page.kind: page for page in PAGES}


def page_of(problem: object) -> Page[Any]:
    """Return the page of a problem; raises BadInput for what is none."""
    for kind in type(problem).__mro__:
        if kind in _PAGES:
            return _PAGES[kind]
    raise _no_program(problem)


def checked(program: object) -> Any:
    """Return a program made by hand, checked like one from a file; raises BadInput for what is none.

    Steps and contacts in global form have pages too, but no solver takes them as they are.
    """
    page = page_of(program)
    if not issubclass(page.kind, Program):
        raise _no_program(program)
    return page.check(program)


def _no_program(given: object) -> BadInput:
    names = ", ".join(kind.__name__ for kind in _PAGES if issubclass(kind, Program))
    return BadInput(f"A program is one of {names}, not {type(given).__name__}; see formulate and solve_step.")


def residuals(program: Program, x: Any, y: Any) -> Residuals:
    """Residuals of a point x with duals y (gaussopt's sign; estimated if absent); infinite where there is no point."""
    if x is None or x.shape != (program.n,) or not np.isfinite(x).all():
        return Residuals()
    return page_of(program).residuals(program, x, y)
