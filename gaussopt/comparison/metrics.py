"""Correctness of answers: success, true and false claims of solvers, residuals, work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gaussopt.comparison.records import Answers, Times
from gaussopt.comparison.step_table import NAN, TimedAnswers, join, quantiles, step_table, worst

COUNTED = ("answered", "confirmed", "recognised", "claimed", "false", "denied", "missed")
"""Columns of the table of steps whose true entries are counted."""


def counts(rows: Any, kept: Any) -> dict[str, int]:
    """Count the steps that are answered and of each kind in COUNTED, within the mask `kept`, (steps,)."""
    kept = kept & rows["answered"]
    return {column: int((rows[column] & kept).sum()) for column in COUNTED}


def correct(count: Mapping[str, int]) -> float:
    """Return the share of answers for which the status that the solver claims is true.

    The share is NaN if there are no answers.
    """
    steps = count["answered"]
    return (steps - count["false"] - count["missed"]) / steps if steps else NAN


def summary(answers: Sequence[Answers], times: Sequence[Times] = ()) -> list[Any]:
    """Return one row for each source, formulation, solver and start, in the order of the answers.

    Returns
    -------
    list of named tuples
        exact : whether the formulation claims to be exact
        steps : number of steps of the source; those without an answer count as failures
        open : number of steps that count neither for nor against the solver; no other count or share includes them
        confirmed, recognised, claimed, false_claims, missed : counts, see `gaussopt.comparison.step_table`
        success, correct : share of steps with a right answer; share of answers about which the solver's claim is true
        certified, error, work : QUANTILES over the steps, work in seconds
        worst_certified, worst_error, primal, dual, gap : largest values, failures included
        iterations, most_iterations : mean and largest number of iterations
        backend, overhead : median seconds that the solver reports for itself, and the rest of the work
        timed, repetitions : number of steps that were timed, and how often each was timed
        refused, failure : why there are no answers, or why they end early
    """
    import pandas as pd

    return list(pd.DataFrame([_summary(case) for case in join(answers, times)]).itertuples(index=False))


def _summary(case: TimedAnswers) -> dict[str, Any]:
    a, t = case.answers, case.times
    asked, said = not a.refused, len(a.status)
    error = case["error"][:said]
    if asked and not np.isnan(error).all():
        error = np.concatenate((error, np.full(case.steps - said, np.inf)))
    # A step that is recognised as ill-posed has no acceleration, and hence no error.
    certified = np.where(case["recognised"], np.nan, case["certified"]) if asked else np.zeros(0)
    work = (NAN,) * 5 if t is None else tuple(t.parts["work"])
    backend = case.median("backend")
    count, counted = counts(case, ~case["open"]), int((~case["open"]).sum())
    return {
        "exact": a.exact, "steps": case.steps if asked else 0, "open": int(case["open"].sum()),
        "confirmed": count["confirmed"], "recognised": count["recognised"], "claimed": count["claimed"],
        "false_claims": count["false"], "missed": count["missed"],
        "success": (count["confirmed"] + count["recognised"]) / counted if counted and asked else NAN,
        "correct": correct(count), "worst_certified": worst(certified), "worst_error": worst(error),
        "primal": worst(case["primal"]), "dual": worst(case["dual"]), "gap": worst(case["gap"]),
        "iterations": float(np.mean(a.iterations)) if said else NAN, "most_iterations": max(a.iterations, default=0),
        "certified": tuple(quantiles(certified)), "error": tuple(quantiles(error)), "work": work,
        "backend": backend, "overhead": work[2] - backend, "timed": 0 if t is None else len(t.per_step),
        "repetitions": 0 if t is None else t.repetitions, "refused": a.refused, "failure": a.failure,
    }  # fmt: skip


def words(answers: Sequence[Answers]) -> list[Any]:
    """Count true and false claims of each solver; the solver with the least share of true claims comes first.

    Only answers that count for or against the solver are included: column `own` of the table of steps.

    Returns
    -------
    list of named tuples
        steps, claims : number of steps, and of answers that the solver calls solved
        false_claims : number of unconfirmed answers called solved, and of well-posed steps called ill-posed (denied)
        missed : number of answers that are confirmed but called neither solved nor ill-posed
        correct : share of steps with a true claim
        worst : largest certified error of an answer falsely called solved; NaN if there is none
        said : statuses that the solver reports for the denied steps, such as "infeasible", the most frequent first
        where : sources of the false claims, the source with most false claims first
        never_right : whether the solver claims to have solved steps, and none of these claims was confirmed
    """
    import pandas as pd

    table = step_table(answers)
    found = []
    for solver, rows in table[table["answered"]].groupby("solver", sort=False):
        count = counts(rows, rows["own"])
        false = rows[rows["own"] & rows["false"]]
        at = (f"{f} on {name}" if f else name for f, name in zip(false["formulation"], false["name"], strict=True))
        refuted = false[false["claimed"]]["certified"]
        found.append({
            "solver": solver, "steps": count["answered"], "claims": count["claimed"], "false_claims": count["false"],
            "refuted": len(refuted), "denied": count["denied"], "missed": count["missed"], "correct": correct(count),
            "worst": refuted.max(), "said": ranked(false[false["denied"]]["claim"]), "where": ranked(at),
            "never_right": count["claimed"] > 0 and len(refuted) == count["claimed"],
        })  # fmt: skip
    found.sort(key=lambda r: (np.nan_to_num(r["correct"], nan=2.0), -r["false_claims"], r["solver"]))
    return list(pd.DataFrame(found).itertuples(index=False))


def ranked(names: Any) -> tuple[str, ...]:
    """Return the names, without repetition, the most frequent first."""
    return tuple(name for name, _ in Counter(names).most_common())


def liars(answers: Sequence[Answers]) -> list[Any]:
    """Return the rows of `words` for solvers that make false claims, the worst solver first."""
    return [r for r in words(answers) if r.false_claims]


def wrong_programs(answers: Sequence[Answers]) -> list[Any]:
    """Find the formulations whose programs, even if solved exactly, give wrong accelerations on a problem or family.

    Returns
    -------
    list of named tuples
        steps : number of answers that solve the program, over all solvers and kinds of start
        wrong, worst : number of these answers that the certificate refutes, and their largest certified error
    """
    table = step_table(answers)
    table = table[table["answered"] & ~table["exact"] & (table["misled"] | table["confirmed"])]
    found = table.assign(worst=table["certified"].where(table["misled"])).groupby(["formulation", "name"], sort=False)
    rows = found.agg(steps=("misled", "size"), wrong=("misled", "sum"), worst=("worst", "max")).reset_index()
    return list(rows[rows["wrong"] > 0].rename(columns={"name": "source"}).itertuples(index=False))
