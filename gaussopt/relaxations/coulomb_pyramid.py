"""Friction cones approximated by inscribed pyramids, which gives a linear complementarity problem.

    r_T = D beta,    0 <= (r_N, beta, lam)   complementary to   (u_N, D^T u_T + lam, mu r_N - sum beta) >= 0

The columns of D are unit vectors towards the edges of the pyramid, the first along T1. The direction of slip is wrong
by up to half of the angle between two edges, and by more where the slip is nearly unrestricted.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.programs import LCP
from gaussopt.linalg.cones import dense
from gaussopt.relaxations.base import Ask, ContactFormulation


class CoulombPyramid(ContactFormulation):
    """A single linear complementarity problem of k (facets + 2) pairs."""

    name = "coulomb-pyramid"
    title = "Friction pyramids as a linear complementarity problem (turns the slip)"
    source = "Stewart & Trinkle 1996; Anitescu & Potra 1997"
    exact = False

    def __init__(self, facets: int = 8) -> None:
        self.facets = facets

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        problem = dense(problem)
        k, e = problem.k, self.facets
        angle = 2.0 * np.pi * np.arange(e) / e
        D = np.zeros((ROWS * k, k * (e + 1)))
        for i in range(k):
            D[ROWS * i, i] = 1.0
            D[ROWS * i + 1 : ROWS * (i + 1), k + e * i : k + e * (i + 1)] = np.cos(angle), np.sin(angle)
        edges = np.repeat(np.eye(k), e, axis=0)
        n = k * (e + 1)
        M = np.zeros((n + k, n + k))
        M[:n, :n] = D.T @ problem.W @ D
        M[k:n, n:] = edges
        M[n:, :k], M[n:, k:n] = np.diag(problem.mu), -edges.T
        z = ask(LCP(M, np.append(D.T @ problem.q, np.zeros(k))))
        return None if z is None else np.asarray(D @ z[:n])
