"""C17: whose the singularity and the drift of Routh's equations are."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from gaussopt.core.step_data import Matrix, Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.p004_quasi_velocities.knife_edge import BOUNDS, RANGES, BladeBody, Rates, across, numbers, rk4
from gaussopt.papers.p004_quasi_velocities.motions import METHODS, QUASI, REGULAR, TAN, Convergence
from gaussopt.papers.texts import ClaimTexts
from gaussopt.simulation.simulate import simulate

COUNTS = (25, 50, 100, 200, 400)
"""Whole steps up to the pole at t = pi/2."""

PLACE = 0.25
"""Part of the next step at which the pole then lies."""

END = 3.0
"""s; one pole."""

RESOLVED = (1e-9, 1e-3)
"""Violations in m/s that are above rounding, and of a motion that the step resolves."""

LOST = 2.0
"""An order of convergence below which RK4, of order 4, has lost its order."""

texts = ClaimTexts(__file__, resolved=RESOLVED, ranges=RANGES)


def check(quick: bool) -> Judgement:
    """Orders over a pole, the law behind them, and searches for places and bodies where it is otherwise."""
    counts = COUNTS[:3] if quick else COUNTS
    errors = _errors(counts)
    steps = tuple(1.0 / (c + PLACE) for c in counts)
    orders = {m: Convergence(steps, tuple(e)).orders for m, e in errors.items()}
    last = {m: o[-1] for m, o in orders.items()}
    place, regular = _places(quick), _bodies(1 if quick else 15)
    derivations = (_law(200 if quick else 20_000), _motion(counts, errors), _multiplier(200 if quick else 20_000))
    sound = all(d.holds for d in derivations)
    # Singular or of lost order, wherever the pole lies and whatever the body: what the claim says of each row.
    tan_fails = last[TAN] < LOST and not place.refutes
    regular_fails = last[REGULAR] < LOST or regular.refutes
    # Where the derivation does not hold, or the rows have changed their parts, nothing follows for either.
    swapped = regular_fails and not tan_fails
    verdict = ClaimVerdict.of([tan_fails, regular_fails]) if sound and not swapped else ClaimVerdict.IRREPRODUCIBLE
    finest = [errors[m][-1] for m in (TAN, REGULAR, QUASI)]
    sentence = texts("sentence", orders=[last[m] for m in (TAN, REGULAR, QUASI)], errors=finest)
    rows = tuple(
        (f"{math.pi / 2 * step:.5f}", *(x for m in errors for x in (errors[m][j], orders[m][j - 1] if j else math.nan)))
        for j, step in enumerate(steps)
    )  # fmt: skip
    columns = ("step / s", *(head for m in errors for head in (f"{m} / m", f"order, {m}")))
    return Judgement(
        verdict, sentence, derivations, (place, regular), verdict.where(texts("conditions")), columns, rows
    )


def _cycloid(t: Vector) -> Matrix:
    """NH-A in closed form: x = t + sin(2t)/2, y = sin(t)^2."""
    return np.stack((t + 0.5 * np.sin(2 * t), np.sin(t) ** 2), axis=1)


def _errors(counts: tuple[int, ...]) -> dict[str, list[float]]:
    """Largest position error of NH-A up to END, the pole always at the same place of a step."""
    body = BladeBody()
    methods: dict[str, tuple[Rates, Vector]] = {
        QUASI: (body.quasi, body.omega), REGULAR: (body.regular, body.velocity), TAN: (body.tan, body.velocity),
    }  # fmt: skip
    found: dict[str, list[float]] = {m: [] for m in methods}
    for count in counts:
        dt = math.pi / 2 / (count + PLACE)
        steps = int(END / dt)
        true = _cycloid(np.asarray(dt * np.arange(steps + 1), dtype=float))
        for m, (rates, start) in methods.items():
            states = rk4(rates, start, dt, steps)
            found[m].append(float(np.abs(states[:, [0, 2]] - true).max()))
    return found


def _law(count: int) -> Derivation:
    random = np.random.default_rng(17)
    body = BladeBody.of(numbers(random, count))
    state = np.stack([random.uniform(-3, 3, count) for _ in range(6)])
    state[1] = body.phi
    _, phi, _, vx, turning, vy = state
    c, s = np.cos(phi), np.sin(phi)
    clear = np.abs(c) > 0.05
    off = vx * s - vy * c
    worst = 0.0
    for rates, stated in ((body.regular, np.zeros(count)), (body.tan, -off * np.tan(phi) * turning)):
        out = rates(0.0, state)
        measured = out[3] * s - out[5] * c + (vx * c + vy * s) * turning
        size = 1.0 + np.abs(out).max(axis=0) / c**2
        worst = max(worst, float((np.abs(measured - stated) / size)[clear].max()))
    return texts.derivation("law", worst < 1e-12, count=count, worst=worst)


def _multiplier(count: int) -> Derivation:
    phi = np.random.default_rng(18).uniform(-np.pi, np.pi, count)
    c, s = np.cos(phi), np.sin(phi)
    regular, tan = s * s + c * c, np.tan(phi) ** 2 + 1.0
    deviation = max(float(np.abs(regular - 1.0).max()), float(np.abs(tan * c * c - 1.0).max()))
    return texts.derivation("multiplier", deviation < 1e-9, count=count, deviation=deviation, most=float(tan.max()))


def _motion(counts: tuple[int, ...], errors: dict[str, list[float]]) -> Derivation:
    dt = math.pi / 2 / (counts[0] + PLACE)
    found, closest = {}, 0.0
    for m in errors:
        formulation, settings, _ = METHODS[m]
        run = simulate(problem("knife-edge-body", case="NH-A", **settings), formulation, "kkt", dt=dt,
                       t_end=dt * int(END / dt), step_folder=None, error_estimate=False)  # fmt: skip
        found[m] = float(np.abs(run.q[:, [0, 2]] - _cycloid(run.t)).max())
        closest = max(closest, abs(found[m] / errors[m][0] - 1.0))
    words = ", ".join(f"{m} {e:.2e}" for m, e in found.items())
    return texts.derivation("motion", closest < 1e-3, dt=dt, words=words, closest=closest)


def _frozen(count: int, place: Vector) -> Vector:
    """|omega3| / dt that the tan row leaves of NH-A after the pole, for places of the pole within a step."""
    dt = np.pi / 2 / (count + place)
    body = BladeBody(phi=np.zeros_like(place))
    x, y = (rk4(body.tan, body.velocity, dt, count + 2)[-1][i] for i in (3, 5))
    phi = dt * (count + 2)
    return np.asarray(np.abs(x * np.tan(phi) - y) / dt)


def _places(quick: bool) -> Attempt:
    coarse, fine = (50, 100) if quick else (100, 400)
    grid = np.arange(0.005, 1.0, 0.01)
    left = _frozen(coarse, grid)
    best = [int(i) for i in np.argsort(left)[: 1 if quick else 3]]
    runs = [
        minimize_scalar(lambda f: float(_frozen(coarse, np.array([f]))[0]), method="bounded",
                        bounds=(max(0.005, grid[i] - 0.01), min(0.995, grid[i] + 0.01)), options={"xatol": 1e-4})
        for i in best
    ]  # fmt: skip
    place, least = min(((float(r.x), float(r.fun)) for r in runs), key=lambda p: p[1])
    again = float(_frozen(fine, np.array([place]))[0])
    order = 1.0 + math.log(least / again) / math.log(fine / coarse)
    return texts.attempt(
        "places", order > LOST, coarse=coarse, places=len(grid), best=len(best), least=least, most=float(left.max()),
        place=place, order=order,
    )  # fmt: skip


def _bodies(generations: int) -> Attempt:
    end, dt = 3.0, 0.025
    steps = round(end / dt)
    largest: list[float] = []

    def left(z: Vector) -> tuple[Vector, Vector]:
        body = BladeBody.of(z)
        coarse = np.abs(across(rk4(body.regular, body.velocity, dt, steps))).max(axis=0)
        fine = np.abs(across(rk4(body.regular, body.velocity, dt / 2, 2 * steps))).max(axis=0)
        # Violations at rounding have no order, nor have motions that the step does not resolve.
        clear = (coarse > RESOLVED[0]) & (coarse < RESOLVED[1])
        return coarse, np.where(clear, np.log2(coarse / np.maximum(fine, 1e-16)), 4.0)

    def cost(z: Vector) -> Vector:
        coarse, order = left(z)
        largest.append(float(coarse.max()))
        return order

    found = minimise(cost, list(BOUNDS.values()), generations, 17, population=4, together=True)
    return texts.attempt("bodies", found.value < LOST, found=found, end=end, dt=dt, half=dt / 2, largest=max(largest))


claim = texts.claim("C17", "004", check, 1.5)
