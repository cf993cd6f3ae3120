"""The distance between given impulses and a solution of a contact problem with friction cones.

The residual is the natural map in the unit of velocity, e_i = (r_i - P_K(r_i - rho_i u~_i)) / rho_i with
rho_i = 3 / tr W_ii, relative to |q|. If it were relative to |r|, the diverging impulses of a problem without solution
would pass; with rho_i = 1 it would mix the units of impulses and velocities. `cone_bounds` derives bounds on the
distance from the residual; `cone_existence` examines whether a solution exists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.certificates.cone_bounds import Bound, global_bound, local_bound
from gaussopt.certificates.cone_existence import existence_margin, farkas_ray
from gaussopt.cone.least_kernel import SLACK, SLOW, dense_pattern, least_impulses, least_into
from gaussopt.cone.measure import FEW, distances, measured
from gaussopt.cone.monotonicity import monotonicity
from gaussopt.cone.one_contact import OneContact, one_velocity, solve_contact, surely_unique
from gaussopt.core.acceptance import Measures, ProgramCertificate
from gaussopt.core.arrays import Index, Matrix, Vector, all_finite
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity, largest_entry
from gaussopt.core.display import About, shown
from gaussopt.core.tolerances import DEFAULT_TOLERANCE, finite_or_none
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.cones import DENSE_ROWS, project, residual, rounding, rows_of, shifted, velocity_size
from gaussopt.linalg.dense import largest

CERTIFIED = 1e-12
"""Largest residual, and largest rounding error, relative to |q|, of impulses that count as one of several solutions."""

APART = 1e-4
"""Distance of two certified velocities, relative to |q|, beyond which they are different solutions."""

ROUGH = 100.0
"""Largest violation of cones and law, as a multiple of the tolerance; relative to the sizes of all contacts."""

PROOF_RATE = 4e-10
"""Processor time of the cheapest proof, s, divided by n^3: eigenvalues and an inverse of an n by n matrix."""

PROOF_TIMES, PROOF_LEAST, SEARCH_LEAST = 10.0, 0.1, 0.5
"""Proofs are left out if they take more than PROOF_TIMES solves and PROOF_LEAST s; searches get SEARCH_LEAST s."""

ENTRIES = (
    "residual", "floor", "error_bound", "impulse_error_bound", "bound_from", "modulus", "velocity_unique",
    "impulses_unique", "existence_margin", "farkas_ray", "no_solution", "cone_violation", "dual_violation",
    "complementarity", "asymmetry", "proof_seconds",
)  # fmt: skip
"""Names of the entries of a certificate for JSON; the solutions are not among them."""


@shown
class ConeCertificate(ProgramCertificate):
    """Proved properties of impulses r.

    The data that determine the status are computed at once: the residual, its floor, further solutions and, if r does
    not pass, the existence of solutions. The other data, which take longer, are computed when they are read.

    Attributes
    ----------
    residual : norm of the natural map relative to |q|; in m/s if q = 0
    floor : the residual that rounding alone may cause
    error_bound : bound on |u - u*|, m/s, for the nearest solution u*; None if nothing is proved
    impulse_error_bound : bound on |r - r*|, N s, for the same solution; None if nothing is proved
    bound_from : the proof of the bounds: "monotone", "newton-kantorovich", "none" or "skipped", see `limit_proofs`
    modulus : modulus of monotonicity, dimensionless; if it is positive, existence and uniqueness are proved
    velocity_unique, impulses_unique : True if proved, False if refuted, None if undecided
    existence_margin : t*, see `cone_existence`; None if it was not computed
    farkas_ray : normal impulses, (k,), that prove that the problem is contradictory, or None
    no_solution : whether all modes of a single contact were examined and none is possible
    solutions : impulses of certified solutions with different velocities; at least two, or none
    cone_violation : largest distance of r_i from K, relative to R, see `violations`
    dual_violation : largest distance of u~_i from K*, relative to the largest entry of q
    complementarity : largest distance of a pair (r_i / R, u~_i / |q|) from the law
    asymmetry : relative asymmetry of W
    proof_seconds : processor time spent so far on modulus and bounds, s; if it would be much longer than the solve,
        the certificate of this solve contains neither modulus nor bounds nor proofs of uniqueness
    """

    def __init__(
        self, problem: ConeComplementarity, r: Vector | None, others: Sequence[Vector] = (),
        existence: bool | None = None, tolerance: float = DEFAULT_TOLERANCE,
    ) -> None:  # fmt: skip
        self._problem = problem
        self._r = x = None if r is None or not all_finite(r) else r
        self.residual, self.floor, self._violated = (np.inf, np.inf, None) if x is None else measured(problem, x)
        one = self._one if problem.k == 1 and not surely_unique(problem) else None
        solutions: tuple[Vector, ...] = ()
        if one is not None or others:
            solutions = _distinct(problem, [*(one.solutions if one else ()), *([] if x is None else [x]), *others])
        self.solutions = solutions if len(solutions) > 1 else ()
        self.proof_seconds, self._skipped, self._search = 0.0, False, np.inf
        asked = not self.passed(tolerance) if existence is None else existence
        self.existence_margin = existence_margin(problem) if asked else None
        self.farkas_ray = farkas_ray(problem) if asked else None

    @cached_property
    def _one(self) -> OneContact | None:
        """All solutions of a single contact; None if there are several contacts."""
        return solve_contact(self._problem) if self._problem.k == 1 else None

    @property
    def no_solution(self) -> bool:
        """Whether all modes of a single contact were examined and none is possible."""
        return self._one is not None and self._one.complete and not self._one.solutions

    def limit_proofs(self, solving: float) -> str:
        """Leave out the proofs if they take much longer than the solve (`solving` s); return a sentence that says so.

        Modulus and bounds are left out if a lower estimate of their time exceeds PROOF_TIMES * `solving` and
        PROOF_LEAST. The search for a modulus may take PROOF_TIMES * `solving`, and at least SEARCH_LEAST.
        """
        needed = PROOF_RATE * float(self._problem.n) ** 3
        self._skipped = needed > max(PROOF_LEAST, PROOF_TIMES * solving)
        self._search = max(SEARCH_LEAST, PROOF_TIMES * solving)
        if not self._skipped or (self._problem.sparse and self._problem.n > DENSE_ROWS):
            return ""
        return (
            f" Bounds of the distance are left out: they take more than {needed:.1g} s, over {PROOF_TIMES:g} times the "
            "solve; go.certify_cone, or gaussopt verify, computes them."
        )

    def _about(self) -> About:
        bound = "distance not proved"
        if self.error_bound is not None:
            bound = f"u is within {self.error_bound:.2g} m/s of a solution"
        rows = [(name, getattr(self, name)) for name in (*ENTRIES, "solutions")]
        return About(f"residual {self.residual:.2g}", (bound,), rows)

    @cached_property
    def modulus(self) -> float:
        """Modulus of monotonicity; -inf if it is left out."""
        if self._skipped:
            return -np.inf
        begin = process_time()
        found = monotonicity(self._problem, self._search)
        self.proof_seconds += process_time() - begin
        return found

    @cached_property
    def _bound(self) -> Bound | None:
        """The smaller of the global and the local bound; None if neither is proved."""
        if self._r is None or self._skipped:
            return None
        modulus, begin = self.modulus, process_time()
        bounds = global_bound(self._problem, self._r, modulus), local_bound(self._problem, self._r)
        self.proof_seconds += process_time() - begin
        found = [b for b in bounds if b is not None and np.isfinite(b.velocity) and np.isfinite(b.impulse)]
        return min(found, key=lambda b: b.velocity, default=None)

    @property
    def error_bound(self) -> float | None:
        """Bound on |u - u*|, m/s."""
        return None if self._bound is None else self._bound.velocity

    @property
    def impulse_error_bound(self) -> float | None:
        """Bound on |r - r*|, N s."""
        return None if self._bound is None else self._bound.impulse

    @property
    def bound_from(self) -> str:
        """The proof of the bounds; "none" if nothing is proved, "skipped" if proofs are left out."""
        return "skipped" if self._skipped else "none" if self._bound is None else self._bound.source

    @cached_property
    def _unique(self) -> tuple[bool | None, bool | None]:
        if self.solutions:
            return False, False
        return _uniqueness(self._problem, self.modulus, self._one)

    @property
    def velocity_unique(self) -> bool | None:
        """Whether no other velocity satisfies the law."""
        return self._unique[0]

    @property
    def impulses_unique(self) -> bool | None:
        """Whether no other impulses satisfy the law."""
        return self._unique[1]

    @cached_property
    def _violations(self) -> tuple[float, float, float]:
        return self._violated or violations(self._problem, self._r)

    @property
    def cone_violation(self) -> float:
        """Relative distance of r from K, see `violations`."""
        return self._violations[0]

    @property
    def dual_violation(self) -> float:
        """Relative distance of u~ from K*, see `violations`."""
        return self._violations[1]

    @property
    def complementarity(self) -> float:
        """Relative distance of impulses and velocities from the law, see `violations`."""
        return self._violations[2]

    @property
    def asymmetry(self) -> float:
        """Relative asymmetry of W."""
        return self._problem.asymmetry

    @cached_property
    def measures(self) -> Measures:
        """The numbers that decide whether r passes: residual, rounding error, and largest violation / ROUGH."""
        return Measures(True, self.residual, max(self._violations) / ROUGH, self.floor)

    def to_mapping(self) -> Mapping[str, Any]:
        """Return the entries for JSON, each computed when it is read; `solutions` are not among them."""
        return _Entries(self)


class _Entries(Mapping[str, Any]):
    """The entries of a certificate, converted for JSON when they are read."""

    def __init__(self, certificate: ConeCertificate) -> None:
        self._certificate = certificate

    def __getitem__(self, name: str) -> Any:
        if name not in ENTRIES:
            raise KeyError(name)
        x = getattr(self._certificate, name)
        return finite_or_none(x) if isinstance(x, float) else x.tolist() if isinstance(x, np.ndarray) else x

    def __iter__(self) -> Iterator[str]:
        return iter(ENTRIES)

    def __len__(self) -> int:
        return len(ENTRIES)


def certify_cone(
    problem: ConeComplementarity, r: Vector | None, others: Sequence[Vector] = (), existence: bool | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ConeCertificate:  # fmt: skip
    """Certify impulses of contacts with friction cones.

    Parameters
    ----------
    r : (3 k,) or None
    others : impulses that may be other solutions
    existence : whether to compute the existence margin and a Farkas ray; None: only if r does not pass
    tolerance : tolerance within which r passes, relative to |q|

    Examples
    --------
    A block of 1 kg rests on the ground; over a step of 10 ms the impulse of the contact balances its weight.

    >>> import gaussopt as go
    >>> import numpy as np
    >>> bias, mu = np.array([-0.0981, 0.0, 0.0]), np.array([0.5])
    >>> block = go.ConeComplementarity(np.eye(3), bias, mu)
    >>> found = go.certify_cone(block, np.array([0.0981, 0.0, 0.0]))
    >>> found.residual, found.velocity_unique
    (0.0, True)
    """
    return ConeCertificate(problem, r, others, existence, tolerance)


@kernel
def certified(W: Vector, q: Vector, mu: Vector, r: Vector, size: float, tolerance: float) -> float:
    """Return the same as `surely_solved`, for W by rows, (9 k^2,), and size = |q|, or 1 if q vanishes."""
    if len(mu) == 1 and not one_velocity(W, mu[0]):
        return math.inf
    violated = np.zeros(3)
    missed, hidden = distances(W, q, mu, r, violated)
    worst = max(violated[0], violated[1], violated[2]) / ROUGH
    passes = missed / size <= tolerance and hidden / size <= tolerance and worst <= tolerance
    return missed / size if passes else math.inf


@kernel
def choose_least(
    begin: Index, column: Index, W: Vector, q: Vector, mu: Vector, opens: Index, size: float, tolerance: float,
    missed: float, r: Vector, least: Vector,
) -> tuple[float, float]:  # fmt: skip
    """Replace impulses r by the least with the same velocities, if these pass.

    Return the residual and the number of `least_into`. `missed` is the residual of r, computed if it is negative; W,
    size and tolerance are as in `certified`, `begin` and `column` as `dense_pattern` returns them.
    """
    if missed < 0.0:
        missed = certified(W, q, mu, r, size, tolerance)
    for j in range(len(r)):
        least[j] = r[j]
    given, now = least_into(begin, column, W, len(r), q, mu, opens, SLOW * size, least), math.inf
    if given > 0:
        now = certified(W, q, mu, least, size, tolerance)
    if now < math.inf and now <= 2.0 * missed + SLACK:
        missed = now
        for j in range(len(r)):
            r[j] = least[j]
    return missed, 1.0 * given


def least_solved(
    problem: ConeComplementarity, opens: NDArray[np.bool_], r: Vector, tolerance: float, missed: float = -1.0
) -> tuple[Vector, float, bool]:  # fmt: skip
    """Return the least impulses with the velocities of r, their residual, and whether the problem determines r.

    `missed` is the residual of r, if that is known.
    """
    if not problem.sparse and problem.k <= FEW:
        given, found = dense_parts(problem, opens), r.copy()
        missed, choice = choose_least(*given, velocity_size(problem), tolerance, missed, found, np.empty(len(r)))
        return found, missed, not choice
    missed = missed if missed >= 0.0 else surely_solved(problem, r, tolerance)
    least, code = least_impulses(problem, opens, r)
    now = surely_solved(problem, least, tolerance) if code else math.inf
    if now < math.inf and now <= 2.0 * missed + SLACK:
        r, missed = least, now
    return r, missed, not code


def dense_parts(
    problem: ConeComplementarity, opens: NDArray[np.bool_]
) -> tuple[Index, Index, Vector, Vector, Vector, Index]:  # fmt: skip
    """Return the first six arguments of `choose_least` for a dense problem: pattern, W by rows, q, mu and opens."""
    contiguous = np.ascontiguousarray
    W, q, mu = contiguous(problem.W).ravel(), contiguous(problem.q), contiguous(problem.mu)
    return *dense_pattern(problem.k), W, q, mu, opens.astype(np.int64)


def surely_solved(problem: ConeComplementarity, r: Vector, tolerance: float) -> float:
    """Return the residual of impulses whose certificate passes, without making it; infinite if that is not sure.

    It is not sure for a single contact that may have several solutions, as only its certificate looks for them.
    """
    if not problem.sparse and problem.k <= FEW:
        contiguous = np.ascontiguousarray
        given = contiguous(problem.W).ravel(), contiguous(problem.q), contiguous(problem.mu), contiguous(r)
        return float(certified(*given, velocity_size(problem), tolerance))
    missed, floor, violated = measured(problem, r)
    passes = max(missed, floor, max(violated or violations(problem, r)) / ROUGH) <= tolerance
    return missed if passes else math.inf


def _distinct(problem: ConeComplementarity, candidates: Sequence[Vector]) -> tuple[Vector, ...]:
    """Return the candidates that are certified solutions with different velocities."""
    size = velocity_size(problem)
    found: list[Vector] = []
    for r in candidates:
        if not np.isfinite(r).all() or residual(problem, r) > CERTIFIED:
            continue
        if float(np.linalg.norm(rounding(problem, r))) > CERTIFIED * size:
            continue
        if all(np.linalg.norm(problem.W @ (r - other)) > APART * size for other in found):
            found.append(r)
    return tuple(found)


def _uniqueness(
    problem: ConeComplementarity, modulus: float, one: OneContact | None
) -> tuple[bool | None, bool | None]:
    if modulus > 0:
        return True, True
    if one is not None and one.complete:
        return (True, one.impulses_unique) if one.solutions else (None, None)
    if problem.k and not problem.mu.any() and not problem.sparse and problem.symmetric:
        N = problem.W[::ROWS, ::ROWS]
        d = np.sqrt(N.diagonal()) if (N.diagonal() > 0).all() else np.zeros(problem.k)
        if d.all() and np.linalg.eigvalsh(N / np.outer(d, d))[0] > 1e-10 * problem.k:
            return True, True
    return None, None


def violations(problem: ConeComplementarity, r: Vector | None) -> tuple[float, float, float]:
    """Return the relative distances of r from K, of u~ from K*, and of both from the law.

    The distance from the law is the natural map of r / R and u~ / |q|, with the same scales for all contacts; the
    residual, with rho_i, is insensitive to impulses whose block W_ii is nearly zero. |q| is the largest entry of q.
    R is the largest entry of r, but at least |q| over the largest entry of W, as r may consist of rounding errors.
    """
    if r is None:
        return np.inf, np.inf, np.inf
    u = shifted(problem.u(r), problem.mu)
    p, v = rows_of(r), rows_of(u)
    outside = np.maximum(np.hypot(p[:, 1], p[:, 2]) - problem.mu * p[:, 0], -p[:, 0])
    below = np.maximum(problem.mu * np.hypot(v[:, 1], v[:, 2]) - v[:, 0], 0.0)
    free = largest(problem.q) or 1.0
    size = max(largest(r), free / (largest_entry(problem.W) or 1.0))
    x = r / size - u / free
    # Compute the natural map of r / R and u~ / |q| such that it is exactly u~ / |q| if x is in K.
    off = rows_of(u / free + (x - project(x, problem.mu)))
    return largest(np.maximum(outside, 0.0)) / size, largest(below) / free, largest(np.linalg.norm(off, axis=1))


def velocity_range(problem: ConeComplementarity, solutions: Sequence[Vector]) -> Matrix:
    """Return the smallest and largest value of each entry of u over several solutions, (3 k, 2)."""
    u = np.array([problem.u(r) for r in solutions])
    return np.column_stack((u.min(axis=0), u.max(axis=0)))
