"""Words such as `osqp(eps_abs=1e-3)` or `rk45(rtol=1e-6,dt=0.1)`, which name a solver or a stepper with its options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gaussopt.core import registry
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.solver import Solver, make_solver

_WORD = re.compile(r"\s*([^\s(),]+)\s*(?:\(([^()]*)\))?\s*(?:,|$)")


def parse_word(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the options in a word; raises BadInput."""
    name, bracket, inside = text.partition("(")
    if bracket and not inside.rstrip().endswith(")"):
        raise BadInput(f"{text!r} has no closing parenthesis.")
    options: dict[str, str] = {}
    for part in inside.rstrip().removesuffix(")").split(","):
        if not part.strip():
            continue
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise BadInput(f"In {text!r} the option {part.strip()!r} is not of the form NAME=VALUE.")
        options[key.strip()] = value.strip()
    return name.strip(), options


def registered_name(word: str) -> str:
    """Return the name under which the solver is registered, without variant and options."""
    return parse_word(word)[0].partition(":")[0]


def solver_word(name: str, options: Mapping[str, Any]) -> str:
    """Return the name and options as one word, from which `parse_word` reads them."""
    inside = ",".join(f"{k}={v}" for k, v in options.items())
    return f"{name}({inside})" if inside else name


def split_words(text: str) -> list[str]:
    """Split a comma-separated list; commas inside parentheses belong to the options; raises BadInput."""
    words, place = [], 0
    while place < len(text.rstrip()):
        found = _WORD.match(text, place)
        if found is None:
            raise BadInput(f"Cannot read {text!r}; write name,name(option=value,...).")
        words.append(found.group(0).strip().rstrip(",").strip())
        place = found.end()
    return words


def solver_class(word: str) -> type[Solver[Any]]:
    """Return the solver class of a word and check its options; raises UnknownName, BadInput, MissingBackend."""
    name, options = parse_word(word)
    return type(make_solver(name, options))


def canonical(word: str) -> str:
    """Write the options of a word in a standard form and order, so that equal solvers have the same name.

    Raises UnknownName, BadInput, MissingBackend.
    """
    name, given = parse_word(word)
    options = make_solver(name, given).options
    keys = {key.replace("-", "_") for key in given}
    return solver_word(name, {f.name: getattr(options, f.name) for f in fields(options) if f.name in keys})


def precision_words(word: str) -> list[str]:
    """Return the words for a solver at each of its precision settings, from loose to tight; [] if it has none."""
    name, options = parse_word(word)
    cls: type[Solver[Any]] = registry.load("solver", registered_name(word))
    return [solver_word(name, {**options, **setting}) for setting in cls.precision]


SETTINGS = {"default": 0.0, "low": 1e-3, "mid": 1e-6, "high": 1e-9}
"""Named tolerances of solvers, those of qpbenchmark; "default" means the solver's default options in gaussopt."""


def at_setting(word: str, setting: str) -> str:
    """Set all tolerances in the word of a solver to a named setting; a word without tolerances is unchanged.

    Raises UnknownName.
    """
    if setting not in SETTINGS:
        raise UnknownName("setting", setting, SETTINGS)
    name, options = parse_word(word)
    cls: type[Solver[Any]] = registry.load("solver", registered_name(word))
    known = cls.precision[0] if cls.precision and setting != "default" else {}
    return solver_word(name, {**options, **{k: SETTINGS[setting] for k, v in known.items() if isinstance(v, float)}})


def stepper_settings(word: str) -> tuple[str, dict[str, float]]:
    """Return the name of a stepper, and its dt, rtol and atol if given; raises UnknownName, BadInput."""
    name, options = parse_word(word)
    adaptive = registry.load("stepper", name).adaptive
    settings: dict[str, float] = {}
    for key, value in options.items():
        if key not in (("dt", "rtol", "atol") if adaptive else ("dt",)):
            takes = "dt, rtol and atol" if adaptive else "dt, because its steps are constant"
            raise BadInput(f"The stepper {word!r} has an option {key!r}; it takes {takes}.")
        try:
            settings[key] = float(value)
        except ValueError:
            raise BadInput(f"In {word!r} the option {key!r} is {value!r}; give a number.") from None
        if not settings[key] > 0:
            raise BadInput(f"In {word!r} the option {key!r} is {value}; it must be positive.")
    return name, settings
