"""The certificate as straight-line source, for one pattern of zeros in M and J.

The source unrolls the formulas of `gaussopt.certificates.bilateral`, without loops and arrays: M and J M^-1 J^T are
factorised as sparse L D L^T, in the given order of their rows. Pivots are checked; where a pivot vanishes the function
returns False, and the rank-revealing computation of the certificate is used instead.

Rows that are redundant at a sample state are left out of J M^-1 J^T, and expressed by the other rows. The function
returns False unless they depend on the other rows, and gamma agrees, to the rounding errors at which singular values
count as zero (`gaussopt.linalg.balance`) and gamma as free of contradictions (`gaussopt.integration.redundant_rows`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from gaussopt.codegen.ldl import DefiniteFactors, Entry, StructurallySingular, Writer

EPS = 2.220446049250313e-16

PIVOT = 1e-8
"""Smallest pivot of J M^-1 J^T, relative to its diagonal, that counts as regular."""

LARGEST = 24
"""Largest n + m that is unrolled; the source grows with the cube of n + m."""

FAR = 1e300
"""Stands for infinity: the reciprocal square of the distance of a redundant row from the span of the other rows."""


def certificate_source(n: int, M: Sequence[bool], J: Sequence[bool], spare: Sequence[int] = ()) -> str | None:
    """Return the function `certificate(s, a, lam, out)` for patterns of M (n*n) and J (m*n), row by row.

    `s` holds M, h, Q, J and gamma in one sequence, `lam` the multipliers of the solver, or is None. The function writes
    to out: the squares of the error in the mass norm and in the 2-norm, of the constraint residual, of the force
    residual, of the rounding floor divided by machine precision, and of ||a||_M, ||a||_2 and ||gamma||; then 1 / sin^2
    of the smallest angle between a row and the span of the rows before it, in the metric of M^-1; then the multipliers
    (m); then, for each row, the reciprocal square of its distance from the span of the rows before it (m). It returns
    False where a pivot is too small.

    The rows `spare` depend on the others. If there are any, the function replaces the multipliers lam by those of least
    norm that exert the same forces, which a solver of singular systems returns.

    Returns None if the system is too large to unroll, or M or J M^-1 J^T is singular by its pattern.
    """
    if n + len(J) // n > LARGEST:
        return None
    try:
        lines = _Certificate(n, M, J, spare).lines()
    except StructurallySingular:
        return None
    body = "\n".join(f"    {line}" for line in lines[:1] + [b for a, b in pairwise(lines) if a != b])
    return (
        "def certificate(s: list, a: list, lam: list, out: list) -> bool:\n"
        '    """Squares of error, its 2-norm, residuals, floor and norms; see gaussopt.codegen.certificate."""\n' + body
    )


class _Certificate:
    """Writes the source of a certificate; its variables are named as in `gaussopt.certificates.bilateral`."""

    def __init__(self, n: int, M: Sequence[bool], J: Sequence[bool], spare: Sequence[int]) -> None:
        self.w = w = Writer()
        self.n, self.m = n, len(J) // n
        self.spare, self.held = spare, [i for i in range(self.m) if i not in spare]
        at_h, at_Q, at_J = n * n, n * n + n, n * n + 2 * n
        rows = range(self.m)
        self.M: list[list[Entry]] = [
            [f"m{max(i, j)}_{min(i, j)}" if M[max(i, j) * n + min(i, j)] else None for j in range(n)] for i in range(n)
        ]
        self.J: list[list[Entry]] = [[f"j{i}_{j}" if J[i * n + j] else None for j in range(n)] for i in rows]
        w.lines += [f"a{i} = a[{i}]" for i in range(n)]
        w.lines += [f"m{i}_{j} = s[{i * n + j}]" for i in range(n) for j in range(i + 1) if self.M[i][j]]
        w.lines += [f"j{i}_{j} = s[{at_J + i * n + j}]" for i in rows for j in range(n) if self.J[i][j]]
        w.lines += [f"g{i} = s[{at_J + self.m * n + i}]" for i in rows]
        self.columns = [[self.J[i][j] for i in rows] for j in range(n)]
        self.a: list[Entry] = [f"a{i}" for i in range(n)]
        self.f: list[Entry] = [w.let(f"s[{at_Q + i}] - s[{at_h + i}]") for i in range(n)]
        self.Ma = [w.let(w.dot(self.M[i], self.a)) for i in range(n)]
        self.r = [w.let(w.total([self.Ma[i]], [self.f[i]])) for i in range(n)]

    def lines(self) -> list[str]:
        """Return the statements of the generated function."""
        w, n, held = self.w, self.n, self.held
        # Y = M^-1 J^T by columns, S = J Y
        mass = DefiniteFactors(w, self.M, 64 * n * EPS)
        mass.check_determinant(math.e * 64 * n * EPS)
        Y = [mass.solve(self.J[i]) for i in held]
        S: list[list[Entry]] = [[None] * len(held) for _ in held]
        for i, row in enumerate(held):
            for j in range(i + 1):
                S[i][j] = S[j][i] = w.let(w.dot(self.J[row], Y[j]))
        joints = DefiniteFactors(w, S, PIVOT)
        combined = self._combinations(Y, joints)
        of_held = joints.solve([w.let(w.dot(y, self.r)) for y in Y])
        best = self._least(of_held, combined)
        k = self._forces(best)
        Mk = mass.solve(k)
        c = [w.let(w.total([w.dot(row, self.a)], [f"g{i}"])) for i, row in enumerate(self.J)]
        c_held = [c[i] for i in held]
        Sc = joints.solve(c_held)
        e = [w.let(w.total([Mk[j], *(w.product(y[j], x) for y, x in zip(Y, Sc, strict=True))])) for j in range(n)]
        self._write(0, w.total([w.dot(k, Mk), w.dot(c_held, Sc)]))
        self._write(1, w.dot(e, e))
        self._write(2, w.dot(c, c))
        size, extent = self._sizes(best)
        self._write(4, w.total([mass.growth(size), joints.growth([extent[i] for i in held])]))
        self._write(5, w.dot(self.a, self.Ma))
        self._write(6, w.dot(self.a, self.a))
        self._write(7, w.total([f"g{i}*g{i}" for i in range(self.m)]))
        nearest: Entry = "1.0"
        for i in range(1, len(held)):
            nearest = w.let(f"max({nearest}, {S[i][i]}*{joints.inverse[i]})")
        closeness: list[Entry] = [repr(FAR)] * self.m
        for i, entry in zip(held, joints.inverse, strict=True):
            closeness[i] = entry
        for i, entry in enumerate([nearest, *best, *closeness]):
            self._write(8 + i, entry)
        w.lines += ["if lam is None:", "    out[3] = 0.0", "    return True"]
        lam = [w.let(f"lam[{i}]") for i in range(self.m)]
        if self.spare:
            given = [
                w.let(w.total([lam[i], *(w.product(x[j], lam[r]) for r, x in zip(self.spare, combined, strict=True))]))
                for j, i in enumerate(held)
            ]
            lam = self._least(given, combined)
            w.lines += [f"lam[{i}] = {entry or '0.0'}" for i, entry in enumerate(lam)]
        d = self._forces(lam)
        self._write(3, w.dot(d, mass.solve(d)))
        return [*w.lines, "return True"]

    def _combinations(self, Y: Sequence[Sequence[Entry]], joints: DefiniteFactors) -> list[list[Entry]]:
        """Return, for each redundant row, its coefficients in the other rows; the code checks that these exist."""
        w, found, apart, wrong = self.w, [], [], []
        if not self.spare:
            return []
        unit = [w.let(f"1.0/{self.M[j][j]}") for j in range(self.n)]
        length = [w.let(w.total([w.product(x, x, u) for x, u in zip(row, unit, strict=True)])) for row in self.J]
        for r in self.spare:
            x: list[Entry] = [None] * len(self.held)
            rest: list[Entry] = self.J[r]
            for _ in range(2):  # the second time refines the coefficients
                more = joints.solve([w.let(w.dot(y, rest)) for y in Y])
                x = [w.let(w.total([a, b])) for a, b in zip(x, more, strict=True)]
                rest = [
                    w.let(
                        w.total([self.J[r][j]], [w.product(a, self.J[i][j]) for a, i in zip(x, self.held, strict=True)])
                    )
                    for j in range(self.n)
                ]
            off = w.let(w.total([f"g{r}"], [w.product(a, f"g{i}") for a, i in zip(x, self.held, strict=True)]))
            apart.append(f"({w.total([w.product(y, y, u) for y, u in zip(rest, unit, strict=True)])})/{length[r]}")
            wrong.append(f"{off}*{off}/{length[r]}")
            found.append(x)
        least = (8 * max(self.n, self.m) * EPS) ** 2
        size = " + ".join(f"g{i}*g{i}/{length[i]}" for i in range(self.m))
        w.check(f"{' + '.join(apart)} <= {least!r}")
        w.check(f"{' + '.join(wrong)} <= {least!r}*({size})")
        return found

    def _least(self, lam: Sequence[Entry], combined: Sequence[Sequence[Entry]]) -> list[Entry]:
        """Return the multipliers of least norm of all rows that exert the same forces as `lam` of the rows `held`."""
        w = self.w
        if not self.spare:
            return list(lam)
        # lam_s = (1 + C C^T)^-1 C lam for the redundant rows C J of the rows J, and lam - C^T lam_s for these.
        A = [[w.let(w.total(["1.0" if x is y else None, w.dot(x, y)])) for y in combined] for x in combined]
        others = DefiniteFactors(w, A, 0.0).solve([w.let(w.dot(x, lam)) for x in combined])
        found: list[Entry] = [None] * self.m
        for j, i in enumerate(self.held):
            found[i] = w.let(w.total([lam[j]], [w.product(x[j], y) for x, y in zip(combined, others, strict=True)]))
        for r, entry in zip(self.spare, others, strict=True):
            found[r] = entry
        return found

    def _forces(self, lam: Sequence[Entry]) -> list[Entry]:
        """Return the names of the entries of M a + h - Q - J^T lam."""
        w = self.w
        return [
            w.let(w.total([r], [w.product(x, y) for x, y in zip(column, lam, strict=True)]))
            for r, column in zip(self.r, self.columns, strict=True)
        ]

    def _sizes(self, lam: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
        """Return the sum of the terms' absolute values for each entry of M a + h - Q - J^T lam and J a - gamma."""

        def absolute(x: Sequence[Entry], y: Sequence[Entry]) -> list[Entry]:
            return [f"abs({a}*{b})" if a and b else None for a, b in zip(x, y, strict=True)]

        w = self.w
        size = [
            w.let(w.total([*absolute(M, self.a), f"abs({f})", *absolute(column, lam)]))
            for M, f, column in zip(self.M, self.f, self.columns, strict=True)
        ]
        extent = [w.let(w.total([*absolute(row, self.a), f"abs(g{i})"])) for i, row in enumerate(self.J)]
        return size, extent

    def _write(self, place: int, entry: Entry) -> None:
        self.w.lines.append(f"out[{place}] = {entry or '0.0'}")
