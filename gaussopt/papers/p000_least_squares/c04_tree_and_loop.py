"""C4: the same treatment serves tree systems and closed loops.

It does: nothing but J and gamma enters eq. (14), and they hold a joint's rows whether or not the joint closes a loop.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.step_data import StepData, Vector
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import random_mechanisms as rm
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence.adversarial_search import largest_error
from gaussopt.papers.p000_least_squares.minimal_crank_slider import Crank

EXACT = DEFAULT_TOLERANCE
MOST, SPREAD = 8, 1e3
SEED = 4

treatment = rs.by_formulation("least-squares")
"""Eq. (14) with the Moore-Penrose inverse of the product."""


def check(quick: bool) -> Judgement:
    """Judge trees and closed loops apart, and take both together."""
    opened, closed, rows = _crank_slider(20 if quick else 4)
    tree, loop = (_random(quick, loops) for loops in (False, True))
    singular = _adversary(quick)
    holds_tree = opened.holds and not tree[0].refutes
    holds_loop = closed.holds and not loop[0].refutes and not singular.refutes
    verdict = ClaimVerdict.of([holds_tree, holds_loop])
    only = "tree systems" if holds_tree else "closed loops"
    return Judgement(
        verdict,
        f"Eq. (14) agrees with minimal coordinates to {tree[1]:.1e} on trees and to {loop[1]:.1e} on closed loops, "
        "with the rows of the joints as its only knowledge of either.",
        (opened, closed, _counting(quick), _row_space(quick)),
        (tree[0], loop[0], singular),
        verdict.where(f"for {only} only."),
        ("mechanism", "coordinates", "rows", "degrees of freedom", "largest relative error"),
        (*rows, tree[2], loop[2]),
    )


def _relative(s: StepData, a: Vector, true: Vector) -> float:
    return rs.mass_norm(s.M, a - true) / (rs.mass_norm(s.M, true) + rs.mass_norm(s.M, rs.free_acceleration(s)))


def _crank_slider(stride: int) -> tuple[Derivation, Derivation, tuple[tuple[object, ...], ...]]:
    entry = problem("crank-slider")
    crank = Crank.of(entry.parameter_values)
    rows = entry.reference("crank-A-2s")
    cut, whole = [], []
    for t, q, v in list(zip(rows.t, rows.q, rows.v, strict=True))[::stride]:
        s = entry.system.evaluate(float(t), q, v)
        tree = StepData.smooth(s.M, s.h, s.Q, s.J[:4], s.gamma[:4], s.t, q, v)
        cut.append(_relative(tree, treatment(tree), _double_pendulum(crank, s)))
        whole.append(_relative(s, treatment(s), crank.acceleration(q[2], v[2])))
    opened = Derivation(
        "Cut open at the slider, rows 1 to 4 are left: crank and rod are a double pendulum, with the "
        "textbook's two equations in $\\theta_1,\\theta_2$, and $m_3\\ddot x_3=Q_7$.",
        f"eq. (14) with these rows of $J$ agrees with them to {max(cut):.1e} at {len(cut)} states",
        max(cut) <= EXACT,
    )
    closed = Derivation(
        "Closed by rows 5 and 6 one degree of freedom is left, "
        "$(K^TMK)\\ddot\\theta_1=K^T(Q-MK'\\dot\\theta_1^2)$ with $K=\\partial q/\\partial\\theta_1$.",
        f"the same formula with all six rows agrees with it to {max(whole):.1e} at {len(whole)} states",
        max(whole) <= EXACT,
    )
    table = (("crank-slider, cut open", 7, 4, 3, max(cut)), ("crank-slider, closed", 7, 6, 1, max(whole)))
    return opened, closed, table


def _double_pendulum(c: Crank, s: StepData) -> Vector:
    """Crank and rod as a double pendulum, the slider on its own, (7,)."""
    assert s.q is not None
    assert s.v is not None
    (t1, t2), (w1, w2), l1, l2 = s.q[[2, 5]], s.v[[2, 5]], float(c.l1), float(c.l2)
    couple, turn = c.m2 * l1 * l2 / 2 * np.cos(t1 - t2), c.m2 * l1 * l2 / 2 * np.sin(t1 - t2)
    A = np.array([[c.I1 + c.m1 * l1**2 / 4 + c.m2 * l1**2, couple], [couple, c.I2 + c.m2 * l2**2 / 4]], dtype=float)
    b = np.array([
        c.tau - (c.m1 / 2 + c.m2) * c.g * l1 * np.cos(t1) - turn * w2**2,
        -c.m2 * c.g * l2 / 2 * np.cos(t2) + turn * w1**2,
    ], dtype=float)  # fmt: skip
    a1, a2 = np.linalg.solve(A, b)
    tip, middle = _swing(t1, w1, a1, l1), _swing(t2, w2, a2, l2 / 2)
    half = _swing(t1, w1, a1, l1 / 2)
    return np.array([*half, a1, *(tip + middle), a2, s.Q[6] / c.m3], dtype=float)


def _swing(angle: float, rate: float, acceleration: float, length: float) -> Vector:
    """Acceleration of the end of a bar that turns about its beginning."""
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(length * (acceleration * np.array([-s, c]) - rate**2 * np.array([c, s])), dtype=float)


def _counting(quick: bool) -> Derivation:
    rng = np.random.default_rng(SEED)
    count, right = (20 if quick else 100), 0
    for i in range(count):
        of = rm.draw(rng, MOST, bool(i % 2), SPREAD)
        step = of.step()
        right += step.n - int(np.linalg.matrix_rank(step.J, tol=1e-9)) == of.freedom
    return Derivation(
        "A joint writes two rows, whether it extends a branch or closes a loop. A tree of $b$ bodies keeps "
        "$3b-\\operatorname{rank}J=b$ degrees of freedom, every independent loop takes two; $N=I-J^+J$ has the rank "
        "that is left, and no other quantity tells a loop from a branch.",
        f"$n-\\operatorname{{rank}}J$ is the number of free angles for {right} of {count} random mechanisms, half of "
        "them with loops",
        right == count,
    )


def _row_space(quick: bool) -> Derivation:
    rng = np.random.default_rng(SEED + 1)
    worst, count = 0.0, 10 if quick else 60
    for i in range(count):
        of = rm.draw(rng, MOST, bool(i % 2), SPREAD)
        plain, again = of.step(), of.step(repeated=min(2, len(of.tree)))
        S = rng.normal(size=(again.m, again.m)) + 3 * np.eye(again.m)
        mixed = StepData.smooth(again.M, again.h, again.Q, S @ again.J, S @ again.gamma, 0.0, plain.force, plain.force)
        worst = max(worst, _relative(plain, treatment(mixed), treatment(plain)))
    return Derivation(
        "With consistent rows eq. (14) depends on the set $\\{a:Ja=\\gamma\\}$ only: mixing the rows, "
        "$SJa=S\\gamma$ with $S$ regular, or writing joints twice changes nothing. So it cannot depend on "
        "which joints are called a tree.",
        f"with two joints written twice and all rows mixed at random the answer changes by {worst:.1e} at most, "
        f"{count} random mechanisms",
        worst <= EXACT,
    )


def _random(quick: bool, loops: bool) -> tuple[Attempt, float, tuple[object, ...]]:
    rng = np.random.default_rng(SEED + 2 + loops)
    count = 30 if quick else 300
    errors, sizes, freedoms, closing = [], [], [], []
    for _ in range(count):
        of = rm.draw(rng, MOST, loops, SPREAD)
        step = of.step()
        errors.append(_relative(step, treatment(step), of.acceleration()))
        sizes.append((step.n, step.m))
        freedoms.append(of.freedom)
        closing.append(len(of.loops))
    what = "closed loops" if loops else "trees"
    span = f"{min(freedoms)} to {max(freedoms)}"
    n, m = (f"{min(x)} to {max(x)}" for x in zip(*sizes, strict=True))
    search = Attempt(
        f"a mechanism with {what} on which eq. (14) differs from the minimal equations",
        f"{count} random planar mechanisms of {min(sizes)[0] // 3} to {max(sizes)[0] // 3} bodies in any state, "
        + (f"{min(closing)} to {max(closing)} loops, " if loops else "branched, ")
        + f"{n} coordinates, {m} rows, {span} degrees of freedom, masses within a factor of {SPREAD:g}, seed "
        f"{SEED + 2 + loops}; the minimal equations follow the tree outwards and never see $J$",
        f"largest relative difference {max(errors):.1e}; {EXACT:g} would count",
        max(errors) > EXACT,
    )
    return search, max(errors), (f"random {what}", n, m, span, max(errors))


PARENTS, PAIRS = (rm.GROUND, 0, 1, 0), ((2, rm.GROUND),)
"""Four bodies, three of them in a loop through the ground."""


def _adversary(quick: bool) -> Attempt:
    size = rm.numbers(PARENTS, PAIRS)

    def error(x: Vector) -> float:
        of = rm.mechanism(x, PARENTS, PAIRS, SPREAD)
        return _relative(of.step(), treatment(of.step()), of.acceleration())

    worst, found = largest_error(error, size, *((1, SEED, 1) if quick else (8, SEED, 2)))
    step = rm.mechanism(found.at, PARENTS, PAIRS, SPREAD).step()
    return Attempt(
        "the same, by an optimiser that makes the difference as large as it can",
        f"differential evolution over the {size} numbers that decide shape, masses, state and forces of a mechanism of "
        f"{len(PARENTS)} bodies with a loop through the ground: {found.tried} mechanisms, seed {SEED}",
        f"largest relative difference {worst:.1e}, where $J$ has the condition number {np.linalg.cond(step.J):.1e}; "
        f"{EXACT:g} would count",
        worst > EXACT,
    )


claim = Claim(
    "C4", "000", "Introduction and section 3",
    "tree systems and closed loops are treated alike",
    check,
    "eq. (14) gives the true acceleration of both, from the rows of the joints and nothing else that would tell them "
    "apart",
    3.0,
)  # fmt: skip
