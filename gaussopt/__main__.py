"""Entry point of the command line, also for `python -m gaussopt`."""

from __future__ import annotations

import os


def main() -> int:
    """Run the command line and return the exit code."""
    # The matrices are small, so threads inside BLAS cost more time than they save, and disturb measured times.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from gaussopt.cli.main import run

    return run()


if __name__ == "__main__":
    raise SystemExit(main())
