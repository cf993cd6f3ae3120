"""The equations of a model as formulas in LaTeX, with the user's names of symbols."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import sympy as sp
from sympy.simplify.fu import TR8

from gaussopt.core.errors import BadInput
from gaussopt.symbolic.model import SymbolicModel

MOST_COORDINATES = 8
MOST_OPERATIONS = 1200
"""Largest number of operations of a model whose equations are shown in full; otherwise only their form is shown."""


def formulas_of(model: SymbolicModel, parameters: Sequence[str]) -> list[list[str]]:
    """Return lines of formulas for M, h, Q, equality rows and contact rows; `parameters` are the parameters' names."""
    n, m, k = len(model.q), len(model.holonomic) + len(model.nonholonomic), len(model.contacts)
    balance = r"M \ddot q + h = Q" + (r" + J^T \lambda" if m else "")
    balance += r" + J_N^T \lambda_N + J_T^T \lambda_T" if k else ""
    lines = [[balance, rf"q \in \mathbb{{R}}^{{{n}}}"]]
    given = [model.kinetic, model.potential, *model.forces, *model.holonomic, *model.nonholonomic]
    size = sum(sp.count_ops(x) for x in (*given, *(c.gap for c in model.contacts)))
    if n > MOST_COORDINATES or size > MOST_OPERATIONS or model.lines:
        return lines
    try:
        e = model.equations
    except BadInput:
        return lines
    letters = _letters(model, parameters)
    lines.append([rf"q = {_column(model.q, letters)}", rf"M = {_matrix(e.M, letters)}"])
    lines.append([rf"h = {_column(e.h, letters)}", rf"Q = {_column(e.Q, letters)}"])
    if m:
        residuals = [*model.holonomic, *model.nonholonomic]
        lines.append([rf"0 = {_column(residuals, letters)}", rf"J = {_matrix(e.J, letters)}"])
        lines.append([rf"J \ddot q = \gamma = {_column(e.gamma, letters)}"])
    if k:
        gaps, slips = [c.gap for c in model.contacts], [x for c in model.contacts for x in c.slip]
        rows = [[sp.diff(g, q) for q in model.q] for g in gaps]
        lines.append([rf"g_N = {_column(gaps, letters)} \ge 0", rf"J_N = {_matrix(rows, letters)}"])
        if slips:
            across = [[sp.diff(s, v) for v in model.v] for s in slips]
            lines.append([rf"v_T = {_column(slips, letters)}", rf"J_T = {_matrix(across, letters)}"])
    return lines


def _letters(model: SymbolicModel, parameters: Sequence[str]) -> dict[Any, str]:
    """Return the LaTeX of each internal symbol, from the user's names; velocities get a dot."""
    names = [sp.latex(sp.Symbol(model.names[v])) for v in model.v]
    dotted = [re.sub(r"^(\\?\w+?|\\operatorname\{\w+\})(_.*)?$", r"\\dot{\1}\2", name) for name in names]
    values = [sp.latex(sp.Symbol(name)) for name in parameters]
    found = zip((*model.q, *model.v, *model.p), (*names, *dotted, *values), strict=True)
    return dict(found)


def _matrix(rows: Iterable[Iterable[Any]], letters: dict[Any, str]) -> str:
    """Return a matrix in LaTeX; an empty matrix, or a matrix of zeros, is returned as 0."""
    cells = [[sp.latex(_read(x), symbol_names=letters) for x in row] for row in rows]
    if all(cell == "0" for row in cells for cell in row):
        return "0"
    return r"\begin{bmatrix} " + r" \\ ".join(" & ".join(row) for row in cells) + r" \end{bmatrix}"


def _read(expr: Any) -> Any:
    """Simplify an expression: extract common factors; write products of sines and cosines as sums if shorter."""
    plain = sp.expand(expr)
    return min((sp.factor_terms(x) for x in (plain, sp.expand(TR8(plain)))), key=sp.count_ops)


def _column(entries: Iterable[Any], letters: dict[Any, str]) -> str:
    return _matrix([[x] for x in entries], letters)
