"""Straight-line code for a step: the model's expressions and the solution of its linear system, without loops.

The code reads the names q_*, v_*, p_* and t, which the surrounding code assigns. Lines that depend on parameters
alone are kept apart, so that they are run only once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from gaussopt.codegen import source
from gaussopt.codegen.ldl import Entry, StepFactors, Writer
from gaussopt.codegen.pivot_order import Elimination
from gaussopt.codegen.sincos import LARGEST
from gaussopt.symbolic.model import SymbolicModel
from gaussopt.symbolic.turns import Turn

LONG = 2000
"""Number of lines of a step from which on they stand where their values are needed; this slows shorter steps down."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_WORDS = {"abs", "sine_cosine", "int32", "sqrt", "sin", "cos", "if", "else", "or", "and"}


@dataclass(frozen=True)
class Lines:
    """Straight-line code that computes named results.

    Attributes
    ----------
    once : lines that depend on parameters alone
    body : the other lines
    results : names of the computed values, None for a structural zero
    regular : an expression that is true where no pivot vanishes and every sine is accurate
    imports : functions that the lines call
    """

    once: tuple[str, ...]
    body: tuple[str, ...]
    results: Mapping[str, tuple[Entry, ...]]
    regular: str
    imports: frozenset[str]


def names_used(text: str) -> list[str]:
    """Return the names that occur in an expression."""
    return _NAME.findall(re.sub(r"\d[\d.]*e[+-]?\d+", "0", text))


def on_demand(lines: Iterable[str], wanted: Iterable[Entry]) -> tuple[str, ...]:
    """Return lines in the order in which `wanted` values need them, so that few values wait outside registers."""
    known = {line.partition(" = ")[0]: line for line in lines}
    needs = {name: [x for x in names_used(line)[1:] if x in known] for name, line in known.items()}
    found, waiting = dict[str, str](), [*reversed(known), *reversed([x for x in wanted if x in known])]
    while waiting:
        name = waiting[-1]
        if name not in found and (missing := [x for x in needs[name] if x not in found]):
            waiting += reversed(missing)
        else:
            found[name] = known[waiting.pop()]
    return tuple(found.values())


def all_hold(conditions: Sequence[str]) -> str:
    """Join conditions by `&`, because `and` would be a branch."""
    return " & ".join(c if c.isidentifier() else f"({c})" for c in conditions) or "True"


class StepWriter:
    """Writes SymPy expressions and linear algebra into one list of lines.

    Parameters
    ----------
    model : SymbolicModel
    polynomials : whether sines and cosines are written as polynomials; otherwise math's functions are called
    letter : beginning of all names, so that several writers may write into one function
    """

    def __init__(self, model: SymbolicModel, polynomials: bool, letter: str) -> None:
        self.model, self.polynomials, self.letter = model, polynomials, letter
        self._lines = model.recursion
        self.w = Writer(letter)
        self.checks: list[str] = []
        self.imports: set[str] = set()
        self._sines: dict[Any, Any] = {}
        self._printer = source.LinePrinter() if self._lines else source.Printer()
        self._undefined = dict(model.turned.definitions)

    def expressions(self, *groups: Sequence[Any]) -> list[list[Entry]]:
        """Write the code for groups of expressions; return the names of their values by group, None for a zero."""
        exprs = [sp.sympify(e) for group in groups for e in group]
        exprs = self._trigonometry(exprs)
        values = iter(self._write(exprs))
        return [[next(values) for _ in group] for group in groups]

    def matrices(self, *groups: Sequence[Any]) -> tuple[list[list[Entry]], list[list[Entry]], list[list[Entry]]]:
        """Write the code for M, J and further groups of expressions of `SymbolicModel.turned`; return their names."""
        e, n = self.model.turned, len(self.model.q)
        lower = [e.M[i][j] for i in range(n) for j in range(i + 1)]
        m_names, j_names, *rest = self.expressions(lower, [x for row in e.J for x in row], *groups)
        at = iter(m_names)
        M: list[list[Entry]] = [[None] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                M[i][j] = M[j][i] = next(at)
        return M, [j_names[r * n : (r + 1) * n] for r in range(len(e.J))], rest

    def changed(self, change: Callable[[Sequence[Any]], list[Any]], names: Sequence[Entry]) -> list[Entry]:
        """Write the code for `outward` or `inward` of `SymbolicModel.turned` of a vector with these names."""
        if not self.model.turns:
            return list(names)
        known = [sp.Symbol(x, real=True) if x and x.isidentifier() else sp.Float(x or 0) for x in names]
        return self.expressions(change(known))[0]

    def _trigonometry(self, exprs: list[Any]) -> list[Any]:
        """Return expressions with sines and cosines of simple arguments replaced by symbols that hold their values."""
        if not self.polynomials:
            return exprs
        atoms = set().union(*(e.atoms(sp.sin, sp.cos) for e in exprs), set())
        parameters = set(self.model.p)
        arguments = sorted(
            {
                x for a in atoms - self._sines.keys()
                if not (x := a.args[0]).has(sp.Function) and not x.free_symbols <= parameters
            },
            key=sp.default_sort_key,
        )  # fmt: skip
        for x, name in zip(arguments, self._write(arguments), strict=True):
            index = len(self.w.lines)
            both, sine, cosine = (f"{self.letter}_{what}{index}" for what in ("both", "sin", "cos"))
            self.w.lines += [f"{both} = sine_cosine({name})", f"{sine} = {both}[0]", f"{cosine} = {both}[1]"]
            self.imports.add("sine_cosine")
            self.checks.append(f"abs({name}) < {LARGEST!r}")
            self._sines |= {sp.sin(x): sp.Symbol(sine, real=True), sp.cos(x): sp.Symbol(cosine, real=True)}
        return [e.xreplace(self._sines) for e in exprs]

    def _write(self, exprs: Sequence[Any]) -> list[Entry]:
        self._define(exprs)
        taken = {line.split(" = ")[0] for line in self.w.lines}
        shared, reduced = source.shared_parts(exprs, f"{self.letter}_e", self._lines, taken)
        for symbol, e in shared:
            if self._lines is not None:
                if str(symbol) in taken:
                    continue
                (e,) = self._trigonometry([e])
            self.w.lines.append(f"{symbol} = {source.printed(self._printer, e)}")
        names = [self._entry(e) for e in reduced]
        self.imports |= {name for names in self._printer.module_imports.values() for name in names}
        return names

    def _define(self, exprs: Iterable[Any]) -> None:
        """Write the definitions of symbols in these expressions, and first of those that the definitions need."""
        wanted = set[Any]().union(*(e.free_symbols for e in exprs)) & self._undefined.keys()
        if wanted:
            self._define([self._undefined[s] for s in wanted])
            mine = [(s, self._undefined.pop(s)) for s in list(self._undefined) if s in wanted]
            names = self._write([x for _, x in mine])
            self.w.lines += [f"{s} = {name}" for (s, _), name in zip(mine, names, strict=True)]

    def _entry(self, e: Any) -> Entry:
        if e.is_number and (e == 0 or abs(e) == 1):
            return None if e == 0 else repr(float(e))
        return self.w.let(source.printed(self._printer, e))

    def saddle(self, M: Sequence[Sequence[Entry]], J: Sequence[Sequence[Entry]], how: Elimination) -> SaddleSystem:
        """Write the factorisation of the equations with these M and J."""
        return SaddleSystem(self.w, M, J, how, self.model.turns)

    def lines(
        self, results: Mapping[str, Sequence[Entry]], checks: Iterable[str], begin: int = 0, end: int | None = None
    ) -> Lines:
        """Return lines `begin` to `end` (excluded), separated into `once` and `body`."""
        known = {str(p) for p in self.model.p} | _WORDS
        end = len(self.w.lines) if end is None else end
        once: list[str] = []
        body: list[str] = []
        for i, line in enumerate(self.w.lines[:end]):
            name, _, value = line.partition(" = ")
            if fixed := known.issuperset(names_used(value)):
                known.add(name)
            else:
                known.discard(name)
            if i >= begin:
                (once if fixed else body).append(line)
        conditions = list(dict.fromkeys(checks))
        constant = [c for c in conditions if known.issuperset(names_used(c))]
        if constant:
            once.append(f"{self.letter}_sound = 1.0 if {all_hold(constant)} else 0.0")
            conditions = [*(c for c in conditions if c not in constant), f"{self.letter}_sound > 0.0"]
        found = {k: tuple(x) for k, x in results.items()}
        ordered = on_demand(body, [x for part in found.values() for x in part]) if len(body) > LONG else tuple(body)
        return Lines(tuple(once), ordered, found, all_hold(conditions), frozenset(self.imports))


def step_matrix(M: Sequence[Sequence[Entry]], J: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """Return [[M, J^T], [J, 0]], whose entries are names; None for a zero."""
    n, m = len(M), len(J)
    K: list[list[Entry]] = [[*M[i], *(J[r][i] for r in range(m))] for i in range(n)]
    return K + [[*J[r], *[None] * m] for r in range(m)]


def unbalanced(
    w: Writer, M: list[list[Entry]], J: list[list[Entry]], f: Sequence[Entry], a: Sequence[Entry], lam: Sequence[Entry]
) -> list[Entry]:
    """Write the code for M a - f - J^T lam; return the names of its n entries."""
    columns = [[row[j] for row in J] for j in range(len(M))]
    return [w.let(w.total([w.dot(M[j], a)], [f[j], *map(w.product, columns[j], lam)])) for j in range(len(M))]


def relative_squares(w: Writer, *pairs: tuple[Sequence[Entry], Sequence[Entry]]) -> list[Entry]:
    """Write the code for |x|^2 / (1 + |y|^2) for each pair (x, y); return the names."""
    found = []
    for part, scale in pairs:
        size = w.total([w.dot(scale, scale), "1.0"])
        found.append(w.let(f"({square})/({size})") if (square := w.dot(part, part)) else None)
    return found


class SaddleSystem:
    """Code that factorises the equations M a - J^T lam = f, J a = g, and solves them for any right-hand sides.

    Of a quaternion in `turns`, its row alone determines beta, see `gaussopt.symbolic.rotations`; the system is solved
    for the other unknowns.
    """

    def __init__(
        self, w: Writer, M: Sequence[Sequence[Entry]], J: Sequence[Sequence[Entry]], how: Elimination,
        turns: Sequence[Turn] = (),
    ) -> None:  # fmt: skip
        self._w, self._M, self._all, self._added = w, M, J, how.added
        self._units = [(turn.row, turn.e[3]) for turn in turns]
        self._rows = [r for r in range(len(J)) if r not in {r for r, _ in self._units}]
        self._kept = [i for i in range(len(M)) if i not in {i for _, i in self._units}]
        self._J = [[J[r][i] for i in self._kept] for r in self._rows]
        heavy = [[M[i][j] for j in self._kept] for i in self._kept]
        for r, weight in how.added:
            for i in range(len(heavy)):
                for j in range(i + 1):
                    more = w.product(repr(weight), self._J[r][i], self._J[r][j])
                    if more:
                        heavy[i][j] = heavy[j][i] = w.let(w.total([heavy[i][j], more]))
        self._factors = StepFactors(w, step_matrix(heavy, self._J), how.order, len(heavy), how.spare)
        self.checks = self._factors.checks

    def solve(self, f: Sequence[Entry], g: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
        """Write the code that solves for a and lam; return their names, None for multipliers of rows left out."""
        w, J = self._w, self._all
        a: list[Entry] = [None] * len(self._M)
        lam: list[Entry] = [None] * len(J)
        for r, i in self._units:
            a[i] = w.let(f"{g[r]}/{J[r][i]}") if g[r] else None
        force = [f[i] for i in self._kept]
        target = [w.let(w.total([g[r]], [w.product(J[r][i], a[i]) for _, i in self._units])) for r in self._rows]
        for r, weight in self._added:
            for i in range(len(force)):
                if more := w.product(repr(weight), self._J[r][i], target[r]):
                    force[i] = w.let(w.total([force[i], more]))
        x = self._factors.solve([*force, *target])
        for i, entry in zip(self._kept, x, strict=False):
            a[i] = entry
        for r, entry in zip(self._rows, x[len(force) :], strict=True):
            lam[r] = w.let(f"-{entry}") if entry else None
        for r, i in self._units:
            pulled = [f[i], *(w.product(lam[k], J[k][i]) for k in self._rows)]
            balance = w.total([w.product(self._M[i][i], a[i])], pulled)
            lam[r] = w.let(f"({balance})/{J[r][i]}") if balance else None
        return a, lam


def acceleration(model: SymbolicModel, how: Elimination, polynomials: bool) -> tuple[Lines, Lines]:
    """Write the code for acceleration a (n) and multipliers lam (m) at a state, and the code for their `residuals`.

    Residuals are ||J a - gamma||^2 / (1 + ||gamma||^2) and ||M a + h - Q - J^T lam||^2 / (1 + ||Q - h||^2). Their code
    runs after the code for the acceleration. It uses the values of the model's expressions computed there, but not the
    factors of the matrix.
    """
    writer = StepWriter(model, polynomials, "s")
    w, e = writer.w, model.turned
    M, J, (f, g) = writer.matrices(e.forces, e.gamma)
    found = writer.saddle(M, J, how)
    b, lam = found.solve(f, g)
    a = writer.changed(e.outward, b)
    end = len(w.lines)
    c = [w.let(w.total([w.dot(row, b)], [x])) for row, x in zip(J, g, strict=True)]
    residuals = relative_squares(w, (c, g), (unbalanced(w, M, J, f, b, lam), f))
    step = writer.lines({"a": a, "lam": lam}, [*writer.checks, *found.checks], 0, end)
    return step, writer.lines({"residuals": residuals}, (), end)


def projection(model: SymbolicModel, how: tuple[Elimination, Elimination], polynomials: bool) -> Lines:
    """Write the code for the smallest corrections, in the mass metric, that move a state towards the constraints.

    M dq = J_h^T l, J_h dq = phi with the rows J_h of the holonomic constraints; M dv = J^T l, J dv = rates.

    `how` holds the eliminations of the first and the second system. Results are phi (m_h); dq (n), to be subtracted
    from q; dv (n), to be subtracted from v where phi vanishes.
    """
    writer, e = StepWriter(model, polynomials, "c"), model.turned
    n, m_h = len(model.q), len(model.holonomic)
    M, J, (phi, rates) = writer.matrices(e.holonomic, e.rates)
    position = writer.saddle(M, J[:m_h], how[0])
    velocity = position if m_h == len(J) else writer.saddle(M, J, how[1])
    found = position.solve([None] * n, phi)[0], velocity.solve([None] * n, rates)[0]
    dq, dv = (writer.changed(e.outward, x) for x in found)
    checks = [*writer.checks, *position.checks, *(velocity.checks if velocity is not position else ())]
    return writer.lines({"phi": phi, "dq": dq, "dv": dv}, checks)
