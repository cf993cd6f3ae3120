"""Whole motions as generated straight-line code: evaluate, Gauss step, integrate, project, in one loop.

`source` writes the arithmetic of a step for one pattern of zeros, `elimination` unrolls its linear system, `loops` put
an integration method around it, `modules` keep what was written, `translation` and `native` make machine code of it,
`run` drives it.
"""
