"""Who is right: success, claims that survive verification and claims that do not, residuals, work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussopt.comparison.paired_records import Case, join, quantiles, worst
from gaussopt.comparison.records import ILL_POSED, Answers, Source, Times

PROGRAM_TOLERANCE = 1e-6
"""Relative residuals up to which an answer solves its program, whatever the program is worth."""

BEYOND = 1e3
"""An error so many times the residuals is none that a tighter tolerance would mend."""

SEVERAL = ("multiple_solutions", "acceleration_not_unique")
"""Verdicts on a step, not on a solver: one of several answers cannot be confirmed as the true one."""

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
    open : int
        Steps with several solutions on which nothing is held against the solver; no count or share has them.
    confirmed, recognised, claimed, false_claims, missed : int
        Answers that the certificate confirms; ill-posed steps that the solver calls just so; answers that it calls
        solved; claims that are false: called solved and refuted, or called ill-posed and not so; confirmed and called
        neither.
    success, correct : float
        Share of steps confirmed or recognised; share of answers of which the solver says what is true.
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
    open: int
    confirmed: int
    recognised: int
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
    error = np.asarray(a.error, dtype=float)
    missing = case.steps - len(a.status)
    if missing and not a.refused and not np.isnan(error).all():
        error = np.concatenate((error, np.full(missing, np.inf)))
    # A step that has no acceleration has no error either.
    certified = np.zeros(0) if a.refused else np.where(case.recognised, np.nan, case.certified)
    nan = float("nan")
    work = (nan,) * 5 if t is None else tuple(float(x) for x in t.parts["work"])
    backend = nan if t is None else float(t.parts["backend"][2])
    primal, dual, gap = (worst(np.asarray(x, dtype=float)) for x in (a.primal, a.dual, a.gap))
    open_ = undecided(a)
    count, counted = judge(a, ~open_), case.steps - int(open_.sum())
    return Summary(
        a.source, a.formulation, a.solver, a.start, a.exact, 0 if a.refused else case.steps, int(open_.sum()),
        count.confirmed, count.recognised, count.claimed, count.false, count.missed,
        (count.confirmed + count.recognised) / counted if counted and not a.refused else nan, count.correct,
        tuple(map(float, quantiles(certified))), worst(certified), tuple(map(float, quantiles(error))), worst(error),
        primal, dual, gap, float(np.mean(a.iterations)) if a.iterations else nan, max(a.iterations, default=0), work,
        backend, work[2] - backend, 0 if t is None else len(t.per_step), 0 if t is None else t.repetitions,
        a.refused, a.failure,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Count:
    """What was said of some steps, and what of it is true: see Summary for the terms.

    Attributes
    ----------
    denied : int
        False claims that call ill-posed what is not so.
    true : int
        Steps of which the solver says what is so: solved and confirmed, recognised, or given up and not confirmed.
    """

    steps: int
    confirmed: int
    recognised: int
    claimed: int
    false: int
    denied: int
    missed: int
    true: int

    @property
    def correct(self) -> float:
        """Share of the steps of which the solver says what is true; NaN without steps."""
        return self.true / self.steps if self.steps else float("nan")

    def __add__(self, other: Count) -> Count:
        return Count(*(getattr(self, k) + getattr(other, k) for k in self.__slots__))


NOTHING = Count(0, 0, 0, 0, 0, 0, 0, 0)


def denied(answers: Answers) -> NDArray[np.bool_]:
    """Solvable steps that the solver calls ill-posed.

    One that calls an ill-posed step by another name, such as "unbounded" of a dual program whose step is infeasible,
    has neither recognised nor denied it.
    """
    well_posed = np.array([s not in ILL_POSED for s in answers.status], dtype=bool)
    return np.asarray(well_posed & np.array(answers.denied, dtype=bool))


def false_claims(answers: Answers) -> NDArray[np.bool_]:
    """Steps that the solver calls solved and the certificate refutes, or calls ill-posed and are not so."""
    claimed, confirmed = np.array(answers.claimed, dtype=bool), np.array(answers.confirmed, dtype=bool)
    return np.asarray((claimed & ~confirmed) | denied(answers))


def judge(answers: Answers, kept: NDArray[np.bool_]) -> Count:
    """Count claims against the certificate at the steps that are kept, a mask over the answers.

    A claim is false in both directions: "solved" of an answer that is refuted, and "infeasible" of a step that is not
    so. To stop at a limit or with an error claims nothing.
    """
    confirmed, claimed, recognised = (
        np.array(x, dtype=bool)[kept] for x in (answers.confirmed, answers.claimed, answers.recognised)
    )
    false, ill = false_claims(answers)[kept], denied(answers)[kept]
    missed = confirmed & ~claimed & ~ill
    masks = (confirmed, recognised, claimed, false, ill, missed, ~false & ~missed)
    return Count(len(confirmed), *(int(m.sum()) for m in masks))


def _solved(answers: Answers) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The largest residual at each step, and whether the answer solves its program, whatever that is worth."""
    residuals = np.array([answers.primal, answers.dual, answers.gap], dtype=float).reshape(3, -1)
    largest = np.nan_to_num(residuals, nan=np.inf).max(axis=0)
    return largest, largest <= PROGRAM_TOLERANCE


def undecided(answers: Answers) -> NDArray[np.bool_]:
    """Steps with several solutions that are held neither for nor against the solver.

    They count where the solver recognises them, and where it calls solved a program that it has not solved.
    """
    several = np.array([s in SEVERAL for s in answers.status], dtype=bool)
    claimed, recognised = np.array(answers.claimed, dtype=bool), np.array(answers.recognised, dtype=bool)
    return np.asarray(several & ~recognised & ~(claimed & ~_solved(answers)[1]))


def misled(answers: Answers) -> NDArray[np.bool_]:
    """Refuted answers that are the fault of the program: it is solved, and it is not the mechanics.

    That can be said where the formulation does not claim to be exact, the residuals are at most PROGRAM_TOLERANCE, and
    the certified error is more than BEYOND times the residuals.
    """
    largest, solved = _solved(answers)
    claimed, confirmed = np.array(answers.claimed, dtype=bool), np.array(answers.confirmed, dtype=bool)
    if answers.exact:
        return np.zeros(len(confirmed), dtype=bool)
    with np.errstate(over="ignore"):
        far = np.asarray(answers.certified, dtype=float) > BEYOND * largest
    several = np.array([s in SEVERAL for s in answers.status], dtype=bool)
    return np.asarray(claimed & ~confirmed & solved & far & ~several)


def its_own_fault(answers: Answers) -> NDArray[np.bool_]:
    """Which steps speak for or against the solver; on the others it solved a program that is not the mechanics.

    A solver that minimises a wrongly printed objective to its end has not lied, nor has one that finds the rows of
    such a program to contradict each other.
    """
    elsewhere = misled(answers)
    if not answers.exact:
        elsewhere |= denied(answers)
    return np.asarray(~(undecided(answers) | elsewhere))


@dataclass(frozen=True, slots=True)
class Record:
    """What the word of a solver is worth, over all its answers.

    Attributes
    ----------
    steps, claims, false_claims, missed : int
        `claims` are answers called solved; see Summary for the others.
    denied : int
        False claims that call a step ill-posed; the other false claims call it solved.
    correct : float
        Share of steps of which it says what is true.
    worst : float
        Largest certified error of an answer falsely called solved; NaN without one.
    said : tuple of str
        What it calls the denied steps, such as "infeasible", the most frequent first.
    where : tuple of str
        Where the false claims are, the most first.
    """

    solver: str
    steps: int
    claims: int
    false_claims: int
    missed: int
    denied: int
    correct: float
    worst: float
    said: tuple[str, ...]
    where: tuple[str, ...]

    @property
    def refuted(self) -> int:
        """Answers called solved that the certificate refutes."""
        return self.false_claims - self.denied

    @property
    def never_right(self) -> bool:
        """Whether no claim to have solved a step survived."""
        return self.claims > 0 and self.refuted == self.claims


def words(answers: Sequence[Answers]) -> list[Record]:
    """What the word of each solver is worth, the worst first; steps that only the program fails are left out."""
    counts: dict[str, Count] = {}
    lies: dict[str, Counter[str]] = {}
    said: dict[str, Counter[str]] = {}
    largest: dict[str, float] = {}
    for a in answers:
        if not a.status:
            continue
        judged = its_own_fault(a)
        count = judge(a, judged)
        counts[a.solver] = counts[a.solver] + count if a.solver in counts else count
        places, names = lies.setdefault(a.solver, Counter()), said.setdefault(a.solver, Counter())
        if count.false:
            places[f"{a.formulation} on {a.source.name}" if a.formulation else a.source.name] += count.false
            names.update(c for c, ill, kept in zip(a.claim, denied(a), judged, strict=True) if ill and kept)
        refuted = judged & false_claims(a) & np.array(a.claimed, dtype=bool)
        if refuted.any():
            errors = np.asarray(a.certified, dtype=float)[refuted]
            largest[a.solver] = max(largest.get(a.solver, 0.0), float(errors.max()))
    found = [
        Record(s, n.steps, n.claimed, n.false, n.missed, n.denied, n.correct, largest.get(s, float("nan")),
               tuple(c for c, _ in said[s].most_common()), tuple(p for p, _ in lies[s].most_common()))
        for s, n in counts.items()
    ]  # fmt: skip
    return sorted(found, key=lambda r: (np.nan_to_num(r.correct, nan=2.0), -r.false_claims, r.solver))


def liars(answers: Sequence[Answers]) -> list[Record]:
    """Solvers with false claims, be it "solved" or "infeasible", the worst first."""
    return [r for r in words(answers) if r.false_claims]


@dataclass(frozen=True, slots=True)
class WrongProgram:
    """A formulation whose program was solved and whose answer is not the mechanics.

    Attributes
    ----------
    steps : int
        Answers that solve the program, of all solvers from all kinds of start.
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
        fault = misled(a)
        row = counts.setdefault((a.formulation, a.source.name), [0, 0, 0.0])
        row[0] += int((fault | np.array(a.confirmed, dtype=bool)).sum())
        row[1] += int(fault.sum())
        row[2] = max(row[2], float(np.asarray(a.certified, dtype=float)[fault].max(initial=0.0)))
    return [
        WrongProgram(formulation, source, int(n), int(wrong), largest)
        for (formulation, source), (n, wrong, largest) in counts.items()
        if wrong
    ]
