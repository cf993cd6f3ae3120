"""The sliding rod and the two bars on a rough floor in MuJoCo, beside our motion from event to event."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from measuring import Competitor, interleave
from numpy.typing import NDArray
from page import Section, Table, number, spread
from rivals import mujoco_contact, mujoco_engine
from rivals.mujoco_contact import ContactMotion

import gaussopt as go

MARKS = 8
SETTINGS = (("RK4", False), ("RK4", True), ("implicitfast", False), ("implicitfast", True))
SIZES = (1e-3, 1e-4)


def measure(budget: float) -> Section:
    """Time per step and the error of the angle."""
    missing = mujoco_engine.RK4_HARD.missing
    rows: list[tuple[str, ...]] = []
    data: list[dict[str, object]] = []
    for name, make in mujoco_contact.MOTIONS.items():
        motion = make()
        reference = motion.reference(MARKS)
        entries: list[tuple[str, float, Callable[[], NDArray[np.float64]]]] = [
            (f"gaussopt, RK4, event to event, {engine}, dt = {1e3 * dt:g} ms", dt, _ours(motion, dt, engine))
            for engine, dt in (("interpreted", 1e-3), ("compiled", 1e-3), ("compiled", 1e-4))
        ]
        if not missing:
            entries += [
                (f"MuJoCo, {integrator}, {'stiff' if stiff else 'default'} contacts, dt = {1e3 * dt:g} ms", dt,
                 mujoco_contact.prepare(motion, dt, MARKS, integrator, stiff))
                for integrator, stiff in SETTINGS for dt in SIZES
            ]  # fmt: skip
        for _, _, run in entries:
            run()  # compiles
        times = interleave(
            [Competitor(label, run, round(motion.t_end / dt)) for label, dt, run in entries],
            budget / len(mujoco_contact.MOTIONS),
        )
        for label, _, run in entries:
            error, pace = float(np.abs(run() - reference).max()), times.of(label)
            rows.append((name, label, spread(pace, 1e6), number(error)))
            data.append({"problem": name, "engine": label, "seconds_per_step": pace.median, "error": error})
        if missing:
            rows.append((name, "MuJoCo", missing, ""))
    return Section(
        "Contact motions",
        (
            "The rod slides on one end, the two bars on both, whose one reverses its slip; 0.4 s. The error is the "
            "largest of the angle at eight instants, against our motion from event to event with a tolerance of 1e-12. "
            "MuJoCo takes contacts as springs and lets friction creep, so its error does not go to zero with its step.",
            f"MuJoCo does more: {mujoco_engine.DOES_MORE}; ours locates the events and certifies every stage.",
        ),
        (Table(("problem", "engine", "microseconds per step", "angle error, rad"), rows, data),),
    )


def _ours(motion: ContactMotion, dt: float, engine: str) -> Callable[[], NDArray[np.float64]]:
    def run() -> NDArray[np.float64]:
        found = go.simulate(
            motion.problem, stepper="rk4", dt=dt, t_end=motion.t_end, engine=engine, step_folder=None,
            error_estimate=False,
        )  # fmt: skip
        if found.status is not go.Status.SOLVED:
            raise RuntimeError(found.message)
        at = [int(np.argmin(np.abs(found.t - motion.t_end * (k + 1) / MARKS))) for k in range(MARKS)]
        return found.q[at, motion.angle]

    return run
