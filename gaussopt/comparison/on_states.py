"""Compare formulation-solver pairs on problems: on the states of references, and as trajectories.

On given states even a pair that could not carry a simulation (a genetic algorithm, a wrong formula) can be
measured: its error against the reference, its certified error, its time. Pairs that pass there are then run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaussopt import registry
from gaussopt.catalogue import Problem, ReferenceData
from gaussopt.catalogue import problem as find_problem
from gaussopt.contact_state import closed_contacts, tolerances
from gaussopt.errors import BadInput, IllPosed, NotAccepted
from gaussopt.formulation import Formulation
from gaussopt.simulation import check_settings
from gaussopt.solver import make_solver, missing_packages
from gaussopt.solving import StepSolver
from gaussopt.status import Status
from gaussopt.stepdata import StepData, Vector

if TYPE_CHECKING:
    import pandas as pd

    from gaussopt.trajectory import Trajectory


Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class PairResult:
    """How one pair did on the states of one reference.

    Attributes
    ----------
    states, solved : int
        How many states, and how many answers the certificate confirmed at `tolerance`.
    claimed : int
        How many the solver itself called solved.
    error : float
        Largest error against the reference acceleration, relative to 1 + max |a| of the row.
    certified : float
        Largest certified relative distance to the true acceleration.
    model, build, setup, update, solve, recover, verify : float
        Median seconds a step; `setup` is that of the first step.
    backend : float
        Median of what the solver itself reports, NaN if nothing.
    iterations : float
        Mean.
    exact : bool
        Whether the formulation claims to be exact.
    """

    problem: str
    reference: str
    formulation: str
    solver: str
    states: int
    solved: int
    claimed: int
    error: float
    certified: float
    constraint_residual: float
    model: float
    build: float
    setup: float
    update: float
    solve: float
    recover: float
    verify: float
    backend: float
    iterations: float
    exact: bool
    refused: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """For JSON and tables."""
        return asdict(self)


def compare_on_states(
    problem: Problem,
    reference: str,
    formulation: str,
    solver: str,
    *,
    stride: int = 1,
    tolerance: float = 1e-7,
    options: dict[str, Any] | None = None,
) -> PairResult:
    """Solve the steps of every `stride`-th reference state by one pair.

    Returns
    -------
    PairResult
        With `refused` set, and nothing measured, if the pair does not apply.
    """
    entry = next(r for r in problem.references if r.name == reference)
    problem = problem.at(**entry.settings)
    rows = problem.reference(reference)
    system = problem.system
    pair = StepSolver(formulation, solver, options, tolerance)
    parts: dict[str, list[float]] = {
        k: [] for k in ("model", "build", "setup", "update", "solve", "recover", "verify", "backend")
    }
    errors, certified, residuals, iterations = [0.0], [0.0], [0.0], [0]
    solved = claimed = states = 0
    for t, q, v, a in zip(rows.t[::stride], rows.q[::stride], rows.v[::stride], rows.a[::stride], strict=True):
        begin = perf_counter()
        whole = system.evaluate(float(t), q, v)
        parts["model"].append(perf_counter() - begin)
        step = _decided(whole)
        if step is None or (whole.k and not step.k):
            continue  # a flight, or an instant at which the contact modes change
        try:
            answer = pair.solve(step)
        except NotAccepted as reason:
            return _refused(problem.name, reference, formulation, solver, str(reason), pair.formulation.exact)
        for part in ("build", "setup", "update", "solve", "recover", "verify", "backend"):
            parts[part].append(getattr(answer.timing, part))
        states += 1
        solved += answer.status is Status.SOLVED
        claimed += answer.claim is Status.SOLVED
        iterations.append(answer.iterations)
        errors.append(_error(answer.a, a))
        certified.append(answer.certificate.relative_error)
        residuals.append(answer.certificate.constraint_residual)
    if not states:
        nowhere = "the reference has no state that it could be asked at"
        return _refused(problem.name, reference, formulation, solver, nowhere, pair.formulation.exact)
    medians: dict[str, Any] = {k: median(x) for k, x in parts.items()}
    medians["setup"] = parts["setup"][0]
    return PairResult(
        problem.name, reference, formulation, solver, states, solved, claimed, max(errors), max(certified),
        max(residuals), iterations=sum(iterations) / states, exact=pair.formulation.exact, **medians,
    )  # fmt: skip


def pairs(formulations: Sequence[str], solvers: Sequence[str], problem: Problem) -> list[tuple[str, str]]:
    """The formulation-solver pairs that apply to a problem's start, in the given order."""
    step = _typical(problem)
    found = []
    for f in formulations:
        formulation = registry.load("formulation", f)
        if _misfit(formulation, step):
            continue
        program = formulation.apply(formulation.prepare(step))[0]
        for s in solvers:
            if isinstance(program, registry.load("solver", s.partition(":")[0]).accepts):
                found.append((f, s))
    return found


def _typical(problem: Problem) -> StepData:
    """The step of the start; where it flies, with all contacts closed."""
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    closed = _decided(step)
    return replace(step, g_N=None, gdot_N=None) if closed is None or (step.k and not closed.k) else closed


def _misfit(formulation: Formulation, step: StepData) -> str | None:
    """Why a formulation does not fit, also where only its program says so."""
    if formulation.level == "velocity" and step.k:
        return "it is at velocity level, and references hold accelerations"
    reason = formulation.refuses(step)
    if reason is not None:
        return reason
    try:
        formulation.apply(step)
    except (NotAccepted, IllPosed) as error:
        return str(error)
    return None


def _decided(step: StepData) -> StepData | None:
    """The step of the closed contacts; None where a slip vanishes or a contact is about to impact."""
    try:
        closed = step.select(closed_contacts(step))
    except BadInput:
        return None
    return None if (closed.mu.any() and (closed.speed <= tolerances(closed)[1])[closed.mu > 0].any()) else closed


@dataclass(frozen=True, slots=True)
class MotionResult:
    """How one pair carried a trajectory.

    Attributes
    ----------
    error : float
        Largest |q - q_ref| at the instants of the first reference that the run also has; NaN without any.
    certified : float
        Largest certified relative error over all steps solved, stages included.
    position_drift, velocity_drift : float
    seconds, solve_seconds : float
        Of the whole run, and of the solver's calls in it.
    """

    problem: str
    formulation: str
    solver: str
    stepper: str
    dt: float
    t_end: float
    status: str
    message: str
    evaluations: int
    error: float
    certified: float
    position_drift: float
    velocity_drift: float
    seconds: float
    solve_seconds: float

    def to_mapping(self) -> dict[str, Any]:
        """For JSON and tables."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Results:
    """What `compare` found.

    Attributes
    ----------
    states : a pair on the states of a reference; `refused` says why a pair does not apply
    motions : a pair that passed on all states, as a trajectory
    failures : what broke, by case
    """

    states: tuple[PairResult, ...]
    motions: tuple[MotionResult, ...]
    failures: dict[str, str]

    def to_pandas(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The two tables, states and motions."""
        import pandas as pd

        return pd.DataFrame([asdict(r) for r in self.states]), pd.DataFrame([asdict(r) for r in self.motions])

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "states": [r.to_mapping() for r in self.states],
            "motions": [r.to_mapping() for r in self.motions],
            "failures": self.failures,
        }


def compare(
    problems: Sequence[str | Problem],
    formulations: Sequence[str] | None = None,
    solvers: Sequence[str] | None = None,
    *,
    stepper: str = "rk4",
    dt: float | None = None,
    t_end: float | None = None,
    tolerance: float = 1e-7,
    stride: int = 1,
    jobs: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Results:
    """Compare formulations and solvers on problems.

    Parameters
    ----------
    problems : names or problems
        A problem with references is first judged on their states.
    formulations, solvers : names; all that are registered and installed if not given
    stepper, dt, t_end : of the trajectories; the problem's own dt and t_end if not given
    tolerance : of the certificate
    stride : every how many states of a reference
    jobs : processes
    progress : called with the fraction done

    Returns
    -------
    Results

    Raises
    ------
    UnknownName, BadInput, MissingBackend
        Before anything is computed.
    """
    from gaussopt.work import Case, run_cases

    entries = [find_problem(p) if isinstance(p, str) else p for p in problems]
    if not entries:
        raise BadInput("Give at least one problem to compare on.")
    if stride < 1:
        raise BadInput(f"stride is {stride}; it must be at least 1.")
    names = registry.names("formulation") if formulations is None else list(formulations)
    for f in names:
        registry.load("formulation", f)
    if solvers is None:
        chosen = [s for s in registry.names("solver") if not missing_packages(registry.load("solver", s))]
    else:
        chosen = list(solvers)
        for s in chosen:
            make_solver(s)
    for entry in entries:
        check_settings(entry.dt if dt is None else dt, entry.t_end if t_end is None else t_end, stepper)
    cases = [
        Case(f"{entry.label} {f} {s}", _one_pair, {
            "name": entry.name, "settings": entry.settings, "formulation": f, "solver": s, "stepper": stepper, "dt": dt,
            "t_end": t_end, "tolerance": tolerance, "stride": stride,
        }, 10.0 if s in ("deap",) or s.startswith("cvxpy") else 1.0)
        for entry in entries
        for f, s in pairs(names, chosen, entry)
    ]  # fmt: skip
    if not cases:
        raise BadInput("None of these formulations and solvers fit these problems.")
    outcomes = run_cases(cases, jobs, progress)
    states = tuple(r for o in outcomes.values() if o.value for r in o.value[0])
    states += tuple(r for entry in entries for r in _misfits(entry, names))
    motions = tuple(o.value[1] for o in outcomes.values() if o.value and o.value[1] is not None)
    return Results(states, motions, {key: o.failure for key, o in outcomes.items() if o.failure})


def _misfits(entry: Problem, names: Sequence[str]) -> list[PairResult]:
    """Formulations that do not fit the problem's start, with the reason."""
    step = _typical(entry)
    found = []
    for f in names:
        formulation = registry.load("formulation", f)
        reason = _misfit(formulation, step)
        if reason:
            found.append(_refused(entry.label, "", f, "", reason, formulation.exact))
    return found


def _one_pair(
    name: str,
    settings: dict[str, Any],
    formulation: str,
    solver: str,
    stepper: str,
    dt: float | None,
    t_end: float | None,
    tolerance: float,
    stride: int,
) -> tuple[list[PairResult], MotionResult | None]:
    """The states of all references, then the trajectory if every state passed."""
    entry = find_problem(name, **settings)
    found = [
        compare_on_states(entry, r.name, formulation, solver, stride=stride, tolerance=tolerance)
        for r in entry.references
    ]
    if not all(not r.refused and r.solved == r.states for r in found):
        return found, None
    try:
        return found, _motion(entry, formulation, solver, stepper, dt, t_end, tolerance)
    except NotAccepted as reason:
        exact = registry.load("formulation", formulation).exact
        return [*found, _refused(entry.label, "", formulation, solver, str(reason), exact)], None


def _motion(
    entry: Problem, formulation: str, solver: str, stepper: str, dt: float | None, t_end: float | None, tolerance: float
) -> MotionResult:
    from gaussopt.simulation import simulate

    method = registry.load("stepper", stepper)
    traj = simulate(
        entry, formulation, solver, stepper=stepper, dt=entry.dt if dt is None and not method.adaptive else dt,
        t_end=t_end, tolerance=tolerance, step_folder=None,
    )  # fmt: skip
    error = float("nan")
    own = {**entry.parameter_values, "variant": entry.variant}
    for reference in entry.references:
        if {**entry.parameter_values, **reference.parameters, "variant": reference.variant} == own and len(traj.t):
            error = _largest(errors_against(traj, entry.reference(reference.name))[1])
            break
    return MotionResult(
        entry.label, formulation, solver, stepper, float(traj.meta["dt"] or 0.0), float(traj.meta["t_end"]),
        str(traj.status), traj.message, traj.worst.evaluations, error, traj.worst.relative_error,
        _largest(traj.position_drift), _largest(traj.velocity_drift), traj.timing["total"], traj.timing["solve"],
    )  # fmt: skip


def common_instants(traj: Trajectory, reference: ReferenceData) -> tuple[Indices, Indices]:
    """Rows of the trajectory and of the reference at the instants that both have."""
    index = np.searchsorted(traj.t, reference.t - 1e-9)
    keep = (index < len(traj.t)) & (np.abs(traj.t[np.minimum(index, len(traj.t) - 1)] - reference.t) < 1e-9)
    return index[keep], np.flatnonzero(keep)


def errors_against(traj: Trajectory, reference: ReferenceData) -> tuple[Vector, Vector]:
    """Instants that both have, and the largest |q - q_ref| at each."""
    here, there = common_instants(traj, reference)
    return reference.t[there], np.abs(traj.q[here] - reference.q[there]).max(axis=1)


def _largest(values: Vector) -> float:
    return float(values.max()) if len(values) else float("nan")


def _error(a: Vector | None, reference: Vector) -> float:
    if a is None:
        return float("inf")
    return float(np.abs(a - reference).max() / (1.0 + np.abs(reference).max()))


def _refused(problem: str, reference: str, formulation: str, solver: str, reason: str, exact: bool) -> PairResult:
    nan = float("nan")
    return PairResult(
        problem, reference, formulation, solver, 0, 0, 0, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan,
        exact, reason,
    )  # fmt: skip
