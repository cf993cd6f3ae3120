"""What a recorder keeps of the rows that it is given."""

from __future__ import annotations

import weakref

import numpy as np

from gaussopt.integration.recorder import Recorder
from gaussopt.integration.trajectory import COLUMNS


def test_rows_that_are_not_recorded_are_not_kept_in_memory() -> None:
    recorder, t, rows = Recorder(), np.arange(1000.0), np.arange(5000.0).reshape(1000, 5)
    kept, values = weakref.ref(rows), rows[::100].copy()
    parts = [(slice(None), slice(2, 2 + len(dimensions)) if dimensions else 4) for dimensions in COLUMNS.values()]
    recorder.extend_rows(t[::100], rows[::100], parts)
    del rows
    assert kept() is None
    found = recorder.arrays(1)
    assert (found["t"] == t[::100]).all()
    assert (found["q"] == values[:, 2:3]).all()
