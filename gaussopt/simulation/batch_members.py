"""The members of a batch: parameters and initial state of each trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput, GaussoptError, UnknownName, one_line
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.problem import Problem

INITIAL = ("q0", "v0")


@dataclass(frozen=True)
class BatchMembers:
    """The members of a batch: one problem with several sets of parameters and initial states.

    Attributes
    ----------
    values : for each parameter of the problem, its values for all members, (N,)
    varied : names of the parameters that the user gave
    q, v : (N, n), initial states
    faults : messages about errors in a member's data, by the index of the member
    """

    problem: Problem | AbstractSystem
    values: Mapping[str, Vector]
    varied: tuple[str, ...]
    q: Matrix
    v: Matrix
    faults: Mapping[int, str]

    @classmethod
    def of(
        cls, problem: Problem | AbstractSystem, parameters: Mapping[str, Any] | None, initial: Mapping[str, Any] | None
    ) -> BatchMembers:
        """Make the members from a user's parameters and initial values; raises BadInput or UnknownName."""
        base = problem.parameter_values if isinstance(problem, Problem) else problem.parameters
        given = {k: _numbers(f"parameters[{k!r}]", x, (0, 1)) for k, x in _mapping("parameters", parameters).items()}
        for name in given:
            if name not in base:
                raise UnknownName(f"parameter of {problem.name}" if problem.name else "parameter", name, base)
        states = {k: _numbers(f"initial[{k!r}]", x, (1, 2)) for k, x in _mapping("initial", initial).items()}
        for name in states:
            if name not in INITIAL:
                raise UnknownName("initial value", name, INITIAL)
        count = _count(
            {f"parameters[{k!r}]": x.shape for k, x in given.items() if x.ndim}
            | {f"initial[{k!r}]": x.shape for k, x in states.items() if x.ndim == 2}
        )
        values = {k: np.full(count, x) if k not in given else np.broadcast_to(given[k], count) for k, x in base.items()}
        faults: dict[int, str] = {}
        for name in given:
            for i in np.flatnonzero(~np.isfinite(values[name])):
                faults.setdefault(
                    int(i), f"Parameter {name!r} of trajectory {i} is {values[name][i]}; it must be finite."
                )
        q, v = _starts(problem, values, states, count, faults)
        for what, state in (("q0", q), ("v0", v)):
            for i, j in np.argwhere(~np.isfinite(state)):
                faults.setdefault(int(i), f"{what}[{j}] of trajectory {i} is {state[i, j]}; it must be finite.")
        return cls(problem, values, tuple(given), q, v, faults)

    @property
    def count(self) -> int:
        """Number N of members."""
        return len(self.q)

    @property
    def system(self) -> AbstractSystem:
        """The system at its default parameters."""
        return self.problem.system if isinstance(self.problem, Problem) else self.problem

    def parameters(self, i: int) -> dict[str, float]:
        """Return the values of the user's parameters for member i."""
        return {name: float(self.values[name][i]) for name in self.varied}

    def one(self, i: int) -> Problem | AbstractSystem:
        """Return the problem with the parameters of member i."""
        if isinstance(self.problem, Problem):
            return self.problem.at(**self.parameters(i))
        one = self.problem.with_parameters(**self.parameters(i))
        one.unused = ()  # a parameter that affects only the start is no mistake here
        return one


def _mapping(label: str, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if given is not None and not hasattr(given, "items"):  # a pandas table has items, although it is no mapping
        example = '{"m1": [...]}' if label == "parameters" else '{"q0": [...], "v0": [...]}'
        raise BadInput(f"{label} is {type(given).__name__}; give names with arrays, such as {example}.")
    found: dict[str, Any] = {}
    for key, value in () if given is None else given.items():
        # A SymPy symbol stands for its name, as in from_lagrangian; reading the name does not import SymPy.
        name = key if isinstance(key, str) else getattr(key, "name", None)
        if not isinstance(name, str):
            raise BadInput(f"{label} has the key {key!r}; give names.")
        if name in found:
            raise BadInput(f"{label} names {name!r} twice.")
        found[name] = value
    return found


def _numbers(label: str, given: Any, dimensions: tuple[int, ...]) -> NDArray[np.float64]:
    """Return given numbers, NaN included, as an array; raise BadInput unless its dimension is in `dimensions`."""
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{label} is not an array of numbers.") from None
    if found.ndim not in dimensions:
        shape = (
            "one number for each trajectory" if 2 not in dimensions else "one row of coordinates for each trajectory"
        )
        raise BadInput(f"{label} has shape {found.shape}; give {shape}.")
    return found


def _count(shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Return the number of members, which arrays of these shapes determine; raise BadInput if they disagree."""
    if not shapes:
        raise BadInput(
            "Nothing says how many trajectories there are; give an array of values under parameters, or q0 or v0 with "
            "one row for each under initial."
        )
    first, *others = shapes
    for other in others:
        if shapes[other][0] != shapes[first][0]:
            raise BadInput(
                f"{first} is for {shapes[first][0]} trajectories and {other} for {shapes[other][0]}; give one entry "
                "for each trajectory in both."
            )
    if not shapes[first][0]:
        raise BadInput(f"{first} is empty; give at least one trajectory.")
    return shapes[first][0]


def _starts(
    problem: Problem | AbstractSystem,
    values: Mapping[str, Vector],
    states: Mapping[str, NDArray[np.float64]],
    count: int,
    faults: dict[int, str],
) -> tuple[Matrix, Matrix]:
    """Return q and v at the start of each member: given, or computed by the problem from the member's parameters."""
    if isinstance(problem, AbstractSystem):
        if len(states) < 2:
            raise BadInput("A bare system needs q0 and v0 under initial.")
        n = states["q0"].shape[-1]
        own: Sequence[Matrix] = ()
    else:
        n = len(problem.q0)
        own = () if len(states) == 2 else _own_starts(problem, values, count, n, faults)
    found = []
    for k, name in enumerate(INITIAL):
        if name in states and states[name].shape[-1] != n:
            raise BadInput(f"initial[{name!r}] has rows of {states[name].shape[-1]} entries, expected {n}.")
        found.append(np.broadcast_to(states[name], (count, n)).copy() if name in states else own[k])
    return found[0], found[1]


def _own_starts(
    problem: Problem, values: Mapping[str, Vector], count: int, n: int, faults: dict[int, str]
) -> tuple[Matrix, Matrix]:
    q, v = np.tile(problem.q0, (count, 1)), np.tile(problem.v0, (count, 1))
    if problem.state is not None:
        return q, v
    start = problem.starts.get(problem.variant, problem.start)
    table = np.column_stack(list(values.values())).tolist() if values else [[] for _ in range(count)]
    with np.errstate(all="ignore"):  # instead of warnings, non-finite values are reported
        for i in range(count):
            if i in faults:
                continue
            try:
                q[i], v[i] = start(dict(zip(values, table[i], strict=True)))
            except (GaussoptError, ArithmeticError, ValueError) as error:
                faults[i] = f"The start of trajectory {i} cannot be computed: {one_line(error)}"
    return q, v
