"""Attributes of NetCDF files by the CF conventions: units, long names, meanings of codes, origin of the data.

Reference: https://cfconventions.org, version 1.11. Quantities with mixed units (coordinates in m and rad) have no unit
attribute; their units are stored with the coordinate names. Time has no CF standard name, as that requires a date.
"""

from __future__ import annotations

import platform
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaussopt._version import __version__

if TYPE_CHECKING:
    import xarray as xr

WORDS: dict[str, tuple[str, str | None]] = {
    "time": ("time", "s"), "t": ("time", "s"), "q": ("coordinates", None), "v": ("velocities", None),
    "a": ("accelerations", None), "lam": ("forces of the equality constraints, M a + h = Q + J^T lam", None),
    "error_bound": ("certified distance of the acceleration to the true one, in the mass norm, kg^(1/2) m s-2", None),
    "error_estimate": ("largest estimated errors of the coordinates over the motion", None),
    "relative_error": ("error_bound divided by 1 + ||a||_M", "1"),
    "position_drift": ("largest constraint residual at position level", None),
    "velocity_drift": ("largest constraint residual at velocity level", None), "kinetic": ("kinetic energy", "J"),
    "potential": ("potential energy", "J"), "power": ("power of the non-conservative forces", "W"),
    "lam_N": ("normal forces of the contacts", "N"), "lam_T": ("friction forces of the contacts", "N"),
    "gap": ("gaps of the contacts", "m"), "slip": ("slip velocities of the contacts", "m s-1"),
    "mode": ("modes of the contacts", "1"),
    "outputs": ("requested outputs", None), "output": ("names of the outputs", None),
    "forces_unique": ("whether the forces are the only ones that cause the acceleration", None),
    "coordinate": ("names of the coordinates", None), "coordinate_units": ("units of the coordinates", None),
    "row": ("names of the equality constraints", None), "contact": ("names of the contacts", None),
    "trajectory": ("number of the trajectory", "1"), "status": ("how the trajectory ended", None),
    "message": ("how the trajectory ended, in a sentence", None),
    "reached": ("last instant at which the trajectory is known", "s"),
}  # fmt: skip
"""Long names and units of the variables of motions and batches; the unit is None for quantities with mixed units."""

RATES = {"q": "", "error_estimate": "", "v": " s-1", "a": " s-2"}


def describe(data: xr.Dataset, title: str, units: list[str] | None = None) -> xr.Dataset:
    """Give a dataset of a motion or of a batch its CF attributes; it is changed in place and returned.

    Parameters
    ----------
    data : xarray.Dataset
    title : description of the contents
    units : units of the coordinates, "" for a coordinate without unit
    """
    if units and any(units):
        data.coords["coordinate_units"] = ("coordinate", units)
    one = set(units or [""])
    for name, (words, unit) in WORDS.items():
        if name not in data.variables:
            continue
        variable: dict[str, Any] = data[name].attrs
        variable["long_name"] = words
        if unit is None and name in RATES and len(one) == 1 and (only := next(iter(one))):
            unit = only + RATES[name]
        if unit is not None:
            variable["units"] = unit
    data["time"].encoding["_FillValue"] = None  # coordinates have no missing values
    if "mode" in data.variables:
        data["mode"].attrs |= {"flag_values": [0.0, 1.0, 2.0], "flag_meanings": "open sliding sticking"}
    versions = f"gaussopt {__version__}, Python {platform.python_version()}"
    data.attrs |= {
        "Conventions": "CF-1.11", "title": title, "source": versions,
        "history": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {command()}", "references": "docs/files.md of gaussopt",
    }  # fmt: skip
    return data


def command() -> str:
    """Return the command line of this process; the program is named without its folder."""
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] not in ("", "-c", "-m") else "python"
    return shlex.join(["gaussopt" if program == "__main__.py" else program, *sys.argv[1:]])
