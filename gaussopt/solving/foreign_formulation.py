"""Formulations from outside the package: their arguments are copied, their results are copied and checked.

A formulation makes a program and recovers the acceleration from its solution; the certificate then judges the step.
Foreign code must neither change the step before it is judged, nor crash a motion by a result of the wrong shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gaussopt.core import registry
from gaussopt.core.arrays import Vector, is_sparse
from gaussopt.core.errors import BadInput
from gaussopt.core.foreign import Malformed, array, call, is_foreign, private, vector
from gaussopt.core.program import Program
from gaussopt.core.step_data import StepData
from gaussopt.formulations.base import Candidate, Formulation
from gaussopt.kinds.step import is_step

T = TypeVar("T")


def find(given: str | Formulation) -> Formulation:
    """Return a formulation given by name or as an object, in a `Guarded` if it is foreign; raises UnknownName."""
    entry: Formulation = given if isinstance(given, Formulation) else registry.load("formulation", given)
    return Guarded(entry) if is_foreign(entry) and not isinstance(entry, Guarded) else entry


class Guarded(Formulation):
    """A wrapper of a formulation from outside the package.

    Every method raises BadInput, with the name of the formulation, if the formulation raises an exception that is not
    one of gaussopt's errors, or returns an object of the wrong type or shape.
    """

    def __init__(self, formulation: Formulation) -> None:
        self.formulation = formulation
        self.what = f"The formulation {formulation.name!r}"
        for name in ("name", "title", "source", "exact", "state", "level", "sparse"):
            setattr(self, name, getattr(formulation, name))

    def contacts(self, step: StepData) -> NDArray[np.intp]:
        found = self._call(self.formulation.contacts, private(step))
        try:
            numbers = np.array(found, dtype=np.intp).reshape(-1)
        except (TypeError, ValueError, OverflowError):
            numbers = np.array([-1])
        if ((numbers < 0) | (numbers >= step.k)).any() or len(np.unique(numbers)) != len(numbers):
            raise BadInput(f"{self.what} failed: it named contacts that the step does not have.")
        return numbers

    def prepare(self, step: StepData) -> StepData:
        """Return the step whose laws the answer must satisfy; at velocity level it differs from the given step."""
        if self.level == "acceleration":
            return step
        prepared = self._call(self.formulation.prepare, private(step))
        if not is_step(prepared):
            raise BadInput(f"{self.what} failed: it prepared a {type(prepared).__name__} and no StepData.")
        return private(prepared)

    def check(self, step: StepData) -> None:
        self._call(self.formulation.check, private(step))

    def misfit(self, step: StepData) -> str | None:
        reason = self._call(self.formulation.misfit, private(step))
        return None if reason is None else str(reason)

    def apply(self, step: StepData) -> tuple[Program, Any]:
        made = self._call(self.formulation.apply, private(step))
        if not isinstance(made, tuple) or len(made) != 2:
            raise BadInput(f"{self.what} failed: it returned a {type(made).__name__}, expected a program and its data.")
        return self._read(_program, made[0]), (made[1], step)

    def recover(self, data: Any, x: Vector, y: Vector | None) -> Candidate:
        own, step = data
        found = self._call(self.formulation.recover, own, x.copy(), None if y is None else y.copy())
        return self._read(_candidate, found, step)

    def again(self, data: Any, x: Vector, y: Vector | None) -> Program | None:
        following = self._call(self.formulation.again, data[0], x.copy(), None if y is None else y.copy())
        return None if following is None else self._read(_program, following)

    def refined(self, step: StepData, program: Program, x: Vector, found: Candidate) -> Candidate | None:
        copied = _candidate(found, step)
        better = self._call(self.formulation.refined, private(step), private(program), x.copy(), copied)
        return None if better is None else self._read(_candidate, better, step)

    def details(self, data: Any, x: Vector | None) -> dict[str, Any]:
        found = self._call(self.formulation.details, data[0], None if x is None else x.copy())
        return {str(key): value for key, value in found.items()} if isinstance(found, Mapping) else {}

    def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        return call(self.what, method, *arguments)

    def _read(self, reader: Callable[..., T], *found: Any) -> T:
        try:
            return reader(*found)
        except Malformed as error:
            raise BadInput(f"{self.what} failed: {error}.") from None


def _candidate(found: Any, step: StepData) -> Candidate:
    """Return checked copies of acceleration, multipliers and contact forces."""
    if not isinstance(found, tuple) or not 1 <= len(found) <= 4:
        raise Malformed(f"it recovered a {type(found).__name__}, expected a Candidate or the pair (a, lam)")
    a, lam, lam_N, lam_T = (*found, None, None, None)[:4]
    return Candidate(
        vector("an acceleration", a, step.n),
        None if lam is None else vector("multipliers", lam, step.m),
        None if lam_N is None else vector("normal forces", lam_N, step.k),
        None if lam_T is None else array("friction forces", lam_T, step.v_T.shape),
    )


def _program(program: Any) -> Program:
    """Return a copy of a program after checking that the shapes of its arrays agree."""
    if not isinstance(program, Program):
        raise Malformed(f"it made a {type(program).__name__} and no program")
    parts = {x: getattr(program, x.name) for x in fields(program)}
    for x, value in parts.items():
        numbers = value if isinstance(value, np.ndarray) else value.data if is_sparse(value) else None
        if numbers is None and x.name in program.shapes and (value is not None or x.default is MISSING):
            raise Malformed(f"{x.name} of its program is of type {type(value).__name__}, expected an array")
        if numbers is not None and getattr(numbers, "dtype", np.dtype(object)).kind != "f":
            raise Malformed(f"{x.name} of its program is not made of floats")
    shapes = {x.name: value.shape for x, value in parts.items() if x.name in program.shapes and value is not None}
    if not _fit(program.shapes, shapes):
        raise Malformed(f"the arrays of its program do not fit each other: {shapes}")
    return private(program)


def _fit(letters: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Return whether array axes that have the same letter in `shapes` have the same length."""
    lengths: dict[str, int] = {}
    return all(
        len(shape) == len(letters[name])
        and all(lengths.setdefault(letter, size) == size for letter, size in zip(letters[name], shape, strict=True))
        for name, shape in shapes.items()
    )
