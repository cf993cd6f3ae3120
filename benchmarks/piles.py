"""Piles of balls and boxes beside MuJoCo: the time of a step, and that from the bodies to the first step, row by row.

    PYTHONPATH=. python benchmarks/piles.py

Balls and boxes fall onto the floor, 100 steps of 2 ms, one pile as a `Pile`, the others as models made of bodies,
`Touch` and a `BallTouch` for each pair. Times are processor time, the least of several motions taken by turns with
MuJoCo's of the same pile, so that a busy machine disturbs both. Ours solve the exact law of each step and certify it,
MuJoCo's a relaxation to its tolerance. BLAS has one thread, see `benchmarks/mujoco_motion.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from time import process_time
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import gaussopt as go  # noqa: E402
from gaussopt.bodies import BallTouch, Pile, Touch  # noqa: E402

STEPS, DT, TURNS = 100, 2e-3, 5
MU, EDGE, RADIUS = 0.5, 0.1, 0.05
BOXES = [(-0.3 + 0.15 * k, 0.3, 0.06) for k in range(5)]
BALLS = [(-0.35 + 0.12 * (i % 5), -0.3 + 0.12 * (i // 5), 0.06 + 0.02 * i) for i in range(10)]
NUMBERS = 5, 12, 24, 50
TIMES, START, MANY = 50, 5.0, 24
"""Largest ratio to MuJoCo's time of a step, and s from the bodies of so many balls to the first step, aimed at."""

WORDS = {True: "yes", False: "no", None: ""}

Places = Sequence[tuple[float, ...]]


class Beside(NamedTuple):
    """A pile by us and by MuJoCo, s: our start, a step of ours, a step of MuJoCo."""

    start: float
    ours: float
    theirs: float


def pile(boxes: Places, balls: Places) -> go.Problem:
    """The bodies as a `Pile`."""
    made = Pile(mu=MU)
    for at in boxes:
        made.box(1.0, (EDGE,) * 3, at=at)
    for at in balls:
        made.ball(1.0, RADIUS, at=at)
    return made.problem(t_end=STEPS * DT, dt=DT)


def model(boxes: Places, balls: Places) -> go.Problem:
    """The balls as a model with a contact for each pair."""
    made, inertia = go.Model(dim=3, gravity=(0, 0, -9.81), name="balls"), 0.4 * RADIUS**2
    floor = made.ground.at(0, 0, 0, axis=(0, 0, 1))
    bodies = [made.body(f"ball{i}", 1.0, (inertia,) * 3, at=at, quaternion_mass=inertia) for i, at in enumerate(balls)]
    for b in bodies:
        made.add(Touch(f"floor {b.name}", floor, b, mu=MU, radius=RADIUS))
    for a, b in combinations(bodies, 2):
        made.add(BallTouch(f"{a.name} {b.name}", a, b, (RADIUS, RADIUS), mu=MU, across=(1.0, 0.3, 0.2)))
    return made.problem(t_end=STEPS * DT, dt=DT)


def heap(number: int) -> Places:
    """Places of balls in layers of 25, each a millimetre over the floor or over the layer below."""
    return [
        (0.12 * (k % 5) + 0.003 * (k % 7), 0.12 * (k // 5 % 5) + 0.002 * (k % 3), 0.051 + 0.101 * (k // 25))
        for k in range(number)
    ]


def ours(make: Callable[[], go.Problem]) -> tuple[float, float]:
    """Seconds from the bodies to the end of the first step, and of each later step."""
    ends, begin = [], process_time()
    motion = go.simulate(
        make(), stepper="moreau-jean", t_end=(STEPS + 1) * DT, error_estimate=False, record_every=10,
        progress=lambda done: ends.append(process_time()),
    )  # fmt: skip
    assert motion.status is go.Status.SOLVED, motion.message
    return ends[0] - begin, (ends[STEPS] - ends[0]) / STEPS


def theirs(boxes: Places, balls: Places) -> Callable[[int], float]:
    """Return a function that returns the seconds of so many of MuJoCo's steps."""
    import mujoco

    shapes = [("box", at, f"{EDGE / 2} " * 3) for at in boxes] + [("sphere", at, str(RADIUS)) for at in balls]
    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="{kind}" size="{size}" mass="1" friction="{MU}"/></body>'
        for kind, (x, y, z), size in shapes
    )
    compiled = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}" cone="elliptic"/><worldbody>'
        f'<geom type="plane" size="5 5 1" friction="{MU}"/>{bodies}</worldbody></mujoco>'
    )

    def run(steps: int) -> float:
        data, begin = mujoco.MjData(compiled), process_time()
        for _ in range(steps):
            mujoco.mj_step(compiled, data)
        return process_time() - begin

    return run


def beside(make: Callable[[Places, Places], go.Problem], boxes: Places, balls: Places) -> Beside:
    """Measure a pile."""
    other = theirs(boxes, balls)
    ours(lambda: make(boxes, balls))  # imports and compiles
    turns = [(*ours(lambda: make(boxes, balls)), min(other(STEPS) for _ in range(3)) / STEPS) for _ in range(TURNS)]
    return Beside(*np.min(turns, axis=0).tolist())


def rows() -> Iterator[tuple[str, str, str, bool | None, str]]:
    """Yield what was measured, what was aimed at, what was found, whether that was met, and a remark."""
    cases: list[tuple[str, Any, Places, Places]] = [("5 boxes, 10 balls as `Pile`", pile, BOXES, BALLS)]
    cases += [(f"{n} balls, each pair a `BallTouch`", model, (), heap(n)) for n in NUMBERS]
    measured = [beside(*case) for _, *case in cases]
    longest = measured[NUMBERS.index(MANY) + 1].ours
    for (what, _, _, balls), found in zip(cases, measured, strict=True):
        ratio, start = found.ours / found.theirs, f"{found.start:.2f} s"
        remark = f"{1e3 * found.ours:.2g} and {1e3 * found.theirs:.2g} ms"
        if ratio > TIMES:
            more = f"a step of {MANY} balls takes {longest / found.ours:.1f} times as long"
            remark += f": mostly calls of NumPy, of which few bodies need as many as many do; {more}"
        yield f"a step of {what}", f"at most {TIMES} times MuJoCo", f"{ratio:.0f} times", ratio <= TIMES, remark
        if len(balls) > MANY:
            yield f"the start of {what}", "", start, None, "from the bodies to the first step"
        else:
            yield f"the start of {what}", f"at most {START:g} s", start, found.start <= START, "to the first step"
    for variant in ("5 balls", "10 balls", "20 balls"):
        begin, problem = process_time(), go.problem("sphere-pile", variant=variant)
        motion = go.simulate(problem, error_estimate=False, step_folder=None)
        each = f"{1e3 * (process_time() - begin) / motion.meta['steps']:.2g} ms"
        share = f"{motion.status}; the solver has {motion.timing['solve'] / motion.timing['total']:.2g} of it"
        yield f"a step of `sphere-pile`, {variant} between four walls", "", each, None, share


def main() -> None:
    """Print the rows of the table in docs/performance.md."""
    for what, goal, found, met, remark in rows():
        print("|", " | ".join((what, goal, found, WORDS[met], remark)), "|", flush=True)


if __name__ == "__main__":
    main()
