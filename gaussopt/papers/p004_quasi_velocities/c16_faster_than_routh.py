"""C16: how many evaluations and how much time quasi-velocities save compared with Routh's equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.integrate import RK45, solve_ivp

from gaussopt.comparison.paper_claims import quasi_velocities
from gaussopt.comparison.sources import ProblemStates
from gaussopt.comparison.warm_starts import NOISE
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.evidence.recorded_steps import in_turns, recorded
from gaussopt.papers.evidence.runge_kutta import METHODS, evaluations
from gaussopt.papers.p004_quasi_velocities.knife_edge import BOUNDS, CASES, RANGES, BladeBody, numbers
from gaussopt.papers.p004_quasi_velocities.pole import half_turns, poles
from gaussopt.papers.texts import ClaimTexts
from gaussopt.simulation.simulate import simulate

RUNS = (("NH-C", 1e-6), ("NH-B", 1e-6), ("NH-A", 1e-6), ("NH-A", 1e-9))
"""Case and relative tolerance; the absolute tolerance is always a thousandth of it."""

SPAN, TOLERANCE = 10.0, 1e-6
"""Duration, s, and relative tolerance of the motions in searches."""

FACTORS = (0.1, 1.0, 10.0)
"""Factors by which Routh's tolerance is multiplied to interpolate the evaluations at equal error."""

FORMULATIONS = ("quasi-velocity", "routh")

BEGUN = {
    "search-regular": (4.04, 0.78, 0.07, 1.33, -1.44, 0.0, -2.9, -0.1, -2.57),
    "search-over-a-pole": (2.0, 1.53, 3.21, 2.32, 0.03, 0.09, -0.33, -0.57, -3.0),
    "search-no-pole": (2.437, 1.205, 1.421, 0.571, -2.567, 0.03, -1.152, -0.058, 1.194),
}
"""Bodies, in the order of BOUNDS, that longer runs of the same searches found; the searches here start from them."""

BODIES, ROUNDS = 2000, 25
"""Number of bodies evaluated at once, and number of rounds in which the methods are timed in alternation."""

SEED, DRAWN = 16, 500
"""Seed and number of the random bodies; with so many bodies, medians by two seeds differ by less than 5 %."""

FEW = 12
"""Number of the random bodies that are also compared at equal error."""

texts = ClaimTexts(
    __file__, span=SPAN, tolerance=TOLERANCE, ranges=RANGES, bodies=BODIES, rounds=ROUNDS, seed=SEED, few_bodies=FEW
)


def check(quick: bool) -> Judgement:
    """Judge evaluation counts (cases, random bodies, bodies found by search) and the time of an evaluation."""
    pairs = {(case, rtol): Pair(*CASES[case], rtol) for case, rtol in (RUNS[:3] if quick else RUNS)}
    z = numbers(np.random.default_rng(SEED), 60 if quick else DRAWN)
    low, high = half_turns(BladeBody.of(z), SPAN)
    counted = {method.__name__: _sampled(BladeBody.of(z), method) for method in METHODS}
    regular, tan = (counted["RK45"][row] / counted["RK45"]["quasi"] for row in ("regular", "tan"))
    by_pole = {over: [p.ratio("tan") for p in pairs.values() if bool(p.poles) is over] for over in (True, False)}
    count = len(regular)
    slower = _searched("search-regular", [p.ratio() for p in pairs.values()], regular, quick)
    over = _searched("search-over-a-pole", by_pole[True], tan[high > low], quick)
    away = _searched("search-no-pole", by_pole[False], tan[high == low], quick)
    drawn = [Pair(BladeBody.of(of), SPAN, TOLERANCE) for of in z.T[: 4 if quick else FEW]]
    equal = [p.at_equal_error for p in (*pairs.values(), *drawn)]
    same = texts.attempt("at-equal-error", min(equal) <= 1.0, count=len(drawn), least=min(equal), most=max(equal))
    timed, hand, package = _times(quick)
    parts = {"over-a-pole": not over.refutes, "no-pole": not away.refutes}
    # The lower quartile decides, so that one disturbed measurement has no influence.
    clock = {name: bool(np.quantile(x, 0.25) > NOISE) for name, x in (("by-hand", hand), ("by-the-package", package))}
    readings = (
        texts.reading("evaluations-printed-row", all(parts.values()), parts),
        texts.reading("evaluations-regular-row", not slower.refutes),
        texts.reading("evaluations-at-equal-error", not same.refutes),
        texts.reading("time", all(clock.values()), clock),
    )
    run = {r: _by_the_package(*r) for r in (RUNS[:1] if quick else RUNS[:3:2])}
    few, many = (_begun("search-regular").evaluations(rates) for rates in ("regular", "quasi"))
    found = {
        "few": few, "many": many, "hand": float(np.median(hand)), "package": float(np.median(package)),
        "cases": {case: p.ratio() for (case, rtol), p in pairs.items() if rtol == TOLERANCE}, "number": count,
        "median": float(np.median(regular)), "over": float(np.median(tan[high > low])),
        "poles": int((high > low).sum()), "span_regular": _told(regular), "span_tan": _told(tan[high > low]),
        "band": np.quantile(tan[high > low], 0.5 + np.array([-0.98, 0.98]) / np.sqrt(sum(high > low))).tolist(),
        "methods": {name: float(np.median(of["regular"] / of["quasi"])) for name, of in counted.items()},
        "clock": {name: _quartiles(x) for name, x in (("hand", hand), ("package", package))},
    }  # fmt: skip
    rows = tuple(
        (f"{case}, RK45, {rtol:g}", *(r.evaluations for r in p.runs.values()), p.ratio(), p.ratio("tan"),
         p.runs["quasi"].error, p.runs["regular"].error, p.at_equal_error)
        for (case, rtol), p in pairs.items()
    ) + tuple(
        (f"medians of {count} bodies, {name}, {TOLERANCE:g}",
         *(_median(of, row) for row in ("quasi", "regular", "tan")),
         *(_median(of, row, by="quasi") for row in ("regular", "tan")), "–", "–", "–")
        for name, of in counted.items()
    )  # fmt: skip
    return texts.judgement(
        readings, (_counted(pairs, run), _sizes()), (over, away, slower, same, timed), rows=rows, times_decide=True,
        numbers=found,
    )  # fmt: skip


def _sampled(body: BladeBody, method: Any) -> dict[str, Vector]:
    """Count evaluations for many bodies, by name of the rates; the printed row is integrated only by RK45."""
    starts = {"quasi": body.omega, "regular": body.velocity} | ({"tan": body.velocity} if method is RK45 else {})
    return {name: evaluations(getattr(body, name), of, SPAN, TOLERANCE, method) for name, of in starts.items()}


def _median(counted: dict[str, Vector], rates: str, by: str = "") -> float | str:
    """Return the median evaluations of `rates`, divided by those of `by` if given; "–" if none were counted."""
    return float(np.median(counted[rates] / (counted[by] if by else 1))) if rates in counted else "–"


def _told(values: Vector) -> str:
    """Describe ratios by their median and their 10 % and 90 % quantiles."""
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
    return texts("median", number=len(values), median=middle, low=low, high=high)


@dataclass(frozen=True, slots=True)
class Integrated:
    """Number of evaluations of the rates, and largest position error, m, at the steps that the integrator chose."""

    evaluations: int
    error: float


@dataclass(frozen=True)
class Pair:
    """A body's motions by quasi-velocities and by Routh's equations: SciPy's RK45 integrates rates written by hand."""

    body: BladeBody
    end: float
    rtol: float

    @cached_property
    def runs(self) -> dict[str, Integrated]:
        """The motions by quasi-velocities, and by Routh's equations with the regular row and with that in tan(phi)."""
        return {rates: self.run(rates) for rates in ("quasi", "regular", "tan")}

    @cached_property
    def poles(self) -> int:
        """Number of poles that the motion passes."""
        return len(poles(self.body, self.end))

    def evaluations(self, rates: str) -> int:
        """Return how often the rates of the given name are evaluated."""
        return int(self._solved(rates, 1.0).nfev)

    def run(self, rates: str, factor: float = 1.0) -> Integrated:
        """Integrate the rates of the given name, with the tolerance multiplied by `factor`."""
        found = self._solved(rates, factor)
        return Integrated(int(found.nfev), float(np.abs(found.y[[0, 2]] - self._true(found.t)[[0, 2]]).max()))

    def _solved(self, rates: str, factor: float) -> Any:
        start = self.body.omega if rates == "quasi" else self.body.velocity
        rtol = factor * self.rtol
        return solve_ivp(getattr(self.body, rates), (0.0, self.end), start, rtol=rtol, atol=1e-3 * rtol)

    @cached_property
    def _true(self) -> Callable[[Vector], Matrix]:
        # The reference has four more digits than the motions that are judged against it.
        found = solve_ivp(
            self.body.quasi, (0.0, self.end), self.body.omega, "DOP853", rtol=1e-4 * self.rtol, atol=1e-5 * self.rtol,
            dense_output=True,
        )  # fmt: skip
        assert found.sol is not None
        return found.sol

    def ratio(self, row: str = "regular") -> float:
        """Return the evaluation count of Routh's equations with this row, divided by that of the quasi-velocities."""
        return self.runs[row].evaluations / self.runs["quasi"].evaluations

    @property
    def at_equal_error(self) -> float:
        """The `ratio` for the regular row at the Routh tolerance at which both methods have equal errors."""
        runs = [self.runs["regular"] if f == 1.0 else self.run("regular", f) for f in FACTORS]
        errors, numbers = (np.log([getattr(r, name) for r in runs]) for name in ("error", "evaluations"))
        rising = np.argsort(errors)
        evaluations = np.exp(np.interp(np.log(self.runs["quasi"].error), errors[rising], numbers[rising]))
        return float(evaluations / self.runs["quasi"].evaluations)


def _by_the_package(case: str, rtol: float) -> tuple[int, ...]:
    """Return the numbers of evaluations by the package's formulations, in the order of FORMULATIONS."""
    runs = (
        simulate(problem("knife-edge-body", case=case), f, "kkt", stepper="rk45", rtol=rtol, atol=1e-3 * rtol,
                 step_folder=None, error_estimate=False)
        for f in FORMULATIONS
    )  # fmt: skip
    return tuple(run.worst.evaluations for run in runs)


def _counted(pairs: dict[tuple[str, float], Pair], package: dict[tuple[str, float], tuple[int, ...]]) -> Derivation:
    words, apart = [], 0.0
    for (case, rtol), theirs in package.items():
        hand = [pairs[case, rtol].runs[rates].evaluations for rates in ("quasi", "regular")]
        apart = max([apart, *(abs(a / b - 1.0) for a, b in zip(theirs, hand, strict=True))])
        words.append(f"{case}, {rtol:g}: {hand[0]} and {hand[1]} ({theirs[0]} and {theirs[1]})")
    return texts.derivation("counted", apart < 0.02, words="; ".join(words), percent=100 * apart)


def _sizes() -> Derivation:
    entry = problem("knife-edge-body")
    step = entry.system.evaluate(0.0, entry.q0, entry.v0)
    n, m, free = step.n, step.m, step.n - int(np.linalg.matrix_rank(step.J))
    return texts.derivation("sizes", free == n - m, n=n, m=m, free=free)


def _searched(kind: str, known: Sequence[float], random: Vector, quick: bool) -> Attempt:
    """Search bodies of one kind, starting from a known body, for a ratio of evaluations below 1.

    `known` are the ratios of the paper's cases, `random` those of random bodies of this kind.
    """
    rates = "regular" if kind == "search-regular" else "tan"

    def ratio(z: Vector) -> float:
        pair = Pair(BladeBody.of(z), SPAN, TOLERANCE)
        if kind != "search-regular" and bool(pair.poles) is not (kind == "search-over-a-pole"):
            return 9.0
        return pair.evaluations(rates) / pair.evaluations("quasi")

    start, begun = np.array(BEGUN[kind]), _begun(kind)
    least, tried = ratio(start), 1
    if not quick and least > 1.0:  # no search is needed if the start refutes the claim
        found = minimise(ratio, list(BOUNDS.values()), 1, 16, population=2, start=start)
        least, tried = min(least, found.value), found.tried
    least = min([least, *known, *random])
    return texts.attempt(
        kind, least <= 1.0, count=len(random), tried=tried, least=least, routh=begun.evaluations(rates),
        quasi=begun.evaluations("quasi"), told=_told(random) if len(random) else texts("none"),
    )  # fmt: skip


def _begun(kind: str) -> Pair:
    return Pair(BladeBody.of(np.array(BEGUN[kind])), SPAN, TOLERANCE)


def _times(quick: bool) -> tuple[Attempt, Vector, Vector]:
    """Return the ratio of times of Routh's equations to quasi-velocities, by hand-written code and by the package."""
    body = BladeBody.of(numbers(np.random.default_rng(1), BODIES))
    works = [(body.quasi, body.omega), (body.tan, body.velocity), (body.regular, body.velocity)]
    seconds = in_turns([partial(rates, 0.3, state) for rates, state in works], ROUNDS, 2)
    tan, regular = (seconds[:, i] / seconds[:, 0] for i in (1, 2))
    package = []
    for _ in range(2 if quick else 7):
        steps = recorded(
            [ProblemStates("knife-edge-body", "NH-A", stride=67)], [(f, "kkt") for f in FORMULATIONS],
            0.005 if quick else 0.02,
        )  # fmt: skip
        ((_, _, _, ratio, *_),) = quasi_velocities(steps, ()).rows
        package.append(ratio)
    search = texts.attempt(
        "times", bool(np.quantile(tan, 0.25) <= NOISE), tan=_quartiles(tan), regular=_quartiles(regular),
        package=_quartiles(np.array(package)), sets=len(package), noise=NOISE,
    )  # fmt: skip
    return search, tan, np.array(package)


def _quartiles(values: Vector) -> str:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return texts("quartiles", median=float(middle), low=float(low), high=float(high))


claim = texts.claim("C16", "004", check, 8.0)
