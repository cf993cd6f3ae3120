"""Who is right: success, claims that survive verification and claims that do not, residuals, work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussopt.comparison.joined import Case, join, quantiles, worst
from gaussopt.comparison.records import Answers, Source, Times

PROGRAM_TOLERANCE = 1e-6
"""Relative residuals up to which an answer solves its program, whatever the program is worth."""

BEYOND = 1e3
"""An error so many times the residuals is none that a tighter tolerance would mend."""

SEVERAL = ("multiple_solutions", "acceleration_not_unique")
"""Verdicts on a step, not on a solver: it found one of several answers."""

Quantiles = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """One solver on one source from one kind of start.

    Attributes
    ----------
    exact : bool
        Whether the formulation claims to be exact.
    steps : int
        Of the source; those without an answer count as failures.
    confirmed, claimed, false_claims, missed : int
        Answers that the certificate confirms; that the solver calls solved; called solved and not confirmed; confirmed
        and not called solved.
    success, correct : float
        Share of steps confirmed; share of answers where claim and certificate agree, in both directions.
    certified, error, work : tuple of float
        QUANTILES over the steps, work in seconds.
    worst_certified, worst_error, primal, dual, gap : float
        Largest values, failures included.
    iterations : float
        Mean; `most_iterations` is the largest number.
    backend, overhead : float
        Median seconds that the solver reports for itself, and the rest of the work: Python and the copying of data.
    timed : int
        Steps that were timed, `repetitions` times each.
    refused, failure : str
    """

    source: Source
    formulation: str
    solver: str
    start: str
    exact: bool
    steps: int
    confirmed: int
    claimed: int
    false_claims: int
    missed: int
    success: float
    correct: float
    certified: Quantiles
    worst_certified: float
    error: Quantiles
    worst_error: float
    primal: float
    dual: float
    gap: float
    iterations: float
    most_iterations: int
    work: Quantiles
    backend: float
    overhead: float
    timed: int
    repetitions: int
    refused: str
    failure: str


def summary(answers: Sequence[Answers], times: Sequence[Times] = ()) -> list[Summary]:
    """One row for each source, formulation, solver and start, in the order of the answers."""
    return [_summary(case) for case in join(answers, times)]


def _summary(case: Case) -> Summary:
    a, t = case.answers, case.times
    confirmed, claimed = np.array(a.confirmed, dtype=bool), np.array(a.claimed, dtype=bool)
    error = np.asarray(a.error, dtype=float)
    missing = case.steps - len(a.status)
    if missing and not a.refused and not np.isnan(error).all():
        error = np.concatenate((error, np.full(missing, np.inf)))
    certified = np.zeros(0) if a.refused else case.certified
    nan = float("nan")
    work = (nan,) * 5 if t is None else tuple(float(x) for x in t.parts["work"])
    backend = nan if t is None else float(t.parts["backend"][2])
    primal, dual, gap = (worst(np.asarray(x, dtype=float)) for x in (a.primal, a.dual, a.gap))
    return Summary(
        a.source, a.formulation, a.solver, a.start, a.exact, 0 if a.refused else case.steps, int(confirmed.sum()),
        int(claimed.sum()), int((claimed & ~confirmed).sum()), int((confirmed & ~claimed).sum()),
        float(confirmed.sum()) / case.steps if case.steps and not a.refused else nan,
        float((claimed == confirmed).mean()) if len(claimed) else nan,
        tuple(map(float, quantiles(certified))), worst(certified), tuple(map(float, quantiles(error))), worst(error),
        primal, dual, gap, float(np.mean(a.iterations)) if a.iterations else nan, max(a.iterations, default=0), work,
        backend, work[2] - backend, 0 if t is None else len(t.per_step), 0 if t is None else t.repetitions,
        a.refused, a.failure,
    )  # fmt: skip


def its_own_fault(answers: Answers) -> NDArray[np.bool_]:
    """Which steps speak for or against the solver; on the others it solved a program that is not the mechanics.

    A solver that minimises a wrongly printed objective to its end has not lied. A refuted claim is left to the program
    where the program's residuals are at most PROGRAM_TOLERANCE and either the step has several answers, or the
    formulation does not claim to be exact and the certified error is more than BEYOND times the residuals.
    """
    residuals = np.array([answers.primal, answers.dual, answers.gap], dtype=float).reshape(3, -1)
    largest = np.nan_to_num(residuals, nan=np.inf).max(axis=0)
    solved = largest <= PROGRAM_TOLERANCE
    open_ = np.array([s in SEVERAL for s in answers.status], dtype=bool)
    if not answers.exact:
        with np.errstate(over="ignore"):
            open_ |= np.asarray(answers.certified, dtype=float) > BEYOND * largest
    refuted = np.array(answers.claimed, dtype=bool) & ~np.array(answers.confirmed, dtype=bool)
    return np.asarray(~(solved & open_ & refuted))


@dataclass(frozen=True, slots=True)
class Record:
    """What the word of a solver is worth, over all its answers.

    Attributes
    ----------
    steps, claims, false_claims, missed : int
    correct : float
        Share of steps where claim and certificate agree.
    worst : float
        Largest certified error of a false claim.
    where : tuple of str
        Where the false claims are, the most first.
    """

    solver: str
    steps: int
    claims: int
    false_claims: int
    missed: int
    correct: float
    worst: float
    where: tuple[str, ...]

    @property
    def never_right(self) -> bool:
        """Whether no claim of it survived."""
        return self.claims > 0 and self.false_claims == self.claims


def words(answers: Sequence[Answers]) -> list[Record]:
    """What the word of each solver is worth, the worst first; steps that only the program fails are left out."""
    steps: Counter[str] = Counter()
    claims: Counter[str] = Counter()
    agreed: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    lies: dict[str, Counter[str]] = {}
    largest: dict[str, float] = {}
    for a in answers:
        if not a.status:
            continue
        judged = its_own_fault(a)
        confirmed, claimed = np.array(a.confirmed, dtype=bool)[judged], np.array(a.claimed, dtype=bool)[judged]
        refuted = claimed & ~confirmed
        steps[a.solver] += len(confirmed)
        claims[a.solver] += int(claimed.sum())
        agreed[a.solver] += int((claimed == confirmed).sum())
        missed[a.solver] += int((confirmed & ~claimed).sum())
        places = lies.setdefault(a.solver, Counter())
        if refuted.any():
            place = f"{a.formulation} on {a.source.name}" if a.formulation else a.source.name
            places[place] += int(refuted.sum())
            errors = np.asarray(a.certified, dtype=float)[judged][refuted]
            largest[a.solver] = max(largest.get(a.solver, 0.0), float(errors.max()))
    found = [
        Record(s, n, claims[s], lies[s].total(), missed[s], agreed[s] / n if n else float("nan"),
               largest.get(s, float("nan")), tuple(p for p, _ in lies[s].most_common()))
        for s, n in steps.items()
    ]  # fmt: skip
    return sorted(found, key=lambda r: (np.nan_to_num(r.correct, nan=2.0), -r.false_claims, r.solver))


def liars(answers: Sequence[Answers]) -> list[Record]:
    """Solvers with false claims, the worst first."""
    return [r for r in words(answers) if r.false_claims]


@dataclass(frozen=True, slots=True)
class WrongProgram:
    """A formulation whose program was solved and whose answer is not the mechanics.

    Attributes
    ----------
    steps : int
        Answers that solve the program.
    wrong : int
        Those that the certificate does not confirm.
    worst : float
        Largest certified error among them.
    """

    formulation: str
    source: str
    steps: int
    wrong: int
    worst: float


def wrong_programs(answers: Sequence[Answers]) -> list[WrongProgram]:
    """Formulations that are wrong on their own account, by problem or family, over all solvers."""
    counts: dict[tuple[str, str], list[float]] = {}
    for a in answers:
        if a.exact or not a.status:
            continue
        fault = ~its_own_fault(a)
        row = counts.setdefault((a.formulation, a.source.name), [0, 0, 0.0])
        row[0] += int((fault | np.array(a.confirmed, dtype=bool)).sum())
        row[1] += int(fault.sum())
        row[2] = max(row[2], float(np.asarray(a.certified, dtype=float)[fault].max(initial=0.0)))
    return [
        WrongProgram(formulation, source, int(n), int(wrong), largest)
        for (formulation, source), (n, wrong, largest) in counts.items()
        if wrong
    ]
