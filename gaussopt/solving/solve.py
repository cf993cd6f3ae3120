"""Solve steps, programs and complementarity problems, and verify the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gaussopt.contact.activity import closed_contacts
from gaussopt.core import registry
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity, GlobalContacts
from gaussopt.core.errors import IllPosed, NotAccepted
from gaussopt.core.programs import LCP, Program
from gaussopt.core.solution import RawSolution, Solution, Timing
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData, as_array
from gaussopt.core.tolerances import DEFAULT_TOLERANCE, check_tolerance
from gaussopt.formulations._sliding import SlidingFormulation
from gaussopt.formulations.base import Formulation
from gaussopt.kinds import checked, page_of
from gaussopt.kinds.cone import distance, several
from gaussopt.kinds.step import certify_step, check_step, judge
from gaussopt.solving.answer import Answer
from gaussopt.solving.contact_sequence import ContactSequence
from gaussopt.solving.defaults import default_pair, default_solver
from gaussopt.solving.solver_sequence import SolverSequence
from gaussopt.solving.step_solver import StepSolver
from gaussopt.solving.verification import verified


def solve_step(
    step: StepData,
    formulation: str | None = None,
    solver: str | None = None,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    solver_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Answer:
    """Formulate, solve and certify one step.

    If the gaps of the step are known, open contacts are left out with zero forces. The default formulation is gauss
    for a step without contacts and stick-slip with contacts, but coulomb-soccp if a contact in space has friction and
    does not slip. The default solver is an exact solver of the program. If either default was used,
    `details["method"]` of the answer names formulation and solver. Solver options are given as in `solve`.

    Raises
    ------
    UnknownName, NotAccepted, MissingBackend
    BadInput
        Also if a contact penetrates or is about to impact; the message states its gap and gap rate.

    Examples
    --------
    >>> import gaussopt as go
    >>> problem = go.problem("crank-slider")
    >>> step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    >>> answer = go.solve_step(step, "gauss", "kkt")
    >>> print(answer.status, answer.a[2].round(4))
    solved -156.5795
    """
    check_step(step)
    pair = default_pair(step, formulation, solver)
    driver = StepSolver(*pair, {**options, **(solver_options or {})}, tolerance)
    closed = driver.formulation.contacts(step)
    answer = driver.solve(step.select(closed))
    if formulation is None or solver is None:
        answer = replace(answer, details={"method": " by ".join(pair), **answer.details})
    return _spread(answer, step, closed) if len(closed) < step.k else answer


def judge_acceleration(
    step: StepData, a: ArrayLike, by: str = "given", *, tolerance: float = DEFAULT_TOLERANCE
) -> Answer:
    """Judge an acceleration from any source by the same criteria as a solver's acceleration.

    Parameters
    ----------
    step : StepData; if it holds its gaps, open contacts are left out
    a : (n,)
    by : source of the acceleration, for messages
    tolerance : relative tolerance of the certificate

    Returns
    -------
    Answer
        Its lam is computed by the certificate; lam_N and lam_T are NaN, because contact forces are not given.

    Raises BadInput if the acceleration has the wrong shape or entries that are not finite.

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> given = {"M": [[2.0]], "Q": [-19.62], "J_N": [[1.0]], "zeta_N": [0.0]}
    >>> block = go.StepData.from_mapping(given)
    >>> print(*(go.judge_acceleration(block, [a]).status for a in (0.0, 0.1)))
    solved inaccurate
    """
    check_tolerance(tolerance)
    given, begin = as_array("a", a, (step.n,)), perf_counter()
    nothing = np.full(step.k, np.nan), np.full(step.v_T.shape, np.nan)
    step = step.select(closed_contacts(step))
    certificate = certify_step(step, given)
    raw, advice = RawSolution(given, None, Status.SOLVED), f"The answer of {by} is not the mechanics of this step."
    status, message = judge(step, raw, certificate, tolerance, advice)
    timing = Timing(verify=perf_counter() - begin)
    details = {"method": by}
    return Answer(given, certificate.lam, *nothing, status, raw.claim, message, certificate, 0, timing, details)


def _spread(answer: Answer, step: StepData, closed: NDArray[np.intp]) -> Answer:
    """Return the answer with the forces of all contacts, which are zero at open contacts."""
    lam_N, lam_T = np.zeros(step.k), np.zeros(step.v_T.shape)
    lam_N[closed], lam_T[closed] = answer.lam_N, answer.lam_T
    return replace(answer, lam_N=lam_N, lam_T=lam_T)


def solve(
    program: Program,
    solver: str = "kkt",
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    start: tuple[Vector, Vector | None] | None = None,
    solver_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Solution:
    """Solve a program and verify the answer.

    Parameters
    ----------
    program : QP, LinearSystem, LeastSquares, LCP or ConeComplementarity
    solver : str
    tolerance : relative tolerance of the verification
    start : (x, y), optional, warm start
    options, solver_options
        Options of the solver; an option named like a parameter of this function must be given in `solver_options`.

    Raises
    ------
    UnknownName, BadInput, MissingBackend, NotAccepted

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> rows, one = np.array([[1.0, 1.0]]), np.array([1.0])
    >>> nearest = go.QP(P=np.eye(2), q=np.zeros(2), A=rows, l=one, u=one)
    >>> solution = go.solve(nearest, "kkt")
    >>> print(solution.status, solution.x)
    solved [0.5 0.5]
    """
    check_tolerance(tolerance)
    program = checked(program)
    sequence = SolverSequence(solver, {**options, **(solver_options or {})})
    if start is not None:
        x, y = start
        duals = None if y is None else as_array("start (y)", y, (program.duals,))
        start = as_array("start (x)", x, (program.n,)), duals
    raw, timing = sequence.solve(program)
    if start is not None and raw.claim is not Status.CRASHED:
        raw, seconds = sequence.solve_again(start)
        timing = timing._replace(solve=seconds, backend=raw.backend)
    return verified(program, raw, timing, tolerance)


def solve_lcp(
    lcp: LCP,
    formulation: str = "lcp",
    solver: str | None = None,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    solver_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> tuple[Solution, dict[str, Any]]:
    """Solve an LCP (delassus, bias) by a formulation in the normal forces, and judge the answer by the LCP itself.

    Solver options are given as in `solve`. The x of the solution is z. The returned dict names the solver and holds
    entries that the formulation adds, such as the multipliers eta. Raises NotAccepted if the formulation needs a step,
    or does not apply to the LCP.
    """
    entry: Formulation = registry.load("formulation", formulation)
    lcp = checked(lcp)
    if not isinstance(entry, SlidingFormulation):
        raise NotAccepted(f"The formulation {formulation!r} needs a step; an lcp holds only delassus and bias.")
    try:
        program = entry.program(lcp)
    except IllPosed as verdict:
        return Solution(None, None, verdict.status, verdict.status, str(verdict)), {}
    used = solver or default_solver(program)
    raw, timing = SolverSequence(used, {**options, **(solver_options or {})}).solve(program)
    found = verified(lcp, replace(raw, y=None, history=()), timing, tolerance)
    return found, {"solver": used, **entry.remarks(lcp, raw.x)}


def solve_contacts(
    problem: ConeComplementarity | GlobalContacts,
    formulation: str = "coulomb-soccp",
    solver: str | None = None,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    solver_options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Solve contacts with friction cones; return impulses r, velocities u and, for a global problem, v, for JSON.

    Answers are judged by Coulomb's law without relaxation. The entry `dilation` is the largest opening velocity, m/s,
    of a contact with a normal impulse. Raises UnknownName, BadInput, MissingBackend or NotAccepted.
    """
    local = problem.local
    sequence = ContactSequence(formulation, solver, solver_options, tolerance)
    found = sequence.solve(local)
    r = found.x
    certificate = dict(found.certificate)
    proved = distance(certificate) if found.status is Status.SOLVED else ""
    if not local.symmetric:
        proved += f" W differs from its transpose by {local.asymmetry:.2g} of its largest entry, and is taken as it is."
    result: dict[str, Any] = {
        "status": str(found.status), "message": found.message + proved, "formulation": formulation,
        "solver": sequence.solvers, "r": r, "u": None if r is None else local.u(r),
        **{name: certificate[name] for name in ("velocity_unique", "impulses_unique")},
        "certificate": certificate, "iterations": found.iterations, "programs": sequence.programs,
        "timing": found.timing.to_mapping(), **several(local, found.solutions),
    }  # fmt: skip
    if r is not None:
        result["dilation"] = float(local.u(r)[::ROWS][r[::ROWS] > 0].max(initial=0.0))
        motion, missed = page_of(problem).motion(problem, r)
        result |= motion
        result["certificate"] = certificate | missed
    return result
