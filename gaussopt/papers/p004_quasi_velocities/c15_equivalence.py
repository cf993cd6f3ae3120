"""C15: equivalence of the equations in quasi-velocities and Routh's, with the regular and with the printed row."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.formulations.quasi_velocity import formulation as quasi
from gaussopt.formulations.routh import formulation as routh
from gaussopt.papers.claim import Attempt, Derivation, Judgement, OwnResult
from gaussopt.papers.evidence.adversarial_search import maximise
from gaussopt.papers.evidence.random_steps import answer, lagrange_system
from gaussopt.papers.p004_quasi_velocities import knife_edge
from gaussopt.papers.p004_quasi_velocities.knife_edge import BOUNDS, RANGES, BladeBody, numbers, on_trial
from gaussopt.papers.texts import ClaimTexts
from gaussopt.solving.solver_sequence import SolverSequence

SAME = 1e-9
"""Relative difference up to which two accelerations count as equal."""

CLEAR = 0.1
"""Least distance |cos(phi)| from the pole at which floating-point numbers can tell the equations apart."""

NEAREST = 1e-15
"""Least |cos(phi)| that the optimiser may reach near the pole."""

DISTANCES = (1e-1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15)
"""Distances from the pole, |cos(phi)|, at which the equations are tabulated."""

texts = ClaimTexts(__file__, clear=CLEAR, nearest=NEAREST, ranges=RANGES)


def check(quick: bool) -> Judgement:
    """Check the projection, search for states and bodies with different results, and measure rounding errors."""
    on = _Trial()
    derivations = (
        _projection(500 if quick else 50_000), _general(20 if quick else 200), _multipliers(on, 20 if quick else 200),
    )  # fmt: skip
    generations = 1 if quick else 8
    exact = _exactly(200 if quick else 2000)
    regular = _apart(on, "regular", 0.0, 30 if quick else 300, generations)
    away = _apart(on, "tan", CLEAR, 30 if quick else 300, generations)
    pole = _at_the_pole(on, generations)
    readings = (
        texts.reading("printed-row", not (exact.refutes or away.refutes), ours=False),
        texts.reading("regular-row", not regular.refutes),
    )
    lost = 100 * pole["worst"]
    own = OwnResult(
        texts("rounding", lost=lost), (_off_the_constraint(500 if quick else 50_000),), (pole,), texts.columns("near"),
        tuple(_near(on, distance) for distance in DISTANCES),
    )  # fmt: skip
    numbers = {"lost": lost, "nearest": NEAREST, "worst": max(regular["worst"], away["worst"])}
    return texts.judgement(readings, derivations, (exact, away, regular), own=own, numbers=numbers)


class _Trial:
    """The package's formulations, applied to the package's steps of a body for comparison."""

    def __init__(self) -> None:
        self.quasi, self.routh, self.sequence = quasi, routh, SolverSequence("kkt")

    def by_routh(self, step: StepData) -> tuple[Vector, float]:
        """Return acceleration and multiplier by Routh's equations; the multiplier is inf if there is none."""
        a, lam = answer(self.routh, self.sequence, step)
        return a, math.inf if lam is None else float(lam[0])

    def difference(self, body: BladeBody, row: str, off: float = 0.0) -> float:
        """Return the largest relative error of the package's accelerations, by Routh's equations and quasi-velocities.

        `off` is an error of the velocity across the blade, in units of the rounding error of the speed.
        """
        state = body.velocity
        truth = body.acceleration(0.0, state)
        error = off * float(np.finfo(float).eps) * abs(body.speed)
        state[3], state[5] = state[3] + error * np.sin(body.phi), state[5] - error * np.cos(body.phi)
        a, _ = self.by_routh(on_trial(body, row).evaluate(0.0, state[:3], state[3:]))
        other, _ = answer(self.quasi, self.sequence, on_trial(body).evaluate(0.0, state[:3], state[3:]))
        apart = max(float(np.abs(a - truth).max()), float(np.abs(other - truth).max()))
        return apart / (1.0 + float(np.abs(truth).max())) if np.isfinite(apart) else np.inf


def _projection(count: int) -> Derivation:
    body = BladeBody.of(numbers(np.random.default_rng(15), count))
    state = body.velocity
    truth = body.acceleration(0.0, state)
    size = 1.0 + np.abs(truth).max(axis=0)
    worst = float((np.abs(body.regular(0.0, state)[3:] - truth).max(axis=0) / size).max())
    return texts.derivation("projection", worst < SAME, count=count, worst=worst)


def _general(count: int) -> Derivation:
    random, system = np.random.default_rng(16), knife_edge.particle()
    worst = 0.0
    for _ in range(count):
        z = knife_edge.numbers(random, ranges=knife_edge.PARTICLE_BOUNDS)
        speed, direction, t = z[3:]
        vertical = speed / (1 + z[0] ** 2 + np.sin(t) ** 2 / 2)
        step = system.evaluate(t, z[:3], np.array([speed * np.cos(direction), speed * np.sin(direction), vertical]))
        D, w = step.D_omega, step.w_omega
        assert D is not None
        assert w is not None
        a = np.linalg.solve(*lagrange_system(step))[: step.n]
        b = D @ np.linalg.solve(D.T @ step.M @ D, D.T @ (step.force - step.M @ w)) + w
        worst = max(worst, float(np.abs(a - b).max() / (1.0 + np.abs(a).max())))
    return texts.derivation("general", worst < SAME, count=count, worst=worst)


def _multipliers(on: _Trial, count: int) -> Derivation:
    random = np.random.default_rng(17)
    worst = 0.0
    for _ in range(count):
        body = BladeBody.of(numbers(random))
        state, c = body.velocity, float(np.cos(body.phi))
        if abs(c) < CLEAR:
            continue
        stated = body.F0 * np.sin(body.alpha - body.phi) - body.M * body.speed * body.turning
        for row, factor in (("regular", 1.0), ("tan", c)):
            _, lam = on.by_routh(on_trial(body, row).evaluate(0.0, state[:3], state[3:]))
            worst = max(worst, abs(lam - factor * stated) / (1.0 + abs(stated)))
    return texts.derivation("multipliers", worst < SAME, count=count, worst=worst)


def _off_the_constraint(count: int) -> Derivation:
    random = np.random.default_rng(18)
    body = BladeBody.of(numbers(random, count))
    state = body.velocity
    c, s = np.cos(body.phi), np.sin(body.phi)
    off = random.uniform(-1, 1, count)
    state[3], state[5] = state[3] + off * s, state[5] - off * c
    apart = body.tan(0.0, state) - body.regular(0.0, state)
    measured = apart[3] * s - apart[5] * c
    stated = -off * body.turning * np.tan(body.phi)
    worst = float((np.abs(measured - stated) * c * c / (1.0 + np.abs(stated)))[np.abs(c) > 1e-3].max())
    return texts.derivation("off-the-constraint", worst < SAME, count=count, worst=worst)


def _exactly(count: int) -> Attempt:
    """Compare (15), with the printed row, to (14) in rational arithmetic, where |cos(phi)| is at least NEAREST."""
    random = np.random.default_rng(19)
    different = sum(_differ(random) for _ in range(count))
    return texts.attempt("exactly", different > 0, count=count, different=different)


def _differ(random: np.random.Generator) -> bool:
    """Return whether (14) and (15) give different accelerations of a random body at a random state."""
    # With a rational u = tan(angle / 2) cosine and sine are rational; u = 1 is the pole.
    u = 1 - Fraction(int(random.choice((-1, 1)))) * Fraction(10.0 ** random.uniform(math.log10(NEAREST), 0.0))
    c, s = _direction(u)
    ca, sa = _direction(Fraction(random.uniform(-5.0, 5.0)))
    m, force = Fraction(random.uniform(*BOUNDS["M"])), Fraction(random.uniform(*BOUNDS["F0"]))
    speed, turning = (Fraction(random.uniform(*BOUNDS[name])) for name in ("speed", "turning"))
    return _by_14(m, force, (c, s), (ca, sa), speed, turning) != _by_15(m, force, (c, s), (ca, sa), speed, turning)


Exact = tuple[Fraction, Fraction]


def _direction(u: Fraction) -> Exact:
    """Return cosine and sine of 2 atan(u)."""
    return (1 - u * u) / (1 + u * u), 2 * u / (1 + u * u)


def _by_14(m: Fraction, force: Fraction, blade: Exact, pull: Exact, speed: Fraction, turning: Fraction) -> Exact:
    """Compute (x'', y'') by quasi-velocities (14): m omega1' = F cos(phi - alpha); phi'' is the same by (15)."""
    c, s = blade
    along = force * (c * pull[0] + s * pull[1]) / m
    return along * c - speed * turning * s, along * s + speed * turning * c


def _by_15(m: Fraction, force: Fraction, blade: Exact, pull: Exact, speed: Fraction, turning: Fraction) -> Exact:
    """Return (x'', y'') by (15); lambda is from the derivative of (12), x'' tan(phi) + x' phi' / cos(phi)^2 = y''."""
    c, s = blade
    tan, x, y = s / c, force * pull[0], force * pull[1]
    lam = (y - x * tan - m * speed * turning / c) / (tan * tan + 1)
    return (x + lam * tan) / m, (y - lam) / m


def _apart(on: _Trial, row: str, clear: float, count: int, generations: int) -> Attempt:

    def cost(z: Vector) -> float:
        body = BladeBody.of(z)
        return 0.0 if abs(np.cos(body.phi)) < clear else on.difference(body, row)

    random = np.random.default_rng(15)
    worst = max(cost(numbers(random)) for _ in range(count))
    best = maximise(cost, list(BOUNDS.values()), generations, 15)
    worst = max(worst, best.value)
    return texts.attempt(
        "apart", worst > SAME, row=row, place=", away from the pole." if clear else ".", count=count, best=best,
        where="any φ" if not clear else f"|cos φ| ≥ {clear:g}", worst=worst,
    )  # fmt: skip


def _towards(z: Vector) -> BladeBody:
    """Decode z into a body; instead of the angle, z contains log10 of the distance from the pole."""
    named = dict(zip(BOUNDS, z, strict=True))
    return BladeBody(**{**named, "phi": np.pi / 2 - 10.0 ** named["phi"]})


def _at_the_pole(on: _Trial, generations: int) -> Attempt:
    bounds = {**BOUNDS, "phi": (np.log10(NEAREST), np.log10(CLEAR))}

    def gain(row: str, z: Vector) -> float:
        return on.difference(_towards(z), row, 1.0)

    found, regular = (maximise(partial(gain, r), list(bounds.values()), generations, 15) for r in ("tan", "regular"))
    return texts.attempt("at-the-pole", found.value > SAME, found=found, worst=found.value, other=regular.value)


def _near(on: _Trial, distance: float) -> tuple[float, float, float, float]:
    body = BladeBody(phi=np.pi / 2 - distance, turning=1.0, speed=2.0, alpha=0.3, L_C=0.2)
    growth = abs(float(np.tan(body.phi)))
    return distance, on.difference(body, "regular", 1.0), on.difference(body, "tan", 1.0), growth


claim = texts.claim("C15", "004", check, 1.0)
