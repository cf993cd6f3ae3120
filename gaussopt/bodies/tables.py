"""Models of many bodies: rows and forces of the same form are evaluated together, and M and J are sparse.

Every row phi of a joint, potential V and generalised force F depends on few coordinates. Once placeholders replace
numbers and parameters, the expressions of similar joints have the same form; each form is derived once,

    phi_q,   gamma = -((phi_q v)_q v + 2 phi_qt v + phi_tt),   -V_q,

and evaluated by NumPy for all rows of that form. M is constant and diagonal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from gaussopt.bodies.body import TIME
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import UnknownName
from gaussopt.modelling.callables import System
from gaussopt.symbolic.reading import finite_parameter, input_values


@dataclass(eq=False)
class Form:
    """A form that N expressions (members) share: functions of time, coordinates, velocities and placeholders.

    Attributes
    ----------
    functions : functions of (t, q, v, d) by name, d the placeholders; each returns r arrays (N,) for all N members
    places : coordinate indices of each member
    rows : index of each member among the rows, potentials or forces
    constants : values of the placeholders of each member, as expressions of parameters
    """

    functions: Mapping[str, Any]
    places: list[list[int]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    constants: list[list[Any]] = field(default_factory=list)

    @cached_property
    def at(self) -> NDArray[np.intp]:
        """Coordinate indices of all members, (coordinates of a member, N)."""
        return np.array(self.places, dtype=np.intp).reshape(len(self.rows), -1).T

    def data(self, values: Sequence[float], parameters: Sequence[Any]) -> NDArray[np.float64]:
        """Return numbers for the placeholders, (placeholders, N)."""
        found = sp.lambdify(parameters, self.constants)(*values)
        return np.array(found, dtype=float).reshape(len(self.rows), -1).T

    def values(self, name: str, t: float, q: Vector, v: Vector, data: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of a function for all members, (entries, N)."""
        found = self.functions[name](t, q[self.at], v[self.at], data)
        return np.array([np.broadcast_to(x, len(self.rows)) for x in found], dtype=float).reshape(-1, len(self.rows))


def formed(expressions: Iterable[tuple[int, Any]], q: Sequence[Any], v: Sequence[Any], kind: str) -> list[Form]:
    """Return the different forms of the expressions, with their members; `kind` is row, potential or force."""
    place = {x: i for i, x in enumerate(q)} | {x: i for i, x in enumerate(v)}
    forms: dict[Any, Form] = {}
    for number, expression in expressions:
        mine = sorted({place[s] for s in expression.free_symbols if s in place})
        slots = [[sp.Symbol(f"{letter}{i}", real=True) for i in range(len(mine))] for letter in ("_q", "_v")]
        renamed = expression.xreplace(
            {of[j]: slot for of, group in zip((q, v), slots, strict=True) for j, slot in zip(mine, group, strict=True)}
        )
        constants: list[Any] = []
        form = _form(renamed, {*slots[0], *slots[1], TIME}, constants)
        key = form, len(mine)
        if key not in forms:
            forms[key] = Form(_functions(form, slots, len(constants), kind))
        forms[key].places.append(mine)
        forms[key].rows.append(number)
        forms[key].constants.append(constants)
    return list(forms.values())


def _form(e: Any, moving: set[Any], constants: list[Any]) -> Any:
    """Return the expression with placeholders for parts that depend on parameters only; append them to `constants`."""
    if not e.free_symbols & moving:
        if e in (0, 1, -1):
            return e
        constants.append(e)
        return sp.Symbol(f"_d{len(constants) - 1}", real=True)
    if e.is_Symbol:
        return e
    if e.is_Pow and e.exp.is_Number:
        return sp.Pow(_form(e.base, moving, constants), e.exp)
    if e.is_Add or e.is_Mul:
        fixed, rest = e.as_independent(*moving, as_Add=e.is_Add)
        parts = [_form(fixed, moving, constants)] if fixed != e.identity else []
        return e.func(*parts, *(_form(x, moving, constants) for x in e.func.make_args(rest)))
    return e.func(*(_form(x, moving, constants) for x in e.args))


def _functions(form: Any, slots: Sequence[Sequence[Any]], placeholders: int, kind: str) -> dict[str, Any]:
    """Return the NumPy functions that evaluate a form and its derivatives."""
    q, v = slots
    pairs = list(zip(q, v, strict=True))

    def along(e: Any) -> Any:
        return sum((sp.diff(e, a) * b for a, b in pairs), sp.diff(e, TIME))

    parts = {
        "row": lambda: {"value": [form], "J": [sp.diff(form, a) for a in q], "rate": [along(form)],
                        "gamma": [-along(along(form))]},
        "potential": lambda: {"value": [form], "Q": [-sp.diff(form, a) for a in q]},
        "force": lambda: {"Q": [form]},
    }  # fmt: skip
    given = [TIME, list(q), list(v), [sp.Symbol(f"_d{i}", real=True) for i in range(placeholders)]]
    return {name: sp.lambdify(given, found, "numpy", cse=True) for name, found in parts[kind]().items()}


class TableSystem(System):
    """A model of many bodies in the plane, without contacts and without velocity rows.

    Parameters
    ----------
    name : str
    q, v : coordinates and velocities
    masses : the mass of each coordinate
    parts : expressions {"rows": {name: phi}, "potential": [V], "forces": {q: F}}
    parameters : values by symbol
    """

    def __init__(
        self, name: str, q: Sequence[Any], v: Sequence[Any], masses: Sequence[Any], parts: Mapping[str, Any],
        parameters: Mapping[Any, float],
    ) -> None:  # fmt: skip
        place = {x: i for i, x in enumerate(q)}
        self._forms = {
            "row": formed(enumerate(parts["rows"].values()), q, v, "row"),
            "potential": formed(((0, V) for V in parts["potential"] if V.free_symbols & set(q)), q, v, "potential"),
            "force": formed(((place[x], F) for x, F in parts["forces"].items() if F != 0), q, v, "force"),
        }
        self._names, self._masses, self._given = tuple(parts["rows"]), list(masses), (name, tuple(map(str, q)))
        self._fill(parameters)

    def _fill(self, parameters: Mapping[Any, float]) -> None:
        """Compute the numbers of all forms from the values of the parameters."""
        name, coordinates = self._given
        self._symbols, values = dict(parameters), list(parameters.values())
        symbols = list(parameters)
        self._data = {f: f.data(values, symbols) for forms in self._forms.values() for f in forms}
        self._diagonal = np.array(sp.lambdify(symbols, self._masses)(*values), dtype=float)
        super().__init__(
            diags_array(self._diagonal).tocsr(), self._pull, self._equality_rows, position=self._positions,
            velocity=self._rates, energy=self._energies, coordinates=coordinates, name=name,
        )  # fmt: skip

    @property
    def row_names(self) -> tuple[str, ...]:
        return self._names

    @property
    def parameters(self) -> dict[str, float]:
        return {str(x): value for x, value in self._symbols.items()}

    def with_parameters(self, /, **values: float) -> TableSystem:
        """Return a system with the same forms and other parameter values; raises UnknownName."""
        for key in values:
            if key not in self.parameters:
                raise UnknownName("parameter", key, self.parameters)
        other = object.__new__(TableSystem)
        other._forms, other._names, other._masses, other._given = self._forms, self._names, self._masses, self._given
        other._fill({x: finite_parameter(str(x), values.get(str(x), value)) for x, value in self._symbols.items()})
        return other

    def set_inputs(self, given: Any, n: int) -> dict[str, float]:
        """Set the parameters that a control returned as a mapping; raises UnknownName or BadInput."""
        values = input_values(given, self.parameters)
        now = self.parameters | values
        self._fill({x: now[str(x)] for x in self._symbols})
        return values

    def _scatter(self, kind: str, name: str, size: int, t: float, q: Vector, v: Vector) -> Vector:
        """Return a function's values added up over all members: at their rows or, for -V_q, at their coordinates."""
        found = np.zeros(size)
        for form in self._forms[kind]:
            values = form.values(name, t, q, v, self._data[form])
            at = form.at if (kind, name) == ("potential", "Q") else np.array([form.rows])
            np.add.at(found, at.ravel(), values.ravel())
        return found

    def _pull(self, t: float, q: Vector, v: Vector) -> Vector:
        return self._scatter("potential", "Q", len(q), t, q, v) + self._scatter("force", "Q", len(q), t, q, v)

    def _positions(self, t: float, q: Vector) -> Vector:
        return self._scatter("row", "value", len(self._names), t, q, q)

    def _rates(self, t: float, q: Vector, v: Vector) -> Vector:
        return self._scatter("row", "rate", len(self._names), t, q, v)

    def _equality_rows(self, t: float, q: Vector, v: Vector) -> tuple[Any, Vector]:
        rows, columns, entries = [], [], []
        for form in self._forms["row"]:
            values, at = form.values("J", t, q, v, self._data[form]), form.at
            rows.append(np.broadcast_to(form.rows, at.shape).ravel())
            columns.append(at.ravel())
            entries.append(values.ravel())
        shape = len(self._names), len(q)
        J = csr_array((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
        return J, self._scatter("row", "gamma", shape[0], t, q, v)

    def _energies(self, t: float, q: Vector, v: Vector) -> tuple[float, float, float]:
        potential, force = self._scatter("potential", "value", 1, t, q, v), self._scatter("force", "Q", len(q), t, q, v)
        return 0.5 * float(v @ (self._diagonal * v)), float(potential[0]), float(force @ v)
