"""Derivatives of sums and products term by term against SymPy's."""

from dataclasses import replace

import pytest
import sympy as sp

import gaussopt as go
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
        for b in (x, y, z, t):
            assert d.twice(expr, a, b) == sp.diff(expr, a, b)
    assert d.along(expr, (x, y), (z, z), t) == z * sp.diff(expr, x) + z * sp.diff(expr, y) + sp.diff(expr, t)


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
