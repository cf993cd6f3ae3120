"""Linear equations of contacts against dense matrices, for every form of the operator."""

from __future__ import annotations

import numpy as np
import pytest

from gaussopt.cone.response import SMALL, Response
from gaussopt.core.delassus import DelassusProduct, as_blocks
from gaussopt.modelling.contact_piles import box_wall


@pytest.mark.parametrize("form", ["dense", "filled", "blocks", "factors"])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_equations_are_solved_in_every_form(form: str, alpha: float) -> None:
    product, random = box_wall(400).local.W, np.random.default_rng(3)
    assert isinstance(product, DelassusProduct)
    n = product.shape[0]
    filled = random.normal(size=(n, 40))
    W = {"factors": product, "dense": product.toarray(), "blocks": as_blocks(product.tocsr())}.get(
        form, filled @ filled.T
    )
    whole = W if isinstance(W, np.ndarray) else W.toarray()
    K, B = np.eye(3) + 0.1 * random.normal(size=(n // 3, 3, 3)), np.eye(3) + 0.1 * random.normal(size=(n // 3, 3, 3))
    c = random.normal(size=n)
    response = Response.of(W).shifted(alpha)
    d = response.solver(K, B)(c)
    change = whole @ d + alpha * d
    assert np.allclose(response @ d, change, rtol=1e-10, atol=1e-10 * np.abs(change).max())
    assert np.allclose(response.diagonal(), whole.diagonal() + alpha, rtol=1e-12)
    rows = (-1, 3, 1)
    missed = (K @ d.reshape(rows) + B @ change.reshape(rows)).ravel() - c
    assert np.abs(missed).max() <= 1e-9 * np.abs(c).max()
    assert np.array_equal(response.solver(K, B, 0.2)(c), Response.of(W).solver(K, B, alpha + 0.2)(c))


def test_small_operators_stay_dense() -> None:
    assert Response.of(np.eye(SMALL)).small
    assert not Response.of(np.eye(SMALL + 3)).small
    assert not Response.of(box_wall(400).local.W).small
