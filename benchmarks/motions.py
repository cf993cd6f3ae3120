"""A motion run by everybody, at several step sizes or tolerances: time and error of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from measuring import SLOW, Competitor, Spread, Times, interleave, repeated
from mechanisms import Mechanism
from page import Table, number, spread
from rivals.interface import AdaptiveRival, Engine, Rival

CALL = 0.02
"""Seconds of a timed call in the table of steps, about; one mark at least."""

FEWEST = 100
"""Steps of a timed call at least, lest the start of a run is timed."""

LONGEST = 1.0
"""Seconds beyond which only a part of a motion with constant steps is timed for the error's price."""


@dataclass(frozen=True)
class Point:
    """One engine at one setting.

    Attributes
    ----------
    engine : Engine
    size : s, the step; None for an adaptive engine
    tolerance : None for constant steps
    steps : of the whole motion, 1 for an adaptive engine
    error : largest angle error over the motion, rad
    seconds : for the whole motion
    """

    engine: Engine
    size: float | None
    tolerance: float | None
    steps: int
    error: float
    seconds: Spread

    @property
    def setting(self) -> str:
        """In words."""
        return f"dt = {1e3 * self.size:g} ms" if self.size is not None else f"tolerance {self.tolerance:g}"


@dataclass(frozen=True)
class Motions:
    """What was found.

    Attributes
    ----------
    mechanism : Mechanism
    size : s, the step that all engines have in common
    steps : seconds of a step of that size, by engine
    points : every engine at every setting
    missing : who could not run
    """

    mechanism: Mechanism
    size: float
    steps: Times
    points: tuple[Point, ...]
    missing: tuple[Engine, ...]

    def error(self, name: str) -> float:
        """Of an engine at the common step, rad."""
        return next(p.error for p in self.points if p.engine.name == name and p.size == self.size)

    def ratio(self, slower: str, faster: str) -> Spread | None:
        """How many times as long a step of one takes as one of the other, round by round; None if one is missing."""
        return self.steps.ratio(slower, faster) if slower in self.steps and faster in self.steps else None

    def time_to(self, name: str, error: float) -> float | None:
        """Seconds that an engine needs for an error, by its straight lines between points in logarithms; s.

        None where no point is as accurate. The cheapest point that is accurate enough, where all are.
        """
        points = sorted((p for p in self.points if p.engine.name == name), key=lambda p: p.seconds.median)
        enough = [p for p in points if p.error <= error]
        if not enough:
            return None
        best = enough[0]
        worse = [p for p in points if p.error > error and p.seconds.median < best.seconds.median]
        if not worse:
            return best.seconds.median
        near = min(worse, key=lambda p: p.error)
        share = math.log(near.error / error) / math.log(near.error / best.error)
        return float(near.seconds.median ** (1 - share) * best.seconds.median**share)


def run(mechanism: Mechanism, engines: Sequence[Rival | AdaptiveRival], size: float, budget: float) -> Motions:
    """Everybody that can: the error at every setting, then the times of steps, then those of whole motions."""
    able = [e for e in engines if e.models(mechanism) and not e.missing]
    found: list[tuple[Engine, float | None, float | None, float, Competitor]] = []
    short: list[Competitor] = []
    for engine in able:
        if isinstance(engine, AdaptiveRival):
            for tolerance in engine.tolerances:
                whole = engine.prepare(mechanism, tolerance)
                found.append((engine, None, tolerance, mechanism.error(whole()),
                              Competitor(f"{engine.name} at {tolerance:g}", whole)))  # fmt: skip
            continue
        for dt in engine.sizes:
            error, takes = _first(mechanism, engine, dt)
            part = _part(mechanism, engine, dt, LONGEST / takes, f"{engine.name} at {dt:g}")
            found.append((engine, dt, None, error, part))
            if dt == size:
                short.append(_part(mechanism, engine, dt, CALL / takes, engine.name))
    steps = interleave(short, budget / 2)
    times = interleave([c for *_, c in found], budget / 2, least=3)
    points = []
    for who, step, limit, error, c in found:
        count = 1 if step is None else mechanism.steps(step)
        points.append(Point(who, step, limit, count, error, times.of(c.name).scaled(count)))
    missing = tuple(e for e in engines if e.models(mechanism) and e.missing)
    return Motions(mechanism, size, steps, tuple(points), missing)


def _first(mechanism: Mechanism, engine: Rival, dt: float) -> tuple[float, float]:
    """Error of the whole motion, rad, and about how long it takes, s."""
    assert mechanism.marks is not None
    whole = engine.prepare(mechanism, dt, mechanism.steps(dt), len(mechanism.marks))
    begin = perf_counter()
    error = mechanism.error(whole())
    takes = perf_counter() - begin
    if takes > SLOW:
        return error, takes
    begin = perf_counter()
    whole()  # the first one may have compiled
    return error, perf_counter() - begin


def _part(mechanism: Mechanism, engine: Rival, dt: float, share: float, name: str) -> Competitor:
    """The first share of a motion, or the motion several times, as a competitor whose unit is a step."""
    assert mechanism.marks is not None
    marks = len(mechanism.marks)
    each = mechanism.steps(dt) // marks
    timed = min(max(1, round(share * marks), -(-FEWEST // each)), marks)
    calls = max(1, round(share))
    return Competitor(name, repeated(engine.prepare(mechanism, dt, each * timed, timed), calls), calls * each * timed)


def per_step(motions: Motions, base: str) -> Table:
    """Everybody at the common step: microseconds, ratio, error, and what the engine does more."""
    engines = {p.engine.name: p.engine for p in motions.points if p.size == motions.size}
    times = {name: motions.steps.of(name) for name in engines}
    rows, data = [], []
    for name in sorted(engines, key=lambda name: times[name].median):
        engine, ratio, error = engines[name], motions.ratio(name, base), motions.error(name)
        told = "–" if ratio is None else number(ratio.median)
        rows.append((name, engine.loop, spread(times[name], 1e6), told, number(error), engine.does_more))
        data.append({
            "engine": name, "microseconds": times[name].scaled(1e6).median, "rounds": times[name].count,
            "ratio": None if ratio is None else ratio.median, "error": error, "does_more": engine.does_more,
        })  # fmt: skip
    rows += [(e.name, e.loop, e.missing, "", "", e.does_more) for e in motions.missing if isinstance(e, Rival)]
    return Table(
        ("engine", "loop in", "microseconds per step", f"times {base}", "angle error, rad", "does more"), rows, data
    )


def work_precision(motions: Motions) -> Table:
    """Every point: error against seconds for the whole motion."""
    rows = [(p.engine.name, p.setting, number(p.error), spread(p.seconds)) for p in motions.points]
    rows += [(e.name, "", "", e.missing) for e in motions.missing]
    data = [
        {"engine": p.engine.name, "setting": p.setting, "steps": p.steps, "error": p.error, "rounds": p.seconds.count,
         "seconds": p.seconds.median, "quartiles": [p.seconds.lower, p.seconds.upper]}
        for p in motions.points
    ]  # fmt: skip
    return Table(("engine", "setting", "angle error, rad", "seconds"), rows, data)
