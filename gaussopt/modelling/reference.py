"""Reference trajectories of the package's problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference trajectory that ships with the package.

    Attributes
    ----------
    name : str
    file : CSV in problems/data
    columns : names of the coordinates in the file; d_ and dd_ before a name mark velocities and accelerations
    multipliers, energy : columns of multipliers and energy; energy is "" if the file has none
    normal_forces : columns of the normal contact forces, in the order of the system's contacts
    phase : column with the number of the phase between events, "" if there is none
    events : pairs (kind, time) in chronological order; a kind is "reversal", "stick", "slip", "lift_off" or "landing",
        followed by a colon and the contact's name for an event of a contact, or the name of a user event
    parameters : the parameter values that the reference belongs to
    accuracy : stated absolute error of the reference
    """

    name: str
    file: str
    parameters: Mapping[str, float]
    accuracy: float
    description: str
    columns: tuple[str, ...]
    multipliers: tuple[str, ...] = ()
    energy: str = ""
    variant: str = ""
    normal_forces: tuple[str, ...] = ()
    phase: str = ""
    events: tuple[tuple[str, float], ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """Settings with which `Problem.at` returns the problem of this reference."""
        return {**self.parameters, **({"variant": self.variant} if self.variant else {})}

    def load(self) -> ReferenceData:
        """Read the numbers of the reference from its file."""
        return _read(self)


@dataclass(frozen=True, slots=True)
class ReferenceData:
    """The numbers of a reference trajectory.

    t (N,), q, v, a (N, n), lam (N, m), energy (N,) in joule, lam_N (N, k) in newton, phase (N,) or None.
    """

    t: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    lam: Matrix
    energy: Vector
    lam_N: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    phase: NDArray[np.int_] | None = None


@cache
def _table(file: str) -> tuple[tuple[str, ...], Matrix]:
    """Return the header and the numbers of a reference file; callers must copy the numbers, because they are cached."""
    source = resources.files("gaussopt.problems").joinpath("data", file)
    head, *lines = source.read_text(encoding="utf-8").splitlines()
    return tuple(head.split(",")), np.array([[float(x) for x in line.split(",")] for line in lines])


def _read(entry: Reference) -> ReferenceData:
    head, table = _table(entry.file)
    place = {name: i for i, name in enumerate(head)}

    def block(prefix: str, names: tuple[str, ...]) -> Matrix:
        return table[:, [place[prefix + name] for name in names]]

    energy = table[:, place[entry.energy]].copy() if entry.energy else np.full(len(table), np.nan)
    q, v, a = (block(prefix, entry.columns) for prefix in ("", "d_", "dd_"))
    phase = table[:, place[entry.phase]].astype(int) if entry.phase else None
    lam, lam_N = block("", entry.multipliers), block("", entry.normal_forces)
    return ReferenceData(table[:, 0].copy(), q, v, a, lam, energy, lam_N, phase)
