"""The least impulses of redundant contacts: against linear algebra, other solutions, and the rank of the operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import gaussopt as go
from gaussopt.cone.least_kernel import least_impulses
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.delassus import as_blocks
from gaussopt.core.solver import make_solver
from gaussopt.linalg.cones import residual

ALL = np.ones(4, dtype=bool)


def plate(load: Vector, k: int = 4, mu: float = 0.6, seed: int = 0) -> go.ConeComplementarity:
    """A body on points of a plane; q is that of a load, (6,): force and torque during a second."""
    rng = np.random.default_rng(seed)
    H, masses = np.zeros((6, 3 * k)), np.array([1, 1, 1, 0.3, 0.3, 0.4])
    corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)] if k == 4 else rng.uniform(-1, 1, (k, 2))
    for i, (x, y) in enumerate(corners):
        for j, d in enumerate(np.eye(3)[[2, 0, 1]]):
            H[:, 3 * i + j] = [*d, *np.cross([x, y, -0.3], d)]
    return go.ConeComplementarity(H.T @ (H / masses[:, None]), H.T @ (load / masses), np.full(k, mu))


def solved(problem: go.ConeComplementarity, start: Vector | None = None) -> Vector:
    """Return impulses that solve the problem, from a start."""
    solver = make_solver("hybrid", {"searched": 0})
    solver.setup(problem)
    return np.asarray(solver.solve(None if start is None else (start, None)).x)


def scaled(problem: go.ConeComplementarity) -> Vector:
    own = problem.W.diagonal().reshape(-1, 3)
    return np.sqrt(np.column_stack((own[:, 0], *[own[:, 1:].max(axis=1)] * 2))).ravel()


def test_a_plate_at_rest_stands_on_four_equal_forces_wherever_the_solver_began() -> None:
    problem = plate(np.array([0, 0, -9.81, 0, 0, 0.0]))
    for normals in ([0, 0.5, 0.5, 0], [0.5, 0, 0, 0.5], [0.3, 0.2, 0.2, 0.3]):
        r = 9.81 * np.kron(normals, [1.0, 0.0, 0.0])
        r += 0.01 * np.kron([1, -1, 1, -1], [0.0, 1.0, 0.0])  # tangents pull against each other
        r = r - np.linalg.pinv(problem.W) @ (problem.u(r))
        found, code = least_impulses(problem, ALL, r)
        assert code == 1
        assert found == pytest.approx(np.tile([9.81 / 4, 0, 0], 4), abs=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_inside_the_cones_they_are_the_shortest_solution_of_linear_equations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    load = np.array([*rng.uniform(-1, 1, 2), -9.81, *rng.uniform(-0.5, 0.5, 3)])
    problem = plate(load, k=7, mu=5.0, seed=seed)
    r, s = solved(problem), scaled(problem)
    found, code = least_impulses(problem, np.ones(7, dtype=bool), r)
    assert code == 1
    shortest = np.linalg.pinv(problem.W / np.outer(s, s), rcond=1e-10) @ (problem.W @ r / s) / s
    if (shortest[::3] > 0).all():
        assert found == pytest.approx(shortest, abs=1e-9)
    assert problem.u(found) == pytest.approx(problem.u(r), abs=1e-11)


def by_slsqp(problem: go.ConeComplementarity, r: Vector) -> Vector:
    """Minimise the norm over all impulses in the cones with the velocities of r, by SciPy."""
    s, mu = scaled(problem), problem.mu
    W = problem.W / np.outer(s, s)
    values, vectors = np.linalg.eigh(W)
    A = vectors[:, values > 1e-9].T

    def inside(z: Vector) -> Vector:
        x = (z / s).reshape(-1, 3)
        return np.concatenate((x[:, 0], (mu * x[:, 0]) ** 2 - x[:, 1] ** 2 - x[:, 2] ** 2))

    laws: Any = [{"type": "eq", "fun": lambda z: A @ (z - r * s)}, {"type": "ineq", "fun": inside}]
    best = minimize(lambda z: 0.5 * z @ z, r * s, jac=lambda z: z, constraints=laws, method="SLSQP",
                    options={"maxiter": 500, "ftol": 1e-14})  # fmt: skip
    return np.asarray(best.x / s)


def test_on_the_cones_they_are_the_shortest_of_all_impulses_with_these_velocities() -> None:
    at_rest = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        load = np.array([*rng.uniform(-2, 2, 2), -9.81, *rng.uniform(-6, 6, 2), 0.5])
        problem = plate(load, k=6, mu=0.5, seed=seed)
        r = solved(problem)
        if np.abs(problem.u(r)).max() > 1e-9:
            continue  # it slides or tips
        at_rest += 1
        found, code = least_impulses(problem, np.ones(6, dtype=bool), r)
        s, other = scaled(problem), by_slsqp(problem, r)
        assert code == 1
        assert problem.u(found) == pytest.approx(problem.u(r), abs=1e-10)
        assert np.linalg.norm(s * found) <= np.linalg.norm(s * other) * (1 + 1e-6), seed
        assert s * found == pytest.approx(s * other, abs=2e-3), seed
        assert (found[::3] >= 0).all()
    assert at_rest > 5


def legs(seed: int, points: int, moves: bool) -> tuple[go.ConeComplementarity, Vector]:
    """A body on four feet with contacts close together, on legs of three joints if it `moves`."""
    rng, k = np.random.default_rng(seed), 4 * points
    H, masses = np.zeros((18, 3 * k)), np.repeat([10.0, 1.0, 0.1], [3, 3, 12])
    for i in range(k):
        leg, corner = divmod(i, points)
        if not corner:
            at, bend = np.array([leg // 2, leg % 2, 0.0]) - [0.5, 0.5, 0.3], rng.normal(size=(3, 3))
        own = 0.02 * rng.uniform(-1, 1, 3) * [1, 1, 0]
        for j, d in enumerate(np.eye(3)[[2, 0, 1]]):
            H[:6, 3 * i + j] = [*d, *np.cross(at + own, d)]
            if moves:
                H[6 + 3 * leg : 9 + 3 * leg, 3 * i + j] = bend @ (d + 0.1 * np.cross(own, d))
    W, N, a = H.T @ (H / masses[:, None]), rng.uniform(0, 1, k) * (rng.uniform(size=k) < 0.7), rng.uniform(0, 7, k)
    f = 0.6 * N * rng.choice([0.2, 1.0], k)
    r = np.column_stack((N, f * np.cos(a), f * np.sin(a))).ravel()
    return go.ConeComplementarity(W, -W @ r, np.full(k, 0.6)), r


@pytest.mark.parametrize("moves", [False, True])
def test_contacts_close_together_of_which_many_are_on_their_cones_have_least_impulses(moves: bool) -> None:
    """Rounding errors are no rows of their own there, and Newton's steps of full length do not always converge."""
    for seed in range(30):
        problem, r = legs(seed, 6, moves)
        found, code = least_impulses(problem, np.ones(24, dtype=bool), r)
        s, x = scaled(problem), found.reshape(-1, 3)
        assert code == 1, seed
        assert problem.u(found) == pytest.approx(problem.u(r), abs=1e-8 * np.abs(problem.q).max())
        assert np.linalg.norm(s * found) <= np.linalg.norm(s * r) * (1 + 1e-9)
        assert (np.hypot(x[:, 1], x[:, 2]) <= 0.6 * x[:, 0] + 1e-9).all()


def test_a_plate_that_slides_keeps_its_friction_and_shares_its_weight() -> None:
    problem = plate(np.array([30.0, 0, -9.81, 0, -0.3 * 0.3 * 9.81, 0]), mu=0.3)  # friction does not tip it
    balanced = np.array([1, -1, -1, 1.0])  # normal forces that balance each other, with friction in the same direction
    r = np.kron(9.81 / 4 + 0.5 * balanced, [1.0, -0.3, 0.0])
    assert residual(problem, r) < 1e-14
    found, code = least_impulses(problem, ALL, r)
    assert code == 1
    assert found[::3] == pytest.approx(9.81 / 4, abs=1e-12)
    assert found[1::3] == pytest.approx(-0.3 * found[::3], abs=1e-12)
    assert found[2::3] == pytest.approx(0.0, abs=1e-12)
    assert problem.u(found) == pytest.approx(problem.u(r), abs=1e-11)


def test_groups_that_nothing_connects_are_chosen_apart_and_blocks_are_read_like_dense_matrices() -> None:
    parts = [plate(np.array([0, 0, -9.81, 0.1 * i, 0, 0.0])) for i in range(3)]
    order = np.concatenate([3 * i + np.arange(3) for i in np.random.default_rng(0).permutation(12)])
    W = np.zeros((36, 36))
    for i, part in enumerate(parts):
        W[12 * i : 12 * i + 12, 12 * i : 12 * i + 12] = part.W
    r = np.concatenate([solved(part) for part in parts])
    wanted = np.concatenate([least_impulses(p, ALL, solved(p))[0] for p in parts])
    q, opens = np.concatenate([p.q for p in parts]), np.ones(12, dtype=bool)
    dense = go.ConeComplementarity(W[np.ix_(order, order)], q[order], np.full(12, 0.6))
    blocks = go.ConeComplementarity(dense.W, q[order], np.full(12, 0.6))
    object.__setattr__(blocks, "W", as_blocks(dense.W))  # operators as small as this one are made dense
    assert blocks.sparse
    for problem in (dense, blocks):
        found, code = least_impulses(problem, opens, r[order])
        assert code == 1
        assert found == pytest.approx(wanted[order], abs=1e-12)


def test_a_tangent_that_no_row_couples_changes_no_other_impulse() -> None:
    """As of dry friction in a joint; an impulse that is not zero keeps the tangent in its group."""
    problem = plate(np.array([0.5, 0, -9.81, 0.3, 0.2, 0.0]))
    W, apart = problem.W.copy(), [5, 8]
    W[apart], W[:, apart] = 0.0, 0.0
    W[apart, apart] = 1.0
    problem = go.ConeComplementarity(W, np.where(np.isin(np.arange(12), apart), 0.0, problem.q), problem.mu)
    r = solved(problem)
    assert not r[apart].any()
    (found, code), beside = least_impulses(problem, ALL, r), r.copy()
    beside[apart] = 1e-300
    wanted, same = least_impulses(problem, ALL, beside)
    assert code == same == 1
    assert not np.array_equal(found, r)
    np.testing.assert_array_equal(found, np.where(np.isin(np.arange(12), apart), 0.0, wanted))


def regular(W: Matrix) -> bool:
    return len(W) == np.linalg.matrix_rank(W, tol=1e-9, hermitian=True)


@pytest.mark.parametrize("rank", range(1, 13))
def test_impulses_are_determined_where_rows_are_independent(rank: int) -> None:
    random, seen = np.random.default_rng(rank), set()
    for _ in range(30):
        J = random.normal(size=(12, rank))
        W, pushes = J @ J.T, random.random(4) < 0.7
        r = np.kron(pushes, [1.0, 0.1, -0.1]) * random.uniform(1, 2, 12)
        q = -W @ r + np.kron(~pushes, [1.0, 0.0, 0.0])  # contacts that push stick, others open
        rows = np.repeat(pushes, 3)
        found, code = least_impulses(go.ConeComplementarity(W, q, np.ones(4)), ALL, r)
        wanted = regular(W[np.ix_(rows, rows)])
        assert (code == 0) == wanted
        assert not wanted or np.array_equal(found, r)
        seen.add(wanted)
    assert len(seen) == 2 or not 3 <= rank <= 11
