"""Rankings of competitors along a swept parameter of a family (a dial), and the values at which rankings reverse."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from gaussopt.comparison.records import Answers, Times
from gaussopt.comparison.step_table import competing, label_of, worst
from gaussopt.comparison.warm_starts import NOISE
from gaussopt.core.arrays import Vector

Dials = tuple[tuple[str, float], ...]


class Place(NamedTuple):
    """A competitor's results at one value of a swept parameter; times are those of the steps that rank solvers.

    Attributes
    ----------
    work : median seconds over the steps, a failure counting as infinite; infinite if at least half of the steps fail
    band : quartiles of the work over steps and repetitions
    success : share of right answers among the steps that count, whether timed or not
    certified : largest certified error at steps that neither are recognised as ill-posed nor have several solutions
    recognised : statuses by which the solver correctly reports that steps are ill-posed
    per_step : (steps,), seconds at each step; NaN where it was not timed or is not right
    """

    family: str
    others: Dials
    dial: str
    value: float
    formulation: str
    solver: str
    work: float
    band: tuple[float, float]
    success: float
    certified: float
    recognised: tuple[str, ...]
    per_step: Vector

    @property
    def label(self) -> str:
        """Formulation and solver."""
        return label_of(self.formulation, self.solver)


class Reversal(NamedTuple):
    """Two competitors whose order changes between two values of a swept parameter (dial).

    Attributes
    ----------
    first, then : the competitor that is faster at the dial value `before`, and the one that is faster at `after`
    before, after : last dial value at which the old order exceeds the noise, and first at which the new order does
    ratio_before, ratio_after : median work of the slower divided by that of the faster; infinite where the slower fails
    leads : whether `first` is the fastest of all competitors at `before`, and `then` at `after`
    """

    first: str
    then: str
    before: float
    after: float
    ratio_before: float
    ratio_after: float
    leads: bool


def places(
    answers: Sequence[Answers], times: Sequence[Times], dial: str, *, formulation: str | None = None
) -> list[Place]:
    """Return the competitors at each value of a swept parameter, sorted by family, other dials, value and work.

    Pairs compete by the sum of formulation, work and recovery; solvers of one given formulation compete by work.
    """
    found = []
    for c in competing(answers, times, formulation):
        source = c.source
        if source.swept != dial or c.times is None or np.isnan(c["cost"][c["ranked"]]).all():
            continue
        around = c.around(formulation is None)
        right, ranked, cost = c["right"] & ~c["differs"], c["ranked"], c.costs(whole=formulation is None)
        counted = ~np.isnan(cost)
        known = ranked & ~np.isnan(np.where(np.isinf(cost), cost, c["work"] + cost))  # estimated times do not count
        others = tuple(sorted((k, v) for k, v in source.dials.items() if k != dial))
        low, high = (c.times.parts["work"][i] + around for i in (1, 3))
        found.append(Place(
            source.name, others, dial, float(source.dials[dial]), *c.pair,
            float(np.median(cost[known])), (low, high), float(right[counted].mean()),
            worst(c["certified"][~(c["recognised"] | c["several"])]),
            tuple(sorted(set(c["status"][c["recognised"]]))),
            np.where(right, c["work"] + around, np.nan)[ranked],
        ))  # fmt: skip
    return sorted(found, key=lambda p: (p.family, p.others, p.value, p.work, p.label))


def reversals_of(found: Sequence[Place]) -> list[Reversal]:
    """Find where the order of two competitors changes along a dial; list changes of the fastest competitor first.

    An order counts at a value if it exceeds the noise: the medians differ by at least the factor NOISE, and either the
    interquartile ranges do not overlap, or the same competitor is faster at three quarters of the common steps, of
    which there are at least five. Values at which no order counts are skipped.
    """
    sweeps: dict[tuple[str, Dials], dict[str, dict[float, Place]]] = {}
    winners: dict[tuple[tuple[str, Dials], float], str] = {}
    for p in found:
        sweep = p.family, p.others
        sweeps.setdefault(sweep, {}).setdefault(p.label, {})[p.value] = p
        if np.isfinite(p.work):
            winners.setdefault((sweep, p.value), p.label)
    turned: list[Reversal] = []
    for sweep, by_label in sweeps.items():
        own = []
        for pair in combinations(by_label, 2):
            one, other = (by_label[label] for label in pair)
            last: tuple[float, int] | None = None
            for value in sorted(one.keys() & other.keys()):
                sign = decided(one[value], other[value])
                if sign and last is not None and sign != last[1]:
                    first, then = pair if sign > 0 else pair[::-1]
                    slow, fast = by_label[then], by_label[first]
                    own.append(Reversal(
                        first, then, last[0], value,
                        _ratio(slow[last[0]].work, fast[last[0]].work), _ratio(fast[value].work, slow[value].work),
                        winners.get((sweep, last[0])) == first and winners.get((sweep, value)) == then,
                    ))  # fmt: skip
                last = (value, sign) if sign else last
        turned += sorted(own, key=lambda r: (not r.leads, r.before, -min(r.ratio_before, r.ratio_after)))
    return turned


def _ratio(slow: float, fast: float) -> float:
    return float("inf") if np.isinf(slow) or fast == 0 else slow / fast


def decided(a: Place, b: Place) -> int:
    """Return -1 if a is faster than b beyond the noise, 1 if b is faster than a, 0 if the order is uncertain."""
    if np.isinf(a.work) and np.isinf(b.work):
        return 0
    sign = -1 if a.work < b.work else 1
    fast, slow = (a, b) if sign < 0 else (b, a)
    if np.isinf(slow.work):
        return sign
    if slow.work < NOISE * fast.work:
        return 0
    if fast.band[1] < slow.band[0]:
        return sign
    common = min(len(fast.per_step), len(slow.per_step))
    x, y = fast.per_step[:common], slow.per_step[:common]
    x, y = x[(both := np.isfinite(x) & np.isfinite(y))], y[both]
    return sign if len(x) >= 5 and (x < y).mean() >= 0.75 else 0
