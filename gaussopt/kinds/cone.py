"""Contact problems with friction cones, in local and in global form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.certificates.cone import ConeCertificate, certify_cone, velocity_range, violations
from gaussopt.core.arrays import Vector, is_sparse
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity, GlobalContacts
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.kinds.base import Page, Residuals, Verdict, claim_sentence

NEGATIVE = 1e-7
"""The margin of existence, computed to about 1e-8, counts as nonzero if its absolute value exceeds this."""


class ContactPage(Page[ConeComplementarity]):
    """The `Page` of `ConeComplementarity`: how such problems are read, solved and certified.

    A problem with several certified solutions of different velocities never has the status `solved`.
    """

    kind = ConeComplementarity
    title = "contact problem with friction cones"
    solver = "hybrid"
    name = "contact"
    article = "a contact problem"
    entries = ("W", "q", "mu", "frames")
    answer = ("r", "v")
    formulations = "contact"
    not_exported = (
        "contact problems in accelerations; export moreau-jean, which writes those of time steps, in velocities, as "
        "FCLIB files."
    )

    def check(self, problem: ConeComplementarity) -> ConeComplementarity:
        return ConeComplementarity.from_mapping({"W": problem.W, "q": problem.q, "mu": problem.mu})

    def in_units(self, problem: ConeComplementarity, c: float, s: float) -> ConeComplementarity:
        W: Any = problem.W
        if isinstance(W, np.ndarray) or is_sparse(W):
            return replace(problem, W=c * W, q=c * s * problem.q)
        return replace(problem, q=s * problem.q)  # a `DelassusProduct` keeps its unit of mass

    def certify(self, program: ConeComplementarity, raw: RawSolution, tolerance: float) -> ConeCertificate:
        r = raw.x if raw.x is not None and raw.x.shape == (program.n,) else None
        return certify_cone(program, r, raw.solutions, tolerance=tolerance)

    def limit_proofs(self, proof: ConeCertificate, solving: float) -> str:
        return proof.limit_proofs(solving)

    def truth(
        self, program: ConeComplementarity, proof: ConeCertificate, raw: RawSolution, tolerance: float
    ) -> Verdict | None:
        if not proof.solutions:
            return None
        return Status.MULTIPLE_SOLUTIONS, (
            f"{len(proof.solutions)} velocities satisfy Coulomb's law, each certified; `solutions` lists their "
            "impulses, `u_range` the least and greatest velocities."
        )

    def solved(self, program: ConeComplementarity, proof: ConeCertificate) -> str:
        return f"Solved: natural map {proof.residual:.2g} of |q|."

    def doubt(
        self, program: ConeComplementarity, proof: ConeCertificate, raw: RawSolution, tolerance: float
    ) -> Verdict:
        margin = _margin(proof)
        if proof.no_solution:
            words = "No impulse satisfies Coulomb's law: open, stick and every slip were tried."
            return Status.NO_SOLUTION, f"{words}{margin}"
        if proof.farkas_ray is not None:
            return Status.INFEASIBLE, (
                "No velocity opens or keeps all contacts: the normal impulses of `farkas_ray` prove it. Move the "
                f"walls, or remove a contact.{margin}"
            )
        if raw.claim in (Status.TIME_LIMIT, Status.CRASHED, Status.SOLVER_ERROR):
            return raw.claim, f"{claim_sentence(raw)}{margin}"
        numbers = f"{proof.residual:.3g} of |q|, rounding {proof.floor:.1g}, tolerance {tolerance:.3g}"
        if raw.claim in (Status.SOLVED, Status.INACCURATE):
            words = "The answer does not satisfy Coulomb's law: natural map"
            return Status.INACCURATE, f"{words} {numbers}.{margin}"
        return Status.ITERATION_LIMIT, f"No solution was found: natural map {numbers}.{margin}"

    def duals(self, proof: ConeCertificate, raw: RawSolution, tolerance: float) -> None:
        return None

    def solutions(self, proof: ConeCertificate) -> tuple[Vector, ...]:
        return proof.solutions

    def residuals(self, program: ConeComplementarity, x: Vector, y: Vector | None) -> Residuals:
        """Return the distances of r from K (`primal`) and of u~ from K* (`dual`), and the error of the law (`gap`)."""
        return Residuals(*violations(program, x))

    def answer_sizes(self, problem: ConeComplementarity) -> dict[str, int]:
        return {"r": problem.n}

    def verify(self, problem: ConeComplementarity, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
        """Return status, message, velocities and certificate of an answer r."""
        found = self.judge(problem, RawSolution(answer["r"], None, Status.SOLVED), tolerance)
        proof, message = found.proof, found.message
        if proof.solutions:
            right = proof.residual <= tolerance
            message = f"{message} The given r is {'one of them' if right else 'none of them'}."
        elif found.status is Status.SOLVED:
            message += distance(found.certificate)
        return {
            "status": str(found.status), "message": message, "u": problem.u(answer["r"]),
            "velocity_unique": proof.velocity_unique, "impulses_unique": proof.impulses_unique,
            "certificate": {**found.certificate}, **several(problem, proof.solutions),
        }  # fmt: skip


class GlobalContactPage(Page[GlobalContacts]):
    """The `Page` of `GlobalContacts`; the impulses are judged in the local form."""

    kind = GlobalContacts
    title = "contact problem in the velocities of the bodies"
    name = "contact-global"
    article = "a contact problem"
    entries = ("M", "H", "f", "w", "mu", "G", "b", "frames")
    answer = ("r", "v")
    formulations = "contact"

    def motion(self, problem: GlobalContacts, r: Vector) -> tuple[dict[str, Vector], dict[str, float]]:
        v, l = problem.velocities(r)
        return {"v": v, "l": l}, motion_residuals(problem, v, r)

    def answer_sizes(self, problem: GlobalContacts) -> dict[str, int]:
        return {"r": ROWS * problem.k, "v": len(problem.f)}

    def verify(self, problem: GlobalContacts, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
        """Return status, message, velocities and certificate of an answer with impulses r and perhaps velocities v."""
        result = ContactPage().verify(problem.local, answer, tolerance)
        if answer.get("v") is None:
            return result
        entries = motion_residuals(problem, answer["v"], answer["r"])
        result["certificate"] |= entries
        if result["status"] == Status.SOLVED.value and not max(entries.values()) <= tolerance:
            result["status"] = str(Status.INACCURATE)
            result["message"] = (
                f"v is not the velocity that r causes: relative distance {entries['motion_residual']:.3g}, bilateral "
                f"rows {entries['bilateral_residual']:.3g}; the tolerance is {tolerance:.3g}."
            )
        return result


def _margin(proof: ConeCertificate) -> str:
    """Return a sentence on the existence of a solution, to be appended to a message."""
    t = proof.existence_margin
    if t is None:
        return ""
    if t < -NEGATIVE:
        return f" The margin of existence is negative, t* = {t:.3g}: that there is a solution is not guaranteed."
    if t > NEGATIVE:
        return f" A solution exists: the margin of existence is t* = {t:.3g}."
    return " The margin of existence is zero: impulses may grow without bound (wedging)."


def distance(certificate: Mapping[str, Any]) -> str:
    """Return a sentence on the proved distance of an answer to a solution, to be appended to its message."""
    unique, bound = certificate["velocity_unique"], certificate["error_bound"]
    if certificate["bound_from"] == "skipped":
        return ""
    if bound is None:
        only = "It is near the only velocity; " if unique else ""
        return f" {only}{'how near' if unique else 'The distance to a solution'} is not proved."
    of = "the only solution" if unique else "a solution; that there is no other one is not proved"
    return f" The velocities are within {bound:.2g} m/s of {of}."


def motion_residuals(problem: GlobalContacts, v: Vector, r: Vector) -> dict[str, float]:
    """Return |v - v(r)| in the mass norm, relative to |v(r)| and |q|, and |G^T v + b| relative to its terms."""
    wanted, _ = problem.velocities(r)
    heaviest = float(np.sqrt(np.abs(problem.M.diagonal()).max(initial=0.0)))
    size = max(_momentum(problem, wanted), float(np.linalg.norm(problem.local.q)) * heaviest)
    held = np.abs(problem.G).T @ np.abs(v) + np.abs(problem.b)
    off = float(np.linalg.norm(problem.G.T @ v + problem.b))
    return {
        "motion_residual": _momentum(problem, v - wanted) / (size or 1.0),
        "bilateral_residual": off / (float(np.linalg.norm(held)) or 1.0),
    }


def _momentum(problem: GlobalContacts, v: Vector) -> float:
    """Return |v| in the mass norm."""
    return float(np.sqrt(max(float(v @ (problem.M @ v)), 0.0)))


def several(problem: ConeComplementarity, solutions: Sequence[Vector]) -> dict[str, Any]:
    """Return the entries `solutions` and `u_range` if several solutions are given, otherwise an empty dict."""
    if not solutions:
        return {}
    return {"solutions": [r.tolist() for r in solutions], "u_range": velocity_range(problem, solutions).tolist()}
