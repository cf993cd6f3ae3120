"""Classification of contact steps from their data alone, without a candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.certificates.cone_laws import laws_of
from gaussopt.contact.laws import Uniqueness
from gaussopt.contact.operator import ContactOperator
from gaussopt.contact.qp_equivalence import criterion, weights
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import About, counted, shown
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.lcp import MatrixClass, classify_matrix


@shown
@dataclass(frozen=True, slots=True)
class ContactClass:
    """The class of a contact step.

    Attributes
    ----------
    delassus, bias : (k, k), (k,), gap accelerations delassus @ lam_N + bias, with the joints eliminated
    matrix : class of `delassus`: symmetry, definiteness, P-property
    painleve : bool
        Whether friction destroys the P-property: with mu = 0 the operator is a P-matrix, with friction it is not.
    resting : contacts without slip, whose friction is not part of the operator
    weights : (k,) or None, the diagonal of a positive D such that D delassus is symmetric, if one exists
    verdict : how many accelerations the contact laws allow, and the proof
    printed_is_lcp : bool or None
        Whether the normal-force program as printed in the paper returns the solution of the LCP, by the criterion of
        `gaussopt.contact.qp_equivalence`; None if this criterion does not apply.
    """

    delassus: Matrix
    bias: Vector
    matrix: MatrixClass
    painleve: bool
    resting: tuple[int, ...]
    weights: Vector | None
    verdict: Uniqueness
    printed_is_lcp: bool | None

    def _about(self) -> About:
        painleve = "; friction takes away the P-property" if self.painleve else ""
        title = f"{counted(len(self.bias), 'contact')}, {self.verdict.status} ({self.verdict.reason}){painleve}"
        return About(title, (self.matrix.sentence,), list(self.to_mapping().items()))

    def to_mapping(self) -> dict[str, Any]:
        """Return the properties for JSON."""
        return {
            "delassus": self.delassus.tolist(),
            "bias": self.bias.tolist(),
            **self.matrix.to_mapping(),
            "painleve": self.painleve,
            "resting": list(self.resting),
            "weights": None if self.weights is None else self.weights.tolist(),
            "status": str(self.verdict.status),
            "uniqueness": self.verdict.reason,
            "printed_is_lcp": self.printed_is_lcp,
        }


def classify_step(step: StepData) -> ContactClass:
    """Classify a step whose contacts are all closed.

    Raises
    ------
    NotAccepted
        If the joints are ill-posed, or a number overflows or underflows.

    Examples
    --------
    >>> import gaussopt as go
    >>> problem = go.problem("two-bar")
    >>> step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    >>> print(repr(go.classify_step(step)).splitlines()[0])
    <ContactClass: 2 contacts, solved (positive definite)
    """
    op = ContactOperator.of(step)
    matrix = classify_matrix(op.delassus)
    smooth = step.J_N @ op.joints.root
    ideal = classify_matrix(smooth @ smooth.T)
    painleve = bool(ideal.p_matrix) and matrix.p_matrix is False
    resting = tuple(int(i) for i in np.flatnonzero(op.resting))
    verdict = laws_of(op).uniqueness()
    return ContactClass(
        op.delassus, op.bias, matrix, painleve, resting, None if resting else weights(op.delassus), verdict,
        _prediction(op, matrix) if verdict.status is Status.SOLVED else None,
    )  # fmt: skip


def _prediction(op: ContactOperator, matrix: MatrixClass) -> bool | None:
    """Return `ContactClass.printed_is_lcp`; None unless the operator is positive definite."""
    if op.resting.any() or not matrix.positive_definite or not op.complementarity.enumerable:
        return None
    found = op.complementarity.enumerated.solutions
    return criterion(op.lcp, found[0]).predicts if len(found) == 1 else None
