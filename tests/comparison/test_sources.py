"""Where steps come from: the same items in every process, and files that may not change on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go
from gaussopt.comparison.file_sources import programs_of
from gaussopt.comparison.sources import (
    SIMULATED,
    Spec,
    convex_programs,
    family_sweep,
    problem_specs,
    spec_of,
    states_of,
)
from gaussopt.core import registry

SPECS: list[Spec] = [
    *problem_specs(go.problem("two-bar"), 50),
    *problem_specs(go.problem("crank-slider", tau=0.0), 100),
    *family_sweep("sliding-row", ["contacts=1,4", "friction=0.1"]),
    *convex_programs(),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.source.label)
def test_a_spec_survives_the_journey(spec: Spec) -> None:
    there = spec_of(json.loads(json.dumps(spec.to_mapping())))
    assert there.source == spec.source
    here, copies = spec.items(), there.items()
    assert len(here) == len(copies) > 0
    for a, b in zip(here, copies, strict=True):
        assert type(a.data) is type(b.data)
        if isinstance(a.data, go.StepData):
            np.testing.assert_array_equal(a.data.M, b.data.M)
            np.testing.assert_array_equal(a.data.Q, b.data.Q)
        elif isinstance(a.data, go.QP):
            np.testing.assert_array_equal(a.data.P, b.data.P)


def test_states_of_a_reference_are_its_rows() -> None:
    crank = go.problem("crank-slider")
    rows = crank.reference("crank-A-2s")
    items = list(states_of(crank, "crank-A-2s", 40))
    assert [i.t for i in items] == rows.t[::40].tolist()
    for item, a in zip(items, rows.a[::40], strict=True):
        assert isinstance(item.data, go.StepData)
        np.testing.assert_allclose(go.solve_step(item.data, "gauss", "kkt").a, a, rtol=0, atol=1e-10)


def test_settings_of_a_reference_override_those_of_the_problem() -> None:
    reference = next(r for r in go.problem("crank-slider").references if r.parameters)
    plain = list(states_of(go.problem("crank-slider"), reference.name, 100))
    changed = go.problem("crank-slider", **dict.fromkeys(reference.parameters, 5.0))
    other = list(states_of(changed, reference.name, 100))
    for a, b in zip(plain, other, strict=True):
        assert isinstance(a.data, go.StepData)
        assert isinstance(b.data, go.StepData)
        np.testing.assert_array_equal(a.data.Q, b.data.Q)


def test_a_problem_without_references_gives_its_own_motion() -> None:
    (spec,) = problem_specs(go.problem("sliding-to-rolling"), 100)
    assert spec.reference == SIMULATED
    items = spec.items()
    assert items
    assert items[0].a is not None


def test_sweeps() -> None:
    points = family_sweep("box-stack", ["contacts=1:200", "friction=0.3"])
    assert {p.swept for p in points} == {"contacts"}
    values = [p.dials["contacts"] for p in points]
    assert values == sorted(set(values))
    assert (values[0], values[-1]) == (1, 200)
    assert all(p.dials["friction"] == 0.3 for p in points)
    everything = family_sweep("box-stack")
    assert len({p.swept for p in everything}) > 3
    defaults = {d.name: d.default for d in registry.load("family", "box-stack").dials}
    for p in everything:
        assert {k: v for k, v in p.dials.items() if k != p.swept} == {k: v for k, v in defaults.items() if k != p.swept}


def test_sources_are_told_apart(tmp_path: Path, compare: Callable[..., go.Results]) -> None:
    for folder, p in (("a", 2.0), ("b", 3.0)):
        (tmp_path / folder).mkdir()
        text = json.dumps({"kind": "qp", "P": [[p]], "q": [1.0]})
        (tmp_path / folder / "mine.json").write_text(text, encoding="utf-8")
    files = [programs_of(tmp_path / folder / "mine.json")[0] for folder in ("a", "b")]
    assert [(file.source.label, file.source.kind) for file in files] == [("mine", "qp")] * 2
    with pytest.raises(go.BadInput, match="2 sources are called 'mine'"):
        compare(files, solvers=["kkt"], time_budget=0.0)
    once = compare([files[0], files[0]], solvers=["kkt"], time_budget=0.0)
    assert len(once.answers) == 1
    # The default setting of a family is a point of every sweep.
    sweeps = [*family_sweep("linkage", ["bodies=2,7"]), *family_sweep("linkage", ["mass-ratio=1,10"])]
    found = compare(sweeps, ["lagrange"], ["kkt"], time_budget=0.0).answers
    assert [(a.source.swept, a.source.dials[a.source.swept]) for a in found] == [
        ("bodies", 2.0), ("bodies", 7.0), ("mass-ratio", 1.0), ("mass-ratio", 10.0),
    ]  # fmt: skip


def test_lcp_and_step_files_are_compared_too(tmp_path: Path, compare: Callable[..., go.Results]) -> None:
    lcp = tmp_path / "lcp.json"
    lcp.write_text(json.dumps({"kind": "lcp", "M": [[2.0, 1.0], [1.0, 2.0]], "q": [-5.0, -6.0]}), encoding="utf-8")
    step = tmp_path / "step.json"
    step.write_text(json.dumps({"kind": "step", "M": [[2.0]], "Q": [4.0]}), encoding="utf-8")
    results = compare(
        [*programs_of(lcp), *programs_of(step)], ["gauss"], ["lemke", "kkt", "newton"], time_budget=0.0
    )  # fmt: skip
    assert results.failures == {}
    assert {(r.source.name, r.formulation, r.solver) for r in results.answers} == {
        ("lcp", "", "lemke"), ("lcp", "", "newton"), ("step", "gauss", "kkt"), ("step", "gauss", "newton"),
    }  # fmt: skip
    assert all(all(r.confirmed) for r in results.answers)
