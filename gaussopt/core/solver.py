"""The interface of solvers: set up once, updated with new numbers, asked to solve.

Adapters translate; they do not judge. Whatever a backend says is its `claim`, and the core verifies it.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from gaussopt.core import registry
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.errors import BadInput, MissingBackend, NotAccepted
from gaussopt.core.foreign import call
from gaussopt.core.programs import LCP, QP, LeastSquares, LinearSystem, Program
from gaussopt.core.solution import RawSolution

PROGRAMS = (QP, LinearSystem, LeastSquares, LCP, ConeComplementarity, ConeProgram)

TAKERS: dict[type, str] = {
    QP: "daqp, osqp or, without inequalities, kkt", LCP: "lemke or principal-pivoting", LinearSystem: "kkt",
    LeastSquares: "kkt", ConeComplementarity: "hybrid or nsgs",
}  # fmt: skip
"""Solvers to name to somebody whose solver takes programs of another kind."""

SPARSE_SOLVERS: dict[type, str] = {ConeComplementarity: "hybrid or nsgs", ConeProgram: "clarabel or scs"}
"""Solvers to name where a program of a type is sparse."""


class Limit(NamedTuple):
    """A condition that the value of an option has to satisfy, and the end of the sentence that says so."""

    holds: Callable[[Any], bool]
    remedy: str


Limits = Mapping[str, Limit]
"""Limits of options by their names."""

POSITIVE = Limit(lambda value: value > 0, "it must be positive")
RELAXATION = Limit(lambda value: 0 < value < 2, "it must lie between 0 and 2")


def one_of(*known: str) -> Limit:
    """The limit of an option that is one of several words."""
    return Limit(lambda value: value in known, f"use {' or '.join(known)}")


@dataclass(frozen=True)
class Options:
    """Options common to no solver; each solver derives its own frozen dataclass with defaults.

    `limits` are what values have to satisfy, by the names of the options.
    """

    limits: ClassVar[Limits] = {}


O = TypeVar("O", bound=Options)


class Solver(ABC, Generic[O]):
    """One solver, following a sequence of related programs.

    Class attributes
    ----------------
    name, title, source : str
    accepts : tuple of program types
    requires : packages to import; a solver whose packages are missing is not listed as available
    extra : the pip extra that installs them, "" for the core
    exact : whether it reaches rounding level on well-posed programs
    dense, sparse : whether it takes programs with dense matrices, and with sparse ones
    stochastic : whether it searches at random, from a seed; it promises no digits and serves as a control
    updates : whether new numbers of the same pattern reuse the set-up
    warm_starts : whether it makes use of a start
    aborts : whether its backend is known to end the process that it runs in; it then runs in a helper process
    precision : option sets from loose to tight, for curves of error against time; empty if it has no such dial
    options_type : the dataclass of its options
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    accepts: ClassVar[tuple[type, ...]]
    requires: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""
    exact: ClassVar[bool] = True
    dense: ClassVar[bool] = True
    sparse: ClassVar[bool] = False
    stochastic: ClassVar[bool] = False
    updates: ClassVar[bool] = False
    warm_starts: ClassVar[bool] = False
    aborts: ClassVar[bool] = False
    precision: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    options_type: ClassVar[type[Options]] = Options

    _has_program = False

    def __init_subclass__(cls, **given: Any) -> None:
        """Let `solve` say in a sentence that no program was set up, whatever a solver keeps of it."""
        super().__init_subclass__(**given)
        for name, wrapped in (("setup", _noted), ("solve", _after_setup)):
            if name in cls.__dict__:
                setattr(cls, name, wrapped(cls.__dict__[name]))

    def __init__(self, variant: str | None, options: O) -> None:
        self.variant = variant
        self.options = options
        for key, limit in options.limits.items():
            value = getattr(options, key)
            if not limit.holds(value):
                told = f"{value:g}" if isinstance(value, float) else repr(value)
                raise BadInput(f"The option {key!r} of {self.name!r} is {told}; {limit.remedy}.")

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        """Names that may follow the solver's name after a colon."""
        return ()

    @classmethod
    def lack(cls, entry: Any) -> str:
        """The end of a sentence that says what a person's solver lacks; "" if nothing."""
        if not (isinstance(entry, type) and issubclass(entry, cls)):
            return "is no class derived from gaussopt.solver.Solver; end the file with solver = NameOfTheClass"
        if inspect.isabstract(entry):
            return f"does not define {' and '.join(sorted(entry.__abstractmethods__))}"
        accepts = getattr(entry, "accepts", None)
        if not isinstance(accepts, tuple) or not accepts or not all(a in PROGRAMS for a in accepts):
            names = ", ".join(p.__name__ for p in PROGRAMS)
            return f"does not say which programs it takes; give it accepts = a tuple of {names}"
        for name, kind in (("requires", str), ("precision", Mapping)):
            value = getattr(entry, name)
            if not isinstance(value, tuple) or not all(isinstance(x, kind) for x in value):
                return f"has {name} = {value!r}, expected a tuple of {kind.__name__}"
        options = entry.options_type
        if not (isinstance(options, type) and issubclass(options, Options) and is_dataclass(options)):
            return "has an options_type that is no dataclass derived from gaussopt.solver.Options"
        return ""

    def may_abort(self) -> bool:
        """Whether this solver, with its variant, is known to end the process that it runs in."""
        return self.aborts

    def refuses(self, program: Program) -> str | None:
        """The reason why the program is not taken, or None."""
        if not isinstance(program, self.accepts):
            takes = ", ".join(t.__name__ for t in self.accepts)
            return f"it takes {takes}, not {type(program).__name__}"
        return None

    def check(self, program: Program) -> None:
        """Raise NotAccepted, with the reason, if the program is not taken."""
        if not self.sparse and getattr(program, "sparse", False):
            takes = SPARSE_SOLVERS.get(type(program), "clarabel, osqp or, without inequalities, sparse-kkt")
            reason: str | None = f"it needs dense matrices, and this program is sparse; use {takes}"
        else:
            reason = self.refuses(program)
        if reason:
            others = "" if isinstance(program, self.accepts) else TAKERS.get(type(program), "")
            hint = f" Take {others}." if others else ""
            raise NotAccepted(f"The solver {self.name!r} does not take this program: {reason}.{hint}")

    @abstractmethod
    def setup(self, program: Program) -> None:
        """Take a program of a new pattern."""

    def update(self, program: Program) -> None:
        """Take a program of the same pattern with new numbers."""
        self.setup(program)

    @abstractmethod
    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Solve the current program, from a start (x, y) if the solver can use one."""


def _noted(setup: Callable[..., None]) -> Callable[..., None]:
    """A solver's `setup`, which leaves a note that it was called."""

    @functools.wraps(setup)
    def called(self: Solver[Any], program: Program) -> None:
        self._has_program = True
        setup(self, program)

    return called


def _after_setup(solve: Callable[..., RawSolution]) -> Callable[..., RawSolution]:
    """A solver's `solve`, which raises BadInput before `setup`."""

    @functools.wraps(solve)
    def called(self: Solver[Any], start: tuple[Vector, Vector | None] | None = None) -> RawSolution:
        if not self._has_program:
            raise BadInput(f"The solver {self.name!r} has no program yet; call its setup(program) before solve().")
        return solve(self, start)

    return called


def make_solver(name: str, options: Mapping[str, Any] | None = None) -> Solver[Any]:
    """A new solver by name, e.g. "osqp" or "cvxpy:CLARABEL"; raises UnknownName, BadInput or MissingBackend.

    Examples
    --------
    >>> import gaussopt as go
    >>> step = go.StepData.from_mapping({"M": [[2.0]], "Q": [-19.62]})
    >>> osqp = go.make_solver("osqp", {"eps_abs": 1e-10})
    >>> osqp.setup(go.formulate(step, "gauss"))   # once for programs of one size; osqp.update(program) before the next
    >>> print(osqp.solve(None).x.round(4))
    [-9.81]
    """
    if not isinstance(name, str):
        raise BadInput(f"A solver is a name of `gaussopt list solvers`, not {name!r}.")
    base, _, variant = name.partition(":")
    cls: type[Solver[Any]] = registry.load("solver", base)
    missing = missing_packages(cls)
    if missing:
        where = f"pip install 'gaussopt[{cls.extra}]'" if cls.extra else f"pip install {' '.join(missing)}"
        raise MissingBackend(f"The solver {base!r} needs the package {missing[0]!r}, which is not installed: {where}.")
    what = f"The solver {base!r}"
    if variant and variant not in (known := call(what, cls.variants)):
        raise BadInput(f"{what} has no variant {variant!r}; known: {', '.join(known) or 'none'}.")
    made: Solver[Any] = call(what, cls, variant or None, call(what, parse_options, cls, options or {}))
    return made


def missing_packages(cls: type[Solver[Any]]) -> list[str]:
    """Packages that the solver needs and that are not installed."""
    return [p for p in cls.requires if importlib.util.find_spec(p) is None]


def parse_options(cls: type[Solver[Any]], given: Mapping[str, Any]) -> Any:
    """The solver's options with the given values, converted from text where necessary.

    Raises BadInput for an unknown option, suggesting the nearest, and for a value of the wrong type.
    """
    defaults = cls.options_type()
    known = [f.name for f in fields(defaults)]
    values: dict[str, Any] = {}
    for key, value in given.items():
        field_name = key.replace("-", "_")
        if field_name not in known:
            plain = {name.lower(): name for name in known}
            near = get_close_matches(field_name.lower(), plain, n=1, cutoff=0.5)
            hint = f"did you mean {plain[near[0]]!r}?" if near else f"known: {', '.join(known) or 'none'}."
            raise BadInput(f"The solver {cls.name!r} has no option {key!r}; {hint}")
        limit = field_name in ("max_iter", "max_iters", "iter_limit")
        if limit and str(value).lstrip("+-").isdigit() and int(value) < 1:
            raise BadInput(f"The option {key!r} of {cls.name!r} is {value}; it must be at least 1.")
        values[field_name] = _convert(cls.name, field_name, getattr(defaults, field_name), value)
    return replace(defaults, **values)


def _convert(solver: str, key: str, default: Any, value: Any) -> Any:
    kind = type(default)
    wrong = BadInput(f"The option {key!r} of {solver!r} is {value!r}; expected {kind.__name__} (default {default!r}).")
    if kind is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "yes", "on", "1"):
            return True
        if str(value).lower() in ("false", "no", "off", "0"):
            return False
        raise wrong
    try:
        converted = kind(value)
    except (TypeError, ValueError):
        raise wrong from None
    if (kind is int and isinstance(value, float) and value != converted) or converted != converted:
        raise wrong
    return converted


def backend(package: str) -> Any:
    """Import a backend when it is first needed."""
    return importlib.import_module(package)
