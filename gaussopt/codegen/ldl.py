"""The certificate's arithmetic as straight-line source, for one pattern of zeros in M and J.

The same formulas as `gaussopt.certificates.bilateral`, unrolled: sparse L D L^T factors of M and of J M^-1 J^T in
their given order, no loops, no arrays. Pivots are checked; where one vanishes the function says so and the
rank-revealing path takes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Entry = str | None
"""A name in the generated source, None for a structural zero."""

UNITS = ("1.0", "-1.0")
"""Numbers that a product need not write."""

PIVOT = 1e-8
"""Smallest pivot of J M^-1 J^T, relative to its diagonal, that counts as regular."""


LARGEST = 24
"""Largest n + m that is unrolled; beyond it the source would grow with the cube."""


class StructurallySingular(Exception):
    """A pivot is zero for every value of the entries."""


class Writer:
    """Collects assignments; products and sums drop structural zeros. Names begin with `letter`."""

    def __init__(self, letter: str = "w") -> None:
        self.lines: list[str] = []
        self._letter = letter
        self._count = 0

    def let(self, expression: str | None) -> Entry:
        """Name an expression; names, one, minus one and None pass through."""
        if expression is None or expression.isidentifier() or expression in UNITS:
            return expression
        name = f"{self._letter}{self._count}"
        self._count += 1
        self.lines.append(f"{name} = {expression}")
        return name

    @staticmethod
    def product(*factors: Entry) -> Entry:
        """Their product, None if one is zero; ones are left out."""
        if None in factors:
            return None
        sign = "-" if sum(f == "-1.0" for f in factors) % 2 else ""
        rest = [str(f) for f in factors if f not in UNITS]
        return f"{sign}{'*'.join(rest)}" if rest else f"{sign}1.0"

    @staticmethod
    def total(terms: Sequence[Entry], minus: Sequence[Entry] = ()) -> Entry:
        """Sum of terms less those of `minus`."""
        plus = [t for t in terms if t is not None]
        less = [t for t in minus if t is not None]
        if not plus and not less:
            return None
        return " + ".join(plus) + "".join(f" - {t}" for t in less) if plus else "-" + " - ".join(less)

    def dot(self, x: Sequence[Entry], y: Sequence[Entry]) -> Entry:
        """Sum of products."""
        return self.total([self.product(a, b) for a, b in zip(x, y, strict=True)])

    def check(self, pivot: str, scale: str) -> None:
        """Leave with failure if a pivot is too small."""
        self.lines.append(f"if not {pivot} > {scale}:")
        self.lines.append("    return False")


def factor(w: Writer, A: list[list[Entry]], threshold: float) -> tuple[list[list[Entry]], list[Entry]]:
    """L (unit lower) and the reciprocal pivots of a symmetric A = L D L^T; fill-in is followed."""
    n = len(A)
    L: list[list[Entry]] = [[None] * n for _ in range(n)]
    D: list[str] = []
    inverse: list[Entry] = []
    for j in range(n):
        # c[k] = L[j][k] D[k]
        c = [w.let(Writer.product(L[j][k], D[k])) if L[j][k] else None for k in range(j)]
        pivot = w.let(Writer.total([A[j][j]], [Writer.product(L[j][k], c[k]) for k in range(j)]))
        if pivot is None:
            raise StructurallySingular
        w.check(pivot, f"{threshold!r}*{A[j][j]}" if A[j][j] else "0.0")
        D.append(pivot)
        inverse.append(w.let(f"1.0/{pivot}"))
        for i in range(j + 1, n):
            value = Writer.total([A[i][j]], [Writer.product(L[i][k], c[k]) for k in range(j)])
            if value is not None:
                L[i][j] = w.let(f"({value})*{inverse[j]}")
    return L, inverse


def solve(w: Writer, L: list[list[Entry]], inverse: list[Entry], b: Sequence[Entry]) -> list[Entry]:
    """A^-1 b from the factors."""
    n = len(L)
    y: list[Entry] = []
    for i in range(n):
        y.append(w.let(Writer.total([b[i]], [Writer.product(L[i][k], y[k]) for k in range(i)])))
    x = [w.let(Writer.product(y[i], inverse[i])) for i in range(n)]
    for i in reversed(range(n)):
        x[i] = w.let(Writer.total([x[i]], [Writer.product(L[k][i], x[k]) for k in range(i + 1, n)]))
    return x


def growth(w: Writer, L: list[list[Entry]], inverse: list[Entry], size: Sequence[Entry]) -> Entry:
    """Upper bound of |D^(-1/2) L^-1| size, squared: forward substitution with absolute values."""
    y: list[Entry] = []
    for i in range(len(L)):
        terms = [Writer.product(f"abs({L[i][k]})", y[k]) if L[i][k] else None for k in range(i)]
        y.append(w.let(Writer.total([size[i], *terms])))
    return Writer.total([Writer.product(v, v, d) for v, d in zip(y, inverse, strict=True)])


def certificate_source(n: int, M: Sequence[bool], J: Sequence[bool]) -> str | None:
    """The function `certificate(s, a, lam, out)` for the patterns of M (n*n) and J (m*n), row by row.

    `s` is the flat step (M, h, Q, J, gamma), `lam` a sequence of reported multipliers or None. Writes to out, in this
    order: the square of the error in the mass norm, of its 2-norm, of the constraint residual, of the force residual,
    of the rounding floor over machine precision, of ||a||_M, of ||a||_2, of ||gamma||, then 1 / sin^2 of the smallest
    angle between a row and those before it, in the metric of M^-1, then the multipliers (m), then the reciprocal
    squares of the distances of the rows from those before them (m).
    Returns False where a pivot is too small.

    None if the system is too large to unroll, or M or J M^-1 J^T is singular by its pattern.
    """
    m = len(J) // n
    if n + m > LARGEST:
        return None
    try:
        return _certificate_source(n, m, M, J)
    except StructurallySingular:
        return None


def _certificate_source(n: int, m: int, M: Sequence[bool], J: Sequence[bool]) -> str:
    w = Writer()
    at_h, at_Q, at_J = n * n, n * n + n, n * n + 2 * n
    at_gamma = at_J + m * n
    for i in range(n):
        w.lines.append(f"a{i} = a[{i}]")
    Mx: list[list[Entry]] = [[f"m{i}_{j}" if M[i * n + j] else None for j in range(n)] for i in range(n)]
    Jx: list[list[Entry]] = [[f"j{i}_{j}" if J[i * n + j] else None for j in range(n)] for i in range(m)]
    w.lines += [f"m{i}_{j} = s[{i * n + j}]" for i in range(n) for j in range(i + 1) if Mx[i][j]]
    for i in range(n):
        for j in range(i + 1, n):
            Mx[i][j] = Mx[j][i]
    w.lines += [f"j{i}_{j} = s[{at_J + i * n + j}]" for i in range(m) for j in range(n) if Jx[i][j]]
    w.lines += [f"g{i} = s[{at_gamma + i}]" for i in range(m)]
    a: list[Entry] = [f"a{i}" for i in range(n)]
    f: list[Entry] = [w.let(f"s[{at_Q + i}] - s[{at_h + i}]") for i in range(n)]
    Ma = [w.let(w.dot(Mx[i], a)) for i in range(n)]
    r = [w.let(Writer.total([Ma[i]], [f[i]])) for i in range(n)]
    # Y = M^-1 J^T by columns, S = J Y
    LM, DM = factor(w, Mx, 64 * n * 2.220446049250313e-16)
    Y = [solve(w, LM, DM, Jx[i]) for i in range(m)]
    S: list[list[Entry]] = [[None] * m for _ in range(m)]
    for i in range(m):
        for j in range(i + 1):
            S[i][j] = S[j][i] = w.let(w.dot(Jx[i], Y[j]))
    LS, DS = factor(w, S, PIVOT)
    best = solve(w, LS, DS, [w.let(w.dot(Y[i], r)) for i in range(m)])
    columns = [[Jx[i][j] for i in range(m)] for j in range(n)]
    k = [w.let(Writer.total([r[j]], [Writer.product(columns[j][i], best[i]) for i in range(m)])) for j in range(n)]
    Mk = solve(w, LM, DM, k)
    c = [w.let(Writer.total([w.dot(Jx[i], a)], [f"g{i}"])) for i in range(m)]
    Sc = solve(w, LS, DS, c)
    e = [Writer.total([Mk[j], *(Writer.product(Y[i][j], Sc[i]) for i in range(m))]) for j in range(n)]
    e = [w.let(x) for x in e]
    w.lines.append(f"out[0] = {Writer.total([w.dot(k, Mk), w.dot(c, Sc)]) or '0.0'}")
    w.lines.append(f"out[1] = {w.dot(e, e) or '0.0'}")
    w.lines.append(f"out[2] = {w.dot(c, c) or '0.0'}")
    size = [
        w.let(Writer.total([
            *(f"abs({Mx[j][i]}*{a[i]})" if Mx[j][i] else None for i in range(n)), f"abs({f[j]})",
            *(f"abs({columns[j][i]}*{best[i]})" if columns[j][i] and best[i] else None for i in range(m)),
        ]))
        for j in range(n)
    ]  # fmt: skip
    extent = [
        w.let(Writer.total([*(f"abs({Jx[i][j]}*{a[j]})" if Jx[i][j] else None for j in range(n)), f"abs(g{i})"]))
        for i in range(m)
    ]
    w.lines.append(f"out[4] = {Writer.total([growth(w, LM, DM, size), growth(w, LS, DS, extent)]) or '0.0'}")
    w.lines.append(f"out[5] = {w.dot(a, Ma) or '0.0'}")
    w.lines.append(f"out[6] = {w.dot(a, a)}")
    w.lines.append(f"out[7] = {Writer.total([f'g{i}*g{i}' for i in range(m)]) or '0.0'}")
    nearest: Entry = "1.0"
    for i in range(1, m):
        nearest = w.let(f"max({nearest}, {S[i][i]}*{DS[i]})")
    w.lines.append(f"out[8] = {nearest}")
    w.lines += [f"out[{9 + i}] = {best[i] or '0.0'}" for i in range(m)]
    w.lines += [f"out[{9 + m + i}] = {DS[i]}" for i in range(m)]
    w.lines += ["if lam is None:", "    out[3] = 0.0", "    return True"]
    reported: list[Entry] = [w.let(f"lam[{i}]") for i in range(m)]
    d = [w.let(Writer.total([r[j]], [Writer.product(columns[j][i], reported[i]) for i in range(m)])) for j in range(n)]
    w.lines.append(f"out[3] = {w.dot(d, solve(w, LM, DM, d)) or '0.0'}")
    w.lines.append("return True")
    body = "\n".join(f"    {line}" for line in _once(w.lines))
    return (
        "def certificate(s: list, a: list, lam: list, out: list) -> bool:\n"
        '    """Squares of error, its 2-norm, residuals, floor and norms; see gaussopt.codegen.ldl."""\n' + body
    )


def _once(lines: list[str]) -> list[str]:
    """Lines without immediate repetitions."""
    return lines[:1] + [b for a, b in pairwise(lines) if a != b]
