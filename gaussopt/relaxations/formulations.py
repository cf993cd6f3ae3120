"""Coulomb's law for contacts in space as programs: exact, convex, with facets, or by iteration."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from gaussopt.cone.pyramids import pyramids
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.cone_program import ConeProgram
from gaussopt.linalg.cones import dense
from gaussopt.relaxations.base import Ask, ContactFormulation, settled


class CoulombSOCCP(ContactFormulation):
    """The contact problem itself, in de Saxce's form, as a single complementarity problem over friction cones."""

    name = "coulomb-soccp"
    title = "Cone complementarity with de Saxce's shift (exact Coulomb)"
    source = "de Saxce & Feng 1998"

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        return ask(problem)


class CoulombCCP(ContactFormulation):
    """A single convex cone program, without de Saxce's shift: u in K* complementary to r in K.

    A sliding contact opens with u_N = mu |u_T| (dilation); sticking and open contacts satisfy Coulomb's law. Only the
    symmetric part of W is used.
    """

    name = "coulomb-ccp"
    title = "Convex cone program without shift (lifts what slides)"
    source = "Anitescu & Tasora 2010"
    exact = False

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        return ask(ConeProgram(problem.symmetric_part, problem.q, problem.mu))


class CoulombPyramid(ContactFormulation):
    """Friction cones approximated by inscribed pyramids: a single linear problem, `gaussopt.cone.pyramids`.

    The direction of slip is wrong by up to half of the angle between two edges, and by more where the slip is nearly
    unrestricted.
    """

    name = "coulomb-pyramid"
    title = "Friction pyramids as a linear complementarity problem (turns the slip)"
    source = "Stewart & Trinkle 1996; Anitescu & Potra 1997"
    exact = False

    def __init__(self, facets: int = 8) -> None:
        self.facets = facets

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        lcp, D = pyramids(dense(problem), self.facets)
        z = ask(lcp)
        return None if z is None else np.asarray(D @ z[: len(D.T)])


class _Frozen(ContactFormulation):
    """A fixed-point iteration of convex programs with a vector, (k,), fixed at its value at the previous solution."""

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        P, frozen, found = problem.symmetric_part, np.zeros(problem.k), None
        for _ in range(self.most_programs):
            r = ask(self.program(problem, P, frozen))
            if r is None:
                return found
            found, old, frozen = r, frozen, self.thawed(problem, r)
            if settled(frozen, old):
                break
        return found

    @abstractmethod
    def program(self, problem: ConeComplementarity, P: Matrix, frozen: Vector) -> ConeProgram:
        """Return the program for the frozen vector; P is the symmetric part of W."""

    @abstractmethod
    def thawed(self, problem: ConeComplementarity, r: Vector) -> Vector:
        """Return the value of the fixed vector, (k,), for the next program, from the impulses r."""


class ACLM(_Frozen):
    """Cone programs with the shift s = mu |u_T| of the previous solution; a fixed point satisfies Coulomb's law.

    Convergence is not guaranteed.
    """

    name = "aclm"
    title = "Cone programs with frozen shift, iterated"
    source = "Acary, Cadoux, Lemarechal & Malick 2011"
    most_programs = 60

    def program(self, problem: ConeComplementarity, P: Matrix, frozen: Vector) -> ConeProgram:
        p = problem.q.copy()
        p[::ROWS] += frozen
        return ConeProgram(P, p, problem.mu)

    def thawed(self, problem: ConeComplementarity, r: Vector) -> Vector:
        slip = problem.u(r).reshape(-1, ROWS)[:, 1:]
        return np.asarray(problem.mu * np.hypot(slip[:, 0], slip[:, 1]))


class Tresca(_Frozen):
    """Programs with Tresca friction, |r_T| <= g, with g = mu r_N of the previous solution.

    Fixed points of g satisfy Coulomb's law.
    """

    name = "tresca"
    title = "Programs with given friction thresholds, iterated"
    source = "Haslinger 1983"
    most_programs = 100

    def program(self, problem: ConeComplementarity, P: Matrix, frozen: Vector) -> ConeProgram:
        return ConeProgram(P, problem.q, problem.mu, frozen)

    def thawed(self, problem: ConeComplementarity, r: Vector) -> Vector:
        return np.asarray(problem.mu * np.maximum(r[::ROWS], 0.0))


class Panagiotopoulos(ContactFormulation):
    """Alternate cone programs: for normal impulses at given friction, then for friction at given normal impulses."""

    name = "panagiotopoulos"
    title = "Normal and friction impulses in turn"
    source = "Panagiotopoulos 1975"
    most_programs = 200

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        problem = dense(problem)
        W, normal = problem.symmetric_part, np.arange(problem.n) % ROWS == 0
        r, nothing = np.zeros(problem.n), np.zeros(problem.k)
        for _ in range(self.most_programs // 2):
            old, pushed = r, np.where(normal, 0.0, r)
            q = np.where(normal, problem.q + problem.W @ pushed, 0.0)
            x = ask(ConeProgram(_block(W, normal), q, problem.mu, nothing))
            if x is None:
                return None
            r = np.where(normal, x, 0.0)
            # Each normal impulse only occurs in the square (r_N - given value)^2, so it keeps its given value.
            q = np.where(normal, -r, problem.q + problem.W @ r)
            x = ask(ConeProgram(_block(W, ~normal), q, problem.mu, problem.mu * np.maximum(r[::ROWS], 0.0)))
            if x is None:
                return None
            r = np.where(normal, r, x)
            if settled(r, old):
                break
        return r


def _block(W: Matrix, free: NDArray[np.bool_]) -> Matrix:
    """Return W with the rows and columns of the fixed impulses replaced by rows and columns of the identity."""
    return np.asarray(np.where(np.logical_and.outer(free, free), W, np.diag(np.where(free, 0.0, 1.0))))
