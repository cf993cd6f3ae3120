"""Every kernel and one generated loop of each kind, compiled by numba: the same results as by our own translation.

Slow, and not part of the default run:

    pip install 'gaussopt[numba]'
    python -m pytest -n 0 -m numba tests/jit/test_numba.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.compiled import modules
from gaussopt.jit.entry import MachineCode, annotation_name
from gaussopt.jit.kernel import Kernel
from gaussopt.jit.llvm import plain
from gaussopt.lcp import pivoting
from gaussopt.modelling.chain import Chain

numba = pytest.importorskip("numba")

pytestmark = pytest.mark.numba

AGREE = 1e-10
CONTROLLED = 1e-7
"""Agreement of loops with error control, whose step lengths follow the rounding of small differences."""


def motions() -> Iterator[Callable[[], Any]]:
    """Calls that run every kernel and every kind of loop."""
    for stepper in ("rk4", "rk45", "rattle", "velocity-gauss"):
        yield lambda stepper=stepper: go.simulate("crank-slider", stepper=stepper, t_end=0.02, engine="compiled")
    yield lambda: go.simulate("four-bar", t_end=0.02, engine="compiled", stabilisation="projection")
    yield lambda: go.simulate("box", t_end=0.2, engine="compiled")
    yield lambda: go.simulate("two-bar", t_end=0.2, engine="compiled")
    yield lambda: go.simulate_batch("knife-edge-body", initial={"q0": np.zeros((4, 3))}, t_end=0.05)
    yield lambda: go.simulate("bouncing-ball", stepper="moreau-jean", dt=1e-3, t_end=0.5, engine="compiled")
    chain = Chain(20)
    q, v = chain.state(-1.0 + 0.4 * np.sin(0.9 * np.arange(20)), np.cos(0.3 * np.arange(20)))
    yield lambda: go.simulate(
        chain.system, q0=q, v0=v, dt=1e-3, t_end=0.02, stabilisation="projection", engine="compiled"
    )
    M = np.array([[2.0, 1.0, 0.3], [0.5, 1.5, 0.2], [0.1, 0.4, 1.0]])
    yield lambda: go.solve(go.LCP(M, np.array([-1.0, 0.5, -2.0])), solver="principal-pivoting")
    index = lambda: np.zeros(3, dtype=np.int64)  # noqa: E731
    yield lambda: pivoting.eliminate(M.copy(), index(), index(), 3)


def copied(x: Any, known: dict[int, Any] | None = None) -> Any:
    """An argument with memory of its own; an array that occurs twice is one array again."""
    known = {} if known is None else known
    if isinstance(x, np.ndarray):
        return known.setdefault(id(x), x.copy())
    if isinstance(x, tuple):
        parts = [copied(part, known) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    return x


Call = tuple[Any, tuple[ModuleType, ...], tuple[Any, ...], tuple[Any, ...], Any]


@pytest.fixture(scope="module")
def calls() -> dict[str, Call]:
    """The first call of each function: the function, modules given to it, arguments before and after, the result."""
    found: dict[str, Call] = {}
    run, compile_functions = MachineCode.__call__, modules.functions
    modules_of: dict[Any, tuple[ModuleType, ...]] = {}

    def kept(*arguments: Any, given: tuple[ModuleType, ...] = (), **settings: Any) -> Any:
        made = compile_functions(*arguments, given=given, **settings)
        modules_of.update(dict.fromkeys(made.values(), given))
        return made

    def noted(self: MachineCode, *arguments: Any) -> Any:
        function = plain(self)
        given = modules_of.get(self, ())
        name = " ".join((*(x.__name__ for x in given), f"{function.__module__}.{function.__qualname__}"))
        before = copied(arguments)
        result = run(self, *arguments)
        found.setdefault(name, (function, given, before, copied(arguments), result))
        return result

    modules.native.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modules, "functions", kept)
        patch.setattr(MachineCode, "__call__", noted)
        # Kernels call their machine code directly.
        patch.setattr(Kernel, "__call__", lambda self, *arguments: noted(self.code, *arguments))
        for motion in motions():
            motion()
    return found


def by_numba(function: Any, known: dict[Any, Any], given: tuple[ModuleType, ...] = ()) -> Any:
    """A function and all that it calls, compiled by numba, with the names that the modules `given` define."""
    function = plain(function)
    if (function, given) not in known:
        scope = dict(function.__globals__)
        for module in given:
            scope |= {name: x for name, x in vars(module).items() if not name.startswith("__")}
        for name in function.__code__.co_names:
            inner = plain(scope.get(name))
            if isinstance(inner, FunctionType) and inner.__module__.startswith("gaussopt"):
                scope[name] = by_numba(inner, known, given)
        known[function, given] = numba.njit(error_model="numpy")(
            FunctionType(function.__code__, scope, function.__name__)
        )
    return known[function, given]


def flat(x: Any) -> list[np.ndarray[Any, Any]]:
    """Arrays and numbers of an argument or a result."""
    if isinstance(x, tuple):
        return [y for part in x for y in flat(part)]
    return [] if x is None or isinstance(x, MachineCode | Kernel) else [np.ravel(np.asarray(x, dtype=np.float64))]


def test_every_kernel_and_loop_agrees(calls: dict[str, Any]) -> None:
    kinds = {name.rpartition(".")[2] for name in calls}
    assert {"march", "rows", "all_rows", "stage", "solve_lcp", "eliminate"} <= kinds, kinds
    known: dict[Any, Any] = {}
    for name, (function, modules_given, before, after, result) in calls.items():
        kinds_of = [annotation_name(x) for x in function.__annotations__.values()]
        given = tuple(
            by_numba(x, known) if isinstance(x, MachineCode | Kernel)
            else x.reshape(-1) if kind == "list"  # by its first entry alone, whatever its axes
            else x
            for x, kind in zip(before, kinds_of, strict=False)
        )  # fmt: skip
        ours = by_numba(function, known, modules_given)(*given)
        agree = CONTROLLED if "_rk45_" in name else AGREE
        shown = tuple(x for x in given if not hasattr(x, "py_func"))
        for one, other in zip(flat((shown, ours)), flat((after, result)), strict=True):
            size = float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
            np.testing.assert_allclose(one, other, rtol=agree, atol=agree * max(size, 1.0), err_msg=name)
