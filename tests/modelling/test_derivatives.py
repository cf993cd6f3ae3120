"""Derivatives of sums and products term by term against SymPy's."""

from dataclasses import replace

import pytest
import sympy as sp

import gaussopt as go
from gaussopt.symbolic.forms import ByForm
from gaussopt.symbolic.model import Derivatives

x, y, z, t = sp.symbols("x y z t", real=True)


@pytest.mark.parametrize(
    "expr",
    [
        x * sp.sin(y) * (x + y) ** 2 - 3 * x * y * sp.cos(x * z) / (1 + y**2),
        -y * (-x * (z - sp.cos(x)) - sp.sin(x) * (y + 2 * x)),
        sp.sqrt(x**2 + y**2) * sp.Piecewise((x, y > 0), (z**2, True)) + sp.Float(0.5) * x,
        sp.Sum(x**z, (z, 1, 3)) * z + t * sp.Abs(x) * x,
        sp.Integer(7),
    ],
)
def test_they_are_the_expressions_of_sympy(expr):
    d = Derivatives()
    for a in (x, y, z, t):
        assert d(expr, a) == sp.diff(expr, a)
    assert d.hessian(expr, (x, y, z, t)) == [[sp.diff(expr, a, b) for b in (x, y, z, t)] for a in (x, y, z, t)]
    assert d.along(expr, (x, y), (z, z), t) == z * sp.diff(expr, x) + z * sp.diff(expr, y) + sp.diff(expr, t)


def test_an_expression_is_expanded_once_for_those_that_differ_in_names():
    """Names in another order are another form, because SymPy sorts by names."""
    expanded = []

    def expand(expr):
        expanded.append(expr)
        return sp.expand(expr)

    by_form, names = ByForm(expand), sp.symbols("p q r s u w", real=True)
    for a, b, c in ((x, y, z), names[:3], names[3:], (z, y, x), (names[1], names[5], names[0])):
        expr = sp.Float(0.3) * (a - 2 * b) ** 2 * sp.sin(c) + c / b
        assert by_form(expr) == sp.expand(expr)
    assert len(expanded) == 3
    assert by_form(x + y) == x + y
    assert by_form(sp.Integer(3)) == 3


def test_only_terms_that_hold_a_symbol_are_differentiated(monkeypatch):
    asked, plain = [], sp.diff
    model = replace(go.problem("bricard").system.model)  # without equations derived before

    def diff(expr, *symbols):
        asked.append((expr, *symbols))
        return plain(expr, *symbols)

    monkeypatch.setattr(sp, "diff", diff)
    assert model.equations.M
    assert asked
    assert all(not (expr.is_Add or expr.is_Mul) and symbol in expr.free_symbols for expr, symbol in asked)
    assert len(set(asked)) == len(asked)
