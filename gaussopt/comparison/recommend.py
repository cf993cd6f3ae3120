"""Recommend formulation and solver for a mechanism, by measuring at a few states of one short motion.

The measurement is a comparison (`compare.carry_out`) so small that it takes about a minute on two cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt.comparison.cases import NOWHERE
from gaussopt.comparison.compare import CasesDone, carry_out
from gaussopt.comparison.items import ROWS, SIMULATED, end_within
from gaussopt.comparison.motions import Pair
from gaussopt.comparison.pairing import installed_solvers, is_exact
from gaussopt.comparison.plan import plan_of
from gaussopt.comparison.records import Answers
from gaussopt.comparison.results import Results
from gaussopt.comparison.solver_sequence_run import starts_of
from gaussopt.comparison.sources import ProblemStates, plain_settings
from gaussopt.comparison.step_table import SEVERAL, TimedAnswers, competing, label_of, worst
from gaussopt.comparison.warm_starts import NOISE
from gaussopt.core import registry
from gaussopt.core.arrays import check_progress
from gaussopt.core.display import counted
from gaussopt.core.errors import BadInput
from gaussopt.core.solver import missing_packages
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find_problem
from gaussopt.processes.environment import versions
from gaussopt.processes.workers import Workers

STATES = 9
"""Least number of measured states, if the motion has that many; at most about twice as many are measured."""

MOTION, ANSWERS, CASE, CLOCK, EACH = 3.0, 36.0, 5.0, 18.0, 0.1
"""Seconds for the motion; for the answers of all pairs, summed over cores; for the answers of one pair; for all timing;
and for timing one solver and kind of start."""

ASKED = 6
"""Least number of steps that a pair solves in its timing, which includes warm-up and replay."""

ALIKE, ROUNDING, LEAST = 10.0, 1e-14, 1e-16
"""Errors within the factor ALIKE of the least, or below ROUNDING, count as equal; no error below LEAST is printed."""

ACCURACY, SPEED, CONTACTS = "accuracy", "speed of re-solves", "many contacts"


@dataclass(frozen=True, slots=True)
class Choice:
    """The pair for one purpose, and its measurements; NaN where nothing was measured.

    Attributes
    ----------
    purpose : "accuracy", "speed of re-solves" or "many contacts"; for the latter, `seconds` covers the states with most
        closed contacts
    certified, error : largest relative error over the states: certified bound, and difference from the reference
    seconds, work, first : median times, without the harness, of a whole re-solve, of its solver, of a whole first step
    next, factor : the second best pair, and its seconds divided by those of the best pair
    alike : number of pairs of equal accuracy, of which the fastest is chosen; 0 for other purposes
    """

    purpose: str
    formulation: str
    solver: str
    certified: float
    error: float
    seconds: float
    work: float
    first: float
    next: str
    factor: float
    alike: int


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What `recommend` measured on this machine.

    Attributes
    ----------
    source, states, contacts : label of the states, their number, and the numbers of states by number of closed contacts
    choices : the choice for each purpose; empty if no pair is right at all states
    right, pairs : number of pairs that are right at all states, and number of all pairs that were tried
    harness : median seconds of an empty solver, which is subtracted from all times
    left_out : formulations, solvers and pairs that are not considered, by reason
    seconds, machine : duration of the measurement; versions, system and cores
    """

    problem: str
    source: str
    states: int
    contacts: Mapping[int, int]
    choices: tuple[Choice, ...]
    right: int
    pairs: int
    harness: float
    left_out: Mapping[str, tuple[str, ...]]
    seconds: float
    machine: Mapping[str, str]

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return asdict(self) | {"message": self.message}

    @property
    def message(self) -> str:
        """The recommendation in one sentence."""
        said = "; ".join(f"for {c.purpose} {label_of(c.formulation, c.solver)}" for c in self.choices)
        return f"On {self.problem}: {said}." if said else f"No pair is right at all states of {self.source}."

    def __str__(self) -> str:
        """Describe the choices with their reasons, the measurements, and all that was left out."""
        found = [_reason(c, self.contacts) for c in self.choices] or [self.message]
        if len(self.contacts) == 1 and (count := max(self.contacts)):
            found.append(f"Contacts: {count} closed at every state; steps with more of them were not measured.")
        found += [
            f"Measured on this machine in {self.seconds:.0f} s, and true of it: {counted(self.states, 'state')} of "
            f"{self.source}; {self.right} of {counted(self.pairs, 'pair')} are right at all of them. Times are without "
            f"the harness, {_time(self.harness)} a step.",
            *(f"Left out: {', '.join(who)} ({why})." for why, who in self.left_out.items()),
        ]
        return "\n".join(found)


def recommend(
    problem: str | Problem, *, tolerance: float = DEFAULT_TOLERANCE, progress: Callable[[float], None] | None = None
) -> Recommendation:
    """Recommend a formulation and a solver for a problem, from measurements on this machine.

    Each exact formulation is solved by each installed solver at a few states of the problem's first reference, or of
    its own motion. Every answer is certified, and pairs that are right are timed; no pair simulates a motion. This
    takes about a minute on two idle cores, longer where single steps take seconds; pairs that exceed the time limits
    are reported as left out.

    Parameters
    ----------
    problem : name, file or a Problem that is in a file
    tolerance : tolerance of the certificate
    progress : called with the share of the cases that are done

    Raises
    ------
    UnknownName, BadInput
        Before anything is measured; BadInput also if the motion does not begin or has no state to measure.
    """
    begin = perf_counter()
    entry = problem if isinstance(problem, Problem) else find_problem(problem)
    check_progress(progress)
    plan = plan_of(
        [entry], [f for f in registry.names("formulation") if is_exact(f)], None, (), ROWS, False, steppers=("rk4",),
        dt=None, t_end=None, tolerance=tolerance, time_budget=EACH, case_limit=CASE, total=ANSWERS, clock=CLOCK + CASE,
    )  # fmt: skip
    spec = _states(entry)
    with Workers(2) as place:
        place.prepare(spec.items)  # compute the motion once, before the cases, which all use it
        results = carry_out(replace(plan, specs=(spec,)), place, None, CasesDone(progress), rivals=_rivals)
    contacts = np.array([getattr(item.data, "k", 0) for item in spec.items()])
    cases = [c for c in competing(results.answers, results.times) if _right(c.answers)]
    return Recommendation(
        entry.label, spec.source.label, len(contacts),
        {int(k): int(n) for k, n in zip(*np.unique(contacts, return_counts=True), strict=True)},
        tuple(_choices(cases, contacts == contacts.max())), len(cases),
        len({(a.formulation, a.solver) for a in results.answers if not a.refused}),
        float(np.median([t.harness for t in results.times])) if results.times else math.nan,
        _left_out(results, {c.pair for c in cases}), perf_counter() - begin, versions(),
    )  # fmt: skip


def _states(entry: Problem) -> ProblemStates:
    """Return the states to measure: of the first reference or, with changed settings, of the problem's own motion."""
    if entry.references and not entry.settings:
        name = entry.references[0].name
        spec = ProblemStates(entry.name, name, {}, max(1, len(entry.reference(name).t) // ROWS))
    else:
        spec = ProblemStates(entry.name, SIMULATED, plain_settings(entry), 1, end_within(entry, MOTION))
    found = len(spec.items())
    if not found:
        raise BadInput(f"{entry.label} cannot be measured: {NOWHERE.partition(';')[0]}.")
    return replace(spec, stride=spec.stride * max(1, found // STATES))


def _rivals(answers: Sequence[Answers], seconds: Mapping[Pair, float]) -> list[Answers]:
    """Return the answers of the fastest pairs that are right at all states, as many as can be timed in CLOCK s."""
    right = {(a.formulation, a.solver): a for a in answers if _right(a)}
    spent = 0.0
    chosen: set[Pair] = set()
    for pair, a in sorted(right.items(), key=lambda known: seconds[known[0]]):
        spent += len(starts_of(a.solver)) * EACH + ASKED * seconds[pair] / len(a.status)
        if spent > CLOCK and chosen:
            break
        chosen.add(pair)
    return [a for a in answers if (a.formulation, a.solver) in chosen]


def _right(a: Answers) -> bool:
    """Return whether all answers of a pair are right, at least at the states that have a unique solution."""
    return not a.failure and {status for status in a.status if status not in SEVERAL} == {"solved"}


def _median(case: TimedAnswers, kept: Any) -> float:
    """Return the median seconds over the steps that the mask `kept` selects; infinite if none of these was timed."""
    costs = case.costs(whole=True)[kept]
    return float(np.median(costs[np.isfinite(costs)])) if case.times and np.isfinite(costs).any() else math.inf


def _choices(cases: Sequence[TimedAnswers], most: Any) -> list[Choice]:
    """Return the best pair for each purpose; `most` is a mask of the states with most closed contacts."""
    errors = {c.pair: worst(c["certified"][c["right"]]) for c in cases}

    def choice(purpose: str, rivals: Sequence[TimedAnswers], only: Any = True, alike: int = 0) -> Choice:
        def seconds(c: TimedAnswers) -> float:
            return _median(c, c["ranked"] & only if (c["ranked"] & only).any() else only)

        best, *others = sorted(rivals, key=lambda c: (seconds(c), errors[c.pair]))
        label, factor = (others[0].label, seconds(others[0]) / seconds(best)) if others else ("", math.nan)
        return Choice(
            purpose, *best.pair, errors[best.pair], worst(best["error"]), seconds(best), best.median("work"),
            _median(best, best["first"]), label, factor, alike,
        )  # fmt: skip

    found = []
    if cases:
        exact = [c for c in cases if errors[c.pair] <= max(ALIKE * min(errors.values()), ROUNDING)]
        found.append(choice(ACCURACY, exact, alike=len(exact)))
    if timed := [c for c in cases if c.times]:
        found += [choice(SPEED, timed), *([] if most.all() else [choice(CONTACTS, timed, most)])]
    return found


def _left_out(results: Results, right: set[Pair]) -> dict[str, tuple[str, ...]]:
    """Return the names of the formulations, solvers and pairs that are not considered, grouped by the reason."""
    found: dict[str, dict[str, None]] = {}

    def say(reason: str, name: str) -> None:
        found.setdefault(reason.rstrip("."), {})[name] = None

    for name in sorted(set(registry.names("solver")) - set(installed_solvers(stochastic=False))):
        missing = ", ".join(missing_packages(registry.load("solver", name)))
        say(f"not installed: {missing}" if missing else "stochastic, and not asked for", name)
    for name in registry.names("formulation"):
        if not is_exact(name):
            say("not exact by its own account", name)
    clocks = {(t.formulation, t.solver) for t in results.times}
    for a in results.answers:
        pair, label = (a.formulation, a.solver), label_of(a.formulation, a.solver) if a.solver else a.formulation
        if a.refused or a.failure:
            say(a.refused or a.failure, label)
        elif pair in right and pair not in clocks:
            say(f"right but not timed, because the clock had {CLOCK:g} s for those who answered sooner", label)
        elif pair not in right and a.start == starts_of(a.solver)[-1]:
            say(f"right at {sum(a.confirmed)} of {len(a.status)} states", label)
    return {reason: tuple(names) for reason, names in found.items()}


def _time(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "not timed"
    return f"{1e6 * seconds:.3g} µs" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"


def _reason(c: Choice, contacts: Mapping[int, int]) -> str:
    """Return a sentence that names the chosen pair and the reason for the choice."""
    error = "" if math.isnan(c.error) else f", and {max(c.error, LEAST):.1g} from the reference"
    accurate = f"relative errors are at most {max(c.certified, LEAST):.1g}, certified{error}"
    resolve = f"{_time(c.seconds)} a re-solve, of which the solver takes {_time(c.work)}"
    begin = f"For {c.purpose}: {label_of(c.formulation, c.solver)}"
    if c.purpose == ACCURACY:
        alike = counted(c.alike, "pair")
        return f"{begin}. Its {accurate}; of {alike} as accurate as that it is the fastest, with {resolve}."
    most = max(contacts)
    at = f" where most are closed, {most} at {counted(contacts[most], 'state')}" if c.purpose == CONTACTS else ""
    behind = "as fast" if c.factor < NOISE else f"next, with {c.factor:.2g} times the time"
    return (
        f"{begin}, {resolve}{at}" + (f"; {c.next} is {behind}" if c.next else "")
        + f". Its first step, with set-up, takes {_time(c.first)}; its {accurate}."
    )  # fmt: skip
