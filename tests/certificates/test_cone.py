"""The certificate of contacts with friction cones: what it proves is true, and it proves nothing else."""

from __future__ import annotations

import contact_cases as known
import numpy as np
import pytest
from samples import sample

import gaussopt as go
from gaussopt.certificates.cone import surely_solved
from gaussopt.certificates.cone_bounds import global_bound, local_bound
from gaussopt.certificates.cone_existence import existence_margin, farkas_ray
from gaussopt.cone.monotonicity import monotonicity
from gaussopt.cone.one_contact import solve_contact, surely_unique
from gaussopt.core.solution import RawSolution
from gaussopt.kinds.cone import ContactPage
from gaussopt.modelling.contact_piles import random_contacts

S = go.Status
NAMES = known.names("solved", "multiple_solutions")


@pytest.mark.parametrize("name", NAMES)
def test_true_answers_are_certified_and_uniqueness_is_never_claimed_falsely(name: str) -> None:
    problem, r, unique = known.problem(name), known.truths(name)[0], known.cases()[name]["velocity_unique"]
    found = go.certify_cone(problem, r)
    assert found.residual <= 1e-12
    assert found.passed()
    assert unique is not False or found.velocity_unique is not True
    assert unique is None or found.velocity_unique in (unique, None)


def test_bounds_hold_for_perturbed_answers() -> None:
    random, numbers = np.random.default_rng(18), 0
    for name in NAMES:
        problem, truths = known.problem(name), known.truths(name)
        modulus, reference = monotonicity(problem), local_bound(problem, truths[0])
        slack = (reference.velocity, reference.impulse) if reference else (0.0, 0.0)
        for _ in range(8):
            size = 10.0 ** random.uniform(-15, 0) * (np.abs(truths[0]).max() or 1.0)
            r = truths[0] + size * random.normal(size=problem.n)
            error = min(float(np.linalg.norm(problem.W @ (r - x))) for x in truths)
            impulse = min(float(np.linalg.norm(r - x)) for x in truths)
            for bound in (global_bound(problem, r, modulus), local_bound(problem, r)):
                if bound is not None:
                    numbers += 1
                    assert error <= bound.velocity + slack[0], name
                    assert impulse <= bound.impulse + slack[1], name
    assert numbers > 200


def test_impulses_are_surely_solved_just_where_a_certificate_passes_that_finds_no_others() -> None:
    random, sure, not_sure = np.random.default_rng(5), 0, 0
    for name in NAMES:
        problem, r = known.problem(name), known.truths(name)[0]
        if not problem.k:
            continue
        for size in (0.0, *10.0 ** random.uniform(-12, 0, size=6)):
            x = r + size * (np.abs(r).max() or 1.0) * random.normal(size=problem.n)
            found, missed = go.certify_cone(problem, x, tolerance=1e-8), surely_solved(problem, x, 1e-8)
            if missed < np.inf:
                sure += 1
                assert found.passed(1e-8), name
                assert not found.solutions, name
                assert missed == found.residual, name
            elif problem.k > 1 and not problem.sparse:
                not_sure += 1
                assert not found.passed(1e-8), name
        assert surely_solved(problem, np.full(problem.n, np.nan), 1e-8) == np.inf, name
    assert min(sure, not_sure) > 50


def test_nothing_is_proved_where_contacts_are_redundant() -> None:
    found = go.certify_cone(known.problem("table-rest"), known.truths("table-rest")[0])
    assert (found.error_bound, found.bound_from, found.velocity_unique) == (None, "none", None)


def test_the_residual_has_the_unit_of_velocity_and_does_not_depend_on_others() -> None:
    problem, r = known.problem("slip-rotates"), known.truths("slip-rotates")[0] * 1.01
    first = go.certify_cone(problem, r)
    grams = go.ConeComplementarity(1e-6 * problem.W, problem.q, problem.mu)
    assert go.certify_cone(grams, 1e6 * r).residual == pytest.approx(first.residual, rel=1e-9)
    mirrored = np.diag([1.0, -1.0, 1.0])
    turned = go.ConeComplementarity(mirrored @ problem.W @ mirrored, mirrored @ problem.q, problem.mu)
    assert go.certify_cone(turned, mirrored @ r).residual == pytest.approx(first.residual, rel=1e-12)


def test_rounding_errors_of_an_open_contact_violate_nothing() -> None:
    noise = go.certify_cone(go.ConeComplementarity(np.eye(3), np.array([1.0, 1.0, 0.0]), np.array([0.5])),
                            np.array([1e-17, 1e-17, 0.0]))  # fmt: skip
    assert max(noise.residual, noise.cone_violation, noise.dual_violation, noise.complementarity) < 1e-16
    away = go.certify_cone(known.problem("slip-rotates"), 1.01 * known.truths("slip-rotates")[0])
    assert away.complementarity > 1e-4


@pytest.mark.parametrize(("name", "margin"), [("belt-no-solution", -0.65), ("approaching-walls", -0.63)])
def test_unsolvable_contacts_are_never_solved(name: str, margin: float) -> None:
    problem = known.problem(name)
    assert existence_margin(problem) == pytest.approx(margin, abs=0.01)
    rng = np.random.default_rng(0)
    for size in (0.0, 1.0, 1e3, 1e8):
        answer = RawSolution(size * np.abs(rng.normal(size=problem.n)), None, S.SOLVED)
        status, message, *_ = ContactPage().judge(problem, answer, 1e-7)
        assert status is (S.INFEASIBLE if name == "approaching-walls" else S.NO_SOLUTION)
        assert f"t* = {margin:.2f}" in message or "t* = -0.6" in message


def test_existence_says_nothing_of_indefinite_operators() -> None:
    """The theorem needs a semidefinite W; here every contact that pushes moves the wrong way."""
    problem = go.ConeComplementarity(-np.eye(3), np.array([-1.0, 1.0, 0.0]), np.array([0.5]))
    found = go.solve(problem, "hybrid")
    assert found.status is S.ITERATION_LIMIT
    assert found.certificate["existence_margin"] is None
    assert "exists" not in found.message


def test_a_ray_proves_contradiction() -> None:
    problem = known.problem("approaching-walls")
    y = farkas_ray(problem)
    assert y is not None
    assert (y >= 0).all()
    normal = np.zeros(problem.n)
    normal[::3] = y
    assert np.abs(problem.W @ normal).max() <= 1e-12
    assert normal @ problem.q < 0
    assert farkas_ray(known.problem("belt-no-solution")) is None


def test_one_contact_is_enumerated() -> None:
    problem, truths = known.problem("rod-painleve-multiple"), known.truths("rod-painleve-multiple")
    found = go.certify_cone(problem, truths[0])
    assert len(found.solutions) == 3
    for r in truths:
        assert min(np.abs(r - x).max() for x in found.solutions) <= 1e-14
    assert found.velocity_unique is False


@pytest.mark.parametrize("draws", sample([150], [400]))
def test_one_contact_is_not_enumerated_only_where_its_law_is_strongly_monotone(draws: int) -> None:
    random, seen = np.random.default_rng(7), {True: 0, False: 0}
    for _ in range(draws):
        H = random.normal(size=(3, 3)) * (1.0, 1.0, random.uniform(0.0, 1.0))
        mu = np.array([random.choice((0.0, 10.0 ** random.uniform(-2, 1)))])
        problem = go.ConeComplementarity(H.T @ H, random.normal(size=3), mu)
        seen[sure := surely_unique(problem)] += 1
        assert not sure or monotonicity(problem) > 0.0 or not mu.any()
        assert not sure or len(solve_contact(problem).solutions) <= 1
    assert min(seen.values()) > draws / 8


def test_jitter_is_not_a_second_solution() -> None:
    problem, r = known.problem("cube-6-m-per-s"), known.truths("cube-6-m-per-s")[0]
    answer = RawSolution(r, None, S.SOLVED, solutions=(r * (1 + 1e-9), r * 1.001))
    assert ContactPage().judge(problem, answer, 1e-7).solutions == ()


def test_a_contact_without_friction_and_without_tangents_may_open() -> None:
    opening = go.ConeComplementarity(np.diag([0.5, 0.0, 0.0]), np.array([8.0, 0.0, 0.0]), np.zeros(1))
    assert go.certify_cone(opening, np.zeros(3)).residual == 0
    assert go.solve(opening, "hybrid").status == go.Status.SOLVED


def test_existence_is_asked_only_where_nothing_was_accepted_at_the_tolerance_given() -> None:
    problem, r = (
        go.ConeComplementarity(np.eye(3), np.array([-1.0, 0.2, 0.0]), np.array([0.5])),
        np.array([1.0, -0.2, 0.0]),
    )
    near = r + np.array([1e-5, 0.0, 0.0])
    raw = RawSolution(near, None, S.SOLVED)
    status, _, certificate, *_ = ContactPage().judge(problem, raw, 1e-4)
    assert status is S.SOLVED
    assert certificate.existence_margin is None
    status, _, certificate, *_ = ContactPage().judge(problem, raw, 1e-8)
    assert status is S.INACCURATE
    assert certificate.existence_margin is not None


def test_proofs_that_take_much_longer_than_the_solve_are_left_out_and_said() -> None:
    problem = random_contacts(250, mu=0.05).local
    answer = go.solve(problem, "nsgs")
    assert answer.status is S.SOLVED
    quick = go.certify_cone(problem, answer.x)
    assert "left out" in quick.limit_proofs(1e-3)
    assert (quick.error_bound, quick.bound_from, quick.velocity_unique, quick.proof_seconds) == (
        None,
        "skipped",
        None,
        0,
    )
    patient = go.certify_cone(problem, answer.x)
    assert patient.limit_proofs(10.0) == ""
    assert patient.error_bound is not None
    assert patient.proof_seconds > 0.0


def test_the_search_for_a_modulus_ends_early_only_where_there_is_none() -> None:
    """Against a fine search over one tau for a problem of one contact, in which c > 0 is known either way."""
    seen = set()
    for mu in (0.2, 0.6, 1.0, 1.4, 4.0):
        W = np.array([[1.0, 0.45, 0.0], [0.45, 1.0, 0.0], [0.0, 0.0, 1.0]])
        T, best = W[1:], -np.inf
        for tau in np.geomspace(1e-3, 1e3, 4001):
            S_ = W - mu**2 / (2 * tau) * T.T @ T
            S_[0, 0] -= 0.5 * tau
            best = max(best, float(np.linalg.eigvalsh(S_)[0]))
        found = monotonicity(go.ConeComplementarity(W, np.array([-1.0, 1.0, 0.0]), np.array([mu])))
        seen.add(best > 0)
        assert (found > 0) == (best > 0)
        assert found <= best + 1e-3
    assert seen == {True, False}
