"""What the exact judge says of an answer: right, refuted, refused, or within rounding of a border."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from soundness.judge import bilateral, complementarity, contact, convex
from soundness.judge.exact import Exact, common, difference, integers, length, product, quotient, rank

from .nearness import away

TOLERANCE = 1e-7
SLACK = 1.0 + 1e-6
"""The criterion itself is computed with roundings; an error this much beyond it is no fault."""
ROUGH = 1.01
"""The same of the error bound of an answer that is not called solved: it says how far off it is."""
PROPORTION = 1e-3
"""Error relative to the sizes of the step itself that no answer called solved may have, whatever its unit."""
FRAGILE = 4e-11
"""Four times the documented part of its terms below which what decides about contacts counts as zero."""
SAME = 4e-9
"""Four times the documented part of their terms to which accelerations of several solutions count as the same."""
FLOORS = 10.0
"""The truth may exceed an error bound by this many of the rounding floors stated beside it (`at_rounding_level`)."""

RIGHT, WRONG, UNDECIDED, REFUSED, RIGHTLY, MISNAMED = (
    "right",
    "wrong",
    "undecided",
    "refused",
    "rightly refused",
    "misnamed",
)
NOT_TAKEN, CRASHED = "not taken", "crashed"
VERDICTS = ("infeasible", "unbounded", "acceleration_not_unique", "no_solution", "multiple_solutions")


@dataclass(frozen=True)
class Claim:
    """What gaussopt says: status and numbers. `sure` is False where it says that uniqueness was not decided."""

    status: str
    x: Sequence[float] | None = None
    lam: Sequence[float] | None = None
    lam_N: Sequence[float] | None = None
    lam_T: Any = None
    error_bound: float = math.inf
    rounding_floor: float = 0.0
    forces_unique: bool | None = None
    sure: bool = True
    verdict: str | None = None
    sparse: bool = False
    objective_gap: float = math.inf


@dataclass(frozen=True)
class Finding:
    """Outcome, cause (a few words, the same for the same kind of fault) and the number behind it."""

    outcome: str
    cause: str = ""
    number: float = 0.0


def finite(values: Any) -> bool:
    return values is not None and bool(np.isfinite(np.asarray(values, dtype=float)).all())


# -- steps without contacts --------------------------------------------------------------------------------


def of_step(truth: bilateral.Truth, claim: Claim) -> Finding:
    """Steps without contacts."""
    if claim.status != "solved":
        return _not_solved(
            truth.verdict, claim, lambda: near_border(truth, claim.sparse), _wrong_bound(truth.step, truth.a, claim)
        )
    if truth.verdict != bilateral.SOLVED:
        if near_border(truth, claim.sparse):
            return Finding(UNDECIDED, f"{truth.verdict}, within rounding")
        return Finding(WRONG, f"solved, but {truth.verdict}", truth.contradiction)
    assert truth.a is not None
    found = _near(truth.step, truth.a, claim) or _forces(truth.step, truth.forces_unique, claim)
    if found is not None and near_border(truth, claim.sparse):
        return Finding(UNDECIDED, f"{found.cause}, within rounding", found.number)
    return found or Finding(RIGHT)


def _not_solved(verdict: str, claim: Claim, border: Any, bound: Finding | None) -> Finding:
    if claim.status == "crashed":
        # A backend's exception, caught: an answer of its own kind.
        return Finding(REFUSED if verdict == "solved" else RIGHTLY, "backend raised")
    if bound is not None and not border():
        return bound
    if verdict == "solved":
        if border():
            return Finding(UNDECIDED, f"{claim.status}, within rounding")
        return Finding(REFUSED, claim.status)
    if claim.verdict in VERDICTS and claim.verdict != verdict:
        if border():
            return Finding(UNDECIDED, f"{claim.verdict}, within rounding")
        return Finding(MISNAMED, f"{claim.verdict}, but {verdict}")
    return Finding(RIGHTLY)


def _wrong_bound(step: bilateral.Step, a: Exact | None, claim: Claim) -> Finding | None:
    """A finite error bound below the true error, also of an answer that is not called solved."""
    if a is None or not finite(claim.x) or not math.isfinite(claim.error_bound):
        return None
    error = length(difference(claim.x, a), step.M)
    if error > claim.error_bound * ROUGH + FLOORS * claim.rounding_floor:
        return Finding(WRONG, "error bound below the error", error)
    return None


def _near(step: bilateral.Step, a: Exact, claim: Claim) -> Finding | None:
    """Whether an answer called solved is near the true acceleration."""
    if not finite(claim.x):
        return Finding(WRONG, "solved without an acceleration")
    gap = difference(claim.x, a)
    error, size = length(gap, step.M), length(common(claim.x), step.M)
    if error > TOLERANCE * (1.0 + size) * SLACK:
        return Finding(WRONG, "far from the true acceleration", error / (1.0 + size))
    if error > PROPORTION * (size + length(a, step.M) + natural(step)):
        return Finding(WRONG, "error as large as the step calls for", error)
    if error > claim.error_bound * SLACK + FLOORS * claim.rounding_floor:
        return Finding(WRONG, "error bound below the error", error)
    if any(step.M[i][i] == 0 for i in range(step.n)):
        # Where nothing has a mass the mass norm measures nothing, and the size is what the rows call for.
        plain, whole = length(gap), size or natural(step)
        if plain > TOLERANCE * (1.0 + length(common(claim.x))) * SLACK and in_units(step, gap) > 10 * TOLERANCE * whole:
            return Finding(WRONG, "far along a direction without mass", plain)
    return None


def in_units(step: bilateral.Step, gap: Exact) -> float:
    """An error in coordinates of unit mass, those without mass measured by the rows that hold them."""
    return math.hypot(*(quotient(e, gap.den) * s for e, s in zip(gap.top, measures(step), strict=True)))


def _terms(row: list[Fraction], x: list[Fraction], level: Fraction) -> Fraction:
    """The sizes of the terms of row . x - level."""
    return sum((abs(r * v) for r, v in zip(row, x, strict=True)), abs(level))


def natural(step: bilateral.Step) -> float:
    """A size of the accelerations that forces and rows call for, in coordinates of unit mass.

    Those without mass are measured by the rows that hold them: their unit says nothing.
    """
    d = [1.0 / size for size in measures(step)]
    return math.hypot(*(float(f) * s for f, s in zip(step.force, d, strict=True))) + _called(step, d)


def _called(step: bilateral.Step, d: list[float]) -> float:
    """A size of the accelerations that rows call for, in coordinates of scales d."""
    rows = [math.hypot(*(float(v) * s for v, s in zip(row, d, strict=True))) for row in step.J]
    return math.hypot(*(float(g) / r for g, r in zip(step.gamma, rows, strict=True) if r > 0))


def called_of_masses(step: bilateral.Step) -> float:
    """A size of the accelerations, of coordinates with mass alone, that rows call for, in the mass norm."""
    d = [1.0 / math.sqrt(float(step.M[i][i])) if step.M[i][i] > 0 else 0.0 for i in range(step.n)]
    return min(_called(step, d), natural(step))


def _forces(step: bilateral.Step, unique: bool, claim: Claim, pull: list[Fraction] | None = None) -> Finding | None:
    """Whether rows and forces of an answer called solved hold, and whether they are unique as it says."""
    if claim.forces_unique and not unique:
        return Finding(WRONG, "forces called unique, but are not")
    assert claim.x is not None
    exact = [Fraction(v) for v in claim.x]
    miss = [a - b for a, b in zip(product(step.J, exact), step.gamma, strict=True)]
    if length(common(miss)) > TOLERANCE * (1.0 + length(common(step.gamma))) * SLACK:
        share = max(
            abs(r) / _terms(row, exact, g) if r else r for r, row, g in zip(miss, step.J, step.gamma, strict=True)
        )
        if share > TOLERANCE * SLACK:
            return Finding(WRONG, "constraint rows missed", float(share))
    if claim.lam is None or (len(claim.lam) and not finite(claim.lam)):
        return None
    lam = [Fraction(v) for v in claim.lam]
    total = [
        sum((row[i] * f for row, f in zip(step.J, lam, strict=True) if f), pull[i] if pull else Fraction(0))
        for i in range(step.n)
    ]
    sizes = [sum((abs(row[i] * f) for row, f in zip(step.J, lam, strict=True)), Fraction(0)) for i in range(step.n)]
    called = called_of_masses(step), natural(step)
    gap, part = bilateral.force_gap(step, list(claim.x), total, measures(step), sizes, *called)
    if gap > TOLERANCE * (1.0 + length(common(claim.x), step.M)) * SLACK + FLOORS * claim.rounding_floor:
        return Finding(WRONG, "forces do not explain the acceleration", gap)
    if part > PROPORTION:
        return Finding(WRONG, "forces do not balance where there is no mass", part)
    return None


def near_border(truth: bilateral.Truth, sparse: bool = False) -> bool:
    """Whether rounding of the data could turn the verdict: contradictions and ranks that are not zero but tiny."""
    step = truth.step
    limit = bilateral.band(step)
    if truth.verdict in (bilateral.INFEASIBLE, bilateral.UNBOUNDED) and truth.contradiction <= 4 * limit:
        return True
    if truth.verdict == bilateral.INFEASIBLE and barely_contradictory(step, 4 * limit, 4e-12 if sparse else 0.0):
        return True
    return gap_of_ranks(step) <= (1e-11 if sparse else 100 * limit)


def barely_contradictory(step: bilateral.Step, relative: float, whole: float) -> bool:
    """Whether what contradicts in J a = gamma is below `relative` of the terms |J| |a| + |gamma|, or `whole` of all."""
    M, J = scaled(step)
    d = np.array(measures(step))
    with np.errstate(all="ignore"):
        size = np.array([math.hypot(*(float(v) / s for v, s in zip(row, d, strict=True))) for row in step.J])
        g = np.array([float(v) for v in step.gamma]) / np.where(size > 0, size, 1.0)
        f = np.array([float(v) for v in step.force]) / d
        r = rank([integers(row) for row in step.J], step.n)
        # Exactly: beside a row whose terms are zero, rounding of the judge's own would be a contradiction.
        scale = 1.0 / np.where(size > 0, size, 1.0)
        if not (np.isfinite(scale) & (scale > 0)).all():
            return False
        units = [Fraction(v) for v in scale.tolist()]
        idle = bilateral.idle_part([[v * u for v in row] for row, u in zip(step.J, units, strict=True)], step.n)
        kept = product(idle, [v * u for v, u in zip(step.gamma, units, strict=True)])
        left = np.abs([quotient(v.numerator, v.denominator) for v in kept])
        shares = np.abs([[float(v) for v in row] for row in idle])
        a = np.linalg.pinv(J, rcond=1e-12) @ g
        Z = np.linalg.svd(J)[2][r:].T
        if Z.size:
            a = a + Z @ (np.linalg.pinv(Z.T @ M @ Z, rcond=1e-12) @ (Z.T @ (f - M @ a)))
        terms = np.abs(J) @ np.abs(a) + np.abs(g)
        limits = relative * (terms + shares @ terms)
        return bool((left <= np.maximum(limits, whole * (norm(f) + norm(g) + norm(a)))).all())


def norm(x: np.ndarray) -> float:
    return math.hypot(*x.tolist())


def measures(step: bilateral.Step) -> list[float]:
    """sqrt(M_ii), or how much the rows speak of a coordinate without mass beside those with."""
    d = _carried(step, [math.sqrt(float(step.M[i][i])) if step.M[i][i] > 0 else 0.0 for i in range(step.n)])
    sizes = [max((abs(float(row[i])) for row in step.J), default=0.0) for i in range(step.n)]
    while not all(d):
        # No row joins the others to a coordinate that is measured: one sets the scale, and rows, whose own units say
        # nothing, carry it to more. Whichever it is, their ratios are the same; none is measured by more than its
        # entries. A coordinate in no row is measured by 1.
        tried = [_carried(step, [sizes[i] if i == first else x for i, x in enumerate(d)])
                 for first, own in enumerate(d) if not own and sizes[first]]  # fmt: skip
        most = [max(x / size for x, size, own in zip(found, sizes, d, strict=True) if x and not own)
                for found in tried]  # fmt: skip
        d = tried[most.index(min(most))] if tried else [x or 1.0 for x in d]
    return d


def _carried(step: bilateral.Step, d: list[float]) -> list[float]:
    """The measures that rows carry from coordinates with one, not 0, to those without."""
    while not all(d):
        # All that hang on the same ones are measured at once: the order of the coordinates says nothing.
        lengths = [math.hypot(*(float(v) / s for v, s in zip(row, d, strict=True) if s > 0)) for row in step.J]
        held = {
            i: max((abs(float(row[i])) / own for row, own in zip(step.J, lengths, strict=True) if own > 0), default=0.0)
            for i, size in enumerate(d) if not size
        }  # fmt: skip
        if not any(held.values()):
            break
        d = [size or held.get(i, 0.0) for i, size in enumerate(d)]
    return d


def scaled(step: bilateral.Step) -> tuple[np.ndarray, np.ndarray]:
    """M with unit diagonal, J accordingly with rows of unit length, as floats."""
    d = measures(step)
    M = np.array(
        [
            [float(v / Fraction(a) / Fraction(b)) for v, b in zip(row, d, strict=True)]
            for row, a in zip(step.M, d, strict=True)
        ]
    )
    J = np.array([[float(v / Fraction(b)) for v, b in zip(row, d, strict=True)] for row in step.J]).reshape(-1, step.n)
    size = np.linalg.norm(J, axis=1)
    return M, J / np.where(size > 0, size, 1.0)[:, None]


def gap_of_ranks(step: bilateral.Step) -> float:
    """The smallest singular value that is not exactly zero, of J and of [M; J], relative to the largest."""
    M, J = scaled(step)
    least = 1.0
    for matrix, exact in ((J, step.J), (np.vstack((M, J)), [*step.M, *step.J])):
        if not len(matrix):
            continue
        values = np.linalg.svd(matrix, compute_uv=False)
        r = rank([integers(row) for row in exact], step.n)
        if r:
            least = min(least, float(values[r - 1] / values[0]))
    return least


def condition(step: bilateral.Step) -> float:
    """Condition number of the scaled saddle-point matrix of a step with one acceleration, exact dependencies apart."""
    M, J = scaled(step)
    K = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    values = np.linalg.svd(K, compute_uv=False)
    last = values[step.n + rank([integers(row) for row in step.J], step.n) - 1]
    return float(values[0] / last) if last > 0 else math.inf


# -- steps with contacts -----------------------------------------------------------------------------------


def of_contact_step(truth: contact.Truth, claim: Claim) -> Finding:
    """Steps with contacts."""
    found = _contact(truth, claim)
    if found.outcome in (WRONG, REFUSED, MISNAMED) and fragile(truth):
        return Finding(UNDECIDED, f"{found.cause}, within rounding", found.number)
    return found


def _contact(truth: contact.Truth, claim: Claim) -> Finding:
    several = truth.verdict in (bilateral.SEVERAL, bilateral.NOT_UNIQUE) and truth.a
    same = several and claim.sure and claim.status == "solved" and truth.alike(SAME)
    if claim.status != "solved":
        bound = None
        if truth.verdict == bilateral.SOLVED:
            bound = _wrong_bound(truth.step, truth.a[0], claim)
        return _not_solved(truth.verdict, claim, lambda: False, bound)
    if truth.verdict != bilateral.SOLVED and not (several and (same or not claim.sure)):
        return Finding(WRONG, f"solved, but {truth.verdict}")
    right = Finding(UNDECIDED, f"solved, but {truth.verdict}, nearer than are told apart") if same else Finding(RIGHT)
    if not finite(claim.x):
        return Finding(WRONG, "solved without an acceleration")
    assert truth.laws is not None
    nearest = min(truth.a, key=lambda a: length(difference(claim.x, a), truth.step.M))
    found = _near(truth.step, nearest, claim)
    if found is not None:
        return found
    if not finite(claim.lam_N):
        bare = Claim("solved", claim.x, forces_unique=claim.forces_unique)
        return _forces(truth.step, truth.forces_unique, bare) or right
    pull = _contact_pull(truth, claim)
    return _forces(truth.step, truth.forces_unique, claim, pull) or _laws(truth, claim, nearest) or right


def _contact_pull(truth: contact.Truth, claim: Claim) -> list[Fraction]:
    """Generalised forces of the reported contact forces."""
    c = truth.contacts
    total = [Fraction(0)] * truth.step.n
    friction = claim.lam_T if claim.lam_T is not None else [[0.0] * c.d for _ in range(c.k)]
    for i in range(c.k):
        parts = [(c.J_N[i], claim.lam_N[i]), *zip(c.J_T[i], friction[i], strict=False)]
        for row, force in parts:
            if force:
                total = [t + r * Fraction(force) for t, r in zip(total, row, strict=True)]
    return total


def _laws(truth: contact.Truth, claim: Claim, a: Exact) -> Finding | None:
    """Whether the reported contact forces obey the laws, in the unit of the mass norm."""
    c = truth.contacts
    allowed = TOLERANCE * (1.0 + length(a, truth.step.M)) * 1.01 + FLOORS * claim.rounding_floor
    exact = [Fraction(v) for v in claim.x]
    for i in range(c.k):
        g = truth.weights[i]
        if not g > 0:
            continue
        N = claim.lam_N[i]
        w = float(sum((r * v for r, v in zip(c.J_N[i], exact, strict=True) if r), c.zeta_N[i]))
        if abs(min(N * g, w / g)) > allowed:
            return Finding(WRONG, "normal law missed", min(N * g, w / g))
        if claim.lam_T is None or not c.d:
            continue
        if i in c.resting:
            j = c.k + c.resting.index(i)
            if truth.weights[j] > 0 and abs(claim.lam_T[i][0]) * truth.weights[j] > (
                float(c.mu[i]) * max(N, 0.0) * truth.weights[j]
                + 2 * allowed * (1 + float(c.mu[i]) * truth.weights[j] / g)
            ):
                return Finding(WRONG, "friction beyond its bound", claim.lam_T[i][0])
        else:
            expected = [float(c.mu[i] * s) * N for s in c.sigma[i]]
            size = math.hypot(*(t - e for t, e in zip(claim.lam_T[i], expected, strict=True)))
            if size > 1e-6 * (abs(N) * float(c.mu[i]) + allowed / g):
                return Finding(WRONG, "sliding friction missed", size)
    return None


def fragile(truth: contact.Truth) -> bool:
    """Whether a number that decides the verdict is not zero, but rounding beside the terms it is the sum of."""
    if truth.base is None or near_border(truth.base):
        return True
    laws = truth.laws
    if laws is None:
        return False
    n, p, k = truth.step.n, len(laws.effect), truth.contacts.k
    normals = [*truth.contacts.J_N, *(truth.contacts.J_T[i][0] for i in truth.contacts.resting)]
    for r, row in enumerate(normals):
        for j in range(p + 1):
            column = laws.start if j == p else laws.effect[j]
            size = sum(abs(row[i] * column[i]) for i in range(n))
            if 0 < abs(laws.rows[r][j]) < FRAGILE * size:
                return True
    # What contacts call for without forces is a sum itself, of the accelerations that the bodies have without contacts.
    sizes = laws.sizes(truth.contacts)
    if truth.contacts.resting:
        M, q = contact.as_lcp(truth)
        return complementarity.margin(M, q, [*sizes, *([Fraction(0)] * (len(q) - p))]) < FRAGILE
    M, q = [row[:-1] for row in laws.rows[:k]], [row[-1] for row in laws.rows[:k]]
    return complementarity.margin(M, q, sizes[:k]) < FRAGILE


# -- linear complementarity problems -----------------------------------------------------------------------


def of_lcp(truth: complementarity.Truth, claim: Claim) -> Finding:
    """Linear complementarity problems."""
    found = _lcp(truth, claim)
    if found.outcome in (WRONG, REFUSED, MISNAMED) and complementarity.margin(truth.M, truth.q) < FRAGILE:
        return Finding(UNDECIDED, f"{found.cause}, within rounding", found.number)
    return found


def _lcp(truth: complementarity.Truth, claim: Claim) -> Finding:
    if claim.status != "solved":
        return _not_solved(truth.verdict, claim, lambda: False, None)
    same = truth.verdict != bilateral.SOLVED and claim.sure and truth.parts and truth.alike(SAME)
    if truth.verdict != bilateral.SOLVED and claim.sure and not same:
        return Finding(WRONG, f"solved, but {truth.verdict}")
    right = Finding(UNDECIDED, f"solved, but {truth.verdict}, nearer than are told apart") if same else Finding(RIGHT)
    if not truth.parts:
        return Finding(WRONG, f"solved, but {truth.verdict}")
    if not finite(claim.x):
        return Finding(WRONG, "solved without z")
    if claim.forces_unique and not truth.unique:
        return Finding(WRONG, "z called unique, but is not")
    n, d = len(truth.q), units(truth.M)
    z = [Fraction(v) for v in claim.x]
    w = [a + b for a, b in zip(product(truth.M, z), truth.q, strict=True)]
    size = math.hypot(*(float(v) / s for v, s in zip(z, d, strict=True))) + math.hypot(
        *(float(v) * s for v, s in zip(truth.q, d, strict=True))
    )
    allowed = 10 * TOLERANCE * size
    if truth.unique:
        true = truth.parts[0].vertices[0]
        error = math.hypot(*(float(z[i] - true.fraction(i)) / d[i] for i in range(n)))
        return Finding(WRONG, "far from the solution", error / size if size else error) if error > allowed else right
    best = math.inf
    for image in truth.images:
        worst = 0.0
        for i in range(n):
            level = image.fraction(i)
            worst = max(
                worst, abs(float(w[i] - level)) * d[i], -float(z[i]) / d[i], abs(float(z[i])) / d[i] if level else 0.0
            )
        best = min(best, worst)
    # Where z is not determined it may be as far from a solution as where it is.
    if best > allowed and min(away(part, z, d) for part in truth.parts) > allowed:
        return Finding(WRONG, "far from every solution", best / size if size else best)
    return right


def units(M: list[list[Fraction]]) -> list[float]:
    """d with d_i M_ii d_i = 1; where the diagonal is not positive, by the largest that ties i to those that have one.

    Measured so, a problem in other units (z_i by a factor, w_i by its reciprocal) is measured alike. Pairs that nothing
    ties to a positive diagonal are measured by the sizes of their row and column.
    """
    d = [1.0 / math.sqrt(float(row[i])) if row[i] > 0 else 0.0 for i, row in enumerate(M)]
    while True:
        known = [j for j, own in enumerate(d) if own]
        tied = [
            0.0 if own else max((float(max(abs(M[i][j]), abs(M[j][i]))) * d[j] for j in known), default=0.0)
            for i, own in enumerate(d)
        ]
        if not any(0.0 < size < math.inf for size in tied):
            break
        d = [1.0 / size if 0.0 < size < math.inf else own for own, size in zip(d, tied, strict=True)]
    for i, row in enumerate(M):
        if not d[i]:
            across, down = float(max(map(abs, row))), float(max(abs(other[i]) for other in M))
            size = math.sqrt(across or down) * math.sqrt(down or across)
            d[i] = size**-0.5 if size > 0 else 1.0
    return d


# -- convex programs ---------------------------------------------------------------------------------------


def of_qp(truth: convex.Truth, claim: Claim) -> Finding:
    """Convex quadratic programs."""
    limit = 8.0 * max(len(truth.q), len(truth.A)) * bilateral.EPS
    border = truth.verdict == bilateral.INFEASIBLE and truth.contradiction <= 4 * limit
    if claim.status != "solved":
        return _not_solved(truth.verdict, claim, lambda: border, None)
    if truth.verdict != bilateral.SOLVED:
        if border:
            return Finding(UNDECIDED, f"{truth.verdict}, within rounding")
        return Finding(WRONG, f"solved, but {truth.verdict}", truth.contradiction)
    if not finite(claim.x):
        return Finding(WRONG, "solved without x")
    return _optimal(truth, claim) or Finding(RIGHT)


def _reach(truth: convex.Truth) -> list[Fraction]:
    """A size for every unknown, also where it ought to be zero: from its own box and its own gradient.

    From the data alone: beside its own huge terms every answer would be right.
    """
    assert truth.x is not None
    n = len(truth.q)
    found = [abs(truth.x.fraction(i)) for i in range(n)]
    for row, l, u in zip(truth.A, truth.l, truth.u, strict=True):
        places = [i for i, v in enumerate(row) if v]
        if len(places) == 1:
            i = places[0]
            found[i] = max([found[i], *(abs(b / row[i]) for b in (l, u) if b is not None)])
    for i, q in enumerate(truth.q):
        if truth.P[i][i] > 0:
            found[i] = max(found[i], abs(q) / truth.P[i][i])
    if not any(found):
        return [Fraction(1)] * n  # a program without any size: what is absolute counts
    found = [a or h for a, h in zip(found, _held(truth, found), strict=True)]
    # Noise in an unknown that nothing gives a size to is measured by the others.
    most = max(found)
    return [v if v > most * Fraction(1, 10**12) else most for v in found]


def _sizes(truth: convex.Truth) -> tuple[list[Fraction], Fraction]:
    """Sizes of the unknowns and of the objective."""
    reach = _reach(truth)
    whole = sum((abs(q) * r for q, r in zip(truth.q, reach, strict=True)), Fraction(0))
    whole += sum(abs(a) * reach[i] * reach[j] for i, row in enumerate(truth.P) for j, a in enumerate(row) if a)
    return reach, whole


def of_pair(truth: convex.Truth, first: Claim, second: Claim) -> Finding | None:
    """Whether two answers called solved have objectives further apart than their bounds say, whatever is true.

    Rounding of the data that both may leave: 1e-6 of the values, or 1e-9 of the sizes of the objective.
    """
    if truth.verdict != bilateral.SOLVED or not (finite(first.x) and finite(second.x)):
        return None
    values = [convex.objective(truth.P, truth.q, [Fraction(v) for v in claim.x or ()]) for claim in (first, second)]
    apart, whole = abs(values[0] - values[1]), _sizes(truth)[1]
    allowed = first.objective_gap + second.objective_gap
    allowed += float(max(map(abs, values)) * Fraction(1, 10**6) + whole * Fraction(1, 10**9))
    return Finding(WRONG, "objectives of two answers differ", float(apart)) if apart > allowed else None


def _held(truth: convex.Truth, size: list[Fraction]) -> list[Fraction]:
    """How far each unknown moves an equality, or a row that holds at a bound, by as much as its other terms; the least.

    A multiple of an equality may be added to any row: a bound of zero on an unknown is as exact as the sum of both. A
    row that the minimiser meets at a bound may be an equality: the minimiser stays one.
    """
    assert truth.x is not None
    least = [truth.x.fraction(i) for i in range(len(size))]
    found: list[list[Fraction]] = [[] for _ in size]
    for row, l, u, s in zip(truth.A, truth.l, truth.u, product(truth.A, least), strict=True):
        if s in (l, u):
            terms = sum((abs(a * v) for a, v in zip(row, size, strict=True)), Fraction(0))
            for i, a in enumerate(row):
                if a and terms:
                    found[i].append(terms / abs(a))
    return [min(ways, default=Fraction(0)) for ways in found]


def _missed(miss: Fraction, size: Fraction, whole: Fraction) -> bool:
    """Beyond 1e-6 of its terms and of what the data call for, plus the same in its unit; or a thousandth of these."""
    beside = miss > Fraction(1, 10**6) * (1 + size) and miss > Fraction(1, 10**6) * whole
    return beside or miss > Fraction(1, 1000) * (size + whole)


def _terms_of_norm(P: list[list[Fraction]], x: list[Fraction]) -> float:
    """The root of the sizes of the terms of x^T P x."""
    return math.sqrt(float(sum(abs(a * x[i] * x[j]) for i, row in enumerate(P) for j, a in enumerate(row) if a)))


def _optimal(truth: convex.Truth, claim: Claim) -> Finding | None:
    assert truth.x is not None
    assert truth.least is not None
    x = [Fraction(v) for v in claim.x]
    reach, whole = _sizes(truth)
    kept = [min(abs(v), r) for v, r in zip(x, reach, strict=True)]
    for row, l, u, s in zip(truth.A, truth.l, truth.u, product(truth.A, x), strict=True):
        miss = max(Fraction(0), l - s if l is not None else Fraction(0), s - u if u is not None else Fraction(0))
        if miss:
            size = sum((abs(a) * v for a, v in zip(row, kept, strict=True)), Fraction(0))
            size += max((abs(b) for b in (l, u) if b is not None), default=Fraction(0))
            if _missed(miss, size, sum((abs(a) * r for a, r in zip(row, reach, strict=True)), Fraction(0))):
                return Finding(WRONG, "a row is missed", float(miss / size))
    gap = abs(convex.objective(truth.P, truth.q, x) - truth.least)
    size = sum((abs(a) * b for a, b in zip(truth.q, kept, strict=True)), Fraction(0)) + abs(truth.least)
    size += sum(
        (abs(a) * kept[i] * kept[j] for i, row in enumerate(truth.P) for j, a in enumerate(row) if a), Fraction(0)
    )
    if _missed(gap, size, whole):
        return Finding(WRONG, "the objective is not least", quotient((gap / size).numerator, (gap / size).denominator))
    error, norm = length(difference(claim.x, truth.x), truth.P), length(common(claim.x), truth.P)
    far = any(abs(v - truth.x.fraction(i)) > Fraction(1, 10**6) * reach[i] for i, v in enumerate(x))
    if truth.definite and far and error > TOLERANCE * (1.0 + norm) * SLACK:
        return Finding(WRONG, "far from the minimiser", error / (1.0 + norm))
    # The norm of P itself, where its terms cancel, is no more exact than this; nor is the minimiser as floats hold it.
    floor = 16 * len(x) * bilateral.EPS * _terms_of_norm(truth.P, x)
    floor += bilateral.EPS * _terms_of_norm(truth.P, [truth.x.fraction(i) for i in range(len(x))])
    if error > claim.error_bound * SLACK + floor + 1e-13:
        return Finding(WRONG, "error bound below the error", error)
    return None
