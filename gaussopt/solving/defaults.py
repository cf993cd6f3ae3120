"""The default program of a step, and the default solver of a program."""

from __future__ import annotations

from gaussopt.contact.activity import closed_contacts
from gaussopt.core.errors import IllPosed
from gaussopt.core.programs import Program
from gaussopt.core.step_data import StepData
from gaussopt.kinds import page_of
from gaussopt.kinds.step import check_step
from gaussopt.solving.foreign_formulation import find


def default_solver(program: Program) -> str:
    """Return the name of an exact solver for a program."""
    return page_of(program).default_solver(program)


def default_pair(step: StepData, formulation: str | None, solver: str | None) -> tuple[str, str]:
    """Return formulation and solver for a step, choosing those that are None.

    The formulation is gauss without contacts and stick-slip with contacts, but coulomb-soccp if a contact in space has
    friction and does not slip. Raises BadInput as `closed_contacts` does.
    """
    name = formulation or _law(step.select(closed_contacts(step)))
    if solver is not None:
        return name, solver
    try:
        return name, default_solver(formulate(step, name))
    except IllPosed:
        return name, "newton"  # there is no program to solve; solve_step returns the message


def _law(step: StepData) -> str:
    """Return the default formulation for a step whose contacts are all closed."""
    if not step.k:
        return "gauss"
    return "coulomb-soccp" if step.rests_in_space else "stick-slip"


def formulate(step: StepData, formulation: str) -> Program:
    """Return the program that a formulation makes of a step; open contacts are left out.

    Raises
    ------
    UnknownName, NotAccepted, BadInput

    Examples
    --------
    >>> import gaussopt as go
    >>> step = go.StepData.from_mapping({"M": [[2.0]], "Q": [-19.62]})
    >>> program = go.formulate(step, "gauss")
    >>> program.P, program.q
    (array([[2.]]), array([19.62]))
    """
    check_step(step)
    entry = find(formulation)
    step = entry.prepare(step.select(entry.contacts(step)))
    entry.check(step)
    return entry.apply(step)[0]
