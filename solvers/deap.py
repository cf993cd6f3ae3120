"""A genetic algorithm on DEAP's toolbox: the solver of Yang & Yao 2017, as a control.

Real-coded individuals, tournament selection, blend crossover, Gaussian mutation whose width shrinks from
generation to generation, one elite. Two ways to meet equality rows: `coordinates="null-space"` searches in
x = x_p + Z z, which satisfies them exactly (on a mechanism with one degree of freedom this is a parabola);
`coordinates="full"` searches all of x and pays `penalty` times the squared violation. Inequality rows are
penalised in both. A genetic algorithm gives no multipliers and no proof; its errors are certified like any
other's and are orders of magnitude above those of linear algebra.
Reference: F.-A. Fortin et al., "DEAP: evolutionary algorithms made easy", JMLR 13, 2012.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.errors import BadInput
from gaussopt.linalg import row_space
from gaussopt.programs import QP, LeastSquares, Program, RawSolution, as_qp
from gaussopt.solver import Options, Solver, backend
from gaussopt.status import Status
from gaussopt.stepdata import Matrix, Vector


@dataclass(frozen=True)
class DEAPOptions(Options):
    """Settings of the search.

    `spread` is the width of the first population relative to the size of the answer expected; `shrink` the
    factor by which the mutation width falls over the whole run; `penalty` the weight of squared violations in
    units of the objective.
    """

    population: int = 40
    generations: int = 40
    crossover: float = 0.6
    mutation: float = 0.5
    tournament: int = 3
    spread: float = 1.0
    shrink: float = 1e-5
    coordinates: str = "null-space"
    penalty: float = 1e4
    seed: int = 0


class DEAP(Solver[DEAPOptions]):
    """Genetic algorithm in null-space or full coordinates."""

    name = "deap"
    title = "Genetic algorithm (DEAP)"
    source = "Yang & Yao 2017; Fortin et al. 2012"
    accepts = (QP, LeastSquares)
    requires = ("deap",)
    exact = False
    options_type = DEAPOptions

    def __init__(self, variant: str | None, options: DEAPOptions) -> None:
        super().__init__(variant, options)
        if options.coordinates not in ("null-space", "full"):
            raise BadInput(f"The option 'coordinates' of 'deap' is {options.coordinates!r}; use null-space or full.")
        for key in ("population", "generations", "tournament"):
            if getattr(options, key) < (2 if key == "population" else 1):
                raise BadInput(f"The option {key!r} of 'deap' is {getattr(options, key)}; it is too small.")
        # DEAP draws from the global generators; each solver keeps its own place in their sequences.
        self._random = random.Random(options.seed).getstate()
        self._numpy = np.random.RandomState(options.seed).get_state()

    def setup(self, program: Program) -> None:
        """Choose coordinates x = centre + Z z and the scale of the search."""
        qp = as_qp(program)
        self._qp = qp
        eq = qp.equality
        if self.options.coordinates == "null-space":
            space = row_space(qp.A[eq])
            self._centre, self._Z = space.pinv @ qp.l[eq], space.Z
            rows = ~eq
        else:
            self._centre, self._Z = np.zeros(qp.n), np.eye(qp.n)
            rows = np.ones(qp.m, dtype=bool)
        self._A, self._l, self._u = qp.A[rows], qp.l[rows], qp.u[rows]
        # Unit of the search: how far the minimiser along the steepest descent is, and along each coordinate.
        reduced = self._Z.T @ (qp.q + qp.P @ self._centre)
        H = self._Z.T @ qp.P @ self._Z
        curvature = H.diagonal()
        along = np.abs(reduced) / np.where(curvature > 0, curvature, 1.0)
        steepest = float(reduced @ H @ reduced)
        length = float(reduced @ reduced) ** 1.5 / steepest if steepest > 0 else 1.0
        self._width = np.minimum(along, length) + 1e-3 * min(length, 1.0 + float(along.max(initial=0.0)))
        # A coordinate without curvature has no scale of its own; it may need to move as far as any other.
        self._width[curvature <= 0] = self._width.max(initial=0.0)

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Evolve one population; the warm start joins it as an individual."""
        if self._Z.shape[1] == 0:
            return RawSolution(self._centre, None, Status.SOLVED)
        saved_random, saved_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
        random.setstate(self._random)
        np.random.set_state(self._numpy)  # noqa: NPY002
        try:
            best, evaluations = self._evolve(start)
        finally:
            self._random, self._numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
            random.setstate(saved_random)
            np.random.set_state(saved_numpy)  # noqa: NPY002
        note = f"{evaluations} evaluations"
        return RawSolution(self._centre + self._Z @ best, None, Status.SOLVED, self.options.generations, note=note)

    def _evolve(self, start: tuple[Vector, Vector | None] | None) -> tuple[Vector, int]:
        base, creator, tools, algorithms = (
            backend(f"deap.{part}") for part in ("base", "creator", "tools", "algorithms")
        )
        if not hasattr(creator, "GaussoptIndividual"):
            creator.create("GaussoptFitness", base.Fitness, weights=(-1.0,))
            creator.create("GaussoptIndividual", list, fitness=creator.GaussoptFitness)
        o, d = self.options, self._Z.shape[1]
        width = o.spread * self._width
        toolbox = base.Toolbox()
        # The whole population in one call: DEAP's algorithms evaluate through toolbox.map.
        toolbox.register("map", self._map)
        toolbox.register("evaluate", self._cost)
        toolbox.register("select", tools.selTournament, tournsize=o.tournament)
        toolbox.register("mate", tools.cxBlend, alpha=0.5)

        def individual(z: Vector) -> Any:
            return creator.GaussoptIndividual(z.tolist())

        population = [individual(np.random.standard_normal(d) * width) for _ in range(o.population)]  # noqa: NPY002
        if start is not None:
            population[0] = individual(self._Z.T @ (start[0] - self._centre))
        elite = tools.HallOfFame(1)
        evaluations = 0
        sizes = o.shrink ** (np.arange(o.generations) / max(o.generations - 1, 1))
        for size in sizes:
            toolbox.register("mutate", tools.mutGaussian, mu=0.0, sigma=(width * size).tolist(), indpb=max(0.5, 1 / d))
            population, log = algorithms.eaSimple(
                population, toolbox, o.crossover, o.mutation, 1, halloffame=elite, verbose=False
            )
            evaluations += sum(log.select("nevals"))
            population[-1] = toolbox.clone(elite[0])
        return np.array(elite[0]), evaluations

    def _map(self, function: Callable[[Matrix], Vector], individuals: Iterable[Any]) -> list[tuple[float]]:
        points = list(individuals)
        if not points:
            return []
        return [(float(c),) for c in function(np.array(points))]

    def _cost(self, z: Matrix) -> Vector:
        """Objective plus penalty of a population, one individual a row."""
        qp = self._qp
        x = self._centre + z @ self._Z.T
        cost = 0.5 * np.einsum("ij,ij->i", x, x @ qp.P) + x @ qp.q
        if len(self._A):
            s = x @ self._A.T
            violation = np.maximum(self._l - s, 0.0) + np.maximum(s - self._u, 0.0)
            cost = cost + self.options.penalty * np.einsum("ij,ij->i", violation, violation)
        return np.asarray(cost)


solver = DEAP
