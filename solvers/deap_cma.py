"""CMA-ES on DEAP: an evolution strategy that adapts to the shape of the objective, as a control.

Each generation samples a normal distribution. Then its mean moves to the weighted mean of the better half, its
covariance is adapted to the successful steps, and its width is adapted to the path length of the mean. As only the
ranking of points matters, the feasibility rules of `_search` can be used, and the distribution adapts to any linear
change of coordinates. Convergence to a smooth minimum is linear, at a rate that depends only on the number of unknowns.
At a corner of inequality rows, the width shrinks towards the boundary faster than the mean moves along it, and the
search may end before it reaches the corner.
`coordinates="null-space"` satisfies equality rows exactly; `coordinates="full"` searches all of x and adds `penalty`
times the squared violation to the cost. The minimiser of this cost is found to many digits, but differs from that of
the program. The search has converged if the distribution has shrunk to `tolerance` times the size of the answer, or if
costs in a generation differ by less than the square of this length. The search returns neither multipliers nor a proof,
and needs thousands of evaluations where linear algebra needs one solve.
References: N. Hansen, A. Ostermeier, "Completely derandomized self-adaptation in evolution strategies", Evol. Comput.
9, 2001; F.-A. Fortin et al., "DEAP: evolutionary algorithms made easy", JMLR 13, 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from gaussopt.core.solver import Limit, Limits, backend
from gaussopt.linalg.dense import EPS
from gaussopt.solvers._evolution import RUNAWAY, Evolution, EvolutionOptions, Run
from gaussopt.solvers._search import Search


@dataclass(frozen=True)
class CMAOptions(EvolutionOptions):
    """`population`: number of individuals in a generation; 0 stands for 4 + 3 ln d, at least 6, for d unknowns."""

    population: int = 0
    generations: int = 500
    limits: ClassVar[Limits] = {
        **EvolutionOptions.limits,
        "population": Limit(lambda value: value == 0 or value >= 4, "it is too small, use 0 or 4"),
    }


class CMA(Evolution[CMAOptions]):
    """Covariance matrix adaptation in null-space or full coordinates."""

    name = "deap-cma"
    title = "CMA-ES (DEAP)"
    source = "Hansen & Ostermeier 2001; Fortin et al. 2012"
    options_type = CMAOptions
    precision = tuple({"tolerance": 10.0**-k} for k in (1, 2, 3, 4, 6, 8, 10, 12))

    def _evolve(self, search: Search, run: Run) -> None:
        o, d = self.options, search.dimension
        width = o.spread * search.distance(run.best)
        count = o.population or max(6, 4 + int(3 * np.log(d)))
        strategy = backend("deap.cma").Strategy(run.best, width, lambda_=count)
        origin = run.best
        toolbox = self._toolbox(search)
        toolbox.register("generate", strategy.generate, toolbox.individual)
        toolbox.register("update", _update, strategy)
        algorithm = partial(backend("deap.algorithms").eaGenerateUpdate, toolbox, verbose=False)
        while len(run.history) < o.generations:
            population = self._round(search, run, toolbox, algorithm)
            size = max(search.unit, float(np.linalg.norm(run.best)))
            costs = np.array([individual.fitness.values for individual in population])
            level = (costs[:, 0] == costs[0, 0]).all() and np.ptp(costs[:, 1]) <= (o.tolerance * size) ** 2
            axes = strategy.sigma * strategy.diagD
            # An axis of the distribution that is shorter than rounding errors of the coordinates no longer adapts.
            if axes.max() <= o.tolerance * size or axes.min() <= 4 * EPS * size or level:
                run.rests = True
                return
            if np.linalg.norm(run.best - origin) > RUNAWAY * (search.unit + width):
                run.runs_away = True
                return


def _update(strategy: Any, population: list[Any]) -> None:
    """Update the strategy; if rounding has made the covariance indefinite, restart with a spherical distribution."""
    sigma = strategy.sigma
    try:
        strategy.update(population)
        sound = bool(np.isfinite(strategy.sigma * strategy.diagD).all() and strategy.diagD.min() > 0)
    except np.linalg.LinAlgError:
        sound = False
    if not sound:
        best = max(population, key=lambda individual: individual.fitness)
        strategy.__init__(np.array(best), sigma, **strategy.params)


solver = CMA
