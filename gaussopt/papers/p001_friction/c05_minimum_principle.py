"""C5: the minimum principle of the normal forces, eqs. (20), (23), (24), (29) of paper 001."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from gaussopt.core.step_data import Matrix, Vector
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction.contact_samples import Comparison, Contacts
from gaussopt.papers.p001_friction.steps import POSES

SEED = 50
SKEWS = (0.1, 0.3, 1.0, 3.0)
SMALLEST = [[2, 1], [0, 2]], [-2, 1]
"""A and b of the smallest example."""

SYMMETRIC, SCALAR, CRITERION = "for symmetric $A$", "for one contact with the joints eliminated", (
    "where $\\eta=\\frac12(I+A^{-T}A)\\lambda\\ge0$ and $\\eta_i=0$ wherever $w_i>0$"
)  # fmt: skip
GENERAL, JOINTS = "for two and more contacts with friction in general", "for (24) with joints kept, at one contact"


def check(quick: bool) -> Judgement:
    """Compute the evidence."""
    derived = (_potential(), _smallest(), _two_contacts(quick))
    sampled, criterion = _sampled(quick)
    bars, rows, columns = _two_bars()
    symmetric, scalar = _symmetric(quick), _scalar(quick)
    ratio = _adversary(quick)
    joints, one_joint, wrong_joint = _joints(quick)
    holds = {
        SYMMETRIC: not symmetric.refutes,
        SCALAR: not scalar.refutes,
        CRITERION: criterion.holds and not ratio.refutes and joints.holds,
        GENERAL: not (sampled.refutes or bars.refutes),
        JOINTS: not wrong_joint,
    }
    sentence = (
        f"The program (29) is {'' if criterion.holds else 'not '}the mechanics exactly where the criterion holds "
        f"({criterion.computed}). {bars.found} {one_joint.found}"
    )
    return Judgement(
        ClaimVerdict.of(list(holds.values())), sentence, (*derived, criterion, joints),
        (symmetric, scalar, ratio, sampled, bars, one_joint), samples.circumstances(holds), columns, rows,
    )  # fmt: skip


def _potential() -> Derivation:
    rng = np.random.default_rng(SEED)
    angle = 2 * np.pi * np.arange(16) / 16
    worst, still, least = 0.0, 0.0, np.inf
    for n in (2, 3, 4):
        centre, general = rng.standard_normal(n), rng.standard_normal((n, n))
        for matrix in (general, general + general.T):
            for i in range(n):
                for j in range(i):
                    path = np.tile(centre, (16, 1))
                    path[:, i] += np.cos(angle)
                    path[:, j] += np.sin(angle)
                    step = np.zeros((16, n))
                    step[:, i], step[:, j] = -np.sin(angle), np.cos(angle)
                    work = float(np.einsum("pi,ij,pj->", path, matrix, step)) * 2 * np.pi / 16
                    worst = max(worst, abs(work - np.pi * (matrix[i, j] - matrix[j, i])))
                    if matrix[i, j] == matrix[j, i]:
                        still = max(still, abs(work))
                    else:
                        least = min(least, abs(work))
    return Derivation(
        "The row of (19), $\\lambda^TA\\,\\delta\\lambda$, has a potential exactly if its work around every circle in "
        "the plane of $\\lambda_i$ and $\\lambda_j$, $\\pi(A_{ij}-A_{ji})$, vanishes: exactly if $A=A^T$. The gradient "
        "of (20) is $\\lambda^T\\operatorname{sym}A$ instead",
        f"circles in matrices of 2 to 4 rows: the integral is $\\pi(A_{{ij}}-A_{{ji}})$ to {worst:.0e}; at most "
        f"{still:.0e} for symmetric ones, at least {least:.2g} for the others",
        worst < 1e-12 and still < 1e-12 < least,
    )


def _smallest() -> Derivation:
    A, b = SMALLEST
    (z,), (x,) = sets.lcp_exactly(A, b), sets.printed_exactly(A, b)

    def value(v: list[Fraction]) -> Fraction:
        return sum((Fraction(A[i][j]) * v[i] * v[j] for i in range(2) for j in range(2)), Fraction(0)) / 2

    difference = [p - q for p, q in zip(x, z, strict=True)]
    dropped = sum((difference[i] * A[i][j] * z[j] for i in range(2) for j in range(2)), Fraction(0))
    return Derivation(
        "The proof (23) drops $(\\Delta\\lambda)^TA\\lambda$; in rational numbers, $A=\\begin{pmatrix}2&1\\\\0&2"
        "\\end{pmatrix}$, $B=(-2,1)$, the forces of the contact laws are admissible for (29) and not its minimum",
        f"contact laws ({z[0]}, {z[1]}) with the value {value(z)}, (29) ({x[0]}, {x[1]}) with the value {value(x)}; "
        f"the dropped term is {dropped}",
        x != z and value(x) < value(z) and dropped != 0,
    )


def _two_contacts(quick: bool) -> Derivation:
    A, b = _every_two(quick)
    A, b = np.concatenate((A, A.swapaxes(1, 2))), np.concatenate((b, b))
    answer = sets.solve(sets.symmetric(A), np.zeros_like(b), A.swapaxes(1, 2), A, b)
    first = (answer.y[:, 0] > 1e-6) & (answer.y[:, 1] == 0) & (answer.w[:, 1] > 1e-6)
    A, x, y = A[first], answer.x[first], answer.y[first, 0]
    skew, S = A[:, 0, 1] - A[:, 1, 0], sets.symmetric(A)
    closed = y * A[:, 0, 0] * skew / (2 * np.linalg.det(S))
    miss = float((np.abs(x[:, 1] - closed) / np.maximum(np.abs(x).max(axis=1), 1e-300)).max(initial=0.0))
    pulls = float((closed < 0).mean())
    return Derivation(
        "Two contacts, $A=\\begin{pmatrix}p&a\\\\b&q\\end{pmatrix}$, only row 1 active in (29): then "
        "$\\lambda_2=\\eta_1\\,p(a-b)/(2\\det\\operatorname{sym}A)$ on the separating contact, "
        "not zero if $a\\ne b$ and tensile if $a<b$",
        f"{len(x)} problems, largest relative deviation {miss:.0e}; {pulls:.0%} of these forces are tensile",
        miss < 1e-9,
    )


def _every_two(quick: bool) -> tuple[Matrix, Matrix]:
    """A grid over all definite problems of two contacts, up to units and up to exchanging the contacts."""
    s, k, load = (8, 8, 36) if quick else (20, 20, 72)
    # Never on a symmetry, where rounding would decide.
    shared, skew = np.linspace(-0.97, 0.96, s), np.tan(np.linspace(0.013, 1.53, k))
    grid = np.meshgrid(shared, skew, 0.017 + np.linspace(0, 2 * np.pi, load, endpoint=False))
    return samples.two_contacts(*(x.ravel() for x in grid))


def _counted(found: Comparison) -> Counter[str]:
    clear = ~found.borderline
    return Counter({
        "solved": len(found.equal), "different": int((~found.equal & clear).sum()),
        "mismatches": int(found.mismatch.sum()), "borderline": int(found.borderline.sum()),
        "tensile": int((found.tensile & ~found.equal).sum()),
    })  # fmt: skip


def _sampled(quick: bool) -> tuple[Attempt, Derivation]:
    count = 25 if quick else 400
    tally, shares = Counter[str](), []
    for n in (2, 3, 4, 5):
        for i, skew in enumerate(SKEWS):
            found = samples.compare(*samples.random_definite(count, n, skew, np.random.default_rng([SEED, n, i])))
            tally += _counted(found)
            shares.append(float((~found.equal).mean()))
    matrices = tally["solved"]
    for bars, contacts in ((1, 2), (2, 2), (3, 3), (4, 4)):
        drawn = samples.definite_bars(2 * count, bars, contacts, np.random.default_rng([SEED, bars, contacts]))
        tally += _counted(samples.compare(drawn.A, drawn.b))
    physical = tally["solved"] - matrices
    grid = samples.compare(*_every_two(quick))
    tally += _counted(grid)
    search = Attempt(
        "Against the claim in general: a positive definite $A$ with two or more contacts where (29) is not the "
        "contact laws",
        f"{matrices} random matrices with 2 to 5 contacts and skew parts of norm {SKEWS[0]:g} to {SKEWS[-1]:g} "
        f"(symmetric part 1); {physical} random steps of 1 to 4 hinged bars with 2 to 4 contacts, friction "
        f"coefficients up to 1 and smallest eigenvalue of the scaled sym $A$ at least {samples.DEFINITE:g}; a grid of "
        f"{len(grid.equal)} points over all problems of two contacts up to units; seed {SEED}",
        f"{tally['different']} of {tally['solved']} differ, {tally['tensile']} of them with a tensile force; the share "
        f"grows from {min(shares):.0%} to {max(shares):.0%} with contacts and skew part",
        tally["different"] > 0,
    )
    criterion = Derivation(
        "For positive definite $A$ the optimality conditions of (29), $\\operatorname{sym}(A)\\lambda=A^T\\eta$, "
        "$\\eta\\ge0$, $\\eta^Tw=0$, hold at the forces of the contact laws exactly if "
        "$\\eta=\\frac12(I+A^{-T}A)\\lambda\\ge0$ and $\\eta_i=0$ wherever $w_i>0$",
        f"{tally['mismatches']} contradictions in {tally['solved']} problems solved by trying every active set, "
        f"{tally['borderline']} left out as borderline",
        tally["mismatches"] == 0 and 0 < tally["different"] < tally["solved"],
    )
    return search, criterion


def _joints(quick: bool) -> tuple[Derivation, Attempt, bool]:
    count = 150 if quick else 800
    worst, tally, one, one_wrong = 0.0, Counter[str](), 0, 0
    rng = np.random.default_rng([SEED, 7])
    for bars, contacts in ((2, 1), (2, 2), (3, 3)):
        drawn = samples.definite_bars(count, bars, contacts, rng)
        A, ell = drawn.A, drawn.ell
        forces, objective = drawn.over_all_forces()

        def reduced(N: Matrix, A: Matrix = A, ell: Matrix = ell) -> Vector:
            return np.asarray(0.5 * np.einsum("bi,bij,bj->b", N, A, N) - 0.5 * (ell * N).sum(axis=1))

        # The constant 1/2 |a_J - a_0|^2 drops out of differences.
        first, second = 10.0 * rng.standard_normal((2, *forces.shape))
        exact, whole = reduced(first) - reduced(second), objective(first) - objective(second)
        worst = max(worst, float((np.abs(exact - whole) / (1.0 + np.abs(exact))).max()))
        found = samples.compare(A, drawn.b, ell)
        found = Comparison(found.laws, forces, samples.relative(A, drawn.b, forces, found.laws), found.violation)
        tally += _counted(found)
        if contacts == 1:
            one, one_wrong = len(drawn), int((~found.equal & ~found.borderline).sum())
    (link,), pulled = _link(-120)
    derived = Derivation(
        "With joints (24) has the objective $\\frac12N^TAN-\\frac12\\ell^TN$ + const, $\\ell=\\sigma\\mu "
        "J_T(a_J-a_0)$, which is not (29); it returns the contact laws exactly if "
        "$\\eta=\\frac12(I+A^{-T}A)N-\\frac12A^{-T}\\ell\\ge0$ and $\\eta\\perp w$",
        f"objective over all forces against the reduced one: {worst:.0e} relative; {tally['mismatches']} "
        f"contradictions to the criterion in {tally['solved']} steps of 2 and 3 hinged bars, {tally['different']} of "
        "which differ from the contact laws",
        worst < 1e-9 and tally["mismatches"] == 0,
    )
    search = Attempt(
        "Against the claim with joints: one contact where (24) is not the contact laws",
        f"{one} random steps of two hinged bars with one contact, friction up to 1, seed {SEED}; two unit masses on a "
        "link in rational numbers ($\\mu=\\frac12$, $g=10$, pull −120 N)",
        f"With joints kept, (24) differs from the contact laws on {one_wrong} of {one} steps with one contact; the "
        f"link has $N={link}$ N, (24) says {pulled} N.",
        one_wrong > 0 or link != pulled,
    )
    return derived, search, search.refutes


def _link(pull: int) -> tuple[list[Fraction], Fraction]:
    """Two unit masses on a horizontal link, the first on a rough floor: contact laws and (24), N.

    Coordinates x_1, y_1, x_2; the link keeps x_1 - x_2 and shares a pull on the second mass, so that
    a_J - a_0 = pull / 2 along x_1. The slip is positive, mu = 1/2, and the weight 10 N.
    """
    A, b, ell = [[1]], [-10], Fraction(-1, 2) * Fraction(pull, 2)
    (z,) = sets.lcp_exactly(A, b)
    ((x, _, _),) = sets.solve_exactly(A, [ell / 2], A, A, b)
    return z, x[0]


def _two_bars() -> tuple[Attempt, tuple[tuple[object, ...], ...], tuple[str, ...]]:
    steps = samples.two_bars()
    found, joint = samples.compare(steps.A, steps.b), steps.over_all_forces()[0]
    laws = steps.solve().y
    gaps = np.linalg.norm(found.program - laws, axis=1) / np.linalg.norm(laws, axis=1)
    gaps[gaps < 1e-12] = 0.0
    rows = tuple(
        (label, *(float(N) for forces in (laws, found.program, joint) for N in forces[i]),
         float(gaps[i]), bool(found.predicted[i]))
        for i, label in enumerate(POSES)
    )  # fmt: skip
    columns = ("state", "N_A / N", "N_C / N", "N_A by (29) / N", "N_C by (29) / N", "N_A by (24) / N",
               "N_C by (24) / N", "relative difference of (29)", "criterion: equal")  # fmt: skip
    wrong = ~found.equal
    told = f"On the two bars (29) returns the contact laws on {int(found.equal.sum())} of {len(rows)} states"
    if wrong.any():
        told += (
            f" and is off by {gaps[wrong].min():.1%} to {gaps[wrong].max():.1%} on the others, with forces down to "
            f"{float(found.program.min()):.4g} N"
        )
    search = Attempt(
        "Against the claim in general: states of the paper's own two bars where (29) is not the contact laws",
        f"both ends on the floor and sliding to the left without turning, at {'; '.join(POSES)}; $\\mu=0.2$",
        f"{told}.", bool(wrong.any()),
    )  # fmt: skip
    return search, rows, columns


def _symmetric(quick: bool) -> Attempt:
    rng = np.random.default_rng([SEED, 1])
    count, generations = (60, 8) if quick else (500, 60)
    worst, number = 0.0, 0
    for n in (2, 3, 4, 5):
        A, b = samples.random_definite(count, n, 0.0, rng)
        worst, number = max(worst, float(samples.compare(A, b).difference.max())), number + count
    opposite, _ = samples.opposite_slides(np.radians(np.linspace(5.0, 80.0, 25)), 1.5)
    worst = max(worst, float(samples.compare(opposite.A, opposite.b).difference.max()))

    def difference(points: Matrix) -> Vector:
        S, b = samples.three_contacts(points)
        return np.where(samples.definite(S), samples.compare(S, b).difference, np.nan)

    adversary, _ = samples.maximise(difference, samples.ENTRIES + samples.DIRECTION, generations)
    return Attempt(
        "Against the condition: a symmetric positive definite $A$ where (29) is not the contact laws",
        f"{number} random matrices with 2 to 5 contacts (seed {SEED}); {len(opposite)} states of the two bars whose "
        f"ends slide apart or towards each other; differential evolution over all unit-diagonal $A$ and $B$ of three "
        f"contacts, {generations} generations of 75",
        f"largest relative difference {worst:.0e} of the samples, {adversary:.0e} by the optimiser",
        max(worst, adversary) > samples.EQUAL,
    )


def _scalar(quick: bool) -> Attempt:
    rng = np.random.default_rng([SEED, 2])
    count, generations = (150, 15) if quick else (1500, 50)
    worst, number = 0.0, 0
    for bars in (1, 2, 3):
        drawn = samples.definite_bars(count, bars, 1, rng, (0.0, 2.0))
        worst = max(worst, float(samples.compare(drawn.A, drawn.b).difference.max()))
        number += len(drawn)

    def difference(points: Matrix) -> Vector:
        c = _one_contact(points)
        A = c.A
        return np.where(A[:, 0, 0] > 1e-2, samples.compare(A, c.b).difference, np.nan)

    bounds = [(-np.pi, np.pi)] * 2 + [(-3.0, 3.0)] * 2 + [(-0.5, 0.5), (0.0, 3.0), (-50.0, 50.0), (-50.0, 50.0)]
    adversary, _ = samples.maximise(difference, bounds, generations)
    return Attempt(
        "Against the condition: one contact with $A>0$, joints eliminated, where (29) is not the contact laws",
        f"{number} random steps of one to three hinged bars, friction up to 2 (seed {SEED}); differential evolution "
        f"over pose, spins, place of the contact, friction up to 3 and loads up to 50 N of two hinged bars with "
        f"$A\\ge0.01$/kg, {generations} generations of 120",
        f"largest relative difference {worst:.0e} of the samples, {adversary:.0e} by the optimiser",
        max(worst, adversary) > samples.EQUAL,
    )


def _one_contact(points: Matrix) -> Contacts:
    """Two hinged unit bars with one contact from eight unknowns each."""
    one = np.ones((len(points), 2))
    load = np.zeros((len(points), 2, 3))
    load[:, 1, 0], load[:, 1, 1] = points[:, 6], points[:, 7]
    return samples.hinged_bars(one, one, points[:, :2], points[:, 2:4], points[:, 4:5], load, points[:, 5:6],
                               one[:, :1])  # fmt: skip


def _adversary(quick: bool) -> Attempt:
    generations = 15 if quick else 80
    low, high = (_ratio(sign, generations) for sign in (-1.0, 1.0))
    return Attempt(
        "Against the criterion: two contacts where the two programs agree although it is violated, or differ although "
        "it holds: the difference over the violation becomes arbitrarily small or large",
        "differential evolution over all problems of two contacts up to units, $A_{12}$ and $A_{21}$ from −2.9 to 2.9, "
        f"smallest eigenvalue of sym $A$ at least 0.05, every direction of $B$; {generations} generations of 45, for "
        "each end",
        f"the ratio stays between {low:.2g} and {high:.3g}",
        not (low > 1e-3 and high < 1e3),
    )


def _ratio(sign: float, generations: int) -> float:
    def measure(points: Matrix) -> Vector:
        A, b = samples.two_contacts(*points.T)
        found = samples.compare(A, b)
        # The difference in the size of the problem, as the violation; where both are rounding they say nothing.
        unit = np.linalg.norm(found.program - found.laws, axis=1)
        clear = np.maximum(unit, found.violation) > 1e-6
        return np.where(clear, sign * np.log(np.maximum(unit, 1e-300) / np.maximum(found.violation, 1e-300)), np.nan)

    value, _ = samples.maximise(measure, [(-0.95, 0.95), (0.0, 1.95), (0.0, 2 * np.pi)], generations)
    return float(np.exp(sign * value))


claim = Claim(
    "C5", "001", "Eqs. (20), (23), (24), (29)",
    "the normal forces of contacts with friction minimise $\\frac12\\lambda^TA\\lambda$ for positive definite $A$",
    check, "positive definite means that $\\operatorname{sym}A=\\frac12(A+A^T)$ is; the minimum is taken over "
    "$A\\lambda+B\\ge0$ as in (29), or over all ideal forces as in (24)", 1.0,
)  # fmt: skip
