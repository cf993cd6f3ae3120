"""C9: the simulation of the two bars agrees with physics, section 5 of paper 001."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction.contact_samples import Contacts
from gaussopt.papers.p001_friction.sliding_motion import energies, slide
from gaussopt.problems import two_bar

SEED = 90
FED = 0.09
"""Instant at which energies are compared, s; no event lies before it."""

POINTS = {"the centroid of AB": 0.5, "the hinge B": 0.0, "the end A": 1.0}
"""Points whose coordinates x and y may be: their distance from B divided by the length of AB."""

CONSISTENT = 1e-6
"""Gap accelerations and powers that count as zero, m/s² and W."""


def check(quick: bool) -> Judgement:
    """Compute the evidence."""
    starts, least, share = _starts()
    formulas, kept = _formulas(quick)
    start, idle, (sign, gained), (rows_of, off) = _start(), _without_load(), _sign(), _rows()
    motion, along = _motion(quick)
    other = _other_states(quick)
    agrees = motion.holds and not along.refutes
    verdict = ClaimVerdict.of([agrees]) if starts.refutes else ClaimVerdict.IRREPRODUCIBLE
    told = "agree" if agrees else "do not agree"
    sentence = (
        f"{start.computed[:1].upper()}{start.computed[1:]}. {starts.found}. F and g are not given: {idle.computed}. "
        f"{sign.computed[:1].upper()}{sign.computed[1:]}. With a start on the floor, the correct formulas, g = 9.81 "
        f"m/s² and F = 0 quadratic program and contact laws {told} along the whole motion: {along.found}."
    )
    conditions = (
        f"As printed: {share} readings of the start are consistent. With A and C on the floor and at rest normal to "
        f"it, derived rows, $h$, gravity and friction against the slip {'everywhere' if agrees else 'not everywhere'} "
        f"on the motion to its end; in general {'not' if other.refutes else 'as far as searched'}: {other.found}."
    )
    if starts.refutes:
        conditions = f"For some readings: {starts.found}."
    columns = ("datum", "printed", "gives", "consistent would be")
    table = _table(least, kept, _least_bias(), gained, off)
    return Judgement(
        verdict, sentence, (start, idle, sign, rows_of, motion), (starts, formulas, along, other), conditions, columns,
        table,
    )  # fmt: skip


def _printed() -> dict[str, float]:
    p = dict(problem("two-bar").parameter_values)
    return {**p, "y0": p["l"] * np.sin(np.pi / 4), "vy0": 1.0}


@dataclass(frozen=True)
class Start:
    """A reading of the printed start.

    Attributes
    ----------
    point : str
        What x and y are the coordinates of.
    doubled : bool
        Whether the bars have the length 2 l, as the source's rod.
    gaps, rates : (2,)
        Of A and C, m and m/s.
    """

    point: str
    doubled: bool
    gaps: Vector
    rates: Vector

    @property
    def consistent(self) -> bool:
        """True if both ends are on the floor and stay there."""
        return bool(max(np.abs(self.gaps).max(), np.abs(self.rates).max()) < CONSISTENT)


def starts() -> Iterator[Start]:
    """All readings, the literal one first."""
    p = _printed()
    th1, th2 = p["theta1_0"], p["theta2_0"]
    for (point, distance), doubled, signs in product(POINTS.items(), (False, True), product((1, -1), (1, -1), (1, -1))):
        L = p["l"] * (1 + doubled)
        vy, w1, w2 = (s * p[k] for s, k in zip(signs, ("vy0", "omega1_0", "omega2_0"), strict=True))
        B, rise = p["y0"] + distance * L * np.sin(th1), vy + distance * L * np.cos(th1) * w1
        gaps = np.array([B - L * np.sin(th1), B - L * np.cos(th2)])
        yield Start(point, doubled, gaps, np.array([rise - L * np.cos(th1) * w1, rise + L * np.sin(th2) * w2]))


def _starts() -> tuple[Attempt, float, str]:
    every = list(starts())
    grounded = [s for s in every if np.abs(s.gaps).max() < CONSISTENT]
    least = min(float(np.abs(s.rates).max()) for s in every)
    good = [s for s in every if s.consistent]
    names = sorted({f"x, y {s.point}, bars of {'2 l' if s.doubled else 'l'}" for s in grounded})
    share = f"{len(good)} of {len(every)}"
    found = (
        f"{share} readings of the start are consistent"
        + (f"; {len(grounded)} have both ends on the floor ({'; '.join(names)})" if grounded else "")
        + f", the fastest end leaves or enters it at {least:.4g} m/s or more in every reading"
    )
    # F, g, the sign of friction and the contact rows have no part in gaps and gap rates.
    return Attempt(
        "A reading of the printed start with both gaps and both gap rates zero",
        f"{len(every)} readings: x and y of {', '.join(POINTS)}; bars of length l or 2 l; both signs of $\\dot y$, "
        "$\\dot\\theta_1$ and $\\dot\\theta_2$; friction, $W_N$, $F$ and $g$ have no part in gaps and rates",
        found, bool(good),
    ), least, share  # fmt: skip


def _start() -> Derivation:
    entry = problem("two-bar", case="airborne")
    step = entry.system.evaluate(0.0, entry.q0, entry.v0)
    literal = next(starts())
    assert step.g_N is not None
    assert step.gdot_N is not None
    miss = float(max(np.abs(step.g_N - literal.gaps).max(), np.abs(step.gdot_N - literal.rates).max()))
    return Derivation(
        "Gaps $g_A=y-\\frac l2\\sin\\theta_1$, $g_C=y+\\frac l2\\sin\\theta_1-l\\cos\\theta_2$ of the printed start "
        "$y=l\\sin\\frac\\pi4$, $\\dot y=1$",
        f"at the printed start the ends are {literal.gaps[0]:.5f} and {literal.gaps[1]:.5f} m above the floor and rise "
        f"at {literal.rates[0]:.5f} and {literal.rates[1]:.5f} m/s",
        miss < 1e-12 and float(literal.gaps.min()) > CONSISTENT,
    )


def _evaluate(variant: str = "", **settings: Any) -> StepData:
    entry = problem("two-bar", **settings, **({"variant": variant} if variant else {}))
    return entry.system.evaluate(0.0, entry.q0, entry.v0)


def _without_load() -> Derivation:
    least = _least_bias()
    pressed = _evaluate("as-printed", case="airborne", F=-40.0, g=0.0)
    N = sets.printed(Contacts.of([pressed]).A, Contacts.of([pressed]).b)[0]
    assert pressed.g_N is not None
    return Derivation(
        "With $F=g=0$, as literally printed, the printed $B$ is not negative, so that $\\lambda=0$; without $h$ the "
        "motion is then straight, and it stays so",
        f"with F = g = 0 the printed formulas have B ≥ {least:.2g} at 60 instants up to 5 "
        f"s{', no contact force ever' if least >= 0 else ''}; with F = −40 N and g = 0 they press with {N[0]:.1f} and "
        f"{N[1]:.1f} N from {pressed.g_N.min():.3f} m above the floor",
        bool(least >= 0 and (N > 0).all()),
    )


def _least_bias() -> float:
    """Least entry of the printed B with F = g = 0 along the straight motion from the printed start, m/s²."""
    entry = problem("two-bar", variant="as-printed", case="airborne", F=0.0, g=0.0)
    times = np.linspace(0.0, 5.0, 60)
    steps = Contacts.of([entry.system.evaluate(t, entry.q0 + t * entry.v0, entry.v0) for t in times])
    # Every LCP with b >= 0 has the solution 0, whatever A is; the bars then go on straight, because h is missing.
    return float(np.where(np.abs(steps.b) < 1e-12, 0.0, steps.b).min())


def _sign() -> tuple[Derivation, float]:
    """The energy with either sign of friction, and the energy that the bars gain with the printed one, J."""
    (first, right), (_, wrong) = energies(FED, 1), energies(FED, -1)
    derived = Derivation(
        "Friction takes energy: $\\sigma=-\\operatorname{sgn}v_T$; the printed $s=\\operatorname{sgn}v_T$ feeds it. By "
        "the reduced equations with both ends on the floor",
        f"with the printed sign friction takes the bars from {first:.6f} J to {wrong:.6f} J in {FED:g} s, with the "
        f"correct one to {right:.6f} J",
        wrong > first > right,
    )
    return derived, wrong - first


def _rows() -> tuple[Derivation, tuple[float, float]]:
    """The printed rows and bias against differences of the gaps, and their errors, m/s and m/s²."""
    printed, regular = _evaluate("printed-normal"), _evaluate()
    bias = _evaluate("printed-bias").zeta_N
    assert printed.v is not None
    assert regular.q is not None
    rates, second = _differences(regular.q, printed.v)
    A = Contacts.of([_evaluate("as-printed")]).A[0]
    entries = ", ".join(f"{e:.2f}" for e in A.ravel())
    miss = [float(np.abs(step.J_N @ printed.v - rates).max()) for step in (printed, regular)]
    off = [float(np.abs(z - second).max()) for z in (bias, regular.zeta_N)]
    derived = Derivation(
        "$W_N$ and its bias are the derivatives of the gaps; the printed ones are not",
        f"rates of the gaps by the printed rows wrong by {miss[0]:.3g} m/s (derived {miss[1]:.0e}), accelerations at "
        f"constant velocities by {off[0]:.3g} m/s² (derived {off[1]:.0e}); printed A = ({entries}) per kg",
        miss[0] > 1e-3 > miss[1] and off[0] > 1e-4 > off[1],
    )
    return derived, (miss[0], off[0])


def _missed_power() -> float:
    """Power that the balance of energy lacks without h at the reconstructed start, by the contact laws, W."""
    entry = problem("two-bar")
    step = replace(_evaluate(), h=np.zeros(4))
    (N,), (a,) = _forces(Contacts.of([step]))
    friction = float(-np.sign(step.v_T[:, 0]) * step.mu * N @ step.v_T[:, 0])
    return abs(_energy_rate(entry.system, entry.q0, entry.v0, a) - friction)


def _differences(q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """First and second derivatives of the gaps along constant velocities, by central differences."""
    system = problem("two-bar").system
    eps = 1e-4
    there, here, back = (system.gaps(0.0, q + s * eps * v) for s in (1, 0, -1))
    return (there - back) / (2 * eps), (there - 2 * here + back) / eps**2


def _variants(step: StepData, p: dict[str, float]) -> Iterator[tuple[dict[str, str], StepData]]:
    """Every combination of printed and derived sign, rows, bias and inertia terms."""
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


def _formulas(quick: bool) -> tuple[Attempt, dict[str, list[str]]]:
    loads = (-40.0, 0.0, 40.0) if quick else tuple(np.linspace(-40.0, 60.0, 11))
    tried, good = 0, []
    for g, F in product((0.0, 9.81), loads):
        entry = problem("two-bar", g=g, F=F)
        p, q, v = dict(entry.parameter_values), entry.q0, entry.v0
        step = entry.system.evaluate(0.0, q, v)
        named = list(_variants(step, p))
        stack = Contacts.of([s for _, s in named])
        N, a = _forces(stack)
        # What really happens with these accelerations: gaps, friction power, balance of energy.
        w = a @ step.J_N.T + step.zeta_N
        speed = step.v_T[:, 0]
        friction = np.array([-np.sign(s.v_T[:, 0]) * s.mu for _, s in named]) * N
        power = friction @ speed
        lift = F * (v[1] + p["l"] / 2 * np.cos(q[2]) * v[2])
        balance = np.array([_energy_rate(entry.system, q, v, x) for x in a]) - power - lift
        bears = (N > CONSISTENT).any(axis=1)
        laws = (w > -CONSISTENT).all(axis=1) & (np.abs(w * N).max(axis=1) < CONSISTENT * (1 + N.max(axis=1)))
        kept = bears & laws & (power <= 0) & (np.abs(balance) < CONSISTENT)
        tried += len(named)
        good += [{**named[i][0], "g": f"{g:g}", "F": f"{F:g}"} for i in np.flatnonzero(kept)]
    values = {key: sorted({reading[key] for reading in good}) for key in ("sign", "W_N", "bias", "h", "g")}
    told = "; ".join(f"{key}: {' or '.join(v)}" for key, v in values.items())
    search = Attempt(
        "Other formulas than the derived ones that give consistent contact motion from a start on the floor: a contact "
        "force, gaps that do not close, friction that takes energy, the energy balance",
        f"{tried} readings: friction along or against the slip, five of $W_N$ (derived, printed, entry l read as 1, "
        f"each row alone), bias printed or derived, with or without $h$, {len(loads)} loads from {loads[0]:g} to "
        f"{loads[-1]:g} N, $g=0$ or 9.81 m/s²; tolerance {CONSISTENT:g}",
        f"{len(good)} of {tried} readings are consistent, all with {told}"
        if good
        else f"none of {tried} is consistent",
        any(set(values[key]) - {right} for key, right in RIGHT.items()),
    )
    return search, values


RIGHT = {"sign": "against the slip", "W_N": "derived", "bias": "derived", "h": "with h"}
"""The reading that the mechanics has."""


def _forces(stack: Contacts) -> tuple[Matrix, Matrix]:
    """Normal forces by the contact laws and the accelerations they cause."""
    N = sets.lcp(stack.A, stack.b)
    f = stack.force + sets.times((stack.J_N + stack.friction).swapaxes(1, 2), N)
    return N, np.asarray(np.linalg.solve(stack.M, f[..., None])[..., 0])


def _energy_rate(system: Any, q: Vector, v: Vector, a: Vector) -> float:
    eps = 1e-4
    there, back = (system.energy(0.0, q + s * eps * v + 0.5 * eps**2 * a, v + s * eps * a).total for s in (1, -1))
    return float((there - back) / (2 * eps))


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
    derived = Derivation(
        "After reconstruction the motion has a reduced equation in one angle, derived without contact rows; both ends "
        "bear until the bars lie flat, C turns around without sticking, and where both ends slide to the same side $A$ "
        "is not symmetric",
        f"N = ({first.laws[0, 0]:.6f}, {first.laws[0, 1]:.6f}) N at the start; C turns at "
        f"{', '.join(f'{t:.8f}' for t in motion.events[:-1])} s, flat at {motion.events[-1]:.9f} s; least force "
        f"{least:.3g} N; contact laws of the derived rows against the reduced equation {own:.0e} N at "
        f"{len(co)} instants",
        motion.passes and own < 1e-6 and least > 0,
    )
    search = Attempt(
        "Against the agreement after reconstruction: an instant of the motion where (29) and the contact laws differ",
        f"{len(co)} instants from the start to the end, {int(co.sum())} of them with both ends sliding to the "
        "same side",
        f"largest difference {apart:.0e} N at {len(co)} instants", apart > 1e-6,
    )  # fmt: skip
    return derived, search


def _other_states(quick: bool) -> Attempt:
    rng, count = np.random.default_rng(SEED), 150 if quick else 1500
    theta, omega, vx = rng.uniform(0.02, 1.55, count), rng.uniform(-3, 3, count), rng.uniform(-3, 3, count)
    steps = samples.on_floor(theta, omega, vx)
    steps = steps[samples.definite(steps.A, 1e-6)]
    same = samples.compare(steps.A, steps.b)
    wrong = int((~same.equal & ~same.borderline).sum())
    return Attempt(
        "Against a general agreement: other states of the same bars with both ends on the floor where (29) and the "
        "contact laws differ",
        f"{len(steps)} random states with positive definite $A$: angles from 1° to 89°, rates up to 3 rad/s, speeds up "
        f"to 3 m/s, no loads but gravity, seed {SEED}",
        f"the same bars have them differ on {wrong} of {len(steps)} states on the floor", wrong > 0,
    )  # fmt: skip


def _table(
    least: float, kept: dict[str, list[str]], bias: float, gained: float, off: tuple[float, float]
) -> tuple[tuple[object, ...], ...]:
    """The printed data beside consistent ones.

    Parameters
    ----------
    least : speed of the fastest end in any reading of the start, m/s
    kept : the readings of the formulas that are consistent
    bias : least entry of B without loads, m/s²
    gained : energy that friction along the slip feeds, J
    off : errors of the printed rows and of the printed bias, m/s and m/s²
    """
    literal = next(starts())
    p = _printed()
    half = p["l"] / 2
    c, s = np.cos(p["theta1_0"]), np.sin(p["theta1_0"])
    idle = f"B ≥ {bias:.2g} m/s² for F = g = 0{', so no contact force' if bias >= 0 else ''}"
    found = {key: " or ".join(values) if values else "none of those tried" for key, values in kept.items()}
    return (
        ("height at the start", "y = l sin π/4", f"gaps {literal.gaps[0]:.5f} m, {literal.gaps[1]:.5f} m",
         f"y = (l/2) sin π/4 = {half * s:.5f} m"),
        ("velocity at the start", "y' = 1 m/s", f"gap rates {literal.rates[0]:.5f} m/s, {literal.rates[1]:.5f} m/s; at "
         f"least {least:.4g} m/s in every reading", f"y' = (l/2) cos(θ₁) θ₁' = {half * c * p['omega1_0']:.7f} m/s"),
        ("force F", "no value", idle, "any that presses the bars down"),
        ("gravity", "none", idle, f"g = {found['g']} m/s² with some F"),
        ("sign of friction", "s = sgn v_T", f"energy changes by {gained:+.4g} J in {FED:g} s", found["sign"]),
        ("rows of the gaps", "W_N", f"gap rates wrong by {off[0]:.3g} m/s", found["W_N"]),
        ("bias of the gaps", "W_N bias", f"gap accelerations wrong by {off[1]:.3g} m/s²", found["bias"]),
        ("inertia terms", "none", f"balance of energy misses {_missed_power():.3g} W", found["h"]),
    )  # fmt: skip


claim = Claim(
    "C9", "001", "Section 5, figures 3 to 5",
    "the simulation of the two bars by (29) and the printed algorithm agrees with physics",
    check, "the printed data (start, $F$, $W_N$, signs) are to give a motion with both ends on the floor, forces that "
    "press and friction that takes energy, and (29) the forces of the contact laws along it", 0.3,
)  # fmt: skip
