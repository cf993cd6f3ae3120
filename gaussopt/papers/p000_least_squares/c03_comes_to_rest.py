"""C3: the crank-slider is solved exactly and comes to rest.

By eq. (16) it is not solved exactly, and with the printed torque it spins for ever: what the torque does in a turn is
more than the damper takes until the crank is fast.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.modelling.problem import problem
from gaussopt.modelling.reference import ReferenceData
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.p000_least_squares.minimal_crank_slider import Crank, Values, backwards

SEED = 3
PARAMETERS = problem("crank-slider").parameter_values
"""Printed values, and our choice of gravity and inertias."""

equation_16 = rs.by_formulation("least-squares-as-printed")


def check(quick: bool) -> Judgement:
    """Judge both halves of the claim: that (16) is exact on this mechanism, and that it comes to rest."""
    crank, rows = Crank.of(PARAMETERS), problem("crank-slider").reference("crank-A-2s")
    per_turn = 200 if quick else 400
    states = _states(rows, 20 if quick else 4)
    inexact, exact, factor = _exactness(states)
    rests = bool(backwards(crank, 0.0, 3, per_turn).stops)
    spin, speed = _spinning(crank, rows, per_turn)
    balance, mean = _balance(crank, per_turn)
    unit = _unit(crank)
    thresholds, limits = _thresholds(crank, quick)
    choices, others = _our_choices(crank, quick), _other_starts(crank, quick)
    verdict = ClaimVerdict.of([exact, rests])
    spins = "comes to rest" if rests else f"spins up for ever, to {abs(mean):.2f} rad/s on average"
    sentence = (
        f"Eq. (16) gives {factor:.3g} times the true acceleration of the crank at the start. With the printed torque "
        f"the mechanism {spins}; it would rest for torques between {limits[0]:.4f} and {limits[1]:.4f} N m"
    )
    torques = {"without torque": 0.0, f"with the torque of opposite sign, {-float(crank.tau):g} N m": -float(crank.tau)}
    resting = [
        f"{how} at $\\theta_1={crank.at(tau=tau).static(-np.pi, 0.0):.6f}$"
        for how, tau in torques.items()
        if limits[0] < tau < limits[1]
    ]
    sentence += f", such as {', or '.join(resting)}" if resting else ""
    held = {"eq. (16) is exact on this mechanism": exact, "the mechanism comes to rest": rests}
    conditions = f"only in that {', '.join(k for k, v in held.items() if v)}." if any(held.values()) else ""
    return Judgement(
        verdict,
        f"{sentence}.",
        (inexact, spin, balance, _unit_masses(crank, unit, states)),
        (thresholds, choices, others),
        verdict.where(conditions),
        ("quantity", "exact", "by eq. (16)"),
        _table(crank, unit, speed, mean, quick),
    )


def _states(rows: ReferenceData, stride: int) -> list[StepData]:
    system = problem("crank-slider").system
    return [system.evaluate(float(t), q, v) for t, q, v in zip(rows.t, rows.q, rows.v, strict=True)][::stride]


def _exactness(states: list[StepData]) -> tuple[Derivation, bool, float]:
    crank = Crank.of(PARAMETERS)
    true, printed = [crank.acceleration(*_phase(s)) for s in states], [equation_16(s) for s in states]
    errors = [rs.miss(s, a, b) for s, a, b in zip(states, printed, true, strict=True)]
    agree = max(rs.miss(s, b) for s, b in zip(states, true, strict=True))
    factor = float(printed[0][2] / true[0][2])
    derivation = Derivation(
        "In its minimal coordinate the mechanism obeys $(K^TMK)\\ddot\\theta_1=K^T(Q-MK'\\dot\\theta_1^2)$ with "
        "$K=\\partial q/\\partial\\theta_1$, without constraints and multipliers.",
        f"at {len(states)} states of the printed motion this agrees with Gauss's principle in seven coordinates to "
        f"{agree:.1e}; at the start it gives {true[0][2]:.6f} rad/s², eq. (16) gives {printed[0][2]:.6f} rad/s²",
        agree <= DEFAULT_TOLERANCE,
    )
    return derivation, max(errors) <= DEFAULT_TOLERANCE, factor


def _phase(s: StepData) -> tuple[float, float]:
    assert s.q is not None
    assert s.v is not None
    return float(s.q[2]), float(s.v[2])


def _spinning(crank: Crank, rows: ReferenceData, per_turn: int) -> tuple[Derivation, Vector]:
    turns = 6
    run = backwards(crank, 0.0, turns, per_turn)
    speeds = _speed(crank, -run.covered, run.kinetic)
    passing = speeds[::per_turn]
    swept = -rows.q[:, 2]
    known = (swept > 1.0) & (swept < run.covered[-1])
    apart = float("nan")
    if not run.stops:
        apart = float(np.abs(CubicSpline(run.covered, speeds)(swept[known]) + rows.v[known, 2]).max())
    rising = bool((np.diff(passing) > 0).all()) and not bool(run.stops)
    derivation = Derivation(
        "Orbits in the phase plane of $(\\theta_1\\bmod2\\pi,\\dot\\theta_1)$ do not cross. So if the crank passes the "
        "same angle once more and faster, it passes it faster at every further turn, and never rests.",
        f"speeds on passing $\\theta_1=0$ backwards after turns 0, 1, 2, ...: {', '.join(f'{s:.3f}' for s in passing)} "
        f"rad/s; over the angle the speed differs from the reference motion by {apart:.1e} rad/s at most"
        if rising
        else f"the crank {'stops' if run.stops else 'does not become faster'} within {turns} turns",
        rising and apart < 1e-3,
    )
    return derivation, passing


def _speed(crank: Crank, theta: Values, kinetic: Values) -> Vector:
    return np.asarray(np.sqrt(2 * kinetic / crank.inertia(theta)))


def _balance(crank: Crank, per_turn: int) -> tuple[Derivation, float]:
    low, high = 0.0, 100.0
    for _ in range(4):
        energies = np.linspace(low, high, 33)
        after = backwards(crank, 0.0, 1, per_turn, energies).kinetic[-1]
        gains = after > energies
        if not gains.any() or gains.all():
            break
        last = int(np.flatnonzero(gains)[-1])
        low, high = float(energies[last]), float(energies[last + 1])
    run = backwards(crank, 0.0, 1, per_turn, 0.5 * (low + high))
    theta, kinetic = -run.covered, run.kinetic
    if bool(run.stops) or not (kinetic > 0).all():
        return Derivation(_WORK, "there is no motion that repeats itself turn by turn", False), 0.0
    speed = _speed(crank, theta, kinetic)
    work = 2 * np.pi * abs(float(crank.tau))
    taken = float(np.trapezoid(crank.c * crank.gain(theta) ** 2 * speed, run.covered))
    mean = -2 * np.pi / float(np.trapezoid(1.0 / speed, run.covered))
    derivation = Derivation(
        _WORK,
        f"torque {work:.4f} J a turn; the damper takes as much ({taken:.4f} J) only in the periodic motion between "
        f"{speed.min():.2f} and {speed.max():.2f} rad/s, {abs(mean):.2f} rad/s on average",
        bool(np.isclose(taken, work, rtol=1e-3)),
    )
    return derivation, mean


_WORK = (
    "A turn changes no height and no spring: the torque does the work $2\\pi|\\tau|$ in it and the damper takes "
    "$\\oint c\\,(dx_3/d\\theta_1)^2|\\dot\\theta_1|\\,d\\theta_1$, which grows with the speed. The crank is driven "
    "until both are equal."
)


def _unit(crank: Crank) -> Crank:
    """The mechanism that (16) solves instead: all masses and inertias 1, forces M^-1 Q."""
    return crank.at(
        m1=1.0, m2=1.0, m3=1.0, I1=1.0, I2=1.0, k=crank.k / crank.m3, c=crank.c / crank.m3, tau=crank.tau / crank.I1
    )


def _unit_masses(crank: Crank, unit: Crank, states: list[StepData]) -> Derivation:
    apart = max(rs.miss(s, equation_16(s), unit.acceleration(*_phase(s))) for s in states)
    least = float(np.abs(unit.slope(np.linspace(-np.pi, np.pi, 3601))).min())
    weakest = float(np.abs(crank.slope(np.linspace(-np.pi, np.pi, 3601))).min())
    return Derivation(
        "Eq. (16) moves another mechanism: all masses and inertias are 1 and the forces are $M^{-1}Q$, so that the "
        "torque counts as $\\tau/I_1$ and nothing balances it.",
        f"at {len(states)} states it agrees with that mechanism to {apart:.1e}; its generalised force is nowhere below "
        f"{least:.4g} in size, so it has no static rest (that of the true mechanism comes down to {weakest:.1e} N m)",
        apart <= DEFAULT_TOLERANCE and least > 1.0,
    )


def _first(crank: Crank, name: str, low: float, high: float, quick: bool) -> float:
    """The value of a parameter at which the crank begins, or ceases, to stop in its first turn; NaN if none."""
    per_turn, count = (200, 33) if quick else (500, 65)
    for _ in range(3):
        values = np.linspace(low, high, count)
        stops = backwards(crank.at(**{name: values}), 0.0, 1, per_turn).stops
        changes = np.flatnonzero(stops != stops[0])
        if not len(changes):
            return float("nan")
        low, high = float(values[changes[0] - 1]), float(values[changes[0]])
    return 0.5 * (low + high)


def _thresholds(crank: Crank, quick: bool) -> tuple[Attempt, tuple[float, float]]:
    bounds = {"tau": (-0.5, -0.1), "c": (1.0, 6.0), "g": (9.81, 40.0)}
    tau, damping, gravity = (_first(crank, name, *ends, quick) for name, ends in bounds.items())
    # Above this torque the crank leaves the start forwards, and then it is not held back by its weight at all.
    upper = 0.5 * float((crank.m1 + crank.m2) * crank.g * crank.l1)
    per_turn = 200 if quick else 400
    between, above = np.linspace(tau + 1e-3, upper - 1e-3, 33), np.linspace(upper + 1e-3, 2.0, 33)
    resting = int(backwards(crank.at(tau=between), 0.0, 1, per_turn).stops.sum())
    # Forwards is backwards of the mirror image.
    lifted = int(backwards(crank.at(tau=-above, g=-crank.g), 0.0, 2, per_turn).stops.sum())
    found = (
        f"it would rest for $\\tau>{tau:.4f}$ N m ({resting} of {len(between)} torques up to ${upper:.4f}$ N m, with "
        f"which it begins to rise from the start; {lifted} of {len(above)} from there to 2 N m), for $c>{damping:.4f}$ "
        f"N s/m, or for $g>{gravity:.2f}$ m/s², the others as printed"
    )
    refutes = bool(tau < PARAMETERS["tau"] or damping < PARAMETERS["c"] or gravity < PARAMETERS["g"])
    search = Attempt(
        "how far the printed values are from a mechanism that rests",
        "one parameter at a time, "
        + ", ".join(f"{n} from {a:g} to {b:g}" for n, (a, b) in zip(("τ", "c", "g"), bounds.values(), strict=True))
        + ", narrowed down on a grid until two values are neighbours",
        found,
        refutes,
    )
    return search, (tau, upper)


def _our_choices(crank: Crank, quick: bool) -> Attempt:
    per_turn, count = (100, 100) if quick else (200, 1000)
    work = 2 * np.pi * abs(float(crank.tau))
    limits = np.array([0.25 * crank.m1 * crank.l1**2, 0.25 * crank.m2 * crank.l2**2, 9.81])

    def least(x: Matrix) -> Vector:
        inertias = limits[:, None] * x
        run = backwards(crank.at(I1=inertias[0], I2=inertias[1], g=inertias[2]), 0.0, 2, per_turn)
        return np.asarray(run.kinetic[per_turn // 4 :].min(axis=0))

    rng = np.random.default_rng(SEED)
    drawn = least(rng.uniform(0.0, 1.0, (3, count)))
    steered = minimise(least, [(0.0, 1.0)] * 3, 2 if quick else 10, rng, population=5, together=True)
    lowest = min(float(drawn.min()), steered.value)
    return Attempt(
        "inertias and a gravity, none of which is printed, with which the printed start and torque lead to rest",
        f"{count} random mechanisms and {steered.tried} chosen by differential evolution for the least kinetic energy, "
        "each inertia between 0 and that of a bar with all mass at its ends, $0\\le g\\le9.81$ m/s² (a mechanism may "
        f"lie flat), two turns each, seed {SEED}",
        "some come to rest"
        if lowest <= 0
        else f"none stops: after the first quarter of a turn the kinetic energy stays above {lowest:.3f} J, where the "
        f"torque does {work:.3f} J in a turn",
        lowest <= 0,
    )


def _other_starts(crank: Crank, quick: bool) -> Attempt:
    static = crank.static(-np.pi, 0.0)
    low, high, count = static + 1e-3, 1.0, 61 if quick else 241
    angles = np.linspace(low, high, count)
    stops = backwards(crank, angles, 1.5, 200 if quick else 500).stops
    resting = angles[stops]
    caught = float(resting.max()) if len(resting) else static
    printed = bool(backwards(crank, 0.0, 1.5, 200).stops)
    return Attempt(
        "starts at rest from which the printed torque lets the crank settle",
        f"{count} start angles from the static balance at {static:.6f} to {high:g} rad",
        f"it settles from angles up to {caught:.3f} rad, near the balance; the printed start, 0, is "
        f"{'one of them' if printed else 'not one of them'}",
        printed,
    )


def _table(crank: Crank, unit: Crank, speed: Vector, mean: float, quick: bool) -> tuple[tuple[object, ...], ...]:
    nan = float("nan")
    rows: list[tuple[object, ...]] = []
    for tau in (float(crank.tau), 0.0):
        pair = crank.at(tau=tau), unit.at(tau=tau / crank.I1)
        label = f"τ = {tau:g} N m"
        rows.append((f"θ₁″(0) / (rad/s²), {label}", *(float(c.acceleration(0.0, 0.0)[2]) for c in pair)))
        rows.append((f"θ₁(0.25 s) / rad, {label}", *(_after(c, 0.25, 1e-7 if quick else 1e-9) for c in pair)))
        rows.append((f"static rest angle / rad, {label}", *(c.static(-np.pi, 0.0) for c in pair)))
    rows.append(("mean speed in the periodic motion / (rad/s), printed torque", mean, nan))
    rows += [(f"speed after turn {i} / (rad/s), printed torque", -float(s), nan) for i, s in enumerate(speed) if i]
    return tuple(rows)


def _after(crank: Crank, seconds: float, tolerance: float) -> float:
    """The crank's angle some time after the printed start."""
    found = solve_ivp(
        lambda _, x: (x[1], crank.acceleration(x[0], x[1])[2]), (0.0, seconds), (0.0, 0.0), "DOP853",
        rtol=tolerance, atol=tolerance,
    )  # fmt: skip
    return float(found.y[0, -1])


claim = Claim(
    "C3", "000", "Sections 4 and 5, eqs. (17) to (20), figures 2 to 9",
    "the method solves the crank-slider exactly, and the mechanism finally stops",
    check,
    "the acceleration by eq. (16) is the true one, and the printed start comes to rest under the printed torque of "
    "-0.5 N m",
    3.0,
)  # fmt: skip
