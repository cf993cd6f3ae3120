"""C12: the cost of a genetic algorithm that avoids the multipliers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from gaussopt.comparison.paper_claims import SMALL
from gaussopt.comparison.warm_starts import NOISE
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.formulations.lagrange import formulation
from gaussopt.papers.claim import Attempt, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import Least, minimise
from gaussopt.papers.evidence.random_steps import lagrange_system
from gaussopt.papers.evidence.recorded_steps import in_turns
from gaussopt.papers.p002_singular_mass import genetic_runs as runs
from gaussopt.papers.p002_singular_mass.genetic_runs import WAYS, distance, search, start
from gaussopt.papers.texts import ClaimTexts
from gaussopt.solving.solver_sequence import SolverSequence

text = ClaimTexts(__file__, small=SMALL)

EFFORTS = ((4.0, 40.0), (1.0, 40.0), (-1.0, 1.0), (-6.0, 0.0))
"""Bounds of the optimised settings: population, generations, log10 of the first width, and log10 of its shrinking."""

SYSTEM, INVERSE, ELIMINATION = "linear system", "generalised inverse", "elimination"
"""Rivals: the linear system with multipliers, by the package's own code, and two methods written with numpy only."""

CHEAPEST = "cheapest settings"

Times = Mapping[str, Vector]
"""Processor times of a step by method, (turns,), s, measured in alternation."""


def check(quick: bool) -> Judgement:
    """Judge by operation counts and processor times of a step, also with the cheapest settings that are found."""
    best = _search()
    times = _times(best, 5 if quick else 15)
    system, inverse = ({way: times[way] / times[rival] for way in times} for rival in (SYSTEM, INVERSE))
    default = [float(max(np.median(of[way]) for way in WAYS)) for of in (system, inverse)]
    least = [float(np.median(of[CHEAPEST])) if best else math.inf for of in (system, inverse)]
    readings = (
        text.reading("default effort", default[0] * NOISE < 1.0), text.reading("least effort", least[0] <= 1.0),
        text.reading("default inverse", default[1] * NOISE < 1.0), text.reading("least inverse", least[1] <= 1.0),
    )  # fmt: skip
    spans = {way: _span(of) for way, of in system.items()}
    rows = tuple(
        (way, 1e6 * float(np.median(times[way])), *np.quantile(system[way], (0.5, 0.1, 0.9)).tolist(),
         float(np.median(inverse[way])))
        for way in times
    )  # fmt: skip
    return text.judgement(
        readings, (_counts(),), (_operations(), _inverse(times), _cheapest(best, spans, least)), rows=rows,
        timed=text.columns("numbers")[1:], times_decide=True, numbers={"spans": [spans[way] for way in WAYS]},
    )  # fmt: skip


def _times(best: Least | None, turns: int) -> Times:
    """Measure the time of a step of the linkage by every method."""
    step = start()
    works: dict[str, Callable[[], object]] = {way: partial(search, step, **options) for way, options in WAYS.items()}
    if best is not None:
        works[CHEAPEST] = partial(_with, step, best.at)
    works |= {
        SYSTEM: lambda: SolverSequence("kkt").solve(formulation.apply(step)[0]),
        INVERSE: partial(by_inverse, step), ELIMINATION: partial(_eliminated, step),
    }  # fmt: skip
    # The methods without a genetic algorithm are so short that a single call would measure cold caches.
    calls = [1 if way in WAYS else 30 for way in works]
    return dict(zip(works, in_turns(tuple(works.values()), turns, calls).T, strict=True))


def _span(ratios: Vector) -> str:
    """Return the 10 % and 90 % quantiles of ratios as text."""
    low, high = np.quantile(ratios, (0.1, 0.9))
    return f"{low:.2g} to {high:.2g}" if low < 10.0 else f"{low:.0f} to {high:.0f}"


def _counts() -> Derivation:
    """Check the formula for the operations of an elimination by counting them on the first step."""
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


def _inverse(times: Times) -> Attempt:
    """Compare the generalised inverse with an elimination and with the genetic algorithm."""
    steps, apart = runs.states(20), 0.0
    for step in steps:
        x, exact = by_inverse(step), _eliminated(step)
        apart = max(apart, float(np.abs(x - exact).max() / np.abs(exact).max()))
    least = float(min(np.median(times[way] / times[INVERSE]) for way in WAYS))
    return text.attempt(
        "inverse", least > 1.0, count=len(steps), turns=len(times[INVERSE]), apart=apart, genetic=least,
        solve=_span(times[INVERSE] / times[ELIMINATION]),
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


def _with(step: StepData, settings: Vector) -> tuple[Vector, int]:
    """Solve a step by a search in null-space coordinates, with `settings` in the order of EFFORTS."""
    population, length, width, shrink = map(float, settings)
    return search(
        step, population=round(population), generations=round(length), spread=10.0**width, shrink=10.0**shrink
    )


def _search() -> Least | None:
    """Find the settings that give a correct answer with the fewest evaluations; None if no answer was correct."""
    step = start()
    a = (step.force[0] + step.force[1]) / (step.M[0, 0] + step.M[1, 1])

    def effort(z: Vector) -> float:
        found, evaluations = _with(step, z)
        error = distance(found, np.array([a, a, -a]))
        return evaluations if error <= SMALL else 1e6 * (1.0 + min(error, 1e3))

    best = minimise(effort, EFFORTS, 8, 12, population=2)
    return best if best.value < 1e6 else None


def _cheapest(best: Least | None, spans: Mapping[str, str], least: Sequence[float]) -> Attempt:
    """Return the search for a refutation of the claim by the cheapest settings; `least` holds ratios of times."""
    if best is None:
        found, operations = text("none found"), math.inf
    else:
        size, (population, length) = start().n + start().m, (round(x) for x in best.at[:2])
        operations = 3 * best.value / elimination(size)
        found = text("cheapest found", evaluations=best.value, generations=length, population=population,
                     operations=operations, span=spans[CHEAPEST], inverse=least[1])  # fmt: skip
    return text.attempt(
        "cheapest", least[0] > 1.0, tried=best.tried if best else 0, found=found, operations=operations,
        bound=np.floor(operations) + 1.0, span=spans.get(CHEAPEST, ""),
    )  # fmt: skip


claim = text.claim("C12", "002", check, 3.0)
