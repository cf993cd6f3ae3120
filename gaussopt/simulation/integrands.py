"""The functions that `simulate` integrates along a motion at the user's request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.core.errors import BadInput, NotAccepted
from gaussopt.core.event import Integrand
from gaussopt.core.stepper import Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.symbolic.of_state import of_state


def integrands(given: Any, system: AbstractSystem, method: Stepper, n: int) -> list[Integrand]:
    """Return the user's integrands as functions of (t, q, v) for n coordinates; raises BadInput or NotAccepted."""
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
    evaluate = of_state([given], system.coordinates(n), system.parameters, f"Integral {name!r}", "math")

    def function(t: float, q: Any, v: Any) -> float:
        return float(evaluate(t, np.asarray(q).tolist(), np.asarray(v).tolist())[0])

    return function
