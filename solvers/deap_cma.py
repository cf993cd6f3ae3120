"""CMA-ES on DEAP: an evolution strategy that learns the shape of the objective, as a control.

Each generation samples a normal distribution; its mean moves to the weighted mean of the better half, its covariance
towards the steps that were successful, its width by the length of the path of the mean. Only ranks matter, so the
feasibility rules of `_search` can be used, and any linear change of coordinates is learned: on a smooth minimum
convergence is linear, at rates that depend only on the number of unknowns. A corner of inequality rows is no smooth
minimum: the width shrinks towards the boundary faster than the mean moves along it, and the search may come to rest
before it reaches the corner.
`coordinates="null-space"` satisfies equality rows exactly; `coordinates="full"` searches all of x and pays `penalty`
times the squared violation, whose minimiser it finds to many digits: its error is due to the penalty.
Rest: the distribution has shrunk to `tolerance` of the size of the answer, or costs in a generation differ by less than
its square. The shape learned on one step is not carried over to the next: on the crank-slider that did not help.
A control: no multipliers, no proof, and thousands of evaluations where linear algebra needs one solve.
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
    """Options of every evolution; `population`: individuals of a generation, 0 for 4 + 3 ln d, at least 6."""

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
            # Below rounding errors of the coordinates an axis learns nothing more.
            if axes.max() <= o.tolerance * size or axes.min() <= 4 * EPS * size or level:
                run.rests = True
                return
            if np.linalg.norm(run.best - origin) > RUNAWAY * (search.unit + width):
                run.runs_away = True
                return


def _update(strategy: Any, population: list[Any]) -> None:
    """Update the strategy; where rounding has spoilt the covariance, restart with a spherical one."""
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
