"""Base class of the evolutionary solvers: DEAP's types, a separate random state, the history, and the claims.

The population is evaluated in one NumPy call, through the toolbox's `map`. A run is divided into rounds: between two
rounds the reference point of the costs (see `_search`) moves to the best point so far, and the run may end.

A search proves nothing. It claims `solved` if it has converged (by the criterion of each solver) to a point that
satisfies the inequality rows, and the equations (or the complementarity of an LCP) to 1e-7 of their terms, the default
tolerance. It claims `iteration_limit` if its generations ran out before, or if the cost falls without bound. It claims
`inaccurate` if it has converged to a point that violates a row, as always happens in full coordinates, where violations
only add to the cost. Convergence may be premature, especially at a corner of inequality rows.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LCP, QP, LeastSquares, LinearSystem, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import POSITIVE, Limit, Limits, Options, Solver, backend, one_of
from gaussopt.core.status import Status
from gaussopt.solvers._search import Search, search_of

ROUND = 10
"""Number of generations in a round, that is, until the best point becomes the new reference point."""

RUNAWAY = 1e8
"""The cost is assumed to have no minimum if the search goes beyond this multiple of the expected distance."""


@dataclass(frozen=True)
class EvolutionOptions(Options):
    """Options common to all evolutionary solvers.

    `generations`: maximum number of generations; `spread`: width of the first population relative to the expected
    distance of the answer; `coordinates`: "null-space" (equality rows hold exactly) or "full" (squared violations times
    `penalty`, in units of the objective, are added to the cost); `tolerance`: changes, relative to the size of the
    answer, at which the search has converged; `seed`: seed of the random numbers.
    """

    generations: int = 40
    spread: float = 1.0
    coordinates: str = "null-space"
    penalty: float = 1e4
    tolerance: float = 1e-10
    seed: int = 0
    limits: ClassVar[Limits] = {
        "coordinates": one_of("null-space", "full"),
        "generations": Limit(lambda value: value >= 1, "it must be at least 1"),
        **dict.fromkeys(("spread", "penalty", "tolerance"), POSITIVE),
        "seed": Limit(lambda value: 0 <= value < 2**32, "it must lie between 0 and 2^32 - 1"),
    }  # fmt: skip


@dataclass(slots=True)
class Run:
    """The state of a search: the best point, (d,), and whether the search has converged (`rests`) or diverged.

    The history holds the cost of the best point after each generation, infinite until a point is feasible.
    """

    best: Vector
    history: list[float] = field(default_factory=list)
    evaluations: int = 0
    rests: bool = False
    runs_away: bool = False


Algorithm = Callable[[int, Any, Any], tuple[list[Any], Any]]
"""A function of the number of generations, the hall of fame and the statistics: it returns population and logbook."""

E = TypeVar("E", bound=EvolutionOptions)


class Evolution(Solver[E]):
    """A stochastic search for the solution of any program; the module docstring says which status it may claim."""

    accepts = (QP, LeastSquares, LinearSystem, LCP)
    requires = ("deap",)
    exact = False
    stochastic = True
    warm_starts = True

    def __init__(self, variant: str | None, options: E) -> None:
        super().__init__(variant, options)
        # DEAP draws from the global random generators; each solver stores a separate state of these generators.
        self._random = random.Random(options.seed).getstate()
        self._numpy = np.random.RandomState(options.seed).get_state()

    def setup(self, program: Program) -> None:
        """Create the search problem: its coordinates and the expected size of the answer."""
        self._search = search_of(program, self.options.coordinates, self.options.penalty)

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Search from the start, or from the origin of the coordinates; the result is never worse than the start."""
        search = self._search
        origin = np.zeros(search.dimension) if start is None else search.encode(start[0])
        run = Run(origin, rests=True)
        if search.dimension:
            run.rests = False
            with self._own_generators(), np.errstate(all="ignore"):
                self._evolve(search, run)
        notes = [f"{run.evaluations} evaluations"]
        claim = Status.SOLVED
        if objection := search.objection(run.best):
            claim = Status.INACCURATE
            notes.append(objection)
        if run.runs_away:
            claim = Status.ITERATION_LIMIT
            notes.append("the cost keeps falling: it may have no minimum")
        elif not run.rests:
            claim = Status.ITERATION_LIMIT
            notes.append("still improving")
        x, history = search.decode(run.best), tuple(run.history)
        return RawSolution(x, None, claim, len(history), note="; ".join(notes), history=history)

    @abstractmethod
    def _evolve(self, search: Search, run: Run) -> None:
        """Continue the search from `run.best`, round by round."""

    @contextmanager
    def _own_generators(self) -> Iterator[None]:
        """Within this context, use the solver's states of `random` and `numpy.random`; then restore the user's."""
        saved_random, saved_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
        random.setstate(self._random)
        np.random.set_state(self._numpy)  # noqa: NPY002
        try:
            yield
        finally:
            self._random, self._numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
            random.setstate(saved_random)
            np.random.set_state(saved_numpy)  # noqa: NPY002

    def _toolbox(self, search: Search) -> Any:
        """Return a toolbox that makes individuals and evaluates populations."""
        creator, base = backend("deap.creator"), backend("deap.base")
        if not hasattr(creator, "GaussoptIndividual"):
            # Fitness is compared lexicographically: first the violation, then the cost.
            creator.create("GaussoptFitness", base.Fitness, weights=(-1.0, -1.0))
            creator.create("GaussoptIndividual", list, fitness=creator.GaussoptFitness)
        toolbox = base.Toolbox()
        toolbox.register("individual", creator.GaussoptIndividual)
        toolbox.register("evaluate", search.evaluate)
        toolbox.register("map", _together)
        return toolbox

    def _round(self, search: Search, run: Run, toolbox: Any, algorithm: Algorithm) -> list[Any]:
        """Run one round of one of DEAP's algorithms from the best point; return its last population."""
        tools = backend("deap.tools")
        reference = search.refer(run.best)
        champion = toolbox.individual(run.best.tolist())
        champion.fitness.values = tuple(search.evaluate(run.best[None])[0].tolist())
        elite = Elite([champion])
        # Use the weighted (negated) values, because DEAP computes the unweighted values anew at every access.
        statistics = tools.Statistics(lambda individual: individual.fitness.wvalues)
        statistics.register("best", max)
        length = min(ROUND, self.options.generations - len(run.history))
        population, log = algorithm(length, elite, statistics)
        best = champion.fitness.wvalues
        for record in log[-length:]:
            best = max(best, record["best"])
            cost = reference - best[1] if best[0] == 0.0 else np.inf
            # If the best cost rises, this can only be a rounding error of the new reference point.
            run.history.append(min(cost, run.history[-1]) if run.history else cost)
        run.evaluations += sum(log.select("nevals"))
        run.best = np.array(elite[0])
        return population


class Elite(list[Any]):
    """The best individual so far; it replaces DEAP's hall of fame of size one, which is slow."""

    def update(self, population: list[Any]) -> None:
        """Replace the best individual so far by a better individual of the population, if any."""
        for individual in population:
            if individual.fitness.wvalues > self[0].fitness.wvalues and individual != self[0]:
                self[0] = clone(individual)


def clone(individual: Any) -> Any:
    """Copy an individual without calling DEAP's constructors, which would take most of the time of a generation."""
    kind: Any = type(individual)
    judged: Any = type(individual.fitness)
    copy = kind.__new__(kind)
    copy.extend(individual)
    copy.fitness = judged.__new__(judged)
    copy.fitness.wvalues = individual.fitness.wvalues
    return copy


def _together(evaluate: Callable[[Matrix], Matrix], individuals: list[Any]) -> list[tuple[float, float]]:
    """Return violation and cost of every individual by one call of `evaluate`; NaN becomes infinite."""
    points = np.array(list(individuals))
    if not len(points):
        return []
    values = evaluate(points)
    values[np.isnan(values)] = np.inf
    return [(violation, cost) for violation, cost in values.tolist()]
