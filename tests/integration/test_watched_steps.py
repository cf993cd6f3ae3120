"""Events and integrals of motions without contacts, and recording instants that do not decide an adaptive motion."""

import numpy as np
import pytest
import sympy as sp

import gaussopt as go

PERIOD = 2.3678419475762374493
"""Of the pendulum from the horizontal."""


def pendulum(**settings):
    found = go.simulate("pendulum", **{"stabilisation": "projection", "error_estimate": False, **settings})
    assert found.status is go.Status.SOLVED, found.message
    return found


def lowest(**settings):
    return go.Event("lowest", lambda t, q, v: q[0], **settings)


@pytest.mark.parametrize(
    ("stepper", "settings", "error"),
    [
        ("rk4", {"dt": 1e-2}, 1e-7), ("dop853", {"rtol": 1e-9, "atol": 1e-9}, 1e-7),
        ("radau-projected", {"rtol": 1e-6, "atol": 1e-6}, 1e-7),
    ],
)  # fmt: skip
def test_events_are_where_they_happen_and_change_nothing(stepper, settings, error):
    t_end, exact = 0.8 * PERIOD, PERIOD * np.array([0.25, 0.75])
    found = pendulum(stepper=stepper, t_end=t_end, record_every=50, events=[lowest()], **settings)
    assert [event["kind"] for event in found.events] == ["lowest"] * 2
    np.testing.assert_allclose([event["t"] for event in found.events], exact, atol=error)
    at = [int(np.argmin(np.abs(found.t - event["t"]))) for event in found.events]
    assert np.abs(found.q[at, 0]).max() < 1e-9
    plain = pendulum(stepper=stepper, t_end=t_end, record_every=50, engine="interpreted", **settings)
    np.testing.assert_array_equal(plain.q[-1], found.q[-1])


def test_direction_and_end_at_an_event():
    found = pendulum(t_end=PERIOD, dt=2e-2, events=[lowest(direction=1)])
    np.testing.assert_allclose([event["t"] for event in found.events], [0.75 * PERIOD], atol=1e-6)
    found = pendulum(t_end=PERIOD, dt=2e-2, events=[lowest(terminal=True)])
    assert found.t[-1] == pytest.approx(PERIOD / 4, abs=1e-6)
    assert found.events[-1]["terminal"]
    # There and back again within one step: x has its minimum -L at half a period.
    near = go.Event("turn", lambda t, q, v: q[0] + 1.0 - 1e-7)
    found = pendulum(stepper="dop853", t_end=PERIOD, events=[near], rtol=1e-10, atol=1e-10)
    instants = [event["t"] for event in found.events]
    assert len(instants) == 2
    assert instants[0] < PERIOD / 2 < instants[1]


def test_integrals_have_the_order_of_the_steps_and_stay_in_files(tmp_path):
    """The kinetic energy of the slider-crank with its spring; 3.33661 is printed by SUNDIALS."""
    names = "J1 m2 J2 v_theta_crank v_x_rod v_theta_rod"
    J1, m2, J2, a, b, c = sp.symbols(names)
    integrals = {"G": (J1 * a**2 + m2 * b**2 + J2 * c**2) / 2, "time": lambda t, q, v: 1.0}

    def run(**settings):
        return go.simulate(
            "slider-crank-spring", stepper="dop853", rtol=1e-9, atol=1e-9, stabilisation="projection",
            error_estimate=False, integrals=integrals, **settings,
        )  # fmt: skip

    found = run(dt=2.5)
    assert found.integrals["G"][-1] == pytest.approx(3.336606799483, abs=1e-8)
    np.testing.assert_allclose(found.integrals["time"], found.t, atol=1e-13)
    first = run(dt=2.5, t_end=5.0)
    joined = go.concatenate([first, run(start=first, t_end=10.0)])
    np.testing.assert_allclose(joined.integrals["G"], found.integrals["G"], atol=1e-7)
    loaded = go.Trajectory.load(found.save(tmp_path / "motion.nc"))
    np.testing.assert_array_equal(loaded.integrals["G"], found.integrals["G"])
    assert found.to_pandas()["integral_G"].iloc[-1] == found.to_mapping()["integrals"]["G"] == found.integrals["G"][-1]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"G": sp.Symbol("z")}, "'z'"), ({"G": 3}, "not callable"), (5, "integrals is 5"),
        ({"G": lambda t, q, v: q[5]}, "IndexError"), ({3: lambda t, q, v: 1.0}, "The name of an integral is 3"),
    ],
)  # fmt: skip
def test_integrals_that_are_none(given, word, assert_sentence):
    with pytest.raises(go.BadInput) as caught:
        go.simulate("pendulum", t_end=0.1, integrals=given)
    assert_sentence(caught.value, word)


def test_an_event_has_a_name(assert_sentence):
    with pytest.raises(go.BadInput) as caught:
        go.Event(" ", lambda t, q, v: 1.0)
    assert_sentence(caught.value, "The name of an event is ' '")


def test_integrals_and_events_refuse_what_cannot_see_every_step(assert_sentence):
    for problem, settings, word in (
        ("bouncing-ball", {"integrals": {"x": lambda t, q, v: 1.0}}, "contacts"),
        ("pendulum", {"engine": "compiled", "events": [lowest()]}, "every step"),
    ):
        with pytest.raises(go.NotAccepted) as caught:
            go.simulate(problem, t_end=0.1, **settings)
        assert_sentence(caught.value, word)


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize("stepper", ["rk45", "dop853"])
def test_recording_instants_do_not_decide_the_motion(stepper, engine):
    runs = [pendulum(stepper=stepper, t_end=2.0, dt=dt, engine=engine) for dt in (None, 0.05, 0.7)]
    for found in runs[1:]:
        np.testing.assert_array_equal(found.q[-1], runs[0].q[-1])
        assert found.meta["steps"] == runs[0].meta["steps"]
        assert found.position_drift.max() < 1e-13
    # States between two steps are as exact as those at their ends: elliptic functions at t = 0.5 and 1.
    np.testing.assert_allclose(
        runs[1].q[[10, 20]],
        [[0.3910487915505464, -0.9203699487851922], [-0.9862917511318753, -0.16501085312554117]], atol=1e-7,
    )  # fmt: skip
    np.testing.assert_array_equal(runs[2].t, [0.0, 0.7, 1.4, 2.0])


def test_long_adaptive_motions_are_compiled():
    """Their work is told from their first steps, and from later ones where a motion speeds up."""
    slow = {"q0": [1e-9, 1.0], "v0": [0.0, 0.0], "t_end": 280.0}  # it leaves the upper position in 7 s
    engines = [pendulum(stepper="dop853", **given).meta["engine"] for given in ({"t_end": 0.5}, {"t_end": 400.0}, slow)]
    assert engines == ["interpreted", "compiled", "compiled"]
    # It began anew: nothing is left of the steps that were interpreted before.
    twice = [pendulum(stepper="dop853", **{**slow, **given}) for given in ({}, {"engine": "compiled"})]
    np.testing.assert_array_equal(twice[0].t, twice[1].t)
    np.testing.assert_array_equal(twice[0].q, twice[1].q)
