"""C2: fewer unknowns make the method more efficient than Lagrange multipliers.

They do not: generalised inverses cost more than the larger linear system. Fewer unknowns do win elsewhere, by another
method and for mass matrices that the source's coordinates do not have; that is measured and said as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gaussopt.comparison import paper_claims as measured
from gaussopt.comparison.sources import FamilyPoint, ProblemStates, Spec
from gaussopt.comparison.step_table import TimedAnswers
from gaussopt.comparison.warm_starts import NOISE
from gaussopt.core.step_data import Vector
from gaussopt.papers.claim import Attempt, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence.recorded_steps import recorded, shortest
from gaussopt.papers.p000_least_squares import operation_counts as plain
from gaussopt.papers.texts import ClaimTexts

text = ClaimTexts(__file__, noise=NOISE)

FORMULATIONS = (*measured.WITH_MULTIPLIERS, *measured.FEWER_UNKNOWNS)
SEED = 2


def check(quick: bool) -> Judgement:
    """Judge by measured times of the registered formulations and of the leanest code for each."""
    taken = measured.fewer_unknowns(_records(quick))
    races = [_race(n, m, diagonal, quick) for diagonal in (True, False) for n, m in _sizes(quick)]
    source, inside = _search("eq. (14) by SVD", races), _search("null space by QR", [r for r in races if r.diagonal])
    holds = [taken.verdict == measured.TRUE, source.refutes, inside.refutes]
    some = taken.verdict == measured.CONDITIONAL
    verdict = ClaimVerdict.CONDITIONAL if some and not any(holds) else ClaimVerdict.of(holds)
    lean = min(r.ratio("eq. (14) by SVD") for r in races)
    return Judgement(
        verdict, text("sentence", measured=taken.sentence, lean=lean),
        (_counts(quick), _least_squares_counts(), _outside(races)), (source, inside), verdict.where(text("conditions")),
        taken.columns, taken.rows, ("microseconds", "by lagrange", "by the fastest with multipliers"),
        times_decide=True,
    )  # fmt: skip


def _specs(quick: bool) -> list[Spec]:
    """Linkages of the sizes that the claim was first measured at, others, and the papers' mechanisms."""
    states = {"crank-slider": "crank-A-2s", "four-bar": "four-bar-A", "knife-edge-body": "NH-A"}
    found: list[Spec] = [FamilyPoint("linkage", {"bodies": b}, "bodies", 2) for b in ((2, 7) if quick else (2, 7, 30))]
    if not quick:
        found.append(FamilyPoint("linkage", {"bodies": 7, "constraints": 20}, "constraints", 2))
    return found + [ProblemStates(name, part, {}, 100) for name, part in list(states.items())[: 1 if quick else None]]


def _records(quick: bool) -> list[TimedAnswers]:
    return recorded(_specs(quick), [(f, "kkt") for f in FORMULATIONS], 0.002 if quick else 0.003)


SHARES = np.linspace(0.01, 0.99, 99)
"""m / n."""


def _counts(quick: bool) -> Derivation:
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
        "formulas", off[-1] < 0.6 * off[-2] and worst < 1e-12,
        worst=worst, off=", ".join(f"{x:.1%}" for x in off), first=sizes[0],
    )  # fmt: skip


def _least_squares_counts() -> Derivation:
    least = []
    for diagonal in (True, False):
        of = plain.operations(SHARES, diagonal)
        rivals = np.minimum(of["all n + m unknowns by LU"], of["multipliers by Cholesky"])
        ratio = of["eq. (14) by SVD"] / rivals
        least.append((ratio.min(), SHARES[ratio.argmin()]))
    ratios, share = zip(*least, strict=True)
    return text.derivation(
        "least squares", bool(min(ratios) > 1.0), least=ratios, share=share, shares=(SHARES[0], SHARES[-1])
    )


def _outside(races: list[Race]) -> Derivation:
    of = {d: plain.operations(SHARES, d) for d in (True, False)}
    ratio = {d: of[d]["null space by QR"] / of[d]["multipliers by Cholesky"] for d in of}
    cheaper = SHARES[ratio[False] < 1]
    dense = [r for r in races if not r.diagonal]
    best = min(dense, key=lambda r: r.ratio("null space by QR"))
    return text.derivation(
        "null space", bool(ratio[True].min() > 1.0 and len(cheaper)), diagonal=ratio[True].min(),
        cheaper=min(cheaper, default=np.nan), faster=sum(r.ratio("null space by QR") * NOISE < 1 for r in dense),
        sizes=len(dense), ratio=best.ratio("null space by QR"), best=best,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Race:
    """Shortest times of all lean ways at one size, s."""

    n: int
    m: int
    diagonal: bool
    times: dict[str, float]

    def ratio(self, way: str) -> float:
        """Its time by that of the fastest with multipliers."""
        return self.times[way] / min(self.times[w] for w in plain.WITH)


def _sizes(quick: bool) -> list[tuple[int, int]]:
    shares = (0.25, 0.95) if quick else (0.1, 0.5, 2 / 3, 0.8, 0.97)
    found = ((n, min(n - 1, max(1, round(x * n)))) for n in ((6, 40) if quick else (6, 20, 60, 150)) for x in shares)
    return list(dict.fromkeys(found))  # two shares of a small n may be the same number of rows


def _race(n: int, m: int, diagonal: bool, quick: bool) -> Race:
    """One size; a way that seems to win with fewer unknowns is measured once more, longer."""
    rng = np.random.default_rng(SEED + 1000 * n + m)
    step = rs.draw(rng, n, m, 1e2, 1e1)
    M: Vector = 10.0 ** rng.uniform(-1.0, 1.0, n) if diagonal else step.M
    data = M, step.force, step.J, step.gamma
    ways = {**plain.WITH, **plain.WITHOUT}
    works = [partial(way, *data) for way in ways.values()]
    true = rs.minimiser(replace(step, M=np.diag(M)) if diagonal else step)
    for name, work in zip(ways, works, strict=True):
        if not np.allclose(work(), true, rtol=1e-6, atol=1e-6 * float(np.abs(true).max())):
            raise ArithmeticError(f"{name} is wrong at n = {n}, m = {m}.")
    rounds = 3 if quick else max(5, 300 // n)
    race = Race(n, m, diagonal, dict(zip(ways, shortest(works, rounds).tolist(), strict=True)))
    if min(race.ratio(w) for w in plain.WITHOUT) * NOISE < 1:
        race = replace(race, times=dict(zip(ways, shortest(works, 3 * rounds).tolist(), strict=True)))
    return race


def _search(way: str, races: list[Race]) -> Attempt:
    """Search for a size at which a way with fewer unknowns beats the fastest with multipliers."""
    best, sizes = min(races, key=lambda r: r.ratio(way)), sorted({(r.n, r.m) for r in races})
    return text.attempt(
        way, best.ratio(way) * NOISE < 1, count=len(sizes), sizes=", ".join(f"{n}/{m}" for n, m in sizes),
        seed=SEED, ratio=best.ratio(way), best=best,
    )  # fmt: skip


claim = text.claim("C2", "000", check, 4.0)
