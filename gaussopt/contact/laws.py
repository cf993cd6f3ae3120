"""Contact laws as certificates see them, whatever their form, and the uniqueness that they allow."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Protocol

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.status import Status


class UniquenessProof(StrEnum):
    """How the number of accelerations that the laws allow is known."""

    NO_CONTACTS = "no contacts"
    JOINTS = "joints"
    POSITIVE_DEFINITE = "positive definite"
    P_MATRIX = "P-matrix"
    ORIENTED = "oriented"
    MONOTONE = "monotone"
    ENUMERATION = "enumeration"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class ContactSolution:
    """One acceleration with its forces and gap accelerations w."""

    a: Vector
    lam: Vector
    lam_N: Vector
    lam_T: Matrix
    w: Vector

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        return {f.name: getattr(self, f.name).tolist() for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """Number of accelerations that the contact laws of a step allow.

    Attributes
    ----------
    status : solved (one acceleration), no_solution, multiple_solutions or acceleration_not_unique
    reason : UniquenessProof
    forces_unique : bool
    solutions : the different accelerations, if several and isolated
    ranges : smallest and largest value of a, lam, lam_N, lam_T, each (size, 2), where something is not unique
    """

    status: Status
    reason: UniquenessProof
    forces_unique: bool
    solutions: tuple[ContactSolution, ...] = ()
    ranges: dict[str, Matrix] | None = None

    @property
    def decided(self) -> bool:
        """Whether the number of accelerations is known."""
        return self.reason is not UniquenessProof.UNDECIDED

    def to_mapping(self) -> dict[str, Any]:
        """For JSON: `solutions`, `a_range`, `lam_N_range` and so on, where they apply."""
        out: dict[str, Any] = {}
        if self.solutions:
            out["solutions"] = [s.to_mapping() for s in self.solutions]
        if self.ranges is not None:
            out |= {f"{name}_range": values.tolist() for name, values in self.ranges.items()}
        return out


NO_CONTACTS = Uniqueness(Status.SOLVED, UniquenessProof.NO_CONTACTS, True)


class ContactLaws(Protocol):
    """The laws of the contact forces of one step. Forces x are the unknowns of `ContactResponse`."""

    def residual(self, a: Vector, lam_N: Vector, lam_T: Matrix) -> float:
        """Natural map of all laws at the reported point, in the unit of the mass norm."""

    def nearest(self, a: Vector, thorough: bool) -> Vector:
        """Forces x that obey the laws next to an acceleration; an estimate where none are found."""

    def uniqueness(self, thorough: bool = True, joints_unique: bool = True) -> Uniqueness:
        """How many accelerations the laws allow, by the cheapest proof.

        Parameters
        ----------
        thorough : whether all contact modes may be enumerated; else only quick proofs are tried
        joints_unique : whether the multipliers of the joints are determined by the contact forces
        """

    def distance(
        self, a: Vector, x: Vector, own_error: float, residual: float, uniqueness: Uniqueness, thorough: bool
    ) -> tuple[float, float, float]:
        """Distance from a, with reported forces x, to the nearest solution.

        Parameters
        ----------
        own_error : distance from a to the acceleration that x causes, in the mass norm
        residual : `residual` at the reported point

        Returns
        -------
        bound, norm, floor : float
            In the mass norm, infinite where nothing is proved; in the 2-norm; rounding of what was computed here.
        """
