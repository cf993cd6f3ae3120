"""Nonlinear Gauss-Seidel sweeps over the contacts of a problem, by its blocks or by the factors of its operator.

With factors, work and memory of a contact depend on the bodies that it touches, not on how many contacts they have.
With colours, threads solve contacts without a common body at the same time; the impulses that a contact uses, and so
the result, do not depend on the number of threads.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gaussopt.cone.groups import Groups
from gaussopt.cone.sweep_kernel import (
    block_part,
    block_sweeps,
    blocks_into,
    colours_of,
    factor_part,
    factor_sweeps,
    grouped_sweeps,
    projected_sweep,
    split_blocks,
)
from gaussopt.core.arrays import Index, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.delassus import DelassusProduct, formed, stored_blocks
from gaussopt.jit.threads import share
from gaussopt.linalg.cones import steps_of, steps_of_traces


class BlockRows(NamedTuple):
    """An operator stored by rows of 3 x 3 blocks: blocks off the diagonal, (9 b,), and diagonal blocks, (9 k,)."""

    begin: Index
    column: Index
    beside: Vector
    own: Vector


def block_rows(W: Any, k: int) -> BlockRows:
    """Return the nonzero blocks of a dense operator, or all stored blocks of a sparse operator."""
    if isinstance(W, np.ndarray):
        begin, column = np.zeros(k + 1, dtype=np.int64), np.empty(k * k, dtype=np.int64)
        beside, own = np.empty(W.size), np.empty(ROWS**2 * k)
        blocks_into(np.ascontiguousarray(W), begin, column, beside, own)
        return BlockRows(begin, column[: begin[-1]], beside[: ROWS**2 * begin[-1]], own)
    begins, columns, blocks = stored_blocks(W)
    begin, column, own = np.zeros(k + 1, dtype=np.int64), np.empty(len(columns) - k, dtype=np.int64), np.empty(9 * k)
    beside = np.empty(len(blocks) - len(own))
    split_blocks(begins, columns, blocks, begin, column, beside, own)
    return BlockRows(begin, column, beside, own)


class ContactFactors(NamedTuple):
    """An operator H^T A H: its diagonal blocks; for each contact the entries of H and G = A H, and their rows."""

    begin: Index
    place: Index
    h: Vector
    g: Vector
    own: Vector

    @classmethod
    def of(cls, W: DelassusProduct, k: int) -> ContactFactors:
        """Return the factors of an operator; `place` covers the stored entries of H and of A H."""
        H, G = W.H.tocsc(), W.V
        n = H.shape[0]
        keys = [
            (np.repeat(np.arange(3 * k), np.diff(A.indptr)) // ROWS).astype(np.int64) * n + A.indices for A in (H, G)
        ]
        every, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        h, g = np.zeros((len(every), ROWS)), np.zeros((len(every), ROWS))
        for target, A, at in ((h, H, inverse[: len(keys[0])]), (g, G, inverse[len(keys[0]) :])):
            target[at, np.repeat(np.arange(3 * k), np.diff(A.indptr)) % ROWS] = A.data
        begin = np.searchsorted(every, np.arange(k + 1) * n)
        contact = np.repeat(np.arange(k), np.diff(begin))
        own = np.zeros((k, ROWS, ROWS))
        np.add.at(own, contact, h[:, :, None] * g[:, None, :])
        return cls(begin.astype(np.int64), every % n, h.ravel(), g.ravel(), own.ravel())


class Sweeps:
    """The data of a problem in the form that the kernels take; `r`, (3 k,), holds the impulses, which sweeps change.

    `threads` is 0 to solve contacts in their given order, otherwise the number of threads that solve them by colours.
    """

    def __init__(self, problem: ConeComplementarity, threads: int = 0) -> None:
        k = problem.k
        self.problem, self.r = problem, np.zeros(problem.n)
        self._threads = threads
        self._order: Index
        self._ends: Index
        self._order, self._ends = coloured(problem) if threads else (np.arange(k), np.array([0, k]))
        self._alpha, self._changes = np.zeros(k), np.zeros(k)
        self._product = isinstance(problem.W, DelassusProduct)
        self._data: BlockRows | ContactFactors = (
            ContactFactors.of(problem.W, k) if isinstance(problem.W, DelassusProduct) else block_rows(problem.W, k)
        )
        own = self._data.own.reshape(k, ROWS**2)[:, :: ROWS + 1]
        self.rho = steps_of(problem.W) if self._product else steps_of_traces(own.sum(axis=1))

    def run(self, count: int, tolerance: float = 0.0) -> float:
        """Sweep at most `count` times, until r changes by at most the tolerance in m/s; return the last change."""
        data: tuple[Any, ...] = (
            *self._data, np.ascontiguousarray(self.problem.q), self.problem.mu, self.rho, self.r, self._alpha,
            self._changes,
        )  # fmt: skip
        if self._product:
            data = (*data, self.problem.W.V @ self.r)  # type: ignore[attr-defined]
        whole: Any = factor_sweeps if self._product else block_sweeps
        part: Any = factor_part if self._product else block_part
        with np.errstate(over="ignore", invalid="ignore"):
            if not self._threads:
                return float(whole(self._order, *data, count, tolerance))
            change = 0.0
            for _ in range(count):
                for first, last in pairwise(self._ends.tolist()):
                    share(lambda a, b: part(self._order, a, b, *data), range(first, last), self._threads, 1)
                change = float(np.sqrt(self._changes.sum()))
                if change <= tolerance:
                    break
            return change

    def run_groups(self, groups: Groups, count: int, tolerance: float) -> None:
        """Sweep at most `count` times over each group of contacts of an operator stored as blocks, as `run` does."""
        q = np.ascontiguousarray(self.problem.q)
        data: Any = (*self._data, q, self.problem.mu, self.rho, self.r, self._alpha, self._changes, count, tolerance)
        grouped_sweeps(groups.order, groups.ends, *data)

    @cached_property
    def _largest(self) -> Vector:
        """Largest singular value of each diagonal block, (k,)."""
        return np.asarray(np.linalg.norm(self._data.own.reshape(-1, ROWS, ROWS), 2, axis=(1, 2)))

    def run_projected(self, count: int, omega: float) -> None:
        """Sweep with one projected step per contact, of size omega / (largest singular value of its block)."""
        step = omega / np.where(self._largest > 0, self._largest, 1.0 / self.rho)
        q = np.ascontiguousarray(self.problem.q)
        with np.errstate(over="ignore", invalid="ignore"):
            projected_sweep(*self.blocks, q, self.problem.mu, step, count, self.r)

    @property
    def nbytes(self) -> int:
        """Memory of the data of a sweep, in bytes."""
        return sum(part.nbytes for part in (*self._data, self.r, self.rho, self._alpha, self._changes, self._order))

    @cached_property
    def blocks(self) -> BlockRows:
        """The operator W, stored by 3 x 3 blocks."""
        return self._data if isinstance(self._data, BlockRows) else block_rows(formed(self.problem.W), self.problem.k)


def coloured(problem: ConeComplementarity) -> tuple[Index, Index]:
    """Return contacts sorted by colour, with different colours for neighbours, and the indices where colours begin."""
    begin, column, _, _ = block_rows(formed(problem.W), problem.k)
    colour = np.zeros(problem.k, dtype=np.int64)
    count = int(colours_of(begin, column, colour, np.full(problem.k + 1, -1)))
    ends = np.concatenate(([0], np.cumsum(np.bincount(colour, minlength=count))))
    return np.argsort(colour, kind="stable"), ends
