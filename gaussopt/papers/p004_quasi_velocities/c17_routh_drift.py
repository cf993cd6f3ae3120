"""C17: the causes of the singularity and of the drift of Routh's equations."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import maximise, minimise
from gaussopt.papers.p004_quasi_velocities import pole
from gaussopt.papers.p004_quasi_velocities.knife_edge import BOUNDS, RANGES, BladeBody, across, numbers, on_trial, rk4
from gaussopt.papers.p004_quasi_velocities.motions import METHODS, QUASI, REGULAR, TAN
from gaussopt.papers.p004_quasi_velocities.pole import Passage, passage
from gaussopt.papers.p004_quasi_velocities.spread import FAR, STEP, WITHIN, Spread, at_crests, measured
from gaussopt.papers.texts import ClaimTexts
from gaussopt.problems.knife_edge_body import exact_cycloid
from gaussopt.simulation.simulate import simulate

STEPS, END = (0.025, 0.0125), 3.0
"""Two step sizes, s, from which the order of the violation for random bodies follows, and the motions' end, s."""

RESOLVED = (1e-9, 1e-3)
"""Violations, m/s, whose orders are computed: above rounding errors, and small enough for an asymptotic order."""

LOST = 3.0
"""Order below which RK4, of order 4, has lost its order."""

GROWN = 1.0
"""A violation grows if its maximum in a motion's later half is more than this times that in the first half."""

CLEAR = 0.2
"""A motion passes no pole if |cos(phi)|, its distance from the poles, stays above this value."""

DEGENERATE = 1e6
"""Factor by which J M^-1 J^T must grow towards a pole for the equations to count as degenerate."""

COUNTS = 100, 200
"""Numbers of steps up to the pole; the limit for vanishing steps is extrapolated from the residuals after the pole."""

RATE, BEND = 0.5, 0.3
"""Bounds, m/s², above which a body counts: force along the blade per mass, second-order coefficient in `pole`."""

texts = ClaimTexts(
    __file__, resolved=RESOLVED, ranges=RANGES, clear=CLEAR, counts=COUNTS, least=pole.LEAST, steps=STEPS, end=END,
    rate=RATE, bend=BEND, far=FAR, step=STEP, percent=100 * WITHIN,
)  # fmt: skip


def check(quick: bool) -> Judgement:
    """Judge by the closed form in `pole`, by motions with many step sizes, and by searches for counterexamples."""
    forced, free = (_pass(force, 300 if quick else 4000) for force in (True, False))
    over, told = _over(forced, free)
    bodies, orders, grows = _orders(300 if quick else 1000)
    adversary = _bodies(1 if quick else 15)
    singular, degenerate = _singular(1 if quick else 10)
    kept = not adversary.refutes and orders["regular"][0] > LOST
    lost = {"pole-with-force": told[0][4] < LOST, "pole-without-force": told[1][4] < LOST,
            "no-pole": orders["tan"][2] < LOST}  # fmt: skip
    readings = (
        texts.reading("printed-is-singular", degenerate["tan"], ours=False),
        texts.reading("printed-drifts", all(lost.values()), lost),
        texts.reading("any-row-is-singular", degenerate["tan"] and degenerate["regular"]),
        texts.reading("any-row-drifts", all(lost.values()) and not kept),
        texts.reading("grows", grows == 1.0, {"grown": grows > 0.0, "not-grown": False}, ours=False, share=grows),
    )
    tan = [measured("NH-A", "tan", quick), at_crests("NH-B", quick).spread]
    regular = [measured(case, "regular", quick) for case in ("NH-A", "NH-B")]
    count = 200 if quick else 20_000
    derivations = (_law(count), _left(forced, free), _moved(tan), _motion(), _multiplier(count))
    searches = (singular, over, _less(2 if quick else 20), bodies, adversary, _drifted(tan, regular))
    law = {"forced": told[0], "free": told[1], "regular": orders["regular"], "words": _told(tan)}
    rows = tuple(s.numbers for s in (*tan, *regular))
    return texts.judgement(readings, derivations, searches, rows=rows, numbers=law)


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
    return texts.derivation("multiplier", deviation < 1e-9, count=count, deviation=deviation)


def _pass(force: bool, count: int) -> tuple[Passage, Passage]:
    """Let random bodies pass a pole after COUNTS whole steps; at the pole, a force along the blade acts or does not."""
    z = numbers(np.random.default_rng(17), count, ranges=pole.PASSAGES.values())
    if not force:
        row = {name: z[i] for i, name in enumerate(pole.PASSAGES)}
        # There is no torque. At the pole there is no force, or only a force across the blade.
        row["L_C"][:], row["F0"][::2], row["alpha"][1::4], row["alpha"][3::4] = 0.0, 0.0, 0.0, np.pi
    coarse, fine = (passage(z, n) for n in COUNTS)
    enough = np.abs(fine.rate) > RATE if force else np.abs(fine.two) > BEND * fine.step**2
    kept = np.logical_and(coarse.clear, enough)
    return coarse.part(kept), fine.part(kept)


def _left(forced: tuple[Passage, Passage], free: tuple[Passage, Passage]) -> Derivation:
    found = []
    for (coarse, fine), term in ((forced, "one"), (free, "two")):
        apart = 2 * fine.left / getattr(fine, term) - coarse.left / getattr(coarse, term) - 1.0
        found.append(float(np.abs(apart).max()))
    holds = max(found) < 0.02 and min(len(forced[0].step), len(free[0].step)) >= 30
    return texts.derivation("left", holds, forced=len(forced[0].step), free=len(free[0].step), found=found)


def _over(forced: tuple[Passage, Passage], free: tuple[Passage, Passage]) -> tuple[Attempt, list[tuple[float, ...]]]:
    """Return the search for motions that lose no order at a pole, and the quantiles and the number of the orders."""
    orders = []
    for coarse, fine in (forced, free):
        orders.append(np.log(np.abs(coarse.left / fine.left)) / np.log(coarse.step / fine.step))
    told = [(float(np.median(o)), *(float(np.quantile(o, q)) for q in (0.0, 0.05, 0.95, 1.0)), len(o)) for o in orders]
    return texts.attempt("over", max(o[4] for o in told) > LOST, forced=told[0], free=told[1]), told


def _less(generations: int) -> Attempt:
    """Search bodies and positions of the pole for the least residual, relative to the step and the force per mass."""

    def cost(z: Vector) -> Vector:
        p = passage(z, COUNTS[1])
        use = np.logical_and(p.clear, np.abs(p.rate) > 1.0)
        return np.where(use, np.abs(p.left) / (p.step * np.maximum(np.abs(p.rate), 1.0)), 1e3)

    found = minimise(cost, list(pole.PASSAGES.values()), generations, 17, population=20, together=True)
    return texts.attempt("less", found.value < 0.9 * pole.LEAST, found=found, place=found.at[-1])


def _orders(count: int) -> tuple[Attempt, dict[str, tuple[float, float, float]], float]:
    """Search for motions whose violation has too low an order; for the tan row, only among motions far from the poles.

    Also return least, median and largest order by row, and the share of motions with growing violation (regular row).
    """
    body = BladeBody.of(numbers(np.random.default_rng(17), count))
    found, number = {}, {}
    for row in ("regular", "tan"):
        runs = [rk4(getattr(body, row), body.velocity, dt, round(END / dt)) for dt in STEPS]
        coarse, fine = (np.abs(across(run)).max(axis=0) for run in runs)
        # Violations at rounding level have no order, and neither have motions that the step size does not resolve.
        use = (coarse > RESOLVED[0]) & (coarse < RESOLVED[1])
        if row == "tan":
            phi = runs[1][:, 1]
            use = use & (np.abs(np.cos(phi)).min(axis=0) > CLEAR) & (np.ptp(np.floor(phi / np.pi - 0.5), axis=0) == 0)
        else:
            half = len(runs[1]) // 2
            early, late = (np.abs(across(part)).max(axis=0)[use] for part in (runs[1][:half], runs[1][half:]))
        order = np.log2(coarse[use] / fine[use])
        found[row] = float(order.min()), float(np.median(order)), float(order.max())
        number[row] = len(order)
    refutes = found["regular"][0] < LOST or found["tan"][0] < LOST
    grows = float((late > GROWN * early).mean())
    search = texts.attempt(
        "orders", refutes, count=count, found=found, number=number, grows=grows, times=float(np.median(late / early))
    )
    return search, found, grows


def _bodies(generations: int) -> Attempt:
    """Search bodies for the lowest order of convergence of the violation with the regular row."""
    largest: list[float] = []

    def cost(z: Vector) -> Vector:
        body = BladeBody.of(z)
        coarse, fine = (
            np.abs(across(rk4(body.regular, body.velocity, dt, round(END / dt)))).max(axis=0) for dt in STEPS
        )
        largest.append(float(coarse.max()))
        clear = (coarse > RESOLVED[0]) & (coarse < RESOLVED[1])
        return np.where(clear, np.log2(coarse / np.maximum(fine, 1e-16)), 4.0)

    found = minimise(cost, list(BOUNDS.values()), generations, 17, population=4, together=True)
    return texts.attempt("bodies", found.value < LOST, found=found, largest=max(largest))


def _singular(generations: int) -> tuple[Attempt, dict[str, bool]]:
    """Maximise M J M^-1 J^T over the package's steps near the pole, for each row, and state which row degenerates."""

    def growth(row: str, z: Vector) -> float:
        body = BladeBody.of(np.array([*z[:6], np.pi / 2 - 10.0 ** z[6], *z[7:]]))
        state = body.velocity
        step = on_trial(body, row).evaluate(0.0, state[:3], state[3:])
        return float(np.log10(body.M * (step.J @ np.linalg.solve(step.M, step.J.T))[0, 0]))

    bounds = list({**BOUNDS, "phi": (-15.0, 0.0)}.values())
    found = {row: maximise(partial(growth, row), bounds, generations, 17) for row in ("tan", "regular")}
    most = {row: 10.0**f.value for row, f in found.items()}
    degenerate = {row: value > DEGENERATE for row, value in most.items()}
    search = texts.attempt("singular", degenerate["regular"], tried=found["tan"].tried, most=most)
    return search, degenerate


def _motion() -> Derivation:
    """Check motions of case NH-A against rates written by hand; a step size puts the pole at a quarter of a step."""
    dt = math.pi / 2 / 25.25
    steps, body = int(END / dt), BladeBody()
    hands = {
        QUASI: (body.quasi, body.omega), REGULAR: (body.regular, body.velocity), TAN: (body.tan, body.velocity),
    }  # fmt: skip
    found, closest = {}, 0.0
    for m, (rates, start) in hands.items():
        formulation, settings, _ = METHODS[m]
        run = simulate(problem("knife-edge-body", case="NH-A", **settings), formulation, "kkt", dt=dt,
                       t_end=dt * steps, step_folder=None, error_estimate=False)  # fmt: skip
        true = exact_cycloid(run.t)[:, [0, 2]]
        found[m] = float(np.abs(run.q[:, [0, 2]] - true).max())
        hand = float(np.abs(rk4(rates, start, dt, steps)[:, [0, 2]] - true).max())
        closest = max(closest, abs(found[m] / hand - 1.0))
    words = ", ".join(f"{m} {e:.2e}" for m, e in found.items())
    return texts.derivation("motion", closest < 1e-3, dt=dt, words=words, closest=closest)


def _moved(spreads: list[Spread]) -> Derivation:
    """Check that the 10 %, 50 % and 90 % quantiles of the drift in the runs agree with the predicted quantiles."""
    shares = (0.1, 0.5, 0.9)
    words, apart = [], 0.0
    for s in spreads:
        pairs = [(s.quantile(q), float(np.quantile(s.lawful, q))) for q in shares]
        apart = max(apart, *(abs(a / b - 1.0) for a, b in pairs))
        words.append(f"{s.case}: {', '.join(f'{a:.3g} ({b:.3g})' for a, b in pairs)} m")
    return texts.derivation("moved", apart < 0.1, words="; ".join(words), apart=100 * apart)


def _drifted(tan: list[Spread], regular: list[Spread]) -> Attempt:
    words = _told(tan)
    most = max(float(s.drift.position.max()) for s in regular)
    far = min(float(s.random.min()) for s in tan)
    return texts.attempt("spread-of-the-drift", far <= most, count=len(tan[0].random), words=words, most=most)


def _told(tan: list[Spread]) -> str:
    """Describe for each case the drift with the random step sizes and the drifts with two fixed step sizes."""
    return "; ".join(
        texts("of-a-case", s=s, low=s.quantile(0.0), high=s.quantile(1.0), shown=s.shown[STEP], other=s.shown[0.0099],
              near=100 * s.near)
        for s in tan
    )  # fmt: skip


claim = texts.claim("C17", "004", check, 9.0)
