"""The state of a MuJoCo model as step data, as contacts of a time step, or as MuJoCo's own soft program.

Velocities are MuJoCo's qvel, (nv,), even if a free or ball joint has a quaternion among its positions. MuJoCo finds
the contacts; limits of joints and tendons become contacts without friction, and equality constraints become rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector, finite_number
from gaussopt.core.cone_complementarity import ROWS, GlobalContacts
from gaussopt.core.errors import BadInput, MissingBackend
from gaussopt.core.programs import QP
from gaussopt.core.step_data import StepData
from gaussopt.interchange.mujoco_ahead import AHEAD
from gaussopt.interchange.mujoco_equalities import (
    Equalities,
    constraint_rows,
    enough_memory,
    independent,
    independent_where_closed,
    place_near,
)
from gaussopt.interchange.mujoco_neighbours import derivatives
from gaussopt.interchange.mujoco_rows import (
    PARTS,
    PLAIN,
    ROLLING,
    Unilateral,
    contacts_and_limits,
    dry_friction,
    dry_rows,
)
from gaussopt.interchange.touching import Friction, touching

RESTS = 1e-3
"""Speed of bodies, m/s, above which the derivatives of contact rows are always required."""

CONVEX = 1e-12, 200
"""Tolerance, m, and iteration limit of MuJoCo's convex collision detection while derivatives are computed."""

GIVEN = ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")
"""Fields of data that the user sets, which must be finite."""


def from_mujoco(model: Any, data: Any, *, at_rest: float = 1e-3) -> StepData:
    """Return step data of the current state of a MuJoCo model, with hard constraints and Coulomb friction.

    M a + h = Q + J^T lam + ... as in `StepData`: h is MuJoCo's qfrc_bias; Q contains the forces of springs, dampers,
    actuators and applied loads, and of dry friction in moving joints and tendons. Dry friction at rest, and spinning
    and rolling friction of contacts, are additional contacts, whose normal force is the bound of the friction; each
    adds a coordinate to MuJoCo's nv, whose acceleration is zero, see `gaussopt.interchange.touching.Friction`.

    The right-hand sides contain the derivatives of the rows along the motion, from fourth-order differences between
    neighbouring configurations, with a relative error of the order of 1e-10, and 1e-3 for contacts that MuJoCo finds by
    iteration (ellipsoids, cylinders, meshes).

    Parameters
    ----------
    model, data : mujoco.MjModel, mujoco.MjData; mj_forward updates `data`, which keeps its state; during the call
        ccd_tolerance and ccd_iterations of the model are stricter, and gaps of its geometries are larger if need be
    at_rest : speed, m/s or rad/s; contacts and limits that open faster are left out, and slower slip, spinning and
        rolling count as zero, because MuJoCo's soft contacts never come quite to rest

    Raises
    ------
    BadInput
        If MuJoCo has constraints without equivalent rows: contacts with anisotropic friction,
        moving surfaces, height fields or flexible bodies; or if a closed contact whose bodies move faster than
        `at_rest` or 1 mm/s cannot be identified with certainty at a neighbouring configuration.

    Examples
    --------
    See docs/other-engines.md.
    """
    at_rest = finite_number("at_rest", at_rest)
    if at_rest < 0:
        raise BadInput(f"at_rest is {at_rest:g}; give a speed of at least zero, in m/s.")
    mj = forward(model, data)
    v, equalities, (dry, losses) = data.qvel.copy(), Equalities(mj, model, data), dry_friction(mj, model, data)
    J, _, sizes = equalities(data)
    closed, (J_dot_v, terms, bias) = _along(mj, model, data, equalities, at_rest)
    moving = np.abs(dry @ v) > at_rest
    M, h = mass_matrix(mj, model, data), data.qfrc_bias.copy()
    Q = data.qfrc_smooth + h - dry[moving].T @ (losses * np.sign(dry @ v))[moving]
    friction = _friction(closed, bias, dry[~moving], losses[~moving])
    rows, M, bounds = friction.beside(_rows(closed, model), M)

    def wider(x: Matrix | Vector) -> Matrix:
        return np.concatenate((x, np.zeros((*x.shape[:-1], len(friction.mu)))), axis=-1)

    acting = J.any(axis=1) | (J_dot_v != 0.0)
    kept = independent_where_closed(mj, model, data, equalities, M[: model.nv, : model.nv], (J_dot_v, terms))
    if kept is not None:
        acting &= kept
    of_rows = {"J": wider(J), "gamma": -J_dot_v, "J_terms": wider(sizes), "gamma_terms": terms}
    given: dict[str, Any] = {name: x[acting] for name, x in of_rows.items()} if acting.any() else {}
    if len(rows):
        own = np.pad(friction.bias, ((0, 0), (1, 0)))  # the added coordinates have constant rows
        given |= touching(rows, np.vstack((bias[:, :PLAIN], own)), _sliding(closed, friction), wider(v), at_rest)
    found = {"M": M, "h": wider(h), "Q": wider(Q) + bounds, "v": wider(v), "t": float(data.time), **given}
    return StepData.from_mapping(found)


def _along(mj: Any, model: Any, data: Any, equalities: Equalities, at_rest: float) -> tuple[list[Unilateral], Any]:
    """Return the closed contacts, and the result of `derivatives` for them.

    If a contact has just closed, it may be open at neighbouring states; then the search is repeated with contacts that
    MuJoCo finds at distances up to AHEAD.
    """
    reasons: list[BadInput] = []
    near = mj.MjData(model)
    for ahead in (0.0, AHEAD):
        try:
            with exact_contacts(model, ahead):
                place_near(mj, model, near, data)
                contacts = contacts_and_limits(mj, model, near)
                wanted = [i for i, c in enumerate(contacts) if c.gap <= 0.0 and c.rows[0] @ data.qvel <= at_rest]
                given = mj, model, data, equalities, contacts, wanted, near, min(at_rest, RESTS)
                return [contacts[i] for i in wanted], derivatives(*given)
        except BadInput as error:
            reasons.append(error)
    raise reasons[0]


def _rows(contacts: Sequence[Unilateral], model: Any) -> NDArray[np.float64]:
    """Return the rows of the normals and of the tangents, (k, 3, nv)."""
    return np.reshape([c.rows[:PLAIN] for c in contacts], (-1, PLAIN, model.nv))


def _sliding(contacts: Sequence[Unilateral], friction: Friction) -> Vector:
    return np.append([c.mu[0] for c in contacts], friction.mu)


def _friction(contacts: Sequence[Unilateral], bias: Matrix, dry: Matrix, losses: Vector) -> Friction:
    """Return the dry friction with rows `dry`, (d, nv), and the spinning and rolling friction of contacts."""
    of_contacts = [(i, part) for i, c in enumerate(contacts) for part in (1, 2) if c.mu[part] > 0.0]
    d, others = len(dry), len(of_contacts)
    tangents, rates = np.zeros((d + others, 2, dry.shape[1])), np.zeros((d + others, 2))
    tangents[:d, 0] = dry
    for at, (i, part) in enumerate(of_contacts, d):
        start, stop, *_ = PARTS[part]
        tangents[at, : stop - start], rates[at, : stop - start] = contacts[i].rows[start:stop], bias[i, start:stop]
    mu = np.append(np.ones(d), [contacts[i].mu[part] for i, part in of_contacts])
    parents = np.array([-1] * d + [i for i, _ in of_contacts], dtype=np.intp)
    return Friction(tangents, rates, mu, parents, np.append(losses, np.zeros(others)))


def contacts_from_mujoco(model: Any, data: Any, dt: float | None = None) -> GlobalContacts:
    """Return the contacts of one Moreau-Jean time step from the current state of a MuJoCo model.

    M (v' - v) = dt (Q - h) + H r + G l with u = H^T v' + gap/dt where a gap is open, and equality rows at velocity
    level, which are combined into independent rows if necessary. No derivative of a row is needed. Dry friction of
    joints and tendons, and spinning and rolling friction, are additional contacts, as in `from_mujoco`: their normals,
    and tangents that they lack, get additional velocities, which are zero and follow MuJoCo's nv.

    Raises BadInput where `from_mujoco` does.

    Parameters
    ----------
    model, data : as in `from_mujoco`
    dt : length of the step, s; by default the model's timestep
    """
    mj = forward(model, data)
    dt = finite_number("dt", model.opt.timestep if dt is None else dt)
    if dt <= 0:
        raise BadInput(f"dt is {dt:g}; the length of a time step is positive.")
    contacts, M, n = contacts_and_limits(mj, model, data), mass_matrix(mj, model, data), int(model.nv)
    equalities, k, dry = Equalities(mj, model, data), len(contacts), dry_friction(mj, model, data)
    (J, *_), still = equalities(data), np.zeros(equalities.m)
    kept = independent_where_closed(mj, model, data, equalities, M, (still, still))
    friction, J = _friction(contacts, np.zeros((k, ROLLING)), *dry), J[J.any(axis=1) & (True if kept is None else kept)]
    if len(J) and (basis := independent(J.T)).shape[1] < len(J):
        J = basis.T @ J
    rows, inertia, bounds = friction.beside(_rows(contacts, model), M)
    number, tangent = np.nonzero(~friction.tangents.any(axis=2))
    here, size = len(inertia), len(inertia) + len(number)
    whole, H, w = np.eye(size) * np.trace(M) / n, np.zeros((size, ROWS * len(rows))), np.zeros((len(rows), ROWS))
    whole[:here, :here], H[:here] = inertia, rows.reshape(-1, here).T
    H[here + np.arange(len(number)), ROWS * (k + number) + 1 + tangent] = 1.0
    w[:k, 0] = [max(c.gap, 0.0) / dt for c in contacts]
    f, G = np.zeros(size), np.vstack((J.T, np.zeros((size - n, len(J)))))
    f[:here] = dt * bounds
    f[:n] += M @ data.qvel + dt * data.qfrc_smooth
    given: dict[str, Any] = {"G": G, "b": np.zeros(len(J))} if len(J) else {}
    return GlobalContacts.from_mapping({"M": whole, "H": H, "f": f, "w": w.ravel(),
        "mu": _sliding(contacts, friction), **given})  # fmt: skip


def soft_from_mujoco(model: Any, data: Any) -> QP:
    """Return MuJoCo's soft constraints at the current state as a convex program, whose first nv unknowns are qacc.

    min 1/2 |a - a0|_M^2 + 1/2 sum D s^2 + sum f t,  a0 = M^-1 (Q - h), with J a - aref = s for equalities, >= s for
    limits and contacts, and s + t+ - t- for joints with dry friction f; D and aref are MuJoCo's efc_D and efc_aref.

    Raises BadInput for elliptic friction cones, which are not linear rows (set the option cone to pyramidal), and for
    the integrator discrete, whose qacc is not the acceleration of the current state.
    """
    mj = forward(model, data)
    if model.opt.integrator == mj.mjtIntegrator.mjINT_DISCRETE:
        raise BadInput("With the integrator discrete MuJoCo's qacc is that of the end of a time step, and not of the "
                       "present state; set the option integrator of the model to another one.")  # fmt: skip
    kinds, J = np.array(data.efc_type), constraint_rows(mj, model, data)
    names = mj.mjtConstraint
    if (kinds == names.mjCNSTR_CONTACT_ELLIPTIC).any():
        raise BadInput(
            "The model has elliptic friction cones, which are no linear rows; set its option cone to pyramidal."
        )
    dry = dry_rows(mj, kinds)
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


@contextmanager
def exact_contacts(model: Any, ahead: float = 0.0) -> Iterator[None]:
    """Within this context MuJoCo finds contacts of convex geometries to the tolerance CONVEX, at gaps up to `ahead`, m.

    With its default tolerance, 1e-6 m, the contact directions, whose derivatives are taken, would be off by 1e-3.
    """
    option, (tolerance, iterations) = model.opt, CONVEX
    before = option.ccd_tolerance, option.ccd_iterations
    option.ccd_tolerance, option.ccd_iterations = min(before[0], tolerance), max(before[1], iterations)
    gaps = {name: getattr(model, name).copy() for name in ("geom_gap", "pair_gap")}
    for name, own in gaps.items():
        getattr(model, name)[:] = np.maximum(own, ahead)
    try:
        yield
    finally:
        option.ccd_tolerance, option.ccd_iterations = before
        for name, own in gaps.items():
            getattr(model, name)[:] = own


def package() -> Any:
    """Return the package mujoco; raises MissingBackend."""
    try:
        import mujoco
    except ImportError:
        raise MissingBackend("Models of MuJoCo need its package: pip install 'gaussopt[mujoco]'.") from None
    return mujoco


LOST = (
    " It looks for files beside the model and knows no package://: give names relative to the model, or the folder, in "
    "a URDF by <mujoco><compiler meshdir='FOLDER' strippath='true'/></mujoco> inside <robot>."
)
"""Advice for a model whose files are not found."""


def loaded(path: Any) -> tuple[Any, Any]:
    """Return the model in an MJCF or URDF file, and its data at the first keyframe, if any; raises BadInput."""
    mujoco = package()
    if not isinstance(path, (str, os.PathLike)):
        raise BadInput(f"Without data, model is the path of an MJCF or URDF file, not {type(path).__name__}.")
    try:
        model = mujoco.MjModel.from_xml_path(os.fspath(path))
    except ValueError as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise BadInput(f"MuJoCo cannot read {path}: {said}.{LOST if 'opening file' in said else ''}") from None
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    return model, data


def forward(model: Any, data: Any) -> Any:
    """Run MuJoCo's forward dynamics at the current state and return the package mujoco."""
    mujoco = package()
    for what, given, kind in (("model", model, mujoco.MjModel), ("data", data, mujoco.MjData)):
        if not isinstance(given, kind):
            raise BadInput(f"{what} is {type(given).__name__}; expected mujoco.{kind.__name__}.")
    if data.model is not model and sizes(data.model) != sizes(model):
        raise BadInput("data belongs to another model; make it by mujoco.MjData(model).")
    if model.nv == 0:
        raise BadInput("The model has no joint, so that nothing can move.")
    _check_state(mujoco, model, data)
    with enough_memory(mujoco, model, data):
        mujoco.mj_forward(model, data)
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP and (data.tree_asleep >= 0).any():
        raise BadInput("A body of data sleeps, so that MuJoCo leaves its contacts out; disable the flag sleep of the "
                       "option of the model.")  # fmt: skip
    return mujoco


def sizes(model: Any) -> dict[str, int]:
    """Return all public sizes of a model, which determine the memory layout of the model's data."""
    found = {name: getattr(model, name) for name in dir(model) if name.startswith("n")}
    return {name: size for name, size in found.items() if isinstance(size, int)}


def _check_state(mj: Any, model: Any, data: Any) -> None:
    for name in GIVEN:
        if not np.isfinite(getattr(data, name)).all():
            raise BadInput(f"{name} of data holds NaN or infinity; give finite numbers.")
    for kind, before in ((mj.mjtJoint.mjJNT_FREE, 3), (mj.mjtJoint.mjJNT_BALL, 0)):
        for number in np.flatnonzero(model.jnt_type == kind).tolist():
            start = int(model.jnt_qposadr[number]) + before
            if np.linalg.norm(data.qpos[start : start + 4]) < mj.mjMINVAL:
                joint = mj.mj_id2name(model, mj.mjtObj.mjOBJ_JOINT, number) or number
                raise BadInput(f"The quaternion of joint {joint!r} in qpos of data is zero; give it the length 1.")


def mass_matrix(mj: Any, model: Any, data: Any) -> Matrix:
    """Return M at the state of `data`, (nv, nv)."""
    M = np.zeros((model.nv, model.nv))
    mj.mj_fullM(model, data, M)
    return M


def check_carried(mj: Any, model: Any, ahead: float) -> None:
    """Raise BadInput for parts of a model that a motion ignores, or that act at gaps up to `ahead`, m."""
    has = "The model has"
    stated = [mj.mj_id2name(model, mj.mjtObj.mjOBJ_PLUGIN, i) or i for i in np.flatnonzero(model.plugin_statenum)]
    refused = (
        ((model.actuator_historyadr >= 0).any(), f"{has} actuators with a delay; set delay and nsample to zero."),
        (model.nplastic, f"{has} springs that yield, whose set is a state of its own; set springyield to zero."),
        (model.npluginstate, f"{has} plugins with states of their own, which a motion does not advance: instances "
                             f"{', '.join(map(repr, stated))}; use plugins without."),
        (model.flg_surfacevel, f"{has} surfaces that move by themselves, which the rows of a contact do not hold; "
                               "set surfacevel to zero."),
        (model.flg_adhesion,
         f"{has} adhesion, which would pull wherever contacts are looked for, {ahead:g} m ahead; set it to zero."),
        (mj.get_mjcb_control() is not None,
         "A control callback is installed, which a motion does not call; remove it by mujoco.set_mjcb_control(None), "
         "and set ctrl of data."),
    )  # fmt: skip
    for found, words in refused:
        if found:
            raise BadInput(words)
