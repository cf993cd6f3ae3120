"""The programs that formulations make and solvers solve.

All duals have one sign convention: they are forces. For the quadratic program

    min 1/2 x^T P x + q^T x    subject to    l <= A x <= u

the duals satisfy P x + q = A^T y, with y >= 0 where a row is at its lower bound and y <= 0 where it is at its upper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import (
    DEFINITE_TOLERANCE,
    Matrix,
    Vector,
    given_sparse,
    is_absent,
    is_sparse,
    real_array,
    require,
)
from gaussopt.core.cone_complementarity import ConeComplementarity as ConeComplementarity
from gaussopt.core.cone_program import ConeProgram as ConeProgram
from gaussopt.core.display import About, counted, shown
from gaussopt.core.errors import BadInput
from gaussopt.core.fast_frozen import fast_frozen
from gaussopt.core.program import Program as Program
from gaussopt.core.sparse_arrays import Pattern, check_sparse_mass, json_entries, read_sparse
from gaussopt.core.step_data import as_array

INFINITE_BOUND = 1e20
"""Bounds at or beyond this magnitude in a file count as infinite."""

SMALLEST = 1e-290
"""Entries of an LCP's matrix below this size, relative to 1 and to the largest entry, would make quotients overflow."""


@shown
@fast_frozen
@dataclass(frozen=True)
class QP(Program):
    """A convex quadratic program: minimise 1/2 x^T P x + q^T x subject to l <= A x <= u.

    Attributes
    ----------
    P : (n, n), symmetric positive semidefinite
    q : (n,)
    A : (m, n)
    l, u : (m,), bounds; equal where the row is an equality, infinite where there is no bound

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> qp = go.QP(P=one, q=np.zeros(1), A=one, l=np.array([3.0]), u=np.array([np.inf]))
    >>> print(go.solve(qp, "daqp").x)
    [3.]
    """

    shapes: ClassVar = {"P": "nn", "q": "n", "A": "mn", "l": "m", "u": "m"}
    takers: ClassVar = "daqp, osqp or, without inequalities, kkt"
    minimises = True

    P: Matrix
    q: Vector
    A: Matrix
    l: Vector
    u: Vector

    def _about(self) -> About:
        equal = int(np.sum(self.l == self.u))
        kinds = "all" if equal == self.m else str(equal or "none")
        rows = f"{counted(self.m, 'row')}, {kinds} of them equalities" if self.m else "unconstrained"
        entries = [(name, getattr(self, name)) for name in ("P", "q", "A", "l", "u")]
        return About(f"{counted(self.n, 'unknown')}, {rows}", (), entries)

    @property
    def n(self) -> int:
        return len(self.q)

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.l)

    @property
    def duals(self) -> int:
        return self.m

    def as_qp(self) -> QP:
        """Return this program, which is a QP already; `LeastSquares.as_qp` converts a program to an equivalent QP."""
        return self

    @property
    def equations(self) -> tuple[Matrix, Vector] | None:
        return None if self.m else (self.P, -self.q)

    @cached_property
    def equality(self) -> NDArray[np.bool_]:
        """Mask of the rows that are equalities, (m,)."""
        return np.asarray(self.l == self.u)

    @property
    def equalities_only(self) -> bool:
        """Whether every row is an equality; known without a comparison if l and u are one array, as in the Gauss QP."""
        return self.l is self.u or bool(self.equality.all())

    @property
    def pattern(self) -> tuple[Any, ...]:
        if self.equalities_only and not self.sparse:
            return self.P.shape, self.A.shape
        return self._whole_pattern

    @cached_property
    def _whole_pattern(self) -> tuple[Any, ...]:
        places = places_of(self.P), places_of(self.A)
        if self.equalities_only:
            return places
        return *places, self.equality.tobytes(), np.isfinite(self.l).tobytes(), np.isfinite(self.u).tobytes()

    @property
    def sparse(self) -> bool:
        return is_sparse(self.P)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> QP:
        """Return a checked program from the contents of a `qp` file, where null stands for an infinite bound.

        Raises BadInput for wrong shapes, NaN, asymmetric or indefinite P, or a lower bound above its upper bound.
        """
        require("A qp", data, "P", "q")
        q = as_array("q", data["q"], (None,))
        n = len(q)
        if n == 0:
            raise BadInput("A qp needs at least one unknown; q is empty.")
        if any(given_sparse(data.get(key)) for key in ("P", "A")):
            return cls._sparse_from_mapping(data, q)
        P = as_array("P", data["P"], (n, n))
        scale = float(np.abs(P).max(initial=0.0))
        if np.abs(P - P.T).max(initial=0.0) > 1e-10 * scale:
            raise BadInput("P is not symmetric; give the full symmetric matrix.")
        P = 0.5 * (P + P.T)
        lowest = float(np.linalg.eigvalsh(P)[0])
        if lowest < -DEFINITE_TOLERANCE * max(scale, 1e-300) * n:
            raise BadInput(f"P is indefinite (an eigenvalue is {lowest:.6g}); the program is not convex.")
        A = np.zeros((0, n)) if is_absent(data.get("A")) else as_array("A", data["A"], (None, n))
        return cls(P, q, A, *_both_bounds(data, len(A)))

    @classmethod
    def _sparse_from_mapping(cls, data: Mapping[str, Any], q: Vector) -> QP:
        n = len(q)
        P = check_sparse_mass(read_sparse("P", data["P"], (n, n)), "P", coupled=True)
        bounds = [data[key] for key in "lu" if isinstance(data.get(key), list | tuple | np.ndarray)]
        rows = len(bounds[0]) if bounds else 0
        A = read_sparse("A", np.zeros((0, n)) if data.get("A") is None else data["A"], (rows, n))
        l, u = _both_bounds(data, A.shape[0])
        return cls(P, q, A, l, l if np.array_equal(l, u) else u)  # type: ignore[arg-type]

    def objective(self, x: Vector) -> float:
        """Return 1/2 x^T P x + q^T x."""
        return float(0.5 * x @ (self.P @ x) + self.q @ x)

    def to_mapping(self) -> dict[str, Any]:
        """Return the program as the contents of a `qp` file."""

        def bound(values: Vector) -> list[float | None]:
            return [float(b) if np.isfinite(b) else None for b in values]

        matrices = {"P": json_entries(self.P), "q": self.q.tolist(), "A": json_entries(self.A)}
        return {"kind": "qp", **matrices, "l": bound(self.l), "u": bound(self.u)}


@shown
@dataclass(frozen=True)
class LinearSystem(Program):
    """A square system K x = b, (N, N) and (N,); among several solutions the one of least norm is required."""

    shapes: ClassVar = {"K": "nn", "b": "n"}
    takers: ClassVar = "kkt"

    K: Matrix
    b: Vector

    def _about(self) -> About:
        return About(counted(self.n, "unknown"), (), [("K", self.K), ("b", self.b)])

    @property
    def n(self) -> int:
        return len(self.b)

    @property
    def pattern(self) -> tuple[Any, ...]:
        return (places_of(self.K),)

    @property
    def sparse(self) -> bool:
        return is_sparse(self.K)

    @property
    def equations(self) -> tuple[Matrix, Vector]:
        return self.K, self.b


@shown
@dataclass(frozen=True)
class LeastSquares(Program):
    """A least-squares problem, min ||A x - b||_2; among several minimisers the one of least norm is preferred.

    Attributes
    ----------
    A : (r, n)
    b : (r,)
    rank : rank of A, known from its construction; further singular values are rounding noise and must not be inverted
    minimum_norm : whether only the minimiser of least norm is right; otherwise any minimiser is accepted
    """

    shapes: ClassVar = {"A": "rn", "b": "r"}
    takers: ClassVar = "kkt"

    A: Matrix
    b: Vector
    rank: int
    minimum_norm: bool = False

    def _about(self) -> About:
        title = f"{counted(self.n, 'unknown')}, {counted(self.A.shape[0], 'row')}, rank {self.rank}"
        rows = [("A", self.A), ("b", self.b), ("rank", self.rank), ("of least norm", self.minimum_norm)]
        return About(title, (), rows)

    @property
    def n(self) -> int:
        return int(self.A.shape[1])

    @property
    def pattern(self) -> tuple[Any, ...]:
        return (self.A.shape, self.rank, self.minimum_norm)

    @property
    def minimises(self) -> bool:
        return not self.minimum_norm

    @property
    def equations(self) -> tuple[Matrix, Vector]:
        return self.A.T @ self.A, self.A.T @ self.b

    def as_qp(self) -> QP:
        """Return a QP with the same minimiser.

        With `minimum_norm`, for a consistent system, it minimises 1/2 ||x||^2 subject to A x = b. Otherwise it is
        unconstrained with P = A^T A, which squares the condition number; a curvature is added along the null space of
        A, without which rounding would make the objective unbounded there.
        """
        n = self.A.shape[1]
        if self.minimum_norm:
            return QP(np.eye(n), np.zeros(n), self.A, self.b, self.b)
        P, q = self.A.T @ self.A, -self.A.T @ self.b
        if 0 < self.rank < n:
            _, values, Vt = np.linalg.svd(self.A)
            unseen = Vt[self.rank :]
            P = P + values[0] * values[self.rank - 1] * (unseen.T @ unseen)
            q = q - unseen.T @ (unseen @ q)
        return QP(0.5 * (P + P.T), q, np.zeros((0, n)), np.zeros(0), np.zeros(0))


@shown
@dataclass(frozen=True)
class LCP(Program):
    """A linear complementarity problem: find z with 0 <= z, w = M z + q >= 0 and z . w = 0.

    Attributes
    ----------
    M : (n, n), any square matrix; for contacts the Delassus operator, in 1/kg
    q : (n,); for contacts the gap accelerations without contact forces, in m/s^2

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> print(go.solve(go.LCP(M=np.array([[2.0]]), q=np.array([-3.0])), "lemke").x)
    [1.5]
    """

    shapes: ClassVar = {"M": "nn", "q": "n"}
    takers: ClassVar = "lemke or principal-pivoting"

    M: Matrix
    q: Vector

    def _about(self) -> About:
        return About(f"{counted(self.n, 'pair')} (z, w)", (), [("M", self.M), ("q", self.q)])

    @property
    def n(self) -> int:
        return len(self.q)

    @property
    def pattern(self) -> tuple[Any, ...]:
        return (self.M.shape,)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> LCP:
        """Return a checked problem from the contents of an `lcp` file.

        Raises BadInput for missing entries, a non-square M, wrong shapes, NaN, or entries whose quotients overflow.
        """
        require("An lcp", data, "M", "q")
        M = as_array("M", data["M"], (None, None))
        if M.shape[0] != M.shape[1]:
            raise BadInput(f"M has shape {M.shape}; an lcp needs a square matrix.")
        if not len(M):
            raise BadInput("An lcp needs at least one pair; M is empty.")
        size = np.abs(M)
        if ((size > 0) & (size < SMALLEST * max(1.0, float(size.max())))).any():
            i, j = (int(k) for k in np.unravel_index(int(np.where(size > 0, size, np.inf).argmin()), size.shape))
            raise BadInput(f"M[{i}, {j}] is {M[i, j]:g}, too small beside the others; write 0, or use other units.")
        return cls(M, as_array("q", data["q"], (len(M),)))

    def w(self, z: Vector) -> Vector:
        """Return w = M z + q, (n,)."""
        return np.asarray(self.M @ z + self.q)

    def to_mapping(self) -> dict[str, Any]:
        """Return the problem as the contents of an `lcp` file."""
        return {"kind": "lcp", "M": np.asarray(self.M).tolist(), "q": np.asarray(self.q).tolist()}


def places_of(A: Matrix) -> Any:
    """Return the shape of a dense matrix, or the sparsity pattern of a sparse one."""
    return Pattern.of(A) if is_sparse(A) else A.shape  # type: ignore[arg-type]


def as_qp(program: Program) -> QP:
    """Return a QP itself, or a least-squares problem as a QP; raises TypeError for other kinds of programs."""
    made = getattr(program, "as_qp", None)
    if made is None:
        raise TypeError(f"{type(program).__name__} is no quadratic program")
    found: QP = made()
    return found


def _both_bounds(data: Mapping[str, Any], m: int) -> tuple[Vector, Vector]:
    l = _bounds("l", data.get("l"), m, -np.inf)
    u = _bounds("u", data.get("u"), m, np.inf)
    if (l > u).any():
        i = int(np.argmax(l > u))
        raise BadInput(f"Row {i} has l = {l[i]:.6g} above u = {u[i]:.6g}; swap or correct the bounds.")
    if (absurd := np.isposinf(l) | np.isneginf(u)).any():
        raise BadInput(f"Row {int(np.argmax(absurd))} has a bound at the wrong infinity; nothing satisfies it.")
    return l, u


def _bounds(name: str, value: Any, m: int, infinite: float) -> Vector:
    if value is None:
        return np.full(m, infinite)
    if not isinstance(value, list | tuple | np.ndarray):
        raise BadInput(f"{name} is not a list of numbers.")
    filled = [infinite if entry is None else entry for entry in value]
    if len(filled) != m:
        raise BadInput(f"{name} has shape ({len(filled)},), expected ({m},).")
    try:
        bounds = real_array(filled)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} is not a list of numbers.") from None
    if bounds.ndim != 1 or np.isnan(bounds).any():
        raise BadInput(f"{name} holds an entry that is not a number; null means infinite.")
    bounds[np.abs(bounds) >= INFINITE_BOUND] = np.sign(bounds[np.abs(bounds) >= INFINITE_BOUND]) * np.inf
    return bounds
