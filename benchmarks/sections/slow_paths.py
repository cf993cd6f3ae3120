"""Motions with contacts beside MuJoCo, and what a feature costs beside the same model without it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sympy as sp
from cart import BATCH_STEPS, DT, STEPS, cart, rollout
from measuring import Competitor, Times, interleave
from page import Goal, Section, Table, number, spread
from rivals import mujoco_engine

import gaussopt as go

MEMBERS, THREADS = 500, 2
CART = {"gaussopt, start and end recorded": STEPS, "gaussopt, every state recorded and certified": 1}
STEPPING = "gaussopt by moreau-jean, every state recorded and certified"
MUJOCO, BATCH, ROLLOUT = "MuJoCo, RK4", f"gaussopt, {MEMBERS} carts", f"MuJoCo rollout, RK4, {MEMBERS} carts"
BATCHES = {BATCH: "rk4", f"{BATCH} by moreau-jean": "moreau-jean"}
FACTOR = 3.0
"""Times as long as without it that a feature may make a step."""


def measure(budget: float) -> Section:
    """The cart, a batch of carts, and pairs of motions that differ in one feature."""
    missing = mujoco_engine.RK4_HARD.missing
    problem = cart()
    reference = float(go.simulate(problem, stepper="dop853", rtol=1e-11, atol=1e-11, dt=1.0).q[-1, 0])
    runs: dict[str, tuple[Callable[[], float], int]] = {
        name: (_ours(problem, every), STEPS) for name, every in CART.items()
    }
    runs[STEPPING] = _ours(problem, 1, "moreau-jean"), STEPS
    if not missing:
        runs[MUJOCO] = rollout(1, STEPS, 1), STEPS
    single = interleave([Competitor(name, run, steps) for name, (run, steps) in runs.items()], budget / 3)
    rows = [(name, spread(single.of(name), 1e6), number(abs(run() - reference))) for name, (run, _) in runs.items()]
    batches: dict[str, Callable[[], object]] = {name: _batch(problem, stepper) for name, stepper in BATCHES.items()}
    if not missing:
        batches[ROLLOUT] = rollout(MEMBERS, BATCH_STEPS, THREADS)
    many = interleave([Competitor(name, run, MEMBERS * BATCH_STEPS) for name, run in batches.items()], budget / 3)
    rows += [(name, spread(many.of(name), 1e6), "") for name in batches]
    rows += [("MuJoCo", missing, "")] if missing else []
    pairs, goals = _pairs(budget / 3)
    return Section(
        "Contacts beside MuJoCo, and what a feature costs",
        (
            f"A cart on a rough floor that sticks and slips, {STEPS} steps of 1 ms: the whole call, with the location "
            "of its eleven events and the certificates; moreau-jean locates none, and has an error of first order. "
            "MuJoCo takes contacts "
            "as springs and lets friction creep. The error is that of the position at the end, in metres, against our "
            f"DOP853 with a tolerance of 1e-11. Batches have {BATCH_STEPS} steps on {THREADS} cores. Steps, and "
            "regular events, are machine code; between them, and at start and end, Python takes a large part of the "
            "time of one cart.",
            f"MuJoCo does more: {mujoco_engine.DOES_MORE}.",
            "A feature is timed beside the same model without it.",
        ),
        (
            Table(("cart", "microseconds per step", "error"), rows, [
                {"engine": name, "seconds_per_step": times.of(name).median}
                for times, names in ((single, runs), (many, batches)) for name in names
            ]),
            pairs,
        ),
        (*_beside(single, many, missing), *goals),
    )  # fmt: skip


def _beside(single: Times, many: Times, missing: str) -> list[Goal]:
    def goal(what: str, least: float, times: Times, theirs: str, ours: str) -> Goal:
        measured = None if missing else times.ratio(theirs, ours)
        return Goal(what, least, False, measured, missing, mujoco_engine.DOES_MORE)

    once, each = CART
    return [
        goal("cart with a rough contact against MuJoCo's RK4, start and end recorded", 10.0, single, MUJOCO, once),
        goal("the same, every state recorded and certified", 4.0, single, MUJOCO, each),
        *(
            goal(f"carts on two cores by {stepper}, steps against MuJoCo rollout", 3.0, many, ROLLOUT, name)
            for name, stepper in BATCHES.items()
        ),
    ]


def _pendulum(rows: int) -> go.Problem:
    x, y, u, v, L, g, m = sp.symbols("x y u v L g m")
    system = go.System.from_lagrangian(
        [x, y], [u, v], kinetic=m * (u**2 + v**2) / 2, potential=m * g * y,
        holonomic={f"rod {i}": (i + 1) * (x**2 + y**2 - L**2) for i in range(rows)},
        parameters={L: 1.0, g: 9.81, m: 1.0}, name=f"pendulum-of-{rows}-rows",
    )  # fmt: skip
    return go.Problem.of(system, q0=[1.0, 0.0], t_end=5.0, dt=DT)


def _pairs(budget: float) -> tuple[Table, list[Goal]]:
    """Each feature with and without, as problem and settings."""
    slide, bars = go.problem("sliding-rod", case="floor"), go.problem("two-bar", case="contact")
    guided = go.problem("guided-slider-crank", case="turning")
    fine, projected = {"dt": 1e-4, "t_end": 0.4}, {"stabilisation": "projection"}
    pairs = {
        "projection of the sliding rod": ((slide, fine), (slide, fine | projected)),
        "projection of the two bars": ((bars, fine), (bars, fine | projected)),
        "projection of the crank-slider": (
            (go.problem("crank-slider"), {"t_end": 5.0}), (go.problem("crank-slider"), {"t_end": 5.0} | projected)
        ),
        "a rod without inertia in a rough guide": (
            (guided.at(I2=1e-3), {"t_end": 0.5}), (guided.at(I2=0.0), {"t_end": 0.5})
        ),
        "a second row for the same rod": ((_pendulum(1), {}), (_pendulum(2), {})),
    }  # fmt: skip
    rows, data, goals = [], [], []
    for feature, (without, with_it) in pairs.items():
        runs = {"without": _run(*without), "with": _run(*with_it)}
        steps = {name: run() for name, run in runs.items()}
        times = interleave([Competitor(name, run, steps[name]) for name, run in runs.items()], budget / len(pairs))
        ratio = times.ratio("with", "without")
        rows.append((feature, spread(times.of("without"), 1e6), spread(times.of("with"), 1e6), spread(ratio)))
        data.append({"feature": feature, **{name: times.of(name).median for name in runs}})
        goals.append(Goal(f"{feature}, beside the model without it", FACTOR, True, ratio))
    columns = ("feature", "microseconds per step without", "with", "times as long")
    return Table(columns, rows, data), goals


def _run(problem: go.Problem, settings: dict[str, object]) -> Callable[[], int]:
    def run() -> int:
        found = go.simulate(problem, record_every=10**6, error_estimate=False, step_folder=None, **settings)
        if found.status is not go.Status.SOLVED:
            raise RuntimeError(f"{problem.label}: {found.message}")
        return int(found.meta["steps"])

    return run


def _ours(problem: go.Problem, every: int, stepper: str = "rk4") -> Callable[[], float]:
    def run() -> float:
        found = go.simulate(problem, stepper=stepper, record_every=every, error_estimate=False, step_folder=None)
        if found.status is not go.Status.SOLVED:
            raise RuntimeError(found.message)
        return float(found.q[-1, 0])

    return run


def _batch(problem: go.Problem, stepper: str) -> Callable[[], object]:
    settings = {"parameters": {"mu": np.full(MEMBERS, 0.4)}, "t_end": BATCH_STEPS * DT, "record_every": BATCH_STEPS}

    def run() -> object:
        data = go.simulate_batch(problem, stepper=stepper, **settings)
        if not (data.status == "solved").all():
            raise RuntimeError("A member of the batch of carts was not solved.")
        return data

    return run
