"""Functions of the state that compute the arguments, here called angles, of nonlinear functions in gaps and slips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from gaussopt.symbolic.model import TIME, SymbolicModel

PERIODIC = (sp.sin, sp.cos, sp.tan, sp.cot, sp.sec, sp.csc)

KINKS = (sp.Abs, sp.sign, sp.Max, sp.Min, sp.Piecewise, sp.Heaviside)
"""Functions that are linear except at kinks and jumps. Their arguments are no angles, but may contain angles."""

_KNOWN: dict[str, tuple[Callable[..., Any], int]] = {}


def gap_angles(model: SymbolicModel) -> tuple[Callable[..., Any], int]:
    """Return a function of (t, q, v, p) that lists the angles, then their rates; and how many angles are periodic."""
    if model.key not in _KNOWN:
        found, periodic = angles_and_rates(model)
        cse = model.recursion.cse if model.recursion else False
        arguments = (TIME, list(model.q), list(model.v), list(model.p))
        _KNOWN[model.key] = sp.lambdify(arguments, found, modules=["numpy", "scipy"], cse=cse), periodic
    return _KNOWN[model.key]


def angles_and_rates(model: SymbolicModel) -> tuple[list[Any], int]:
    """Return the expressions of the angles, then of their rates, and the number of arguments of periodic functions."""
    periodic, others = _angles(model)
    found = [*periodic, *others]
    return [*found, *map(model.along, found)], len(periodic)


def _angles(model: SymbolicModel) -> tuple[list[Any], list[Any]]:
    """Return the arguments of periodic functions, and the arguments of other functions, in gaps and slips.

    For a root, or a negative power, the argument is the logarithm of the base.
    """
    lines = model.recursion
    moving = {TIME, *model.q, *(lines.lines if lines else ())}
    periodic: set[Any] = set()
    others: set[Any] = set()
    given = [e for contact in model.contacts for e in (contact.gap, *contact.slip)]
    for expression in [*given, *(lines.lines[s] for s in lines.needed(given))] if lines else given:
        for atom in expression.atoms(sp.Function) - expression.atoms(*KINKS):
            (periodic if isinstance(atom, PERIODIC) else others).update(atom.args)
        for power in expression.atoms(sp.Pow):
            base, exponent = power.as_base_exp()
            others.add(exponent)
            if not (exponent.is_Integer and exponent > 0):
                others.add(sp.log(base**2) / 2)
    return tuple(  # type: ignore[return-value]
        sorted((x for x in found if x.free_symbols & moving and not x.free_symbols & model.quick), key=str)
        for found in (periodic, others - periodic)
    )
