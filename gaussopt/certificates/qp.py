"""How far a point is from the minimiser of a convex quadratic program, whoever computed it.

With duals y (estimated if none are given) and a feasible point x_f near x,

    1/2 ||x_f - x*||_P^2 <= gap = 1/2 x_f^T P x_f + q^T x_f - D(y),

so ||x - x*||_P <= ||x - x_f||_P + sqrt(2 gap). Where P is singular, P x* is still the same for all minimisers, and the
distance in ||.||_P is that of the directions with curvature; of those without, the gap bounds what they lose.

Every residual is judged in its own unit, so that neither units nor one large coefficient decide:

- a row by its bound and its terms |A| |x|; a row whose bound is zero, whose terms may all vanish, by what the forces
  on its coordinates could move them, X_j = (|P| |x| + |q|)_j / P_jj; a tiny bound also by the rounding of that;
- a coordinate by its forces, |P| |x| + |q| + |A^T| |y|;
- a dual and the distance to the bound that it names, by the largest force on the row's coordinates and the row;
- the distance in the norm of P by ||x||_P, or coordinate by coordinate by X;
- the gap by the terms of the objective at the point, without those that are the same at all feasible points, and by a
  thousandth of the least value, forces times bounds, where these terms cancel.

The x that sizes are taken from is not the candidate's own: it is placed where P x and the bounds of the rows that push
put it, and parts of y that are opposite forces on equal rows do not count. So a candidate cannot widen its own
tolerance by running away where the objective has no curvature. All of it is done in units of `qp_scaling`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.certificates.qp_distance import error_bound, pushing, violation_bound
from gaussopt.certificates.qp_point import CandidatePoint, Sizes
from gaussopt.certificates.qp_scaling import Scaled
from gaussopt.certificates.qp_sparse import classify_sparse, dense_if_small, felt, nearest_minimiser, placed, room
from gaussopt.certificates.qp_verdict import classify, largest_bound, meeting, rounding
from gaussopt.core.acceptance import Measures, ProgramCertificate
from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP
from gaussopt.core.status import Status
from gaussopt.core.tolerances import DEFAULT_TOLERANCE, finite_entries
from gaussopt.linalg.dense import EPS, largest, largest_ratio, mass_scale, ratio
from gaussopt.linalg.sparse_saddle_point import equilibrate_sparse

DOUBT = 1e-3
"""Relative residual above which a point fails at any sensible tolerance, whatever the program."""

SMALL = 1e-9
"""Absolute residuals up to which nothing is held against an answer; what qpbenchmark calls high accuracy."""

CANCELLED = 1e-4
"""How much more a loss may be of the least value than of its terms, which may cancel; never more than the value."""

LARGEST = 1e300
"""Stands for a residual of something that has no size at all; finite, so that it can be recorded."""

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
    verdict : of the program itself: solved (a minimiser exists), infeasible or unbounded
    primal_residual : largest violation of l <= A x <= u
    dual_residual : largest entry of P x + q - A^T y
    complementarity : sum over rows of |y_i| times the distance to the bound that y_i names
    error_bound : on ||x - x*||_P; infinite if P is zero or no bound was found
    norm_x : ||x||_P
    relative_residual : the largest of the residuals, each relative to the size of its own terms
    y : (m,), the duals used
    scale : what the error bound is judged by, in its unit
    objective_gap : float
        On f(x) - f*, in the unit of the objective; for singular P among the feasible points whose part in flat
        directions is no further away than the terms of x are large. Infinite if not known.
    definite : whether P is positive definite, so that ||.||_P sees all directions
    duality_gap : float
        |x^T P x + q^T x - y^T b|, b_i being the bound that y_i names. With the primal and dual residual these are the
        three absolute residuals of qpbenchmark.
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
        """Whether the three absolute residuals are at most SMALL, in whatever units the program is written."""
        return max(self.primal_residual, self.dual_residual, self.duality_gap) <= SMALL

    @property
    def relative_error(self) -> float:
        """The error bound relative to its scale; infinite if there is none."""
        if not math.isfinite(self.error_bound):
            return math.inf
        return ratio(self.error_bound, self.scale)

    @property
    def measures(self) -> Measures:
        """Residual and error relative to their own terms; the residual alone where no distance is proved."""
        error = self.relative_error if math.isfinite(self.error_bound) else 0.0
        return Measures(self.verdict is Status.SOLVED, self.relative_residual, error)

    def failure(self, tolerance: float) -> str:
        """Why the point does not pass."""
        distance = f"error bound {self.error_bound:.3g}, relative {self.relative_error:.3g}"
        if not math.isfinite(self.error_bound):
            distance = f"no distance proved, loss of the objective at most {self.objective_gap:.3g}"
        return (
            f"The certificate fails: relative residual {self.relative_residual:.3g}, {distance}; the tolerance is "
            f"{tolerance:.3g}."
        )

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
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
    """Certify a point, with the duals given or the best ones found.

    Parameters
    ----------
    qp : QP
    x : (n,) or None, which only classifies the program
    y : (m,) or None, duals with P x + q = A^T y, positive on lower bounds

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> qp = go.QP(P=one, q=np.zeros(1), A=one, l=np.array([3.0]), u=np.array([np.inf]))
    >>> go.certify_qp(qp, np.array([3.0])).error_bound < 1e-12, go.certify_qp(qp, np.array([2.9])).error_bound > 0.1
    (True, True)
    """
    if x is None or not np.isfinite(x).all():
        inf = math.inf
        return QPCertificate(
            verdict=classify_qp(qp),
            primal_residual=inf,
            dual_residual=inf,
            complementarity=inf,
            error_bound=inf,
            norm_x=0.0,
            relative_residual=inf,
            y=np.zeros(qp.m),
        )
    given = y is not None and bool(np.isfinite(y).all())
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        qp = dense_if_small(qp)
        if qp.sparse:
            return _certify_sparse(qp, x, y if given else None)
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


def _judge(point: CandidatePoint, y: Vector) -> QPCertificate:
    """The certificate of a point with given duals."""
    qp, d, row = point.qp, point.scaled.d, point.scaled.row
    given = y * row
    # A dual that pulls towards a bound which does not exist is a dual residual, not a force; one of a row of
    # zeros is nothing.
    y = np.where((y > 0) & ~np.isfinite(qp.l), 0.0, np.where((y < 0) & ~np.isfinite(qp.u), 0.0, y))
    y = np.where(qp.A.any(axis=1), y, 0.0)
    force = qp.A.T @ y
    r = qp.P @ point.x + qp.q - force
    named = np.where(y > 0, qp.l, np.where(y < 0, qp.u, point.z))
    slack = np.abs(point.z - named)
    violation = np.maximum(np.maximum(qp.l - point.z, point.z - qp.u), 0.0)
    # Rounding may hide a violation: of a point far along a flat direction it exceeds what the data call for.
    possible = np.maximum(np.maximum(qp.l - point.z, point.z - qp.u) + point.noise_z, 0.0)
    sizes = point.sizes(y, force)
    noise_r = (
        (qp.n + qp.m + 3) * EPS * (point.absolute_P @ np.abs(point.x) + np.abs(qp.q) + point.absolute_A.T @ np.abs(y))
    )
    nearest = np.where(qp.l - point.z > point.z - qp.u, qp.l, qp.u)
    row_sizes = sizes.row(nearest)
    beside_terms = (nearest != 0) & (possible > DEFAULT_TOLERANCE * np.abs(nearest))
    if point.curvature.L is None and beside_terms.any():
        ties = point.ties(y)
        for i in np.flatnonzero(beside_terms).tolist():
            row_sizes[i] = min(row_sizes[i], max(point.least_size(i, nearest[i], *ties), sizes.rounding(i)))
    worst = max(
        largest_ratio(possible, row_sizes),
        largest_ratio(np.abs(r) + np.where(r != 0, noise_r, 0.0), sizes.force),
        largest_ratio(np.abs(y) * slack, np.maximum(np.abs(y), sizes.pull) * sizes.row(named)),
    )
    # The duals of equalities that fix a coordinate may be chosen so that nothing is left of its residual.
    free, noise = np.where(point.fixed, 0.0, r), np.where(point.fixed, 0.0, noise_r)
    sloped, flat = point.curvature.lengths(free, noise, sizes.reach)
    pulled = float(np.abs(y) @ slack)
    gap = 0.5 * sloped * sloped + pulled + flat
    stake, wide, least = point.stake(y, sizes)
    lost = gap - float(np.abs(y) @ np.where(point.losing, 0.0, slack))
    worst = max(worst, ratio(lost, stake), ratio(sloped, math.sqrt(2.0 * wide)), CANCELLED * ratio(lost, least))
    if not lost <= least < math.inf:  # squares beyond the range of numbers measure nothing
        worst = LARGEST
    bound, scale = _distance(point, y, sizes, noise_r, slack / sizes.row(named))
    verdict = Status.SOLVED
    if worst <= DOUBT and _doubtful(point, violation, sizes, y):
        verdict = classify(qp)
    worst = LARGEST if worst > LARGEST else worst
    return QPCertificate(
        verdict=verdict,
        primal_residual=largest(violation / row),
        dual_residual=largest(np.abs(qp.P @ point.x + qp.q - force) / d),
        complementarity=pulled,
        error_bound=bound,
        norm_x=math.sqrt(max(float(point.x @ qp.P @ point.x), 0.0)),
        relative_residual=worst if not math.isnan(worst) else math.inf,
        y=given,
        scale=scale,
        objective_gap=gap if math.isfinite(gap) else math.inf,
        definite=point.curvature.L is not None,
        duality_gap=_duality_gap(qp, point.x, y),
    )


def _duality_gap(qp: QP, x: Vector, y: Vector) -> float:
    push = y != 0
    pulled = np.where(y > 0, qp.l, qp.u)[push] @ y[push]
    return abs(float(x @ (qp.P @ x) + qp.q @ x - pulled))


def _distance(point: CandidatePoint, y: Vector, sizes: Sizes, noise: Vector, slack: Vector) -> tuple[float, float]:
    """A bound on ||x - x*||_P and what it is judged by; slack is relative to the rows."""
    qp, curvature = point.qp, point.curvature
    if curvature.L is not None:
        held = pushing(qp, curvature, point.x, y)
    else:  # rows that hold flat directions have no unit in the norm of P
        held = qp.equality | (np.abs(y) > np.nan_to_num(slack, nan=0.0) * sizes.pull)
    bound = error_bound(qp, curvature, point.x, y, noise, held)
    if curvature.L is None:  # rounding that it takes for met and balanced, in the norm of P
        bound += point.level * math.sqrt(float(np.abs(sizes.x) @ (point.absolute_P @ np.abs(sizes.x))))
    size = math.sqrt(max(float(sizes.x @ qp.P @ sizes.x), 0.0))
    if bound > point.level * size:
        bound = min(bound, point.polished(held, y < 0))
    roots, curved = np.sqrt(qp.P.diagonal()) * sizes.reach, curvature.room > 0
    own = float((sizes.reach[curved] / curvature.room[curved]).min(initial=math.inf)) if curved.any() else 0.0
    return bound, max(size, own, point.share * float(np.linalg.norm(roots)), sizes.blur / DEFAULT_TOLERANCE)


def _doubtful(point: CandidatePoint, violation: Vector, sizes: Sizes, y: Vector) -> bool:
    """Whether residuals below the tolerance may hide that the program has no minimiser."""
    qp = point.qp
    bound = np.abs(violation_bound(qp, point.z))
    # Rounding of A x excuses no more than rounding of the bounds: contradictions are measured by these alone.
    noise = np.minimum(point.noise_z, point.level * largest_bound(qp.l, qp.u))
    if (violation > point.level * bound + noise).any() and meeting(qp.A, qp.l, qp.u, point.x) is None:
        return True
    Z = point.curvature.Z
    slope = np.abs(Z.T @ (qp.q - qp.A.T @ y))
    return bool((slope > point.level * (np.abs(Z).T @ (np.abs(qp.q) + point.absolute_A.T @ np.abs(sizes.y)))).any())


def _certify_sparse(qp: QP, x: Vector, y: Vector | None) -> QPCertificate:
    """The certificate of a sparse program."""
    verdict, known, best, minimiser = nearest_minimiser(qp, x, y)
    y = best if y is None else y
    y = np.where((y > 0) & ~np.isfinite(qp.l), 0.0, np.where((y < 0) & ~np.isfinite(qp.u), 0.0, y))
    z, force, gradient = qp.A @ x, qp.A.T @ y, qp.P @ x + qp.q
    d, _ = equilibrate_sparse(qp.P, qp.A, mass_scale(qp.P))  # type: ignore[arg-type]
    if minimiser is not None:
        place = np.minimum(np.abs(x), np.abs(minimiser)) * np.sign(x)
    else:
        place = x if math.isfinite(known) else placed(qp, x, y, d)
    absolute_A = abs(qp.A)
    total = abs(qp.P) @ np.abs(place) + np.abs(qp.q) + absolute_A.T @ np.abs(y)
    diagonal = qp.P.diagonal()
    reach = np.maximum(np.abs(place), np.where(diagonal > 0, total / np.where(diagonal > 0, diagonal, 1.0), room(qp)))
    if not qp.q.any() and not qp.l.any():
        reach = np.maximum(reach, 1.0)
    share = rounding(8) / DEFAULT_TOLERANCE
    reach = np.maximum(reach, share * largest(reach / d) * d)
    terms, wide = absolute_A @ np.abs(place), absolute_A @ reach
    beyond = np.maximum(qp.l - z, z - qp.u)
    violation, r = np.maximum(beyond, 0.0), np.abs(gradient - force)
    nearest = np.where(qp.l - z > z - qp.u, qp.l, qp.u)
    possible = np.maximum(beyond + 4 * EPS * (absolute_A @ np.abs(x)), 0.0)
    roots = np.sqrt(np.maximum(diagonal, 0.0)) * reach
    total = np.maximum(total, diagonal * reach)
    total = np.maximum(total, share * largest(total * d) / d)
    named = np.where(y > 0, qp.l, np.where(y < 0, qp.u, z))
    slack = np.abs(z - named)
    sizes = [np.where(b != 0, np.abs(b) + terms, wide) for b in (nearest, named)]
    pulled = float(np.abs(y) @ slack)
    gap = pulled + (0.5 * known * known if (diagonal > 0).all() and math.isfinite(known) else float(r @ reach))
    energy = 0.5 * float(place @ (qp.P @ place))
    whole = energy + float(np.abs(qp.q) @ reach)  # of a constant objective its own unit
    stake = max(energy + float(np.abs(qp.q) @ np.abs(place)), share * (whole or 1.0))
    least = max(energy + float(np.abs(y) @ np.abs(named)), share * stake)
    worst = max(
        largest_ratio(possible, sizes[0]), largest_ratio(r, total),
        largest_ratio(np.abs(y) * slack, np.maximum(np.abs(y), felt(qp.A, total)) * sizes[1]),
        ratio(gap, stake), CANCELLED * ratio(gap, least),
    )  # fmt: skip
    norm_x = math.sqrt(max(float(x @ (qp.P @ x)), 0.0))
    hidden = (violation > rounding(qp.n) * np.abs(nearest)).any()
    if worst <= DOUBT and hidden and not qp.equalities_only:  # residuals below the tolerance may hide a contradiction
        verdict = classify_sparse(qp)
    return QPCertificate(
        verdict=verdict, primal_residual=largest(violation), dual_residual=largest(r), complementarity=pulled,
        error_bound=known, norm_x=norm_x, relative_residual=min(worst, LARGEST), y=y,
        scale=max(norm_x, float(np.linalg.norm(roots))), objective_gap=gap, duality_gap=_duality_gap(qp, x, y),
    )  # fmt: skip


def classify_qp(qp: QP) -> Status:
    """Whether a minimiser exists, see `qp_verdict`; of a large sparse program as far as `qp_sparse` proves it."""
    qp = dense_if_small(qp)
    return classify_sparse(qp) if qp.sparse else classify(qp)
