"""Derivatives of the rows of a MuJoCo model along the motion, which MuJoCo does not provide.

They are fourth-order differences of the rows at neighbouring configurations, where each contact is identified by its
position.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.row_rounding import rounding
from gaussopt.interchange.mujoco_equalities import Equalities, place_near
from gaussopt.interchange.mujoco_rows import ROLLING, Unilateral, contacts_and_limits, name_of

SHIFT = 1e-3
"""Change of a coordinate, m or rad, for finite differences of rows along the motion."""

LONGEST = 0.1
"""Largest time between neighbours, s, so that the neighbours of a slow motion are nearer than `SHIFT`."""

STILL = 1e-6
"""Speed, m/s or rad/s, up to which J_dot v is neglected: it is of the order of the squared speed over a length."""

SAME = 1e-4
"""Largest difference between a distance's rate and the normal velocity, relative to the speed of the coordinates."""

FASTER = 20.0
"""Largest ratio of the speed of a contact point to the speed of its bodies, as for a flat ellipsoid that rolls."""

ROUNDING = 1e-9
"""Distance, m, below which two points count as equal."""

STENCIL = ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0))
"""Offsets of the neighbours in steps, and twelve times their weights in a fourth-order difference."""

KINK = 0.2, 0.1
"""Largest difference between derivatives from near and far neighbours: relative to the derivative, and in units of the
squared speed of the coordinates. If a row jumps, the difference is 0.4 to 3 times the derivative."""


class Way(NamedTuple):
    """Motion at a contact point: velocities of the two bodies there, (2, 3), and their largest speed anywhere, m/s."""

    velocities: NDArray[np.float64]
    speed: float


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
    ways = [_way(mj, model, data, c) for c in contacts] if changing else []
    at_rest = max(at_rest, STILL)
    rests = {i for _, i in changing if (speed if contacts[i].place is None else ways[i].speed) <= at_rest}
    nearby, gaps = np.zeros((len(STENCIL), len(wanted), ROLLING)), np.zeros((len(STENCIL), len(wanted)))
    for at_neighbour, (by, weight) in enumerate(STENCIL):
        place_near(mj, model, near, data, data.qvel, by * step)
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
    """Return the time derivative of values at four neighbours, (4, 6), `step` s apart; NaN where the values jump."""
    near, far = (values[2] - values[1]) / (2 * step), (values[3] - values[0]) / (4 * step)
    found: Vector = (4 * near - far) / 3
    relative, absolute = KINK
    return np.where(np.abs(near - far) > relative * np.abs(found) + absolute * speed**2, np.nan, found)


def _second_derivative(values: Vector, here: float, rate: float, step: float, speed: float) -> float:
    """Return the second derivative of a distance from its value `here` and `values`, (4,), at neighbouring points.

    It is NaN if the distance is not smooth, or if its numerical rate differs from `rate`, as for a point on an edge.
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
    """Map indices in `here` to the same contacts and limits in `there`, `time` s later, if this is certain."""
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
    """Yield pairs of indices, into `here` and `there`, of the same contact or limit at both instants.

    The point of a contact is expected where either body carries it; if the number of contacts is the same and their
    mean moves about as the bodies do, at the point plus the motion of the mean. Pairs minimise the sum of distances; if
    the number changes, all other contacts must be twice as far away.
    """
    places, others = [c.place for c in here if c.place is not None], [c.place for c in there if c.place is not None]
    if not places:
        yield from ((i, j) for i, a in enumerate(here) for j, b in enumerate(there) if a.rows[0] @ b.rows[0] > 0)
        return
    if not others:
        return
    ahead = np.array([place + time * way.velocities for place, way in zip(places, ways, strict=True)])
    if len(here) == len(there):
        common, carried = np.mean(others, axis=0), ahead.mean(axis=0)
        if np.linalg.norm(carried - common, axis=1).min() <= np.linalg.norm(carried[1] - carried[0]):
            ahead = (places + common - np.mean(places, axis=0))[:, None]
    away = np.linalg.norm(ahead[:, :, None] - np.array(others), axis=3).min(axis=1)
    nearer = 1.0 if len(here) == len(there) else 0.5
    for i, j in np.transpose(linear_sum_assignment(away)).tolist():
        far = SHIFT + FASTER * ways[i].speed * abs(time)
        if away[i, j] <= min(far, nearer * np.delete(away[i], j).min(initial=np.inf) + ROUNDING):
            yield i, j


def _not_found(mj: Any, model: Any, row: Unilateral, time: float) -> str:
    return (
        f"{name_of(mj, model, row)} is not surely found again {time:+.1e} s along the motion, so that the derivative "
        "of its rows is not known; take contacts_from_mujoco, which needs none."
    )


def _jumps(mj: Any, model: Any, row: Unilateral, time: float) -> str:
    return (
        f"{name_of(mj, model, row)} changes its direction by a jump within {time:.1e} s of here, as where a face gives "
        "way to an edge, so that the derivative of its rows is not known; take contacts_from_mujoco, which needs none."
    )
