"""The loops over time as kernels: constant steps, error control, lanes, recorded rows, and the steps of each method.

Kernels are written in the forms of `gaussopt.jit.translation`. What `given.pyi` declares comes from a generated module
when they are compiled, so that LLVM sees the equations inside the loop.
"""
