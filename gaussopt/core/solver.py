"""The interface of solvers: a solver is set up once, updated with new numbers, and called to solve.

A motion solves thousands of programs that differ only in their numbers. So one solver object is used for the whole
motion: `setup` does the work that depends on shapes and sparsity patterns, such as allocation and the ordering of a
factorisation, `update` takes new numbers, and `solve` computes. An adapter only translates between gaussopt and a
backend; the status that the backend reports is its `claim`, which the core verifies.
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
from gaussopt.core.errors import BadInput, MissingBackend, NotAccepted
from gaussopt.core.foreign import call
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution


class Limit(NamedTuple):
    """A condition on the value of an option, and the end of the error message if the condition does not hold."""

    holds: Callable[[Any], bool]
    remedy: str


Limits = Mapping[str, Limit]
"""Limits of options by their names."""

POSITIVE = Limit(lambda value: value > 0, "it must be positive")
RELAXATION = Limit(lambda value: 0 < value < 2, "it must lie between 0 and 2")


def one_of(*known: str) -> Limit:
    """Return the condition that an option has one of the values `known`."""
    return Limit(lambda value: value in known, f"use {' or '.join(known)}")


@dataclass(frozen=True)
class Options:
    """Base of the options of a solver; each solver derives a frozen dataclass with its options and their defaults.

    `limits` holds the conditions on the values, by the names of the options.
    """

    limits: ClassVar[Limits] = {}


O = TypeVar("O", bound=Options)


class Solver(ABC, Generic[O]):
    """Base class of solvers: solve a sequence of programs of one pattern.

    To add a solver, derive a class: state the class attributes, define `setup` and `solve`, and also `update` if new
    numbers can reuse the set-up. End the file with `solver = NameOfTheClass`; the file `my_solver.py` is the solver
    `my-solver`. `gaussopt.testing` checks the result. A solver need not verify its answers: a certificate judges every
    answer, so that a wrong answer is reported as inaccurate.

    Class attributes
    ----------------
    name : str
        Name under which it is registered: the name of its file, with hyphens for underscores.
    title, source : str
        The method in a few words, and the publication that describes it.
    accepts : tuple of types
        The kinds of programs that it solves, classes derived from `Program`. Other programs are refused before `setup`,
        with the names of solvers that solve them.
    requires : tuple of str
        Packages that it imports. If one is missing, the solver is listed as not installed.
    extra : str
        The pip extra of gaussopt that installs these packages; "" if the core installs them, or for a user's solver.
    exact : bool
        Whether it reaches rounding level on well-posed programs; the tests then require 1e-10.
    dense, sparse : bool
        Whether it solves programs with dense matrices, and with sparse matrices.
    stochastic : bool
        Whether it is a random search, from a seed. It then guarantees no accuracy and serves as a control.
    updates : bool
        Whether `update` is cheaper than `setup`; reports then state the two times separately.
    warm_starts : bool
        Whether `solve` makes use of its start.
    aborts : bool
        Whether its backend is known to abort the process in which it runs. It then runs in a helper process.
    precision : tuple of mappings
        Options from loose to tight, for curves of error against time; empty if no option sets the precision.
    options_type : type
        The frozen dataclass of its options, derived from `Options`; `gaussopt show` prints its docstring.

    Attributes
    ----------
    variant : str or None
        The part of a name such as "cvxpy:CLARABEL" after the colon; None if there is no colon.
    options : of `options_type`
        Values of all options, converted and checked.
    memory : int
        What the next answer depends on besides program and start, such as which method succeeded last; 0 at first. A
        motion that is continued restores it.

    Examples
    --------
    Least squares by normal equations; the certificate shows whether they are accurate enough.

    >>> import numpy as np
    >>> from gaussopt.core.programs import LeastSquares
    >>> from gaussopt.core.solution import RawSolution
    >>> from gaussopt.core.solver import Options, Solver
    >>> from gaussopt.core.status import Status
    >>> class NormalEquations(Solver):
    ...     name, title, source = "normal-equations", "Normal equations", "C. F. Gauss 1809"
    ...     accepts = (LeastSquares,)
    ...     def setup(self, program):
    ...         self.A, self.b = program.A, program.b
    ...     def solve(self, start):
    ...         return RawSolution(np.linalg.solve(self.A.T @ self.A, self.A.T @ self.b), None, Status.SOLVED)
    >>> own = NormalEquations(None, Options())
    >>> own.setup(LeastSquares(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]), rank=1))
    >>> print(own.solve(None).x)
    [2.]
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

    memory: int = 0
    _has_program = False

    def __init_subclass__(cls, **given: Any) -> None:
        """Wrap `setup` so that it records its call, and `solve` so that it raises BadInput without such a call."""
        super().__init_subclass__(**given)
        for name, wrapped in (("setup", _noted), ("solve", _after_setup)):
            if name in cls.__dict__:
                setattr(cls, name, wrapped(cls.__dict__[name]))

    def __init__(self, variant: str | None, options: O) -> None:
        """Store variant and options; raises BadInput for an option that violates its limit in `limits`."""
        self.variant = variant
        self.options = options
        for key, limit in options.limits.items():
            value = getattr(options, key)
            if not limit.holds(value):
                told = f"{value:g}" if isinstance(value, float) else repr(value)
                raise BadInput(f"The option {key!r} of {self.name!r} is {told}; {limit.remedy}.")

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        """Return the names of variants, which may follow the solver's name after a colon.

        Returns
        -------
        tuple of str
            For example the installed backends of a modelling language; empty by default.
        """
        return ()

    @classmethod
    def lack(cls, entry: Any) -> str:
        """Return the predicate of a message about what a user's solver does not provide; "" if it is complete."""
        if not (isinstance(entry, type) and issubclass(entry, cls)):
            return "is no class derived from gaussopt.solver.Solver; end the file with solver = NameOfTheClass"
        if inspect.isabstract(entry):
            return f"does not define {' and '.join(sorted(entry.__abstractmethods__))}"
        accepts = getattr(entry, "accepts", None)
        if (
            not isinstance(accepts, tuple)
            or not accepts
            or not all(isinstance(kind, type) and issubclass(kind, Program) for kind in accepts)
        ):
            names = ", ".join(kind.__name__ for kind in Program.__subclasses__())
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
        """Return whether this solver, with its variant, is known to abort the process in which it runs."""
        return self.aborts

    def refuses(self, program: Any) -> str | None:
        """Return the reason why the solver cannot solve a program, if any; this is called before `setup`.

        Override it for conditions that `accepts` cannot express, such as a definite matrix, and call `super` first.

        Parameters
        ----------
        program : of any kind

        Returns
        -------
        str or None
            The reason as a part of a sentence, without a full stop: "it takes equality rows only; use osqp for
            inequalities". None if the solver can solve the program.
        """
        if not isinstance(program, self.accepts):
            takes = ", ".join(t.__name__ for t in self.accepts)
            return f"it takes {takes}, not {type(program).__name__}"
        return None

    def quick_methods(self) -> Any | None:
        """Return the methods that the solver tries first from a given start (`gaussopt.cone.proximal_kernel`), if any.

        A time step may then use these in machine code of its own, and ask the solver only where they fail.
        """
        return None

    def succeeded(self, method: int) -> None:
        """Take note of the method that found the impulses of a step without the solver."""

    def check(self, program: Program) -> None:
        """Raise NotAccepted, with the reason, if the solver cannot solve the program."""
        if isinstance(program, Program) and program.sparse and not self.sparse:
            reason: str | None = f"it needs dense matrices, and this program is sparse; use {program.sparse_takers}"
        else:
            reason = self.refuses(program)
        if reason:
            others = "" if isinstance(program, self.accepts) else getattr(program, "takers", "")
            hint = f" Take {others}." if others else ""
            raise NotAccepted(f"The solver {self.name!r} does not take this program: {reason}.{hint}")

    @abstractmethod
    def setup(self, program: Any) -> None:
        """Take a program of a new pattern, and do the work that is needed only once for a sequence of programs.

        Parameters
        ----------
        program : of a type in `accepts`, and not refused by `refuses`
            Do not write into its arrays. They may be kept without copying, since no other code changes them.

        Raises
        ------
        BadInput
            For options that the backend rejects. Any other exception ends the step with the status `crashed`.
        """

    def update(self, program: Any) -> None:
        """Take a program of the same pattern with new numbers; unless overridden, this calls `setup`.

        Parameters
        ----------
        program : of the same type as the previous program
            Its `pattern` is equal too: shapes, sparsity patterns, which rows are equalities and which bounds are
            finite.
        """
        self.setup(program)

    @abstractmethod
    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Solve the program that was set up or updated last.

        Parameters
        ----------
        start : tuple (x, y) or None
            A point, (n,), such as the answer of the previous step, and duals, (m,), in the sign convention of
            `gaussopt.core.programs`, or None. It may be far from the answer. Without warm starts, ignore it.

        Returns
        -------
        RawSolution
            `x` (n,), or None if there is no point; `y` (m,) with P x + q = A^T y for quadratic programs, None if there
            are no duals; the claim, a member of `gaussopt.Status`; iterations, time and message of the backend.
            If no answer is found, return a claim that says so (infeasible, unbounded, iteration_limit); do not raise an
            exception.
        """


def _noted(setup: Callable[..., None]) -> Callable[..., None]:
    """Wrap a solver's `setup` so that it records that it was called."""

    @functools.wraps(setup)
    def called(self: Solver[Any], program: Program) -> None:
        self._has_program = True
        setup(self, program)

    return called


def _after_setup(solve: Callable[..., RawSolution]) -> Callable[..., RawSolution]:
    """Wrap a solver's `solve` so that it raises BadInput if `setup` was not called."""

    @functools.wraps(solve)
    def called(self: Solver[Any], start: tuple[Vector, Vector | None] | None = None) -> RawSolution:
        if not self._has_program:
            raise BadInput(f"The solver {self.name!r} has no program yet; call its setup(program) before solve().")
        return solve(self, start)

    return called


def make_solver(name: str, options: Mapping[str, Any] | None = None) -> Solver[Any]:
    """Return a new solver, such as "osqp" or "cvxpy:CLARABEL"; raises UnknownName, BadInput or MissingBackend.

    Examples
    --------
    >>> import gaussopt as go
    >>> step = go.StepData.from_mapping({"M": [[2.0]], "Q": [-19.62]})
    >>> osqp = go.make_solver("osqp", {"eps_abs": 1e-10})
    >>> osqp.setup(go.formulate(step, "gauss"))  # osqp.update(program) before the next
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
    """Return the packages that a solver requires and that are not installed."""
    return [p for p in cls.requires if importlib.util.find_spec(p) is None]


def parse_options(cls: type[Solver[Any]], given: Mapping[str, Any]) -> Any:
    """Return the options of a solver: the given values, converted from text where necessary, and defaults.

    Raises BadInput for an unknown option, with the nearest known option, and for a value of the wrong type.
    """
    defaults = cls.options_type()
    known = [f.name for f in fields(defaults)]
    values: dict[str, Any] = {}
    for key, value in given.items():
        field_name = key.replace("-", "_")
        if field_name not in known:
            plain = {name.lower(): name for name in known}
            near = [name for name in plain if name.startswith(f"{field_name.lower()}_")]
            near = near or get_close_matches(field_name.lower(), plain, n=1, cutoff=0.5)
            meant = " or ".join(repr(plain[name]) for name in near)
            hint = f"did you mean {meant}?" if near else f"known: {', '.join(known) or 'none'}."
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
    """Import the package of a backend and return it; call this when the backend is first needed."""
    return importlib.import_module(package)
