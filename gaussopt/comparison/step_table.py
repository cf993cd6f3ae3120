"""All steps of a comparison in one table: a row for each step of a source, each solver and each kind of start.

All counts in statements about a comparison are taken from this table. Its columns:

case, step
    Index of the record of answers, and index of the step within its source.
status, claim, certified, error, primal, dual, gap, iterations
    As in `records.Answers`. Without an answer `status` is "", `certified` is infinite, and the other numbers are NaN.
work, unconfirmed
    Median seconds of setup, update and solve, NaN where the step was not timed; and the number of timed answers that
    were refuted.
first, ranked
    Whether every solver starts anew at the step (`records.Answers.begins`); whether solvers are ranked by the step,
    that is, whether it is a re-solve or its source has no re-solves.
answered, confirmed, claimed, recognised
    Whether there is an answer; whether the certificate confirms it; whether the solver calls it solved; whether the
    step is ill-posed and the solver reports the same.
right, differs
    Whether `confirmed` or `recognised`; whether the answer is confirmed untimed but not while timed.
denied, false, missed
    Whether the solver calls a well-posed step ill-posed; calls an unconfirmed answer solved, or has denied the step;
    does not call a confirmed answer solved. An ill-posed step with another status, such as "unbounded" for the dual of
    an infeasible step, is neither recognised nor denied; a stop at a limit or with an error claims nothing.
several
    Whether the step has several solutions, according to the verdict on the answer of any solver.
open
    Whether the step counts neither for nor against the solver. Either the answer is not proved, or the step has several
    solutions, and the solver neither reports this nor falsely claims that it has solved the program.
insoluble
    Whether no solution of the step exists, and the solver neither recognises this nor calls the step solved. As no
    answer could be confirmed, these steps do not count against the solver.
misled
    Whether a refuted answer is the fault of the program: the formulation does not claim to be exact, the residuals are
    at most PROGRAM_TOLERANCE, and the certified error is more than BEYOND times the residuals.
own
    Whether the step counts for or against the solver. A solver that correctly minimises a wrongly printed objective
    makes no false claim, nor does a solver that finds the rows of such a program contradictory.
cost
    Seconds charged; infinite where the answer is not right, `differs`, or has no time; NaN, which is neither a
    success nor a failure, where the step has several solutions or the answer is not proved. Re-solves that were not
    timed cost the median of those that were, an estimate that is declared wherever it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.comparison.records import ILL_POSED, QUANTILES, STARTS, Answers, SourceKey, StepSource, Times, on_machine
from gaussopt.core.arrays import Vector

if TYPE_CHECKING:
    import pandas as pd

PROGRAM_TOLERANCE = 1e-6
"""Relative residuals up to which an answer solves its program, whether or not the program is right."""

BEYOND = 1e3
"""Ratio of error to residuals above which the program is considered wrong: a tighter tolerance would not help."""

SEVERAL = ("multiple_solutions", "acceleration_not_unique")
"""Verdicts that concern a step, not a solver: no answer can be confirmed as the true one, since several exist."""

INSOLUBLE = ("infeasible", "no_solution")
"""Verdicts which state that a step has no solution."""

NAN = float("nan")


def base_of(solver: str) -> str:
    """Return a solver's name without its options."""
    return solver.partition("(")[0].strip()


def label_of(formulation: str, solver: str) -> str:
    """Return the label of a pair of formulation and solver; for programs it has no formulation."""
    return f"{formulation} by {solver}" if formulation else solver


@dataclass(frozen=True, slots=True, eq=False)
class TimedAnswers:
    """Answers and, if timed, times of one solver on one source from one kind of start: a part of the table.

    `steps` is the length of the longest record of any solver on the source.
    """

    answers: Answers
    times: Times | None
    steps: int
    _table: pd.DataFrame
    _first: int

    def __getitem__(self, column: str) -> NDArray[Any]:
        """Return a column of the table, (steps,)."""
        return self._table[column].to_numpy()[self._first : self._first + self.steps]

    @property
    def source(self) -> StepSource:
        """Source of the steps."""
        return self.answers.source

    @property
    def label(self) -> str:
        """Formulation and solver."""
        return label_of(self.answers.formulation, self.answers.solver)

    @property
    def pair(self) -> tuple[str, str]:
        """Formulation and solver, which identify a competitor."""
        return self.answers.formulation, self.answers.solver

    def median(self, *parts: str) -> float:
        """Return the sum of the median seconds of some parts of a step (`records.PARTS`); NaN if not timed.

        The medians are over all steps, since records hold only `work` step by step.
        """
        return NAN if self.times is None else sum(self.times.parts[part][2] for part in parts)

    def around(self, whole: bool) -> float:
        """Return the median seconds of formulation plus recovery, or 0 unless `whole` steps are compared.

        These times matter where formulations are compared: some formulations do work that others leave to the solver.
        """
        return self.median("build", "recover") if whole and self.times is not None else 0.0

    def costs(self, whole: bool = False) -> Vector:
        """Return the seconds charged to each step, (steps,), with formulation and recovery if `whole`."""
        return self["cost"] + self.around(whole)


def join(answers: Sequence[Answers], times: Sequence[Times] = ()) -> tuple[TimedAnswers, ...]:
    """Return every record of answers, also of refused pairs, with its times, in the order of the answers."""
    table, clocks, steps = _joined(answers, times)
    begins = (np.cumsum(steps) - steps).tolist()
    return tuple(
        TimedAnswers(a, t, n, table, begin)
        for a, t, n, begin in zip(answers, clocks, steps.tolist(), begins, strict=True)
    )


def step_table(answers: Sequence[Answers], times: Sequence[Times] = ()) -> pd.DataFrame:
    """Return the table of all steps, with the data of each record of answers repeated at each of its steps.

    The repeated columns are `source` (a number for each), `name` (of the source), `formulation`, `solver`, `start`,
    `exact`, and `refused` (whether the pair does not apply).
    """
    return _joined(answers, times)[0]


def _joined(
    answers: Sequence[Answers], times: Sequence[Times]
) -> tuple[pd.DataFrame, list[Times | None], NDArray[np.int_]]:
    """Return the table and, for each record of answers, its times and the number of steps of its source."""
    import pandas as pd

    longest: dict[SourceKey, int] = {}
    for a in answers:
        longest[a.source.key] = max(longest.get(a.source.key, 0), len(a.status))
    steps = np.array([longest[a.source.key] for a in answers], dtype=int)
    begins = {a.source.key: a.begins for a in answers if len(a.status) == longest[a.source.key]}
    numbers = {key: i for i, key in enumerate(longest)}
    first = np.cumsum(steps) - steps
    known = {(t.source.key, t.formulation, t.solver, t.start): t for t in times}
    clocks = [known.get((a.source.key, a.formulation, a.solver, a.start)) for a in answers]

    def padded(rows: Iterable[Sequence[Any]], missing: Any) -> NDArray[Any]:
        found = np.full(int(steps.sum()), missing, dtype=object if isinstance(missing, str) else float)
        for begin, n, row in zip(first, steps, rows, strict=True):
            found[begin : begin + min(n, len(row))] = row[:n]
        return found

    case = np.repeat(np.arange(len(answers)), steps)
    table = pd.DataFrame({"case": case, "step": np.arange(len(case)) - np.repeat(first, steps)})
    missing = {"status": "", "claim": "", "certified": np.inf} | dict.fromkeys(
        ("error", "primal", "dual", "gap", "iterations"), NAN
    )
    for column, fill in missing.items():
        table[column] = padded((getattr(a, column) for a in answers), fill)
    about: dict[str, tuple[type, list[Any]]] = {
        "exact": (bool, [a.exact for a in answers]), "refused": (bool, [bool(a.refused) for a in answers]),
        "source": (int, [numbers[a.source.key] for a in answers]),
        "name": (object, [on_machine(a.source.name, a.source.machine) for a in answers]),
        **{name: (object, [getattr(a, name) for a in answers]) for name in ("formulation", "solver", "start")},
    }  # fmt: skip
    for name, (kind, entries) in about.items():
        table[name] = np.array(entries, dtype=kind)[case]
    table["work"] = padded((() if t is None else t.per_step for t in clocks), NAN)
    table["unconfirmed"] = padded((() if t is None else t.unconfirmed for t in clocks), 0.0)
    table["answered"] = table["status"] != ""
    firsts = (np.isin(np.arange(n), begins[a.source.key]) for a, n in zip(answers, steps, strict=True))
    table["first"] = np.concatenate([np.zeros(0, dtype=bool), *firsts])
    table["ranked"] = ~table["first"] | table.groupby("case")["first"].transform("all")
    _judge(table)
    _charge(table)
    return table, clocks, steps


def _judge(table: pd.DataFrame) -> None:
    """Add the columns of verdicts on each answer to the table."""
    status, claim, exact = table["status"], table["claim"], table["exact"]
    ill = claim.isin(ILL_POSED)
    table["confirmed"] = confirmed = status == "solved"
    table["claimed"] = claimed = claim == "solved"
    table["recognised"] = recognised = ill & (claim == status)
    table["right"] = confirmed | recognised
    table["differs"] = confirmed & (table["unconfirmed"] > 0)
    table["denied"] = denied = ill & ~confirmed & ~status.isin(ILL_POSED)
    table["false"] = claimed & ~confirmed | denied
    table["missed"] = confirmed & ~claimed
    largest = table[["primal", "dual", "gap"]].fillna(np.inf).max(axis=1)
    solves = largest <= PROGRAM_TOLERANCE
    several = status.isin(SEVERAL)
    table["several"] = several.groupby([table["source"], table["step"]]).transform("any")
    table["insoluble"] = status.isin(INSOLUBLE) & ~recognised & ~claimed
    unproved = (status == "not_proved") & ~denied
    table["open"] = several & ~recognised & ~(claimed & ~solves) | unproved
    far = table["certified"] > BEYOND * largest
    table["misled"] = misled = ~exact & claimed & ~confirmed & solves & far & ~several
    table["own"] = ~(table["open"] | misled | denied & ~exact)


def _charge(table: pd.DataFrame) -> None:
    """Add the column `cost`: the seconds that a step counts for its solver, infinite for a failure."""
    resolves = table["work"].where(~table["first"])
    estimate = resolves.groupby(table["case"]).transform("median").where(~table["first"])
    seconds = table["work"].fillna(estimate).fillna(np.inf)
    table["cost"] = seconds.where(table["right"] & ~table["differs"], np.inf)
    table.loc[table["several"] | table["open"], "cost"] = NAN


def as_used(cases: Iterable[TimedAnswers], most: str = STARTS[-1]) -> list[TimedAnswers]:
    """Choose for each source, formulation and solver the case with its last kind of start, up to `most` in STARTS.

    A solver that cannot be updated has no cold start, and a solver that cannot start from an answer has no warm start;
    a simulation uses the last kind of start that the solver has.
    """
    found: dict[tuple[SourceKey, tuple[str, str]], TimedAnswers] = {}
    for c in cases:
        key = c.source.key, c.pair
        if STARTS.index(c.answers.start) > STARTS.index(most):
            continue
        if key not in found or STARTS.index(c.answers.start) > STARTS.index(found[key].answers.start):
            found[key] = c
    return list(found.values())


def competing(
    answers: Sequence[Answers], times: Sequence[Times], formulation: str | None = None, most: str = STARTS[-1]
) -> list[TimedAnswers]:
    """Return the cases of `as_used` that are not refused; if `formulation` is given, only the cases with it."""
    used = (c for c in as_used(join(answers, times), most) if not c.answers.refused)
    return [c for c in used if formulation in (None, c.answers.formulation)]


def stacked(cases: Iterable[TimedAnswers], column: str) -> NDArray[Any]:
    """Return a column of the table over the steps of one or more cases, concatenated."""
    return np.concatenate([c[column] for c in cases])


def quantiles(values: Vector) -> Vector:
    """Return the QUANTILES of values, ignoring NaN, without interpolation, so that infinite values do no harm."""
    kept = np.sort(values[~np.isnan(values)])
    if not len(kept):
        return np.full(len(QUANTILES), np.nan)
    at = np.ceil(np.asarray(QUANTILES) * (len(kept) - 1) - 1e-9).astype(int)
    return np.asarray(kept[at])


def worst(values: Vector) -> float:
    """Return the largest value, NaN left out; return NaN if no value remains."""
    kept = values[~np.isnan(values)]
    return float(kept.max()) if len(kept) else NAN
