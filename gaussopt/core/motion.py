"""The interface by which figures and animations read the record of a motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.status import Status


class RecordedMotion:
    """The recorded entries of a motion; `gaussopt.Trajectory` documents them."""

    t: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    lam: Matrix
    lam_N: Matrix
    lam_T: NDArray[np.float64]
    gap: Matrix
    slip: NDArray[np.float64]
    error_bound: Vector
    relative_error: Vector
    position_drift: Vector
    velocity_drift: Vector
    kinetic: Vector
    potential: Vector
    power: Vector
    status: Status
    message: str
    worst: Any
    meta: Mapping[str, Any]
    events: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]
    error_estimate: Vector
    problem: Any
    outputs: Mapping[str, Vector]

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts."""
        return tuple(self.meta.get("contacts", ()))

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(self.meta.get("coordinates", [f"q{i + 1}" for i in range(self.q.shape[1])]))

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter values by name; those that a control sets are arrays, (N,)."""
        inputs = self.meta.get("control", {}).get("inputs", ())
        return {**self.meta.get("parameters", {}), **{name: self.outputs[f"control.{name}"] for name in inputs}}

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the equality rows, as the system names them; otherwise lam1, lam2 and so on."""
        m = self.lam.shape[1]
        named = tuple(self.meta.get("rows", ()))
        return named if len(named) == m else tuple(f"lam{i + 1}" for i in range(m))

    def reaction(self, joint: str) -> Matrix:
        """Return the forces that a joint exerts, the multipliers of its rows, (N, number of rows), in N or N m.

        For a contact, return its normal and tangential forces, (N, 1 + d), in N. A joint with friction has contacts,
        whose forces are appended after the multipliers. Raises UnknownName, or BadInput for a joint without rows, as
        in a model in joint coordinates.
        """
        mine, touching = (
            [i for i, name in enumerate(names) if joint in (name, name.rpartition(".")[0])]
            for names in (self.rows, self.contacts)
        )
        if not mine and joint in self.meta.get("without_rows", ()):
            raise BadInput(
                f"{joint!r} has no rows in joint coordinates, and its forces are no unknowns there; build the model "
                "with coordinates='maximal' to have them."
            )
        if not mine and not touching:
            joints = [row.rpartition(".")[0] or row for row in self.rows]
            raise UnknownName("joint or contact", joint, dict.fromkeys((*joints, *self.contacts)))
        forces = [np.column_stack((self.lam_N[:, i], self.lam_T[:, i])) for i in touching]
        return np.hstack([self.lam[:, mine], *forces])

    @property
    def energy(self) -> Vector:
        """Total mechanical energy, (N,), J."""
        return self.kinetic + self.potential
