"""Compiled functions where numba is installed, the same functions in plain Python where it is not.

Modules that hold kernels import this one and are imported only when a kernel is used, because numba takes a third of
a second to import. `NUMBA_DISABLE_JIT=1` runs the plain functions although numba is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:

    def jit(function: F) -> F:
        """The function, compiled at its first call and kept on disk for the next process."""
        return function

    def jit_sums(function: F) -> F:
        """The same for functions whose sums may be taken in any order, so that they run in vector registers."""
        return function

    COMPILED: bool
else:
    try:
        from numba import config, njit
    except ImportError:
        COMPILED = False

        def jit(function: F) -> F:
            """The function itself: numba is not installed."""
            return function

        jit_sums = jit
    else:
        COMPILED = not config.DISABLE_JIT
        # Division by zero gives infinity as in numpy, so that no loop holds a branch for an exception. Nobody calls
        # kernels from C, and wrappers for that would take a tenth of the time of compiling.
        jit = njit(cache=True, error_model="numpy", no_cfunc_wrapper=True)
        jit_sums = njit(cache=True, error_model="numpy", no_cfunc_wrapper=True, fastmath={"reassoc"})
