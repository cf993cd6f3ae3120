"""Kernels: functions in a small subset of Python that are compiled to machine code.

The kernel language is a subset of the language that numba's `njit` compiles: floats, integers, booleans, contiguous
arrays of floats or integers, pairs, named tuples, `math`, `np.zeros` and `np.empty`, `for` over `range`, `while`, `if`,
conditional expressions and calls of other kernels. Numba needs additional signatures only for functions that are passed
as arguments. `tests/jit/test_numba.py` compiles every kernel with numba and compares the results:

    python -m pytest -n 0 -m numba tests/jit/test_numba.py
"""
