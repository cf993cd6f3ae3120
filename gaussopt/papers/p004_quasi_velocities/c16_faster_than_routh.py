"""C16: what quasi-velocities save, in evaluations and in time, and at what accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np
from scipy.integrate import solve_ivp

from gaussopt.comparison.paper_claims import quasi_velocities
from gaussopt.comparison.records import MotionRecord
from gaussopt.comparison.sources import ProblemStates
from gaussopt.comparison.step_table import TimedAnswers
from gaussopt.core.step_data import Matrix, Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.evidence.recorded_steps import recorded
from gaussopt.papers.p004_quasi_velocities.knife_edge import BOUNDS, RANGES, BladeBody, numbers
from gaussopt.papers.texts import ClaimTexts
from gaussopt.simulation.simulate import simulate

CASES = {
    "NH-A": (BladeBody(), 30.0),
    "NH-B": (BladeBody(F0=8.0, nu=2.0, alpha=0.0, turning=0.085, speed=0.0), 60.0),
    "NH-C": (BladeBody(F0=3.0, alpha=math.pi / 6, L_C=0.2, turning=0.3, speed=0.5), 10.0),
}
"""The body and its last instant in s."""

RUNS = (("NH-C", 1e-6), ("NH-B", 1e-6), ("NH-A", 1e-6), ("NH-A", 1e-9))
"""Case and relative tolerance; the absolute one is a thousandth of it everywhere."""

ORDER = 5
"""Of RK45: the error falls by this power of the number of evaluations."""

SPAN, TOLERANCE = 10.0, 1e-6
"""Length in s and relative tolerance of the motions of the searches."""

FORMULATIONS = ("quasi-velocity", "routh")

texts = ClaimTexts(__file__, order=ORDER, span=SPAN, tolerance=TOLERANCE)


def check(quick: bool) -> Judgement:
    """Runs of the three cases at equal tolerance, times of a step, and searches for bodies that say otherwise."""
    pairs = {(case, rtol): _Pair(*CASES[case], rtol) for case, rtol in (RUNS[:3] if quick else RUNS)}
    package = {run: _by_the_package(*run) for run in (RUNS[:1] if quick else RUNS[:3])}
    spec = ProblemStates("knife-edge-body", "NH-A", stride=67)
    steps = recorded([spec], [(f, "kkt") for f in FORMULATIONS], 0.005 if quick else 0.05)
    measured = quasi_velocities(steps, [m for (case, _), p in pairs.items() for m in _records(case, p)])
    derivations = (_counted(pairs, package), _errors(pairs), _time(steps), _tan(5.0 if quick else 30.0))
    fewer, equal = _searches(list(pairs.values()), 0 if quick else 2, 2 if quick else 24)
    # Evaluations decide, which repeat; times of a step are told beside them.
    sound = derivations[0].holds
    verdict = ClaimVerdict.of([
        *(sound and pair.ratio > 1.0 for pair in pairs.values()), sound and not fewer.refutes,
        sound and not equal.refutes,
    ])  # fmt: skip
    more = [pair.ratio for pair in pairs.values() if pair.ratio > 1.0]
    less = [f"{case} at {rtol:g}: {pair.ratio:.2f}" for (case, rtol), pair in pairs.items() if pair.ratio <= 1.0]
    accuracy = [pair.accuracy for pair in pairs.values()]
    sentence = texts("sentence", measured=measured, least=min(accuracy), most=max(accuracy))
    parts = [f"in {len(more)} of {len(pairs)} runs, by a factor of {_span(more)} in evaluations" if more else ""]
    parts += [f"not in the others ({', '.join(less)})" if less else ""]
    conditions = f"{', '.join(p for p in parts if p)}. Other bodies: {fewer.found}"
    if equal.refutes:
        conditions += f" At equal error: {equal.found}"
    rows = tuple(
        (f"{case}, RK45, {rtol:g}", p.quasi.evaluations, p.routh.evaluations, p.ratio, p.quasi.error, p.routh.error,
         p.at_equal_error)
        for (case, rtol), p in pairs.items()
    )  # fmt: skip
    return Judgement(
        verdict, sentence, derivations, (fewer, equal), verdict.where(conditions), texts.columns("motions"), rows,
        times_decide=True,
    )  # fmt: skip


def _span(values: list[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True)
class _Run:
    """Evaluations of the rates, and the largest error of the position at the integrator's own steps in m."""

    evaluations: int
    error: float


@dataclass(frozen=True)
class _Pair:
    """A body by both, integrated by SciPy's RK45 from rates written by hand."""

    body: BladeBody
    end: float
    rtol: float

    @cached_property
    def quasi(self) -> _Run:
        return self.run("quasi")

    @cached_property
    def routh(self) -> _Run:
        return self.run("regular")

    def run(self, rates: str) -> _Run:
        """Integrate by the rates of that name."""
        start = self.body.omega if rates == "quasi" else self.body.velocity
        found = solve_ivp(getattr(self.body, rates), (0.0, self.end), start, rtol=self.rtol, atol=1e-3 * self.rtol)
        return _Run(int(found.nfev), float(np.abs(found.y[[0, 2]] - self._true(found.t)[[0, 2]]).max()))

    @cached_property
    def _true(self) -> Callable[[Vector], Matrix]:
        # Four digits more than what is judged.
        found = solve_ivp(
            self.body.quasi, (0.0, self.end), self.body.omega, "DOP853", rtol=1e-4 * self.rtol, atol=1e-5 * self.rtol,
            dense_output=True,
        )  # fmt: skip
        assert found.sol is not None
        return found.sol

    @property
    def ratio(self) -> float:
        """Evaluations by Routh over those by quasi-velocities."""
        return self.routh.evaluations / self.quasi.evaluations

    @property
    def accuracy(self) -> float:
        """Error by Routh over that by quasi-velocities."""
        return self.routh.error / self.quasi.error

    @property
    def at_equal_error(self) -> float:
        """The ratio of evaluations, Routh's scaled to the error of quasi-velocities."""
        return float(self.ratio * self.accuracy ** (1.0 / ORDER))


def _records(case: str, pair: _Pair) -> list[MotionRecord]:
    return [
        MotionRecord(
            f"knife-edge-body ({case})", formulation, "kkt", f"rk45(rtol={pair.rtol:g})", 0.0, pair.end, "solved", "",
            run.evaluations, run.error, 0.0, 0.0, 0.0, math.nan,
        )
        for formulation, run in zip(FORMULATIONS, (pair.quasi, pair.routh), strict=True)
    ]  # fmt: skip


def _by_the_package(case: str, rtol: float) -> tuple[int, ...]:
    """Evaluations of the formulations of the package, in the order of FORMULATIONS."""
    runs = (
        simulate(problem("knife-edge-body", case=case), f, "kkt", stepper="rk45", rtol=rtol, atol=1e-3 * rtol,
                 step_folder=None, error_estimate=False)
        for f in FORMULATIONS
    )  # fmt: skip
    return tuple(run.worst.evaluations for run in runs)


def _counted(pairs: dict[tuple[str, float], _Pair], package: dict[tuple[str, float], tuple[int, ...]]) -> Derivation:
    words, apart = [], 0.0
    for (case, rtol), pair in pairs.items():
        hand = pair.quasi.evaluations, pair.routh.evaluations
        theirs = package.get((case, rtol), ())
        apart = max([apart, *(abs(a / b - 1.0) for a, b in zip(theirs, hand, strict=False))])
        words.append(
            f"{case}, {rtol:g}: {hand[0]} and {hand[1]}" + (f" ({theirs[0]} and {theirs[1]})" if theirs else "")
        )
    return texts.derivation("counted", apart < 0.02, words="; ".join(words), percent=100 * apart)


def _errors(pairs: dict[tuple[str, float], _Pair]) -> Derivation:
    words = "; ".join(texts("of-a-run", case=case, rtol=rtol, p=p) for (case, rtol), p in pairs.items())
    return texts.derivation("errors", any(abs(p.accuracy - 1.0) > 0.1 for p in pairs.values()), words=words)


def _time(steps: list[TimedAnswers]) -> Derivation:
    seconds = {c.answers.formulation: c.median("build", "recover", "work") for c in steps if c.times is not None}
    words = ", ".join(f"{f} {1e6 * s:.0f} µs" for f, s in seconds.items())
    # The sizes of the two systems decide, which repeat; times are told beside them.
    n, m, _ = steps[0].answers.size
    return texts.derivation("time", (n - m, m) == (2, 1), states=steps[0].steps, words=words)


def _tan(end: float) -> Derivation:
    pair = _Pair(CASES["NH-A"][0], end, TOLERANCE)
    tan = pair.run("tan")
    return texts.derivation("tan", tan.evaluations > pair.routh.evaluations, pair=pair, tan=tan)


def _searches(runs: list[_Pair], generations: int, count: int) -> tuple[Attempt, Attempt]:
    random = np.random.default_rng(16)
    drawn = [_Pair(BladeBody.of(numbers(random)), SPAN, TOLERANCE) for _ in range(count)]
    ratios, equal = [p.ratio for p in drawn], [p.at_equal_error for p in drawn]
    least, number = min(ratios + [p.ratio for p in runs]), 0
    if generations:
        found = minimise(
            lambda z: _Pair(BladeBody.of(z), SPAN, TOLERANCE).ratio, list(BOUNDS.values()), generations, 16,
            population=2, start=np.array(astuple(CASES["NH-B"][0])),
        )  # fmt: skip
        least, number = min(least, found.value), found.tried
    least_equal = min(equal + [p.at_equal_error for p in runs])
    covered = f"the runs of the table; {count} random bodies (seed 16), {SPAN:g} s at {TOLERANCE:g}, RK45; {RANGES}"
    fewer = texts.attempt(
        "at-equal-tolerance", least <= 1.0, covered=covered, and_=texts("evolution", number=number) if number else ".",
        least=least, median=float(np.median(ratios)), most=max(ratios), slower=sum(r <= 1.0 for r in ratios),
    )  # fmt: skip
    same = texts.attempt(
        "at-equal-error", least_equal <= 1.0, covered=covered, least=least_equal, median=float(np.median(equal)),
        most=max(equal), slower=sum(r <= 1.0 for r in equal),
    )  # fmt: skip
    return fewer, same


claim = texts.claim("C16", "004", check, 5.0)
