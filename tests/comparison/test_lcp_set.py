"""The set of complementarity problems in comparisons: what a solver may take, and that false claims are false."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.comparison import plan as planning
from gaussopt.comparison.items import Item
from gaussopt.comparison.plan import Plan, answer_jobs, plan_of
from gaussopt.comparison.results import Results
from gaussopt.comparison.solver_sequence_run import SequenceRun
from gaussopt.comparison.sources import convex_programs, lcp_programs
from gaussopt.core import registry
from gaussopt.lcp.collection import known_lcps
from gaussopt.reporting.sections.comparison import document

PLUGINS = Path(__file__).parents[1] / "plugins"
SETTINGS: dict[str, Any] = {
    "steppers": ("rk4",), "dt": None, "t_end": None, "tolerance": 1e-7, "time_budget": 0.0, "case_limit": 300.0,
}  # fmt: skip
LIMITS = {"snail": 0.7, "lemke": np.inf, "": np.inf}


def test_a_problem_has_a_tenth_of_the_time_of_the_set() -> None:
    plan = plan_of([*lcp_programs(), *convex_programs()], None, ["lemke", "daqp"], False, 1, None, **SETTINGS)
    jobs = {(job.arguments["spec"]["name"], job.arguments["solver"]): job for job, _ in answer_jobs(plan)}
    of_set = jobs["murty-300", "lemke"]
    assert of_set.limit == 30.0
    assert of_set.share == ("lemke on the set of complementarity problems", 300.0)
    alone = jobs[convex_programs()[0].name, "daqp"]
    assert (alone.limit, alone.share[1]) == (300.0, np.inf)
    sizes = [known_lcps()[spec.name].lcp.n for spec in lcp_programs()]
    assert sizes == sorted(sizes)  # who runs out of time has at least been asked the small ones


def test_what_a_slow_solver_was_not_asked_is_said(
    compare: Callable[..., Results], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The pauses alone use up the time of the one, and the time of the other has no end, however slow the machine."""
    text = (PLUGINS / "dawdler.py").read_text(encoding="utf-8")
    (tmp_path / "snail.py").write_text(text.replace('"dawdler"', '"snail"').replace("pause = 0.03", "pause = 0.4"))
    go.register(tmp_path / "snail.py")
    of_plan = Plan.limits
    monkeypatch.setattr(
        Plan, "limits", lambda plan, spec, solver: of_plan(replace(plan, case_limit=LIMITS[solver]), spec, solver)
    )
    monkeypatch.setattr(planning, "OF_SET", 1000.0)
    programs = lcp_programs()[:12]
    results = compare(programs, None, [*LIMITS][:2], time_budget=0.0)
    said = {a.source.name: a.failure for a in results.answers if a.solver == "snail"}
    late = [name for name, failure in said.items() if failure]
    assert len(late) >= 9
    assert programs[0].name not in late
    assert set(said.values()) == {
        "",
        "not tried: the 0.7 s for snail on the set of complementarity problems were used up",
    }
    assert all(not a.failure and len(a.status) == 1 for a in results.answers if a.solver == "lemke")
    findings = "\n".join(map(str, document(results).findings))
    assert f"{len(late)} cases have no result ({len(late)} not tried)" in findings


@pytest.mark.parametrize("plugin", ["absolute_signs", "no_sign_test", "lemke"])
def test_claims_are_called_false_only_where_the_answer_is_wrong(plugin: str) -> None:
    """By the exact answers: one measure of zero for all rows is wrong where rows have units of their own."""
    if plugin not in registry.names("solver"):
        go.register(PLUGINS / f"{plugin}.py")
    false = []
    for known in known_lcps().values():
        if known.answers != "one" or known.lcp.n > 100:
            continue
        reply = SequenceRun("", plugin.replace("_", "-"), "setup").solve(Item(known.lcp, known.z))
        wrong = reply.claim is go.Status.SOLVED and reply.status is not go.Status.SOLVED
        assert not wrong or reply.error > 1e-7, known.name
        assert wrong or reply.claim is not go.Status.SOLVED or reply.error < 1e-7, known.name
        false += [known.name] * wrong
    assert (plugin == "lemke") == (not false)
    if plugin == "absolute_signs":
        assert false == ["units-6", "units-10", "units-30", "units-100"]
