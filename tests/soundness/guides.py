"""Random mechanisms in guides without clearance, against models of them in coordinates that satisfy the guides.

Carts with pendulums run on tilted rails that may move, a bar is led by two or three points of it, a bead runs on a
ring; stops, walls with friction and other carts are in their way. The same mechanism is stated twice: with two-sided
contacts, also redundant ones, and in coordinates along its guides. Both must name the same impacts, impulses and
velocities, whatever the law, the stepper and the coefficient of restitution of the guides. Where guides have friction
there are no such coordinates; then every impact is compared with all modes of its laws, solved one by one here.

    python tests/soundness/guides.py --count 500
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

import gaussopt as go

Array = NDArray[np.float64]

EXACT, CURVED = 1e-8, 1e-5
"""Difference of two motions, relative to 1 + the largest entry: straight guides are linear in the coordinates of both
models, so that both take the same steps; on moving and curved ones the error of the method differs."""

RAILS = ("rail", "two rails", "moving rail", "redundant rail")
FAMILIES = (*RAILS, "bar", "redundant bar", "ring", "rough", "rough rails")
CURVED_ONES = ("moving rail", "ring")
T = sp.Symbol("t")
NUMBERS = ("tilt0", "tilt1", "m0", "m1", "m2", "length", "radius", "stop", "wall", "between", "e0", "e1", "e2", "mu",
           "rough", "e_guide", "rise", "often", "stiff")  # fmt: skip
P = {name: sp.Symbol(name) for name in NUMBERS}


@dataclass
class Parts:
    """What a mechanism is put together from, in one of its two models."""

    q: list[sp.Symbol] = field(default_factory=list)
    contacts: list[go.Contact] = field(default_factory=list)
    points: list[tuple[sp.Expr, sp.Matrix]] = field(default_factory=list)
    places: list[sp.Expr] = field(default_factory=list)
    kinetic: sp.Expr = sp.S.Zero

    def coordinate(self, name: str) -> sp.Symbol:
        """A new coordinate."""
        self.q.append(sp.Symbol(name))
        return self.q[-1]


def rate(x: Any, q: list[sp.Symbol]) -> Any:
    """The time derivative; the velocity of the coordinate a is va."""
    return sp.diff(x, T) + sum((sp.diff(x, s) * sp.Symbol(f"v{s}") for s in q), start=sp.diff(x, T) * 0)


def cart(parts: Parts, i: int, kind: str, guided: bool) -> sp.Matrix:
    """A cart on rail i; returns where it is."""
    tilt, lift = P[f"tilt{i}"], P["rise"] * sp.sin(P["often"] * T) if kind == "moving rail" else sp.S.Zero
    along, across = sp.Matrix([sp.cos(tilt), sp.sin(tilt)]), sp.Matrix([-sp.sin(tilt), sp.cos(tilt)])
    if guided:
        r = sp.Matrix([parts.coordinate(f"x{i}"), parts.coordinate(f"y{i}")])
        gap, slip = across.dot(r) - lift, along.dot(rate(r, parts.q))
        mu = P["rough"] if kind.startswith("rough") else 0
        parts.contacts.append(go.Contact(f"guide{i}", gap=gap, slip=[slip], mu=mu, e_N=P["e_guide"], two_sided=True))
        if kind == "redundant rail":
            parts.contacts += [
                go.Contact(f"again{j}", gap=f * gap, slip=[slip], e_N=P["e_guide"], two_sided=True)
                for j, f in enumerate((2, -3))
            ]
    else:
        r = parts.coordinate(f"s{i}") * along + lift * across
    parts.points.append((P["m0"], r))
    parts.places.append(along.dot(r))
    return r


def bar(parts: Parts, points: int, guided: bool) -> sp.Matrix:
    """A bar led by two or three of its points; returns its centre."""
    tilt = P["tilt0"]
    along, across = sp.Matrix([sp.cos(tilt), sp.sin(tilt)]), sp.Matrix([-sp.sin(tilt), sp.cos(tilt)])
    if guided:
        r, th = sp.Matrix([parts.coordinate("x0"), parts.coordinate("y0")]), parts.coordinate("th")
        axis = sp.Matrix([sp.cos(th + tilt), sp.sin(th + tilt)])
        for j, place in enumerate((-1, 1, sp.Rational(1, 3))[:points]):
            point = r + place * P["length"] * axis
            parts.contacts.append(
                go.Contact(f"guide{j}", gap=across.dot(point), slip=[along.dot(rate(point, parts.q))],
                           e_N=P["e_guide"], two_sided=True)
            )  # fmt: skip
        parts.kinetic += P["m2"] * sp.Symbol("vth") ** 2 / 2
    else:
        r = parts.coordinate("s0") * along
    parts.points.append((P["m0"], r))
    parts.places.append(along.dot(r))
    return r


def bead(parts: Parts, guided: bool) -> sp.Matrix:
    """A bead on a ring; returns where it is."""
    if guided:
        r = sp.Matrix([parts.coordinate("x0"), parts.coordinate("y0")])
        parts.contacts.append(
            go.Contact("guide0", gap=sp.sqrt(r.dot(r)) - P["radius"], slip=[rate(r[0], parts.q)], e_N=P["e_guide"],
                       two_sided=True)
        )  # fmt: skip
    else:
        angle = parts.coordinate("s0")
        r = P["radius"] * sp.Matrix([sp.sin(angle), -sp.cos(angle)])
    parts.points.append((P["m0"], r))
    parts.places.append(r[0])
    return r


@cache
def system(family: str, links: int, guided: bool) -> go.System:
    """The mechanism of a family with a pendulum of so many links."""
    parts = Parts()
    if family == "ring":
        r = bead(parts, guided)
    elif "bar" in family:
        r = bar(parts, 3 if "redundant" in family else 2, guided)
    else:
        r = cart(parts, 0, family, guided)
        if family.endswith("rails"):
            cart(parts, 1, family, guided)
    for i in range(links):
        angle = parts.coordinate(f"a{i}")
        r = r + P["length"] * sp.Matrix([sp.sin(angle), -sp.cos(angle)])
        parts.points.append((P[f"m{i + 1}"], r))
    v = [sp.Symbol(f"v{s}") for s in parts.q]
    kinetic, potential = parts.kinetic, P["stiff"] * parts.places[0] ** 2 / 2
    for mass, point in parts.points:
        u = rate(point, parts.q)
        kinetic, potential = kinetic + mass * u.dot(u) / 2, potential + mass * sp.Rational(981, 100) * point[1]
    parts.contacts.append(go.Contact("stop", gap=P["stop"] - parts.places[0], e_N=P["e0"]))
    tip = parts.points[-1][1]
    parts.contacts.append(
        go.Contact("wall", gap=P["wall"] - tip[0], slip=[rate(tip[1], parts.q)], mu=P["mu"], e_N=P["e1"])
    )
    if len(parts.places) > 1:
        parts.contacts.append(go.Contact("carts", gap=P["between"] + parts.places[1] - parts.places[0], e_N=P["e2"]))
    return go.System.from_lagrangian(
        parts.q, v, kinetic=kinetic, potential=potential, contacts=parts.contacts, t=T,
        parameters={P[name]: 1.0 for name in NUMBERS}, name=f"{family}-{links}",
    )  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """One mechanism: family, links, numbers, start in coordinates along the guides, and how it is integrated."""

    family: str
    links: int
    numbers: dict[str, float]
    q0: Array
    v0: Array
    settings: dict[str, Any]

    def start(self) -> tuple[Array, Array]:
        """The start in the coordinates of the guided model."""
        q, v = (self.lifted(np.array([0.0]), x[None], u[None]) for x, u in ((self.q0, self.v0),) * 2)
        return q[0][0], v[1][0]

    def lifted(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """States in coordinates along the guides, (N, .), as states of the guided model."""
        p, carts = self.numbers, 2 if self.family.endswith("rails") else 1
        rows, rates = [], []
        for i in range(carts):
            s, u = q[:, i], v[:, i]
            if self.family == "ring":
                c, d = p["radius"] * np.sin(s), -p["radius"] * np.cos(s)
                rows, rates = [c, d], [-d * u, c * u]
                continue
            c, d = np.cos(p[f"tilt{i}"]), np.sin(p[f"tilt{i}"])
            moving = self.family == "moving rail"
            lift = p["rise"] * np.sin(p["often"] * t) if moving else 0.0
            rise = p["rise"] * p["often"] * np.cos(p["often"] * t) if moving else 0.0
            rows += [c * s - d * lift, d * s + c * lift]
            rates += [c * u - d * rise, d * u + c * rise]
        if "bar" in self.family:
            rows, rates = [*rows, 0.0 * t], [*rates, 0.0 * t]
        return np.column_stack([*rows, q[:, carts:]]), np.column_stack([*rates, v[:, carts:]])


def trial(seed: int) -> Trial:
    """The mechanism of a number; families take turns, all else is random."""
    random = np.random.default_rng([32, seed])
    uniform, family = random.uniform, FAMILIES[seed % len(FAMILIES)]
    links = int(random.integers(1 if "bar" in family else 0, 3))
    p = {name: float(uniform(0.3, 1.5)) for name in NUMBERS}
    p |= {"tilt0": float(uniform(-3.1, 3.1)), "tilt1": float(uniform(-3.1, 3.1))}
    p |= {f"m{i}": float(10 ** uniform(-2, 1)) for i in range(3)}
    p |= {f"e{i}": float(random.choice([0.0, 0.5, uniform(0, 1)])) for i in range(3)}
    p |= {"e_guide": float(uniform(0, 1)), "mu": float(random.choice([0.0, 0.2])), "rough": float(uniform(0.02, 0.3))}
    p |= {"rise": float(uniform(0.01, 0.1)), "often": float(uniform(1, 10)), "stiff": float(uniform(0, 5))}
    carts = 2 if family.endswith("rails") else 1
    q0 = np.concatenate([np.zeros(carts), uniform(-1.2, 1.2, links)])
    v0 = np.concatenate([[uniform(0.5, 3.0)], uniform(-1, 1, carts - 1), uniform(-3, 3, links)])
    p["stop"], p["between"] = float(uniform(0.02, 0.2)), float(uniform(0.02, 0.3))
    made = Trial(family, links, p, q0, v0, {})
    tip = float(_tip(made)[0])
    p["wall"] = tip + float(uniform(0.02, 0.5))
    # Steps at velocity level are of order one beside moving and curved guides: there the models differ by their error.
    # Of friction in guides impacts alone are judged, and these steps name none.
    stepping = family not in CURVED_ONES and not family.startswith("rough")
    stepper = str(random.choice([*["rk4"] * 4, "dop853", *(["moreau-jean"] if stepping else [])]))
    impact = "newton" if stepper == "moreau-jean" else str(random.choice(["newton", "poisson"]))
    settings: dict[str, Any] = {"stepper": stepper, "impact": impact, "dt": 5e-3, "t_end": 0.2}
    if stepper == "rk4":
        settings["dt"] = 1e-3 if family in CURVED_ONES else 5e-3
        settings["engine"] = str(random.choice(["compiled", "interpreted"]))
    if stepper == "dop853":
        settings |= {"rtol": 1e-11, "atol": 1e-11}
    if stepper == "moreau-jean":
        settings["stabilisation"] = str(random.choice(["none", "projection"]))
    return Trial(family, links, p, q0, v0, settings)


def _tip(made: Trial) -> Array:
    """Where the last mass is at the start."""
    q = made.start()[0]
    carts = 4 if made.family.endswith("rails") else 3 if "bar" in made.family else 2
    return q[:2] + sum((made.numbers["length"] * np.array([np.sin(a), -np.cos(a)]) for a in q[carts:]), np.zeros(2))


def simulate(made: Trial, guided: bool) -> go.Trajectory:
    """The motion of one of the two models."""
    q0, v0 = made.start() if guided else (made.q0, made.v0)
    return go.simulate(
        system(made.family, made.links, guided).with_parameters(**made.numbers), q0=q0, v0=v0, error_estimate=False,
        step_folder=None, accumulation="close", **made.settings,
    )  # fmt: skip


# -- the judges ------------------------------------------------------------------------------------------------------


def against_reduced(made: Trial) -> dict[str, Any]:
    """How far the motion in guides is from that along them."""
    guided, reduced = simulate(made, True), simulate(made, False)
    row = {"status": (str(guided.status), str(reduced.status)), "message": guided.message, "wrong": []}
    wrong: list[str] = row["wrong"]  # type: ignore[assignment]
    tolerance = CURVED if made.family in CURVED_ONES else EXACT
    kinds = [[e for e in m.events if e["kind"] != "wall_change"] for m in (guided, reduced)]
    row["impacts"] = sum(e["kind"] in ("impact", "landing") for e in kinds[1])
    if str(reduced.status) != "solved" or str(guided.status) != "solved":
        return row
    if [e["kind"] for e in kinds[0]] != [e["kind"] for e in kinds[1]]:
        wrong.append(f"events {[e['kind'] for e in kinds[0]]} for {[e['kind'] for e in kinds[1]]}")
        return row
    for one, other in zip(*kinds, strict=True):
        if abs(one["t"] - other["t"]) > tolerance:
            wrong.append(f"{one['kind']} at {one['t']:.9g} for {other['t']:.9g}")
        elif one["kind"] == "impact":
            t = np.array([other["t"]])
            q = reduced.q[instant(reduced, other)]
            after = made.lifted(t, q[None], np.array(other["v_after"])[None])[1][0]
            if _apart(np.array(one["v_after"]), after) > tolerance:
                wrong.append(f"velocity {one['v_after']} for {after.tolist()}")
            impulses = dict(zip(one["contacts"], one["Lam_N"], strict=True))
            mine = np.array([impulses.get(name, 0.0) for name in other["contacts"]])
            if _apart(mine, np.array(other["Lam_N"])) > tolerance:
                wrong.append(f"impulses {mine.tolist()} for {other['Lam_N']}")
            wrong += momentum(made, guided, one)
    q, v = made.lifted(reduced.t, reduced.q, reduced.v)
    if len(guided.t) == len(reduced.t):
        row["apart"] = max(_apart(guided.q, q), _apart(guided.v, v))
    else:
        row["apart"] = max(_apart(guided.q[-1], q[-1]), _apart(guided.v[-1], v[-1]))
    if row["apart"] > tolerance * 10:  # type: ignore[operator]
        wrong.append(f"the motions are {row['apart']:.2g} apart")
    return row


def _apart(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max(initial=0.0) / (1.0 + np.abs(b).max(initial=0.0)))


def instant(motion: go.Trajectory, event: dict[str, Any]) -> int:
    """The state behind an event."""
    return int(np.flatnonzero(np.abs(motion.t - event["t"]) <= 1e-12)[-1])


def momentum(made: Trial, motion: go.Trajectory, event: dict[str, Any]) -> list[str]:
    """What is wrong with an impact as such: momentum, rates of the guides, energy."""
    model = system(made.family, made.links, True).with_parameters(**made.numbers)
    q = motion.q[instant(motion, event)]
    before, after = np.array(event["v_before"]), np.array(event["v_after"])
    step = model.evaluate(event["t"], q, before)
    places = [model.contact_names.index(name) for name in event["contacts"]]
    step, guides = step.select(places), np.array(model.two_sided)[places]
    given = step.J_N.T @ event["Lam_N"] + step.J_T[:, 0].T @ event["Lam_T"]
    found = []
    size = 1.0 + float(np.abs(step.M).max()) * max(np.abs(before).max(), np.abs(after).max())
    if np.abs(step.M @ (after - before) - given).max() > 1e-9 * size:
        found.append("momentum")
    if guides.any() and np.abs(step.gdot_N[guides] + step.J_N[guides] @ (after - before)).max() > 1e-9 * size:
        found.append("a guide lets go")
    energy = 0.5 * (after @ step.M @ after - before @ step.M @ before)
    if abs(energy - event["energy_change"]) > 1e-9 * size**2:
        found.append("energy")
    return found


def against_modes(made: Trial) -> dict[str, Any]:
    """Every impact of a mechanism with friction in its guides, against all modes of its laws."""
    motion = simulate(made, True)
    row: dict[str, Any] = {"status": (str(motion.status),) * 2, "message": motion.message, "wrong": [], "impacts": 0}
    model = system(made.family, made.links, True).with_parameters(**made.numbers)
    for event in motion.events:
        if event["kind"] != "impact":
            continue
        row["impacts"] += 1
        row["wrong"] += momentum(made, motion, event)
        q = motion.q[instant(motion, event)]
        step = model.evaluate(event["t"], q, np.array(event["v_before"]))
        places = [model.contact_names.index(name) for name in event["contacts"]]
        guides = np.array(model.two_sided)[places]
        jumps = impact_by_modes(step.select(places), guides, made.settings["impact"])
        dv = np.array(event["v_after"]) - event["v_before"]
        if len(jumps) != 1 or _apart(dv, jumps[0]) > 1e-7:
            row["wrong"].append(f"{dv} for {jumps}")
    return row


def impact_by_modes(step: go.StepData, guides: NDArray[np.bool_], law: str) -> list[Array]:
    """The jumps of the velocity that a law of impacts allows, by all its modes."""
    zero = np.zeros(step.k)
    e = np.where(guides, 0.0, step.e_N)
    slip = step.v_T[:, 0]
    if law == "newton":
        return [dv for dv, _ in by_modes(step, guides, (1 + e) * step.gdot_N, slip, zero)]
    found: list[Array] = []
    for first, impulse in by_modes(step, guides, step.gdot_N, slip, zero):
        least = np.where(guides, 0.0, e * impulse)
        after, slipping = step.gdot_N + step.J_N @ first, slip + step.J_T[:, 0] @ first
        found += [first + second for second, _ in by_modes(step, guides, after, slipping, least)]
    return found


def by_modes(
    step: go.StepData, guides: NDArray[np.bool_], rate_N: Array, rate_T: Array, least: Array
) -> list[tuple[Array, Array]]:
    """All (dv, Lam_N) with M dv = J_N^T Lam_N + J_T^T Lam_T and one mode for each contact, those that obey the laws.

    Modes: open, with the least impulse, or closed on a wall; there without friction, sticking, or sliding in one of two
    directions.
    """
    n, k, found = step.n, step.k, []
    choices = []
    for i in range(k):
        friction = ("stick", 1.0, -1.0) if step.mu[i] > 0 else (None,)
        walls = (1.0, -1.0) if guides[i] else (0.0, 1.0)
        choices.append(list(itertools.product(walls, friction)))
    for modes in itertools.product(*choices):
        A, b = np.zeros((n + 2 * k, n + 2 * k)), np.zeros(n + 2 * k)
        A[:n, :n], A[:n, n : n + k], A[:n, n + k :] = step.M, -step.J_N.T, -step.J_T[:, 0].T
        for i, (wall, friction) in enumerate(modes):
            normal, tangent = n + i, n + k + i
            if wall == 0.0:
                A[normal, normal], b[normal] = 1.0, least[i]
            else:
                A[normal, :n], b[normal] = step.J_N[i], -rate_N[i]
            if friction == "stick":
                A[tangent, :n], b[tangent] = step.J_T[i, 0], -rate_T[i]
            else:
                A[tangent, tangent] = 1.0
                A[tangent, normal] = 0.0 if friction is None else (wall or 1.0) * step.mu[i] * friction
        x = np.linalg.lstsq(A, b, rcond=None)[0]
        solves = np.abs(A @ x - b).max() <= 1e-9 * (1 + np.abs(b).max())
        if solves and _lawful(step, modes, x, rate_N, rate_T, least):
            found.append((x[:n], x[n : n + k]))
    different: list[tuple[Array, Array]] = []
    for dv, impulse in found:
        if all(_apart(dv, known) > 1e-8 for known, _ in different):
            different.append((dv, impulse))
    return different


def _lawful(step: go.StepData, modes: Any, x: Array, rate_N: Array, rate_T: Array, least: Array) -> bool:
    n, k, tiny = step.n, step.k, 1e-9
    dv, normal, tangent = x[:n], x[n : n + k], x[n + k :]
    w, s = step.J_N @ dv + rate_N, step.J_T[:, 0] @ dv + rate_T
    size = tiny * (1 + np.abs(rate_N).max() + np.abs(rate_T).max() + np.abs(normal).max())
    for i, (wall, friction) in enumerate(modes):
        if wall == 0.0 and w[i] < -size:
            return False
        if wall != 0.0 and wall * normal[i] < least[i] - size:
            return False
        if friction == "stick" and abs(tangent[i]) > step.mu[i] * abs(normal[i]) + size:
            return False
        if isinstance(friction, float) and friction * s[i] < -size:
            return False
    return True


def judged(seed: int) -> dict[str, Any]:
    """One mechanism, run and judged."""
    made = trial(seed)
    row = (against_modes if made.family.startswith("rough") else against_reduced)(made)
    return {"seed": seed, "family": made.family, **made.settings, **row}


def summary(rows: list[dict[str, Any]]) -> str:
    """The figures of the campaign so far."""
    impacts, wrong = sum(r["impacts"] for r in rows), sum(bool(r["wrong"]) for r in rows)
    apart = max(r.get("apart", 0.0) for r in rows)
    words = [f"{len(rows)} motions, {impacts} impacts, {wrong} wrong; at most {apart:.2g} apart"]
    for name, of in (("status", "in guides and along them"), ("family", ""), ("stepper", ""), ("impact", "law")):
        words.append(f"{name} {of}: {dict(Counter(row[name] for row in rows))}")
    return "\n".join(words)


def main() -> None:
    """Run the campaign and print its figures."""
    parser = argparse.ArgumentParser(description="Mechanisms in guides against models without them.")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    rows = []
    for seed in range(given.first, given.first + given.count):
        rows.append(judged(seed))
        if rows[-1]["wrong"] or set(rows[-1]["status"]) != {"solved"}:
            print(seed, rows[-1])
        if len(rows) % 50 == 0 or len(rows) == given.count:
            print(summary(rows), flush=True)


if __name__ == "__main__":
    main()
