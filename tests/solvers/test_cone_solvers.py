"""Every solver of contacts with friction cones on contacts whose answers are known."""

from __future__ import annotations

from functools import partial

import contact_cases as known
import numpy as np
import pytest
from scipy.sparse import block_diag

import gaussopt as go
from gaussopt.cone.groups import Groups
from gaussopt.cone.newton_kernel import continued, solve_coupled
from gaussopt.cone.sweeps import Sweeps, block_rows
from gaussopt.core import registry
from gaussopt.core.delassus import as_blocks
from gaussopt.core.solver import make_solver, missing_packages
from gaussopt.linalg.cones import residual
from gaussopt.modelling.contact_piles import box_wall, random_contacts, sphere_pile
from gaussopt.solvers.prox import SWEPT, damped_sweeps

S = go.Status
SOLVABLE, NOT = known.names("solved", "multiple_solutions"), known.names("no_solution", "infeasible")
CLASSES = {name: registry.load("solver", name) for name in registry.names("solver")}
SOLVERS = [n for n, c in CLASSES.items() if go.ConeComplementarity in c.accepts and not missing_packages(c)]


@pytest.mark.parametrize("name", SOLVABLE)
def test_hybrid_solves_what_can_be_solved(name: str) -> None:
    problem, case = known.problem(name), known.cases()[name]
    found = go.solve(problem, "hybrid")
    assert str(found.status) == case["expected_status"], found.message
    assert found.certificate["residual"] <= 1e-12
    assert found.x is not None
    u, size = problem.u(found.x), np.linalg.norm(problem.q) or 1.0
    if case["velocity_unique"]:
        assert np.linalg.norm(u - problem.u(known.truths(name)[0])) <= 1e-9 * size
    if case["expected_status"] == "multiple_solutions":
        assert found.certificate["velocity_unique"] is False
        assert len(found.solutions) > 1
    elif case["by"] == "closed form":
        assert np.linalg.norm(u - problem.u(known.truths(name)[0])) <= 1e-12 * size


def test_newton_s_steps_from_zero_end_where_hybrid_does_and_nowhere_else() -> None:
    settled = 0
    for name in (*SOLVABLE, *NOT):
        problem = known.problem(name)
        if problem.sparse or not problem.k:
            continue
        r, count = continued(problem, np.zeros(problem.n), 1e-13, 1e-10, problem.n)
        found = go.solve(problem, "hybrid", followed=problem.k)
        assert name in SOLVABLE or (count is None and found.status is not S.SOLVED), name
        if count is None:
            continue
        settled += 1
        assert residual(problem, r) <= 1e-12, name
        if known.cases()[name]["velocity_unique"]:
            assert found.x is not None
            own, size = go.solve(problem, "hybrid").x, np.linalg.norm(problem.q) or 1.0
            for x in (r, found.x):
                assert np.linalg.norm(problem.u(x) - problem.u(own)) <= 1e-12 * size, name
    assert settled > 10


def test_a_plate_between_two_walls_has_impulses_without_sweeps_where_newton_s_method_finds_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(problem: go.ConeComplementarity) -> None:
        raise LookupError

    monkeypatch.setattr("gaussopt.solvers.hybrid.Sweeps", refused)
    helped = 0
    for seed in range(40):
        random, rows = np.random.default_rng(seed), []
        k = 6 + seed % 19
        for x, y in random.uniform(-1.0, 1.0, size=(k, 2)):
            z, n = -0.1, random.choice((1.0, 1.0, -1.0))
            rows += [[0, 0, n, n * y, -n * x, 0], [1, 0, 0, 0, n * z, -y], [0, n, 0, -z, 0, n * x]]
        H, falls = np.array(rows), np.array([0.3, 0.1, -0.1, 0.2, -0.1, 0.5]) * random.normal(size=6)
        q = H @ falls
        q[::3] += 1e-3 * random.uniform(size=k)
        W = H @ np.diag([1.0, 1.0, 1.0, 3.0, 3.0, 2.0]) @ H.T
        problem = go.ConeComplementarity(W, q, np.full(k, random.choice((0.2, 1.0))))
        solver = make_solver("hybrid", {"searched": 0, "followed": 30, "enough": 9e-8})
        solver.setup(problem)
        try:
            found = solver.solve((np.zeros(problem.n), None))
        except LookupError:
            continue
        assert found.claim is S.SOLVED
        assert residual(problem, found.x) <= 9e-8
        helped += continued(problem, np.zeros(problem.n), 1e-13, 1e-10, 90)[1] is None
    assert helped > 5


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_a_solver_calls_solved_is_certified(solver: str) -> None:
    solved = 0
    for name in (*SOLVABLE, *NOT):
        try:
            found = go.solve(known.problem(name), solver)
        except go.NotAccepted:
            continue
        assert found.status is not S.CRASHED, (name, found.message)
        if found.status is S.SOLVED:
            solved += 1
            assert name in SOLVABLE, name
            assert found.certificate["residual"] <= 1e-7
    assert solved > 10


def test_no_contacts_are_solved_by_nothing() -> None:
    empty = go.ConeComplementarity(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    for solver in SOLVERS:
        found = go.solve(empty, solver)
        assert found.status is S.SOLVED, (solver, found.message)


def test_mass_ratio_needs_newton() -> None:
    """Sweeps alone stay far away where a heavy body rests on a light one."""
    problem = known.problem("heavy-on-light")
    assert go.solve(problem, "nsgs", max_iter=2000).status is not S.SOLVED
    assert go.solve(problem, "nsn-ac", tolerance=1e-11).status is S.SOLVED


def test_an_answer_is_a_start() -> None:
    problem, r = known.problem("stack-twisted-moving"), known.truths("stack-twisted-moving")[0]
    again = go.solve(problem, "nsn-ac", start=(r, None))
    assert again.iterations == 0
    assert again.x is not None
    assert np.array_equal(again.x, r)


def test_nonsymmetric_operators_are_taken() -> None:
    problem, random = known.problem("random-3-12-3"), np.random.default_rng(3)
    skew = random.normal(size=problem.W.shape)
    given = go.ConeComplementarity(problem.W + 0.01 * (skew - skew.T), problem.q, problem.mu)
    found = go.solve(given, "hybrid")
    assert found.status is S.SOLVED
    assert found.certificate["asymmetry"] == pytest.approx(given.asymmetry)
    assert found.certificate["residual"] <= 1e-12


@pytest.mark.parametrize("name", [n for n in SOLVABLE if "solutions" in known.cases()[n] and known.problem(n).k < 3])
def test_enumeration_finds_every_velocity_or_several_of_a_continuum(name: str) -> None:
    problem, truths = known.problem(name), known.truths(name)
    found = go.solve(problem, "enumerate-cone")
    assert str(found.status) == known.cases()[name]["expected_status"]
    own = found.solutions or (found.x,)
    near = [min(float(np.linalg.norm(problem.W @ (r - x))) for x in own) for r in truths]
    assert sum(d <= 1e-10 for d in near) >= (2 if name == "rigid-pinch" else len(truths))


@pytest.mark.parametrize(
    "built",
    [
        partial(box_wall, 300, mass_ratio=100.0, speed=0.5),  # sweeps do not converge: alternating directions
        partial(box_wall, 1000, speed=0.5),
        partial(random_contacts, 3000),  # Newton's method with 9000 rows
        partial(box_wall, 10_000),  # one cone program
    ],
)
def test_hybrid_solves_many_contacts(built: partial[go.GlobalContacts]) -> None:
    problem = built().local
    found = go.solve(problem, "hybrid", solver_options={"tolerance": 1e-8})
    assert found.status is S.SOLVED, found.message
    assert found.x is not None
    assert residual(problem, found.x) <= 1e-8


def test_damped_sweeps_come_nearer_than_as_many_others_that_wander() -> None:
    pile = sphere_pile(1000, mu=0.4).local
    sweeps, seen, rounds = Sweeps(pile), [np.inf], 100
    for _ in range(rounds):
        sweeps.run(SWEPT)
        seen.append(residual(pile, sweeps.r))
    damped = damped_sweeps(pile, np.zeros(pile.n), rounds, 1e-13)
    assert residual(pile, damped) < 0.8 * min(seen)
    assert (damped_sweeps(pile, damped, 1, 1.0) == damped).all()


def test_rows_that_depend_on_known_entries_are_solved_before_the_others() -> None:
    """Rows of one entry, rows that need only such entries, and a block of rows that depend on each other."""
    rng = np.random.default_rng(3)
    for n, coupled in ((12, 5), (30, 0), (7, 7)):
        order, J = rng.permutation(n), np.zeros((n, n))
        J[n - coupled :] = rng.normal(size=(coupled, n))
        J += np.diag(1.0 + rng.random(n)) + np.tril(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.3), -1)
        J, y = J[np.ix_(order, order)], rng.normal(size=n)
        x = y.copy()
        assert solve_coupled(J.ravel().copy(), x, coupled) == 1.0
        np.testing.assert_allclose(x, np.linalg.solve(J, y), rtol=1e-9, atol=1e-11)
        if coupled:
            assert solve_coupled(J.ravel().copy(), y.copy(), coupled - 1) == 0.0


def test_many_given_bounds_of_friction_leave_newtons_method_a_small_system() -> None:
    """Sixty rows of dry friction, of which most slide, and one contact: as of the joints of a robot on one foot."""
    rng = np.random.default_rng(4)
    k = 61
    rows = rng.normal(size=(k, 12))
    W, q = np.zeros((3 * k, 3 * k)), np.zeros(3 * k)
    tangents = 3 * np.arange(k) + 1
    W[np.ix_(tangents, tangents)] = rows @ rows.T
    q[tangents] = 20.0 * rng.normal(size=k)
    W[tangents - 1, tangents - 1] = W[tangents + 1, tangents + 1] = 1.0
    q[tangents - 1] = -0.1 * rng.random(k)  # the normal force is given
    problem = go.ConeComplementarity(W, q, np.ones(k))
    r, count = continued(problem, np.zeros(3 * k), 1e-13, 1e-10, 30)
    assert count is not None
    u, bound = W @ r + q, -q[tangents - 1]
    assert r[tangents - 1] == pytest.approx(bound)
    slides = np.abs(u[tangents]) > 1e-9
    assert slides.sum() >= k - 12
    assert r[tangents][slides] == pytest.approx(-(bound * np.sign(u[tangents]))[slides])
    assert (np.abs(r[tangents]) <= bound + 1e-12).all()


def redundant(seed: int, k: int = 12) -> go.ConeComplementarity:
    """A body on k points of a plane, pushed and turned at random, with the impulses of a second."""
    rng = np.random.default_rng(seed)
    H, masses = np.zeros((6, 3 * k)), np.array([1, 1, 1, 0.3, 0.3, 0.4])
    for i, (x, y) in enumerate(rng.uniform(-1, 1, (k, 2))):
        for j, d in enumerate(np.eye(3)[[2, 0, 1]]):
            H[:, 3 * i + j] = [*d, *np.cross([x, y, -0.3], d)]
    f = np.array([*(4 * rng.normal(size=2)), -9.81, *(2 * rng.normal(size=3))])
    return go.ConeComplementarity(H.T @ (H / masses[:, None]), H.T @ (f / masses), np.full(k, 0.6))


def test_proximal_steps_come_to_redundant_contacts_and_take_up_where_they_did(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(problem: go.ConeComplementarity) -> None:
        raise AssertionError("swept")

    monkeypatch.setattr("gaussopt.solvers.hybrid.Sweeps", refused)
    solver, plain = make_solver("hybrid", {"searched": 0, "followed": 30, "enough": 9e-9}), 0
    for seed in range(60):
        problem = redundant(seed)
        r = np.zeros(problem.n)
        for push in (1.0, 1.01):
            solver.setup(go.ConeComplementarity(problem.W, push * problem.q, problem.mu))
            found = solver.solve((r, None))
            assert found.claim is S.SOLVED, seed
            r = found.x
            assert residual(solver.program, r) <= 1e-9, seed
        plain += continued(problem, np.zeros(problem.n), 1e-13, 1e-10, problem.n)[1] is not None
    assert plain < 60


def test_groups_of_contacts_that_nothing_connects_are_solved_one_by_one() -> None:
    """Contacts of eight bodies in random order, given as blocks: as sweeps alone do not solve them."""
    parts, rng = [redundant(seed) for seed in range(8)], np.random.default_rng(0)
    order = np.concatenate([3 * i + np.arange(3) for i in rng.permutation(sum(p.k for p in parts))])
    W = as_blocks(block_diag([p.W for p in parts], format="csr")[order][:, order])
    q, mu = np.concatenate([p.q for p in parts])[order], np.concatenate([p.mu for p in parts])
    problem = go.ConeComplementarity(W, q, mu)
    groups = Groups(W)
    assert np.bincount(groups.number).tolist() == [12] * groups.count == [12] * 8
    whole, apart = Sweeps(problem), Sweeps(problem)
    assert all(map(np.array_equal, whole.blocks, block_rows(W.toarray(), problem.k)))
    whole.run(7)
    apart.run_groups(groups, 7, 0.0)
    assert np.array_equal(whole.r, apart.r)
    assert whole.r.any()
    rows = (3 * (at := groups.members(5))[:, None] + np.arange(3)).ravel()
    assert np.array_equal(groups.operator(at), W.toarray()[np.ix_(rows, rows)])
    solver = make_solver("hybrid", {"searched": 0, "followed": 30, "enough": 9e-9})
    solver.setup(problem)
    found = solver.solve(None)
    assert found.claim is S.SOLVED
    assert found.iterations > 0
    assert residual(problem, found.x) <= 9e-9
    assert solver.program is problem


@pytest.mark.parametrize("size", [1e-11, 5e-11, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("seed", range(3))
def test_redundant_contacts_that_cannot_all_rest_slip_however_little(size: float, seed: int) -> None:
    """Three feet of one body are asked for velocities that it cannot have: one of them slips at full friction."""
    random, angles = np.random.default_rng(seed), np.array([0.3, 2.4, 4.5])
    rows = []
    for x, y in zip(0.2 * np.cos(angles), 0.2 * np.sin(angles), strict=True):
        rows += [[0, 0, 1, y, -x, 0], [1, 0, 0, 0, -0.1, -y], [0, 1, 0, 0.1, 0, x]]
    J, inverse = np.array(rows), 1.0 / np.array([2.0, 2.0, 2.0, 0.02, 0.03, 0.04])
    q = np.tile([-0.02, 0.0, 0.0], 3) + size * random.normal(size=9) * np.tile([0.0, 1.0, 1.0], 3)
    problem = go.ConeComplementarity(J * inverse @ J.T, q, np.full(3, 0.4))
    found = go.solve(problem, "hybrid")
    assert found.status in (S.SOLVED, S.NOT_PROVED), found.message
    assert residual(problem, found.x) <= 1e-10
    r = found.x.reshape(3, 3)
    assert (np.linalg.norm(r[:, 1:], axis=1) >= (1 - 1e-6) * 0.4 * r[:, 0]).any()


def plates(seed: int) -> go.ConeComplementarity:
    """A plate on the floor and one on top of it, of any mass ratio, on five feet each, of which two slide.

    The feet are asked for velocities that rigid plates do not allow, by 1e-5 m/s.
    """
    random = np.random.default_rng(seed)
    mass, J = np.array([10.0 ** random.uniform(-3, 0), 1.0]), np.zeros((10, 3, 12))
    for i, (x, y) in enumerate(0.1 * random.integers(-3, 4, (10, 2))):
        for plate, sign, z in ((i // 5, 1.0, -0.1), (i // 5 - 1, -1.0, 0.1)):
            if plate >= 0:
                own = [[0, 0, 1, y, -x, 0], [1, 0, 0, 0, z, -y], [0, 1, 0, -z, 0, x]]
                J[i, :, 6 * plate : 6 * plate + 6] = sign * np.array(own)
    slides, angle = np.arange(10) % 5 == 0, random.uniform(0, 2 * np.pi, 10)
    pushes = J.copy()
    pushes[slides, 0] += 0.5 * np.einsum("di,idn->in", [np.cos(angle), np.sin(angle)], J[:, 1:])[slides]
    gained = pushes.reshape(30, 12) * np.repeat(1 / mass, 6) * np.tile([1, 1, 1, 100, 100, 100], 2)
    free = random.normal(size=12) * np.tile([1, 1, 1, 10, 10, 10], 2) - np.tile([0, 0, 9.81, 0, 0, 0], 2)
    W, q = J.reshape(30, 12) @ gained.T, J.reshape(30, 12) @ free + 1e-5 * random.normal(size=30)
    for row in (3 * np.flatnonzero(slides)[:, None] + [1, 2]).ravel():
        W[row], W[:, row], W[row, row], q[row] = 0.0, 0.0, 1.0, 0.0
    return go.ConeComplementarity(W, q, np.where(slides, 0.0, 0.5))


@pytest.mark.parametrize("seed", [0, 6, 14, 21, 28])
def test_pyramids_lead_to_impulses_where_some_feet_slide_and_others_strain_each_other(seed: int) -> None:
    problem = plates(seed)
    found = go.solve(problem, "hybrid")
    assert found.status is S.SOLVED, found.message
    assert residual(problem, found.x) <= 1e-10
    r, u = found.x.reshape(10, 3), problem.u(found.x).reshape(10, 3)
    size = 1e-8 * np.abs(problem.q).max()
    assert (np.minimum(r[:, 0], u[:, 0]) >= -size).all()
    force, slip = np.linalg.norm(r[:, 1:], axis=1), np.linalg.norm(u[:, 1:], axis=1)
    assert (force <= problem.mu * r[:, 0] + size).all()
    moves = (problem.mu > 0) & (r[:, 0] > size) & (slip > size)
    assert (r[moves, 1:] * u[moves, 1:]).sum(axis=1) == pytest.approx(-(0.5 * r[:, 0] * slip)[moves], rel=1e-5)
