"""What a comparison measures about the claims of the papers on cost and accuracy.

Measurements are not verdicts: a verdict needs all readings of a claim (`gaussopt.papers.claim`), and a comparison
measures only some of them. The claims are numbered as in this project's list of claims of the four papers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.comparison.records import Answers, MotionRecord, Times, on_machine
from gaussopt.comparison.solver_spec import parse_word
from gaussopt.comparison.step_table import NAN, TimedAnswers, base_of, competing, stacked
from gaussopt.comparison.warm_starts import NOISE
from gaussopt.core.display import gathered

WITH_MULTIPLIERS = ("lagrange", "gauss", "dual", "routh")
"""Formulations whose unknowns include the multipliers."""

FEWER_UNKNOWNS = ("null-space", "least-squares", "udwadia-kalaba")
"""Formulations without multipliers; quasi-velocities, whose basis the user gives, are the subject of claim C16."""

MECHANISMS = ("crank-slider", "four-bar", "knife-edge-body")
"""The systems of the papers that have no contacts."""

SMALL = 1e-3
"""Largest certified relative error at which an answer equals the exact one "up to a small error", as the claim says."""

GENETIC = ("deap", "deap-cma")

VARIANTS = {"coordinates", "penalty"}
"""Options that select a variant of the genetic algorithms, not their effort."""


Columns = tuple[str, ...]
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MeasuredClaim:
    """A claim, and the measurements on it.

    Attributes
    ----------
    id : number in the list of claims
    paper, claim : source and wording of the claim
    sentence : what was measured, with numbers; if nothing was, which runs are needed
    columns, rows : table of the measurements; no rows if nothing was measured
    """

    id: str
    paper: str
    claim: str
    sentence: str
    columns: Columns = ()
    rows: tuple[Row, ...] = ()


CLAIMS = {
    "C2": ("000", "with fewer unknowns the method is more efficient than with Lagrange multipliers"),
    "C11": ("002", "the genetic algorithm and Lagrange's equations give nearly the same height"),
    "C12": ("002", "without multipliers the genetic algorithm is more efficient than Lagrange's equations"),
    "C16": ("004", "quasi-velocities are computed faster than Routh's equations"),
}
"""For each claim, the paper that makes it and the wording."""


def claims(
    answers: Sequence[Answers], times: Sequence[Times], motions: Sequence[MotionRecord] = ()
) -> list[MeasuredClaim]:
    """Return the measurements on the claims C2, C11, C12 and C16."""
    cases = competing(answers, times)
    return [fewer_unknowns(cases), genetic_accuracy(cases), genetic_cost(cases), quasi_velocities(cases, motions)]


def _measured(id_: str, sentence: str, columns: Columns = (), rows: Sequence[Row] = ()) -> MeasuredClaim:
    return MeasuredClaim(id_, *CLAIMS[id_], sentence, columns, tuple(rows))


def _seconds(case: TimedAnswers) -> float:
    """Return the median seconds of a step, from formulation through solution to recovery."""
    return case.median("build", "recover", "work")


def _direct(case: TimedAnswers) -> bool:
    return base_of(case.answers.solver) == "kkt"


def _name(label: str) -> str:
    """Return the name in the label of a problem or family, without settings."""
    return label.partition(" (")[0]


def _by_source(cases: Iterable[TimedAnswers]) -> list[tuple[str, list[TimedAnswers]]]:
    return [(of[0].source.label, of) for of in gathered(cases, lambda c: c.source.key).values()]


def _span(values: Iterable[float]) -> str:
    ranked = sorted(values)
    low, high = (f"{float(f'{x:.2g}'):g}" for x in (ranked[0], ranked[-1]))
    return low if low == high else f"{low} to {high}"


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def fewer_unknowns(cases: Sequence[TimedAnswers]) -> MeasuredClaim:
    """Compare each formulation without multipliers with the fastest formulation with multipliers, by time (C2).

    All are solved by direct linear algebra. Times include formulation and recovery, since the null space or the square
    root of M is computed in the formulation. A formulation counts as faster if the difference exceeds the noise.
    """
    wanted = [
        c for c in cases
        if _direct(c) and c.times is not None and _name(c.source.name) in ("linkage", *MECHANISMS)
        and c.answers.formulation in (*WITH_MULTIPLIERS, *FEWER_UNKNOWNS)
    ]  # fmt: skip
    # Families come first, since the claim is about large systems and the mechanisms are small.
    sources = _by_source(sorted(wanted, key=lambda c: c.source.kind != "family"))
    ratios: dict[str, dict[str, float]] = {}
    rows: list[Row] = []
    incomplete = False
    for label, of in sources:
        right = {c.answers.formulation: _seconds(c) for c in of if c["confirmed"].all()}
        best = min((right[f] for f in right if f in WITH_MULTIPLIERS), default=NAN)
        for c in of:
            f, s, multipliers = c.answers.formulation, _seconds(c), c.answers.formulation in WITH_MULTIPLIERS
            rows.append((
                label, "/".join(map(str, c.answers.size[:2])), f, "yes" if multipliers else "no", 1e6 * s,
                s / right.get("lagrange", NAN), s / best, "all" if f in right else "not all",
            ))  # fmt: skip
            if f in right and not multipliers and not np.isnan(best):
                ratios.setdefault(f, {})[label] = s / best
            elif not multipliers:
                incomplete = True
    columns = ("steps", "n/m", "formulation", "multipliers", "microseconds", "times lagrange",
               "times the fastest with multipliers", "answers confirmed")  # fmt: skip
    if not ratios:
        needed = "It needs confirmed direct solutions with and without multipliers of the same steps."
        return _measured("C2", needed, columns, rows if incomplete else ())
    spans = ", ".join(f"{f} takes {_span(by.values())} times" for f, by in ratios.items())
    faster = [f"{f} at {label}" for f, by in ratios.items() for label, r in by.items() if r * NOISE < 1]
    sentence = (
        f"Over {len(sources)} sets of steps, and as implemented here, {spans} the time of the fastest formulation with "
        f"multipliers. " + (f"Faster than that are {_some(faster)}." if faster else "None is faster on any of them.")
    )
    return _measured("C2", sentence, columns, rows)


def _four_bar(cases: Sequence[TimedAnswers]) -> tuple[dict[str, list[TimedAnswers]], dict[str, TimedAnswers]]:
    """Return the cases solved by genetic algorithms, by label, and those solved by direct linear algebra, by source.

    Genetic algorithms have default effort; direct methods solve Lagrange's equations or, if not run, Gauss's program.
    """
    of = [c for c in cases if _name(c.source.name) == "four-bar" and c.answers.exact]
    genetic = (
        c for c in of if base_of(c.answers.solver) in GENETIC and c.answers.formulation == "gauss"
        and not set(parse_word(c.answers.solver)[1]) - VARIANTS
    )  # fmt: skip
    direct: dict[str, TimedAnswers] = {}
    for formulation in ("gauss", "lagrange"):
        direct |= {c.source.label: c for c in of if _direct(c) and c.answers.formulation == formulation}
    return gathered(genetic, lambda c: c.label), direct


def genetic_accuracy(cases: Sequence[TimedAnswers]) -> MeasuredClaim:
    """Compare certified errors of the genetic algorithms on the four-bar with those of direct linear algebra (C11)."""
    genetic, direct = _four_bar(cases)
    if not genetic or not direct:
        return _measured("C11", "It needs deap or deap-cma and kkt on the steps of four-bar.")
    reference = next(iter(direct.values())).label
    errors = {label: stacked(of, "certified") for label, of in genetic.items()}
    errors[reference] = exact = stacked(direct.values(), "certified")
    rows = [
        (label, len(e), float((e <= SMALL).mean()), float(np.quantile(e, 0.5, method="higher")), float(e.max()))
        for label, e in errors.items()
    ]
    parts = [f"{reference} {exact.max():.1e}"]
    for label in genetic:
        worst = errors[label].max()
        parts.append(f"{label} {worst:.1e}" if np.isfinite(worst) else f"{label} unknown (steps without an answer)")
    sentence = f"The source compares heights. The largest certified relative errors of the accelerations are: " \
        f"{', '.join(parts)}."  # fmt: skip
    columns = ("pair", "steps", f"share within {SMALL:g}", "median certified", "largest certified")
    return _measured("C11", sentence, columns, rows)


def genetic_cost(cases: Sequence[TimedAnswers]) -> MeasuredClaim:
    """Compare the times of a step: those of genetic algorithms relative to linear solves with multipliers (C12)."""
    genetic, direct = _four_bar(cases)
    ratios: dict[str, list[float]] = {}
    rows: list[Row] = []
    for label, c in ((label, c) for label, of in genetic.items() for c in of):
        rival = direct.get(c.source.label)
        if rival is not None and c.times is not None and rival.times is not None:
            own, other = _seconds(c), _seconds(rival)
            ratios.setdefault(label, []).append(own / other)
            share = float(c["confirmed"].mean())
            rows.append((c.source.label, label, 1e6 * own, 1e6 * other, own / other, share))
    if not ratios:
        return _measured("C12", "It needs times of deap or deap-cma and of kkt on the steps of four-bar.")
    parts = ", ".join(f"{label} takes {_span(r)} times" for label, r in ratios.items())
    sentence = f"For a step, whatever its error, {parts} as long as the linear solve with multipliers."
    columns = ("steps", "pair", "microseconds", "microseconds with multipliers", "ratio", "share confirmed")
    return _measured("C12", sentence, columns, rows)


def quasi_velocities(cases: Sequence[TimedAnswers], motions: Sequence[MotionRecord]) -> MeasuredClaim:
    """Compare evaluations along a motion, and the time of a step, of quasi-velocities and Routh's equations (C16)."""
    rows: list[Row] = []
    evaluations = []
    runs: dict[tuple[Any, ...], dict[str, MotionRecord]] = {}
    for m in motions:
        if _name(m.problem) == "knife-edge-body" and m.status == "solved":
            problem = on_machine(m.problem, m.machine)
            runs.setdefault((problem, m.solver, m.stepper, m.dt, m.t_end), {})[m.formulation] = m
    for (problem, solver, stepper, *_), by in runs.items():
        if "quasi-velocity" in by and "routh" in by:
            quasi, routh = by["quasi-velocity"], by["routh"]
            if quasi.dt and quasi.evaluations == routh.evaluations:
                continue  # With fixed steps the numbers of evaluations are equal by construction.
            evaluations.append(routh.evaluations / quasi.evaluations if quasi.evaluations else NAN)
            what = f"evaluations, {problem}, {stepper}, {solver}"
            rows.append((what, quasi.evaluations, routh.evaluations, evaluations[-1], quasi.error, routh.error))
    seconds = []
    for label, of in _by_source(c for c in cases if _name(c.source.name) == "knife-edge-body" and _direct(c)):
        each = {c.answers.formulation: c for c in of if c.times is not None and c["confirmed"].all()}
        if "quasi-velocity" in each and "routh" in each:
            both = each["quasi-velocity"], each["routh"]
            one, other = (1e6 * _seconds(c) for c in both)
            seconds.append(other / one)
            errors = (float(c["certified"].max()) for c in both)
            rows.append((f"microseconds of a step, {label}", one, other, other / one, *errors))
    if not evaluations and not seconds:
        needed = "It needs quasi-velocity and routh by kkt on knife-edge-body, as motions or on states."
        return _measured("C16", needed)
    parts = [f"{_span(evaluations)} times as many evaluations at equal tolerance"] if evaluations else []
    parts += [f"{_span(seconds)} times the time of a step"] if seconds else []
    sentence = f"Routh's equations need {' and '.join(parts)}."
    if not evaluations or not seconds:
        sentence += f" {'Times' if evaluations else 'Motions'} were not recorded."
    columns = ("what", "quasi-velocities", "Routh", "Routh, times quasi-velocities", "error of quasi-velocities",
               "error of Routh")  # fmt: skip
    return _measured("C16", sentence, columns, rows)
