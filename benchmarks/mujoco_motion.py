"""One second of a humanoid with exact contact beside MuJoCo's own: times of a step by turns, penetration and drift.

    PYTHONPATH=. python benchmarks/mujoco_motion.py

The time is that of the process, the least of several motions taken by turns; the model is that of the tests, with
MuJoCo's default solver and its settings, from a start in motion. In each turn MuJoCo repeats its motion until it has
taken about as long as ours: a short measurement can fall between two interruptions of a busy machine, a long one
cannot. BLAS has one thread: a second one waits busily for a quarter of a second after its last work, and its time would
be counted for whichever motion runs then.
"""

from __future__ import annotations

import os
from time import process_time
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import mujoco  # noqa: E402
import numpy as np  # noqa: E402

import gaussopt as go  # noqa: E402
from tests.interchange.humanoid import HUMANOID  # noqa: E402

TURNS = 20


def start() -> tuple[Any, Any]:
    """The model with default settings, and a state in motion that keeps its hands together."""
    model = mujoco.MjModel.from_xml_string(HUMANOID.replace('iterations="200" tolerance="0"', ""))
    data = mujoco.MjData(model)
    data.qvel[:] = 0.5 * np.sin(np.arange(model.nv))
    J = go.from_mujoco(model, data).J
    data.qvel[:] -= np.linalg.pinv(J) @ (J @ data.qvel)
    return model, data


def ours(model: Any, data: Any) -> tuple[float, go.Trajectory]:
    """Seconds of the process, and the motion, every tenth step recorded."""
    problem = go.problem_from_mujoco(model, data, t_end=1.0)
    begin = process_time()
    motion = go.simulate(
        problem, stepper="moreau-jean", stabilisation="projection", error_estimate=False, record_every=10
    )
    return process_time() - begin, motion


def theirs(model: Any, start: Any, look: bool = False) -> tuple[float, float, float]:
    """Seconds of the process; the deepest penetration and the largest residual of the loop if they are looked at."""
    data, deep, drift = mujoco.MjData(model), 0.0, 0.0
    data.qpos[:], data.qvel[:] = start.qpos, start.qvel
    begin = process_time()
    for _ in range(round(1.0 / model.opt.timestep)):
        mujoco.mj_step(model, data)
        if look:
            mujoco.mj_fwdPosition(model, data)
            deep = max(deep, -float(data.contact.dist.min(initial=0.0)))
            drift = max(drift, float(np.abs(data.efc_pos[: data.ne]).max()))
    return process_time() - begin, deep, drift


def main() -> None:
    """Print two lines."""
    model, data = start()
    motion = ours(model, data)[1]  # compiles
    repeats = max(1, round(ours(model, data)[0] / theirs(model, data)[0]))
    times = [
        (ours(model, data)[0], sum(theirs(model, data)[0] for _ in range(repeats)) / repeats) for _ in range(TURNS)
    ]
    mine, other = (min(x) / motion.meta["steps"] for x in zip(*times, strict=True))
    _, deep, drift = theirs(model, data, look=True)
    print(f"gaussopt: {motion.status}, {1e6 * mine:.0f} us a step, {mine / other:.1f} times MuJoCo's; "
          f"{-np.nanmin(motion.gap):.1e} m deep, loop open by {motion.position_drift.max():.1e} m")  # fmt: skip
    print(f"MuJoCo:   {1e6 * other:.0f} us a step; {deep:.1e} m deep, loop open by {drift:.1e} m")


if __name__ == "__main__":
    main()
