"""Answers and times of the same case side by side, and what a step costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussopt.comparison.records import QUANTILES, STARTS, Answers, Source, Times
from gaussopt.core.step_data import Vector

SourceKey = tuple[str, str, str, tuple[tuple[str, float], ...], str]


def key_of(source: Source) -> SourceKey:
    """What tells sources apart; a source itself holds a mapping and cannot be a key."""
    return source.kind, source.name, source.part, tuple(sorted(source.dials.items())), source.swept


def base_of(solver: str) -> str:
    """The solver's name without its options."""
    return solver.partition("(")[0].strip()


def label_of(formulation: str, solver: str) -> str:
    """A pair in words; sources of programs have no formulation."""
    return f"{formulation} by {solver}" if formulation else solver


@dataclass(frozen=True, slots=True)
class Case:
    """One solver on one source from one kind of start.

    Attributes
    ----------
    answers : Answers
    times : Times or None
        None where it was not timed.
    steps : int
        Of the source: the longest record that any solver has of it.
    """

    answers: Answers
    times: Times | None
    steps: int

    @property
    def source(self) -> Source:
        """Where the steps come from."""
        return self.answers.source

    @property
    def label(self) -> str:
        """Formulation and solver."""
        return label_of(self.answers.formulation, self.answers.solver)

    @property
    def confirmed(self) -> NDArray[np.bool_]:
        """Which of the source's steps have a confirmed answer, (steps,)."""
        return self._padded(self.answers.confirmed, False).astype(bool)

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which steps have a confirmed answer, or are recognised as having none, (steps,)."""
        return np.asarray(self.confirmed | self.recognised)

    @property
    def recognised(self) -> NDArray[np.bool_]:
        """Which steps are ill-posed, and the solver says just so, (steps,)."""
        return self._padded(self.answers.recognised, False).astype(bool)

    @property
    def differs(self) -> NDArray[np.bool_]:
        """Which steps have a confirmed answer on record and others on the clock, (steps,)."""
        if self.times is None:
            return np.zeros(self.steps, dtype=bool)
        return self.confirmed & (self._padded(self.times.unconfirmed, 0) > 0)

    @property
    def certified(self) -> Vector:
        """Certified errors, (steps,); infinite where there is no answer."""
        return self._padded(self.answers.certified, np.inf)

    @property
    def iterations(self) -> Vector:
        """(steps,); NaN where there is no answer."""
        return self._padded(self.answers.iterations, np.nan)

    @property
    def timed(self) -> Vector:
        """Median seconds of work at each step, (steps,); NaN where the step was not timed."""
        return self._padded(() if self.times is None else self.times.per_step, np.nan)

    @property
    def reported(self) -> float:
        """Median seconds by the backend's own account; NaN where it gives none."""
        return float("nan") if self.times is None else self.times.parts["backend"][2]

    @property
    def around(self) -> float:
        """Median seconds of formulating and recovering, which no record holds step by step."""
        if self.times is None:
            return float("nan")
        return self.times.parts["build"][2] + self.times.parts["recover"][2]

    def costs(self, whole: bool = False) -> Vector:
        """Seconds charged to each step, (steps,).

        Infinite where the answer is not right or differs on the clock, and everywhere if nothing was timed. A step
        behind the timed ones costs their median.

        Parameters
        ----------
        whole : bool
            With `around`. Needed where formulations are compared: some of them do in `build` what others leave to the
            solver.
        """
        if self.times is None:
            return np.full(self.steps, np.inf)
        seconds = self.timed
        known = seconds[np.isfinite(seconds)]
        typical = float(np.median(known)) if len(known) else self.times.work
        seconds = np.where(np.isfinite(seconds), seconds, typical if np.isfinite(typical) else np.inf)
        return np.where(self.right & ~self.differs, seconds + (self.around if whole else 0.0), np.inf)

    def _padded(self, values: Sequence[float] | Sequence[bool] | Sequence[int], fill: float) -> Vector:
        found = np.full(self.steps, fill, dtype=float)
        taken = np.asarray(values[: self.steps], dtype=float)
        found[: len(taken)] = taken
        return found


def join(answers: Sequence[Answers], times: Sequence[Times]) -> tuple[Case, ...]:
    """Every record of answers with its times, refusals included, in the order of the answers."""
    lengths: dict[SourceKey, int] = {}
    keys = [key_of(a.source) for a in answers]
    for key, a in zip(keys, answers, strict=True):
        lengths[key] = max(lengths.get(key, 0), len(a.status))
    timed = {(key_of(t.source), t.formulation, t.solver, t.start): t for t in times}
    return tuple(
        Case(a, timed.get((key, a.formulation, a.solver, a.start)), lengths[key])
        for key, a in zip(keys, answers, strict=True)
    )


def as_used(cases: Iterable[Case], start: str = "warm") -> list[Case]:
    """One case for each source, formulation and solver: the last of STARTS, up to `start`, that was recorded.

    A solver has a row only where it differs from itself. One that cannot be updated has no cold start, and one that
    makes no use of an answer has no warm one; in a simulation its other row is what it does.
    """
    allowed = STARTS[: STARTS.index(start) + 1]
    found: dict[tuple[SourceKey, str, str], Case] = {}
    for c in cases:
        a = c.answers
        if a.start in allowed:
            key = key_of(a.source), a.formulation, a.solver
            other = found.get(key)
            if other is None or allowed.index(a.start) > allowed.index(other.answers.start):
                found[key] = c
    return list(found.values())


def quantiles(values: Vector) -> Vector:
    """The QUANTILES of values, NaN left out; entries of the data, so that infinite ones do no harm."""
    kept = np.sort(values[~np.isnan(values)])
    if not len(kept):
        return np.full(len(QUANTILES), np.nan)
    at = np.ceil(np.asarray(QUANTILES) * (len(kept) - 1) - 1e-9).astype(int)
    return np.asarray(kept[at])


def worst(values: Vector) -> float:
    """The largest of values, NaN left out; NaN if nothing is left."""
    kept = values[~np.isnan(values)]
    return float(kept.max()) if len(kept) else float("nan")
