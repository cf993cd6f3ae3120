"""Random smooth, stiff, pulsed and oscillating motions by all steppers: is their estimated error that of the motion?

One coordinate x under springs, dampers, pulses and forces that swing, alone (`free`), with a second coordinate tied to
it by s = sin x (`curve`), or sliding without friction on a floor (`floor`). The truth is an integration of the equation
of x, written down here, by SciPy to twelve digits; it is compared at every step of the motion.

    python tests/soundness/estimates.py --count 500 --out estimates.jsonl --summary docs/soundness.md

goes on where it was interrupted; the summary is written between two marks of the file.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import gaussopt as go

Array = NDArray[np.float64]

OFF = 0.01
"""Error relative to the range of the motion that has to be told."""

FACTOR = 3.0
"""By which the true error may exceed its estimate."""

ROUNDING, TRUE = 1e-10, 1e-10
"""Error relative to the range below which rounding may decide, and absolute, below which the truth itself may."""

KINDS = ("smooth", "stiff", "pulsed", "oscillating")
ADAPTIVE = ("rk45", "dop853", "radau", "radau-projected")
STEPPERS = {
    "free": ("rk4", "semi-implicit", "rk45", "dop853", "radau"),
    "curve": ("rk4", "semi-implicit", "rattle", "velocity-gauss", "radau-projected", "dop853", "rk45", "radau"),
    "floor": ("rk4", "semi-implicit", "moreau-jean", "as-printed-001", "dop853", "rk45", "radau"),
}
PAIRS = [(form, stepper) for form, steppers in STEPPERS.items() for stepper in steppers]
MOST = {"free": 400, "curve": 250, "floor": 100}
"""Steps of a motion, about, that time allows."""

NAMES = ("k", "d", "w", "c", "b", "p1", "t1", "s1", "p2", "t2", "s2")
MARKS = "<!-- estimates -->", "<!-- /estimates -->"


@cache
def system(form: str) -> go.System:
    """The system of one form, all numbers of the force zero."""
    x, s, y, vx, vs, vy, t = sp.symbols("x s y vx vs vy t")
    k, d, w, c, b, p1, t1, s1, p2, t2, s2 = values = sp.symbols(" ".join(NAMES))
    pulses = sum(p * sp.exp(-(((t - at) / wide) ** 2)) for p, at, wide in ((p1, t1, s1), (p2, t2, s2)))
    force = -k * (x - d * sp.cos(w * t)) - c * vx - b * sp.sin(x) + pulses
    make = partial(
        go.System.from_lagrangian, parameters={p: 1.0 if p in (s1, s2) else 0.0 for p in values}, t=t, name=f"x-{form}"
    )
    if form == "free":
        return make([x], [vx], kinetic=vx**2 / 2, forces={x: force})
    if form == "curve":
        rows = {"curve": s - sp.sin(x)}
        return make([x, s], [vx, vs], kinetic=(vx**2 + vs**2) / 2, forces={x: force}, holonomic=rows)
    floor = go.Contact("floor", gap=y, slip=(vx,), mu=0, e_N=0)
    return make([x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, potential=9.81 * y, forces={x: force}, contacts=[floor])


@dataclass(frozen=True)
class Motion:
    """One motion of the campaign."""

    seed: int
    kind: str
    form: str
    stepper: str
    parameters: dict[str, float]
    x0: float
    v0: float
    t_end: float
    settings: dict[str, Any]

    def run(self, **more: Any) -> go.Trajectory:
        """The motion by gaussopt."""
        q0, v0 = [self.x0], [self.v0]
        if self.form == "curve":
            q0, v0 = [self.x0, math.sin(self.x0)], [self.v0, math.cos(self.x0) * self.v0]
        elif self.form == "floor":
            q0, v0 = [self.x0, 0.0], [self.v0, 0.0]
        return go.simulate(
            system(self.form).with_parameters(**self.parameters), q0=q0, v0=v0, t_end=self.t_end, stepper=self.stepper,
            step_folder=None, **(self.settings | more),
        )  # fmt: skip

    # -- the judge's own mechanics -------------------------------------------------------------------------------------

    def rate(self, t: float, y: Array) -> list[float]:
        """The equation of x."""
        p, (x, v) = self.parameters, y
        force = -p["k"] * (x - p["d"] * math.cos(p["w"] * t)) - p["c"] * v - p["b"] * math.sin(x)
        for i in "12":
            force += p[f"p{i}"] * math.exp(-min(((t - p[f"t{i}"]) / p[f"s{i}"]) ** 2, 700.0))
        if self.form != "curve":
            return [v, force]
        sine, cosine = math.sin(x), math.cos(x)
        return [v, (force + sine * cosine * v * v) / (1.0 + cosine * cosine)]

    def truth(self, t: Array) -> Array:
        """X at increasing instants, in pieces on which no pulse begins."""
        p = self.parameters
        breaks = {0.0, self.t_end}
        for i in "12":
            if p[f"p{i}"]:
                breaks |= {p[f"t{i}"] + n * p[f"s{i}"] for n in (-7, -3, -1, 0, 1, 3, 7)}
        edges = sorted(x for x in breaks if 0.0 <= x <= self.t_end)
        found, state = np.full(len(t), self.x0), [self.x0, self.v0]
        for begin, end in pairwise(edges):
            inside = (t > begin) & (t <= end)
            at = np.unique(np.append(t[inside], end))
            done = solve_ivp(self.rate, (begin, end), state, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=at)
            assert done.success
            found[inside] = done.y[0][np.searchsorted(done.t, t[inside])]
            state = done.y[:, -1].tolist()
        return found


def motion(seed: int) -> Motion:
    """The motion of a number; kinds, forms and steppers take turns, all else is random."""
    random = np.random.default_rng([32, seed])
    kind, (form, stepper) = KINDS[seed % len(KINDS)], PAIRS[seed // len(KINDS) % len(PAIRS)]

    def log(low: float, high: float) -> float:
        return float(10 ** random.uniform(low, high))

    p = dict.fromkeys(NAMES, 0.0) | {
        "k": float(random.uniform(0, 4)), "d": float(random.uniform(0, 1)), "w": float(random.uniform(0.3, 3)),
        "c": float(random.uniform(0, 0.5)), "b": float(random.choice([0.0, random.uniform(0, 5)])),
        "s1": 1.0, "s2": 1.0,
    }  # fmt: skip
    t_end, dt = log(0.3, 1.3), log(-3.0, -1.0)
    fastest = math.sqrt(p["k"] + p["b"]) + p["w"]
    if kind == "stiff":
        p["k"], p["b"], t_end = log(2, 5), 0.0, log(-0.3, 0.5)
        p["c"] = 2 * log(-0.5, 0.7) * math.sqrt(p["k"])
        fastest = p["c"] + math.sqrt(p["k"])
    elif kind == "oscillating":
        p["k"], p["c"] = log(0, 3), 0.0
        fastest = math.sqrt(p["k"])
        t_end = 2 * math.pi / fastest * log(0.5, 1.7)
    elif kind == "pulsed":
        for i in "12"[: int(random.integers(1, 3))]:
            p[f"s{i}"] = t_end * log(-3.0, -1.0)
            p[f"t{i}"] = float(random.uniform(0.1, 0.9)) * t_end
            p[f"p{i}"] = log(-0.5, 0.5) / p[f"s{i}"]
    settings: dict[str, Any] = {"record_every": int(random.choice([1, 7, 1000]))}
    if stepper in ADAPTIVE:
        t_end = min(t_end, MOST[form] / fastest) if kind == "stiff" else t_end
        implicit = stepper.startswith("radau")
        settings |= {"rtol": log(-6 if implicit else -9, -3), "dt": None}
        t_end = min(t_end, 30 / fastest) if implicit and kind == "oscillating" else t_end
        settings["atol"] = settings["rtol"]
        if random.random() < 0.3:
            settings["dt"] = t_end / int(random.integers(10, 100))
    else:
        # From a hundredth of what the method can follow to a third beyond it.
        dt = log(-2.0, 0.3) / fastest if kind in ("stiff", "oscillating") else t_end * dt
        settings["dt"] = dt
        t_end = min(t_end, MOST[form] * dt)
    x0, v0 = float(random.uniform(-1, 1)), float(random.uniform(-1, 1))
    if kind == "stiff":
        x0, v0 = p["d"] + 0.1 * x0, 0.0
    return Motion(seed, kind, form, stepper, p, x0, v0, t_end, settings)


def trial(seed: int) -> dict[str, Any]:
    """One motion, run and judged."""
    made = motion(seed)
    row: dict[str, Any] = {
        "seed": seed, "kind": made.kind, "form": made.form, "stepper": made.stepper, "status": "refused",
        "message": "", "warned": False, "estimate": None, "off": None, "error": None,
    }  # fmt: skip
    try:
        traj = made.run()
    except go.GaussoptError as error:  # the first step is none already
        return row | {"message": str(error)}
    row |= {"status": str(traj.status), "message": traj.message, "warned": bool(traj.warnings)}
    if traj.status != "solved":
        return row
    steps = traj if made.settings["record_every"] == 1 else made.run(error_estimate=False, record_every=1)
    x = steps.q[:, 0]
    truth = made.truth(steps.t)
    error, size = float(np.abs(x - truth).max()), float(np.ptp(truth))
    assert np.array_equal(steps.q[-1], traj.q[-1])
    estimate = float(traj.error_estimate[0])
    row |= {"error": error, "off": error / size, "estimate": estimate if math.isfinite(estimate) else None}
    return row


def silent(row: dict[str, Any]) -> bool:
    """Whether a solved motion is off without a warning."""
    return row["off"] is not None and row["off"] > OFF and not row["warned"]


def low(row: dict[str, Any]) -> bool:
    """Whether the true error is above three times the estimate, where there is one."""
    if row["estimate"] is None or row["off"] < ROUNDING or row["error"] < TRUE:
        return False
    return bool(row["error"] > FACTOR * row["estimate"])


# -- the campaign ----------------------------------------------------------------------------------------------------


def told(row: dict[str, Any]) -> str | None:
    """A motion whose estimate does not say how far it is off."""
    return str(row) if silent(row) or low(row) else None


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """The section of docs/soundness.md."""
    known = [r for r in rows if r["estimate"] is not None]
    lines = [
        "### Estimated errors",
        "",
        f"{len(rows)} random motions ({', '.join(KINDS)}) by all steppers, compared at every step with an integration "
        "of the equation of motion to twelve digits that shares no code with gaussopt. Silent is a motion called "
        f"solved that is off by more than {100 * OFF:g} % of its range at some step without a warning; low an estimate "
        f"of which the true error is more than {FACTOR:g} times; false a warning about a motion that is off by less "
        f"than a third of {100 * OFF:g} %.",
        "",
        "| kind | stepper | motions | solved | off | silent | low | false |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    groups = [
        ("all", "all"),
        *((kind, "all") for kind in KINDS),
        *(("all", x) for x in dict.fromkeys(x for _, x in PAIRS)),
    ]
    for kind, stepper in groups:
        part = [r for r in rows if kind in ("all", r["kind"]) and stepper in ("all", r["stepper"])]
        solved = [r for r in part if r["off"] is not None]
        false = sum(r["warned"] and r["off"] < OFF / 3 for r in solved)
        lines.append(
            f"| {kind} | {stepper} | {len(part)} | {len(solved)} | {sum(r['off'] > OFF for r in solved)} | "
            f"{sum(map(silent, part))} | {sum(map(low, part))} | {false} |"
        )
    ratios = np.array([r["estimate"] / r["error"] for r in known if r["off"] >= ROUNDING])
    parts = ", ".join(f"{x:.2g}" for x in np.quantile(ratios, [0.01, 0.1, 0.5, 0.9, 0.99])) if len(ratios) else "none"
    command = "python tests/soundness/estimates.py --count 500 --out estimates.jsonl --summary docs/soundness.md"
    lines += [
        "", f"Estimate divided by true error, at 1, 10, 50, 90 and 99 % of the motions: {parts}.",
        "", "```sh", command, "```",
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> int:
    """The command line; 1 where a motion is silently off, or more than 1 % of the estimates are low."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the tests import each other from their folder
    from soundness.trials import lines

    what = "Estimated errors of random motions against the truth.", 500, "estimates.jsonl"
    rows = lines.campaign(*what, trial, told, summary, MARKS)
    return int(any(map(silent, rows)) or sum(map(low, rows)) > 0.01 * len(rows))


if __name__ == "__main__":
    sys.exit(main())
