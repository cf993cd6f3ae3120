"""Strong monotonicity of contacts with friction cones: existence and uniqueness of velocities and impulses at once.

With r^ = r / s, u^ = s u, s_i^2 = 3 / tr W_ii, W^ = S W S, the law is strongly monotone for every tau > 0 with

    c = lambda_min( sym W^ - diag_N(tau / 2) - W^_T^T diag(mu^2 / (2 tau)) W^_T ),

because mu |d u_T| |d r_N| <= tau d r_N^2 / 2 + mu^2 |d u_T|^2 / (2 tau). If c > 0, r and u exist and are unique. For
every x of length 1 and all tau, c <= x^T sym W^ x - sum_i mu_i |W^_T,i x| |x_N,i|: if this is < 0, no tau gives c > 0.
"""

from __future__ import annotations

from time import process_time

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.linalg.cones import DENSE_ROWS, dense, scaled
from gaussopt.linalg.dense import EPS

SEARCH = 60
"""Maximum number of steps of the search for tau; a search that ends early still gives a valid modulus."""

FASTER = 0.8
"""The search gives up when c is below a negative bound, which every step multiplies by this factor."""


def monotonicity(problem: ConeComplementarity, seconds: float = np.inf) -> float:
    """Return the largest modulus c found, less its rounding error, so that a positive value is a proof.

    For sparse problems of more than DENSE_ROWS rows, return -inf without a search. The search ends after
    `seconds` of processor time, or when no tau can give a positive modulus, or when c stays far below zero.
    """
    if problem.sparse and problem.n > DENSE_ROWS:
        return -np.inf
    own, _ = scaled(dense(problem))
    n, k = own.n, own.k
    if not k:
        return np.inf
    symmetric = own.symmetric_part
    lowest, x = _lowest(symmetric)
    if lowest <= 1e-13 * n:
        return min(lowest, 0.0)
    T = own.W.reshape(k, ROWS, n)[:, 1:]
    mu = own.mu
    tau = mu * np.linalg.norm(T, axis=(1, 2))
    best, begin = -np.inf, process_time()
    for step in range(SEARCH):
        weight = np.where(tau > 0, mu**2 / (2.0 * np.where(tau > 0, tau, 1.0)), 0.0)
        weighted = (np.sqrt(weight)[:, None, None] * T).reshape(-1, n)
        S = symmetric - weighted.T @ weighted
        S[np.arange(0, n, ROWS), np.arange(0, n, ROWS)] -= 0.5 * tau
        c, x = _lowest(S)
        best = max(best, c - 8.0 * n * EPS * (float(np.abs(S).max()) + 1.0))
        slip, push = np.linalg.norm(T @ x, axis=1), np.abs(x[::ROWS])
        never = x @ symmetric @ x < mu @ (slip * push)
        if never or process_time() - begin > seconds or (step >= 5 and c < -0.5 * FASTER ** (step - 5)):
            break
        wanted = mu * slip / np.maximum(push, 1e-8)
        tau = np.where(
            mu > 0, tau * np.clip(wanted / np.where(tau > 0, tau, 1.0), 0.2, 5.0) ** (1.0 / (1.0 + step)), 0.0
        )
    return best


def _lowest(S: Matrix) -> tuple[float, Vector]:
    values, vectors = np.linalg.eigh(S)
    return float(values[0]), vectors[:, 0]
