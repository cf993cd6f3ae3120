"""Families of steps: their geometry against finite differences, their mechanics, their dials, and their answers."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import gaussopt as go
from gaussopt.certificates.contact import certify_contact
from gaussopt.contact.operator import ContactOperator
from gaussopt.core import registry
from gaussopt.families._planar import GRAVITY, Links, Pins, Points, graded, on_ground
from gaussopt.families.box_stack import _Stack
from gaussopt.families.linkage import _Mechanism
from gaussopt.families.sliding_row import _Row
from gaussopt.lcp import classify_matrix
from gaussopt.linalg.redundancy import rank_report
from gaussopt.modelling.family import Dial, Family, asymmetry, sweep_values

OF_CONTACTS = ("box-wall", "random-contacts", "sphere-pile")
"""Families of contact problems in space, which test_contact_families.py is about."""

NAMES = registry.names("family")
EXACT = {"QP": "daqp", "LCP": "lemke", "LinearSystem": "kkt", "LeastSquares": "kkt"}
SOLVED = go.Status.SOLVED


def family(name: str) -> Family:
    found: Family = registry.load("family", name)
    return found


def ends(name: str) -> list[tuple[str, dict[str, float]]]:
    """The defaults, and every dial turned to either end."""
    turned = [{d.name: v} for d in family(name).dials for v in (d.low, d.high)]
    whole = [{"bodies": 100.0, **t} if "constraints" in t else t for t in turned]
    whole = [{**t, "links": min(t["links"], 100.0)} if "links" in t else t for t in whole]  # longer ones are sparse
    return [(name, dials) for dials in [{}, *whole]]


EVERYWHERE = [case for name in NAMES if name not in OF_CONTACTS for case in ends(name)]


def same(a: go.StepData, b: go.StepData) -> bool:
    return a.to_mapping() == b.to_mapping()


@pytest.mark.parametrize("name", NAMES)
def test_dials_are_consistent(name: str) -> None:
    for dial in family(name).dials:
        assert dial.low <= dial.default <= dial.high
        assert dial.check(dial.default) == dial.default
        assert not dial.logarithmic or dial.low > 0
        points = sweep_values(dial, dial.low, dial.high)
        assert points[0] == dial.low
        assert points[-1] == dial.high
        assert list(points) == sorted(set(points))
        assert min(5, dial.high - dial.low + 1 if dial.integer else 5) <= len(points) <= 10


def test_sweeps_take_round_values_and_dials_are_read_from_text() -> None:
    contacts = family("sliding-row").dial("contacts")
    assert sweep_values(contacts, 1, 200) == (1, 2, 5, 10, 20, 50, 100, 200)
    assert sweep_values(contacts, 3, 30) == (3, 5, 10, 20, 30)
    assert sweep_values(contacts, 7, 7) == (7,)
    assert sweep_values(family("sliding-row").dial("mass-ratio"), 1, 1e6) == tuple(10.0**i for i in range(7))
    assert sweep_values(family("sliding-row").dial("friction"), 0, 1) == (0, 0.2, 0.4, 0.6, 0.8, 1.0)
    assert sweep_values(Dial("few", 1, 0, 3, "1", "", integer=True), 0, 3) == (0, 1, 2, 3)
    row = family("sliding-row")
    assert row.parse_dial("contacts=1,4,16") == ("contacts", (1, 4, 16))
    assert row.parse_dial(" friction = 0.3 ") == ("friction", (0.3,))
    assert row.parse_dial("contacts=1:10") == ("contacts", (1, 2, 5, 10))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("contact=3", ["no dial", "'contacts'"]), ("xyz=3", ["no dial", "mass-ratio"]), ("contacts", ["NAME=VALUE"]),
        ("contacts=", ["give a number"]), ("contacts=many", ["'many'", "number"]),
        ("contacts=1:many", ["'many'", "number"]), ("contacts=1:2:3", ["LOW:HIGH"]), ("contacts=9:3", ["down to 3"]),
        ("contacts=0:5", ["from 1 to 200"]), ("contacts=201", ["201", "from 1 to 200"]),
        ("contacts=2.5", ["whole numbers"]), ("friction=nan", ["from 0 to 1"]),
    ],
)  # fmt: skip
def test_bad_dials_are_named(text: str, words: list[str]) -> None:
    with pytest.raises(go.BadInput) as refusal:
        family("sliding-row").parse_dial(text)
    assert all(word in str(refusal.value) for word in words)


@pytest.mark.parametrize(
    ("name", "dials", "count", "words"),
    [
        *(("sliding-row", {"contacts": x}, 2, "'contacts'") for x in (0, True, "3")),
        ("sliding-row", {"height": np.inf}, 2, "'height'"),
        ("linkage", {"bodies": 3, "constraints": 9}, 1, r"at most 8 or raise 'bodies'"),
        *(("sliding-row", {}, count, "number of steps") for count in (0, -1, 1.5, True, "3")),
    ],
)
def test_bad_values_are_refused(name: str, dials: dict[str, float], count: int, words: str) -> None:
    with pytest.raises(go.BadInput, match=words):
        family(name).steps(dials, count)


@pytest.mark.parametrize("name", NAMES)
def test_given_dials_are_completed_by_defaults(name: str) -> None:
    f = family(name)
    assert f.at({}) == {d.name: d.default for d in f.dials}
    assert all(same(a, b) for a, b in zip(f.steps({}, 2), f.steps(f.at({}), 2), strict=True))


RNG = np.random.default_rng(3)
Q, V, A = RNG.standard_normal((3, 9))
FIRST = Points(np.array([0, 1, 2, 0]), RNG.standard_normal((4, 2)))
SECOND = Points(np.array([1, 2, -1, 2]), RNG.standard_normal((4, 2)))


def along(t: float) -> tuple[np.ndarray, np.ndarray]:
    """A motion with velocity V and acceleration A at t = 0."""
    return Q + t * V + 0.5 * t**2 * A, V + t * A


@pytest.mark.parametrize("joint", [Pins(FIRST, SECOND), Links.between(FIRST, SECOND, Q)])
def test_rows_and_right_hand_sides_of_joints_are_derivatives(joint: Pins | Links) -> None:
    h = 1e-5
    rate = (joint.values(along(h)[0]) - joint.values(along(-h)[0])) / (2 * h)
    np.testing.assert_allclose(joint.rows(Q) @ V, rate, atol=1e-8)
    moved = [joint.rows(q) @ v for q, v in (along(h), along(-h))]
    np.testing.assert_allclose(joint.rows(Q) @ A - joint.gamma(Q, V), (moved[0] - moved[1]) / (2 * h), atol=1e-7)


def test_points_move_as_their_rows_and_bias_say() -> None:
    h = 1e-4
    p = [FIRST.positions(along(t)[0]) for t in (-h, 0.0, h)]
    np.testing.assert_allclose(FIRST.rows(Q) @ V, (p[2] - p[0]) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(FIRST.rows(Q) @ A + FIRST.bias(Q, V), (p[2] - 2 * p[1] + p[0]) / h**2, atol=1e-6)
    ground = on_ground(np.array([[1.0, 2.0]]))
    assert not ground.rows(Q).any()
    np.testing.assert_array_equal(ground.positions(Q), [[1.0, 2.0]])


@pytest.mark.parametrize("zigzag", [False, True])
def test_masses_are_graded(zigzag: bool) -> None:
    for count in (2, 3, 10):
        mass = graded(1e4, count, zigzag)
        assert mass.max() / mass.min() == pytest.approx(1e4)
        assert np.exp(np.log(mass).mean()) == pytest.approx(1.0)
        ratios = np.sort(mass)[1:] / np.sort(mass)[:-1]
        np.testing.assert_allclose(ratios, 1e4 ** (1 / (count - 1)))
    assert graded(1e4, 1).tolist() == [1.0]


@pytest.mark.parametrize(("name", "dials"), EVERYWHERE)
def test_steps_are_sound_wherever_the_dials_stand(name: str, dials: dict[str, float]) -> None:
    steps = family(name).steps(dials, 3)
    for step, again in zip(steps, family(name).steps(dials, 3), strict=True):
        assert step.finite()
        assert same(step, again)
        assert go.StepData.from_mapping(step.to_mapping()).n == step.n
        np.testing.assert_array_equal(step.M, step.M.T)
        assert (np.linalg.eigvalsh(step.M) > 0).all()
        # The state is lawful: joints hold at velocity level, and contacts stay closed.
        assert step.v is not None
        speed = max(1e-300, float(np.abs(step.v).max()))
        assert np.abs(step.J @ step.v).max(initial=0.0) <= 1e-11 * speed * max(1.0, np.abs(step.J).max(initial=0.0))
        assert np.abs(step.J_N @ step.v).max(initial=0.0) <= 1e-12 * max(1.0, np.abs(step.J_N).max(initial=0.0))
        np.testing.assert_allclose(
            np.einsum("kdn,n->kd", step.J_T, step.v), step.v_T, atol=1e-12 * max(1.0, np.abs(step.v_T).max(initial=0))
        )
    assert not any(same(a, b) for a, b in itertools.pairwise(steps))
    # Like instants of a motion: close neighbours are nearly the same.
    near = family(name).steps(dials, 201)[:2] if steps[0].n < 30 else ()
    for a, b in itertools.pairwise(near):
        assert np.abs(a.Q - b.Q).max() <= 0.05 * np.abs(a.Q).max()


@pytest.mark.parametrize(("contacts", "redundancy", "bodies"), [(1, 0, 1), (2, 0, 1), (7, 0, 4), (8, 1, 3), (5, 8, 1)])
@pytest.mark.parametrize("name", ["sliding-row", "box-stack"])
def test_contacts_are_counted(name: str, contacts: int, redundancy: int, bodies: int) -> None:
    step = family(name).steps({"contacts": contacts, "redundancy": redundancy}, 1)[0]
    assert (step.k, step.n) == (contacts, 3 * bodies)
    assert np.linalg.matrix_rank(step.J_N) == min(contacts, 2 * bodies - (contacts % (2 + redundancy) == 1))


def test_feet_of_a_row_touch_the_floor_and_slide_both_ways() -> None:
    row = _Row(family("sliding-row").at({"contacts": 9, "joints": 1}))
    for t in (0.0, 0.3, 1.0):
        q, v = row.state(t)
        np.testing.assert_allclose(row.feet.positions(q)[:, 1], 0.0, atol=1e-15)
        np.testing.assert_allclose(row.links.values(q), 0.0, atol=1e-15)
        later, before = row.state(t + 1e-6)[0], row.state(t - 1e-6)[0]
        feet = np.delete(np.arange(len(q)), np.s_[-3:])  # the last body swings: its foot has a velocity of its own
        np.testing.assert_allclose((later - before)[feet] / 2e-6, v[feet], atol=1e-9)
    step = family("sliding-row").steps({"contacts": 9, "joints": 1}, 1)[0]
    assert (step.v_T > 0.1).any()
    assert (step.v_T < -0.1).any()
    assert step.zeta_N[-1] != 0  # the centripetal acceleration of the foot that its body swings about
    assert step.m == 1


def test_rods_are_as_many_as_asked_or_as_there_is_room_for() -> None:
    row = family("sliding-row")
    assert [row.steps({"contacts": 8, "joints": j}, 1)[0].m for j in (0, 1, 3, 99)] == [0, 1, 3, 3]
    assert row.steps({"contacts": 1, "joints": 99}, 1)[0].m == 0


def test_height_and_friction_make_a_row_less_symmetric() -> None:
    row = family("sliding-row")
    assert asymmetry(row.steps({"friction": 0}, 1)[0]) <= 1e-15
    values = [asymmetry(row.steps({"height": h}, 1)[0]) for h in (0.1, 0.4, 1.0, 1.8)]
    assert values == sorted(values)
    assert values[0] > 0.05
    assert values[-1] > 0.5


def test_a_free_body_has_the_operator_of_the_docstring() -> None:
    step = family("sliding-row").steps({"contacts": 2}, 1)[0]
    A = ContactOperator.of(step).delassus
    foot = step.J_N[:, 2]
    X = np.column_stack((np.ones(2), foot))
    c = 0.3 * step.J_T[0, 0, 2] * step.sigma[0, 0]
    np.testing.assert_allclose(A, X @ np.diag(1 / np.diag(step.M)[1:]) @ [[1.0, 0.0], [c, 1.0]] @ X.T, rtol=1e-13)


def test_painleve_begins_where_the_docstring_says() -> None:
    row = family("sliding-row")
    for friction, height, regular in [(0.3, 1.8, True), (0.3, 2.0, False), (1.0, 0.4, True), (1.0, 0.6, False)]:
        steps = row.steps({"friction": friction, "height": height}, 3)
        assert all(classify_matrix(ContactOperator.of(s).delassus).p_matrix is regular for s in steps)
        found = {certify_contact(s, None).verdict for s in steps}
        assert (found == {SOLVED}) is regular
        assert found <= {SOLVED, go.Status.NO_SOLUTION, go.Status.MULTIPLE_SOLUTIONS}
    # So it does for light bodies in a chain of heavy ones.
    chains = [row.steps({"contacts": 200.0, "joints": 99.0, "mass-ratio": r}, 2)[1] for r in (1.0, 1e3)]
    smallest = [ContactOperator.of(s).delassus.diagonal().min() for s in chains]
    assert smallest[0] > 0 > smallest[1]


def test_contacts_of_a_stack_touch() -> None:
    for dials in ({"contacts": 7}, {"contacts": 8, "redundancy": 2}):
        stack = _Stack(family("box-stack").at(dials))
        np.testing.assert_allclose(stack.above.positions(stack.q), stack.below.positions(stack.q), atol=1e-15)
        step = family("box-stack").steps(dials, 1)[0]
        h = 1e-6
        for i in range(step.n):
            e = h * np.eye(step.n)[i]
            gap = [stack.above.positions(stack.q + s) - stack.below.positions(stack.q + s) for s in (e, -e)]
            slope = (gap[0] - gap[1]) / (2 * h)
            np.testing.assert_allclose(np.column_stack((step.J_T[:, 0, i], step.J_N[:, i])), slope, atol=1e-9)


@pytest.mark.parametrize("dials", [{}, {"contacts": 20}, {"contacts": 9, "redundancy": 1, "mass-ratio": 100.0}])
def test_a_stack_that_is_not_pushed_rests(dials: dict[str, float]) -> None:
    step = family("box-stack").steps(dials, 2)[0]
    answer = go.solve_step(step, "stick-slip", "lemke")
    assert answer.status is SOLVED
    assert answer.a is not None
    np.testing.assert_allclose(answer.a, 0.0, atol=1e-8)
    weight = GRAVITY * np.diag(step.M)[1::3]
    # Every interface carries what is above it.
    for box in range(step.n // 3):
        contacts = step.J_N[:, 3 * box + 1] > 0
        assert answer.lam_N[contacts].sum() == pytest.approx(weight[box:].sum(), rel=1e-9)
        assert answer.lam_T[contacts].sum() == pytest.approx(0.0, abs=1e-8 * weight.sum())


def test_a_stack_sticks_then_slips() -> None:
    slips = []
    for step in family("box-stack").steps({}, 9):
        a = go.solve_step(step, "stick-slip", "lemke").a
        assert a is not None
        slips.append(np.abs(step.J_T[:, 0] @ a).max() > 1e-6)
    assert not slips[0]
    assert slips[-1]
    assert slips == sorted(slips)


@pytest.mark.parametrize(("name", "formulation"), [("sliding-row", "lcp"), ("box-stack", "stick-slip")])
def test_forces_balance_momenta_and_friction_opposes_slip(name: str, formulation: str) -> None:
    for step in family(name).steps({"contacts": 12}, 4):
        answer = go.solve_step(step, formulation, "lemke")
        assert answer.status is SOLVED
        assert answer.a is not None
        assert answer.lam is not None
        # Rods and contacts between boxes push and pull alike: only the floor and the loads move the whole.
        floor = answer.lam_N if name == "sliding-row" else answer.lam_N * (np.arange(12) < 2)
        mass = np.diag(step.M)[1::3]
        lift = step.Q[1::3].sum() + floor.sum()
        assert mass @ answer.a[1::3] == pytest.approx(lift, abs=1e-9 * GRAVITY * mass.sum())
        assert (np.abs(answer.lam_T[:, 0]) <= step.mu * answer.lam_N + 1e-9).all()
        assert (answer.lam_T * step.v_T <= 0).all()


def test_a_row_presses_and_lifts() -> None:
    steps = family("sliding-row").steps({"contacts": 40}, 4)
    assert 0.5 < np.mean([go.solve_step(s, "lcp", "lemke").lam_N > 0 for s in steps]) < 0.95


def test_linkages_have_the_sizes_of_claim_c2() -> None:
    for bodies, *size in ((2, 6, 4), (7, 21, 14), (30, 90, 60), (100, 300, 200)):
        step = family("linkage").steps({"bodies": bodies}, 1)[0]
        assert [step.n, step.m] == size


@pytest.mark.parametrize(("bodies", "least", "most"), [(2, 1, 5), (3, 1, 8), (7, 1, 20), (100, 299, 299)])
def test_rows_of_a_linkage_are_independent_for_every_number(bodies: int, least: int, most: int) -> None:
    for m in range(least, most + 1):
        step = family("linkage").steps({"bodies": bodies, "constraints": m, "redundancy": 0}, 2)[1]
        assert step.m == m
        assert rank_report(step).rank_J == m
        assert go.solve_step(step, "gauss", "kkt").status is SOLVED


def test_a_closed_linkage_stays_closed_as_it_moves() -> None:
    mechanism = _Mechanism(family("linkage").at({"bodies": 5, "constraints": 13}))
    for t in np.linspace(0, 1, 7):
        q, v = mechanism.state(float(t))
        assert np.abs(mechanism.values(q)).max() <= 1e-12
        assert np.abs(mechanism.rows(q) @ v).max() <= 1e-12
        assert np.abs(v).max() > 1e-3


@pytest.mark.parametrize("dials", [{}, {"bodies": 4, "constraints": 11}, {"bodies": 3, "constraints": 1}])
def test_repeated_rows_change_no_acceleration(dials: dict[str, float]) -> None:
    linkage = family("linkage")
    plain, more = (linkage.steps({**dials, "redundancy": r}, 2)[1] for r in (0, 6))
    assert more.m == plain.m + 6
    assert rank_report(more).rank_J == plain.m
    a, b = (go.solve_step(s, "gauss", "kkt") for s in (plain, more))
    assert a.status is b.status is SOLVED
    assert not b.forces_unique
    assert a.a is not None
    np.testing.assert_allclose(a.a, b.a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-3, 0.1, 1e3])
@pytest.mark.parametrize(
    ("name", "formulation"), [("sliding-row", "lcp"), ("box-stack", "stick-slip"), ("linkage", "gauss")]
)
def test_answers_scale_with_the_units(name: str, formulation: str, unit: float) -> None:
    solver = "kkt" if name == "linkage" else "lemke"
    ours, theirs = (family(name).steps({"units": u}, 3)[1] for u in (1.0, unit))
    a, b = (go.solve_step(s, formulation, solver) for s in (ours, theirs))
    assert (a.status, a.forces_unique) == (b.status, b.forces_unique) == (SOLVED, a.forces_unique)
    if a.contact is not None and b.contact is not None:
        assert a.contact.reason == b.contact.reason
    length = np.tile([unit, unit, 1.0], ours.n // 3)
    assert a.a is not None
    assert b.a is not None
    np.testing.assert_allclose(b.a * length, a.a, rtol=1e-9, atol=1e-9 * (1e-3 + np.abs(a.a).max()))
    np.testing.assert_allclose(theirs.v_T * unit, ours.v_T, rtol=1e-14)
    if ours.k:
        force = unit**2  # kg m/s^2
        np.testing.assert_allclose(b.lam_N * force, a.lam_N, rtol=1e-9, atol=1e-9 * a.lam_N.max())
        assert asymmetry(theirs) == pytest.approx(asymmetry(ours), rel=1e-9, abs=1e-15)
    # Energy is in kg m^2/s^2.
    assert ours.v is not None
    assert theirs.v is not None
    assert theirs.v @ theirs.M @ theirs.v * unit**3 == pytest.approx(ours.v @ ours.M @ ours.v, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_units_do_not_change_verdicts(unit: float) -> None:
    for dials in ({"friction": 1.0, "height": 0.6}, {"friction": 0.3, "height": 2.0}, {"redundancy": 2.0}):
        ours, theirs = (family("sliding-row").steps({**dials, "units": u}, 3) for u in (1.0, unit))
        for a, b in zip(ours, theirs, strict=True):
            x, y = certify_contact(a, None).contact, certify_contact(b, None).contact
            assert (x.status, x.reason, x.forces_unique) == (y.status, y.reason, y.forces_unique)


def formulations_of(step: go.StepData) -> list[str]:
    fit = []
    for name in registry.names("formulation"):
        entry = registry.load("formulation", name)
        try:
            entry.check(step)
        except go.NotAccepted:
            continue
        if entry.exact and entry.level == "acceleration":
            fit.append(name)
    return fit


SMALL = [
    ("sliding-row", {"contacts": 3.0}, {"lcp", "stick-slip", "lcp-qp", "frozen-friction"}),
    ("sliding-row", {"contacts": 6.0, "friction": 0.0}, {"gauss", "dual", "lcp", "weighted-normal-force-qp"}),
    ("sliding-row", {"contacts": 2.0}, {"lcp", "weighted-normal-force-qp", "frozen-friction"}),
    ("sliding-row", {"contacts": 6.0, "redundancy": 1.0}, {"lcp", "stick-slip", "lcp-qp"}),
    ("box-stack", {}, {"stick-slip"}),
    ("box-stack", {"friction": 0.0}, {"gauss", "dual", "lcp", "lcp-qp", "stick-slip"}),
    ("linkage", {"bodies": 3.0}, {"gauss", "lagrange", "null-space", "least-squares", "udwadia-kalaba", "dual"}),
    ("linkage", {"bodies": 4.0, "constraints": 11.0, "redundancy": 2.0}, {"gauss", "null-space", "udwadia-kalaba"}),
]


@pytest.mark.parametrize(("name", "dials", "expected"), SMALL)
def test_every_formulation_that_fits_is_certified(name: str, dials: dict[str, float], expected: set[str]) -> None:
    for step in family(name).steps(dials, 2):
        solved = {}
        for formulation in formulations_of(step):
            try:
                program = go.formulate(step, formulation)
            except go.NotAccepted:
                continue
            answer = go.solve_step(step, formulation, EXACT[type(program).__name__])
            assert answer.status is SOLVED, (formulation, answer.message)
            solved[formulation] = answer.a
        assert expected <= solved.keys()
        reference = next(iter(solved.values()))
        for a in solved.values():
            np.testing.assert_allclose(a, reference, rtol=1e-6, atol=1e-6)


BIG = [
    ("sliding-row", {"contacts": 200.0}, "lcp", "lemke", "positive definite"),
    ("sliding-row", {"contacts": 200.0}, "lcp-qp", "daqp", "positive definite"),
    ("sliding-row", {"contacts": 200.0, "redundancy": 3.0}, "lcp", "lemke", "monotone"),
    ("sliding-row", {"contacts": 200.0, "joints": 50.0, "mass-ratio": 1e6}, "lcp", "lemke", "positive definite"),
    ("box-stack", {"contacts": 200.0}, "stick-slip", "lemke", "undecided"),
    ("box-stack", {"contacts": 200.0, "friction": 0.0}, "gauss", "daqp", "positive definite"),
    ("linkage", {"bodies": 100.0}, "gauss", "kkt", None),
]


@pytest.mark.parametrize(("name", "dials", "formulation", "solver", "reason"), BIG)
def test_big_steps_are_certified(
    name: str, dials: dict[str, float], formulation: str, solver: str, reason: str | None
) -> None:
    step = family(name).steps(dials, 3)[1]
    answer = go.solve_step(step, formulation, solver)
    assert answer.status is SOLVED, answer.message
    assert (None if answer.contact is None else answer.contact.reason) == reason
    assert answer.certificate.relative_error <= 1e-9
    assert answer.a is not None
    if step.k:
        # The certificate sees an answer that is off.
        wrong = certify_contact(step, answer.a + 1e-4, None, answer.lam_N, answer.lam_T)
        assert not wrong.passed()


def test_heavy_on_light_has_no_second_solution() -> None:
    # Both contacts of a box slip, one each way: friction along the slip, once let pass by an ill-conditioned basis.
    for step in family("box-stack").steps({"mass-ratio": 1e6}, 3):
        verdict = certify_contact(step, None).contact
        assert (verdict.status, len(verdict.solutions)) == (SOLVED, 0)
        raw = go.solve_step(step, "stick-slip", "lemke", tolerance=1e-5)
        assert raw.status is SOLVED, raw.message


def test_a_step_without_friction_is_symmetric_whatever_slides() -> None:
    step = family("sliding-row").steps({"friction": 0.0}, 2)[1]
    moving = replace(step, v_T=-step.v_T)
    np.testing.assert_array_equal(ContactOperator.of(step).delassus, ContactOperator.of(moving).delassus)
