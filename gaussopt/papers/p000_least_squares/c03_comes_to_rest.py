"""C3: the crank-slider is solved exactly and comes to rest.

Eq. (16) with Moore-Penrose inverses does not solve it exactly. If the printed torque acts at all times, the crank turns
for ever: until it is fast, the torque does more work in a turn than the damper dissipates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.p000_least_squares.c01_least_squares import equation_14, equation_16, weighted_16, written_out
from gaussopt.papers.p000_least_squares.minimal_crank_slider import Crank, backwards, periodic, phase, reference_steps
from gaussopt.papers.texts import ClaimTexts

text = ClaimTexts(__file__)

SEED = 3
PRINTED = "crank-A-2s"
"""The reference with the printed torque."""
PARAMETERS = problem("crank-slider").parameter_values
"""The values that the paper prints, and the gravity and inertias that we chose."""


def check(quick: bool) -> Judgement:
    """Judge both statements of the claim: that the motion is exact, by (14) and by (16), and that it comes to rest."""
    crank = Crank.of(PARAMETERS)
    per_turn = 200 if quick else 400
    states = reference_steps(PRINTED)[:: 8 if quick else 1]
    minimal = _minimal_coordinate(states)
    formulas = {"by-14": equation_14, "by-16": equation_16, "by-16-weighted": weighted_16}
    errors = {name: _errors(by, states) for name, by in formulas.items()}
    rests, speed, spin = _spinning(crank, per_turn)
    mean, low, high = periodic(crank, per_turn)
    unit = _unit(crank)
    thresholds, limits = _thresholds(crank, quick)
    choices, others = _our_choices(crank, quick), _other_starts(crank, quick)
    readings = (
        *(text.reading(name, bool(of.max() <= DEFAULT_TOLERANCE), statement="exact") for name, of in errors.items()),
        text.reading("at-rest", rests, statement="rests", ours=False),
    )
    torques = {"without torque": 0.0, f"with the torque of opposite sign, {-float(crank.tau):g} N m": -float(crank.tau)}
    resting = [
        f"{how} at $\\theta_1={crank.at(tau=tau).static(-np.pi, 0.0):.6f}$ rad"
        for how, tau in torques.items()
        if limits[0] < tau < limits[1]
    ]
    numbers = {
        "worst": {name: of.max() for name, of in errors.items()}, "median": np.median(errors["by-16"]),
        "states": len(states), "mean": mean, "torques": limits, "speeds": speed,
        "spins": "comes to rest" if rests else text("spins", mean=mean, low=low, high=high),
        "such": f", such as {', or '.join(resting)}" if resting else "",
        "resting": "Some" if choices.refutes else "None", "tried": choices["count"] + choices["tried"],
        "work": 2 * np.pi * abs(PARAMETERS["tau"]),
        # This is the angle of the crank at rest without torque, if the crank comes to rest.
        "static": crank.at(tau=0.0).static(-np.pi, 0.0) if limits[0] < 0 < limits[1] else None,
    }  # fmt: skip
    # If the crank rests for only some of our parameters, values that the paper does not print decide the claim.
    missing = text("missing") if choices.refutes and not rests else ""
    return text.judgement(
        readings, (minimal, *_turns(crank, per_turn), _unit_masses(crank, unit, states)),
        (spin, thresholds, choices, others), missing=missing, rows=_table(crank, unit, speed, mean, quick),
        numbers=numbers,
    )  # fmt: skip


def _errors(candidate: Callable[[StepData], Vector], states: list[StepData]) -> Vector:
    """Return the relative errors, in the mass norm, of a candidate's accelerations at the given states."""
    crank = Crank.of(PARAMETERS)
    return np.array(rs.misses(states, candidate, lambda s: crank.acceleration(*phase(s))))


def _minimal_coordinate(states: list[StepData]) -> Derivation:
    agree = _errors(rs.minimiser, states).max()
    true, printed = Crank.of(PARAMETERS).acceleration(*phase(states[0])), equation_16(states[0])
    return text.derivation(
        "minimal coordinate", bool(agree <= DEFAULT_TOLERANCE),
        states=len(states), agree=agree, true=true[2], printed=printed[2],
    )  # fmt: skip


TURNS = 6
"""Number of turns computed from the printed start."""

ENERGIES = np.linspace(0.1, 100.0, 33)
"""Kinetic energies with which a turn begins, J."""


def _spinning(crank: Crank, per_turn: int) -> tuple[bool, Vector, Attempt]:
    """Return whether the crank stops, its speeds after 0, 1, 2, ... turns, rad/s, and the search for a stop."""
    rows = problem("crank-slider").reference(PRINTED)
    run = backwards(crank, 0.0, TURNS, per_turn)
    speeds = crank.speed(-run.covered, run.kinetic)
    passing, stops = speeds[::per_turn], bool(run.stops)
    found = "it stops"
    if not stops:
        swept = -rows.q[:, 2]
        known = (swept > 1.0) & (swept < run.covered[-1])
        apart = float(np.abs(CubicSpline(run.covered, speeds)(swept[known]) + rows.v[known, 2]).max())
        found = text("speeds", speeds=", ".join(f"{s:.3f}" for s in passing), apart=apart)
    return stops, passing, text.attempt("spinning", stops, turns=TURNS, found=found)


def _turns(crank: Crank, per_turn: int) -> tuple[Derivation, Derivation]:
    """Check that a faster start of a turn gives a faster end, and that the work done equals the change of energy."""
    run = backwards(crank, 0.0, 1, per_turn, ENERGIES)
    whole = ~run.stops
    begin, end = ENERGIES[whole], run.kinetic[-1, whole]
    theta = -run.covered[:, None]
    speed = crank.speed(theta, run.kinetic[:, whole])
    taken = np.trapezoid(crank.c * crank.gain(theta) ** 2 * speed, run.covered, axis=0)
    given = -2 * np.pi * float(crank.tau)
    apart = float(np.abs(end - begin - given + taken).max() / np.abs(taken).max())
    rising = bool((np.diff(end) > 0).all() and (np.diff(taken) > 0).all())
    values = {"count": len(begin), "low": begin[0], "high": begin[-1], "least": np.diff(end).min(), "apart": apart,
              "given": given}  # fmt: skip
    return text.derivation("order", rising, **values), text.derivation("work", apart < 1e-3, **values)


def _unit(crank: Crank) -> Crank:
    """Return the mechanism whose motion (16) gives: all masses and inertias are 1, and the forces are M^-1 Q."""
    return crank.at(
        m1=1.0, m2=1.0, m3=1.0, I1=1.0, I2=1.0, k=crank.k / crank.m3, c=crank.c / crank.m3, tau=crank.tau / crank.I1
    )


def _unit_masses(crank: Crank, unit: Crank, states: list[StepData]) -> Derivation:
    apart = max(rs.miss(s, written_out(s), unit.acceleration(*phase(s))) for s in states)
    least = float(np.abs(unit.slope(np.linspace(-np.pi, np.pi, 3601))).min())
    weakest = float(np.abs(crank.slope(np.linspace(-np.pi, np.pi, 3601))).min())
    return text.derivation(
        "unit masses", apart <= DEFAULT_TOLERANCE,
        states=len(states), apart=apart, least=least, weakest=weakest,
    )  # fmt: skip


def _first(crank: Crank, name: str, low: float, high: float, quick: bool) -> float:
    """Find the first value of a parameter where stopping in the first turn begins or ceases; NaN if there is none."""
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
    # A larger torque exceeds the moment of the weight at the start, so that the crank turns forwards.
    upper = 0.5 * float((crank.m1 + crank.m2) * crank.g * crank.l1)
    per_turn = 200 if quick else 400
    between, above = np.linspace(tau + 1e-3, upper - 1e-3, 33), np.linspace(upper + 1e-3, 2.0, 33)
    resting = int(backwards(crank.at(tau=between), 0.0, 1, per_turn).stops.sum())
    # A forward turn is the mirror image of a backward turn with the opposite torque and gravity.
    lifted = int(backwards(crank.at(tau=-above, g=-crank.g), 0.0, 2, per_turn).stops.sum())
    search = text.attempt(
        "thresholds", tau < PARAMETERS["tau"] or damping < PARAMETERS["c"] or gravity < PARAMETERS["g"],
        bounds=", ".join(f"{n} from {a:g} to {b:g}" for n, (a, b) in zip("τcg", bounds.values(), strict=True)),
        tau=tau, resting=resting, between=len(between), upper=upper, lifted=lifted, above=len(above), c=damping,
        g=gravity,
    )  # fmt: skip
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
    found = "some come to rest" if lowest <= 0 else text("kinetic energy", lowest=lowest, work=work)
    return text.attempt("our choices", lowest <= 0, count=count, tried=steered.tried, seed=SEED, found=found)


def _other_starts(crank: Crank, quick: bool) -> Attempt:
    static = crank.static(-np.pi, 0.0)
    low, high, count = static + 1e-3, 1.0, 61 if quick else 241
    angles = np.linspace(low, high, count)
    stops = backwards(crank, angles, 1.5, 200 if quick else 500).stops
    resting = angles[stops]
    caught = float(resting.max()) if len(resting) else static
    printed = bool(backwards(crank, 0.0, 1.5, 200).stops)
    return text.attempt(
        "other starts", printed, count=count, static=static, high=high, caught=caught,
        printed="one of them" if printed else "not one of them",
    )  # fmt: skip


def _table(crank: Crank, unit: Crank, speed: Vector, mean: float, quick: bool) -> tuple[tuple[object, ...], ...]:
    nan = float("nan")
    rows: list[tuple[object, ...]] = []
    for tau in (float(crank.tau), 0.0):
        pair = crank.at(tau=tau), unit.at(tau=tau / crank.I1)
        label = f"τ = {tau:g} N m"
        rows.append((f"θ₁″(0) / (rad/s²), {label}", *(float(c.acceleration(0.0, 0.0)[2]) for c in pair)))
        rows.append((f"θ₁(0.25 s) / rad, {label}", *(_after(c, 0.25, 1e-7 if quick else 1e-9) for c in pair)))
        rows.append((f"static rest angle / rad, {label}", *(c.static(-np.pi, 0.0) for c in pair)))
    rows.append(("mean speed in the periodic motion / (rad/s), printed torque", -mean, nan))
    rows += [(f"speed after turn {i} / (rad/s), printed torque", -float(s), nan) for i, s in enumerate(speed) if i]
    return tuple(rows)


def _after(crank: Crank, seconds: float, tolerance: float) -> float:
    """Return the crank's angle, rad, at the given seconds after the printed start."""
    found = solve_ivp(
        lambda _, x: (x[1], crank.acceleration(x[0], x[1])[2]), (0.0, seconds), (0.0, 0.0), "DOP853",
        rtol=tolerance, atol=tolerance,
    )  # fmt: skip
    return float(found.y[0, -1])


claim = text.claim("C3", "000", check, 3.0)
