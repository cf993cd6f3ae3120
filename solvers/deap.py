"""A genetic algorithm on DEAP's toolbox, the solver of Yang & Yao 2017, as a control.

Individuals are real vectors. Selection is by tournaments, in which the best individual so far always takes part; then
pairs are crossed and single individuals mutated. Crossover by the line through both parents (extended line
recombination) does not depend on the axes; blend and simulated binary crossover treat each coordinate separately.
Gaussian mutation has a width that shrinks by the factor `shrink` over the run; mutation by the difference of two other
individuals adapts to the spread of the population.
`coordinates="null-space"` satisfies equality rows exactly; for a mechanism with one degree of freedom the cost is a
parabola. `coordinates="full"` searches all of x and adds `penalty` times the squared violation to the cost: a narrow
valley of condition 1e5 and more, along which the population hardly moves. On the crank-slider the answers satisfy the
rows to a few digits, but accelerations are right only in their order of magnitude, and worse if a start is given;
neither other operators nor a growing penalty change this. On the four-bar linkage, with three unknowns, line crossover
and mutation by a difference do reach the acceleration (claim C11 of the report on the papers).
The search has converged if the cost fell by less than (`tolerance` times the size of the answer)^2 over the last fifth
of the generations. It returns neither multipliers nor a proof; its errors are certified like those of any solver.
References: H. Muehlenbein, D. Schlierkamp-Voosen, "Predictive models for the breeder genetic algorithm", Evol. Comput.
1, 1993; K. Deb, R. B. Agrawal, "Simulated binary crossover for continuous search space", Complex Systems 9, 1995;
F.-A. Fortin et al., "DEAP: evolutionary algorithms made easy", JMLR 13, 2012.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

from gaussopt.core.solver import Limit, Limits, backend, one_of
from gaussopt.solvers._evolution import RUNAWAY, Evolution, EvolutionOptions, Run, clone
from gaussopt.solvers._search import Search

BEYOND = 0.5
"""Distance by which line and blend crossover may go beyond the parents, relative to the parents' distance."""

CROWDING = 2.0
"""Parameter of simulated binary crossover; larger values keep children closer to their parents."""

RATE = Limit(lambda value: 0 <= value <= 1, "it must lie between 0 and 1")


@dataclass(frozen=True)
class DEAPOptions(EvolutionOptions):
    """Options of the genetic operators.

    `population`: number of individuals; `crossover`: line, blend or simulated-binary, for a share `crossover_rate` of
    the pairs; `mutation`: gaussian or difference, for a share `mutation_rate` of the individuals; `shrink`: factor by
    which the width of Gaussian mutation falls over the run; `selection`: tournament of `tournament` individuals, or
    truncation to the better half.
    """

    population: int = 40
    generations: int = 80
    tolerance: float = 1e-4
    crossover: str = "blend"
    crossover_rate: float = 0.9
    mutation: str = "gaussian"
    mutation_rate: float = 0.5
    shrink: float = 1e-5
    selection: str = "tournament"
    tournament: int = 3
    limits: ClassVar[Limits] = {
        **EvolutionOptions.limits, "crossover": one_of("line", "blend", "simulated-binary"),
        "mutation": one_of("gaussian", "difference"), "selection": one_of("tournament", "truncation"),
        "population": Limit(lambda value: value >= 4, "it is too small, use 4 or more"),
        "tournament": Limit(lambda value: value >= 1, "it is too small, use 1 or more"),
        **dict.fromkeys(("crossover_rate", "mutation_rate"), RATE),
        "shrink": Limit(lambda value: 0 < value <= 1, "it must be positive and at most 1"),
    }  # fmt: skip


class DEAP(Evolution[DEAPOptions]):
    """A genetic algorithm in null-space or full coordinates."""

    name = "deap"
    title = "Genetic algorithm (DEAP)"
    source = "Yang & Yao 2017; Fortin et al. 2012"
    options_type = DEAPOptions
    precision = tuple({"generations": k} for k in (5, 10, 20, 40, 80, 160))

    def _evolve(self, search: Search, run: Run) -> None:
        o, d = self.options, search.dimension
        algorithms, tools = backend("deap.algorithms"), backend("deap.tools")
        origin, width = run.best, o.spread * search.distance(run.best)
        toolbox = self._toolbox(search)
        toolbox.register("clone", clone)
        toolbox.register("mate", _crossover(o.crossover))
        points = origin + width * np.random.standard_normal((o.population, d))  # noqa: NPY002
        population = [toolbox.individual(y) for y in (origin.tolist(), *points.tolist()[1:])]
        generation = count()

        def select(individuals: list[Any], k: int, elite: Any) -> Any:
            # DEAP calls `select` at the start of every generation: set the width and the donors of mutation here.
            size = width * o.shrink ** (next(generation) / o.generations)
            if o.mutation == "gaussian":
                toolbox.register("mutate", tools.mutGaussian, mu=0.0, sigma=size, indpb=max(0.5, 1.0 / d))
            else:
                toolbox.register("mutate", _difference, donors=list(individuals))
            pool = [*individuals, *elite]
            if o.selection == "tournament":
                return tools.selTournament(pool, k, o.tournament)
            better = tools.selBest(pool, (k + 1) // 2)
            return random.sample([*better, *better], k)

        def algorithm(length: int, elite: Any, statistics: Any) -> Any:
            toolbox.register("select", select, elite=elite)
            for individual in population:
                del individual.fitness.values  # delete the fitness, which is relative to the previous reference point
            rates = o.crossover_rate, o.mutation_rate
            return algorithms.eaSimple(population, toolbox, *rates, length, statistics, elite, verbose=False)

        while len(run.history) < o.generations and not run.runs_away:
            population = self._round(search, run, toolbox, algorithm)
            run.runs_away = bool(np.linalg.norm(run.best - origin) > RUNAWAY * (search.unit + width))
        size = max(search.unit, float(np.linalg.norm(run.best)))
        last = max(1, o.generations // 5)
        before = run.history[-last - 1] if len(run.history) > last else np.inf
        run.rests = bool(before - run.history[-1] <= (o.tolerance * size) ** 2)


def _crossover(name: str) -> Callable[[Any, Any], tuple[Any, Any]]:
    tools = backend("deap.tools")
    if name == "blend":
        return lambda a, b: tools.cxBlend(a, b, BEYOND)
    if name == "simulated-binary":
        return lambda a, b: tools.cxSimulatedBinary(a, b, CROWDING)
    return _line


def _line(a: Any, b: Any) -> tuple[Any, Any]:
    """Replace the parents a and b by points of the line through them, at most BEYOND |b - a| outside the segment."""
    s, t = (random.uniform(-BEYOND, 1.0 + BEYOND) for _ in range(2))
    for i, (p, q) in enumerate(zip(a, b, strict=True)):
        a[i], b[i] = p + s * (q - p), q + t * (p - q)
    return a, b


def _difference(individual: Any, donors: list[Any]) -> tuple[Any]:
    """Add a normally distributed multiple of the difference of two other individuals."""
    p, q = random.sample(donors, 2)
    factor = random.gauss(0.0, 0.7)
    for i in range(len(individual)):
        individual[i] += factor * (p[i] - q[i])
    return (individual,)


solver = DEAP
