"""Chains of links, ours by compiled kernels and MuJoCo's with every pin a `connect`: time per step and its growth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import ours
from measuring import Competitor, Spread, Times, interleave, seconds
from mechanisms import Mechanism, chain
from page import Goal, Section, Table, spread
from rivals import mujoco_engine
from rivals.mujoco_engine import Settings

from gaussopt.jit.kernel import COMPILED

Steps = Callable[[int], None]

LINKS = (100, 300, 1000, 3000, 10_000)
LONG = (*LINKS, 30_000, 100_000)
"""Of our kernels; MuJoCo's models of these lengths take minutes to build."""

COMPARED = 1000
"""Links at which the engines are compared, and from which on the exponent is fitted: below, the costs that do not grow
are seen."""

DT = 1e-3
CALL = 0.05
"""Seconds of a timed call, about."""

SETTLED = 50
"""Steps of an interpreted call, of which the first takes as long as many."""

ONE, FOUR = "one evaluation", "RK4"
NO_LLVM = "compilation is switched off"


def measure(budget: float) -> Section:
    """Free bodies and `connect`, sparse Newton; the tree of hinges for comparison; our kernels and our numpy path."""
    missing = mujoco_engine.RK4_HARD.missing
    competitors: list[Competitor] = []
    refused: list[tuple[str, str]] = []
    for kind, prepare, lengths in _entries(not missing):
        for links in lengths:
            try:
                least = SETTLED if "interpreted" in kind else 1
                competitors.append(_competitor(_name(kind, links), prepare(chain(links)), least))
            except ValueError as error:  # MuJoCo's word for models that it cannot take; larger ones neither
                refused.append((_name(kind, links), str(error).splitlines()[-1]))
                break
    times = interleave(competitors, budget)
    rows = [(c.name, spread(times.of(c.name), 1e6)) for c in competitors] + refused
    rows += [("MuJoCo", missing)] if missing else []
    rows += [] if COMPILED else [("gaussopt, compiled", NO_LLVM)]
    data = [{"engine": c.name, "seconds_per_step": times.of(c.name).median} for c in competitors]
    fits = {kind: fit for kind, _, _ in _entries(not missing) if (fit := _growth(times, kind)) is not None}
    growth = "; ".join(f"{kind}: {spread(fit)}" for kind, fit in fits.items())
    return Section(
        "Chains",
        (
            "N planar links in a row, let go horizontally; microseconds per step. A step of one evaluation of the "
            "accelerations is MuJoCo's `implicitfast` and our semi-implicit Euler; RK4 takes four. `connect`: every "
            "link free in the plane, 3 N coordinates, every pin a constraint, sparse Newton solver; ours are the same "
            "coordinates and pins, solved exactly. `tree`: N hinges and no constraint. Compiled, the residuals of "
            "every step are checked and every recorded state is certified, which costs what the row `certificate` "
            "says; interpreted, every evaluation is certified.",
            f"Exponents p of time = c N^p from {COMPARED} links on: {growth}.",
            f"MuJoCo does more: {mujoco_engine.DOES_MORE}.",
        ),
        (Table(("engine", "microseconds per step"), rows, data), *_memory()),
        (
            _faster(times, "implicitfast", ONE, missing),
            _faster(times, "RK4", FOUR, missing),
            *(_grows(fits, steps) for steps in (ONE, FOUR)),
        ),
    )


def _memory() -> list[Table]:
    """What a step takes; nothing without our kernels."""
    if not COMPILED:
        return []
    found = {links: ours.memory(chain(links)) for links in (COMPARED, LONG[-1])}
    rows = [(str(n), *(f"{b / 2**20:.3g} MiB ({b / n:.0f} bytes a link)" for b in sizes)) for n, sizes in found.items()]
    data = [{"links": n, "step_data_bytes": a, "compiled_bytes": b} for n, (a, b) in found.items()]
    return [Table(("links", "memory of the step data (M, J, vectors)", "memory of a compiled step"), rows, data)]


def _entries(mujoco: bool) -> list[tuple[str, Callable[[Mechanism], Steps], tuple[int, ...]]]:
    """Kinds of steps, what prepares them, and for which lengths."""
    found: list[tuple[str, Callable[[Mechanism], Steps], tuple[int, ...]]] = []
    if COMPILED:
        found += [
            (_ours(ONE), partial(ours.linkage_steps, dt=DT, stepper="semi-implicit"), LONG),
            (_ours(FOUR), partial(ours.linkage_steps, dt=DT, stepper="rk4"), LONG),
            ("gaussopt, certificate of a recorded state", ours.certificates, (COMPARED,)),
        ]
    found += [
        (f"gaussopt, interpreted, {ONE}", partial(ours.interpreted_steps, dt=DT, stepper="semi-implicit"), (COMPARED,)),
        (f"gaussopt, interpreted, {FOUR}", partial(ours.interpreted_steps, dt=DT, stepper="rk4"), (COMPARED,)),
    ]
    if mujoco:
        found += [
            (_theirs("implicitfast"), partial(_mujoco, settings=Settings("implicitfast", tree=False)), LINKS),
            (_theirs("RK4"), partial(_mujoco, settings=Settings("RK4", tree=False)), (COMPARED,)),
            ("MuJoCo, tree, implicitfast", partial(_mujoco, settings=Settings("implicitfast")), LINKS),
        ]
    return found


def _mujoco(mechanism: Mechanism, settings: Settings) -> Steps:
    """The same first steps in every call."""
    import mujoco

    model, data = mujoco_engine.build(mechanism, DT, settings)

    def steps(count: int) -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, nstep=count)

    return steps


def _competitor(name: str, steps: Steps, least: int) -> Competitor:
    steps(1)
    count = max(least, round(CALL / seconds(lambda: steps(1))))
    return Competitor(name, lambda: steps(count), count)


def _faster(times: Times, theirs: str, steps: str, missing: str) -> Goal:
    """The same number of evaluations by both engines."""
    slower, faster = _name(_theirs(theirs), COMPARED), _name(_ours(steps), COMPARED)
    both = slower in times and faster in times
    return Goal(
        f"chain of {COMPARED} links, step of {steps} against MuJoCo with `connect` ({theirs})", 10, False,
        times.ratio(slower, faster) if both else None, "" if both else missing or NO_LLVM, mujoco_engine.DOES_MORE,
    )  # fmt: skip


def _grows(fits: dict[str, Spread], steps: str) -> Goal:
    fit = fits.get(_ours(steps))
    what = f"chain of {COMPARED} to {LONG[-1]} links, exponent of the time of a step of {steps}"
    return Goal(what, 1.1, True, fit, "" if fit else NO_LLVM, unit="")


def _growth(times: Times, kind: str) -> Spread | None:
    """The exponent of one kind of step, round by round; None of fewer than two lengths."""
    names = {n: _name(kind, n) for n in LONG if n >= COMPARED and _name(kind, n) in times}
    if len(names) < 2:
        return None
    size = np.log(list(names))
    rounds = zip(*(times.seconds[name] for name in names.values()), strict=False)
    return Spread.of([float(np.polyfit(size, np.log(found), 1)[0]) for found in rounds])


def _ours(steps: str) -> str:
    return f"gaussopt, compiled, {steps}"


def _theirs(integrator: str) -> str:
    return f"MuJoCo, connect, {integrator}"


def _name(kind: str, links: int) -> str:
    return f"{kind}, {links} links"
