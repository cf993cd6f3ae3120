"""C14: with quasi-velocities as the state the velocity constraint cannot be violated."""

from __future__ import annotations

import numpy as np

from gaussopt.comparison import common_instants
from gaussopt.core.step_data import Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import maximise
from gaussopt.papers.p004_quasi_velocities import particle
from gaussopt.papers.p004_quasi_velocities.knife_edge import BOUNDS, RANGES, BladeBody, on_trial
from gaussopt.simulation.simulate import simulate

ROUNDING = 1e-12
"""Violation relative to 1 + the largest velocity that is no more than rounding."""

RUNS = (("NH-A", "rk4"), ("NH-B", "rk4"), ("NH-C", "rk4"), ("NH-A", "semi-implicit"))
"""Case and stepper."""

STEP = 0.1
"""s; far too long to be accurate."""

WHY = (
    ": the velocity is computed from $(q,\\omega)$ such that it satisfies the constraint, whatever $q$ and $\\omega$ "
    "are"
)

HELD, FORMULA = "quasi-velocity", "velocity"
"""The quantity that is integrated beside q."""


def check(quick: bool) -> Judgement:
    """The identity, arbitrary states, and motions that are wrong in everything else."""
    end = 3.0 if quick else 12.0
    runs = _motions(end)
    worst = max(violation for *_, state, _, violation in runs if state == HELD)
    wrong = max(error for *_, state, error, _ in runs if state == HELD)
    control = max(violation for *_, state, _, violation in runs if state == FORMULA)
    derivations = (_identity(100 if quick else 1000), _general(30 if quick else 300))
    searches = (
        Attempt(
            "A motion that violates the velocity constraint.",
            f"{', '.join(f'{case} by {stepper}' for case, stepper in RUNS)}, {end:g} s in steps of {STEP:g} s. "
            "Control: the same equations as a mere formula for $a$, with $q$ and $v$ integrated.",
            f"Largest violation {worst:.1e}, relative to 1 + the largest velocity, in motions whose position is off by "
            f"up to {wrong:.1e} m; in the control {control:.1e}.",
            worst > ROUNDING,
        ),
        _optimised(1 if quick else 10),
    )
    # Without a control that fails the measurement would prove nothing.
    sound = all(d.holds for d in derivations) and control > 1e3 * ROUNDING
    verdict = ClaimVerdict.of([sound and not s.refutes for s in searches])
    sentence = (
        f"The violation is at most {worst:.0e} of the velocities in motions that are wrong by up to {wrong:.0e} m"
        f"{WHY if verdict is ClaimVerdict.TRUE else ''}. With $q$ and $v$ integrated in their place the violation by "
        f"the same equations is {control:.0e}. Of positions under holonomic constraints this says nothing."
    )
    places = ("on the motions tried", "at arbitrary $(q,\\omega,t)$")
    held = dict(zip(places, (not s.refutes for s in searches), strict=True))
    conditions = f"{', '.join(k for k, v in held.items() if v)}; not {', '.join(k for k, v in held.items() if not v)}."
    return Judgement(
        verdict, sentence, derivations, searches,
        verdict.where(conditions),
        ("case", "stepper", "integrated with q", "position error / m", "violation, relative"), tuple(runs),
    )  # fmt: skip


def _motions(end: float) -> list[tuple[str, str, str, float, float]]:
    rows = []
    for case, stepper in RUNS:
        entry = problem("knife-edge-body", case=case)
        reference = entry.reference(case)
        for state in (HELD, FORMULA) if case == "NH-A" else (HELD,):
            run = simulate(
                entry, "quasi-velocity", "kkt", state=state, stepper=stepper, dt=STEP, t_end=end, step_folder=None
            )
            phi, vx, vy = run.q[:, 1], run.v[:, 0], run.v[:, 2]
            across = np.abs(vx * np.sin(phi) - vy * np.cos(phi)) / (1.0 + np.abs(run.v).max(axis=1))
            here, there = common_instants(run, reference)
            error = float(np.abs(run.q[here] - reference.q[there])[:, [0, 2]].max())
            rows.append((case, stepper, state, error, float(across.max())))
    return rows


def _identity(count: int) -> Derivation:
    random, system = np.random.default_rng(14), on_trial(BladeBody())
    worst = least = 0.0
    for _ in range(count):
        q, v = random.uniform(-10, 10, 3), random.uniform(-3, 3, 3)
        step = system.evaluate(0.0, q, v)
        c, s = np.cos(q[1]), np.sin(q[1])
        D = np.array([[c, 0.0], [0.0, 1.0], [s, 0.0]])  # by hand
        worst = max(worst, float(np.abs(step.J @ D).max()), float(np.abs(step.D_omega - D).max()))
        least = max(least, float(np.abs(D.T @ D - np.eye(2)).max()))
    return Derivation(
        "$D_\\omega$ with the columns $(\\cos\\varphi,0,\\sin\\varphi)^T$ and $(0,1,0)^T$ is orthonormal and "
        "$JD_\\omega=\\sin\\varphi\\cos\\varphi-\\cos\\varphi\\sin\\varphi=0$: every $\\dot q=D_\\omega\\omega$ "
        "satisfies the constraint.",
        f"{count} random states (seed 14): $|JD_\\omega|$ and the distance of the package's $D_\\omega$ from this one "
        f"at most {worst:.1e}, of $D_\\omega^TD_\\omega$ from the identity {least:.1e}.",
        max(worst, least) < ROUNDING,
    )


def _general(count: int) -> Derivation:
    random = np.random.default_rng(15)
    low, high = np.array(particle.BOUNDS).T
    worst = max(_of_particle(random.uniform(low, high)) for _ in range(count))
    return Derivation(
        "In general $\\dot q$ is the solution of $\\omega(q,\\dot q,t)=\\omega$ and $f(q,\\dot q,t)=0$ together, so "
        "$f=0$ also where $f$ is nonlinear in $\\dot q$.",
        f"A particle with $\\sqrt{{\\dot x^2+\\dot y^2}}=(1+x^2+\\tfrac12\\sin^2t)\\,\\dot z$ at {count} random "
        f"$(q,\\omega,t)$ (seed 15): $|f|$ at most {worst:.1e} of the velocities.",
        worst < ROUNDING,
    )


def _of_particle(z: Vector) -> float:
    """Relative violation of the recovered velocity, the constraint written by hand."""
    q, omega, t = z[:3], z[3:5], float(z[5])
    # Newton's method starts from the velocity before, as on a motion: a fifth and 0.3 rad off.
    speed, direction = 0.8 * omega[0], omega[1] + 0.3
    guess = np.array([speed * np.cos(direction), speed * np.sin(direction), 0.5 * speed])
    v = particle.particle().velocity_from(t, q, omega, guess)
    f = np.hypot(v[0], v[1]) - (1 + q[0] ** 2 + np.sin(t) ** 2 / 2) * v[2]
    return float(abs(f) / (1.0 + np.abs(v).max()))


def _of_body(z: Vector) -> float:
    """Relative violation of the velocity that the package recovers for phi, omega1, omega2 of a body."""
    body = BladeBody.of(z)
    q = np.array([0.0, body.phi, 0.0])
    v = on_trial(body).velocity_from(0.0, q, np.array([body.speed, body.turning]), np.zeros(3))
    return float(abs(v[0] * np.sin(q[1]) - v[2] * np.cos(q[1])) / (1.0 + np.abs(v).max()))


def _optimised(generations: int) -> Attempt:
    worst, number = 0.0, 0
    for cost, bounds in ((_of_body, list(BOUNDS.values())), (_of_particle, list(particle.BOUNDS))):
        found = maximise(cost, bounds, generations, 14)
        worst, number = max(worst, found.value), number + found.tried
    return Attempt(
        "Any $(q,\\omega,t)$, on a motion or not, whose velocity violates the constraint.",
        f"Differential evolution (seed 14, {number} states) that maximises the violation: bodies with {RANGES}; the "
        "particle with positions in ±1 m, 0.3 to 3 m/s in any direction, t up to 3 s.",
        f"Largest violation {worst:.1e}, relative to 1 + the largest velocity.",
        worst > ROUNDING,
    )


claim = Claim(
    "C14", "004", "Eqs. (10) to (13), figures 2 to 5",
    "the equations in quasi-velocities do not violate the velocity constraint",
    check, "where the integrator carries $q$ and $\\omega$ and $\\dot q=D_\\omega\\omega$, as printed", 1.0,
)  # fmt: skip
