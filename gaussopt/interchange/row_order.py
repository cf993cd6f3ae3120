"""The order in which a file has the rows of a contact, where it is not that of its format."""

from __future__ import annotations

import numpy as np

from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity, GlobalContacts
from gaussopt.core.errors import BadInput

ORDERS = {"normal-first": (0, 1, 2), "tangents-first": (2, 0, 1)}
"""Where N, T1 and T2 stand among the rows of a contact."""


def check_order(rows: str) -> None:
    """See that this is an order of rows; raises BadInput."""
    if rows not in ORDERS:
        raise BadInput(f"The order of rows {rows!r} is not known; give normal-first (N, T1, T2) or tangents-first.")


def reordered(
    problem: ConeComplementarity | GlobalContacts, rows: str, read_as: str
) -> ConeComplementarity | GlobalContacts:
    """A problem with its rows as N, T1, T2, which was read as if its file had the order `read_as` and has `rows`."""
    if rows == read_as:
        return problem
    first = np.argsort(ORDERS[read_as])  # undoes what the reader did
    place = first[list(ORDERS[rows])]
    order = (ROWS * np.arange(problem.k)[:, None] + place).ravel()
    return problem.in_order(order)
