"""The default solver for contacts with friction cones: robust methods, followed by Newton's method near a solution.

The following methods are tried in order, each followed by the damped Newton method of `nsn-ac`, until the natural map
is at rounding level: one cone program if sweeps hardly converge, sweeps of nonlinear Gauss-Seidel as long as they
converge (damped sweeps if there are very many contacts), then alternating directions with a falling penalty if there
are many contacts, or cone programs with fixed shift (ACLM) and many sweeps if there are few, the proximal method, and
pyramids in place of the cones if there are few contacts.
If a problem has few contacts and is not known to have a unique solution, a solution with a different velocity is
searched for from other starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from gaussopt.cone.groups import Groups
from gaussopt.cone.monotonicity import monotonicity
from gaussopt.cone.newton_kernel import continued
from gaussopt.cone.proximal_kernel import BY_NEWTON, BY_PROXIMAL, QuickMethods, proximal_impulses, shared_impulses
from gaussopt.cone.sweeps import Sweeps
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.delassus import DelassusProduct, as_blocks
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import POSITIVE, Limits, Options
from gaussopt.core.status import Status
from gaussopt.linalg.cones import (
    dense,
    in_cones,
    natural_map,
    project,
    residual,
    rows_of,
    velocity_size,
    way_inside,
)
from gaussopt.solvers._conic import fixed_point
from gaussopt.solvers._kept import Kept
from gaussopt.solvers.admm import ADMMOptions, directions
from gaussopt.solvers.lemke import with_pyramids
from gaussopt.solvers.nsn_ac import newton
from gaussopt.solvers.prox import damped_sweeps, proximal

ROUNDS, WITHIN = 50, 4
"""Maximum number of rounds of sweeps; the natural map must fall by half within WITHIN rounds."""

MANY = 50
"""With more contacts than this, a cone program may be solved before Newton's method is tried."""

NEAR = 1e-4
"""With more than MANY contacts, sweeps that leave a larger natural map than this are followed by a cone program."""

VERY_MANY, DAMPED, DAMPED_NEAR = 2_000, 400, 1e-3
"""Damped sweeps are tried with more than VERY_MANY contacts if the natural map is at most DAMPED_NEAR; DAMPED is their
maximum number of rounds."""

FOLLOWED_ROWS = 600
"""Newton's method is not tried first if the rows of closed and open contacts together are more than this."""

SPLIT = (0.03, 1_000), (0.01, 3_000), (0.003, 10_000)
"""Stages of alternating directions for more than MANY contacts: penalty, in scaled variables, and iterations."""

MOST_SPLIT = 4_000
"""Largest number of contacts for which alternating directions and proximal problems are tried."""

NEWTON, MANY_NEWTON, SPLIT_NEWTON = 60, 20, 100
"""Largest number of Newton steps: by default, with more than MANY contacts, and after alternating directions."""

PROXIMAL = 40
"""Largest number of proximal problems."""

CLOSE, PROBLEMS = 1e-4, 4
"""First proximal parameter alpha, and number of proximal problems, after alternating directions."""

ROUNDING = 1e-12
"""Pyramids are tried above this natural map."""

ROUNDED = 1e-10
"""With more than MANY contacts, whose rounding errors add up, no further method is tried below this natural map."""

STILL_ROUNDED = 10.0 * ROUNDED
"""Natural map up to which impulses of the previous step are kept, where Newton's method does not converge."""

REDUNDANT = 20
"""Where Newton's method fails, proximal steps are tried first for this number of programs."""

FIRST = 50
"""Number of sweeps in each of the two series that detect slow convergence, and in the first series of `_quickly`."""

DOUBLED = 7
"""Number of series of sweeps in `_quickly`; each is twice as long as the previous series."""

SETTLED = 1e3
"""The natural map of a solution may be at most this multiple of the tolerance; above 1 because of rounding errors."""

REDUNDANT_ROWS = 1e-12
"""Largest eigenvalue of W, relative to the largest, of a combination of impulses that moves nothing."""

STRAINED = 16
"""Number of starts in which redundant contacts strain each other."""

APART = 1e-4
"""Two velocities count as different if their distance, relative to |q|, is at least this."""


@dataclass(frozen=True)
class HybridOptions(Options):
    """Limits of the methods.

    `tolerance`: natural map, relative to |q|, at which the solver ends; `sweeps`: number of sweeps in a round;
    `programs`: number of cone programs; `searched`: largest number of contacts for which a second solution is searched,
    0 for no search; `starts`: number of starts of the search; `seed`: seed of its random starts; `followed`: largest
    number of contacts with unknown forces for which Newton's method is tried first, from the given start, such as the
    impulses of the previous step; `enough`: natural map that suffices if Newton's method does not converge, as may
    happen for redundant contacts; `compliance`: whether, with at most `MANY` contacts, forces of redundant contacts are
    those that `gaussopt.cone.proximal_kernel.shared_forces` finds, which do not depend on the given start.
    """

    tolerance: float = 1e-13
    sweeps: int = 200
    programs: int = 5
    searched: int = 12
    starts: int = 8
    seed: int = 0
    followed: int = 0
    enough: float = 0.0
    compliance: bool = False
    limits: ClassVar[Limits] = dict.fromkeys(("tolerance", "sweeps", "programs", "starts"), POSITIVE)


class Hybrid(Kept[HybridOptions]):
    """The combination of sweeps, cone programs, Newton's method and proximal steps."""

    name = "hybrid"
    title = "Sweeps or cone programs, then damped Newton, then proximal steps"
    source = "own combination of Jean 1999, Acary et al. 2011, Alart & Curnier 1991"
    accepts = (ConeComplementarity,)
    sparse = True
    warm_starts = True
    options_type = HybridOptions

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        if not self.program.k:
            return RawSolution(np.zeros(0), None, Status.SOLVED)
        if self.options.compliance and self.program.k <= MANY and not self.program.sparse:
            r = shared_impulses(self.program)
            if r is not None and residual(self.program, r) <= SETTLED * self.options.tolerance:
                return RawSolution(r, None, Status.SOLVED)
        if self.options.followed or self.options.enough:
            way = self._apart if self.program.sparse else self._quickly
            found = way(None if start is None else start[0])
            if found is not None:
                return found
        with np.errstate(over="ignore", invalid="ignore"):
            return self._solve(start)

    @cached_property
    def _quick(self) -> tuple[QuickMethods | None, QuickMethods | None]:
        o = self.options
        if not o.followed or o.compliance:
            return None, None
        limits = o.tolerance, SETTLED * o.tolerance, ROWS * o.followed, min(STILL_ROUNDED, o.enough), ROUNDED, o.enough
        return QuickMethods(BY_NEWTON, *limits), QuickMethods(BY_PROXIMAL, *limits)

    def quick_methods(self) -> QuickMethods | None:
        return self._quick[self.memory > 0]

    def succeeded(self, method: int) -> None:
        self.memory = (self.memory or REDUNDANT) - 1 if method == BY_PROXIMAL else 0

    def _solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        problem, options = self.program, self.options
        best, least, steps = np.zeros(problem.n), np.inf, 0
        goal = max(options.tolerance, options.enough, 0.0 if problem.k <= MANY else ROUNDED)
        for r in self._starts(None if start is None else start[0]):
            r, count = newton(problem, r, MANY_NEWTON if problem.k > MANY else NEWTON, options.tolerance)
            error, steps = residual(problem, r), steps + count
            if error < least:
                best, least = r, error
            if least <= goal:
                break
        else:
            if problem.k <= MOST_SPLIT:
                best, count = proximal(problem, best, PROXIMAL, options.tolerance)
                least, steps = residual(problem, best), steps + count
        for r in with_pyramids(problem) if least > max(options.enough, ROUNDING) else ():
            r, _ = newton(problem, r, NEWTON, options.tolerance)
            r, _ = proximal(problem, r, PROXIMAL, options.tolerance)
            if (error := residual(problem, r)) < least:
                best, least = r, error
            if least <= ROUNDING:
                break
        best, least = in_cones(problem, best)
        claim = Status.SOLVED if least <= max(SETTLED * options.tolerance, options.enough) else Status.ITERATION_LIMIT
        others = self._search(best) if claim is Status.SOLVED and problem.k <= options.searched else ()
        note = "" if claim is Status.SOLVED else "neither sweeps, cone programs nor pyramids led to a solution"
        return RawSolution(best, None, claim, steps, note=note, solutions=others)

    def _apart(self, given: Vector | None) -> RawSolution | None:
        """Sweep, then solve those groups of contacts that no block of W connects which need it; None if one fails."""
        whole, W = self.program, self.program.W
        if isinstance(W, DelassusProduct):
            return None
        groups = Groups(W)
        if groups.count == 1:
            if whole.n <= FOLLOWED_ROWS:
                self.setup(dense(whole))
            try:
                return self._quickly(given)
            finally:
                self.setup(whole)
        sweeps = Sweeps(whole)
        if given is not None:
            sweeps.r[:] = given
        sweeps.run_groups(groups, FIRST, 0.1 * self.options.tolerance * velocity_size(whole))
        r, claims, steps = sweeps.r, set(), 0
        parts = natural_map(whole, r, sweeps.rho), whole.q
        missed, sizes = (np.bincount(groups.number, (rows_of(x) ** 2).sum(axis=1), groups.count) for x in parts)
        try:
            for group in np.flatnonzero(~(missed <= self.options.enough**2 * sizes)).tolist():
                at = groups.members(group)
                rows = (ROWS * at[:, None] + np.arange(ROWS)).ravel()
                few = len(rows) <= FOLLOWED_ROWS
                part = groups.operator(at) if few else as_blocks(W.tocsr()[rows][:, rows])
                self.setup(ConeComplementarity(part, whole.q[rows], whole.mu[at]))
                found = self.solve((r[rows], None))
                claims.add(found.claim)
                steps += found.iterations
                if found.x is not None:
                    r[rows] = found.x
        finally:
            self.setup(whole)
        return RawSolution(r, None, Status.SOLVED, steps) if claims <= {Status.SOLVED} else None

    def _quickly(self, given: Vector | None) -> RawSolution | None:
        """Try Newton's method from the start, then after each round of sweeps, then from r = 0; None if all fail."""
        found = None if given is None else self._followed(given)
        if found is not None:
            return found
        sweeps = Sweeps(self.program)
        if given is not None:
            sweeps.r[:] = given
        before = np.inf
        for doubled in range(DOUBLED if self.options.enough else 1):
            old = sweeps.r.copy()
            sweeps.run(FIRST << doubled, 0.1 * self.options.tolerance * velocity_size(self.program))
            now = residual(self.program, sweeps.r)
            if now <= self.options.enough:
                return RawSolution(sweeps.r, None, Status.SOLVED)
            if (found := self._followed(sweeps.r)) is not None:
                return found
            if now > 0.5 * before:
                # Impulses of redundant contacts may drift without effect until a contact slips: jump to that point.
                drift = sweeps.r - old
                far = way_inside(self.program.mu, sweeps.r, drift)
                if 1.0 < far < np.inf:
                    sweeps.r += far * drift
            before = now
        return self._followed(np.zeros(self.program.n))

    def _followed(self, r: Vector) -> RawSolution | None:
        """Return the solution that Newton or proximal steps from r find; None if they fail, or for too many forces."""
        if not self.options.followed or self.program.n > FOLLOWED_ROWS or self.program.sparse:
            return None
        ways = self._continued, self._shared
        # Redundant contacts stay redundant for many steps, and Newton's method does not converge for them: `memory` is
        # the number of following programs for which proximal steps are tried first.
        for way in ways[::-1] if self.memory else ways:
            if (found := way(r)) is not None:
                self.succeeded(BY_PROXIMAL if way == self._shared else BY_NEWTON)
                return found
        return None

    def _continued(self, r: Vector) -> RawSolution | None:
        """Return the solution that Newton's method reaches from r, or None."""
        tolerance, most = self.options.tolerance, ROWS * self.options.followed
        found, count = continued(self.program, r, tolerance, SETTLED * tolerance, most)
        return None if count is None else RawSolution(found, None, Status.SOLVED, count)

    def _shared(self, r: Vector) -> RawSolution | None:
        """Return r if it is at rounding level, or what proximal steps find; None if that exceeds `enough`."""
        tolerance, enough, most = self.options.tolerance, self.options.enough, ROWS * self.options.followed
        limits = tolerance, SETTLED * tolerance, most, min(STILL_ROUNDED, enough), ROUNDED
        found, least = proximal_impulses(self.program, r, *limits)
        return RawSolution(found, None, Status.SOLVED) if least <= enough else None

    def _starts(self, given: Vector | None) -> Iterator[Vector]:
        """Yield starting points for Newton's method, each computed only when it is requested."""
        problem, options = self.program, self.options
        sweeps = Sweeps(problem)
        if given is not None:
            sweeps.r[:] = given
        # One cone program solves a pile at rest, in less time than many sweeps or a few Newton steps.
        # For a pile that slides apart the program is useless, but no criterion is known that predicts the case.
        slow = problem.k > MANY and self._is_slow(sweeps)
        found = fixed_point(problem, 1) if slow else None
        near = np.inf if found is None else residual(problem, found)
        if found is not None and near <= NEAR:
            yield found
        swept = self._sweep(sweeps)
        if found is not None and NEAR < near < swept:
            yield found
        if problem.k > VERY_MANY and swept <= DAMPED_NEAR:
            yield damped_sweeps(problem, sweeps.r, DAMPED, options.tolerance)
        else:
            yield sweeps.r.copy()
        if problem.k <= MANY:
            for count in (options.programs, 1):
                found = fixed_point(problem, count)
                if found is not None:
                    yield found
            sweeps.run(10 * options.sweeps, 0.1 * options.tolerance * velocity_size(problem))
            yield sweeps.r.copy()
            yield np.zeros(problem.n)
            yield from self._strained(sweeps.r)
        elif problem.k <= MOST_SPLIT:
            yield from self._split()

    def _strained(self, r: Vector) -> Iterator[Vector]:
        """Yield impulses in which redundant contacts press or pull each other up to their friction.

        If q asks them for velocities that a rigid body does not allow, one of them slips, however slightly they differ.
        """
        q = self.program.q
        values, ways = np.linalg.eigh(dense(self.program).W)
        null = ways[:, values <= REDUNDANT_ROWS * values[-1]]
        strain, most, random = null @ (null.T @ q), float(np.abs(r).max()), np.random.default_rng(self.options.seed)
        if (size := float(np.abs(strain).max())) > 0.0:
            for i in range(STRAINED):
                other = null @ (null.T @ random.normal(size=len(q)))
                way = strain / size + (i > 1) * other / float(np.abs(other).max())
                yield project(r - (3.0 if i % 2 else 1.0) * most * way, self.program.mu)

    def _split(self) -> Iterator[Vector]:
        """Yield the results of alternating directions, refined by Newton's method and then by proximal problems."""
        problem, tolerance = self.program, self.options.tolerance
        for rho, count in SPLIT:
            options = ADMMOptions(count, max(tolerance, ROUNDED), rho, balanced=False)
            r, _ = newton(problem, directions(problem, np.zeros(problem.n), options)[0], SPLIT_NEWTON, tolerance)
            yield proximal(problem, r, PROBLEMS, tolerance, CLOSE)[0]

    def _is_slow(self, sweeps: Sweeps) -> bool:
        """Return whether the first sweeps neither come near a solution nor halve the natural map."""
        errors = []
        for _ in range(2):
            sweeps.run(FIRST, 0.1 * self.options.tolerance * velocity_size(self.program))
            errors.append(residual(self.program, sweeps.r))
        return errors[1] > max(NEAR, 0.5 * errors[0])

    def _sweep(self, sweeps: Sweeps) -> float:
        """Sweep as long as the last WITHIN rounds have halved the natural map; return the natural map."""
        tolerance, size = self.options.tolerance, velocity_size(self.program)
        seen = [np.inf] * WITHIN
        for _ in range(ROUNDS):
            sweeps.run(self.options.sweeps, 0.1 * tolerance * size)
            seen.append(residual(self.program, sweeps.r))
            if seen[-1] <= tolerance or not seen[-1] < 0.5 * seen[-1 - WITHIN]:
                break
        return seen[-1]

    def _search(self, first: Vector) -> tuple[Vector, ...]:
        """Search for solutions with other velocities; return the impulses of all, or () if only one is found."""
        problem = self.program
        if monotonicity(problem) > 0:
            return ()
        size = velocity_size(problem)
        random, sweeps = np.random.default_rng(self.options.seed), Sweeps(problem)
        rho = np.repeat(sweeps.rho, ROWS)
        found = [first]
        for i in range(self.options.starts):
            # The first two starts are wedged states, which sweeps from r = 0 do not reach; the others are random.
            start = random.normal(size=problem.n) if i > 1 else np.tile([1.0, 0.0, 0.0], problem.k)
            r = project(10.0 ** (i % 3) * size * rho * start, problem.mu)
            if i % 2:
                sweeps.r[:] = r
                sweeps.run(self.options.sweeps)
                r = sweeps.r.copy()
            r, _ = newton(problem, r, 40, self.options.tolerance)
            if residual(problem, r) > 10.0 * self.options.tolerance:
                continue
            if all(np.linalg.norm(problem.W @ (r - other)) > APART * size for other in found):
                found.append(r)
        return tuple(found) if len(found) > 1 else ()


solver = Hybrid
