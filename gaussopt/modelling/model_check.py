"""Find mistakes in a model that yield valid equations of the wrong mechanism, and report each as a sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from gaussopt.core.display import listed
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.assembly import joints_of
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find_problem

LONG = 100.0
"""Coordinate above which lengths are probably in millimetres, if the gravitational acceleration is about 9.81."""

TURN = 2.0 * np.pi
"""Angle, rad, above which a value may have been given in degrees."""

WEIGHT = (9.0, 10.5)
"""Range, m/s^2, of the values that users may take for the gravitational acceleration."""


def check(problem: str | os.PathLike[str] | Problem | AbstractSystem) -> tuple[str, ...]:
    """Look for mistakes in a model that yield valid equations of the wrong mechanism.

    Checks the order of the velocities, unused parameters, angles that look like degrees, lengths that look like
    millimetres, coordinates without mass, and constraints with zero gradient; in models of `gaussopt.bodies` also
    joints that were created but not added, bodies without joints, a start far from the guesses, and whether a motion
    can begin. `simulate` issues the same sentences as warnings of class `ModelSlip`, and stores them with the motion.

    Parameters
    ----------
    problem : Problem or System, or the name or file of a problem

    Returns
    -------
    tuple of str
        A sentence for each mistake: what is wrong, where, how to correct it. An empty tuple does not prove correctness.

    Examples
    --------
    >>> import gaussopt as go
    >>> go.check("crank-slider")
    ()
    """
    entry = problem if isinstance(problem, AbstractSystem | Problem) else find_problem(problem)
    if isinstance(entry, AbstractSystem):
        return (*entry.notes, *_unused(entry))
    step = entry.system.evaluate(0.0, entry.q0, entry.v0)
    return tuple(of_start(entry.system, step, entry.fixed_start))


def _unused(system: AbstractSystem) -> Iterator[str]:
    if system.unused:
        verb = "is given and occurs" if len(system.unused) == 1 else "are given and occur"
        yield (
            f"{listed(system.unused)} {verb} in no energy, force, constraint or contact: is one missing? Add it, or "
            "leave the parameter out."
        )


def of_start(system: AbstractSystem, step: StepData, fixed: bool) -> Iterator[str]:
    """Yield all warnings on a system at the step of its start; `fixed`: its parameters do not change the start."""
    yield from system.notes
    if fixed:
        yield from _unused(system)
    names, q = system.coordinates(step.n), step.q
    if q is None:
        return
    turned = [f"{name} = {x:g}" for name, x in zip(names, q.tolist(), strict=True) if _is_angle(name) and abs(x) > TURN]
    if turned:
        yield (
            f"At the start {listed(turned)}, more than a full turn: angles are in radians. If degrees are meant, give "
            "numpy.radians of them."
        )
    largest = int(np.argmax(np.abs(q))) if len(q) else 0
    fall = _free_fall(step)
    if len(q) and abs(q[largest]) > LONG and WEIGHT[0] < fall < WEIGHT[1] and not _is_angle(names[largest]):
        yield (
            f"At the start {names[largest]} is {q[largest]:g}, and bodies fall with {fall:.3g} per square second: if "
            "lengths are in millimetres, gravity is 9810 mm/s^2."
        )
    acts = [] if step.sparse else [bool(row.any()) for row in step.J]
    rows = system.row_names or [str(i + 1) for i in range(len(acts))]
    idle, acting = (
        joints_of([row for row, there in zip(rows, acts, strict=False) if there == held]) for held in (False, True)
    )
    for name in idle:
        if name not in acting:
            yield (
                f"The constraint {name} holds nothing at the start: its derivatives by all coordinates are zero. See "
                "whether it is the one that is meant."
            )
    held = _without_mass(step)
    if held:
        one = len(held) == 1
        yield (
            f"{listed([names[i] for i in held])} {'has' if one else 'have'} no mass, and no constraint holds "
            f"{'it' if one else 'them'}: {'its acceleration is' if one else 'their accelerations are'} not determined. "
            "Give a mass, or a constraint."
        )


def _without_mass(step: StepData) -> list[int]:
    """Return the indices of the coordinates on which neither mass nor constraints act."""
    if step.sparse:
        return []
    return np.flatnonzero(~step.M.any(axis=1) & ~step.J.any(axis=0)).tolist()


def _free_fall(step: StepData) -> float:
    """Return the largest ratio |Q_i| / M_ii of a generalised force to the mass that belongs to its coordinate."""
    if step.sparse or not step.n:
        return 0.0
    mass = np.diagonal(step.M)
    return float((np.abs(step.Q) / np.where(mass > 0, mass, np.inf)).max())


def _is_angle(name: str) -> bool:
    return name.startswith(("th", "phi", "psi", "alpha", "beta", "angle"))
