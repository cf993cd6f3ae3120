"""Residuals of the optimality conditions of a program at a point, whatever the program is for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gaussopt.certificates.cone import violations
from gaussopt.certificates.cone_program import natural_map
from gaussopt.certificates.qp import certify_qp
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.programs import LCP, QP, LeastSquares, LinearSystem, Program, as_qp
from gaussopt.linalg.dense import EPS


class Residuals(NamedTuple):
    """Residuals relative to 1 + the size of their terms; infinite where there is no point.

    primal : violation of the constraints; of an LCP the negative parts of z and w
    dual : stationarity; 0 for an LCP
    gap : complementarity; of an LCP min(z, w)
    """

    primal: float = np.inf
    dual: float = np.inf
    gap: float = np.inf


def residuals(program: Program, x: Vector | None, y: Vector | None) -> Residuals:
    """Residuals of a point x with duals y (gaussopt's sign; estimated if absent)."""
    if x is None or x.shape != (program.n,) or not np.isfinite(x).all():
        return Residuals()
    if isinstance(program, LCP):
        return _of_lcp(program, x)
    if isinstance(program, ConeComplementarity):
        return _of_cones(program, x)
    if isinstance(program, ConeProgram):
        return Residuals(0.0, natural_map(program, x), 0.0)
    if isinstance(program, LinearSystem):
        size = np.abs(program.K) @ np.abs(x) + np.abs(program.b)
        return Residuals(_relative(program.K @ x - program.b, size), 0.0, 0.0)
    if isinstance(program, LeastSquares) and not program.minimum_norm:
        misfit = program.A @ x - program.b
        size = np.abs(program.A.T) @ (np.abs(program.A) @ np.abs(x) + np.abs(program.b))
        return Residuals(0.0, _relative(program.A.T @ misfit, size), 0.0)
    return _of_qp(as_qp(program), x, y if isinstance(program, QP) else None)


def _of_qp(qp: QP, x: Vector, y: Vector | None) -> Residuals:
    c = certify_qp(qp, x, y)
    size_p = max(_largest(qp.A @ x), _largest(qp.l[np.isfinite(qp.l)]), _largest(qp.u[np.isfinite(qp.u)]))
    size_d = max(_largest(qp.P @ x), _largest(qp.q), _largest(qp.A.T @ c.y))
    size_c = abs(qp.objective(x)) + float(np.abs(qp.q) @ np.abs(x))
    return Residuals(
        c.primal_residual / (1.0 + size_p), c.dual_residual / (1.0 + size_d), c.complementarity / (1.0 + size_c)
    )  # fmt: skip


def _of_lcp(lcp: LCP, z: Vector) -> Residuals:
    w = lcp.w(z)
    size_w = 1.0 + _largest(np.abs(lcp.M) @ np.abs(z) + np.abs(lcp.q))
    size_z = 1.0 + _largest(z)
    below = max(_largest(np.minimum(z, 0.0)) / size_z, _largest(np.minimum(w, 0.0)) / size_w)
    return Residuals(below if below > EPS else 0.0, 0.0, _largest(np.minimum(z / size_z, w / size_w)))


def _of_cones(problem: ConeComplementarity, r: Vector) -> Residuals:
    """`primal` is r in the cones, `dual` the shifted velocities in theirs."""
    return Residuals(*violations(problem, r))


def _largest(values: Vector) -> float:
    return float(np.abs(values).max(initial=0.0))


def _relative(residual: Vector, size: Vector) -> float:
    return _largest(residual) / (1.0 + _largest(size))
