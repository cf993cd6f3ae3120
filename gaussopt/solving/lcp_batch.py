"""Solve many linear complementarity problems of the same size in one call, and verify each answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import About, counted, shown
from gaussopt.core.errors import NotAccepted
from gaussopt.core.programs import LCP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Solver, make_solver
from gaussopt.core.status import Status
from gaussopt.core.step_data import as_array
from gaussopt.core.tolerances import DEFAULT_TOLERANCE, check_tolerance
from gaussopt.kinds import page_of
from gaussopt.lcp.certificate import NEGLIGIBLE
from gaussopt.lcp.matrix_classes import POSITIVE
from gaussopt.linalg.dense import EPS


@shown
@dataclass(frozen=True, slots=True)
class BatchSolution:
    """Verified answers to a batch of LCPs.

    Attributes
    ----------
    z, w : (B, n), NaN for problems for which the solver found no solution
    status : tuple of B Status, as in `solve`: a problem with several solutions never counts as solved
    iterations : (B,)
    residual : (B,), natural residual relative to the size of z and q; infinite if M_ii <= 0 or no solution was found
    """

    z: Matrix
    w: Matrix
    status: tuple[Status, ...]
    iterations: NDArray[np.int_]
    residual: Vector

    def _about(self) -> About:
        counts = Counter(str(status) for status in self.status)
        words = ", ".join(f"{count} {status}" for status, count in counts.most_common())
        title = f"{counted(len(self.status), 'problem')} of {counted(self.z.shape[1], 'pair')}: {words}"
        return About(title, (), [(status, count) for status, count in counts.most_common()])

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Mask of the solved problems, (B,)."""
        return np.array([s is Status.SOLVED for s in self.status], dtype=bool)


def solve_batch(
    M: Any, q: Any, solver: str = "newton", *, tolerance: float = DEFAULT_TOLERANCE, **options: Any
) -> BatchSolution:
    """Solve B problems w = M z + q, z >= 0, w >= 0, z . w = 0 of the same size, and verify each solution.

    Parameters
    ----------
    M : (B, n, n), or (n, n) for all q
    q : (B, n)
    solver : any solver of LCPs; `newton`, `enumerate` and `pgs` solve all problems together
    tolerance : relative tolerance of the verification
    options : options of the solver

    Raises
    ------
    UnknownName, BadInput, NotAccepted

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> right_hand_sides = np.array([[-1.0], [-2.0], [3.0]])
    >>> batch = go.solve_batch(np.array([[2.0]]), right_hand_sides, "newton")
    >>> print(batch.z.ravel())
    [0.5 1.  0. ]
    """
    check_tolerance(tolerance)
    q = as_array("q", q, (None, None))
    count, n = q.shape
    M = as_array("M", M, (n, n) if np.ndim(M) == 2 else (count, n, n))
    M = np.broadcast_to(M, (count, n, n))
    made = make_solver(solver, options)
    for j in range(count):
        if reason := made.refuses(LCP(M[j], q[j])):
            raise NotAccepted(f"The solver {made.name!r} does not take problem {j} of the batch: {reason}.")
    together: Callable[..., Any] | None = getattr(made, "solve_batch", None)
    z, iterations, claims, notes = together(M, q) if together is not None else _one_by_one(made, M, q)
    w = (M @ z[..., None])[..., 0] + q
    residual, proved = _verify(M, q, z, w, tolerance)
    status = [Status.SOLVED] * count
    for i in np.flatnonzero(~proved):
        x = z[i] if np.isfinite(z[i]).all() else None
        raw = RawSolution(x, None, claims[i], int(iterations[i]), note=notes[i])
        problem = LCP(M[i], q[i])
        status[i] = page_of(problem).judge(problem, raw, tolerance).status
    return BatchSolution(z, w, tuple(status), iterations, residual)


def _one_by_one(solver: Solver[Any], M: Matrix, q: Matrix) -> tuple[Matrix, NDArray[np.int_], list[Status], list[str]]:
    z, raws = np.full(q.shape, np.nan), []
    for i in range(len(q)):
        solver.setup(LCP(M[i], q[i]))
        raw = solver.solve(None)
        raws.append(raw)
        if raw.x is not None:
            z[i] = raw.x
    return z, np.array([r.iterations for r in raws], dtype=int), [r.claim for r in raws], [r.note for r in raws]


def _verify(M: Matrix, q: Matrix, z: Matrix, w: Matrix, tolerance: float) -> tuple[Vector, NDArray[np.bool_]]:
    """Return relative residuals, (B,), and a mask, (B,), of the answers that the bound for definite M proves right."""
    count, n = q.shape
    diagonal = np.diagonal(M, axis1=1, axis2=2)
    positive = (diagonal > 0).all(axis=1) & np.isfinite(z).all(axis=1)
    residual, proved = np.full(count, np.inf), np.zeros(count, dtype=bool)
    M, q, z, w, diagonal = M[positive], q[positive], z[positive], w[positive], diagonal[positive]
    d = 1.0 / np.sqrt(diagonal)
    A = d[:, :, None] * M * d[:, None, :]
    r = np.minimum(z / d, d * w)
    size = d * ((np.abs(M) @ np.abs(z)[..., None])[..., 0] + np.abs(q))
    norm = np.linalg.norm(z / d, axis=1) + np.linalg.norm(d * q, axis=1)
    safe = np.where(norm > 0, norm, 1.0)
    relative = np.linalg.norm(r, axis=1) / safe
    own_size = np.abs(z / d) + size + NEGLIGIBLE * norm[:, None]
    own = (np.abs(r) / np.where(own_size > 0, own_size, 1.0)).max(axis=1, initial=0.0)
    symmetric = 0.5 * (A + A.swapaxes(1, 2))
    lowest = np.linalg.eigvalsh(symmetric)[:, :1].min(axis=1, initial=1.0)
    definite = lowest > POSITIVE * n * np.maximum(1.0, np.abs(symmetric).max(axis=(1, 2), initial=0.0))
    bound = (1.0 + np.linalg.norm(A, 2, axis=(1, 2))) / np.where(definite, lowest, 1.0) if n else np.zeros(len(q))
    bound = bound * np.linalg.norm(np.abs(r) + (n + 2) * EPS * size, axis=1) / safe
    residual[positive] = relative
    proved[positive] = definite & (relative <= tolerance) & (bound <= tolerance) & (own <= math.sqrt(tolerance))
    return residual, proved
