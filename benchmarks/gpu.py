"""Batches on a graphics processor: steps a second, differences from the processor, bits that do not depend on parts.

    pip install 'gaussopt[cuda]'
    python benchmarks/gpu.py [--members 1000000] [--steps 1000] [--out docs/gpu.md]

Takes less than three minutes on a card of 2023. Without a card, `NUMBA_ENABLE_CUDASIM=1` runs numba's simulator with
`--members 4 --steps 20`; its times say nothing, and the rows say "not measured".
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

import gaussopt as go
from gaussopt.compiled import cuda
from gaussopt.simulation import batch_cuda

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") == "1"

CASES = {"crank-slider": "tau", "four-bar": "psi"}
"""Problems, and the parameter that is different for each member."""

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
    entry = go.problem(problem)
    name = CASES[problem]
    values = entry.parameter_values[name] * (0.8 + 0.4 * (np.arange(members) % COMPARED) / COMPARED)
    start = {"q0": entry.q0, "v0": entry.v0}
    return go.simulate_batch(
        problem, parameters={name: values}, initial=start, dt=DT, t_end=steps * DT, record_every=steps // RECORDS,
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


def rows(members: int, steps: int) -> Iterator[Row]:
    """Every case, the states alone and with certificates, ten times as long, and on the processor; then all methods."""
    few = max(1, members // 10)
    for problem in CASES:
        yield measured(problem, members, steps, False)
        # The four-bar has no generated certificate, as its mass matrix is singular: a millisecond of Python a state.
        yield measured(problem, members if problem == "crank-slider" else max(1, members // 1000), steps, True)
        yield measured(problem, members, 10 * steps, False)
        yield measured(problem, few, steps, False, "cpu")
    for stepper, stabilisation in METHODS[1:]:
        yield measured("crank-slider", few, steps, False, stepper=stepper, stabilisation=stabilisation)


def same_bits(steps: int) -> bool:
    """Tell whether states are equal bit for bit in parts of two sizes, blocks of two sizes, and two runs."""
    members, found = (5 if SIMULATED else 1000), []
    known = batch_cuda.MEMBERS, cuda.THREADS
    try:
        for size, threads in ((known[0], 64), (members // 3, 64), (known[0], 128), (known[0], 64)):
            batch_cuda.MEMBERS, cuda.THREADS = size, threads
            found.append(batch("crank-slider", members, steps, "cuda", certify=False).q.values.tobytes())
    finally:
        batch_cuda.MEMBERS, cuda.THREADS = known
    return len(set(found)) == 1


def main() -> int:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=1000, help=f"a multiple of {RECORDS}")
    parser.add_argument("--out", type=Path, help="page to write")
    given = parser.parse_args()
    if given.steps % RECORDS or given.steps < RECORDS:
        parser.error(f"--steps must be a multiple of {RECORDS}")
    card = "numba's simulator" if SIMULATED else cuda.driver().get_current_device().name
    card = card.decode() if isinstance(card, bytes) else str(card)
    table = [" | ".join(HEAD), " | ".join("---" for _ in HEAD)]
    for row in rows(given.members, given.steps):
        print(*row.cells(), sep=" | ", file=sys.stderr, flush=True)
        table.append(" | ".join(row.cells()))
    equal = same_bits(given.steps)
    command = f"python benchmarks/gpu.py --members {given.members} --steps {given.steps}"
    about = (
        f"Written by `{command}` on {card}, with {os.cpu_count()} cores "
        f"beside it; Python {platform.python_version()}. Float64; residuals of every step checked; steps of {DT:g} s, "
        f"{RECORDS} recorded states. `kernel` is the time that the card took for steps (for `cpu`, that of marching on "
        "all cores); `whole call` is that of `simulate_batch` after a first call that compiled, with all copies, the "
        "checks of recorded states and the dataset; `certified` tells whether certificates of recorded states are in "
        "it, which the processor computes. Methods with error control count intervals of recording as steps here."
    )
    same = "equal" if equal else "NOT EQUAL"
    lines = [
        "# Batches on a graphics processor", "", about, "", *(f"| {line} |" for line in table), "",
        f"States are {same} bit for bit in parts and blocks of two sizes and in two runs.", "",
        "Contacts do not march on a card, and MuJoCo Warp was not measured beside it.",
    ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    print(text)
    if given.out is not None:
        given.out.write_text(text)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
