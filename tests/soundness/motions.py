"""Random motions with impacts, grazes and moving floors, judged by flights in closed form and by very fine looks.

Between two recorded states at which every contact is open a motion is a free flight (or that of a pendulum), which is
computed here from the first of them, without the package: a throw in closed form, a pendulum by an integration of its
own to thirteen digits. No gap may be below zero within it, no function of an event may change its sign, and where an
impact is reported the gap has to vanish.

    python tests/soundness/motions.py --count 1000 --out motions.jsonl --summary docs/soundness.md

goes on where it was interrupted; the summary is written between two marks of the file.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

import gaussopt as go

Array = NDArray[np.float64]
Path_ = Callable[[Array], tuple[Array, Array]]
"""Times after the beginning of a flight -> q, (N, n), and v, (N, n)."""

G = 9.81

SIZE = 1e-8
"""Depth, relative to 1 + the largest coordinate, from which on a fall below zero has to be found."""

FINE = 0.02
"""Turn of the fastest angle between two looks of the judge, rad."""

ADAPTIVE, FIXED, STEPPING = ("rk45", "dop853", "radau"), ("rk4", "semi-implicit"), ("moreau-jean",)
FAMILIES = ("rod", "box", "graze", "moving floor", "box on a moving floor", "pendulum", "event", "simultaneous")
MARKS = "<!-- motions -->", "<!-- /motions -->"


# -- what moves ------------------------------------------------------------------------------------------------------


@cache
def free_body(corners: int) -> go.System:
    """A rod (2 ends) or a box (4 corners), thrown over a floor that moves up and down."""
    x, y, th, vx, vy, w, t = sp.symbols("x y th vx vy w t")
    length, width, g, rise, often, mu, e = sp.symbols("length width g rise often mu e")
    signs = [(-1, 0), (1, 0)] if corners == 2 else [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    contacts = []
    for i, (s, u) in enumerate(signs):
        px = x + s * length / 2 * sp.cos(th) - u * width / 2 * sp.sin(th)
        py = y + s * length / 2 * sp.sin(th) + u * width / 2 * sp.cos(th)
        velocity = sum(sp.diff(px, a) * b for a, b in ((x, vx), (th, w)))
        floor = rise * sp.sin(often * t)
        contacts.append(go.Contact(f"P{i}", gap=py - floor, slip=(velocity,), mu=mu, e_N=e))
    inertia = (length**2 + width**2) / 12
    return go.System.from_lagrangian(
        [x, y, th], [vx, vy, w], kinetic=(vx**2 + vy**2 + inertia * w**2) / 2, potential=g * y, contacts=contacts,
        parameters={"length": 1.0, "width": 0.0, "g": G, "rise": 0.0, "often": 1.0, "mu": 0.0, "e": 0.5},
    )  # fmt: skip


@cache
def pendulum() -> go.System:
    """A bar on a hinge, in coordinates of its centre with two rows for the hinge; its tip meets a floor."""
    x, y, th, vx, vy, w = sp.symbols("x y th vx vy w")
    length, height, mu, e = sp.symbols("length height mu e")
    tip = go.Contact(
        "tip", gap=height + y + length / 2 * sp.sin(th), slip=(vx - length / 2 * sp.sin(th) * w,), mu=mu, e_N=e
    )
    return go.System.from_lagrangian(
        [x, y, th], [vx, vy, w], kinetic=(vx**2 + vy**2 + length**2 / 12 * w**2) / 2, potential=G * y,
        holonomic=[x - length / 2 * sp.cos(th), y - length / 2 * sp.sin(th)], contacts=[tip],
        parameters={"length": 1.0, "height": 0.9, "mu": 0.0, "e": 0.5},
    )  # fmt: skip


@dataclass(frozen=True)
class Motion:
    """One motion of the campaign: what moves, from where, how long, and how it is integrated."""

    seed: int
    family: str
    parameters: dict[str, float]
    q0: Sequence[float]
    v0: Sequence[float]
    t_end: float
    stepper: str
    dt: float | None
    event: tuple[str, float, float, int] | None

    @property
    def corners(self) -> int:
        """Contact points of a free body."""
        return 2 if self.parameters["width"] == 0.0 else 4

    def system(self) -> go.System:
        """The system with the motion's parameters."""
        if self.family == "pendulum":
            return pendulum().with_parameters(**self.parameters)
        return free_body(self.corners).with_parameters(**self.parameters)

    def events(self) -> list[go.Event]:
        """The event, where the motion has one."""
        if self.event is None:
            return []
        kind, factor, level, direction = self.event
        return [go.Event("mark", lambda t, q, v: float(_mark(kind, factor, level, q[None, :])[0]), direction)]

    # -- the judge's own mechanics -------------------------------------------------------------------------------------

    def gaps(self, t: Array, q: Array) -> Array:
        """All gaps, (N, k)."""
        p = self.parameters
        half = 0.5 * p["length"]
        if self.family == "pendulum":
            return (p["height"] + q[:, 1] + half * np.sin(q[:, 2]))[:, None]
        signs = [(-1, 0), (1, 0)] if self.corners == 2 else [(-1, -1), (1, -1), (1, 1), (-1, 1)]
        floor = p["rise"] * np.sin(p["often"] * t)
        s, c = np.sin(q[:, 2]), np.cos(q[:, 2])
        return np.stack([q[:, 1] + a * half * s + b * 0.5 * p["width"] * c - floor for a, b in signs], axis=1)

    def flight(self, q: Array, v: Array, h: float) -> Path_:
        """The flight of length h from a state."""
        if self.family == "pendulum":
            return self._swing(q, v, h)
        g = np.array([0.0, -self.parameters["g"], 0.0])
        # The method of order one has its own flight, whose error of order h^2 a step is no missed impact.
        half = 1.0 if self.stepper == "semi-implicit" else 0.5

        def thrown(s: Array) -> tuple[Array, Array]:
            x = s[:, None]
            return q + x * v + half * x**2 * g, v + x * g

        return thrown

    def _swing(self, q: Array, v: Array, h: float) -> Path_:
        half = 0.5 * self.parameters["length"]

        def rate(t: float, y: Array) -> Array:
            return np.array([y[1], -0.75 * G / half * math.cos(y[0])])

        found = solve_ivp(
            rate, (0.0, h), [q[2], v[2]], method="DOP853", rtol=1e-13, atol=1e-13, dense_output=True,
            max_step=0.1 / (1.0 + abs(v[2])),
        )  # fmt: skip

        def swung(s: Array) -> tuple[Array, Array]:
            th, w = found.sol(s)
            c, d = np.cos(th), np.sin(th)
            return half * np.stack([c, d, th / half], 1), half * np.stack([-d * w, c * w, w / half], 1)

        return swung

    def fastest(self, v: Array, h: float) -> float:
        """A bound for the rate of the angles of gaps and of the event, rad/s."""
        rate = abs(float(v[2])) + (8.0 * h / self.parameters["length"] * G if self.family == "pendulum" else 0.0)
        factor = 1.0 if self.event is None else max(1.0, self.event[1])
        return max(rate * factor, self.parameters.get("often", 0.0), 10.0)


def _mark(kind: str, factor: float, level: float, q: Array) -> Array:
    """A person's function: a height, or a turn of the body, above a level."""
    return q[:, 1] - level if kind == "height" else np.sin(factor * q[:, 2]) + level


# -- random motions --------------------------------------------------------------------------------------------------


def motion(seed: int) -> Motion:
    """The motion of a number; families and steppers take turns, all else is random."""
    random = np.random.default_rng([20, seed])
    family = FAMILIES[seed % len(FAMILIES)]
    stepper = (*ADAPTIVE, *ADAPTIVE, *FIXED, *STEPPING)[seed // len(FAMILIES) % 9]
    uniform = random.uniform
    length = float(uniform(0.3, 2.0))
    p = {
        "length": length, "width": 0.0, "g": G, "rise": 0.0, "often": 1.0,
        "mu": float(random.choice([0.0, 0.3])), "e": float(random.choice([0.0, 0.3, 0.7, 1.0])),
    }  # fmt: skip
    spin = float(random.choice([-1, 1]) * 10 ** uniform(-0.5, math.log10(60.0)))
    if "box" in family or family == "simultaneous":
        p["width"] = float(uniform(0.2, 1.0) * length)
    reach = 0.5 * math.hypot(p["length"], p["width"])
    q0 = [0.0, reach + float(uniform(0.05, 1.5)), float(uniform(-3, 3))]
    v0 = [float(uniform(-1, 1)), float(uniform(-2, 2)), spin]
    event = None
    if "moving" in family:
        p["rise"], p["often"] = float(10 ** uniform(-3, -1)), float(10 ** uniform(0.5, 2.5))
        q0[1] += p["rise"]
    elif family == "graze":
        p["g"], p["e"] = 0.0, float(random.choice([0.3, 1.0]))
        q0[1], v0[1] = 0.5 * length - float(10 ** uniform(-8, -2)) * (1.0 + 3.0), 0.0
        q0[2] = float(uniform(-0.3, 0.3))
    elif family == "simultaneous":
        q0[2], v0[2], p["mu"] = 0.0, 0.0, 0.0
        q0[1] = 0.5 * p["width"] + float(uniform(0.05, 1.0))
    elif family == "event":
        kind, direction = str(random.choice(["height", "turn"])), int(random.integers(-1, 2))
        top = q0[1] + max(v0[1], 0.0) ** 2 / (2 * G)
        depth = float(10 ** uniform(-6, -2))
        event = (kind, float(random.integers(1, 4)), top - depth if kind == "height" else 1.0 - depth, direction)
        v0[1] = abs(v0[1])
    elif family == "pendulum":
        p = {key: p[key] for key in ("length", "mu", "e")}
        p["height"] = length * float(1.0 - 10 ** uniform(-7, -0.2))
        th = float(uniform(-0.4, 0.4)) if p["height"] > 0.6 * length else 0.5
        q0 = [0.5 * length * math.cos(th), 0.5 * length * math.sin(th), th]
        v0 = [-0.5 * length * math.sin(th) * spin, 0.5 * length * math.cos(th) * spin, spin]
    dt = float(10 ** uniform(-2.7, -1.2)) if stepper not in ADAPTIVE or random.random() < 0.5 else None
    t_end = 1.0
    if stepper in STEPPING:
        event = None
    return Motion(seed, family, p, q0, v0, _end(Motion(seed, family, p, q0, v0, t_end, "rk4", dt, event)), stepper, dt,
                  event)  # fmt: skip


def _end(made: Motion) -> float:
    """The end of a motion: soon after its first impact, so that it has few of them."""
    q, v = np.array(made.q0), np.array(made.v0)
    path = made.flight(q, v, 2.0)
    s = np.linspace(0.0, 2.0, max(400, math.ceil(2.0 * made.fastest(v, 0.2) / 0.1)))
    below = (made.gaps(s, path(s)[0]) < 0).any(axis=1)
    return 1.0 if not below.any() else 1.25 * float(s[below.argmax()]) + 0.01


# -- the judge -------------------------------------------------------------------------------------------------------


def judge(made: Motion, traj: go.Trajectory) -> dict[str, Any]:
    """What is wrong with a motion: falls that were missed, impacts where nothing touches."""
    missed: list[str] = []
    flights = closed = 0
    if made.stepper in STEPPING:
        missed = _stepped_through(made, traj)
    else:
        for i in range(len(traj.t) - 1):
            if traj.t[i + 1] - traj.t[i] <= 1e-12:
                continue
            if traj.mode[i].any():
                closed += 1
                continue
            flights += 1
            missed += _within(made, traj, i)
    impacts = [event for event in traj.events if event["kind"] == "impact"]
    return {
        "missed": missed, "phantoms": _phantoms(made, traj, impacts), "impacts": len(impacts), "flights": flights,
        "closed": closed, "marks": sum(event["kind"] == "mark" for event in traj.events),
    }  # fmt: skip


def _grid(made: Motion, v: Array, h: float) -> Array:
    return np.linspace(0.0, h, 8 + math.ceil(h * made.fastest(v, h) / FINE))


def _within(made: Motion, traj: go.Trajectory, i: int) -> Iterator[str]:
    """What one flight passes unseen."""
    t, h, q, v = traj.t[i], traj.t[i + 1] - traj.t[i], traj.q[i], traj.v[i]
    path, s = made.flight(q, v, h), _grid(made, v, h)
    size = SIZE * (1.0 + float(np.abs(traj.q[i : i + 2]).max()))
    if made.stepper == "semi-implicit":
        size += made.parameters.get("g", G) * h**2
    # What the step of the method is away from the flight is its error, and no impact that was missed.
    size += 3.0 * float(np.abs(path(np.array([h]))[0][0] - traj.q[i + 1]).max())

    def gap(j: int, x: float) -> float:
        return float(made.gaps(np.array([t + x]), path(np.array([x]))[0])[0, j])

    values = made.gaps(t + s, path(s)[0])
    for j in range(values.shape[1]):
        low = _lowest(s, values[:, j], lambda x, j=j: gap(j, x))
        if low < -size:
            yield f"contact {j} at {low:.3g} in the step from t = {t:.9g}"
    if made.event is not None:
        kind, factor, level, direction = made.event
        signs = _mark(kind, factor, level, path(s)[0])
        signs = np.sign(signs[np.abs(signs) > SIZE * (1.0 + float(np.abs(q).max()))])
        change = np.diff(signs)
        if ((change < 0) & (direction <= 0)).any() or ((change > 0) & (direction >= 0)).any():
            yield f"the event in the step from t = {t:.9g}"


def _lowest(s: Array, values: Array, function: Callable[[float], float]) -> float:
    """The least value of a function, finer than the grid where a minimum lies near zero."""
    low = float(values.min())
    inner = np.flatnonzero((values[1:-1] <= values[:-2]) & (values[1:-1] <= values[2:])) + 1
    for i in inner[np.abs(values[inner]) < 1e-3]:
        found = minimize_scalar(function, bounds=(s[i - 1], s[i + 1]), method="bounded", options={"xatol": 1e-9})
        low = min(low, float(found.fun))
    return low


def _stepped_through(made: Motion, traj: go.Trajectory) -> list[str]:
    """Steps of a time-stepping method that turn far and lead a point through the floor and out again."""
    found = []
    for i in range(len(traj.t) - 1):
        h = float(traj.t[i + 1] - traj.t[i])
        if not h or abs(traj.q[i + 1, 2] - traj.q[i, 2]) < 0.6:
            continue
        s = np.linspace(0.0, 1.0, 400)[:, None]
        values = made.gaps(traj.t[i] + h * s[:, 0], traj.q[i] + s * (traj.q[i + 1] - traj.q[i]))
        touched = traj.lam_N[i + 1] > 0
        through = (values.min(axis=0) < -SIZE) & (values[0] >= 0) & (values[-1] >= 0) & ~touched
        found += [f"contact {j} in the step from t = {traj.t[i]:.9g}" for j in np.flatnonzero(through)]
    return found


def _phantoms(made: Motion, traj: go.Trajectory, impacts: Sequence[dict[str, Any]]) -> list[str]:
    """Impacts at which no named contact touches and approaches."""
    found = []
    for event in impacts:
        i = int(np.argmin(np.abs(traj.t - event["t"])))
        gaps = made.gaps(traj.t[i : i + 1], traj.q[i : i + 1])[0]
        names = [int(name[1:]) if name[1:].isdigit() else 0 for name in event["contacts"]]
        far = np.abs(gaps[names]).min() > 1e-7 * (1.0 + float(np.abs(traj.q[i]).max()))
        if far or min(event["gap_rates"]) >= 0:
            found.append(f"t = {event['t']:.9g}")
    return found


def trial(seed: int) -> dict[str, Any]:
    """One motion, run and judged."""
    made = motion(seed)
    system, begin = made.system(), process_time()
    traj = go.simulate(
        system, q0=made.q0, v0=made.v0, t_end=made.t_end, stepper=made.stepper, dt=made.dt, events=made.events(),
        step_folder=None,
    )  # fmt: skip
    seconds = process_time() - begin
    return {
        "seed": seed, "family": made.family, "stepper": made.stepper, "dt": made.dt, "status": str(traj.status),
        "message": traj.message, "seconds": seconds, **judge(made, traj),
    }  # fmt: skip


# -- the campaign ----------------------------------------------------------------------------------------------------


def told(row: dict[str, Any]) -> str | None:
    """What is wrong with a motion."""
    return f"{row['missed']} {row['phantoms']}" if row["missed"] or row["phantoms"] else None


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """The section of docs/soundness.md."""
    lines = [
        "## Motions",
        "",
        f"{len(rows)} random motions ({', '.join(FAMILIES)}) with {sum(r['impacts'] for r in rows)} impacts and "
        f"{sum(r['marks'] for r in rows)} events of a person's own, every flight between two recorded states compared "
        "with its closed form (pendulums: with an integration of its own to thirteen digits) at looks 0.02 rad apart. "
        f"Missed is a gap deeper below zero than {SIZE:g} of 1 + the largest coordinate and three times the error of "
        "the step, or a change of sign of an event, that is not in the list of events; a phantom is an impact without "
        "contact. What these motions are held "
        "to is promised in [friction.md](friction.md#which-impacts-are-found).",
        "",
        "| stepper | dt | motions | solved or accumulated | refused | impacts | missed | phantoms |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for stepper in (*ADAPTIVE, *FIXED, *STEPPING):
        for given in (False, True):
            part = [r for r in rows if r["stepper"] == stepper and (r["dt"] is not None) == given]
            if part:
                fine = sum(r["status"] in ("solved", "accumulation") for r in part)
                lines.append(
                    f"| {stepper} | {'given' if given else 'none'} | {len(part)} | {fine} | {len(part) - fine} | "
                    f"{sum(r['impacts'] for r in part)} | {sum(len(r['missed']) for r in part)} | "
                    f"{sum(len(r['phantoms']) for r in part)} |"
                )
    causes = Counter(_cause(r) for r in rows if r["status"] not in ("solved", "accumulation"))
    refused = "; ".join(f"{number} × {cause}" for cause, number in causes.most_common()) or "none"
    command = "python tests/soundness/motions.py --count 1000 --out motions.jsonl --summary docs/soundness.md"
    lines += ["", f"Refused, by cause: {refused}.", "", "```sh", command, "```"]
    return "\n".join(lines)


def _cause(row: dict[str, Any]) -> str:
    """The sentence of a refusal without its numbers."""
    words = row["message"].split(": ", 1)[-1].split(";")[0]
    return " ".join("…" if any(c.isdigit() for c in word) else word for word in words.split())[:160].rstrip(".")


def main() -> int:
    """The command line; 1 where something was missed."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the tests import each other from their folder
    from soundness.trials import lines

    what = "Random motions against closed forms.", 1000, "motions.jsonl"
    return int(any(map(told, lines.campaign(*what, trial, told, summary, MARKS))))


if __name__ == "__main__":
    sys.exit(main())
