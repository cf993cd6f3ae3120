"""A phase of a motion: which contacts are closed and how they touch, held fixed between two events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.certificates.contact import QUICK, decide, independent
from gaussopt.contact.operator import ContactOperator
from gaussopt.core.errors import BadInput, NotAccepted
from gaussopt.core.programs import LCP
from gaussopt.core.solver import Solver
from gaussopt.core.status import Status
from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.core.stepper import Stabilisation
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.integration.events.functions import definiteness
from gaussopt.integration.stabilisation import Baumgarte
from gaussopt.linalg.redundancy import open_forces
from gaussopt.solving.answer import Answer
from gaussopt.solving.step_solver import StepSolver

if TYPE_CHECKING:
    from gaussopt.integration.events.regular_stages import CertifiedStage, StageKernel

MECHANICS = frozenset({"lcp", "stick-slip"})
"""Formulations that are the contact laws themselves."""

PIVOTING = frozenset({"lemke", "principal-pivoting"})
"""Solvers by complementary pivots: the kernel of a stage stands for them where their warm start is right."""

OPEN, SLIDING, STICKING = 0, 1, 2
"""Codes of contact modes in trajectories."""


@dataclass(frozen=True)
class ContactModes:
    """The contact modes between two events.

    Attributes
    ----------
    closed : contacts that touch, ascending
    sticking : those of them whose friction is not decided by a slip direction
    sigma : (k, d)
        Direction of friction of the sliding contacts, kept although the slip may vanish within a trial step; zero
        elsewhere.
    wall : (k,)
        -1 where a two-sided contact bears on its other wall, else 1.
    """

    closed: tuple[int, ...]
    sticking: frozenset[int]
    sigma: Matrix
    wall: Vector

    @classmethod
    def flight(cls, k: int, d: int, wall: Vector | None = None) -> ContactModes:
        """All contacts open."""
        return cls((), frozenset(), np.zeros((k, d)), np.ones(k) if wall is None else wall)

    def shape(self, step: StepData) -> StepData:
        """The step with the closed contacts, whose slips carry no more than this phase's directions.

        In space a sliding contact keeps its actual direction, which turns with the motion.
        """
        index = np.array(self.closed, dtype=np.intp)
        part = step.select(index)
        if not len(index):
            return part
        slip = -self.sigma[index]
        if part.v_T.shape[1] > 1:
            # Beyond a stop within a trial step the direction stays, as in the plane.
            moving = np.einsum("kd,kd->k", slip, part.v_T) > 0
            slip = np.where(moving[:, None], part.v_T, slip)
        wall = self.wall[index]
        if (wall < 0).any():
            part = replace(part, J_N=wall[:, None] * part.J_N, zeta_N=wall * part.zeta_N)
        return replace(part, v_T=slip)

    def key(self, v: Vector) -> str:
        """Equal for equal modes at equal velocities, up to rounding."""
        moving = (v / (1.0 + np.abs(v).max())).round(6)
        numbers = np.concatenate([self.sigma.round(6).ravel(), self.wall, moving]) + 0.0  # no minus before a zero
        return repr((self.closed, sorted(self.sticking), numbers.tolist()))

    def modes(self) -> Vector:
        """OPEN, SLIDING or STICKING for every contact, (k,)."""
        out = np.full(len(self.wall), OPEN)
        out[list(self.closed)] = SLIDING
        out[list(self.sticking)] = STICKING
        return out


@dataclass(frozen=True)
class Solvers:
    """Who solves the steps of a motion with contacts.

    Attributes
    ----------
    main : StepSolver
        The formulation and solver asked for.
    stick : StepSolver
        For steps with a contact without slip where the main formulation knows only sliding ones.
    flight : StepSolver
        Where no contact is closed.
    impact : StepSolver
        For the jumps of velocity, by lemke.
    last_resort : StepSolver
        Stick-slip by lemke, for steps that the solver of the others refuses.
    """

    main: StepSolver
    stick: StepSolver
    flight: StepSolver
    impact: StepSolver
    last_resort: StepSolver

    @classmethod
    def of(
        cls, formulation: str, solver: str, options: Mapping[str, Any] | None, tolerance: float, warm: bool
    ) -> Solvers:
        """The main pair, and what stands in for it.

        Stick is solved by stick-slip, with the same solver if it takes linear complementarity problems and else with
        lemke; flight by the Gauss QP with kkt.
        """
        main = StepSolver(formulation, solver, options, tolerance, warm)
        takes = _takes_lcp(main.engine.solver)
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


def _takes_lcp(solver: Solver[Any]) -> bool:
    return LCP in solver.accepts


class ContactAccelerations(CertifiedAccelerations):
    """Accelerations in a phase.

    Attributes
    ----------
    kernel : bool
        Whether regular stages are answered by the compiled kernel of `stages`.
    """

    def __init__(
        self, system: AbstractSystem, solvers: Solvers, stabiliser: Stabilisation, phase: ContactModes
    ) -> None:
        super().__init__(system, solvers.main, stabiliser)
        self.solvers, self._phase = solvers, phase
        self._whole: StepData | None = None
        self._stages: StageKernel | None = None
        self._latest: tuple[float, bytes, CertifiedStage | None] | None = None
        self.kernel = False

    def why_interpreted(self) -> str | None:
        """Why the kernel cannot stand for formulation and solver, None if it can.

        It is the contact laws themselves, solved by pivots from the active set of the stage before.
        """
        main, engine = self.solvers.main, self.solvers.main.engine
        plain = engine.solver.options == engine.solver.options_type() and engine.warm_start
        if main.formulation.name in MECHANICS and engine.solver.name in PIVOTING and plain:
            return None
        names = f"{' or '.join(sorted(MECHANICS))} with {' or '.join(sorted(PIVOTING))}"
        return f"it is the formulation {names}, warm-started and without options"

    def _answer(self, t: float, q: Vector, v: Vector) -> Answer:
        """By the kernel where the stage is regular, else in the general way."""
        found = self._regular(t, q, v)
        if found is not None:
            return found.answer()
        answer = super()._answer(t, q, v)
        if self._stages is not None:
            self._stages.learn(answer, self._stabilised(t, q, v), self.phase)
        return answer

    def rate(self, t: float, q: Vector, u: Vector) -> Vector:
        """du/dt, the acceleration. Nothing else is made of a regular stage that nobody looks at."""
        known = self._last
        if known is None or known[0] != t or known[1] != q.tobytes() + u.tobytes():
            found = self._regular(t, q, u)
            if found is not None:
                return found.a
        return super().rate(t, q, u)

    def _regular(self, t: float, q: Vector, v: Vector) -> CertifiedStage | None:
        """What the kernel finds at a state, asked for just before or not; None where it is not for the kernel."""
        if not self.kernel:
            return None
        state = q.tobytes() + v.tobytes()
        if self._latest is not None and self._latest[:2] == (t, state):
            return self._latest[2]
        if self._stages is None:
            from gaussopt.integration.events.regular_stages import StageKernel

            self._stages = StageKernel(self.solvers.main.tolerance)
        begin = perf_counter()
        step = self._stabilised(t, q, v)
        self.timing["model"] += perf_counter() - begin
        fresh = self._stages.compiling is None
        found = self._stages.solve(step, self.phase)
        if fresh and self._stages.compiling is not None:
            self.timing["compile"] = self.timing.get("compile", 0.0) + self._stages.compiling
        if found is not None:
            self.timing["solve"] += found.seconds
            self.iterations += 1
            self._tally(*found.worst)
        self._latest = t, state, found
        return found

    def definiteness(self, t: float, q: Vector, v: Vector) -> float:
        """Smallest eigenvalue of the scaled sym(delassus) of the sliding contacts; see `watching.definiteness`."""
        if self._regular(t, q, v) is not None and self._stages is not None:
            return self._stages.smallest_eigenvalue
        return definiteness(self.step(t, q, v))

    @property
    def phase(self) -> ContactModes:
        """The current phase; a new one forgets what was known of the state."""
        return self._phase

    @phase.setter
    def phase(self, phase: ContactModes) -> None:
        self._phase, self._last, self._latest = phase, None, None

    def step(self, t: float, q: Vector, v: Vector) -> StepData:
        """The step of the closed contacts."""
        return self.phase.shape(self._stabilised(t, q, v))

    def _stabilised(self, t: float, q: Vector, v: Vector) -> StepData:
        """The step of all contacts with the feedback of the stabilisation on joints and gaps."""
        whole = self.whole(t, q, v)
        if isinstance(self.stabiliser, Baumgarte) and whole.g_N is not None and whole.gdot_N is not None:
            alpha, beta = self.stabiliser.alpha, self.stabiliser.beta
            whole = replace(whole, zeta_N=whole.zeta_N + 2 * alpha * whole.gdot_N + beta**2 * whole.g_N)
        return self.stabiliser.shape(self.system, whole)

    def whole(self, t: float, q: Vector, v: Vector) -> StepData:
        """Step data of all contacts."""
        known = self._whole
        if known is None or known.t != t or known.q is not q or known.v is not v:
            known = self._whole = self._of_this_motion(self.system.evaluate(t, q, v))
        return known

    def solve(self, step: StepData, solver: StepSolver | None = None) -> Answer:
        """Solve with whoever fits; uniqueness by quick proofs only."""
        return self._solve(step, False, solver)

    def solve_thoroughly(self, step: StepData) -> Answer:
        """The same with uniqueness decided by enumeration where quick proofs fail."""
        return self._solve(step, True)

    def _solve(self, step: StepData, thorough: bool, solver: StepSolver | None = None) -> Answer:
        chosen = self.solvers.for_step(step) if solver is None else solver
        chosen.thorough = thorough
        try:
            return super().solve(step, chosen)
        except NotAccepted:
            # A solver may take the LCPs of sliding contacts and not those with a zero on the diagonal.
            if not step.resting.any() or chosen is self.solvers.impact:
                raise
        self.solvers.last_resort.thorough = thorough
        return super().solve(step, self.solvers.last_resort)

    def confirm(self, step: StepData, solver: StepSolver) -> None:
        """See that the solution of sticking contacts is the only one, where that is quick.

        Redundant contacts, whose modes are many singular systems, are looked at where a phase begins.

        Raises
        ------
        Rejected
            If it is not.
        """
        op = ContactOperator.of(step)
        if op.lcp.n > QUICK or not independent(op):
            return
        verdict = decide(op)
        if verdict.status is not Status.SOLVED:
            self._solve(step, True, solver)  # fails with the reason

    def solve_impact(self, step: StepData) -> Answer:
        """The jump of the velocity that an impact makes; unique, or rejected."""
        self.solvers.impact.thorough = True
        return CertifiedAccelerations.solve(self, step, self.solvers.impact)

    def determined(self, t: float, q: Vector, v: Vector, answer: Answer) -> bool:
        """Whether the forces of the answer at a state are the only ones that cause its acceleration.

        Quick proofs of uniqueness leave open what independent columns decide: one acceleration has one set of forces.
        """
        if answer.forces_unique:
            return True
        closed, names = self.phase.closed, ("lam", "lam_N", "lam_T")
        found = open_forces(self.step(t, q, v))
        for name, numbers in zip(names, found, strict=True):
            self.open_forces.update((name, i if name == "lam" else closed[i]) for i in numbers)
        return not any(found)

    def forces(self, answer: Answer) -> tuple[Vector, Matrix]:
        """Contact forces of all contacts, (k,) and (k, d); negative where a two-sided one bears on its other wall."""
        phase = self.phase
        lam_N, lam_T = np.zeros(len(phase.wall)), np.zeros(phase.sigma.shape)
        index = list(phase.closed)
        if index:
            lam_N[index], lam_T[index] = answer.lam_N * phase.wall[index], answer.lam_T
        return lam_N, lam_T


class ContactSurface:
    """The constraints of a phase as one set: joints, closed gaps, and contacts that stick. For projection."""

    def __init__(self, system: AbstractSystem, closed: tuple[int, ...], sticking: tuple[int, ...] = ()) -> None:
        self.system, self.closed, self.sticking = system, list(closed), list(sticking)

    def evaluate(self, t: float, q: Vector, v: Vector) -> StepData:
        """Step data whose J has the rows of `velocity_residual`."""
        step = self.system.evaluate(t, q, v)
        J = np.vstack((step.J, step.J_N[self.closed], step.J_T[self.sticking].reshape(-1, step.n)))
        return replace(step.select([]), J=J, gamma=np.zeros(len(J)), arithmetic=None)

    def position_residual(self, t: float, q: Vector) -> Vector:
        """Holonomic constraints and closed gaps."""
        phi = self.system.position_residual(t, q)
        gaps = self.system.gaps(t, q)[self.closed]
        return gaps if phi is None else np.concatenate((phi, gaps))

    def position_jacobian(self, t: float, q: Vector) -> Matrix:
        """Their Jacobian."""
        step = self.system.evaluate(t, q, np.zeros(len(q)))
        rows = [self.system.position_jacobian(t, q)] if self.system.position_residual(t, q) is not None else []
        return np.vstack([*rows, step.J_N[self.closed]])

    def velocity_residual(self, t: float, q: Vector, v: Vector) -> Vector:
        """Constraint residuals, gap rates and slips at velocity level."""
        rate = self.system.velocity_residual(t, q, v)
        step = self.system.evaluate(t, q, v)
        if step.gdot_N is None:
            raise BadInput(f"{self.system.name!r} gives no gap rates.")
        parts = [step.gdot_N[self.closed], step.v_T[self.sticking].ravel()]
        return np.concatenate(parts if rate is None else [rate, *parts])
