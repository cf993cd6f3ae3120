"""Scales that no unit can change."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gaussopt.linalg.dense import equilibrate

STEPS = (  # massless coordinates held beside masses; by another massless one only; by rows without any mass
    (np.diag([4.0, 1.0, 0.0]), np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 2.0]])),
    (np.diag([2.0, 0.0, 0.0]), np.array([[1.0, -1.0, 0.0], [0.0, 0.5, 3.0]])),
    (np.diag([2.0, 0.0, 0.0]), np.array([[0.0, 1.0, -2.0], [0.0, 0.5, 3.0]])),
    (np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, -2.0]])),
)
UNITS = st.lists(st.integers(-60, 60), min_size=3, max_size=3)


@given(st.sampled_from(STEPS), UNITS, UNITS)
def test_scaled_data_do_not_depend_on_units(
    step: tuple[np.ndarray, np.ndarray], units: list[int], rows: list[int]
) -> None:
    M, J = step
    d, row = equilibrate(M, J)
    c, r = 2.0 ** np.array(units[: len(M)]), 2.0 ** np.array(rows[: len(J)])
    if (J[:, M.diagonal() > 0] == 0).all():
        r[:] = r[0]  # rows without any mass have no measure but each other
    M_c, J_c = M * np.outer(c, c), J * c * r[:, None]
    d_c, row_c = equilibrate(M_c, J_c)
    np.testing.assert_allclose(J_c * d_c * row_c[:, None], J * d * row[:, None], rtol=1e-13)
    np.testing.assert_allclose(M_c * np.outer(d_c, d_c), M * np.outer(d, d), rtol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(J_c * d_c * row_c[:, None], axis=1), 1.0, rtol=1e-13)


def test_what_nothing_holds_keeps_its_unit() -> None:
    d, row = equilibrate(np.diag([4.0, 0.0]), np.zeros((1, 2)))
    np.testing.assert_array_equal(d, [0.5, 1.0])
    np.testing.assert_array_equal(row, [1.0])
    d, row = equilibrate(np.zeros((2, 2)), np.zeros((0, 2)))
    np.testing.assert_array_equal(d, [1.0, 1.0])
    assert row.shape == (0,)
