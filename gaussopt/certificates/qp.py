"""The distance of a point, from any source, to the minimiser of a convex quadratic program.

With duals y (estimated if none are given) and a feasible point x_f near x,

    1/2 ||x_f - x*||_P^2 <= gap = 1/2 x_f^T P x_f + q^T x_f - D(y),

so ||x - x*||_P <= ||x - x_f||_P + sqrt(2 gap). If P is singular, P x* is still the same for all minimisers, and
||.||_P measures the distance along directions with curvature; along flat directions the gap bounds f(x_f) - f*.

Every residual is judged in its own unit, so that neither units nor a single large coefficient influence the verdict:

- a row: relative to its bound plus its terms |A| |x|, but at least to the rounding errors of |A| X, where
  X_j = (|P| |x| + |q|)_j / P_jj is how far forces could move coordinate j; relative to |A| X if the bound is zero;
- a coordinate: its stationarity residual relative to its forces |P| |x| + |q| + |A^T| |y|;
- a dual y_i times the slack of its bound: relative to max(|y_i|, `Sizes.pull`) times the size of the row;
- the distance in the norm of P: relative to ||x||_P, or to X coordinate by coordinate;
- the gap: relative to the terms of the objective at the point, without those that are equal at all feasible points,
  and with weight `CANCELLED` relative to the value of the objective, where these terms cancel.

Sizes are not computed from the candidate x itself but from the point that P x and the bounds of active rows determine,
and components of y that cancel between equal rows do not count. So a candidate cannot enlarge its own tolerance by
diverging in directions without curvature. All sizes are in the units of `qp_scaling`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.certificates.qp_base import JudgedPoint
from gaussopt.certificates.qp_point import CandidatePoint
from gaussopt.certificates.qp_scaling import Scaled
from gaussopt.certificates.qp_sparse import SparsePoint, classify_sparse, dense_if_small
from gaussopt.certificates.qp_verdict import classify
from gaussopt.core.acceptance import LARGEST, Measures, ProgramCertificate
from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP
from gaussopt.core.status import Status
from gaussopt.core.tolerances import DEFAULT_TOLERANCE, finite_entries
from gaussopt.linalg.dense import largest, largest_ratio, ratio

DOUBT = 1e-3
"""A point with a larger relative residual fails at any sensible tolerance, whether or not a minimiser exists."""

SMALL = 1e-9
"""The benchmark qpbenchmark rates an answer as highly accurate if its absolute residuals are at most this."""

NOT_PROVED = "not proved: no distance to a minimiser follows; the loss of the objective is at most objective_gap"

IN_CURVED_DIRECTIONS = (
    "P is singular: error_bound is the distance to the nearest minimiser in the norm of P, which does not see the "
    "directions without curvature; what they lose of the objective is at most objective_gap"
)


@dataclass(frozen=True, slots=True)
class QPCertificate(ProgramCertificate):
    """Proved errors of a point of a QP.

    Attributes
    ----------
    verdict : verdict on the program itself: solved (a minimiser exists), infeasible or unbounded
    primal_residual : largest violation of l <= A x <= u
    dual_residual : largest entry of P x + q - A^T y by absolute value
    complementarity : sum over rows of |y_i| times the distance to the bound selected by the sign of y_i
    error_bound : bound on ||x - x*||_P; infinite if P is zero or no bound was found
    norm_x : ||x||_P
    relative_residual : the largest of the residuals, each relative to the size of its own terms
    y : (m,), the duals used
    scale : the size relative to which the error bound is judged, in the same unit
    objective_gap : float
        Bound on f(x) - f*, in the unit of the objective; for singular P, f* is the least value at feasible points that
        are no further away in flat directions than the size of x. Infinite if unknown.
    definite : whether P is positive definite, so that ||.||_P is a norm in all directions
    duality_gap : float
        |x^T P x + q^T x - y^T b|, where b_i is the bound selected by the sign of y_i; the third absolute residual of
        qpbenchmark, besides the primal and the dual residual.
    """

    verdict: Status
    primal_residual: float
    dual_residual: float
    complementarity: float
    error_bound: float
    norm_x: float
    relative_residual: float
    y: Vector
    scale: float = 0.0
    objective_gap: float = math.inf
    definite: bool = True
    duality_gap: float = math.inf

    @property
    def small(self) -> bool:
        """Whether the three absolute residuals are at most SMALL, in the units of the program as given."""
        return max(self.primal_residual, self.dual_residual, self.duality_gap) <= SMALL

    @property
    def relative_error(self) -> float:
        """The error bound relative to its scale; infinite if no bound is known."""
        if not math.isfinite(self.error_bound):
            return math.inf
        return ratio(self.error_bound, self.scale)

    @property
    def measures(self) -> Measures:
        """The relative residual and error, or the residual alone if no distance is proved."""
        error = self.relative_error if math.isfinite(self.error_bound) else 0.0
        return Measures(self.verdict is Status.SOLVED, self.relative_residual, error)

    def failure(self, tolerance: float) -> str:
        """Return a sentence that says why the certificate does not pass."""
        distance = f"error bound {self.error_bound:.3g}, relative {self.relative_error:.3g}"
        if not math.isfinite(self.error_bound):
            distance = f"no distance proved, loss of the objective at most {self.objective_gap:.3g}"
        return (
            f"The certificate fails: relative residual {self.relative_residual:.3g}, {distance}; the tolerance is "
            f"{tolerance:.3g}."
        )

    def to_mapping(self) -> dict[str, Any]:
        """Return the certificate for JSON."""
        numbers = finite_entries(
            self, "error_bound", "relative_error", "primal_residual", "dual_residual", "complementarity",
            "relative_residual", "objective_gap", "duality_gap",
        )  # fmt: skip
        told: dict[str, Any] = {**numbers, "verdict": str(self.verdict)}
        if math.isfinite(self.relative_residual) and not math.isfinite(self.error_bound):
            told["distance"] = NOT_PROVED
        elif math.isfinite(self.relative_residual) and not self.definite:
            told["distance"] = IN_CURVED_DIRECTIONS
        return told


def certify_qp(
    qp: QP, x: Vector | None, y: Vector | None = None, tolerance: float = DEFAULT_TOLERANCE
) -> QPCertificate:
    """Certify a point with the given duals, or with the best duals that are found.

    Parameters
    ----------
    qp : QP
    x : (n,) or None; if None, only the verdict on the program is computed
    y : (m,) or None, duals with P x + q = A^T y, positive at lower bounds

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> qp = go.QP(P=one, q=np.zeros(1), A=one, l=np.array([3.0]), u=np.array([np.inf]))
    >>> right, wrong = (go.certify_qp(qp, np.array([x])).error_bound for x in (3.0, 2.9))
    >>> right < 1e-12, wrong > 0.1
    (True, True)
    """
    if x is None or not np.isfinite(x).all():
        inf = math.inf
        return QPCertificate(
            verdict=classify_qp(qp), primal_residual=inf, dual_residual=inf, complementarity=inf, error_bound=inf,
            norm_x=0.0, relative_residual=inf, y=np.zeros(qp.m),
        )  # fmt: skip
    given = y is not None and bool(np.isfinite(y).all())
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        qp = dense_if_small(qp)
        if qp.sparse:
            far = SparsePoint(qp, x, y if given else None)
            return _judge(far, far.y)
        scaled = Scaled.of(qp)
        point = CandidatePoint(scaled, x / scaled.d)
        if given:
            return _judge(point, np.asarray(y) / scaled.row)
        found = []
        for duals in point.duals(tolerance):
            found.append(_judge(point, duals))
            if found[-1].passed(tolerance):
                return found[-1]
        return min(found, key=lambda certificate: certificate.relative_residual)


def _judge(point: JudgedPoint, y: Vector) -> QPCertificate:
    """Return the certificate of a point with given duals."""
    qp, given = point.qp, y * point.row
    y = point.admitted(y)
    force = qp.A.T @ y
    r = qp.P @ point.x + qp.q - force
    named = np.where(y > 0, qp.l, np.where(y < 0, qp.u, point.z))
    slack = np.abs(point.z - named)
    beyond = np.maximum(qp.l - point.z, point.z - qp.u)
    violation = np.maximum(beyond, 0.0)
    # Rounding errors of A x may hide a violation: far along a flat direction these errors are larger than the data.
    possible = np.maximum(beyond + point.noise_z, 0.0)
    nearest = np.where(qp.l - point.z > point.z - qp.u, qp.l, qp.u)
    sizes, noise = point.sizes(y, force), point.noise(y)
    named_sizes, pulled = sizes.row(named), float(np.abs(y) @ slack)
    worst = max(
        largest_ratio(possible, point.row_sizes(y, sizes, nearest, possible)),
        largest_ratio(np.abs(r) + np.where(r != 0, noise, 0.0), sizes.force),
        largest_ratio(np.abs(y) * slack, np.maximum(np.abs(y), sizes.pull) * named_sizes),
    )
    sloped, flat = point.lengths(r, noise, sizes)
    gap = 0.5 * sloped * sloped + pulled + flat
    losses = point.losses(gap, sloped, y, slack, sizes)
    worst = LARGEST if losses is None else max(worst, *losses)
    bound, scale = point.distance(y, sizes, noise, slack / named_sizes)
    verdict = point.verdict(y, sizes, violation, nearest) if worst <= DOUBT else point.assumed
    worst = LARGEST if worst > LARGEST else worst
    return QPCertificate(
        verdict=verdict,
        primal_residual=largest(violation / point.row),
        dual_residual=largest(np.abs(r) / point.d),
        complementarity=pulled,
        error_bound=bound,
        norm_x=point.norm,
        relative_residual=worst if not math.isnan(worst) else math.inf,
        y=given,
        scale=scale,
        objective_gap=gap if math.isfinite(gap) else math.inf,
        definite=point.definite,
        duality_gap=_duality_gap(qp, point.x, y),
    )


def _duality_gap(qp: QP, x: Vector, y: Vector) -> float:
    push = y != 0
    pulled = np.where(y > 0, qp.l, qp.u)[push] @ y[push]
    return abs(float(x @ (qp.P @ x) + qp.q @ x - pulled))


def classify_qp(qp: QP) -> Status:
    """Return solved, infeasible or unbounded, as found by `qp_verdict`, or by `qp_sparse` for large sparse programs."""
    qp = dense_if_small(qp)
    return classify_sparse(qp) if qp.sparse else classify(qp)
