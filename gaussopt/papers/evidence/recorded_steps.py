"""Measurements for the claims on time and accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from timeit import timeit

import numpy as np

from gaussopt.comparison.cases import answer_case, time_case
from gaussopt.comparison.records import Answers, Times
from gaussopt.comparison.spec import Spec
from gaussopt.comparison.step_table import TimedAnswers, competing
from gaussopt.core.arrays import Vector
from gaussopt.core.tolerances import DEFAULT_TOLERANCE


def recorded(specs: Sequence[Spec], pairs: Sequence[tuple[str, str]], budget: float | None) -> list[TimedAnswers]:
    """Return answers, and times within a budget in s if given, of formulations by solvers that do not refuse."""
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


def shortest(works: Sequence[Callable[[], object]], rounds: int) -> Vector:
    """Measure the shortest time of each of several functions, which take turns, s, since noise only adds time."""
    return np.asarray(np.min([[timeit(work, number=1) for work in works] for _ in range(rounds)], axis=0))
