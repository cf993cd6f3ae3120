"""C2: fewer unknowns make the method more efficient than Lagrange multipliers.

They do not: generalised inverses cost more than the larger linear system. Fewer unknowns do win elsewhere, by another
method and for mass matrices that the source's coordinates do not have; that is measured and said as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.comparison import paper_claims as measured
from gaussopt.comparison.sources import FamilyPoint, ProblemStates, Spec
from gaussopt.comparison.step_table import TimedAnswers
from gaussopt.comparison.warm_starts import NOISE
from gaussopt.core.step_data import Vector
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence.recorded_steps import recorded
from gaussopt.papers.p000_least_squares import operation_counts as plain

FORMULATIONS = (*measured.WITH_MULTIPLIERS, *measured.FEWER_UNKNOWNS)
SEED = 2


def check(quick: bool) -> Judgement:
    """Judge by measured times of the registered formulations and of the leanest code for each."""
    taken = measured.fewer_unknowns(_records(quick))
    races = [_race(n, m, diagonal, quick) for diagonal in (True, False) for n, m in _sizes(quick)]
    source = _search(
        "eq. (14) by SVD", races,
        f"a size at which eq. (14) is faster than both ways with multipliers, by more than the noise ({NOISE:g})",
        "diagonal and dense $M$, ", "the faster of them",
    )  # fmt: skip
    inside = _search(
        "null space by QR", [r for r in races if r.diagonal],
        "a size at which the null space by QR is faster with $M$ diagonal, as in the source's coordinates", "",
        "the faster way with multipliers",
    )  # fmt: skip
    holds = [taken.verdict == measured.TRUE, source.refutes, inside.refutes]
    some = taken.verdict == measured.CONDITIONAL
    verdict = ClaimVerdict.CONDITIONAL if some and not any(holds) else ClaimVerdict.of(holds)
    lean = min(r.ratio("eq. (14) by SVD") for r in races)
    return Judgement(
        verdict,
        f"{taken.sentence} Written as lean as LAPACK allows, eq. (14) takes at least {lean:.2g} times the time of "
        "the faster way with multipliers.",
        (_counts(quick), _least_squares_counts(), _outside(races)),
        (source, inside),
        verdict.where("see the table for the steps on which it is faster."),
        taken.columns,
        taken.rows,
        ("microseconds", "by lagrange", "by the fastest with multipliers"),
        times_decide=True,
    )


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
    for n in (10, 20) if quick else (20, 40, 80):
        A, m = rng.normal(size=(n, n)), n // 2
        S = A @ A.T + n * np.eye(n)
        L, chol = plain.counted_cholesky(S)
        R, qr = plain.counted_householder(A[:, :m])
        worst = max(
            worst, float(np.abs(L @ L.T - S).max() / n), float(np.abs(R.T @ R - A[:, :m].T @ A[:, :m]).max() / n)
        )
        off.append(max(abs(chol / float(plain.cholesky(n)) - 1), abs(qr / float(plain.householder(n, m)) - 1)))
    return Derivation(
        "Operations to leading order: Cholesky factors $\\frac13n^3$, QR factors $2nm^2-\\frac23m^3$; with the "
        "products and substitutions between them every way of solving a step is $n^3$ times a polynomial in $m/n$.",
        f"textbook loops that count what they do, and factorise to {worst:.0e}, differ from the formulas by "
        f"{', '.join(f'{x:.1%}' for x in off)} as $n$ doubles from {10 if quick else 20}: terms of lower order",
        off[-1] < 0.6 * off[-2] and worst < 1e-12,
    )


def _least_squares_counts() -> Derivation:
    least = []
    for diagonal in (True, False):
        of = plain.operations(SHARES, diagonal)
        rivals = np.minimum(of["all n + m unknowns by LU"], of["multipliers by Cholesky"])
        ratio = of["eq. (14) by SVD"] / rivals
        least.append((float(ratio.min()), float(SHARES[ratio.argmin()])))
    return Derivation(
        "Eq. (14) needs two singular value decompositions and $M^{1/2}$, a solution with multipliers Cholesky factors "
        "of $M$ and of $JM^{-1}J^T$. Of the decompositions only the reduction to two diagonals is counted, "
        "$4nm^2-\\frac43m^3$ and $\\frac83n^3$, so this is a lower bound for (14).",
        f"(14) takes at least {least[0][0]:.2f} times the operations where $M$ is diagonal (at $m/n={least[0][1]:.2f}$)"
        f" and {least[1][0]:.2f} times where it is dense (at $m/n={least[1][1]:.2f}$), over all $m/n$ from "
        f"{SHARES[0]:g} to {SHARES[-1]:g}",
        min(r for r, _ in least) > 1.0,
    )


def _outside(races: list[Race]) -> Derivation:
    of = {d: plain.operations(SHARES, d) for d in (True, False)}
    ratio = {d: of[d]["null space by QR"] / of[d]["multipliers by Cholesky"] for d in of}
    cheaper = SHARES[ratio[False] < 1]
    from_ = float(cheaper.min()) if len(cheaper) else float("nan")
    dense = [r for r in races if not r.diagonal]
    best = min(dense, key=lambda r: r.ratio("null space by QR"))
    faster = sum(r.ratio("null space by QR") * NOISE < 1 for r in dense)
    return Derivation(
        "Another method has few unknowns too, the null space by QR. With $M$ diagonal, as in the source's absolute "
        "coordinates, it takes more operations than the multipliers at every $m/n$. With $M$ dense it takes fewer "
        "where nearly all coordinates are constrained: the multipliers then pay for factors of $M$ it does not need.",
        f"operations by those of the multipliers: at least {ratio[True].min():.2f} for diagonal $M$; below 1 for "
        f"dense $M$ from $m/n={from_:.2f}$. Measured with dense $M$: faster beyond the noise at {faster} of "
        f"{len(dense)} sizes, at best {best.ratio('null space by QR'):.2f} of the time ($n={best.n}$, $m={best.m}$)",
        bool(ratio[True].min() > 1.0 and len(cheaper)),
    )


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
    true = rs.minimiser(rs.with_mass(step, np.diag(M)) if diagonal else step)
    for name, way in ways.items():
        if not np.allclose(way(*data), true, rtol=1e-6, atol=1e-6 * float(np.abs(true).max())):
            raise ArithmeticError(f"{name} is wrong at n = {n}, m = {m}.")
    rounds = 3 if quick else max(5, 300 // n)
    race = Race(n, m, diagonal, dict(zip(ways, plain.seconds(ways, data, rounds).tolist(), strict=True)))
    if min(race.ratio(w) for w in plain.WITHOUT) * NOISE < 1:
        race = Race(n, m, diagonal, dict(zip(ways, plain.seconds(ways, data, 3 * rounds).tolist(), strict=True)))
    return race


def _search(way: str, races: list[Race], sought: str, spread: str, rival: str) -> Attempt:
    """Search for a size at which a way with fewer unknowns beats the fastest with multipliers."""
    best = min(races, key=lambda r: r.ratio(way))
    lowest, sizes = best.ratio(way), sorted({(r.n, r.m) for r in races})
    return Attempt(
        sought,
        f"{spread}{len(sizes)} sizes $n/m$: {', '.join(f'{n}/{m}' for n, m in sizes)}; random steps, seed {SEED}, "
        "every way as lean as LAPACK allows, the shortest of several times, what seems to win measured once more and "
        "longer",
        f"the best it does is {lowest:.2f} times the time of {rival} ($n={best.n}$, $m={best.m}$)",
        lowest * NOISE < 1,
    )


claim = Claim(
    "C2", "000", "Introduction and conclusions",
    "fewer unknowns make the method more efficient than Lagrange multipliers",
    check,
    "in absolute coordinates, where $M$ is diagonal as in the source, a step by eq. (14) or by another formulation "
    "without multipliers takes less time than by the fastest with multipliers, all by dense direct linear algebra",
    4.0,
)  # fmt: skip
