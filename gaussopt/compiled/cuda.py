"""Compilation of the loops of `gaussopt.compiled.march` for NVIDIA graphics processors, by numba-cuda."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from gaussopt.codegen.job import LoopJob
from gaussopt.compiled import modules
from gaussopt.compiled.march import card, embedded, moreau_jean
from gaussopt.core.endings import settled
from gaussopt.core.errors import BadInput, NotCompiled
from gaussopt.jit.llvm import plain

THREADS = 64
"""Threads of a block: few, because each needs nearly all registers that a thread can have."""

CLOCK = 6
"""Number of entries of the clock of `gaussopt.compiled.march.embedded`."""


def driver() -> Any:
    """Return the module `numba.cuda`; raises BadInput where it is not installed, or finds no GPU."""
    try:
        from numba import cuda
    except ImportError:
        raise BadInput(
            "device='cuda' needs numba-cuda, which is not installed: pip install 'gaussopt[cuda]', or leave device out."
        ) from None
    if not cuda.is_available():
        raise BadInput("device='cuda' needs an NVIDIA card and its driver, and finds none; leave device out.")
    return cuda


def march(job: LoopJob) -> modules.Compiled:
    """Return the kernel of `gaussopt.compiled.march.card` for a job, with the offsets of the parts of its `memory`.

    Raises NotCompiled if the method has no generated functions, or the system is too large to unroll.
    """
    try:
        module = modules.lane_module(job, 1)
        return modules.Compiled(_kernel(card.march, (module,)), vars(module))
    except NotCompiled:  # the method has no generated functions for lanes
        loop, given = modules.loop_of(job)
    if loop is moreau_jean:
        return modules.Compiled(_kernel(card.march_contacts, given), vars(given[0]))
    kernel = card.march_controlled if loop is embedded else card.march_fixed
    size, parameters = int(vars(given[0])["SIZE"]), len(job.model.p)
    places = {
        "STATE": 0, "CONSTANTS": size, "FAILED": size + parameters, "CLOCK": size + parameters + 1,
        "LENGTH": size + parameters + 1 + CLOCK, "ROW": size + 1,
    }  # fmt: skip
    return modules.Compiled(_kernel(kernel, given, **places), {**vars(given[0]), **places})


@cache
def _kernel(kernel: Callable[..., None], modules_given: tuple[ModuleType, ...], **places: int) -> Callable[..., None]:
    """Return a kernel with the names of generated modules as its globals; it is compiled at its first call."""
    from numba import float64

    cuda = driver()
    given = {name: x for module in modules_given for name, x in vars(module).items() if not name.startswith("__")}
    # NumPy's floor does not exist on a GPU; math.floor, which returns integers, replaces it.
    given |= {**places, "settled": settled, "floor": math.floor, "cuda": cuda, "float64": float64}
    return cuda.jit(_scoped(kernel, given, {}))  # type: ignore[no-any-return]


def _scoped(function: Any, given: Mapping[str, Any], known: dict[Any, Any]) -> FunctionType:
    """Return a copy of a function with globals from `given`, and with the functions it calls compiled for the GPU."""
    from numba import cuda

    scope = {**plain(function).__globals__, **given}
    for name in plain(function).__code__.co_names:
        inner = plain(scope.get(name))
        if isinstance(inner, FunctionType) and inner.__module__.startswith("gaussopt"):
            if inner not in known:
                known[inner] = cuda.jit(device=True)(_scoped(inner, given, known))
            scope[name] = known[inner]
    return FunctionType(plain(function).__code__, scope, plain(function).__name__)
