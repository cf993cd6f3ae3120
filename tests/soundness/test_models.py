"""Random mechanisms: nothing wrong is called solved, nothing crashes, and the judge itself is right."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from soundness.mechanisms import dials, draw, judge, page, rows, work
from soundness.mechanisms.fixed import cross, dot, fixed, floats, mul, times, unit, zeros
from soundness.mechanisms.parts import GROUND, Body, Force, Joint, Mechanism, Point, State
from soundness.trials.page import rows_of

pytestmark = pytest.mark.campaigns

PAGE = Path(__file__).parents[2] / "docs" / "soundness.md"
I3 = fixed(np.eye(3).astype(int))
PINOCCHIO = find_spec("pinocchio") is not None
SMALL = 1 << 196
"""A time of 2^-60 s."""


def drawn(kind: str, seed: int) -> tuple[Mechanism, State]:
    """A mechanism, moving as it may."""
    rng = np.random.default_rng(seed)
    made = work.made_of(kind, rng)
    moving = judge.allowed_velocity(made, made.state, judge.framed(made, made.state), draw.twist(rng, made, 2.0))
    old = made.state
    return made, State(old.r, old.e, moving[:, :3], moving[:, 3:], old.t, old.turns)


def later(state: State, a: np.ndarray, h: int) -> State:
    """The state after a short time, to second order in places and first in velocities."""
    half = mul(h, h) >> 1
    e = []
    for own, w, alpha in zip(state.e, state.w, a[:, 3:], strict=True):
        rate = times(np.concatenate(([0], w)), own) >> 1
        second = (times(np.concatenate(([0], alpha)), own) + times(np.concatenate(([0], w)), rate)) >> 1
        e.append(unit(own + mul(rate, h) + mul(second, half)))
    r = state.r + mul(state.v, h) + mul(a[:, :3], half)
    turned = np.array(e, dtype=object)
    return State(r, turned, state.v + mul(a[:, :3], h), state.w + mul(a[:, 3:], h), state.t + h, state.turns)


@pytest.mark.parametrize("kind", ["plane", "space", "mujoco"])
def test_rows_of_the_judge_hold_on_after_a_short_time(kind):
    """Rows, their derivatives and the accelerations belong together: what they miss is of the order of the square."""
    seen = Counter()
    for seed in range(60):
        made, state = drawn(kind, seed)
        if not made.joints:
            continue
        truth = judge.judge(made, state)
        next_one = later(state, truth.exact, SMALL)
        size = 1e3 * (1.0 + np.abs(truth.a).max()) ** 2 * max(made.dials["unit of length"], 1.0) ** 3
        for joint in made.joints:
            seen[joint.kind] += 1
            for line in rows.lines(joint, next_one, made.dim):
                moving = sum(
                    int(dot(own, np.concatenate((next_one.v[i], next_one.w[i])))) for i, own in line.at.items()
                )
                assert abs(floats(moving - line.rate)) < size * 2.0**-110, joint.kind
                if line.value is not None:
                    assert abs(floats(line.value)) < size * 2.0**-160, joint.kind
    assert len(seen) >= {"plane": 8, "space": 10, "mujoco": 4}[kind]


def test_the_judge_knows_a_pendulum_a_top_and_a_spring():
    """Closed forms: a rod on a hinge, a free body that tumbles, a mass between two springs."""
    place = fixed([0.6, 0.8, 0.0])
    rod = Body(fixed(2.0), fixed(np.diag([0.1, 0.2, 0.5])))
    state = State(np.array([place]), fixed([[1, 0, 0, 0]]), zeros(1, 3), zeros(1, 3))
    hinge = Joint("revolute", "H", Point(GROUND, zeros(3), I3), Point(0, -place, I3))
    made = Mechanism(2, [rod], [hinge], [], fixed([0.0, -10.0, 0.0]), state)
    assert judge.judge(made, state).a[0, 5] == pytest.approx(-2.0 * 10.0 * 0.6 / 2.5, rel=1e-15)
    w = fixed([0.3, -0.7, 1.1])
    state = State(np.array([place]), fixed([[1, 0, 0, 0]]), np.array([cross(w, place)]), np.array([w]))
    top = Mechanism(3, [rod], [], [], zeros(3), state)
    expected = [(0.2 - 0.5) * -0.7 * 1.1 / 0.1, (0.5 - 0.1) * 0.3 * 1.1 / 0.2, (0.1 - 0.2) * 0.3 * -0.7 / 0.5]
    assert judge.judge(top, state).a[0, 3:] == pytest.approx(expected, rel=1e-14)
    ends = Point(GROUND, zeros(3), I3), Point(0, zeros(3), I3)
    spring = Force("spring", "F", *ends, {"stiffness": fixed(8.0), "length": fixed(0.25), "damping": 0})
    still = State(np.array([place]), fixed([[1, 0, 0, 0]]), zeros(1, 3), zeros(1, 3))
    pulled = judge.judge(Mechanism(3, [rod], [], [spring], zeros(3), still), still).a[0, :3]
    assert pulled == pytest.approx(-8.0 * 0.75 / 2.0 * np.array([0.6, 0.8, 0.0]), rel=1e-14)


@pytest.fixture(scope="module")
def tally():
    """Some mechanisms of every kind; two motions, and then other positions, of each in the plane."""
    found = work.States()
    kinds = (("plane", range(3), 8), ("space", (0, 49), 4), ("mujoco", range(12), 4),
             ("pinocchio", range(12 * PINOCCHIO), 4))  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for kind, seeds, count in kinds:
            patch.setattr(work, "MOTIONS", 2 if kind == "plane" else 10)
            for seed in seeds:
                trial = work.Trial(kind, np.random.default_rng(seed), found, set(), lambda index, name: None)
                trial.run(100 * seed, count)
    return found


def test_nothing_wrong_is_called_solved_and_nothing_crashes(tally):
    told = [f"{f['kind']} {f['index']} {f['formulation']}, {f['solver']}: {f['outcome']}, {f['cause']}"
            for f in tally.faults if f["outcome"] in ("wrong", "crashed")]  # fmt: skip
    assert not told


def test_most_states_are_solved(tally):
    counts = rows_of([tally.mapping()])
    answers, refused, causes = page.refusals(counts)
    assert answers > 150 + 50 * PINOCCHIO
    assert refused <= answers // 50, causes
    kinds = {key[0] for key in counts if key[4] == "right"}
    assert kinds >= {
        "plane, joint", "plane, maximal", "space, joint", "space, maximal", "mujoco, from_mujoco",
        "plane, motion, joint", "plane, motion, maximal", "space, motion, joint",
    } | ({"pinocchio, from_pinocchio"} if PINOCCHIO else set())  # fmt: skip


def test_a_wrong_acceleration_is_found_out(monkeypatch):
    """The campaign itself: an answer off by a part in a thousand is refuted."""
    right = work.go.solve_step

    def off(step, *pair):
        answer = right(step, *pair)
        told = SimpleNamespace(status=answer.status, message=answer.message, certificate=answer.certificate, a=None)
        told.a = None if answer.a is None else answer.a * 1.001
        return told

    monkeypatch.setattr(work.go, "solve_step", off)
    found = work.States()
    work.Trial("mujoco", np.random.default_rng(2), found, set(), lambda index, name: None).run(0, 4)
    outcomes = Counter(key.split("|")[4] for key in found.counts.elements())
    assert outcomes["wrong"] >= 4
    assert not outcomes["right"]


def test_the_page_lists_every_dial_with_its_range():
    text = PAGE.read_text()
    assert all(line in text for line in dials.table())


def test_mechanisms_follow_from_the_seed_and_their_frames_are_tilted():
    first, again = (drawn("space", 4)[0] for _ in range(2))
    assert work.described(first) == work.described(again)
    entries = np.abs(np.concatenate([floats(draw.mechanism(np.random.default_rng(k), 3).state.R[0]).ravel()
                                     for k in range(20)]))  # fmt: skip
    assert entries.min() > 1e-6
    assert np.abs(entries - 1.0).min() > 1e-9


def test_the_judge_imports_nothing_of_gaussopt():
    folder = Path(judge.__file__).parent
    for name in ("fixed", "parts", "rows", "loads", "judge", "draw", "dials"):
        assert "gaussopt" not in (folder / f"{name}.py").read_text().replace("`gaussopt.bodies`", "").replace(
            "that gaussopt documents", ""
        ), name
