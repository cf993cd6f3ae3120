"""Coulomb's law stated exactly, relaxed, with facets and by iteration: what each answers, judged by the law itself."""

from __future__ import annotations

import json
from pathlib import Path

import contact_cases as known
import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.core.cone_program import ConeProgram
from gaussopt.modelling.contact_piles import sphere_pile
from gaussopt.relaxations import RELAXATIONS
from gaussopt.solving.solve import solve_contacts

FEW = ("ccp-dilation", "pyramid-direction", "slip-rotates", "pinch-held", "spheres-collide")
"""Contacts that slide, stick and open, each with one velocity."""


@pytest.mark.parametrize("name", RELAXATIONS)
def test_exact_formulations_find_the_velocity_and_relaxations_only_where_they_must(name: str) -> None:
    right = 0
    for case in FEW:
        problem = known.problem(case)
        found = solve_contacts(problem, name)
        u, truth = found["u"], problem.u(known.truths(case)[0])
        error = float(np.linalg.norm(u - truth) / np.linalg.norm(problem.q))
        right += error <= 1e-6
        assert (found["status"] == "solved") == (error <= 1e-6), (case, found["message"])
    assert right == len(FEW) if RELAXATIONS[name].exact else right < len(FEW)


@pytest.mark.parametrize("name", RELAXATIONS)
def test_nothing_is_solved_that_has_no_solution(name: str) -> None:
    for case in ("belt-no-solution", "approaching-walls"):
        assert solve_contacts(known.problem(case), name)["status"] == known.cases()[case]["expected_status"]


def test_the_convex_relaxation_lifts_what_slides() -> None:
    """A block that slides opens with mu |u_T|; Coulomb's law keeps it on the ground."""
    found = solve_contacts(known.problem("ccp-dilation"), "coulomb-ccp")
    u = found["u"]
    assert u[0] == pytest.approx(0.8 * np.hypot(u[1], u[2]), rel=1e-9)
    assert found["dilation"] == pytest.approx(u[0])
    assert found["status"] == "inaccurate"
    assert solve_contacts(known.problem("ccp-dilation"))["dilation"] == 0.0


def test_more_facets_turn_the_slip_less() -> None:
    problem = known.problem("pyramid-direction")
    truth = problem.u(known.truths("pyramid-direction")[0])[1:]
    turns = []
    for facets in (4, 8, 16):
        u = solve_contacts(problem, f"coulomb-pyramid:{facets}")["u"][1:]
        turns.append(abs(float(np.degrees(np.arctan2(u[1], u[0]) - np.arctan2(truth[1], truth[0])))))
    assert turns == sorted(turns, reverse=True)
    assert turns[0] == pytest.approx(35, abs=1)
    assert turns[1] == pytest.approx(12.5, abs=0.1)
    assert turns[2] == pytest.approx(1.25, abs=0.01)


@pytest.mark.parametrize("radius", [None, 0.3], ids=["cones", "discs"])
@pytest.mark.parametrize("case", ["random-5-18-5", "frictionless", "pile-8"])
def test_all_methods_minimise_the_same_cone_program(case: str, radius: float | None) -> None:
    problem = known.problem(case)
    bound = None if radius is None else np.full(problem.k, radius * np.abs(known.truths(case)[0]).max())
    program = ConeProgram(problem.W, problem.q, problem.mu, bound)
    u = []
    for name in ("clarabel", "apgd", "scs", "cvxpy"):
        found = go.solve(program, name, tolerance=1e-6)
        assert found.status is go.Status.SOLVED, (name, found.message)
        u.append(problem.W @ found.x)
    assert max(np.linalg.norm(other - u[0]) for other in u) <= 1e-5 * np.linalg.norm(problem.q)


@pytest.mark.parametrize("solver", ["clarabel", "apgd", "scs", "cvxpy"])
def test_a_cone_program_of_no_contacts_is_solved_by_nothing(solver: str) -> None:
    empty = ConeProgram(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    assert go.solve(empty, solver).status is go.Status.SOLVED


def test_accelerated_gradients_take_many_contacts_in_blocks() -> None:
    pile = sphere_pile(200, mu=0.4, speed=0.5).local
    found = [go.solve(ConeProgram(pile.symmetric_part, pile.q, pile.mu), name).x for name in ("clarabel", "apgd")]
    assert pile.sparse
    assert np.linalg.norm(pile.W @ (found[1] - found[0])) <= 1e-8 * np.linalg.norm(pile.q)


def test_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "contacts.json"
    file.write_text(json.dumps(known.problem("ccp-dilation").to_mapping()))
    assert run(["solve", str(file), "--formulation", "coulomb-ccp", "--solver", "apgd", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["status"] == "inaccurate"
    assert run(["solve", str(file), "--formulation", "aclm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["programs"] > 1
    for wrong, culprit in (("coulomb-cpp", "coulomb-ccp"), ("coulomb-pyramid:2", "facets"), ("aclm:3", "aclm")):
        assert run(["solve", str(file), "--formulation", wrong, "--json"]) == 2
        assert culprit in json.loads(capsys.readouterr().out)["message"]
    assert run(["solve", str(file), "--formulation", "aclm", "--solver", "nsgs", "--json"]) == 2
    assert "ConeComplementarity" in json.loads(capsys.readouterr().out)["message"]
