"""Batches on a graphics processor: steps a second, differences from the processor, bits that do not depend on parts.

    pip install 'gaussopt[cuda]' [mujoco_warp]
    python benchmarks/gpu.py [--members 1000000] [--steps 1000] [--parts joints contacts warp bits] [--out docs/gpu.md]

Takes less than five minutes on a card of 2023, of which `contacts` and `bits` take one. Without a card,
`NUMBA_ENABLE_CUDASIM=1` runs numba's simulator with `--members 4 --steps 20`; its times say nothing, and the rows say
"not measured".
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from cart import cart
from mechanisms import MECHANISMS
from rivals import mujoco_engine

import gaussopt as go
from gaussopt.compiled import cuda
from gaussopt.simulation import batch_cuda

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") == "1"

CASES = {"crank-slider": "tau", "four-bar": "psi", "cart": "mu"}
"""Problems, and the parameter that is different for each member; the cart of `cart.py` has a rough contact."""

PARTS = ("joints", "contacts", "warp", "bits")
"""Parts of the measurement: mechanisms, carts with a contact, MuJoCo Warp, and whether states are equal bit for bit."""

WORLDS = (1024, 8192, 65536)
"""Numbers of motions of MuJoCo Warp."""

WARP_STEPS = 500
"""Steps that MuJoCo Warp is timed over."""

DT = 1e-3

RECORDS = 10
"""Recorded states of each member besides the start."""

COMPARED = 64
"""Members that the processor computes, too."""

METHODS = (
    ("rk4", "none"), ("rk4", "projection"), ("semi-implicit", "none"), ("velocity-gauss", "none"), ("rattle", "none"),
    ("rk45", "none"), ("dop853", "none"),
)  # fmt: skip
"""Steppers and stabilisations."""


@dataclass(frozen=True)
class Row:
    """What was measured; times in s, None where they mean nothing."""

    device: str
    problem: str
    stepper: str
    stabilisation: str
    certified: bool
    members: int
    steps: int
    kernel: float | None
    whole: float | None
    difference: float
    solved: int

    def rate(self, seconds: float | None) -> str:
        """Million steps a second, all members together."""
        return "not measured" if seconds is None else f"{self.members * self.steps / seconds / 1e6:,.0f}"

    def cells(self) -> list[str]:
        """The row of the table."""
        return [
            self.device, self.problem, self.stepper, self.stabilisation, "yes" if self.certified else "no",
            f"{self.members:,}", f"{self.steps:,}", self.rate(self.kernel), self.rate(self.whole),
            f"{self.difference:.1e}", f"{self.solved:,} of {self.members:,}",
        ]  # fmt: skip


HEAD = (
    "device", "problem", "stepper", "stabilisation", "certified", "members", "steps", "kernel, 10^6 steps/s",
    "whole call, 10^6 steps/s", "largest difference from the processor", "solved",
)  # fmt: skip


def batch(problem: str, members: int, steps: int, device: str, **settings: Any) -> Any:
    """Compute a batch whose members differ in one parameter, and in the same way whatever their number."""
    entry = cart() if problem == "cart" else go.problem(problem)
    name = CASES[problem]
    values = entry.parameter_values[name] * (0.8 + 0.4 * (np.arange(members) % COMPARED) / COMPARED)
    start = {"q0": entry.q0, "v0": entry.v0}
    return go.simulate_batch(
        entry, parameters={name: values}, initial=start, dt=DT, t_end=steps * DT, record_every=steps // RECORDS,
        device=device, **settings,
    )  # fmt: skip


def measured(problem: str, members: int, steps: int, certify: bool, device: str = "cuda", **settings: Any) -> Row:
    """Run a batch after a small one with everything that has to be compiled, and compare it with the processor's."""
    batch(problem, min(members, COMPARED), steps, device, certify=certify, **settings)
    begin = perf_counter()
    found = batch(problem, members, steps, device, certify=certify, **settings)
    whole = perf_counter() - begin
    few = min(members, COMPARED)
    known = batch(problem, few, steps, "cpu", certify=certify, **settings)
    difference = max(float(np.abs(found[x].values[:few] - known[x].values).max()) for x in ("q", "v"))
    timing = json.loads(found.attrs["timing"])
    return Row(
        device, problem, settings.get("stepper", "rk4"), settings.get("stabilisation", "none"), certify, members, steps,
        None if SIMULATED else timing.get("kernel", timing["march"]), None if SIMULATED else whole, difference,
        int((found.status.values == "solved").sum()),
    )  # fmt: skip


def contacts(members: int, steps: int) -> Iterator[Row]:
    """Carts that stick and slip, three times as many steps: the states alone, with certificates, on the processor."""
    few, settings = max(1, members // 10), {"stepper": "moreau-jean"}
    yield measured("cart", members, 3 * steps, False, **settings)
    yield measured("cart", few, 3 * steps, True, **settings)
    yield measured("cart", max(1, members // 100), 3 * steps, False, "cpu", **settings)


def joints(members: int, steps: int) -> Iterator[Row]:
    """Every case, the states alone and with certificates, ten times as long, and on the processor; then all methods."""
    few = max(1, members // 10)
    for problem in ("crank-slider", "four-bar"):
        yield measured(problem, members, steps, False)
        # The four-bar has no generated certificate, as its mass matrix is singular: a millisecond of Python a state.
        yield measured(problem, members if problem == "crank-slider" else max(1, members // 1000), steps, True)
        yield measured(problem, members, 10 * steps, False)
        yield measured(problem, few, steps, False, "cpu")
    for stepper, stabilisation in METHODS[1:]:
        yield measured("crank-slider", few, steps, False, stepper=stepper, stabilisation=stabilisation)


def warp(steps: int, rates: list[float]) -> list[str]:
    """Tell how fast MuJoCo Warp steps the crank-slider, or why that is not measured; its rates are added to `rates`."""
    try:
        import mujoco
        import mujoco_warp
        import warp as wp
    except ImportError as error:
        return [f"MuJoCo Warp was not measured beside it: {error}."]
    if SIMULATED or not wp.is_cuda_available():
        return ["MuJoCo Warp was not measured beside it: there is no card."]
    model, data = mujoco_engine.build(MECHANISMS["crank-slider"](), DT, mujoco_engine.Settings())
    model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_DIAGEXACT)  # which MuJoCo Warp does not have
    there = mujoco_warp.put_model(model)
    lines = ["| motions | steps | 10^6 steps/s | all states finite |", "| --- | --- | --- | --- |"]
    for count in WORLDS:
        worlds = mujoco_warp.put_data(model, data, nworld=count)
        mujoco_warp.step(there, worlds)  # compiles
        with wp.ScopedCapture() as capture:
            mujoco_warp.step(there, worlds)
        wp.synchronize()
        begin = perf_counter()
        for _ in range(steps):
            wp.capture_launch(capture.graph)
        wp.synchronize()
        rate = count * steps / (perf_counter() - begin) / 1e6
        rates.append(rate)
        finite = "yes" if np.isfinite(worlds.qpos.numpy()).all() else "NO"
        lines.append(f"| {count:,} | {steps:,} | {rate:,.1f} | {finite} |")
        print(lines[-1], file=sys.stderr, flush=True)
    about = (
        "MuJoCo Warp, the crank-slider as a joint tree with a closed loop, RK4, constraints as hard as they may be, "
        "float32, each step one CUDA graph, nothing recorded:"
    )
    return [about, "", *lines]


def goals(found: list[Row], rates: list[float]) -> list[str]:
    """Set the measured rows of this run against the goals, as lines of a table."""
    lines = ["| what | goal | measured | met |", "| --- | --- | --- | --- |"]

    def add(what: str, goal: float, measured: float, unit: str, most: bool = False) -> None:
        met = measured <= goal if most else measured >= goal
        kind = "at most" if most else "at least"
        lines.append(f"| {what} | {kind} {goal:,g}{unit} | {measured:,.3g}{unit} | {'yes' if met else 'no'} |")

    plain = [r for r in found if r.device == "cuda" and r.kernel and r.whole and r.stabilisation == "none"]
    for problem, goal in (("crank-slider", 8e9), ("four-bar", 1e10)):
        rows = [r for r in plain if r.problem == problem and r.stepper == "rk4" and not r.certified]
        if rows:
            kernel = max(r.members * r.steps / r.kernel for r in rows if r.kernel)
            whole = max(r.members * r.steps / r.whole for r in rows if r.whole)
            add(f"{problem}, RK4, kernel", goal, kernel, " steps/s")
            add(f"{problem}, RK4, whole call", goal / 2, whole, " steps/s")
            if problem == "crank-slider" and rates:
                add("crank-slider, kernel against the fastest row of MuJoCo Warp", 400, kernel / 1e6 / max(rates), " ×")
    for r in plain:
        if r.problem == "cart" and r.whole and r.members * r.steps >= 3_000_000_000:
            add(f"{r.members:,} carts with a contact, {r.steps:,} steps, whole call", 10, r.whole, " s", most=True)
    return lines if len(lines) > 2 else []


def same_bits(steps: int) -> bool:
    """Tell whether states are equal bit for bit in parts of two sizes, blocks of two sizes, and two runs."""
    members, found = (5 if SIMULATED else 1000), []
    known = batch_cuda.MEMBERS, cuda.THREADS
    try:
        for size, threads in ((known[0], 64), (members // 3, 64), (known[0], 128), (known[0], 64)):
            batch_cuda.MEMBERS, cuda.THREADS = size, threads
            one = [batch(problem, members, steps, "cuda", certify=False, **settings).q.values.tobytes()
                   for problem, settings in (("crank-slider", {}), ("cart", {"stepper": "moreau-jean"}))]  # fmt: skip
            found.append(b"".join(one))
    finally:
        batch_cuda.MEMBERS, cuda.THREADS = known
    return len(set(found)) == 1


def main() -> int:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=1000, help=f"a multiple of {RECORDS}")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path, help="page to write")
    given = parser.parse_args()
    if given.steps % RECORDS or given.steps < RECORDS:
        parser.error(f"--steps must be a multiple of {RECORDS}")
    card = "numba's simulator" if SIMULATED else cuda.driver().get_current_device().name
    card = card.decode() if isinstance(card, bytes) else str(card)
    table, rows, rates = [" | ".join(HEAD), " | ".join("---" for _ in HEAD)], list[Row](), list[float]()
    for part, found in (("contacts", contacts), ("joints", joints)):
        for row in found(given.members, given.steps) if part in given.parts else ():
            print(*row.cells(), sep=" | ", file=sys.stderr, flush=True)
            table.append(" | ".join(row.cells()))
            rows.append(row)
    equal = same_bits(given.steps) if "bits" in given.parts else None
    numbers = f"--members {given.members} --steps {given.steps}"
    command = f"python benchmarks/gpu.py {numbers} --parts {' '.join(given.parts)}"
    about = (
        f"Written by `{command}` on {card}, with {os.cpu_count()} cores "
        f"beside it; Python {platform.python_version()}. Float64; residuals of every step checked; steps of {DT:g} s, "
        f"{RECORDS} recorded states. `kernel` is the time that the card took for steps (for `cpu`, that of marching on "
        "all cores); `whole call` is that of `simulate_batch` after a first call that compiled, with all copies, the "
        "checks of recorded states and the dataset; `certified` tells whether certificates of recorded states are in "
        "it, which the processor computes. Methods with error control count intervals of recording as steps here. The "
        "cart sticks and slips on a rough floor."
    )
    same = {True: "equal", False: "NOT EQUAL", None: "not compared"}[equal]
    bits = f"States are {same} bit for bit in parts and blocks of two sizes and in two runs."
    beside = warp(WARP_STEPS, rates) if "warp" in given.parts else ["MuJoCo Warp was not measured beside it."]
    lines = [
        "# Batches on a graphics processor",
        "",
        about,
        "",
        *(f"| {line} |" for line in table),
        "",
        bits,
        "",
        *beside,
        "",
        *goals(rows, rates),
    ]
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    if given.out is not None:
        given.out.write_text(text)
    return 1 if equal is False else 0


if __name__ == "__main__":
    sys.exit(main())
