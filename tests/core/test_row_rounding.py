"""Rows that are rounding of the terms they were formed from, and small rows that are not."""

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

import gaussopt as go

STEP = {"M": np.eye(3), "Q": [1.0, 2.0, 3.0]}


def answer(tiny, gamma, **terms):
    data = {**STEP, "J": [[0.1, 0.05, 0.0], [0.0, 0.0, tiny]], "gamma": [-3e-6, gamma], **terms}
    return go.solve_step(go.StepData.from_mapping(data))


TERMS = {"J_terms": np.full((2, 3), 0.1), "gamma_terms": np.full(2, 0.1)}


@pytest.mark.parametrize(("tiny", "gamma"), [(0.0, 4e-17), (1.4e-17, 0.0), (1.4e-17, 4.6e-17), (-2e-16, 1e-17)])
def test_a_row_that_is_rounding_of_its_terms_constrains_nothing(tiny, gamma):
    found = answer(tiny, gamma, **TERMS)
    assert str(found.status) == "solved"
    assert found.a[2] == pytest.approx(3.0, rel=1e-12)


def test_a_right_hand_side_above_the_rounding_of_a_row_of_zeros_is_a_contradiction_by_name():
    found = answer(1.4e-17, 1e-9, **TERMS)
    assert str(found.status) == "infeasible"
    assert "Row 2 of J is zero, but gamma differs by 1e-09" in found.message


@pytest.mark.parametrize("terms", [{}, {"J_terms": np.array([[0.2, 0.2, 0.0], [0.0, 0.0, 2.0**-40]])}])
def test_a_small_row_in_other_units_stays_a_constraint(terms):
    unit = 2.0**-40
    found = answer(unit, -5.0 * unit, **terms)
    assert str(found.status) == "solved"
    assert found.a[2] == pytest.approx(-5.0, rel=1e-12)


def test_a_row_of_which_nothing_is_known_is_exact():
    assert answer(1.4e-17, 4.2e-17).a[2] == pytest.approx(3.0, rel=1e-12)
    assert str(answer(0.0, 4e-17).status) == "infeasible"


def test_rows_whose_difference_is_rounding_of_their_terms_depend_on_each_other():
    rows = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 3e-13]])  # differences of numbers of size 1000
    data = {**STEP, "J": rows, "gamma": [1.0, 1.0 + 1e-13]}
    known = go.StepData.from_mapping({**data, "J_terms": np.full((2, 3), 1e3), "gamma_terms": np.full(2, 1e3)})
    assert go.solve_step(known).a[2] == pytest.approx(3.0, rel=1e-9)
    assert go.rank_report(known).rank_J == 1
    assert go.rank_report(go.StepData.from_mapping(data)).rank_J == 2


def test_the_sizes_of_terms_go_to_a_file_and_come_back(tmp_path):
    step = go.StepData.from_mapping({**STEP, "J": [[1e-17, 0, 1]], "gamma": [0.0], "J_terms": np.ones((1, 3))})
    again = go.StepData.from_mapping(step.to_mapping())
    assert np.array_equal(again.J, [[0.0, 0.0, 1.0]])
    assert np.array_equal(again.J_terms, step.J_terms)


@pytest.mark.parametrize("terms", [np.full((2, 3), -1.0), np.full((1, 3), 1.0), np.full((2, 3), np.nan)])
def test_sizes_that_are_none_are_refused(terms):
    with pytest.raises(go.BadInput, match="J_terms"):
        answer(1.0, 0.0, J_terms=terms)


def loop(turned=None):
    """Three links whose end is fixed, a loop of one degree of freedom: in the plane, or in a plane turned in space.

    In space two rows hold in the plane and one across it, in a frame that is turned by the same parameters.
    """
    q, v = sp.symbols("a b c"), sp.symbols("va vb vc")
    place, rate, kinetic, potential = sp.zeros(2, 1), sp.zeros(2, 1), 0, 0
    for i, length in enumerate((0.4, 0.9, 0.7)):
        angle, spin = sum(q[: i + 1]), sum(v[: i + 1])
        along, across = sp.Matrix([sp.cos(angle), sp.sin(angle)]), sp.Matrix([-sp.sin(angle), sp.cos(angle)])
        centre = rate + length / 2 * spin * across
        kinetic += (1 + i) * (centre.dot(centre) / 2 + spin**2 * length**2 / 24)
        potential += 9.81 * (1 + i) * (place[1] + length / 2 * along[1])
        place, rate = place + length * along, rate + length * spin * across
    rows, values = [place[0] - 1.2, place[1]], {}
    if turned is not None:
        entries = sp.symbols("r:9")
        R, end = sp.Matrix(3, 3, entries), sp.symbols("x y z")
        off = R * sp.Matrix([*place, 0]) - sp.Matrix(end)
        rows = list(R.T * off)
        values = dict(zip(entries, turned.ravel(), strict=True)) | dict(zip(end, turned @ [1.2, 0, 0], strict=True))
    return go.System.from_lagrangian(
        q, v, kinetic=kinetic, potential=potential, holonomic=rows, parameters=values, name="loop"
    )


@pytest.fixture(scope="module")
def flat():
    system = loop()
    rest = fsolve(lambda x: system.position_residual(0.0, np.r_[1.2, x]), [-1.0, -1.0], xtol=1e-14)
    q = np.r_[1.2, rest]
    v = 2.0 * np.linalg.svd(system.evaluate(0.0, q, np.zeros(3)).J)[2][-1]
    return system, q, v


@pytest.mark.parametrize("seed", range(4))
def test_a_planar_loop_in_a_turned_plane_moves_as_in_the_plane(flat, seed):
    system, q, v = flat
    turned = loop(Rotation.random(random_state=seed).as_matrix())
    step = turned.evaluate(0.0, q, v)
    assert not step.J[2].any()
    truth = go.solve_step(system.evaluate(0.0, q, v)).a
    for formulation, solver in (("lagrange", "kkt"), ("gauss", "daqp"), ("null-space", "kkt")):
        found = go.solve_step(step, formulation, solver)
        assert str(found.status) == "solved"
        assert found.a == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize("options", [{"dt": 2e-3, "stabilisation": "projection"}, {"stepper": "dop853"}])
def test_its_motion_is_that_of_the_plane(flat, options):
    system, q, v = flat
    turned = loop(Rotation.random(random_state=7).as_matrix())
    ends = [go.simulate(go.Problem.of(x, q0=q, v0=v, t_end=0.2), step_folder=None, **options) for x in (system, turned)]
    assert [str(x.status) for x in ends] == ["solved"] * 2
    assert ends[1].q[-1] == pytest.approx(ends[0].q[-1], abs=1e-8)


def test_plain_functions_state_the_sizes_of_the_terms_of_their_rows():
    def rows(t, q, v):
        return [[1.0, 0.0], [1e-17, 3e-17]], [0.0, 0.0]

    def with_sizes(t, q, v):
        return *rows(t, q, v), np.ones((2, 2))

    at_rest = 0.0, np.zeros(2), np.zeros(2)
    kept, known = (go.System(np.eye(2), [0.0, 1.0], equality=x).evaluate(*at_rest) for x in (rows, with_sizes))
    assert go.solve_step(kept).a == pytest.approx([0.0, 0.0], abs=1e-12)
    assert go.solve_step(known).a == pytest.approx([0.0, 1.0], rel=1e-12)
