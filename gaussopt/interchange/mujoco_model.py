"""One instant of a MuJoCo model as step data, as contacts of one time step, and as MuJoCo's own soft program.

Velocities are MuJoCo's qvel, (nv,), also where a free or ball joint has a quaternion among its positions. Contacts are
those that MuJoCo finds, limits of joints and tendons are contacts without friction, equality constraints are rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, GlobalContacts
from gaussopt.core.errors import BadInput, MissingBackend
from gaussopt.core.programs import QP
from gaussopt.core.step_data import StepData
from gaussopt.interchange.touching import touching

SHIFT = 1e-3
"""Change of a coordinate, m or rad, from which derivatives of rows along the motion are taken."""

PLAIN = 3
"""Rows of a contact with sliding friction."""

IN_GAP = 1
"""MuJoCo's mark of a contact that it finds and does not push yet; those with a larger one never push."""


@dataclass(frozen=True)
class Unilateral:
    """A contact or a limit: rows (3, nv) whose first is the normal, m/s a unit of velocity.

    `key` tells it again in a neighbouring configuration; `gap`, m or rad, counts from where MuJoCo begins to push.
    """

    key: tuple[int, ...]
    rows: Matrix
    gap: float
    mu: float


@dataclass(frozen=True)
class Rows:
    """Equality rows, (m, nv), and the contacts and limits, of one configuration."""

    J: Matrix
    contacts: Sequence[Unilateral]

    def moving(self, v: Vector) -> tuple[Vector, dict[tuple[int, ...], Vector]]:
        """J v, and that of each contact."""
        return self.J @ v, {c.key: c.rows @ v for c in self.contacts}


def from_mujoco(model: Any, data: Any, *, at_rest: float = 1e-3) -> StepData:
    """Step data of the present state of a MuJoCo model, with hard constraints and Coulomb friction.

    M a + h = Q + J^T lam + ... as in `StepData`: h is MuJoCo's qfrc_bias, Q all forces of springs, dampers, actuators
    and applied loads. The right-hand sides hold the derivatives of the rows along the motion, taken by differences of
    order four at neighbouring configurations, with an error of the order of 1e-10 of their size.

    Parameters
    ----------
    model, data : mujoco.MjModel, mujoco.MjData; `data` is brought up to date by mj_forward and keeps its state
    at_rest : m/s; contacts and limits that open faster are left out, slower slip is taken for none, as MuJoCo's soft
        contacts never come quite to rest

    Raises
    ------
    BadInput
        If MuJoCo has a constraint that is no such row: dry friction of joints and tendons, contacts with torsional or
        anisotropic friction or with flexible bodies; or if a contact vanishes at a neighbouring configuration.

    Examples
    --------
    See docs/other-engines.md.
    """
    mj = forward(model, data)
    v, rows = data.qvel.copy(), rows_at(mj, model, data)
    J_dot_v, contact_dot_v = derivatives(mj, model, data, rows)
    closed = [c for c in rows.contacts if c.gap <= 0.0]
    given: dict[str, Any] = {"gamma": -J_dot_v, "J": rows.J} if len(rows.J) else {}
    if closed:
        bias = np.array([contact_dot_v[c.key] for c in closed])
        given |= touching(np.array([c.rows for c in closed]), bias, np.array([c.mu for c in closed]), v, at_rest)
    M, h = mass_matrix(mj, model, data), data.qfrc_bias.copy()
    return StepData.from_mapping({"M": M, "h": h, "Q": data.qfrc_smooth + h, "v": v, "t": float(data.time), **given})


def contacts_from_mujoco(model: Any, data: Any, dt: float | None = None) -> GlobalContacts:
    """The contacts of one time step of Moreau and Jean from the present state of a MuJoCo model.

    M (v' - v) = dt (Q - h) + H r + G l with u = H^T v' + gap/dt where a gap is open, and equality rows at velocity
    level. No derivative of a row is needed.

    Parameters
    ----------
    model, data : as in `from_mujoco`
    dt : s, that of the model if not given

    Raises BadInput as `from_mujoco`.
    """
    mj = forward(model, data)
    dt = float(model.opt.timestep) if dt is None else dt
    if not (np.isfinite(dt) and dt > 0):
        raise BadInput(f"dt is {dt:g}; the length of a time step is positive.")
    rows, M, n = rows_at(mj, model, data), mass_matrix(mj, model, data), int(model.nv)
    k = len(rows.contacts)
    w = np.zeros((k, ROWS))
    w[:, 0] = [max(c.gap, 0.0) / dt for c in rows.contacts]
    H = np.vstack([c.rows for c in rows.contacts]).T if k else np.zeros((n, 0))
    given: dict[str, Any] = {"G": rows.J.T, "b": np.zeros(len(rows.J))} if len(rows.J) else {}
    mapping = {"M": M, "H": H, "f": M @ data.qvel + dt * data.qfrc_smooth, "w": w.ravel(), **given}
    return GlobalContacts.from_mapping({**mapping, "mu": np.array([c.mu for c in rows.contacts])})


def soft_from_mujoco(model: Any, data: Any) -> QP:
    """MuJoCo's own soft constraints at the present state as a convex program, whose first nv unknowns are qacc.

    min 1/2 |a - a0|_M^2 + 1/2 sum D s^2 + sum f t,  a0 = M^-1 (Q - h), with J a - aref = s of equalities, >= s of
    limits and contacts, and s + t+ - t- of joints with dry friction f; D and aref are MuJoCo's efc_D and efc_aref.

    Raises BadInput for elliptic friction cones, which are no linear rows (set the option cone to pyramidal).
    """
    mj = forward(model, data)
    kinds, J = np.array(data.efc_type), _constraint_rows(mj, model, data)
    names = mj.mjtConstraint
    if (kinds == names.mjCNSTR_CONTACT_ELLIPTIC).any():
        raise BadInput(
            "The model has elliptic friction cones, which are no linear rows; set its option cone to pyramidal."
        )
    dry = _dry(mj, kinds)
    two_sided = kinds == names.mjCNSTR_EQUALITY
    two_sided[dry] = True
    n, m, d = int(model.nv), len(J), len(dry)
    P, q = np.zeros((n + m + 2 * d,) * 2), np.zeros(n + m + 2 * d)
    P[:n, :n], q[:n] = mass_matrix(mj, model, data), -data.qfrc_smooth
    P[n : n + m, n : n + m] = np.diag(data.efc_D)
    q[n + m :] = np.tile(data.efc_frictionloss[dry], 2)
    sign = np.zeros((m, 2 * d))
    sign[dry, np.arange(d)], sign[dry, d + np.arange(d)] = -1.0, 1.0
    A = np.vstack((np.hstack((J, -np.eye(m), sign)), np.eye(2 * d, n + m + 2 * d, n + m)))
    low = np.concatenate((data.efc_aref, np.zeros(2 * d)))
    high = np.concatenate((np.where(two_sided, data.efc_aref, np.inf), np.full(2 * d, np.inf)))
    return QP.from_mapping({"P": P, "q": q, "A": A, "l": low, "u": high})


def forward(model: Any, data: Any) -> Any:
    """The package, after its forward dynamics of the present state."""
    try:
        import mujoco
    except ImportError:
        raise MissingBackend("Models of MuJoCo need its package: pip install 'gaussopt[mujoco]'.") from None
    for what, given, kind in (("model", model, mujoco.MjModel), ("data", data, mujoco.MjData)):
        if not isinstance(given, kind):
            raise BadInput(f"{what} is {type(given).__name__}; expected mujoco.{kind.__name__}.")
    if len(data.qpos) != model.nq or len(data.qvel) != model.nv:
        raise BadInput("data belongs to another model; make it by mujoco.MjData(model).")
    if model.nv == 0:
        raise BadInput("The model has no joint, so that nothing can move.")
    if not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
        raise BadInput("qpos or qvel of data holds NaN or infinity.")
    mujoco.mj_forward(model, data)
    return mujoco


def mass_matrix(mj: Any, model: Any, data: Any) -> Matrix:
    """M of the state of `data`, (nv, nv)."""
    M = np.zeros((model.nv, model.nv))
    mj.mj_fullM(model, data, M)
    return M


def _constraint_rows(mj: Any, model: Any, data: Any) -> Matrix:
    """MuJoCo's efc_J, (nefc, nv), whichever way it is kept."""
    m, n = int(data.nefc), int(model.nv)
    if not mj.mj_isSparse(model):
        return np.array(data.efc_J).reshape(m, n)
    J = np.zeros((m, n))
    if m:
        mj.mju_sparse2dense(J, data.efc_J.ravel(), data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind.ravel())
    return J


def rows_at(mj: Any, model: Any, data: Any) -> Rows:
    """Rows of the configuration of `data`, whose positions are up to date."""
    names, J = mj.mjtConstraint, _constraint_rows(mj, model, data)
    kinds = np.array(data.efc_type)
    if (at := _dry(mj, kinds)).size:
        raise BadInput(f"{_named(mj, model, data, int(at[0]))} has dry friction (frictionloss), which is no contact; "
                       "set it to zero, or take soft_from_mujoco.")  # fmt: skip
    equal = kinds == names.mjCNSTR_EQUALITY
    limits = [_limit(data, int(i), J[i]) for i in np.flatnonzero(
        (kinds == names.mjCNSTR_LIMIT_JOINT) | (kinds == names.mjCNSTR_LIMIT_TENDON))]  # fmt: skip
    return Rows(J[equal], [*limits, *contacts_at(mj, model, data)])


def _equalities(mj: Any, model: Any, data: Any) -> Matrix:
    """Rows of equalities, (m, nv), which MuJoCo puts first."""
    return _constraint_rows(mj, model, data)[: data.ne]


def _dry(mj: Any, kinds: NDArray[np.int32]) -> NDArray[np.intp]:
    """Numbers of the rows of dry friction in joints and tendons."""
    names = mj.mjtConstraint
    return np.flatnonzero((kinds == names.mjCNSTR_FRICTION_DOF) | (kinds == names.mjCNSTR_FRICTION_TENDON))


def _limit(data: Any, i: int, row: Vector) -> Unilateral:
    rows = np.zeros((ROWS, len(row)))
    rows[0] = row
    side = int(np.sign(row[np.argmax(np.abs(row))]))
    return Unilateral(
        (int(data.efc_type[i]), int(data.efc_id[i]), side), rows, float(data.efc_pos[i] - data.efc_margin[i]), 0.0
    )


def contacts_at(mj: Any, model: Any, data: Any) -> Iterator[Unilateral]:
    """Contacts that MuJoCo finds, numbered within their pair of geometries."""
    seen: dict[tuple[int, int], int] = {}
    for contact in data.contact:
        if contact.exclude > IN_GAP:
            continue
        one, two = (int(g) for g in contact.geom)
        if min(one, two) < 0:
            raise BadInput("A contact touches a flexible body; contacts of rigid geometries are understood only.")
        words = _pair(mj, model, one, two)
        if contact.dim > PLAIN:
            raise BadInput(f"{words} has condim {contact.dim}; torsional and rolling friction are not Coulomb's law "
                           "of a point, so set condim to 1 or 3.")  # fmt: skip
        mu, across = (0.0, 0.0) if contact.dim == 1 else (float(x) for x in contact.friction[:2])
        if mu != across:
            raise BadInput(f"{words} has friction {mu:g} and {across:g} along its tangents; they must be equal.")
        number = seen[one, two] = seen.get((one, two), -1) + 1
        bodies = model.geom_bodyid[one], model.geom_bodyid[two]
        relative = np.subtract(*(point_jacobian(mj, model, data, contact.pos, body) for body in bodies[::-1]))
        rows = contact.frame.reshape(3, 3) @ relative
        yield Unilateral((-1, one, two, number), rows, float(contact.dist - contact.includemargin), mu)


def point_jacobian(mj: Any, model: Any, data: Any, place: NDArray[np.float64], body: int) -> Matrix:
    """Jacobian of a point of a body, (3, nv)."""
    J = np.zeros((3, model.nv))
    mj.mj_jac(model, data, J, None, place, body)
    return J


def derivatives(
    mj: Any, model: Any, data: Any, rows: Rows, near: Any = None
) -> tuple[Vector, dict[tuple[int, ...], Vector]]:
    """J_dot v, (m,), and that of each contact, (3,): derivatives of J(q) v along v with v held.

    `near` are data of the model to write neighbouring configurations into, which take time to make.
    """
    v = data.qvel.copy()
    speed = float(np.abs(v).max(initial=0.0))
    total, of_contacts = np.zeros(len(rows.J)), {c.key: np.zeros(ROWS) for c in rows.contacts}
    if speed == 0.0 or not (len(total) or of_contacts):
        return total, of_contacts
    step, near = SHIFT / speed, near or mj.MjData(model)
    near.eq_active[:], near.time = data.eq_active, data.time
    near.mocap_pos[:], near.mocap_quat[:] = data.mocap_pos, data.mocap_quat
    for by, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
        near.qpos[:] = data.qpos
        mj.mj_integratePos(model, near.qpos, v, by * step)
        mj.mj_fwdPosition(model, near)
        if of_contacts:
            values, found = rows_at(mj, model, near).moving(v)
        else:
            values, found = _equalities(mj, model, near) @ v, {}
        total += weight * values / (12.0 * step)
        for key, value in of_contacts.items():
            if key not in found:
                raise BadInput(f"{_unilateral(mj, model, key)} is not there {by * step:+.1e} s along the motion, so "
                               "that the derivative of its rows is not known; give geometries a gap of 0.01, or take "
                               "contacts_from_mujoco, which needs none.")  # fmt: skip
            value += weight * found[key] / (12.0 * step)
    return total, of_contacts


def _unilateral(mj: Any, model: Any, key: tuple[int, ...]) -> str:
    return "A limit" if key[0] >= 0 else _pair(mj, model, key[1], key[2])


def _pair(mj: Any, model: Any, one: int, two: int) -> str:
    return f"The contact of {geometry_name(mj, model, one)} and {geometry_name(mj, model, two)}"


def geometry_name(mj: Any, model: Any, number: int) -> str:
    """A geometry in quotes, by its number where it has no name."""
    return repr(mj.mj_id2name(model, mj.mjtObj.mjOBJ_GEOM, number) or f"geometry {number}")


def _named(mj: Any, model: Any, data: Any, row: int) -> str:
    """The joint or tendon with dry friction whose row this is."""
    number = int(data.efc_id[row])
    if data.efc_type[row] == mj.mjtConstraint.mjCNSTR_FRICTION_TENDON:
        return f"Tendon {mj.mj_id2name(model, mj.mjtObj.mjOBJ_TENDON, number) or number!r}"
    joint = int(model.dof_jntid[number])
    return f"Joint {mj.mj_id2name(model, mj.mjtObj.mjOBJ_JOINT, joint) or joint!r}"
