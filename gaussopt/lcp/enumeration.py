"""All solutions of a small linear complementarity problem.

For every subset S of the pairs let z_i = 0 outside S and w_i = 0 in S. The remaining x (z_i in S, w_i outside) solves

    B_S x = -q,   x >= 0,   column i of B_S is M e_i if i is in S, else -e_i.

If B_S is regular, there is at most one such x; if it is singular, all such x form a polyhedron, perhaps empty, which
`gaussopt.lcp.polyhedra` describes. The solutions of the problem are the union over all S.

Tolerances are relative and independent of the scaling of rows and columns:

- B_S is singular if a relative change of `SINGULAR` in one entry makes it singular; for entry b_ij the smallest such
  change is 1 / |b_ij (B^-1)_ji|.
- x_i counts as zero below `FEASIBLE` f_i (`FLAT` f_i on polyhedra) with f = |B^-1| (|B| |x| + |q|), because relative
  changes of M and q by eps change x_i by up to eps f_i.
- Two accelerations count as equal if they agree to `OBSERVED` times the size of their terms.

References: R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity Problem", SIAM 2009, sections 1.3, 3.1;
F. Bauer, "Optimally scaled matrices", Numer. Math. 5, 1963; R. D. Skeel, "Scaling for numerical stability in Gaussian
elimination", J. ACM 26, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import About, counted, shown
from gaussopt.core.errors import NotAccepted
from gaussopt.core.programs import LCP
from gaussopt.core.status import Status
from gaussopt.lcp.matrix_classes import INVERTED, SINGULAR, equilibrate, subsets
from gaussopt.lcp.polyhedra import CONSISTENT, FEASIBLE, FLAT, OBSERVED, Mask, SolutionPart, distinct, polyhedron
from gaussopt.linalg.dense import EPS

MAX_ENUMERATED = 12
"""Largest n for which all 2^n complementary bases are visited."""


@dataclass(frozen=True, slots=True)
class Face:
    """A continuum of solutions: the convex hull of the vertices plus the cone of the rays.

    Attributes
    ----------
    support : (n,), mask of the z_i that may be positive; outside of it the w_i may be positive
    vertices : (k, n), in z; k >= 1
    rays : (r, n), in z; r = 0 if the set is bounded
    """

    support: Mask
    vertices: Matrix
    rays: Matrix


@shown
@dataclass(frozen=True, slots=True)
class LCPSolutions:
    """All solutions of an LCP, and the values that an observed quantity y = observe z + offset takes on them.

    Attributes
    ----------
    points : (p, n), isolated solutions z
    faces : continua of solutions; they may have common boundaries
    status : Status
        no_solution; solved if y is the same for all solutions; multiple_solutions if it takes several isolated
        values; acceleration_not_unique if it takes a continuum of values.
    unique : whether z itself is proved to be unique
    solutions : the isolated solutions and the vertices of the continua, (n,) each
    floors : the rounding error that each of `solutions` may have, (n,) each
    representatives : a z, (n,), for each distinct value of y (for each continuum, if y is not unique)
    observed : the values of y at `representatives`
    decided : False if rounding errors hide which solutions a singular basis has; then `unique` is False, too
    """

    points: Matrix
    faces: tuple[Face, ...]
    status: Status
    unique: bool
    solutions: tuple[Vector, ...]
    floors: tuple[Vector, ...]
    representatives: tuple[Vector, ...]
    observed: tuple[Vector, ...]
    decided: bool = True

    def _about(self) -> About:
        continua = counted(len(self.faces), "continuum", "continua")
        title = f"{self.status}, {counted(len(self.points), 'isolated solution')}, {continua}"
        return About(title, (), [(f"z {i + 1}", z) for i, z in enumerate(self.solutions)])

    @property
    def count(self) -> int:
        """Number of distinct values of y; meaningless if they form a continuum."""
        return len(self.observed)

    def ranges(self, C: Matrix | None = None, c0: Vector | None = None) -> Matrix:
        """Return the smallest and largest value of each component of C z + c0 over all solutions, (r, 2).

        Unbounded components are infinite; without any solution they are +inf and -inf. C is the identity by default.
        """
        n = self.points.shape[1]
        C = np.eye(n) if C is None else np.asarray(C, dtype=float)
        z = np.vstack([self.points, *(face.vertices for face in self.faces)])
        values = z @ C.T + (0.0 if c0 is None else c0)
        low, high = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
        for face in self.faces:
            slope, noise = face.rays @ C.T, OBSERVED * (np.abs(face.rays) @ np.abs(C).T)
            low = np.where((slope < -noise).any(axis=0), -np.inf, low)
            high = np.where((slope > noise).any(axis=0), np.inf, high)
        return np.column_stack((low, high))


def enumerate_lcp(
    lcp: LCP, observe: Matrix | None = None, offset: Vector | None = None, limit: int = MAX_ENUMERATED,
    size: Vector | None = None, supports: Mask | None = None,
) -> LCPSolutions:  # fmt: skip
    """Return all solutions of a small LCP; the work grows as 2^n.

    Parameters
    ----------
    lcp : LCP
    observe, offset : (r, n), (r,), optional
        They define y = observe z + offset, which must be unique for the problem to count as solved. By default y is w;
        for contacts y is the acceleration.
    limit : largest n; NotAccepted is raised for a larger problem
    size : (n,), optional
        Sum of the absolute values of the terms of q, by default |q|. Where the terms nearly cancel, q_i is rounding
        noise, and its sign must not influence the result.
    supports : (s, n) bool, optional
        The complementary bases to visit, if the other bases are known to have no further solutions.

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> found = go.enumerate_lcp(go.LCP(M=np.array([[-1.0]]), q=np.array([1.0])))
    >>> print(found.status, sorted(float(z[0]) for z in found.points))
    multiple_solutions [0.0, 1.0]
    """
    n = lcp.n
    if n > limit:
        raise NotAccepted(f"The problem has {n} pairs, 2^{n} complementary bases; enumeration stops at {limit}.")
    R, C = equilibrate(lcp.M)
    M, q = R[:, None] * lcp.M * C, R * lcp.q
    q_size = np.abs(q) if size is None else np.maximum(np.abs(q), R * size)
    masks = subsets(n) if supports is None else supports
    x, f, regular = regular_bases(M, q, q_size, masks)
    feasible = regular & (x >= -FEASIBLE * f).all(axis=-1)
    points = [_point(masks[s], x[s], f[s], C) for s in np.flatnonzero(feasible)]
    # In an ill-conditioned basis, setting an entry that is negative within tolerance to zero may violate the rows.
    points = [p for part in points if (p := _lawful(part, lcp, q_size / R, C))]
    continua: list[SolutionPart] = []
    decided = True
    for s in np.flatnonzero(~regular):
        part = polyhedron(M, q, q_size, masks[s], C)
        if part is None:
            continue
        if lawful := _lawful(part, lcp, q_size / R, C):
            (continua if len(lawful.rays) or len(lawful.vertices) > 1 else points).append(lawful)
        elif len(part.vertices) > 1:
            # If only some of the vertices satisfy the rows, rounding hides which points between them are solutions.
            decided &= not any(_holds(part._replace(vertices=v[None]), lcp, q_size / R) for v in part.vertices)
    continua = _maximal(continua, lcp)
    points = _isolated(points, continua, lcp)
    found = _judge(lcp, points, continua, observe, offset)
    return found if decided else replace(found, unique=False, decided=False)


def regular_bases(
    M: Matrix, q: Vector, size: Vector | None = None, supports: Mask | None = None
) -> tuple[Matrix, Matrix, Mask]:
    """Solve the system of every complementary basis of M, (..., n, n), and q, (..., n).

    `size`, (..., n), is the sum of the absolute values of the terms of q, by default |q|.

    Returns
    -------
    x : (..., 2^n, n), z_i for i in the subset, w_i for the others
    f : (..., 2^n, n), |B^-1| (|B| |x| + size), plus EPS times the largest such value of unknowns coupled to i
    regular : (..., 2^n), mask of the bases that are regular, so that x is valid
    """
    n = M.shape[-1]
    identity = np.eye(n)
    masks = subsets(n) if supports is None else supports
    B = np.where(masks[:, None, :], M[..., None, :, :], -identity)
    regular = np.linalg.det(B) != 0.0
    if not regular.all():
        B = np.where(regular[..., None, None], B, identity)
    inverse = np.linalg.inv(B)
    absolute, absolute_inverse = np.abs(B), np.abs(inverse)
    gain = (absolute * absolute_inverse.swapaxes(-1, -2)).max(axis=(-2, -1), initial=0.0)
    regular &= gain < 1.0 / SINGULAR
    # Elimination on a singular matrix may give a wrong inverse with moderate entries.
    # The diagonals of B^-1 B and B B^-1 show this; they do not depend on the scaling of rows and columns.
    left, right = np.einsum("...ij,...ji->...i", inverse, B), np.einsum("...ij,...ji->...i", B, inverse)
    regular &= (np.maximum(np.abs(left - 1.0), np.abs(right - 1.0)) < INVERTED).all(axis=-1)
    rhs = q[..., None, :, None]
    x = -(inverse @ rhs)
    x -= inverse @ (B @ x + rhs)  # one refinement makes the residual small row by row
    sizes = np.abs(rhs) if size is None else size[..., None, :, None]
    f = (absolute_inverse @ (absolute @ np.abs(x) + sizes))[..., 0]
    # If the terms of a row are exactly zero, f is too small: x may contain rounding errors of coupled rows.
    return x[..., 0], f + EPS * np.where(_tied(absolute), f[..., None, :], 0.0).max(axis=-1, initial=0.0), regular


def _tied(absolute: Matrix) -> Mask:
    """Return a mask, from |B|, of the pairs of unknowns that B couples, directly or through other unknowns."""
    n = absolute.shape[-1]
    tied = np.minimum(absolute + absolute.swapaxes(-1, -2), 1.0) > 0.0
    for _ in range(max(n - 1, 1).bit_length()):
        tied = tied.astype(float) @ tied > 0.0
    return np.asarray(tied)


def _point(support: Mask, x: Vector, f: Vector, C: Vector) -> SolutionPart:
    z = np.where(support & (x > FEASIBLE * f), x, 0.0) * C
    return SolutionPart(support, z[None], np.zeros((0, len(z))), np.where(support, f * C, 0.0)[None])


def _lawful(part: SolutionPart, lcp: LCP, size: Vector, C: Vector) -> SolutionPart | None:
    """Return `part`, perhaps with entries at rounding level set to zero, if it satisfies every row; otherwise None."""
    if _holds(part, lcp, size):
        return part
    scaled = part.vertices / C
    noise = 4 * lcp.n * EPS * scaled.max(axis=1, keepdims=True, initial=0.0)
    part = part._replace(vertices=np.where(scaled > noise, part.vertices, 0.0))
    return part if _holds(part, lcp, size) else None


def _holds(part: SolutionPart, lcp: LCP, size: Vector) -> bool:
    """Return whether all vertices satisfy every row relative to its terms, despite errors of the null space."""
    terms = part.vertices @ np.abs(lcp.M).T + size
    w = part.vertices @ lcp.M.T + lcp.q
    inside, outside = part.support, ~part.support
    return bool(
        (w >= -CONSISTENT * terms).all()
        and (np.abs(w[:, inside]) <= CONSISTENT * terms[:, inside]).all()
        and (part.vertices[:, outside] == 0).all()
    )


def _patterns(parts: list[SolutionPart], lcp: LCP) -> tuple[Mask, Mask, Mask]:
    """Return three masks, (p, n), for p sets of solutions: supports, z_i that may be positive, w_i that may be so."""
    supports = np.array([p.support for p in parts]).reshape(len(parts), lcp.n)
    z_positive, w_positive = supports.copy(), supports.copy()
    for k, (support, vertices, rays, _) in enumerate(parts):
        w = vertices @ lcp.M.T + lcp.q
        noise = OBSERVED * (vertices @ np.abs(lcp.M).T + np.abs(lcp.q))
        slope = rays @ lcp.M.T
        z_positive[k] = vertices.any(axis=0) | rays.any(axis=0)
        w_positive[k] = (w > noise).any(axis=0) | (slope > OBSERVED * (rays @ np.abs(lcp.M).T)).any(axis=0)
        w_positive[k] &= ~support
    return supports, z_positive, w_positive


def _maximal(parts: list[SolutionPart], lcp: LCP) -> list[SolutionPart]:
    """Return the continua that are not contained in another continuum."""
    if len(parts) < 2:
        return parts
    supports, z, w = (p.astype(float) for p in _patterns(parts, lcp))
    inside = (z @ (1.0 - supports).T == 0) & (w @ supports.T == 0)
    # Two continua that contain each other are equal; the earlier one is kept.
    beaten = inside & (~inside.T | np.tri(len(parts), k=-1, dtype=bool))
    return [p for p, covered in zip(parts, beaten.any(axis=1), strict=True) if not covered]


def _isolated(points: list[SolutionPart], continua: list[SolutionPart], lcp: LCP) -> list[SolutionPart]:
    """Return the points that are not on a continuum, without duplicates."""
    if len(points) > 1:
        z, f = np.vstack([p.vertices for p in points]), np.vstack([p.f for p in points])
        points = [points[i] for i in distinct(z, OBSERVED * z + FLAT * f)]
    if not continua or not points:
        return points
    _, z_positive, w_positive = (p.astype(float) for p in _patterns(points, lcp))
    supports = np.array([c.support for c in continua]).astype(float)
    on = (z_positive @ (1.0 - supports).T == 0) & (w_positive @ supports.T == 0)
    return [p for p, covered in zip(points, on.any(axis=1), strict=True) if not covered]


def _judge(
    lcp: LCP, points: list[SolutionPart], continua: list[SolutionPart], observe: Matrix | None, offset: Vector | None
) -> LCPSolutions:
    n = lcp.n
    Y = lcp.M if observe is None else np.asarray(observe, dtype=float)
    y0 = np.zeros(len(Y)) if offset is None else np.asarray(offset, dtype=float)
    if observe is None and offset is None:
        y0 = lcp.q
    size = np.abs(Y).T
    spread = False
    values: list[Vector] = []
    tolerances: list[Vector] = []
    parts = [*points, *continua]
    for part in parts:
        y = part.vertices @ Y.T + y0
        tolerance = OBSERVED * (np.abs(part.vertices) @ size + np.abs(y0)) + 10 * FEASIBLE * (part.f @ size)
        worst = tolerance.max(axis=0)
        moving = (np.abs(part.rays @ Y.T) > OBSERVED * (np.abs(part.rays) @ size)).any()
        spread = spread or bool(moving) or bool((y.max(axis=0) - y.min(axis=0) > 2 * worst).any())
        values.append(y[0])
        tolerances.append(worst)
    shape = (len(values), len(Y))
    kept = distinct(np.array(values).reshape(shape), np.array(tolerances).reshape(shape))
    if spread:
        status = Status.ACCELERATION_NOT_UNIQUE
    else:
        status = {0: Status.NO_SOLUTION, 1: Status.SOLVED}.get(len(kept), Status.MULTIPLE_SOLUTIONS)
    every = np.vstack([np.zeros((0, n)), *(p.vertices for p in parts)])
    floors = np.vstack([np.zeros((0, n)), *(p.f for p in parts)])
    if len(every) > 1 and continua:
        keep = distinct(every, OBSERVED * every + FLAT * floors)
        every, floors = every[keep], floors[keep]
    return LCPSolutions(
        np.vstack([np.zeros((0, n)), *(p.vertices for p in points)]),
        tuple(Face(p.support, p.vertices, p.rays) for p in continua),
        status,
        len(parts) == 1 and not continua,
        tuple(every),
        tuple(4 * (n + 1) * EPS * floors),
        tuple(parts[i].vertices[0] for i in kept),
        tuple(values[i] for i in kept),
    )
