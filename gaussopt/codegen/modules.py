"""Generated loops as modules: written once, kept beside the generated equations, compiled by LLVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from gaussopt.codegen import embedded_runge_kutta, loop, rattle, runge_kutta, simd_blocks, step, velocity_gauss
from gaussopt.codegen import source as codegen
from gaussopt.codegen.job import LoopJob, Orders, within_limit
from gaussopt.codegen.loop import Written
from gaussopt.codegen.sincos import sine_cosine
from gaussopt.core import generated_modules
from gaussopt.core.errors import NotCompiled
from gaussopt.core.stepper import Stepper
from gaussopt.jit.kernel import COMPILED, functions
from gaussopt.symbolic.model import SymbolicModel

VERSION = "12"
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


class Compiled(NamedTuple):
    """A loop that can be called, see `gaussopt.codegen.loop`, and the entries of its work space."""

    march: Callable[..., int]
    work: int


class SideBySide(NamedTuple):
    """The loop over blocks, see `gaussopt.codegen.simd_blocks`, and where the parts of a block's array begin."""

    march: Callable[..., None]
    places: Mapping[str, int]


def march(model: SymbolicModel, method: Stepper, orders: Orders, projected: bool) -> Compiled:
    """The loop of a method for a model, from the cache or written now.

    Raises NotCompiled if the method has no generated loop, or the system is too large to unroll.
    """
    write = WRITERS.get(method.name)
    if write is None:
        raise NotCompiled(f"the stepper {method.name!r} has no generated loop")
    job = LoopJob(model, method, orders, projected)
    key = codegen.key_of(VERSION, model.key, repr(orders), method.name, str(projected))
    name = f"{model.name}_{method.name}"
    title = f"{model.name} by {method.name}{' with projection' if projected else ''}"
    return stored(name, key, lambda: write(job), title)


def stored(name: str, key: str, write: Callable[[], Written], title: str) -> Compiled:
    """A loop, from the cache or written now."""
    module = _kept(name, key, write, f"Motion of {title}.")
    return Compiled(native(module, "march")["march"], module.WORK)


def blocks(model: SymbolicModel, method: Stepper, orders: Orders, projected: bool) -> SideBySide:
    """The functions that march blocks of motions, from the cache or written now.

    Raises NotCompiled if the method has no such form, or the system is too large to unroll.
    """
    key = codegen.key_of(VERSION, model.key, repr(orders), method.name, str(projected), "blocks")
    title = f"Motions of {model.name} side by side by {method.name}{' with projection' if projected else ''}."
    job = LoopJob(model, method, orders, projected)
    module = _kept(f"{model.name}_{method.name}_blocks", key, lambda: simd_blocks.write(job), title)
    return SideBySide(native(module, "march")["march"], module.PLACES)


def rows(model: SymbolicModel, equations: str, orders: Orders, together: bool = False) -> Callable[..., None]:
    """The function that computes what is recorded of states, from the cache or written now.

    rows(count, t, y, p, table): for each of `count` states (q, v) in y one row of `table`: whether the step and its
    certificate are regular, the certificate's numbers (8), energies and power (3), drifts (2), a (n), lam (m).
    all_rows(first, last, count, t, y, p, table): the same for the motions first, ..., last - 1 of several, whose
    parameters, states and rows lie one behind the other.

    `equations` is the source of the model's generated module; `together` asks for the function for several motions.
    Raises NotCompiled.
    """

    def write() -> Written:
        if "def certificate(" not in equations:
            raise NotCompiled("its certificate has no generated form (a singular mass matrix, or too many rows)")
        lines = within_limit(step.acceleration(model, orders.step, False)[0])
        functions = ["def " + text.strip() for text in equations.split("\ndef ")[1:]]
        return Written([*functions, *loop.recording(model, lines)], lines.imports | _imports(equations))

    key = codegen.key_of(VERSION, model.key, repr(orders.step), "rows")
    module = _kept(f"{model.name}_rows", key, write, f"Recorded rows of {model.name}.")
    return native(module, "rows", "all_rows", contract=False)["all_rows" if together else "rows"]


def _imports(text: str) -> frozenset[str]:
    """Names that a generated module takes from math."""
    found = [line.removeprefix("from math import ").split(", ") for line in text.splitlines() if "from math" in line]
    return frozenset(name for names in found for name in names)


def _kept(name: str, key: str, write: Callable[[], Written], title: str) -> ModuleType:
    """A generated module, from the cache or written now."""
    return generated_modules.load(name, key) or generated_modules.store(name, key, _text(write(), title))


def _text(written: Written, title: str) -> str:
    """The source of a module."""
    constants = [f"{name} = {value!r}" for name, value in written.constants.items()]
    functions, imports = written.functions, written.imports
    head = [f'"""{codegen.plain(title)}', "", "Generated by gaussopt; edit the model, not this file.", '"""', ""]
    if "sine_cosine" in imports:
        functions = [sine_cosine(), *functions]
    from_math = sorted(imports - {"sine_cosine"})
    if from_math:
        head.append(f"from math import {', '.join(from_math)}")
    head += ["from numpy import floor, int32, zeros"]
    return "\n".join([*head, "", *constants, *([""] if constants else []), "", "\n\n\n".join(functions), ""])
