"""The certificate of contact steps against solutions that are found mode by mode, without the program's own help."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from samples import sample
from scipy.optimize import linprog

import gaussopt as go
from gaussopt.certificates.contact import ContactCertificate
from gaussopt.contact.operator import ContactOperator

seeds = st.integers(0, 2**32 - 1)
UNITS = (1e-8, 1e-4, 1.0, 1e4, 1e8)
SOLVED, NONE, SEVERAL = go.Status.SOLVED, go.Status.NO_SOLUTION, go.Status.MULTIPLE_SOLUTIONS
CONTINUUM = go.Status.ACCELERATION_NOT_UNIQUE
OPEN, CLOSED, STICK, RIGHT, LEFT = "open", "closed", "stick", "right", "left"


class Found(NamedTuple):
    a: np.ndarray
    lam: np.ndarray
    lam_N: np.ndarray
    lam_T: np.ndarray

    def certify(self, step: go.StepData, **changed: Any) -> ContactCertificate:
        return go.certify_contact(step, **{**self._asdict(), **changed})


def modes(step: go.StepData) -> Iterator[tuple[str, ...]]:
    """All combinations: a contact that slides is open or closed, one without slip also sticks or slips."""
    choices = [(OPEN, STICK, RIGHT, LEFT) if rests else (OPEN, CLOSED) for rests in step.resting]
    return itertools.product(*choices)


def solutions(step: go.StepData) -> list[Found]:
    """The lawful solution of every mode as a linear system in (a, lam, lam_N, lam_T); for independent rows."""
    n, m, k = step.n, step.m, step.k
    J_T, sigma = step.J_T[:, 0], step.sigma[:, 0]
    found: list[Found] = []
    for mode in modes(step):
        A, b = np.zeros((n + m + 2 * k, n + m + 2 * k)), np.zeros(n + m + 2 * k)
        A[:n] = np.hstack((step.M, -step.J.T, -step.J_N.T, -J_T.T))
        A[n : n + m, :n], b[:n], b[n : n + m] = step.J, step.force, step.gamma
        N, T = n + m + np.arange(k), n + m + k + np.arange(k)
        for i, what in enumerate(mode):
            row, other = N[i], T[i]
            if what == OPEN:
                A[row, N[i]] = A[other, T[i]] = 1.0
                continue
            A[row, :n], b[row] = step.J_N[i], -step.zeta_N[i]
            if what == STICK:
                A[other, :n], b[other] = J_T[i], -step.zeta_T[i, 0]
            else:
                side = sigma[i] if what == CLOSED else {RIGHT: -1.0, LEFT: 1.0}[what]
                A[other, T[i]], A[other, N[i]] = 1.0, -side * step.mu[i]
        if np.linalg.cond(A) > 1e12:
            continue
        x = np.linalg.solve(A, b)
        a, lam_N, lam_T = x[:n], x[N], x[T]
        w, s = step.J_N @ a + step.zeta_N, J_T @ a + step.zeta_T[:, 0]
        tiny = 1e-9 * (1 + np.abs(x).max())
        lawful = (lam_N >= -tiny).all() and (w >= -tiny).all() and (np.abs(lam_T) <= step.mu * lam_N + tiny).all()
        lawful &= all({RIGHT: s[i] >= -tiny, LEFT: s[i] <= tiny}.get(what, True) for i, what in enumerate(mode))
        if lawful and not any(np.allclose(a, f.a, rtol=1e-6, atol=1e-6) for f in found):
            found.append(Found(a, x[n : n + m], lam_N, lam_T[:, None]))
    return found


def random_step(seed: int, n: int, m: int, k: int, rest: int = 0, mu: float = 0.5, pressed: float = 3.0) -> go.StepData:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    M = root @ root.T + 0.5 * np.eye(n)
    J_N = rng.standard_normal((k, n))
    v_T = rng.choice([-1.0, 1.0], k) * rng.uniform(0.1, 2, k)
    v_T[:rest] = 0.0
    return go.StepData.from_mapping({
        "M": 0.5 * (M + M.T), "Q": 3 * rng.standard_normal(n) - pressed * J_N.sum(axis=0),
        "J": rng.standard_normal((m, n)), "gamma": rng.standard_normal(m), "J_N": J_N,
        "zeta_N": rng.standard_normal(k), "J_T": rng.standard_normal((k, n)), "zeta_T": rng.standard_normal(k),
        "v_T": v_T, "mu": np.full(k, mu) * rng.uniform(0.5, 1.5, k),
    })  # fmt: skip


def well_posed(step: go.StepData) -> bool:
    """Rows of joints and contacts independent beyond any doubt."""
    rows = np.vstack((step.J, step.J_N, step.J_T[step.resting, 0]))
    return bool(np.linalg.cond(step.M) < 1e3 and np.linalg.svd(rows, compute_uv=False)[-1] > 0.05)


def class_of(step: go.StepData) -> str:
    """Of the contact operator, by the formula of section 0 and all principal minors."""
    inverse = np.linalg.inv(step.M)
    H = inverse
    if step.m:
        H = inverse - inverse @ step.J.T @ np.linalg.solve(step.J @ inverse @ step.J.T, step.J @ inverse)
    A = step.J_N @ H @ step.friction_map
    if np.linalg.eigvalsh(A + A.T)[0] > 0:
        return "definite"
    minors = [
        np.linalg.det(A[np.ix_(s, s)])
        for size in range(1, step.k + 1)
        for s in map(list, itertools.combinations(range(step.k), size))
    ]
    return "P" if min(minors) > 0 else "not P"


def steps_of_class(kind: str, count: int, **shape: Any) -> list[go.StepData]:
    """The first random steps of a class with one solution."""
    found: list[go.StepData] = []
    for seed in range(10**5):
        step = random_step(seed, **shape)
        if well_posed(step) and (kind == "any" or class_of(step) == kind) and len(solutions(step)) == 1:
            found.append(step)
            if len(found) == count:
                return found
    raise AssertionError("too few steps of this class")


CLASSES = {
    "definite": {"kind": "definite", "n": 4, "m": 0, "k": 2},
    "definite with joints": {"kind": "definite", "n": 6, "m": 2, "k": 3},
    "P-matrix": {"kind": "P", "n": 4, "m": 0, "k": 2, "mu": 2.0},
    "P-matrix with joints": {"kind": "P", "n": 6, "m": 2, "k": 3, "mu": 1.0},
    "not P, one solution": {"kind": "not P", "n": 4, "m": 1, "k": 2, "mu": 2.0},
    "stick": {"kind": "any", "n": 4, "m": 0, "k": 2, "rest": 2},
    "stick and slide with joints": {"kind": "any", "n": 7, "m": 2, "k": 3, "rest": 2},
}


@pytest.fixture(scope="module")
def classes() -> dict[str, list[go.StepData]]:
    return {name: steps_of_class(count=4, **shape) for name, shape in CLASSES.items()}


def mass_norm(step: go.StepData, e: np.ndarray) -> float:
    return math.sqrt(max(e @ step.M @ e, 0.0))


@pytest.mark.parametrize("name", CLASSES)
def test_the_bound_covers_the_error(name: str, classes: dict[str, list[go.StepData]]) -> None:
    """Candidates disturbed by 1e-14 to 1e2, in the acceleration alone, in the forces alone, in both."""
    rng = np.random.default_rng(1)
    for step in classes[name]:
        (true,) = solutions(step)
        for exponent, part in itertools.product(range(-14, 3, 2), ("a", "forces", "both")):
            size = 10.0**exponent
            a, lam, lam_N, lam_T = (
                x + size * rng.standard_normal(x.shape) * (part in ("both", which))
                for x, which in zip(true, ("a", "forces", "forces", "forces"), strict=True)
            )
            c = go.certify_contact(step, a, lam, lam_N, lam_T)
            assert c.verdict is SOLVED
            assert math.isfinite(c.error_bound)
            error = mass_norm(step, a - true.a)
            # The reference itself is good to 1e-12 here.
            assert error <= c.error_bound * (1 + 1e-6) + 10 * c.rounding_floor + 1e-12 * (1 + c.norm_a), (size, part)
            assert np.linalg.norm(a - true.a) <= c.error_norm * (1 + 1e-6) + 1e-11 * (1 + c.norm_a), (size, part)
            disturbed = size * (1.0 if part == "a" else 0.01) > 1e-5
            assert not (disturbed and c.passed()), (size, part)
            if size <= 1e-12:
                assert c.passed(1e-9), part
                assert c.error_bound <= 1e-10


@pytest.mark.parametrize("name", CLASSES)
def test_the_bound_is_the_error_where_the_mode_is_named(name: str, classes: dict[str, list[go.StepData]]) -> None:
    rng = np.random.default_rng(2)
    for step in classes[name]:
        (true,) = solutions(step)
        for size in (1e-10, 1e-6, 1e-2, 1e2):
            a = true.a + size * rng.standard_normal(step.n)
            c = true.certify(step, a=a)
            error = mass_norm(step, a - true.a)
            assert c.error_bound == pytest.approx(error, rel=1e-6, abs=1e-12 * (1 + c.norm_a))


@pytest.mark.parametrize("name", CLASSES)
def test_an_acceleration_alone_is_certified(name: str, classes: dict[str, list[go.StepData]]) -> None:
    for step in classes[name]:
        (true,) = solutions(step)
        assert go.certify_contact(step, true.a).passed(1e-10)
        assert go.certify_contact(step, true.a, lam_N=true.lam_N).passed(1e-10) or step.resting.any()
        wrong = go.certify_contact(step, true.a + 1e-3)
        assert not wrong.passed()
        assert wrong.error_bound == pytest.approx(mass_norm(step, np.full(step.n, 1e-3)), rel=1e-6)


def test_an_acceleration_alone_is_certified_where_forces_are_open(data: Callable[[str], Any]) -> None:
    """Least squares may share the forces of redundant contacts against the law of friction."""
    taken = 0
    for case in data("step_cases.json"):
        expected = case["expect"].get("stick-slip")
        if expected is None or expected["status"] != "solved":
            continue
        taken += 1
        step = go.StepData.from_mapping(case["problem"])
        a = np.array(expected["a"])
        c = go.certify_contact(step, a)
        assert c.passed(1e-9), case["name"]
        assert c.forces_unique is expected["forces_unique"]
        assert not go.certify_contact(step, a + 1e-4).passed(), case["name"]
    assert taken == 36


def test_a_redundant_open_contact_takes_no_share_of_an_estimated_force() -> None:
    """Two contacts on one point, one of which is pulled away: only the other one may push."""
    step = go.StepData.from_mapping({
        "M": [[1.0]], "Q": [-10.0], "J_N": [[1.0], [1.0]], "zeta_N": [0.0, 2.0],
    })  # fmt: skip
    c = go.certify_contact(step, np.zeros(1))
    assert c.passed(1e-12)
    assert not go.certify_contact(step, np.zeros(1), None, np.array([5.0, 5.0])).passed()
    assert go.certify_contact(step, np.zeros(1), None, np.array([10.0, 0.0])).passed(1e-12)


def scaled(step: go.StepData, true: Found, mass: float, length: float) -> tuple[go.StepData, Found]:
    """The same step in other units: masses times `mass`, accelerations times `length`."""
    data = step.to_mapping()
    for key, factor in {
        "M": mass, "Q": mass * length, "h": mass * length, "gamma": length, "zeta_N": length, "zeta_T": length,
        "v_T": length,
    }.items():  # fmt: skip
        if key in data:
            data[key] = (np.array(data[key]) * factor).tolist()
    force = mass * length
    return go.StepData.from_mapping(data), Found(true.a * length, true.lam * force, true.lam_N * force,
                                                 true.lam_T * force)  # fmt: skip


def obeying(step: go.StepData, lam_N: np.ndarray, lam_T: np.ndarray) -> Found:
    """The motion that given contact forces would really cause: only the contact laws are violated."""
    K = np.block([[step.M, -step.J.T], [step.J, np.zeros((step.m, step.m))]])
    f = step.force + step.J_N.T @ lam_N + np.einsum("kdn,kd->n", step.J_T, lam_T)
    x = np.linalg.solve(K, np.concatenate((f, step.gamma)))
    return Found(x[: step.n], x[step.n :], lam_N, lam_T)


def wrong_answers(step: go.StepData, true: Found) -> Iterator[tuple[str, Found]]:
    pushing = true.lam_N > 1e-6 * np.abs(true.lam_N).max(initial=1e-300)
    w = step.J_N @ true.a + step.zeta_N
    if pushing.any():
        i = int(np.argmax(pushing))
        unit = np.eye(step.k)[i]
        if np.abs(true.lam_T[i]).max() > 1e-6 * true.lam_N[i]:
            turned = true.lam_T * np.where(np.arange(step.k) == i, -1.0, 1.0)[:, None]
            yield "friction on the wrong side", obeying(step, true.lam_N, turned)
            yield "friction on the wrong side, right acceleration", true._replace(lam_T=turned)
            yield "no friction", obeying(step, true.lam_N, 0 * true.lam_T)
        big = true.lam_T + (step.mu * true.lam_N)[:, None] * unit[:, None]
        yield "too much friction", obeying(step, true.lam_N, big)
        tension = true.lam_N * (1 - 2 * unit)
        yield "tensile force", obeying(step, tension, true.lam_T * (1 - 2 * unit)[:, None])
        yield "penetrating", obeying(step, true.lam_N * (1 - unit / 2), true.lam_T * (1 - unit / 2)[:, None])
        yield "too large a force", obeying(step, true.lam_N * (1 + unit / 2), true.lam_T * (1 + unit / 2)[:, None])
        yield "wrong forces, right acceleration", true._replace(lam_N=1.1 * true.lam_N, lam_T=1.1 * true.lam_T)
    for i in np.flatnonzero(~pushing & (w > 1e-6 * np.abs(w).max())):
        force = true.lam_N + np.eye(step.k)[i] * np.abs(step.force).max()
        yield "force at an open contact", obeying(step, force, true.lam_T)
        yield "force at an open contact, right acceleration", true._replace(lam_N=force)
    yield "right forces, wrong acceleration", true._replace(a=true.a + 0.1 * np.abs(true.a).max())
    yield "right forces, zero acceleration", true._replace(a=0 * true.a)
    if step.m:
        yield "wrong joint forces", true._replace(lam=true.lam + 0.1 * np.abs(true.lam).max())
    if step.k > 1 and np.ptp(true.lam_N) > 1e-3 * true.lam_N.max():
        yield "swapped contacts", obeying(step, true.lam_N[::-1].copy(), true.lam_T[::-1].copy())
        yield "swapped contacts, right acceleration", true._replace(lam_N=true.lam_N[::-1], lam_T=true.lam_T[::-1])


@pytest.mark.parametrize(
    "units",
    sample([(1.0, 1.0), (1e-8, 1e8), (1e8, 1e-8), (1e-4, 1e-8), (1e8, 1e8)], [*itertools.product(UNITS, UNITS)]),
)
def test_right_answers_pass_and_wrong_ones_do_not(
    units: tuple[float, float], classes: dict[str, list[go.StepData]]
) -> None:
    mass, length = units
    seen: set[str] = set()
    for name, steps in classes.items():
        for original in steps[:3]:
            step, true = scaled(original, solutions(original)[0], mass, length)
            c = true.certify(step)
            assert c.passed(), (name, c.error_bound, c.law_residual)
            assert c.friction_power <= 1e-12 * (1 + np.abs(true.lam_T).max() * np.abs(step.v_T).max())
            for what, wrong in wrong_answers(step, true):
                seen.add(what)
                c = wrong.certify(step)
                assert c.verdict is SOLVED
                assert not c.passed(), (name, what, c.error_bound, c.law_residual, c.force_residual)
    assert len(seen) == 15


def test_friction_that_feeds_is_named() -> None:
    step = go.StepData.from_mapping({
        "M": np.eye(2), "Q": [0.0, -10.0], "J_N": [[0, 1]], "zeta_N": [0], "J_T": [[1, 0]], "zeta_T": [0],
        "v_T": [2.0], "mu": [0.5],
    })  # fmt: skip
    right = go.certify_contact(step, np.array([-5.0, 0.0]), None, np.array([10.0]), np.array([[-5.0]]))
    assert right.passed(1e-14)
    assert right.friction_power == 0.0
    assert right.smallest_w == 0.0
    wrong = go.certify_contact(step, np.array([5.0, 0.0]), None, np.array([10.0]), np.array([[5.0]]))
    assert not wrong.passed()
    assert wrong.friction_power == pytest.approx(10.0)
    assert wrong.error_bound == pytest.approx(10.0)
    # The forces of the reported a are those of no law: the residual is the friction's distance from its own.
    assert wrong.law_residual == pytest.approx(10.0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none_do_not_pass(value: float, classes: dict[str, list[go.StepData]]) -> None:
    step = classes["definite with joints"][0]
    (true,) = solutions(step)
    assert not true.certify(step, a=np.full(step.n, value)).passed(math.inf)
    assert not true.certify(step, lam=np.full(step.m, value)).passed()
    # Forces that are no numbers count as not given; the acceleration is still judged.
    assert true.certify(step, lam_N=np.full(step.k, value)).passed()
    assert not true.certify(step, lam_N=np.full(step.k, value), a=true.a + 1.0).passed()


class Feasible(NamedTuple):
    """What linear programs say of all modes."""

    points: list[np.ndarray]
    continuum: bool
    force_range: np.ndarray


def by_linear_programs(step: go.StepData, weights: np.ndarray) -> Feasible:
    """Every mode as a polyhedron in (a, lam, lam_N, lam_T), any ranks; its range along one direction of a."""
    n, m, k = step.n, step.m, step.k
    J_T, sigma = step.J_T[:, 0], step.sigma[:, 0]
    size = n + m + 2 * k
    motion = np.zeros((n + m, size))
    motion[:n] = np.hstack((step.M, -step.J.T, -step.J_N.T, -J_T.T))
    motion[n:, :n] = step.J
    right = np.concatenate((step.force, step.gamma))
    unit = np.eye(size)
    gap, slip = np.zeros((k, size)), np.zeros((k, size))
    gap[:, :n], slip[:, :n] = step.J_N, J_T
    N, T = unit[n + m : n + m + k], unit[n + m + k :]
    points: list[np.ndarray] = []
    continuum = False
    low, high = np.full(2 * k, np.inf), np.full(2 * k, -np.inf)
    for mode in modes(step):
        equal, value, below, bound = list(motion), list(right), [], []
        for i, what in enumerate(mode):
            below.append(-N[i]), bound.append(0.0)
            below.append(-gap[i]), bound.append(step.zeta_N[i])
            if what == OPEN:
                equal += [N[i], T[i]]
                value += [0.0, 0.0]
                continue
            equal.append(gap[i]), value.append(-step.zeta_N[i])
            if what == STICK:
                equal.append(slip[i]), value.append(-step.zeta_T[i, 0])
                for sign in (1, -1):
                    below.append(sign * T[i] - step.mu[i] * N[i]), bound.append(0.0)
                continue
            side = sigma[i] if what == CLOSED else {RIGHT: -1.0, LEFT: 1.0}[what]
            equal.append(T[i] - side * step.mu[i] * N[i]), value.append(0.0)
            if what != CLOSED:
                below.append(side * slip[i]), bound.append(-side * step.zeta_T[i, 0])

        def solve(c: np.ndarray) -> Any:
            return linprog(
                c, np.array(below), np.array(bound), np.array(equal), np.array(value), bounds=(None, None),  # noqa: B023
                method="highs",
            )  # fmt: skip

        cost = np.zeros(size)
        cost[:n] = weights
        first = solve(cost)
        if first.status == 2:
            continue
        last = solve(-cost)
        assert last.status in (0, 3)
        a = [x.x[:n] for x in (first, last) if x.status == 0]
        if len(a) < 2 or abs(weights @ (a[0] - a[1])) > 1e-6 * (1 + np.abs(a[0]).max()):
            continuum = True
            continue
        if not any(np.abs(a[0] - p).max() <= 1e-6 * (1 + np.abs(p).max()) for p in points):
            points.append(a[0])
        for j in range(2 * k):
            for sign, ends in ((1, low), (-1, high)):
                result = solve(sign * unit[n + m + j])
                reached = sign * result.fun if result.status == 0 else -sign * np.inf
                ends[j] = min(ends[j], reached) if sign == 1 else max(ends[j], reached)
    return Feasible(points, continuum, np.column_stack((low, high)))


def check_against_linear_programs(step: go.StepData, seed: int) -> str:
    weights = np.random.default_rng(seed).standard_normal(step.n)
    found = by_linear_programs(step, weights)
    c = go.certify_contact(step, None)
    if found.continuum:
        assert c.verdict is CONTINUUM
        return "continuum"
    expected = {0: NONE, 1: SOLVED}.get(len(found.points), SEVERAL)
    assert c.verdict is expected, (c.contact.reason, found.points)
    if expected is NONE:
        return "none"
    if expected is SEVERAL:
        assert len(c.contact.solutions) == len(found.points)
        for p in found.points:
            assert any(np.abs(s.a - p).max() <= 1e-6 * (1 + np.abs(p).max()) for s in c.contact.solutions)
        return "several"
    widths = found.force_range[:, 1] - found.force_range[:, 0]
    scale = 1e-6 * (1 + np.abs(found.force_range[np.isfinite(found.force_range)]).max(initial=0.0))
    assert c.forces_unique is bool((widths <= scale).all())
    if not c.forces_unique:
        ranges = np.vstack((c.contact.ranges["lam_N"], c.contact.ranges["lam_T"]))
        np.testing.assert_allclose(ranges, found.force_range, rtol=0, atol=scale)
    answer = go.solve_step(step, "stick-slip", "enumerate")
    assert answer.status is SOLVED
    np.testing.assert_allclose(answer.a, found.points[0], rtol=0, atol=1e-6 * (1 + np.abs(found.points[0]).max()))
    return "one" if c.forces_unique else "one, forces open"


@pytest.mark.parametrize("draws", sample([6], [12]))
@pytest.mark.parametrize(("k", "rest"), [(k, rest) for k in (1, 2, 3) for rest in (0, 1, 2) if rest <= k])
def test_verdicts_against_linear_programs(k: int, rest: int, draws: int) -> None:
    """Random systems with much friction: none, one or several accelerations, counted by other means."""
    kinds = set()
    for seed in range(draws if k < 3 else draws // 2):
        step = random_step(1000 * k + 100 * rest + seed, n=4, m=seed % 2, k=k, rest=rest, mu=2.5)
        if well_posed(step):
            kinds.add(check_against_linear_programs(step, seed))
    assert kinds >= {"one"}


def redundant_step(seed: int, equal_mu: bool, rest: bool) -> go.StepData:
    """A rigid body in the plane on two or three points of one line, or on two that coincide."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    x = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], k)  # a point may carry two contacts
    height = 0.5
    push = float(rng.choice([-1, 1]) * rng.integers(5, 13))
    mu = np.full(k, 0.25) if equal_mu else rng.choice([0.25, 0.5, 0.75], k)
    return go.StepData.from_mapping({
        "M": np.diag([2.0, 2.0, 0.5]), "Q": [push, -20.0, float(rng.integers(-2, 3))],
        "J_N": [[0.0, 1.0, p] for p in x], "zeta_N": np.zeros(k), "J_T": [[1.0, 0.0, height]] * k,
        "zeta_T": np.zeros(k), "v_T": np.zeros(k) if rest else np.full(k, 1.0), "mu": mu,
    })  # fmt: skip


@pytest.mark.parametrize("seeds", sample([range(4, 8)], [range(4, 12)]))
@pytest.mark.parametrize("rest", [False, True])
@pytest.mark.parametrize("equal_mu", [False, True])
def test_verdicts_of_redundant_contacts_against_linear_programs(equal_mu: bool, rest: bool, seeds: range) -> None:
    kinds = [check_against_linear_programs(redundant_step(seed, equal_mu, rest), seed) for seed in seeds]
    assert "one, forces open" in kinds
    assert ("continuum" in kinds) is not equal_mu


@given(theta=st.floats(0.05, 1.5), rate=st.floats(0.0, 8.0), mu=st.floats(0.1, 3.0), side=st.sampled_from([-1, 1]))
def test_painleve_states_of_the_rod(theta: float, rate: float, mu: float, side: int) -> None:
    """The sign table of the rod: A > 0 one, A < 0 < B two, A < 0 > B none."""
    problem = go.problem("sliding-rod", mu=mu, theta0=theta, omega0=rate, vA0=-1.0 * side)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    l, g = 0.5, 9.81
    s, c = np.sin(theta), np.cos(theta)
    A, B = 1 + 3 * c * (c - side * mu * s), l * rate**2 * s - g
    assume(abs(A) > 1e-6)
    assume(abs(B) > 1e-6)
    expected = SOLVED if A > 0 else SEVERAL if B > 0 else NONE
    for solver in ("lemke", "newton", "enumerate"):
        answer = go.solve_step(step, "lcp", solver)
        assert answer.status is expected, solver
        if expected is SOLVED:
            assert answer.lam_N[0] == pytest.approx(max(0.0, -B / A), rel=1e-9, abs=1e-9)
        else:
            assert answer.a is None
            assert np.isnan(answer.lam_N).all()
        if expected is SEVERAL:
            forces = sorted(x.lam_N[0] for x in answer.contact.solutions)
            assert forces == pytest.approx([0.0, -B / A], rel=1e-9)
            # Each of them is a solution, and none of them is certified as the one.
            for x in answer.contact.solutions:
                c = go.certify_contact(step, x.a, x.lam, x.lam_N, x.lam_T)
                assert c.verdict is SEVERAL
                assert not c.passed(math.inf)


def test_on_the_border_of_painleve_region_any_force_does_or_none() -> None:
    """A = 0 at tan theta = 2, mu = 4/3: lift-off for B > 0; a force at B < 0 does not exist."""
    theta, mu = math.atan(2.0), 4 / 3
    for rate, expected in ((6.0, SOLVED), (0.0, NONE)):
        problem = go.problem("sliding-rod", mu=mu, theta0=theta, omega0=rate, vA0=-1.0)
        step = problem.system.evaluate(0.0, problem.q0, problem.v0)
        assert abs(ContactOperator.of(step).delassus[0, 0]) < 1e-14
        assert go.solve_step(step, "lcp", "enumerate").status is expected


def test_quick_proofs_never_contradict_the_thorough_ones(classes: dict[str, list[go.StepData]]) -> None:
    for name, steps in classes.items():
        for step in steps:
            (true,) = solutions(step)
            quick = go.certify_contact(step, *true, thorough=False)
            assert quick.verdict is SOLVED, name
            assert quick.passed(1e-9), name
            full = true.certify(step)
            assert quick.contact.reason in (full.contact.reason, "undecided", "enumeration"), name
    for seed in range(40):
        step = random_step(seed, n=4, m=1, k=2, mu=3.0)
        full, quick = (go.certify_contact(step, None, thorough=t).verdict for t in (True, False))
        assert full is quick or (quick is SOLVED and go.certify_contact(step, None, thorough=False).contact.reason ==
                                 "undecided")  # fmt: skip


def least_determinant(step: go.StepData) -> float:
    """Of all modes of the contacts, in units in which every row moves itself by 1."""
    inverse = np.linalg.inv(step.M)
    rows = np.vstack((step.J_N, step.J_T[:, 0]))
    rows /= np.sqrt(np.einsum("in,nm,im->i", rows, inverse, rows))[:, None]
    size = np.sqrt(np.einsum("in,nm,im->i", step.J_T[:, 0], inverse, step.J_T[:, 0]) /
                   np.einsum("in,nm,im->i", step.J_N, inverse, step.J_N))  # fmt: skip
    mu, k, least = step.mu * size, step.k, math.inf
    choices = [(0, 1, -1, 2) if step.resting[i] else (0, step.sigma[i, 0]) for i in range(k)]
    for mode in itertools.product(*choices):
        pushed = [rows[i] + (way if way < 2 else 0) * mu[i] * rows[k + i] for i, way in enumerate(mode) if way]
        pushed += [rows[k + i] for i, way in enumerate(mode) if way == 2]
        seen = [i for i, way in enumerate(mode) if way] + [k + i for i, way in enumerate(mode) if way == 2]
        least = min(least, float(np.linalg.det(rows[seen] @ inverse @ np.array(pushed).T))) if seen else least
    return least


def test_modes_that_are_oriented_have_one_solution_whatever_the_force() -> None:
    rng = np.random.default_rng(5)
    several = {False: 0, True: 0}
    for seed in range(24):
        step = random_step(seed, n=4, m=0, k=2, rest=1 + seed % 2, mu=(0.3, 1.0, 3.0)[seed % 3])
        least = least_determinant(step)
        proved = go.certify_contact(step, None, thorough=False).contact.reason == "oriented"
        if abs(least) < 1e-3 or not well_posed(step):
            assert least > 0 or not proved
            continue
        assert proved is (least > 0), seed
        for _ in range(6):
            loaded = replace(step, Q=10 * rng.standard_normal(4), zeta_N=rng.standard_normal(2))
            found = solutions(loaded)
            several[proved] += len(found) != 1
            if proved:
                (true,) = found
                assert true.certify(loaded).error_bound <= 1e-8
    assert several[False] > 10
    assert not several[True]


def test_json_of_a_contact_certificate(classes: dict[str, list[go.StepData]]) -> None:
    step = classes["definite with joints"][0]
    (true,) = solutions(step)
    data = true.certify(step).to_mapping()
    assert data["uniqueness"] == "positive definite"
    assert data["law_residual"] <= 1e-10
    assert go.certify_contact(step, None).to_mapping()["law_residual"] is None


def test_the_floor_of_an_error_holds_the_rounding_of_the_joints_own_acceleration() -> None:
    """Both contacts open; the massless coordinate is held by the joint, which leaves a_1 = 5e-16 in place of 0."""
    step = go.StepData.from_mapping({
        "M": [[12.0, 0.0], [0.0, 0.0]], "Q": [-0.5, -1.0], "J": [[0.5, 1.0]], "gamma": [-4.0],
        "J_N": [[-1.5, -2.0], [-1.5, 0.0]], "zeta_N": [-0.5, 2.5], "J_T": [[[-1.0, 1.0]], [[1.0, 0.0]]],
        "zeta_T": [[0.0], [-2.0]], "v_T": [[0.0], [-2.0]], "mu": [0.375, 0.5],
    })  # fmt: skip
    for solver in ("lemke", "enumerate"):
        answer = go.solve_step(step, "stick-slip", solver)
        assert answer.status is go.Status.SOLVED
        found = answer.certificate
        error = np.sqrt(12.0) * abs(answer.a[0])
        assert found.error_bound + 10 * found.rounding_floor >= error
        assert found.rounding_floor < 1e-14


def finger(load: float, mu: float = 1.0, rests: int = 0) -> go.StepData:
    """A hinge whose tip slides beside its pivot, where friction turns it on, and 13 masses on the floor beside it.

    Its gap closes by 4e-4 m for each radian, and friction has a lever of 0.05 m; the first `rests` masses are at rest.
    """
    n = 1 + 3 * 13
    J_N, J_T, v_T = np.zeros((14, n)), np.zeros((14, 2, n)), np.zeros((14, 2))
    J_N[0, 0], J_T[0, 0, 0], v_T[0, 0] = -4e-4, 0.05, -0.3
    for i in range(1, 14):
        J_N[i, 3 * i - 2], J_T[i, 0, 3 * i - 1], J_T[i, 1, 3 * i] = 1.0, 1.0, 1.0
        v_T[i, 1] = 0.0 if i <= rests else 0.2
    Q = np.zeros(n)
    Q[0], Q[1::3] = load, -9.81
    given = {"M": np.diag([1e-3] + [1.0] * (n - 1)), "Q": Q, "J_N": J_N, "zeta_N": np.zeros(14), "J_T": J_T,
             "zeta_T": np.zeros((14, 2)), "v_T": v_T, "mu": [mu] * 14}  # fmt: skip
    return go.StepData.from_mapping(given)


@pytest.mark.parametrize("rests", [0, 5])
def test_a_contact_that_no_force_keeps_from_closing_proves_that_there_is_no_solution(rests: int) -> None:
    """There are too many modes to try; in fractions, the row of the contact shows that its gap acceleration is < 0."""
    step = finger(0.1, rests=rests)
    answer = go.solve_step(step)
    assert answer.status is NONE
    assert answer.certificate.contact.reason == "jammed"
    assert "Contact 1 closes at 0.04 m/s^2" in answer.message
    own, slip = Fraction(step.J_N[0, 0]), Fraction(step.J_T[0, 0, 0])
    inertia = Fraction(step.M[0, 0])
    assert own * Fraction(step.Q[0]) / inertia < 0
    assert own * (own + slip * Fraction(step.mu[0])) / inertia < 0
    assert not step.J_N[1:, 0].any()
    assert not step.J_T[1:, :, 0].any()


@pytest.mark.parametrize(("load", "mu"), [(-0.1, 1.0), (0.1, 0.005), (0.1, 0.0)])
def test_a_contact_that_opens_or_that_its_own_force_opens_is_not_jammed(load: float, mu: float) -> None:
    answer = go.solve_step(finger(load, mu))
    assert answer.status is SOLVED
    wanted = load if load < 0 else 0.0  # at rest against the floor, or free
    assert abs(answer.a[0] - wanted / 1e-3) <= 1e-9 * abs(load) / 1e-3


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_another_contact_may_open_a_contact_that_closes_by_its_own_force(sign: float) -> None:
    """A limit of the hinge that pushes it back holds both; one that pushes it on leaves the contact without a force."""
    step = finger(0.1)
    J_N, J_T = step.J_N.copy(), step.J_T.copy()
    J_N[13], J_T[13] = 0.0, 0.0
    J_N[13, 0] = -sign
    limited = replace(step, J_N=J_N, J_T=J_T, mu=np.append(step.mu[:13], 0.0))
    answer = go.solve_step(limited)
    assert answer.status is (SOLVED if sign > 0 else NONE)
    if sign > 0:
        assert abs(answer.a[0]) < 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_a_step_whose_forces_cancel_is_certified_as_their_difference_is(seed: int) -> None:
    """A robot that carries its own weight: what is left of Q - h is 1e-14 of either, and presses on contacts."""
    rng = np.random.default_rng(seed)
    J, Q = rng.standard_normal((9, 6)), rng.uniform(4.0, 7.0, 6)
    given = {"M": np.eye(6), "J_N": J[:3], "J_T": J[3:].reshape(3, 2, 6), "mu": np.full(3, 0.5),
             "zeta_N": np.zeros(3), "zeta_T": np.zeros((3, 2)), "v_T": np.zeros((3, 2))}  # fmt: skip
    far = go.StepData.from_mapping({**given, "Q": Q, "h": Q + np.spacing(Q) * rng.integers(1, 9, 6)})
    near = go.StepData.from_mapping({**given, "Q": far.Q - far.h})
    answer, same = go.solve_step(far), go.solve_step(near)
    assert answer.status == same.status == go.Status.SOLVED
    assert np.array_equal(answer.a, same.a)
