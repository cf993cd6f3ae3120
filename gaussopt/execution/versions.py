"""Versions of the packages and the machine that computed a result."""

from __future__ import annotations

import os
import platform
from importlib import metadata

import numpy as np

from gaussopt._version import __version__

PACKAGES = (
    "numpy", "scipy", "cvxpy", "osqp", "clarabel", "deap", "daqp", "piqp", "proxsuite", "qpsolvers", "quadprog",
    "highspy", "scs", "sympy", "matplotlib", "xarray", "h5netcdf", "h5py", "dask", "distributed",
)  # fmt: skip


def versions() -> dict[str, str]:
    """gaussopt, Python, the packages that matter, the system, its cores and their vector units.

    Numbers agree to the last digit only where the vector units do: libraries choose their kernels by them.
    """
    found = {"gaussopt": __version__, "Python": platform.python_version()}
    found |= {name: _version(name) for name in PACKAGES}
    units = np.show_config(mode="dicts")["SIMD Extensions"]
    return found | {
        "system": f"{platform.system()} {platform.machine()}", "cores": str(os.cpu_count()),
        "vector units": " ".join([*units["baseline"], *units["found"]]),
    }  # fmt: skip


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
