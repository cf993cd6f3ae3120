"""Search for counterexamples to claims by differential evolution, seeded and with a fixed budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import Bounds, differential_evolution

from gaussopt.core.arrays import Vector


@dataclass(frozen=True, slots=True)
class Least:
    """The smallest value found, the point at which it was found, and the number of points tried."""

    value: float
    at: Vector
    tried: int


def minimise(
    cost: Callable[[Vector], Any], bounds: Sequence[tuple[float, float]], generations: int,
    seed: int | np.random.Generator, population: int = 3, together: bool = False, start: Vector | None = None,
) -> Least:  # fmt: skip
    """Minimise a function of d numbers within bounds.

    Parameters
    ----------
    cost : function that maps (d,) to a number or, if `together`, (d, S) to (S,)
    bounds : lower and upper bound of each number
    generations : number of generations after the first population; the search never stops earlier
    seed : a seed, or a Generator, which continues from its state
    population : number of points of a population per unknown, so that it has d times as many points
    start : (d,), one point of the first population

    Source: R. Storn, K. Price, "Differential evolution", J. Global Optim. 11, 1997, in SciPy's implementation.
    """
    tried = 0

    def counted(z: Vector, /, *_: Any) -> Any:
        nonlocal tried
        tried += z.shape[1] if together else 1
        return cost(z)

    low, high = np.array(bounds, dtype=float).T
    found = differential_evolution(
        counted, Bounds(low, high), maxiter=generations, popsize=population, seed=seed, polish=False, tol=0.0,
        vectorized=together, updating="deferred" if together else "immediate", x0=start,
    )  # fmt: skip
    return Least(float(found.fun), np.asarray(found.x, dtype=float), tried)


def maximise(gain: Callable[[Vector], float], bounds: Sequence[tuple[float, float]], generations: int,
             seed: int | np.random.Generator, population: int = 3) -> Least:  # fmt: skip
    """Maximise a function of d numbers within bounds, see `minimise`; `value` is the largest value found."""
    found = minimise(lambda z: -gain(z), bounds, generations, seed, population)
    return replace(found, value=-found.value)


def largest_error(
    error: Callable[[Vector], float], size: int, generations: int, seed: int, population: int
) -> tuple[float, Least]:
    """Maximise a relative error over `size` numbers in [-1, 1]; return it, and the result for its logarithm."""
    found = maximise(
        lambda z: float(np.log10(error(z) + 1e-18)), [(-1.0, 1.0)] * size, generations, np.random.default_rng(seed),
        population,
    )  # fmt: skip
    return 10.0**found.value, found
