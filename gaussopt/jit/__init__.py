"""Kernels: functions in a small subset of Python that are compiled to machine code.

The kernel language is a subset of the one that numba's `njit` compiles: floats, whole numbers, truth values, contiguous
arrays of floats or whole numbers, tuples of two, named tuples, `math`, `np.zeros` and `np.empty`, `for` over `range`,
`while`, `if`, conditional expressions and calls of other kernels. Only functions that are passed as arguments need a
signature in addition. `tests/jit/test_numba.py` compiles every kernel with numba and compares the results:

    python -m pytest -n 0 -m numba tests/jit/test_numba.py
"""
