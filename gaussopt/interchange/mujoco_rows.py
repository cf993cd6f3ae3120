"""Rows of limits and contacts at a configuration of a MuJoCo model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.row_rounding import without_rounding
from gaussopt.interchange.mujoco_equalities import (
    constraint_rows,
    distances,
    rope_sizes,
    sizes_of_places,
    turning,
)

PLAIN, ROLLING = 3, 6
"""Numbers of rows of a contact with sliding friction only, and with spinning and rolling friction in addition."""

PARTS = ((0, 3, "", 0), (3, 4, ", spinning", 2), (4, 6, ", rolling", 3))
"""Parts of a contact: range of MuJoCo's rows, suffix of the contact's name, and index of the friction coefficient."""

IN_GAP = 1
"""MuJoCo's mark for a contact within its gap, which carries no force yet; contacts with larger marks never do."""

REACHED = 1e-12
"""Distance from a limit, relative to 1 + its absolute value, m or rad, at which the limit counts as reached."""


@dataclass(frozen=True)
class Unilateral:
    """A contact or a limit: rows (6, nv) of velocities along normal and tangents, m/s, and of spins about them, rad/s.

    `key` holds the two geometries of a contact, or the negative type and the index of a limit; `gap`, m or rad, is
    is zero where MuJoCo begins to exert forces. `mu`, (3,), has a friction coefficient for each of PARTS. A limit
    has no `place`; rows of a `constant` limit are the same in all configurations.
    """

    key: tuple[int, int]
    rows: Matrix
    gap: float
    mu: Vector
    place: NDArray[np.float64] | None = None
    constant: bool = False


def contacts_and_limits(mj: Any, model: Any, data: Any) -> list[Unilateral]:
    """Return the contacts and limits at the configuration of `data`, for which positions have been computed."""
    names, J = mj.mjtConstraint, constraint_rows(mj, model, data)
    kinds = np.array(data.efc_type)
    limits = [_limit(mj, model, data, int(i), J[i]) for i in np.flatnonzero(
        (kinds == names.mjCNSTR_LIMIT_JOINT) | (kinds == names.mjCNSTR_LIMIT_TENDON))]  # fmt: skip
    return [*limits, *reached_limits(mj, model, data, limits), *contacts_at(mj, model, data)]


def dry_rows(mj: Any, kinds: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return the indices of the rows of dry friction in joints and tendons."""
    names = mj.mjtConstraint
    return np.flatnonzero((kinds == names.mjCNSTR_FRICTION_DOF) | (kinds == names.mjCNSTR_FRICTION_TENDON))


def dry_friction(mj: Any, model: Any, data: Any) -> tuple[Matrix, Vector]:
    """Return the rows of dry friction in joints and tendons, (d, nv), and its largest forces, (d,), N or N m."""
    at = dry_rows(mj, np.array(data.efc_type))
    return constraint_rows(mj, model, data)[at], np.array(data.efc_frictionloss)[at]


def _limit(mj: Any, model: Any, data: Any, i: int, row: Vector) -> Unilateral:
    kind, number = int(data.efc_type[i]), int(data.efc_id[i])
    of_joint = kind == mj.mjtConstraint.mjCNSTR_LIMIT_JOINT
    rows = np.zeros((ROLLING, len(row)))
    rows[0] = row
    if not of_joint:
        rows[:1] = without_rounding(rows[:1], rope_sizes(data, turning(mj, model), number))
    constant = bool(of_joint and model.jnt_type[number] != mj.mjtJoint.mjJNT_BALL)
    return Unilateral(
        (-kind, number), rows, float(data.efc_pos[i] - data.efc_margin[i]), np.zeros(len(PARTS)), constant=constant
    )


def reached_limits(mj: Any, model: Any, data: Any, found: Sequence[Unilateral]) -> Iterator[Unilateral]:
    """Yield limits of hinges and slides that are just reached, as in default poses; MuJoCo has no rows for them.

    Raises BadInput for such a limit of a tendon, as MuJoCo does not give its row.
    """
    if model.opt.disableflags & (mj.mjtDisableBit.mjDSBL_LIMIT | mj.mjtDisableBit.mjDSBL_CONSTRAINT):
        return
    known = {(*c.key, float(c.rows[0].sum()) > 0) for c in found}
    kind = int(mj.mjtConstraint.mjCNSTR_LIMIT_JOINT)
    of_one = np.isin(model.jnt_type, (int(mj.mjtJoint.mjJNT_HINGE), int(mj.mjtJoint.mjJNT_SLIDE)))
    for i in np.flatnonzero((model.jnt_limited != 0) & of_one):
        value, margin = data.qpos[model.jnt_qposadr[i]], float(model.jnt_margin[i])
        for lower, gap in ((True, value - model.jnt_range[i, 0]), (False, model.jnt_range[i, 1] - value)):
            if (-kind, int(i), lower) not in known and abs(gap - margin) <= REACHED * (1.0 + abs(value)):
                rows = np.zeros((ROLLING, model.nv))
                rows[0, model.jnt_dofadr[i]] = 1.0 if lower else -1.0
                yield Unilateral((-kind, int(i)), rows, 0.0, np.zeros(len(PARTS)), constant=True)
    kind = int(mj.mjtConstraint.mjCNSTR_LIMIT_TENDON)
    tendons = {c.key[1] for c in found if c.key[0] == -kind}
    for i in np.flatnonzero(model.tendon_limited):
        length, margin = float(data.ten_length[i]), float(model.tendon_margin[i])
        ends = model.tendon_range[i] + np.array([margin, -margin])
        if i not in tendons and np.abs(length - ends).min() <= REACHED * (1.0 + abs(length)):
            raise BadInput(f"{_limit_name(mj, model, kind, int(i))} is just reached, where MuJoCo has no row for it; "
                           "give the tendon a margin, such as 0.001.")  # fmt: skip


def check_contacts(mj: Any, model: Any, contact: Any, wanted: NDArray[np.intp]) -> None:
    """Raise BadInput as `check_contact` for the first of the wanted contacts that rows cannot represent."""
    geom, dim, friction = contact.geom[wanted], contact.dim[wanted], contact.friction[wanted]
    fields = model.geom_type[geom] == mj.mjtGeom.mjGEOM_HFIELD
    across = friction[:, (0, 3)] != friction[:, (1, 4)]
    unequal = across & (dim[:, None] >= (PLAIN, ROLLING))
    if (geom < 0).any() or fields.any() or contact.surfacevel[wanted].any() or unequal.any():
        for i in wanted.tolist():
            check_contact(mj, model, contact[i])


def check_contact(mj: Any, model: Any, contact: Any) -> None:
    """Raise BadInput for a contact that rows cannot represent, e.g. with anisotropic sliding or rolling friction."""
    one, two = (int(g) for g in contact.geom)
    if min(one, two) < 0:
        raise BadInput("A contact touches a flexible body; contacts of rigid geometries are understood only.")
    for number in one, two:
        if model.geom_type[number] == mj.mjtGeom.mjGEOM_HFIELD:
            raise BadInput(no_field(mj, model, number))
    words = _pair(mj, model, one, two)
    if np.any(contact.surfacevel):
        raise BadInput(f"{words} has a surface that moves by itself (surfacevel), which the rows of a contact do "
                       "not hold; set it to zero, or take soft_from_mujoco.")  # fmt: skip
    for least, first, kind in ((PLAIN, 0, ""), (ROLLING, 3, "rolling ")):
        mu, across = (float(x) for x in contact.friction[first : first + 2])
        if contact.dim >= least and mu != across:
            raise BadInput(f"{words} has {kind}friction {mu:g} and {across:g} along its tangents; they must be equal.")


def contacts_at(mj: Any, model: Any, data: Any) -> Iterator[Unilateral]:
    """Yield the contacts that MuJoCo finds; raises BadInput for contacts that do not follow Coulomb's law."""
    turns, reach = turning(mj, model), distances(data).max()
    for contact in data.contact:
        if contact.exclude > IN_GAP:
            continue
        check_contact(mj, model, contact)
        one, two = (int(g) for g in contact.geom)
        mu = np.array([float(contact.friction[i]) if contact.dim >= stop else 0.0 for _, stop, _, i in PARTS])
        bodies = model.geom_bodyid[one], model.geom_bodyid[two]
        relative = np.subtract(*(point_jacobian(mj, model, data, contact.pos, body) for body in bodies[::-1]))
        rows = (contact.frame.reshape(3, 3) @ relative).reshape(ROLLING, -1)
        sizes = sizes_of_places(turns, max(reach, np.linalg.norm(contact.pos)))
        rows = np.concatenate((without_rounding(rows[:3], sizes), without_rounding(rows[3:], 2.0 * turns)))
        if not rows[0].any():
            continue  # bodies that cannot approach exert no force, such as an arm that moves parallel to a wall
        # Friction has no effect on bodies that cannot slip or turn, such as a body on a guide along the normal.
        mu *= [rows[max(start, 1) : stop].any() for start, stop, _, _ in PARTS]
        yield Unilateral((one, two), rows, float(contact.dist - contact.includemargin), mu, contact.pos.copy())


def point_jacobian(mj: Any, model: Any, data: Any, place: NDArray[np.float64], body: int) -> NDArray[np.float64]:
    """Return the Jacobians of a point of a body and of the body's angular velocity, (2, 3, nv)."""
    J = np.zeros((2, 3, model.nv))
    mj.mj_jac(model, data, *J, place, body)
    return J


def name_of(mj: Any, model: Any, row: Unilateral) -> str:
    """Return the name of a contact by its geometries, or of a limit by its joint or tendon."""
    return _limit_name(mj, model, *row.key) if row.place is None else _pair(mj, model, *row.key)


def _limit_name(mj: Any, model: Any, kind: int, number: int) -> str:
    of_joint = -kind == mj.mjtConstraint.mjCNSTR_LIMIT_JOINT
    name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_JOINT if of_joint else mj.mjtObj.mjOBJ_TENDON, number)
    return f"The limit of {'joint' if of_joint else 'tendon'} {name or number!r}"


def touchable(mj: Any, model: Any) -> list[int]:
    """Return the indices of the geometries that can touch others; raises BadInput if these include height fields."""
    if model.opt.disableflags & mj.mjtDisableBit.mjDSBL_CONTACT:
        return []
    can = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    can[model.pair_geom1], can[model.pair_geom2] = True, True
    fields = np.flatnonzero(can & (model.geom_type == mj.mjtGeom.mjGEOM_HFIELD))
    if fields.size:
        raise BadInput(no_field(mj, model, int(fields[0])))
    found: list[int] = np.flatnonzero(can).tolist()
    return found


def no_field(mj: Any, model: Any, number: int) -> str:
    """Return the message that refuses a height field."""
    return (
        f"{geometry_name(mj, model, number)} is a height field, whose contacts MuJoCo finds at hidden edges of prisms "
        "too; take a plane, boxes or a mesh in its place."
    )


def _pair(mj: Any, model: Any, one: int, two: int) -> str:
    return f"The contact of {geometry_name(mj, model, one)} and {geometry_name(mj, model, two)}"


def geometry_name(mj: Any, model: Any, number: int) -> str:
    """Return the name of a geometry in quotes, or its number if it has no name."""
    return repr(mj.mj_id2name(model, mj.mjtObj.mjOBJ_GEOM, number) or f"geometry {number}")


def dry_name(mj: Any, model: Any, data: Any, row: int) -> str:
    """Return a name for the dry friction of a row, made from the name of its joint or tendon."""
    number = int(data.efc_id[row])
    if data.efc_type[row] == mj.mjtConstraint.mjCNSTR_FRICTION_TENDON:
        name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_TENDON, number) or f"tendon {number}"
        return f"{name}, dry friction"
    joint = int(model.dof_jntid[number])
    along = number - int(model.jnt_dofadr[joint])
    name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_JOINT, joint) or f"joint {joint}"
    return f"{name}, dry friction" + (f" {along + 1}" if along else "")
