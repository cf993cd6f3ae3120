"""Measurements for the claims on time and accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from timeit import timeit

import numpy as np

from gaussopt.comparison.cases import answer_case, time_case
from gaussopt.comparison.records import Answers, Times
from gaussopt.comparison.spec import Spec
from gaussopt.comparison.step_table import TimedAnswers, competing
from gaussopt.core.arrays import Matrix
from gaussopt.core.tolerances import DEFAULT_TOLERANCE


def recorded(specs: Sequence[Spec], pairs: Sequence[tuple[str, str]], budget: float | None) -> list[TimedAnswers]:
    """Return the answers of the pairs that accept the steps, with times if a `budget` in s is given."""
    answers: list[Answers] = []
    times: list[Times] = []
    for spec in specs:
        where = spec.to_mapping()
        found = [Answers.from_mapping(a) for f, s in pairs for a in answer_case(where, f, s, DEFAULT_TOLERANCE)]
        answers += found
        if budget is not None:
            taken = list(dict.fromkeys((a.formulation, a.solver) for a in found if not a.refused))
            times += [Times.from_mapping(t) for t in time_case(where, taken, DEFAULT_TOLERANCE, budget)]
    return competing(answers, times)


def in_turns(works: Sequence[Callable[[], object]], rounds: int, number: int | Sequence[int] = 1) -> Matrix:
    """Measure the processor times of several functions, called in alternation; a first round is discarded.

    Return seconds per call, (rounds, works), each the mean of `number` calls. Processor time excludes waiting, so that
    the times are valid on a machine with other load too.
    """
    calls = np.broadcast_to(number, len(works)).tolist()
    turns = [[timeit(w, number=n, timer=process_time) / n for w, n in zip(works, calls, strict=True)]
             for _ in range(rounds + 1)]  # fmt: skip
    return np.asarray(turns[1:])
