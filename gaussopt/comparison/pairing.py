"""Pairs of formulations and solvers that apply to a step or program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaussopt import relaxations
from gaussopt.comparison.items import Data
from gaussopt.comparison.solver_spec import registered_name
from gaussopt.core import registry
from gaussopt.core.errors import IllPosed, NotAccepted
from gaussopt.core.programs import Program
from gaussopt.core.solver import missing_packages
from gaussopt.core.step_data import StepData
from gaussopt.formulations.base import Formulation
from gaussopt.kinds import page_of
from gaussopt.relaxations import first_program, is_contact_formulation
from gaussopt.solving.foreign_formulation import find


def installed_solvers(stochastic: bool = True) -> list[str]:
    """Return the names of all solvers whose packages are installed, with or without stochastic solvers."""
    entries = {name: registry.load("solver", name) for name in registry.names("solver")}
    return [name for name, entry in entries.items() if not missing_packages(entry) and stochastic >= entry.stochastic]


def is_exact(formulation: str) -> bool:
    """Return whether a formulation claims to be exact; the name "" of a program without formulation counts as exact."""
    if is_contact_formulation(formulation):
        return relaxations.find(formulation).exact
    return not formulation or bool(registry.load("formulation", formulation).exact)


def depends_on(formulation: str) -> tuple[tuple[str, str], ...]:
    """Return the registered entry of a formulation, (kind, name); formulations of contacts in space have none."""
    return (("formulation", formulation),) if is_step_formulation(formulation) else ()


def is_step_formulation(name: str) -> bool:
    """Return whether a formulation of steps has this name; one of contacts in space may have the same name."""
    return name in registry.names("formulation")


def check_formulation(name: str) -> None:
    """Check that a formulation of steps or of contacts in space has this name; raises UnknownName, BadInput."""
    if is_contact_formulation(name):
        relaxations.find(name)
    else:
        registry.load("formulation", name)


def pairs(formulations: Sequence[str], solvers: Sequence[str], typical: Data) -> list[tuple[str, str]]:
    """Return the pairs that apply to a typical item, in the given order; pairs for programs have the formulation ""."""
    data: Any = typical
    formulated = page_of(data).formulations
    if formulated == "contact":
        asked = {f: first_program(relaxations.find(f), data) for f in formulations if is_contact_formulation(f)}
        return [(f, s) for f, program in asked.items() for s in solvers if _takes(s, program)]
    if not formulated:
        return [("", s) for s in solvers if _takes(s, data)]
    found = []
    for f in formulations:
        if not is_step_formulation(f):
            continue
        formulation = find(f)
        if misfit(formulation, data):
            continue
        program = formulation.apply(formulation.prepare(data))[0]
        found += [(f, s) for s in solvers if _takes(s, program)]
    return found


def misfit(formulation: Formulation, step: StepData) -> str | None:
    """Return the reason why a formulation does not fit a step, or cannot build its program; None if it fits."""
    if formulation.level == "velocity" and step.k:
        return "it is at velocity level, and references hold accelerations"
    reason = formulation.misfit(step)
    if reason is not None:
        return reason
    try:
        formulation.apply(step)
    except (NotAccepted, IllPosed) as error:
        return str(error)
    return None


def _takes(solver: str, program: Program) -> bool:
    entry = registry.load("solver", registered_name(solver))
    fits = entry.sparse if program.sparse else entry.dense
    return bool(fits) and isinstance(program, entry.accepts)
