"""Functions of the state of a system, made from SymPy expressions in the names of its coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.core.errors import BadInput

if TYPE_CHECKING:
    from gaussopt.symbolic.derivatives import Recursion


def of_state(
    expressions: Sequence[Any],
    names: Sequence[str],
    parameters: Mapping[str, Any],
    what: str,
    modules: str = "numpy",
    recursion: Recursion | None = None,
) -> Callable[[Any, Any, Any], list[Any]]:
    """Return a function of t, q, v that evaluates expressions; q and v hold a number or array for each coordinate.

    Symbols are known by their names: t, coordinates, velocities (v_ before the coordinate) and parameters, whose values
    are numbers, or arrays where the function gets arrays; and the symbols that a `recursion` defines.

    Raises
    ------
    BadInput
        If an expression contains another symbol; `what` names the expression in the message.
    """
    import sympy as sp  # the import takes long, and most motions do not need SymPy

    columns = [[sp.Symbol(x) for x in names], [sp.Symbol(f"v_{x}") for x in names]]
    values = {sp.Symbol(x): value for x, value in parameters.items()}
    given = [sp.sympify(x, strict=True) for x in expressions]
    named = recursion.cse(given)[0] if recursion else []
    lines, given = [sp.Symbol(str(s)) for s, _ in named], [*given, *(x for _, x in named)]
    plain = [x.xreplace({s: sp.Symbol(str(s)) for s in x.free_symbols}) for x in given]
    known = {*columns[0], *columns[1], *values, *lines, sp.Symbol("t")}
    if unknown := sorted(str(s) for x in plain for s in x.free_symbols - known):
        raise BadInput(
            f"{what} holds {unknown[0]!r}, which is no coordinate or parameter of the system, and no velocity, such as "
            f"v_{names[0]}."
        )
    varied = {s: x for s, x in values.items() if isinstance(x, np.ndarray)}
    fixed = {s: x for s, x in values.items() if s not in varied}
    plain = [x.subs(fixed) for x in plain]
    shared = list(zip(lines, plain[len(expressions) :], strict=True))
    function = sp.lambdify(
        [sp.Symbol("t"), *columns, list(varied)], plain[: len(expressions)], modules,
        cse=(lambda e: (shared, e)) if shared else modules == "numpy",
    )  # fmt: skip
    return lambda t, q, v: list(function(t, q, v, list(varied.values())))
