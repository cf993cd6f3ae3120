"""Stages of a motion with contacts, solved by the kernel of `gaussopt.contact.stage_kernel`.

Most stages of a motion are regular: the modes are those of the previous stage, all matrices are well-conditioned, and
formulation and solver would spend a millisecond in NumPy on a few hundred multiplications. This module solves such a
stage by the kernel and converts the result to an `Answer` with the same certificate. Stages that the kernel does not
accept, or whose certificate does not pass, are left to formulation and solver, here called the general path.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from gaussopt.certificates.contact import ContactCertificate
from gaussopt.contact.complementarity import monotone
from gaussopt.contact.laws import Uniqueness, UniquenessProof
from gaussopt.contact.operator import smallest_eigenvalue
from gaussopt.contact.stage_cones import stage_in_space
from gaussopt.contact.stage_kernel import stage
from gaussopt.contact.stage_laws import (
    DEPENDENT_JOINTS,
    HELD,
    MASSLESS,
    MONOTONE,
    NUMBERS,
    OPEN,
    UNLAWFUL,
    StageWorkspace,
    certified,
    stage_workspace,
)
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.solution import Timing
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.integration.events.modes import ContactModes
from gaussopt.jit.kernel import COMPILED
from gaussopt.kinds.step import UNDECIDED
from gaussopt.lcp.pivoting import SOLVED, Active
from gaussopt.solving.answer import Answer

PLAIN = 12
"""Largest sum of coordinates and closed contacts for which the uncompiled kernel is faster than NumPy."""

SHARE = 1e-12
"""Force, relative to the largest normal force, that counts as zero."""

_VERDICTS = (
    Uniqueness(Status.SOLVED, UniquenessProof.POSITIVE_DEFINITE, True),
    Uniqueness(Status.SOLVED, UniquenessProof.P_MATRIX, True),
    Uniqueness(Status.SOLVED, UniquenessProof.ORIENTED, True),
    Uniqueness(Status.SOLVED, UniquenessProof.MONOTONE, True),
    Uniqueness(Status.SOLVED, UniquenessProof.MONOTONE, False),
    Uniqueness(Status.SOLVED, UniquenessProof.UNDECIDED, False),
)
"""Uniqueness by the kernel's codes DEFINITE, P_MATRIX, ORIENTED, STRONG, MONOTONE, UNDECIDED."""

_REASONS = {
    MASSLESS: "the mass matrix is singular where the joints allow motions",
    DEPENDENT_JOINTS: "rows of joints depend on each other, or nearly",
    HELD: "a contact is not moved by its own force",
    UNLAWFUL: "the contact laws did not hold to rounding errors at the first attempt",
}
NOT_TAKEN = "a law other than Coulomb's held"
UNPROVED = "friction left it open whether the forces are unique, or no mode settled"
"""Reasons why the kernel leaves a stage to the general path, by its codes, and the reason for all other codes."""

_SENTENCES = (*[Status.SOLVED.sentence] * 5, f"{Status.SOLVED.sentence} {UNDECIDED}")


class CertifiedStage(NamedTuple):
    """A stage that the kernel has solved and certified.

    Attributes
    ----------
    a : (n,), acceleration
    out : a, lam, lam_N and lam_T in one vector
    shape : m, c, d: numbers of rows of joints, of closed contacts, and of tangent directions
    numbers : the numbers of the certificate, listed at `gaussopt.contact.stage_laws.NUMBERS`
    how : code of the proof of uniqueness, an index of `_VERDICTS`
    """

    a: Vector
    out: Vector
    shape: tuple[int, int, int]
    numbers: list[float]
    how: int
    seconds: float

    @property
    def unique(self) -> bool:
        """Whether a quick proof shows that acceleration and forces are the only ones."""
        return _VERDICTS[self.how].forces_unique

    @property
    def worst(self) -> tuple[float, float, float, float, float]:
        """Error bound, relative error, two residuals and rounding floor; trajectories keep the largest of each."""
        bound, _, missed, reported, floor, norm_a, *_ = self.numbers
        return bound, bound / (1.0 + norm_a), missed, reported, floor

    def passed(self, tolerance: float) -> bool:
        """Return whether the certificate passes, by the rule of `ContactCertificate.passed`."""
        numbers: tuple[Any, Any] = self.numbers, [0.0] * 5  # Python computes with floats faster than with arrays
        return certified(numbers[0], tolerance, numbers[1])

    @property
    def certificate(self) -> ContactCertificate:
        """The certificate, with the same numbers as from the general path."""
        bound, error, missed, reported, floor, norm_a, norm_a_2, natural, laws, smallest, norm_gamma, singular = (
            self.numbers
        )
        verdict, n = _VERDICTS[self.how], len(self.a)
        return ContactCertificate(
            error_bound=bound, error_norm=error, constraint_residual=missed, force_residual=reported,
            rounding_floor=floor, condition=math.nan, norm_a=norm_a, norm_a_2=norm_a_2, norm_gamma=norm_gamma,
            verdict=Status.SOLVED, forces_unique=verdict.forces_unique, singular_mass=singular > 0,
            lam=self.out[n : n + self.shape[0]], natural_scale=natural, law_residual=laws, friction_power=0.0,
            smallest_w=smallest, contact=verdict,
        )  # fmt: skip

    def answer(self) -> Answer:
        """Return the result as an `Answer`, as the general path does."""
        (m, c, d), certificate = self.shape, self.certificate
        at = len(self.a) + m
        return Answer(
            self.a, certificate.lam, self.out[at : at + c], self.out[at + c :].reshape(c, d), Status.SOLVED,
            Status.SOLVED, _SENTENCES[self.how], certificate, 1, Timing(solve=self.seconds, backend=0.0),
        )  # fmt: skip


class _Space(NamedTuple):
    """The arguments of `stage` that change from phase to phase."""

    closed: Index
    modes: Vector
    active: Active
    memory: StageWorkspace
    data: Vector
    out: Vector
    numbers: Vector


class StageKernel:
    """Solves the stages of a motion by the kernel; each starts from the active set of the previous stage.

    Attributes
    ----------
    tolerance : tolerance of the certificate, as for `StepSolver`
    compiling : time that loading or compiling the kernel took, s; None before the first stage
    left : by reason, the number of stages that the kernel left to the general path
    """

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.compiling: float | None = None
        self.left: Counter[str] = Counter()
        self._phase: ContactModes | None = None
        self._spaces: dict[tuple[int, ...], _Space] = {}

    def _enter(self, phase: ContactModes, n: int, m: int) -> None:
        """Prepare the arrays of a new phase; in its first active set all contacts push, and those at rest stick."""
        self._phase = phase
        c, (k, d) = len(phase.closed), phase.sigma.shape
        resting = len(phase.sticking)
        size = n, m, k, d, c, resting  # impacts have other numbers of rows and contacts
        known = self._spaces.get(size)
        if known is None:
            closed, modes, active = np.zeros(c, np.int64), np.zeros(k * (d + 1)), np.zeros(c + 2 * resting, np.int64)
            memory, data = stage_workspace(n, m, d, c, resting), np.zeros((n + m + k * (1 + d)) * (n + 1) + k * (1 + d))
            out, numbers = np.zeros(n + m + c + c * d), np.zeros(NUMBERS)
            known = self._spaces[size] = _Space(closed, modes, active, memory, data, out, numbers)
        self._space = known
        known.closed[:], known.modes[:], known.active[:] = phase.closed, [*phase.sigma.ravel(), *phase.wall], 0
        known.active[: c + resting] = 1

    def memory(self, phase: ContactModes) -> dict[str, Any]:
        """Return the active set from which the next stage of a phase starts; {} at the beginning of a phase."""
        return {"active": self._space.active.copy()} if phase is self._phase else {}

    def recall(self, memory: Mapping[str, Any], phase: ContactModes, n: int, m: int) -> None:
        """Restore what `memory` returned, for a system of n coordinates and m rows."""
        if "active" in memory:
            self._enter(phase, n, m)
            self._space.active[:] = memory["active"]

    def learn(self, answer: Answer, step: StepData, phase: ContactModes) -> None:
        """Derive the active set from which the next stage starts from an answer of the general path.

        Where contacts can share forces in many ways (a box that sticks with two feet), few active sets are feasible.
        """
        if phase is not self._phase or answer.a is None:
            return
        if phase.sigma.shape[1] > 1 and phase.sticking:
            return
        c = len(phase.closed)
        lam_N, least = answer.lam_N, SHARE * float(np.abs(answer.lam_N).max())
        self._space.active[:] = 0
        self._space.active[:c] = lam_N > least
        for place, i in enumerate(sorted(phase.sticking)):
            p = phase.closed.index(i)
            bound = float(step.mu[i] * lam_N[p])
            push = float(answer.lam_T[p, 0]) + bound
            self._space.active[c + place] = push > least
            self._space.active[c + len(phase.sticking) + place] = push >= 2.0 * bound - least and bound > least

    def solve(self, step: StepData, phase: ContactModes) -> CertifiedStage | None:
        """Return the kernel's certified result for a step with all contacts; None if it is left to the general path."""
        n, m, d = step.n, step.m, phase.sigma.shape[1]
        c = len(phase.closed)
        if type(phase) is not ContactModes or step.least_N is not None or not (COMPILED or n + c <= PLAIN):
            self.left.update([NOT_TAKEN] * bool(c))
            return None
        begin = perf_counter()
        if phase is not self._phase:
            self._enter(phase, n, m)
        if self.compiling is None:
            # Until now the time was spent on loading the kernel, or on compiling it if it was not in the cache.
            now = perf_counter()
            self.compiling, begin = now - begin, now
        np.concatenate((
            step.M.ravel(), step.Q - step.h, step.J.ravel(), step.gamma, step.J_N.ravel(), step.zeta_N,
            step.J_T.ravel(), step.zeta_T.ravel(), step.v_T.ravel(), step.mu,
        ), out=self._space.data)  # fmt: skip
        closed, modes, active, memory, data, out, numbers = self._space
        solve = stage if d == 1 else stage_in_space
        code, how = solve(data, n, m, step.k, d, closed, modes, active, memory, out, numbers)
        if code == SOLVED and how == OPEN:
            how = MONOTONE if self._monotone(step.M, c) else OPEN
        if code == SOLVED and how != OPEN:
            out = out.copy()
            found = CertifiedStage(out[:n], out, (m, c, d), numbers.tolist(), how, perf_counter() - begin)
            if found.passed(self.tolerance):
                return found
        self.left[_REASONS.get(code, UNPROVED)] += 1
        return None

    def _monotone(self, M: Matrix, c: int) -> bool:
        """Return whether accelerations are unique although forces are not; see `contact.complementarity.monotone`."""
        memory = self._space.memory
        values, axes = np.linalg.eigh(M)  # M may be singular, so that it has no Cholesky factor
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T
        motion = root @ (memory.motion[c : 2 * c, : len(M)].T / memory.norm[:c])
        return monotone(memory.S, motion)

    @property
    def smallest_eigenvalue(self) -> float:
        """Smallest eigenvalue of the scaled sym(delassus) of the latest stage; see `ContactOperator.definiteness`."""
        return smallest_eigenvalue(self._space.memory.S)
