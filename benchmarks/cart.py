"""A cart on one rough contact that sticks and slips: every state recorded beside start and end, threads, batches.

    python benchmarks/cart.py [--rounds 20] [--members 10000] [--stepper moreau-jean]

Prints medians: what recording and certifying every state costs beside the same motion recorded once; processor time
beside time on the clock, above 1 where threads burn; both once more beside a busy process for each core; how much of
the total the parts of the timing table hold; and the seconds of a batch on all cores. No number of threads is set.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from rivals import mujoco_engine

import gaussopt as go
from gaussopt.jit.threads import cores

STEPS, BATCH_STEPS, DT = 6000, 3000, 1e-3
XML = f"""<mujoco><option timestep="{DT}" integrator="RK4" cone="elliptic"/>
<default><geom friction="0.4 0 0" condim="3"/></default>
<worldbody><geom type="plane" size="100 100 1"/><body name="cart" pos="0.1 0 0.1">
<joint name="x" type="slide" axis="1 0 0" stiffness="40" springref="-0.1"/><joint type="slide" axis="0 0 1"/>
<geom type="sphere" size="0.1" mass="1"/></body></worldbody>
<actuator><motor joint="x"/></actuator></mujoco>"""
"""The cart for MuJoCo; its spring is relaxed at x = 0, which is -0.1 from the start of the slide."""

EVERY = {"every state": 1, "start and end": STEPS}


class Cost(NamedTuple):
    """Seconds on the clock and of the processor, and the share of the total that the parts of the timing hold."""

    clock: float
    processor: float
    parts: float


def cart() -> go.Problem:
    """A mass on a spring, driven by a force that changes its sign, on a floor with friction."""
    x, y, vx, vy, t, m, k, g, mu, F, omega = sp.symbols("x y vx vy t m k g mu F omega")
    system = go.System.from_lagrangian(
        [x, y], [vx, vy], t=t, name="cart", kinetic=m * (vx**2 + vy**2) / 2, potential=m * g * y + k * x**2 / 2,
        forces=[F * sp.sin(omega * t), 0], contacts=[go.Contact("wheel", position=(x, y), mu=mu, e_N=0)],
        parameters={m: 1.0, k: 40.0, g: 9.81, mu: 0.4, F: 6.0, omega: 3.0},
    )  # fmt: skip
    return go.Problem.of(system, q0=[0.1, 0.0], t_end=STEPS * DT, dt=DT)


def cost(problem: go.Problem, every: int) -> Cost:
    """Of one motion."""
    clock, processor = perf_counter(), process_time()
    timing = dict(go.simulate(problem, record_every=every).timing)
    clock, processor = perf_counter() - clock, process_time() - processor
    total, _ = timing.pop("total"), timing.pop("backend", None)
    return Cost(clock, processor, sum(timing.values()) / total)


def measured(problem: go.Problem, rounds: int) -> dict[str, list[Cost]]:
    """Both recordings in turns."""
    return {name: list(column) for name, column in zip(
        EVERY, zip(*[[cost(problem, every) for every in EVERY.values()] for _ in range(rounds)], strict=True),
        strict=True,
    )}  # fmt: skip


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """So many processes that compute without an end."""
    busy = [multiprocessing.get_context("spawn").Process(target=_burn, daemon=True) for _ in range(count)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.terminate()
            process.join()


def _burn() -> None:
    while True:
        sum(range(10**6))


def table(found: dict[str, dict[str, list[Cost]]]) -> str:
    """As Markdown."""
    heads = ("motion of 6 s, recorded", "ms on the clock", "ms of processor", "processor / clock",
             "clock / that of start and end", "parts / total")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for place, costs in found.items():
        once = [c.clock for c in costs["start and end"]]
        for name, entries in costs.items():
            clocks, processors = [c.clock for c in entries], [c.processor for c in entries]
            ratio = median(a / b for a, b in zip(clocks, once, strict=True))
            share, parts = median(c.processor / c.clock for c in entries), min(c.parts for c in entries)
            lines.append(f"| {name}, {place} | {1e3 * median(clocks):.0f} | {1e3 * median(processors):.0f} "
                         f"| {share:.2f} | {ratio:.2f} | {parts:.4f} |")  # fmt: skip
    return "\n".join(lines)


def batch(problem: go.Problem, members: int, stepper: str) -> str:
    """A sentence on a batch of motions of 3 s with frictions of their own."""
    mu = np.random.default_rng(0).uniform(0.2, 0.6, members)
    before = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    begin = perf_counter()
    data = go.simulate_batch(problem, parameters={"mu": mu}, t_end=BATCH_STEPS * DT, record_every=100, stepper=stepper)
    clock = perf_counter() - begin
    after = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    processor = sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after, strict=True))
    step, solved = 1e6 / (members * BATCH_STEPS), int((data.status == "solved").sum())
    return (
        f"{members} members of 3 s by {stepper}, {solved} solved: {clock:.1f} s on the clock with {cores()} cores, "
        f"{processor:.1f} s of processor, {step * processor:.2f} microseconds of processor per step."
    )


def beside(problem: go.Problem, rounds: int, stepper: str) -> str:
    """A sentence on 500 carts beside MuJoCo's rollout, in turns, the least of several rounds."""
    mu, steps = np.full(500, 0.4), 500 * BATCH_STEPS

    def ours() -> float:
        settings = {"t_end": BATCH_STEPS * DT, "record_every": BATCH_STEPS, "stepper": stepper}
        return float(go.simulate_batch(problem, parameters={"mu": mu}, **settings).q[0, -1, 0])

    exact = float(go.simulate(problem, stepper="dop853", rtol=1e-11, atol=1e-11, dt=1.0, t_end=3.0).q[-1, 0])
    runs = {"gaussopt": ours, "MuJoCo rollout, RK4": rollout(500, BATCH_STEPS, cores())}
    errors = {name: abs(run() - exact) for name, run in runs.items()}
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            begin = perf_counter()
            run()
            least[name] = min(least[name], perf_counter() - begin)
    found = [f"{x} {1e6 * least[x] / steps:.3f} microseconds a step, error {errors[x]:.1e} m" for x in runs]
    return f"500 carts by {stepper} on {cores()} cores: {'; '.join(found)}."


def rollout(members: int, steps: int, threads: int) -> Callable[[], float]:
    """MuJoCo's motions in C, with the force at every step; returns the position of the first at the end."""
    import mujoco
    import mujoco.rollout

    model = mujoco.MjModel.from_xml_string(XML)
    datas = [mujoco.MjData(model) for _ in range(threads)]
    begin = mujoco_engine.full_state(model, datas[0])
    force = (6.0 * np.sin(3.0 * DT * np.arange(steps)))[None, :, None]
    states: NDArray[np.float64] = np.empty((members, steps, len(begin)))
    pool = mujoco.rollout.Rollout(nthread=threads)

    def run() -> float:
        pool.rollout(
            model, datas, np.tile(begin, (members, 1)), np.tile(force, (members, 1, 1)),
            control_spec=int(mujoco.mjtState.mjSTATE_CTRL), nstep=steps, state=states,
        )  # fmt: skip
        return float(0.1 + states[0, -1, 1])

    return run


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--members", type=int, default=10_000, help="of the batch; 0: none")
    parser.add_argument("--stepper", default="rk4", help="of the batch; with moreau-jean, beside MuJoCo's rollout only")
    arguments = parser.parse_args()
    problem = cart()
    if arguments.stepper != "rk4":
        print(beside(problem, arguments.rounds, arguments.stepper))
        print(batch(problem, arguments.members, arguments.stepper))
        return
    measured(problem, 1)  # compiles
    found = {"alone": measured(problem, arguments.rounds)}
    with neighbours(cores()):
        found[f"beside {cores()} busy processes"] = measured(problem, arguments.rounds)
    print(table(found), flush=True)
    if arguments.members:
        print("\n" + batch(problem, arguments.members, arguments.stepper))


if __name__ == "__main__":
    main()
