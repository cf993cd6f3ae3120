"""Derivatives of a MuJoCo model's forces with respect to velocities and coordinates, and a test of stable steps.

MuJoCo's integrators implicit and implicitfast evaluate velocity-dependent forces at the end of a step. Moreau-Jean
steps do the same for models that select one of them, and where stiff servos on light links are unstable otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.jit.kernel import kernel

SHIFT = 1e-6
"""Change of a velocity or coordinate, relative to 1 + its absolute value, for finite differences of forces."""

BEYOND = 1e-3
"""Fraction per step by which a motion whose sign changes in every step may grow; faster growth is unstable."""

UNDAMPED = np.zeros((0, 0))
"""The damping matrix of a step without one."""

MOST_HALVINGS = 60
"""Largest number of halvings of a step in the search for a stable step."""


def implicit(mj: Any, model: Any) -> bool:
    """Return whether the integrator of the model evaluates damping at the end of a step."""
    return model.opt.integrator in (int(mj.mjtIntegrator.mjINT_IMPLICIT), int(mj.mjtIntegrator.mjINT_IMPLICITFAST))


def depends_on_velocity(mj: Any, model: Any) -> bool:
    """Return whether forces other than the linear damping of joints may depend on velocities."""
    servos = model.nu and (
        (model.actuator_biastype != mj.mjtBias.mjBIAS_NONE).any()
        or (model.actuator_gaintype != mj.mjtGain.mjGAIN_FIXED).any()
        or model.actuator_damping.any() or model.actuator_dampingpoly.any()
    )  # fmt: skip
    passive = model.tendon_damping, model.tendon_dampingpoly, model.dof_dampingpoly, model.opt.density
    return bool(servos or any(np.any(x) for x in passive) or model.opt.viscosity or model.nplugin)


class Forces(NamedTuple):
    """Forces of actuators and of joints, and lower and upper limits of all of them."""

    actuators: Vector
    joints: Vector
    low: Vector
    high: Vector


@kernel
def reached(of: Forces) -> bool:
    """Return whether a force is at its limit."""
    n, found = len(of.actuators), False
    for i in range(n):
        found = found or of.actuators[i] <= of.low[i] or of.actuators[i] >= of.high[i]
    for i in range(len(of.joints)):
        found = found or of.joints[i] <= of.low[n + i] or of.joints[i] >= of.high[n + i]
    return found


class EndDamping:
    """The symmetric part of D = -dF/dw as `damping_matrix` returns it, for data at a state with all its forces.

    Where each actuator's force depends on no velocity but its own, all velocities are shifted at once. Where it is also
    affine with a constant gain and acts on joints or fixed tendons, D depends only on which forces are at their limits,
    as `constant` tells; a force or a joint at its limit has no damping.
    """

    def __init__(self, mj: Any, model: Any) -> None:
        def of(kinds: Any, *known: Any) -> Any:
            return np.isin(kinds, [int(x) for x in known])

        gains, biases, moved, option = mj.mjtGain, mj.mjtBias, mj.mjtTrn, model.opt
        coupled = (
            model.tendon_damping, model.tendon_dampingpoly, model.dof_dampingpoly, model.actuator_damping,
            model.actuator_dampingpoly, model.tendon_actfrclimited, option.density, option.viscosity, model.nplugin,
        )  # fmt: skip
        single = of(model.actuator_biastype, biases.mjBIAS_NONE, biases.mjBIAS_AFFINE) & of(
            model.actuator_gaintype, gains.mjGAIN_FIXED, gains.mjGAIN_AFFINE
        )
        scalar = of(model.jnt_type, mj.mjtJoint.mjJNT_HINGE, mj.mjtJoint.mjJNT_SLIDE)
        fixed = of(model.actuator_trntype, moved.mjTRN_JOINT, moved.mjTRN_JOINTINPARENT)
        fixed[fixed] = scalar[model.actuator_trnid[fixed, 0]]
        straight = [of(model.wrap_type[at : at + n], mj.mjtWrap.mjWRAP_JOINT).all()
                    for at, n in zip(model.tendon_adr, model.tendon_num, strict=True)]  # fmt: skip
        roped = of(model.actuator_trntype, moved.mjTRN_TENDON)
        fixed[roped] = np.array(straight, dtype=bool)[model.actuator_trnid[roped, 0]]
        fixed &= (model.actuator_gaintype == gains.mjGAIN_FIXED) | (model.actuator_gainprm[:, 2] == 0.0)
        acts = not (option.disableactuator or option.disableflags & mj.mjtDisableBit.mjDSBL_ACTUATION)
        self._mj, self._model, self._known = mj, model, dict[bytes, Matrix]()
        # Data with their forces, and D, at the latest state with all forces within their limits.
        self._free: tuple[Any, Forces, Matrix] | None = None
        self._alone = bool(single.all()) and model.nout == model.nactuator and not any(np.any(x) for x in coupled)
        self.constant = self._alone and acts and bool(fixed.all())
        self._bounds = np.tile([[-np.inf], [np.inf]], model.nactuator + model.nv)
        forces, joints = np.flatnonzero(model.actuator_forcelimited), np.flatnonzero(model.jnt_actfrclimited)
        self._bounds[:, forces] = model.actuator_forcerange[forces].T
        self._bounds[:, model.nactuator + model.jnt_dofadr[joints]] = model.jnt_actfrcrange[joints].T

    def __call__(self, data: Any) -> Matrix:
        """Return D, (nv, nv)."""
        if not self._alone:
            return damping_matrix(self._mj, self._model, data)
        if self._free is not None and data is self._free[0] and not reached(self._free[1]):
            return self._free[2]
        both = np.concatenate((data.actuator_force, data.qfrc_actuator))
        held = (both <= self._bounds[0]) | (both >= self._bounds[1])
        if not self.constant:
            return self._of(data, held)
        if (key := held.tobytes()) not in self._known:
            self._known[key] = self._of(data, held)
        if not held.any():
            forces = Forces(data.actuator_force, data.qfrc_actuator, *self._bounds)
            self._free = data, forces, self._known[key]
        return self._known[key]

    def _of(self, data: Any, held: NDArray[np.bool_]) -> Matrix:
        mj, model, k = self._mj, self._model, int(self._model.nactuator)
        if self.constant:
            each = np.where(held[:k] | (model.actuator_biastype == mj.mjtBias.mjBIAS_NONE), 0.0,
                            -model.actuator_biasprm[:, 2])  # fmt: skip
        else:
            names = "actuator_velocity", "actuator_force", "qfrc_actuator", "act_dot"
            before = {name: getattr(data, name).copy() for name in names}
            shift = SHIFT * (1.0 + np.abs(before["actuator_velocity"]))
            data.actuator_velocity[:] += shift
            mj.mj_fwdActuation(model, data)
            each = (before["actuator_force"] - data.actuator_force) / shift
            for name, values in before.items():
                getattr(data, name)[:] = values
        moments = np.zeros((model.nout, model.nv))
        mj.mju_sparse2dense(moments, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind)
        found: Matrix = moments.T @ (each[:, None] * moments)
        found[:, held[k:]] = 0.0
        found = 0.5 * (found + found.T)
        if not model.opt.disableflags & mj.mjtDisableBit.mjDSBL_DAMPER:
            found.flat[:: model.nv + 1] += model.dof_damping
        return found


class Shifted(NamedTuple):
    """Velocities `at` that are shifted together, the forces `own` that may depend on them, and on which, `owner`."""

    at: NDArray[np.intp]
    own: NDArray[np.intp]
    owner: NDArray[np.intp]


def damping_matrix(mj: Any, model: Any, data: Any, sets: Sequence[Shifted] = ()) -> Matrix:
    """Return the symmetric part of D = -dF/dw, with the forces F of `_forces` and the velocities w, (nv, nv).

    `sets` is the result of `together`, if that is known.
    """
    w, qvel, found = data.qvel.copy(), data.qvel, np.zeros((model.nv, model.nv))
    before, shift = _forces(mj, model, data), SHIFT * (1.0 + np.abs(w))
    for at, own, owner in sets or together(mj, model):
        qvel[at] += shift[at]
        found[owner, own] = (before - _forces(mj, model, data))[own] / shift[owner]
        qvel[at] = w[at]
    _forces(mj, model, data)
    return 0.5 * (found + found.T)


def together(mj: Any, model: Any) -> list[Shifted]:
    """Return the sets of velocities that are shifted together.

    These are one velocity of each tree of bodies, unless forces of one tree may depend on another one.
    """
    n = int(model.nv)
    alone = {int(x) for x in (mj.mjtTrn.mjTRN_JOINT, mj.mjtTrn.mjTRN_JOINTINPARENT, mj.mjtTrn.mjTRN_TENDON)}
    given = mj.get_mjcb_passive(), mj.get_mjcb_act_gain(), mj.get_mjcb_act_bias()
    if (
        any(x > 1 for x in model.tendon_treenum.tolist()) or model.nflex or model.nplugin
        or any(x is not None for x in given) or not alone.issuperset(model.actuator_trntype.tolist())
    ):  # fmt: skip
        return [Shifted(np.array([i]), np.arange(n), np.full(n, i)) for i in range(n)]
    trees: dict[int, list[int]] = {}
    for i, tree in enumerate(model.dof_treeid.tolist()):
        trees.setdefault(tree, []).append(i)
    found = []
    for i in range(max(map(len, trees.values()), default=0)):
        large = [tree for tree in trees.values() if len(tree) > i]
        own, owner = [j for tree in large for j in tree], [tree[i] for tree in large for _ in tree]
        found.append(Shifted(np.array([tree[i] for tree in large]), np.array(own), np.array(owner)))
    return found


def _forces(mj: Any, model: Any, data: Any) -> Vector:
    """Return forces of joints, tendons, actuators and fluids, (nv,), at the velocities in `data`."""
    mj.mj_fwdVelocity(model, data)
    mj.mj_fwdActuation(model, data)
    forces: Vector = data.qfrc_passive + data.qfrc_actuator
    return forces


def stiffness_matrix(mj: Any, model: Any, data: Any, sets: Sequence[Shifted] = ()) -> Matrix:
    """Return K = -dF/dx, with the forces F of `_forces` and displacements x of the coordinates, (nv, nv)."""
    q, qpos, found = data.qpos.copy(), data.qpos, np.zeros((model.nv, model.nv))
    before = _forces(mj, model, data)
    for at, own, owner in sets or together(mj, model):
        along = np.zeros(model.nv)
        along[at] = 1.0
        mj.mj_integratePos(model, qpos, along, SHIFT)
        mj.mj_fwdPosition(model, data)
        found[own, owner] = (before - _forces(mj, model, data))[own] / SHIFT
        qpos[:] = q
    mj.mj_fwdPosition(model, data)
    _forces(mj, model, data)
    return found


def unstable(
    mj: Any, model: Any, data: Any, given: tuple[Matrix, Matrix, Matrix], dt: float
) -> tuple[str, float] | None:  # fmt: skip
    """Return which velocity grows if steps of length dt, s, make the model unstable, and a stable length; else None.

    `given` are the mass matrix M, the damping matrix D' at the end of a step, both (nv, nv), and the equality rows,
    (m, nv). Small motions w, x about the state of `data` that satisfy the equalities follow

        (M + dt D') (w' - w) = -dt (D w + K x),    x' = x + dt w'

    with total damping D and stiffness K; steps are unstable if a motion grows while its sign changes in every step.
    """
    M, at_end, E = given
    flags = model.opt.disableflags  # forces of joints, tendons and actuators do not depend on contacts
    model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONTACT | mj.mjtDisableBit.mjDSBL_CONSTRAINT)
    mj.mj_fwdPosition(model, data)
    sets = together(mj, model)
    D, K = damping_matrix(mj, model, data, sets), stiffness_matrix(mj, model, data, sets)
    model.opt.disableflags = flags
    mj.mj_fwdPosition(model, data)
    _forces(mj, model, data)
    whole: Sequence[Matrix] = (M, at_end, D, K)
    if surely_stable(whole, dt):
        return None
    Z: Matrix | None = None
    if len(E):
        _, sizes, axes = np.linalg.svd(E)
        rank = int((sizes > 1e-9 * sizes.max(initial=0.0)).sum())
        Z = axes[rank:].T
        whole = [axes[rank:] @ x @ Z for x in whole]
    if not len(whole[0]):
        return None
    group = connected(np.any([x != 0.0 for x in whole], axis=0))
    acted = group[np.any([(x != 0.0).any(axis=1) for x in whole[2:]], axis=0)]  # the other groups are stable
    places = [np.flatnonzero(group == i) for i in np.unique(acted)]
    parts = [[x[np.ix_(at, at)] for x in whole] for at in places]
    if any(np.linalg.eigvalsh(part[0])[0] <= 0.0 for part in parts):
        return None
    tried = dt
    for _ in range(MOST_HALVINGS if parts else 0):
        found = [smallest_factor(part, tried) for part in parts]
        i = int(np.argmin([factor for factor, _ in found]))
        factor, axis = found[i]
        if factor >= -1.0 - BEYOND:
            break
        if tried == dt:
            first, worst = factor, np.zeros(len(whole[0]))
            worst[places[i]] = axis
            worst = worst if Z is None else Z @ worst
        tried /= 2
    if tried == dt:
        return None
    joint = int(model.dof_jntid[int(np.argmax(np.abs(worst)))])
    name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_JOINT, joint) or joint
    return f"a velocity of joint {name!r} would be multiplied by {first:.2g} in every step", tried


def connected(joined: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for each node, (n,), the least number of a node to which `joined`, (n, n), connects it."""
    n = len(joined)
    joined = joined | joined.T | np.eye(n, dtype=bool)
    group: NDArray[np.intp] = joined.argmax(axis=1)
    before = np.arange(n)
    while (group != before).any():
        group, before = np.where(joined, group, n).min(axis=1), group
    return group


def surely_stable(whole: Sequence[Matrix], dt: float) -> bool:
    """Return whether no motion can grow while its sign changes in every step, without computing the motions.

    Multiplied by -s in a step, s > 1, a velocity w satisfies

        (1 + s) w.(M + dt D') w = dt w.D w + s / (1 + s) dt^2 w.K w

    with s / (1 + s) from 1/2 to 1. This is impossible if M + dt D' is positive definite, and twice its form exceeds
    the right one for both of these numbers.
    """
    M, at_end, D, K = whole
    mass, bend = M + dt * at_end, 0.25 * dt**2 * (K + K.T)
    rest = 2.0 * mass - dt * D
    try:
        np.linalg.cholesky(np.stack((mass, rest - bend, rest - 2.0 * bend)))
    except np.linalg.LinAlgError:
        return False
    return True


def smallest_factor(part: Sequence[Matrix], dt: float) -> tuple[float, Vector]:
    """Return the smallest real growth factor per step of a small motion, and the velocity of that motion."""
    M, at_end, D, K = part
    n = len(M)
    inverse = dt * np.linalg.inv(M + dt * at_end)
    of_w, of_x = np.eye(n) - inverse @ D, -inverse @ K
    factors, motions = np.linalg.eig(np.block([[of_w, of_x], [dt * of_w, np.eye(n) + dt * of_x]]))
    factors = np.where(np.abs(factors.imag) <= 1e-9 * np.abs(factors), factors.real, np.inf)
    i = int(np.argmin(factors))
    return float(factors[i]), motions[:n, i].real
