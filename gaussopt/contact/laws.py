"""The interface of contact laws for certificates, and the uniqueness of their solutions."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Protocol

from gaussopt.contact.response import ContactResponse
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.status import Status


class UniquenessProof(StrEnum):
    """The argument that proves how many accelerations the laws allow."""

    NO_CONTACTS = "no contacts"
    JOINTS = "joints"
    POSITIVE_DEFINITE = "positive definite"
    P_MATRIX = "P-matrix"
    ORIENTED = "oriented"
    MONOTONE = "monotone"
    ENUMERATION = "enumeration"
    JAMMED = "jammed"
    CONTRADICTION = "contradiction"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class ContactSolution:
    """A solution of the contact laws: the acceleration, its forces and its gap accelerations w."""

    a: Vector
    lam: Vector
    lam_N: Vector
    lam_T: Matrix
    w: Vector

    @classmethod
    def of(cls, op: ContactResponse, x: Vector) -> ContactSolution:
        """Return the solution whose contact forces are x."""
        a, step = op.acceleration(x), op.step
        return cls(a, op.multipliers(x), *op.split(x), step.J_N @ a + step.zeta_N)

    def to_mapping(self) -> dict[str, Any]:
        """Return the entries for JSON."""
        return {f.name: getattr(self, f.name).tolist() for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """Number of accelerations that the contact laws of a step allow.

    Attributes
    ----------
    status : solved (one acceleration), no_solution, multiple_solutions or acceleration_not_unique
    reason : UniquenessProof
    forces_unique : bool
    solutions : the different accelerations, if there are several isolated ones
    ranges : smallest and largest values of a, lam, lam_N, lam_T, each (size, 2), if any of them is not unique
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
        """Return the entries for JSON that exist: `solutions`, `a_range`, `lam_N_range` and so on."""
        out: dict[str, Any] = {}
        if self.solutions:
            out["solutions"] = [s.to_mapping() for s in self.solutions]
        if self.ranges is not None:
            out |= {f"{name}_range": values.tolist() for name, values in self.ranges.items()}
        return out


def unless_jammed(op: ContactResponse) -> Uniqueness:
    """Return that there is no solution if a contact is jammed; otherwise that the number of solutions is undecided."""
    if op.jammed is None:
        return Uniqueness(Status.SOLVED, UniquenessProof.UNDECIDED, False)
    return Uniqueness(Status.NO_SOLUTION if op.step.mu.any() else Status.INFEASIBLE, UniquenessProof.JAMMED, False)


NO_CONTACTS = Uniqueness(Status.SOLVED, UniquenessProof.NO_CONTACTS, True)


class ContactLaws(Protocol):
    """The laws of the contact forces of one step, by which candidates are judged.

    A certificate of an acceleration and forces, from any source, needs three results: by how much they violate the
    laws, how far away the nearest acceleration that they allow is, and whether it is unique. A new law needs a class
    that computes these results, listed in `gaussopt.certificates.cone_laws.laws_of`; the certificate does not change.
    `gaussopt.contact.complementarity.ComplementarityLaws` treats laws that are an LCP, by the contact modes, and
    `gaussopt.certificates.cone_laws` friction cones, by a natural map.

    Forces x are the unknowns of `ContactResponse`: the normal forces, and the tangential forces of contacts that may
    stick.

    Examples
    --------
    For a body of 2 kg at rest on the floor, a force equal to its weight passes, and any other force fails.

    >>> import gaussopt as go
    >>> import numpy as np
    >>> from gaussopt.certificates.contact import certify_contact
    >>> step = go.StepData.from_mapping({"M": [[2.0]], "Q": [-19.62], "J_N": [[1.0]], "zeta_N": [0.0]})
    >>> [bool(certify_contact(step, np.zeros(1), lam_N=np.array([N])).passed()) for N in (19.62, 19.0)]
    [True, False]
    """

    def residual(self, a: Vector, lam_N: Vector, lam_T: Matrix) -> float:
        """Measure by how much reported numbers violate the laws.

        Parameters
        ----------
        a : (n,), acceleration
        lam_N, lam_T : (k,), (k, d), forces that were reported with it, N

        Returns
        -------
        float
            Norm of the natural map of all laws, zero where they hold, in the unit of the mass norm. Scales come from
            the step: relative to huge forces of a candidate, every violation would be small.
        """

    def nearest(self, a: Vector, thorough: bool) -> Vector:
        """Find forces that obey the laws and fit an acceleration best.

        Parameters
        ----------
        a : (n,)
        thorough : whether all contact modes may be tried

        Returns
        -------
        (size of x,)
            Forces that obey the laws; if none are found, an estimate, which `distance` does not take for a solution.
        """

    def uniqueness(self, thorough: bool = True, joints_unique: bool = True) -> Uniqueness:
        """Determine how many accelerations the laws allow, by the cheapest proof.

        Parameters
        ----------
        thorough : whether all contact modes may be enumerated; else only quick proofs are tried
        joints_unique : whether the multipliers of the joints are determined by the contact forces

        Returns
        -------
        Uniqueness
            With the proof; `UniquenessProof.UNDECIDED` if none was found, which never counts as unique.
        """

    def distance(
        self, a: Vector, x: Vector, own_error: float, residual: float, uniqueness: Uniqueness, thorough: bool
    ) -> tuple[float, float, float]:
        """Bound the distance to the nearest acceleration that the laws allow.

        Parameters
        ----------
        a, x : (n,), (size of x,), the candidate and its forces
        own_error : distance from a to the acceleration that x causes, in the mass norm
        residual : result of `residual` for them
        uniqueness : result of `uniqueness` for the step, which is not computed again
        thorough : whether all contact modes may be enumerated

        Returns
        -------
        bound, norm, floor : float
            The bound in the mass norm, infinite if nothing is proved, and in the 2-norm; the rounding error of both.
        """
