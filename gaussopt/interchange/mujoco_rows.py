"""Rows of limits and contacts at a configuration of a MuJoCo model, and derivatives of all rows along the motion.

MuJoCo does not provide these derivatives. They are fourth-order differences of the rows at neighbouring configurations,
where each contact is identified by its position.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.row_rounding import rounding, without_rounding
from gaussopt.interchange.mujoco_equalities import (
    Equalities,
    constraint_rows,
    distances,
    enough_memory,
    rope_sizes,
    sizes_of_places,
    turning,
)

SHIFT = 1e-3
"""Change of a coordinate, m or rad, for finite differences of rows along the motion."""

LONGEST = 0.1
"""Largest time between neighbours, s, so that the neighbours of a slow motion are nearer than `SHIFT`."""

STILL = 1e-6
"""Speed, m/s or rad/s, up to which J_dot v, of the order of the squared speed over a length, is negligible."""

SAME = 1e-4
"""Largest difference between a distance's rate and the normal velocity, relative to the speed of the coordinates."""

PLAIN, ROLLING = 3, 6
"""Numbers of rows of a contact with sliding friction only, and with spinning and rolling friction in addition."""

PARTS = ((0, 3, "", 0), (3, 4, ", spinning", 2), (4, 6, ", rolling", 3))
"""Parts of a contact: range of MuJoCo's rows, suffix of the contact's name, and index of the friction coefficient."""

IN_GAP = 1
"""MuJoCo's mark for a contact within its gap, which carries no force yet; contacts with larger marks never do."""

FASTER = 20.0
"""Largest speed of a contact point relative to that of its bodies, as for a flat ellipsoid that rolls."""

ROUNDING = 1e-9
"""Distance, m, below which two points count as equal."""

REACHED = 1e-12
"""Distance from a limit, relative to 1 + its absolute value, m or rad, at which the limit counts as reached."""

STENCIL = ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0))
"""Offsets of the neighbours in steps, and twelve times their weights in a fourth-order difference."""

KINK = 0.2, 0.1
"""Largest difference between derivatives from near and far neighbours: relative to the derivative, and in units of the
squared speed of the coordinates. If a row jumps, the difference is 0.4 to 3 times the derivative."""


@dataclass(frozen=True)
class Unilateral:
    """A contact or a limit: rows (6, nv), of the normal and two tangents, in m/s, and of turning about these, in rad/s.

    `key` holds the two geometries of a contact, or the negative type and the index of a limit; `gap`, m or rad, is
    measured from where MuJoCo begins to exert forces. `mu`, (3,), has a friction coefficient for each of PARTS. A limit
    has no `place`; rows of a `constant` limit are the same in all configurations.
    """

    key: tuple[int, int]
    rows: Matrix
    gap: float
    mu: Vector
    place: NDArray[np.float64] | None = None
    constant: bool = False


class Way(NamedTuple):
    """Motion of a contact point: its velocities as a point of each body, (2, 3), and the speed of the bodies, m/s."""

    velocities: NDArray[np.float64]
    speed: float


def contacts_and_limits(mj: Any, model: Any, data: Any) -> list[Unilateral]:
    """Return the contacts and limits at the configuration of `data`, whose positions are up to date."""
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
    """Yield limits of hinges and slides that are just reached, as in most default poses, for which MuJoCo has no rows.

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


def derivatives(
    mj: Any, model: Any, data: Any, equalities: Equalities, contacts: Sequence[Unilateral] = (),
    wanted: Sequence[int] = (), near: Any = None, at_rest: float = 0.0,
) -> tuple[Vector, Vector, NDArray[np.float64]]:  # fmt: skip
    """Return J_dot v and the sizes of its terms, (m,), for equalities, and J_dot v of the contacts in `wanted`, (k, 6).

    They are derivatives of J(q) v along the motion at constant v; values within their rounding errors are zero.

    `near` are data of the model to be reused for neighbouring configurations. Rows of contacts whose bodies move by at
    most `at_rest`, m/s, and of limits at such velocities, count as constant if they are not identified at a neighbour:
    the contact point of a disk lying on a plane changes with every rounding error of its pose, and J_dot v is of
    the order v^2 / size. Where the contact's distance is smooth and its rate is the normal velocity, the derivative of
    this velocity is taken from the distance, because MuJoCo finds directions of contacts less accurately.
    """
    v = data.qvel.copy()
    speed = float(np.abs(v).max(initial=0.0))
    (total, terms), of_contacts = np.zeros((2, equalities.m)), np.zeros((len(wanted), ROLLING))
    changing = [(at, i) for at, i in enumerate(wanted) if not contacts[i].constant]
    if speed == 0.0 or not (len(total) or changing):
        return total, terms, of_contacts
    step, near = min(SHIFT / speed, LONGEST), near or mj.MjData(model)
    near.eq_active[:], near.time = data.eq_active, data.time
    near.mocap_pos[:], near.mocap_quat[:] = data.mocap_pos, data.mocap_quat
    ways = [_way(mj, model, data, c) for c in contacts] if changing else []
    at_rest = max(at_rest, STILL)
    rests = {i for _, i in changing if (speed if contacts[i].place is None else ways[i].speed) <= at_rest}
    nearby, gaps = np.zeros((len(STENCIL), len(wanted), ROLLING)), np.zeros((len(STENCIL), len(wanted)))
    for at_neighbour, (by, weight) in enumerate(STENCIL):
        near.qpos[:] = data.qpos
        mj.mj_integratePos(model, near.qpos, v, by * step)
        with enough_memory(mj, model, near):
            mj.mj_fwdPosition(model, near)
        J, _, sizes = equalities(near)
        weight /= 12.0 * step
        total += weight * (J @ v)
        terms += abs(weight) * (sizes @ np.abs(v))
        if not changing:
            continue
        there = contacts_and_limits(mj, model, near)
        found = _found_again(contacts, there, ways, by * step)
        for at, i in changing:
            if i in found:
                nearby[at_neighbour, at], gaps[at_neighbour, at] = found[i].rows @ v, found[i].gap
            elif i not in rests:
                raise BadInput(_not_found(mj, model, contacts[i], by * step))
            else:
                nearby[:, at] = np.nan
    for at, i in changing:
        contact, rate = contacts[i], _smooth_derivative(nearby[:, at], step, speed)
        if contact.place is not None:
            second = _second_derivative(gaps[:, at], contact.gap, float(contact.rows[0] @ v), step, speed)
            rate[0] = rate[0] if np.isnan(second) else second
        of_contacts[at] = np.where(np.repeat(np.append(1.0, contact.mu), (1, 2, 1, 2)) > 0.0, rate, 0.0)
        if np.isnan(of_contacts[at]).any():
            if i not in rests:
                raise BadInput(_jumps(mj, model, contacts[i], 2 * step))
            of_contacts[at] = 0.0
    total[np.abs(total) <= rounding(model.nv, equalities.m) * terms] = 0.0
    return total, terms, of_contacts


def _smooth_derivative(values: NDArray[np.float64], step: float, speed: float) -> Vector:
    """Return the derivative of values at four neighbours, (4, 6), a time `step` apart; NaN where the values jump."""
    near, far = (values[2] - values[1]) / (2 * step), (values[3] - values[0]) / (4 * step)
    found: Vector = (4 * near - far) / 3
    relative, absolute = KINK
    return np.where(np.abs(near - far) > relative * np.abs(found) + absolute * speed**2, np.nan, found)


def _second_derivative(values: Vector, here: float, rate: float, step: float, speed: float) -> float:
    """Return the second derivative of a distance from its values here and at four neighbours, (4,).

    It is NaN if the distance is not smooth, or if its rate is not `rate`, as when a contact point moves along an edge.
    """
    first = (8.0 * (values[2] - values[1]) - (values[3] - values[0])) / (12.0 * step)
    near = (values[1] - 2.0 * here + values[2]) / step**2
    far = (values[0] - 2.0 * here + values[3]) / (4.0 * step**2)
    relative, absolute = KINK
    found = float(4.0 * near - far) / 3.0
    smooth = abs(near - far) <= relative * abs(found) + absolute * speed**2
    return found if smooth and abs(first - rate) <= SAME * speed else np.nan


def _way(mj: Any, model: Any, data: Any, contact: Unilateral) -> Way:
    velocities, speed, twist = np.zeros((2, 3)), 0.0, np.zeros(6)
    if contact.place is None:
        return Way(velocities, speed)
    for body, number in enumerate(contact.key):
        mj.mj_objectVelocity(model, data, mj.mjtObj.mjOBJ_GEOM, number, twist, 0)
        velocities[body] = twist[3:] + np.cross(twist[:3], contact.place - data.geom_xpos[number])
        turning = float(np.linalg.norm(twist[:3]) * model.geom_rbound[number])
        speed = max(speed, turning, float(np.linalg.norm(twist[3:])), float(np.linalg.norm(velocities[body])))
    return Way(velocities, speed)


def _found_again(
    here: Sequence[Unilateral], there: Sequence[Unilateral], ways: Sequence[Way], time: float
) -> dict[int, Unilateral]:
    """Map indices in `here` to contacts and limits in `there`, `time` s later, that are certainly the same."""
    groups: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, contacts in enumerate((here, there)):
        for i, contact in enumerate(contacts):
            groups[contact.key][side].append(i)
    found: dict[int, Unilateral] = {}
    for mine, others in groups.values():
        ours, theirs = [here[i] for i in mine], [there[j] for j in others]
        for i, j in _partners(ours, theirs, [ways[i] for i in mine], time):
            found[mine[i]] = theirs[j]
    return found


def _partners(
    here: Sequence[Unilateral], there: Sequence[Unilateral], ways: Sequence[Way], time: float
) -> Iterator[tuple[int, int]]:
    """Match contacts of one pair of geometries, or limits of a joint or tendon, here and there; yield index pairs.

    A contact is searched for where either body carries its contact point. It is matched with the nearest contact in
    the range of its motion, if that has no other match; if their number changes, all others must be twice as far.
    """
    places, others = [c.place for c in here if c.place is not None], [c.place for c in there if c.place is not None]
    if not places:
        yield from ((i, j) for i, a in enumerate(here) for j, b in enumerate(there) if a.rows[0] @ b.rows[0] > 0)
        return
    if not others:
        return
    ahead = np.array([place + time * way.velocities for place, way in zip(places, ways, strict=True)])
    away = np.linalg.norm(ahead[:, :, None] - np.array(others), axis=3).min(axis=1)
    nearer = 1.0 if len(here) == len(there) else 0.5
    for i, j in np.transpose(linear_sum_assignment(away)).tolist():
        far = SHIFT + FASTER * ways[i].speed * abs(time)
        if away[i, j] <= min(far, nearer * np.delete(away[i], j).min(initial=np.inf) + ROUNDING):
            yield i, j


def _not_found(mj: Any, model: Any, row: Unilateral, time: float) -> str:
    advice = "" if row.place is None else "give geometries a gap of 0.01, or "
    return (
        f"{_name(mj, model, row)} is not surely found again {time:+.1e} s along the motion, so that the derivative of "
        f"its rows is not known; {advice}take contacts_from_mujoco, which needs none."
    )


def _jumps(mj: Any, model: Any, row: Unilateral, time: float) -> str:
    return (
        f"{_name(mj, model, row)} changes its direction by a jump within {time:.1e} s of here, as where a face gives "
        "way to an edge, so that the derivative of its rows is not known; take contacts_from_mujoco, which needs none."
    )


def _name(mj: Any, model: Any, row: Unilateral) -> str:
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
    """Return the name of the dry friction to which a row belongs, by its joint or tendon."""
    number = int(data.efc_id[row])
    if data.efc_type[row] == mj.mjtConstraint.mjCNSTR_FRICTION_TENDON:
        name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_TENDON, number) or f"tendon {number}"
        return f"{name}, dry friction"
    joint = int(model.dof_jntid[number])
    along = number - int(model.jnt_dofadr[joint])
    name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_JOINT, joint) or f"joint {joint}"
    return f"{name}, dry friction" + (f" {along + 1}" if along else "")
