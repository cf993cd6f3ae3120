"""Mechanisms in space by our default engine, beside MuJoCo's RK4: time per step, error of a point, time to begin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import Competitor, Spread, interleave
from numpy.typing import NDArray
from page import Goal, Section, Table, number, spread
from rivals import mujoco_engine
from rivals.space_mechanisms import SpaceMechanism, chain, platform, platform_problem

import gaussopt as go

DT, COMPARED = 1e-3, 0.2
"""Step, and the instant at which the point is compared, s."""

LONG = 5.0
"""Duration of the timed motions, s."""

MECHANISMS: tuple[tuple[Callable[[], SpaceMechanism], float | None], ...] = (
    (platform, 8.0), (lambda: chain(5), None), (lambda: chain(10), None), (lambda: chain(20), None),
    (lambda: chain(50), None),
)  # fmt: skip
"""How each is made, and the microseconds of a step that it is to take; None: MuJoCo's."""

FACTOR, PLATFORMS = 3.0, ("Stewart platform, 13 bodies", 'Stewart platform, coordinates="auto"')
"""Times as long that a step may take in the coordinates of all bodies, and the mechanism that is timed in both."""

ALONE: dict[str, tuple[Callable[[], go.Problem], float]] = {
    PLATFORMS[1]: (lambda: platform_problem("auto")[0], 8.0),
    "heavy top by quaternion": (lambda: go.problem("heavy-top"), 5.0),
    "Bricard's mechanism": (lambda: go.problem("bricard"), 5.0),
}
"""Mechanisms that MuJoCo does not have: how each is made, and the microseconds of a step that it is to take."""


BEGUN = "chain of 50 rods joined by balls"
DERIVED = 10.0
"""Mechanism whose equations are to be derived within so many seconds."""

BEGINS = {
    **{f"chain of {n} rods joined by balls": f"chain({n}).problem" for n in (5, 10, 20, 50)},
    **{f"Stewart platform, coordinates={kind!r}": f"platform_problem({kind!r})[0]" for kind in ("maximal", "auto")},
}
BEGIN = """
import json, time
import gaussopt as go
from rivals.space_mechanisms import chain, platform_problem
times = [time.process_time()]
problem = {problem}
times.append(time.process_time())
go.simulate(problem, dt=1e-3, t_end=0.01, engine="compiled", record_every=10**6, error_estimate=False)
times.append(time.process_time())
print(json.dumps([times[1] - times[0], times[2] - times[1]]))
"""
"""Seconds of a process with an empty cache: until a problem is posed, and for a first motion of ten steps."""


def measure(budget: float) -> Section:
    """Whole calls of `simulate` with their start and end recorded and certified, divided by their steps."""
    missing = mujoco_engine.RK4_HARD.missing
    entries: list[tuple[str, str, Competitor, str, float | None]] = []
    for make, goal in MECHANISMS:
        ours = make()
        reference = ours.point(_end(ours.problem, stepper="dop853", rtol=1e-11, atol=1e-11))
        error = number(float(np.abs(ours.point(_end(ours.problem, stepper="rk4", dt=DT)) - reference).max()))
        engine = go.simulate(ours.problem, dt=DT, t_end=LONG, record_every=10**6, error_estimate=False).meta["engine"]
        name = f"gaussopt, RK4, {engine} by default"
        entries.append((ours.name, name, _ours(ours.name, name, ours.problem, LONG), error, goal))
        if not missing:
            theirs, off = _mujoco(ours, reference)
            entries.append((ours.name, "MuJoCo, RK4", theirs, number(off), None))
    chosen = ""
    for title, (pose, goal) in ALONE.items():
        problem = pose()
        chosen = chosen or problem.system.chosen
        reference = _end(problem, stepper="dop853", rtol=1e-11, atol=1e-11)
        error = number(float(np.abs(_end(problem, stepper="rk4", dt=DT) - reference).max()))
        engine = go.simulate(problem, dt=DT, t_end=LONG, record_every=10**6, error_estimate=False).meta["engine"]
        name = f"gaussopt, RK4, {engine} by default"
        entries.append((title, name, _ours(title, name, problem, LONG), error, goal))
    times = interleave([competitor for _, _, competitor, _, _ in entries], budget)
    rows, data, goals = [], [], []
    for owner, name, competitor, error, goal in entries:
        pace = times.of(competitor.name)
        rows.append((owner, name, spread(pace, 1e6), error))
        data.append({"mechanism": owner, "engine": name, "seconds_per_step": pace.median, "error": error})
        if name.startswith("MuJoCo"):
            continue
        if goal is not None:
            goals.append(Goal(f"{owner}, RK4 step", goal, True, pace.scaled(1e6), unit="us"))
        else:
            goals.append(_beside(owner, name, times, missing))
    ours = {owner: c.name for owner, name, c, *_ in entries if name.startswith("gaussopt")}
    turned = times.ratio(*(ours[owner] for owner in PLATFORMS))
    goals.append(Goal("coordinates of all bodies beside those chosen, platform", FACTOR, True, turned))
    rows += [("", "MuJoCo", missing, "")] if missing else []
    begun = {owner: _begun(problem) for owner, problem in BEGINS.items()}
    goals.append(Goal(f"{BEGUN}, posed", DERIVED, True, Spread.of([begun[BEGUN][0]]), unit="s"))
    return Section(
        "Mechanisms in space",
        (
            f"Steps of {1e3 * DT:g} ms; the whole call of `simulate` with start and end certified, in a process that "
            "has compiled before, divided by its steps. The error is that of a point, in metres, or of all coordinates "
            f"where MuJoCo has no row, at {COMPARED:g} s, against our DOP853 with a tolerance of 1e-11. Of the "
            "platform MuJoCo holds the loops by soft constraints. Which of the dependent rows of Bricard's mechanism "
            "is left out is decided in every stage. In the coordinates of all bodies most of a step is elimination. "
            f"For the platform `auto` chooses {chosen}.",
            f"MuJoCo does more: {mujoco_engine.DOES_MORE}.",
            "The second table gives processor time with nothing on disk: until the problem is posed and its equations "
            "derived, and of a first compiled motion of ten steps. Later processes find equations and code on disk.",
        ),
        (
            Table(("mechanism", "engine", "microseconds per step", "error"), rows, data),
            Table(
                ("mechanism", "seconds to pose", "seconds of the first motion"),
                [(owner, *map(number, pair)) for owner, pair in begun.items()],
                [{"mechanism": owner, "pose": pair[0], "first": pair[1]} for owner, pair in begun.items()],
            ),
        ),
        tuple(goals),
    )


def _begun(problem: str) -> list[float]:
    with tempfile.TemporaryDirectory() as empty:
        paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "GAUSSOPT_CACHE": empty, "PYTHONPATH": paths}
        command = [sys.executable, "-c", BEGIN.format(problem=problem)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [float(x) for x in json.loads(done.stdout)]


def _beside(owner: str, name: str, times: object, missing: str) -> Goal:
    measured: Spread | None = None
    if not missing:
        measured = times.ratio(f"{owner}: {name}", f"{owner}: MuJoCo, RK4")  # type: ignore[attr-defined]
    return Goal(f"{owner}, RK4 step beside MuJoCo's RK4", 1.0, True, measured, missing, mujoco_engine.DOES_MORE)


def _end(problem: go.Problem, **settings: object) -> NDArray[np.float64]:
    """Coordinates at the instant of comparison."""
    found = go.simulate(
        problem, t_end=COMPARED, stabilisation="projection", record_every=10**6, error_estimate=False, step_folder=None,
        **settings,
    )  # fmt: skip
    if found.status is not go.Status.SOLVED:
        raise RuntimeError(f"{problem.label}: {found.message}")
    return np.asarray(found.q[-1])


def _ours(owner: str, name: str, problem: go.Problem, t_end: float) -> Competitor:
    def run() -> None:
        found = go.simulate(
            problem, stepper="rk4", dt=DT, t_end=t_end, record_every=10**6, error_estimate=False, step_folder=None
        )
        if found.status is not go.Status.SOLVED:
            raise RuntimeError(f"{problem.label}: {found.message}")

    return Competitor(f"{owner}: {name}", run, round(t_end / DT))


def _mujoco(ours: SpaceMechanism, reference: NDArray[np.float64]) -> tuple[Competitor, float]:
    """MuJoCo's steps, and the error of its point."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(ours.xml(DT))
    data = mujoco.MjData(model)
    ours.begin(model, data)
    start, steps = data.qvel.copy(), round(COMPARED / DT)

    def run() -> None:
        mujoco.mj_resetData(model, data)
        data.qvel[:] = start
        for _ in range(steps):
            mujoco.mj_step(model, data)

    run()
    mujoco.mj_fwdPosition(model, data)
    return Competitor(f"{ours.name}: MuJoCo, RK4", run, steps), float(np.abs(ours.end(data) - reference).max())
