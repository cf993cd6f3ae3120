"""Models of MuJoCo below a folder, as written: their steps, and a second of motion with exact contact beside MuJoCo's.

    PYTHONPATH=. python benchmarks/robots.py FOLDER ... [--seconds 120] [--end 1.0] [--remark TEXT]
        [--out docs/robots.md]

Each FOLDER is a file, or a folder below which every `scene*.xml` is taken, and every other `*.xml` where no scene lies
beside it. Each model runs in a process of its own that is ended after its time. A motion begins at the first keyframe,
or at the default pose, with stabilisation by projection; where that refuses the start, without. MuJoCo's own motion is
timed in turns with it, on one thread, in processor time; the least of three motions of each counts, of one where it
takes long.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import warnings
from pathlib import Path
from time import process_time
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import mujoco  # noqa: E402
import numpy as np  # noqa: E402

import gaussopt as go  # noqa: E402

STATES = 5
"""Number of states in motion, besides the first, whose steps are solved."""

NAMED = ("humanoid/humanoid", "robotis_op3/scene", "unitree_g1/scene")
SHARE, MEDIAN, MOST = 46 / 48, 8.0, 15.0
"""Goals: the share of the models that run, and, in times of MuJoCo, the median and each of the models named above."""

TURNS, LONG, SHORT = (3, 12), 5.0, 0.5
"""Least and largest number of motions of each that are timed in turns; the time of a motion, s, from which one is
enough; and the time, s, for which more turns than the least are taken, and MuJoCo's own motion is repeated in one."""


def found(places: list[Path]) -> list[Path]:
    """The models at or below the given places."""
    models: list[Path] = []
    for place in places:
        files = [place] if place.is_file() else sorted(place.rglob("*.xml"))
        scenes = {file.parent for file in files if file.name.startswith("scene")}
        models += [file for file in files if file.name.startswith("scene") or file.parent not in scenes]
    return models


def start(model: Any) -> Any:
    """The first keyframe, or the default pose."""
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    return data


def states(model: Any) -> Any:
    """The start, and states that MuJoCo reaches from it with random velocities and controls."""
    yield start(model)
    for seed in range(STATES):
        random, data = np.random.default_rng(seed), start(model)
        data.qvel[:] = 0.3 * random.standard_normal(model.nv)
        low, high = model.actuator_ctrlrange.T
        span = np.where(model.actuator_ctrllimited.astype(bool), high - low, 0.2)
        data.ctrl[:] += 0.1 * span * random.uniform(-1.0, 1.0, model.nu)
        for _ in range(round((0.2 + 0.1 * seed) / model.opt.timestep)):
            mujoco.mj_step(model, data)
        yield data


def step_of(model: Any, data: Any) -> str:
    """The status of the step of a state, or why there is none."""
    try:
        step = go.from_mujoco(model, data)
        return str((go.solve_step(step, "coulomb-soccp", "hybrid") if step.k else go.solve_step(step)).status)
    except go.GaussoptError as error:
        return str(error)


def motion_of(model: Any, data: Any, end: float) -> tuple[go.Trajectory, float]:
    """One motion, projected where its start can be, and the seconds that it took."""
    every = max(1, round(0.01 / model.opt.timestep))
    for stabilisation in ("projection", "none"):
        problem = go.problem_from_mujoco(model, data, t_end=end)
        begin = process_time()
        try:
            motion = go.simulate(
                problem, stepper="moreau-jean", stabilisation=stabilisation, error_estimate=False, record_every=every
            )
        except go.BadInput:
            if stabilisation == "none":
                raise
            continue
        if len(motion.t) > 1:
            break
    return motion, process_time() - begin


def theirs(model: Any, end: float, took: float) -> float:
    """Seconds of MuJoCo's own motion, the mean of as many as take about as long as ours, at most half a second.

    A short measurement can fall between two interruptions of a busy machine, a long one cannot.
    """
    seconds, count = 0.0, 0
    while not count or seconds < min(took, SHORT):
        data, begin = start(model), process_time()
        for _ in range(round(end / model.opt.timestep)):
            mujoco.mj_step(model, data)
        seconds, count = seconds + process_time() - begin, count + 1
    return seconds / count


def one(path: Path, end: float) -> dict[str, Any]:
    """What is found of a model."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        return {"reason": f"MuJoCo does not load it: {str(error).splitlines()[0]}"}
    row: dict[str, Any] = {"nv": int(model.nv)}
    steps = [step_of(model, data) for data in states(model)]
    row["steps"] = sum(step == "solved" for step in steps)
    refused = [step for step in steps if step != "solved"]
    try:
        motion_of(model, start(model), 3 * model.opt.timestep)
        motion, took = motion_of(model, start(model), end)
        pairs = [(took, theirs(model, motion.t[-1], took))]
        while took < LONG and (len(pairs) < TURNS[0] or (len(pairs) < TURNS[1] and sum(map(sum, pairs)) < SHORT)):
            took = motion_of(model, start(model), end)[1]
            pairs.append((took, theirs(model, motion.t[-1], took)))
    except go.GaussoptError as error:
        return row | {"reason": str(error)}
    row |= {"motion": str(motion.status), "t": float(motion.t[-1])}
    row["contacts"] = int((motion.lam_N > 0).sum(axis=1).max(initial=0))
    row["reason"] = motion.message if motion.status != "solved" else f"A step: {refused[0]}" if refused else ""
    ours, other = map(min, zip(*pairs, strict=True))
    row["ratio"] = ours / other if motion.t[-1] > 0 else None
    return row


def page(rows: list[tuple[str, dict[str, Any]]], remark: str, end: float) -> str:
    """The table, and how many models run."""
    ran = [row for _, row in rows if row.get("motion") == "solved"]
    ratios = sorted(row["ratio"] for row in ran)
    times = (
        f"; the median of these takes {statistics.median(ratios):.0f} times MuJoCo's own time, the extremes "
        f"{ratios[0]:.0f} and {ratios[-1]:.0f}" if ratios else ""
    )  # fmt: skip
    lines = [
        "# Robots that others modelled", "",
        "`python benchmarks/robots.py FOLDER ... --out docs/robots.md` writes this page. " + remark, "",
        f"Of {len(rows)} models {len(ran)} run {end:g} s as written{times}. "
        f"A step is that of a state, {STATES + 1} for each model, the first at rest.", "",
        "| model | velocities | steps solved | motion | most contacts with force | times MuJoCo | reason |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    lines[4:4] = goals(rows, len(ran), statistics.median(ratios or [math.inf]))
    for name, row in rows:
        ratio, t = row.get("ratio"), row.get("t")
        motion = row.get("motion", "none") + ("" if t is None or row["motion"] == "solved" else f" at {t:.3g} s")
        cells = [name, row.get("nv", ""), f"{row['steps']} of {STATES + 1}" if "steps" in row else "", motion,
                 row.get("contacts", ""), "" if ratio is None else f"{ratio:.0f}",
                 " ".join(row.get("reason", "").split())[:160].replace("|", "/")]  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def goals(rows: list[tuple[str, dict[str, Any]]], ran: int, median: float) -> list[str]:
    """The table of the goals, and whether each is met."""
    share = ran / len(rows)
    found = [("models that run as written", f"at least {SHARE:.0%}", f"{share:.0%}", share >= SHARE),
             ("median, times MuJoCo", f"at most {MEDIAN:g}", f"{median:.1f}", median <= MEDIAN)]  # fmt: skip
    for name, row in rows:
        if name in NAMED:
            ratio = row.get("ratio") or math.inf
            found.append((f"{name}, times MuJoCo", f"at most {MOST:g}", f"{ratio:.1f}", ratio <= MOST))
    table = ["| what | goal | measured | met |", "|---|---|---|---|"]
    return [*table, *(f"| {what} | {goal} | {is_} | {'yes' if met else 'no'} |" for what, goal, is_, met in found), ""]


def main() -> None:
    """Run every model, or the one of a process that this script started."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=120.0, help="limit for a model")
    parser.add_argument("--end", type=float, default=1.0, help="end of a motion, s")
    parser.add_argument("--remark", default="", help="about the models, for the page")
    parser.add_argument("--out", type=Path, help="page that is written")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        warnings.simplefilter("ignore")
        print(json.dumps(one(given.folder[0], given.end)))
        return
    rows: list[tuple[str, dict[str, Any]]] = []
    for path in found(given.folder):
        command = [sys.executable, __file__, "--one", "--end", str(given.end), str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=given.seconds, check=False)
            last = done.stderr.splitlines()[-1:] or ["no word"]
            row = (
                json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"reason": f"crashed: {last[0]}"}
            )
        except subprocess.TimeoutExpired:
            row = {"reason": f"not done within {given.seconds:g} s"}
        rows.append((f"{path.parent.name}/{path.stem}", row))
        print(rows[-1], file=sys.stderr, flush=True)
    text = page(rows, given.remark, given.end)
    if given.out is None:
        print(text)
    else:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
