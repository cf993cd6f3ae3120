"""Floating-point answers of formulations, computed by the formulations' own code and without a certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gaussopt.contact.impact_laws import LAWS
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import BadInput, GaussoptError
from gaussopt.core.program import Program
from gaussopt.core.programs import LCP
from gaussopt.core.step_data import StepData
from gaussopt.falsification.example import AXES, Numbers
from gaussopt.formulations._sliding import SlidingFormulation
from gaussopt.formulations.base import Candidate, Formulation
from gaussopt.kinds import page_of
from gaussopt.relaxations import find as find_relaxation
from gaussopt.relaxations import is_contact_formulation
from gaussopt.solving.foreign_formulation import find
from gaussopt.solving.solve import solve_step
from gaussopt.solving.solver_sequence import SolverSequence

FloatAnswer = Callable[[Numbers], Vector | None]
"""Function that solves an example, given by its arrays; it returns None if it finds no answer."""

Given = str | Callable[..., Any]
"""A formulation by its name, or a function of the arrays of an example."""

MOST_PROGRAMS = 600


class Solvers:
    """The default solver of each kind of program, set up once; for QPs always an optimiser."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[str, SolverSequence]] = {}

    def __call__(self, program: Program) -> tuple[Vector | None, Vector | None]:
        """Return x and y of a program, None if there is no answer."""
        key = (type(program), program.n, program.pattern)
        if key not in self._known:
            page = page_of(program)
            name = page.default_solver(program)
            if (page.name, name) == ("qp", "kkt"):  # kkt is no optimiser; it solves Lagrange's equations
                name = "daqp"
            self._known[key] = name, SolverSequence(name, warm_start=False)
        raw, _ = self._known[key][1].solve(program)
        return raw.x, raw.y


def name_of(given: Given) -> str:
    """Return the name of a formulation, or of a function."""
    return given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)


def takes_lcp(given: Given) -> bool:
    """Return whether a formulation needs only the data of an LCP."""
    return isinstance(given, str) and given not in LAWS and not is_contact_formulation(given) and isinstance(
        find(given), SlidingFormulation
    )  # fmt: skip


def answerer(given: Given, kind: str) -> FloatAnswer:
    """Return the function that solves examples of a kind by a formulation or by a user's function.

    Raises UnknownName, and BadInput if the formulation takes no examples of this kind.
    """
    if not isinstance(given, str):
        return _called(given, kind)
    if kind == "contact":
        return _cone_answer(given)
    if given in LAWS:
        return _impact_answer(given)
    entry, solvers = find(given), Solvers()
    if kind == "lcp":
        if not isinstance(entry, SlidingFormulation):
            raise BadInput(f"{given!r} does not take an LCP; compare it on steps.")
        return _guarded(lambda of: solvers(entry.program(LCP(of["M"], of["q"])))[0])
    return _guarded(lambda of: _step_answer(entry, solvers, _step(of)))


_latest: tuple[Numbers, StepData] | None = None


def _step(of: Numbers) -> StepData:
    """Return the step of an example, and cache it, because the second formulation needs the same step."""
    global _latest
    if _latest is None or _latest[0] is not of:
        plain = of.keys() == {"M", "Q", "J", "gamma"}
        _latest = of, _unchecked(of) if plain else StepData.from_mapping(of)
    return _latest[1]


def _unchecked(of: Numbers) -> StepData:
    """Return a step without contacts, and skip the usual checks, since the search makes only valid steps."""
    nothing = np.zeros(len(of["Q"]))
    return StepData.smooth(of["M"], nothing, of["Q"], of["J"], of["gamma"], 0.0, nothing, nothing)


def _guarded(solve: FloatAnswer) -> FloatAnswer:
    def answer(of: Numbers) -> Vector | None:
        try:
            x = solve(of)
        except GaussoptError:
            return None
        return x if x is not None and np.isfinite(x).all() else None

    return answer


def _step_answer(entry: Formulation, solvers: Solvers, step: StepData) -> Vector | None:
    """Return the normal forces of a step with contacts, or the acceleration of a step without contacts."""
    if entry.misfit(step):
        return None
    program, data = entry.apply(step)
    x, y = solvers(program)
    for _ in range(MOST_PROGRAMS):
        following = None if x is None else entry.again(data, x, y)
        if following is None:
            break
        x, y = solvers(following)
    if x is None:
        return None
    found = entry.recover(data, x, y)
    candidate = found if isinstance(found, Candidate) else Candidate(*found)
    return candidate.lam_N if step.k else candidate.a


def _cone_answer(name: str) -> FloatAnswer:
    entry, solvers = find_relaxation(name), Solvers()
    return _guarded(
        lambda of: entry.impulses(ConeComplementarity(of["W"], of["q"], of["mu"]), lambda program: solvers(program)[0])
    )


def _impact_answer(name: str) -> FloatAnswer:
    def solve(of: Numbers) -> Vector | None:
        step = StepData.from_mapping({**of, "v_T": np.zeros(len(of["mu"]))})
        jump = LAWS[name](step, lambda stage: solve_step(stage, "stick-slip"))
        return np.column_stack((jump.Lam_N, jump.Lam_T)).ravel()

    return _guarded(solve)


def _called(function: Callable[..., Any], kind: str) -> FloatAnswer:
    """Wrap a user's function of a step, or of the arrays of an LCP (M, q) or of a contact problem (W, q, mu)."""
    names = tuple(AXES[kind])

    def solve(of: Numbers) -> Vector | None:
        data = [StepData.from_mapping(of)] if kind == "step" else [of[name].copy() for name in names]
        found = function(*data)
        if found is None:
            return None
        try:
            x = np.array(found, dtype=np.float64)
        except (TypeError, ValueError):
            raise _wrong(function, found) from None
        wanted = of["q"].shape if "q" in of else (of["zeta_N"] if "zeta_N" in of else of["Q"]).shape
        if x.shape != wanted:
            raise _wrong(function, f"an array of shape {x.shape}, and not {wanted}")
        return x if np.isfinite(x).all() else None

    return solve


def _wrong(function: Callable[..., Any], found: Any) -> BadInput:
    return BadInput(f"The function {name_of(function)!r} returned {found}; it must return a vector, or None.")
