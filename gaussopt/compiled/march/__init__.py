"""Kernels: time loops (constant steps, error control, many lanes), recording, and one step of each method.

Kernels are written in the subset of Python of `gaussopt.jit.translation`. The names declared in `given.pyi` come from a
generated module when the kernels are compiled, so that LLVM sees the equations inside the loop.
"""
