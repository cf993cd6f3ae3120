"""C12: the cost of a genetic algorithm that avoids the multipliers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from gaussopt.comparison import paper_claims
from gaussopt.comparison.paper_claims import SMALL
from gaussopt.comparison.step_table import TimedAnswers
from gaussopt.comparison.warm_starts import NOISE
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.formulations.lagrange import formulation
from gaussopt.papers.claim import Attempt, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.evidence.random_steps import lagrange_system
from gaussopt.papers.evidence.recorded_steps import shortest
from gaussopt.papers.p002_singular_mass import genetic_runs as runs
from gaussopt.papers.p002_singular_mass.genetic_runs import FULL, NULL, WAYS, distance, search, start
from gaussopt.papers.texts import ClaimTexts
from gaussopt.solving.solver_sequence import SolverSequence

text = ClaimTexts(__file__, small=SMALL)

EFFORTS = ((4.0, 40.0), (1.0, 40.0), (-1.0, 1.0), (-6.0, 0.0))
"""Population, generations, log10 of the width of the first population and of its shrinking."""


def check(quick: bool) -> Judgement:
    """Judge by times of a step, operation counts, and the cheapest settings that an optimiser finds."""
    cases = runs.recorded((NULL, FULL), 200 if quick else 100, 0.02 if quick else 0.05)
    measured = paper_claims.genetic_cost(cases)
    ratios = {str(row[1]).removeprefix("gauss by "): float(row[4]) for row in measured.rows}
    cheapest, inverse = _cheapest(0 if quick else 8), _inverse([float(row[2]) for row in measured.rows])
    readings = (
        text.reading("default effort", bool(ratios) and max(ratios.values()) * NOISE < 1.0),
        text.reading("least effort", not cheapest.refutes),
        text.reading("default inverse", inverse.values["most"] * NOISE < 1.0),
        text.reading("least inverse", cheapest.values["inverse"] <= 1.0),
    )
    places = dict(zip((NULL, FULL), WAYS, strict=True))
    told = " and ".join(f"{ratio:.0f} in {places[solver]}" for solver, ratio in ratios.items())
    operations = _operations()
    numbers = {"told": told, "range": _between(cases), "times": [ratios.get(s) for s in places]}
    return text.judgement(
        readings, (_counts(),), (operations, inverse, cheapest), columns=measured.columns, rows=measured.rows,
        timed=("microseconds", "microseconds with multipliers", "ratio"), times_decide=True, numbers=numbers,
    )  # fmt: skip


def _between(cases: Sequence[TimedAnswers]) -> str:
    """Return the range of the ratios of times, from their 5 % and 95 % quantiles, in words."""
    times: dict[str, list[float]] = {c.answers.formulation: [] for c in cases}
    for c in cases:
        if c.times is not None:
            parts = [c.times.parts[part] for part in ("build", "recover", "work")]
            times[c.answers.formulation] += [sum(p[i] for p in parts) for i in (0, -1)]
    genetic, direct = times["gauss"], times["lagrange"]
    return f"{min(genetic) / max(direct):.0f} to {max(genetic) / min(direct):.0f}" if genetic and direct else ""


def _counts() -> Derivation:
    """Count the operations of an elimination, and of both methods, on the first step."""
    K, b = lagrange_system(start())
    x, counted = eliminate(K, b)
    size = len(b)
    apart = float(np.abs(x - np.linalg.solve(K, b)).max())
    return text.derivation(
        "counts", counted == elimination(size) and apart < 1e-9, size=size, counted=counted, stated=elimination(size),
        apart=apart,
    )  # fmt: skip


def by_inverse(step: StepData) -> Vector:
    """Compute accelerations and multipliers by the generalised inverse of section 4.1."""
    K, b = lagrange_system(step)
    return np.asarray(np.linalg.pinv(K) @ b)


def _eliminated(step: StepData) -> Vector:
    """Compute accelerations and multipliers by elimination."""
    return np.asarray(np.linalg.solve(*lagrange_system(step)))


def _inverse(genetic: Sequence[float]) -> Attempt:
    """Compare times of the generalised inverse with those in microseconds of the genetic algorithm."""
    steps = runs.states(20)
    times, apart = [], 0.0
    for step in steps:
        x, exact = by_inverse(step), _eliminated(step)
        apart = max(apart, float(np.abs(x - exact).max() / np.abs(exact).max()))
        times.append(shortest((partial(by_inverse, step), partial(_eliminated, step)), 5))
    inverse, solve = 1e6 * np.median(times, axis=0)
    least, most = (float(of(genetic) / inverse) if genetic else math.inf for of in (min, max))
    return text.attempt(
        "inverse", least > 1.0, count=len(steps), inverse=inverse, elimination=solve, solve=inverse / solve,
        apart=apart, genetic=least, most=most,
    )  # fmt: skip


def elimination(size: int) -> int:
    """Return the additions and multiplications of Gaussian elimination and back substitution."""
    return (4 * size**3 + 9 * size**2 - 7 * size) // 6


def eliminate(K: Matrix, b: Vector) -> tuple[Vector, int]:
    """Solve K x = b by Gaussian elimination with row exchanges; return x and the number of operations."""
    T, size, counted = np.column_stack((K, b)).astype(float), len(b), 0
    for k in range(size):
        pivot = k + int(np.abs(T[k:, k]).argmax())
        T[[k, pivot]] = T[[pivot, k]]
        for i in range(k + 1, size):
            factor = T[i, k] / T[k, k]
            T[i, k:] -= factor * T[k, k:]
            counted += 1 + 2 * (size - k)
    x = np.zeros(size)
    for i in reversed(range(size)):
        x[i] = (T[i, size] - T[i, i + 1 : size] @ x[i + 1 :]) / T[i, i]
        counted += 1 + 2 * (size - 1 - i)
    return x, counted


def _operations() -> Attempt:
    step = start()
    n, m = step.n, step.m
    evaluations = [search(step, **options)[1] for options in WAYS.values()]
    each = (3, 2 * n * n + 2 * n + 2 * m * (n + 1))
    ratios = [number * operations / elimination(n + m) for number, operations in zip(evaluations, each, strict=True)]
    return text.attempt(
        "operations", max(ratios) > 1.0, elimination=elimination(n + m), evaluations=evaluations, each=each,
        ratios=ratios, n=n, m=m,
    )  # fmt: skip


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
    times = inverse = math.inf
    found = text("none found")
    if best.value < 1e6:
        rivals = lambda: SolverSequence("kkt").solve(formulation.apply(step)[0]), lambda: by_inverse(step)
        seconds = shortest((lambda: run(best.at), *rivals), 5)
        times, inverse = (float(x) for x in seconds[0] / seconds[1:])
        population, length = (round(x) for x in best.at[:2])
        found = text("cheapest found", evaluations=best.value, generations=length, population=population, times=times,
                     inverse=inverse)  # fmt: skip
    return text.attempt("cheapest", times > 1.0, tried=best.tried, found=found, times=times, inverse=inverse)


claim = text.claim("C12", "002", check, 3.0)
