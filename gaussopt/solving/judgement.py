"""The verified status of an answer to a step: the mechanics first, then the certificate, the solver's word last."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gaussopt.certificates.base import Certificate, explain
from gaussopt.certificates.contact import ContactCertificate
from gaussopt.certificates.linear import LinearCertificate
from gaussopt.certificates.qp import QPCertificate
from gaussopt.contact.laws import Uniqueness, UniquenessProof
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Solver
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.tolerances import RECORDED
from gaussopt.formulations.base import Formulation
from gaussopt.linalg.redundancy import contradictions, near_dependency, tiny_row

ILL_CONDITIONED = "Look for masses of very different size and for rows that nearly depend on each other."

CONTRADICTORY_EQUATIONS = (
    "The equations contradict each other: a force acts on a direction that has neither mass nor constraint; add mass "
    "or a constraint there."
)

UNDECIDED = "Whether it is the only solution was not decided: there are too many contact modes to try."


def passed_sentence(certificate: Certificate | LinearCertificate | QPCertificate, tolerance: float) -> str:
    """The sentence for an answer that has passed; of an infinite tolerance it is recorded only."""
    return RECORDED if math.isinf(tolerance) and not certificate.passed() else Status.SOLVED.sentence


def claim_sentence(raw: RawSolution) -> str:
    """The sentence of a solver's own claim, with its note."""
    return f"{raw.claim.sentence} ({raw.note})" if raw.note else raw.claim.sentence


def remedy(formulation: Formulation, solver: Solver[Any]) -> str:
    """What to do about an answer that is not accurate, by what is at fault: formulation, solver or rounding."""
    if not formulation.exact:
        return (
            f"The formulation {formulation.name} is not the mechanics: whatever solves it, its answer can be another "
            "one; choose an exact formulation (gauss, or stick-slip with contacts), or set a larger tolerance to study "
            "this one."
        )
    if solver.exact:
        return (
            f"The solver {solver.name} counts as exact; try another formulation or another solver, or set a larger "
            "tolerance to study the answer."
        )
    return Status.INACCURATE.sentence


def judge(
    step: StepData, raw: RawSolution, certificate: Certificate, tolerance: float, advice: str
) -> tuple[Status, str]:
    """The verified status: the mechanics first, then the certificate, the solver's word last."""
    if certificate.verdict is not Status.SOLVED:
        return certificate.verdict, why_ill_posed(step, certificate)
    if certificate.passed(tolerance):
        if isinstance(certificate, ContactCertificate) and not certificate.contact.decided:
            return Status.SOLVED, f"{Status.SOLVED.sentence} {UNDECIDED}"
        return Status.SOLVED, passed_sentence(certificate, tolerance) + tiny_row(step)
    if math.isfinite(certificate.error_bound) and raw.claim in (Status.SOLVED, Status.INACCURATE):
        why = explain(certificate, tolerance)
        if certificate.rounding_floor > tolerance * (1.0 + certificate.norm_a):
            # No solver and no option can change that.
            return Status.INACCURATE, f"{why} {near_dependency(step) or ILL_CONDITIONED}"
        return Status.INACCURATE, f"{why} {advice}"
    if raw.claim in (Status.INFEASIBLE, Status.UNBOUNDED):
        return (
            Status.SOLVER_ERROR,
            f"The solver calls the step {raw.claim}, but it has exactly one acceleration.",
        )
    if raw.claim is Status.NO_SOLUTION:
        decided = not isinstance(certificate, ContactCertificate) or certificate.contact.decided
        known = "the contact laws have a solution" if decided else "whether there is one was not decided"
        note = f" ({raw.note})" if raw.note else ""
        return Status.SOLVER_ERROR, f"The solver found no contact forces{note}, but {known}; try another solver."
    if math.isfinite(certificate.error_bound):
        return raw.claim, f"{raw.claim.sentence} {explain(certificate, tolerance)}".strip()
    if raw.claim is Status.SOLVED:
        return Status.SOLVER_ERROR, "The solver returned no finite acceleration although it says solved."
    return raw.claim, claim_sentence(raw)


def why_ill_posed(step: StepData, certificate: Certificate) -> str:
    """The verdict's sentence, how many solutions there are, and which rows contradict each other."""
    verdict = certificate.verdict
    if isinstance(certificate, ContactCertificate) and certificate.contact.reason is UniquenessProof.ENUMERATION:
        return _why_not_one(certificate.contact)
    return " ".join([verdict.sentence, *(d.sentence() for d in contradictions(step)[:3])])


def _why_not_one(contact: Uniqueness) -> str:
    """The sentence on what enumeration of the contact modes found."""
    if contact.status is Status.MULTIPLE_SOLUTIONS:
        forces = "; ".join(
            f"lam_N = {np.array2string(s.lam_N, precision=6, separator=', ')}" for s in contact.solutions[:4]
        )
        return f"{contact.status.sentence} There are {len(contact.solutions)}: {forces}."
    if contact.status is Status.ACCELERATION_NOT_UNIQUE and contact.ranges is not None:
        a = contact.ranges["a"]
        i = int(np.argmax(np.nan_to_num(a[:, 1] - a[:, 0], posinf=np.inf)))
        return (
            "A continuum of accelerations satisfies the contact and friction laws, because friction depends on how the "
            f"normal forces are shared: a[{i}] ranges from {a[i, 0]:.6g} to {a[i, 1]:.6g}."
        )
    return contact.status.sentence
