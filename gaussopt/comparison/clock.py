"""Timing of rivals on a source: what is timed, in which order, and which time is subtracted.

Rivals take turns, in a seeded random order, so that noise affects all equally. A turn is one pass over the steps. A
fast solver first solves the leading steps an additional time, so that the timed re-solves include neither set-up nor
cold caches. Answers are certified after the pass. Each pass begins with a new solver and with its own random units
(`in_units`), so that an answer remembered from another pass is wrong. Some passes are repeated with the same numbers; a
solver that is then much faster remembers its answers. While timed, a solver only sets up, updates and solves; the clock
runs until its answer has been read.

A solver that does nothing takes turns with the rivals. Its time is that of the measuring code alone and is subtracted
from all times; the time of the backend and its adapter remains.
"""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count, cycle, islice
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from gaussopt.comparison.items import Item
from gaussopt.comparison.records import PARTS, QUANTILES, STARTS, StepSource, Times
from gaussopt.comparison.solver_sequence_run import SequenceRun
from gaussopt.core.errors import GaussoptError
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution, Timing
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status
from gaussopt.kinds import page_of
from gaussopt.solving.foreign_formulation import find
from gaussopt.solving.solver_sequence import SolverSequence

MAX_REPETITIONS = 25
"""Maximum number of passes over a sequence; further passes would hardly change the quantiles."""

REPLAYS = (1, 3, 5)
"""Indices of the passes that use the numbers of the previous pass again."""

LEADING = 8
"""Number of leading steps, which are solved to warm up a rival and are replayed."""

QUICK = 2e-3
"""Time of a certified step, s, below which cold caches would dominate, so that each pass first fills the caches."""

FELT = 1e-3
"""Processor time of a step, s, above which a replay can show that a solver remembers answers."""

LONG = 5.0
"""Steps longer than LONG seconds and LONG times the budget are timed in warm-up only; imports hardly affect them."""

UNREFUTED = (Status.SOLVED, Status.NOT_PROVED)
"""Statuses of timed answers that do not count as failures of their solver."""

LEAST = 2
"""Least number of steps on which every rival is timed, whatever its budget: a first solve and a re-solve."""

About = tuple[str, str, str]
"""Formulation, solver and start."""


def on_one_clock(
    source: StepSource, rivals: Sequence[About], items: Sequence[Item], begins: Sequence[int], tolerance: float,
    budget: float,
) -> list[Times]:  # fmt: skip
    """Time rivals for `budget` seconds each; `begins` are the indices of the steps at which solvers are set up anew."""
    units = drawn_units()
    found = [_Rival(about, tolerance, items, units, budget) for about in rivals]
    empty = _Harness(rivals[0][0])
    order, between = random.Random(0), _Between()
    with _collected():
        for number in count():
            active = [r for r in found if r.takes_part(replay=number in REPLAYS)]
            if not active and number not in REPLAYS:
                break
            turns: list[Any] = [empty, *active]
            order.shuffle(turns)
            for one in turns:
                between.run()
                one.take(items)
            gc.collect()
    ranked = [i for i in range(len(items)) if i not in set(begins)] or list(range(len(items)))
    return [r.times(source, ranked, empty.seconds, r.early(items)) for r in found]


@contextmanager
def _collected() -> Iterator[None]:
    """Switch automatic garbage collection off in the `with` block, and exempt objects that exist at its start."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if collecting:
            gc.enable()


class _Between:
    """Work done before every turn, so that no rival finds in the caches what its own or a similar turn left there."""

    def __init__(self) -> None:
        self._large = np.ones(1 << 18)  # 2 MiB, larger than the caches of a single core
        self._A, self._b = np.eye(24) + 0.01, np.ones(24)

    def run(self) -> None:
        """Fill the caches with a large array, then run the numpy and LAPACK code that every solver uses."""
        self._large += 1.0
        for _ in range(3):
            np.linalg.solve(self._A, self._b)


class _Empty(Solver[Options]):
    """A solver that does nothing, to time the measuring code alone."""

    name = "empty"
    title = "Returns zero"
    source = ""
    accepts = (Program,)
    dense = sparse = updates = True

    def setup(self, program: Program) -> None:
        self._answer = RawSolution(np.zeros(program.n), None, Status.SOLVED)

    def update(self, program: Program) -> None:
        pass

    def solve(self, start: Any) -> RawSolution:
        return self._answer


class _Harness:
    """The empty solver on the programs of a formulation; its time is that of the measuring code, the harness, alone."""

    def __init__(self, formulation: str) -> None:
        self._formulation = formulation
        self._sequence = SolverSequence(_Empty(None, Options()), warm_start=False)
        self._sequence.checked = False
        self._seconds: list[float] = []

    def take(self, items: Sequence[Item]) -> None:
        """Time the empty solver on some items; steps that the formulation refuses are left out."""
        for item in items[:LEADING]:
            with suppress(GaussoptError):
                program: Any = item.data
                if page_of(program).formulations == "step":
                    formulation = find(self._formulation)
                    program = formulation.apply(formulation.prepare(program))[0]
                self._seconds.append(work(self._sequence.solve(program)[1]))

    @property
    def seconds(self) -> float:
        """Median time; 0 if nothing was timed."""
        return median(self._seconds) if self._seconds else 0.0


def work(t: Timing) -> float:
    """Return the seconds between the first call of a solver and the reading of its answer."""
    return t.setup + t.update + t.solve


class _Rival:
    """A formulation and a solver with one kind of start that take part in the timing, and their times.

    A few steps are solved before the timing begins, to import the backend and to estimate how many steps fit.
    """

    def __init__(
        self, about: About, tolerance: float, items: Sequence[Item], units: Iterator[Units], budget: float
    ) -> None:
        self._about, self._tolerance, self._units, self._budget = about, tolerance, units, budget
        run, ends, replies = self._run_of(checked=True), [perf_counter()], []
        for item in items[:LEADING]:
            replies.append(run.solve(item))
            ends.append(perf_counter())
            if ends[-1] - ends[0] > budget and len(ends) > LEAST:
                break
        self._each = each = median(np.diff(ends))
        self._quick = each < QUICK
        self._steps = min(len(items), max(LEAST, int(budget / each)))
        self._passes, self._spent, self._last = 0, 0.0, 0.0
        self._new: list[list[Timing]] = [[] for _ in range(self._steps)]
        self._unconfirmed, self._asked = [0] * self._steps, 0
        self._cpu: list[list[float]] = [[] for _ in range(self._steps)]
        self._again: list[list[float]] = [[] for _ in range(self._steps)]
        if median(work(reply.timing) for reply in replies) > max(LONG, LONG * budget):
            self._spent, self._asked, self._passes, self._now = math.inf, 1, 1, next(units)
            for i, reply in enumerate(replies[: self._steps]):
                self._new[i].append(reply.timing)
                self._unconfirmed[i] += reply.status not in UNREFUTED

    def _run_of(self, checked: bool) -> SequenceRun:
        return SequenceRun(*self._about, self._tolerance, checked)

    def takes_part(self, replay: bool) -> bool:
        """Return whether the budget allows another pass, or a replay of the last pass; the first pass always runs.

        At least two steps are replayed if a single step fits into the budget.
        """
        self._replay, room = replay, self._spent + self._last <= self._budget and self._passes < MAX_REPETITIONS
        self._replayed = LEADING if room else LEAST
        if self._passes and not room and not (replay and self._asked == 1 and self._each < self._budget):
            return False
        if not replay:
            self._now, self._passes = next(self._units), self._passes + 1
        return True

    def take(self, items: Sequence[Item]) -> None:
        """Solve the items in the units of this pass, then certify the answers."""
        units, cold = next(self._units), self._about[2] == STARTS[0]
        asked = [in_units(item, self._now) for item in items[: self._steps]][: self._replayed if self._replay else None]
        before = [in_units(item, units) for item in islice(cycle(items), LEADING)] if self._quick else []
        run, begin = self._run_of(checked=False), perf_counter()
        lap = [run.ask(item) for item in before]
        pending, spent = [], []
        for item in asked:
            start = process_time()
            pending.append(run.ask(item))
            spent.append(process_time() - start)
        if lap and not cold:
            pending[0] = lap[0]  # this lap includes the set-up; the rest of the pass consists of re-solves
        replies = [certify() for certify in pending]
        seconds = perf_counter() - begin
        self._last = self._last if self._replay else seconds
        self._spent += seconds
        self._asked += 1
        for i, reply in enumerate(replies):
            self._unconfirmed[i] += reply.status not in UNREFUTED
            (self._again if self._replay else self._cpu)[i].append(spent[i])
            if not self._replay:
                self._new[i].append(reply.timing)

    def early(self, items: Sequence[Item]) -> int:
        """Count the leading steps that are wrong in all timed answers, but right after an untimed call of `refuses`."""
        wrong = [i for i, n in enumerate(self._unconfirmed[:LEADING]) if n == self._asked]
        if not wrong or math.isinf(self._spent):  # only the warm-up pass, which calls `refuses`, was timed
            return 0
        run = self._run_of(checked=True)
        right = [run.solve(in_units(item, self._now)).status is Status.SOLVED for item in items[: wrong[-1] + 1]]
        return sum(right[i] for i in wrong)

    def times(self, source: StepSource, ranked: Sequence[int], harness: float, early: int) -> Times:
        """Return quantiles of the times at the steps that rank solvers, minus the time of the harness."""
        own = [[max(0.0, work(t) - harness) for t in at] for at in self._new]
        timed = [i for i in ranked if i < self._steps] or list(range(self._steps))
        samples = [t for i in timed for t in self._new[i]]
        columns = {part: [getattr(t, part) for t in samples] for part in (*Timing._fields, "total")}
        columns["work"] = [s for i in timed for s in own[i]]
        parts = {part: np.quantile(columns[part], QUANTILES).tolist() for part in PARTS}
        # Noise only adds time, so the shortest pass decides; a single disturbance does not make a step count as slow.
        begin = 0 if self._about[2] == STARTS[0] else 1
        both = [x for x in list(zip(self._cpu, self._again, strict=True))[begin:] if x[1]]
        felt = [(min(new), min(again)) for new, again in both if min(new) > FELT]
        # If most steps are shorter than FELT, disturbances made the few others long.
        ratios = [again / new for new, again in felt] if 2 * len(felt) > len(both) else []
        return Times(
            source, *self._about, parts, list(map(median, own)), self._passes, self._unconfirmed, harness,
            median(ratios) if ratios else float("nan"), early,
        )  # fmt: skip


Units = tuple[float, float]
"""Factors (c, s): c multiplies the numerical values of masses, s those of accelerations."""

FINENESS = 4096
"""Factors are 1 + k / FINENESS: with so few binary digits, products with short numbers are exact."""


def drawn_units() -> Iterator[Units]:
    """Yield random factors between 1 and 1.5 that no solver can predict; the first FINENESS/2 values of c differ."""
    drawn, half = random.SystemRandom(), FINENESS // 2
    while True:
        for k in drawn.sample(range(1, half + 1), half):
            yield 1.0 + k / FINENESS, 1.0 + drawn.randint(1, half) / FINENESS


def in_units(item: Item, units: Units) -> Item:
    """Write an item in other units, so that a solver that repeats a stored answer is wrong.

    If the unit of mass is divided by c and the unit of acceleration by s, the numbers of the program change and its
    answer is multiplied by s; active rows, feasibility, uniqueness and conditioning do not change.
    """
    return Item(page_of(item.data).in_units(item.data, *units), None if item.a is None else units[1] * item.a, item.t)
