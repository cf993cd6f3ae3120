"""The solvers of a motion with contacts: one asked for, and those that stand in for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gaussopt.core.programs import LCP
from gaussopt.core.step_data import StepData
from gaussopt.solving.step_solver import StepSolver

MECHANICS = frozenset({"lcp", "stick-slip"})
"""Formulations that are the contact laws themselves."""

PIVOTING = frozenset({"lemke", "principal-pivoting"})
"""Solvers by complementary pivots: the kernel of a stage stands for them where their warm start is right."""


@dataclass(frozen=True)
class ContactSolvers:
    """Solvers of the steps of a motion with contacts.

    Attributes
    ----------
    main : the formulation and solver asked for
    stick : for steps with a contact without slip where the main formulation knows only sliding ones
    flight : where no contact is closed
    impact : for the jumps of velocity, by lemke
    last_resort : stick-slip by lemke, for steps that the solver of the others refuses
    """

    main: StepSolver
    stick: StepSolver
    flight: StepSolver
    impact: StepSolver
    last_resort: StepSolver

    @classmethod
    def of(
        cls, formulation: str, solver: str, options: Mapping[str, Any] | None, tolerance: float, warm: bool
    ) -> ContactSolvers:
        """The main pair, and what stands in for it.

        Stick is solved by stick-slip, with the same solver if it takes linear complementarity problems and else with
        lemke; flight by the Gauss QP with kkt.
        """
        main = StepSolver(formulation, solver, options, tolerance, warm)
        takes = LCP in main.sequence.solver.accepts
        lcp_solver, lcp_options = (solver, options) if takes else ("lemke", None)
        stick = StepSolver("stick-slip", lcp_solver, lcp_options, tolerance, warm)
        flight = StepSolver("gauss", "kkt", None, tolerance, warm)
        impact, last = (StepSolver("stick-slip", "lemke", None, tolerance, warm) for _ in range(2))
        return cls(main, stick, flight, impact, last)

    def for_step(self, step: StepData) -> StepSolver:
        """The one that fits the step."""
        if not step.k:
            return self.flight
        if step.resting.any() and self.main.formulation.refuses(step) is not None:
            return self.stick
        return self.main

    def why_interpreted(self) -> str | None:
        """Why the kernel cannot stand for formulation and solver, None if it can.

        It is the contact laws themselves, solved by pivots from the active set of the stage before.
        """
        main, sequence = self.main, self.main.sequence
        plain = sequence.solver.options == sequence.solver.options_type() and sequence.warm_start
        if main.formulation.name in MECHANICS and sequence.solver.name in PIVOTING and plain:
            return None
        names = f"{' or '.join(sorted(MECHANICS))} with {' or '.join(sorted(PIVOTING))}"
        return f"it is the formulation {names}, warm-started and without options"
