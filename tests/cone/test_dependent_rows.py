"""Independent ones among equality rows, against singular values."""

from __future__ import annotations

import numpy as np
import pytest

from gaussopt.cone.dependent_rows import Dependence, into_range, rank_of


@pytest.mark.parametrize(("m", "n", "rank"), [(5, 9, 5), (6, 9, 3), (7, 4, 4), (4, 8, 0), (1, 3, 1)])
def test_the_rank_and_the_vectors_that_rows_can_have(m: int, n: int, rank: int) -> None:
    rng = np.random.default_rng(10 * m + rank)
    E = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    E *= 10.0 ** rng.uniform(-2, 2, size=(m, 1))
    of, Z, x = Dependence.of(m), np.ascontiguousarray(np.column_stack((E.T, rng.normal(size=n)))), rng.normal(size=m)
    assert rank_of(of, Z) == rank == np.linalg.matrix_rank(E)
    kept, others = of.order[:rank], of.order[rank:]
    assert sorted(of.order) == list(range(m))
    assert of.c[others, :rank] @ E[kept] == pytest.approx(E[others], abs=1e-10 * np.abs(E).max(initial=1.0))
    found = x.copy()
    into_range(of, rank, found)
    assert found == pytest.approx(E @ np.linalg.pinv(E) @ x, abs=1e-9)


def test_a_row_that_nearly_depends_on_others_is_in_doubt() -> None:
    Z = np.array([[1.0, 1.0], [0.0, 1e-6]])
    assert rank_of(Dependence.of(2), Z) == -1
