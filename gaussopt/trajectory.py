"""A computed motion with its certificates."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.errors import BadInput
from gaussopt.files import check_target
from gaussopt.status import Status
from gaussopt.stepdata import Matrix, StepData, Vector

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass(frozen=True, slots=True)
class WorstCertificate:
    """Largest values over every step that was solved, stages of the stepper included.

    Units as in `gaussopt.certificate.Certificate`.
    """

    error_bound: float = 0.0
    relative_error: float = 0.0
    constraint_residual: float = 0.0
    force_residual: float = 0.0
    rounding_floor: float = 0.0
    evaluations: int = 0

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        return {k: v if math.isfinite(v) else None for k, v in asdict(self).items()}


@dataclass(frozen=True)
class Trajectory:
    """Recorded states, forces and certificates of a run.

    Attributes
    ----------
    t : (N,), s
    q, v, a : (N, n)
    lam : (N, m)
    error_bound, relative_error : (N,)
        Certified distance of each recorded acceleration to the true one, in the mass norm; the second one
        divided by 1 + ||a||_M.
    position_drift, velocity_drift : (N,)
        Largest constraint residuals at position and velocity level; NaN where the system does not give them.
    kinetic, potential, power : (N,)
        Energies in J and the power of the non-conservative forces in W; NaN where not given.
    status, message
        How the run ended. A run that stops early keeps what it has.
    worst : WorstCertificate
    timing : seconds by part, summed over the run
    meta : what was run
    failed_step : the step that was not accepted, if any
    failed_step_file : where it was saved
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

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(self.meta.get("coordinates", [f"q{i + 1}" for i in range(self.q.shape[1])]))

    @property
    def energy(self) -> Vector:
        """Total mechanical energy, (N,), J."""
        return self.kinetic + self.potential

    def to_xarray(self) -> xr.Dataset:
        """As an xarray Dataset with dimensions time, coordinate and row."""
        import xarray as xr

        per_time = (
            "error_bound",
            "relative_error",
            "position_drift",
            "velocity_drift",
            "kinetic",
            "potential",
            "power",
        )
        variables: dict[str, Any] = {
            "q": (("time", "coordinate"), self.q),
            "v": (("time", "coordinate"), self.v),
            "a": (("time", "coordinate"), self.a),
            "lam": (("time", "row"), self.lam),
            **{name: (("time",), getattr(self, name)) for name in per_time},
        }
        data = xr.Dataset(variables, coords={"time": self.t, "coordinate": list(self.coordinates)})
        data.attrs.update(
            status=str(self.status),
            message=self.message,
            worst=json.dumps(self.worst.to_mapping()),
            timing=json.dumps(dict(self.timing)),
            meta=json.dumps(dict(self.meta)),
        )
        return data

    def to_pandas(self) -> pd.DataFrame:
        """As a table, one row an instant: t, q, v, a by coordinate, lam, certificate, drift, energy."""
        import pandas as pd

        columns: dict[str, Vector] = {"t": self.t}
        for prefix, block in (("", self.q), ("v_", self.v), ("a_", self.a)):
            columns |= {prefix + name: block[:, i] for i, name in enumerate(self.coordinates)}
        columns |= {f"lam{i + 1}": self.lam[:, i] for i in range(self.lam.shape[1])}
        for name in (
            "error_bound",
            "relative_error",
            "position_drift",
            "velocity_drift",
            "kinetic",
            "potential",
            "power",
        ):
            columns[name] = getattr(self, name)
        return pd.DataFrame(columns)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write NetCDF; the file appears whole or not at all.

        Raises
        ------
        BadInput
            If the file cannot be written.
        """
        check_target(Path(path))
        target = Path(os.path.realpath(path))  # a link stays a link
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        try:
            handle, aside = tempfile.mkstemp(dir=target.parent, suffix=".nc.tmp")
            os.close(handle)
        except OSError as error:
            raise BadInput(f"Cannot write {target}: {error.strerror or error}.") from None
        try:
            self.to_xarray().to_netcdf(aside, engine="h5netcdf")
            os.chmod(aside, mode)
            os.replace(aside, target)
        except OSError as error:
            raise BadInput(f"Cannot write {target}: {error.strerror or error}.") from None
        finally:
            Path(aside).unlink(missing_ok=True)
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Read what `save` wrote.

        Raises
        ------
        BadInput
            If the file is missing or is no trajectory.
        """
        import xarray as xr

        try:
            with xr.open_dataset(path, engine="h5netcdf") as data:
                data.load()
                get: dict[str, Any] = {str(name): np.asarray(data[name].values) for name in data.data_vars}
                attrs: dict[str, Any] = {key: json.loads(data.attrs[key]) for key in ("worst", "timing", "meta")}
                worst: dict[str, Any] = {k: math.nan if v is None else v for k, v in attrs["worst"].items()}
                status, message = Status(data.attrs["status"]), str(data.attrs["message"])
                return cls(
                    np.asarray(data["time"].values), status=status, message=message, timing=attrs["timing"],
                    worst=WorstCertificate(**worst),
                    meta=attrs["meta"], **get,
                )  # fmt: skip
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise BadInput(f"{path} is not a trajectory file ({type(error).__name__}: {error}).") from None


class Recorder:
    """Collects rows of a trajectory while it is computed."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []

    def add(self, *row: Any) -> None:
        """One instant: t, q, v, a, lam, error_bound, relative_error, drifts, energies, power."""
        self._rows.append(row)

    def __len__(self) -> int:
        return len(self._rows)

    def arrays(self, n: int, m: int) -> dict[str, Any]:
        """The columns of `Trajectory`."""
        names = (
            "t", "q", "v", "a", "lam", "error_bound", "relative_error", "position_drift", "velocity_drift",
            "kinetic", "potential", "power",
        )  # fmt: skip
        widths = {"q": n, "v": n, "a": n, "lam": m}
        out: dict[str, Any] = {}
        for i, name in enumerate(names):
            column = np.array([row[i] for row in self._rows], dtype=np.float64)
            out[name] = column.reshape(len(self._rows), widths[name]) if name in widths else column
        return out
