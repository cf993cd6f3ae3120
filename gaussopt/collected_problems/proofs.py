"""Compute the answers of the collection's problems, and proofs of the answers that `check_proofs.py` checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from gaussopt.collected_problems import check_proofs
from gaussopt.collected_problems.dyadic import cholesky, refined
from gaussopt.core.arrays import is_sparse
from gaussopt.core.errors import BadInput
from gaussopt.kinds.files import parse
from gaussopt.linalg import rational
from gaussopt.linalg.rational import exact, independent
from gaussopt.solving.solve import solve

EXACT = 72
"""Largest number of equations for which the exact answer is computed; for larger systems the residual is bounded."""

ELIMINATED = 16
"""Largest size at which a class is proved without a stored factor: `check_proofs.py` factorises the matrix itself."""

FACTORED = 150
"""Largest size of a factor that a proof stores."""

WELL = 1e-6
"""Smallest relative eigenvalue for which a rounded factor proves that a matrix is definite."""

ENUMERATED = 6
"""Largest number of complementarity pairs for which the proof of an LCP tries all combinations."""

Exact = list[Fraction]


def prove(problem: dict[str, Any], hints: Mapping[str, Any]) -> dict[str, Any]:
    """Add the answer to a problem, which is given as the contents of its file, and return its proof.

    `hints` hold what the generator of the problem knows: the exact vectors of the answer by name, a second answer
    ("another"), a "factor" of the matrix, or, if there is no answer, the "claims" that prove this.
    """
    kind = problem["kind"]
    names = check_proofs.KINDS[kind][0]
    claims: list[dict[str, Any]] = [dict(claim) for claim in hints.get("claims", ())]
    if not any(claim["rule"] in ("ray", "unbounded", "all") and not claim.get("count") for claim in claims):
        point = [hints[name] for name in names] if names[0] in hints else _solved(problem)
        if point is None:
            raise BadInput(f"{problem['name']} has no answer that can be proved; take it out of the collection.")
        for name, x in zip(names, point, strict=True):
            problem[name] = [float(v) for v in x]
        claims.append(_answer(problem, names, point))
    claims += [{"rule": "another", **_texts(hints["another"])}] if "another" in hints else []
    facts = {kind}.union(*(check_proofs.RULES[claim["rule"]](problem, claim) for claim in claims))
    for claim in _classes(problem, hints, facts):
        try:
            facts |= check_proofs.RULES[claim["rule"]](problem, claim)
        except ValueError:
            continue
        claims.append(claim)
    words = {
        key: next(word for word in order if any(of <= facts for of in check_proofs.NEEDS[word]))
        for key, order in (("class", ("convex", "monotone", "P-matrix", "none")),
                           ("answers", ("none at all", "one", "at most one", "several", "unknown")))
    }  # fmt: skip
    return {"name": problem["name"], **words, "claims": claims}


def _answer(problem: Mapping[str, Any], names: str, point: list[Exact]) -> dict[str, Any]:
    worst = check_proofs.KINDS[problem["kind"]][2]
    if worst(problem, *point) == 0:
        return {"rule": "exact", **_texts(dict(zip(names, point, strict=True)))}
    residual = worst(problem, *(check_proofs.row(problem[name]) for name in names))
    return {"rule": "near", "residual": upper(residual)}


def upper(x: Fraction) -> str:
    """Round x >= 0 upwards to two significant digits, as text that `Fraction` reads exactly."""
    if not x:
        return "0"
    power = math.floor(math.log10(x)) - 1
    return f"{math.ceil(x / Fraction(10) ** power)}e{power}"


def _texts(values: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name: [str(Fraction(x)) for x in value] for name, value in values.items()}


def _solved(problem: Mapping[str, Any]) -> list[Exact] | None:
    """Return the exact answer for the active set of a floating-point answer; refine it if the equations are many.

    Return None if no floating-point answer is found, or if its active set does not determine the exact answer.
    """
    found: Any = parse(problem)
    if problem["kind"] == "lcp":
        z = solve(found, "lemke").x
        if z is None:
            return None
        held = z > 1e-9 * np.abs(z).max(initial=0.0)
        part = rational.solve(exact(found.M[np.ix_(held, held)]), exact(-found.q[held]))
        if part is None:
            return None
        whole = np.full(found.n, Fraction(0), dtype=object)
        whole[held] = part
        return [whole.tolist()]
    active = found.equality
    right = np.where(active, found.l, 0.0)
    if not found.equalities_only:
        y = solve(found, "daqp").y
        if y is None:
            return None
        size = 1e-9 * np.abs(y).max(initial=0.0)
        active = found.equality | (np.abs(y) > size)
        right = np.where(y > 0, found.l, found.u)
    n, rows = found.n, np.flatnonzero(active)
    if found.m > 1 and not is_sparse(found.A) and np.linalg.matrix_rank(found.A[rows]) < len(rows):
        rows = rows[independent(exact(found.A[rows].T))]  # the multipliers of dependent rows are 0
    A, right = found.A[rows], np.concatenate((-found.q, right[rows]))
    if len(right) <= EXACT and not is_sparse(found.P):
        table = np.block([[found.P, -A.T], [A, np.zeros((len(rows), len(rows)))]])
        x: Any = rational.solve(exact(table), exact(right))
    else:
        from scipy.sparse import block_array, csr_array

        P, B = csr_array(found.P), csr_array(A)
        x = refined(block_array([[P, -B.T], [B, None]], format="csr"), right)
    if x is None:
        return None
    forces = np.full(found.m, Fraction(0), dtype=object)
    forces[rows] = x[n:]
    return [list(x[:n]), forces.tolist()]


def _classes(problem: Mapping[str, Any], hints: Mapping[str, Any], facts: set[str]) -> list[dict[str, Any]]:
    """Return possible claims on the class of the matrix; the caller checks them and drops those that do not hold."""
    kind = problem["kind"]
    given = problem[check_proofs.KINDS[kind][1]]
    if "factor" in hints:
        return [{"rule": hints.get("rule", "semidefinite"), "L": hints["factor"]}]
    if isinstance(given, dict):
        return [{"rule": "definite", "L": []}]
    A = np.array(given)
    S = 0.5 * (A + A.T)
    gap = (S.diagonal() + np.abs(S.diagonal()) - np.abs(S).sum(axis=1)).min()
    well = len(A) > ELIMINATED and float(np.linalg.eigvalsh(S)[0]) > WELL * np.abs(S).max()
    claims: list[dict[str, Any]] = []
    if len(A) > ELIMINATED and gap >= 0:
        claims = [{"rule": "definite" if gap > 0 else "semidefinite", "L": []}]
    elif well and len(A) <= FACTORED:
        claims = [{"rule": "definite", "L": cholesky(S)}]
    elif len(A) <= EXACT and (low := check_proofs.modulus(check_proofs.matrix(given))) is not None:
        claims = [{"rule": "definite" if low else "semidefinite"}]
    if kind == "lcp" and not (claims and claims[0]["rule"] == "definite"):
        claims += _p_matrix(A)
        if len(A) <= ENUMERATED and not facts & {"second", "empty"}:
            with suppress(ValueError):  # raised if a principal minor is zero; then the number of answers is unknown
                known = check_proofs.solutions(check_proofs.matrix(given), check_proofs.row(problem["q"]))
                claims.append({"rule": "all", "count": len(known)})
    return claims


def _p_matrix(M: Any) -> list[dict[str, Any]]:
    """Return claims that may prove that M is a P-matrix: by its minors, or with weights for diagonal dominance."""
    n = len(M)
    if n <= ENUMERATED:
        return [{"rule": "p-matrix"}]
    size = np.abs(M)
    if (M.diagonal() <= 0).any():
        return []
    found: list[list[int]] = [[1] * n]
    for order in (range(n - 1, -1, -1), range(n)):  # for a triangular M, one of the two orders gives valid weights
        d = [1] * n
        for i in order:
            rest = sum(Fraction(size[i, j]) * d[j] for j in range(n) if j != i and size[i, j])
            d[i] = math.floor(rest / Fraction(M[i, i])) + 1
        found.append(d)
    return [{"rule": "p-matrix", "weights": [str(x) for x in d]} for d in found]
