"""Check the proofs of the collection with Python alone: `python check_proofs.py [FOLDER]`, exit code 1 if one fails.

Floating-point numbers become fractions without an error, and nothing is rounded. Small problems have exact answers; for
large problems, bounds on the residuals are checked. A qp is min 1/2 x'Px + q'x subject to l <= Ax <= u; an lcp is
0 <= z, w = Mz + q >= 0, z'w = 0; a contact problem is u = Wr + q with Coulomb's law, in rows N, T1, T2 per contact.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import inf, lcm
from pathlib import Path
from typing import Any

Row = list[Fraction]
Sparse = tuple[list[dict[int, int]], int]  # the integers of each row by column, and their common denominator
NONE = Fraction(0)


def need(holds: Any, fault: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not holds:
        raise ValueError(fault)


def row(values: Any) -> Row:
    """Convert floating-point numbers, or fractions written as text, to fractions."""
    return [Fraction(x) for x in values]


def matrix(A: Any, turned: bool = False) -> Sparse:
    """Return the matrix, or its transpose if `turned`, given by rows or by entries with row and column indices."""
    if isinstance(A, dict):
        entries, count = list(zip(A["row"], A["column"], row(A["value"]), strict=True)), A["shape"][turned]
    else:
        entries = [(i, j, Fraction(x)) for i, given in enumerate(A) for j, x in enumerate(given) if x]
        count = max((len(given) for given in A), default=0) if turned else len(A)
    rows, by = [dict[int, int]() for _ in range(count)], lcm(*{x.denominator for _, _, x in entries})
    for i, j, x in ((j, i, x) if turned else (i, j, x) for i, j, x in entries):
        rows[i][j] = rows[i].get(j, 0) + x.numerator * (by // x.denominator)
    return rows, by


def times(A: Sparse, x: Row) -> Row:
    """Return A x."""
    by = lcm(*{v.denominator for v in x})
    whole = [v.numerator * (by // v.denominator) for v in x]
    return [Fraction(sum(a * whole[j] for j, a in entries.items()), A[1] * by) for entries in A[0]]


def plus(x: Row, y: Row, by: Fraction | int = 1) -> Row:
    """Return the vector x + by * y."""
    return [a + by * b for a, b in zip(x, y, strict=True)]


def dot(x: Row, y: Row) -> Fraction:
    """Return x . y."""
    return sum((a * b for a, b in zip(x, y, strict=True)), NONE)


def dense(A: Sparse, of: Any = None) -> list[Row]:
    """Return the submatrix of A with the row and column indices `of`, by default all."""
    of = range(len(A[0])) if of is None else of
    return [[Fraction(A[0][i].get(j, 0), A[1]) for j in of] for i in of]


def modulus(A: Sparse, L: Any = None) -> Fraction | None:
    """Return a number > 0 if the symmetric part S of A is proved definite, 0 if semidefinite, None if it is neither.

    With a factor L, S - L L' must be diagonally dominant, and the number is a lower bound on the eigenvalues of S.
    """
    S, of = [dict[int, int]() for _ in A[0]], 2 * A[1]
    for a, b, x in ((*at, x) for i, entries in enumerate(A[0]) for j, x in entries.items() for at in ((i, j), (j, i))):
        S[a][b] = S[a].get(b, 0) + x
    if L is not None:
        columns, by = matrix(L, True)
        S = [{j: x * by * by for j, x in entries.items()} for entries in S]
        for i, j, x in ((i, j, x * y) for column in columns for i, x in column.items() for j, y in column.items()):
            S[i][j] = S[i].get(j, 0) - of * x
        least = min(x.get(i, 0) + abs(x.get(i, 0)) - sum(map(abs, x.values())) for i, x in enumerate(S))
        need(least >= 0, "what the factor leaves is not diagonally dominant")
        return Fraction(least, of * by * by)
    table, low = dense((S, of)), Fraction(1)
    while table:
        (pivot, *first), *below = table
        if pivot < 0 or (pivot == 0 and any(first)):
            return None
        low = min(low, Fraction(pivot > 0))
        table = [plus(line, first, -head / pivot) if head else line for head, *line in below]
    return low


def determinant(table: list[Row]) -> Fraction:
    """Return the determinant of a square matrix."""
    value = Fraction(1)
    while table:
        found = next((i for i, line in enumerate(table) if line[0]), None)
        if found is None:
            return NONE
        first, value = table[found], value * (-1) ** found * table[found][0]
        table = [plus(line[1:], first[1:], -line[0] / first[0]) for i, line in enumerate(table) if i != found]
    return value


def solutions(A: Sparse, q: Row) -> list[Row]:
    """Return all solutions of an LCP by Cramer's rule; no principal minor of its matrix may be zero."""
    found = list[Row]()
    for of in (of for size in range(len(q) + 1) for of in combinations(range(len(q)), size)):
        block, z = dense(A, of), [NONE for _ in q]
        whole = determinant(block)
        need(whole, "a principal minor is zero")
        for at, i in enumerate(of):
            swapped = [[*line[:at], -q[k], *line[at + 1 :]] for line, k in zip(block, of, strict=True)]
            z[i] = determinant(swapped) / whole
        if min(z) >= 0 and min(plus(times(A, z), q)) >= 0 and z not in found:
            found.append(z)
    return found


def ends(p: Any) -> list[tuple[Any, Any]]:
    """Return the lower and upper bound of each row of a quadratic program; a missing bound is infinite."""
    both = zip(p["l"], p["u"], strict=True)
    return [(-inf if l is None else Fraction(l), inf if u is None else Fraction(u)) for l, u in both]


def worst_qp(p: Any, x: Row, y: Row) -> Any:
    """Return the largest residual of x and the multipliers y: in stationarity, in the rows, in complementarity."""
    grad = plus(times(matrix(p["P"]), x), row(p["q"]))
    found = [*map(abs, plus(grad, times(matrix(p["A"], True), y) or [NONE for _ in x], -1))]
    for value, (low, high), force in zip(times(matrix(p["A"]), x), ends(p), y, strict=True):
        found += [low - value, value - high, abs(value - (low if force > 0 else high)) if force else NONE]
    return max(found)


def worst_lcp(p: Any, z: Row) -> Any:
    """Return the largest |min(z_i, w_i)|."""
    return max(abs(min(pair)) for pair in zip(z, plus(times(matrix(p["M"]), z), row(p["q"])), strict=True))


def worst_contact(p: Any, r: Row) -> Any:
    """Return the largest residual of Coulomb's law, with squared impulses and slips, so that it is rational."""
    u, found = plus(times(matrix(p["W"]), r), row(p["q"])), [NONE]
    for i, mu in enumerate(row(p["mu"])):
        (N, *t), (w, *s) = r[3 * i : 3 * i + 3], u[3 * i : 3 * i + 3]
        most, along = (mu * N) ** 2, dot(t, s)
        found += [-N, -w, abs(N * w), dot(t, t) - most, along, abs(along**2 - most * dot(s, s))]
    return max(found)


KINDS: Any = {"qp": ("xy", "P", worst_qp), "lcp": ("z", "M", worst_lcp), "contact": ("r", "W", worst_contact)}
"""For each kind of problem: the vectors of an answer, the matrix, and the function that computes the residual."""


def answer(p: Any, claim: Any) -> set[str]:
    """Check an answer that a claim asserts: exact, "near" (by its residual), a second one, or the number of answers."""
    (names, _, worst), rule = KINDS[p["kind"]], claim["rule"]
    stored, exact = ([row(of[name]) for name in names] if names[0] in of else [] for of in (p, claim))
    if rule == "all":
        known = solutions(matrix(p["M"]), row(p["q"]))
        need(len(known) == claim["count"], "there are more, or fewer, solutions")
        return {"empty" if not known else "only" if len(known) == 1 else "second"}
    if rule == "near":
        need(worst(p, *stored) <= Fraction(claim["residual"]) <= Fraction(1, 1000), "the residual is larger than told")
        return {"near"}
    need(worst(p, *exact) == 0, "it is no answer")
    if rule == "another":
        need(exact[0] != stored[0], "both answers are the same")
        return {"second"}
    need([row(map(float, x)) for x in exact] == stored, "the stored answer is not the exact one, rounded")
    return {"solved"}


def matrix_class(p: Any, claim: Any) -> set[str]:
    """Check that the matrix is definite, semidefinite or a P-matrix."""
    A, rule = matrix(p[KINDS[p["kind"]][1]]), claim["rule"]
    if rule in ("definite", "semidefinite"):
        low = modulus(A, claim.get("L"))
        need(low if rule == "definite" else low is not None, f"the matrix is not {rule}")
        same = all(A[0][j].get(i) == x for i, entries in enumerate(A[0]) for j, x in entries.items())
        return {rule, "semidefinite", *(["symmetric"] if same else [])}
    if "weights" in claim:  # M diag(d) with d > 0 must be diagonally dominant and have a positive diagonal
        d = row(claim["weights"])
        gaps = (2 * x.get(i, 0) * d[i] - sum(abs(a) * d[j] for j, a in x.items()) for i, x in enumerate(A[0]))
        need(min(d) > 0 and min(gaps) > 0, "the weights do not make the matrix diagonally dominant")
    else:
        blocks = (dense(A, of) for size in range(len(A[0])) for of in combinations(range(len(A[0])), size + 1))
        need(all(determinant(block) > 0 for block in blocks), "a principal minor is not positive")
    return {rule}


def no_answer(p: Any, claim: Any) -> set[str]:
    """Check a ray that proves that the constraints are infeasible, or that the objective falls without bound."""
    y = row(claim["y"])
    if p["kind"] == "lcp":
        need(min(y) >= 0 and max(times(matrix(p["M"], True), y)) <= 0 and dot(row(p["q"]), y) < 0, "it is no ray")
    elif claim["rule"] == "unbounded":
        A = matrix(p["A"])
        moved, at = times(A, y), times(A, row(claim["x"]))
        inside = all(l <= v <= u for v, (l, u) in zip(at, ends(p), strict=True))
        stays = all((s >= 0 or l == -inf) and (s <= 0 or u == inf) for s, (l, u) in zip(moved, ends(p), strict=True))
        falls = not any(times(matrix(p["P"]), y)) and dot(row(p["q"]), y) < 0
        need(inside and stays and falls, "the objective does not fall for ever")
    else:
        gap = sum(s * (l if s > 0 else u) for s, (l, u) in zip(y, ends(p), strict=True) if s)
        need(not any(times(matrix(p["A"], True), y)) and gap > 0, "it is no ray")
    return {"empty"}


RULES = {
    **dict.fromkeys(("exact", "near", "another", "all"), answer), **dict.fromkeys(("ray", "unbounded"), no_answer),
    **dict.fromkeys(("definite", "semidefinite", "p-matrix"), matrix_class),
}  # fmt: skip
NEEDS: Any = {
    "convex": [{"qp", "semidefinite"}, {"lcp", "semidefinite", "symmetric"}], "monotone": [{"lcp", "semidefinite"}],
    "P-matrix": [{"lcp", "p-matrix"}], "none": [set()],
    "one": [{"qp", "solved", "definite"}, {"lcp", "definite"}, {"lcp", "p-matrix"}, {"solved", "only"}],
    "at most one": [{"qp", "near", "definite"}], "several": [{"solved", "second"}], "none at all": [{"empty"}],
    "unknown": [{"solved"}, {"near"}],
}  # fmt: skip
"""Sets of facts for each class and number of answers; if all facts of a set are proved, the class or number is."""


def check(problem: Any, proof: Any) -> None:
    """Check the proof of a problem, both as read from JSON; raise ValueError with the first fault."""
    proved = {problem["kind"]}.union(*(RULES[claim["rule"]](problem, claim) for claim in proof["claims"]))
    for word in (proof["class"], proof["answers"]):
        need(any(of <= proved for of in NEEDS[word]), f"{word!r} does not follow")


def main(folder: Path) -> int:
    """Check all proofs of a folder, print the faults, and return the exit code."""
    rows, held = json.loads((folder / "index.json").read_text(encoding="utf-8"))["problems"], Counter[bool]()
    for entry in rows:
        try:
            problem, proof = (json.loads((folder / entry[k]).read_text(encoding="utf-8")) for k in ("file", "proof"))
            need(all(entry[k] == proof[k] for k in ("name", "class", "answers")), "the index says something else")
            check(problem, proof)
            held[all(claim["rule"] != "near" for claim in proof["claims"])] += 1
        except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, OSError) as error:
            print(f"{entry['name']}: the proof does not hold: {error}.")
    print(f"{held.total()} of {len(rows)} proofs hold, {held[True]} of them of exact answers.")
    return int(held.total() < len(rows))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent))
