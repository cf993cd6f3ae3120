"""The state of a Pinocchio model as step data, with closed loops and point contacts on a floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.core.arrays import Vector, as_array, finite_number
from gaussopt.core.errors import BadInput, MissingBackend
from gaussopt.core.row_rounding import rounding, without_rounding
from gaussopt.core.step_data import StepData
from gaussopt.interchange.touching import touching

NORMAL_FIRST = [2, 0, 1]
"""Indices of the rows (x, y, z) of a contact point, normal first: the normal of the floor is z."""

OFF_SPHERE = 1e-9
"""Largest deviation of the length of a quaternion from one."""


def from_pinocchio(
    model: Any, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, *, loops: Sequence[Any] = (),
    contacts: Mapping[str, float] | None = None, at_rest: float = 1e-3,
) -> StepData:  # fmt: skip
    """Return step data at a state of a Pinocchio model, from URDF or SDF, with hard constraints and Coulomb friction.

    M a + h = tau + J^T lam + ... as in `StepData`, where a is Pinocchio's joint acceleration, (nv,), even if a joint
    has a quaternion. M comes from Pinocchio's crba, h from nle, rows from getConstraintsJacobian and
    computeFrameJacobian, and their derivatives along the motion from accelerations at a = 0. Friction, damping and
    limits of joints are left out, as in Pinocchio's aba; include such forces in `tau`.

    Parameters
    ----------
    model : pinocchio.Model
    q, v : (nq,), (nv,)
    tau : (nv,), joint forces, N or N m; zero if not given
    loops : pinocchio.RigidConstraintModel of points (CONTACT_3D) or frames (CONTACT_6D), which hold exactly: their
        corrector and desired motions are not used. pinocchio.convertToRigidConstraintModel converts other kinds.
    contacts : names of frames whose origins touch a floor with the normal z of the world, and friction coefficients
    at_rest : speed, m/s; contacts that open faster are left out, and slower slip counts as zero

    Raises
    ------
    BadInput
        For other kinds of models, loops or contacts, for frames that the model does not have, and for quaternions that
        do not have unit length.
    MissingBackend
        If Pinocchio is not installed: pip install 'gaussopt[pinocchio]'.

    Examples
    --------
    See docs/other-engines.md.
    """
    pin = _checked(model)
    q, v = as_array("q", q, (int(model.nq),)), as_array("v", v, (int(model.nv),))
    tau = np.zeros(model.nv) if tau is None else as_array("tau", tau, (int(model.nv),))
    if not pin.isNormalized(model, q, OFF_SPHERE):
        raise BadInput("q holds a quaternion or an angle's cosine and sine whose length is not one; "
                       "let pinocchio.normalize make it one.")  # fmt: skip
    data = model.createData()
    n = int(model.nv)  # Pinocchio returns matrices with one column as vectors
    upper = np.triu(np.reshape(pin.crba(model, data, q), (n, n)))
    h = pin.nonLinearEffects(model, data, q, v).copy()
    pin.computeJointJacobians(model, data, q)
    pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
    found = {"M": upper + np.triu(upper, 1).T, "h": h, "Q": tau, "v": v}
    if len(loops):
        found |= _loop_rows(pin, model, data, v, loops)
    if contacts:
        found |= _contact_rows(pin, model, data, q, v, contacts, finite_number("at_rest", at_rest))
    return StepData.from_mapping(found)


def _checked(model: Any) -> Any:
    """Return the package pinocchio after checking that `model` is a model of it; raises BadInput or MissingBackend."""
    try:
        import pinocchio
    except ImportError:
        raise MissingBackend("Models of Pinocchio need its package: pip install 'gaussopt[pinocchio]'.") from None
    if not isinstance(model, pinocchio.Model):
        raise BadInput(f"model is {type(model).__name__}; expected pinocchio.Model, such as of buildModelFromUrdf.")
    if model.nv == 0:
        raise BadInput("The model has no joint, so that nothing can move.")
    if any(max(tree) - min(tree) >= len(tree) for tree in model.subtrees):
        raise BadInput("Joints of the model were not added branch by branch, each followed by all that it carries, as "
                       "Pinocchio's crba needs them; add them so, as readers of URDF do.")  # fmt: skip
    return pinocchio


def _loop_rows(pin: Any, model: Any, data: Any, v: Vector, loops: Sequence[Any]) -> dict[str, Any]:
    """Return J and gamma of the loops, in the given order, and the sizes of their terms."""
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for i, loop in enumerate(loops):
        if not isinstance(loop, pin.RigidConstraintModel):
            raise BadInput(f"loops[{i}] is {type(loop).__name__}; expected pinocchio.RigidConstraintModel, which "
                           "pinocchio.convertToRigidConstraintModel makes of others.")  # fmt: skip
        models.append(loop)
        datas.append(loop.createData())
        loop.calc(model, data, datas[i])
    J, terms = np.reshape(pin.getConstraintsJacobian(model, data, models, datas), (-1, len(v))), []
    for loop in loops:
        ends = (loop.joint1_id, loop.joint1_placement), (loop.joint2_id, loop.joint2_placement)
        places, turned = _terms(data, *((data.oMi[joint] * place).translation for joint, place in ends))
        terms += 3 * [places] + (3 * [turned] if loop.type == pin.ContactType.CONTACT_6D else [])
    J_terms, speed = np.array(terms), np.abs(v)
    # A term of a relative acceleration at a = 0 is an angular velocity times a linear or angular velocity.
    gamma_terms = (J_terms @ speed) * (turned @ speed)
    gamma = -np.concatenate([_loop_bias(pin, data, loop) for loop in loops])
    gamma[np.abs(gamma) <= rounding(len(v), len(J)) * gamma_terms] = 0.0
    return {"J": J, "gamma": gamma, "J_terms": J_terms, "gamma_terms": gamma_terms}


def _terms(data: Any, *places: Vector) -> tuple[Vector, Vector]:
    """Return magnitudes of the terms of relative linear and angular velocities, per unit of each joint velocity, (nv,).

    Pinocchio computes them from twists at the origin of the world.
    """
    reach = max(float(np.linalg.norm(place)) for place in (*(joint.translation for joint in data.oMi), *places))
    moved, turned = np.linalg.norm(np.reshape(data.J, (2, 3, -1)), axis=1)
    return 2.0 * (moved + reach * turned), 2.0 * turned


def _loop_bias(pin: Any, data: Any, loop: Any) -> Vector:
    """Return the derivative, for a = 0, of a loop's relative velocity, first frame minus second frame."""
    (first, v1, a1), (second, v2, a2) = (
        (data.oMi[joint] * place, place.actInv(data.v[joint]), place.actInv(data.a[joint]))
        for joint, place in ((loop.joint1_id, loop.joint1_placement), (loop.joint2_id, loop.joint2_placement))
    )
    across = first.inverse() * second
    if loop.type == pin.ContactType.CONTACT_3D:
        one, two = (a.linear + np.cross(v.angular, v.linear) for v, a in ((v1, a1), (v2, a2)))
        bias = one - across.rotation @ two
    else:
        bias = (a1 - across.act(a2)).vector
    aligned = loop.reference_frame == pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    return np.asarray((bias.reshape(-1, 3) @ first.rotation.T).ravel() if aligned else bias)


def _contact_rows(
    pin: Any, model: Any, data: Any, q: Vector, v: Vector, contacts: Mapping[str, float], at_rest: float
) -> dict[str, Any]:
    """Return the step data entries of contacts between frames and a floor."""
    rows, bias, aligned = [], [], pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    if not isinstance(contacts, Mapping):
        raise BadInput(f"contacts is {contacts!r:.60}; give friction coefficients by names of frames: {{'foot': 0.8}}.")
    for name in contacts:
        if not (isinstance(name, str) and model.existFrame(name)):
            raise BadInput(f"contacts names {name!r}, which is no frame of the model.")
        frame = model.getFrameId(name)
        row = np.reshape(pin.computeFrameJacobian(model, data, q, frame, aligned), (6, -1))[NORMAL_FIRST]
        terms, _ = _terms(data, pin.updateFramePlacement(model, data, frame).translation)
        rows.append(without_rounding(row, terms))
        bias.append(pin.getFrameClassicalAcceleration(model, data, frame, aligned).linear[NORMAL_FIRST])
    mu = np.array([finite_number(f"The friction coefficient of {name!r}", x) for name, x in contacts.items()])
    if (mu < 0.0).any():
        worst = [*contacts][int(np.argmin(mu))]
        raise BadInput(f"The friction coefficient of {worst!r} is {mu.min():g}; give 0 or more.")
    return touching(np.array(rows), np.array(bias), mu, v, at_rest)
