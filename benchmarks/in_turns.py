"""Time compiled motions of two checkouts in turns, in two processes that last as long as the measurement.

Whole suites run one after the other, minutes apart, and a machine changes its pace in that time by more than the
difference that is looked for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import Spread

WARM, ROUNDS = 3, 200
"""Calls before the measurement, and rounds of it; a quarter of them for motions that are long."""

FIRST, FIRST_ROUNDS = ("sliding-rod", "two-bar", "impacting-stick"), 3
"""Problems whose first motion is timed, and how often."""

CHILD = f"""
import inspect, os, sys, time
sys.path[:0] = [os.getcwd(), os.path.join(os.getcwd(), "benchmarks")]
import gaussopt as go
import chain
from rivals import mujoco_contact
options = dict(stepper="rk4", engine="compiled", step_folder=None)
if "error_estimate" in inspect.signature(go.simulate).parameters:
    options["error_estimate"] = False
motions = {{
    f"{{name}}, contacts, RK4, dt = {{1e3 * dt:g}} ms": (motion.problem, dict(dt=dt, t_end=motion.t_end))
    for name, make in mujoco_contact.MOTIONS.items() for motion in [make()] for dt in (1e-3, 1e-4)
}}
methods = {{
    "RK4, dt = 0.01 ms": dict(dt=1e-5), "RK4, projected, dt = 0.01 ms": dict(dt=1e-5, stabilisation="projection"),
    "velocity-gauss, dt = 0.01 ms": dict(stepper="velocity-gauss", dt=1e-5),
    "RATTLE, dt = 0.01 ms": dict(stepper="rattle", dt=1e-5),
    "DOP853, projected, tolerance 1e-12":
        dict(stepper="dop853", rtol=1e-12, atol=1e-12, dt=1e-2, stabilisation="projection"),
}}
motions |= {{
    f"{{name}}, {{method}}": (go.problem(name), dict(t_end=0.25, record_every=1000 if more["dt"] < 1e-3 else 1) | more)
    for name in ("crank-slider", "four-bar") for method, more in methods.items()
}}
body, q, v = chain.chain(300, False)
motions["chain of 300 links, RK4, dt = 0.1 ms"] = (
    body.system, dict(q0=q, v0=v, dt=1e-4, t_end=0.05, record_every=100, solver="sparse-kkt"))
motions |= {{
    f"{{problem.name.removeprefix('copied-')}}, as by default": (problem, dict(stepper=None, engine=None))
    for name in ("impacting-stick", "two-bar", "sliding-to-rolling", "four-leg-table", sys.argv[1])
    for problem in [go.problem(name)]
}}
def run(name):
    problem, more = motions[name]
    begin = time.process_time()
    found = go.simulate(problem, **(options | more))
    assert found.status is go.Status.SOLVED, found.message
    return time.process_time() - begin
for name in motions:
    for _ in range({WARM}):
        run(name)
print("|".join(motions), flush=True)
for line in sys.stdin:
    print(run(line.strip()), flush=True)
"""


class Checkout:
    """A process that simulates with the gaussopt of one checkout."""

    def __init__(self, tree: Path, cache: Path, toy: Path) -> None:
        cache.mkdir(mode=0o700, exist_ok=True)
        copied = cache / "copied_woodpecker.py"  # an older checkout need not have the problem
        copied.write_text(toy.read_text(encoding="utf-8").replace('"woodpecker"', '"copied-woodpecker"'))
        environment = {**os.environ, "PYTHONPATH": str(tree), "GAUSSOPT_CACHE": str(cache)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(copied)], cwd=tree, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.motions = self._line().split("|")

    def seconds(self, motion: str) -> float:
        """Processor time of one motion."""
        assert self._process.stdin is not None
        print(motion, file=self._process.stdin, flush=True)
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise RuntimeError("A checkout's process has ended; what it said stands above.")
        return line

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def table(trees: dict[str, Path], caches: dict[str, Path]) -> str:
    """Markdown: the least times of both in milliseconds, their ratio, and the ratios round by round."""
    toy = trees["new"] / "problems" / "woodpecker.py"
    checkouts = {which: Checkout(trees[which], caches[which], toy) for which in ("old", "new")}
    heads = ("compiled motion", "old, least ms", "new, least ms", "new divided by old, of the least times",
             "median of the rounds (quartiles)")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for motion in checkouts["old"].motions:
        rounds = []
        for k in range(ROUNDS if " 1 ms" in motion else ROUNDS // 4):
            order = ("old", "new") if k % 2 == 0 else ("new", "old")
            rounds.append({which: checkouts[which].seconds(motion) for which in order})
        least = {which: min(found[which] for found in rounds) for which in checkouts}
        x = Spread.of([found["new"] / found["old"] for found in rounds])
        lines.append(
            f"| {motion} | {1e3 * least['old']:.2f} | {1e3 * least['new']:.2f} | {least['new'] / least['old']:.3f} "
            f"| {x.median:.3f} ({x.lower:.3f} to {x.upper:.3f}) |"
        )
    for checkout in checkouts.values():
        checkout.close()
    return "\n".join(lines)


def first_table(trees: dict[str, Path]) -> str:
    """Markdown: the first motions of models with contact, compiled with an empty cache, seconds of each checkout."""
    lines = [
        "| first motion with an empty cache | old, least s | new, least s | new less old, s |",
        "|---|---|---|---|",
    ]
    for name in FIRST:
        rounds = [{which: _first(tree, name) for which, tree in trees.items()} for _ in range(FIRST_ROUNDS)]
        old, new = (min(found[which] for found in rounds) for which in ("old", "new"))
        lines.append(f"| {name}, RK4, compiled | {old:.2f} | {new:.2f} | {new - old:+.2f} |")
    return "\n".join(lines)


def _first(tree: Path, name: str) -> float:
    """Seconds of a motion in a process of its own, without the start of Python and without the import."""
    code = (
        "import sys, time, gaussopt as go; problem = go.problem(sys.argv[1]); begin = time.process_time(); "
        "motion = go.simulate(problem, stepper='rk4', engine='compiled', step_folder=None); "
        "assert motion.status is go.Status.SOLVED, motion.message; print(time.process_time() - begin)"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(tree), "GAUSSOPT_CACHE": cache}
        done = subprocess.run([sys.executable, "-c", code, name], cwd=tree, env=environment, check=True,
                              capture_output=True, text=True)  # fmt: skip
    return float(done.stdout)
