"""C1: the least-squares form gives the true acceleration without multipliers.

Equation (14) with the Moore-Penrose inverse of the product does. Equation (16), which the source uses, minimises an
unweighted distance and is exact for all forces only where M leaves ker J invariant.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import brentq

from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence.adversarial_search import largest_error, minimise
from gaussopt.papers.p000_least_squares.minimal_crank_slider import Crank

EXACT = DEFAULT_TOLERANCE
"""Relative error in the mass norm up to which an acceleration counts as exact: what the workbench accepts."""

MASS_CONDITION, ROW_CONDITION = 1e6, 1e3
MOST = 12
SEED = 14

Samples = list[StepData]

equation_14 = rs.by_formulation("least-squares")
equation_16 = rs.by_formulation("least-squares-as-printed")


def check(quick: bool) -> Judgement:
    """Judge (14) and (16), the two forms in which the claim is made."""
    samples = _samples(40 if quick else 300)
    optimal, repairs = _optimality(samples), _repairs(samples[:: 4 if quick else 2])
    (start, start_14, start_16, words), invariant = _start(), _invariance(samples[:: 4 if quick else 2])
    worst = max(rs.miss(s, equation_14(s)) for s in samples)
    drawn, steered = _random_14(samples, worst), _adversary_14(quick)
    motions, rows = _along(8 if quick else 1)
    condition = _adversary_condition(quick)
    lucky = _lucky_states(quick)
    holds_14 = optimal.holds and start_14 and not drawn.refutes and not steered.refutes
    holds_16 = not motions.refutes and start_16
    conditions = (
        "for eq. (14) with the Moore-Penrose inverse of the product $M^{1/2}N$; for eq. (16) with Moore-Penrose "
        "inverses only where $\\ker J$ is $M$-invariant, $NM(I-N)=0$, or at single states with $NMJ^+(\\gamma-Ja_0)=0$."
    )
    verdict = ClaimVerdict.of([holds_14, holds_16])
    known = invariant.holds and not condition.refutes
    sentence = (
        f"Eq. (14) {'is' if holds_14 else 'is not'} the true acceleration on all {len(samples)} random steps "
        f"({worst:.1e} at most, relative). Eq. (16) {'is' if holds_16 else 'is not'}: {words}"
    )
    return Judgement(
        verdict,
        sentence,
        (optimal, start, _unweighted(samples), invariant, repairs, _traps(quick)),
        (drawn, steered, motions, condition, lucky),
        conditions if verdict is ClaimVerdict.CONDITIONAL and known else "",
        ("quantity on the crank-slider", "exact", "by eq. (16)", "ratio"),
        rows,
    )


def _samples(count: int, mass_condition: float = MASS_CONDITION, row_condition: float = ROW_CONDITION) -> Samples:
    rng = np.random.default_rng(SEED)
    return [rs.draw(rng, *rs.sizes(rng, MOST), mass_condition, row_condition) for _ in range(count)]


def _optimality(samples: Samples) -> Derivation:
    along, across = [], []
    for s in samples:
        a, Z = equation_14(s), rs.kernel(s.J)
        pull = rs.mass_norm(np.linalg.inv(Z.T @ s.M @ Z), Z.T @ (s.M @ a - s.force))
        along.append(pull / (rs.mass_norm(s.M, a) + rs.mass_norm(s.M, rs.free_acceleration(s))))
        size = np.linalg.norm(s.J, 2) * np.linalg.norm(a) + np.linalg.norm(s.gamma)
        across.append(float(np.linalg.norm(s.J @ a - s.gamma) / size))
    return Derivation(
        "$a$ is the true acceleration iff $Ja=\\gamma$ and $Z^T(Ma-\\tilde Q)=0$, where the columns of $Z$ span "
        "$\\ker J$: no multiplier is in it. Eq. (14), $a=J^+\\gamma+N(M^{1/2}N)^+b$, satisfies both.",
        f"largest residual along $\\ker J$ {max(along):.1e}, of the rows {max(across):.1e}, both relative, on "
        f"{len(samples)} random steps",
        max(*along, *across) <= EXACT,
    )


def _start() -> tuple[Derivation, bool, bool, str]:
    """Closed forms of the crank's acceleration at the printed start; whether (14) and (16) are right; in words."""
    parts, as_derived, right_14, right_16, factors = [], True, True, True, []
    for tau in (-0.5, 0.0):
        entry = problem("crank-slider", tau=tau)
        step = entry.system.evaluate(0.0, entry.q0, entry.v0)
        p = entry.parameter_values
        m, l1, r = p["m1"] + p["m2"], p["l1"], p["l1"] / p["l2"]
        exact = (tau - m * p["g"] * l1 / 2) / (m * l1**2 / 3)
        unweighted = (tau / p["I1"] - p["g"] * l1) / (1 + l1**2 / 2 + r**2)
        got, printed = equation_14(step)[2], equation_16(step)[2]
        as_derived = as_derived and bool(np.isclose(printed, unweighted, rtol=1e-10))
        right_14 = right_14 and bool(np.isclose(got, exact, rtol=1e-10))
        right_16 = right_16 and bool(np.isclose(printed, exact, rtol=1e-6))
        factors.append(printed / exact)
        parts.append(
            f"$\\tau={tau:g}$ N m: exact {exact:.8f}, eq. (14) {got:.8f}; (16) in closed form {unweighted:.8f}, "
            f"as computed {printed:.8f} rad/s²"
        )
    derivation = Derivation(
        "At the printed start, at rest with $\\theta_1=0$ and uniform bars, minimal coordinates give $\\ddot\\theta_1="
        "\\frac{\\tau-(m_1+m_2)gl_1/2}{(m_1+m_2)l_1^2/3}$. Eq. (16) gives "
        "$\\frac{\\tau/I_1-gl_1}{1+l_1^2/2+(l_1/l_2)^2}$, from which the masses have gone.",
        "; ".join(parts),
        right_14 and as_derived,
    )
    words = (
        f"at the start of the crank-slider it gives {factors[0]:.3g} times the crank's acceleration with the printed "
        f"torque and {factors[1]:.3g} times without torque."
    )
    return derivation, right_14, right_16, words


def _unweighted(samples: Samples) -> Derivation:
    misses = []
    for s in samples:
        a0 = rs.free_acceleration(s)
        nearest = a0 + np.linalg.lstsq(s.J, s.gamma - s.J @ a0, rcond=None)[0]
        misses.append(rs.miss(s, equation_16(s), nearest))
    return Derivation(
        "With $J^-=J^+$ the projector $N$ is its own inverse, and (16) becomes $a=J^+\\gamma+Na_0="
        "a_0+J^+(\\gamma-Ja_0)$, the minimiser of $\\frac12\\|a-a_0\\|_2^2$ without the mass matrix, which is eq. (2) "
        "as misprinted.",
        f"largest relative distance of (16) from that minimiser {max(misses):.1e} on {len(samples)} random steps",
        max(misses) <= EXACT,
    )


def _error_map(s: StepData) -> tuple[Matrix, Matrix]:
    """Y with orthonormal columns across ker J, and E: (16) errs by E Y^T J^+ (gamma - J a0)."""
    Z = rs.kernel(s.J)
    Y = np.linalg.qr(s.J.T)[0]
    return Y, np.asarray(Z @ np.linalg.solve(Z.T @ s.M @ Z, Z.T @ s.M @ Y))


def _invariance(samples: Samples) -> Derivation:
    kept, predicted, single = [], [], []
    for s in samples:
        N = rs.projector(s.J)
        across = np.eye(s.n) - N
        same = rs.with_mass(s, N @ s.M @ N + across @ s.M @ across)
        kept.append(rs.miss(same, equation_16(same)))
        worst = rs.with_gamma(s, _worst_gamma(s))
        Y, E = _error_map(worst)
        a0 = rs.free_acceleration(worst)
        expected = E @ (Y.T @ np.linalg.lstsq(worst.J, worst.gamma - worst.J @ a0, rcond=None)[0])
        true = rs.minimiser(worst)
        predicted.append(rs.miss(worst, equation_16(worst), true + expected))
        free = rs.with_gamma(s, s.J @ rs.free_acceleration(s))
        single.append(rs.miss(free, equation_16(free)))
    return Derivation(
        "(16) errs by $Z(Z^TMZ)^{-1}Z^TMJ^+(\\gamma-Ja_0)$, since $a_{(16)}-a_0=J^+(\\gamma-Ja_0)$ and optimality is "
        "$NM(a-a_0)=0$. So it is exact for all forces iff $NM(I-N)=0$, that is, iff $\\ker J$ is $M$-invariant "
        "($M=cI$ is one case), and at one state iff $NMJ^+(\\gamma-Ja_0)=0$.",
        f"on {len(samples)} steps made to satisfy $NM(I-N)=0$ (16) errs by {max(kept):.1e} at most; with the worst "
        f"$\\gamma$ for a general $M$ its error agrees with the formula to {max(predicted):.1e}; where $\\gamma=Ja_0$ "
        f"it errs by {max(single):.1e} at most",
        max(*kept, *predicted, *single) <= EXACT,
    )


def _worst_gamma(s: StepData) -> Vector:
    """The right-hand side of unit correction J^+ (gamma - J a0) for which (16) errs most."""
    Y, E = _error_map(s)
    direction = np.linalg.svd(E)[2][0]
    return np.asarray(s.J @ (rs.free_acceleration(s) + Y @ direction))


def _repairs(samples: Samples) -> Derivation:
    worst = np.zeros(3)
    for s in samples:
        worst = np.maximum(worst, [rs.miss(s, repair(s)) for repair in (_true_inverse, _mass_inverse, _scaled)])
    return Derivation(
        "Three repairs: (i) eq. (14) with the true $(M^{1/2}N)^+$; (ii) $J_M^-=M^{-1}J^T(JM^{-1}J^T)^{-1}$ and the "
        "projector $P=I-J_M^-J$ itself as outer inverse, $a=J_M^-\\gamma+Pa_0$; (iii) (16) verbatim in the "
        "coordinates $z=M^{1/2}a$.",
        f"largest relative errors {worst[0]:.1e}, {worst[1]:.1e}, {worst[2]:.1e} on {len(samples)} random steps",
        bool(worst.max() <= EXACT),
    )


def _roots(M: Matrix) -> tuple[Matrix, Matrix]:
    values, V = np.linalg.eigh(M)
    return (V * np.sqrt(values)) @ V.T, (V / np.sqrt(values)) @ V.T


def _true_inverse(s: StepData) -> Vector:
    root, inverse = _roots(s.M)
    N, Jp = rs.projector(s.J), np.linalg.pinv(s.J)
    b = inverse @ s.force - root @ (Jp @ s.gamma)
    # ker (M^(1/2) N) is the range of J^T: a cutoff below the smallest mass and above rounding finds it.
    return np.asarray(Jp @ s.gamma + N @ (np.linalg.pinv(root @ N, rcond=1e-8) @ b))


def _weighted_inverse(s: StepData) -> Matrix:
    _, inverse = _roots(s.M)
    # The same as M^-1 J^T (J M^-1 J^T)^-1, at the square root of its condition number.
    return np.asarray(inverse @ np.linalg.pinv(s.J @ inverse))


def _mass_inverse(s: StepData) -> Vector:
    W = _weighted_inverse(s)
    return np.asarray(W @ s.gamma + (np.eye(s.n) - W @ s.J) @ rs.free_acceleration(s))


def _scaled(s: StepData) -> Vector:
    root, inverse = _roots(s.M)
    Jp = np.linalg.pinv(s.J @ inverse)
    z0 = inverse @ s.force
    z = Jp @ s.gamma + (np.eye(s.n) - Jp @ s.J @ inverse) @ z0
    return np.asarray(np.linalg.solve(root, z))


def _traps(quick: bool) -> Derivation:
    same = []
    for s in _samples(10 if quick else 50, 1e2, 1e1):
        W = _weighted_inverse(s)
        P = np.eye(s.n) - W @ s.J
        a0 = rs.free_acceleration(s)
        again = W @ s.gamma + P @ (np.linalg.pinv(P, rcond=1e-8) @ (a0 - W @ s.gamma))
        same.append(rs.miss(s, again, a0 + np.linalg.pinv(s.J) @ (s.gamma - s.J @ a0)))
    below, careful, states = 0, 0.0, _reference("crank-A-2s")[:: 8 if quick else 1]
    for s in states:
        Jp, a0 = np.linalg.pinv(s.J), rs.free_acceleration(s)
        N = np.eye(s.n) - Jp @ s.J
        noisy, clean = (Jp @ s.gamma + N @ (np.linalg.pinv(N, rcond=cut) @ a0) for cut in (1e-15, 1e-8))
        below += bool(np.linalg.norm(s.J @ noisy - s.gamma) > EXACT * (1 + np.linalg.norm(s.gamma)))
        careful = max(careful, rs.miss(s, clean, Jp @ s.gamma + N @ a0))
    return Derivation(
        "Two traps: $J_M^-$ with the Moore-Penrose inverse outside is (16) again, because $PP^+=N$ for every $J^-$; "
        "and $(I-J^+J)^+$ with the usual cutoff of $10^{-15}$ inverts rounding noise, where $10^{-8}$ or the projector "
        "itself does not.",
        f"the first differs from (16) by {max(same):.1e} at most on {len(same)} random steps; the second violates the "
        f"rows at {below} of {len(states)} states of the crank-slider's motion, with the cutoff $10^{{-8}}$ it errs by "
        f"{careful:.1e} at most",
        max(same) <= EXACT and below > 0 and careful <= EXACT,
    )


def _random_14(samples: Samples, worst: float) -> Attempt:
    n, m = ([getattr(s, k) for s in samples] for k in ("n", "m"))
    M, J = (max(np.linalg.cond(getattr(s, k)) for s in samples) for k in ("M", "J"))
    return Attempt(
        "a step with independent rows and positive definite $M$ at which (14) is not the true acceleration",
        f"{len(samples)} random steps, $n$ from {min(n)} to {max(n)}, $m$ from {min(m)} to {max(m)}, condition of $M$ "
        f"up to {M:.1e}, of $J$ up to {J:.1e}, seed {SEED}",
        f"largest relative error {worst:.1e}; {EXACT:g} would count",
        worst > EXACT,
    )


def _adversary_14(quick: bool) -> Attempt:
    n, m = 4, 2
    size = rs.entries(n, m)

    def error(x: Vector) -> float:
        s = rs.step_of(x, n, m, MASS_CONDITION, ROW_CONDITION)
        return rs.miss(s, equation_14(s))

    worst, found = largest_error(error, size, *((1, SEED, 1) if quick else (6, SEED, 3)))
    return Attempt(
        "the same, by an optimiser that makes the error of (14) as large as it can",
        f"differential evolution over the {size} numbers that decide $M$, $J$, $\\gamma$, $Q$ and $h$ with $n={n}$, "
        f"$m={m}$, condition of $M$ up to {MASS_CONDITION:g} and of $J$ up to {ROW_CONDITION:g}: {found.tried} steps, "
        f"seed {SEED}",
        f"largest relative error {worst:.1e}; {EXACT:g} would count",
        worst > EXACT,
    )


@cache
def _reference(name: str) -> Samples:
    entry = problem("crank-slider")
    rows = entry.reference(name)
    system = entry.at(tau=next(r.parameters["tau"] for r in entry.references if r.name == name)).system
    return [system.evaluate(float(t), q, v) for t, q, v in zip(rows.t, rows.q, rows.v, strict=True)]


def _along(stride: int) -> tuple[Attempt, tuple[tuple[object, ...], ...]]:
    """(16) at the states of two motions, and the table of its errors."""
    rows: list[tuple[object, ...]] = []
    words, counted, wrong = [], 0, 0
    for tau, name in ((-0.5, "crank-A-2s"), (0.0, "crank-B-20s")):
        states = _reference(name)[::stride]
        true, printed = [rs.minimiser(s) for s in states], [equation_16(s) for s in states]
        label = f"τ = {tau:g} N m"
        first = float(true[0][2]), float(printed[0][2])
        rows.append((f"θ₁″ at t = 0 / (rad/s²), {label}", *first, first[1] / first[0]))
        G = [(_constraint(s, a), _constraint(s, b)) for s, a, b in zip(states, true, printed, strict=True)]
        rows.append((f"Gauss's function at t = 0 / (J/s²), {label}", *G[0], G[0][1] / G[0][0]))
        ratio = np.array([b / a for a, b in G])
        errors = np.array([np.linalg.norm(b - a) / np.linalg.norm(a) for a, b in zip(true, printed, strict=True)])
        for what, of, true_value in (
            ("relative error of a", errors, 0.0),
            ("Gauss's function by its minimum", ratio, 1.0),
        ):
            for how, value in (("smallest", of.min()), ("median", np.median(of)), ("largest", of.max())):
                rows.append((f"{what}, {how} over the motion, {label}", true_value, float(value), float("nan")))
        held = max(float(np.linalg.norm(s.J @ b - s.gamma)) for s, b in zip(states, printed, strict=True))
        rows.append((f"largest residual of the rows over the motion, {label}", 0.0, held, float("nan")))
        counted += len(states)
        wrong += int((errors > EXACT).sum())
        words.append(f"{label}: median {np.median(errors):.3g}, largest {errors.max():.3g}")
    search = Attempt(
        "a state of the source's own mechanism at which (16) is not the true acceleration",
        f"{counted} states of two reference motions of the crank-slider, 2 s with the printed torque and 20 s without",
        f"(16) is wrong at {wrong} of them, by a relative error of " + "; ".join(words),
        wrong > 0,
    )
    return search, tuple(rows)


def _constraint(s: StepData, a: Vector) -> float:
    """Gauss's function 1/2 |a - a0|_M^2."""
    return 0.5 * rs.mass_norm(s.M, a - rs.free_acceleration(s)) ** 2


def _adversary_condition(quick: bool) -> Attempt:
    """The smallest ratio of what (16) errs at worst to how far NM(I - N) is from zero; it cannot be below 1."""
    n, m = 3, 1
    size = rs.entries(n, m)

    def ratio(x: Vector) -> float:
        s = rs.step_of(x, n, m, 100.0, 1.0)
        s = rs.with_gamma(s, _worst_gamma(s))
        N = rs.projector(s.J)
        coupling = np.linalg.norm(N @ s.M @ (np.eye(n) - N), 2) / np.linalg.norm(s.M, 2)
        return float(np.linalg.norm(equation_16(s) - rs.minimiser(s)) / coupling)

    rounds, crowd = (1, 1) if quick else (8, 3)
    found = minimise(ratio, [(-1.0, 1.0)] * size, rounds, np.random.default_rng(SEED), crowd)
    return Attempt(
        "a mass matrix with $NM(I-N)\\ne0$ for which (16) is right whatever the forces are",
        f"differential evolution over the {size} numbers that decide a step with $n={n}$, $m={m}$, condition of $M$ up "
        f"to 100: {found.tried} steps, each with its worst $\\gamma$, seed {SEED}",
        f"the error for a unit correction $J^+(\\gamma-Ja_0)$ was never below {found.value:.4f} times "
        "$\\|NM(I-N)\\|_2/\\|M\\|_2$; theory says 1",
        found.value < 1.0 - 1e-6,
    )


def _lucky_states(quick: bool) -> Attempt:
    crank = Crank.of(problem("crank-slider").parameter_values)
    system = problem("crank-slider").system
    angles, rates = np.linspace(-np.pi, np.pi, 7 if quick else 37)[1:], np.linspace(-60.0, 60.0, 11 if quick else 25)

    def difference(omega: float, theta: float) -> float:
        # (16) is the same mechanism with unit masses under the forces M^-1 Q, in its minimal coordinate.
        K, Kp = crank.directions(theta)
        a0 = crank.force(theta, omega) / crank.mass().diagonal()
        return float(K @ (a0 - Kp * omega**2) / (K @ K) - crank.acceleration(theta, omega)[2])

    misses = []
    for theta in angles:
        values = [difference(w, theta) for w in rates]
        for low, high, a, b in zip(rates, rates[1:], values, values[1:], strict=False):
            if a * b < 0:
                omega = brentq(difference, low, high, args=(theta,), xtol=1e-12)
                step = system.evaluate(0.0, _configuration(crank, theta), crank.directions(theta)[0] * omega)
                misses.append(rs.miss(step, equation_16(step)))
    found = (
        f"{len(misses)} such states, on curves in the phase plane; there (16) errs by {max(misses):.1e} at most"
        if misses
        else "there are none"
    )
    return Attempt(
        "states of the crank-slider at which (16) is right by chance, as the condition for one state allows",
        f"changes of sign of its error at {len(angles)} crank angles all round and {len(rates)} rates within 60 rad/s "
        "either way, then bisection",
        found,
        False,
    )


def _configuration(crank: Crank, theta: float) -> Vector:
    """All seven coordinates of a crank angle."""
    s2, c2, _, _ = crank.rod(np.asarray(theta))
    s, c, l1, l2 = np.sin(theta), np.cos(theta), crank.l1, crank.l2
    angle = np.arctan2(s2, c2)
    q = [l1 * c / 2, l1 * s / 2, theta, l1 * c + l2 * c2 / 2, l1 * s + l2 * s2 / 2, angle, l1 * c + l2 * c2]
    return np.array(q, dtype=float)


claim = Claim(
    "C1", "000", "Eqs. (8) to (16)",
    "the least-squares form with generalised inverses gives the true acceleration without multipliers",
    check,
    "$a$ as computed from eq. (14), and from eq. (16), into which the source turns it, with Moore-Penrose inverses",
    3.0,
)  # fmt: skip
