"""Find the values of a parameter at which two formulations begin to differ, by bisection in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from typing import Any, NamedTuple

from gaussopt.atlas.grid_states import values_at
from gaussopt.atlas.scan import parse_slips, problem_at
from gaussopt.atlas.view import slip_label
from gaussopt.core.arrays import check_progress
from gaussopt.core.display import About, shown
from gaussopt.falsification.example import Example
from gaussopt.falsification.mechanisms import SLIP, MechanismSteps
from gaussopt.falsification.pairs import ComparedPair
from gaussopt.falsification.search import Proof
from gaussopt.modelling.parameter_grid import Axis
from gaussopt.modelling.problem import Problem

PARTED = 1e-9
"""Relative difference above which two exact answers count as different, far above a step's rounding errors."""

CLOSE = 1e-9
"""Length of the interval at which a bisection ends, relative to the magnitude of its ends."""


class Stretch(NamedTuple):
    """Values of the axis on which the comparison has one outcome.

    Attributes
    ----------
    slip : signs of slip, such as "+-"
    outcome : "equal" up to a relative difference of 1e-9, "different", or "undecided" where no exact answer is known
    low, high : first and last value
    """

    slip: str
    outcome: str
    low: float
    high: float


class Threshold(NamedTuple):
    """A value of the axis at which two formulations begin to differ.

    Attributes
    ----------
    slip : signs of slip
    equal, different : values next to each other at which the answers are equal, and at which they are not
    state : parameters at `different`, with the parameters that the rules of the grid compute from them
    example, proof : the step at `different`, and the proof that the answers differ there
    """

    slip: str
    equal: float
    different: float
    state: Mapping[str, float]
    example: Example
    proof: Proof | None


@shown
@dataclass(frozen=True, eq=False)
class Boundary:
    """The parts of an axis on which two formulations agree or differ.

    Attributes
    ----------
    problem, a, b, axis : names
    stretches : for each combination of slip signs, the axis cut where the outcome of the comparison changes
    thresholds : those cuts that separate "equal" from "different"
    """

    problem: str
    a: str
    b: str
    axis: str
    stretches: tuple[Stretch, ...]
    thresholds: tuple[Threshold, ...]

    @property
    def lines(self) -> list[str]:
        """Sentences, one for each combination of slip signs."""
        found = []
        for slip, parts in groupby(self.stretches, key=lambda part: part.slip):
            told = ", ".join(f"{part.outcome} from {part.low:.7g} to {part.high:.7g}" for part in parts)
            found.append(f"{self.axis}{f', slip {slip}' if slip else ''}: {told}")
        return found

    def _about(self) -> About:
        title = f"{self.a} and {self.b} on {self.problem}: {len(self.thresholds)} thresholds along {self.axis}"
        rows = [part._asdict() for part in self.stretches]
        return About(title, tuple(self.lines), [tuple(row.values()) for row in rows], Stretch._fields)

    def to_mapping(self) -> dict[str, Any]:
        """Return the contents for JSON; each threshold has the entries of a falsify.json."""
        thresholds = [
            {"slip": at.slip, "equal": at.equal, "different": at.different, "state": dict(at.state), "a": self.a,
             "b": self.b, "found": at.proof is not None, "example": at.example.to_mapping(),
             "proof": None if at.proof is None else at.proof.to_mapping()}
            for at in self.thresholds
        ]  # fmt: skip
        return {
            "problem": self.problem, "a": self.a, "b": self.b, "axis": self.axis,
            "stretches": [part._asdict() for part in self.stretches], "thresholds": thresholds,
        }  # fmt: skip


def threshold(
    problem: str | Problem, a: str, b: str, axis: Axis, *, slips: str | Sequence[Sequence[int]] = "all",
    progress: Callable[[float], None] | None = None, **settings: Any,
) -> Boundary:  # fmt: skip
    """Find the values of a parameter at which two formulations begin to differ.

    The state is that of an atlas: the problem's start, all contacts closed and sliding. Answers are compared in exact
    arithmetic on the numbers of the step. Between two values of the axis with different outcomes, bisection finds
    the change. A change that is reversed before the next value of the axis is not detected.

    Parameters
    ----------
    problem : str or Problem, with at most six contacts in the plane
    a, b : names of formulations
    axis : the parameter, and the values at which the answers are compared first
    slips : signs of the slip velocities, as in `scan`
    progress : called with the fraction done
    settings : parameters, `case` or `variant` of the problem

    Raises
    ------
    UnknownName, BadInput

    Examples
    --------
    >>> import gaussopt as go
    >>> axis = go.Axis("mu", 0.1, 1.0, 4)
    >>> found = go.threshold("two-bar", "normal-force-qp", "lcp", axis, theta1_0=1.4)
    >>> [(at.slip, round(at.different, 4)) for at in found.thresholds]
    [('++', 0.345), ('--', 0.345)]
    """
    check_progress(progress)
    entry = problem_at(problem, settings)
    space = MechanismSteps(entry, (), [axis])
    pair, names = ComparedPair(a, b, space), (axis.name, *(f"{SLIP}{i + 1}" for i in range(space.contacts)))
    signs, stretches, thresholds = parse_slips(slips, space.contacts), list[Stretch](), list[Threshold]()
    values = sorted(map(float, axis.values))
    for number, row in enumerate(signs):
        slip = slip_label(row)

        def at(value: float, row: Any = row) -> Example | None:
            return space.at(dict(zip(names, (value, *map(float, row)), strict=True)))

        known = [(value, _outcome(pair, at(value))) for value in values]
        cuts = [cut for low, high in pairwise(known) for cut in _changes(pair, at, low, high)]
        ends = [known[0], *chain(*cuts), known[-1]]
        stretches += [Stretch(slip, low[1], low[0], high[0]) for low, high in zip(ends[::2], ends[1::2], strict=True)]
        for cut in cuts:
            value = {outcome: value for value, outcome in cut}
            example = at(value["different"]) if value.keys() == {"equal", "different"} else None
            if example is not None:
                state = values_at(entry, [axis], [value["different"]])
                proof = pair.prove(example)
                thresholds.append(Threshold(slip, value["equal"], value["different"], state, example, proof))
        if progress is not None:
            progress((number + 1) / len(signs))
    return Boundary(entry.label, *pair.names, axis.name, tuple(stretches), tuple(thresholds))


End = tuple[float, str]
"""A value of the axis, and the outcome of the comparison at this value."""


def _outcome(pair: ComparedPair, example: Example | None) -> str:
    difference = None if example is None else pair.exact_difference(example)
    return "undecided" if difference is None else "different" if difference > PARTED else "equal"


def _changes(
    pair: ComparedPair, at: Callable[[float], Example | None], low: End, high: End
) -> Iterator[tuple[End, End]]:
    """Yield the changes of the outcome between two values: one, or more if a third outcome lies between them."""
    while low[1] != high[1]:
        value = 0.5 * (low[0] + high[0])
        if high[0] - low[0] <= CLOSE * max(abs(low[0]), abs(high[0])) or not low[0] < value < high[0]:
            yield low, high
            return
        middle = value, _outcome(pair, at(value))
        if middle[1] not in (low[1], high[1]):
            yield from _changes(pair, at, low, middle)
            low = middle
        elif middle[1] == low[1]:
            low = middle
        else:
            high = middle
