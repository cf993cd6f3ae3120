"""C11: compare the motion and accelerations by the genetic algorithm with those by Lagrange's equations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gaussopt.comparison.paper_claims import SMALL, genetic_accuracy
from gaussopt.core.arrays import Vector
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement, OwnResult
from gaussopt.papers.p002_singular_mass import genetic_runs as runs
from gaussopt.papers.p002_singular_mass.genetic_runs import FULL, NULL, WAYS, distance, search, start, state
from gaussopt.papers.texts import ClaimTexts
from gaussopt.simulation.simulate import simulate

PENALISED = "full coordinates with penalty"

ANGLES, RATES, TORQUES = (-math.pi, math.pi), (-10.0, 10.0), (-1000.0, 1000.0)
"""Ranges of the random states in rad, rad/s and N m."""

STEP = 0.01
"""Time step of the motions that are compared, s."""

MARKS = (0.03, 0.15, 0.5)
"""Instants, s, until which heights are compared; later the difference grows less than the movement."""

OTHER = {"coordinates": "full", "penalty": 1e6}
"""Options of CMA-ES, a second evolutionary algorithm; this penalty changes the minimiser only slightly."""

SMALL_SHARE = 0.01
"""Largest difference, relative to the movement of y1, at which two curves of y1 look equal in a figure."""

text = ClaimTexts(__file__, step=STEP, percent=100 * SMALL_SHARE)


@dataclass(frozen=True, slots=True)
class _Way:
    """A search in full coordinates with a penalty; `options` are all options but coordinates, penalty and seed.

    `other` is False for the solver `deap` with its default operators, and True for any other search.
    """

    label: str
    options: dict[str, Any] = field(default_factory=dict)
    other: bool = False
    solver: str = "deap"


@dataclass(frozen=True, slots=True)
class _Tried:
    """Result of a search: largest relative error with the best penalty, and the errors with all penalties as text."""

    way: _Way
    largest: float
    words: str


def _ways(quick: bool) -> tuple[_Way, ...]:
    from gaussopt.solvers.deap import DEAPOptions

    own = DEAPOptions()
    large = {"population": 60, "generations": 80} if quick else {"population": 80, "generations": 120}
    line = {"population": 40, "generations": 160} if quick else {"population": 60, "generations": 240}
    operators = {"crossover": "line", "mutation": "difference"}
    return (
        _Way(f"our operators, {_effort(vars(own))}"),
        _Way(f"our operators, {_effort(large)}", large),
        _Way(f"line crossover and difference mutation, {_effort(line)}", {**line, **operators}, other=True),
        _Way("CMA-ES", other=True, solver="deap-cma"),
    )  # fmt: skip


def _effort(options: Mapping[str, Any]) -> str:
    return f"{options['generations']} generations of {options['population']}"


@dataclass(frozen=True, slots=True)
class _Pair:
    """A motion by the genetic algorithm compared with the motion by Lagrange's equations.

    Attributes
    ----------
    apart : largest difference of y1, m
    heights : y1 at every step of the motion by the genetic algorithm, m
    angle, bound : largest difference of an angle, and the bound that follows from errors of the accelerations, rad
    errors : error of the acceleration at every step, rad/s^2
    """

    apart: float
    heights: tuple[float, ...]
    angle: float
    bound: float
    errors: Vector


def check(quick: bool) -> Judgement:
    """Judge heights of rod 1 along motions, the effect of acceleration errors on them, and the accelerations."""
    end, seeds = (MARKS[0], 2) if quick else (MARKS[-1], 6)
    exact = _motion_by("lagrange", "kkt", end)
    moved = float(np.ptp(_heights(exact)))
    pairs = {way: _pairs(exact, options, end, seeds if options else 1) for way, options in WAYS.items()}
    shares = {way: [p.apart / moved for p in of] for way, of in pairs.items()}
    readings = [
        text.reading(way, max(shares[way]) <= SMALL_SHARE) for way in ("null-space coordinates", PENALISED)
    ]  # fmt: skip
    tried = [
        text.attempt(
            "heights", max(of) > SMALL_SHARE, way=way, end=end, seeds=len(of), found=_told(of),
            apart=max(p.apart for p in pairs[way]),
        )
        for way, of in shares.items()
    ]  # fmt: skip
    (cma,) = _pairs(exact, OTHER, end, 1, "deap-cma")
    tried.append(text.attempt("other operators", cma.apart > SMALL_SHARE * moved, end=end, penalty=OTHER["penalty"],
                              share=100 * cma.apart / moved))  # fmt: skip
    null, full = shares.values()
    told = {"end": end, "moved": moved, "null": 100 * max(null), "median": 100 * float(np.median(full)),
            "low": 100 * min(full), "high": 100 * max(full), "seeds": seeds, "cma": 100 * cma.apart / moved,
            "marks": [(t, _told(_shares(exact, pairs[PENALISED], t))) for t in MARKS if t <= end]}  # fmt: skip
    rows = tuple(
        (way, seed, p.apart, 100 * p.apart / moved, p.angle, p.bound, float(np.median(p.errors)), float(p.errors.max()))
        for way, of in pairs.items() for seed, p in enumerate(of)
    )  # fmt: skip
    curves = {
        "t": tuple(map(float, exact.t)), "lagrange": _heights(exact),
        "heights": {way: tuple(p.heights for p in of) for way, of in pairs.items()},
    }  # fmt: skip
    ways = _penalised(quick)
    told |= {"ways": len(ways), "close": sum(t.largest <= SMALL for t in ways)}
    # A better algorithm than ours might agree where ours does not, so nothing here can refute the claim.
    missing = "" if all(r.holds for r in readings) else text("missing")
    return text.judgement(
        readings, (_carried([p for of in pairs.values() for p in of]),), tried, missing=missing, rows=rows,
        own=_accelerations(quick, ways), numbers=curves | told,
    )  # fmt: skip


def _shares(exact: Trajectory, pairs: Sequence[_Pair], end: float) -> list[float]:
    """Return for each seed the largest difference of the heights until `end`, as a share of their range."""
    until = round(end / STEP) + 1
    heights = np.array(_heights(exact)[:until])
    return [float(np.abs(heights - p.heights[:until]).max() / np.ptp(heights)) for p in pairs]


def _half() -> float:
    return problem("four-bar").parameter_values["l"] / 2


def _told(shares: Sequence[float]) -> str:
    """Return the range and the median of shares as text, in per cent."""
    if len(shares) == 1:
        return f"{100 * shares[0]:.1e} %"
    low, middle, high = (100 * float(np.quantile(shares, q)) for q in (0.0, 0.5, 1.0))
    return f"{low:.2g} to {high:.2g} % ({middle:.2g} % in the median)"


def _motion_by(formulation: str, solver: str, end: float, **options: Any) -> Trajectory:
    """Compute the motion from the start by semi-implicit Euler; every answer is accepted, however wrong."""
    return simulate(
        problem("four-bar"), formulation, solver, stepper="semi-implicit", dt=STEP, t_end=end, tolerance=math.inf,
        solver_options=options, step_folder=None, error_estimate=False,
    )  # fmt: skip


def _heights(motion: Trajectory) -> tuple[float, ...]:
    """Return y1 at every step, m."""
    return tuple(map(float, _half() * np.sin(motion.q[:, 0])))


def _pairs(exact: Trajectory, options: Mapping[str, Any], end: float, seeds: int, solver: str = "deap") -> list[_Pair]:
    """Compare the motions by the genetic algorithm, one for each seed, with the motion by Lagrange's equations."""
    p = problem("four-bar").parameter_values
    weight, inertia = p["m"] * p["g"] * p["l"], 5 * p["m"] * p["l"] ** 2 / 3
    found = []
    for seed in range(seeds):
        genetic = _motion_by("gauss", solver, end, **options, seed=seed)
        # Both cranks have the acceleration a: (M1 + M2) a = psi - 3/2 m g l cos theta1 - 1/2 m g l cos theta2.
        c1, c2 = np.cos(genetic.q[:, 0]), np.cos(genetic.q[:, 1])
        a = (p["psi"] - weight * (1.5 * c1 + 0.5 * c2)) / inertia
        errors = np.abs(genetic.a - np.column_stack((a, a, -a))).max(axis=1)
        heights = _heights(genetic)
        found.append(_Pair(
            float(np.abs(np.subtract(heights, _heights(exact))).max()), heights,
            float(np.abs(exact.q - genetic.q).max()), _carry(errors, 2 * weight / inertia), errors,
        ))  # fmt: skip
    return found


def _carry(errors: Vector, slope: float) -> float:
    """Return a bound, rad, on the final error of the angle that results from the errors of the accelerations."""
    angle = rate = 0.0
    for e in errors[:-1]:
        rate += STEP * (slope * angle + float(e))
        angle += STEP * rate
    return angle


def _carried(pairs: Sequence[_Pair]) -> Derivation:
    slack = max(p.angle - p.bound for p in pairs)
    shares = [p.angle / p.bound for p in pairs]
    return text.derivation(
        "carried", slack <= 1e-12, motions=len(pairs), least=min(shares), most=max(shares),
        angle=max(p.angle for p in pairs),
    )  # fmt: skip


def _accelerations(quick: bool, tried: Sequence[_Tried]) -> OwnResult:
    """Study the accelerations: measure certified errors and the bias of the penalty, and search for smaller errors."""
    measured = genetic_accuracy(runs.recorded((NULL, FULL), 200 if quick else 50, None))
    worst = {str(row[0]): float(row[-1]) for row in measured.rows}
    own, others = ([t for t in tried if t.way.other is other] for other in (False, True))
    searches = (
        _null_space(2 if quick else 20),
        _search("An effort or a penalty", "with the operators of our defaults", own, quick),
        _search("Another algorithm and a penalty", "by other operators and by CMA-ES", others, quick),
    )
    sentence = text(
        "accelerations", null=worst[f"gauss by {NULL}"], full=worst[f"gauss by {FULL}"],
        lagrange=worst["lagrange by kkt"], where=_where(quick), close=sum(t.largest <= SMALL for t in tried),
        ways=len(tried), small=SMALL,
    )  # fmt: skip
    return OwnResult(sentence, (_bias(), _floor(2 if quick else 10)), searches, measured.columns, measured.rows)


def _bias() -> Derivation:
    step = start()
    F, M = step.force, step.M.diagonal()
    a = (F[0] + F[1]) / (M[0] + M[1])
    words, apart = [], 0.0
    for w in runs.PENALTIES:
        # r = theta1'' - theta2'' follows from both equations of motion, in which the penalty exerts the force 2 w r.
        r = (M[1] * a - F[1]) / (2 * w + M[0] * M[1] / (M[0] + M[1]))
        stated = r * np.array([M[1], -M[0], -M[1]]) / (M[0] + M[1])
        apart = max(apart, distance(runs.penalised(step, w), np.array([a, a, -a]) + stated))
        words.append(f"w = {w:.0e}: {np.abs(stated).max():.3g} rad/s²")
    return text.derivation("bias", apart < 1e-8, stated="; ".join(words), apart=apart)


def _random_state(random: np.random.Generator) -> tuple[float, float, float]:
    """Draw an angle, a rate and a torque from ANGLES, RATES and TORQUES."""
    return random.uniform(*ANGLES), random.uniform(*RATES), random.uniform(*TORQUES)


def _floor(count: int) -> Derivation:
    random = np.random.default_rng(11)
    worst, gap = 0.0, 0.0
    for seed in range(count):
        step, truth = state(*_random_state(random))
        a, _ = search(step, seed=seed, generations=10)
        cost = [0.5 * x @ step.M @ x - x @ step.force for x in (a, truth)]
        stated = 0.5 * (a - truth) @ step.M @ (a - truth)
        worst = max(worst, float(abs(cost[0] - cost[1] - stated) / (1.0 + abs(cost[1]))))
        gap = max(gap, float(stated))
    return text.derivation("floor", worst < 1e-9, count=count, gap=gap, worst=worst)


def _null_space(count: int) -> Attempt:
    random = np.random.default_rng(12)
    errors = []
    for seed in range(count):
        step, truth = state(*_random_state(random))
        errors.append(distance(search(step, seed=seed)[0], truth))
    return text.attempt(
        "null space", max(errors) > SMALL, count=count, rate=RATES[1], torque=TORQUES[1], largest=max(errors),
        median=np.median(errors),
    )  # fmt: skip


def _extent(quick: bool) -> tuple[int, tuple[float, ...]]:
    """Return the number of states that are searched, each with its own seed, and the penalties in full coordinates."""
    return (1, runs.PENALTIES[-1:]) if quick else (3, runs.PENALTIES)


def _where(quick: bool) -> str:
    states, _ = _extent(quick)
    others = f" and {states - 1} random states (seed 14), each with its own seed of the algorithm"
    return f"the first step{others if states > 1 else ''}"


def _penalised(quick: bool) -> list[_Tried]:
    count, penalties = _extent(quick)
    entry, random = problem("four-bar"), np.random.default_rng(14)
    states = [(float(entry.q0[0]), float(entry.v0[0]), entry.parameter_values["psi"])]
    while len(states) < count:
        states.append(_random_state(random))

    def error(way: _Way, penalty: float, seed: int) -> float:
        step, truth = state(*states[seed])
        options = {"coordinates": "full", **way.options, "penalty": penalty, "seed": seed}
        return distance(search(step, solver=way.solver, **options)[0], truth)

    found = []
    for way in _ways(quick):
        errors = np.array([[error(way, w, seed) for seed in range(count)] for w in penalties])
        largest = errors.max(axis=1)
        best = int(largest.argmin())
        words = text(
            "errors of a way", way=way.label, largest=largest[best], penalty=penalties[best], smallest=errors.min()
        )
        found.append(_Tried(way, float(largest[best]), words))
    return found


def _search(what: str, by: str, tried: Sequence[_Tried], quick: bool) -> Attempt:
    penalties = ", ".join(f"{w:.0e}" for w in _extent(quick)[1])
    return text.attempt(
        "full coordinates", any(t.largest <= SMALL for t in tried), what=what, by=by, where=_where(quick),
        penalties=penalties, errors="; ".join(t.words for t in tried),
    )  # fmt: skip


claim = text.claim("C11", "002", check, 15.0)
