"""C14: with quasi-velocities as the state the velocity constraint cannot be violated."""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import maximise
from gaussopt.papers.p004_quasi_velocities import knife_edge
from gaussopt.papers.p004_quasi_velocities.knife_edge import BOUNDS, RANGES, BladeBody, on_trial
from gaussopt.papers.p004_quasi_velocities.motions import across_blade, reference_error, violation
from gaussopt.papers.texts import ClaimTexts
from gaussopt.simulation.simulate import simulate

ROUNDING = 1e-12
"""Largest violation, relative to 1 + the largest velocity, that counts as rounding error."""

RUNS = (("NH-A", "rk4"), ("NH-B", "rk4"), ("NH-C", "rk4"), ("NH-A", "semi-implicit"))
"""Case and stepper of the motions."""

STEP, END = 0.1, 12.0
"""Time step, far too long to be accurate, and end of the motions, s."""

HELD, FORMULA = "quasi-velocity", "velocity"
"""The quantities that can be integrated in addition to q; a run integrates one of them."""

texts = ClaimTexts(__file__, step=STEP, ranges=RANGES)


def check(quick: bool) -> Judgement:
    """Judge by an identity, by arbitrary states, and by motions with steps so long that all other results are wrong."""
    runs = _motions()
    worst = max(violation for *_, state, _, violation in runs if state == HELD)
    wrong = max(error for *_, state, error, _ in runs if state == HELD)
    controls = {stepper: violation for _, stepper, state, _, violation in runs if state == FORMULA}
    control = max(controls.values())
    derivations = (_identity(100 if quick else 1000), _general(30 if quick else 300), _measure(100 if quick else 1000))
    searches = (
        texts.attempt(
            "motion", worst > ROUNDING, runs=", ".join(f"{case} by {stepper}" for case, stepper in RUNS), end=END,
            worst=worst, wrong=wrong, control=control,
        ),
        _optimised(1 if quick else 10),
    )  # fmt: skip
    parts = {"on-motions": not searches[0].refutes, "anywhere": not searches[1].refutes}
    readings = (texts.reading("held", all(parts.values()), parts, ours=False),)
    return texts.judgement(
        readings, derivations, searches, rows=tuple(runs),
        columns=("case", "stepper", "integrated with q", "position error / m", "violation, relative"),
        numbers={"why": texts("why") if all(parts.values()) else "", "by_rk4": controls["rk4"]},
    )  # fmt: skip


def _motions() -> list[tuple[str, str, str, float, float]]:
    rows = []
    for case, stepper in RUNS:
        entry = problem("knife-edge-body", case=case)
        reference = entry.reference(case)
        for state in (HELD, FORMULA) if case == "NH-A" else (HELD,):
            run = simulate(
                entry, "quasi-velocity", "kkt", state=state, stepper=stepper, dt=STEP, t_end=END, step_folder=None,
                error_estimate=False,
            )  # fmt: skip
            across = violation(run) / (1.0 + np.abs(run.v).max(axis=1))
            rows.append((case, stepper, state, reference_error(run, reference), float(across.max())))
    return rows


def _identity(count: int) -> Derivation:
    random, system = np.random.default_rng(14), on_trial(BladeBody())
    worst = least = 0.0
    for _ in range(count):
        q, v = random.uniform(-10, 10, 3), random.uniform(-3, 3, 3)
        step = system.evaluate(0.0, q, v)
        c, s = np.cos(q[1]), np.sin(q[1])
        D = np.array([[c, 0.0], [0.0, 1.0], [s, 0.0]])  # derived by hand
        worst = max(worst, float(np.abs(step.J @ D).max()), float(np.abs(step.D_omega - D).max()))
        least = max(least, float(np.abs(D.T @ D - np.eye(2)).max()))
    return texts.derivation("identity", max(worst, least) < ROUNDING, count=count, worst=worst, least=least)


def _measure(count: int) -> Derivation:
    """Check that a known error, added to the velocities, equals the violation that is computed from them."""
    random = np.random.default_rng(14)
    q, along = random.uniform(-10, 10, (count, 3)), random.uniform(-3, 3, count)
    off = 10.0 ** random.uniform(-14, 0, count)
    c, s = np.cos(q[:, 1]), np.sin(q[:, 1])
    v = np.stack((along * c + off * s, random.uniform(-2, 2, count), along * s - off * c), axis=1)
    worst = float((np.abs(across_blade(q, v) - off) / (1.0 + np.abs(v).max(axis=1))).max())
    return texts.derivation("measure", worst < ROUNDING, count=count, worst=worst)


def _general(count: int) -> Derivation:
    random = np.random.default_rng(15)
    errors = (_of_particle(knife_edge.numbers(random, ranges=knife_edge.PARTICLE_BOUNDS)) for _ in range(count))
    return texts.confirmed("general", ROUNDING, errors)


def _of_particle(z: Vector) -> float:
    """Return the relative violation of the recovered velocity, with the constraint written by hand."""
    q, omega, t = z[:3], z[3:5], float(z[5])
    # Newton's method starts from a perturbed velocity: 0.8 times the speed, with a direction off by 0.3 rad.
    speed, direction = 0.8 * omega[0], omega[1] + 0.3
    guess = np.array([speed * np.cos(direction), speed * np.sin(direction), 0.5 * speed])
    v = knife_edge.particle().velocity_from(t, q, omega, guess)
    f = np.hypot(v[0], v[1]) - (1 + q[0] ** 2 + np.sin(t) ** 2 / 2) * v[2]
    return float(abs(f) / (1.0 + np.abs(v).max()))


def _of_body(z: Vector) -> float:
    """Return the relative violation of the velocity that the package recovers for phi, omega1, omega2 of a body."""
    body = BladeBody.of(z)
    q = np.array([0.0, body.phi, 0.0])
    v = on_trial(body).velocity_from(0.0, q, np.array([body.speed, body.turning]), np.zeros(3))
    return float(abs(v[0] * np.sin(q[1]) - v[2] * np.cos(q[1])) / (1.0 + np.abs(v).max()))


def _optimised(generations: int) -> Attempt:
    worst, number = 0.0, 0
    for cost, bounds in ((_of_body, list(BOUNDS.values())), (_of_particle, list(knife_edge.PARTICLE_BOUNDS))):
        found = maximise(cost, bounds, generations, 14)
        worst, number = max(worst, found.value), number + found.tried
    return texts.attempt("optimised", worst > ROUNDING, number=number, worst=worst)


claim = texts.claim("C14", "004", check, 1.0)
