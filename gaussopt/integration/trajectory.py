"""The result of a simulation: recorded states, forces and certificates; reading, writing and recording it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import About, counted, shown
from gaussopt.core.errors import BadInput
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.integration.display import Events, ShownMotion
from gaussopt.integration.saved_settings import check_entries, check_saved
from gaussopt.storage import netcdf
from gaussopt.storage.conventions import describe

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


MOST_BYTES = 4 * 2**30
"""Largest size of a recording; a larger recording is refused."""

PER_TIME = (
    "error_bound", "relative_error", "position_drift", "velocity_drift", "kinetic", "potential", "power",
    "forces_unique",
)  # fmt: skip
COLUMNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("q", "v", "a"), ("coordinate",)), "lam": ("row",), **dict.fromkeys(PER_TIME, ())
}  # fmt: skip
CONTACT_COLUMNS = {
    **dict.fromkeys(("lam_N", "gap", "mode"), ("contact",)), **dict.fromkeys(("lam_T", "slip"), ("contact", "tangent"))
}  # fmt: skip
"""Arrays of a trajectory and of its contacts, with their dimensions other than time."""
NAMED = "integral", "output"
"""Kinds of quantities that a user names."""


@shown
@dataclass(frozen=True, slots=True, repr=False)
class WorstCertificate:
    """Largest certificate values over all computed accelerations, including the stages of the stepper.

    Units are those of `gaussopt.certificates.base.Certificate`.
    """

    error_bound: float = 0.0
    relative_error: float = 0.0
    constraint_residual: float = 0.0
    force_residual: float = 0.0
    rounding_floor: float = 0.0
    evaluations: int = 0

    def _about(self) -> About:
        title = f"{counted(self.evaluations, 'evaluation')}, {self.words}"
        return About(title, rows=list(asdict(self).items()))

    @property
    def words(self) -> str:
        """The bound on the errors of all accelerations in words, or the rounding floor if the bound is smaller."""
        if math.isnan(self.error_bound):  # steps that are judged by Coulomb's law
            return f"Coulomb's law is met to {self.constraint_residual:.2g} m/s"
        if self.error_bound <= self.rounding_floor:
            return f"error at most {self.rounding_floor:.2g} (mass norm), the rounding floor"
        return f"relative error at most {self.relative_error:.2g}"

    def to_mapping(self) -> dict[str, Any]:
        """Return the entries for JSON."""
        return {k: v if math.isfinite(v) else None for k, v in asdict(self).items()}


@dataclass(frozen=True, repr=False)
class Trajectory(ShownMotion):
    """A simulated motion: recorded states, forces and certificates.

    Attributes
    ----------
    t : (N,), s
    q, v, a : (N, n)
    lam : (N, m)
    error_bound, relative_error : (N,)
        Certified distance of each recorded acceleration from the exact one, in the mass norm; the relative error is
        that distance divided by 1 + ||a||_M.
    position_drift, velocity_drift : (N,)
        Largest constraint residuals at position and velocity level; NaN where the system does not give them.
    kinetic, potential, power : (N,)
        Energies in J and the power of the non-conservative forces in W; NaN where the system does not give them.
    lam_N, lam_T : (N, k), (N, k, d)
        Contact forces, N; zero at open contacts, negative lam_N where a two-sided contact bears on its other wall.
    gap, slip : (N, k), (N, k, d)
        Gaps in m, slip velocities in m/s.
    mode : (N, k)
        0 open, 1 sliding, 2 sticking.
    forces_unique : (N,), bool
        Whether the acceleration determines lam, lam_N and lam_T. If it does not, as for two sticking contacts of one
        body, only the resultant of the forces has a meaning; the message names these forces.
    integrals, outputs : dict of (N,)
        Integrals from the start of the motion to each recorded instant, and outputs at these instants, by name.
    events : tuple of dict, printed with one line for each event
        Events of the motion: {"t", "kind", ...}.
    error_estimate : (n,)
        Largest estimated error of each coordinate over the motion, in the unit of the coordinate: the error of the time
        steps, which certificates of accelerations do not cover, estimated by comparison with the motions that
        `meta["compared_with"]` names. NaN if it was not requested or the motion did not reach its end.
    status, message
        How the run ended. A run that stops early keeps its states so far; a run that fails at the start keeps the
        initial state, with NaN for accelerations and forces.
    warnings : tuple of str
        Warnings about the motion as a whole, in addition to its status: that it passed a singular position, for
        example. The message includes them.
    worst : WorstCertificate
    timing : seconds by part, summed over the run
        `prepare` and `compile`; `model` (equations), `build`, `setup`, `update`, `solve`, `recover` and `verify` of
        single steps (in compiled loops, `solve` is the time of whole steps); `events`, for finding and processing them;
        `record`; and `integration`, for the rest of the loop. They add up to `total`; `backend` is a part of `solve`.
    meta : settings of the run
        Its entry `steps` counts all steps of the method up to the last instant reached, recorded or not; for an
        adaptive method it counts accepted steps, even if dt is the recording interval.
    failed_step : the step whose answer was not accepted, if any
    failed_step_file : path to which that step was saved
    restart : data from which `simulate(..., start=...)` continues
    problem : Problem or System that was simulated, which `animate` draws; None in a motion that was loaded or unpickled
    """

    t: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    lam: Matrix
    error_bound: Vector
    relative_error: Vector
    position_drift: Vector
    velocity_drift: Vector
    kinetic: Vector
    potential: Vector
    power: Vector
    status: Status
    message: str
    worst: WorstCertificate
    timing: Mapping[str, float]
    meta: Mapping[str, Any] = field(default_factory=dict)
    failed_step: StepData | None = None
    failed_step_file: str | None = None
    lam_N: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    lam_T: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0, 1)))
    gap: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    slip: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0, 1)))
    mode: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    forces_unique: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    events: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    restart: Mapping[str, Any] = field(default_factory=dict, repr=False)
    error_estimate: Vector = field(default_factory=lambda: np.zeros(0))
    integrals: Mapping[str, Vector] = field(default_factory=dict)
    outputs: Mapping[str, Vector] = field(default_factory=dict)
    problem: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", Events(self.events))

    def __getstate__(self) -> dict[str, Any]:
        """Return the entries to pickle, without the problem, whose functions may exist only in this session."""
        return {**self.__dict__, "problem": None}

    @property
    def _known(self) -> dict[str, tuple[str, ...]]:
        """Names of the arrays that the motion has, with the names of their axes."""
        known = COLUMNS | (CONTACT_COLUMNS if self.contacts else {})
        return {k: x for k, x in known.items() if k != "forces_unique" or len(self.forces_unique) == len(self.t)}

    def to_xarray(self) -> xr.Dataset:
        """Return an xarray Dataset with dimensions time, coordinate and row, described by the CF conventions."""
        import xarray as xr

        variables: dict[str, Any] = {
            name: (("time", *dimensions), getattr(self, name)) for name, dimensions in self._known.items()
        }
        coords: dict[str, Any] = {"time": self.t, "coordinate": list(self.coordinates)}
        for kind, found in ((kind, getattr(self, f"{kind}s")) for kind in NAMED):
            if found:
                variables[f"{kind}s"] = (("time", kind), np.stack(list(found.values()), axis=1))
                coords[kind] = list(found)
        if len(self.error_estimate):
            variables["error_estimate"] = ("coordinate", self.error_estimate)
        if self.contacts:
            coords["contact"] = list(self.contacts)
        if self.lam.shape[1]:
            coords["row"] = list(self.rows)
        data = xr.Dataset(variables, coords=coords)
        data.attrs.update(
            events=json.dumps(list(self.events)), warnings=json.dumps(list(self.warnings)), status=str(self.status),
            message=self.message, worst=json.dumps(self.worst.to_mapping()), timing=json.dumps(dict(self.timing)),
            meta=json.dumps(dict(self.meta)), restart=json.dumps(dict(self.restart)),
            parameters=json.dumps(dict(self.meta.get("parameters", {}))),
        )  # fmt: skip
        given = [self.meta.get(name) for name in ("problem", "formulation", "solver", "stepper")]
        title = "motion of {}: formulation {}, solver {}, stepper {}".format(*given)
        return describe(data, title, self.meta.get("units"))

    def to_pandas(self) -> pd.DataFrame:
        """Return a table with one row per instant: t, q, v, a by coordinate, lam, certificate, drift, energy."""
        import pandas as pd

        columns: dict[str, Vector] = {"t": self.t}
        for prefix, block in (("", self.q), ("v_", self.v), ("a_", self.a)):
            columns |= {prefix + name: block[:, i] for i, name in enumerate(self.coordinates)}
        columns |= {name: self.lam[:, i] for i, name in enumerate(self.rows)}
        columns |= {name: getattr(self, name) for name in PER_TIME if name in self._known}
        columns |= {f"integral_{name}": values for name, values in self.integrals.items()} | dict(self.outputs)
        for i, name in enumerate(self.contacts):
            columns |= {f"{what}_{name}": getattr(self, what)[:, i] for what in ("lam_N", "gap", "mode")}
            for j in range(self.lam_T.shape[2]):
                end = name if self.lam_T.shape[2] == 1 else f"{name}{j + 1}"
                columns |= {f"lam_T_{end}": self.lam_T[:, i, j], f"slip_{end}": self.slip[:, i, j]}
        return pd.DataFrame(columns)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a NetCDF file, completely or not at all.

        Raises
        ------
        BadInput
            If the file cannot be written; MachineFailure where the disk is full.
        """
        return netcdf.write(self.to_xarray(), path)

    def to_netcdf(self) -> bytes:
        """Return the contents of the file that `save` writes."""
        return b"".join(netcdf.image(self.to_xarray()))

    def to_mapping(self) -> dict[str, Any]:
        """Return last state, worst certificate, drifts, energies, events and settings as data for JSON.

        If nothing was recorded, the entries of the last state are None.
        """
        last = len(self.t) - 1
        timing = dict(self.timing)
        energy: dict[str, Any] = {}
        if last >= 0 and math.isfinite(self.kinetic[-1]):
            energy = {
                "initial": self.energy[0], "final": self.energy[-1], "kinetic": self.kinetic[-1],
                "potential": self.potential[-1], "power": self.power[-1],
            }  # fmt: skip
        drift = {
            name: float(values.max()) if len(values) else None
            for name, values in (("position", self.position_drift), ("velocity", self.velocity_drift))
        }

        def final(array: Any) -> Any:
            return array[-1] if last >= 0 else None

        return {
            "problem": self.meta["problem"], "formulation": self.meta["formulation"], "solver": self.meta["solver"],
            "stand_ins": list(self.meta.get("stand_ins", ())), "stepper": self.meta["stepper"],
            "status": str(self.status), "message": self.message, "t": final(self.t),
            "q": final(self.q), "v": final(self.v), "a": final(self.a), "lam": final(self.lam),
            "lam_N": final(self.lam_N), "lam_T": None if last < 0 else _plane(self.lam_T[-1]),
            "contacts": list(self.contacts), "g_N": final(self.gap), "v_T": None if last < 0 else _plane(self.slip[-1]),
            "coordinates": list(self.coordinates), "steps": self.meta["steps"],
            **{f"{kind}s": {x: final(y) for x, y in getattr(self, f"{kind}s").items()} for kind in NAMED},
            "events": list(self.events),
            "certificate": self.worst.to_mapping(), "error_estimate": self.error_estimate,
            "compared_with": self.meta.get("compared_with", []), "drift": drift,
            "energy": energy, "timing": timing,
            "parameters": self.meta["parameters"], "settings": {
                k: self.meta[k] for k in ("dt", "t_end", "rtol", "atol", "tolerance", "stabilisation", "solver_options")
            },
            "engine": self.meta.get("engine", "interpreted"), "forces_unique": bool(self.forces_unique.all()),
            "open_forces": self.meta.get("open_forces", {}), "warnings": list(self.warnings),
            "failed_step_file": self.failed_step_file,
        }  # fmt: skip

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Read a file that `save` wrote, and verify its checksum, if any; see `gaussopt.storage.netcdf.read`.

        Raises
        ------
        BadInput
            If the file is missing, damaged or not a trajectory.
        """
        data = netcdf.read(path, "a trajectory file")
        try:
            found = cls(**_columns(data), **_attributes(data.attrs))
            check_saved(found.meta, found.restart, *found.q.shape)
            if (len(found.coordinates), len(found.contacts)) != (found.q.shape[1], found.lam_N.shape[1]):
                raise ValueError("it names more or fewer coordinates or contacts than it holds")
            return found
        except BadInput as error:
            raise BadInput(f"{path} is damaged: {error}; use a copy, or compute the motion again.") from None
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise BadInput(f"{path} is not a trajectory file ({netcdf.first_line(error)}).") from None


def _columns(data: xr.Dataset) -> dict[str, Any]:
    """Return the arrays of a trajectory in a file; raises an error if their shapes do not fit each other."""
    found: dict[str, Any] = {str(name): np.asarray(data[name].values) for name in data.data_vars}
    found["t"] = np.asarray(data["time"].values)
    found |= {f"{kind}s": _by_name(data, kind, len(found["t"])) for kind in NAMED}
    k, d = found["lam_T"].shape[1:] if "lam_T" in found else (0, 1)
    n = found["q"].shape[-1]
    found["error_estimate"] = found.get("error_estimate", np.full(n, np.nan)).astype(np.float64)
    if found["error_estimate"].shape != (n,):
        raise ValueError(f"error_estimate is of shape {found['error_estimate'].shape}, expected ({n},)")
    sizes = {"coordinate": n, "row": found["lam"].shape[-1], "contact": k, "tangent": d}
    optional = {"forces_unique", *(() if "lam_T" in found else CONTACT_COLUMNS)}
    for name, dimensions in {"t": (), **COLUMNS, **CONTACT_COLUMNS}.items():
        shape = len(found["t"]), *(sizes[x] for x in dimensions)
        array = found.get(name, np.zeros(shape)) if name in optional else found[name]
        if array.shape != shape or array.dtype.kind not in "fiub":
            raise ValueError(f"{name} is of shape {array.shape} and type {array.dtype}, expected numbers of {shape}")
        found[name] = array.astype(np.float64)
    if not (np.isfinite(found["t"]).all() and (np.diff(found["t"]) >= 0).all()):
        raise ValueError("its instants do not follow each other")
    return found | {"forces_unique": found["forces_unique"] > 0}


def _by_name(data: xr.Dataset, kind: str, instants: int) -> dict[str, Vector]:
    """Return the integrals or outputs by name; raises ValueError if their shape is wrong."""
    if f"{kind}s" not in data:
        return {}
    values, names = np.asarray(data[f"{kind}s"].values, dtype=np.float64), data[kind].values.tolist()
    if values.shape != (instants, len(names)):
        raise ValueError(f"{kind}s is of shape {values.shape}, expected ({instants}, {len(names)})")
    return dict(zip(map(str, names), values.T, strict=True))


def _attributes(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a trajectory other than its arrays; raises an error if they are not valid."""
    read: dict[str, Any] = {key: json.loads(attrs[key]) for key in ("worst", "timing", "meta")}
    missing = {"restart": "{}", "events": "[]", "warnings": "[]"}
    read |= {key: json.loads(attrs.get(key, text)) for key, text in missing.items()}
    check_entries(read)
    read |= {key: tuple(read[key]) for key in ("events", "warnings")}
    worst: dict[str, Any] = {k: math.nan if v is None else v for k, v in read["worst"].items()}
    return read | {
        "status": Status(attrs["status"]), "message": str(attrs["message"]), "worst": WorstCertificate(**worst),
    }  # fmt: skip


def _plane(forces: Any) -> Any:
    """Return contact forces or slips, (k, d), as (k,) for planar contacts (d = 1)."""
    return forces[:, 0] if forces.shape[1] == 1 else forces
