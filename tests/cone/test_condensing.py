"""The kernels of a time step against the same in numpy's words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import bsr_array

from gaussopt.certificates.cone import violations
from gaussopt.cone.condensing import MASSLESS, ROWS_MAY_DEPEND, condense, finish
from gaussopt.cone.groups import groups_into, joined, joined_blocks
from gaussopt.cone.measure import distances, measured
from gaussopt.cone.pushes import YIELDS, all_apart, gaps_ahead, ways_apart
from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.linalg.cones import residual, rounding, velocity_size

DT = 0.01


def tree(seed: int, n: int) -> tuple[Matrix, Vector, np.random.Generator]:
    """Masses whose factor L of L^T L has zeros, and damping."""
    rng = np.random.default_rng(seed)
    L = np.tril(rng.normal(size=(n, n))) * (rng.random((n, n)) < 0.5)
    np.fill_diagonal(L, 1.0 + rng.random(n))
    return L.T @ L, rng.random(n), rng


class KernelStep:
    """A step by the kernels."""

    def __init__(self, M: Matrix, damping: Vector, R: Matrix, f: Vector, w: Vector, gaps: Vector) -> None:
        (p, n), rows, m = R.shape, 3 * len(gaps), len(R) - 3 * len(gaps)
        self.R, self.w, self.m, self.gaps = SparseRows.of(R), w, m, gaps
        masses, none = SparseRows.of(np.tril(M)), np.zeros((0, 0))
        dofs, order, at = np.arange(n), np.arange(p), np.zeros(5 * (n + 1), dtype=np.int64)
        self.count = groups_into(masses, none, self.R, m, np.arange(len(gaps)), dofs, order, at)
        self.groups = dofs, order, at, self.count
        last = 5 * self.count
        self.S, self.local = np.empty((at[last + 2], max(n, p + 1))), np.empty(at[last + 3])
        self.found = condense(masses, none, damping, self.R, f, w, gaps, m, DT, *self.groups, self.S, self.local)
        self.W, self.q = np.zeros((rows, rows)), np.zeros(rows)
        if self.found == 0:
            joined(m, *self.groups[1:], self.local, self.W, self.q)

    def end(self, r: Vector, phi: Vector, project: int) -> tuple[float, Vector, Vector, Vector]:
        lam, w, way = np.empty(self.m), np.empty(len(self.w)), np.empty(len(self.w))
        missed = finish(self.R, self.w, self.m, DT, *self.groups, self.S, r, lam, w, way)
        if project:
            all_apart(self.m, DT, *self.groups, self.S, self.local, self.gaps, r, phi, np.zeros(len(r)), way)
        return missed, lam, w, way


@pytest.mark.parametrize(
    ("n", "m", "k", "bodies"), [(7, 2, 2, 1), (12, 0, 3, 1), (9, 3, 0, 1), (7, 4, 1, 1), (12, 2, 4, 2), (15, 3, 9, 3)]
)
def test_a_step_is_what_its_equations_say(n: int, m: int, k: int, bodies: int) -> None:
    """Velocities of several bodies alternate; each equality and each contact acts on one of them."""
    M, damping, rng = tree(n, n)
    R, f, w = rng.normal(size=(m + 3 * k, n)), rng.normal(size=n), rng.normal(size=n)
    body, of = np.arange(n) % bodies, np.append(np.arange(m), np.repeat(np.arange(k), 3)) % bodies
    M *= body[:, None] == body
    R *= of[:, None] == body
    gaps = np.where(np.arange(k) % 2, 1e-3, -1e-3)
    step = KernelStep(M, damping, R, f, w, gaps)
    assert step.found == 0
    assert step.count == bodies
    begins, columns, data = np.zeros(k + 1, dtype=np.int64), np.empty(k * k, dtype=np.int64), np.empty(9 * k * k)
    given = m, *step.groups[1:], step.local, np.arange(k), begins
    assert joined_blocks(*given, columns, data, again := np.empty(3 * k))
    assert not k or not joined_blocks(*given[:-1], np.zeros_like(begins), columns[:0], data, again)
    total = int(begins[-1])
    blocks = data[: 9 * total].reshape(-1, 3, 3), columns[:total], begins
    if k:
        assert np.array_equal(bsr_array(blocks, shape=step.W.shape).toarray(), step.W)
    assert total == (of[m::3, None] == of[m::3]).sum()
    assert np.array_equal(again, step.q)
    masses, E, C = M + DT * np.diag(damping), R[:m], R[m:]
    whole = np.block([[masses, -E.T], [E, np.zeros((m, m))]])

    def after(r: Vector) -> Vector:
        return np.linalg.solve(whole, np.concatenate((masses @ w + DT * f + C.T @ r, np.zeros(m))))

    free = after(np.zeros(3 * k))[:n]
    wanted = C @ free
    wanted[::3] += np.maximum(gaps, 0.0) / DT
    assert step.q == pytest.approx(wanted, abs=1e-10)
    columns = [C @ (after(unit)[:n] - free) for unit in np.eye(3 * k)]
    assert pytest.approx(np.array(columns).reshape(3 * k, 3 * k).T, abs=1e-10) == step.W
    assert np.array_equal(step.W, step.W.T)
    r, phi = np.abs(rng.normal(size=3 * k)), 1e-3 * rng.normal(size=m)
    missed, lam, end, way = step.end(r, phi, 0)
    assert np.concatenate((end, lam)) == pytest.approx(after(r), abs=1e-9)
    assert missed < 1e-12
    assert way == pytest.approx(DT * end, abs=1e-15)
    # The correction is the least way: forces of equalities, and of contacts that push only where they then just touch.
    ahead = gaps + DT * (C @ free)[::3]
    _, _, _, way = step.end(np.zeros(3 * k), phi, 1)
    moved = way - DT * free
    assert E @ moved == pytest.approx(-phi, abs=1e-10)
    rows = np.vstack((E, C[::3]))
    pushes, *_ = np.linalg.lstsq(rows.T, masses @ moved, rcond=None)
    assert rows.T @ pushes == pytest.approx(masses @ moved, abs=1e-10)
    gap, push = ahead + C[::3] @ moved, pushes[m:]
    assert (gap > -1e-9).all()
    assert (push > -1e-9).all()
    assert gap * push == pytest.approx(0.0, abs=1e-12)


def test_rows_that_depend_and_velocities_without_mass_are_told() -> None:
    M, damping, rng = tree(1, 6)
    R = rng.normal(size=(2, 6))
    nothing = np.zeros(6)
    assert (
        KernelStep(M, damping, np.vstack((R, R[0] - 2 * R[1])), nothing, nothing, np.zeros(0)).found == ROWS_MAY_DEPEND
    )
    M[2] = M[:, 2] = 0.0
    assert KernelStep(M, nothing, R, nothing, nothing, np.zeros(0)).found == MASSLESS


def test_a_contact_that_equalities_hold_has_no_noise() -> None:
    M, damping, rng = tree(2, 6)
    R = np.vstack((rng.normal(size=(3, 6)), np.zeros((3, 6))))
    R[3:] = rng.normal(size=(3, 3)) @ R[:3]
    step = KernelStep(M, damping, R, rng.normal(size=6), rng.normal(size=6), np.zeros(1))
    assert not step.W.any()
    assert not step.q.any()


@pytest.mark.parametrize("seed", range(20))
def test_distances_are_the_natural_map_and_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = 1 + seed % 4
    H = rng.normal(size=(3 * k, 3 * k - 1))
    H[:3] *= seed % 5 > 0  # a contact whose block vanishes
    problem = ConeComplementarity(H @ H.T, rng.normal(size=3 * k), np.where(rng.random(k) < 0.3, 0.0, rng.random(k)))
    for r in (rng.normal(size=3 * k), np.zeros(3 * k), np.tile([1.0, 0.0, 0.0], k)):
        wanted = residual(problem, r), float(np.linalg.norm(rounding(problem, r))) / velocity_size(problem)
        *found, violated = measured(problem, r)
        assert found == pytest.approx(wanted, rel=1e-12)
        assert violated == pytest.approx(violations(problem, r), rel=1e-12, abs=1e-14)
    assert np.isnan(distances(np.full(9, np.nan), np.ones(3), np.ones(1), np.ones(3), np.empty(3))[0])


def test_contacts_that_touch_are_not_pushed_by_their_rounding_errors() -> None:
    """Six redundant contacts that stay closed: the gaps at the end of the step are rounding errors of both signs."""
    rng = np.random.default_rng(5)
    negative = 0
    for _ in range(20):
        H = rng.normal(size=(2, 6))
        W, push, r, q = np.zeros((18, 18)), np.zeros(18), np.zeros(18), np.zeros(18)
        W[::3, ::3] = H.T @ H
        r[::3] = rng.random(6)
        q[::3] = -H.T @ (H @ r[::3])
        local, ahead = np.concatenate((W.ravel(), q)), np.empty(6)
        negative += bool((W @ r + q)[::3].min() < 0.0)
        gaps_ahead(local, np.zeros(6), r, DT, np.zeros(6), ahead)
        assert ways_apart(local, ahead, 0.0, push)
        assert not push.any()
    assert negative > 5


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("k", "n", "opposed"), [(5, 6, False), (5, 6, True), (40, 9, True)])
def test_pushes_leave_the_least_depths_where_contacts_are_incompatible_and_next_to_none_elsewhere(
    k: int, n: int, opposed: bool, seed: int
) -> None:
    """Five rows of six velocities are compatible, and incompatible if one of them is wanted in both directions."""
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(k, n)) * 10.0 ** rng.uniform(-2, 0, (k, 1))
    C[-1] = -rng.random() * C[0] if opposed else C[-1]
    W, push, ahead = np.zeros((3 * k, 3 * k)), np.zeros(3 * k), 1e-3 * rng.normal(size=k)
    W[::3, ::3], ahead[[0, -1]] = C @ C.T, -1e-3
    local = np.append(W.ravel(), np.zeros(3 * k))
    assert ways_apart(local, ahead, 0.0, push) != opposed
    ways_apart(local, ahead, YIELDS, push)
    gap = ahead + W[::3, ::3] @ push[::3]
    # The conditions of the least of sum min(gap, 0)^2 + yields |way|^2 over displacements `way`.
    assert (push >= 0.0).all()
    assert np.minimum(gap, 0.0) == pytest.approx(-YIELDS * W.max() * push[::3], abs=1e-9)
    assert push[::3] * np.maximum(gap, 0.0) == pytest.approx(0.0, abs=1e-9)
    assert opposed or gap.min() > -1e-5
