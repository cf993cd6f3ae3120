"""L D L^T of a sparse symmetric matrix as straight-line source: 1 x 1 pivots in a fixed order, without loops.

    [ M  J^T ] [   a  ]   [ Q - h ]
    [ J   0  ] [ -lam ] = [ gamma ]

A suitable order of 1 x 1 pivots exists wherever the matrix is regular, after rows that alone constrain massless
directions have been added to M (`gaussopt.codegen.pivot_order`). The generated code checks every pivot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

Entry = str | None
"""A name in the generated source, None for a structural zero."""

UNITS = ("1.0", "-1.0")
"""Factors that are left out of a product."""

VANISHING = 1e-8
"""A pivot this small relative to the sum of its terms counts as zero in the generated code.

Where M is positive semidefinite, pivots of coordinates are positive and pivots of rows negative, whatever the order, as
long as none vanishes: the part of the matrix eliminated so far has as many positive eigenvalues as coordinates and as
many negative ones as rows. Therefore the loss of a pivot by cancellation is the sum of its terms of the wrong sign,
which come from pivots of the same kind, and one comparison checks sign and size.
"""

DEPENDENT = 1e-7
"""Pivot of a row, relative to the sum of its terms, up to which the row counts as dependent on those before it, in a
system that has dependent rows. The rounding errors of a later row, which depends on it, grow by its reciprocal to some
1e-8, which is below this limit: the same number of rows is left out at every state."""


class StructurallySingular(Exception):
    """Raised where a pivot is zero for every value of the entries."""


class Writer:
    """Writes assignments to new names, which begin with `letter`; products and sums drop structural zeros."""

    def __init__(self, letter: str = "w") -> None:
        self.lines: list[str] = []
        self._letter = letter
        self._count = 0

    def let(self, expression: str | None) -> Entry:
        """Assign an expression to a new name and return the name; return names, +-1 and None (for zero) unchanged."""
        if expression is None or expression.isidentifier() or expression in UNITS:
            return expression
        name = f"{self._letter}{self._count}"
        self._count += 1
        self.lines.append(f"{name} = {expression}")
        return name

    @staticmethod
    def product(*factors: Entry) -> Entry:
        """Return the product of factors; None if a factor is zero. Factors equal to one are left out."""
        if None in factors:
            return None
        sign = "-" if sum(f == "-1.0" for f in factors) % 2 else ""
        rest = [str(f) for f in factors if f not in UNITS]
        return f"{sign}{'*'.join(rest)}" if rest else f"{sign}1.0"

    @staticmethod
    def total(terms: Sequence[Entry], minus: Sequence[Entry] = ()) -> Entry:
        """Return the sum of `terms` minus the sum of `minus`."""
        plus = [t for t in terms if t is not None]
        less = [t for t in minus if t is not None]
        if not plus and not less:
            return None
        return " + ".join(plus) + "".join(f" - {t}" for t in less) if plus else "-" + " - ".join(less)

    @classmethod
    def dot(cls, x: Sequence[Entry], y: Sequence[Entry]) -> Entry:
        """Return the scalar product of x and y."""
        return cls.total([cls.product(a, b) for a, b in zip(x, y, strict=True)])

    def check(self, condition: str) -> None:
        """Write code that returns False unless a condition holds."""
        self.lines += [f"if not {condition}:", "    return False"]


class Pivot(NamedTuple):
    """A pivot. Earlier pivots of its sign have reduced its diagonal entry by `lost`; `gained`: others raised it."""

    name: str
    positive: bool
    diagonal: Entry
    lost: Entry
    gained: bool


class Factors(ABC):
    """The code of a factorisation of a matrix whose entries are names, with fill-in; the constructor writes the code.

    The first `positive` indices have positive pivots. Raises StructurallySingular if a pivot is always zero.
    """

    def __init__(self, w: Writer, K: list[list[Entry]], order: Sequence[int], positive: int) -> None:
        self._w, self._order = w, order
        self.inverse: list[Entry] = []
        L: list[dict[int, str]] = [{} for _ in order]  # the entries of each row that are not zero, by column
        U: list[dict[int, str]] = [{} for _ in order]  # U[i][k] = L[i][k] D[k]
        self._lower = L
        for j, row in enumerate(order):
            moves = row < positive
            terms = {k: w.product(x, U[j][k]) for k, x in L[j].items()}
            lost = w.let(w.total([t for k, t in terms.items() if (order[k] < positive) == moves]))
            gained = [t for k, t in terms.items() if (order[k] < positive) != moves]
            name = w.let(w.total([K[row][row]], [*gained, lost]))
            if name is None:
                raise StructurallySingular
            pivot = Pivot(name, moves, K[row][row], lost, any(gained))
            self._check(pivot)
            self.inverse.append(self._inverse(pivot))
            for i, other in enumerate(order[j + 1 :], j + 1):
                entry = w.let(w.total([K[other][row]], [w.product(L[i][k], x) for k, x in U[j].items() if k in L[i]]))
                if entry:
                    U[i][j], L[i][j] = entry, str(w.let(w.product(entry, self.inverse[j])))

    def _inverse(self, pivot: Pivot) -> Entry:
        """Write the reciprocal of a pivot."""
        return self._w.let(f"1.0/{pivot.name}")

    @abstractmethod
    def _check(self, pivot: Pivot) -> None:
        """Write or store the condition that a pivot must satisfy."""

    def solve(self, b: Sequence[Entry]) -> list[Entry]:
        """Return K^-1 b, indexed like b, None for indices left out; sums end with the latest unknown, to wait less."""
        w, N, L = self._w, len(self._order), self._lower
        y: list[Entry] = []
        for i, row in enumerate(self._order):
            y.append(w.let(w.total([b[row]], [w.product(entry, y[k]) for k, entry in L[i].items()])))
        x = [w.let(w.product(y[i], self.inverse[i])) for i in range(N)]
        for i in reversed(range(N)):
            x[i] = w.let(w.total([x[i]], [w.product(L[k][i], x[k]) for k in range(N - 1, i, -1) if i in L[k]]))
        found: list[Entry] = [None] * len(b)
        for row, entry in zip(self._order, x, strict=True):
            found[row] = entry
        return found

    def growth(self, size: Sequence[Entry]) -> Entry:
        """Return a bound on the squared norm of |D^(-1/2) L^-1| `size`; substitution uses absolute values."""
        w, L = self._w, self._lower
        y: list[Entry] = []
        for i, row in enumerate(self._order):
            y.append(w.let(w.total([size[row], *(w.product(f"abs({x})", y[k]) for k, x in L[i].items())])))
        return w.total([w.product(v, v, d) for v, d in zip(y, self.inverse, strict=True)])


class DefiniteFactors(Factors):
    """Factors of a positive definite matrix in its given order; the code returns False if a pivot is too small.

    `threshold` is the smallest accepted ratio of a pivot to its diagonal entry.
    """

    def __init__(self, w: Writer, A: list[list[Entry]], threshold: float) -> None:
        self._threshold = threshold
        self._shares: list[str] = []
        super().__init__(w, A, range(len(A)), len(A))

    def _check(self, pivot: Pivot) -> None:
        least = f"{self._threshold!r}*{pivot.diagonal}" if pivot.diagonal else "0.0"
        self._w.check(f"{pivot.name} > {least}")
        if pivot.lost:
            self._shares.append(f"({pivot.name}/{pivot.diagonal})")

    def check_determinant(self, threshold: float) -> None:
        """Write code that returns False unless the determinant over the product of the diagonal exceeds `threshold`."""
        if self._shares:
            self._w.check(f"{'*'.join(self._shares)} > {threshold!r}")


class StepFactors(Factors):
    """Factors of [M, J^T; J, 0], n coordinates first; `checks` are conditions that are true where no pivot vanishes.

    Up to `spare` rows may depend on the rows before them: the code leaves out each row whose pivot vanishes, so that
    its multiplier is zero, and the conditions allow this for so many rows. Which rows these are may differ from state
    to state.
    """

    def __init__(self, w: Writer, K: list[list[Entry]], order: Sequence[int], n: int, spare: int = 0) -> None:
        self.checks: list[str] = []
        self._spare = spare
        self._left_out: list[str] = []
        super().__init__(w, K, order, n)
        if self._left_out:
            self.checks.append(f"{' + '.join(self._left_out)} < {spare + 0.5!r}")

    def _inverse(self, pivot: Pivot) -> Entry:
        if not self._spare or pivot.positive or not pivot.lost:
            return super()._inverse(pivot)
        out = self._w.let(f"1.0 if {pivot.name} > {DEPENDENT!r}*{pivot.lost} else 0.0")
        self._left_out.append(str(out))
        return self._w.let(f"0.0 if {out} > 0.0 else 1.0/{pivot.name}")

    def _check(self, pivot: Pivot) -> None:
        if self._spare and pivot.lost and not pivot.positive:
            return  # such a row may be left out
        sign, least = ">" if pivot.positive else "<", f"{2 * VANISHING!r}*{pivot.lost}" if pivot.lost else "0.0"
        self.checks.append(f"{pivot.name} {sign} {least}")
        if pivot.diagonal is not None and pivot.gained:
            self.checks.append(f"{pivot.diagonal} >= 0.0")
