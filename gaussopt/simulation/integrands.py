"""Functions that the user wants integrated along a motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.core.errors import BadInput, NotAccepted
from gaussopt.core.event import Integrand
from gaussopt.core.stepper import Stepper
from gaussopt.core.system import AbstractSystem


def integrands(given: Any, system: AbstractSystem, method: Stepper, n: int) -> list[Integrand]:
    """Return the user's integrands as functions of (t, q, v), with n coordinates; raises BadInput or NotAccepted."""
    if not isinstance(given, Mapping):
        raise BadInput(f"integrals is {given!r}; give functions of (t, q, v), or SymPy expressions, by their names.")
    if given and (system.contact_names or method.loop):
        raise NotAccepted(
            f"Integrals are summed along motions without contacts, and {system.name!r} has contacts; sum what is "
            "recorded."
        )
    return [Integrand(name, _function(name, x, system, n)) for name, x in given.items()]


def _function(name: str, given: Any, system: AbstractSystem, n: int) -> Any:
    """Return a given function unchanged; convert an expression in t, q, v and parameters to a function."""
    if not hasattr(given, "free_symbols"):
        return given
    import sympy as sp

    names = system.coordinates(n)
    columns = [[sp.Symbol(x) for x in names], [sp.Symbol(f"v_{x}") for x in names]]
    values = {sp.Symbol(x): value for x, value in system.parameters.items()}
    plain = given.xreplace({x: sp.Symbol(str(x)) for x in given.free_symbols})
    unknown = sorted(map(str, plain.free_symbols - {*columns[0], *columns[1], *values, sp.Symbol("t")}))
    if unknown:
        raise BadInput(
            f"Integral {name!r} holds {unknown[0]!r}, which is no coordinate or parameter of {system.name!r}, and no "
            f"velocity, such as v_{names[0]}."
        )
    evaluate = sp.lambdify([sp.Symbol("t"), *columns], plain.subs(values), "math")

    def function(t: float, q: Any, v: Any) -> float:
        return float(evaluate(t, np.asarray(q).tolist(), np.asarray(v).tolist()))

    return function
