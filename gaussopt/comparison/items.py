"""Items of a comparison: the steps at the states of a reference, or of a problem's own motion."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from time import process_time
from typing import Any

import numpy as np

from gaussopt.contact.activity import closed_contacts, tolerances
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import BadInput
from gaussopt.core.programs import LCP, QP
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.core.time_step import SteppedSystem
from gaussopt.formulations.moreau_jean import formulation
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.reference import ReferenceData
from gaussopt.modelling.registered import registered_problem
from gaussopt.simulation.simulate import simulate

SIMULATED = "own motion"
"""Stands for the name of a reference if a problem has none: the states are those of its default motion."""

ROWS = 101
"""Number of states of the default motion."""

OWN: dict[str, Any] = {
    "stepper": "dop853", "rtol": 1e-7, "atol": 1e-7, "accumulation": "close", "step_folder": None,
    "error_estimate": False,
}  # fmt: skip
"""Settings of the default motion."""

FEWEST = 10
"""Smallest number of states of a motion that ends early."""

LEAST_SHARE = 1e-3
"""Smallest fraction of the motion that is computed, even if the first step takes longer than the time limit."""

Data = StepData | QP | LCP | ConeComplementarity
"""Data of an item: a program, or a step, from which a formulation makes a program."""


@dataclass(frozen=True, slots=True)
class Item:
    """One step or program of a sequence.

    `a` is the reference acceleration, or the solution of a program, (n,), t the instant in s, and `lam_N` holds the
    normal forces, N, if they are known.
    """

    data: Data
    a: Vector | None = None
    t: float = math.nan
    lam_N: Vector | None = None


def states_of(problem: Problem, reference: str, stride: int = 1, t_end: float | None = None) -> Iterator[Item]:
    """Yield the step with its closed contacts at every `stride`-th state of a reference, at the reference's parameters.

    If the problem has no reference, the states are those of its own motion, simulated up to `t_end`.

    Instants at which contact modes change are left out. States without closed contacts are left out if the system has
    contacts and any of them is closed at another state.
    """
    own = [r for r in problem.references if r.name == reference]
    entry = problem.at(**own[0].settings) if own else problem
    if isinstance(entry.system, SteppedSystem):
        motion = _simulated(entry.name, _frozen(entry.settings), entry.build, t_end or entry.t_end)
        system = entry.system.begun(float(motion.t[0]), motion.q[0], motion.v[0], entry.dt)
        for t, q, v in zip(motion.t[::stride], motion.q[::stride], motion.v[::stride], strict=True):
            if (impulses := impulses_of(system, float(t), q, v, entry.dt)) is not None:
                yield Item(impulses, t=float(t))
        return
    rows = (
        entry.reference(reference)
        if reference != SIMULATED
        else _simulated(entry.name, _frozen(entry.settings), entry.build, t_end or entry.t_end)
    )
    every = slice(None, None, stride)
    flights = []
    closed = False
    for t, q, v, a in zip(rows.t[every], rows.q[every], rows.v[every], rows.a[every], strict=True):
        whole = entry.system.evaluate(float(t), q, v)
        step = decided(whole)
        if step is None:
            continue
        item = Item(step, a, float(t))
        if step.k or not whole.k:
            closed = True
            yield item
        else:
            flights.append(item)
    if not closed:
        yield from flights


def impulses_of(system: AbstractSystem, t: float, q: Vector, v: Vector, h: float) -> ConeComplementarity | None:
    """Return the contact problem of a Moreau-Jean step of length h; None if no contact can close within the step."""
    if isinstance(system, SteppedSystem):
        stated = system.time_step(t, q, v).problem(h)
        return stated if stated.k else None
    step = replace(system.evaluate(t, q, v), dt=h)
    assert step.g_N is not None
    assert step.gdot_N is not None
    closed = np.flatnonzero(step.g_N + 0.5 * h * step.gdot_N <= tolerances(step)[0])  # as a simulation decides
    if not len(closed):
        return None
    program: ConeComplementarity = formulation.apply(formulation.prepare(step.select(closed)))[0]
    return program


def typical_step(entry: Problem) -> StepData:
    """Return the step at the start; if it has no closed contact, or `decided` rejects it, all contacts are closed."""
    step = entry.system.evaluate(0.0, entry.q0, entry.v0)
    closed = decided(step)
    return replace(step, g_N=None, gdot_N=None) if closed is None or (step.k and not closed.k) else closed


def decided(step: StepData) -> StepData | None:
    """Return the step with its closed contacts; None if a contact with friction sticks or an impact is imminent."""
    try:
        closed = step.select(closed_contacts(step))
    except BadInput:
        return None
    return None if (closed.mu.any() and (closed.speed <= tolerances(closed)[1])[closed.mu > 0].any()) else closed


def _frozen(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((k, v if isinstance(v, float | int | str) else tuple(v)) for k, v in settings.items())


def end_within(entry: Problem, seconds: float) -> float:
    """Return the motion time, s, that the default motion of a problem reaches in `seconds` of processor time."""
    begin, share = math.inf, 0.0

    def late(done: float) -> None:
        nonlocal begin, share
        begin, share = min(begin, process_time()), done  # time is measured from the first step, after code generation
        if process_time() - begin > seconds:
            raise _Late

    with suppress(_Late):
        simulate(entry, progress=late, **_own(entry, entry.t_end / (ROWS - 1)))
        share = 1.0
    return max(share, LEAST_SHARE) * entry.t_end


def _own(entry: Problem, apart: float) -> dict[str, Any]:
    """Return the settings of the default motion with recorded states `apart`, s; see `OWN`."""
    if isinstance(entry.system, SteppedSystem):
        every = max(1, round(apart / entry.dt))
        return {"dt": entry.dt, "record_every": every, "step_folder": None, "error_estimate": False}
    return {"dt": apart} | OWN


class _Late(BaseException):
    """Raised to discard a motion; not an Exception, because `simulate` catches those and returns the motion so far."""


@cache
def _simulated(name: str, settings: tuple[tuple[str, Any], ...], build: object, t_end: float) -> ReferenceData:
    """Return the default motion of a problem as reference data; `build` lets the cache notice a changed file."""
    entry = registered_problem(name, **dict(settings))
    # A motion that ends early has fewer states (at least FEWEST), because solving at a state can cost more than a step.
    motion = simulate(entry, t_end=t_end, **_own(entry, min(entry.t_end / (ROWS - 1), t_end / FEWEST)))
    if len(motion.t) < 2:
        raise BadInput(f"{name} has no reference, and its own motion does not begin: {motion.message}")
    unknown = np.full(len(motion.t), np.nan)
    return ReferenceData(motion.t, motion.q, motion.v, motion.a, motion.lam, unknown)
