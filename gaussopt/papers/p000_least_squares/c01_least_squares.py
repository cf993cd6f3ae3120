"""C1: the least-squares form gives the true acceleration without multipliers.

Equation (14) is exact with the Moore-Penrose inverse of M^(1/2) N. Equation (16), used by the paper, is exact with
generalised inverses that are weighted by the masses; with Moore-Penrose inverses it minimises an unweighted distance
and is exact for all forces only if M leaves ker J invariant.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import sqrtm
from scipy.optimize import brentq

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement, Reading
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence.adversarial_search import largest_error, minimise
from gaussopt.papers.p000_least_squares.minimal_crank_slider import Crank, reference_steps
from gaussopt.papers.texts import ClaimTexts

EXACT = DEFAULT_TOLERANCE
"""Relative error in the mass norm up to which an acceleration counts as exact: the tolerance of this package."""

CONDITIONS = 1e6, 1e3
"""Largest condition numbers of M and J."""
MOST = 12
SEED = 14

text = ClaimTexts(__file__, exact=EXACT, seed=SEED, largest=CONDITIONS)

Samples = list[StepData]

equation_14 = rs.by_formulation("least-squares")
equation_16 = rs.by_formulation("least-squares-as-printed")


def check(quick: bool) -> Judgement:
    """Judge the two forms of the claim, (14) and (16); for (16), with both kinds of generalised inverses."""
    samples = _samples(40 if quick else 300)
    some = samples[:: 4 if quick else 2]
    drawn, steered = _random_14(samples), _adversary_14(quick)
    motions, rows = _along()
    readings = (
        text.reading("by-14", not drawn.refutes and not steered.refutes, ours=False),
        _reading_16(some, not motions.refutes),
        text.reading("by-16-weighted", max(rs.misses(samples, weighted_16)) <= EXACT),
    )
    words = ("gives" if r.holds else "does not always give" for r in readings)
    derivations = (
        _optimality(samples), _start(), _generic(samples), _unweighted(samples), _invariance(some), _repairs(some),
        _traps(quick),
    )  # fmt: skip
    searches = drawn, steered, motions, _adversary_condition(quick), _lucky_states(quick)
    numbers = dict(zip(("by_14", "by_16", "weighted"), words, strict=True))
    return text.judgement(readings, derivations, searches, rows=rows, numbers=numbers)


def _reading_16(samples: Samples, along: bool) -> Reading:
    """Judge eq. (16) along two motions, for matrices M that map ker J to itself, and for a0 that satisfies the rows."""
    same, free = (max(rs.misses(map(make, samples), equation_16)) <= EXACT for make in (_invariant, _kept))
    return text.reading("by-16", along and same and free, {"invariant": same, "kept": free})


def _invariant(s: StepData) -> StepData:
    """Return the step with a new mass matrix that maps ker J to itself."""
    N = rs.projector(s.J)
    across = np.eye(s.n) - N
    return replace(s, M=N @ s.M @ N + across @ s.M @ across)


def _kept(s: StepData) -> StepData:
    """Return the step with gamma = J a0, so that its free acceleration a0 satisfies the rows."""
    return replace(s, gamma=s.J @ rs.free_acceleration(s))


def written_out(s: StepData) -> Vector:
    """Compute eq. (16) with Moore-Penrose inverses, literally."""
    Jp, N = np.linalg.pinv(s.J), rs.projector(s.J)
    return np.asarray(Jp @ s.gamma - N @ np.linalg.pinv(N, rcond=1e-8) @ (Jp @ s.gamma - rs.free_acceleration(s)))


def _samples(count: int, conditions: tuple[float, float] = CONDITIONS) -> Samples:
    rng = np.random.default_rng(SEED)
    return [rs.draw(rng, *rs.sizes(rng, MOST), *conditions) for _ in range(count)]


def _optimality(samples: Samples) -> Derivation:
    along, across = [], []
    for s in samples:
        a, Z = _true_inverse(s), rs.kernel(s.J)
        pull = rs.mass_norm(np.linalg.inv(Z.T @ s.M @ Z), Z.T @ (s.M @ a - s.force))
        along.append(pull / (rs.mass_norm(s.M, a) + rs.mass_norm(s.M, rs.free_acceleration(s))))
        size = np.linalg.norm(s.J, 2) * np.linalg.norm(a) + np.linalg.norm(s.gamma)
        across.append(float(np.linalg.norm(s.J @ a - s.gamma) / size))
    return text.derivation(
        "optimality", max(*along, *across) <= EXACT, along=max(along), across=max(across), count=len(samples)
    )


def _start() -> Derivation:
    """Check closed forms of the crank's true acceleration and of its acceleration by (16) at the printed start."""
    found = []
    for tau in (-0.5, 0.0):
        entry = problem("crank-slider", tau=tau)
        step = entry.system.evaluate(0.0, entry.q0, entry.v0)
        p = entry.parameter_values
        m, l1, r = p["m1"] + p["m2"], p["l1"], p["l1"] / p["l2"]
        exact = (tau - m * p["g"] * l1 / 2) / (m * l1**2 / 3)
        stated = (tau / p["I1"] - p["g"] * l1) / (1 + l1**2 / 2 + r**2)
        seen = rs.minimiser(step)[2], written_out(step)[2]
        found.append((tau, exact, seen[0], stated, seen[1], equation_16(step)[2]))
    taus, true, computed, unweighted, by_16, registered = np.array(found).T
    holds = np.allclose(computed, true, rtol=1e-10) and np.allclose(by_16, unweighted, rtol=1e-10)
    return text.derivation(
        "start", bool(holds), tau=taus, true=true, computed=computed, stated=unweighted, by_16=by_16,
        factors=registered / true,
    )  # fmt: skip


def _generic(samples: Samples) -> Derivation:
    """Compute eq. (14) with generalised inverses of A = M^(1/2) N that do not give least-squares solutions."""
    rng = np.random.default_rng(SEED)
    errors: list[float] = []
    off: list[float] = []
    for s in samples:
        root, N = sqrtm(s.M).real, rs.projector(s.J)
        p = np.linalg.pinv(s.J) @ s.gamma
        A, b = root @ N, root @ (rs.free_acceleration(s) - p)
        inverse = np.linalg.pinv(A, rcond=1e-8)
        V = rng.normal(size=A.shape)
        V *= np.linalg.norm(inverse, 2) / np.linalg.norm(V, 2)
        other = inverse + V - V @ A @ inverse
        stated = rs.minimiser(s) + N @ V @ (b - A @ inverse @ b)
        errors.append(rs.miss(s, p + N @ other @ b))
        apart = np.linalg.norm(A @ other @ A - A) / np.linalg.norm(A)
        off += [rs.miss(s, p + N @ other @ b, stated), float(apart)]
    return text.derivation(
        "generic inverse", max(off) <= 1e-6, median=float(np.median(errors)), off=max(off), count=len(samples)
    )


def _unweighted(samples: Samples) -> Derivation:
    return text.confirmed("unweighted", EXACT, rs.misses(samples, written_out, _nearest))


def _nearest(s: StepData) -> Vector:
    """Return the admissible acceleration that is nearest to the free acceleration in the Euclidean norm."""
    a0 = rs.free_acceleration(s)
    return np.asarray(a0 + np.linalg.lstsq(s.J, s.gamma - s.J @ a0, rcond=None)[0])


def _error_map(s: StepData) -> tuple[Matrix, Matrix]:
    """Return an orthonormal basis Y of range J^T, and E such that the error of (16) is E Y^T J^+ (gamma - J a0)."""
    Z = rs.kernel(s.J)
    Y = np.linalg.qr(s.J.T)[0]
    return Y, np.asarray(Z @ np.linalg.solve(Z.T @ s.M @ Z, Z.T @ s.M @ Y))


def _invariance(samples: Samples) -> Derivation:
    errors = []
    for s in samples:
        same, worst, free = _invariant(s), replace(s, gamma=_worst_gamma(s)), _kept(s)
        Y, E = _error_map(worst)
        a0 = rs.free_acceleration(worst)
        expected = E @ (Y.T @ np.linalg.lstsq(worst.J, worst.gamma - worst.J @ a0, rcond=None)[0])
        errors.append([
            rs.miss(same, written_out(same)), rs.miss(worst, written_out(worst), rs.minimiser(worst) + expected),
            rs.miss(free, written_out(free)),
        ])  # fmt: skip
    largest = np.max(errors, axis=0)
    return text.derivation("invariance", bool(largest.max() <= EXACT), count=len(samples), worst=largest)


def _worst_gamma(s: StepData) -> Vector:
    """Return the gamma at which the error of (16) is largest among those with a unit correction J^+ (gamma - J a0)."""
    Y, E = _error_map(s)
    direction = np.linalg.svd(E)[2][0]
    return np.asarray(s.J @ (rs.free_acceleration(s) + Y @ direction))


def _repairs(samples: Samples) -> Derivation:
    worst = [max(rs.misses(samples, repair)) for repair in (_true_inverse, weighted_16, _scaled)]
    worst.append(max(map(_inverse_15, samples)))
    return text.derivation("repairs", max(worst) <= EXACT, worst=worst, count=len(samples))


def _inverse_15(s: StepData) -> float:
    """Return the relative residual of (15) in the two equations of a least-squares inverse of M^(1/2) P."""
    root, inverse = _roots(s.M)
    P = np.eye(s.n) - _weighted_inverse(s) @ s.J
    A, B = root @ P, P @ inverse
    lacks = np.linalg.norm(A @ B @ A - A) / np.linalg.norm(A), np.linalg.norm(A @ B - (A @ B).T) / np.linalg.norm(A @ B)
    return float(max(lacks))


def _roots(M: Matrix) -> tuple[Matrix, Matrix]:
    values, V = np.linalg.eigh(M)
    return (V * np.sqrt(values)) @ V.T, (V / np.sqrt(values)) @ V.T


def _true_inverse(s: StepData) -> Vector:
    root, inverse = _roots(s.M)
    N, Jp = rs.projector(s.J), np.linalg.pinv(s.J)
    b = inverse @ s.force - root @ (Jp @ s.gamma)
    # The kernel of M^(1/2) N is the range of J^T; the rank cutoff is above rounding errors and below the smallest mass.
    return np.asarray(Jp @ s.gamma + N @ (np.linalg.pinv(root @ N, rcond=1e-8) @ b))


def _weighted_inverse(s: StepData) -> Matrix:
    _, inverse = _roots(s.M)
    # This equals M^-1 J^T (J M^-1 J^T)^-1, but the inverted matrix has only the square root of the condition number.
    return np.asarray(inverse @ np.linalg.pinv(s.J @ inverse))


def weighted_16(s: StepData) -> Vector:
    """Compute eq. (16) literally, with J_M^- and with the projector P, which is its own generalised inverse."""
    W = _weighted_inverse(s)
    P = np.eye(s.n) - W @ s.J
    return np.asarray(W @ s.gamma - P @ P @ (W @ s.gamma - rs.free_acceleration(s)))


def _scaled(s: StepData) -> Vector:
    root, inverse = _roots(s.M)
    Jp = np.linalg.pinv(s.J @ inverse)
    z0 = inverse @ s.force
    z = Jp @ s.gamma + (np.eye(s.n) - Jp @ s.J @ inverse) @ z0
    return np.asarray(np.linalg.solve(root, z))


def _traps(quick: bool) -> Derivation:
    same = []
    for s in _samples(10 if quick else 50, (1e2, 1e1)):
        W = _weighted_inverse(s)
        P = np.eye(s.n) - W @ s.J
        a0 = rs.free_acceleration(s)
        again = W @ s.gamma + P @ (np.linalg.pinv(P, rcond=1e-8) @ (a0 - W @ s.gamma))
        same.append(rs.miss(s, again, a0 + np.linalg.pinv(s.J) @ (s.gamma - s.J @ a0)))
    below, careful, states = 0, 0.0, reference_steps("crank-A-2s")[:: 8 if quick else 1]
    for s in states:
        Jp, a0 = np.linalg.pinv(s.J), rs.free_acceleration(s)
        N = np.eye(s.n) - Jp @ s.J
        noisy, clean = (Jp @ s.gamma + N @ (np.linalg.pinv(N, rcond=cut) @ a0) for cut in (1e-15, 1e-8))
        below += bool(np.linalg.norm(s.J @ noisy - s.gamma) > EXACT * (1 + np.linalg.norm(s.gamma)))
        careful = max(careful, rs.miss(s, clean, Jp @ s.gamma + N @ a0))
    holds = max(same) <= EXACT and below > 0 and careful <= EXACT
    return text.derivation(
        "traps", holds, same=max(same), count=len(same), below=below, states=len(states), careful=careful
    )


def _random_14(samples: Samples) -> Attempt:
    n, m = ((min(of), max(of)) for of in ([s.n for s in samples], [s.m for s in samples]))
    conditions = [max(np.linalg.cond(getattr(s, of)) for s in samples) for of in ("M", "J")]
    worst = max(rs.misses(samples, equation_14))
    return text.attempt("random steps", worst > EXACT, count=len(samples), n=n, m=m, conditions=conditions, worst=worst)


def _adversary_14(quick: bool) -> Attempt:
    n, m = 4, 2
    size = rs.entries(n, m)

    def error(x: Vector) -> float:
        return rs.misses([rs.step_of(x, n, m, *CONDITIONS)], equation_14)[0]

    worst, found = largest_error(error, size, *((1, SEED, 1) if quick else (6, SEED, 3)))
    return text.attempt("optimised steps", worst > EXACT, size=size, n=n, m=m, tried=found.tried, worst=worst)


def _along() -> tuple[Attempt, tuple[tuple[object, ...], ...]]:
    """Tabulate errors of (16) at the states of two motions; the text quotes the errors with the printed torque."""
    rows: list[tuple[object, ...]] = []
    missed: list[Vector] = []
    for tau, name in ((-0.5, "crank-A-2s"), (0.0, "crank-B-20s")):
        states = reference_steps(name)
        true, printed = [rs.minimiser(s) for s in states], [equation_16(s) for s in states]
        label = f"τ = {tau:g} N m"
        first = float(true[0][2]), float(printed[0][2])
        rows.append((f"θ₁″ at t = 0 / (rad/s²), {label}", *first, first[1] / first[0]))
        G = [(_constraint(s, a), _constraint(s, b)) for s, a, b in zip(states, true, printed, strict=True)]
        rows.append((f"Gauss's function at t = 0 / (J/s²), {label}", *G[0], G[0][1] / G[0][0]))
        errors = np.array(rs.misses(states, equation_16))
        for what, of, true_value in (
            ("relative error of a in the mass norm", errors, 0.0),
            ("Gauss's function over its minimum", np.array([b / a for a, b in G]), 1.0),
        ):
            for how, value in (("smallest", of.min()), ("median", np.median(of)), ("largest", of.max())):
                rows.append((f"{what}, {how} over the motion, {label}", true_value, float(value), float("nan")))
        held = max(float(np.linalg.norm(s.J @ b - s.gamma)) for s, b in zip(states, printed, strict=True))
        rows.append((f"largest residual of the rows over the motion, {label}", 0.0, held, float("nan")))
        missed.append(errors)
    every, printed_case = np.concatenate(missed), missed[0]
    search = text.attempt(
        "motions", bool((every > EXACT).any()), states=len(every), wrong=int((every > EXACT).sum()), errors=missed,
        median=float(np.median(printed_case)), largest=float(printed_case.max()),
        words=[f"median {np.median(of):.3g}, largest {of.max():.3g}" for of in missed],
    )  # fmt: skip
    return search, tuple(rows)


def _constraint(s: StepData, a: Vector) -> float:
    """Compute Gauss's function 1/2 |a - a0|_M^2."""
    return 0.5 * rs.mass_norm(s.M, a - rs.free_acceleration(s)) ** 2


def _adversary_condition(quick: bool) -> Attempt:
    """Search for the least ratio of the error of (16) to |N M (I - N)| / |M|, which is at least 1 by the theory."""
    n, m = 3, 1
    size = rs.entries(n, m)

    def ratio(x: Vector) -> float:
        s = rs.step_of(x, n, m, 100.0, 1.0)
        s = replace(s, gamma=_worst_gamma(s))
        N = rs.projector(s.J)
        coupling = np.linalg.norm(N @ s.M @ (np.eye(n) - N), 2) / np.linalg.norm(s.M, 2)
        return float(np.linalg.norm(equation_16(s) - rs.minimiser(s)) / coupling)

    rounds, crowd = (1, 1) if quick else (8, 3)
    found = minimise(ratio, [(-1.0, 1.0)] * size, rounds, np.random.default_rng(SEED), crowd)
    least = found.value
    return text.attempt("optimised masses", least < 1.0 - 1e-6, size=size, n=n, m=m, tried=found.tried, least=least)


def _lucky_states(quick: bool) -> Attempt:
    crank = Crank.of(problem("crank-slider").parameter_values)
    system = problem("crank-slider").system
    angles, rates = np.linspace(-np.pi, np.pi, 7 if quick else 37)[1:], np.linspace(-60.0, 60.0, 11 if quick else 25)

    def difference(omega: float, theta: float) -> float:
        # (16) gives the motion for unit masses and forces M^-1 Q, which is computed here in the minimal coordinate.
        K, Kp = crank.directions(theta)
        a0 = crank.force(theta, omega) / crank.mass().diagonal()
        return float(K @ (a0 - Kp * omega**2) / (K @ K) - crank.acceleration(theta, omega)[2])

    misses = []
    for theta in angles:
        values = [difference(w, theta) for w in rates]
        for low, high, a, b in zip(rates, rates[1:], values, values[1:], strict=False):
            if a * b < 0:
                omega = brentq(difference, low, high, args=(theta,), xtol=1e-12)
                step = system.evaluate(0.0, crank.coordinates(theta), crank.directions(theta)[0] * omega)
                misses.append(rs.miss(step, equation_16(step)))
    found = text("lucky states found", count=len(misses), worst=max(misses)) if misses else "there are none"
    return text.attempt("lucky states", False, angles=len(angles), rates=len(rates), found=found)


claim = text.claim("C1", "000", check, 3.0)
