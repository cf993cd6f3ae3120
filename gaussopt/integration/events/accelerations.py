"""Accelerations of a motion with contacts, in the contact modes of the present phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import NotAccepted
from gaussopt.core.programs import LCP
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stabilisation
from gaussopt.core.system import AbstractSystem
from gaussopt.formulations.base import Candidate
from gaussopt.integration.accelerations import CertifiedAccelerations, largest
from gaussopt.integration.events.modes import TOLERANCES, ContactModes
from gaussopt.integration.events.regular_stages import CertifiedStage, StageKernel
from gaussopt.integration.rotations import Rotations
from gaussopt.integration.stabilisation import Baumgarte
from gaussopt.kinds.step import certify_step
from gaussopt.linalg.redundancy import open_forces
from gaussopt.solving.answer import Answer
from gaussopt.solving.step_solver import StepSolver

MECHANICS = frozenset({"lcp", "stick-slip"})
"""Formulations that are the contact laws themselves, not a minimum principle."""

PIVOTING = frozenset({"lemke", "principal-pivoting"})
"""Solvers by complementary pivots; the stage kernel replaces them where the active set of their warm start is right."""

NOT_PROVED = (
    "Where contacts in space have no slip, that the accelerations are the only ones that Coulomb's law allows is not "
    "proved."
)


class ContactSolvers:
    """The step solvers that a motion with contacts needs.

    `main` is the solver that the user requested. Substitutes for steps that it cannot solve are created when needed.
    """

    def __init__(
        self, formulation: str, solver: str, options: Mapping[str, Any] | None, tolerance: float, warm: bool
    ) -> None:
        self.main = StepSolver(formulation, solver, options, tolerance, warm)
        self._given = solver, options
        self._tolerance, self._warm = tolerance, warm

    @cached_property
    def stick(self) -> StepSolver:
        """Solver of steps with contacts without slip, which `main` may refuse; the user's solver if it accepts LCPs."""
        solver, options = self._given if LCP in self.main.sequence.solver.accepts else ("lemke", None)
        return StepSolver("stick-slip", solver, options, self._tolerance, self._warm)

    @cached_property
    def cones(self) -> StepSolver:
        """Solver of steps with contacts in space without slip; the user's solver if it accepts friction cones.

        The search for a second solution is switched off: it is worthwhile for a single problem, not at every stage.
        Redundant contacts share forces as in the compiled kernel, so that both engines compute the same motion.
        """
        takes = ConeComplementarity in self.main.sequence.solver.accepts
        solver, options = self._given if takes else ("hybrid", {"searched": 0, "compliance": True})
        return StepSolver("coulomb-soccp", solver, options, self._tolerance, self._warm)

    @cached_property
    def flight(self) -> StepSolver:
        """Solver of steps without closed contacts, used if `main` solves only steps with contacts."""
        return StepSolver("gauss", "kkt", None, self._tolerance, self._warm)

    @cached_property
    def any_contact(self) -> StepSolver:
        """Solver of velocity jumps, and of steps that the other solvers refuse; not for resting contacts in space."""
        return StepSolver("stick-slip", "lemke", None, self._tolerance, self._warm)

    @property
    def stand_ins(self) -> list[str]:
        """Substitutes that were needed at contacts without slip, as texts such as "stick-slip by lemke"."""
        made = [self.__dict__[name] for name in ("stick", "cones") if name in self.__dict__]
        return [f"{one.formulation.name} by {one.sequence.solver.name}" for one in made]

    def for_step(self, step: StepData) -> StepSolver:
        """Return `main` if it can solve the step, otherwise the substitute for such a step."""
        if (step.k and not step.resting.any()) or self.main.formulation.refuses(step) is None:
            return self.main
        if not step.k:
            return self.flight
        return self.cones if step.rests_in_space else self.stick

    def why_interpreted(self) -> str | None:
        """Return the reason why the kernel cannot replace formulation and solver; None if it can.

        The kernel solves the contact laws by pivoting, starting from the active set of the previous stage.
        """
        main, sequence = self.main, self.main.sequence
        plain = sequence.solver.options == sequence.solver.options_type() and sequence.warm_start
        if main.formulation.name in MECHANICS and sequence.solver.name in PIVOTING and plain:
            return None
        names = f"{' or '.join(sorted(MECHANICS))} with {' or '.join(sorted(PIVOTING))}"
        return f"only the formulation {names}, warm-started and without options, is compiled: leave both out"


class WatchedValues(NamedTuple):
    """Results of the compiled kernel at one state, with c of the k contacts closed.

    Attributes
    ----------
    a, lam_N, lam_T : acceleration, (n,), and forces of the closed contacts, (c,) and (c, 1)
    values : (k, 9), watched values of every contact, see `gaussopt.compiled.contact_kernel.SEEN`
    """

    a: Vector
    lam_N: Vector
    lam_T: Matrix
    values: Matrix


def same_instant(one: float, other: float) -> bool:
    """Return whether two instants differ by rounding errors only, like a sum t + h and its exact value."""
    return abs(one - other) <= TOLERANCES.instant * (1.0 + abs(one))


def undecided(answer: Answer) -> bool:
    """Return whether the quick proofs could not decide if an answer is unique."""
    return answer.contact is not None and not answer.contact.decided


class ContactAccelerations(CertifiedAccelerations):
    """Accelerations in the present phase of a motion; a compiled kernel solves regular stages."""

    def __init__(
        self, system: AbstractSystem, solvers: ContactSolvers, stabiliser: Stabilisation, phase: ContactModes,
        kernel: StageKernel | None = None,
    ) -> None:  # fmt: skip
        super().__init__(system, solvers.main, stabiliser)
        self.solvers, self.kernel, self._phase = solvers, kernel, phase
        self._latest: tuple[float, bytes, CertifiedStage | None] | None = None
        self._watched: tuple[float, Vector, Callable[[], WatchedValues]] | None = None

    @property
    def stand_ins(self) -> list[str]:
        """Substitutes for the requested formulation and solver that were used, as texts."""
        return self.solvers.stand_ins

    def _answer(self, t: float, q: Vector, v: Vector) -> Answer:
        """Solve by the kernel if the stage is regular, otherwise by formulation and solver."""
        found = self._regular(t, q, v)
        if found is not None:
            return found.answer()
        answer = super()._answer(t, q, v)
        if self.kernel is not None:
            self.kernel.learn(answer, self._stabilised(t, q, v), self.phase)
        return answer

    def rate(self, t: float, q: Vector, u: Vector) -> Vector:
        """Return the acceleration du/dt; at a regular stage without forming the rest of the answer."""
        known = self._last
        if known is None or known[0] != t or known[1] != q.tobytes() + u.tobytes():
            found = self._regular(t, q, u)
            if found is not None:
                return found.a
        return super().rate(t, q, u)

    def _regular(self, t: float, q: Vector, v: Vector) -> CertifiedStage | None:
        """Return the kernel's result at a state, computed once per state; None if the stage is not regular."""
        kernel = self.kernel
        if kernel is None:
            return None
        state = q.tobytes() + v.tobytes()
        if self._latest is not None and self._latest[:2] == (t, state):
            return self._latest[2]
        begin = perf_counter()
        step = self._stabilised(t, q, v)
        self.timing["model"] += perf_counter() - begin
        found = self._by_kernel(kernel, step, self.phase)
        self._latest = t, state, found
        return found

    def _by_kernel(self, kernel: StageKernel, step: StepData, phase: ContactModes) -> CertifiedStage | None:
        """Return the kernel's result for a step, added to the statistics; None if the step is not regular."""
        fresh = kernel.compiling is None
        found = kernel.solve(step, phase)
        if fresh and kernel.compiling is not None:
            self.timing["compile"] = self.timing.get("compile", 0.0) + kernel.compiling
        if found is not None:
            self.timing["solve"] += found.seconds
            self.iterations += 1
            self._tally(*found.worst)
        return found

    def definiteness(self, t: float, q: Vector, v: Vector) -> float:
        """Return the smallest eigenvalue `ContactOperator.definiteness` at a state."""
        if self.kernel is not None and self._regular(t, q, v) is not None:
            return self.kernel.smallest_eigenvalue
        return ContactOperator.of(self.step(t, q, v)).definiteness

    @cached_property
    def rotations(self) -> Rotations:
        """The map from angular velocities to rates of quaternions; available after the first evaluation."""
        assert self._whole is not None
        step = self._whole[2]
        return Rotations(self.system.quaternions, step.n, step.m)

    def memory(self) -> dict[str, Any]:
        """Return the phase, and the active set from which the kernel starts its next stage."""
        return {"phase": self._phase, "kernel": {} if self.kernel is None else self.kernel.memory(self._phase)}

    def recall(self, t: float, q: Vector, u: Vector, memory: Mapping[str, Any]) -> None:
        """Restore what `memory` returned at this state."""
        if "phase" in memory:
            self.phase = ContactModes.of(memory["phase"])
            if self.kernel is not None:
                self.kernel.recall(memory["kernel"], self.phase, len(q), self.whole(t, q, u).m)

    @property
    def phase(self) -> ContactModes:
        """The contact modes of the present phase; assigning them discards the stored answers."""
        return self._phase

    @phase.setter
    def phase(self, phase: ContactModes) -> None:
        self._phase, self._last, self._latest, self._watched = phase, None, None, None

    def know_watched(self, t: float, state: Vector, values: Callable[[], WatchedValues]) -> None:
        """Store how to get the watched values of a state (q, v), solved and certified in the present phase."""
        self._watched = t, state, values

    def watched(self, t: float, q: Vector, v: Vector) -> WatchedValues | None:
        """Return the values that `know_watched` was told of last, if they belong to this state; None otherwise."""
        known = self._watched
        if known is None or not same_instant(known[0], t) or known[1].tobytes() != q.tobytes() + v.tobytes():
            return None
        return known[2]()

    def forget(self) -> None:
        """Discard the stored results of the latest states."""
        super().forget()
        self._latest = self._watched = None

    def step(self, t: float, q: Vector, v: Vector) -> StepData:
        """Return the step data of a state, restricted to the closed contacts."""
        return self.phase.shape(self._stabilised(t, q, v))

    def _stabilised(self, t: float, q: Vector, v: Vector) -> StepData:
        """Return the step data with all contacts, and with the stabilisation's feedback for joints and gaps."""
        whole = self.whole(t, q, v)
        if isinstance(self.stabiliser, Baumgarte) and whole.g_N is not None and whole.gdot_N is not None:
            alpha, beta = self.stabiliser.alpha, self.stabiliser.beta
            whole = replace(whole, zeta_N=whole.zeta_N + 2 * alpha * whole.gdot_N + beta**2 * whole.g_N)
        return self.stabiliser.shape(self.system, whole)

    def solve(self, step: StepData, solver: StepSolver | None = None) -> Answer:
        """Solve by `solver`, by default the solver that fits the step; try only quick proofs of uniqueness."""
        return self._solve(step, False, solver)

    def decided(self, t: float, q: Vector, v: Vector) -> Answer:
        """Return the answer at a state; if quick proofs cannot decide its uniqueness, enumerate the modes."""
        found = self._regular(t, q, v)
        return found.answer() if found is not None and found.unique else self._solve(self.step(t, q, v), True)

    def _solve(self, step: StepData, thorough: bool, solver: StepSolver | None = None) -> Answer:
        chosen = self.solvers.for_step(step) if solver is None else solver
        chosen.thorough = thorough
        try:
            return self._shared(step, super().solve(step, chosen), chosen)
        except NotAccepted:
            # Some solvers of the LCPs of sliding contacts refuse those of resting contacts, with zeros on the diagonal.
            if not step.resting.any() or step.rests_in_space or chosen is self.solvers.any_contact:
                raise
        self.solvers.any_contact.thorough = thorough
        return self._shared(step, super().solve(step, self.solvers.any_contact), chosen)

    def _shared(self, step: StepData, answer: Answer, solver: StepSolver) -> Answer:
        """Return the answer with the forces of redundant contacts that depend on the step alone, if they pass.

        Which of these forces pivoting finds depends on earlier steps, and on rounding errors.
        """
        if answer.forces_unique or step.k < 2 or step.rests_in_space or not any(open_forces(step)[1:]):
            return answer
        op = ContactOperator.of(step)
        x = op.complementarity.shared
        if x is None:
            return answer
        found = Candidate(op.acceleration(x), op.multipliers(x), *op.split(x))
        certificate = certify_step(step, *found, solver.thorough)
        if not certificate.passed(solver.tolerance):
            return answer
        return replace(answer, certificate=certificate, **found._asdict())

    def confirm(self, step: StepData, solver: StepSolver) -> None:
        """Check that the solution at sticking contacts is unique, provided that this takes little time.

        Redundant contacts have many modes with singular matrices; they are checked only at the start of a phase.

        Raises Rejected if the solution is not unique.
        """
        if step.rests_in_space:
            self.say_not_proved()  # a cone has no slower proof
            return
        if step.m + step.k + np.count_nonzero(step.resting) > step.n:
            return
        laws = ContactOperator.of(step).complementarity
        if laws.quick and laws.uniqueness().status is not Status.SOLVED:
            self._solve(step, True, solver)  # raises Rejected with the reason

    def say_not_proved(self) -> None:
        """Warn that the motion of contacts in space without slip is not proved to be the only one."""
        if NOT_PROVED not in self.warnings:
            self.warnings.append(NOT_PROVED)

    def solve_impact(self, step: StepData) -> Answer:
        """Return the velocity jump of an impact if it is unique; raises Rejected otherwise."""
        if self.kernel is not None and step.least_N is None:
            resting = frozenset(np.flatnonzero(step.resting).tolist())
            modes = ContactModes(tuple(range(step.k)), resting, step.sigma, np.ones(step.k))
            found = self._by_kernel(self.kernel, step, modes)
            if found is not None and found.unique:
                return found.answer()
        chosen = self.solvers.cones if step.rests_in_space else self.solvers.any_contact
        chosen.thorough = True
        return CertifiedAccelerations.solve(self, step, chosen)

    def note_open_forces(self, t: float, q: Vector, v: Vector) -> bool:
        """Add forces that the acceleration at a state leaves open to `open_forces`; return whether there are none.

        Forces are unique if the columns of J^T, J_N^T and J_T^T are independent.
        """
        closed, names = self.phase.closed, ("lam", "lam_N", "lam_T")
        step = self.step(t, q, v)
        rows, found = self.rotations.rows, open_forces(self.rotations.reduced(step))
        for name, numbers in zip(names, found, strict=True):
            self.open_forces.update((name, int(rows[i]) if name == "lam" else closed[i]) for i in numbers)
        return not any(found)

    def forces(self, answer: Answer) -> tuple[Vector, Matrix]:
        """Return lam_N, (k,), and lam_T, (k, d), of all contacts; lam_N < 0 on the opposite wall of a two-sided one."""
        phase = self.phase
        lam_N, lam_T = np.zeros(len(phase.wall)), np.zeros(phase.sigma.shape)
        index = list(phase.closed)
        if index:
            lam_N[index], lam_T[index] = answer.lam_N * phase.wall[index], answer.lam_T
        return lam_N, lam_T

    def row(self, t: float, q: Vector, v: Vector, answer: Answer) -> tuple[Any, ...]:
        """Return the values to record for a state, with those of its contacts, in the order of `Recorder`."""
        step, (lam_N, lam_T) = self.whole(t, q, v), self.forces(answer)
        return (*super().row(t, q, v, answer), lam_N, step.g_N, self.phase.modes(), lam_T, step.v_T)

    def drift(self, t: float, q: Vector, v: Vector) -> tuple[float, float]:
        """Return the largest residuals of joints, closed gaps and sticking contacts at position and velocity level."""
        drift, step, phase = super().drift(t, q, v), self.whole(t, q, v), self.phase
        closed = list(phase.closed)
        if not closed or step.g_N is None or step.gdot_N is None:
            return drift
        # Without joints `drift` is NaN; then max returns its first argument, because comparisons with NaN are false.
        position, velocity = largest(step.g_N[closed]), largest(step.gdot_N[closed])
        if phase.sticking:
            velocity = max(velocity, largest(step.v_T[list(phase.sticking)]))
        return max(position, drift[0]), max(velocity, drift[1])
