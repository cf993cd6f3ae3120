"""Check the proofs of the collection without gaussopt and without NumPy: `python check_proofs.py [FOLDER]`.

All numbers of a problem are floating-point numbers, which are fractions, and nothing is rounded. A small problem has an
exact answer; of a large one the residuals of the stored answer are bounded. Exit code 1: a proof does not hold.
Written for a quadratic program (min 1/2 x'Px + q'x, l <= Ax <= u), an LCP (0 <= z, Mz + q >= 0, complementary), and
contacts with friction cones (u = Wr + q, rows N, T1, T2 of each contact, Coulomb's law).
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import combinations
from math import inf, isqrt, lcm
from pathlib import Path
from typing import Any

Row = list[Fraction]
Sparse = tuple[list[dict[int, int]], int]
"""Rows of whole numbers by column, and the number that all are divided by."""


def need(holds: Any, fault: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not holds:
        raise ValueError(fault)


def row(values: Any) -> Row:
    """Return floating-point numbers, or fractions as text, as fractions."""
    return [Fraction(x) for x in values]


def matrix(A: Any, transposed: bool = False) -> Sparse:
    """Return a matrix, given as rows or as its entries with row and column numbers."""
    if isinstance(A, dict):
        entries, count = list(zip(A["row"], A["column"], row(A["value"]), strict=True)), A["shape"][transposed]
    else:
        entries = [(i, j, Fraction(x)) for i, given in enumerate(A) for j, x in enumerate(given) if x]
        count = max((len(given) for given in A), default=0) if transposed else len(A)
    rows, by = [dict[int, int]() for _ in range(count)], lcm(*{x.denominator for _, _, x in entries})
    for i, j, x in entries:
        i, j = (j, i) if transposed else (i, j)
        rows[i][j] = rows[i].get(j, 0) + x.numerator * (by // x.denominator)
    return rows, by


def times(A: Sparse, x: Row) -> Row:
    """Return A x."""
    by = lcm(*{v.denominator for v in x})
    whole = [v.numerator * (by // v.denominator) for v in x]
    return [Fraction(sum(a * whole[j] for j, a in entries.items()), A[1] * by) for entries in A[0]]


def plus(x: Row, y: Row, by: int = 1) -> Row:
    """Return x + by y."""
    return [a + by * b for a, b in zip(x, y, strict=True)]


def dot(x: Row, y: Row) -> Fraction:
    """Return x . y."""
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def symmetric(A: Sparse) -> Sparse:
    """Return the symmetric part of a square matrix."""
    twice = [{j: 2 * x if i == j else x for j, x in entries.items()} for i, entries in enumerate(A[0])]
    found = [dict(entries) for entries in twice]
    for i, entries in enumerate(twice):
        for j, x in entries.items():
            if i != j:
                found[j][i] = found[j].get(i, 0) + x
    return found, 2 * A[1]


def dense(A: Sparse, of: Any = None) -> list[Row]:
    """Return the block of A with the rows and columns `of`, by default all."""
    of = range(len(A[0])) if of is None else of
    return [[Fraction(A[0][i].get(j, 0), A[1]) for j in of] for i in of]


def modulus(A: Sparse, L: Any = None) -> Fraction | None:
    """Return a lower bound, at least 0, of the eigenvalues of the symmetric part of A; None if one is negative.

    With a factor L the rest S - L L' must be diagonally dominant. Without it elimination tells definite (a bound of 1
    stands for any positive one) from semidefinite.
    """
    S, of = symmetric(A)
    if L is not None:
        factor, by = matrix(L)
        rest: list[dict[int, int]] = [{j: x * by * by for j, x in entries.items()} for entries in S]
        columns: dict[int, list[tuple[int, int]]] = {}
        for i, entries in enumerate(factor):
            for j, x in entries.items():
                columns.setdefault(j, []).append((i, x))
        for column in columns.values():
            for i, x in column:
                for j, y in column:
                    rest[i][j] = rest[i].get(j, 0) - of * x * y
        gaps = (entries.get(i, 0) - sum(abs(x) for j, x in entries.items() if j != i) for i, entries in enumerate(rest))
        least = min(gaps, default=0)
        need(least >= 0, "what the factor leaves is not diagonally dominant")
        return Fraction(least, of * by * by)
    table, low = dense((S, of)), Fraction(1)
    while table:
        (pivot, *first), *below = table
        if pivot < 0 or (pivot == 0 and any(first)):
            return None
        low = min(low, Fraction(pivot > 0))
        table = [plus(line[1:], first, -line[0] / pivot) if line[0] else line[1:] for line in below]  # type: ignore
    return low


def determinant(table: list[Row]) -> Fraction:
    """Return the determinant of a square matrix."""
    value = Fraction(1)
    while table:
        found = next((i for i, line in enumerate(table) if line[0]), None)
        if found is None:
            return Fraction(0)
        first, value = table[found], value * (-1) ** found * table[found][0]
        table = [plus(line[1:], first[1:], -line[0] / first[0]) for i, line in enumerate(table) if i != found]
    return value


def solutions(A: Sparse, q: Row) -> list[Row]:
    """Return all solutions of an LCP none of whose principal minors is zero."""
    n, found = len(q), list[Row]()
    for of in (s for size in range(n + 1) for s in combinations(range(n), size)):
        whole = determinant(dense(A, of))
        need(whole, "a principal minor is zero")
        z = [Fraction(0)] * n
        for place, i in enumerate(of):  # Cramer's rule
            swapped = [[*line[:place], -q[k], *line[place + 1 :]] for line, k in zip(dense(A, of), of, strict=True)]
            z[i] = determinant(swapped) / whole
        if min(z) >= 0 and min(plus(times(A, z), q)) >= 0 and z not in found:
            found.append(z)
    return found


def root(x: Fraction) -> Fraction:
    """Return the square root, rounded down to a multiple of 2^-100."""
    return Fraction(isqrt(x.numerator * 4**100 // x.denominator), 2**100)


def worst_qp(p: Any, x: Row, y: Row) -> Fraction:
    """Return the largest residual of a point and multipliers: gradient, rows, signs, complementarity."""
    v, grad = times(matrix(p["A"]), x), plus(times(matrix(p["P"]), x), row(p["q"]))
    pull = times(matrix(p["A"], True), y) or [Fraction(0)] * len(x)
    found = [abs(g) for g in plus(grad, pull, -1)]
    for value, low, high, force in zip(v, p["l"], p["u"], y, strict=True):
        need(force <= 0 or low is not None, "a multiplier pushes where there is no bound")
        need(force >= 0 or high is not None, "a multiplier pulls where there is no bound")
        bound = low if force > 0 else high
        found += [Fraction(low) - value if low is not None else Fraction(0)]
        found += [value - Fraction(high) if high is not None else Fraction(0)]
        found += [abs(value - Fraction(bound)) if force else Fraction(0)]
    return max(found)


def worst_lcp(p: Any, z: Row) -> Fraction:
    """Return the largest of |min(z, w)|."""
    return max(abs(min(pair)) for pair in zip(z, plus(times(matrix(p["M"]), z), row(p["q"])), strict=True))


def worst_contact(p: Any, r: Row) -> Fraction:
    """Return the largest residual of Coulomb's law, with products in units of r times u."""
    u, found = plus(times(matrix(p["W"]), r), row(p["q"])), [Fraction(0)]
    for i, mu in enumerate(row(p["mu"])):
        (N, *t), (w, *s) = r[3 * i : 3 * i + 3], u[3 * i : 3 * i + 3]
        found += [-N, -w, abs(N * w), dot(t, t) - (mu * N) ** 2, abs(dot(t, s) + mu * N * root(dot(s, s)))]
    return max(found)


WORST = {"qp": ("xy", worst_qp), "lcp": ("z", worst_lcp), "contact": ("r", worst_contact)}


def facts(p: Any, claim: Any) -> set[str]:
    """Return what a claim proves of a problem; raises ValueError if it does not hold."""
    kind, rule = p["kind"], claim["rule"]
    names, worst = WORST[kind]
    if rule in ("exact", "near"):  # an answer, and its residual
        exact = rule == "exact"
        point = [row((claim if exact else p)[name]) for name in names]
        limit = Fraction(0 if exact else claim["residual"])
        need(worst(p, *point) <= limit <= Fraction(1, 1000), "the residual is larger than told")
        if exact:
            rounded = all([float(v) for v in x] == p[name] for name, x in zip(names, point, strict=True))
            need(rounded, "the stored answer is not the exact one, rounded")
        return {"solved" if exact else "near"}
    if rule == "another":  # a second answer
        first, second = (row(given[names[0]]) for given in (p, claim))
        need(first != second and worst(p, *(row(claim[name]) for name in names)) == 0, "it is no second answer")
        return {"second"}
    A = matrix(p["P" if kind == "qp" else "M" if kind == "lcp" else "W"])
    if rule in ("definite", "semidefinite"):
        found = modulus(A, claim.get("L"))
        need(found if rule == "definite" else found is not None, f"the matrix is not {rule}")
        if "distance" in claim:  # of the stored z from the solution: ||r|| (1 + ||M||) / c
            need(found and "L" in claim and kind == "lcp", "the distance needs a bound of the eigenvalues")
            need(distance(p, found or Fraction(1)) <= Fraction(claim["distance"]), "the distance is larger than told")
        symmetry = {"symmetric"} if all(A[0][j].get(i) == x for i, r in enumerate(A[0]) for j, x in r.items()) else set()
        return {rule, "semidefinite", *symmetry}
    if rule == "p-matrix":  # M d is diagonally dominant by rows, with positive diagonal; or all minors are positive
        d = row(claim["weights"]) if "weights" in claim else None
        if d is None:
            need(all(determinant(dense(A, s)) > 0 for k in range(len(A[0])) for s in combinations(range(len(A[0])), k + 1)),
                 "a principal minor is not positive")  # fmt: skip
        else:
            gaps = (2 * r.get(i, 0) * d[i] - sum(abs(x) * d[j] for j, x in r.items()) for i, r in enumerate(A[0]))
            need(min(d) > 0 and min(gaps) > 0, "the weights do not make it diagonally dominant")
        return {"p-matrix"}
    if rule == "no-class":  # neither monotone nor a P-matrix
        need(modulus(A) is None and determinant(dense(A, claim["minor"])) <= 0, "it has a class")
        return {"no-class"}
    if rule == "all":  # every solution, from the regular blocks
        found_z = solutions(A, row(p["q"]))
        need(len(found_z) == claim["count"], "there are others, or fewer, solutions")
        return {"empty" if not found_z else "only" if len(found_z) == 1 else "second"}
    need(rule in ("ray", "unbounded"), f"there is no rule {rule!r}")
    y = row(claim["y"])
    if rule == "unbounded":
        x, v = row(claim["x"]), times(matrix(p["A"]), y)
        low, high = ([Fraction(b) if b is not None else sign * inf for b in p[k]] for k, sign in (("l", -1), ("u", 1)))
        need(all(a <= b <= c for a, b, c in zip(low, times(matrix(p["A"]), x), high, strict=True)), "x is not feasible")
        away = all((s >= 0 or b is None) and (s <= 0 or c is None) for s, b, c in zip(v, p["l"], p["u"], strict=True))
        need(away and not any(times(A, y)) and dot(row(p["q"]), y) < 0, "the objective does not fall for ever")
        return {"empty"}
    if kind == "lcp":
        need(min(y) >= 0 and max(times(matrix(p["M"], True), y)) <= 0 and dot(row(p["q"]), y) < 0, "it is no ray")
        return {"empty"}
    ends = [(p["l"] if s > 0 else p["u"])[i] for i, s in enumerate(y)]
    need(all(e is not None for e, s in zip(ends, y, strict=True) if s), "the ray uses a bound that is not there")
    gap = sum((Fraction(e) * s for e, s in zip(ends, y, strict=True) if s), Fraction(0))
    need(not any(times(matrix(p["A"], True), y)) and gap > 0, "it is no ray")
    return {"empty"}


def distance(p: Any, c: Fraction) -> Fraction:
    """Return a bound of the distance of z from the solution of an LCP whose symmetric part has eigenvalues over c."""
    A, z = matrix(p["M"]), row(p["z"])
    sums = [sum(map(abs, r.values())) for side in (A, matrix(p["M"], True)) for r in side[0]]
    r = (min(pair) for pair in zip(z, plus(times(A, z), row(p["q"])), strict=True))
    return (1 + Fraction(max(sums), A[1])) / c * sum(map(abs, r))


NEEDS = {
    "convex": [{"qp", "semidefinite"}, {"lcp", "semidefinite", "symmetric"}], "monotone": [{"lcp", "semidefinite"}],
    "P-matrix": [{"p-matrix"}], "none": [set()],
    "one": [{"qp", "solved", "definite"}, {"lcp", "definite"}, {"p-matrix"}, {"solved", "only"}],
    "at most one": [{"qp", "near", "definite"}], "several": [{"solved", "second"}], "none at all": [{"empty"}],
    "unknown": [{"solved"}, {"near"}],
}  # fmt: skip
"""Facts from which the class, and the number of answers, follow: all of one of the sets."""


def check(problem: Any, proof: Any) -> None:
    """Check the proof of a problem, both read from JSON; raises ValueError with the first fault."""
    proved = {problem["kind"]}.union(*(facts(problem, claim) for claim in proof["claims"]))
    for word in (proof["class"], proof["answers"]):
        need(any(of <= proved for of in NEEDS[word]), f"{word!r} does not follow")


def main(folder: Path) -> int:
    """Check all proofs of a folder, print the faults, and return the exit code."""
    read = lambda path: json.loads((folder / path).read_text(encoding="utf-8"))  # noqa: E731
    faults, exact, rows = 0, 0, read("index.json")["problems"]
    for entry in rows:
        try:
            problem, proof = read(entry["file"]), read(entry["proof"])
            need(all(entry[k] == proof[k] for k in ("name", "class", "answers")), "the index tells something else")
            check(problem, proof)
            exact += all(claim["rule"] != "near" for claim in proof["claims"])
        except (ValueError, LookupError, TypeError, ArithmeticError, OSError) as error:
            faults += 1
            print(f"{entry['name']}: the proof does not hold: {error}.")
    print(f"{len(rows) - faults} of {len(rows)} proofs hold, {exact} of them of exact answers.")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve().parent if len(sys.argv) < 2 else Path(sys.argv[1])))
