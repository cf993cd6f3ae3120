"""Chains of links: geometry, dynamics against minimal coordinates and statics, and how work grows with their length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from chains import moving

import gaussopt as go
from gaussopt.certificates import certify
from gaussopt.core import registry
from gaussopt.core.step_data import memory, parts
from gaussopt.families.chain import DENSE_LINKS
from gaussopt.linalg.sparse_saddle_point import Saddle
from gaussopt.modelling.chain import GRAVITY, Chain

SOLVED = go.Status.SOLVED


def dense(step: go.StepData) -> go.StepData:
    M, J = parts(step)
    assert step.q is not None
    assert step.v is not None
    return go.StepData.smooth(M.toarray(), step.h, step.Q, J.toarray(), step.gamma, step.t, step.q, step.v)


@pytest.mark.parametrize("closed", [False, True])
def test_states_close_every_pin(closed: bool) -> None:
    chain, q, v = moving(50, closed)
    assert np.abs(chain.linkage.gaps(q)).max() <= 1e-14
    assert np.abs(chain.linkage.rates(q, v)).max() <= 1e-13
    assert chain.linkage.rows(q).shape == (2 * chain.joints, 150)
    assert chain.joints == 50 + closed


@pytest.mark.parametrize("links", [1, 2, 7])
def test_open_chain_moves_like_the_pendulum_in_minimal_coordinates(links: int) -> None:
    chain, q, v = moving(links, False)
    # Centres are sums of bars: c_k = sum_i arm_ki u_i, so T and V are written down in the angles at once.
    arm = chain.length * (np.tri(links, k=-1) + 0.5 * np.eye(links))
    inertia = arm.T @ (chain.masses[:, None] * arm)
    phi, spin = q[2::3], v[2::3]
    between = phi[:, None] - phi
    M = inertia * np.cos(between) + np.diag(chain.masses * chain.length**2 / 12)
    f = -(inertia * np.sin(between)) @ spin**2 - GRAVITY * (chain.masses @ arm) * np.cos(phi)
    answer = go.solve_step(chain.system.evaluate(0.0, q, v), "gauss", "sparse-kkt")
    assert answer.a is not None
    expected = np.linalg.solve(M, f)
    np.testing.assert_allclose(answer.a[2::3], expected, atol=1e-12 * np.abs(expected).max())


def test_pins_of_a_hanging_chain_carry_the_weight_below_them() -> None:
    chain = Chain(2000, mass=0.1 * (1 + np.arange(2000) % 3))
    answer = go.solve_step(chain.system.evaluate(0.0, *chain.hanging()), "gauss", "sparse-kkt")
    assert answer.status is SOLVED, answer.message
    assert answer.a is not None
    assert answer.lam is not None
    below = GRAVITY * np.cumsum(chain.masses[::-1])[::-1]
    np.testing.assert_allclose(answer.lam[1::2], below, rtol=1e-11)
    assert np.abs(answer.lam[::2]).max() <= 1e-9 * below[0]
    assert np.abs(answer.a).max() <= 1e-8


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(
    ("formulation", "solver"), [("gauss", "sparse-kkt"), ("gauss", "osqp"), ("lagrange", "sparse-kkt")]
)
def test_sparse_answers_are_the_dense_ones(formulation: str, solver: str, closed: bool) -> None:
    chain, q, v = moving(40, closed)
    step = chain.system.evaluate(0.0, q, v)
    answer, exact = go.solve_step(step, formulation, solver), go.solve_step(dense(step), "gauss", "kkt")
    assert answer.status is SOLVED, answer.message
    assert answer.a is not None
    assert exact.a is not None
    assert answer.lam is not None
    assert exact.lam is not None
    # "solved" promises 1e-7; these solvers are exact, OSQP by its polish.
    np.testing.assert_allclose(answer.a, exact.a, atol=1e-9 * (1 + np.abs(exact.a).max()))
    np.testing.assert_allclose(answer.lam, exact.lam, atol=1e-9 * (1 + np.abs(exact.lam).max()))


def test_the_solver_follows_a_motion_by_updates() -> None:
    chain, q, v = moving(200, False)
    motion = go.simulate(chain.system, q0=q, v0=v, dt=1e-3, t_end=5e-3, error_estimate=False)
    assert motion.status is SOLVED, motion.message
    assert (motion.meta["formulation"], motion.meta["solver"]) == ("gauss", "sparse-kkt")
    assert motion.timing["update"] > 0
    assert motion.worst.relative_error <= 1e-11


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("stabilisation", ["none", "baumgarte", "projection"])
def test_energy_is_kept(stabilisation: str, closed: bool) -> None:
    chain, q, v = moving(6, closed)
    settings = {"stabilisation": stabilisation, "error_estimate": False}
    motion = go.simulate(chain.system, q0=q, v0=v, dt=1e-3, t_end=0.03, **settings)
    assert motion.status is SOLVED, motion.message
    size = np.ptp(motion.kinetic)
    assert size > 1e-3
    assert np.abs(motion.energy - motion.energy[0]).max() <= 1e-6 * size
    if stabilisation == "projection":
        assert max(motion.position_drift.max(), motion.velocity_drift.max()) <= 1e-13


@pytest.mark.parametrize("closed", [False, True])
def test_work_and_memory_grow_like_the_number_of_links(closed: bool) -> None:
    found = []
    for links in (100, 10_000):
        chain, q, v = moving(links, closed)
        step = chain.system.evaluate(0.0, q, v)
        saddle = Saddle.of(*parts(step))
        assert saddle is not None
        assert saddle.regular
        assert saddle.structure.half_band == 3  # joints that share a link
        found.append(np.array([saddle.factor.fill, *saddle.stored(), memory(step)]) / links)
    np.testing.assert_allclose(found[1], found[0], rtol=0.03)
    assert found[1][-1] + found[1][1] + found[1][2] <= 1000  # bytes a link


@pytest.mark.parametrize("closed", [False, True])
def test_long_chains_are_certified(closed: bool) -> None:
    chain, q, v = moving(20_000, closed)
    step = chain.system.evaluate(0.0, q, v)
    answer = go.solve_step(step, "gauss", "sparse-kkt")
    assert answer.status is SOLVED, answer.message
    assert answer.a is not None
    c = answer.certificate
    assert c.error_bound <= c.rounding_floor <= 1e-9 * (1 + c.norm_a)
    # A push that no pin hinders is the error itself; it is seen with all its digits.
    push = np.zeros(step.n)
    push[3 * 9_999 + 2] = 1e-3
    M, J = parts(step)
    saddle = Saddle.of(M, J)
    assert saddle is not None
    free = saddle.solve(M @ push, np.zeros(step.m), 1e-12).x
    seen = certify(step, answer.a + free).error_bound
    assert seen == pytest.approx(float(np.sqrt(free @ (M @ free))), rel=1e-3)


# -- the family ----------------------------------------------------------------------------------------


def test_the_family_is_dense_while_short() -> None:
    family = registry.load("family", "chain")
    short, long = (family.steps({"links": links, "closed": 1}, 2)[1] for links in (DENSE_LINKS, DENSE_LINKS + 1))
    assert not short.sparse
    assert long.sparse
    for step, solver in ((short, "kkt"), (long, "sparse-kkt")):
        assert go.solve_step(step, "gauss", solver).status is SOLVED


@pytest.mark.parametrize("dials", [{}, {"closed": 1}, {"mass-ratio": 1e4}, {"opening": 5.0, "closed": 1}])
def test_steps_of_the_family_are_lawful(dials: dict[str, float]) -> None:
    for step in registry.load("family", "chain").steps({"links": 1000, **dials}, 3):
        assert step.finite()
        assert step.v is not None
        assert np.abs(step.J @ step.v).max() <= 1e-11 * np.abs(step.v).max()
        answer = go.solve_step(step, "gauss", "sparse-kkt")
        assert answer.status is SOLVED, answer.message


def test_the_family_is_compared_by_what_takes_sparse_steps() -> None:
    from gaussopt.comparison.pairing import pairs

    step = registry.load("family", "chain").steps({"links": 500}, 1)[0]
    found = pairs(["gauss", "lagrange", "dual"], ["kkt", "sparse-kkt", "osqp", "daqp"], step)
    assert found == [("gauss", "sparse-kkt"), ("gauss", "osqp"), ("lagrange", "sparse-kkt")]


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Chain(0), "positive whole number"),
        (lambda: Chain(2.5), "positive whole number"),  # type: ignore[arg-type]
        (lambda: Chain(3, length=0.0), "length of a link"),
        (lambda: Chain(3, length="long"), "length of a link is 'long'; give a finite number"),  # type: ignore[arg-type]
        (lambda: Chain(3, gravity=np.nan), "gravity is nan; give a finite number"),
        (lambda: Chain(3, mass=np.ones(2)), r"mass has shape \(2,\), expected \(3,\)"),
        (lambda: Chain(3, mass="heavy"), "mass is not an array of numbers"),  # type: ignore[arg-type]
        (lambda: Chain(3, mass=-1.0), "not a positive number"),
        (lambda: Chain(3, (1.0, 0.0)), "does not reach"),
        (lambda: Chain(3, (np.nan, 0.0)), r"end\[0\] is nan"),
        (lambda: Chain(3, (0.1, 0.0, 0.0)), r"end has shape \(3,\)"),  # type: ignore[arg-type]
        (lambda: Chain(3, 0.1), r"end has shape \(\)"),  # type: ignore[arg-type]
        (lambda: Chain(1, (0.0, 0.0)), "one link that is pinned at both ends is rigid"),
        (lambda: Chain(2).state([1.0]), r"phi has shape \(1,\), expected \(2,\)"),  # type: ignore[arg-type]
        (lambda: Chain(2).state(np.ones(2), np.ones(3)), "spin has shape"),
        (lambda: Chain(2).arc(np.inf), "opening is inf"),
    ],
)
def test_impossible_chains_are_refused(make: Any, words: str) -> None:
    with pytest.raises(go.BadInput, match=words):
        make()


@pytest.mark.parametrize(
    ("formulation", "solver", "words"),
    [*((f, "kkt", "needs dense matrices") for f in ("dual", "udwadia-kalaba", "null-space")),
     *(("gauss", s, "use clarabel, osqp") for s in ("kkt", "daqp", "cvxpy", "newton"))],
)  # fmt: skip
def test_what_needs_dense_matrices_says_so(formulation: str, solver: str, words: str) -> None:
    chain, q, v = moving(5, False)
    with pytest.raises(go.NotAccepted, match=words):
        go.solve_step(chain.system.evaluate(0.0, q, v), formulation, solver)


def test_the_sparse_solver_leaves_dense_programs_to_others() -> None:
    chain, q, v = moving(5, False)
    with pytest.raises(go.NotAccepted, match="use kkt"):
        go.solve_step(dense(chain.system.evaluate(0.0, q, v)), "gauss", "sparse-kkt")
