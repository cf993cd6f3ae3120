"""Piles of balls and boxes: processor time beside that of MuJoCo's `mj_step`, and as the number of balls grows.

    PYTHONPATH=. python benchmarks/piles.py

Five boxes and ten balls fall onto the floor and come to rest, 100 steps of 2 ms; each time is the least of several
motions taken by turns. Ours solve the exact law of each step and certify it, MuJoCo's a relaxation to its tolerance.
BLAS has one thread, see `benchmarks/mujoco_motion.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import process_time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import mujoco  # noqa: E402

import gaussopt as go  # noqa: E402
from gaussopt.bodies import Pile  # noqa: E402

STEPS, DT, TURNS = 100, 2e-3, 5
MU, EDGE, RADIUS = 0.5, 0.1, 0.05
BOXES = [(-0.3 + 0.15 * k, 0.3, 0.06) for k in range(5)]
BALLS = [(-0.35 + 0.12 * (i % 5), -0.3 + 0.12 * (i // 5), 0.06 + 0.02 * i) for i in range(10)]


def ours(every: int) -> float:
    """Return the time of our motion, s, with every so many steps recorded."""
    pile = Pile(mu=MU)
    for at in BOXES:
        pile.box(1.0, (EDGE,) * 3, at=at)
    for at in BALLS:
        pile.ball(1.0, RADIUS, at=at)
    return taken(pile, STEPS, every)


def taken(pile: Pile, steps: int, every: int = 1) -> float:
    """Return the time of a motion of a pile, s, its making included."""
    begin = process_time()
    problem = pile.problem(t_end=steps * DT, dt=DT)
    motion = go.simulate(problem, stepper="moreau-jean", error_estimate=False, record_every=every)
    assert motion.status is go.Status.SOLVED, motion.message
    return process_time() - begin


def theirs() -> float:
    """Return the time of MuJoCo's motion, s."""
    shapes = [("box", at, f"{EDGE / 2} " * 3) for at in BOXES] + [("sphere", at, str(RADIUS)) for at in BALLS]
    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="{kind}" size="{size}" mass="1" friction="{MU}"/></body>'
        for kind, (x, y, z), size in shapes
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}" cone="elliptic"/><worldbody>'
        f'<geom type="plane" size="5 5 1" friction="{MU}"/>{bodies}</worldbody></mujoco>'
    )
    data, begin = mujoco.MjData(model), process_time()
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    return process_time() - begin


def heap(number: int) -> Pile:
    """Return balls in layers of 25, each on the floor or nearly on the layer below."""
    pile = Pile(mu=MU)
    for k in range(number):
        x, y, layer = k % 5, k // 5 % 5, k // 25
        pile.ball(1.0, RADIUS, at=(0.12 * x + 0.003 * (k % 7), 0.12 * y + 0.002 * (k % 3), 0.05 + 0.101 * layer))
    return pile


def main() -> None:
    """Print the times."""
    timed: dict[str, Callable[[], float]] = {
        "every step recorded": lambda: ours(1), "every tenth": lambda: ours(10), "MuJoCo": theirs,
    }  # fmt: skip
    turns = [{name: run() for name, run in timed.items()} for _ in range(1 + TURNS)][1:]  # the first one imports
    best = {name: min(turn[name] for turn in turns) for name in timed}
    for name, seconds in best.items():
        print(f"5 boxes, 10 balls, {name}: {seconds:.4f} s, {seconds / best['MuJoCo']:.0f} times MuJoCo")
    for number in (12, 24, 48, 96):
        print(f"{number} balls: {1e3 * min(taken(heap(number), 20) for _ in range(2)) / 20:.1f} ms a step")


if __name__ == "__main__":
    main()
