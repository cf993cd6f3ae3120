"""Generated loops as modules: written once, kept beside the generated equations, compiled by LLVM if it is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from gaussopt.codegen import embedded_runge_kutta, loop, rattle, runge_kutta, simd_blocks, step, velocity_gauss
from gaussopt.codegen import source as codegen
from gaussopt.codegen.job import LoopJob, Orders, within_limit
from gaussopt.codegen.loop import Written
from gaussopt.codegen.sincos import sine_cosine
from gaussopt.core import generated_modules
from gaussopt.core.errors import NotCompiled
from gaussopt.core.stepper import Stepper
from gaussopt.jit.kernel import COMPILED, functions
from gaussopt.symbolic.model import Model

VERSION = "11"
"""Raised whenever the generated loops change."""

WRITERS: Mapping[str, Callable[[LoopJob], Written]] = {
    "rk4": runge_kutta.write, "dop853": embedded_runge_kutta.write, "rk45": embedded_runge_kutta.write,
    "rattle": rattle.write, "velocity-gauss": velocity_gauss.write,
}  # fmt: skip
"""What writes the loop of a stepper, by its name."""


def has_llvm() -> bool:
    """Whether LLVM, which compiles the loops, is there; see `gaussopt.jit.kernel`."""
    return COMPILED


@cache
def native(module: ModuleType, *names: str, contract: bool = True) -> Mapping[str, Callable[..., Any]]:
    """Functions of a generated module as machine code; see `gaussopt.jit.llvm`."""
    return functions(module, names, contract)


@dataclass(frozen=True)
class Compiled:
    """A loop that can be called.

    Attributes
    ----------
    march : see `gaussopt.codegen.loop`
    work : entries of its work space
    """

    march: Callable[..., int]
    work: int


def march(model: Model, method: Stepper, orders: Orders, projected: bool) -> Compiled:
    """The loop of a method for a model, from the cache or written now.

    Raises
    ------
    NotCompiled
        If the method has no generated loop, or the system is too large to unroll.
    """
    write = WRITERS.get(method.name)
    if write is None:
        raise NotCompiled(f"the stepper {method.name!r} has no generated loop")
    job = LoopJob(model, method, orders, projected, has_llvm())
    key = codegen.key_of(VERSION, model.key, repr(orders), method.name, str(projected), str(job.fast))
    name = f"{model.name}_{method.name}"
    title = f"{model.name} by {method.name}{' with projection' if projected else ''}"
    return stored(name, key, lambda: write(job), title, job.fast)


def stored(name: str, key: str, write: Callable[[], Written], title: str, fast: bool) -> Compiled:
    """A loop, from the cache or written now."""
    module = generated_modules.load(name, key)
    if module is None:
        written = write()
        sizes = [f"WORK = {written.work}"]
        sizes += [f"{name} = {tuple(values)!r}" for name, values in written.tables.items()]
        text = _text(f"Motion of {title}.", sizes, list(written.functions), written.imports, fast)
        module = generated_modules.store(name, key, text)
    return Compiled(native(module, "march")["march"] if fast else module.march, module.WORK)


@dataclass(frozen=True)
class SideBySide:
    """Functions for blocks of motions.

    Attributes
    ----------
    march : see `gaussopt.codegen.simd_blocks`
    places : where the parts of a block's array begin, and its length
    """

    march: Callable[..., None]
    places: Mapping[str, int]


def blocks(model: Model, method: Stepper, orders: Orders, projected: bool) -> SideBySide:
    """The functions that march blocks of motions, from the cache or written now.

    Raises
    ------
    NotCompiled
        If the method has no such form, or the system is too large to unroll.
    """
    key = codegen.key_of(VERSION, model.key, repr(orders), method.name, str(projected), "blocks")
    name = f"{model.name}_{method.name}_blocks"
    module = generated_modules.load(name, key)
    if module is None:
        written = simd_blocks.write(LoopJob(model, method, orders, projected, True))
        title = f"Motions of {model.name} side by side by {method.name}{' with projection' if projected else ''}."
        places = f"PLACES = {dict(written.places)!r}"
        text = _text(title, [places], list(written.functions), written.imports, True)
        module = generated_modules.store(name, key, text)
    return SideBySide(native(module, "march")["march"], module.PLACES)


def rows(model: Model, equations: str, orders: Orders, fast: bool, together: bool = False) -> Callable[..., None]:
    """The function that computes what is recorded of states, from the cache or written now.

    rows(count, t, y, p, table): for each of `count` states (q, v) in y one row of `table`: whether the step and its
    certificate are regular, the certificate's numbers (8), energies and power (3), drifts (2), a (n), lam (m).
    all_rows(first, last, count, t, y, p, table): the same for the motions first, ..., last - 1 of several, whose
    parameters, states and rows lie one behind the other.

    Parameters
    ----------
    model : Model
    equations : source of the model's generated module
    orders : Orders
    fast : whether it is compiled and runs on arrays; on lists otherwise
    together : whether the function for several motions is wanted

    Raises
    ------
    NotCompiled
    """
    name, key = f"{model.name}_rows", _rows_key(model, orders, fast)
    module = generated_modules.load(name, key)
    if module is None:
        if "def certificate(" not in equations:
            raise NotCompiled("its certificate has no generated form (a singular mass matrix, or too many rows)")
        lines = within_limit(step.acceleration(model, orders.step, False)[0])
        functions = ["def " + text.strip() for text in equations.split("\ndef ")[1:]]
        functions += loop.recording(model, lines, fast)
        imports = lines.imports | _imports(equations)
        text = _text(f"Recorded rows of {model.name}.", [], functions, imports, fast)
        module = generated_modules.store(name, key, text)
    if not fast:
        return module.rows  # type: ignore[no-any-return]
    return native(module, "rows", "all_rows", contract=False)["all_rows" if together else "rows"]


def _rows_key(model: Model, orders: Orders, fast: bool) -> str:
    return codegen.key_of(VERSION, model.key, repr(orders.step), "rows", str(fast))


def _imports(text: str) -> frozenset[str]:
    """Names that a generated module takes from math."""
    found = [line.removeprefix("from math import ").split(", ") for line in text.splitlines() if "from math" in line]
    return frozenset(name for names in found for name in names)


def _text(title: str, constants: list[str], functions: list[str], imports: frozenset[str], fast: bool) -> str:
    """The source of a module."""
    head = [f'"""{codegen.plain(title)}', "", "Generated by gaussopt; edit the model, not this file.", '"""', ""]
    if "sine_cosine" in imports:
        functions = [sine_cosine(), *functions]
    from_math = sorted(imports - {"sine_cosine"})
    if from_math:
        head.append(f"from math import {', '.join(from_math)}")
    if fast:
        head += ["from numpy import floor, int32, zeros"]
    return "\n".join([*head, "", *constants, *([""] if constants else []), "", "\n\n\n".join(functions), ""])
