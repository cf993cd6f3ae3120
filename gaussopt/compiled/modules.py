"""Modules of functions for the loops of `gaussopt.compiled.march`: generated once, cached on disk, compiled by LLVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from gaussopt.codegen import lanes as lane_functions
from gaussopt.codegen import recording as recorded_functions
from gaussopt.codegen import source as codegen
from gaussopt.codegen import steppers
from gaussopt.codegen.functions import Written
from gaussopt.codegen.job import LoopJob, Orders
from gaussopt.codegen.sincos import sine_cosine
from gaussopt.compiled.march import (
    embedded,
    fixed,
    lanes,
    moreau_jean,
    rattle,
    recording,
    runge_kutta,
    semi_implicit,
    velocity_gauss,
)
from gaussopt.core import generated_modules
from gaussopt.core.errors import NotCompiled
from gaussopt.jit.kernel import COMPILED, functions
from gaussopt.symbolic.model import SymbolicModel

VERSION = "32"
"""Version of the generated functions, raised whenever they change."""


class Method(NamedTuple):
    """How a stepper is compiled: its loop, the generator of its functions, and the module of its `advance`, if any."""

    write: Callable[[LoopJob], Written]
    loop: ModuleType
    advance: ModuleType | None


_CONTROLLED = Method(steppers.error_control, embedded, None)
METHODS: Mapping[str, Method] = {
    "rk4": Method(steppers.constant_step, fixed, runge_kutta),
    "semi-implicit": Method(steppers.one_slope, fixed, semi_implicit),
    "dop853": _CONTROLLED, "rk45": _CONTROLLED,
    "rattle": Method(steppers.rattle, fixed, rattle),
    "moreau-jean": Method(steppers.moreau_jean, moreau_jean, None),
    "velocity-gauss": Method(steppers.velocity_gauss, fixed, velocity_gauss),
}  # fmt: skip
"""Steppers that can be compiled, by name."""


def has_llvm() -> bool:
    """Return whether loops are compiled; `GAUSSOPT_COMPILE=0` switches this off, see `gaussopt.jit.kernel`."""
    return COMPILED


@cache
def native(module: ModuleType, *names: str, given: tuple[ModuleType, ...] = (), contract: bool = True) -> Any:
    """Return functions of a module as machine code; its undefined names are taken from the modules `given`."""
    return functions(module, names, contract, given=given)


class Compiled(NamedTuple):
    """A callable loop of `gaussopt.compiled.march`, and the contents of the generated module compiled with it."""

    march: Callable[..., Any]
    numbers: Mapping[str, Any]

    @property
    def work(self) -> int:
        """Number of entries in the work space of a loop over one motion."""
        return int(self.numbers["WORK"])


def compiled(job: LoopJob) -> Compiled:
    """Return the compiled loop of a job; raises NotCompiled as `loop_of` does."""
    loop, given = loop_of(job)
    return Compiled(native(loop, "march", given=given)["march"], vars(given[0]))


def loop_of(job: LoopJob) -> tuple[ModuleType, tuple[ModuleType, ...]]:
    """Return the loop over one motion, and the modules compiled with it: generated functions, and `advance` if any.

    Raises NotCompiled if the method has no generated functions, or the system is too large to unroll.
    """
    method = METHODS.get(job.method.name)
    if method is None:
        raise NotCompiled(f"the stepper {job.method.name!r} has no generated loop")
    title = f"Motion of {job.model.name} by {job.label}{' with projection' if job.projected else ''}."
    module = _kept(job, job.label, lambda: method.write(job), title)
    return method.loop, (module,) if method.advance is None else (module, method.advance)


def blocks(job: LoopJob) -> Compiled:
    """Return the compiled loop over blocks of motions; Moreau-Jean steps have blocks of one motion.

    Raises NotCompiled if the method has no such loop, or the system is too large to unroll.
    """
    if METHODS[job.method.name].loop is moreau_jean:
        loop, given = loop_of(job)
        return Compiled(native(loop, "march_members", given=given)["march_members"], vars(given[0]))
    module = lane_module(job, lanes.WIDTH)
    return Compiled(native(lanes, "march", given=(module,))["march"], vars(module))


def lane_module(job: LoopJob, width: int) -> ModuleType:
    """Return the generated functions for blocks of `width` motions; raises NotCompiled as `blocks` does."""
    title = f"Motions of {job.model.name} side by side by {job.method.name}{' with projection' * job.projected}."
    label = f"{job.method.name}_blocks_of_{width}"
    return _kept(job, label, lambda: lane_functions.write(job, width), title)


def rows(model: SymbolicModel, equations: str, orders: Orders, together: bool = False) -> Callable[..., None] | None:
    """Return `rows` of `gaussopt.compiled.march.recording` as machine code, or `all_rows` if `together`.

    The result is None if no certificate can be generated: recorded states are then certified one by one. `equations` is
    the source of the model's generated module.
    """
    key = codegen.key_of(VERSION, model.key, repr(orders.step), "rows")

    def write() -> Written:
        return recorded_functions.write(model, equations, orders)

    try:
        module = _stored(f"{model.name}_rows", key, write, f"Recorded rows of {model.name}.")
    except NotCompiled:
        return None
    found: Mapping[str, Callable[..., None]] = native(recording, "rows", "all_rows", given=(module,), contract=False)
    return found["all_rows" if together else "rows"]


def drifts(model: SymbolicModel, equations: str) -> Callable[..., None]:
    """Return `drifts` of `gaussopt.compiled.march.recording` as machine code."""
    key = codegen.key_of(VERSION, model.key, "drifts")
    name, title = f"{model.name}_drifts", f"Residuals of constraints of {model.name}."
    module = _stored(name, key, lambda: recorded_functions.residuals(model, equations), title)
    found: Mapping[str, Callable[..., None]] = native(recording, "drifts", given=(module,))
    return found["drifts"]


def _kept(job: LoopJob, label: str, write: Callable[[], Written], title: str) -> ModuleType:
    """Return the generated module of a job, from the cache or generated now."""
    key = codegen.key_of(VERSION, job.model.key, repr(job.orders), label, str(job.projected))
    return _stored(f"{job.model.name}_{label}", key, write, title)


def _stored(name: str, key: str, write: Callable[[], Written], title: str) -> ModuleType:
    return generated_modules.load(name, key) or generated_modules.store(name, key, _text(write(), title))


def _text(written: Written, title: str) -> str:
    """Return the source of a generated module."""
    constants = [f"{name} = {value!r}" for name, value in written.constants.items()]
    functions, imports = written.functions, written.imports
    head = [f'"""{codegen.plain(title)}', "", "Generated by gaussopt; edit the model, not this file.", '"""', ""]
    if "sine_cosine" in imports:
        functions = [sine_cosine(), *functions]
    from_math = sorted(imports - {"sine_cosine"})
    if from_math:
        head.append(f"from math import {', '.join(from_math)}")
    head += ["from numpy import floor, int32"]
    return "\n".join([*head, "", *constants, *([""] if constants else []), "", "\n\n\n".join(functions), ""])
