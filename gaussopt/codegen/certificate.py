"""The certificate as straight-line source, for one pattern of zeros in M and J.

The source unrolls the formulas of `gaussopt.certificates.bilateral`, without loops and arrays: M and J M^-1 J^T are
factorised as sparse L D L^T, in the given order of their rows. Pivots are checked; where a pivot vanishes the function
returns False, and the rank-revealing computation of the certificate is used instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from gaussopt.codegen.ldl import DefiniteFactors, Entry, StructurallySingular, Writer

PIVOT = 1e-8
"""Smallest pivot of J M^-1 J^T, relative to its diagonal, that counts as regular."""

LARGEST = 24
"""Largest n + m that is unrolled; the source grows with the cube of n + m."""


def certificate_source(n: int, M: Sequence[bool], J: Sequence[bool]) -> str | None:
    """Return the function `certificate(s, a, lam, out)` for patterns of M (n*n) and J (m*n), row by row.

    `s` holds M, h, Q, J and gamma in one sequence, `lam` the multipliers of the solver, or is None. The function writes
    to out: the squares of the error in the mass norm and in the 2-norm, of the constraint residual, of the force
    residual, of the rounding floor divided by machine precision, and of ||a||_M, ||a||_2 and ||gamma||; then 1 / sin^2
    of the smallest angle between a row and the span of the rows before it, in the metric of M^-1; then the multipliers
    (m); then, for each row, the reciprocal square of its distance from the span of the rows before it (m). It returns
    False where a pivot is too small.

    Returns None if the system is too large to unroll, or M or J M^-1 J^T is singular by its pattern.
    """
    if n + len(J) // n > LARGEST:
        return None
    try:
        lines = _Certificate(n, M, J).lines()
    except StructurallySingular:
        return None
    body = "\n".join(f"    {line}" for line in lines[:1] + [b for a, b in pairwise(lines) if a != b])
    return (
        "def certificate(s: list, a: list, lam: list, out: list) -> bool:\n"
        '    """Squares of error, its 2-norm, residuals, floor and norms; see gaussopt.codegen.certificate."""\n' + body
    )


class _Certificate:
    """Writes the source of a certificate; its variables are named as in `gaussopt.certificates.bilateral`."""

    def __init__(self, n: int, M: Sequence[bool], J: Sequence[bool]) -> None:
        self.w = w = Writer()
        self.n, self.m = n, len(J) // n
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
        w, n, m = self.w, self.n, self.m
        # Y = M^-1 J^T by columns, S = J Y
        mass = DefiniteFactors(w, self.M, 64 * n * 2.220446049250313e-16)
        mass.check_determinant(math.e * 64 * n * 2.220446049250313e-16)
        Y = [mass.solve(row) for row in self.J]
        S: list[list[Entry]] = [[None] * m for _ in range(m)]
        for i in range(m):
            for j in range(i + 1):
                S[i][j] = S[j][i] = w.let(w.dot(self.J[i], Y[j]))
        joints = DefiniteFactors(w, S, PIVOT)
        best = joints.solve([w.let(w.dot(Y[i], self.r)) for i in range(m)])
        k = self._forces(best)
        Mk = mass.solve(k)
        c = [w.let(w.total([w.dot(row, self.a)], [f"g{i}"])) for i, row in enumerate(self.J)]
        Sc = joints.solve(c)
        e = [w.let(w.total([Mk[j], *(w.product(Y[i][j], Sc[i]) for i in range(m))])) for j in range(n)]
        self._write(0, w.total([w.dot(k, Mk), w.dot(c, Sc)]))
        self._write(1, w.dot(e, e))
        self._write(2, w.dot(c, c))
        size, extent = self._sizes(best)
        self._write(4, w.total([mass.growth(size), joints.growth(extent)]))
        self._write(5, w.dot(self.a, self.Ma))
        self._write(6, w.dot(self.a, self.a))
        self._write(7, w.total([f"g{i}*g{i}" for i in range(m)]))
        nearest: Entry = "1.0"
        for i in range(1, m):
            nearest = w.let(f"max({nearest}, {S[i][i]}*{joints.inverse[i]})")
        for i, entry in enumerate([nearest, *best, *joints.inverse]):
            self._write(8 + i, entry)
        w.lines += ["if lam is None:", "    out[3] = 0.0", "    return True"]
        d = self._forces([w.let(f"lam[{i}]") for i in range(m)])
        self._write(3, w.dot(d, mass.solve(d)))
        return [*w.lines, "return True"]

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
