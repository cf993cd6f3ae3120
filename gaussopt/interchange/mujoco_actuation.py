"""Actuators of a MuJoCo model in a motion: controls from a user's function, and activations, which are states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.jit.kernel import kernel

Control: TypeAlias = Callable[[float, Vector, Vector], ArrayLike]
"""Function of time, qpos and qvel that returns ctrl, (nu,)."""


def controls(given: Any, nu: int, at: str = "") -> Vector:
    """Return checked controls, (nu,), which a function returned `at` an instant; raises BadInput."""
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        found = np.full(nu, np.nan)
    if found.shape != (nu,) or not np.isfinite(found).all():
        raise BadInput(f"control returned {given!r}{at}; return {nu} finite numbers, one for each actuator.")
    return found


def name_of(mj: Any, model: Any, i: int) -> str:
    """Return the name of an actuator, or `actuator` with its number if it has none."""
    return str(mj.mj_id2name(model, mj.mjtObj.mjOBJ_ACTUATOR, i) or f"actuator{i}")


class Actuated:
    """The controls of a model in its motions: those of `data`, of a function at each step, or of `simulate(control=)`.

    Parameters
    ----------
    control : function of time, qpos and qvel that returns ctrl, (nu,), for each step; None if the controls stay
    """

    mj: Any
    model: Any
    data: Any

    def __init__(self, control: Control | None) -> None:
        self._control, kinds = control, self.mj.mjtTrn
        self._adhesion = np.flatnonzero(self.model.actuator_trntype == kinds.mjTRN_BODY)
        self._held = self._without_adhesion(self.data.ctrl.copy())

    def _without_adhesion(self, ctrl: Vector) -> Vector:
        """Return ctrl, (nu,), if no adhesion actuator is commanded or pulls by itself; otherwise raises BadInput."""
        for i in self._adhesion.tolist():
            if ctrl[i] or self.model.actuator_biasprm[i].any() or self.model.actuator_actnum[i]:
                raise BadInput(
                    f"Actuator {name_of(self.mj, self.model, i)!r} is an adhesion, which would pull wherever a motion "
                    "looks for contacts; keep its control at zero, and its bias."
                )
        return ctrl

    def set_inputs(self, given: Any, n: int) -> dict[str, float]:
        """Set ctrl, (nu,); raises BadInput."""
        if self._control is not None:
            raise BadInput("problem_from_mujoco was given a control of its own; leave one of the two out.")
        self._held = self._without_adhesion(controls(given, self.model.nu))
        return {name_of(self.mj, self.model, i): x for i, x in enumerate(self._held.tolist())}

    def command(self, t: float, q: Vector, qvel: Vector) -> None:
        """Set ctrl for a step from the state of these coordinates, which begin with qpos, and velocities."""
        held = self._held
        if self._control is not None:
            given = self._control(t, q[: self.model.nq].copy(), qvel.copy())
            held = self._without_adhesion(controls(given, self.model.nu, f" at t = {t:.9g}"))
        self.data.ctrl[:] = held


@kernel
def activated(
    act: Vector, rate: Vector, of_time: Vector, limits: Matrix, dt: float, after: Vector, mean: Vector
) -> None:  # fmt: skip
    """Write activations after a step and their mean rates; `of_time` is the duration for which the rates act."""
    for i in range(len(act)):
        x = act[i] + of_time[i] * rate[i]
        if x < limits[0, i]:
            x = limits[0, i]
        if x > limits[1, i]:
            x = limits[1, i]
        after[i], mean[i] = x, (x - act[i]) / dt


class Activations:
    """The states of actuators: their names, and how a step changes them.

    `by_euler` tells that all are advanced by Euler's method, without plugins, which give the rates of theirs. Raises
    BadInput for other dynamics than integrators, filters and muscles.
    """

    def __init__(self, mj: Any, model: Any) -> None:
        kinds, names = mj.mjtDyn, []
        known = {kinds.mjDYN_INTEGRATOR, kinds.mjDYN_FILTER, kinds.mjDYN_MUSCLE}
        self._times, self._range = np.zeros(model.na), np.tile([[-np.inf], [np.inf]], model.na)
        for i in np.flatnonzero(model.actuator_actnum):
            name = name_of(mj, model, int(i))
            at, count = int(model.actuator_actadr[i]), int(model.actuator_actnum[i])
            own = {kinds.mjDYN_FILTEREXACT} if model.actuator_plugin[i] < 0 else {kinds.mjDYN_NONE}
            if kinds(model.actuator_dyntype[i]) not in known | own or (count != 1 and model.actuator_plugin[i] < 0):
                raise BadInput(
                    f"The activation of actuator {name!r} has dynamics that a motion does not know; use integrator, "
                    "filter, filterexact or muscle, or an actuator without activation."
                )
            if model.actuator_dyntype[i] == kinds.mjDYN_FILTEREXACT:
                self._times[at] = max(float(model.actuator_dynprm[i, 0]), mj.mjMINVAL)
            if model.actuator_actlimited[i]:
                self._range[:, at : at + count] = model.actuator_actrange[i][:, None]
            names += [(at + j, f"act_{name}" + (f"_{j + 1}" if count > 1 else "")) for j in range(count)]
        self._dt, self._of_time = -1.0, self._times
        self.by_euler = not (model.na and model.nplugin) and not self._times.any()
        self.names = tuple(name for _, name in sorted(names))

    def __call__(self, act: Vector, rate: Vector, dt: float, after: Vector, mean: Vector) -> None:
        """Write the activations, (na,), after a step of dt, s: exact for filterexact, by Euler's method otherwise.

        `mean` gets their mean rates in the step.
        """
        if self._dt != dt:
            slow = self._times > 0.0
            self._dt, times = dt, np.where(slow, self._times, 1.0)
            self._of_time = np.where(slow, -times * np.expm1(-dt / times), dt)
        activated(act, rate, self._of_time, self._range, dt, after, mean)
