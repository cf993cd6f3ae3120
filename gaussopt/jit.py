"""Compiled functions where numba is installed, the same functions in plain Python where it is not.

Modules that hold kernels import this one and are imported only when a kernel is used, because numba takes a third of
a second to import. `NUMBA_DISABLE_JIT=1` runs the plain functions although numba is there.

What numba compiles costs some 15 ms a statement, most of it for loops and for what handles arrays. `kernel` and `part`
are for functions that make no arrays: without the counting of references they compile and run faster. A `part` has no
entrance from Python either.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def lightly() -> Iterator[None]:
    """Compile in three quarters of the time, where loops run over a few entries and gain nothing from vectors.

    Their vector forms, with what decides between both, are a good part of the code. Another tenth of the time goes to
    the collector of cyclic garbage.
    """
    running, vectors = gc.isenabled(), getattr(_settings, "LOOP_VECTORIZE", 0)
    gc.disable()
    try:
        _settings.LOOP_VECTORIZE = 0
        yield
    finally:
        _settings.LOOP_VECTORIZE = vectors
        if running:
            gc.enable()


if TYPE_CHECKING:

    def jit(function: F) -> F:
        """The function, compiled at its first call and kept on disk for the next process."""
        return function

    def jit_sums(function: F) -> F:
        """The same for functions whose sums may be taken in any order, so that they run in vector registers."""
        return function

    def kernel(function: F) -> F:
        """As `jit`, for a function that makes no arrays, nor calls one that does."""
        return function

    def part(function: F) -> F:
        """The same for one that only compiled functions call."""
        return function

    def inlined(function: F) -> F:
        """The same, put into its caller: a call hands over every array as seven numbers and more."""
        return function

    COMPILED: bool
    BARE: dict[str, Any]
    """What numba is told of a `kernel`."""
    _settings: Any
else:
    try:
        from numba import config, njit
    except ImportError:
        COMPILED, BARE, _settings = False, {}, SimpleNamespace()

        def jit(function: F) -> F:
            """The function itself: numba is not installed."""
            return function

        jit_sums = kernel = part = inlined = jit
    else:
        COMPILED, _settings = not config.DISABLE_JIT, config
        # Division by zero gives infinity as in numpy, so that no loop holds a branch for an exception. Kernels may be
        # given to compiled functions by their address; nobody calls the others from C, and wrappers for that would
        # take a tenth of the time of compiling.
        _KERNEL = {"cache": True, "error_model": "numpy", "_nrt": False}
        _OPTIONS = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
        BARE = {**_OPTIONS, "_nrt": False}
        jit = njit(**_OPTIONS)
        jit_sums = njit(**_OPTIONS, fastmath={"reassoc"})
        kernel = njit(**_KERNEL)
        part = njit(**BARE, no_cpython_wrapper=True)
        inlined = njit(**BARE, no_cpython_wrapper=True, forceinline=True)
