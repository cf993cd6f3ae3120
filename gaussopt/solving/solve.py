"""Solve programs and steps: drive a solver through a sequence, time its parts, verify what it says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.certificates.bilateral import DEFAULT_TOLERANCE, Certificate, certify, explain
from gaussopt.certificates.contact import ContactCertificate, Verdict, certify_contact
from gaussopt.certificates.linear import certify_linear
from gaussopt.certificates.qp import certify_qp, classify_qp
from gaussopt.core import registry
from gaussopt.core.errors import BadInput, GaussoptError, IllPosed, NotAccepted
from gaussopt.core.fast_frozen import fast_frozen
from gaussopt.core.foreign import is_foreign, private, raised, well_formed
from gaussopt.core.machine import pass_on
from gaussopt.core.programs import LCP, QP, LeastSquares, LinearSystem, Program
from gaussopt.core.solution import RawSolution, Solution, Timing
from gaussopt.core.solver import Solver, make_solver
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData, Vector, as_array
from gaussopt.formulations.base import Candidate, Formulation, SlidingFormulation
from gaussopt.lcp.verification import check_lcp, judge_lcp
from gaussopt.linalg.redundancy import contradictions, near_dependency
from gaussopt.processes.guarded_backend import answering
from gaussopt.solving.foreign_formulation import find

RECORDED = "Recorded: the tolerance is infinite, only the error bound is known."


def check_tolerance(tolerance: Any) -> None:
    """Refuse what is no tolerance of a certificate.

    Raises
    ------
    BadInput
    """
    number = isinstance(tolerance, int | float | np.integer | np.floating) and not isinstance(tolerance, bool)
    if not number or not tolerance > 0:
        raise BadInput(f"tolerance is {tolerance}; it must be positive (inf records the bounds only).")


class Engine:
    """One solver following a sequence of programs: sets up when the pattern changes, else updates.

    Parameters
    ----------
    solver : str or Solver
    warm_start : bool
        Start each solve from the previous answer.
    reuse : bool
        Update what was set up where the pattern allows; if not, every program is set up anew.

    Attributes
    ----------
    answering : the solver, or its stand-in where it runs in a helper process
    latest : (Program, RawSolution) or None
        The program solved last and the solver's word on it.
    """

    def __init__(
        self,
        solver: str | Solver[Any],
        options: Mapping[str, Any] | None = None,
        warm_start: bool = True,
        reuse: bool = True,
    ) -> None:
        self.solver = make_solver(solver, options) if isinstance(solver, str) else solver
        self.warm_start = warm_start
        self.reuse = reuse
        self.latest: tuple[Program, RawSolution] | None = None
        self.answering = answering(self.solver)
        self._foreign = is_foreign(self.solver)
        self._pattern: tuple[Any, ...] | None = None
        self._last: tuple[Vector, Vector | None] | None = None

    def solve(self, program: Program) -> tuple[RawSolution, Timing]:
        """The solver's word and the seconds of setup, update and solve.

        A solver from outside the package gets copies of the program and of the start; what any solver returns is
        copied, so that nothing it does later changes an answer.

        Raises
        ------
        NotAccepted
            Before anything is solved, if the solver does not take the program.
        """
        given = private(program) if self._foreign else program
        pattern = (type(program), *program.pattern)
        same = self._pattern == pattern
        start = perf_counter()
        try:
            self.solver.check(given)
        except GaussoptError:
            raise
        except BaseException as error:
            return self._crashed(program, error), Timing(solve=perf_counter() - start)
        update = same and self.reuse and self.solver.updates
        start = perf_counter()
        try:
            if update:
                self.answering.update(given)
            else:
                self.answering.setup(given)
            if not same:
                self._last = None
            ready = perf_counter()
            raw = self.answering.solve(self._start() if self.warm_start else None)
        except BadInput:
            raise
        except BaseException as error:
            # A backend may fail in any way; its failure is an answer, not a stack trace.
            return self._crashed(program, error), Timing(solve=perf_counter() - start)
        done = perf_counter()
        raw = well_formed(raw, program)
        self._pattern = pattern
        self.latest = program, raw
        # The square is finite wherever a warm start makes sense, and faster to ask for than the entries.
        self._last = (raw.x, raw.y) if raw.x is not None and math.isfinite(raw.x.dot(raw.x)) else None
        handed = ready - start
        timing = Timing(0.0, 0.0 if update else handed, handed if update else 0.0, done - ready, 0.0, 0.0, raw.backend)
        return raw, timing

    def solve_again(self, start: tuple[Vector, Vector | None]) -> tuple[RawSolution, float]:
        """The program solved last, from another start: the solver's word and the seconds of solve."""
        assert self.latest is not None
        program, begin = self.latest[0], perf_counter()
        self._last = start
        try:
            raw = self.answering.solve(self._start())
        except BadInput:
            raise
        except BaseException as error:
            return self._crashed(program, error), perf_counter() - begin
        seconds = perf_counter() - begin
        self.latest = program, well_formed(raw, program)
        return self.latest[1], seconds

    def _start(self) -> tuple[Vector, Vector | None] | None:
        """The start of the next solve; answers that were handed out are not for a foreign solver to change."""
        if self._last is None or not self._foreign:
            return self._last
        x, y = self._last
        return x.copy(), None if y is None else y.copy()

    def _crashed(self, program: Program, error: BaseException) -> RawSolution:
        """What an exception of the solver means for its answer; the next program is set up afresh."""
        pass_on(f"The solver {self.solver.name!r} was stopped", error)
        self._pattern = self._last = None
        raw = RawSolution(None, None, Status.CRASHED, note=raised(error))
        self.latest = program, raw
        return raw


@fast_frozen
@dataclass(frozen=True, slots=True)
class Answer:
    """A certified answer to a step.

    Attributes
    ----------
    a : (n,) or None
    lam : (m,) or None
        Multipliers; those of the certificate where the formulation gives none.
    lam_N, lam_T : (k,), (k, d)
        Contact forces; NaN where there is no answer.
    status, message
        Verified; `claim` is what the solver said.
    certificate : Certificate
        A ContactCertificate if the step has contacts.
    iterations : int
    timing : Timing
    details : dict
        What the formulation says beside the answer, such as a contraction factor.
    history : tuple of float
        The solver's record of its convergence, see RawSolution.
    """

    a: Vector | None
    lam: Vector | None
    lam_N: Vector
    lam_T: Vector
    status: Status
    claim: Status
    message: str
    certificate: Certificate
    iterations: int
    timing: Timing
    details: dict[str, Any] = field(default_factory=dict)
    history: tuple[float, ...] = ()

    @property
    def forces_unique(self) -> bool:
        """Whether the multipliers and contact forces are determined."""
        return self.certificate.forces_unique

    @property
    def contact(self) -> Verdict | None:
        """What the contact laws allow: uniqueness, all solutions, ranges; None for a step without contacts."""
        return self.certificate.contact if isinstance(self.certificate, ContactCertificate) else None


class StepSolver:
    """A formulation and a solver, following a sequence of steps.

    Parameters
    ----------
    formulation, solver : names
    options : solver options
    tolerance : float
        Of the certificate, relative; `inf` records bounds and refuses nothing that has an acceleration.
    warm_start, reuse : bool
        Of the engine.
    thorough : bool
        Whether uniqueness of contact solutions may be decided by enumeration with linear programs.
    """

    def __init__(
        self,
        formulation: str | Formulation = "gauss",
        solver: str | Solver[Any] = "kkt",
        options: Mapping[str, Any] | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        warm_start: bool = True,
        thorough: bool = True,
        reuse: bool = True,
    ) -> None:
        check_tolerance(tolerance)
        self.thorough = thorough
        self.formulation = find(formulation)
        self.engine = Engine(solver, options, warm_start, reuse)
        self.tolerance = tolerance

    def solve(self, step: StepData) -> Answer:
        """Formulate, solve, recover and certify one step.

        Raises
        ------
        NotAccepted
            If the formulation does not fit the step or the solver does not take the program.
        BadInput
            If M is asymmetric or indefinite.
        """
        begin = perf_counter()
        step = self.formulation.prepare(step)
        self.formulation.check(step)
        try:
            program, data = self.formulation.apply(step)
        except IllPosed as verdict:
            return self._without_program(step, verdict)
        built = perf_counter()
        raw, timing = self.engine.solve(program)
        iterations, solved = raw.iterations, perf_counter()
        while raw.x is not None:
            following = self.formulation.again(data, raw.x, raw.y)
            if following is None:
                break
            program = following
            raw, more = self.engine.solve(program)
            iterations += raw.iterations
            timing = Timing(*(a + b for a, b in zip(timing, more, strict=True)))
            solved = perf_counter()
        found = None if raw.x is None else Candidate(*self.formulation.recover(data, raw.x, raw.y))
        recovered = perf_counter()
        a, lam, forces, friction = (None,) * 4 if found is None else found
        certificate = (
            certify_contact(step, a, lam, forces, friction, thorough=self.thorough) if step.k else certify(step, a, lam)
        )
        status, message = judge(step, raw, certificate, self.tolerance)
        if status is Status.UNBOUNDED and not _minimises(program):
            # Equations have no objective to be unbounded: they contradict each other.
            status, message = Status.INFEASIBLE, CONTRADICTORY_EQUATIONS
        if not math.isfinite(certificate.error_bound):
            a = None if status is not Status.SOLVED else a
        if lam is None and a is not None:
            lam = certificate.lam
        lam_N, lam_T = step.zeta_N[:0], step.v_T[:0]
        if step.k:
            lam_N = forces if a is not None and forces is not None else np.full(step.k, np.nan)
            lam_T = friction if a is not None and friction is not None else np.full(step.v_T.shape, np.nan)
        _, setup, update, solve, _, _, backend = timing
        timing = Timing(built - begin, setup, update, solve, recovered - solved, perf_counter() - recovered, backend)
        details = self.formulation.details(data, raw.x) if step.k else {}
        return Answer(
            a, lam if a is not None else None, lam_N, lam_T, status, raw.claim, message, certificate, iterations,
            timing, details, raw.history,
        )  # fmt: skip

    def _without_program(self, step: StepData, verdict: IllPosed) -> Answer:
        """The answer where the formulation's own program has no minimiser, whatever the mechanics say."""
        certificate = certify_contact(step, None, thorough=self.thorough) if step.k else certify(step, None)
        nothing = np.full(step.k, np.nan), np.full(step.v_T.shape, np.nan)
        return Answer(
            None, None, *nothing, verdict.status, verdict.status, str(verdict), certificate, 0, Timing()
        )  # fmt: skip


def judge(step: StepData, raw: RawSolution, certificate: Certificate, tolerance: float) -> tuple[Status, str]:
    """The verified status: the mechanics first, then the certificate, the solver's word last."""
    if certificate.verdict is not Status.SOLVED:
        return certificate.verdict, why_ill_posed(step, certificate)
    if certificate.passed(tolerance):
        if isinstance(certificate, ContactCertificate) and certificate.contact.reason == "undecided":
            return Status.SOLVED, f"{Status.SOLVED.sentence} {UNDECIDED}"
        if math.isinf(tolerance) and not certificate.passed():
            return Status.SOLVED, RECORDED
        return Status.SOLVED, Status.SOLVED.sentence
    if math.isfinite(certificate.error_bound) and raw.claim in (Status.SOLVED, Status.INACCURATE):
        why = explain(step, certificate, tolerance)
        if certificate.rounding_floor > tolerance * (1.0 + certificate.norm_a):
            # No solver and no option can change that.
            near = near_dependency(step)
            return Status.INACCURATE, f"{why} {ILL_CONDITIONED if near is None else near.sentence()}"
        return Status.INACCURATE, f"{why} {Status.INACCURATE.sentence}"
    if raw.claim in (Status.INFEASIBLE, Status.UNBOUNDED):
        return (
            Status.SOLVER_ERROR,
            f"The solver calls the step {raw.claim}, but it has exactly one acceleration.",
        )
    if raw.claim is Status.NO_SOLUTION:
        decided = not isinstance(certificate, ContactCertificate) or certificate.contact.reason != "undecided"
        known = "the contact laws have a solution" if decided else "whether there is one was not decided"
        note = f" ({raw.note})" if raw.note else ""
        return Status.SOLVER_ERROR, f"The solver found no contact forces{note}, but {known}; try another solver."
    if math.isfinite(certificate.error_bound):
        return raw.claim, f"{raw.claim.sentence} {explain(step, certificate, tolerance)}".strip()
    if raw.claim is Status.SOLVED:
        return Status.SOLVER_ERROR, "The solver returned no finite acceleration although it says solved."
    return raw.claim, f"{raw.claim.sentence} ({raw.note})" if raw.note else raw.claim.sentence


ILL_CONDITIONED = "Look for masses of very different size and for rows that nearly depend on each other."

CONTRADICTORY_EQUATIONS = (
    "The equations contradict each other: a force acts on a direction that has neither mass nor constraint; add mass "
    "or a constraint there."
)


def _minimises(program: Program) -> bool:
    """Whether the program is an optimisation and not a system of equations."""
    return isinstance(program, QP) or (isinstance(program, LeastSquares) and not program.minimum_norm)


UNDECIDED = "Whether it is the only solution was not decided: there are too many contact modes to try."


def why_ill_posed(step: StepData, certificate: Certificate) -> str:
    """The verdict's sentence, how many solutions there are, and which rows contradict each other."""
    verdict = certificate.verdict
    if isinstance(certificate, ContactCertificate) and certificate.contact.reason == "enumeration":
        return _why_not_one(certificate.contact)
    return " ".join([verdict.sentence, *(d.sentence() for d in contradictions(step)[:3])])


def _why_not_one(contact: Verdict) -> str:
    """What enumeration of the contact modes found."""
    if contact.status is Status.MULTIPLE_SOLUTIONS:
        forces = "; ".join(
            f"lam_N = {np.array2string(s.lam_N, precision=6, separator=', ')}" for s in contact.solutions[:4]
        )
        return f"{contact.status.sentence} There are {len(contact.solutions)}: {forces}."
    if contact.status is Status.ACCELERATION_NOT_UNIQUE and contact.ranges is not None:
        a = contact.ranges["a"]
        i = int(np.argmax(np.nan_to_num(a[:, 1] - a[:, 0], posinf=np.inf)))
        return (
            "A continuum of accelerations satisfies the contact and friction laws, because friction depends on how the "
            f"normal forces are shared: a[{i}] ranges from {a[i, 0]:.6g} to {a[i, 1]:.6g}."
        )
    return contact.status.sentence


def default_solver(program: Program) -> str:
    """A solver that takes the program and is exact."""
    if isinstance(program, LCP):
        return "lemke"
    if getattr(program, "sparse", False):
        return "sparse-kkt"
    if isinstance(program, QP) and not program.equalities_only:
        return "daqp"
    return "kkt"


def formulate(step: StepData, formulation: str) -> Program:
    """The program of a step.

    Raises
    ------
    UnknownName, NotAccepted
    """
    entry = find(formulation)
    step = entry.prepare(step.select(entry.contacts(step)))
    entry.check(step)
    return entry.apply(step)[0]


def solve_step(
    step: StepData,
    formulation: str = "gauss",
    solver: str = "kkt",
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    solver_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Answer:
    """Formulate, solve and certify one step.

    Of a step that knows its gaps, the contacts that are open take no part; their forces are zero. Options of the
    solver are given as in `solve`.

    Raises
    ------
    UnknownName, NotAccepted, MissingBackend
    BadInput
        Also where a contact penetrates or is about to impact, with gap and rate.
    """
    if not isinstance(step, StepData):
        raise BadInput(f"A step is StepData, not {type(step).__name__}; see System.evaluate and StepData.from_mapping.")
    driver = StepSolver(formulation, solver, {**options, **(solver_options or {})}, tolerance)
    closed = driver.formulation.contacts(step)
    answer = driver.solve(step.select(closed))
    return _spread(answer, step, closed) if len(closed) < step.k else answer


def _spread(answer: Answer, step: StepData, closed: NDArray[np.intp]) -> Answer:
    """Forces for all contacts, zero at the open ones."""
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
    program : QP, LinearSystem, LeastSquares or LCP
    solver : str
    tolerance : float
        Of the verification, relative.
    start : (x, y), optional
        Warm start.
    options, solver_options
        Of the solver; by the latter also those that have the name of a parameter here, such as `tolerance`.

    Raises
    ------
    UnknownName, BadInput, MissingBackend, NotAccepted
    """
    check_tolerance(tolerance)
    if isinstance(program, QP):
        program = QP.from_mapping(program.to_mapping())  # programs made by hand are checked like files
    elif isinstance(program, LCP):
        program = check_lcp(program)
    engine = Engine(solver, {**options, **(solver_options or {})})
    if start is not None:
        x, y = start
        rows = program.m if isinstance(program, QP) else None
        start = (
            as_array("start (x)", x, (program.n,)),
            None if y is None else as_array("start (y)", y, (rows,)),
        )
    raw, timing = engine.solve(program)
    if start is not None and raw.claim is not Status.CRASHED:
        raw, seconds = engine.solve_again(start)
        timing = timing._replace(solve=seconds, backend=raw.backend)
    return verified(program, raw, timing, tolerance)


def verified(program: Program, raw: RawSolution, timing: Timing, tolerance: float = DEFAULT_TOLERANCE) -> Solution:
    """What the core finds of a solver's word on a program."""
    begin = perf_counter()
    solutions: tuple[Vector, ...] = ()
    if isinstance(program, LCP):
        status, message, lcp_certificate = judge_lcp(program, raw, tolerance)
        residuals, y = lcp_certificate.to_mapping(), raw.y
        solutions = () if lcp_certificate.solutions is None else lcp_certificate.solutions.solutions
    elif isinstance(program, QP):
        status, message, residuals, y = _verify_qp(program, raw, tolerance)
    else:
        status, message, residuals = _verify_linear(program, raw, tolerance)
        y = raw.y
    timing = timing._replace(verify=perf_counter() - begin)
    return Solution(raw.x, y, status, raw.claim, message, raw.iterations, timing, residuals, solutions, raw.history)


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

    Options of the solver are given as in `solve`.

    Returns
    -------
    Solution, details
        x is z; the solver, and what the formulation says beside it, such as the multipliers eta.

    Raises
    ------
    NotAccepted
        If the formulation needs a step, or does not fit.
    """
    entry: Formulation = registry.load("formulation", formulation)
    lcp = check_lcp(lcp)
    if not isinstance(entry, SlidingFormulation) or not entry.takes_lcp:
        raise NotAccepted(f"The formulation {formulation!r} needs a step; an lcp holds only delassus and bias.")
    try:
        program = entry.program(lcp)
    except IllPosed as verdict:
        return Solution(None, None, verdict.status, verdict.status, str(verdict)), {}
    used = solver or default_solver(program)
    raw, timing = Engine(used, {**options, **(solver_options or {})}).solve(program)
    z = None if raw.x is None else entry.normal_forces(raw.x)
    begin = perf_counter()
    status, message, certificate = judge_lcp(lcp, replace(raw, x=z, y=None), tolerance)
    timing = timing._replace(verify=perf_counter() - begin)
    listed = () if certificate.solutions is None else certificate.solutions.solutions
    found = Solution(z, None, status, raw.claim, message, raw.iterations, timing, certificate.to_mapping(), listed)
    return found, {"solver": used, **entry.remarks(lcp, z)}


def _verify_qp(qp: QP, raw: RawSolution, tolerance: float) -> tuple[Status, str, dict[str, Any], Vector | None]:
    c = certify_qp(qp, raw.x, raw.y, tolerance)
    if raw.x is not None and raw.y is not None and c.verdict is Status.SOLVED and not c.passed(tolerance):
        # The point may be right and the solver's duals not: those that belong to the point are found without it.
        own = certify_qp(qp, raw.x, None, tolerance)
        c = own if own.passed(tolerance) else c
    y = c.y if raw.x is not None and (raw.y is None or c.passed(tolerance)) else raw.y
    verdict = c.verdict if c.passed() or c.verdict is not Status.SOLVED else classify_qp(qp)
    if verdict is Status.SOLVED and c.passed(tolerance):
        if math.isinf(tolerance) and not c.passed():
            return Status.SOLVED, RECORDED, c.to_mapping(), y
        return Status.SOLVED, Status.SOLVED.sentence, c.to_mapping(), y
    if verdict is not Status.SOLVED:
        return verdict, verdict.sentence, {**c.to_mapping(), "verdict": str(verdict)}, y
    if math.isfinite(c.relative_residual) and raw.claim in (Status.SOLVED, Status.INACCURATE):
        return Status.INACCURATE, f"{c.failure(tolerance)} {Status.INACCURATE.sentence}", c.to_mapping(), y
    if raw.claim in (Status.INFEASIBLE, Status.UNBOUNDED, Status.SOLVED):
        text = f"The solver says {raw.claim}, but the program has a minimiser as far as linear programs can tell."
        return Status.SOLVER_ERROR, text, c.to_mapping(), y
    return (
        raw.claim,
        f"{raw.claim.sentence} ({raw.note})" if raw.note else raw.claim.sentence,
        c.to_mapping(),
        y,
    )


def _verify_linear(
    program: LinearSystem | LeastSquares, raw: RawSolution, tolerance: float
) -> tuple[Status, str, dict[str, Any]]:
    if raw.x is None:
        if raw.claim is Status.SOLVED:
            return Status.SOLVER_ERROR, "The solver returned no answer although it says solved.", {}
        return raw.claim, raw.note or raw.claim.sentence, {}
    found = certify_linear(program, raw.x)
    if found.passed(tolerance):
        told = RECORDED if math.isinf(tolerance) and not found.passed() else Status.SOLVED.sentence
        return Status.SOLVED, told, found.to_mapping()
    failure = Status.INFEASIBLE if found.contradictory else Status.INACCURATE
    return failure, failure.sentence, found.to_mapping()
