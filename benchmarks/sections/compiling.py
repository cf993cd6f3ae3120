"""Seconds that the first compiled motion of a system takes to compile, in a process with empty caches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from measuring import Spread
from page import Goal, Section, Table, number

LIMIT = 5.0
MOTIONS = (
    ("crank-slider, rk4", "go.simulate('crank-slider', engine='compiled', t_end=0.1)"),
    ("crank-slider, rk4, projected",
     "go.simulate('crank-slider', engine='compiled', t_end=0.1, stabilisation='projection')"),
    ("crank-slider, dop853, projected",
     "go.simulate('crank-slider', engine='compiled', t_end=0.1, stabilisation='projection', stepper='dop853')"),
    ("four-bar, rk4", "go.simulate('four-bar', engine='compiled', t_end=0.1)"),
    ("knife-edge-body, rk4", "go.simulate('knife-edge-body', engine='compiled', t_end=0.1)"),
    ("sliding-rod", "go.simulate('sliding-rod', engine='compiled', t_end=0.1)"),
    ("two-bar", "go.simulate('two-bar', engine='compiled', t_end=0.1)"),
    ("batch of crank-sliders, rk4", "go.simulate_batch('crank-slider', parameters={'tau': [-0.5, -0.4]}, t_end=0.1)"),
    ("four-bar, rattle", "go.simulate('four-bar', engine='compiled', t_end=0.1, stepper='rattle')"),
)  # fmt: skip
"""What is run; the last two belong to no paper's motion."""

PAPERS = 7

SCRIPT = """
import json, time
import gaussopt as go
begin = time.perf_counter()
motion = {motion}
spent = time.perf_counter() - begin
again = time.perf_counter()
{motion}
print(json.dumps(spent - (time.perf_counter() - again)))
"""
"""The second run has everything in memory: the difference is compiling, and deriving the equations."""


def measure(budget: float) -> Section:
    """Each motion once; a compiler has no median."""
    rows, data = [], []
    for name, motion in MOTIONS:
        seconds = _first(motion)
        rows.append((name, number(seconds)))
        data.append({"motion": name, "seconds": seconds})
    worst = max(float(str(d["seconds"])) for d in data[:PAPERS])
    return Section(
        "Compiling",
        (
            "How much longer a first motion takes than the same motion again, with nothing on disk: deriving the "
            "equations, writing the loop, compiling it. Later processes find it on disk.",
        ),
        (Table(("motion", "seconds"), rows, data),),
        (Goal("first compile of the papers' systems, the slowest", LIMIT, True, Spread.of([worst]), unit="s"),),
    )


def _first(motion: str) -> float:
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "GAUSSOPT_CACHE": empty}
        command = [sys.executable, "-c", SCRIPT.format(motion=motion)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))
