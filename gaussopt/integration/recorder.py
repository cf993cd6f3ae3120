"""The recorder of a motion, which every engine fills with rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.integration.trajectory import COLUMNS, CONTACT_COLUMNS

SPARE = 2
"""Recorded rows are copied if the array that they are part of is more than so many times as large as they are."""


class Recorder:
    """Collects the values of a trajectory while it is computed: t, `COLUMNS` and, with contacts, `CONTACT_COLUMNS`.

    Attributes
    ----------
    replaced : numbers of the rows that `arrays` leaves out, since a later row records the same instant
    """

    def __init__(self, contacts: int = 0) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._wide: list[tuple[Vector, Matrix]] = []
        self._parts: Sequence[Any] = ()
        self._blocks: list[tuple[NDArray[np.float64], ...]] = []
        self._k, self._count = contacts, 0
        self.replaced: list[int] = []

    def add(self, *row: Any) -> None:
        """Add the values at one instant."""
        if self._wide:
            self._pack()
        self._rows.append(row)
        self._count += 1

    def extend(self, *columns: NDArray[np.float64]) -> None:
        """Add the values at several instants, column by column."""
        self._pack()
        self._blocks.append(columns)
        self._count += len(columns[0])

    def extend_rows(self, t: Vector, rows: Matrix, parts: Sequence[Any]) -> None:
        """Add the values at the instants t, (N,), from rows that hold them side by side, at the places `parts`."""
        if self._rows:
            self._pack()
        if rows.base is not None and rows.base.size > SPARE * rows.size:
            t, rows = t.copy(), rows.copy()  # a view would keep in memory the rows that are not recorded, too
        self._wide.append((t, rows))
        self._parts, self._count = parts, self._count + len(t)

    def _pack(self) -> None:
        if self._wide:
            t, rows = (np.concatenate(x) for x in zip(*self._wide, strict=True))
            self._blocks.append((t, *(rows[part] for part in self._parts)))
            self._wide.clear()
        if self._rows:
            self._blocks.append(tuple(np.array(column, dtype=np.float64) for column in zip(*self._rows, strict=True)))
            self._rows.clear()

    def __len__(self) -> int:
        return self._count

    def latest(self) -> Recorder:
        """Return a recorder of the latest row alone."""
        one = Recorder(self._k)
        self._pack()
        one.add(*(column[-1] for column in self._blocks[-1]))
        return one

    def arrays(self, n: int) -> dict[str, Any]:
        """Return the columns of `Trajectory` by name, for n coordinates."""
        self._pack()
        sizes = {"coordinate": n, "row": 0, "contact": self._k, "tangent": 1}
        table = {"t": (), **COLUMNS, **CONTACT_COLUMNS}
        columns = (np.concatenate(x) for x in zip(*self._blocks, strict=True))
        if self.replaced:
            columns = (np.delete(x, self.replaced, axis=0) for x in columns)
        out = dict(zip(table, columns, strict=False))
        for name, dimensions in table.items():
            if name not in out:
                out[name] = np.zeros((len(out["t"]), *(sizes[x] for x in dimensions)))
        return out | {"forces_unique": out["forces_unique"] > 0}
