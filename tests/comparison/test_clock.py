"""The clock of a comparison: who is charged for what, and who games it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from registrations import forget_after, register_guests

import gaussopt as go
from gaussopt.comparison import clock
from gaussopt.comparison.clock import MAX_REPETITIONS, drawn_units, in_units, on_one_clock
from gaussopt.comparison.items import Item
from gaussopt.comparison.records import STARTS, StepSource
from gaussopt.comparison.results import Results
from gaussopt.comparison.solver_sequence_run import SequenceRun
from gaussopt.comparison.sources import family_sweep
from gaussopt.core import registry
from gaussopt.core.programs import LCP, QP
from gaussopt.reporting.sections.comparison import document

PLUGINS = Path(__file__).parents[1] / "plugins"


@pytest.fixture(scope="module")
def race(compare: Callable[..., Results]) -> Iterator[Results]:
    """Three who game the clock, or seem to, and one who does not."""
    with pytest.MonkeyPatch.context() as patch:
        forget_after(patch)
        register_guests()
        source = family_sweep("linkage", ["bodies=3"])[:1]
        solvers = ["notebook", "one-buffer", "early-bird", "kkt"]
        yield compare(source, ["gauss"], solvers, motions=False, time_budget=0.2)


def told(results: Results, solver: str) -> str:
    return "\n".join(f.text if hasattr(f, "text") else str(f) for f in document(results).findings if solver in str(f))


def test_a_solver_that_remembers_its_answers_is_named(race: Results) -> None:
    assert all(all(a.confirmed) for a in race.answers)
    # One buffer for all answers is judged by what it held when it was returned.
    assert all(sum(t.unconfirmed) == 0 and t.early == 0 for t in race.times if t.solver != "early-bird")
    # Both its rows, of which the second would find in the notebook what the first has written.
    assert [t.solver for t in race.times if t.remembers] == ["notebook"] * 2
    assert "notebook remembers answers" in told(race, "notebook")
    assert "remembers" not in told(race, "one-buffer") + told(race, "kkt")


def test_a_solver_that_works_before_the_clock_is_named(race: Results) -> None:
    for t in race.times:
        assert (t.early > 0) == (t.solver == "early-bird")
        assert (min(t.unconfirmed) > 0) == (t.solver == "early-bird")
    assert "early-bird works where nobody times it" in told(race, "early-bird")


def test_nothing_but_set_up_update_and_solve_is_called_on_the_clock() -> None:
    go.register(PLUGINS / "early_bird.py")
    step = go.StepData.from_mapping({"M": [[2.0]], "Q": [4.0]})
    assert SequenceRun("gauss", "early-bird", "cold").solve(Item(step)).status is go.Status.SOLVED
    assert SequenceRun("gauss", "early-bird", "cold", checked=False).solve(Item(step)).status is go.Status.CRASHED


SMALL = Item(LCP(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([-1.0, -2.0])))


@pytest.fixture
def dawdler() -> Any:
    """A solver that pauses 30 ms, and was not asked anything yet."""
    go.register(PLUGINS / "dawdler.py")
    found = registry.load("solver", "dawdler")
    found.asked.clear()
    return found


@pytest.mark.parametrize(("start", "budget", "most"), [*zip(STARTS, (0.01, 0.05, 0.2), (2, 3, 8), strict=True)])
def test_a_single_program_is_not_asked_beyond_the_budget(start: str, budget: float, most: int, dawdler: Any) -> None:
    """To warm up, to be timed, and once more with the same numbers; there is time for no more."""
    rivals = [("", "dawdler", start), ("", "lemke", "setup")]
    slow, quick = on_one_clock(StepSource("lcp", "small"), rivals, (SMALL,), [0], 1e-7, budget)
    assert 2 <= len(dawdler.asked) <= most
    assert slow.work >= 0.03
    assert slow.unconfirmed == quick.unconfirmed == [0]
    assert 1 <= slow.repetitions <= budget / 0.03 + 1
    assert quick.repetitions <= MAX_REPETITIONS


def test_a_step_that_takes_very_long_is_asked_once(monkeypatch: pytest.MonkeyPatch, dawdler: Any) -> None:
    """Whoever takes seconds is measured while warming up."""
    monkeypatch.setattr(clock, "LONG", 0.01)
    (slow,) = on_one_clock(StepSource("lcp", "small"), [("", "dawdler", "cold")], (SMALL,), [0], 1e-7, 1e-3)
    assert len(dawdler.asked) == slow.repetitions == 1
    assert slow.work >= 0.03
    assert (slow.unconfirmed, slow.early) == ([0], 0)


def test_a_solver_that_was_disturbed_once_is_not_called_one_that_remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that was interrupted for 5 ms looked as if the passes after it had found their answers remembered."""
    calls: list[float] = []

    def disturbed() -> float:
        calls.append(process_time())
        return calls[-1] + (5e-3 if len(calls) > 1 else 0.0)

    monkeypatch.setattr(clock, "process_time", disturbed)
    (times,) = on_one_clock(StepSource("lcp", "small"), [("", "lemke", "setup")], (SMALL,), [0], 1e-7, 1.0)
    assert len(calls) > 8
    assert math.isnan(times.replayed)
    assert not times.remembers


@pytest.mark.parametrize(("status", "held"), [(go.Status.NOT_PROVED, False), (go.Status.INACCURATE, True)])
def test_an_answer_that_is_not_proved_on_the_clock_is_not_held_against_its_solver(
    status: go.Status, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In other units the same answer may be proved or not."""
    module = sys.modules[SequenceRun.__module__]
    judged = module.verified
    monkeypatch.setattr(module, "verified", lambda *of: replace(judged(*of), status=status))
    (times,) = on_one_clock(StepSource("lcp", "small"), [("", "lemke", "setup")], (SMALL,), [0], 1e-7, 0.01)
    assert bool(times.unconfirmed[0]) is held


def programs() -> list[Any]:
    contact = {
        "M": [[2.0, 0.0], [0.0, 3.0]], "Q": [1.0, -9.0], "h": [0.5, 0.25], "J_N": [[0.0, 1.0]], "zeta_N": [-0.5],
        "J_T": [[[1.0, 0.0]]], "zeta_T": [[0.25]], "v_T": [[0.5]], "mu": [0.3],
    }  # fmt: skip
    W = np.eye(3) + 0.1 * np.ones((3, 3))
    return [
        go.StepData.from_mapping({"M": [[2.0, 0.5], [0.5, 1.0]], "Q": [1.0, 2.0], "J": [[1.0, 1.0]], "gamma": [0.5]}),
        go.StepData.from_mapping(contact),
        QP(np.eye(2), np.array([1.0, -3.0]), np.array([[1.0, 1.0]]), np.array([-1.0]), np.array([1.0])),
        LCP(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([-1.0, -2.0])),
        go.ConeComplementarity(W, np.array([-1.0, 2.0, 0.5]), np.array([0.5])),
    ]


SOLVERS: dict[type, str] = {QP: "daqp", LCP: "lemke", go.ConeComplementarity: "hybrid"}


@pytest.mark.parametrize("data", programs(), ids=lambda p: type(p).__name__)
def test_in_other_units_the_answer_is_a_multiple(data: Any) -> None:
    units = next(drawn_units())
    other: Any = in_units(Item(data), units).data
    assert all(1.0 < u <= 1.5 for u in units)
    old: Any
    new: Any
    if isinstance(data, go.StepData):
        formulation, solver = ("stick-slip", "lemke") if data.k else ("gauss", "kkt")
        old, new = (go.solve_step(x, formulation, solver) for x in (data, other))
        x, y = old.a, new.a
    else:
        old, new = (go.solve(p, SOLVERS[type(p)]) for p in (data, other))
        x, y = old.x, new.x
    assert old.status is new.status is go.Status.SOLVED
    assert np.allclose(y, units[1] * x, rtol=1e-9, atol=1e-12)
    assert not np.allclose(y, x, rtol=1e-6)  # so that a remembered answer is refuted
    # Every array that decides the answer is another one, or has no unit.
    same = {f.name for f in fields(data) if isinstance(v := getattr(data, f.name), np.ndarray) and v.any()
            and np.array_equal(v, getattr(other, f.name))}  # fmt: skip
    assert same <= {"A", "J", "J_N", "J_T", "v_T", "mu"}


def test_equalities_stay_one_array() -> None:
    b = np.ones(1)
    qp = QP(np.eye(2), np.ones(2), np.ones((1, 2)), b, b)
    other = in_units(Item(qp), (1.25, 1.5)).data
    assert isinstance(other, QP)
    assert other.l is other.u
    assert other.l.tolist() == [1.5]
    assert in_units(Item(replace(qp, u=np.array([np.inf]))), (1.25, 1.5)).data.u.tolist() == [np.inf]  # type: ignore[union-attr]


def test_no_units_come_twice() -> None:
    units = drawn_units()
    assert len({next(units) for _ in range(1000)}) == 1000
