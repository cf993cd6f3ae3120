"""Every formulation and every solver on every stated step with contacts, and the whole file by the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from command_line import call_json

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.solver import missing_packages

ENTRIES = {s: registry.load("solver", s) for s in go.names("solver")}
SOLVERS = [s for s, entry in ENTRIES.items() if not entry.stochastic and not missing_packages(entry)]
LAWS = ("lcp", "lcp-qp", "stick-slip", "frozen-friction", "weighted-normal-force-qp")
PRINTED = ("normal-force-qp", "joint-force-qp")
FORMULATIONS = (*LAWS, *PRINTED, "gauss")
COARSE = {"highs", "scs", "clarabel", "cvxpy", "pgs", "piqp", "proxqp", "osqp"}
"""Solvers that iterate to a tolerance of their own: they may miss 1e-7 on a step, and then say so."""

STATED = 1e-9
"""Accuracy asked of exact solvers; the file's values are good to 6e-14, cond(delassus) reaches 1e3."""


class Expected(NamedTuple):
    name: str
    step: go.StepData
    values: dict[str, Any]
    mechanics: dict[str, Any]


@pytest.fixture(scope="session")
def contact_steps(data: Callable[[str], Any]) -> dict[str, list[Expected]]:
    """The steps with contacts by formulation."""
    found: dict[str, list[Expected]] = {f: [] for f in FORMULATIONS}
    for case in data("step_cases.json"):
        if case["kind"] == "step" and case["problem"].get("J_N"):
            step = go.StepData.from_mapping(case["problem"])
            for formulation, values in case["expect"].items():
                found[formulation].append(Expected(case["name"], step, values, case["expect"]["stick-slip"]))
    return found


def close(found: Any, stated: Any, tolerance: float = STATED) -> bool:
    """Equal in the size of the largest entry; null in the file is an infinite bound."""
    x = np.array([[np.nan if v is None else v for v in np.atleast_1d(row)] for row in stated], dtype=float)
    y = np.array(found, dtype=float).reshape(x.shape)
    y[~np.isfinite(y)] = np.nan
    # Entries of a range may be zero beside large ones; a sum of rounding errors is not relative to itself.
    return bool(np.allclose(y, x, rtol=0.0, atol=tolerance * (1.0 + np.nanmax(np.abs(x), initial=0.0)), equal_nan=True))


EQUALITIES = ("kkt", "sparse-kkt")
"""Solvers of linear systems."""


def takes(solver: str, program: Any) -> bool:
    """Which programs a solver takes: some equality rows only, quadprog no singular P, pgs divides by the diagonal."""
    if type(program) not in registry.load("solver", solver).accepts or solver in EQUALITIES:
        return False
    if solver == "quadprog":
        return bool(np.linalg.eigvalsh(program.P)[0] > 1e-12 * np.linalg.norm(program.P, 2))
    return solver != "pgs" or bool((program.M.diagonal() > 0).all())


def same_answer(values: dict[str, Any], mechanics: dict[str, Any]) -> bool:
    """Whether what a printed formula returns is the answer of the mechanics."""
    return values["status"] == mechanics["status"] == "solved" and close(values["a"], mechanics["a"])


def check_forces(answer: go.Answer, values: dict[str, Any], tolerance: float, where: str) -> None:
    for name in ("lam", "lam_N", "lam_T"):
        if name in values:
            found = getattr(answer, name)
            assert close(found[:, 0] if name == "lam_T" else found, values[name], tolerance), (where, name, found)


def check_listed(answer: go.Answer, values: dict[str, Any], where: str) -> None:
    """Ranges and solutions."""
    assert answer.contact is not None
    listed = answer.contact.to_mapping()
    for key in values:
        if key.endswith("_range"):
            assert close(listed[key], values[key], 1e-8), (where, key, listed[key])  # vertices by linear programs
    assert {k for k in listed if k.endswith("_range")} >= {k for k in values if k.endswith("_range")}
    if "solutions" in values:
        assert len(listed["solutions"]) == len(values["solutions"]), where
        for stated in values["solutions"]:
            match = [s for s in listed["solutions"] if close(s["a"], stated["a"])]
            assert len(match) == 1, (where, stated)
            for name in ("lam_N", "lam", "w"):
                if name in stated:
                    assert close(match[0][name], stated[name]), (where, name)


def check_solved(answer: go.Answer, step: go.StepData, values: dict[str, Any], tolerance: float, where: str) -> None:
    assert close(answer.a, values["a"], tolerance), where
    e = answer.a - np.array(values["a"])
    size = 1.0 + np.abs(values["a"]).max()
    floor = 10 * answer.certificate.rounding_floor + 1e-12 * size  # the file's own accuracy beside ours
    assert np.sqrt(e @ step.M @ e) <= 1.01 * answer.certificate.error_bound + floor, where
    if "w" in values:
        assert close(step.J_N @ answer.a + step.zeta_N, values["w"], tolerance), where


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("formulation", LAWS)
def test_laws_of_mechanics(formulation: str, solver: str, contact_steps: dict[str, list[Expected]]) -> None:
    """Status, acceleration, forces, ranges, solutions and uniqueness as stated."""
    taken = solved = 0
    for name, step, values, _ in contact_steps[formulation]:
        try:
            answer = go.solve_step(step, formulation, solver)
        except go.NotAccepted:
            continue
        taken += 1
        where = f"{name}: {answer.status}, {answer.message}"
        status = values["status"]
        if status == "solved" and solver in COARSE and str(answer.status) != "solved":
            assert str(answer.status) in ("inaccurate", "iteration_limit", "solver_error"), where
            continue
        assert str(answer.status) == status, where
        check_listed(answer, values, where)
        if status == "no_solution":
            assert answer.a is None, where
            continue
        assert answer.forces_unique is values["forces_unique"], where
        if status != "solved":
            assert answer.a is None, where  # never one of several without saying so
            continue
        solved += 1
        assert answer.certificate.passed(), where
        tolerance = 1e-6 if solver in COARSE else STATED
        check_solved(answer, step, values, tolerance, where)
        if values["forces_unique"]:
            check_forces(answer, values, 1e-5 if solver in COARSE else STATED, where)
        if "contraction" in values:
            assert answer.details["contraction"] == pytest.approx(values["contraction"], abs=1e-12), where
    accepted = [e for e in contact_steps[formulation] if takes(solver, go.formulate(e.step, formulation))]
    assert taken == len(accepted)
    if solver not in COARSE:
        assert solved == sum(e.values["status"] == "solved" for e in accepted)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("formulation", PRINTED)
def test_printed_programs(formulation: str, solver: str, contact_steps: dict[str, list[Expected]]) -> None:
    """What the printed formula returns is as stated; it passes exactly where that is the mechanics' answer."""
    taken = passed = 0
    for name, step, values, mechanics in contact_steps[formulation]:
        try:
            answer = go.solve_step(step, formulation, solver)
        except go.NotAccepted:
            continue
        taken += 1
        where = f"{name}: {answer.status}, {answer.message}"
        if values["status"] != "solved":
            # The program has no minimiser, which is said before any solver is asked.
            assert str(answer.status) == values["status"], where
            assert answer.a is None
            continue
        right = same_answer(values, mechanics)
        assert answer.certificate.passed(1e-6) is right, where
        if solver not in COARSE:
            assert str(answer.status) == ("solved" if right else "inaccurate"), where
        assert (str(answer.status) == "solved") <= right, where
        passed += str(answer.status) == "solved"
        tolerance = 1e-5 if solver in COARSE else STATED
        assert close(answer.a, values["a"], tolerance), where
        check_forces(answer, values, tolerance, where)
        if not right:
            distance = np.array(values["a"]) - np.array(mechanics["a"])
            error = np.sqrt(distance @ step.M @ distance)
            slack = 1e-4 if solver in COARSE else 1e-8
            # The certificate covers the distance to the mechanics, not to the formula.
            assert answer.certificate.error_bound >= error - slack * (1 + error), where
    stated = contact_steps[formulation]
    # Where the program has no minimiser, nobody is asked.
    assert taken in (sum(e.values["status"] != "solved" for e in stated), len(stated))
    if solver in ("daqp", "newton"):
        assert taken == len(stated)
        assert passed == sum(same_answer(e.values, e.mechanics) for e in stated)
        assert (passed, taken) == {"normal-force-qp": (19, 30), "joint-force-qp": (9, 16)}[formulation]


@pytest.mark.parametrize("solver", SOLVERS)
def test_contacts_without_friction_by_gauss(solver: str, contact_steps: dict[str, list[Expected]]) -> None:
    taken = 0
    for name, step, values, _ in contact_steps["gauss"]:
        for formulation in ("gauss", "dual"):
            try:
                answer = go.solve_step(step, formulation, solver)
            except go.NotAccepted:
                continue
            taken += 1
            where = f"{name}, {formulation}: {answer.message}"
            if solver in COARSE and str(answer.status) != "solved":
                assert str(answer.status) in ("inaccurate", "iteration_limit", "solver_error"), where
                continue
            assert str(answer.status) == "solved", where
            assert answer.forces_unique is values["forces_unique"] is False
            check_solved(answer, step, values, 1e-6 if solver in COARSE else STATED, where)
            check_listed(answer, values, where)
    programs = [go.formulate(e.step, f) for e in contact_steps["gauss"] for f in ("gauss", "dual")]
    assert taken == sum(takes(solver, program) for program in programs)


def test_what_is_not_listed_is_refused(contact_steps: dict[str, list[Expected]]) -> None:
    """The file lists a formulation only where it applies; elsewhere it says why not, in one sentence."""
    every = {e.name: e.step for e in contact_steps["stick-slip"]}
    for formulation in ("lcp", "lcp-qp", "weighted-normal-force-qp", "frozen-friction", "gauss"):
        for name in every.keys() - {e.name for e in contact_steps[formulation]}:
            with pytest.raises((go.NotAccepted, go.IllPosed)) as caught:
                go.formulate(every[name], formulation)
            assert str(caught.value).endswith("."), name
            assert "\n" not in str(caught.value), name


STEP_KEYS = {
    "status", "message", "formulation", "solver", "a", "lam", "lam_N", "lam_T", "w", "forces_unique", "certificate",
    "ranks", "iterations", "timing",
}  # fmt: skip


def test_every_expectation_of_the_file_by_the_command_line(
    data: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`gaussopt solve` on all 68 files with all their formulations, 291 expectations in all."""
    covered = dict.fromkeys(("step", "contact", "lcp", "qp"), 0)
    file = tmp_path / "case.json"
    for case in data("step_cases.json"):
        kind = case["kind"]
        contact = bool(case["problem"].get("J_N"))
        file.write_text(json.dumps({"kind": kind, **case["problem"]}))
        mechanics = case["expect"].get("stick-slip") or case["expect"].get("lcp") or case["expect"].get("gauss")
        for formulation, values in case["expect"].items():
            where = (case["name"], formulation)
            flags = [] if kind == "qp" else ["--formulation", formulation]
            code, found = call_json(capsys, "solve", str(file), *flags)
            covered["contact" if contact else kind] += 1
            status = values["status"]
            exact = kind == "qp" or registry.load("formulation", formulation).exact
            if status == "solved" and not exact and not agrees(values, mechanics, kind):
                status = "inaccurate"
            assert found["status"] == status, (where, found["message"])
            assert code == (0 if status == "solved" else 1), where
            assert found["message"].endswith((".", "?")), where
            if kind == "step":
                assert found.keys() >= STEP_KEYS, where
            compare_json(found, values, where, contact)
    assert covered == {"step": 77, "contact": 205, "lcp": 8, "qp": 1}
    assert sum(covered.values()) == 291


def agrees(values: dict[str, Any], mechanics: dict[str, Any], kind: str) -> bool:
    if mechanics["status"] != "solved":
        return False
    key = "lam_N" if kind == "lcp" else "a"
    return close(values[key], mechanics[key])


def compare_json(found: dict[str, Any], values: dict[str, Any], where: Any, contact: bool) -> None:
    """What the file states of the answer is what is printed."""
    if values["status"] == "solved":
        if "x" in values:
            assert close(found["x"], values["x"]), where
            assert close(found["y"], values["y_lower"]), where
        for key in ("a", "w", "eta", "weights"):
            if key in values:
                scale = values[key][0] / found[key][0] if key == "weights" else 1.0  # weights up to a factor
                assert close(np.array(found[key]) * scale, values[key]), (where, key)
        if values.get("forces_unique", True):
            for key in ("lam", "lam_N", "lam_T"):
                if key in values:
                    assert close(found[key], values[key]), (where, key)
        if "contraction" in values:
            assert found["contraction"] == pytest.approx(values["contraction"], abs=1e-12), where
    for key in values:
        if key.endswith("_range") and contact:
            assert close(found[key], values[key], 1e-8), (where, key)
    if "solutions" in values:
        assert len(found["solutions"]) == len(values["solutions"]), where
    printed = where[1].endswith("as-printed")  # the uniqueness printed is that of the mechanics' forces
    if "forces_unique" in values and found["status"] == "solved" and not printed:
        assert found["forces_unique"] is values["forces_unique"], where


SAMPLE = (
    "rod_regular", "rod_separating", "twobar_60_pull20_maximal", "guide_crank_A_2s_row75", "guide_dead_centre_stick",
    "box1_slip", "box3_stick", "box3_slide", "box_rail_hinge", "link_pull_left",
)  # fmt: skip


@pytest.mark.parametrize("name", SAMPLE)
def test_what_solve_prints_verify_accepts(
    name: str, data: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(c for c in data("step_cases.json") if c["name"] == name)
    problem, answer = tmp_path / "step.json", tmp_path / "answer.json"
    problem.write_text(json.dumps({"kind": "step", **case["problem"]}))
    code, solved = call_json(capsys, "solve", str(problem))
    assert code == 0
    assert (solved["formulation"], solved["solver"]) == ("stick-slip", "lemke")
    answer.write_text(json.dumps(solved))
    code, verified = call_json(capsys, "verify", str(problem), str(answer))
    assert code == 0, verified["message"]
    assert verified["status"] == "solved"
    assert verified["forces_unique"] is solved["forces_unique"]
    # The acceleration alone is certified too.
    answer.write_text(json.dumps({"a": solved["a"]}))
    assert call_json(capsys, "verify", str(problem), str(answer))[0] == 0
    # Any wrong part of it is not.
    for key in ("a", "lam", "lam_N", "lam_T"):
        if not solved[key] or (key == "lam_T" and not any(case["problem"]["mu"])):
            continue
        wrong = [x + (0.01 * (1 + max(map(abs, solved[key]))) if i == 0 else 0.0) for i, x in enumerate(solved[key])]
        answer.write_text(json.dumps({**solved, key: wrong}))
        code, refused = call_json(capsys, "verify", str(problem), str(answer))
        assert code == 1, key
        assert refused["status"] == "inaccurate", key


@pytest.mark.parametrize(("name", "status"), [
    ("rod_inconsistent", "no_solution"), ("rod_carriage_inconsistent", "no_solution"),
    ("rod_indeterminate", "multiple_solutions"), ("rod_carriage_indeterminate", "multiple_solutions"),
    ("guide_two_walls_prestress", "acceleration_not_unique"), ("box3_slide_mu_differs", "acceleration_not_unique"),
])  # fmt: skip
def test_verify_passes_no_answer_where_there_are_none_or_several(
    name: str, status: str, data: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(c for c in data("step_cases.json") if c["name"] == name)
    problem, answer = tmp_path / "step.json", tmp_path / "answer.json"
    problem.write_text(json.dumps({"kind": "step", **case["problem"]}))
    stated = case["expect"]["lcp"].get("solutions", [{"a": [0.0] * len(case["problem"]["M"])}])
    for solution in stated:
        answer.write_text(json.dumps({key: solution[key] for key in ("a", "lam_N") if key in solution}))
        code, found = call_json(capsys, "verify", str(problem), str(answer), "--tolerance", "inf")
        assert code == 1
        assert found["status"] == status
