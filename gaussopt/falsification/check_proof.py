"""Check the proof in a falsify.json without gaussopt and without NumPy: `python check_proof.py falsify.json`.

All numbers are fractions, and nothing is rounded. The check takes the arrays of the example as given: it does not check
that they belong to a mechanism. Exit code 0: the proof holds; 1: it does not, and the first fault is printed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

Row = list[Fraction]
NONE = Fraction(0)


def need(holds: Any, fault: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not holds:
        raise ValueError(fault)


def fractions(value: Any, of: Callable[[str], Any] = Fraction) -> Any:
    """Convert text to fractions, also inside lists and objects."""
    if isinstance(value, dict):
        return {name: fractions(entry, of) for name, entry in value.items()}
    return [fractions(entry, of) for entry in value] if isinstance(value, list) else of(value)


def times(A: list[Row], x: Row) -> Row:
    """Return A x."""
    return [sum((a * b for a, b in zip(row, x, strict=True)), NONE) for row in A]


def plus(x: Row, y: Row, by: Any = 1) -> Row:
    """Return the vector x + by * y."""
    return [a + by * b for a, b in zip(x, y, strict=True)]


def turned(A: list[Row], columns: int) -> list[Row]:
    """Return the transpose of A, which has `columns` columns, also if it has no rows."""
    return [[row[j] for row in A] for j in range(columns)]


def bordered(M: list[Row], J: list[Row]) -> list[Row]:
    """Return [M, J^T; J, 0]."""
    return [[*row, *up] for row, up in zip([*M, *J], [*turned(J, len(M)), *([NONE] * len(J) for _ in J)], strict=True)]


def reduced(A: list[Row]) -> tuple[list[Row], int, Fraction]:
    """Return A after Gauss-Jordan elimination, its rank, and the product of the pivots."""
    table, i, pivots = [row[:] for row in A], 0, Fraction(1)
    for j in range(len(A[0]) if A else 0):
        found = next((r for r in range(i, len(table)) if table[r][j]), None)
        if found is not None:
            table[i], table[found] = table[found], table[i]
            pivots *= table[i][j] * (1 if found == i else -1)
            table[i] = [x / table[i][j] for x in table[i]]
            table = [row if r == i else plus(row, table[i], -row[j]) for r, row in enumerate(table)]
            i += 1
    return table, i, pivots


def solved(A: list[Row], columns: list[Row]) -> list[Row] | None:
    """Return the columns of A^-1 B from those of B; None if the square matrix A is singular."""
    n = len(A)
    table = reduced([[*a, *b] for a, b in zip(A, turned(columns, n), strict=True)])[0]
    return turned([row[n:] for row in table], len(columns)) if reduced(A)[1] == n else None


def minors(A: list[Row], sets: Iterable[Sequence[int]]) -> Row:
    """Return the principal minors of A for the given sets of indices."""
    found = [(len(of), reduced([[A[i][j] for j in of] for i in of])) for of in sets]
    return [pivots if rank == size else NONE for size, (_, rank, pivots) in found]


def definite(A: list[Row], told: Any = None) -> bool:
    """Return whether A is symmetric with positive leading minors, and these equal the list `told` if it is given."""
    leading = minors(A, [range(i + 1) for i in range(len(A))])
    return turned(A, len(A)) == A and min(leading, default=1) > 0 and told in (None, leading)


def complementary(A: list[Row], b: Row, z: Row) -> Row:
    """Require 0 <= z, 0 <= w = A z + b and z . w = 0, and return w."""
    w = plus(times(A, z), b)
    need(min(z) >= 0 and min(w) >= 0 and times([z], w) == [0], "a complementarity problem is not solved")
    return w


def sliding(name: str, p: Any, n: Any) -> None:
    """Check the normal forces z that a formulation of sliding contacts returns; w = A z + b."""
    A, b, k = p["A"], p["b"], range(len(p["b"]))
    if name in ("lcp", "stick-slip"):
        need(n["w"] == complementary(A, b, n["z"]), "w is not A z + b")
        found = minors(A, (of for size in range(1, len(k) + 1) for of in combinations(k, size)))
        need(n["minors"] == found and min(found) > 0, "the principal minors are others, or not all positive")
    elif name == "frozen-friction":
        smooth, path = [plus(a, c, -1) for a, c in zip(A, p["C"], strict=True)], n["iterates"]
        need(definite(smooth) and not any(path[0]), "A_0 is not positive definite, or the iteration not from 0")
        for z, following in pairwise(path):
            complementary(smooth, plus(b, times(p["C"], z)), following)
        need(path[-1] in path[:-1] and n.get("z", path[-1]) == path[-1], "the last iterate did not occur before")
        need((path[-1] == path[-2]) == ("z" in n), "it settles, or runs in a circle, other than it is told")
    elif name == "weighted-normal-force-qp" and "z" not in n:
        pairs = any(A[i][j] * A[j][i] <= 0 and (A[i][j] or A[j][i]) for i in k for j in range(i))
        cycles = (A[h][i] * A[i][j] * A[j][h] - A[i][h] * A[j][i] * A[h][j] for h, i, j in combinations(k, 3))
        need(pairs or any(cycles), "that there are no weights does not follow from pairs and triples of contacts")
    else:
        zero, h, y = [NONE for _ in k], n["hessian"], n["multipliers"]
        eye = [[Fraction(i == j) for j in k] for i in k]
        P, linear, G, g = [[(A[i][j] + A[j][i]) / 2 for j in k] for i in k], zero, A, b
        if name == "joint-force-qp":
            linear = [x / 2 for x in p["ell"]]
        elif name == "lcp-qp":
            P, linear, G, g = [[2 * x for x in row] for row in P], [-x for x in b], eye + A, zero + b
        elif name == "weighted-normal-force-qp":
            P = [[h[i][i] / A[i][i] * x for x in A[i]] for i in k]
            need(all(h[i][i] / A[i][i] > 0 for i in k), "the weights are not positive")
        rows = plus(times(G, n["z"]), g)
        need(h == P and definite(P, n["minors"]), "Hessian or minors are others, or not positive")
        need(n["rows"] == rows and min(rows) >= 0, "the rows have other values, or are violated")
        need(plus(times(P, n["z"]), linear, -1) == times(turned(G, len(b)), y), "the gradient is not that of the rows")
        need(min(y) >= 0 and times([rows], y) == [0], "the multipliers break their signs")


def bilateral(name: str, p: Any, n: Any) -> None:
    """Check the acceleration a that a formulation of steps without contacts returns; J a = gamma must hold."""
    M, F, J, a = p["M"], p["Q"], p["J"], n["a"]
    need(times(J, a) == p["gamma"] and reduced(J)[1] == len(J), "J a is not gamma, or rows depend on each other")
    singular = name in ("gauss", "null-space", "lagrange", "pinv-mass-as-printed")
    need(singular or definite(M), "M is not positive definite")
    if "kernel" in n:
        Z, pull = turned(n["kernel"], len(M) - len(J)), n["kept"] if name == "pinv-mass-as-printed" else F
        within = pull == F or reduced(M)[1] == reduced([[*row, x] for row, x in zip(M, pull, strict=True)])[1]
        need(within and not any(times(M, plus(F, pull, -1))), "M M^+ F is not the projection of F on the range of M")
        need(not any(x for z in Z for x in times(J, z)), "the kernel is not that of J")
        need(not any(times(Z, plus(times(M, a), pull, -1))), "M a - F is not orthogonal to the kernel")
        need(definite([times(Z, times(M, z)) for z in Z], n["minors"]), "the minors are others, or not positive")
    elif name == "lagrange":
        need(times(M, a) == plus(F, times(turned(J, len(M)), n["lam"])), "M a is not F + J^T lam")
        need(reduced(bordered(M, J))[1] == len(M) + len(J), "the system is singular")
    else:
        step = plus(a, n["a0"], -1)
        need(times(M, n["a0"]) == F, "M a_0 is not F")
        printed = name == "least-squares-as-printed" and reduced([*J, step])[1] == len(J)
        need(printed or times(M, step) == times(turned(J, len(M)), n["lam"]), "a - a_0 does not come from the rows")


def in_space(name: str, p: Any, n: Any) -> None:
    """Check the impulses r that a formulation of contacts in space returns; u = W r + q."""
    W, q, mu, r = p["W"], p["q"], p["mu"], n["r"]
    u = plus(times(W, r), q)
    if name == "coulomb-pyramid:4":
        D = fractions([[1, 0, 0, 0, 0], [0, 1, 0, -1, 0], [0, 0, 1, 0, -1]])
        rows = turned([times(turned(D, 5), times(W, column)) for column in turned(D, 5)], 5)
        A = [*([*row, Fraction(i > 0)] for i, row in enumerate(rows)), [mu[0], *fractions([-1] * 4), NONE]]
        complementary(A, [*times(turned(D, 5), q), NONE], n["facets"])
        need(r == times(D, n["facets"][:5]) and len(mu) == 1, "r is not the sum of its facets")
        return
    need(n["u"] == u, "u is not W r + q")
    need(name == "coulomb-soccp" or definite(W, n["minors"]), "the minors are others, or not positive")
    for i, m in enumerate(mu):
        N, w, t, s = r[3 * i], u[3 * i], r[3 * i + 1 : 3 * i + 3], u[3 * i + 1 : 3 * i + 3]
        ((tt, ts), (_, ss)), most = (times([t, s], x) for x in (t, s)), (m * N) ** 2
        law = N * w == 0 and (ss == 0 or (ts <= 0 and ts * ts == most * ss))
        convex = w * w >= m * m * ss and N * w + ts == 0
        need(N >= 0 and w >= 0 and tt <= most, f"contact {i + 1} leaves its cone, or closes")
        need(law if name == "coulomb-soccp" else convex, f"contact {i + 1} breaks its law")


def only_answer(W: list[Row], q: Row, mu: Row, least: Row) -> Row | None:
    """Return the only r with r_N >= least that obeys planar Coulomb's law, u = W r + q; None if no r or several do."""
    eye = [[Fraction(i == j) for j in range(len(q))] for i in range(len(q))]
    answers, modes = list[Row](), list[Any]()
    for m, low in zip(mu, least, strict=True):
        modes.append([(shut, s) for shut in (False, True) for s in (("stick", 1, -1) if m and (shut or low) else (0,))])
    for chosen in product(*modes):
        rows, right, signs = list[Row](), list[Any](), list[Any]()
        for i, (shut, s) in enumerate(chosen):
            N, T = 2 * i, 2 * i + 1
            rows += [W[N] if shut else eye[N], W[T] if s == "stick" else plus(eye[T], eye[N], s * mu[i])]
            right += [-q[N] if shut else least[i], -q[T] if s == "stick" else NONE]
            signs.append(0 if s == "stick" else s)
        found = solved(rows, [right])
        if found is None:
            return None
        r, u = found[0], plus(times(W, found[0]), q)
        fits = (r[2 * i] >= low and abs(r[2 * i + 1]) <= mu[i] * r[2 * i] for i, low in enumerate(least))
        if all(fits) and all(u[2 * i] >= 0 and s * u[2 * i + 1] >= 0 for i, s in enumerate(signs)) and r not in answers:
            answers.append(r)
    return answers[0] if len(answers) == 1 else None


def impact(name: str, p: Any, n: Any) -> None:
    """Check the impulses r, (r_N, r_T) by contact, and velocities u of an impact law in the plane."""
    e, mu, G = p["e_N"], p["mu"], [row for pair in zip(p["J_N"], p["J_T"], strict=True) for row in pair]
    need(definite(p["M"]), "M is not positive definite")
    W, before, zero = [times(G, x) for x in solved(p["M"], G) or []], times(G, p["v"]), [NONE for _ in e]
    if name == "newton":
        q = [x * (1 + e[i // 2] * (i % 2 == 0)) for i, x in enumerate(before)]
        need(n["r"] == only_answer(W, q, mu, zero) and n["W"] == W, "r or W is another one")
        need(n["u"] == plus(times(W, n["r"]), before), "u is not W r + the velocities before")
    else:
        one, two = n["compression"], n["restitution"]
        need(one == only_answer(W, before, mu, zero), "the compression has other impulses")
        least = [x * y for x, y in zip(e, one[::2], strict=True)]
        need(two == only_answer(W, plus(before, times(W, one)), mu, least), "the restitution has other impulses")
        need(n["r"] == plus(one, two), "r is not the sum of both phases")


def problem(example: Any, data: Any) -> Any:
    """Return the arrays of the example; for sliding contacts also A, b, C and ell, which must agree with `data`."""
    p = {"J": [], "gamma": [], **fractions(example["exact"])}
    near = fractions(example["exact"], lambda text: float(Fraction(text)))
    need(all(example[name] == near[name] for name in near), "the fractions are not the floating-point numbers")
    if example["kind"] == "lcp":
        return {**p, "A": p["M"], "b": p["q"], "ell": [NONE] * len(p["q"])}
    if "v_T" not in p:
        return p
    M, J, normals, k, n = p["M"], p["J"], p["J_N"], len(p["mu"]), len(p["M"])
    slip = [[(-x if v > 0 else x) * m for x in row] for row, v, m in zip(p["J_T"], p["v_T"], p["mu"], strict=True)]
    columns = [[*p["Q"], *p["gamma"]], *([*row, *[NONE] * len(J)] for row in [*normals, *slip])]
    moved, free = solved(bordered(M, J), columns), solved(M, [p["Q"]])
    if moved is None or free is None or not definite(M):
        raise ValueError("the joints cannot be eliminated")
    a, *moved = [column[:n] for column in moved]
    smooth, C = (turned([times(normals, x) for x in part], k) for part in (moved[:k], moved[k:]))
    found = {
        "A": [plus(x, y) for x, y in zip(smooth, C, strict=True)],
        "C": C,
        "ell": times(slip, plus(a, free[0], -1)),
    }
    found["b"] = plus(times(normals, a), p.get("zeta_N", [NONE] * k))
    need(data == {**found, "A_0": smooth}, "A, A_0, C, b or ell is another one")
    return {**p, **found}


def check(found: Any) -> None:
    """Check the contents of a falsify.json; raises ValueError with the first fault."""
    need(found["found"] and found["proof"], "the file claims no difference, so that there is nothing to check")
    numbers, points, names = fractions(found["proof"]["numbers"]), list[Any](), (found["a"], found["b"])
    p = problem(found["example"], numbers["data"])
    for name, line in zip(names, found["proof"]["lines"], strict=False):
        n = numbers[name]
        points.append(next((n[key] for key in "zar" if key in n), None))
        need(name in RULES, f"there is no rule for {name}")
        if name != "coulomb-soccp" or n:  # without an exact answer, check only the other one, below
            RULES[name](name, p, n)
        need(
            points[-1] is None or f"({', '.join(map(str, points[-1]))})" in line,
            f"{name}: the line tells another answer",
        )
    need(points[0] != points[1], "both answers are the same")
    if points[0] and points[1] and "coulomb-soccp" not in names:
        parted = next(pair for pair in zip(*points, strict=True) if pair[0] != pair[1])
        need(all(f" {x} by " in found["proof"]["lines"][2] for x in parted), "the last line tells other numbers")
    if "coulomb-soccp" in names:
        r = points[1 - names.index("coulomb-soccp")]
        try:
            in_space("coulomb-soccp", p, {"r": r, "u": plus(times(p["W"], r), p["q"])})
        except ValueError:
            return
        need(False, "the other answer does not break Coulomb's law")


KNOWN = (
    (sliding, "lcp stick-slip lcp-qp frozen-friction normal-force-qp joint-force-qp weighted-normal-force-qp"),
    (bilateral, "gauss null-space lagrange least-squares udwadia-kalaba dual routh"),
    (bilateral, "least-squares-as-printed pinv-mass-as-printed"), (impact, "newton poisson"),
    (in_space, "coulomb-soccp coulomb-ccp coulomb-pyramid:4"),
)  # fmt: skip
RULES = {name: rule for rule, names in KNOWN for name in names.split()}

if __name__ == "__main__":
    try:
        with open(sys.argv[1] if len(sys.argv) > 1 else "falsify.json", encoding="utf-8") as file:
            check(json.load(file))
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        sys.exit(f"The proof does not hold: {error}.")
    print("The proof holds.")
