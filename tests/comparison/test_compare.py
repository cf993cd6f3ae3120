"""Comparisons: what is asked, what is recorded, and that nothing and nobody can spoil the rest."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison import motions as moving
from gaussopt.comparison import plan as planning
from gaussopt.comparison.compare import CasesDone
from gaussopt.comparison.items import Item
from gaussopt.comparison.metrics import liars
from gaussopt.comparison.plan import Plan, plan_of
from gaussopt.comparison.results import Results, read_results
from gaussopt.comparison.solver_sequence_run import TAMPERED, starts_of
from gaussopt.comparison.solver_sequence_run import SequenceRun as Follower
from gaussopt.comparison.sources import family_sweep, lcp_programs
from gaussopt.execution import dask
from gaussopt.reporting.document import Paragraph
from gaussopt.reporting.sections.comparison import document

QUICK: dict[str, Any] = {"t_end": 0.02, "stride": 50, "time_budget": 0.01}
UNTIMED: dict[str, Any] = {**QUICK, "time_budget": 0.0}
SETTINGS: dict[str, Any] = {
    "steppers": ("rk4",), "dt": None, "t_end": None, "tolerance": 1e-7, "time_budget": 0.0, "case_limit": 10.0,
}  # fmt: skip
PLUGINS = Path(__file__).parents[1] / "plugins"


def certain(results: Results) -> dict[str, Any]:
    """Everything but times and days, as text, so that NaN equals NaN."""
    motions = [replace(m, trajectory="", made={}) for m in results.motions]
    return {
        "answers": [json.dumps(replace(r, made={}).to_mapping()) for r in results.answers],
        "motions": [json.dumps(m.to_mapping()) for m in motions],
        "failures": results.failures,
    }


def test_exact_pairs_are_confirmed_timed_and_run(compare: Callable[..., Results]) -> None:
    results = compare(["crank-slider"], ["gauss", "lagrange", "null-space"], ["kkt", "newton", "osqp"], **QUICK)
    assert results.failures == {}
    pairs = {(r.formulation, r.solver) for r in results.answers}
    # Newton and OSQP take programs, not linear systems.
    assert pairs == {
        ("gauss", "kkt"), ("gauss", "newton"), ("gauss", "osqp"), ("lagrange", "kkt"), ("null-space", "kkt"),
    }  # fmt: skip
    for r in results.answers:
        assert len(r.status) == 5
        assert all(r.confirmed)
        assert all(r.claimed)
        assert max(r.error) < 1e-8
        assert max(r.certified) < 1e-8
        assert max(*r.primal, *r.dual, *r.gap) < 1e-9
    starts = {s: {r.start for r in results.answers if r.solver == s} for s in ("kkt", "newton", "osqp")}
    assert starts == {"kkt": {"setup"}, "newton": {"setup", "warm"}, "osqp": {"setup", "cold", "warm"}}
    timed = {(t.source.part, t.formulation, t.solver, t.start) for t in results.times}
    assert timed == {(r.source.part, r.formulation, r.solver, r.start) for r in results.answers}
    for t in results.times:
        assert t.repetitions >= 1
        assert all(s > 0 for s in t.per_step)
        assert t.parts["work"] == sorted(t.parts["work"])
        updated = t.solver == "osqp" and t.start != "setup"
        # On a busy machine there may be time for the first step only, which is set up.
        assert max(t.parts["update"]) > 0 if updated and len(t.per_step) > 1 else max(t.parts["setup"]) > 0
        assert updated or not any(t.parts["update"])
        assert math.isfinite(t.parts["backend"][2]) == (t.solver == "osqp")
    assert len(results.motions) == 5
    for motion in results.motions:
        assert motion.status == "solved"
        # RK4 with 1 ms over 20 ms against the reference.
        assert motion.error < 1e-9
        assert motion.energy_drift < 1e-6


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes part where no solver is named."""
    monkeypatch.setattr(planning, "installed_solvers", lambda stochastic: ["kkt", "daqp"])


def test_without_names_the_fastest_pair_of_each_formulation_simulates(
    few: None, compare: Callable[..., Results]
) -> None:
    told: list[str] = []
    results = compare("crank-slider", **QUICK, note=told.append)
    pairs = {(m.formulation, m.solver) for m in results.motions}
    formulations = [f for f, _ in pairs]
    assert {"gauss", "lagrange", "udwadia-kalaba"} <= set(formulations)
    assert len(set(formulations)) == len(formulations)
    step: dict[tuple[str, str], float] = {}
    for t in results.times:
        if t.start == starts_of(t.solver)[-1]:
            step[t.formulation, t.solver] = step.get((t.formulation, t.solver), 0.0) + t.step
    assert all(step[f, s] == min(x for pair, x in step.items() if pair[0] == f) for f, s in pairs)
    assert ("gauss", "kkt") in step
    assert ("gauss", "daqp") in step
    assert "Trajectories are those of the fastest pair of each formulation" in told[-1]
    assert "--motions" in told[-1]
    assert "Not computed" not in told[-1]
    assert results.meta["trajectories"] == told[-1]
    assert results.failures == {}
    (section,) = (s for s in document(results).sections if s.anchor == "motions")
    assert Paragraph(told[-1]) in section.blocks


def test_trajectories_that_nobody_asked_for_have_a_time(
    few: None, compare: Callable[..., Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "MOTION_TIME", 1e-3)
    told: list[str] = []
    results = compare("crank-slider", **UNTIMED, note=told.append)
    assert results.failures == {}
    assert len(results.motions) < 5
    assert re.search(r"Not computed within 0.001 s: .* by kkt on crank-slider", told[-1])


def test_who_is_named_simulates_as_before(few: None) -> None:
    def plan(formulations: list[str] | None, solvers: list[str] | None, motions: bool | None) -> Plan:
        return plan_of("crank-slider", formulations, solvers, False, 100, motions, **SETTINGS)

    assert plan(None, None, None).carriers == ()
    assert plan(["gauss"], None, None).carriers is None
    assert plan(None, ["kkt"], None).carriers is None
    assert plan(None, None, True).carriers is None
    assert plan(None, None, False).entries == ()
    liar = plan_of([str(PLUGINS / "liar.py"), "crank-slider"], None, None, False, 100, None, **SETTINGS)
    assert liar.carriers == ("liar",)


def test_the_fastest_and_the_named_carry_a_trajectory() -> None:
    seconds = {("gauss", "kkt"): 2.0, ("gauss", "daqp"): 1.0, ("dual", "kkt"): 0.5, ("dual", "mine"): math.inf}
    assert moving._fastest(seconds, ()) == [("dual", "kkt"), ("gauss", "daqp")]
    assert moving._fastest(seconds, ("mine",)) == [("dual", "kkt"), ("gauss", "daqp"), ("dual", "mine")]


def test_a_wrong_formula_is_measured_and_not_run(compare: Callable[..., Results]) -> None:
    results = compare("crank-slider", ["least-squares-as-printed"], ["kkt"], **UNTIMED)
    assert results.motions == ()
    for r in results.answers:
        assert not r.exact
        assert all(r.claimed)
        assert not any(r.confirmed)
        # The program is solved to the last digit; it is the wrong program.
        assert max(r.dual) < 1e-14
        assert min(r.certified) > 0.1
        assert max(r.error) > 0.5


def test_variants_and_cases_are_compared_with_their_own_reference(compare: Callable[..., Results]) -> None:
    results = compare(
        [go.problem("knife-edge-body", case="NH-A"), go.problem("four-bar", variant="printed-force")],
        ["gauss"], ["kkt"], dt=0.05, t_end=0.3, stride=20, time_budget=0.0,
    )  # fmt: skip
    # The first instants of the references (0.15 s, 0.01 s) lie on the grid of steps or there is nothing to compare.
    first, _ = (m.error for m in results.motions)
    assert first < 1e-6


def test_formulations_that_do_not_fit_are_listed_with_the_reason(compare: Callable[..., Results]) -> None:
    results = compare(["four-bar"], ["gauss", "dual"], ["kkt"], **UNTIMED)
    (refused,) = (r for r in results.answers if r.refused)
    assert (refused.formulation, refused.solver) == ("dual", "")
    assert "singular" in refused.refused


def test_a_problem_without_references_is_followed_along_its_own_motion(compare: Callable[..., Results]) -> None:
    results = compare(
        "block-on-incline", ["stick-slip", "lcp"], ["lemke"], stride=40, time_budget=0.0, motions=False
    )  # fmt: skip
    assert results.failures == {}
    (stick,) = {r.source.part for r in results.answers if r.formulation == "stick-slip"}
    assert stick == "own motion"
    assert all(all(r.confirmed) for r in results.answers if r.formulation == "stick-slip")


def test_solvers_with_options_and_precision(compare: Callable[..., Results]) -> None:
    words = ["osqp( polishing = no )", "osqp(polishing=False)"]  # one solver has one name
    results = compare("crank-slider", ["gauss"], words, precision=["gauss"], **UNTIMED)
    worst = {r.solver: max(r.certified) for r in results.answers if r.start == "warm" and "crank-A-2s" in r.source.part}
    assert set(worst) == {"osqp(polishing=False)"} | {
        f"osqp(polishing=False,eps_abs={e},eps_rel={e})" for e in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9)
    }
    assert worst["osqp(polishing=False,eps_abs=0.01,eps_rel=0.01)"] > 1e-5
    assert worst["osqp(polishing=False,eps_abs=1e-09,eps_rel=1e-09)"] < 1e-8
    # Trajectories are for what was asked, not for every setting of its precision.
    assert {m.solver for m in results.motions} <= {"osqp(polishing=False)"}


def test_the_progress_counts_cases() -> None:
    told: list[float] = []
    cases = CasesDone(told.append)
    answers = cases.stage(30, later=10)
    answers(0.5)
    answers(1.0)
    rest = cases.stage(4)  # fewer motions than there might have been
    rest(0.5)
    rest(1.0)
    cases.end()
    assert told == pytest.approx([15 / 40, 30 / 40, 35 / 40, 1.0, 1.0])


def test_several_steppers_with_settings_of_their_own(compare: Callable[..., Results]) -> None:
    words = ["rk4(dt=0.01)", "rk45(rtol=1e-6,atol=1e-6,dt=0.15)", "rk45(rtol=1e-9,atol=1e-9,dt=0.15)"]
    results = compare(
        go.problem("knife-edge-body", case="NH-A"), ["routh", "quasi-velocity"], ["kkt"], stepper=words, t_end=0.3,
        stride=100, time_budget=0.0,
    )  # fmt: skip
    found = {(m.formulation, m.stepper): m for m in results.motions}
    assert set(found) == {(f, w) for f in ("routh", "quasi-velocity") for w in words}
    for f in ("routh", "quasi-velocity"):
        loose, tight = found[f, words[1]], found[f, words[2]]
        assert loose.evaluations < tight.evaluations
        assert tight.error < 1e-7
        assert found[f, words[0]].error < 1e-4
    for word, takes in (("rk45(h=1)", "takes dt, rtol and atol"), ("rk4(rtol=1e-9)", "its steps are constant")):
        with pytest.raises(go.BadInput, match=takes):
            compare("four-bar", stepper=word)
    with pytest.raises(go.BadInput, match="positive"):
        compare("four-bar", stepper="rk4(dt=0)")


def test_families(compare: Callable[..., Results]) -> None:
    sources = family_sweep("box-stack", ["contacts=2,6", "friction=0"])
    results = compare(sources, ["gauss", "lcp"], ["daqp", "lemke"], time_budget=0.01)
    assert results.failures == {}
    assert {(r.formulation, r.solver) for r in results.answers} == {("gauss", "daqp"), ("lcp", "lemke")}
    assert {r.source.dials["contacts"] for r in results.answers} == {2.0, 6.0}
    assert all(all(r.confirmed) for r in results.answers)
    assert results.motions == ()


def test_a_liar_is_named(guests: None, compare: Callable[..., Results]) -> None:
    results = compare(["four-bar", "two-bar"], ["gauss", "stick-slip"], ["liar", "kkt", "lemke"], **UNTIMED)
    lies = [r for r in results.answers if r.solver == "liar"]
    assert lies
    for r in lies:
        assert all(r.claimed)
        assert not any(r.confirmed)
    assert all(all(r.confirmed) for r in results.answers if r.solver in ("kkt", "lemke") and not r.refused)
    (named,) = liars(results.answers)
    assert named.solver == "liar"
    assert named.correct == 0.0
    assert named.never_right
    assert any("liar" in finding for finding in document(results).findings)
    assert "liar" not in {m.solver for m in results.motions}


def test_a_solver_alone_is_asked_what_it_takes(clean_registry: None) -> None:
    solver = PLUGINS / "least_index.py"
    plan = plan_of(str(solver), None, ["lemke"], False, 10, True, **SETTINGS)
    assert plan.solvers == ("lemke", "least-index")
    assert {spec.source.kind for spec in plan.specs} == {"lcp"}
    assert not {"deap", "deap-cma"} & {*plan_of(solver, None, None, False, 10, True, **SETTINGS).solvers}


def test_who_rewrites_the_question_or_answers_otherwise_on_the_clock_is_not_believed(
    guests: None, compare: Callable[..., Results]
) -> None:
    solvers = ["meddler", "turncoat", "kkt"]
    results = compare("four-bar", ["gauss", "lagrange"], solvers, stride=100, time_budget=0.02, motions=False)
    assert {r.solver for r in results.answers} == {t.solver for t in results.times} == {*solvers}
    for r in results.answers:
        if r.solver == "meddler":
            assert all(r.claimed)
            assert not any(r.confirmed)  # it was given copies, and its answer is judged by what was asked
            assert set(r.status) <= {"inaccurate", "solver_error"}
        else:
            assert all(r.confirmed)
    for t in results.times:  # and their rivals are not disturbed
        assert (sum(t.unconfirmed) == 0) == (t.solver == "kkt")


def test_a_backend_that_rewrites_the_question_is_not_believed(
    clean_registry: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Solvers of the package get no copies; that a backend writes into what they pass on is noticed."""
    go.register(PLUGINS / "meddler.py")
    monkeypatch.setattr("gaussopt.solving.solver_sequence.is_foreign", lambda entry: False)
    step = go.StepData.from_mapping({"M": [[2.0]], "Q": [4.0]})
    reply = Follower("gauss", "meddler", "setup").solve(Item(step, np.array([2.0])))
    assert (reply.status, reply.message) == (go.Status.SOLVER_ERROR, TAMPERED)
    assert step.M.tolist() == [[2.0]]  # and the numbers are put back


def test_reasons_are_kept_and_one_name_is_a_list_of_one(compare: Callable[..., Results]) -> None:
    results = compare("four-bar", "gauss", "osqp(eps_abs=-1)", stride=100, time_budget=0.0)
    assert {(r.formulation, r.solver) for r in results.answers} == {("gauss", "osqp(eps_abs=-1.0)")}
    for r in results.answers:
        assert not any(r.confirmed)
        assert sum(r.reasons.values()) == len(r.status)
        assert all(len(reason) > 20 for reason in r.reasons)


def test_a_crash_and_a_solver_without_end_cost_one_case_each(guests: None, compare: Callable[..., Results]) -> None:
    point = family_sweep("linkage", ["bodies=3"])[0]
    results = compare(point, ["lagrange"], ["crasher", "sleeper", "kkt"], case_limit=2.0, time_budget=0.0)
    failed = {r.solver: r.failure for r in results.answers if r.failure}
    assert set(failed) == {"crasher", "sleeper"}
    assert "SIGSEGV" in failed["crasher"]
    assert failed["sleeper"] == "time limit: no answer within 2 s"
    assert len(results.failures) == 2
    assert all(all(r.confirmed) for r in results.answers if r.solver == "kkt")
    page = document(results)
    assert "crasher" in str(page)
    assert "no answer within 2 s" in str(page)


def test_a_solver_that_forgets_a_sign_is_found_out(
    running: None, clean_registry: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """On all mechanisms it would be right: their contact problems have forces that push from the beginning."""
    small = [spec for spec in lcp_programs() if 6 <= spec.typical().n <= 8]
    monkeypatch.setattr("gaussopt.comparison.sources.lcp_programs", lambda: small)
    forgetful, honest = str(PLUGINS / "sign_forgetter.py"), str(PLUGINS / "least_index.py")
    command = ["compare", forgetful, honest, "--solvers", "principal-pivoting", "--time-budget", "0", "--json"]
    assert run([*command, "--lcp", "--out", str(tmp_path)]) == 0
    finding = next(f for f in json.loads(capsys.readouterr().out)["findings"] if "certificate does not confirm" in f)
    assert "sign-forgetter at " in finding
    answers = Results.load(tmp_path).answers
    named = {w.solver: w for w in liars(answers)}
    assert named["sign-forgetter"].false_claims > len(small) / 2
    assert named["sign-forgetter"].correct < 0.5
    assert "principal-pivoting" not in named
    # The problems with one solution hold it, so that the true error stands beside the proved one.
    for a in answers:
        assert a.source.kind == "lcp"
        if a.solver == "principal-pivoting" and all(a.confirmed):
            assert math.isnan(a.error[0]) or a.error[0] < 1e-6


def test_the_results_of_another_comparison_are_not_replaced(tmp_path: Path, compare: Callable[..., Results]) -> None:
    folder = tmp_path / "s"
    first = compare(["four-bar"], ["gauss"], ["kkt"], out=folder, motions=False, **UNTIMED)
    for sources, formulations, settings, lost in (
        ("crank-slider", ["gauss"], {}, "the sources four-bar"), ("four-bar", ["dual"], {}, "the formulations gauss"),
        ("four-bar", ["gauss"], {"tolerance": 1e-5}, "tolerance 1e-07"),
        ("four-bar", ["gauss"], {"stepper": "dop853"}, "the steppers rk4"),
    ):  # fmt: skip
        with pytest.raises(go.BadInput, match=lost):
            compare([sources], formulations, ["kkt"], out=folder, motions=False, **{**UNTIMED, **settings})
        assert Results.load(folder).to_mapping() == first.to_mapping()
    assert certain(compare(["four-bar"], ["gauss"], ["kkt"], out=folder, motions=False, **UNTIMED)) == certain(first)
    more = compare(["four-bar"], ["gauss"], ["kkt", "osqp"], out=folder, motions=False, **UNTIMED)
    assert {a.solver for a in more.answers} == {"kkt", "osqp"}
    assert Results.load(folder).to_mapping() == more.to_mapping()


def test_tables(tmp_path: Path, compare: Callable[..., Results]) -> None:
    results = compare(["four-bar"], ["gauss"], ["kkt", "osqp"], out=tmp_path / "s", **QUICK)
    frames = results.to_pandas()
    assert set(frames) == {"summary", "steps", "times", "motions"}
    assert set(frames["motions"]["solver"]) == {"kkt", "osqp"}
    for m in results.motions:
        motion = go.Trajectory.load(tmp_path / "s" / "cases" / m.trajectory)
        assert motion.status is go.Status.SOLVED
        assert motion.to_xarray()["q"].shape == (21, 3)
    assert json.dumps(Results.load(tmp_path / "s").to_mapping()) == json.dumps(results.to_mapping())


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"sources": []}, "problem"),
        ({"sources": ["crank"]}, "crank"),
        ({"sources": ["crank-slider"], "formulations": ["gaus"]}, "gauss"),
        ({"sources": ["crank-slider"], "solvers": ["ktt"]}, "kkt"),
        ({"sources": ["crank-slider"], "solvers": ["osqp(eps=1)"]}, "eps_rel"),
        ({"sources": ["crank-slider"], "solvers": ["osqp(eps_abs=1"]}, "parenthesis"),
        ({"sources": ["crank-slider"], "dt": -1.0}, "dt"),
        ({"sources": ["crank-slider"], "t_end": 0.0}, "t_end"),
        ({"sources": ["crank-slider"], "stride": 0}, "stride"),
        ({"sources": ["crank-slider"], "tolerance": -1.0}, "tolerance"),
        ({"sources": ["crank-slider"], "time_budget": math.nan}, "budget"),
        ({"sources": ["crank-slider"], "case_limit": 0.0}, "limit"),
        ({"sources": ["crank-slider"], "formulations": ["lagrange"], "solvers": ["osqp"]}, "fit"),
        ({"sources": [replace(go.problem("four-bar"), name="mine")]}, r"is in no file.*compare 'mine\.py'"),
    ],
)
def test_bad_input(arguments: dict[str, Any], word: str) -> None:
    with pytest.raises(go.GaussoptError, match=word):
        go.compare(**arguments)


def test_command_writes_tables_and_report(
    running: None, drawn: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine"
    arguments = ["compare", "four-bar", "--formulations", "gauss,dual,pinv-mass-as-printed", "--solvers", "kkt,osqp"]
    arguments += ["--t-end", "0.02", "--stride", "50", "--time-budget", "0.01"]
    code = run([*arguments, "--out", str(out), "--json"])
    data = json.loads(capsys.readouterr().out)
    assert code == 0
    assert data["status"] == "solved"
    assert {m["formulation"] for m in data["motions"]} == {"gauss", "pinv-mass-as-printed"}
    for name in ("index.html", "index.md", "results.json.gz", "store.json", "tables/summary.csv", "tables/steps.csv"):
        assert (out / name).is_file()
    first = (out / "index.html").read_bytes()
    (out / "index.html").unlink()
    assert run(["report", str(out), "--json"]) == 0
    capsys.readouterr()
    assert (out / "index.html").read_bytes() == first
    before = {f.name: f.stat().st_mtime_ns for f in (out / "cases").iterdir()}
    assert run([*arguments, "--out", str(out), "--json"]) == 0
    capsys.readouterr()
    assert {f.name: f.stat().st_mtime_ns for f in (out / "cases").iterdir()} == before
    assert run([*arguments, "--out", str(out / "index.html" / "x"), "--json"]) == 2
    assert "Cannot write" in json.loads(capsys.readouterr().out)["message"]


def test_commands_refuse_what_they_cannot_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dask, "dask_executor", partial(dask.dask_executor, timeout=0.5))
    interrupted = tmp_path / "interrupted"
    (interrupted / "cases").mkdir(parents=True)
    for name in ("store.json", "cases/a.json", "cases/b.json"):
        (interrupted / name).write_text("{}")
    for arguments, word in [
        (["compare", "--out", str(tmp_path / "a")], "at least one"),
        (["compare", "four-bar", "--dial", "contacts=1:3", "--out", str(tmp_path / "a")], "--family"),
        (["compare", "--family", "box-stac", "--out", str(tmp_path / "a")], "box-stack"),
        (["compare", "--family", "box-stack", "--dial", "contact=3", "--out", str(tmp_path / "a")], "contacts"),
        (["compare", "nothing.json", "--out", str(tmp_path / "a")], "nothing.json"),
        (["compare", "--sequence", str(tmp_path), "--out", str(tmp_path / "a")], "manifest"),
        (["compare", "four-bar", "--jobs", "-1", "--out", str(tmp_path / "a")], "jobs"),
        (["compare", "four-bar", "--dask", "tcp://127.0.0.1:9", "--out", str(tmp_path / "a")], "scheduler"),
        (["compare", "four-bar", "--stepper", "", "--out", str(tmp_path / "a")], "stepper"),
        (["compare", "four-bar", "--formulations", "gauss,,dual", "--out", str(tmp_path / "a")], "gauss,,dual"),
        (["compare", "four-bar", "--solvers", "kkt,,osqp", "--out", str(tmp_path / "a")], "kkt,,osqp"),
        (["report", str(tmp_path)], "gaussopt compare"),
        (["report", __file__], "is not a folder"),
        (["report", str(interrupted)], "2 finished cases are kept"),
        (["export", "four-bar", "--formulation", "lagrange", "--out", str(tmp_path / "b")], "linear system"),
    ]:
        assert run([*arguments, "--json"]) == 2, arguments
        assert word in json.loads(capsys.readouterr().out)["message"]


GRID: dict[str, Any] = {
    "sources": ["two-bar"], "formulations": ["stick-slip", "lcp-qp"],
    "solvers": ["lemke", "osqp", "deap(generations=2)"], "t_end": 0.005, "stride": 200, "time_budget": 0.0,
}  # fmt: skip
"""Contacts, some solvers, one of them by chance, and short motions, off the clock."""


def test_a_grid_survives_being_killed_and_two_processes_give_what_one_gives(
    tmp_path: Path, compare: Callable[..., Results]
) -> None:
    """Other executors run the same jobs: tests/execution/test_workers.py and test_dask.py."""
    asked = ["--formulations", ",".join(GRID["formulations"]), "--solvers", ",".join(GRID["solvers"])]
    asked += ["--t-end", "0.005", "--stride", "200", "--time-budget", "0", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "gaussopt", "compare", *GRID["sources"], *asked]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    while len(list((tmp_path / "cases").glob("*.json"))) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = {f: f.stat().st_mtime_ns for f in (tmp_path / "cases").glob("*.json")}
    assert not (tmp_path / "results.json.gz").exists()
    broken = go.compare(**GRID, jobs=2, out=tmp_path)
    assert all(f.stat().st_mtime_ns == at for f, at in finished.items())  # what was finished was not computed again
    assert len(list((tmp_path / "cases").glob("*.json"))) > len(finished)
    assert broken.failures == {}
    assert len(broken.motions) == 2
    assert certain(read_results(tmp_path)) == certain(broken) == certain(compare(**GRID))  # as without interruptions
