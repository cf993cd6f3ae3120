"""How far a candidate with contact forces is from the mechanics: joints, contact and friction laws, uniqueness.

A candidate (a, lam, lam_N, lam_T) is measured in three steps. How far is a from the acceleration that its own contact
forces would cause: exactly, as for steps without contacts. How far are its contact forces from the laws: the natural
map, every entry scaled to the unit of the mass norm. How far is it from a true solution: from the solution of the
contact mode that it names (open, stick or slip), which is computed here and checked against all laws; and by the bound

    ||E^-1 (lam_N - lam_N*)|| <= (1 + ||A^||) / c ||E^-1 r||,   A^ = E A E,  E = diag(A_ii)^(-1/2),  c = min eig sym A^,

where sym A^ is positive definite. Whether that solution is the only one is decided by the class of the contact
operator, or by enumeration of all contact modes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gaussopt.certificate import Certificate, certify
from gaussopt.contact_operator import ContactOperator
from gaussopt.lcp import MAX_ENUMERATED, LCPSolutions, classify_matrix, enumerate_lcp
from gaussopt.linalg import EPS, mass_scale
from gaussopt.status import Status
from gaussopt.stepdata import Matrix, StepData, Vector

EXACT = 1e-11
"""Relative violation of a law that a solution computed here may have: rounding of its linear system."""

DEFINITE = 1e-12
"""Smallest eigenvalue of sym A^ that counts as positive."""

QUICK = 8
"""Size of the LCP up to which all modes of sliding contacts are tried at every stage of a motion."""


@dataclass(frozen=True, slots=True)
class ContactSolution:
    """One acceleration with its forces."""

    a: Vector
    lam: Vector
    lam_N: Vector
    lam_T: Matrix
    w: Vector

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        return {f.name: getattr(self, f.name).tolist() for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the contact laws of a step allow.

    Attributes
    ----------
    status : Status
        solved (one acceleration), no_solution, multiple_solutions or acceleration_not_unique.
    reason : str
        How that is known: positive definite, P-matrix, monotone, enumeration; "undecided" if it is not.
    forces_unique : bool
    solutions : the different accelerations, if several and isolated
    ranges : smallest and largest value of a, lam, lam_N, lam_T, each (size, 2), where something is not unique
    """

    status: Status
    reason: str
    forces_unique: bool
    solutions: tuple[ContactSolution, ...] = ()
    ranges: dict[str, Matrix] | None = None

    def to_mapping(self) -> dict[str, Any]:
        """For JSON: `solutions`, `a_range`, `lam_N_range` and so on, where they apply."""
        out: dict[str, Any] = {}
        if self.solutions:
            out["solutions"] = [s.to_mapping() for s in self.solutions]
        if self.ranges is not None:
            out |= {f"{name}_range": values.tolist() for name, values in self.ranges.items()}
        return out


@dataclass(frozen=True, slots=True)
class ContactCertificate(Certificate):
    """What is proved about a candidate (a, lam, lam_N, lam_T); see `Certificate` for the fields shared with it.

    Attributes
    ----------
    law_residual : float
        Natural map of the contact and friction laws, in the unit of ||a||_M.
    friction_power : float
        Power that friction feeds, W; positive means that it points along the slip.
    smallest_w : float
        Smallest gap acceleration, m/s^2; NaN without contacts.
    uniqueness : str
        How uniqueness is known.
    contact : Verdict
    """

    law_residual: float = 0.0
    friction_power: float = 0.0
    smallest_w: float = math.nan
    contact: Verdict = Verdict(Status.SOLVED, "no contacts", True)

    def passed(self, tolerance: float = 1e-7) -> bool:
        """Whether acceleration, forces and laws hold within the tolerance."""
        # Not super(): a slotted dataclass is another class than the one whose body this is.
        if not Certificate.passed(self, tolerance):
            return False
        # As for the error: where masses are tiny, forces and laws must hold beside what the step itself calls for.
        sensible = math.sqrt(tolerance) * (self.natural_scale + self.norm_a)
        return self.law_residual <= tolerance * (1.0 + self.norm_a) and (
            math.isinf(tolerance) or max(self.law_residual, self.force_residual) <= sensible
        )

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **Certificate.to_mapping(self),
            "law_residual": self.law_residual if math.isfinite(self.law_residual) else None,
            "friction_power": self.friction_power,
            "uniqueness": self.contact.reason,
        }


def certify_contact(
    step: StepData,
    a: Vector | None,
    lam: Vector | None = None,
    lam_N: Vector | None = None,
    lam_T: Matrix | None = None,
    operator: ContactOperator | None = None,
    thorough: bool = True,
) -> ContactCertificate:
    """Certify a candidate of a step with contacts, all of them closed.

    Parameters
    ----------
    step : StepData
    a : (n,) or None
        None only classifies the step.
    lam, lam_N, lam_T : (m,), (k,), (k, d) or None
        Reported forces; without them those of the true solution next to a are used.
    operator : ContactOperator, optional
        If it is known already.
    thorough : bool
        Whether all contact modes may be enumerated with linear programs to decide uniqueness. Without it only quick
        proofs are tried, and `contact.reason` may say "undecided".

    Raises
    ------
    NotAccepted
        For stick in space.
    """
    base = certify(step.select([]), None)
    if base.verdict is not Status.SOLVED:
        return _without(base, Verdict(base.verdict, "joints", False))
    op = ContactOperator.of(step) if operator is None else operator
    verdict = decide(op, thorough, base.forces_unique)
    if a is None or not np.isfinite(a).all() or verdict.status is not Status.SOLVED:
        return _without(base, verdict)
    if lam_N is None or not np.isfinite(lam_N).all() or (lam_T is not None and not np.isfinite(lam_T).all()):
        lam_N, lam_T = op.split(_nearest(op, a, thorough))
        lam = None
    if lam_T is None:
        lam_T = op.split(np.concatenate((lam_N, np.zeros(int(op.resting.sum())))))[1]
    x = op.unknowns(lam_N, lam_T)
    own = certify(step.with_forces(lam_N, lam_T), a, lam)
    laws = _law_residual(op, a, lam_N, lam_T)
    bound, norm, floor = _distance(op, a, x, own, laws, thorough)
    power = float(np.einsum("kd,kd->", lam_T, step.v_T))
    w = step.J_N @ a + step.zeta_N
    d = mass_scale(step.M)
    natural = _length(op.joints.a_J / d) + _length(a / d) + _length(step.force * d)
    return ContactCertificate(
        error_bound=bound, error_norm=norm, constraint_residual=own.constraint_residual,
        force_residual=own.force_residual if lam is not None else own.error_bound,
        rounding_floor=own.rounding_floor + floor, condition=own.condition, norm_a=own.norm_a, norm_a_2=own.norm_a_2,
        norm_gamma=own.norm_gamma, verdict=Status.SOLVED, forces_unique=verdict.forces_unique,
        singular_mass=own.singular_mass, lam=own.lam, natural_scale=natural, law_residual=laws,
        friction_power=max(power, 0.0), smallest_w=float(w.min(initial=math.inf)), contact=verdict,
    )  # fmt: skip


def _without(base: Certificate, verdict: Verdict) -> ContactCertificate:
    shared = {f.name: getattr(base, f.name) for f in fields(Certificate)}
    shared |= {"verdict": verdict.status, "forces_unique": verdict.forces_unique, "error_bound": math.inf}
    return ContactCertificate(**shared, law_residual=math.inf, contact=verdict)


# -- uniqueness --------------------------------------------------------------------------------------------


def decide(op: ContactOperator, thorough: bool = True, joints_unique: bool = True) -> Verdict:
    """How many accelerations the contact laws allow, by the cheapest proof.

    Parameters
    ----------
    op : ContactOperator
    thorough : bool
        Whether linear programs may be solved.
    joints_unique : bool
        Whether the multipliers of the joints are determined by the contact forces.
    """
    if not op.k:
        return Verdict(Status.SOLVED, "no contacts", joints_unique)
    if not op.resting.any():
        A = op.delassus
        diagonal = A.diagonal()
        if (diagonal > 0).all():
            e = 1.0 / np.sqrt(diagonal)
            sym = 0.5 * (A + A.T) * np.outer(e, e)
            if float(np.linalg.eigvalsh(sym)[0]) > DEFINITE * len(A):
                return Verdict(Status.SOLVED, "positive definite", joints_unique)
            if classify_matrix(A).p_matrix:
                return Verdict(Status.SOLVED, "P-matrix", joints_unique)
        if not thorough and _monotone(op):
            return Verdict(Status.SOLVED, "monotone", False)
    lcp = op.lcp
    quick = lcp.n <= QUICK and not op.resting.any() and independent(op)
    if quick or (thorough and lcp.n <= MAX_ENUMERATED):
        return _enumerated(op, joints_unique)
    if not op.resting.any() and _monotone(op):
        return Verdict(Status.SOLVED, "monotone", False)
    return Verdict(Status.SOLVED, "undecided", False)


def _monotone(op: ContactOperator) -> bool:
    """`monotone` of the operator's own matrices, every contact in units of its own response."""
    A = op.delassus
    scale = np.sqrt(np.maximum(np.einsum("kn,nm,km->k", op.step.J_N, op.joints.K, op.step.J_N), 1e-300))
    motion = op.joints.root.T @ op.forces[:, : op.k] / scale
    return monotone(0.5 * (A + A.T) / np.outer(scale, scale), motion)


def monotone(sym: Matrix, motion: Matrix) -> bool:
    """Whether sym A is positive semidefinite and its null vectors cause no acceleration; then a is unique.

    Parameters
    ----------
    sym : (k, k)
        sym(delassus), scaled.
    motion : (r, k)
        Acceleration by each contact, scaled alike, in coordinates in which the mass norm is the 2-norm.
    """
    values, vectors = np.linalg.eigh(sym)
    size = max(float(np.abs(values).max()), 1e-300)
    if values[0] < -1e-11 * size:
        return False
    effect = motion @ vectors[:, values <= 1e-11 * size]
    return bool(np.abs(effect).max(initial=0.0) <= 1e-7 * math.sqrt(size))


def independent(op: ContactOperator) -> bool:
    """Whether the rows of the contacts are independent, so that the modes are regular linear systems."""
    root = op.rows @ op.joints.root
    length = np.linalg.norm(root, axis=1)
    if (length <= 0).any():
        return False
    return (
        bool(np.linalg.svd(root / length[:, None], compute_uv=False)[-1] > 1e-6) if len(root) <= len(root.T) else False
    )


def _enumerated(op: ContactOperator, joints_unique: bool) -> Verdict:
    step, joints = op.step, op.joints
    d = mass_scale(step.M)
    to_a = op.effect @ op.to_x
    a_0 = op.acceleration(op.x_0)
    found: LCPSolutions = enumerate_lcp(op.lcp, to_a / d[:, None], a_0 / d, size=op.lcp_size, supports=op.supports)
    ranges = None
    unique = found.unique and joints_unique
    if found.status is Status.ACCELERATION_NOT_UNIQUE or (found.status is Status.SOLVED and not found.unique):
        T, T_0 = _friction_rows(op)
        ranges = {
            "a": found.ranges(to_a, a_0),
            "lam_N": found.ranges(op.to_x[: op.k], step.least),
            "lam_T": found.ranges(T, T_0),
        }
        if joints_unique and step.m:
            ranges["lam"] = found.ranges(joints.lift @ op.forces @ op.to_x, op.multipliers(op.x_0))
        if found.status is Status.SOLVED:
            del ranges["a"]
            if joints_unique and all(_is_point(ends) for ends in ranges.values()):
                # Only the slip acceleration of an open contact was split in several ways.
                unique, ranges = True, None
    solutions: tuple[ContactSolution, ...] = ()
    if found.status is Status.MULTIPLE_SOLUTIONS:
        solutions = tuple(_solution(op, z) for z in found.representatives)
        unique = False
    status = found.status
    if status is Status.NO_SOLUTION and not step.mu.any():
        status = Status.INFEASIBLE  # without friction it is rows that contradict each other
    return Verdict(status, "enumeration", unique, solutions, ranges)


def _is_point(ends: Matrix) -> bool:
    """Whether no component has a range."""
    size = np.abs(ends).max(initial=0.0)
    return bool((ends[:, 1] - ends[:, 0] <= 1e-9 * size).all()) if np.isfinite(size) else False


def _friction_rows(op: ContactOperator) -> tuple[Matrix, Vector]:
    """lam_T of every contact and tangent as rows in z, and its value at z = 0."""
    z = np.eye(op.lcp.n)
    start = op.split(op.x_0)[1].ravel()
    columns = [op.split(op.x(unit))[1].ravel() - start for unit in z]
    return np.array(columns).T, start


def _solution(op: ContactOperator, z: Vector) -> ContactSolution:
    x = op.x(z)
    a = op.acceleration(x)
    lam_N, lam_T = op.split(x)
    return ContactSolution(a, op.multipliers(x), lam_N, lam_T, op.step.J_N @ a + op.step.zeta_N)


# -- distance ----------------------------------------------------------------------------------------------


def _length(x: Vector) -> float:
    return math.sqrt(float(x @ x)) if x.size else 0.0


def _weights(op: ContactOperator) -> Vector:
    """sqrt(row K row^T) of every row: one unit of force there is this much acceleration in the mass norm."""
    own = np.sqrt(np.maximum(((op.rows @ op.joints.root) ** 2).sum(axis=1), 0.0))
    # An inert direction (a dead centre) is measured with what the bodies would do without joints.
    bare = np.linalg.norm(op.rows * mass_scale(op.step.M), axis=1)
    return np.asarray(np.where(own > 1e-8 * bare, own, np.where(bare > 0, bare, 1.0)))


def _law_residual(op: ContactOperator, a: Vector, lam_N: Vector, lam_T: Matrix) -> float:
    """The natural map of all laws at the reported point, in the unit of the mass norm."""
    step, k = op.step, op.k
    weight = _weights(op)
    w = step.J_N @ a + step.zeta_N
    normal = np.minimum((lam_N - step.least) * weight[:k], w / weight[:k])
    parts = [normal]
    expected = step.sigma * (step.mu * lam_N)[:, None]
    sliding = ~op.resting
    tangent = np.linalg.norm(np.einsum("kdn,nr->kdr", step.J_T, op.joints.root), axis=(1, 2))
    parts.append((np.linalg.norm(lam_T - expected, axis=1) * tangent)[sliding])
    if op.resting.any():
        t, limit, g = lam_T[op.resting, 0], step.mu[op.resting] * np.maximum(lam_N[op.resting], 0.0), weight[k:]
        s = step.J_T[op.resting, 0] @ a + step.zeta_T[op.resting, 0]
        parts.append((t - np.clip(t - s / g**2, -limit, limit)) * g)
    return _length(np.concatenate(parts))


def _distance(
    op: ContactOperator, a: Vector, x: Vector, own: Certificate, laws: float, thorough: bool
) -> tuple[float, float, float]:
    """Error in the mass norm and in the 2-norm, and the rounding floor of what was added here."""
    step = op.step
    true, floor = complete(op, x)
    if true is not None:
        e = a - op.acceleration(true)
        return math.sqrt(max(float(e @ step.M @ e), 0.0)), _length(e), floor
    if laws <= EXACT * (own.norm_a + _length(op.joints.a_J / mass_scale(step.M))):
        # All laws hold to rounding: this is a solution, even if the mode that it names is degenerate.
        size = own.error_bound + laws
        return size, size * float(np.abs(mass_scale(step.M)).max()), 0.0
    bound = own.error_bound + _natural_bound(op, x)
    if not math.isfinite(bound) and thorough and op.lcp.n <= MAX_ENUMERATED:
        points = enumerate_lcp(op.lcp, size=op.lcp_size, supports=op.supports).solutions
        errors = [a - op.acceleration(op.x(z)) for z in points]
        if errors:
            e = min(errors, key=lambda e: float(e @ step.M @ e))
            return math.sqrt(max(float(e @ step.M @ e), 0.0)), _length(e), 0.0
    scale = float(np.abs(mass_scale(step.M)).max())
    return bound, bound * scale, 0.0


def complete(op: ContactOperator, x: Vector) -> tuple[Vector | None, float]:
    """The true solution in the contact mode that x names, nearest to x; None if that mode holds none.

    Returns
    -------
    x, floor
        Rounding of its acceleration, in the mass norm: what one rounding of every row of the mode's linear system does
        to it. Forces that are ill-determined but cause no acceleration do not count.
    """
    k, step = op.k, op.step
    if not k:
        return x, 0.0
    g = _weights(op)
    R = op.response / np.outer(g, g)
    least = step.least * g[:k]
    index = np.flatnonzero(op.resting)
    mu = step.mu[index] * g[k:] / g[index]  # friction bound in scaled forces
    f = x * g
    y = R @ f + op.start / g
    N, w, T, s = f[:k], y[:k], f[k:], y[k:]
    closed = w < N - least
    gripping = closed[index] | (least[index] > 0)
    stick = gripping & (mu * N[index] - np.abs(T) >= np.abs(s))
    slip = gripping & ~stick
    side = np.where(T >= 0, 1.0, -1.0)
    # f = P m + p: m holds the normal forces of closed contacts, then the friction of those that stick.
    c, t = int(closed.sum()), int(stick.sum())
    P, p = np.zeros((len(f), c + t)), np.zeros(len(f))
    P[np.flatnonzero(closed), np.arange(c)] = 1.0
    p[:k] = np.where(closed, 0.0, least)
    P[k + np.flatnonzero(stick), c + np.arange(t)] = 1.0
    for i in np.flatnonzero(slip):  # friction at its bound
        P[k + i] = side[i] * mu[i] * P[index[i]]
        p[k + i] = side[i] * mu[i] * p[index[i]]
    held = np.concatenate((closed, stick))
    C = R[held] @ P
    b = R @ p + op.start / g
    U, values, Vt = np.linalg.svd(C) if C.size else (np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)))
    rank = int((values > 1e-10 * values[0]).sum()) if len(values) else 0
    scale = float((np.abs(R) @ np.abs(f) + np.abs(op.start / g)).max() + np.abs(f).max())
    m = np.concatenate((N[closed], T[stick]))
    for _ in range(3):
        residual = C @ m + b[held]
        m = m - Vt[:rank].T @ ((U[:, :rank].T @ residual) / values[:rank])
    full = P @ m + p
    y = R @ full + op.start / g
    rounding = np.abs(R) @ np.abs(full) + np.abs(op.start / g)
    tiny = EXACT * scale
    N, w, T, s = full[:k], y[:k], full[k:], y[k:]
    lawful = (
        np.abs(y[held]).max(initial=0.0) <= tiny
        and (N - least).min() >= -tiny
        and w.min() >= -tiny
        and (np.abs(T) <= mu * N[index] + tiny).all()
        and (side * s)[slip].max(initial=0.0) <= tiny
    )
    if not lawful:
        return None, math.inf
    motion = (op.joints.root.T @ op.forces) / g
    amplified = np.abs(motion @ P @ (Vt[:rank].T / values[:rank])) @ (np.abs(U[:, :rank].T) @ rounding[held])
    summed = np.abs(motion) @ np.abs(full) + np.abs(op.joints.root.T @ (step.M @ op.joints.a_J))
    return full / g, EPS * (_length(amplified) + _length(summed))


def _natural_bound(op: ContactOperator, x: Vector) -> float:
    """Bound on || root^T F (x - x*) || for sliding contacts with positive definite sym A, else infinite."""
    if op.resting.any():
        return math.inf
    A = op.delassus
    diagonal = A.diagonal()
    if not (diagonal > 0).all():
        return math.inf
    e = 1.0 / np.sqrt(diagonal)
    scaled = A * np.outer(e, e)
    c = float(np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[0])
    if c <= DEFINITE * len(A):
        return math.inf
    r = np.minimum(x - op.step.least, (A @ x + op.bias) / diagonal)
    forces = (1.0 + float(np.linalg.norm(scaled, 2))) / c * _length(r / e)
    return float(np.linalg.norm(op.joints.root.T @ op.forces * e, 2)) * forces


def _nearest(op: ContactOperator, a: Vector, thorough: bool) -> Vector:
    """The true forces next to an acceleration given without them; an estimate where they are not found."""
    x = _estimate(op, a)
    true, _ = complete(op, x)
    if true is not None:
        return true
    if thorough and op.lcp.n <= MAX_ENUMERATED:
        # Redundant contacts: least squares may name a mode that shares the forces unlawfully.
        points = [op.x(z) for z in enumerate_lcp(op.lcp, size=op.lcp_size, supports=op.supports).solutions]
        if points:
            d = mass_scale(op.step.M)
            return min(points, key=lambda p: _length((op.acceleration(p) - a) / d))
    return x


def _estimate(op: ContactOperator, a: Vector) -> Vector:
    """Contact forces that explain an acceleration given without them, each within its friction cone."""
    from scipy.optimize import lsq_linear

    k, least = op.k, op.step.least
    index = np.flatnonzero(op.resting)
    # Coefficients of the columns (lam_N of contacts that slide, the two edges of the cone of those without slip).
    edges = np.zeros((k + len(index), k + len(index)))
    edges[:k, :k] = np.eye(k)
    for place, i in enumerate(index):
        edges[k + place, i] = -op.step.mu[i]
        edges[i, k + place], edges[k + place, k + place] = 1.0, op.step.mu[i]
    g = _weights(op)
    root = op.joints.root.T @ op.forces
    # The part of a - a_J that contact forces can cause.
    values, vectors = np.linalg.eigh(op.joints.K)
    keep = values > 1e-12 * values[-1]
    inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    start = np.concatenate((least, np.zeros(len(index))))
    goal = op.joints.root.T @ (inverse @ (a - op.joints.a_J)) - root @ start
    columns = root @ edges
    size = np.linalg.norm(columns, axis=0)
    size = np.where(size > 0, size, np.maximum(g, 1e-300))
    return np.asarray(start + edges @ (lsq_linear(columns / size, goal, bounds=(0.0, np.inf), tol=1e-14).x / size))
