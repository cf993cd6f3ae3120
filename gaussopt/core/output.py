"""Quantities that are computed from the record of a motion, whatever engine computed the motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import UnknownName
from gaussopt.core.motion import RecordedMotion


@dataclass(frozen=True)
class Output:
    """One or several quantities at each recorded instant, for `simulate(..., outputs={name: output})`.

    A model makes them by `point`, `force` and `displacement`, the system of a MuJoCo model by `point` and `sensors`.

    Attributes
    ----------
    units : units by the names of the parts, such as {"x": "m", "v_x": "m/s"}; a single quantity has the part ""
    values : function of the motion that returns the values of each part, (N,), in the same order

    Examples
    --------
    >>> import gaussopt as go
    >>> speed = go.Output({"": "m/s"}, lambda motion: [(motion.v**2).sum(axis=1) ** 0.5])
    >>> motion = go.simulate("pendulum", t_end=0.1, dt=1e-2, outputs={"speed": speed})
    >>> motion.outputs["speed"].shape
    (11,)
    """

    units: Mapping[str, str]
    values: Callable[[RecordedMotion], Any]

    @classmethod
    def contact(cls, name: str) -> Output:
        """Return the forces of the contact `name` and of its further points, `name, 2` and so on, added up.

        Its parts are `normal`, the sum of the normal forces, and `friction`, the sum of the magnitudes of the friction
        forces, in N. In a MuJoCo model, contacts are named after two geometries, such as "floor, foot". The values are
        NaN if the motion has no such contact.
        """

        def values(motion: RecordedMotion) -> list[Vector]:
            own = [i for i, x in enumerate(motion.contacts) if x == name or x.removeprefix(f"{name}, ").isdecimal()]
            if not own:
                raise UnknownName("contact of this motion", name, motion.contacts)
            return [motion.lam_N[:, own].sum(axis=1), np.linalg.norm(motion.lam_T[:, own], axis=2).sum(axis=1)]

        return cls({"normal": "N", "friction": "N"}, values)

    def names(self, name: str) -> dict[str, str]:
        """Return a dict from the name of each quantity, `name.part`, to its unit, if the output is called `name`."""
        return {f"{name}.{part}" if part else name: unit for part, unit in self.units.items()}

    def of(self, name: str, motion: RecordedMotion) -> dict[str, Vector]:
        """Return the values, (N,), by the names of the quantities."""
        found = zip(self.names(name), self.values(motion), strict=True)
        return {key: np.broadcast_to(np.asarray(x, dtype=np.float64), len(motion.t)).copy() for key, x in found}
