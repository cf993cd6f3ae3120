"""What an entry from outside the package must be, so that it can be listed and used."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from gaussopt.core.programs import LCP, QP, LeastSquares, LinearSystem
from gaussopt.core.solver import Options, Solver
from gaussopt.core.stepper import Stepper
from gaussopt.formulations.base import Formulation

PROGRAMS = (QP, LinearSystem, LeastSquares, LCP)


def lacking(entry: Any, kind: str) -> str:
    """What is wrong with an entry, as the end of a sentence; "" if nothing is."""
    if kind in ("solver", "formulation", "stepper", "family"):
        for name in ("title", "source"):
            if not isinstance(getattr(entry, name, None), str):
                return f"has no {name}; give it one in words"
    if kind == "solver":
        return _solver(entry)
    if kind == "formulation":
        return _instance(entry, Formulation, "formulation")
    if kind == "stepper":
        return _instance(entry, Stepper, "stepper")
    return ""


def _instance(entry: Any, base: type, kind: str) -> str:
    if isinstance(entry, base):
        return ""
    made = f"; end the file with {kind} = {entry.__name__}()" if isinstance(entry, type) else ""
    return f"is no object of a class derived from gaussopt.{kind}.{base.__name__}{made}"


def _solver(entry: Any) -> str:
    if not (isinstance(entry, type) and issubclass(entry, Solver)):
        return "is no class derived from gaussopt.core.solver.Solver; end the file with solver = NameOfTheClass"
    if inspect.isabstract(entry):
        return f"does not define {' and '.join(sorted(entry.__abstractmethods__))}"
    accepts = getattr(entry, "accepts", None)
    names = ", ".join(p.__name__ for p in PROGRAMS)
    if not isinstance(accepts, tuple) or not accepts or not all(a in PROGRAMS for a in accepts):
        return f"does not say which programs it takes; give it accepts = a tuple of {names}"
    for name, kind in (("requires", str), ("precision", Mapping)):
        value = getattr(entry, name)
        if not isinstance(value, tuple) or not all(isinstance(x, kind) for x in value):
            return f"has {name} = {value!r}, expected a tuple of {kind.__name__}"
    options = entry.options_type
    if not (isinstance(options, type) and issubclass(options, Options) and is_dataclass(options)):
        return "has an options_type that is no dataclass derived from gaussopt.core.solver.Options"
    return ""
