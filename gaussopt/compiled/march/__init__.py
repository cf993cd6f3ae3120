"""The loops over time as kernels: constant steps, error control, lanes, recorded rows, and the steps of each method.

Kernels are written in the subset of Python of `gaussopt.jit.translation`. The names declared in `given.pyi` come from a
generated module when the kernels are compiled, so that LLVM sees the equations inside the loop.
"""
