"""C2: fewer unknowns make the method more efficient than Lagrange multipliers.

Counted in operations this holds against the system of all n + m unknowns if the constraints leave few degrees of
freedom. It does not hold against the smaller system of the multipliers alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import brentq

from gaussopt.core.arrays import Vector
from gaussopt.papers.claim import Attempt, Derivation, Judgement, OwnResult
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence.recorded_steps import in_turns
from gaussopt.papers.p000_least_squares import operation_counts as plain
from gaussopt.papers.texts import ClaimTexts

SEED = 2
SHARES = np.linspace(0.1, 0.99, 90)
"""Ratios m / n at which operations are counted."""
GRID = {False: ((20, 60, 150), (0.1, 0.3, 0.5, 2 / 3, 0.8, 0.9, 0.97)), True: ((20, 80), (0.25, 0.9))}
"""Numbers n of coordinates and ratios m / n of the timed steps; the key is whether the run is quick."""
CRANK_SLIDER = 7, 6
MANY = 0.66
"""Least ratio m / n at which a text says that the constraints leave few degrees of freedom."""

text = ClaimTexts(__file__, seed=SEED, shares=(SHARES[0], SHARES[-1]))

WEIGHTED = ("multipliers by Cholesky",)
"""Methods that compute eq. (16) with inverses weighted by the masses, which amounts to elimination with multipliers."""

RIVALS = {"system": (plain.LU, plain.LDL), "fastest": tuple(plain.WITH)}
"""The rivals of eq. (14) in each interpretation of the claim, of which the cheapest counts; LU ignores the symmetry."""

SLOWER = {"system": "slower than system", "fastest": "slower than fastest"}
"""Names of the searches that try to refute each reading of the claim, by reading."""


@dataclass(frozen=True, slots=True)
class Race:
    """Times of all methods at one size, measured in alternation.

    Attributes
    ----------
    n, m, diagonal : coordinates, rows, and whether M is diagonal
    times : (rounds,) by method, s
    """

    n: int
    m: int
    diagonal: bool
    times: dict[str, Vector]

    def fastest(self, ways: tuple[str, ...]) -> Vector:
        """Return the times of the method that has the smallest median time among `ways`."""
        return min((self.times[w] for w in ways), key=np.median)

    def ratio(self, rivals: tuple[str, ...], ways: tuple[str, ...] = tuple(plain.WITHOUT)) -> float:
        """Return the median time of the fastest method in `ways`, divided by that of the fastest method in `rivals`."""
        return float(np.median(self.fastest(ways)) / np.median(self.fastest(rivals)))


def check(quick: bool) -> Judgement:
    """Judge by the operation counts and by the times of the fastest implementations; M is diagonal, as in the paper."""
    races = [_race(n, m, True, quick) for n, m in _sizes(quick)]
    ratios = {name: np.array([r.ratio(rivals) for r in races]) for name, rivals in RIVALS.items()}
    operations = {name: operation_ratio(rivals, True) for name, rivals in RIVALS.items()}
    boundary = cheaper_from(RIVALS["system"])
    largest = GRID[quick][0][-1]
    large_n = np.array([r.n == largest for r in races])
    large = large_n & np.array([r.m >= MANY * r.n for r in races])
    parts = {"large": bool((ratios["system"][large] < 1).all()), "else": bool((ratios["system"][~large] < 1).all())}
    between, efficient = 0 < boundary < 1, "efficient"
    unknowns = np.array([(r.n, r.n + r.m, r.m) for r in races])
    of_16 = operation_ratio(RIVALS["system"], True, ways=WEIGHTED)
    times_16 = np.array([r.ratio(RIVALS["system"], WEIGHTED) for r in races])
    readings = (
        text.reading("unknowns-system", bool((unknowns[:, 0] < unknowns[:, 1]).all()), statement="fewer-unknowns"),
        text.reading("unknowns-eliminated", bool((unknowns[:, 0] < unknowns[:, 2]).all()), statement="fewer-unknowns"),
        text.reading("operations-system", bool((operations["system"] < 1).all()),
                     {"more": True, "fewer": False} if between else None, statement=efficient,
                     boundary=boundary),
        text.reading("operations-fastest", bool((operations["fastest"] < 1).all()), statement=efficient),
        text.reading("time-system", all(parts.values()), parts, statement=efficient, largest=largest),
        text.reading("time-fastest", bool((ratios["fastest"] < 1).all()), statement=efficient),
        text.reading("operations-16", bool((of_16 < 1).all()), statement=efficient),
        text.reading("time-16", bool((times_16 < 1).all()), {"largest": bool((times_16[large_n] < 1).all())},
                     statement=efficient, largest=largest),
    )  # fmt: skip
    searches = tuple(_search(name, of, races) for name, of in ratios.items())
    numbers = {"boundary": boundary, "lu": _against_lu(), "grid": _grid(races), "count": len(races),
               "below": int((ratios["system"] < 1).sum()), "printed": _printed(races),
               "operations": {name: Span.of(operation_ratio(rivals, True)) for name, rivals in RIVALS.items()},
               "times": {name: Span.of(of) for name, of in ratios.items()},
               "by_size": {name: _by_size(of, races) for name, of in ratios.items()},
               "weighted": {"operations": Span.of(of_16), "times": Span.of(times_16)}}  # fmt: skip
    timed = tuple(c for c in text.columns("numbers") if c not in ("n", "m"))
    return text.judgement(
        readings, (_counts(quick), _equation_16()), searches, rows=_rows(races), numbers=numbers,
        own=_beside(quick, races), timed=timed, times_decide=True,
    )  # fmt: skip


def cheaper_from(rivals: tuple[str, ...]) -> float:
    """Find the least m / n from which on eq. (14) takes fewer operations than its rivals; 0 if always, 1 if never."""
    few, many = operation_ratio(rivals, True)[[0, -1]]
    if few < 1 or many > 1:
        return 0.0 if few < 1 else 1.0
    return float(brentq(lambda x: float(operation_ratio(rivals, True, np.array([x]))[0]) - 1.0, SHARES[0], SHARES[-1]))


def _against_lu() -> tuple[Span, float]:
    """Return the operations of eq. (14) relative to LU's, and the least ratio m / n at which (14) takes fewer."""
    return Span.of(operation_ratio((plain.LU,), True)), cheaper_from((plain.LU,))


def _grid(races: list[Race]) -> str:
    """Return a sentence on the range of sizes n, and of ratios m / n, that were timed."""
    sizes, many = [r.n for r in races], [r.m / r.n for r in races]
    return text("grid", sizes=(min(sizes), max(sizes)), many=(min(many), max(many)))


def _printed(races: list[Race]) -> Span:
    """Return the times of eq. (16), divided by those of the fastest solution with multipliers."""
    return Span.of(np.array([r.ratio(RIVALS["fastest"], (plain.PRINTED,)) for r in races]))


def _by_size(ratios: Vector, races: list[Race]) -> str:
    """Return a clause that gives the range of the ratios for each number n of coordinates."""
    n = np.array([r.n for r in races])
    return ", ".join(f"{Span.of(ratios[n == size]):range} (n = {size})" for size in np.unique(n))


@dataclass(frozen=True, slots=True)
class Span:
    """Least, median and largest of several numbers."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Vector) -> Span:
        """Return the span of values."""
        return cls(float(np.min(values)), float(np.median(values)), float(np.max(values)))

    def __str__(self) -> str:
        return f"{self:range}" + f" (median {self.middle:.2f})" * (self.low != self.high)

    def __format__(self, form: str) -> str:
        """Format the span; the format "range" gives the least and the largest number, without the median."""
        if form != "range":
            return str(self)
        return f"{self.low:.2f}" + f" to {self.high:.2f}" * (self.low != self.high)


def _counts(quick: bool) -> Derivation:
    """Check the formulas for operation counts by counting in textbook loops, and use them for eq. (14)."""
    rng = np.random.default_rng(SEED)
    worst, off = 0.0, []
    sizes = (10, 20) if quick else (20, 40, 80)
    for n in sizes:
        A, m = rng.normal(size=(n, n)), n // 2
        S, B = A @ A.T + n * np.eye(n), A[:, :m]
        L, chol = plain.counted_cholesky(S)
        R, qr = plain.counted_householder(B)
        worst = max(worst, float(np.abs(L @ L.T - S).max() / n), float(np.abs(R.T @ R - B.T @ B).max() / n))
        off.append(max(abs(chol / float(plain.cholesky(n)) - 1), abs(qr / float(plain.householder(n, m)) - 1)))
    return text.derivation(
        "formulas", off[-1] < 0.6 * off[-2] and worst < 1e-12, worst=worst, off=", ".join(f"{x:.1%}" for x in off),
        first=sizes[0], boundary=cheaper_from(RIVALS["system"]), lu=_against_lu(),
        **{name: Span.of(operation_ratio(rivals, True)) for name, rivals in RIVALS.items()},
        dense=Span.of(operation_ratio(RIVALS["fastest"], False)),
    )  # fmt: skip


def _equation_16() -> Derivation:
    """Check that eq. (16) with weighted inverses and the elimination with multipliers give the same accelerations."""
    rng, apart = np.random.default_rng(SEED), 0.0
    for n, m in (CRANK_SLIDER, (9, 3), (30, 20)):
        step = rs.draw(rng, n, m)
        a0, weighted = np.linalg.solve(step.M, step.force), np.linalg.solve(step.M, step.J.T)
        inverse = weighted @ np.linalg.inv(step.J @ weighted)
        P = np.eye(n) - inverse @ step.J
        a = inverse @ step.gamma - P @ P @ (inverse @ step.gamma - a0)
        rival = plain.multipliers(step.M, step.force, step.J, step.gamma)
        apart = max(apart, float(np.abs(a - rival).max() / np.abs(rival).max()))
    return text.derivation("equation-16", apart < 1e-8, apart=apart)


def operation_ratio(
    rivals: tuple[str, ...], diagonal: bool, shares: Vector = SHARES, ways: tuple[str, ...] = tuple(plain.WITHOUT)
) -> Vector:
    """Return for each m / n the least operation count among `ways`, divided by the least among `rivals`."""
    of = plain.operations(shares, diagonal)
    least = [np.min([of[way] for way in among], axis=0) for among in (ways, rivals)]
    return np.asarray(least[0] / least[1])


def _sizes(quick: bool) -> list[tuple[int, int]]:
    sizes, shares = GRID[quick]
    found = ((n, min(n - 1, max(1, round(x * n)))) for n in sizes for x in shares)
    return [CRANK_SLIDER, *dict.fromkeys(found)]


def _race(n: int, m: int, diagonal: bool, quick: bool) -> Race:
    rng = np.random.default_rng(SEED + 1000 * n + m)
    step = rs.draw(rng, n, m, 1e2, 1e1)
    M: Vector = 10.0 ** rng.uniform(-1.0, 1.0, n) if diagonal else step.M
    ways = {**plain.WITH, **plain.WITHOUT, plain.PRINTED: plain.as_printed}
    works = {name: partial(way, M, step.force, step.J, step.gamma) for name, way in ways.items()}
    true = rs.minimiser(replace(step, M=np.diag(M)) if diagonal else step)
    for name in (*plain.WITH, *plain.WITHOUT):
        if not np.allclose(works[name](), true, rtol=1e-6, atol=1e-6 * float(np.abs(true).max())):
            raise ArithmeticError(f"{name} is wrong at n = {n}, m = {m}.")
    times = in_turns(tuple(works.values()), 15 if quick else 21, max(1, 100 // n))
    return Race(n, m, diagonal, dict(zip(works, times.T, strict=True)))


def _search(name: str, ratios: Vector, races: list[Race]) -> Attempt:
    """Search for sizes at which eq. (14) is not faster than its rivals."""
    sizes = ", ".join(f"{r.n}/{r.m}" for r in races)
    slower = ", ".join(f"{r.n}/{r.m}" for r, x in zip(races, ratios, strict=True) if x >= 1)
    return text.attempt(
        SLOWER[name], bool(slower), sizes=sizes, count=len(races), rounds=len(races[0].times[plain.LU]),
        slower=f"it is slower at {slower}" if slower else "it is slower at none of them", span=Span.of(ratios),
    )  # fmt: skip


def _rows(races: list[Race]) -> tuple[tuple[object, ...], ...]:
    rows: list[tuple[object, ...]] = []
    for r in races:
        medians = [1e6 * float(np.median(r.fastest(ways))) for ways in
                   (*((w,) for w in plain.WITH), tuple(plain.WITHOUT), (plain.PRINTED,))]  # fmt: skip
        rows.append((r.n, r.m, *medians, r.ratio(RIVALS["system"]), r.ratio(RIVALS["fastest"])))
    return tuple(rows)


def _beside(quick: bool, races: list[Race]) -> OwnResult:
    """Measure eq. (14) against its rivals if M is dense, and the speed of eq. (16), whose acceleration is not true."""
    dense = [_race(n, m, False, quick) for n, m in _sizes(quick)]
    spans = {name: Span.of(np.array([r.ratio(rivals) for r in dense])) for name, rivals in RIVALS.items()}
    return OwnResult(text("beside", **spans, printed=_printed(races), printed_dense=_printed(dense)))


claim = text.claim("C2", "000", check, 8.0)
