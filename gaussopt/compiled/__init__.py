"""Whole motions as machine code: loops written by `gaussopt.codegen`, and kernels of contacts and linkages."""
