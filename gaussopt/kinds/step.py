"""Steps; their status comes from the verdict on the step, else from the certificate, else from the solver's claim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeGuard

import numpy as np

from gaussopt.certificates import certify
from gaussopt.certificates.base import Certificate, explain
from gaussopt.certificates.contact import SMALL, ContactCertificate, certify_contact
from gaussopt.contact.activity import closed_contacts
from gaussopt.contact.laws import Uniqueness, UniquenessProof
from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Matrix, Vector, as_array
from gaussopt.core.errors import BadInput
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.tolerances import RECORDED
from gaussopt.kinds.base import Page, claim_sentence, note_of
from gaussopt.linalg.redundancy import contradictions, near_dependency, tiny_row

ILL_CONDITIONED = "Look for masses of very different size and for rows that nearly depend on each other."

UNDECIDED = "Whether it is the only solution was not decided: there are too many contact modes to try."

FORCES, ACCELERATIONS = ("h", "Q"), ("gamma", "zeta_N", "zeta_T", "w_omega", "gamma_terms")


class StepPage(Page[StepData]):
    """The `Page` of `StepData`; a step has no default solver, since the choice depends on the formulation."""

    kind = StepData
    title = "step"
    name = "step"
    article = "a step"
    entries = tuple(x.name for x in fields(StepData) if x.name != "arithmetic")
    answer = ("a", "lam", "lam_N", "lam_T")
    formulations = "step"

    def size(self, problem: StepData) -> list[int]:
        return [problem.n, problem.m, problem.k]

    def in_units(self, problem: StepData, c: float, s: float) -> StepData:
        names = (*FORCES, *ACCELERATIONS, "least_N")
        known = {name: x for name in names if (x := getattr(problem, name)) is not None}
        factors = dict.fromkeys(ACCELERATIONS, s)
        scaled = {name: factors.get(name, c * s) * x for name, x in known.items()}
        return replace(problem, M=c * problem.M, arithmetic=None, **scaled)

    def answer_sizes(self, problem: StepData) -> dict[str, int]:
        return {"a": problem.n, "lam": problem.m} | ({"lam_N": problem.k} if problem.k else {})

    def arrays(self, given: Mapping[str, Any], problem: StepData) -> dict[str, Any]:
        """Return the arrays of an answer; planar lam_T may leave out the tangent axis."""
        found, lam_T, shape = super().arrays(given, problem), given.get("lam_T"), problem.v_T.shape
        if not problem.k or lam_T is None:
            return found
        if shape[1] == 1 and not (isinstance(lam_T, list) and lam_T and isinstance(lam_T[0], list)):
            return {**found, "lam_T": as_array("lam_T", lam_T, shape[:1])[:, None]}
        return {**found, "lam_T": as_array("lam_T", lam_T, shape)}

    def verify(self, problem: StepData, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
        """Return status, message, forces_unique and certificate; raises BadInput if an open contact has a force."""
        step, a, lam = problem, answer["a"], answer["lam"]
        lam_N, lam_T = answer.get("lam_N"), answer.get("lam_T")
        if step.k:
            closed = closed_contacts(step)
            _check_open(step, closed, lam_N, lam_T)
            step = step.select(closed)
            lam_N, lam_T = (None if x is None else x[closed] for x in (lam_N, lam_T))
        certificate = certify_step(step, a, lam, lam_N, lam_T)
        status, message = Status.SOLVED, Status.SOLVED.sentence
        if certificate.verdict is not Status.SOLVED:
            status, message = certificate.verdict, _why_ill_posed(step, certificate)
        elif not certificate.passed(tolerance):
            status, message = Status.INACCURATE, explain(certificate, tolerance)
        return {
            "status": str(status), "message": message, "forces_unique": certificate.forces_unique,
            "certificate": certificate.to_mapping(),
        }  # fmt: skip


def certify_step(
    step: StepData, a: Vector | None, lam: Vector | None = None, lam_N: Vector | None = None,
    lam_T: Matrix | None = None, thorough: bool = True,
) -> Certificate:  # fmt: skip
    """Certify a candidate of any step without open contacts; see `certify` and `certify_contact`."""
    if not step.k:
        return certify(step, a, lam)
    return certify_contact(step, a, lam, lam_N, lam_T, thorough=thorough)


def is_step(value: object) -> TypeGuard[StepData]:
    """Return whether a value from a user or a plug-in is a step."""
    return isinstance(value, StepData)


def check_step(step: Any) -> None:
    """Check that a value is a step; raises BadInput."""
    if not is_step(step):
        raise BadInput(f"A step is StepData, not {type(step).__name__}; see System.evaluate and StepData.from_mapping.")


def _check_open(step: StepData, closed: Any, lam_N: Vector | None, lam_T: Any) -> None:
    """Check that open contacts have no forces; raises BadInput."""
    for i in set(range(step.k)) - set(closed.tolist()):
        if (lam_N is not None and lam_N[i] != 0) or (lam_T is not None and lam_T[i].any()):
            assert step.g_N is not None
            raise BadInput(
                f"The answer has a force at contact {i + 1}, which is open (gap {step.g_N[i]:.6g} m); an open "
                "contact has none."
            )


def judge(
    step: StepData, raw: RawSolution, certificate: Certificate, tolerance: float, advice: str
) -> tuple[Status, str]:
    """Return the verified status: from the verdict on the step, else the certificate, else the solver's claim."""
    if certificate.verdict is not Status.SOLVED:
        return certificate.verdict, _why_ill_posed(step, certificate)
    if certificate.passed(tolerance):
        if isinstance(certificate, ContactCertificate) and not certificate.contact.decided:
            return Status.SOLVED, f"{Status.SOLVED.sentence} {UNDECIDED}"
        recorded = math.isinf(tolerance) and not certificate.passed()
        return Status.SOLVED, (RECORDED if recorded else Status.SOLVED.sentence) + tiny_row(step)
    if math.isfinite(certificate.error_bound) and raw.claim in (Status.SOLVED, Status.INACCURATE):
        why = explain(certificate, tolerance)
        if certificate.rounding_floor > tolerance * (1.0 + certificate.norm_a):
            # Another solver or option would not help, so the sentence gives no advice on them.
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
        return (
            Status.SOLVER_ERROR,
            f"The solver found no contact forces{note_of(raw)}, but {known}; try another solver.",
        )
    if math.isfinite(certificate.error_bound):
        return raw.claim, f"{raw.claim.sentence} {explain(certificate, tolerance)}".strip()
    if raw.claim is Status.SOLVED and math.isfinite(certificate.constraint_residual):
        missed = certificate.laws_missed / (1.0 + certificate.norm_a)
        balanced = certificate.force_residual <= SMALL * (1.0 + certificate.norm_a)
        status = Status.NOT_PROVED if missed <= SMALL and balanced else Status.INACCURATE
        return status, (
            f"The answer misses the laws of contact by {missed:.2g}, relative to 1 + the acceleration, and no bound of "
            f"its distance from a solution follows. {advice}"
        )
    if raw.claim is Status.SOLVED:
        return Status.SOLVER_ERROR, "The solver returned no finite acceleration although it says solved."
    return raw.claim, claim_sentence(raw)


def _why_ill_posed(step: StepData, certificate: Certificate) -> str:
    """Return a sentence on the verdict, with the solutions found or the rows that contradict each other."""
    verdict = certificate.verdict
    if isinstance(certificate, ContactCertificate):
        if certificate.contact.reason is UniquenessProof.ENUMERATION:
            return _why_not_one(certificate.contact)
        if certificate.contact.reason is UniquenessProof.CONTRADICTION:
            return (
                f"{verdict.sentence} Whichever contacts are open, forces that keep some from closing make others close."
            )
        if certificate.contact.reason is UniquenessProof.JAMMED:
            op = ContactOperator.of(step)
            i = op.jammed or 0
            return (
                f"{verdict.sentence} Contact {i + 1} closes at {-op.bias[i]:.3g} m/s^2 without contact forces, and no "
                "force that the laws allow keeps it from closing."
            )
    return " ".join([verdict.sentence, *(d.sentence() for d in contradictions(step)[:3])])


def _why_not_one(contact: Uniqueness) -> str:
    """Return a sentence on the result of enumerating the contact modes."""
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
