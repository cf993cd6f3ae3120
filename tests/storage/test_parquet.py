"""Parquet files written without a library, read by the reader beside the tests, and by pyarrow where it is there."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from parquet_reader import read

from gaussopt.storage.parquet import parquet

TABLE: dict[str, list[Any]] = {
    "name": ["a", "é", "", "d"], "n": [1, -2, 3_000_000_000, 4], "x": [0.5, None, -1e300, 2.0],
    "yes": [True, False, True, True],
    "P": [np.array([1.0, 2.0]), None, np.zeros(0), np.arange(20.0)],
    "nothing": [None, None, None, None],
}  # fmt: skip


def plain(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: [v.tolist() if isinstance(v, np.ndarray) else v for v in column] for name, column in table.items()}


def test_a_small_reader_finds_every_cell() -> None:
    assert read(parquet(TABLE)) == plain(TABLE)
    assert parquet(TABLE) == parquet(TABLE)


def test_pyarrow_finds_every_cell() -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    found = pd.read_parquet(io.BytesIO(parquet(TABLE)), engine="pyarrow")
    for name, column in plain(TABLE).items():
        for cell, value in zip(found[name], column, strict=True):
            assert (cell is None or cell != cell) if value is None else np.array_equal(cell, value)


def test_a_column_without_values_is_one_of_lists() -> None:
    # As numbers, readers such as pandas would turn the absent values into NaN, which qpbenchmark takes for bounds.
    assert b"element" in parquet({"lb": [None, None]})
    assert b"element" not in parquet({"x": [None, 1.0]})
