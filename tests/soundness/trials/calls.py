"""Which formulations and solvers a program is given to, and what they answer, in the terms of a finding.

Fast exact solvers take every program that they accept; slow ones take a stated share, so that a campaign of many
trials tries all of them and ends.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

import gaussopt as go
from gaussopt.certificates.contact import ContactCertificate
from gaussopt.core import registry
from gaussopt.core.errors import BadInput, GaussoptError, MissingBackend, NotAccepted
from gaussopt.core.programs import LCP, QP
from gaussopt.core.step_data import StepData

from .families import Data
from .findings import Claim

SHARES: dict[str, float] = {
    "piqp": 0.6, "osqp": 0.4, "newton": 0.2, "proxqp": 0.15, "pgs": 0.05, "clarabel": 0.05, "scs": 0.05, "highs": 0.05,
    "cvxpy": 0.004, "deap": 0.001, "deap-cma": 0.001,
}  # fmt: skip
"""The share of the programs that slow and inexact solvers take; solvers not named take all."""

INEXACT = ("osqp", "scs", "piqp", "proxqp", "clarabel", "highs", "cvxpy", "deap", "deap-cma", "pgs", "newton")
"""Solvers that iterate to a tolerance: their refusals are counted, but not as those of exact ones."""

DIRECT = ("gauss", "dual", "lagrange", "routh", "null-space", "udwadia-kalaba", "least-squares")
PRINTED = ("least-squares-as-printed", "pinv-mass-as-printed")
CONTACT_PAIRS = (
    *((f, s) for f in ("lcp", "stick-slip") for s in ("lemke", "newton", "principal-pivoting", "enumerate", "pgs")),
    *((f, "daqp") for f in ("lcp-qp", "frozen-friction", "weighted-normal-force-qp", "normal-force-qp")),
    ("joint-force-qp", "daqp"), ("gauss", "daqp"),
)  # fmt: skip
LCP_SOLVERS = ("lemke", "principal-pivoting", "enumerate", "newton", "pgs", "deap", "deap-cma")
QP_SOLVERS = (
    "daqp", "piqp", "osqp", "proxqp", "newton", "clarabel", "scs", "highs", "cvxpy", "quadprog", "deap", "deap-cma",
)  # fmt: skip


def drawn(rng: np.random.Generator, names: Iterable[str]) -> list[str]:
    """The solvers that take part this time."""
    found = [name for name in names if rng.random() < SHARES.get(name, 1.0)]
    if "cvxpy" in found:
        found[found.index("cvxpy")] = f"cvxpy:{rng.choice(registry.load('solver', 'cvxpy').variants())}"
    return found


def pairs(kind: str, data: Data, rng: np.random.Generator) -> list[tuple[str, str]]:
    """The formulations and solvers for one program; the formulation is empty for programs that are none of a step."""
    if kind == "lcp":
        return [("", s) for s in drawn(rng, LCP_SOLVERS)]
    if kind == "qp":
        return [("", s) for s in drawn(rng, ("kkt", *QP_SOLVERS))]
    if "v" in data:
        return [("moreau-jean" if "dt" in data else "impact", s) for s in drawn(rng, LCP_SOLVERS)]
    if "J_N" in data:
        # Some of the pairs each time; all of them over many programs.
        places = sorted(rng.choice(len(CONTACT_PAIRS), 9, replace=False))
        chosen = [CONTACT_PAIRS[i] for i in places if rng.random() < SHARES.get(CONTACT_PAIRS[i][1], 1.0)]
        return chosen + [("lcp-qp", s) for s in drawn(rng, QP_SOLVERS[1:])]
    chosen = [(f, "kkt") for f in (*DIRECT, *(("quasi-velocity",) if "D_omega" in data else ()))]
    chosen += [("gauss", s) for s in drawn(rng, QP_SOLVERS)]
    chosen += [
        (str(rng.choice(("dual", "udwadia-kalaba", "least-squares"))), s) for s in drawn(rng, QP_SOLVERS[:4])[-1:]
    ]
    chosen += [(str(rng.choice(PRINTED)), "kkt"), (str(rng.choice(("gauss", "lagrange"))), "sparse-kkt")]
    return chosen


class Refused(Exception):
    """The pair does not take the program; no trial."""


def subject(kind: str, data: Data) -> Any:
    """The object that gaussopt makes of the file's contents."""
    if kind == "qp":
        return QP.from_mapping(data)
    if kind == "lcp":
        return LCP.from_mapping(data)
    return StepData.from_mapping(data)


def sparse_step(data: Data) -> StepData:
    from scipy.sparse import csr_array

    n = len(data["Q"])
    J = csr_array(np.array(data.get("J", np.zeros((0, n))), dtype=float).reshape(-1, n))
    if "J_terms" in data:  # sparse steps know no sizes of terms: they are given what is left
        known = StepData.from_mapping(data)
        J, data = csr_array(known.J), {**data, "gamma": known.gamma}
    left_out = "D_omega", "w_omega", "J_terms", "gamma_terms"
    plain = {key: value for key, value in data.items() if key not in left_out}
    return StepData.from_mapping({**plain, "M": csr_array(np.array(data["M"])), "J": J, "gamma": data.get("gamma", [])})


def answer(kind: str, thing: Any, data: Data, formulation: str, solver: str) -> Claim:
    """What gaussopt says.

    Raises
    ------
    Refused
        Where the formulation or solver does not take the program.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind in ("qp", "lcp"):
                return of_solution(kind, go.solve(thing, solver))
            step = sparse_step(data) if solver == "sparse-kkt" else thing
            return replace(of_answer(go.solve_step(step, formulation, solver)), sparse=solver == "sparse-kkt")
        except (NotAccepted, MissingBackend) as error:
            raise Refused(str(error)) from None
        except BadInput:
            return Claim("bad_input")


def of_answer(found: Any) -> Claim:
    """The claim of an answer to a step."""
    c = found.certificate
    return claimed(str(found.status), found.a, found.lam, found.lam_N, found.lam_T, c)


def claimed(status: str, a: Any, lam: Any, lam_N: Any, lam_T: Any, c: Any) -> Claim:
    contact = isinstance(c, ContactCertificate)
    floor = c.rounding_floor if math.isfinite(c.rounding_floor) else math.inf
    return Claim(
        status, _list(a), _list(lam), _list(lam_N) if contact else None, _list(lam_T) if contact else None,
        c.error_bound, floor, bool(c.forces_unique) if status == "solved" else None,
        not (contact and c.contact.reason == "undecided"), str(c.verdict),
    )  # fmt: skip


def of_solution(kind: str, found: Any) -> Claim:
    """The claim of a solution of a program."""
    c = found.certificate
    bound = c.get("error_bound")
    verdict = c.get("verdict", "solved") if kind == "qp" else c.get("verdict")
    unique = c.get("forces_unique") if found.status is go.Status.SOLVED else None
    gap = c.get("objective_gap")
    return Claim(
        str(found.status), _list(found.x), _list(found.y), error_bound=math.inf if bound is None else bound,
        forces_unique=unique, sure=kind == "qp" or verdict is not None, verdict=verdict,
        objective_gap=math.inf if gap is None else gap,
    )  # fmt: skip


def _list(x: Any) -> Any:
    return None if x is None else x.tolist()


def unexpected(error: BaseException) -> bool:
    """Whether an exception is no sentence of gaussopt's own."""
    return not isinstance(error, GaussoptError)
