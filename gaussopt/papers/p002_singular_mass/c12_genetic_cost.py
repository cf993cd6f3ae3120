"""C12: what it costs to do without multipliers by a genetic algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

import numpy as np

from gaussopt.comparison import paper_claims
from gaussopt.comparison.paper_claims import SMALL
from gaussopt.core.step_data import Vector
from gaussopt.formulations.lagrange import formulation
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.p002_singular_mass import genetic_runs as runs
from gaussopt.papers.p002_singular_mass.genetic_runs import FULL, NULL, WAYS, distance, search, start
from gaussopt.solving.solver_sequence import SolverSequence

EFFORTS = ((4.0, 40.0), (1.0, 40.0), (-1.0, 1.0), (-6.0, 0.0))
"""Population, generations, log10 of the width of the first population and of its shrinking."""

REPEATS = 5


def check(quick: bool) -> Judgement:
    """Times of a step, the arithmetic behind them, and the cheapest settings that an optimiser finds."""
    solvers = (NULL,) if quick else (NULL, FULL)
    cases = runs.recorded(solvers, 200 if quick else 100, 0.02 if quick else 0.05)
    measured = paper_claims.genetic_cost(cases)
    search_ = _cheapest(0 if quick else 8)
    derivations = (_arithmetic(),)
    # Slower as it is; an effort that is fast and right would make it true under conditions.
    faster = measured.verdict == str(ClaimVerdict.TRUE)
    verdict = ClaimVerdict.of([faster, search_.refutes])
    with_ = (
        "with our default effort, though with none of those that the search tried"
        if faster
        else ("with an effort as small as the search found, not with our default effort")
    )
    conditions = f"only {with_}." if verdict is ClaimVerdict.CONDITIONAL else ""
    return Judgement(
        verdict, measured.sentence, derivations, (search_,), conditions, measured.columns, measured.rows,
        ("microseconds", "microseconds with multipliers", "ratio"), times_decide=True,
    )  # fmt: skip


def _arithmetic() -> Derivation:
    step = start()
    n, m = step.n, step.m
    # Gaussian elimination of n + m unknowns; of a quadratic cost in one unknown two products and one sum.
    elimination = 2 * (n + m) ** 3 / 3 + 2 * (n + m) ** 2
    least = 3
    found = {k: search(step, **o).evaluations for k, o in (("null-space", WAYS[NULL]), ("full", WAYS[FULL]))}
    full = 2 * n * n + 2 * n + 2 * m * (n + 1)
    ratios = {"null-space": found["null-space"] * least / elimination, "full": found["full"] * full / elimination}
    words = "; ".join(
        f"{k} coordinates {found[k]} evaluations of {least if k == 'null-space' else full}, {ratios[k]:.0f} times"
        for k in found
    )
    return Derivation(
        "Lagrange's equations are one linear system of $n+m$ unknowns, $\\tfrac23(n+m)^3+2(n+m)^2$ operations. The "
        "genetic algorithm evaluates a cost again and again: at least 3 operations in one unknown, "
        "$2n^2+2n+2m(n+1)$ in full coordinates.",
        f"{elimination:.0f} operations for the linear system; in {words} as many, whatever the machine.",
        min(ratios.values()) > 1.0,
    )


def _cheapest(generations: int) -> Attempt:
    step = start()
    a = (step.force[0] + step.force[1]) / (step.M[0, 0] + step.M[1, 1])
    truth = np.array([a, a, -a])

    def run(z: Vector) -> runs.GeneticAnswer:
        population, length, width, shrink = (float(x) for x in z)
        return search(
            step, population=round(population), generations=round(length), spread=10.0**width, shrink=10.0**shrink
        )

    def effort(z: Vector) -> float:
        found = run(z)
        error = distance(found.a, truth)
        return found.evaluations if error <= SMALL else 1e6 * (1.0 + min(error, 1e3))

    best = minimise(effort, EFFORTS, generations, 12, population=2)
    if best.value >= 1e6:
        cheapest, words = math.inf, f"None of them errs by {SMALL:g} or less."
    else:
        cheapest = _time(lambda: run(best.at)) / _time(lambda: SolverSequence("kkt").solve(formulation.apply(step)[0]))
        words = (
            f"The cheapest that errs by {SMALL:g} or less takes {int(best.value)} evaluations, {round(best.at[1])} "
            f"generations of {round(best.at[0])}, and {cheapest:.0f} times the time of the linear solve."
        )
    return Attempt(
        f"Settings with which the genetic algorithm errs by {SMALL:g} or less and is no slower than the linear solve.",
        f"First step, null-space coordinates; differential evolution (seed 12, {best.tried} settings) that "
        "minimises the evaluations of those that are right: population 4 to 40, 1 to 40 generations, first width 0.1 "
        "to 10 times the expected distance, shrinking by 1e-6 to 1.",
        words,
        cheapest <= 1.0,
    )


def _time(work: Callable[[], object]) -> float:
    """Least of a few runs, s."""
    seconds = []
    for _ in range(REPEATS):
        begin = perf_counter()
        work()
        seconds.append(perf_counter() - begin)
    return min(seconds)


claim = Claim(
    "C12", "002", "Genetic algorithm in place of multipliers",
    "without multipliers, and therefore more efficient", check,
    "a step of the linkage by the genetic algorithm takes less time than one by Lagrange's equations with multipliers",
    3.0,
)  # fmt: skip
