"""Whether the forces of contacts are determined, by a compiled loop and by LAPACK, against eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

from gaussopt.integration import recorded_contacts
from gaussopt.integration.recorded_contacts import determined


@pytest.mark.parametrize("few", [0, recorded_contacts.FEW_ROWS])
@pytest.mark.parametrize("rank", range(1, 13))
def test_forces_are_determined_where_no_eigenvalue_vanishes(
    rank: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded_contacts, "FEW_ROWS", few)
    random, seen = np.random.default_rng(rank), set()
    for _ in range(30):
        J = random.normal(size=(12, rank))
        W, opens, pushes = J @ J.T, random.random(4) < 0.8, random.random(4) < 0.6
        flat = random.random(4) < 0.3  # contacts without a second tangent
        W[2::3][flat], W[:, 2::3][:, flat] = 0.0, 0.0
        r = random.normal(size=12)
        r[::3] = np.where(pushes, 1.0, 0.0)
        rows = [3 * i + j for i in range(4) for j in range(3)
                if pushes[i] and (opens[i] or j) and not (flat[i] and j == 2)]  # fmt: skip
        wanted = len(rows) <= rank
        assert determined(W, opens, r) == wanted
        seen.add(wanted)
    assert len(seen) == 2 or not 2 <= rank <= 8
