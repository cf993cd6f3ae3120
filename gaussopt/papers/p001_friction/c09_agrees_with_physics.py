"""C9: the simulation of the two bars agrees with physics, section 4.2.2 of paper 001."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement, OwnResult
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.evidence import contact_problems as problems
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction.contact_samples import Contacts
from gaussopt.papers.p001_friction.sliding_motion import energies, slide
from gaussopt.papers.texts import ClaimTexts
from gaussopt.problems import two_bar
from gaussopt.reporting.document import Table

SEED = 90
FED = 0.09
"""Instant at which energies are compared, s; no event occurs before it."""

POINTS = {"the centroid of AB": 0.5, "the hinge B": 0.0, "the end A": 1.0}
"""Points to which the printed x and y may belong, with their distance from B divided by the length of AB."""

CONSISTENT = 1e-6
"""Gap accelerations, m/s², and powers, W, up to this size count as zero."""

texts = ClaimTexts(__file__, fed=FED, consistent=CONSISTENT, seed=SEED)


def check(quick: bool) -> Judgement:
    """Compute the evidence for and against the claim, and judge it."""
    starts = _starts()
    start = _start()
    formulas, kept, literally = _formulas(quick)
    (sign, fed, gained), (rows_of, misprinted, off) = _sign(), _rows()
    idle = _without_load()
    readings = (texts.reading("simulated", starts.refutes and literally, ours=False),)
    absent = _not_printed()
    missing = " ".join((
        *([] if starts.refutes else [texts("in-the-air", starts=starts)]),
        *([texts("without", absent=" and ".join(absent), idle=idle)] if absent else []),
    ))  # fmt: skip
    data = _data(starts["least"], kept, _least_bias(), gained, off)
    return texts.judgement(
        readings, (start, sign, rows_of), (starts, idle, fed, misprinted, formulas), missing=missing,
        columns=data.columns, rows=data.rows, own=_reconstructed(quick),
    )  # fmt: skip


def _not_printed() -> list[str]:
    """Return the names of the loads, F and g, whose values the paper does not give."""
    return [p.name for p in problem("two-bar").parameters if p.name in ("F", "g") and not p.printed]


def _reconstructed(quick: bool) -> OwnResult:
    """Study the bars from our start on the floor, with derived formulas; compare (29) with the LCP on that motion."""
    motion, along = _motion(quick)
    other = _other_states(quick)
    agree = "have the same forces" if not along.refutes else "do not have the same forces"
    return OwnResult(texts("reconstructed", agree=agree, along=along, other=other), (motion,), (along, other))


def _printed() -> dict[str, float]:
    p = dict(problem("two-bar").parameter_values)
    return {**p, "y0": p["l"] * np.sin(np.pi / 4), "vy0": 1.0}


@dataclass(frozen=True)
class Start:
    """An interpretation of the printed initial state, with gaps, m, and gap rates, m/s, of A and C, (2,)."""

    point: str
    """The point of the bars to which the coordinates x and y belong."""
    doubled: bool
    """Whether the bars have the length 2 l, like the paper's rod."""
    gaps: Vector
    rates: Vector

    @property
    def consistent(self) -> bool:
        """Whether both ends are on the floor and remain there."""
        return bool(max(np.abs(self.gaps).max(), np.abs(self.rates).max()) < CONSISTENT)


def starts() -> Iterator[Start]:
    """Yield all interpretations of the printed initial state, the literal interpretation first."""
    p = _printed()
    th1, th2 = p["theta1_0"], p["theta2_0"]
    for (point, distance), doubled, signs in product(POINTS.items(), (False, True), product((1, -1), (1, -1), (1, -1))):
        L = p["l"] * (1 + doubled)
        vy, w1, w2 = (s * p[k] for s, k in zip(signs, ("vy0", "omega1_0", "omega2_0"), strict=True))
        B, rise = p["y0"] + distance * L * np.sin(th1), vy + distance * L * np.cos(th1) * w1
        gaps = np.array([B - L * np.sin(th1), B - L * np.cos(th2)])
        yield Start(point, doubled, gaps, np.array([rise - L * np.cos(th1) * w1, rise + L * np.sin(th2) * w2]))


def _starts() -> Attempt:
    every = list(starts())
    grounded = [s for s in every if np.abs(s.gaps).max() < CONSISTENT]
    least = min(float(np.abs(s.rates).max()) for s in every)
    good = [s for s in every if s.consistent]
    names = sorted({f"x, y {s.point}, bars of {'2 l' if s.doubled else 'l'}" for s in grounded})
    share = f"{len(good)} of {len(every)}"
    found = (
        f"{share} readings of the start are consistent"
        + (f"; {len(grounded)} have both ends on the floor ({'; '.join(names)})" if grounded else "")
        + f"; in every reading an end leaves or enters it at {least:.4g} m/s or more"
    )
    # Neither gaps, gap rates nor the result depend on F, g, the sign of friction and the contact rows.
    return texts.attempt(
        "starts", bool(good), readings=len(every), good=len(good), grounded=len(grounded), staying=len(good) or "none",
        least=least, points=", ".join(POINTS), found=found,
    )  # fmt: skip


def _start() -> Derivation:
    """Compare the gaps in closed form with those of the system derived from positions, at the printed start."""
    p, literal = _printed(), next(starts())
    q = np.array([p["x0"], p["y0"], p["theta1_0"], p["theta2_0"]])
    v = np.array([p["vx0"], p["vy0"], p["omega1_0"], p["omega2_0"]])
    step = problem("two-bar").system.evaluate(0.0, q, v)
    assert step.g_N is not None
    assert step.gdot_N is not None
    miss = float(max(np.abs(step.g_N - literal.gaps).max(), np.abs(step.gdot_N - literal.rates).max()))
    heights, rates = literal.gaps, literal.rates
    return texts.derivation("start", miss < 1e-12, literal=literal, miss=miss, height=heights.min(), rise=rates.min())


def _evaluate(variant: str = "", **settings: Any) -> StepData:
    entry = problem("two-bar", **settings, **({"variant": variant} if variant else {}))
    return entry.system.evaluate(0.0, entry.q0, entry.v0)


def _without_load() -> Attempt:
    least = _least_bias()
    pressed = _evaluate("as-printed", case="airborne", F=-40.0, g=0.0)
    N = sets.printed(Contacts.of([pressed]).A, Contacts.of([pressed]).b)[0]
    assert pressed.g_N is not None
    so = texts("no-force-ever" if least >= 0 else "some-force")
    return texts.attempt("without-load", least >= 0, least=least, so=so, n=N, height=pressed.g_N.min())


def _least_bias() -> float:
    """Return the least entry, m/s², of the printed B along the straight motion (F = g = 0) from the printed start."""
    entry = problem("two-bar", variant="as-printed", case="airborne", F=0.0, g=0.0)
    times = np.linspace(0.0, 5.0, 60)
    steps = Contacts.of([entry.system.evaluate(t, entry.q0 + t * entry.v0, entry.v0) for t in times])
    # If b >= 0, z = 0 solves the LCP for any A; if force and h are also zero, the motion is straight.
    return float(np.where(np.abs(steps.b) < 1e-12, 0.0, steps.b).min())


def _sign() -> tuple[Derivation, Attempt, float]:
    """Compute the energy with either sign of friction, and the energy that the bars gain with the printed sign, J."""
    (first, right), (_, wrong) = energies(FED, 1), energies(FED, PRINTED_SIGN)
    derived = texts.derivation("sign", first > right, first=first, right=right)
    return derived, texts.attempt("fed", wrong > first, first=first, wrong=wrong), wrong - first


PRINTED_SIGN = -1
"""The sign of friction in the printed formulas; with the sign +1 friction acts against the slip."""


def _rows() -> tuple[Derivation, Attempt, tuple[float, float]]:
    """Check the contact rows and the bias by finite differences of the gaps; also return errors of the printed ones."""
    printed, regular = _evaluate("printed-normal"), _evaluate()
    bias = _evaluate("printed-bias").zeta_N
    assert printed.v is not None
    assert regular.q is not None
    rates, second = _differences(regular.q, printed.v)
    A = Contacts.of([_evaluate("as-printed")]).A[0]
    entries = ", ".join(f"{e:.2f}" for e in A.ravel())
    miss = [float(np.abs(step.J_N @ printed.v - rates).max()) for step in (printed, regular)]
    off = [float(np.abs(z - second).max()) for z in (bias, regular.zeta_N)]
    derived = texts.derivation("rows", miss[1] < 1e-6 and off[1] < 1e-5, miss=miss[1], off=off[1])
    found = texts.attempt("misprinted", miss[0] > 1e-6 or off[0] > 1e-5, miss=miss[0], off=off[0], entries=entries)
    return derived, found, (miss[0], off[0])


def _missed_power() -> float:
    """Return the error of the power balance, W, at the reconstructed start if the contact laws omit the force h."""
    step = _evaluate()
    (N,), (a,) = _forces(Contacts.of([replace(step, h=np.zeros(4))]))
    friction = float(-np.sign(step.v_T[:, 0]) * step.mu * N @ step.v_T[:, 0])
    return float(abs(_power(step, a) - friction))


def _differences(q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Return the gaps' first and second derivatives, by central differences, along a motion at constant velocity."""
    system = problem("two-bar").system
    eps = 1e-4
    there, here, back = (system.gaps(0.0, q + s * eps * v) for s in (1, 0, -1))
    return (there - back) / (2 * eps), (there - 2 * here + back) / eps**2


def _variants(step: StepData, p: dict[str, float]) -> Iterator[tuple[dict[str, str], StepData]]:
    """Yield every combination of printed and derived sign, rows, bias and inertia terms."""
    bad, bias = two_bar.printed_rows(step, p).J_N, two_bar.printed_bias(step, p).zeta_N
    mended = bad.copy()
    mended[0, 1] = 1.0
    rows = {
        "derived": step.J_N, "printed": bad, "printed, l read as 1": mended,
        "first printed, second derived": np.array([bad[0], step.J_N[1]]),
        "first derived, second printed": np.array([step.J_N[0], bad[1]]),
    }  # fmt: skip
    for sign, W, zeta, h in product((-1, 1), rows, ("derived", "printed"), ("with h", "without h")):
        name = {"sign": "against the slip" if sign < 0 else "along the slip", "W_N": W, "bias": zeta, "h": h}
        yield name, replace(
            step, J_N=rows[W], zeta_N=step.zeta_N if zeta == "derived" else bias,
            h=step.h if h == "with h" else np.zeros(4), v_T=-sign * step.v_T,
        )  # fmt: skip


def _formulas(quick: bool) -> tuple[Attempt, dict[str, list[str]], bool]:
    loads = (-40.0, 0.0, 40.0) if quick else tuple(np.linspace(-40.0, 60.0, 11))
    tried, good = 0, []
    for g, F in product((0.0, 9.81), loads):
        entry = problem("two-bar", g=g, F=F)
        step = entry.system.evaluate(0.0, entry.q0, entry.v0)
        named = list(_variants(step, dict(entry.parameter_values)))
        stack = Contacts.of([s for _, s in named])
        N, a = _forces(stack)
        # What these accelerations imply by the correct model: gap accelerations, friction power, energy balance.
        w = a @ step.J_N.T + step.zeta_N
        speed = step.v_T[:, 0]
        friction = np.array([-np.sign(s.v_T[:, 0]) * s.mu for _, s in named]) * N
        power = friction @ speed
        balance = _power(step, a) - power
        bears = (N > CONSISTENT).any(axis=1)
        laws = (w > -CONSISTENT).all(axis=1) & (np.abs(w * N).max(axis=1) < CONSISTENT * (1 + N.max(axis=1)))
        kept = bears & laws & (power <= 0) & (np.abs(balance) < CONSISTENT)
        tried += len(named)
        good += [{**named[i][0], "g": f"{g:g}", "F": f"{F:g}"} for i in np.flatnonzero(kept)]
    values = {key: sorted({reading[key] for reading in good}) for key in ("sign", "W_N", "bias", "h", "g")}
    told = "; ".join(f"{key}: {' or '.join(v)}" for key, v in values.items())
    told = (
        f"{len(good)} of {tried} readings are consistent, all with {told}" if good else f"none of {tried} is consistent"
    )
    search = texts.attempt(
        "formulas", any(set(values[key]) - {right} for key, right in RIGHT.items()), tried=tried, loads=len(loads),
        first=loads[0], last=loads[-1], found=told, kept=len(good),
    )  # fmt: skip
    literally = any(all(reading[key] == as_printed for key, as_printed in PRINTED.items()) for reading in good)
    return search, values, literally


RIGHT = {"sign": "against the slip", "W_N": "derived", "bias": "derived", "h": "with h"}
"""Choices of signs and formulas that are mechanically correct."""

PRINTED = {"sign": "along the slip", "W_N": "printed", "bias": "printed", "h": "without h"}
"""Choices of signs and formulas with which the paper prints the problem."""


def _forces(stack: Contacts) -> tuple[Matrix, Matrix]:
    """Return the normal forces by the contact laws, and the accelerations that they cause."""
    N = sets.lcp(stack.A, stack.b)
    f = stack.force + sets.times((stack.J_N + stack.friction).swapaxes(1, 2), N)
    return N, np.asarray(np.linalg.solve(stack.M, f[..., None])[..., 0])


def _power(step: StepData, a: Matrix) -> Vector:
    """For accelerations a, (..., n), return the rate of the mechanical energy less the power of the loads, in W.

    With q'' = a it is exactly v^T (M a + h - Q), since v^T (M a + h) is the rate of the kinetic energy. Finite
    differences of the energy would have errors above the tolerance of the balance.
    """
    assert step.v is not None
    return np.asarray((a @ step.M + step.h - step.Q) @ step.v)


def _motion(quick: bool) -> tuple[Derivation, Attempt]:
    motion = slide(60 if quick else 600)
    system = problem("two-bar").system
    steps = Contacts.of([system.evaluate(0.0, q, v) for q, v in motion.states])
    A, b = steps.A, steps.b
    laws, program = sets.lcp(A, b), sets.printed(A, b)
    own, apart = float(np.abs(laws - motion.forces).max()), float(np.abs(program - laws).max())
    least = float(motion.forces.min())
    co = np.sign(-steps.friction[:, 0, 0]) == np.sign(-steps.friction[:, 1, 0])
    start = Contacts.of([_evaluate()])
    first = samples.compare(start.A, start.b)
    derived = texts.derivation(
        "motion", motion.passes and own < 1e-6 and least > 0, N_A=first.laws[0, 0], N_C=first.laws[0, 1],
        turns=", ".join(f"{t:.8f}" for t in motion.events[:-1]), flat=motion.events[-1], least=least, own=own,
        instants=len(co),
    )  # fmt: skip
    search = texts.attempt("along", apart > 1e-6, instants=len(co), same_side=int(co.sum()), apart=apart)
    return derived, search


def _other_states(quick: bool) -> Attempt:
    rng, count = np.random.default_rng(SEED), 150 if quick else 1500
    theta, omega, vx = rng.uniform(0.02, 1.55, count), rng.uniform(-3, 3, count), rng.uniform(-3, 3, count)
    steps = samples.on_floor(theta, omega, vx)
    steps = steps[problems.definite(steps.A, 1e-6)]
    same = samples.compare(steps.A, steps.b)
    wrong = int((~same.equal & ~same.borderline).sum())
    return texts.attempt("other-states", wrong > 0, states=len(steps), wrong=wrong)


def _data(least: float, kept: dict[str, list[str]], bias: float, gained: float, off: tuple[float, float]) -> Table:
    """Tabulate the printed and the consistent data; the arguments are results of the searches in `check`."""
    p = _printed()
    rise = p["l"] / 2 * np.cos(p["theta1_0"]) * p["omega1_0"]
    return texts.table(
        "data", literal=next(starts()), height=p["l"] / 2 * np.sin(p["theta1_0"]), rise=rise, least=least,
        idle=texts("idle", bias=bias, so=", so no contact force" if bias >= 0 else ""), gained=gained, off=off,
        found={key: " or ".join(values) if values else "none of those tried" for key, values in kept.items()},
        missed=_missed_power(),
    )  # fmt: skip


claim = texts.claim("C9", "001", check, 0.3)
