"""Named problems: a system with its source, parameters, start, references and errata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import Any

import numpy as np

from gaussopt import registry
from gaussopt.errors import BadInput, UnknownName
from gaussopt.stepdata import Matrix, Vector, as_array
from gaussopt.system import System


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: default value, unit, meaning, and whether the source prints it."""

    name: str
    value: float
    unit: str
    meaning: str
    printed: bool = True


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the program computed about a printed formula.

    Attributes
    ----------
    numbers : name to value
    sentence : str
        What the numbers show.
    holds : bool
        Whether the printed formula survives; False means the erratum is confirmed.
    """

    numbers: Mapping[str, float]
    sentence: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Erratum:
    """A misprint or false formula of the source, with the computation that shows it."""

    id: str
    printed: str
    correct: str
    check: Callable[[], Evidence]


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference trajectory that ships with the package.

    Attributes
    ----------
    name : str
    file : str
        CSV in problems/data: t, q, d_q, dd_q, lam*, E_mech.
    parameters : the parameter values it belongs to
    accuracy : float
        Absolute error stated for it.
    """

    name: str
    file: str
    parameters: Mapping[str, float]
    accuracy: float
    description: str

    def load(self, coordinates: tuple[str, ...]) -> ReferenceData:
        """Read the table."""
        return _read_reference(self.file, coordinates)


@dataclass(frozen=True, slots=True)
class ReferenceData:
    """A reference trajectory: t (N,), q, v, a (N, n), lam (N, m), energy (N,) in joule."""

    t: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    lam: Matrix
    energy: Vector


@dataclass(frozen=True)
class Problem:
    """A named problem; `at` gives it other parameter values.

    Attributes
    ----------
    name, title, source : str
    build : () -> System
        Derives the system once, with the default parameters.
    start : parameters -> (q0, v0)
    parameters : the parameters with units and meaning
    t_end, dt : defaults for a run, s
    references, errata
    values : parameter values that differ from the defaults
    """

    name: str
    title: str
    source: str
    description: str
    build: Callable[[], System]
    start: Callable[[Mapping[str, float]], tuple[Vector, Vector]]
    parameters: tuple[Parameter, ...]
    t_end: float
    dt: float
    references: tuple[Reference, ...] = ()
    errata: tuple[Erratum, ...] = ()
    notes: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    state: tuple[Vector, Vector] | None = None

    def at(self, **settings: Any) -> Problem:
        """The same problem with other parameter values, or another start `q0`, `v0`.

        Raises
        ------
        UnknownName, BadInput
        """
        known = {p.name for p in self.parameters}
        values = dict(self.values)
        n = len(self.q0)
        q0, v0 = self.state if self.state is not None else (None, None)
        for key, value in settings.items():
            if key in ("q0", "v0"):
                vector = as_array(key, value, (n,))
                q0, v0 = (vector, v0) if key == "q0" else (q0, vector)
            elif key not in known:
                raise UnknownName(f"parameter of {self.name}", key, {*known, "q0", "v0"})
            else:
                try:
                    values[key] = float(value)
                except (TypeError, ValueError):
                    raise BadInput(f"Parameter {key!r} of {self.name} is {value!r}; expected a number.") from None
                if not np.isfinite(values[key]):
                    raise BadInput(f"Parameter {key!r} of {self.name} is {value!r}; it must be finite.")
        fields = {f: getattr(self, f) for f in self.__dataclass_fields__}
        problem = Problem(**{**fields, "values": values, "state": None})
        if q0 is not None or v0 is not None:
            dq, dv = problem.q0, problem.v0
            state = (dq if q0 is None else q0, dv if v0 is None else v0)
            problem = Problem(**{**fields, "values": values, "state": state})
        return problem

    @property
    def parameter_values(self) -> dict[str, float]:
        """All parameter values by name."""
        return {**{p.name: p.value for p in self.parameters}, **self.values}

    @cached_property
    def system(self) -> System:
        """The system at these parameter values; the equations are derived once per process."""
        return _built(self.build).with_parameters(**self.parameter_values)

    @property
    def q0(self) -> Vector:
        """Initial coordinates, (n,)."""
        return self.state[0] if self.state is not None else np.asarray(self._start[0], dtype=np.float64)

    @property
    def v0(self) -> Vector:
        """Initial velocities, (n,)."""
        return self.state[1] if self.state is not None else np.asarray(self._start[1], dtype=np.float64)

    @cached_property
    def _start(self) -> tuple[Vector, Vector]:
        return self.start(self.parameter_values)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return self.system.coordinates(len(self.q0))

    def reference(self, name: str) -> ReferenceData:
        """A reference trajectory by name.

        Raises
        ------
        UnknownName
        """
        for reference in self.references:
            if reference.name == name:
                return reference.load(self.coordinates)
        raise UnknownName(f"reference of {self.name}", name, [r.name for r in self.references])


def problem(name: str, **settings: Any) -> Problem:
    """A registered problem, with parameter overrides.

    Raises
    ------
    UnknownName, BadInput
    """
    entry: Problem = registry.load("problem", name)
    return entry.at(**settings) if settings else entry


@cache
def _built(build: Callable[[], System]) -> System:
    return build()


def _read_reference(file: str, coordinates: tuple[str, ...]) -> ReferenceData:
    source = resources.files("gaussopt.problems").joinpath("data", file)
    lines = source.read_text(encoding="utf-8").splitlines()
    header = lines[0].split(",")
    table = np.array([[float(x) for x in line.split(",")] for line in lines[1:]])
    column = {name: i for i, name in enumerate(header)}
    n = len(coordinates)
    q = table[:, 1 : 1 + n]
    lam = table[:, [i for name, i in column.items() if name.startswith("lam")]]
    return ReferenceData(
        table[:, 0],
        q,
        table[:, 1 + n : 1 + 2 * n],
        table[:, 1 + 2 * n : 1 + 3 * n],
        lam,
        table[:, column["E_mech"]],
    )
