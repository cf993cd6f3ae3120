"""Motions with friction in space: closed forms, invariance of the tangents, rest, impacts, and what relaxations do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.bodies import AppliedForce, BallTouch, Model, Pile, Touch
from gaussopt.bodies.overlaps import deepest
from gaussopt.integration.events.turning import _bends
from gaussopt.linalg.quaternions import spin_rows
from gaussopt.modelling.consistency import check_rows
from gaussopt.solving.solve import solve_contacts

G = 9.81
SOLVED = go.Status.SOLVED


def point(mu: float, force: Any, angle: float = 0.0, **coefficients: float) -> go.System:
    """A point of 1 kg over the floor, its tangents turned by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    T = np.array([[[c, s, 0.0], [-s, c, 0.0]]])

    def floor(t: float, q: Any, v: Any) -> dict[str, Any]:
        return {"g_N": q[2:], "J_N": [[0, 0, 1]], "zeta_N": [0], "J_T": T, "zeta_T": [[0, 0]], "mu": mu, **coefficients}

    return go.System(np.eye(3), force, contacts=floor, contact_names=["floor"], name="point")


def random_step(random: np.random.Generator, n: int, k: int, d: int, rest: int) -> go.StepData:
    """A step of k contacts that are pressed, the first of them without slip."""
    A, J_N = random.normal(size=(n, n)), random.normal(size=(k, n))
    v_T = np.where(np.arange(k) < rest, 0.0, 1.0)[:, None] * random.normal(size=(k, d))
    return go.StepData.from_mapping({
        "M": A @ A.T / n + np.eye(n), "Q": random.normal(size=n) - 3.0 * J_N.sum(axis=0), "J_N": J_N,
        "zeta_N": np.zeros(k), "J_T": random.normal(size=(k, d, n)), "zeta_T": np.zeros((k, d)), "v_T": v_T,
        "mu": random.uniform(0.1, 0.4, k),
    })  # fmt: skip


def run(problem: Any, **settings: Any) -> go.Trajectory:
    motion = go.simulate(problem, step_folder=None, error_estimate=False, **settings)
    assert motion.status is SOLVED, motion.message
    return motion


def test_a_point_slides_straight_stops_and_holds_whatever_the_tangents() -> None:
    """Until t = 2 s it is pulled with 80 % of its friction, then with 150 % of it; the tangents lie across its way."""
    angle, mu, way = 1.1, 0.4, np.array([0.6, -0.8, 0.0])

    def pull(t: float, q: Any, v: Any) -> Any:
        size = 0.0 if t < 1.5 else 0.8 if t < 2.0 else 1.5
        return [-0.8 * size * mu * G, -0.6 * size * mu * G, -G]

    start = {"q0": [0, 0, 0], "v0": 5 * way, "dt": 0.05, "t_end": 2.4}
    motion = run(point(mu, pull, angle), stepper="rk4", **start)
    stop, rest = 5 / (mu * G), 25 / (2 * mu * G) * way
    assert [(e["kind"], e["t"]) for e in motion.events] == [("stick", pytest.approx(stop, abs=1e-9)),
                                                            ("slip", pytest.approx(2.0, abs=0.02))]  # fmt: skip
    held = (motion.t > stop) & (motion.t < 2.0)
    assert np.abs(motion.q[held] - rest).max() < 1e-12
    assert np.abs(motion.v[held]).max() < 1e-12
    before = motion.t < stop
    np.testing.assert_allclose(motion.v[before], np.outer(5 - mu * G * motion.t[before], way), atol=1e-11)
    assert motion.worst.error_bound < 1e-12
    # The friction of a first step from rest opposes the acceleration: the motion goes where the pull goes.
    assert motion.v[-1] @ [-0.8, -0.6, 0.0] > 0.5
    assert abs(motion.v[-1] @ [0.6, -0.8, 0.0]) < 1e-12
    stepped = run(point(mu, pull, angle), stepper="moreau-jean", **start)
    held = (stepped.t > stop + 0.02) & (stepped.t < 2.0)
    assert np.abs(stepped.v[held]).max() < 1e-14
    assert np.abs(stepped.q[held] - rest).max() < 1e-3


def block(pull: tuple[float, float, float], v: tuple[float, float, float]) -> go.Problem:
    """A block of 2 kg that slides on its four lower corners and is pulled at its centre, so that it does not turn."""
    model = Model(dim=3, gravity=(0, 0, -G), name="sliding block")
    body = model.body("block", 2.0, (0.02, 0.03, 0.04), at=(0, 0, 0.1), velocity=v, quaternion_mass=0.03)
    floor = model.ground.at(0, 0, 0, axis=(0, 0, 1))
    for i, (x, y) in enumerate(((-1, -1), (1, -1), (1, 1), (-1, 1)), 1):
        model.add(Touch(f"corner {i}", floor, body.at(0.2 * x, 0.15 * y, -0.1), mu=0.4))
    model.add(AppliedForce("pull", model.ground, body, pull))
    return model.problem(t_end=0.6, dt=1e-2)


@pytest.mark.parametrize(("pull", "v"), [((0, 5, 0), (1, 0, 0)), ((3, -2, 0), (0.4, 0.8, 0)), ((0, 0, 0), (1, 0.5, 0))])
@pytest.mark.parametrize(
    ("settings", "accuracy"),
    [
        ({"stepper": "rk4", "dt": 1e-2}, 5e-5), ({"stepper": "rk4", "dt": 1e-2, "stabilisation": "projection"}, 5e-5),
        ({"stepper": "rk4", "dt": 2.5e-3}, 1e-6), ({"stepper": "dop853", "rtol": 1e-9, "atol": 1e-9, "dt": None}, 1e-9),
    ],
)  # fmt: skip
def test_a_block_pulled_across_its_slip_comes_to_rest(pull: Any, v: Any, settings: Any, accuracy: float) -> None:
    """The slip turns towards the pull, infinitely fast at last; r |v| + p v, with the decelerations r and p, is linear.

    Near the rest rounding turns the slips of the corners apart, so that only the sum of their friction is known.
    """
    r, p = 0.4 * G, np.array(pull) / 2.0
    stop = (r * np.linalg.norm(v) + p @ v) / (r**2 - p @ p)
    motion = run(block(pull, v), **settings, engine="compiled")
    sticks = [e["t"] for e in motion.events if e["kind"] == "stick"]
    assert sticks == pytest.approx([stop] * 4, abs=accuracy)
    assert (motion.mode[-1] == 2).all()
    assert motion.t[-1] == 0.6


@pytest.mark.parametrize("stepper", ["dop853", "moreau-jean"])
def test_a_sphere_slides_along_a_parabola_and_rolls(stepper: str) -> None:
    problem = go.problem("spinning-sphere")
    p = problem.parameter_values
    u0 = np.array([p["vx0"] - p["r"] * p["wy0"], p["vy0"] + p["r"] * p["wx0"]])
    ends, unit = 2 * np.linalg.norm(u0) / (7 * p["mu"] * G), u0 / np.linalg.norm(u0)
    implicit = stepper == "moreau-jean"
    motion = run(problem, stepper=stepper, dt=5e-3 if implicit else 0.05, t_end=0.6, stabilisation="projection")
    t = np.minimum(motion.t, ends)[:, None]
    v0 = np.array([p["vx0"], p["vy0"]])
    place = v0 * motion.t[:, None] - p["mu"] * G * unit * (t * (motion.t[:, None] - t) + t**2 / 2)
    near = 0.1 if implicit else 1e-7
    np.testing.assert_allclose(motion.q[:, :2], place, atol=near)
    np.testing.assert_allclose(motion.v[-1, :2], v0 - 2 / 7 * u0, atol=near)
    rolls = motion.t > ends + (0.05 if implicit else 1e-9)
    assert np.abs(motion.slip[rolls]).max() < (1e-4 if implicit else 1e-9)
    e, rate = motion.q[:, 3:], motion.v[:, 3:]
    upright = 2 * (-e[:, 3] * rate[:, 0] - e[:, 2] * rate[:, 1] + e[:, 1] * rate[:, 2] + e[:, 0] * rate[:, 3])
    np.testing.assert_allclose(upright, p["wz0"], atol=1e-11 if implicit else near)
    if not implicit:
        assert [x["t"] for x in motion.events if x["kind"] == "stick"] == [pytest.approx(ends, abs=1e-8)]
        energy = motion.kinetic + motion.potential
        assert np.ptp(energy[rolls]) < 1e-8
        assert (np.diff(energy) < 1e-8).all()


def test_the_cube_stays_on_the_floor_from_which_the_relaxation_lifts_it() -> None:
    problem = go.problem("sliding-cube")
    p = problem.parameter_values
    way = np.array([np.cos(p["direction"]), np.sin(p["direction"])])
    for stepper, near in (("rk4", 1e-9), ("moreau-jean", 1e-4)):
        motion = run(problem, stepper=stepper, dt=0.05 if near < 1e-6 else 0.01)
        assert np.abs(motion.q[:, 2] - p["edge"] / 2).max() < 1e-14
        np.testing.assert_allclose(motion.q[-1, :2], p["speed0"] ** 2 / (2 * p["mu"] * G) * way, atol=near)
        assert np.abs(motion.v[-1]).max() < 1e-12
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    program = go.formulate(step.from_mapping(step.to_mapping() | {"dt": 1e-3}), "moreau-jean")
    assert solve_contacts(program, "coulomb-soccp")["dilation"] < 1e-13
    assert solve_contacts(program, "coulomb-ccp")["dilation"] > 2.0


def test_a_pinched_capsule_stays_for_a_minute_and_falls_without_grip() -> None:
    problem = go.problem("pinched-capsule")
    for settings in (
        {"stepper": "rk4", "dt": 2.0, "stabilisation": "projection"},
        {"stepper": "moreau-jean", "dt": 1.0},
    ):
        motion = run(problem, **settings)
        assert motion.t[-1] == 60.0
        assert np.abs(motion.q - problem.q0).max() < (1e-9 if settings["stepper"] == "moreau-jean" else 1e-11)
        squeezed = 20.0 / 0.045 * settings["dt"]  # the velocity that the force of the finger alone gives in a step
        assert np.abs(motion.v).max() < 1e-13 * squeezed
        np.testing.assert_allclose(motion.lam_N.reshape(-1, 2, 2).sum(axis=2), 20.0, rtol=1e-9)
        assert "not proved" in motion.message
    slips = problem.at(case="slips")
    p = slips.parameter_values
    a = G - 2 * p["mu"] * p["F"] / p["m"]
    motion = run(slips, dt=0.01)
    np.testing.assert_allclose(motion.v[:, 2], -a * motion.t, atol=1e-9)


def test_a_table_holds_up_to_its_friction_and_then_slides_straight() -> None:
    problem = go.problem("four-leg-table")
    p = problem.parameter_values
    way = np.array([np.cos(p["direction"]), np.sin(p["direction"])])
    for stepper in ("rk4", "moreau-jean"):
        moving = run(problem, stepper=stepper, dt=0.05)
        np.testing.assert_allclose(moving.v[-1, :2], (p["F"] / p["m"] - p["mu"] * G) * way, rtol=1e-10)
        assert np.abs(run(problem.at(case="holds"), stepper=stepper, dt=0.1).v).max() < 1e-12


def test_the_tippe_top_keeps_jelletts_product() -> None:
    problem = go.problem("tippe-top")
    p = problem.parameter_values
    motion = run(problem, t_end=0.02, dt=2e-4, stabilisation="projection")
    e0, e1, e2, e3 = (motion.q[:, i] for i in range(3, 7))
    axis = np.stack((2 * (e1 * e3 + e0 * e2), 2 * (e2 * e3 - e0 * e1), e0**2 - e1**2 - e2**2 + e3**2), axis=1)
    E = np.array([[-e1, e0, -e3, e2], [-e2, e3, e0, -e1], [-e3, -e2, e1, e0]])
    omega = 2 * np.einsum("ijt,tj->ti", E, motion.v[:, 3:])
    own = (omega * axis).sum(axis=1)[:, None] * axis
    way = p["r"] * np.array([0.0, 0.0, 1.0]) - p["offset"] * axis
    jellett = ((p["Ia"] * own + p["It"] * (omega - own)) * way).sum(axis=1)
    np.testing.assert_allclose(jellett, jellett[0], rtol=1e-7)
    assert np.ptp(motion.kinetic + motion.potential) > 1e-5  # friction is at work


def test_a_ball_rolls_down_a_ball_by_its_energy() -> None:
    model = Model(dim=3, gravity=(0, 0, -G), name="ball-on-ball")
    at = 0.3 * np.array([0.0, np.sin(0.2), np.cos(0.2)])
    ball = model.body("ball", 1.0, (0.004,) * 3, at=at.tolist(), quaternion_mass=0.004)
    model.add(BallTouch("contact", model.ground, ball, radii=(0.2, 0.1), mu=1.0))
    motion = run(model.problem(t_end=0.4, dt=0.01))
    assert (motion.mode[:, 0] == 2).all()
    angle = np.arctan2(motion.q[:, 1], motion.q[:, 2])
    assert angle[-1] > 0.4
    square = (motion.v[:, :3] ** 2).sum(axis=1)
    np.testing.assert_allclose(square, 10 / 7 * G * 0.3 * (np.cos(0.2) - np.cos(angle)), atol=1e-6)
    assert np.abs(np.linalg.norm(motion.q[:, :3], axis=1) - 0.3).max() < 1e-7


def dropped(e_N: float, spin: float, **more: float) -> go.System:
    model = Model(dim=3, gravity=(0, 0, -G), name="dropped")
    ball = model.body("ball", 1.0, (0.004,) * 3, at=(0, 0, 0.1), velocity=(1.0, 0.5, -2.0), spin=(0, spin, 0),
                      quaternion_mass=0.004)  # fmt: skip
    model.add(Touch("floor", model.ground.at(0, 0, 0, axis=(0, 0, 1)), ball, mu=0.2, radius=0.1, e_N=e_N, **more))
    return model.problem(t_end=0.05, dt=0.01)


@pytest.mark.parametrize(("e_N", "spin"), [(0.5, 30.0), (0.0, 30.0), (0.5, 11.0)])
def test_an_oblique_impact_slips_or_grips_as_the_cone_says(e_N: float, spin: float) -> None:
    motion = run(dropped(e_N, spin))
    impact = next(e for e in motion.events if e["kind"] == "impact")
    u0, normal = np.array([1.0 - 0.1 * spin, 0.5]), (1 + e_N) * 2.0
    needed = 2 / 7 * np.linalg.norm(u0)
    wanted = -u0 / np.linalg.norm(u0) * min(0.2 * normal, needed)
    np.testing.assert_allclose(impact["Lam_N"], [normal], rtol=1e-12)
    np.testing.assert_allclose(impact["Lam_T"], [wanted], rtol=1e-9, atol=1e-13)
    assert impact["energy_change"] < 0


def test_poissons_restitution_with_friction_in_space_is_refused_with_a_sentence() -> None:
    with pytest.raises(go.NotAccepted, match="Poisson's impact law, which no friction cone bounds; use"):
        go.simulate(dropped(0.5, 30.0), impact="poisson", step_folder=None)
    run(dropped(0.0, 30.0), impact="poisson")


def test_steps_of_resting_and_sliding_contacts_are_certified_by_the_cones() -> None:
    """Solvers agree, the certificate knows the true distance, and wrong friction does not pass."""
    random, seen = np.random.default_rng(7), 0
    for _ in range(12):
        step = random_step(random, 9, 3, 2, 2)
        answers = [go.solve_step(step, "coulomb-soccp", name) for name in ("hybrid", "nsn-ac")]
        answers = [a for a in answers if a.status is SOLVED]
        if not answers or answers[0].contact.reason != "monotone":
            continue
        seen += 1
        a = answers[0]
        for other in answers:
            np.testing.assert_allclose(other.a, a.a, atol=1e-8)
        slip = step.J_T @ a.a + step.zeta_T
        bound = step.mu * a.lam_N - np.linalg.norm(a.lam_T, axis=1)
        assert (bound > -1e-9).all()
        assert (bound[np.linalg.norm(slip, axis=1) > 1e-6] < 1e-8).all()
        moved = a.a + 1e-4 * random.normal(size=step.n)
        wrong = go.certify_contact(step, moved, None, a.lam_N, a.lam_T)
        e = moved - a.a
        assert wrong.error_bound == pytest.approx(np.sqrt(e @ step.M @ e), rel=1e-4)
        assert not go.certify_contact(step, a.a, a.lam, a.lam_N, 0.5 * a.lam_T).passed()
        assert go.certify_contact(step, a.a).passed()
    assert seen >= 4


def test_a_jump_that_holds_in_the_plane_holds_in_space() -> None:
    """Impacts of planar contacts, their tangents set into space askew, have the impulses of the plane."""
    random = np.random.default_rng(3)
    for _ in range(8):
        flat = random_step(random, 5, 2, 1, 0)
        v = random.normal(size=5)
        v -= np.linalg.lstsq(flat.J_N, np.maximum(flat.J_N @ v, 0.0) + 1.0, rcond=None)[0]
        data = flat.to_mapping() | {"v": v, "v_T": flat.J_T @ v, "zeta_T": np.zeros((2, 1))}
        planar = go.solve_step(go.StepData.from_mapping(data), "impact", "lemke")
        if planar.status is not SOLVED:
            continue
        wide = np.zeros((2, 2, 7))
        for i, angle in enumerate((0.3, 2.0)):
            c, s = np.cos(angle), np.sin(angle)
            wide[i, :, :5] = np.outer([c, -s], flat.J_T[i, 0])
            wide[i, :, 5 + i] = s, c
        M = np.eye(7)
        M[:5, :5] = flat.M
        more = {
            "M": M, "Q": np.append(flat.Q, [0, 0]), "h": np.append(flat.h, [0, 0]), "J_T": wide,
            "J_N": np.hstack((flat.J_N, np.zeros((2, 2)))), "v": np.append(v, [0, 0]),
            "v_T": wide @ np.append(v, [0, 0]), "zeta_T": np.zeros((2, 2)),
        }  # fmt: skip
        space = go.solve_step(go.StepData.from_mapping(data | more), "impact", "hybrid")
        assert space.status is SOLVED
        np.testing.assert_allclose(space.a[:5], planar.a, atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(space.lam_T, axis=1), np.abs(planar.lam_T[:, 0]), atol=1e-9)


def test_a_pile_has_the_rates_of_its_gaps_and_slips_and_stands() -> None:
    pile = Pile(mu=0.5, e_N=0.0)
    pile.box(1.0, (0.2, 0.1, 0.1), at=(0, 0, 0.05))
    pile.box(2.0, (0.2, 0.1, 0.1), at=(0.05, 0.02, 0.15))
    pile.wall((3, 0, 0), (-1, 0.2, 0))
    tower = pile.problem(t_end=1.0, dt=0.05)
    for stepper in ("rk4", "moreau-jean"):
        assert np.abs(run(tower, stepper=stepper, t_end=0.2).v).max() < 1e-12 * G * 0.2
    pile.ball(1.0, 0.1, at=(1, 0, 0.1))
    pile.ball(2.0, 0.2, at=(1.3, 0, 0.2))
    problem = pile.problem(t_end=1.0, dt=0.05)
    system, random = problem.system, np.random.default_rng(0)
    q, v = problem.q0 + 0.05 * random.normal(size=28), random.normal(size=28)

    def state(h: float) -> tuple[Any, Any]:
        """Along a motion on the unit quaternions."""
        x, y = (q + h * v).reshape(4, 7).copy(), v.reshape(4, 7).copy()
        size = np.linalg.norm(x[:, 3:], axis=1)[:, None]
        x[:, 3:] /= size
        y[:, 3:] = (y[:, 3:] - (x[:, 3:] * y[:, 3:]).sum(axis=1)[:, None] * x[:, 3:]) / size
        return x.ravel(), y.ravel()

    def rate(f: Any) -> Any:
        return (f(1e-4) - f(-1e-4)) / 2e-4

    step, a = system.evaluate(0.0, *state(0.0)), rate(lambda h: state(h)[1])
    np.testing.assert_allclose(rate(lambda h: system.gaps(0.0, state(h)[0])), step.gdot_N, atol=1e-6)
    np.testing.assert_allclose(
        rate(lambda h: system.evaluate(0.0, *state(h)).gdot_N), step.J_N @ a + step.zeta_N, atol=1e-5
    )
    slip = rate(lambda h: system.evaluate(0.0, *state(h)).v_T) - (step.J_T @ a + step.zeta_T)
    np.testing.assert_allclose(slip[:-5], 0.0, atol=1e-5)  # of two balls or a ball and a box right without slip only
    energy = rate(lambda h: system.energy(0.0, *state(h)).kinetic)
    assert energy == pytest.approx(state(0.0)[1] @ (step.M @ a + step.h), rel=1e-6)


def test_balls_that_fall_come_to_rest_with_their_weight_on_the_floor() -> None:
    problem = go.problem("sphere-pile", variant="2 balls")
    motion = run(problem, stepper="moreau-jean", dt=5e-3, t_end=0.2)
    np.testing.assert_allclose(motion.lam_N[-1, [0, 5]], G, rtol=1e-9)
    assert np.abs(motion.v[-1]).max() < 1e-12
    assert (np.diff(motion.kinetic + motion.potential) < 1e-12).all()
    wall = run(go.problem("box-wall"), stepper="moreau-jean", t_end=0.05)
    assert np.abs(wall.q - wall.q[0]).max() < 1e-14
    assert wall.lam_N[-1].sum() == pytest.approx((3 + 1) * G, rel=1e-12)  # on the floor, and between the rows


def test_a_pile_knows_the_coordinates_that_its_normal_rows_depend_on() -> None:
    """As differences find them one by one, which takes an evaluation of the whole pile for each."""
    pile = Pile(mu=0.5)
    pile.box(1.0, (0.1, 0.1, 0.1), at=(0, 0, 0.05))
    pile.box(1.0, (0.1, 0.1, 0.1), at=(0, 0.01, 0.15))
    pile.box(1.0, (0.1, 0.1, 0.1), at=(2, 0, 0.05))
    for x in (3.0, 3.3):
        pile.ball(1.0, 0.1, at=(x, 0, 0.3))
    problem = pile.problem(t_end=0.1, dt=0.01)
    q = np.array(problem.q0) + 0.01 * np.random.default_rng(0).normal(size=len(problem.q0))
    assert list(problem.system.bending()) == [j for j in range(len(q)) if _bends(problem.system, 0.0, q, j)]
    check_rows(problem.system, 0.0, np.array(problem.q0), np.array(problem.v0), gaps=True)


def test_bodies_of_a_pile_that_pass_through_each_other_are_named() -> None:
    """Boxes that do not touch at the start have no contact; other bodies that meet, and boxes apart, are fine."""
    pile = Pile(mu=0.4)
    pile.box(1.0, (0.2, 0.2, 0.2), at=(0, 0, 0.1))
    pile.box(1.0, (0.2, 0.2, 0.2), at=(0.05, 0, 0.3))
    pile.ball(1.0, 0.05, at=(0.5, 0, 0.05))
    pile.ball(1.0, 0.05, at=(0.5, 0.02, 0.2))
    pile.ball(1.0, 0.05, at=(0, 0, 0.5))

    def warned(pile: Pile, stepper: str = "moreau-jean") -> list[str]:
        motion = run(pile.problem(t_end=0.3, dt=0.01), stepper=stepper)
        return [sentence for sentence in motion.warnings if "inside each other" in sentence]

    assert warned(pile) == []
    boxes = Pile(mu=0.4)
    for z in (0.1, 0.35):
        boxes.box(1.0, (0.2, 0.2, 0.2), at=(0, 0, z))
    for stepper, depth in (("moreau-jean", "0.19"), ("rk4", "0.2")):  # steps stop a fall early
        (sentence,) = warned(boxes, stepper)
        assert sentence.startswith(f"The boxes 1 and 2 are {depth} m inside each other:")
        assert "Keep them apart by a wall" in sentence


def test_a_ball_rolls_over_a_box_rests_on_it_and_falls_off_its_edge() -> None:
    """The box is heavy and rests on the floor."""
    R, v, top = 0.05, 0.4, 0.2
    table = Pile(mu=0.6)
    table.box(1e6, (1.0, 1.0, top), at=(0, 0, top / 2))
    table.ball(1.0, R, at=(-0.2, 0, top + R), velocity=(v, 0, 0), spin=(0, v / R, 0))
    for stepper in ("rk4", "moreau-jean"):
        motion = run(table.problem(t_end=0.2, dt=0.02), stepper=stepper)
        np.testing.assert_allclose(motion.q[:, 7], -0.2 + v * motion.t, atol=1e-9)
        np.testing.assert_allclose(motion.q[:, 9], top + R, atol=1e-9)
        np.testing.assert_allclose(motion.lam_N[:, -1], G, rtol=1e-6)
        assert np.abs(motion.lam_T[:, -1]).max() < 1e-6
    table.ball(1.0, R, at=(-0.1, 0.3, top + 2 * R))
    fallen = run(table.problem(t_end=0.2, dt=2e-3))
    assert fallen.v[-1, 14:17] == pytest.approx(0.0, abs=1e-9)
    assert fallen.lam_N[-1, -1] == pytest.approx(G, rel=1e-6)
    beside, begin = Pile(mu=0.0), 0.8
    beside.box(1e6, (1.0, 1.0, top), at=(0, 0, top / 2))
    beside.ball(1.0, R, at=(0.5 + 0.6 * R, 0, top + begin * R))
    falls = run(beside.problem(t_end=0.12, dt=2e-3), stepper="rk4")
    # It slides as a pendulum about the edge until the cosine of its angle is two thirds of that at the start.
    leaves = next(e["t"] for e in falls.events if e["kind"] == "lift_off")
    q = falls.q[np.searchsorted(falls.t, leaves)]
    centre = q[7:10] - q[:3] - [0.5, 0, top / 2]  # the box gives way by 1e-7 m
    assert centre[2] / R == pytest.approx(2 / 3 * begin, abs=1e-6)
    assert np.linalg.norm(centre) == pytest.approx(R, abs=1e-9)


@pytest.mark.parametrize("aim", [(0.4, 0.3, 0.2), (0.4, 0.1, 0.2), (0.4, 0.05, 0.1)])
def test_a_ball_that_hits_a_free_box_keeps_the_momenta(aim: tuple[float, ...]) -> None:
    """It hits a corner, an edge or a face off the centre, with friction: impulse and reaction act along one line."""
    edges, masses, pile = np.array([0.8, 0.6, 0.4]), (2.0, 1.0), Pile(mu=0.7, e_N=0.3, gravity=0.0)
    way = (np.array(aim) == edges / 2) / np.sqrt((np.array(aim) == edges / 2).sum())
    pile.box(masses[0], edges.tolist(), at=(0, 0, 5))
    pile.ball(masses[1], 0.1, at=np.array([0, 0, 5]) + aim + 0.25 * way, velocity=-2 * way, spin=(4, -3, 2))
    motion = run(pile.problem(t_end=0.2, dt=5e-3), stepper="rk4")
    assert [e["kind"] for e in motion.events].count("impact") == 1
    squares = edges**2
    inertias = masses[0] / 12 * (squares.sum() - squares), np.full(3, 0.4 * masses[1] * 0.1**2)

    def momenta(q: Any, v: Any) -> Any:
        found = np.zeros((2, 3))
        for x, y, m, inertia in zip(q.reshape(2, 7), v.reshape(2, 7), masses, inertias, strict=True):
            E, G = spin_rows(x[None, 3:], 1.0)[0], spin_rows(x[None, 3:])[0]
            found += [m * y[:3], m * np.cross(x[:3], y[:3]) + E @ G.T @ (inertia * (2 * G @ y[3:]))]
        return found

    np.testing.assert_allclose(momenta(motion.q[-1], motion.v[-1]), momenta(motion.q[0], motion.v[0]), atol=1e-7)
    assert motion.kinetic[-1] < motion.kinetic[0] - 0.1


@pytest.mark.parametrize(("given", "size", "words"), [
    ({"mu": -0.1}, 14, ("mu", "wall 1, body 1.1", "-0.1")), ({"mu": 0.1, "e_N": 1.5}, 14, ("e_N", "1.5")),
    ({"mu": 0.1, "gravity": np.nan}, 14, ("weight", "finite")), ({"mu": 0.1}, 7, ("7 coordinates", "give 14")),
])  # fmt: skip
def test_what_a_pile_refuses(given: dict[str, float], size: int, words: tuple[str, ...], assert_sentence: Any) -> None:
    pile = Pile(**given)
    for x in (0.0, 1.0):
        pile.ball(1.0, 0.1, at=(x, 0, 0.2))
    with pytest.raises(go.BadInput) as caught:
        pile.problem(t_end=1.0, dt=0.1).system.evaluate(0.0, np.ones(size), np.zeros(size))
    assert_sentence(caught.value, *words)


def test_the_depth_of_two_boxes_is_the_way_that_takes_them_apart() -> None:
    """Boxes turned and shifted at random together, against depths known by construction."""
    random, s, half = np.random.default_rng(5), np.sqrt(0.5), np.array([0.5, 0.4, 0.3])
    upright, edge = np.array([1.0, 0, 0, 0]), np.array([np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)])
    across = np.array([0.5, 0.5, 0.5, 0.5])  # the axes x, y, z of the other are y, z, x
    known = [
        ((0.95, 0.1, 0), upright, 0.05), ((0.1, 0.2, -0.6), upright, 0.0), ((0.5 + 0.9 * s - 0.1, 0, 0), edge, 0.1),
        ((0.5 + 0.9 * s + 0.01, 0, 0), edge, 0.0), ((0, 0.85, 0.1), across, 0.05), ((0.1, 0.91, 0), across, 0.0),
    ]  # fmt: skip
    for d, e, depth in known:
        common = random.normal(size=4)
        common /= np.linalg.norm(common)
        E, G = spin_rows(common[None], 1.0)[0], spin_rows(common[None])[0]
        at = random.normal(size=3) + np.array([np.zeros(3), E @ G.T @ d])
        turned = e[0] * common + G.T @ e[1:]
        found = deepest(at[None], np.array([[common, turned]]), np.array([half, half]))
        assert found.get((0, 1), 0.0) == pytest.approx(depth, abs=1e-12), d
