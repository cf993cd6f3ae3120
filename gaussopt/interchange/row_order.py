"""Orders of the rows of a contact in a file, if they differ from the order of its format."""

from __future__ import annotations

import numpy as np

from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity, GlobalContacts
from gaussopt.core.errors import BadInput

ORDERS = {"normal-first": (0, 1, 2), "tangents-first": (2, 0, 1)}
"""Indices of N, T1 and T2 among the rows of a contact."""


def check_order(rows: str) -> None:
    """Check that `rows` names an order of rows; raises BadInput."""
    if rows not in ORDERS:
        raise BadInput(f"The order of rows {rows!r} is not known; give normal-first (N, T1, T2) or tangents-first.")


def reordered(
    problem: ConeComplementarity | GlobalContacts, rows: str, read_as: str
) -> ConeComplementarity | GlobalContacts:
    """Return a problem with rows N, T1, T2, after a file with the order `rows` was read as one with `read_as`."""
    if rows == read_as:
        return problem
    first = np.argsort(ORDERS[read_as])  # undoes what the reader did
    place = first[list(ORDERS[rows])]
    order = (ROWS * np.arange(problem.k)[:, None] + place).ravel()
    return problem.in_order(order)
