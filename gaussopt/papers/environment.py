"""The section on where and with what the report was computed."""

from __future__ import annotations

import os
import platform
from importlib import metadata

import gaussopt
from gaussopt.reporting.document import Paragraph, Section, Table
from gaussopt.work import Outcome

PACKAGES = (
    "numpy", "scipy", "cvxpy", "osqp", "clarabel", "deap", "daqp", "piqp", "proxsuite", "qpsolvers", "quadprog",
    "highspy", "scs", "sympy", "matplotlib", "xarray", "h5netcdf", "h5py",
)  # fmt: skip


def section(outcomes: dict[str, Outcome]) -> Section:
    """Versions, machine, seconds by case."""
    rows = [("gaussopt", gaussopt.__version__), ("Python", platform.python_version())]
    rows += [(name, _version(name)) for name in PACKAGES]
    rows += [("system", f"{platform.system()} {platform.machine()}"), ("cores", str(os.cpu_count()))]
    versions = Table("environment", "Versions and machine of this run.", ("what", "version"), tuple(rows))
    seconds = tuple((key, o.seconds, o.failure or "done") for key, o in outcomes.items())
    cases = Table("cases", "Every case of this run.", ("case", "seconds", "ended"), seconds)
    text = (
        "Times depend on the machine: read ratios, not microseconds. BLAS runs on one thread. Everything else is "
        "deterministic: the genetic algorithm and every random draw are seeded."
    )
    return Section("environment", "Environment", (Paragraph(text), versions, cases))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
