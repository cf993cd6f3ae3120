"""C12: what it costs to do without multipliers by a genetic algorithm."""

from __future__ import annotations

import math

import numpy as np

from gaussopt.comparison import paper_claims
from gaussopt.comparison.paper_claims import SMALL
from gaussopt.core.step_data import Vector
from gaussopt.formulations.lagrange import formulation
from gaussopt.papers.claim import Attempt, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.evidence.recorded_steps import shortest
from gaussopt.papers.p002_singular_mass import genetic_runs as runs
from gaussopt.papers.p002_singular_mass.genetic_runs import FULL, NULL, WAYS, distance, search, start
from gaussopt.papers.texts import ClaimTexts
from gaussopt.solving.solver_sequence import SolverSequence

text = ClaimTexts(__file__, small=SMALL)

EFFORTS = ((4.0, 40.0), (1.0, 40.0), (-1.0, 1.0), (-6.0, 0.0))
"""Population, generations, log10 of the width of the first population and of its shrinking."""


def check(quick: bool) -> Judgement:
    """Times of a step, the arithmetic behind them, and the cheapest settings that an optimiser finds."""
    solvers = (NULL,) if quick else (NULL, FULL)
    cases = runs.recorded(solvers, 200 if quick else 100, 0.02 if quick else 0.05)
    measured = paper_claims.genetic_cost(cases)
    search_ = _cheapest(0 if quick else 8)
    # Slower as it is; an effort that is fast and right would make it true under conditions.
    faster = measured.verdict == str(ClaimVerdict.TRUE)
    verdict = ClaimVerdict.of([faster, search_.refutes])
    what = (
        "our default effort, though with none of those that the search tried"
        if faster
        else "an effort as small as the search found, not with our default effort"
    )
    return Judgement(
        verdict, measured.sentence, (_arithmetic(),), (search_,), verdict.where(f"only with {what}."),
        measured.columns, measured.rows, ("microseconds", "microseconds with multipliers", "ratio"), times_decide=True,
    )  # fmt: skip


def _arithmetic() -> Derivation:
    step = start()
    n, m = step.n, step.m
    # Gaussian elimination of n + m unknowns; of a quadratic cost in one unknown two products and one sum.
    elimination = 2 * (n + m) ** 3 / 3 + 2 * (n + m) ** 2
    evaluations = [search(step, **options)[1] for options in WAYS.values()]
    each = (3, 2 * n * n + 2 * n + 2 * m * (n + 1))
    ratios = [number * operations / elimination for number, operations in zip(evaluations, each, strict=True)]
    return text.derivation(
        "arithmetic", min(ratios) > 1.0, elimination=elimination, evaluations=evaluations, each=each, ratios=ratios
    )


def _cheapest(generations: int) -> Attempt:
    step = start()
    a = (step.force[0] + step.force[1]) / (step.M[0, 0] + step.M[1, 1])
    truth = np.array([a, a, -a])

    def run(z: Vector) -> tuple[Vector, int]:
        population, length, width, shrink = (float(x) for x in z)
        return search(
            step, population=round(population), generations=round(length), spread=10.0**width, shrink=10.0**shrink
        )

    def effort(z: Vector) -> float:
        found, evaluations = run(z)
        error = distance(found, truth)
        return evaluations if error <= SMALL else 1e6 * (1.0 + min(error, 1e3))

    best = minimise(effort, EFFORTS, generations, 12, population=2)
    times, found = math.inf, f"None of them errs by {SMALL:g} or less."
    if best.value < 1e6:
        seconds = shortest((lambda: run(best.at), lambda: SolverSequence("kkt").solve(formulation.apply(step)[0])), 5)
        times = float(seconds[0] / seconds[1])
        population, length = (round(x) for x in best.at[:2])
        found = text("cheapest found", evaluations=best.value, generations=length, population=population, times=times)
    return text.attempt("cheapest", times <= 1.0, tried=best.tried, found=found)


claim = text.claim("C12", "002", check, 3.0)
