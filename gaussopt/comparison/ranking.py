"""Where orders change: warm against cold starts, and rankings along a dial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gaussopt.comparison.paired_records import Case, SourceKey, as_used, join, key_of, label_of, worst
from gaussopt.comparison.records import Answers, Times
from gaussopt.core.step_data import Vector

NOISE = 1.1
"""Ratios of times below this factor are no difference."""

FEWER = 0.99
"""Iterations from a warm start by those from a cold one below which there are fewer of them."""

QUARTERS = (0.25, 0.5, 0.75)


# -- warm starts ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WarmGain:
    """What a solver gains by starting from its last answer, and by keeping its set-up.

    Ratios below 1 are gains. The first step of a source, which has no answer before it, does not count.

    Attributes
    ----------
    sources, steps : int
    iterations : float
        Iterations of all warm steps by those of all cold ones; NaN for solvers that do not iterate.
    iterations_by_step : tuple of float
        Quartiles of the ratio at each step.
    work : tuple of float
        Quartiles of the ratio of the work at each step, warm by cold; NaN if not timed.
    backend : tuple of float
        Quartiles over the sources of the median time that the backend reports for itself, warm by cold; NaN where it
        reports none.
    update : tuple of float
        As `work`, cold by set up anew; NaN for solvers that cannot be updated.
    lost, won : int
        Steps that are right from a cold start only, from a warm start only.
    """

    formulation: str
    solver: str
    sources: int
    steps: int
    iterations: float
    iterations_by_step: tuple[float, ...]
    work: tuple[float, ...]
    backend: tuple[float, ...]
    update: tuple[float, ...]
    lost: int
    won: int

    @property
    def label(self) -> str:
        """Formulation and solver."""
        return label_of(self.formulation, self.solver)

    @property
    def verdict(self) -> str:
        """In one word; three quarters of the steps must agree, and the median must leave the noise.

        Less time is a gain of the start only where the algorithm itself did less: fewer iterations, or less time by
        the backend's own account. The rest of a call may be shorter for reasons of its own, such as a copy saved.
        """
        found = verdict_of(self.work)
        less = self.iterations < FEWER or verdict_of(self.backend) == "gain"
        return found if less or found != "gain" else "no difference"


def verdict_of(ratios: Sequence[float]) -> str:
    """Gain, loss or no difference, from the quartiles of a ratio."""
    low, middle, high = ratios
    if np.isnan(middle):
        return "not timed"
    if high < 1 and middle < 1 / NOISE:
        return "gain"
    return "loss" if low > 1 and middle > NOISE else "no difference"


def warm_gain(answers: Sequence[Answers], times: Sequence[Times]) -> list[WarmGain]:
    """Gains by formulation and solver, over all sources that have warm and other answers of it."""
    groups: dict[tuple[str, str], dict[SourceKey, dict[str, Case]]] = {}
    for c in join(answers, times):
        if not c.answers.refused:
            of = groups.setdefault((c.answers.formulation, c.answers.solver), {})
            of.setdefault(key_of(c.source), {})[c.answers.start] = c
    found = []
    for (formulation, solver), sources in groups.items():
        # A solver that cannot be updated is set up anew at every cold start.
        both = [
            {"cold": by.get("cold") or by["setup"], **by} for by in sources.values()
            if "warm" in by and ("cold" in by or "setup" in by) and by["warm"].steps > 1
        ]  # fmt: skip
        if not both:
            continue
        warm, cold = (np.concatenate([by[s].iterations[1:] for by in both]) for s in ("warm", "cold"))
        known = ~np.isnan(warm) & ~np.isnan(cold)
        spent = float(cold[known].sum())
        right = [np.concatenate([by[s].right[1:] for by in both]) for s in ("warm", "cold")]
        found.append(WarmGain(
            formulation, solver, len(both), len(warm), float(warm[known].sum()) / spent if spent else float("nan"),
            _quarters(warm, cold), _quarters(*_seconds(both, "warm", "cold")),
            _quarters(*(np.array([by[s].reported for by in both]) for s in ("warm", "cold"))),
            _quarters(*_seconds([by for by in sources.values() if {"setup", "cold"} <= by.keys()], "cold", "setup")),
            int((right[1] & ~right[0]).sum()), int((right[0] & ~right[1]).sum()),
        ))  # fmt: skip
    return found


def _seconds(sources: Sequence[dict[str, Case]], *starts: str) -> list[Vector]:
    return [np.concatenate([np.zeros(0), *(by[s].timed[1:] for by in sources)]) for s in starts]


def _quarters(above: Vector, below: Vector) -> tuple[float, ...]:
    known = np.isfinite(above) & np.isfinite(below) & (below > 0)
    if not known.any():
        return (float("nan"),) * 3
    return tuple(float(x) for x in np.quantile(above[known] / below[known], QUARTERS))


# -- rankings along a dial -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A competitor at one value of a dial.

    Attributes
    ----------
    work : float
        Median seconds over the steps, a failure counting as infinite: infinite where half of the steps fail.
    band : tuple of float
        Quartiles of the work over steps and repetitions.
    success : float
        Share of the steps that are right, see `gaussopt.comparison.paired_records.Case`, and stay so on the clock.
    certified : float
        Largest certified error at steps that are not recognised as ill-posed; NaN if all are.
    recognised : tuple of str
        What ill-posed steps are recognised as.
    per_step : (steps,)
        Seconds at each step; NaN where it was not timed or is not right.
    """

    family: str
    others: tuple[tuple[str, float], ...]
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


@dataclass(frozen=True, slots=True)
class Reversal:
    """Two competitors that change their order between two values of a dial.

    Attributes
    ----------
    first, then : str
        Faster before, faster after.
    before, after : float
        Values of the dial: the last one at which the old order was beyond the noise, the first one of the new order.
    ratio_before, ratio_after : float
        Median work of the slower by that of the faster at these values; infinite where the slower fails.
    leads : bool
        Whether the first place of all changes hands between the two.
    """

    family: str
    others: tuple[tuple[str, float], ...]
    dial: str
    first: str
    then: str
    before: float
    after: float
    ratio_before: float
    ratio_after: float
    leads: bool


def places(
    answers: Sequence[Answers],
    times: Sequence[Times],
    dial: str,
    *,
    start: str = "warm",
    formulation: str | None = None,
) -> list[Place]:
    """Competitors along a swept dial, by family, then value, then work.

    Pairs of formulation and solver compete by work, formulating and recovering; solvers of one formulation by work.
    """
    found = []
    for c in as_used(join(answers, times), start):
        a, source = c.answers, c.source
        if source.swept != dial or a.refused or c.times is None or not c.steps:
            continue
        if formulation is not None and a.formulation != formulation:
            continue
        around = c.around if formulation is None else 0.0
        middle = _middle(c.costs(whole=formulation is None))
        right = c.right & ~c.differs
        per_step = np.where(right, c.timed + around, np.nan)
        others = tuple(sorted((k, v) for k, v in source.dials.items() if k != dial))
        work = c.times.parts["work"]
        found.append(Place(
            source.name, others, dial, float(source.dials[dial]), a.formulation, a.solver, middle,
            (work[1] + around, work[3] + around), float(right.mean()), worst(c.certified[~c.recognised]),
            tuple(sorted({s for s, known in zip(a.status, a.recognised, strict=True) if known})), per_step,
        ))  # fmt: skip
    return sorted(found, key=lambda p: (p.family, p.others, p.value, p.work, p.label))


def _middle(values: Vector) -> float:
    """The median; infinite values are entries like others."""
    ranked = np.sort(values)
    low, high = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
    return float(high if np.isinf(high) else 0.5 * (low + high))


def reversals(
    answers: Sequence[Answers],
    times: Sequence[Times],
    dial: str,
    *,
    start: str = "warm",
    formulation: str | None = None,
) -> list[Reversal]:
    """Where the order of two competitors changes along a swept dial, changes of the first place first.

    An order counts where it is beyond the noise on its side: the medians differ by the factor NOISE at least, and
    either the quartiles of the two do not overlap, or at three quarters of the common steps (five at least) the same
    one is faster. Values at which it does not count are passed over.
    """
    return reversals_of(places(answers, times, dial, start=start, formulation=formulation))


def reversals_of(found: Sequence[Place]) -> list[Reversal]:
    """The same of places along one dial."""
    sweeps: dict[tuple[str, tuple[tuple[str, float], ...]], dict[str, dict[float, Place]]] = {}
    winners: dict[tuple[str, tuple[tuple[str, float], ...]], dict[float, str]] = {}
    for p in found:
        sweep = p.family, p.others
        sweeps.setdefault(sweep, {}).setdefault(p.label, {})[p.value] = p
        if np.isfinite(p.work):
            winners.setdefault(sweep, {}).setdefault(p.value, p.label)
    turned = []
    for sweep, by_label in sweeps.items():
        for one, other in combinations(by_label, 2):
            last: tuple[float, int] | None = None
            for value in sorted(by_label[one].keys() & by_label[other].keys()):
                a, b = by_label[one][value], by_label[other][value]
                sign = decided(a, b)
                if sign and last is not None and sign != last[1]:
                    first, then = (one, other) if sign > 0 else (other, one)
                    ahead = winners.get(sweep, {})
                    turned.append(Reversal(
                        a.family, a.others, a.dial, first, then, last[0], value,
                        _ratio(by_label[then][last[0]].work, by_label[first][last[0]].work),
                        _ratio(by_label[first][value].work, by_label[then][value].work),
                        ahead.get(last[0]) == first and ahead.get(value) == then,
                    ))  # fmt: skip
                last = (value, sign) if sign else last
    return sorted(
        turned, key=lambda r: (r.family, r.others, not r.leads, r.before, -min(r.ratio_before, r.ratio_after))
    )


def _ratio(slow: float, fast: float) -> float:
    return float("inf") if np.isinf(slow) or fast == 0 else slow / fast


def decided(a: Place, b: Place) -> int:
    """-1 if a is faster beyond the noise, 1 if b is, 0 if that cannot be told."""
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
