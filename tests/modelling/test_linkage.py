"""Linkages as tables, and the compiled kernels for those whose pins form a row, against the interpreted motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from chains import moving

import gaussopt as go
from gaussopt.compiled import modules
from gaussopt.compiled.advances.linkage_steps import LinkageKernels, PinRow
from gaussopt.core.errors import NotAccepted
from gaussopt.modelling.chain import Chain
from gaussopt.modelling.linkage import GROUND, Linkage

SOLVED = go.Status.SOLVED
COMPILED = modules.has_llvm()
compiled_only = pytest.mark.skipif(not COMPILED, reason="compilation is switched off")


def shuffled(linkage: Linkage, seed: int = 3) -> tuple[Linkage, np.ndarray]:
    """The same linkage with other numbers of bodies and pins, some pins turned round; old numbers of the bodies."""
    rng = np.random.default_rng(seed)
    old, pins = rng.permutation(linkage.bodies), rng.permutation(linkage.pins)
    new = np.append(np.argsort(old), GROUND)  # the number GROUND finds the last one
    first, second = new[linkage.first[pins]], new[linkage.second[pins]]
    turned = rng.random(len(pins)) < 0.5
    at_first, at_second = linkage.at_first[pins], linkage.at_second[pins]
    flip = turned[:, None]
    found = Linkage(
        linkage.mass[old], linkage.inertia[old], np.where(turned, second, first), np.where(turned, first, second),
        np.where(flip, at_second, at_first), np.where(flip, at_first, at_second), linkage.gravity,
    )  # fmt: skip
    return found, old


def run(system: go.System, q: np.ndarray, v: np.ndarray, engine: str, **settings: Any) -> go.Trajectory:
    settings = {"dt": 1e-3, "error_estimate": False, **settings}
    motion = go.simulate(system, q0=q, v0=v, engine=engine, step_folder=None, **settings)
    assert motion.status is SOLVED, motion.message
    assert motion.meta["engine"] == engine
    return motion


def relative(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.abs(x - y).max() / (1.0 + np.abs(y).max()))


# -- tables --------------------------------------------------------------------------------------------


def pinned_anywhere() -> Linkage:
    places = np.random.default_rng(1).standard_normal((2, 4, 2))
    return Linkage(np.ones(4), np.ones(4), np.array([0, GROUND, 3, 1]), np.array([2, 1, 0, GROUND]), *places)


@pytest.mark.parametrize("linkage", [pinned_anywhere(), *(moving(6, closed)[0].linkage for closed in (False, True))])
def test_rows_of_pins_are_derivatives(linkage: Linkage) -> None:
    q, v, a = np.random.default_rng(2).standard_normal((3, 3 * linkage.bodies))
    h = 1e-5

    def along(t: float) -> tuple[np.ndarray, np.ndarray]:
        return q + t * v + 0.5 * t**2 * a, v + t * a

    J = linkage.rows(q)
    assert J.has_canonical_format
    rate = (linkage.gaps(along(h)[0]) - linkage.gaps(along(-h)[0])) / (2 * h)
    np.testing.assert_allclose(J @ v, rate, atol=1e-8)
    np.testing.assert_allclose(linkage.rates(q, v), J @ v, atol=1e-14)
    second = (linkage.rates(*along(h)) - linkage.rates(*along(-h))) / (2 * h)
    np.testing.assert_allclose(J @ a - linkage.gamma(q, v), second, atol=1e-8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": [1.0, 0.0]}, "mass of body 1"),
        ({"inertia": [-1.0, 1.0]}, "inertia of body 0"),
        ({"inertia": [1.0]}, "inertia has shape"),
        ({"first": [2]}, r"first\[0\] is 2"),
        ({"first": [0.5]}, "no list of whole numbers"),
        ({"first": [[0], [0, 1]]}, "no list of whole numbers"),
        ({"first": [1]}, "joins a body to itself"),
        ({"mass": [], "inertia": []}, "A linkage without bodies"),
        ({"gravity": np.nan}, "gravity is nan"),
        ({"gravity": "down"}, "gravity is 'down'"),
        ({"first": [0, 1]}, "names 2 bodies"),
        ({"at_first": [[0.0, 0.0, 0.0]]}, "at_first has shape"),
    ],
)
def test_impossible_tables_are_refused(change: dict[str, Any], words: str) -> None:
    tables: dict[str, Any] = {
        "mass": [1.0, 1.0], "inertia": [1.0, 1.0], "first": [0], "second": [1], "at_first": [[0.5, 0.0]],
        "at_second": [[-0.5, 0.0]],
    }  # fmt: skip
    with pytest.raises(go.BadInput, match=words):
        Linkage(**{**tables, **change})


def test_small_linkages_and_short_states() -> None:
    """Micrometres: the angles are large beside the lengths."""
    chain = Chain(3, length=1e-6, mass=1e-9)
    q, v = chain.state(np.array([0.0, 1.0, 2.0]))
    assert go.simulate(chain.system, q0=q, v0=v, dt=1e-6, t_end=1e-5).status is SOLVED
    with pytest.raises(go.BadInput, match=r"q0 has shape \(3,\), expected \(9,\)"):
        go.simulate(chain.system, q0=q[:3], v0=v[:3], dt=1e-6, t_end=1e-5)


def test_bodies_without_pins_fall() -> None:
    linkage = Linkage([1.0], [1.0], [], [], [], [])  # type: ignore[arg-type]
    motion = go.simulate(linkage.system, q0=np.zeros(3), v0=np.zeros(3), dt=0.1, t_end=1.0)
    assert motion.q[-1, 1] == pytest.approx(-0.5 * 9.81)


# -- rows of bodies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", [False, True])
def test_a_row_is_found_whatever_the_numbers(closed: bool) -> None:
    chain, q, v = moving(20, closed)
    found = PinRow.of(chain.linkage)
    assert found is not None
    np.testing.assert_array_equal(found.bodies, [GROUND, *range(20), *([GROUND] if closed else [])])
    np.testing.assert_array_equal(found.pins, np.arange(20 + closed))
    assert found.forward.all()
    other, old = shuffled(chain.linkage)
    row = PinRow.of(other)
    assert row is not None
    inside = row.bodies[row.bodies != GROUND]
    order = old[inside]
    assert (np.diff(order) == np.sign(order[1] - order[0])).all()
    mixed = q.reshape(-1, 3)[old].ravel(), v.reshape(-1, 3)[old].ravel()
    n = 3 * len(row.bodies)
    back = row.coordinates(row.placed(*mixed).reshape(2, n))
    np.testing.assert_array_equal(back, mixed)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([GROUND, 0, 0], [0, 1, 2]),  # a body with three pins
        ([0, 1, 2], [1, 2, 0]),  # a ring
        ([GROUND, 1], [0, 2]),  # two pieces
        ([GROUND, 0], [0, 1]),  # a body without a pin
        ([GROUND, 0, GROUND, 2], [0, GROUND, 1, 1]),  # two pieces with two ends too many
        ([], []),
    ],
)
def test_other_linkages_are_no_rows(first: list[int], second: list[int]) -> None:
    p = len(first)
    linkage = Linkage(
        np.ones(3), np.ones(3), np.array(first, dtype=int), np.array(second, dtype=int), np.zeros((p, 2)),
        np.ones((p, 2)),
    )  # fmt: skip
    assert PinRow.of(linkage) is None


def test_pendulums_on_one_pin_are_interpreted() -> None:
    linkage = Linkage(
        np.ones(3), np.ones(3), np.array([GROUND, 0, 0]), np.array([0, 1, 2]), np.zeros((3, 2)), np.zeros((3, 2))
    )
    q = np.zeros(9)
    with pytest.raises(NotAccepted, match="do not form one row" if COMPILED else "switched off"):
        go.simulate(linkage.system, q0=q, v0=q, dt=1e-3, t_end=1e-2, engine="compiled", step_folder=None)
    motion = go.simulate(linkage.system, q0=q, v0=q, dt=1e-3, t_end=1e-2, step_folder=None)
    assert motion.meta["engine"] == "interpreted"


# -- motions -------------------------------------------------------------------------------------------


@compiled_only
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("links", [3, 30, 300, 2051])
@pytest.mark.parametrize(("stepper", "stabilisation"), [("rk4", "none"), ("semi-implicit", "projection")])
def test_a_compiled_step_is_the_interpreted_one(links: int, closed: bool, stepper: str, stabilisation: str) -> None:
    chain, q, v = moving(links, closed)
    settings = {"stepper": stepper, "stabilisation": stabilisation, "t_end": 1e-3}
    one, other = (run(chain.system, q, v, engine, **settings) for engine in ("compiled", "interpreted"))
    assert one.meta["handed_over"] == 0
    for name in ("t", "q", "v", "kinetic", "potential"):
        assert relative(getattr(one, name), getattr(other, name)) <= 1e-12, name
    # At the start, where both have the same state: in a long closed chain its last digits count for the forces.
    for name in ("a", "lam"):
        assert relative(getattr(one, name)[0], getattr(other, name)[0]) <= 1e-12 * max(1.0, links / 300), name
    assert one.worst.relative_error <= 1e-10


@compiled_only
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(("stepper", "sharp"), [("rk4", 1e-14), ("semi-implicit", 0.0)])
def test_machine_code_of_the_kernels_does_what_cpython_does(
    closed: bool, stepper: str, sharp: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, q, v = moving(5, closed)
    found = []
    for _ in range(2):
        march = LinkageKernels(chain.system.linkage, stepper)
        y, trace, worst = march.row.placed(q, v), np.zeros((4, 6 * len(march.row.bodies))), np.zeros(2)
        done = march.steps((0.0, 1e-3, 0.0085), (0, 9, 2), y, trace, worst, 1e-14, sharp)
        found.append((done, y, trace, worst, *march.answer(q, v)))
        monkeypatch.setattr(modules, "native", lambda module, *names, contract: {x: getattr(module, x) for x in names})
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-25)
    assert found[0][0] == 9


@compiled_only
def test_forces_that_decay_to_nothing_along_a_row_are_zero() -> None:
    chain = Chain(1000)
    q, v = chain.state(np.zeros(1000))
    one, other = (run(chain.system, q, v, engine, t_end=3e-3) for engine in ("compiled", "interpreted"))
    for name in ("q", "v"):
        assert relative(getattr(one, name), getattr(other, name)) <= 1e-12, name
    for values in (one.q, one.v, one.a, one.lam):
        assert not ((values != 0) & (np.abs(values) < 1e-300)).any()


@compiled_only
@pytest.mark.parametrize("closed", [False, True])
def test_numbers_and_directions_of_pins_do_not_matter(closed: bool) -> None:
    chain, q, v = moving(12, closed)
    linkage, old = shuffled(chain.linkage)
    mixed = q.reshape(-1, 3)[old].ravel(), v.reshape(-1, 3)[old].ravel()
    settings = {"t_end": 0.02, "stabilisation": "projection"}
    one, other = (run(linkage.system, *mixed, engine, **settings) for engine in ("compiled", "interpreted"))
    for name in ("q", "v", "a", "lam"):
        assert relative(getattr(one, name), getattr(other, name)) <= 1e-11, name


@compiled_only
def test_a_piece_without_ground_falls_as_one_body() -> None:
    chain, q, v = moving(8, False)
    tables = chain.linkage
    piece = Linkage(
        tables.mass, tables.inertia, tables.first[1:], tables.second[1:], tables.at_first[1:], tables.at_second[1:]
    )
    motion = run(piece.system, q, v, "compiled", t_end=0.1)
    mass = tables.mass / tables.mass.sum()
    centre = motion.q[:, 1::3] @ mass
    t = motion.t
    expected = centre[0] + t * (motion.v[0, 1::3] @ mass) - 0.5 * 9.81 * t**2
    np.testing.assert_allclose(centre, expected, atol=1e-13)


@compiled_only
@pytest.mark.parametrize("closed", [False, True])
def test_energy_and_drift(closed: bool) -> None:
    chain, q, v = moving(10, closed)
    free = run(chain.system, q, v, "compiled", t_end=0.2, dt=5e-4, record_every=40)
    held = run(chain.system, q, v, "compiled", t_end=0.2, dt=5e-4, record_every=40, stabilisation="projection")
    size = np.ptp(held.kinetic)
    assert size > 1e-2
    assert np.abs(held.energy - held.energy[0]).max() <= 1e-6 * size
    assert free.position_drift[-1] > 1e-13
    assert max(held.position_drift.max(), held.velocity_drift.max()) <= 1e-13
    assert held.meta["steps"] == 400
    np.testing.assert_allclose(held.t, 0.02 * np.arange(11), atol=1e-15)
    assert held.worst.evaluations == 4 * 400 + 11  # steps and recorded states
    assert max(held.meta["residuals"].values()) <= 1e-11


@compiled_only
def test_the_stride_of_recording_does_not_change_the_motion() -> None:
    chain, q, v = moving(5, False)
    fine, coarse = (run(chain.system, q, v, "compiled", t_end=0.053, record_every=k) for k in (1, 10))
    assert len(coarse.t) == 7  # the end is recorded, too
    np.testing.assert_array_equal(coarse.q[:-1], fine.q[::10])
    np.testing.assert_array_equal(coarse.q[-1], fine.q[-1])


@compiled_only
def test_steps_that_cannot_be_held_in_memory_are_recorded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from gaussopt.compiled.advances import linkage_steps as linkage

    chain, q, v = moving(5, False)
    whole = run(chain.system, q, v, "compiled", t_end=0.05, record_every=3)
    monkeypatch.setattr(linkage, "MEMORY", 100)
    parts = run(chain.system, q, v, "compiled", t_end=0.05, record_every=3)
    np.testing.assert_array_equal(parts.q, whole.q)
    np.testing.assert_array_equal(parts.t, whole.t)


@compiled_only
@pytest.mark.parametrize("stepper", ["rk4", "semi-implicit"])
def test_a_vanishing_pivot_is_handed_over(stepper: str) -> None:
    # Two stretched links between two pins: the rows depend on each other, and yet there is an acceleration.
    half = np.array([[0.5, 0.0], [0.5, 0.0]])
    linkage = Linkage(
        np.ones(2), np.ones(2) / 12, np.array([GROUND, 0, 1]), np.array([0, 1, GROUND]),
        np.array([[0.0, 0.0], *half]), np.array([*-half, [2.0, 0.0]]), gravity=0.0,
    )  # fmt: skip
    q = np.array([0.5, 0.0, 0.0, 1.5, 0.0, 0.0])
    motion = run(linkage.system, q, np.zeros(6), "compiled", t_end=5e-3, stepper=stepper)
    assert motion.meta["handed_over"] == 5
    assert "vanishing pivot and went through the solver sparse-kkt" in motion.message
    np.testing.assert_allclose(motion.q, np.broadcast_to(q, motion.q.shape), atol=1e-14)


@compiled_only
def test_a_residual_beyond_the_limit_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    from gaussopt.compiled.advances import generated as loops

    monkeypatch.setattr(loops, "DEFAULT_TOLERANCE", 1e-16)
    chain, q, v = moving(30, True)
    assert run(chain.system, q, v, "compiled", t_end=3e-3).meta["handed_over"] == 3


@compiled_only
def test_angles_beyond_the_reduction_are_handed_over() -> None:
    chain, q, v = moving(3, False)
    q[2::3] += 2**22 * 2 * np.pi
    motion = run(chain.system, q, v, "compiled", t_end=2e-3, stabilisation="projection")
    assert motion.meta["handed_over"] == 2


# -- which engine --------------------------------------------------------------------------------------


@compiled_only
def test_long_runs_of_linkages_are_compiled() -> None:
    chain, q, v = moving(3000, False)
    few, many = (
        go.simulate(chain.system, q0=q, v0=v, dt=1e-4, t_end=k * 1e-4, record_every=60, step_folder=None)
        for k in (2, 60)
    )
    assert (few.meta["engine"], many.meta["engine"]) == ("interpreted", "compiled")
    assert many.status is SOLVED
    assert many.worst.relative_error <= 1e-10


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"stabilisation": "baumgarte"}, "stabilisation 'baumgarte' has no kernel"),
        ({"stepper": "dop853"}, "stepper 'dop853' has no kernel"),
        ({"formulation": "lagrange", "solver": "sparse-kkt"}, "not lagrange with sparse-kkt"),
    ],
)
def test_what_has_no_kernel_says_so(settings: dict[str, Any], words: str) -> None:
    chain, q, v = moving(3, False)
    with pytest.raises(NotAccepted, match=words if COMPILED or "formulation" in settings else "switched off"):
        go.simulate(chain.system, q0=q, v0=v, t_end=0.01, dt=1e-3, engine="compiled", step_folder=None, **settings)


def test_without_compilation_the_numpy_path_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "has_llvm", lambda: False)
    chain, q, v = moving(3, False)
    with pytest.raises(NotAccepted, match="compilation is switched off"):
        go.simulate(chain.system, q0=q, v0=v, t_end=0.01, dt=1e-3, engine="compiled", step_folder=None)
    motion = go.simulate(chain.system, q0=q, v0=v, t_end=5.0, dt=1.0, record_every=5, step_folder=None)
    assert motion.meta["engine"] == "interpreted"
