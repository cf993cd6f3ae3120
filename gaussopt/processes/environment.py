"""The environment of a result: versions of packages, and the source code of the core and of a job's entries.

A problem from a file may read other files, so that its source code alone does not determine its results; see
`fingerprint`.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt._version import __version__
from gaussopt.core import registry
from gaussopt.core.arrays import is_sparse
from gaussopt.core.errors import GaussoptError

ALWAYS = ("numpy", "scipy", "sympy")
"""Packages that the core computes with."""

LISTED = (
    "numpy", "scipy", "cvxpy", "osqp", "clarabel", "deap", "daqp", "piqp", "proxsuite", "qpsolvers", "quadprog",
    "highspy", "scs", "sympy", "matplotlib", "xarray", "h5netcdf", "h5py", "dask", "distributed",
)  # fmt: skip
"""Packages whose versions are listed in reports."""

ABSENT = "not installed"

OUTSIDE = (
    "reporting", "papers", "cli", *(package.removeprefix("gaussopt.") for package in registry.PACKAGES.values())
)  # fmt: skip
"""Folders outside the core: code that only shows results, and registered entries, which jobs list as dependencies."""

Environment = dict[str, Any]
"""A mapping with the keys python, gaussopt (versions), packages {distribution: version} and code {part: digest}."""


def environment(depends: Iterable[tuple[str, str]]) -> Environment:
    """Return all that decides the result of a job except its arguments, in JSON types; raises UnknownName.

    `depends` are pairs (kind, name) of registered entries; a solver's name may have a variant, as in "cvxpy:CLARABEL".
    """
    return _environment(tuple(sorted(set(depends))), registry.registered_files())


@cache
def _environment(depends: tuple[tuple[str, str], ...], plugins: tuple[registry.Registered, ...]) -> Environment:
    packages = set(ALWAYS)
    code = {"core": core_digest()}
    for kind, name in depends:
        base, _, variant = name.partition(":")
        entry = registry.load(kind, base)
        code[f"{kind} {base}"] = _sha256(registry.sources(kind, base))
        if kind == "problem" and registry.is_registered(kind, base):
            code[f"data of {kind} {base}"] = fingerprint(entry)
        packages |= {*getattr(entry, "requires", ()), *_backend(variant)}
    return {
        "python": platform.python_version(),
        "gaussopt": __version__,
        "packages": dict(sorted(_version(p) for p in packages)),
        "code": dict(sorted(code.items())),
    }


def difference(here: Mapping[str, Any], there: Mapping[str, Any]) -> str:
    """Return in words how the environment `there` differs from `here`; "" if they are equal."""
    own, others = ({part: of[part] for part in ("gaussopt", "python")} | of["packages"] for of in (here, there))
    for name, version in own.items():
        if others.get(name) != version:
            return f"{name} {others.get(name)} instead of {version}"
    changed = [part for part, digest in here["code"].items() if there["code"].get(part) != digest]
    return f"other source code ({', '.join(changed)})" if changed else ""


def refresh() -> None:
    """Clear the caches, so that later calls read the source files again."""
    core_digest.cache_clear()
    _environment.cache_clear()
    _version.cache_clear()


@cache
def core_digest() -> str:
    """Return the SHA-256 of the core's source files, as they were at the first call."""
    root = Path(__file__).parents[1]
    files = {f.relative_to(root): f for f in root.rglob("*.py")}
    return _sha256({name.as_posix(): f.read_bytes() for name, f in files.items() if _is_core(name)})


def _is_core(file: Path) -> bool:
    folder = ".".join(file.parts[:-1]) + "."
    return not folder.startswith(tuple(f"{outside}." for outside in OUTSIDE))


def _sha256(contents: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    for name, content in sorted(contents.items()):
        total.update(f"{name} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()


def _backend(variant: str) -> tuple[str, ...]:
    """Return the package of a solver variant, such as ("clarabel",) for "CLARABEL"; () if it is not installed."""
    return (variant.lower(),) if variant and _version(variant.lower())[1] != ABSENT else ()


def versions() -> dict[str, str]:
    """Return the versions of gaussopt, Python and the LISTED packages, the system, and the cores and vector units.

    Results agree to the last digit only on machines with equal vector units, by which libraries choose their code.
    """
    found = {"gaussopt": __version__, "Python": platform.python_version()}
    found |= {name: _installed(name) for name in LISTED}
    units = np.show_config(mode="dicts")["SIMD Extensions"]
    return found | {
        "system": f"{platform.system()} {platform.machine()}", "cores": str(os.cpu_count()),
        "vector units": " ".join([*units["baseline"], *units["found"]]),
    }  # fmt: skip


def provenance(solver: str = "") -> dict[str, str]:
    """Return where, when and with what this process computes: processor, system, threads, versions and date, as text.

    `threads` is the limit for linear algebra libraries; `versions` includes the packages of the solver.
    """
    base, _, variant = solver.partition(":")
    requires = getattr(registry.load("solver", base), "requires", ()) if base else ()
    packages = dict(map(_version, (*ALWAYS, *sorted({*requires, *_backend(variant)} - {*ALWAYS}))))
    known = {"gaussopt": __version__, "Python": platform.python_version(), **packages}
    return {
        "processor": processor(), "system": f"{platform.system()} {platform.machine()}",
        "threads": os.environ.get("OMP_NUM_THREADS", str(os.cpu_count())),
        "versions": ", ".join(f"{name} {version}" for name, version in known.items()),
        "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip


@cache
def processor() -> str:
    """Return the model name of the processor, as the system reports it."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").is_file() else ""
    named = re.search(r"^model name\s*:(.*)", text, re.MULTILINE)
    return (" ".join(named[1].split()) if named else platform.processor()) or platform.machine()


@cache
def _version(package: str) -> tuple[str, str]:
    """Return the distribution that installs a package, and its version."""
    name = package
    if _installed(package) == ABSENT:  # a distribution may be named differently from its module; the search is slow
        name = next(iter(_distributions().get(package, [])), package)
    return name, _installed(name)


def _installed(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ABSENT


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


SHARES = (0.0, 0.5, 1.0)
"""Fractions of t_end at which the equations are evaluated; the state at a fraction x is the start plus x times AWAY."""

AWAY = 0.1
"""Amount that is added to all coordinates and velocities of the start to obtain the state for t_end."""

DIGITS = 10
"""Number of significant digits that enter the fingerprint; further digits depend on the machine."""


def fingerprint(entry: Any) -> str:
    """Return the SHA-256 of parameters, start, end, step and equations of a problem and of its cases and variants.

    Equations are identified by their generated source, if there is any, and by their values at three states.
    """
    variants = [entry, *(entry.at(variant=name) for name in entry.variants)]
    about = {
        "cases": {name: [dict(case.values), case.t_end] for name, case in entry.cases.items()},
        "models": [_model(model) for model in variants],
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _model(entry: Any) -> dict[str, Any]:
    return {
        "parameters": dict(entry.parameter_values), "t_end": entry.t_end, "dt": entry.dt, "q0": entry.q0.tolist(),
        "v0": entry.v0.tolist(), "events": [event.name for event in entry.user_events],
        "source": getattr(entry.system, "source", None), "values": list(_values(entry, entry.system)),
    }  # fmt: skip


def _values(entry: Any, system: Any) -> Iterator[Any]:
    for share in SHARES:
        away = AWAY * share
        try:
            step = system.evaluate(share * entry.t_end, entry.q0 + away, entry.v0 + away)
        except GaussoptError as error:  # some states cannot be evaluated, and have an error in place of values
            yield str(error)
            continue
        arrays = (
            step.M, step.h, step.Q, step.J, step.gamma, step.J_N, step.zeta_N, step.J_T, step.zeta_T, step.v_T, step.mu,
            step.g_N, step.gdot_N, step.e_N, step.e_T,
        )  # fmt: skip
        yield [None if x is None else [f"{value:.{DIGITS}g}" for value in _numbers(x)] for x in arrays]


def _numbers(x: Any) -> list[float]:
    """Return all entries of an array, or the stored entries of a sparse matrix."""
    return list((x.data if is_sparse(x) else x.ravel()).tolist())
