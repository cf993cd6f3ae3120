"""C4: the same treatment serves tree systems and closed loops.

Gauss's principle and eq. (14) treat both alike: they use only J and gamma, which contain the rows of a joint whether or
not it closes a loop. Eq. (16) with Moore-Penrose inverses treats both alike, too, but gives the motion of neither.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement, OwnResult
from gaussopt.papers.evidence import random_mechanisms as rm
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence.adversarial_search import largest_error
from gaussopt.papers.p000_least_squares.c01_least_squares import EXACT, equation_14, equation_16
from gaussopt.papers.p000_least_squares.minimal_crank_slider import Crank, phase, reference_steps
from gaussopt.papers.texts import ClaimTexts

MOST, SPREAD = 8, 1e3
SEED = 4

text = ClaimTexts(__file__, exact=EXACT, spread=SPREAD)

treatment = equation_14


def check(quick: bool) -> Judgement:
    """Judge Gauss's principle on trees and loops by (14), which gives its minimiser; measure the errors of (16)."""
    opened, closed, rows, worst = _crank_slider(20 if quick else 4)
    tree, loop = (_random(quick, loops) for loops in (False, True))
    singular = _adversary(quick)
    parts = {
        "trees": worst[0] <= EXACT and not tree[0].refutes,
        "loops": worst[1] <= EXACT and not loop[0].refutes and not singular.refutes,
    }
    readings = (text.reading("by-principle", all(parts.values()), parts, ours=False),)
    numbers = {"tree": tree[1], "loop": loop[1], **_medians_16(quick)}
    return text.judgement(
        readings, (opened, closed, _counting(quick), _row_space(quick)), (tree[0], loop[0], singular),
        rows=(*rows, tree[2], loop[2]), numbers=numbers, own=OwnResult(text("beside", **numbers)),
    )  # fmt: skip


def _drawn(seed: int, count: int) -> list[rm.Mechanism]:
    """Draw random trees and loops alternately."""
    rng = np.random.default_rng(seed)
    return [rm.draw(rng, MOST, bool(i % 2), SPREAD) for i in range(count)]


def _medians_16(quick: bool) -> dict[str, float]:
    """Return the median relative errors of eq. (16) on random trees and on random loops."""
    errors = rs.misses((of.step() for of in _drawn(SEED + 4, 20 if quick else 100)), equation_16)
    return {"trees_16": float(np.median(errors[::2])), "loops_16": float(np.median(errors[1::2]))}


def _crank_slider(stride: int) -> tuple[Derivation, Derivation, tuple[tuple[object, ...], ...], tuple[float, float]]:
    """Check closed forms for the crank-slider, cut open and closed; also return table rows with the errors of (14)."""
    crank = Crank.of(problem("crank-slider").parameter_values)
    states = reference_steps("crank-A-2s")[::stride]
    trees = [replace(s, J=s.J[:4], gamma=s.gamma[:4]) for s in states]
    found = []
    for name, steps, true in (
        ("cut open", trees, lambda s: _double_pendulum(crank, s)),
        ("closed", states, lambda s: crank.acceleration(*phase(s))),
    ):
        derivation = text.confirmed(name, EXACT, rs.misses(steps, rs.minimiser, true))
        found.append((derivation, max(rs.misses(steps, treatment, true))))
    (opened, tree), (closed, loop) = found
    rows = ("crank-slider, cut open", 7, 4, 3, tree), ("crank-slider, closed", 7, 6, 1, loop)
    return opened, closed, rows, (tree, loop)


def _double_pendulum(c: Crank, s: StepData) -> Vector:
    """Return the accelerations, (7,), of crank and rod as a double pendulum; the slider moves freely."""
    assert s.q is not None
    assert s.v is not None
    ahead, half = np.array([float(c.l1) / 2, 0.0]), np.array([float(c.l2) / 2, 0.0])
    pins = rm.PinJoint(0, -ahead, rm.GROUND, np.zeros(2)), rm.PinJoint(1, -half, 0, ahead)
    mass, inertia = np.array([c.m1, c.m2], dtype=float), np.array([c.I1, c.I2], dtype=float)
    bars = rm.Mechanism(pins, (), s.q[[2, 5]], s.v[[2, 5]], mass, inertia, s.Q[:6])
    return np.append(bars.acceleration(), s.Q[6] / c.m3)


def _counting(quick: bool) -> Derivation:
    drawn = _drawn(SEED, 20 if quick else 100)
    steps = [(of.step(), of.freedom) for of in drawn]
    right = sum(s.n - int(np.linalg.matrix_rank(s.J, tol=1e-9)) == freedom for s, freedom in steps)
    return text.derivation("counting", right == len(drawn), right=right, count=len(drawn))


def _row_space(quick: bool) -> Derivation:
    rng = np.random.default_rng(SEED + 1)
    errors = []
    for i in range(10 if quick else 60):
        of = rm.draw(rng, MOST, bool(i % 2), SPREAD)
        plain, again = of.step(), of.step(repeated=min(2, len(of.tree)))
        S = rng.normal(size=(again.m, again.m)) + 3 * np.eye(again.m)
        mixed = replace(again, J=S @ again.J, gamma=S @ again.gamma)
        errors.append(rs.miss(plain, rs.minimiser(mixed), rs.minimiser(plain)))
    return text.confirmed("row space", EXACT, errors)


def _random(quick: bool, loops: bool) -> tuple[Attempt, float, tuple[object, ...]]:
    rng = np.random.default_rng(SEED + 2 + loops)
    count = 30 if quick else 300
    errors, sizes = [], []
    for _ in range(count):
        of = rm.draw(rng, MOST, loops, SPREAD)
        step = of.step()
        errors.append(rs.miss(step, treatment(step), of.acceleration()))
        sizes.append((step.n, step.m, of.freedom, len(of.loops)))
    what = "closed loops" if loops else "trees"
    n, m, span, closing = (f"{min(x)} to {max(x)}" for x in zip(*sizes, strict=True))
    search = text.attempt(
        "random mechanisms", max(errors) > EXACT, what=what, count=count, least=min(sizes)[0] // 3,
        most=max(sizes)[0] // 3, shape=f"{closing} loops" if loops else "branched", n=n, m=m, span=span,
        seed=SEED + 2 + loops, worst=max(errors),
    )  # fmt: skip
    return search, max(errors), (f"random {what}", n, m, span, max(errors))


PARENTS, PAIRS = (rm.GROUND, 0, 1, 0), ((2, rm.GROUND),)
"""Four bodies, three of them in a loop through the ground."""


def _adversary(quick: bool) -> Attempt:
    size = rm.numbers(PARENTS, PAIRS)

    def error(x: Vector) -> float:
        of = rm.mechanism(x, PARENTS, PAIRS, SPREAD)
        return rs.miss(of.step(), treatment(of.step()), of.acceleration())

    worst, found = largest_error(error, size, *((1, SEED, 1) if quick else (8, SEED, 2)))
    step = rm.mechanism(found.at, PARENTS, PAIRS, SPREAD).step()
    return text.attempt(
        "optimised mechanisms", worst > EXACT, size=size, bodies=len(PARENTS), tried=found.tried, seed=SEED,
        worst=worst, condition=np.linalg.cond(step.J),
    )  # fmt: skip


claim = text.claim("C4", "000", check, 3.0)
