"""Named problems: a system with its source, parameters, start, references and errata.

A problem of the package states all of these; a user's problem, from `Problem.of`, needs a system, a start and t_end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.core import registry
from gaussopt.core.arrays import Vector, as_array, as_coordinates
from gaussopt.core.display import About, listed, shown
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.event import Event
from gaussopt.core.foreign import call
from gaussopt.core.keywords import suggesting
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.erratum import Erratum
from gaussopt.modelling.outlined_system import OutlinedSystem
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.parameter_grid import AtlasGrid
from gaussopt.modelling.reference import Reference, ReferenceData
from gaussopt.modelling.sketch import Draw, Sketch, as_sketch
from gaussopt.modelling.solids import SpacePicture


@dataclass(frozen=True, slots=True)
class Case:
    """A named set of parameter values, with its own end time."""

    values: Mapping[str, float]
    t_end: float
    description: str


@shown
@dataclass(frozen=True)
class Problem:
    """A named problem; `at` returns it with other parameter values.

    Attributes
    ----------
    name, title, source : str
    build : () -> AbstractSystem, derives the system once, with the default parameters
    start : parameters -> (q0, v0)
    starts : starts of the variants whose coordinates differ, by the variant's name
    events : parameters -> events to locate in addition to contact events, or None
    parameters : the parameters with units and meaning
    t_end, dt : defaults for a run, s
    references, errata : reference trajectories and errata of the source
    cases : named sets of parameter values
    variants : functions, by name, that build other models of the same mechanism, such as a model with a misprint; a
        `gaussopt.modelling.modified.Variant` also has a description
    values : parameter values that differ from the defaults
    variant : name of the variant in use, "" for the regular model
    atlas : the states that `gaussopt atlas` scans by default; chosen from the parameters if None
    sketch : picture of the mechanism, see `gaussopt.modelling.sketch`
    sketches : sketches of the variants whose coordinates differ, by the variant's name
    in_space : (parameters, variant) -> picture of a mechanism in space, see `gaussopt.modelling.solids`
    units : units of the coordinates by name, such as {"theta": "rad"}, for the axes of figures and for files
    """

    name: str
    title: str
    source: str
    description: str
    build: Callable[[], AbstractSystem]
    start: Callable[[Mapping[str, float]], tuple[Vector, Vector]]
    parameters: tuple[Parameter, ...]
    t_end: float
    dt: float
    references: tuple[Reference, ...] = ()
    errata: tuple[Erratum, ...] = ()
    notes: tuple[str, ...] = ()
    cases: Mapping[str, Case] = field(default_factory=dict)
    variants: Mapping[str, Callable[[], AbstractSystem]] = field(default_factory=dict)
    variant: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    state: tuple[Vector, Vector] | None = None
    events: Callable[[Mapping[str, float]], tuple[Event, ...]] | None = None
    starts: Mapping[str, Callable[[Mapping[str, float]], tuple[Vector, Vector]]] = field(default_factory=dict)
    atlas: AtlasGrid | None = None
    sketch: Sketch | Draw | None = None
    sketches: Mapping[str, Sketch | Draw] = field(default_factory=dict)
    in_space: Callable[[Mapping[str, float], str], SpacePicture] | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise BadInput if a parameter has the name of another setting: `at` could then never set the parameter."""
        for p in self.parameters:
            if p.name in ("q0", "v0", "case", "variant"):
                raise BadInput(f"The parameter {p.name!r} of {self.name} has the name of a setting; choose another.")

    @classmethod
    @suggesting
    def of(
        cls,
        system: AbstractSystem,
        q0: ArrayLike | Callable[[Mapping[str, float]], ArrayLike],
        v0: ArrayLike | Callable[[Mapping[str, float]], ArrayLike] | None = None,
        *,
        t_end: float,
        dt: float | None = None,
        title: str = "",
        **more: Any,
    ) -> Problem:
        """Return a problem made from a system, its start and its end time.

        Raises BadInput if the system is not a System, the start does not fit it, or a time is not positive; UnknownName
        for a setting that a problem does not have.

        Parameters
        ----------
        system : AbstractSystem, whose parameters become the problem's
        q0, v0 : (n,), or functions that return them from the parameter values; v0 is zero if not given
        t_end : end time, s
        dt : step size, s; t_end / 1000 if not given
        title : the title in words; by default the name
        more : name (the file's name if not given), source, description, parameters, events, cases and other attributes
            of `Problem`
        """
        if not isinstance(system, AbstractSystem):
            raise BadInput(f"A problem needs a System, not a {type(system).__name__}; see System.from_lagrangian.")

        for key in more:
            if key not in cls.__dataclass_fields__:
                raise UnknownName("setting of a problem", key, cls.__dataclass_fields__)
        t_end = _time("t_end", t_end)
        dt = t_end / 1000 if dt is None else _time("dt", dt)
        parameters = tuple(Parameter(name, value, "", "") for name, value in system.parameters.items())
        moved = callable(q0) or callable(v0) or bool(more.keys() & {"start", "events"})
        given: dict[str, Any] = {
            "name": "", "source": "", "description": "", "parameters": parameters, "title": title, "t_end": t_end,
            "dt": dt, "start": partial(_start, system, q0, v0), "build": _Given(system, fixed=not moved),
        }  # fmt: skip
        problem = cls(**given | more)
        try:  # without contacts, if the system can
            system.in_steps("time-stepping", None, None).evaluate(0.0, problem.q0, problem.v0)
        except BadInput as error:
            raise BadInput(f"The system cannot be evaluated at its start q0, v0: {error}") from None
        if not isinstance(problem.units, Mapping):
            raise BadInput(f"units is {problem.units!r}; give a mapping such as {{'theta': 'rad'}}.")
        for name in () if problem.variants else problem.units:  # units may name coordinates of a variant
            if name not in problem.coordinates:
                raise UnknownName("coordinate in units", name, problem.coordinates)
        return problem if not problem.name else problem.named(problem.name)

    def named(self, name: str) -> Problem:
        """Return the problem with another name, also for a system given to `of`. A missing title becomes the name."""
        build = replace(self.build, name=name) if isinstance(self.build, _Given) else self.build
        return replace(self, name=name, title=self.title or name, build=build)

    def at(self, /, **settings: Any) -> Problem:
        """Return the same problem with other parameter values, another start `q0`, `v0`, a `case` or a `variant`.

        Parameters given with a case override the case's. Raises UnknownName and BadInput.
        """
        known = {p.name for p in self.parameters}
        values = dict(self.values)
        settings = dict(settings)
        t_end, variant = self.t_end, self.variant
        if "variant" in settings:
            variant = str(settings.pop("variant"))
            if variant not in self.variants:
                raise UnknownName(f"variant of {self.name}", variant, self.variants)
        if "case" in settings:
            case = str(settings.pop("case"))
            if case not in self.cases:
                raise UnknownName(f"case of {self.name}", case, self.cases)
            values |= self.cases[case].values
            t_end = self.cases[case].t_end
        n = len(self._start_of(variant)[0])
        q0, v0 = self.state if self.state is not None else (None, None)
        if q0 is not None and len(q0) != n:
            raise BadInput(
                f"The variant {variant!r} of {self.name} has {n} coordinates and the start q0 has {len(q0)}; set the "
                "variant first."
            )
        for key, value in settings.items():
            if key in ("q0", "v0"):
                named = self if variant == self.variant else self.at(variant=variant)
                vector = as_coordinates(key, value, named.system.coordinates(n))
                q0, v0 = (vector, v0) if key == "q0" else (q0, vector)
            elif key not in known:
                raise UnknownName(
                    f"parameter of {self.name}" if self.name else "parameter", key, {*known, "q0", "v0", *self._choices}
                )
            else:
                try:
                    values[key] = float(value)
                except (TypeError, ValueError):
                    raise BadInput(f"Parameter {key!r} of {self.name} is {value!r}; expected a number.") from None
                if not np.isfinite(values[key]):
                    raise BadInput(f"Parameter {key!r} of {self.name} is {value!r}; it must be finite.")
        problem = replace(self, values=values, t_end=t_end, variant=variant, state=None)
        if q0 is None and v0 is None:
            return problem
        return replace(problem, state=(problem.q0 if q0 is None else q0, problem.v0 if v0 is None else v0))

    def _about(self) -> About:
        values = self.parameter_values
        more = {"parameters": values, "cases": self.cases, "variants": self.variants}
        words = "; ".join(f"{what} {listed(names)}" for what, names in more.items() if names)
        title = self.label + (f", “{self.title}”" if self.title not in ("", self.name) else "") or "without a name"
        rows = [(p.name, values[p.name], p.unit, p.meaning) for p in self.parameters]
        return About(title, (f"to t = {self.t_end:g} s, dt = {self.dt:g} s", words), rows,
                     ("parameter", "value", "unit", "meaning"))  # fmt: skip

    @property
    def _choices(self) -> list[str]:
        """Return the names of the available settings other than parameters and start."""
        return [name for name, there in (("case", self.cases), ("variant", self.variants)) if there]

    @property
    def parameter_values(self) -> dict[str, float]:
        """All parameter values by name."""
        return {**{p.name: p.value for p in self.parameters}, **self.values}

    @property
    def fixed_start(self) -> bool:
        """Whether start and events do not depend on parameters, which then change only the equations."""
        return isinstance(self.build, _Given) and self.build.fixed

    @property
    def settings(self) -> dict[str, Any]:
        """Settings with which `problem(name, **settings)` returns this problem again."""
        found: dict[str, Any] = {**self.values, **({"variant": self.variant} if self.variant else {})}
        if self.state is not None:
            found |= {"q0": self.q0, "v0": self.v0}
        return found

    @property
    def label(self) -> str:
        """The name, with the settings that differ from the defaults."""
        words = [self.variant] if self.variant else []
        words += [f"{k}={v:g}" for k, v in self.values.items()]
        return f"{self.name} ({', '.join(words)})" if words else self.name

    @cached_property
    def system(self) -> AbstractSystem:
        """The system at these parameter values; the equations are derived once per process."""
        build = self.variants[self.variant] if self.variant else self.build
        if build not in _systems:
            _systems[build] = call(f"The model of {self.name!r}", build)
        system = _systems[build]
        if not isinstance(system, AbstractSystem):
            raise BadInput(f"The model of {self.name!r} is a {type(system).__name__}; return a gaussopt.System.")
        return system.with_parameters(**self.parameter_values)

    @property
    def q0(self) -> Vector:
        """Initial coordinates, (n,)."""
        return self.state[0] if self.state is not None else self._start[0]

    @property
    def v0(self) -> Vector:
        """Initial velocities, (n,)."""
        return self.state[1] if self.state is not None else self._start[1]

    @cached_property
    def _start(self) -> tuple[Vector, Vector]:
        return self._start_of(self.variant)

    def _start_of(self, variant: str) -> tuple[Vector, Vector]:
        """Return the start of a variant from the user's function; raises BadInput."""
        what = f"The start of {self.name!r}" if self.name else "The start"
        start = call(what, self.starts.get(variant, self.start), self.parameter_values)
        if not isinstance(start, tuple | list) or len(start) != 2:
            raise BadInput(f"{what} is a {type(start).__name__}; return the pair (q0, v0).")
        q = as_array("q0", start[0], (None,))
        return q, as_array("v0", start[1], (len(q),))

    @property
    def user_events(self) -> tuple[Event, ...]:
        """The problem's own events at these parameter values."""
        if self.events is None:
            return ()
        if not callable(self.events):
            raise BadInput(
                f"The events of {self.name!r} are {type(self.events).__name__}; give a function of the parameters that "
                "returns them, or give events to simulate."
            )
        found = call(f"The function of the events of {self.name!r}", self.events, self.parameter_values)
        if not isinstance(found, tuple | list) or not all(isinstance(event, Event) for event in found):
            raise BadInput(f"The function of the events of {self.name!r} returned something else than gaussopt.Event.")
        return tuple(found)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return self.system.coordinates(len(self.q0))

    def reference(self, name: str) -> ReferenceData:
        """Return a reference trajectory by name; raises UnknownName."""
        for reference in self.references:
            if reference.name == name:
                return reference.load()
        raise UnknownName(f"reference of {self.name}", name, [r.name for r in self.references])


def _time(label: str, value: Any) -> float:
    """Return a time, s, after checking that it is positive."""
    if isinstance(value, str) or np.ndim(value):
        raise BadInput(f"{label} is {value!r}; give a number of seconds.")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{label} is {value!r}; give a number of seconds.") from None
    if not (np.isfinite(number) and number > 0):
        raise BadInput(f"{label} is {number:g}; it must be positive and finite.")
    return number


def _start(system: AbstractSystem, q0: Any, v0: Any, p: Mapping[str, float]) -> tuple[Vector, Vector]:
    """Return the start that a user gave as arrays or as functions of the parameters p."""
    q = as_coordinates("q0", q0(p) if callable(q0) else q0, system.coordinates(system.size) if system.size else None)
    rest = np.zeros(len(q)) if v0 is None else v0(p) if callable(v0) else v0
    return q, as_coordinates("v0", rest, system.coordinates(len(q)))


@dataclass(frozen=True, eq=False)
class _Given:
    """A function that returns a copy of a given system, for `Problem.build`; `fixed` is `Problem.fixed_start`."""

    system: AbstractSystem
    name: str = ""
    fixed: bool = True

    def __call__(self) -> AbstractSystem:
        system = copy(self.system)
        system.name = self.name or system.name
        return system


def problem(name: str | os.PathLike[str] = "", /, **settings: Any) -> Problem:
    """Return a registered problem, or the problem in a Python file, with parameter overrides.

    Parameters
    ----------
    name : str or path
        From `gaussopt list problems`, or the path of a file that defines `problem`, which is then registered.
    settings : see `Problem.at`

    Raises
    ------
    UnknownName, BadInput

    Examples
    --------
    >>> import gaussopt as go
    >>> go.problem("crank-slider", tau=0.0).parameter_values["tau"]
    0.0
    """
    if name == "":
        name = settings.pop("name", "")  # with a positional name, the keyword `name` sets a parameter
    if registry.is_file(name):
        name = registry.named_by_file("problem", name)
    name = os.fspath(name)
    if name not in registry.names("problem") and os.path.isfile(f"{name}.py"):
        raise BadInput(f"Unknown problem {name!r}; did you mean the file {name}.py?")
    entry: Problem = registry.load("problem", name)
    return entry.at(**settings) if settings else entry


def sketch_of(problem: Problem) -> Sketch:
    """Return the sketch of a problem; without one, the outline of its system: points, rods, pins, contact points.

    Raises BadInput if there is neither; the message says how to give a sketch.
    """
    found = problem.sketches.get(problem.variant)
    own = found is None and problem.variant in problem.starts
    if (own or not (found or problem.sketch)) and problem.system.outline(problem.q0) is not None:
        return Sketch(OutlinedSystem(problem.system))
    if own:
        raise BadInput(
            f"The variant {problem.variant!r} of {problem.name} has coordinates of its own and no sketch; give one in "
            f"Problem(sketches={{{problem.variant!r}: ...}})."
        )
    found = found or problem.sketch
    if found is None:
        lacks = "has no sketch, so nothing can be drawn"
        if problem.in_space is not None:
            lacks = "is in space and has no sketch in the plane; write its motion as .html or .glb"
        raise BadInput(
            f"The problem {problem.name!r} {lacks}; give Problem(sketch=...) a function of (q, parameters) that "
            "returns shapes of gaussopt.modelling.sketch, such as Bar(start, end)."
        )
    return as_sketch(found)


_systems: WeakKeyDictionary[Callable[[], AbstractSystem], AbstractSystem] = WeakKeyDictionary()  # by builders
