"""Problems of the collection are chosen by their properties, and damaged ones are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go


def test_filters(built: Path) -> None:
    everything = go.collection(built)
    lcps = go.collection(built, kind="lcp", answers=["one", "several"], unknowns=(2, 10))
    assert lcps
    assert all(m.row["kind"] == "lcp" and 2 <= m.row["n"] <= 10 for m in lcps)
    assert {m.row["answers"] for m in lcps} == {"one", "several"}
    assert len(go.collection(built, "chain-3-open-*")) == 20
    assert 0 < len(go.collection(built, matrix_class="P-matrix")) < len(everything)
    assert {m.row["group"] for m in go.collection(built, sequence=True, kind="contact")} == {
        "friction-sequence-random-4"
    }


def test_answers_are_answers(built: Path) -> None:
    for name, solver in (("sliding-4-0.6-000", "lemke"), ("chain-3-open-007", "kkt"), ("gauss-4-003", "daqp")):
        (member,) = go.collection(built, name)
        found = go.solve(member.problem, solver)
        assert found.x is not None
        assert np.allclose(found.x, next(iter(member.answer.values())), rtol=1e-9, atol=1e-12)
    (member,) = go.collection(built, "contradiction-lcp-000")
    assert member.answer == {}
    assert go.solve(member.problem, "lemke").status in (go.Status.NO_SOLUTION, go.Status.INFEASIBLE)
    assert member.proof["answers"] == "none at all"
    assert member.difficulty is not None
    assert 0 <= member.difficulty[0] <= member.difficulty[1]
    assert "contradiction-lcp-000: lcp" in repr(member)


def test_refusals(built: Path, tmp_path: Path) -> None:
    with pytest.raises(go.UnknownName, match="property"):
        go.collection(built, knd="lcp")
    with pytest.raises(go.BadInput, match="smallest number first"):
        go.collection(built, unknowns=(9, 2))
    with pytest.raises(go.BadInput, match=r"holds no index\.json"):
        go.collection(tmp_path)
    (tmp_path / "index.json").write_text('{"problems": []}')
    with pytest.raises(go.BadInput, match="lists no problems"):
        go.collection(tmp_path)


def test_damaged_and_withdrawn_problems(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built / "problems" / "lcp-murty", tmp_path / "problems" / "lcp-murty")
    shutil.copytree(built / "proofs" / "lcp-murty", tmp_path / "proofs" / "lcp-murty")
    index = json.loads((built / "index.json").read_text())
    index["problems"] = [row for row in index["problems"] if row["group"] == "lcp-murty"][:3]
    index["problems"][1] |= {"withdrawn": "2027-01-01", "reason": "an example of a test"}
    (tmp_path / "index.json").write_text(json.dumps(index))
    assert len(go.collection(tmp_path)) == 2
    assert len(go.collection(tmp_path, withdrawn=True)) == 3
    first = go.collection(tmp_path)[0]
    path = tmp_path / str(first.row["file"])
    path.write_text(path.read_text().replace("-1.0", "-2.0"))
    with pytest.raises(go.BadInput, match="not the file that the index names"):
        _ = first.problem
