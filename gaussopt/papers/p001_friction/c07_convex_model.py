"""C7: a strictly convex model of contacts with friction for positive definite A, which contradicts Pfeiffer."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
from scipy.optimize import brentq, linprog

from gaussopt.contact.qp_equivalence import weights
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LCP
from gaussopt.papers.claim import Attempt, Derivation, Judgement
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.evidence import contact_problems as problems
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction.steps import POSES
from gaussopt.papers.texts import ClaimTexts
from gaussopt.solving.solve import solve_lcp

SEED = 70
MU = 0.2
ONE_SIDED = np.array([[2.0, 1.0], [0.0, 2.0]])
"""A positive definite A with A_21 = 0 and A_12 different from 0."""
OPPOSED = np.array([[2.0, 1.0], [-1.0, 2.0]])
"""A positive definite A in which A_12 and A_21 differ in sign."""
ROUND = np.array([[3.0, 1.0, 2.0], [2.0, 3.0, 1.0], [1.0, 2.0, 3.0]])
"""A positive definite A, for which the products A_12 A_23 A_31 and A_13 A_32 A_21 around the only cycle differ."""

DIRECTIONS = 12
"""Number of load directions for which an objective is tried."""

texts = ClaimTexts(__file__, seed=SEED, mu=MU, poses="; ".join(POSES))


def check(quick: bool) -> Judgement:
    """Compute the evidence for and against the claim, and judge it."""
    printed, share = _printed(quick)
    weighted, cycles, necessary = _weighted(quick), _cycles(quick), _necessary()
    (product, solved), bars, other = _product(quick), _two_bars(quick), _any_objective(quick)
    plain, adversary = _plain(quick), _weighted_adversary(quick)
    readings = (
        texts.reading("by-29", not printed.refutes, {"if-symmetric": not plain.refutes}, ours=False),
        texts.reading("same-rows", not other.refutes, {"if-weights": not adversary.refutes}),
        texts.reading("some-model", not solved.refutes),
    )
    return texts.judgement(
        readings, (weighted, cycles, necessary, product, bars), (plain, printed, adversary, other, solved),
        numbers={"share": share},
    )  # fmt: skip


def _plain(quick: bool) -> Attempt:
    """Test whether (29) agrees with the contact laws for one contact and for symmetric matrices."""
    count = 80 if quick else 500
    steps = samples.definite_bars(count, 2, 1, np.random.default_rng([SEED, 13]), (0.0, 2.0))
    even = problems.random_stacks(count, (SEED, 14), sizes=(2, 3, 4))
    worst, number = samples.largest_difference([steps.problem, *even])
    return texts.attempt("plain", worst > samples.EQUAL, number=number, worst=worst)


def _weighted(quick: bool) -> Derivation:
    count, number, indefinite = (80 if quick else 500), 0, 0
    apart, scaled = 0.0, 0.0
    for n in (2, 3, 4, 5):
        A, b, d = problems.random_symmetrisable(count, n, np.random.default_rng([SEED, n]))
        found = sets.solve(sets.symmetric(d[:, :, None] * A), np.zeros_like(b), A.swapaxes(1, 2), A, b)
        z = sets.lcp(A, b)
        apart = max(apart, float(samples.relative(A, b, found.x, z).max()))
        size = np.maximum(np.abs(d * z).max(axis=1), 1e-300)
        scaled = max(scaled, float((np.abs(found.y - d * z).max(axis=1) / size)[size > 1e-12].max()))
        number, indefinite = number + count, indefinite + int((~problems.definite(A, 0.0)).sum())
    return texts.derivation(
        "weighted", apart < samples.EQUAL and scaled < samples.EQUAL, number=number, indefinite=indefinite, apart=apart,
        scaled=scaled,
    )  # fmt: skip


def _weighted_adversary(quick: bool) -> Attempt:
    generations = 8 if quick else 60

    def difference(points: Matrix) -> Vector:
        S, b = problems.three_contacts(points)
        d = np.exp(np.concatenate((np.zeros((len(points), 1)), points[:, 3:5]), axis=1))
        A, regular = S / d[:, :, None], problems.definite(S)
        z, x = sets.lcp(A, b), sets.quadratic(np.where(regular[:, None, None], S, np.eye(3)), 0.0 * b, A, b)
        return np.where(regular, samples.relative(A, b, x, z), np.nan)

    bounds = problems.ENTRIES + [(-4.0, 4.0)] * 2 + problems.DIRECTION
    value, _ = samples.maximise(difference, bounds, generations)
    return texts.attempt(
        "weighted-adversary", value > samples.EQUAL, least=np.exp(-4.0), most=np.exp(4.0), generations=generations,
        value=value,
    )  # fmt: skip


def cycle_condition(A: Matrix) -> bool:
    """Return whether A_ij and A_ji have equal signs and products along every cycle are the same in both directions."""
    n = len(A)
    if any(np.sign(A[i, j]) != np.sign(A[j, i]) for i, j in combinations(range(n), 2)):
        return False
    for size in range(3, n + 1):
        for nodes in combinations(range(n), size):
            for rest in permutations(nodes[1:]):
                path = (nodes[0], *rest, nodes[0])
                there = np.prod([A[i, j] for i, j in pairwise(path)])
                back = np.prod([A[j, i] for i, j in pairwise(path)])
                if abs(there - back) > 1e-9 * max(abs(there), abs(back)):
                    return False
    return True


def weights_exist(A: Matrix) -> bool:
    """Return whether d_i A_ij = d_j A_ji has a solution d >= 1, by linear programming."""
    n = len(A)
    rows = np.zeros((n * (n - 1) // 2, n))
    for row, (i, j) in zip(rows, combinations(range(n), 2), strict=True):
        size = max(abs(A[i, j]), abs(A[j, i]), 1e-300)
        row[i], row[j] = A[i, j] / size, -A[j, i] / size
    return bool(linprog(np.zeros(n), A_eq=rows, b_eq=np.zeros(len(rows)), bounds=[(1.0, 1e6)] * n).status == 0)


def _cycles(quick: bool) -> Derivation:
    rng = np.random.default_rng([SEED, 10])
    tried = exist = wrong = 0
    for n in (2, 3, 4):
        count = 2 if quick else 12
        kinds = [
            problems.random_definite(count, n, 0.1, rng)[0], problems.random_symmetrisable(count, n, rng)[0],
            problems.random_symmetrisable(count, n, rng)[0],
        ]  # fmt: skip
        # Some samples have A_12 = A_21 = 0, others only A_12 = 0.
        both, one = kinds[2], kinds[2].copy()
        both[:, 0, 1] = both[:, 1, 0] = one[:, 0, 1] = 0.0
        for A in np.concatenate((*kinds, one)):
            by_program, by_cycles = weights_exist(A), cycle_condition(A)
            tried, exist = tried + 1, exist + by_program
            wrong += not (by_program == by_cycles == (weights(A) is not None))
    return texts.derivation("cycles", wrong == 0 and 0 < exist < tried, tried=tried, exist=exist, wrong=wrong)


def _necessary() -> Derivation:
    told, holds = [], True
    for A in (ONE_SIDED, OPPOSED, ROUND):
        name = "; ".join(", ".join(f"{a:g}" for a in row) for row in A)
        lowest = float(np.linalg.eigvalsh(sets.symmetric(A))[0])
        exist = weights_exist(A) or cycle_condition(A)
        holds &= lowest > 0 and not exist
        told.append(
            f"({name}): smallest eigenvalue of sym A {lowest:.3g}, weights {'exist' if exist else 'do not exist'}"
        )
    return texts.derivation("necessary", holds, told="; ".join(told))


def _product(quick: bool) -> tuple[Derivation, Attempt]:
    """Check, by enumeration of active sets and by a solver, that the minimum of z^T (A z + b) is zero."""
    count, number, without = (60 if quick else 400), 0, 0
    apart, value, lowest, solver = 0.0, 0.0, np.inf, 0.0
    tried = 0
    for n in (2, 3):
        for skew in (0.3, 3.0):
            A, b = problems.random_definite(count, n, skew, np.random.default_rng([SEED, 11, n, int(10 * skew)]))
            rows = np.concatenate((np.tile(np.eye(n), (count, 1, 1)), A), axis=1)
            x = sets.quadratic(2 * sets.symmetric(A), -b, rows, np.concatenate((np.zeros_like(b), b), axis=1))
            z = sets.lcp(A, b)
            apart = max(apart, float(samples.relative(A, b, x, z).max()))
            value = max(value, float(np.abs((x * (sets.times(A, x) + b)).sum(axis=1)).max()))
            lowest = min(lowest, float(np.linalg.eigvalsh(2 * sets.symmetric(A)).min()))
            number, without = number + count, without + sum(not cycle_condition(M) for M in A)
            for i in range(0, count, count // 5):
                answer = solve_lcp(LCP(A[i], b[i]), "lcp-qp", "daqp")[0].x
                miss = np.inf if answer is None else float(samples.relative(A, b, np.asarray(answer)[None], z)[i])
                tried, solver = tried + 1, max(solver, miss)
    derived = texts.derivation(
        "product", apart < samples.EQUAL and value < 1e-9 and lowest > 0, number=number, without=without, apart=apart,
        value=value, lowest=lowest,
    )  # fmt: skip
    return derived, texts.attempt("solved", solver > 1e-6, tried=tried, solver=solver)


def _printed(quick: bool) -> tuple[Attempt, str]:
    """Test (29) on the two bars and on hinged bars, and count the cases with symmetrising weights."""
    bars = samples.two_bars()
    found = samples.compare(*bars.problem)
    wrong, mended = np.flatnonzero(~found.equal), 0
    for i in wrong:
        d = weights(bars.A[i])
        if d is not None:
            P = sets.symmetric(d[:, None] * bars.A[i])
            x = sets.quadratic(P[None], np.zeros((1, 2)), bars.A[i : i + 1], bars.b[i : i + 1])
            mended += bool(samples.relative(bars.A[i : i + 1], bars.b[i : i + 1], x, found.laws[i : i + 1]) < 1e-8)
    drawn, different, available = 0, 0, {}
    for n in (2, 3):
        rng = np.random.default_rng([SEED, 12, n])
        steps = samples.definite_bars(150 if quick else 1000, n, n, rng, (MU, MU))
        different += int((~samples.compare(*steps.problem).equal).sum())
        drawn += len(steps)
        available[n] = sum(weights(A) is not None for A in steps.A) / len(steps)
    search = texts.attempt(
        "printed", bool(len(wrong)) or different > 0, drawn=drawn, wrong=len(wrong), states=len(bars),
        different=different, available=available,
    )  # fmt: skip
    return search, texts("mended", mended=mended, wrong=len(wrong), available=available)


def _margin(theta: Vector, mu: float) -> Vector:
    """Compute 2 |1 - 9 s^2 c^2| - 9 mu s c |cos 2 theta|, which is positive if symmetrising weights exist."""
    product = np.sin(theta) * np.cos(theta)
    return np.asarray(2 * np.abs(1 - 9 * product**2) - 9 * mu * product * np.abs(np.cos(2 * theta)))


def without_weights(mu: float) -> list[tuple[float, float]]:
    """Find intervals of the angle, degrees, in which no symmetrising weights exist; both ends slide to one side."""
    grid = np.radians(np.linspace(0.5, 89.5, 3561))
    values = _margin(grid, mu)
    places = np.flatnonzero(values[1:] * values[:-1] < 0)
    ends = [
        float(np.degrees(brentq(lambda t: float(_margin(np.array(t), mu)), grid[i], grid[i + 1], xtol=1e-14)))
        for i in places
    ]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _two_bars(quick: bool) -> Derivation:
    told, wrong, tried = [], 0, 0
    for mu in (0.2, 0.5, 1.0):
        gaps = without_weights(mu)
        angles = np.linspace(1.0, 89.0, 12 if quick else 60)
        for theta, A in zip(angles, samples.on_floor(np.radians(angles), mu=mu).A, strict=True):
            # 45° is left out of the grid, since A_12 and A_21 differ there only by rounding errors.
            inside = any(low < theta < high for low, high in gaps)
            tried, wrong = tried + 1, wrong + (cycle_condition(A) == inside)
        told.append(f"μ = {mu:g}: none in " + ", ".join(f"({low:.3f}°, {high:.3f}°)" for low, high in gaps))
    return texts.derivation("two-bars", wrong == 0, told="; ".join(told), wrong=wrong, tried=tried)


def best_objective(A: Matrix, generations: int) -> tuple[float, Matrix]:
    """Find the P with which min 1/2 z^T P z subject to A z + B >= 0 comes closest to the LCP of two contacts.

    Return its error, the largest over DIRECTIONS of B, and P; its first entry is 1 without loss of generality.
    """
    angle = 0.1 + 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    b = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    z = sets.lcp(np.tile(A, (DIRECTIONS, 1, 1)), b)

    def forms(points: Matrix) -> Matrix:
        root = np.exp(points[:, 0])
        cross = np.tanh(points[:, 1]) * root
        return np.stack((np.ones_like(root), cross, cross, root**2), axis=1).reshape(-1, 2, 2)

    def fit(points: Matrix) -> Vector:
        count = len(points)
        matrices, loads = np.tile(A, (DIRECTIONS * count, 1, 1)), np.tile(b, (count, 1))
        x = sets.quadratic(np.repeat(forms(points), DIRECTIONS, axis=0), np.zeros_like(loads), matrices, loads)
        gaps = samples.relative(matrices, loads, x, np.tile(z, (count, 1)))
        return np.asarray(-gaps.reshape(count, DIRECTIONS).max(axis=1))

    value, point = samples.maximise(fit, [(-3.0, 3.0), (-3.0, 3.0)], generations)
    return -value, np.asarray(forms(point[None])[0])


def _any_objective(quick: bool) -> Attempt:
    generations = 40 if quick else 80
    first, last = without_weights(MU)[0]
    degrees = (round((first + last) / 2), 85.0)
    inside, outside = samples.on_floor(np.radians(degrees), mu=MU).A
    errors = [best_objective(A, generations)[0] for A in (OPPOSED, inside)]
    control, P = best_objective(outside, generations)
    d = np.array([abs(outside[1, 0]), abs(outside[0, 1])])
    form = sets.symmetric(d[:, None] * outside)
    miss = float(np.abs(P - form / form[0, 0]).max())
    # Where weights exist, the true least error is 0; the error found there, `control`, shows the optimiser's accuracy.
    return texts.attempt(
        "any-objective", min(errors) > 10 * control, generations=generations, directions=DIRECTIONS, degrees=degrees,
        errors=errors, miss=miss, control=control,
    )  # fmt: skip


claim = texts.claim("C7", "001", check, 1.0)
