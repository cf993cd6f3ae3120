"""Straight-line Python source from SymPy expressions.

Every function reads sequences and writes `out[i]`, uses only arithmetic and `math`, and has no branches other than
conditional expressions. Therefore CPython can run it directly on lists, and `gaussopt.jit.llvm` can compile it to
machine code for arrays. The source is a module file that users can open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.printing.pycode import PythonCodePrinter

from gaussopt.core import cache
from gaussopt.core.errors import BadInput
from gaussopt.symbolic.derivatives import Derivatives, Recursion
from gaussopt.symbolic.forms import form_of

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")

VERSION = 14
"""Version of the generated source, raised whenever it changes, so that stale files are not reused."""


class Printer(PythonCodePrinter):  # type: ignore[misc]
    """SymPy's printer of Python source, with small integer powers as products, and `sin` rather than `math.sin`."""

    def __init__(self) -> None:
        super().__init__({"fully_qualified_modules": False, "allow_unknown_functions": False})
        self._texts: dict[Any, tuple[list[Any], str]] = {}

    def doprint(self, expr: Any, assign_to: Any = None) -> str:
        """Return an expression as source; one of a form that was written before as that, with other names."""
        form, symbols = form_of(expr)
        if form not in self._texts:
            self._texts[form] = symbols, str(super().doprint(expr, assign_to))
        first, text = self._texts[form]
        names = {a.name: b.name for a, b in zip(first, symbols, strict=True)}
        return _NAME.sub(lambda found: names.get(found[0], found[0]), text)

    def _print_Pow(self, expr: Any, **kwargs: Any) -> str:
        base, exponent = expr.as_base_exp()
        # CPython's float ** int takes twice as long as a product.
        if base.is_Symbol and exponent in (2, 3):
            return "(" + "*".join([self._print(base)] * int(exponent)) + ")"
        return str(super()._print_Pow(expr, **kwargs))

    def _print_Piecewise(self, expr: Any) -> str:
        if expr.args[-1].cond is not sp.true:  # NaN if no case holds; SymPy would print None
            expr = sp.Piecewise(*expr.args, (sp.nan, True), evaluate=False)
        return str(super()._print_Piecewise(expr))


class LinePrinter(Printer):
    """A printer for models of many lines: it writes sums of products of symbols without SymPy's order of terms."""

    def doprint(self, expr: Any, assign_to: Any = None) -> str:
        """Return an expression as source."""
        found = self._sum(expr)
        return str(super().doprint(expr)) if found is None else found

    def _sum(self, expr: Any) -> str | None:
        """Return a sum of products as source; None if it holds a function, a quotient or a higher power."""
        terms = [self._product(x) for x in sp.Add.make_args(expr)]
        return None if None in terms else "".join(map(str, terms)).removeprefix("+")

    def _product(self, term: Any) -> str | None:
        factors, sign = sp.Mul.make_args(term), "+"
        if factors[0].is_Number and factors[0].is_negative:
            sign, factors = "-", (*(() if factors[0] == -1 else (-factors[0],)), *factors[1:])
        found = [self._factor(x) for x in factors]
        return None if None in found else sign + ("*".join(map(str, found)) or "1.0")

    def _factor(self, x: Any) -> str | None:
        if x.is_Symbol:
            return str(x.name)
        if x.is_Add:
            return None if (found := self._sum(x)) is None else f"({found})"
        if x.is_Pow and x.base.is_Symbol and x.exp in (2, 3):
            return "*".join([x.base.name] * int(x.exp))
        return repr(float(x)) if x.is_Number else None


class Unwritable(BadInput):
    """Raised for an expression with a function that Python lacks; `expression` is the smallest part containing it."""

    def __init__(self, expression: Any) -> None:
        self.expression = expression
        if isinstance(expression, sp.DiracDelta):
            jump = f"a derivative jumps at {expression.args[0]} = 0"
            reason = f"{jump}, as that of Abs, Max or sign does; give a smooth function."
        else:
            reason = f"{expression} has no counterpart in Python's math module; use elementary functions only."
        super().__init__(reason)


@dataclass(frozen=True)
class Function:
    """A generated function: its name, arguments and outputs.

    Attributes
    ----------
    name : str
    arguments : mapping of argument name to the symbols unpacked from it; None for a scalar argument
    outputs : the expressions written to out[0], out[1], ...; zeros are not written
    doc : docstring, one line
    """

    name: str
    arguments: Mapping[str, Sequence[Any] | None]
    outputs: Sequence[Any]
    doc: str


def shared_parts(
    exprs: Sequence[Any], letter: str, lines: Recursion | None, taken: Iterable[str] = ()
) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Return (name, expression) of the parts that expressions share, in order, and the expressions in these names.

    These are the `lines` that they need; without lines, common subexpressions, whose names begin with `letter` and are
    not `taken`.
    """
    if lines is not None:
        return [(s, lines.lines[s]) for s in lines.needed(exprs)], list(exprs)
    occupied = {str(s) for e in exprs for s in e.free_symbols}.union(taken)
    temporaries = (s for s in sp.numbered_symbols(letter) if str(s) not in occupied)
    found: tuple[list[tuple[Any, Any]], list[Any]] = sp.cse(exprs, symbols=temporaries, order="none")
    return found


def source(
    functions: Iterable[Function], title: str, more: Iterable[str] = (), constants: Mapping[str, Any] | None = None,
    lines: Recursion | None = None,
) -> str:  # fmt: skip
    """Return the source of a module: constants by name, the functions, and further functions `more` given as source.

    Outputs may contain quantities that `lines` defines; each function computes those that it needs first.

    Raises Unwritable if an expression holds a function that has no counterpart in Python's math module.
    """
    printer = LinePrinter() if lines else Printer()
    bodies = [*(_function(f, printer, lines) for f in functions), *more]
    names = sorted({name for names in printer.module_imports.values() for name in names})
    header = [f'"""{plain(title)}', "", "Generated by gaussopt; edit the model, not this file.", '"""', ""]
    if names:
        header += [f"from math import {', '.join(names)}", ""]
    if constants:
        header += [*(f"{name} = {value!r}" for name, value in constants.items()), ""]
    return "\n".join([*header, "", "\n\n\n".join(bodies), ""])


def plain(title: str) -> str:
    """Return a title without characters that could end the docstring in which it is written."""
    return "".join(c if c.isprintable() and c not in '"\\' else " " for c in title)


def _function(f: Function, printer: Printer, lines_of: Recursion | None) -> str:
    written = {i: e for i, e in enumerate(map(sp.sympify, f.outputs)) if e is not sp.S.Zero}
    exprs = list(written.values())
    shared, reduced = shared_parts(exprs, "w", lines_of)
    free = Derivatives().symbols if lines_of is None else lines_of.symbols
    used = set().union(*map(free, [*reduced, *(e for _, e in shared)]))
    parameters = [f"{name}: {'float' if symbols is None else 'list'}" for name, symbols in f.arguments.items()]
    lines = [f"def {f.name}({', '.join([*parameters, 'out: list'])}):", f'    """{f.doc}"""']
    for argument, symbols in f.arguments.items():
        lines += [f"    {s} = {argument}[{i}]" for i, s in enumerate(symbols or ()) if s in used]
    try:
        lines += [f"    {s.name} = {printed(printer, e)}" for s, e in shared]
        lines += [f"    out[{i}] = {printed(printer, e)}" for i, e in zip(written, reduced, strict=True)]
    except Unwritable:
        for part in sorted({x for e in exprs for x in e.atoms(sp.Function, sp.Derivative)}, key=sp.count_ops):
            printed(printer, part)  # the error names a part of the user's expression, not a common subexpression
        raise
    if len(lines) == 2:
        lines.append("    return")
    return "\n".join(lines)


def printed(printer: Printer, expr: Any) -> str:
    """Return an expression as Python source; raises Unwritable if it contains a function that Python lacks."""
    try:
        # Rationals and integers become floats: exact numbers would lead to integer arithmetic.
        text = str(printer.doprint(sp.Float(expr) if expr.is_Rational else expr))
    except Exception:  # the printer's error types vary by version
        raise Unwritable(expr) from None
    if "Not supported" in text:
        raise Unwritable(expr)
    return text


def key_of(*parts: str) -> str:
    """Return the cache key of generated source: a hash of its inputs and of the versions that determine it."""
    return cache.key_of(str(VERSION), sp.__version__, *parts)
