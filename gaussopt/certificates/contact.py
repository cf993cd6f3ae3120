"""How far a candidate with contact forces is from the mechanics: joints, contact and friction laws, uniqueness.

A candidate (a, lam, lam_N, lam_T) is measured in three steps. How far is a from the acceleration that its own contact
forces would cause: exactly, as for steps without contacts. How far are its contact forces from the laws: the natural
map, every entry scaled to the unit of the mass norm. How far is it from a true solution: from the solution of the
contact mode that it names (open, stick or slip), which is computed here and checked against all laws; and by the bound

    ||E^-1 (lam_N - lam_N*)|| <= (1 + ||A^||) / c ||E^-1 r||,   A^ = E A E,  E = diag(A_ii)^(-1/2),  c = min eig sym A^,

where sym A^ is positive definite. Whether that solution is the only one is decided by the class of the contact
operator, or by enumeration of all contact modes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gaussopt.certificates import certify
from gaussopt.certificates.base import Certificate, unmeasured
from gaussopt.certificates.contact_distance import DEFINITE, distance, law_residual, length, nearest_forces
from gaussopt.contact.operator import ContactOperator
from gaussopt.core.status import Status
from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.lcp import MAX_ENUMERATED, classify_matrix
from gaussopt.linalg.dense import mass_scale
from gaussopt.linalg.saddle_point import Posedness, posedness

QUICK = 8
"""Size of the LCP up to which all modes of sliding contacts are tried at every stage of a motion."""


@dataclass(frozen=True, slots=True)
class ContactSolution:
    """One acceleration with its forces."""

    a: Vector
    lam: Vector
    lam_N: Vector
    lam_T: Matrix
    w: Vector

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        return {f.name: getattr(self, f.name).tolist() for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the contact laws of a step allow.

    Attributes
    ----------
    status : Status
        solved (one acceleration), no_solution, multiple_solutions or acceleration_not_unique.
    reason : str
        How that is known: positive definite, P-matrix, monotone, enumeration; "undecided" if it is not.
    forces_unique : bool
    solutions : the different accelerations, if several and isolated
    ranges : smallest and largest value of a, lam, lam_N, lam_T, each (size, 2), where something is not unique
    """

    status: Status
    reason: str
    forces_unique: bool
    solutions: tuple[ContactSolution, ...] = ()
    ranges: dict[str, Matrix] | None = None

    def to_mapping(self) -> dict[str, Any]:
        """For JSON: `solutions`, `a_range`, `lam_N_range` and so on, where they apply."""
        out: dict[str, Any] = {}
        if self.solutions:
            out["solutions"] = [s.to_mapping() for s in self.solutions]
        if self.ranges is not None:
            out |= {f"{name}_range": values.tolist() for name, values in self.ranges.items()}
        return out


@dataclass(frozen=True, slots=True)
class ContactCertificate(Certificate):
    """What is proved about a candidate (a, lam, lam_N, lam_T); see `Certificate` for the fields shared with it.

    Attributes
    ----------
    law_residual : float
        Natural map of the contact and friction laws, in the unit of ||a||_M.
    friction_power : float
        Power that friction feeds, W; positive means that it points along the slip.
    smallest_w : float
        Smallest gap acceleration, m/s^2; NaN without contacts.
    uniqueness : str
        How uniqueness is known.
    contact : Verdict
    """

    law_residual: float = 0.0
    friction_power: float = 0.0
    smallest_w: float = math.nan
    contact: Verdict = Verdict(Status.SOLVED, "no contacts", True)

    def own_tolerance(self, tolerance: float) -> float:
        """The tolerance itself: beside what the step calls for, all must hold in any unit."""
        return min(tolerance, math.sqrt(tolerance))

    @property
    def laws_missed(self) -> float:
        """`law_residual`."""
        return self.law_residual

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **Certificate.to_mapping(self),
            "law_residual": self.law_residual if math.isfinite(self.law_residual) else None,
            "friction_power": self.friction_power,
            "uniqueness": self.contact.reason,
        }


def certify_contact(
    step: StepData,
    a: Vector | None,
    lam: Vector | None = None,
    lam_N: Vector | None = None,
    lam_T: Matrix | None = None,
    operator: ContactOperator | None = None,
    thorough: bool = True,
) -> ContactCertificate:
    """Certify a candidate of a step with contacts, all of them closed.

    Parameters
    ----------
    step : StepData
    a : (n,) or None
        None only classifies the step.
    lam, lam_N, lam_T : (m,), (k,), (k, d) or None
        Reported forces; without them those of the true solution next to a are used.
    operator : ContactOperator, optional
        If it is known already.
    thorough : bool
        Whether all contact modes may be enumerated with linear programs to decide uniqueness. Without it only quick
        proofs are tried, and `contact.reason` may say "undecided".

    Raises
    ------
    NotAccepted
        For stick in space.
    """
    posed = posedness(step)
    if posed.verdict is not Status.SOLVED:
        return _without(step, posed, Verdict(posed.verdict, "joints", False))
    op = ContactOperator.of(step) if operator is None else operator
    verdict = decide(op, thorough, posed.forces_unique)
    if a is None or not np.isfinite(a).all() or verdict.status is not Status.SOLVED:
        return _without(step, posed, verdict)
    if lam_N is None or not np.isfinite(lam_N).all() or (lam_T is not None and not np.isfinite(lam_T).all()):
        lam_N, lam_T = op.split(nearest_forces(op, a, thorough))
        lam = None
    if lam_T is None:
        lam_T = op.split(np.concatenate((lam_N, np.zeros(int(op.resting.sum())))))[1]
    x = op.unknowns(lam_N, lam_T)
    own = certify(step.with_forces(lam_N, lam_T), a, lam)
    laws = law_residual(op, a, lam_N, lam_T)
    bound, norm, floor = distance(op, a, x, own, laws, verdict.reason, thorough)
    power = float(np.einsum("kd,kd->", lam_T, step.v_T))
    w = step.J_N @ a + step.zeta_N
    d = mass_scale(step.M)
    natural = length(op.joints.a_J / d) + length(a / d) + length(step.force * d)
    return ContactCertificate(
        error_bound=bound, error_norm=norm, constraint_residual=own.constraint_residual,
        force_residual=own.force_residual if lam is not None else own.error_bound,
        rounding_floor=own.rounding_floor + floor, condition=own.condition, norm_a=own.norm_a, norm_a_2=own.norm_a_2,
        norm_gamma=own.norm_gamma, verdict=Status.SOLVED, forces_unique=verdict.forces_unique,
        singular_mass=own.singular_mass, lam=own.lam, natural_scale=natural, residual_share=own.residual_share,
        unit_error=own.unit_error, force_share=own.force_share, law_residual=laws,
        friction_power=max(power, 0.0), smallest_w=float(w.min(initial=math.inf)), contact=verdict,
    )  # fmt: skip


def _without(step: StepData, posed: Posedness, verdict: Verdict) -> ContactCertificate:
    """The classification of a step without a candidate to measure."""
    base = unmeasured(step, verdict.status, verdict.forces_unique, posed.singular_mass)
    shared = {f.name: getattr(base, f.name) for f in fields(Certificate)}
    return ContactCertificate(**shared, law_residual=math.inf, contact=verdict)


# -- uniqueness --------------------------------------------------------------------------------------------


def decide(op: ContactOperator, thorough: bool = True, joints_unique: bool = True) -> Verdict:
    """How many accelerations the contact laws allow, by the cheapest proof.

    Parameters
    ----------
    op : ContactOperator
    thorough : bool
        Whether linear programs may be solved.
    joints_unique : bool
        Whether the multipliers of the joints are determined by the contact forces.
    """
    if not op.k:
        return Verdict(Status.SOLVED, "no contacts", joints_unique)
    if not op.resting.any():
        A = op.delassus
        diagonal = A.diagonal()
        if (diagonal > 0).all():
            e = 1.0 / np.sqrt(diagonal)
            sym = 0.5 * (A + A.T) * np.outer(e, e)
            if float(np.linalg.eigvalsh(sym)[0]) > DEFINITE * len(A):
                return Verdict(Status.SOLVED, "positive definite", joints_unique)
            if classify_matrix(A).p_matrix:
                return Verdict(Status.SOLVED, "P-matrix", joints_unique)
        if not thorough and _monotone(op):
            return Verdict(Status.SOLVED, "monotone", False)
    lcp = op.lcp
    quick = lcp.n <= QUICK and not op.resting.any() and independent(op)
    if quick or (thorough and lcp.n <= MAX_ENUMERATED):
        return _enumerated(op, joints_unique)
    if not op.resting.any() and _monotone(op):
        return Verdict(Status.SOLVED, "monotone", False)
    return Verdict(Status.SOLVED, "undecided", False)


def _monotone(op: ContactOperator) -> bool:
    """`monotone` of the operator's own matrices, every contact in units of its own response."""
    A = op.delassus
    scale = np.sqrt(np.maximum(np.einsum("kn,nm,km->k", op.step.J_N, op.joints.K, op.step.J_N), 1e-300))
    motion = op.joints.root.T @ op.forces[:, : op.k] / scale
    return monotone(0.5 * (A + A.T) / np.outer(scale, scale), motion)


def monotone(sym: Matrix, motion: Matrix) -> bool:
    """Whether sym A is positive semidefinite and its null vectors cause no acceleration; then a is unique.

    Parameters
    ----------
    sym : (k, k)
        sym(delassus), scaled.
    motion : (r, k)
        Acceleration by each contact, scaled alike, in coordinates in which the mass norm is the 2-norm.
    """
    values, vectors = np.linalg.eigh(sym)
    size = max(float(np.abs(values).max()), 1e-300)
    if values[0] < -1e-11 * size:
        return False
    effect = motion @ vectors[:, values <= 1e-11 * size]
    return bool(np.abs(effect).max(initial=0.0) <= 1e-7 * math.sqrt(size))


def independent(op: ContactOperator) -> bool:
    """Whether the rows of the contacts are independent, so that the modes are regular linear systems."""
    root = op.rows @ op.joints.root
    length = np.linalg.norm(root, axis=1)
    if (length <= 0).any():
        return False
    return (
        bool(np.linalg.svd(root / length[:, None], compute_uv=False)[-1] > 1e-6) if len(root) <= len(root.T) else False
    )


def _enumerated(op: ContactOperator, joints_unique: bool) -> Verdict:
    step, joints, found = op.step, op.joints, op.enumerated
    to_a = op.effect @ op.to_x
    a_0 = op.acceleration(op.x_0)
    ranges = None
    unique = found.unique and joints_unique
    if found.status is Status.ACCELERATION_NOT_UNIQUE or (found.status is Status.SOLVED and not found.unique):
        T, T_0 = _friction_rows(op)
        ranges = {
            "a": found.ranges(to_a, a_0),
            "lam_N": found.ranges(op.to_x[: op.k], step.least),
            "lam_T": found.ranges(T, T_0),
        }
        if joints_unique and step.m:
            ranges["lam"] = found.ranges(joints.lift @ op.forces @ op.to_x, op.multipliers(op.x_0))
        if found.status is Status.SOLVED:
            del ranges["a"]
            if joints_unique and all(_is_point(ends) for ends in ranges.values()):
                # Only the slip acceleration of an open contact was split in several ways.
                unique, ranges = True, None
    solutions: tuple[ContactSolution, ...] = ()
    if found.status is Status.MULTIPLE_SOLUTIONS:
        solutions = tuple(_solution(op, z) for z in found.representatives)
        unique = False
    status = found.status
    if status is Status.NO_SOLUTION and not step.mu.any():
        status = Status.INFEASIBLE  # without friction it is rows that contradict each other
    return Verdict(status, "enumeration", unique, solutions, ranges)


def _is_point(ends: Matrix) -> bool:
    """Whether no component has a range."""
    size = np.abs(ends).max(initial=0.0)
    return bool((ends[:, 1] - ends[:, 0] <= 1e-9 * size).all()) if np.isfinite(size) else False


def _friction_rows(op: ContactOperator) -> tuple[Matrix, Vector]:
    """lam_T of every contact and tangent as rows in z, and its value at z = 0."""
    z = np.eye(op.lcp.n)
    start = op.split(op.x_0)[1].ravel()
    columns = [op.split(op.x(unit))[1].ravel() - start for unit in z]
    return np.array(columns).T, start


def _solution(op: ContactOperator, z: Vector) -> ContactSolution:
    x = op.x(z)
    a = op.acceleration(x)
    lam_N, lam_T = op.split(x)
    return ContactSolution(a, op.multipliers(x), lam_N, lam_T, op.step.J_N @ a + op.step.zeta_N)
