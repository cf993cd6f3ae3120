"""Motions of MuJoCo models with exact contact: Moreau-Jean time steps with quantities from MuJoCo.

With MuJoCo's velocities w, rows C of contacts and limits, rows E of equalities, and the damping D of joints (also of
servos, tendons and fluids if the integrator of the model is implicit or implicitfast), a step solves

    (M + dt D) (w' - w) = dt (Q - h) + C^T r + E^T l,    E w' = 0,    u = C w' + g/dt n where a gap g is open,

and q' is reached from q by the displacement dt w' (mj_integratePos). The coordinates are MuJoCo's qpos, the velocities
are their rates: w for hinges, slides and positions, and e' = e (0, w) / 2 for a quaternion e, whose w MuJoCo gives in
the frame of the body. Activations of actuators are further coordinates, integrated as in MuJoCo's Euler integrator.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Matrix, Vector, as_coordinates
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.core.system import Energy
from gaussopt.core.time_step import Reached, SteppedSystem, Taken
from gaussopt.interchange.mujoco_actuation import Activations, Actuated, Control
from gaussopt.interchange.mujoco_ahead import AHEAD, LookAhead, Moving
from gaussopt.interchange.mujoco_contacts import ContactFinder
from gaussopt.interchange.mujoco_copies import CHANGED, own_copy
from gaussopt.interchange.mujoco_damping import EndDamping, depends_on_velocity, implicit, unstable
from gaussopt.interchange.mujoco_equalities import DEPENDENT, Equalities, enough_memory
from gaussopt.interchange.mujoco_free import FreeSteps
from gaussopt.interchange.mujoco_limits import tied_limits
from gaussopt.interchange.mujoco_model import check_carried, forward, loaded, mass_matrix
from gaussopt.interchange.mujoco_neighbours import derivatives
from gaussopt.interchange.mujoco_outputs import MujocoOutputs
from gaussopt.interchange.mujoco_projection import BoundedProjection
from gaussopt.interchange.mujoco_rows import IN_GAP, touchable
from gaussopt.interchange.mujoco_step import MujocoStep
from gaussopt.interchange.rotation_kernel import Coordinates, rates_into, velocities_into
from gaussopt.modelling.problem import Problem

FEW = 150
"""Number of coordinates up to which products of dense matrices take less time than those of sparse ones."""

OPTIONS = "cone", "jacobian", "enableflags", "disableflags", "timestep"
"""Options of the model that motions change in their copy of it."""


def problem_from_mujoco(
    model: Any,
    data: Any = None,
    *,
    t_end: float = 1.0,
    dt: float | None = None,
    name: str = "mujoco",
    control: Control | None = None,
) -> Problem:
    """Return the motion of a MuJoCo model with exact contact, by time steps of Moreau and Jean.

    Applied loads, poses of mocap bodies, active equalities and, without `control`, the controls stay as in `data`. Each
    step gets masses, forces, contacts and limits from MuJoCo; the impulses satisfy Coulomb's law without restitution,
    while MuJoCo's own contacts are soft. Forces are evaluated at the beginning of the step, the linear damping of
    joints at its end, as in MuJoCo's Euler integrator, unless the flag eulerdamp is off. For the integrators implicit
    and implicitfast, the damping of servos, tendons and fluids is evaluated at the end too (`meta["damping_at_end"]`).
    So it is, with a warning, where the steps would be unstable otherwise; where they are unstable even so, BadInput is
    raised before the motion. The stabilisation projection keeps loops closed and
    contacts apart; the motion ends if it moves a joint more than ten times as far as the error that it corrects, or
    does not reduce the error. The motion begins at t = 0, whatever the time of `data`.

    Parameters
    ----------
    model, data : mujoco.MjModel, and mujoco.MjData with the start, both of which are copied; or the path of an MJCF or
        URDF file, whose motion starts at its first keyframe if it has one
    t_end, dt : end time and step length, s; dt is the model's timestep if not given
    control : function of time, qpos and qvel that returns ctrl, (nu,), for each step from the state at its beginning

    Returns
    -------
    Problem
        Its coordinates are qpos, (nq,), and the activations act, (na,); its velocities are their rates, also of
        quaternions.

    Raises
    ------
    BadInput
        As in `from_mujoco`; for height fields that can touch others; for parts that motions do not support: actuators
        with delays or activations of unusual dynamics, springs that yield, adhesion that acts, moving surfaces, plugins
        with states, and a control callback of MuJoCo; or if `control` returns no finite numbers, (nu,).

    Examples
    --------
    See docs/other-engines.md.
    """
    if data is None:
        model, data = loaded(model)
    system = MujocoSystem(model, data, name, control)
    q, v = system.state(data)
    dt = float(model.opt.timestep) if dt is None else dt
    return Problem.of(system, q, v, t_end=t_end, dt=dt, name=name, in_space=system.picture)


class MujocoSystem(MujocoOutputs, Actuated, SteppedSystem):
    """A MuJoCo model as a system that formulates its time steps itself; see `problem_from_mujoco`."""

    row_rounding = DEPENDENT**0.5
    # Files give six to eight decimals, so that redundant rows contradict each other by as little.

    def __init__(self, model: Any, data: Any, name: str = "mujoco", control: Control | None = None) -> None:
        self.mj = mj = forward(model, data)
        check_carried(mj, model, AHEAD)
        self._touchable = touchable(mj, model)
        lost = model.dof_frictionloss.any() or model.tendon_frictionloss.any()
        limited = model.jnt_limited.any() or model.tendon_limited.any()
        self.may_touch = bool(len(self._touchable) > 1 or limited or lost)
        self.name, self.model, self.data = name, own_copy(model, self), copy.copy(data)
        Actuated.__init__(self, control)
        self._qpos, self._qvel = self.data.qpos, self.data.qvel
        self._enough = enough_memory(mj, self.model, self.data)
        own = self.model
        self._given = {name: getattr(own, name).copy() for name in CHANGED}
        self._start = {name: getattr(data, name).copy() for name in ("qpos", "qvel", "act", "ctrl")}
        self._options = {name: getattr(own.opt, name) for name in OPTIONS}
        self.left_out, self._told = tied_limits(mj, own, data)
        own.jnt_limited[list(self.left_out)] = 0
        own.opt.cone, own.opt.jacobian = mj.mjtCone.mjCONE_ELLIPTIC, mj.mjtJacobian.mjJAC_SPARSE
        own.opt.enableflags &= ~int(mj.mjtEnableBit.mjENBL_SLEEP)
        own.opt.disableflags |= mj.mjtDisableBit.mjDSBL_ISLAND  # MuJoCo's islands would lack the rows that `place` adds
        begins = np.append(own.M_rowadr, len(own.M_colind)).astype(np.int64)
        self.masses = SparseRows(begins, own.M_colind.astype(np.int64), self.data.M)  # lower part of the mass matrix
        self.activations, self._na = Activations(mj, own), int(model.na)
        q, w = np.append(self.data.qpos, self.data.act), self.data.qvel.copy()
        moving, self.dt = Moving.of(own, self.data, self._touchable), float(own.opt.timestep)
        self.look_ahead = LookAhead(own, moving, lambda: self.place(0.0, q, w))
        self.ahead = self.look_ahead.ahead
        self._damp(implicit(mj, model) and depends_on_velocity(mj, own))
        kinds = mj.mjtJoint
        self._plain, self._quaternions = np.zeros((self.size, model.nv)), []
        for kind, at, place in zip(model.jnt_type, model.jnt_qposadr, model.jnt_dofadr, strict=True):
            straight = {int(kinds.mjJNT_FREE): 3, int(kinds.mjJNT_BALL): 0}.get(int(kind), 1)
            self._plain[at : at + straight, place : place + straight] = np.eye(straight)
            if straight != 1:
                self._quaternions.append((int(at) + straight, int(place) + straight))
        plain = np.argwhere(self._plain)
        places = np.array([*plain.ravel(), *np.ravel(self._quaternions)], dtype=np.int64)
        self._rates = Coordinates(places, len(plain))
        self._weights = np.ones(model.nv)
        for _, place in self._quaternions:
            self._weights[place : place + 3] = 4.0
        self.unit_rows = len(self._quaternions)
        self.equalities = Equalities(mj, own, data)
        self.near = ContactFinder(mj, own, self.data, self.look_ahead, self.equalities, self.masses)
        self.projection = BoundedProjection(mj, own, self.data, self.equalities, self.ahead)

    def _damp(self, all_at_end: bool) -> None:
        """Evaluate the damping of joints at the end of steps, as the integrator of the model says, or all damping."""
        mj, own, off = self.mj, self.model, self.mj.mjtDisableBit
        undamped = own.opt.disableflags & (off.mjDSBL_DAMPER | (0 if implicit(mj, own) else off.mjDSBL_EULERDAMP))
        self.all_at_end, self.damping_at_end = all_at_end, EndDamping(mj, own) if all_at_end else None
        # MuJoCo's forces contain the damping at the beginning of a step; this moves it to the end of the step.
        self.damping = np.zeros(own.nv) if undamped or all_at_end else own.dof_damping
        damping = self.masses, self.damping, self.damping_at_end
        self._free = FreeSteps(mj, own, self.data, *damping, self.look_ahead, self.activations)

    def __copy__(self) -> MujocoSystem:
        """Return a system that shares model and data with this one."""
        found = object.__new__(MujocoSystem)
        found.__dict__.update(self.__dict__)
        return found

    def for_steps(self, dt: float, damped: bool) -> MujocoSystem:
        """Return the system for steps of length dt; if `damped`, one of this model with all damping at their end."""
        self.dt = self.model.opt.timestep = dt  # of which plugins make use
        if not damped or self.all_at_end:
            return self
        found = copy.copy(self)
        found._damp(all_at_end=True)
        found.near = ContactFinder(self.mj, self.model, self.data, self.look_ahead, self.equalities, self.masses)
        return found

    def __reduce__(self) -> tuple[type[MujocoSystem], tuple[Any, ...]]:
        """Pickle the system as the model, the data and the control that it was made from."""
        model, data = copy.copy(self.model), copy.copy(self.data)
        for of, values in ((model, self._given), (data, self._start)):
            for name, value in values.items():
                getattr(of, name)[:] = value
        for name, option in self._options.items():
            setattr(model.opt, name, option)
        return MujocoSystem, (model, data, self.name, self._control)

    @property
    def size(self) -> int:
        """Number of coordinates, nq + na."""
        return int(self.model.nq + self.model.na)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows: names of equalities, and of joints for the rows that keep quaternions at unit length."""
        mj, model, numbers = self.mj, self.model, self.equalities.numbers.tolist()
        names = [mj.mj_id2name(model, mj.mjtObj.mjOBJ_EQUALITY, i) or f"equality{i}" for i in numbers]
        each = [f"{name}.{names[:at].count(name) + 1}" for at, name in enumerate(names)]
        joints = [x.removeprefix("e0_") for x in self._coordinates if x.startswith("e0_")]
        return (*each, *(f"unit_{joint}" for joint in joints[: len(self._quaternions)]))

    def state(self, data: Any) -> tuple[Vector, Vector]:
        """Return coordinates and their rates, (n,), from MuJoCo's data."""
        q = np.append(data.qpos, data.act)
        for at, _ in self._quaternions:
            q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
        return q, self.rates_of(q, data.qvel.copy(), data.act_dot)

    def rates(self, q: Vector) -> Matrix:
        """Return the matrix T, (n, nv), of q' = T w, where rows of activations are zero."""
        T = self._plain.copy()
        for at, place in self._quaternions:
            e0, e1, e2, e3 = 0.5 * q[at : at + 4]
            T[at : at + 4, place : place + 3] = (-e1, -e2, -e3), (e0, -e3, e2), (e3, e0, -e1), (-e2, e1, e0)
        return T

    def velocities(self, q: Vector, v: Vector) -> Vector:
        """Return MuJoCo's velocities w, (nv,), from rates v, (n,), of which they may be a view."""
        if not self._quaternions:
            return v[: len(self._qvel)]
        w = np.empty(len(self._qvel))
        velocities_into(q, v, self._rates, w)
        return w

    def rates_of(self, q: Vector, w: Vector, of_act: Vector) -> Vector:
        """Return rates, (n,), which may be w itself, from velocities w, (nv,), and rates of activations, (na,)."""
        if not self._quaternions:
            return np.concatenate((w, of_act)) if self._na else w
        v = np.empty(len(q))
        rates_into(q, w, self._rates, v)
        v[len(q) - self._na :] = of_act
        return v

    def place(self, t: float, q: Vector, w: Vector) -> None:
        """Set MuJoCo's data to a state: positions, contacts, and all forces except those of constraints."""
        mj, model, data, nq = self.mj, self.model, self.data, len(self._qpos)
        data.time, self._qvel[:] = t, w
        if len(q) > nq:
            q, data.act[:] = q[:nq], q[nq:]
        self._qpos[:] = q
        with self._enough:
            mj.mj_fwdPosition(model, data)
            if data.ncon and IN_GAP in (marks := (exclude := data.contact.exclude).tolist()):
                # MuJoCo then also creates the rows of contacts in the gap.
                exclude[:] = 0 if max(marks) == IN_GAP else exclude - (exclude == IN_GAP)
                mj.mj_makeConstraint(model, data)
        mj.mj_fwdVelocity(model, data)
        mj.mj_fwdActuation(model, data)
        mj.mj_fwdAcceleration(model, data)

    def actuate(self, t: float, q: Vector, w: Vector) -> None:
        """Set MuJoCo's data to a state, with the controls that belong to it."""
        self.command(t, q, w)
        self.place(t, q, w)

    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> StepData:
        """Return step data without contacts: M = S^T M_w S with w = S q'; the lengths of quaternions are rows.

        M is singular along quaternions. Activations are coordinates of unit mass without force.
        """
        q, v = as_coordinates("q", q, self._coordinates), as_coordinates("v", v, self._coordinates)
        w = self.velocities(q, v)
        self.actuate(t, q, w)
        S: Any = self._weights[:, None] * self.rates(q).T
        S = csr_array(S) if len(q) > FEW else S
        data = self.data
        E, _, sizes = self.equalities(data)
        near = self.projection.near if self.equalities.m else None
        J_dot_w, *_ = derivatives(self.mj, self.model, data, self.equalities, near=near)
        U = self._lengths(q)
        h = data.qfrc_bias.copy()
        M = S.T @ mass_matrix(self.mj, self.model, data) @ S
        M[self.model.nq :, self.model.nq :] = np.eye(self.model.na)
        return StepData.smooth(
            0.5 * (M + M.T), S.T @ h, S.T @ (data.qfrc_smooth + h), np.vstack((E @ S, U)),
            np.concatenate((-J_dot_w, -self._lengths(v) @ v)), t, q, v,
            J_terms=np.vstack((sizes @ abs(S), np.zeros(U.shape))),
        )  # fmt: skip

    def _lengths(self, q: Vector) -> Matrix:
        """Return the rows e that keep quaternions at unit length, (quaternions, n)."""
        U = np.zeros((len(self._quaternions), len(q)))
        for row, (at, _) in zip(U, self._quaternions, strict=True):
            row[at : at + 4] = q[at : at + 4]
        return U

    def position_residual(self, t: float, q: Vector) -> Vector:
        """Return residuals of the equalities, m or rad, and of the quaternion lengths, (|e|^2 - 1) / 2."""
        self.place(t, q, self.data.qvel.copy())
        lengths = 0.5 * (self._lengths(q) @ q - 1.0)
        return np.concatenate((self.equalities(self.data)[1], lengths))

    def velocity_residual(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the rates of `position_residual`."""
        w = self.velocities(q, v)
        self.place(t, q, w)
        return np.concatenate((self.equalities(self.data)[0] @ w, self._lengths(q) @ v))

    def position_jacobian(self, t: float, q: ArrayLike) -> Matrix:
        """Return the Jacobian of `position_residual`, (m, n)."""
        q = as_coordinates("q", q, self._coordinates)
        self.place(t, q, self.data.qvel.copy())
        S = self._weights[:, None] * self.rates(q).T
        return np.vstack((self.equalities(self.data)[0] @ S, self._lengths(q)))

    def energy(self, t: float, q: Vector, v: Vector) -> Energy:
        """Return the kinetic energy, and the potential energy of gravity and springs."""
        self.place(t, q, self.velocities(q, v))
        return self.energy_here()

    def energy_here(self) -> Energy:
        """Return the energy at the state that is set in the data."""
        self.mj.mj_energyPos(self.model, self.data)
        self.mj.mj_energyVel(self.model, self.data)
        return Energy(float(self.data.energy[1]), float(self.data.energy[0]))

    def may_miss(self, q: Matrix, v: Matrix, dt: float | None) -> str | None:
        """Return a warning if geometries may pass through others, contacts stay deep, or limits meet no equalities."""
        mj, twist, fastest = self.mj, np.zeros(6), 0.0
        linear = twist[3:]
        stay = [*self._told]
        for name, depth in self.projection.stuck.items():
            what, unit = ("Limit", "m or rad") if name.endswith(" limit") else ("Contact", "m")
            stay.append(f"{what} {name!r} stays {depth:.2g} {unit} deep, as nothing can take it apart.")
        for i in sorted({*np.abs(v).argmax(axis=0).tolist()}) if len(self._touchable) > 1 else ():
            self.place(0.0, q[i], self.velocities(q[i], v[i]))
            for number in self._touchable:
                mj.mj_objectVelocity(self.model, self.data, mj.mjtObj.mjOBJ_GEOM, number, twist, 0)
                fastest = max(fastest, float(linear.dot(linear)))
        fastest **= 0.5
        if dt is not None and fastest * dt > self.ahead:
            stay.append(
                f"A geometry moves {fastest * dt:.2g} m in a step, and contacts are looked for {self.ahead:g} m ahead, "
                "so that it may have passed through another one; take a smaller dt."
            )
        return " ".join(stay) or None

    def why_damped(self, t: float, q: Vector, v: Vector, dt: float) -> str:
        """Return why steps have to be damped, by the derivatives of MuJoCo's forces at a state; raises BadInput."""
        self.actuate(t, q, self.velocities(q, v))
        damping = np.diag(self.damping) if self.damping_at_end is None else self.damping_at_end(self.data)
        given = mass_matrix(self.mj, self.model, self.data), damping, self.equalities(self.data)[0]
        if (found := unstable(self.mj, self.model, self.data, given, dt)) is None:
            return ""
        what = f"Steps of {dt:g} s are too long for the servos, springs or dampers of the model"
        if self.all_at_end:
            raise BadInput(f"{what}: {found[0]}. Take dt={found[1]:g} or weaker gains.")
        self.for_steps(dt, damped=True).why_damped(t, q, v, dt)
        return (
            f"{what} as its integrator evaluates them: {found[0]}. All damping is evaluated at the end of a step, as "
            f"by the integrator implicitfast; take dt={found[1]:g} for steps as the model states them."
        )

    def about(self) -> dict[str, Any]:
        """Return which damping a step evaluates at its end, where contacts are looked for, m, and limits left out."""
        damping = "all" if self.all_at_end else "joints" if self.damping.any() else "none"
        left_out = list(self.left_out.values())
        return {"damping_at_end": damping, "contacts_ahead": self.ahead, "limits_left_out": left_out}

    def time_step(self, t: float, q: Vector, v: Vector) -> MujocoStep:
        """Return the time step that begins at the given state."""
        return MujocoStep(self, t, q, v)

    @property
    def may_be_free(self) -> bool:
        """Whether MuJoCo's own step can be used while no constraint acts: without control functions."""
        return self._free.possible and self._control is None and self.mj.get_mjcb_control() is None

    def free_steps(self, t: float, q: Vector, v: Vector, ends: Sequence[float]) -> tuple[int, Taken] | None:
        """Let MuJoCo take steps until a constraint acts, see `gaussopt.interchange.mujoco_free`."""
        self.data.ctrl[:] = self._held
        rates = v[len(v) - self._na :] if self._na else self.data.act
        taken, before, (q, w, rates) = self._free(t, q, self.velocities(q, v), rates, ends)
        if not taken:
            return None
        h = ends[taken - 1] - (ends[taken - 2] if taken > 1 else t)
        end = Reached(q, self.rates_of(q, w, rates), np.zeros(self.unit_rows), 0.0)
        return taken, Taken.free(self.rates_of(*before), end, h)

    def moved(self, q: Vector, way: Vector) -> Vector:
        """Return the configuration reached from q by a displacement, (nv,), on the manifold."""
        if not self._quaternions and len(q) == len(way):
            return q + way
        there = q.copy()
        if not self._quaternions:
            there[: len(way)] += way
            return there
        self.mj.mj_integratePos(self.model, there[: self.model.nq], way, 1.0)
        return there
