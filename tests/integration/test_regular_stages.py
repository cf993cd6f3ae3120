"""Motions whose regular stages are answered by the kernel: the same as in the general way."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import gaussopt as go
from gaussopt.certificates.contact import certify_contact
from gaussopt.contact.activity import RESTING
from gaussopt.core.errors import NotAccepted
from gaussopt.integration.events.accelerations import ContactSolvers
from gaussopt.integration.events.modes import ContactModes
from gaussopt.integration.events.regular_stages import StageKernel
from gaussopt.solving.step_solver import StepSolver

RUNS = [
    ("sliding-rod", {"t_end": 0.05}), ("two-bar", {"t_end": 0.05}), ("box", {"t_end": 0.6, "dt": 0.02}),
    ("friction-oscillator", {"t_end": 4.0, "dt": 0.1}), ("guided-slider-crank", {"t_end": 0.02}),
    ("sliding-to-rolling", {"t_end": 0.8, "dt": 0.02, "stabilisation": "baumgarte"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings"), RUNS, ids=[name for name, _ in RUNS])
def test_equal_to_the_general_path(name: str, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bool] = []
    solve = StageKernel.solve

    def counted(self: StageKernel, step: go.StepData, phase: ContactModes) -> object:
        found = solve(self, step, phase)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(StageKernel, "solve", counted)
    # Every stage is asked for.
    monkeypatch.setattr(
        "gaussopt.compiled.advances.contact_phases.PhaseMarcher.why_not", lambda *motion: "stages alone"
    )
    general = go.simulate(name, step_folder=None, error_estimate=False, **settings)
    assert not taken
    ours = go.simulate(name, step_folder=None, error_estimate=False, engine="compiled", **settings)
    assert (general.meta["engine"], ours.meta["engine"]) == ("interpreted", "compiled")
    assert sum(taken) >= 0.9 * len(taken) > 0
    assert ours.status is general.status
    assert [e["kind"] for e in ours.events] == [e["kind"] for e in general.events]
    np.testing.assert_allclose(ours.t, general.t, rtol=0, atol=1e-12)
    for field in ("q", "v", "lam_N", "lam_T"):
        mine, theirs = getattr(ours, field), getattr(general, field)
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * (1 + np.nanmax(np.abs(theirs))))
    assert ours.worst.relative_error <= 1e-12


def sliding() -> tuple[go.StepData, ContactModes]:
    entry = go.problem("sliding-rod")
    step = entry.system.evaluate(0.0, entry.q0, entry.v0)
    sigma = step.sigma
    return step, ContactModes(tuple(range(step.k)), frozenset(), sigma, np.ones(step.k))


def test_the_certificate_is_that_of_the_general_path() -> None:
    step, phase = sliding()
    found = StageKernel(1e-7).solve(step, phase)
    assert found is not None
    ours = found.answer()
    own = certify_contact(phase.shape(step), ours.a, ours.lam, ours.lam_N, ours.lam_T)
    c = ours.certificate
    assert own.passed()
    assert c.passed()
    for field in ("norm_a", "norm_a_2", "norm_gamma", "smallest_w", "natural_scale"):
        assert getattr(c, field) == pytest.approx(getattr(own, field), rel=1e-9, abs=1e-12)
    assert own.error_bound <= 1e-12 * (1 + own.norm_a)
    assert c.error_bound <= 1e-12 * (1 + own.norm_a)
    assert own.rounding_floor <= 10 * c.rounding_floor <= 1e3 * own.rounding_floor
    assert (c.verdict, c.contact.reason, c.forces_unique) == (own.verdict, own.contact.reason, own.forces_unique)


@cache
def turning() -> tuple[go.Problem, go.Trajectory]:
    """The slider-crank in its guide with a coupler whose coordinate has no mass."""
    entry = go.problem("guided-slider-crank", case="turning").at(I2=0.0)
    return entry, go.simulate(entry, t_end=0.05, error_estimate=False)


@pytest.mark.parametrize("turned", [0.0, 1.0, 2.5])
def test_the_certificate_of_a_massless_coordinate_is_that_of_the_general_path(turned: float) -> None:
    entry, motion = turning()
    row = int(turned / 2.5 * (len(motion.t) - 1))
    step = entry.system.evaluate(float(motion.t[row]), motion.q[row], motion.v[row])
    assert np.linalg.eigvalsh(step.M)[0] == 0.0
    phase = ContactModes(tuple(range(step.k)), frozenset(), step.sigma, np.sign(motion.lam_N[row]) + 0.0)
    found = StageKernel(1e-7).solve(step, phase)
    assert found is not None
    ours = found.answer()
    own = certify_contact(phase.shape(step), ours.a, ours.lam, ours.lam_N, ours.lam_T)
    c = ours.certificate
    assert (own.passed(), c.passed(), own.singular_mass, c.singular_mass) == (True,) * 4
    for field in ("norm_a", "norm_a_2", "norm_gamma", "smallest_w"):
        assert getattr(c, field) == pytest.approx(getattr(own, field), rel=1e-9, abs=1e-12)
    # An error of the acceleration that moves no mass is measured as well.
    off = found._replace(numbers=[*found.numbers])
    off.numbers[1] = 1e-6 * (1.0 + off.numbers[6])
    assert found.passed(1e-7)
    assert not off.passed(1e-7)


def test_other_solvers_and_options_are_left_alone() -> None:
    def kernel(formulation: str, solver: str, warm: bool = True, **options: object) -> bool:
        return ContactSolvers(formulation, solver, options, 1e-7, warm).why_interpreted() is None

    assert kernel("stick-slip", "lemke")
    assert kernel("lcp", "principal-pivoting")
    assert not kernel("lcp", "newton")
    assert not kernel("lcp", "lemke", max_iter=3)
    assert not kernel("lcp", "lemke", warm=False)
    assert not kernel("normal-force-qp", "daqp")


def test_what_the_kernel_does_not_stand_for_is_said() -> None:
    for settings in ({"solver": "newton"}, {"stepper": "moreau-jean", "stabilisation": "projection"}):
        with pytest.raises(NotAccepted, match="'compiled' cannot run this motion"):
            go.simulate("sliding-rod", engine="compiled", **settings)


def test_long_runs_that_name_nothing_use_the_kernel() -> None:
    motion = go.simulate("bouncing-ball", t_end=0.1, dt=1e-5)
    assert motion.meta["engine"] == "compiled"
    named = go.simulate("bouncing-ball", "stick-slip", "lemke", t_end=0.1, dt=1e-3)
    assert named.meta["engine"] == "interpreted"


def test_what_is_not_regular_goes_the_general_way() -> None:
    step, phase = sliding()
    stages = StageKernel(1e-7)
    assert stages.solve(replace(step, M=np.diag([1.0, 1.0, 0.0])), phase) is None
    flight = stages.solve(step, ContactModes.flight(step.k, 1))
    assert flight
    np.testing.assert_array_equal(flight.a, [0.0, -9.81, 0.0])
    # A tolerance that rounding cannot meet.
    assert StageKernel(1e-18).solve(step, phase) is None


def test_redundant_contacts_that_slide_are_known_to_be_monotone() -> None:
    entry = go.problem("box")
    step = entry.system.evaluate(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0]))
    phase = ContactModes((0, 1, 2), frozenset(), step.sigma, np.ones(step.k))
    found = StageKernel(1e-7).solve(step, phase)
    assert found is not None
    ours = found.answer()
    general = StepSolver("stick-slip", "lemke", thorough=False).solve(phase.shape(step))
    assert ours.contact is not None
    assert general.contact is not None
    assert (ours.contact.reason, ours.forces_unique) == (general.contact.reason, False) == ("monotone", False)
    np.testing.assert_allclose(ours.a, general.a, atol=1e-12)


@pytest.mark.parametrize(("name", "case", "settings"), [
    ("spinning-sphere", None, {"t_end": 0.8, "dt": 0.02}), ("sliding-cube", None, {"dt": 0.05}),
    ("four-leg-table", "holds", {"t_end": 0.1, "dt": 0.02}), ("pinched-capsule", None, {"t_end": 0.1, "dt": 0.02}),
])  # fmt: skip
def test_contacts_in_space_that_stick_are_solved_over_cones(
    name: str, case: str | None, settings: dict[str, object]
) -> None:
    """Forces of redundant contacts may be others than in the general way; the motion is the same, and they pass."""
    entry = go.problem(name, case=case) if case else go.problem(name)
    general, ours = (
        go.simulate(entry, stepper="rk4", step_folder=None, error_estimate=False, engine=engine, **settings)
        for engine in ("interpreted", "compiled")
    )
    assert (ours.meta["engine"], ours.status) == ("compiled", general.status)
    assert [e["kind"] for e in ours.events] == [e["kind"] for e in general.events]
    assert ours.meta["open_forces"] == general.meta["open_forces"]
    assert [w[:30] for w in ours.warnings] == [w[:30] for w in general.warnings]
    for field in ("t", "q", "v"):
        np.testing.assert_allclose(getattr(ours, field), getattr(general, field), rtol=0, atol=1e-12)
    assert (ours.mode == 2).any()
    for i in np.linspace(0, len(ours.t) - 1, 9).astype(int):
        closed, stuck = np.flatnonzero(ours.mode[i] > 0), np.flatnonzero(ours.mode[i] == 2)
        step = entry.system.evaluate(float(ours.t[i]), ours.q[i], ours.v[i])
        # Where a slip ends, at most RESTING is left of it, and friction keeps the direction in which the contact slid.
        ending, force = step.speed <= RESTING * (1.0 + np.abs(ours.v[i]).max()), np.linalg.norm(ours.lam_T[i], axis=1)
        sigma = np.where(ending[:, None], ours.lam_T[i] / np.maximum(force, 1e-300)[:, None], step.sigma)
        sigma = np.where((ours.mode[i] == 1)[:, None], sigma, 0.0)
        phase = ContactModes(tuple(closed.tolist()), frozenset(stuck.tolist()), sigma, np.ones(step.k))
        own = certify_contact(phase.shape(step), ours.a[i], ours.lam[i], ours.lam_N[i, closed], ours.lam_T[i, closed])
        assert own.passed(1e-10)


def test_the_cones_of_a_stage_have_the_certificate_of_the_general_path() -> None:
    random, proofs = np.random.default_rng(5), set()
    for k, n in ((1, 5), (2, 9), (3, 6)) * 4:
        A, J_N = random.normal(size=(n, n)), random.normal(size=(k, n))
        step = go.StepData.from_mapping({
            "M": A @ A.T / n + np.eye(n), "Q": random.normal(size=n) - 3.0 * J_N.sum(axis=0), "J_N": J_N,
            "zeta_N": np.zeros(k), "J_T": random.normal(size=(k, 2, n)), "zeta_T": random.normal(size=(k, 2)),
            "v_T": np.zeros((k, 2)), "mu": random.uniform(0.1, 0.4, k),
        })  # fmt: skip
        phase = ContactModes(tuple(range(k)), frozenset(range(k)), np.zeros((k, 2)), np.ones(k))
        found = StageKernel(1e-7).solve(step, phase)
        if found is None:  # the quick proof is for one tau only
            continue
        ours = found.answer()
        own = certify_contact(step, ours.a, ours.lam, ours.lam_N, ours.lam_T, thorough=False)
        assert own.passed()
        assert own.error_bound <= 1e-11 * (1 + own.norm_a)
        assert ours.certificate.error_bound <= 1e-11 * (1 + own.norm_a)
        for field in ("norm_a", "norm_a_2", "smallest_w"):
            assert getattr(ours.certificate, field) == pytest.approx(getattr(own, field), rel=1e-9, abs=1e-12)
        if own.contact.reason in ("monotone", "undecided"):
            assert (ours.contact.reason, ours.forces_unique) == (own.contact.reason, own.forces_unique)
        proofs.add(ours.contact.reason)
    assert proofs == {"monotone", "undecided"}
