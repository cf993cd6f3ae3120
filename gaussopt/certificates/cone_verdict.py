"""The verified status of an answer to contacts with friction cones: what is proved of the problem comes first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gaussopt.certificates.cone import ConeCertificate, certify_cone, velocity_range
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity, GlobalContacts
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.core.tolerances import RECORDED

NEGATIVE = 1e-7
"""Margin of existence below which it is called negative; its cone program is solved to about 1e-8."""


def judge_cone(problem: ConeComplementarity, raw: RawSolution, tolerance: float) -> tuple[Status, str, ConeCertificate]:
    """The verified status of a solver's answer, with its sentence and certificate.

    A problem of which two solutions with different velocities are certified is never `solved`.
    """
    r = raw.x if raw.x is not None and raw.x.shape == (problem.n,) else None
    certificate = certify_cone(problem, r, raw.solutions, tolerance=tolerance)
    return *_verdict(certificate, raw, tolerance), certificate


def _verdict(certificate: ConeCertificate, raw: RawSolution, tolerance: float) -> tuple[Status, str]:
    if certificate.solutions:
        count = len(certificate.solutions)
        return Status.MULTIPLE_SOLUTIONS, (
            f"{count} velocities satisfy Coulomb's law, each certified; `solutions` lists their impulses, `u_range` "
            "the least and greatest velocities."
        )
    if certificate.passed(tolerance):
        if math.isinf(tolerance) and not certificate.passed():
            return Status.SOLVED, RECORDED
        return Status.SOLVED, f"Solved: natural map {certificate.residual:.2g} of |q|."
    if certificate.no_solution:
        return (
            Status.NO_SOLUTION,
            "No impulse satisfies Coulomb's law: open, stick and every slip were tried." + _margin(certificate),
        )
    if certificate.farkas_ray is not None:
        return Status.INFEASIBLE, (
            "No velocity opens or keeps all contacts: the normal impulses of `farkas_ray` prove it. Move the walls, or "
            "remove a contact." + _margin(certificate)
        )
    if raw.claim in (Status.TIME_LIMIT, Status.CRASHED, Status.SOLVER_ERROR):
        note = f" ({raw.note})" if raw.note else ""
        return raw.claim, f"{raw.claim.sentence}{note}{_margin(certificate)}"
    numbers = f"{certificate.residual:.3g} of |q|, rounding {certificate.floor:.1g}, tolerance {tolerance:.3g}"
    if raw.claim in (Status.SOLVED, Status.INACCURATE):
        return (
            Status.INACCURATE,
            f"The answer does not satisfy Coulomb's law: natural map {numbers}.{_margin(certificate)}",
        )
    return Status.ITERATION_LIMIT, f"No solution was found: natural map {numbers}.{_margin(certificate)}"


def _margin(certificate: ConeCertificate) -> str:
    """What is known of existence, as the end of a message."""
    t = certificate.existence_margin
    if t is None:
        return ""
    if t < -NEGATIVE:
        return f" The margin of existence is negative, t* = {t:.3g}: that there is a solution is not guaranteed."
    if t > NEGATIVE:
        return f" A solution exists: the margin of existence is t* = {t:.3g}."
    return " The margin of existence is zero: impulses may grow without bound (wedging)."


def distance(certificate: Mapping[str, Any]) -> str:
    """What is proved of the distance of a solved problem to a solution, as a sentence behind its message."""
    unique, bound = certificate["velocity_unique"], certificate["error_bound"]
    if bound is None:
        only = "It is near the only velocity; " if unique else ""
        return f" {only}{'how near' if unique else 'The distance to a solution'} is not proved."
    of = "the only solution" if unique else "a solution; that there is no other one is not proved"
    return f" The velocities are within {bound:.2g} m/s of {of}."


def verify_cone(
    problem: ConeComplementarity | GlobalContacts, answer: Mapping[str, Any], tolerance: float
) -> dict[str, Any]:
    """Status, message, velocities and certificate of anybody's answer r, and v of a global problem, for JSON."""
    local, r = problem.local if isinstance(problem, GlobalContacts) else problem, answer["r"]
    status, message, certificate = judge_cone(local, RawSolution(r, None, Status.SOLVED), tolerance)
    if certificate.solutions:
        right = certificate.residual <= tolerance
        message = f"{message} The given r is {'one of them' if right else 'none of them'}."
    elif status is Status.SOLVED:
        message += distance(certificate.to_mapping())
    entries: dict[str, Any] = {}
    if isinstance(problem, GlobalContacts) and answer.get("v") is not None:
        entries = motion_residuals(problem, answer["v"], r)
        if status is Status.SOLVED and not max(entries.values()) <= tolerance:
            status = Status.INACCURATE
            message = (
                f"v is not the velocity that r causes: relative distance {entries['motion_residual']:.3g}, bilateral "
                f"rows {entries['bilateral_residual']:.3g}; the tolerance is {tolerance:.3g}."
            )
    mapping = {**certificate.to_mapping(), **entries}
    return {
        "status": str(status), "message": message, "u": local.u(r), **uniqueness(certificate), "certificate": mapping,
        **several(local, certificate.solutions),
    }  # fmt: skip


def motion_residuals(problem: GlobalContacts, v: Vector, r: Vector) -> dict[str, float]:
    """|v - v(r)| in the norm of the masses, relative to |v(r)|, and |G^T v + b| relative to its terms."""
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
    """|v| in the norm of the masses."""
    return float(np.sqrt(max(float(v @ (problem.M @ v)), 0.0)))


def uniqueness(certificate: ConeCertificate) -> dict[str, Any]:
    """Uniqueness in three values, for the top of an answer."""
    return {"velocity_unique": certificate.velocity_unique, "impulses_unique": certificate.impulses_unique}


def several(problem: ConeComplementarity, solutions: Sequence[Vector]) -> dict[str, Any]:
    """The entries of several solutions, none where there is one."""
    if not solutions:
        return {}
    return {"solutions": [r.tolist() for r in solutions], "u_range": velocity_range(problem, solutions).tolist()}
