"""Outputs of motions of MuJoCo models: points and sensors, from MuJoCo's functions at the recorded states."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.motion import RecordedMotion
from gaussopt.core.output import Output
from gaussopt.interchange.mujoco_actuation import Activations
from gaussopt.interchange.mujoco_picture import picture_of
from gaussopt.modelling.solids import SpacePicture

PLACES = {"SITE": ("SITE", "site_xpos"), "BODY": ("XBODY", "xpos"), "GEOM": ("GEOM", "geom_xpos")}
"""By kind of object: its type for velocities, and the field of its positions; names are looked up in this order."""


ALONG = {"free": ("x", "y", "z", "e0", "e1", "e2", "e3"), "ball": ("e0", "e1", "e2", "e3")}
"""Coordinates by kind of joint; a joint of any other kind has one coordinate with the joint's name."""


class MujocoOutputs:
    """Outputs of a motion, for `simulate(problem, outputs={"hand": problem.system.point("hand")})`."""

    activations: Activations
    mj: Any
    model: Any
    data: Any

    def place(self, t: float, q: Vector, w: Vector) -> None:
        """Set MuJoCo's data to a state."""
        raise NotImplementedError

    def velocities(self, q: Vector, v: Vector) -> Vector:
        """Return MuJoCo's velocities, (nv,), from the rates of the coordinates."""
        raise NotImplementedError

    def coordinates(self, n: int) -> tuple[str, ...]:
        """Return the names of the coordinates: the joint's name, with a prefix such as x_ for free and ball joints."""
        return self._coordinates

    @cached_property
    def _coordinates(self) -> tuple[str, ...]:
        kinds = {int(self.mj.mjtJoint.mjJNT_FREE): "free", int(self.mj.mjtJoint.mjJNT_BALL): "ball"}
        found: list[str] = []
        for j, kind in enumerate(self.model.jnt_type.tolist()):
            joint = self.mj.mj_id2name(self.model, self.mj.mjtObj.mjOBJ_JOINT, j) or f"joint{j}"
            found += [f"{x}_{joint}" for x in ALONG[kinds[kind]]] if kind in kinds else [joint]
        return (*found, *self.activations.names)

    def picture(self, values: Any, variant: str = "") -> SpacePicture:
        """Return the picture in space of the geometries of the model."""
        return picture_of(self.mj, self.model, self.data, self.coordinates(0)[: self.model.nq])

    def point(self, name: str) -> Output:
        """Return position and velocity, x, y, z and v_x, v_y, v_z, of a site, a body (its frame) or a geometry.

        Raises UnknownName if none of them has this name.
        """
        mj, model, data = self.mj, self.model, self.data
        known = [(getattr(mj.mjtObj, f"mjOBJ_{kind}"), rest) for kind, rest in PLACES.items()]
        found = [(mj.mj_name2id(model, kind, name), rest) for kind, rest in known]
        number, (of_rates, places) = next((x for x in found if x[0] >= 0), (-1, ("", "")))
        if number < 0:
            counts = zip(known, (model.nsite, model.nbody, model.ngeom), strict=True)
            all_names = [mj.mj_id2name(model, kind, i) for (kind, _), count in counts for i in range(count)]
            raise UnknownName("site, body or geometry", name, [x for x in all_names if x])
        kind, twist = getattr(mj.mjtObj, f"mjOBJ_{of_rates}"), np.zeros(6)

        def read() -> Vector:
            mj.mj_objectVelocity(model, data, kind, number, twist, 0)
            return np.concatenate((getattr(data, places)[number], twist[3:]))

        units = {**dict.fromkeys("xyz", "m"), **dict.fromkeys(("v_x", "v_y", "v_z"), "m/s")}
        return self._output(units, read)

    def sensors(self, *names: str) -> Output:
        """Return the values of the given sensors, or of all; the parts are called `name`, or `name.1`, `name.2`, ...

        Raises UnknownName if no sensor has a given name, and BadInput for sensors of forces or accelerations, which
        MuJoCo would take from its own soft contacts, or of past values.
        """
        mj, model, data = self.mj, self.model, self.data
        all_names = [mj.mj_id2name(model, mj.mjtObj.mjOBJ_SENSOR, i) or f"sensor{i}" for i in range(model.nsensor)]
        places: list[int] = []
        units: dict[str, str] = {}
        for name in names or all_names:
            if name not in all_names:
                raise UnknownName("sensor", name, all_names)
            i = all_names.index(name)
            if model.sensor_needstage[i] == mj.mjtStage.mjSTAGE_ACC or model.sensor_historyadr[i] >= 0:
                raise BadInput(
                    f"Sensor {name!r} shows forces, accelerations or past values, and MuJoCo has those of its own soft "
                    "contacts only; name the other sensors, and take forces of contacts by go.Output.contact."
                )
            first, size = int(model.sensor_adr[i]), int(model.sensor_dim[i])
            places += range(first, first + size)
            units |= dict.fromkeys([name] if size == 1 else [f"{name}.{j + 1}" for j in range(size)], "")

        def read() -> Vector:
            mj.mj_sensorPos(model, data)
            mj.mj_sensorVel(model, data)
            return np.array(data.sensordata[places])

        return self._output(units, read)

    def _output(self, units: dict[str, str], read: Callable[[], Vector]) -> Output:
        """Return the output whose values are read from MuJoCo's data at each recorded state."""

        def values(motion: RecordedMotion) -> Any:
            rows = []
            for t, q, v in zip(motion.t.tolist(), motion.q, motion.v, strict=True):
                self.place(t, q, self.velocities(q, v))
                rows.append(read())
            return np.reshape(rows, (-1, len(units))).T

        return Output(units, values)
