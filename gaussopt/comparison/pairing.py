"""Pairs of formulations and solvers that apply to a step or program."""

from __future__ import annotations

from collections.abc import Sequence

from gaussopt.comparison.solver_spec import registered_name
from gaussopt.core import registry
from gaussopt.core.errors import IllPosed, NotAccepted
from gaussopt.core.programs import LCP, QP, Program
from gaussopt.core.solver import missing_packages
from gaussopt.core.step_data import StepData
from gaussopt.formulations.base import Formulation
from gaussopt.solving.foreign_formulation import find


def installed_solvers() -> list[str]:
    """Names of all solvers whose packages are there."""
    return [s for s in registry.names("solver") if not missing_packages(registry.load("solver", s))]


def is_exact(formulation: str) -> bool:
    """Whether a formulation claims to be exact; programs, whose formulation is "", are what they are."""
    return not formulation or bool(registry.load("formulation", formulation).exact)


def pairs(formulations: Sequence[str], solvers: Sequence[str], typical: StepData | QP | LCP) -> list[tuple[str, str]]:
    """The pairs that apply to a typical item, in the given order; of a program the formulation is ""."""
    if not isinstance(typical, StepData):
        return [("", s) for s in solvers if _takes(s, typical)]
    found = []
    for f in formulations:
        formulation = find(f)
        if misfit(formulation, typical):
            continue
        program = formulation.apply(formulation.prepare(typical))[0]
        found += [(f, s) for s in solvers if _takes(s, program)]
    return found


def misfit(formulation: Formulation, step: StepData) -> str | None:
    """Reason why a formulation does not fit a step, also where only its program says so; None if it fits."""
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
    fits = entry.sparse if getattr(program, "sparse", False) else entry.dense
    return bool(fits) and isinstance(program, entry.accepts)
