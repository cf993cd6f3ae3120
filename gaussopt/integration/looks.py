"""Collection of the positions at all steps of a motion, recorded or not, and comparison with another motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gaussopt.core.arrays import Matrix, Vector

MOST = 2**24
"""Largest number of floats kept as positions of a motion; a longer motion is computed again for a comparison."""

BLOCK = 2**18
"""Approximate number of floats (positions, or states of generated code) that are collected before their use."""

SAME = 1e-13
"""Difference, relative to 1 s + t, up to which instants count as equal: a continuation rounds them differently."""


class Looks:
    """Collects the positions after the steps of a motion, and passes them to `take` in blocks.

    Attributes
    ----------
    between : whether also to collect positions within steps of an adaptive method, at the instants that `due` returns
    """

    between = False

    def __init__(self) -> None:
        self._waiting: list[tuple[Vector, Matrix]] = []
        self._count = 0

    def at(self, t: float, q: Vector) -> None:
        """Add the instant and the positions, (n,), after a step."""
        self.rows([t], q[None])

    def rows(self, t: Vector | list[float], q: Matrix) -> None:
        """Add the instants, (r,), and positions, (r, n), after r steps."""
        if len(t):
            self._waiting.append((np.array(t), np.array(q)))  # copies, as the caller may use its arrays again
            self._count += q.size
            if self._count >= BLOCK:
                self.flush()

    def flush(self) -> None:
        """Pass the collected positions to `take`."""
        if self._waiting:
            blocks, self._waiting, self._count = self._waiting, [], 0
            self.take(*joined(blocks))

    def due(self, t: float) -> Vector:
        """Return the requested instants up to t that no earlier call has returned."""
        return np.zeros(0)

    def take(self, t: Vector, q: Matrix) -> None:
        """Process a block of instants, (r,), and positions, (r, n)."""


def joined(blocks: list[tuple[Vector, Matrix]]) -> tuple[Vector, Matrix]:
    """Return instants and positions of blocks as one block."""
    if len(blocks) == 1:
        return blocks[0]
    return np.concatenate([t for t, _ in blocks]), np.vstack([q for _, q in blocks])


class Steps(Looks):
    """Stores the positions of a motion.

    Parameters
    ----------
    most : largest number of floats to store; a longer motion is not stored at all

    Attributes
    ----------
    low, high : (n,), smallest and largest value of each coordinate; empty before the first block is passed on
    fastest : largest norm of the mean velocity over one step
    whole : whether all positions are stored
    """

    def __init__(self, most: int = MOST) -> None:
        super().__init__()
        self.low, self.high = np.zeros(0), np.zeros(0)
        self.whole, self._most, self._size, self.fastest = True, most, 0, 0.0
        self._end: tuple[Vector, Matrix] | None = None
        self._blocks: list[tuple[Vector, Matrix]] = []

    def take(self, t: Vector, q: Matrix) -> None:
        """Store a block of instants and positions."""
        low, high = q.min(axis=0), q.max(axis=0)
        first = not len(self.low)
        self.low, self.high = (low, high) if first else (np.minimum(self.low, low), np.maximum(self.high, high))
        begin = (t[:1], q[:1]) if self._end is None else self._end
        times, ways = np.diff(np.append(begin[0], t)), np.linalg.norm(np.diff(np.vstack((begin[1], q)), axis=0), axis=1)
        self.fastest = max(self.fastest, float((ways[times > 0] / times[times > 0]).max(initial=0.0)))
        self._end = t[-1:], q[-1:].copy()
        self._size += q.size
        if self._size > self._most:
            self.whole, self._blocks = False, []
        if self.whole:
            self._blocks.append((t, q))

    @property
    def last(self) -> float:
        """The latest stored instant."""
        return float(self._blocks[-1][0][-1]) if self._blocks else -np.inf

    def states(self) -> tuple[Vector, Matrix]:
        """Return all stored instants and positions, in order of time."""
        self.flush()
        if len(self._blocks) > 1:
            self._blocks = [joined(self._blocks)]
        return self._blocks[0] if self._blocks else (np.zeros(0), np.zeros((0, len(self.low))))

    def forget(self, t: float) -> None:
        """Discard the positions before an instant."""
        times, q = self.states()
        keep = int(np.searchsorted(times, t, side="left"))
        self._size -= keep * q.shape[1]
        self._blocks = [(times[keep:], q[keep:])] if keep < len(times) else []


class Differences(Looks):
    """Compares a motion with a reference motion at all instants that both contain.

    Parameters
    ----------
    mine : Steps, the reference motion
    between : whether also to compare within steps, at the instants of the reference motion
    ahead : callable that continues the reference motion, and returns False at its end; None if it is complete

    Attributes
    ----------
    largest : (n,), largest difference of each coordinate
    count : number of instants compared
    """

    def __init__(self, mine: Steps, n: int, between: bool, ahead: Callable[[], bool] | None = None) -> None:
        super().__init__()
        self._mine, self._ahead, self.between, self._asked = mine, ahead, between, -np.inf
        self.largest, self.count = np.zeros(n), 0

    def _known(self, t: float) -> tuple[Vector, Matrix]:
        """Compute the reference motion at least up to an instant, if it has not ended; return its positions."""
        while self._ahead is not None and self._mine.last < t and self._ahead():
            self._mine.flush()
        return self._mine.states()

    def due(self, t: float) -> Vector:
        """Return the instants of the reference motion up to t that no earlier call has returned."""
        if not self.between:
            return super().due(t)
        times = self._known(t)[0]
        begin, end = np.searchsorted(times, (self._asked, t), side="right")
        self._asked = t
        return times[begin:end]

    def take(self, t: Vector, q: Matrix) -> None:
        """Compare a block of positions with the reference motion."""
        slack = SAME * (1.0 + np.abs(t))
        times, states = self._known(float(t[-1] - slack[-1]))
        if not len(times):
            return
        near = np.minimum(np.searchsorted(times, t - slack), len(times) - 1)
        same = np.abs(times[near] - t) <= slack
        if same.any():
            apart = np.abs(states[near[same]] - q[same])
            self.largest = np.maximum(self.largest, apart.max(axis=0))
            self.count += int(same.sum())
        if self._ahead is not None:
            self._mine.forget(float(t[-1]))
