"""Conversion of a user's symbols, expressions and contacts to a model in internal symbols, with checks.

A user's symbols are identified by their names, whatever their assumptions; internal symbols are real.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sympy as sp
from sympy.core.function import AppliedUndef

from gaussopt.core.contacts import Contact
from gaussopt.core.display import listed
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.symbolic.cancellation import vanishes
from gaussopt.symbolic.contacts import ContactSymbols, Layout
from gaussopt.symbolic.derivatives import Derivatives, Recursion
from gaussopt.symbolic.model import TIME, SymbolicModel
from gaussopt.symbolic.slips import of_symbols


class GivenModel(NamedTuple):
    """A model made from a user's arguments, with its parameter values by name."""

    model: SymbolicModel
    symbols: Symbols
    parameters: dict[str, float]
    contacts: Layout
    notes: tuple[str, ...]
    """Sentences on probable mistakes."""
    unused: tuple[str, ...]
    """Parameters that occur in no expression."""


def read_model(
    q: Sequence[Any],
    v: Sequence[Any] | None,
    parts: Mapping[str, Any],
    parameters: Mapping[Any, float] | None,
    t: Any,
    name: str,
) -> GivenModel:
    """Make a model from the arguments of `System.from_lagrangian`; `parts` holds the expressions by argument name.

    Only three may be missing: `without_rows`, names of joints that need no rows because the coordinates satisfy them,
    `lines`, symbols that stand for expressions of the symbols before them, and `chosen`.
    Raises BadInput, which names an unknown symbol, a wrong length, or an expression that is not allowed.
    """
    q = _listed("q", q, name)
    n = len(q)
    if n == 0:
        raise BadInput(f"{name!r} has no coordinates; give at least one.")
    values = _values(parameters, name)
    given = parts.get("lines", ())
    symbols = Symbols(q, v, list(values), t, name, [line for line, _ in given])
    clean = symbols.clean
    lines = [tuple(clean("a line", x, "qvt") for x in line) for line in given]
    T = clean("kinetic", parts["kinetic"], "qvt")
    quick = set() if lines else T.free_symbols & {*symbols.v}
    if quick and not any(sp.diff(T, a, b) != 0 for a in symbols.v for b in symbols.v):
        raise BadInput(f"kinetic of {name!r} has no square of a velocity, so no mass; write m*v**2/2, not m*v.")
    V = clean("potential", parts["potential"], "qt")
    F = [clean("forces", f, "qvt") for f in _force_list(parts["forces"], q, name)]
    named = {label: _named(label, parts[label], name) for label in ("holonomic", "nonholonomic", "quasi_velocities")}
    phi, f, omega = (
        [clean(key, e, allowed, label != "quasi_velocities") for key, e in named[label].items()]
        for label, allowed in (("holonomic", "qt"), ("nonholonomic", "qvt"), ("quasi_velocities", "qvt"))
    )
    m = len(phi) + len(f)
    if omega and len(omega) != n - m:
        raise BadInput(f"{name!r} needs n - m = {n - m} quasi-velocities, not {len(omega)}.")
    rates = {TIME: sp.Integer(1), **dict(zip(symbols.q, symbols.v, strict=True))}
    derivatives = Recursion(rates, lines) if lines else Derivatives()
    contacts = [parts["contacts"]] if isinstance(parts["contacts"], Contact) else parts["contacts"]
    touching, layout = _read_contacts(_listed("contacts", contacts, name), symbols, name, derivatives)
    model = SymbolicModel(
        name, symbols.q, symbols.v, symbols.p, T, V, F, phi, f, omega, touching, layout.d, symbols.velocity_names,
        (*named["holonomic"], *named["nonholonomic"]) if isinstance(parts["holonomic"], Mapping) else (),
        parts.get("without_rows", ()), derivatives.pairs, parts.get("chosen", ""),
    )  # fmt: skip
    unused = [name for name, p in zip(values, symbols.p, strict=True) if p not in symbols.used]
    notes = tuple(of_symbols(symbols.coordinates, symbols.rates))
    return GivenModel(model, symbols, values, layout, notes, tuple(unused))


class Symbols:
    """The user's symbols, and internal symbols q, v and p of coordinates, velocities, parameters; raises BadInput.

    `coordinates` holds the names of the coordinates, `velocity_names` maps internal velocities to these names, and
    `used` holds internal symbols that have occurred in an expression. `owner` names the system in messages.
    """

    def __init__(
        self, q: list[Any], v: Sequence[Any] | None, parameters: Sequence[str], t: Any, owner: str,
        lines: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        v, time, names = _state_symbols(q, v, t, owner)
        _check_names(q, v, parameters, time, owner)
        safe = _identifiers(names)
        self._owner, self.used = owner, set[Any]()
        self.q = [sp.Symbol(f"q_{s}", real=True) for s in safe]
        self.v = [sp.Symbol(f"v_{s}", real=True) for s in safe]
        self.p = [sp.Symbol(f"p_{s}", real=True) for s in _identifiers(parameters)]
        # Velocities come first because, as derivatives of the coordinates, they contain the coordinates.
        self.rates = [str(x) for x in v]
        self._ours: dict[Any, Any] = {}
        for given, velocity, ours, rate in zip(q, v, self.q, self.v, strict=True):
            self._ours |= {velocity: rate, given: ours}
        self._ours |= dict(zip(map(sp.Symbol, parameters), self.p, strict=True)) | {time: TIME}
        self._ours |= {line: sp.Symbol(f"line_{i}", real=True) for i, line in enumerate(lines)}
        self._by_name = {str(k): r for k, r in self._ours.items() if isinstance(k, sp.Symbol)}
        self._whole = {k: r for k, r in self._ours.items() if not isinstance(k, sp.Symbol)}
        self._known = set(self._ours.values())
        self._theirs = {ours: sp.Symbol(str(given)) for given, ours in self._ours.items()}
        self.coordinates = tuple(s if c.isspace() or not c else c for c, s in zip(names, safe, strict=True))
        self.velocity_names = dict(zip(self.v, self.coordinates, strict=True))

    def theirs(self, expr: Any) -> Any:
        """Return an expression in the user's symbols, for messages."""
        return expr.xreplace(self._theirs)

    def clean(self, label: str, given: Any, allowed: str, equation: bool = False) -> Any:
        """Convert a user's expression to internal symbols; an `equation` becomes its left side minus its right side.

        Raises BadInput if it is not a real expression, or contains an unknown symbol, or a velocity although `allowed`
        lacks "v".
        """
        name = self._owner
        expr = self._replaced(_expression(f"{label} of {name!r}", given, self._ours, equation))
        self.used |= expr.free_symbols
        unknown = sorted(str(s) for s in expr.free_symbols - self._known)
        unknown += sorted(str(self.theirs(f)) for f in expr.atoms(AppliedUndef, sp.Derivative))
        if unknown:
            raise BadInput(
                f"{label} of {name!r} holds the unknown symbol {unknown[0]!r}; make it a coordinate or give its "
                "value in parameters."
            )
        if "v" not in allowed:
            moving = sorted(self.velocity_names[s] for s in expr.free_symbols if s in self.velocity_names)
            if moving:
                raise BadInput(f"{label} of {name!r} depends on the velocity of {moving[0]!r}; write it without.")
        return expr

    def _replaced(self, expr: Any) -> Any:
        """Replace symbols by name, so that a user's assumptions about them (positive, real) do not matter."""
        # All symbols are replaced at once, because an internal name may be the user's name of another symbol.
        named = {s: self._by_name[str(s)] for s in expr.free_symbols if str(s) in self._by_name}
        return expr.xreplace(self._whole | named)


def _read_contacts(
    contacts: list[Any], symbols: Symbols, owner: str, slopes: Derivatives
) -> tuple[list[ContactSymbols], Layout]:
    """Convert a user's contacts to internal symbols; raises BadInput, which names the contact and the mistake."""
    found: list[ContactSymbols] = []
    for i, contact in enumerate(contacts):
        if not isinstance(contact, Contact):
            raise BadInput(f"contacts[{i}] of {owner!r} is {type(contact).__name__}, expected a Contact.")
        found.append(_read_contact(contact, symbols, owner, slopes))
    names = tuple(str(c.name) for c in contacts)
    if len(set(names)) != len(names):
        twice = next(s for s in names if names.count(s) > 1)
        raise BadInput(f"Two contacts of {owner!r} are called {twice!r}; give each a name of its own.")
    sizes = {len(c.slip) for c in found if c.slip}
    if len(sizes) > 1:
        raise BadInput(f"The contacts of {owner!r} mix planar and spatial slip; all have one tangent dimension.")
    d = sizes.pop() if sizes else 1
    return found, Layout(names, tuple(bool(c.two_sided) for c in contacts), d)


def _read_contact(contact: Contact, symbols: Symbols, owner: str, slopes: Derivatives) -> ContactSymbols:
    clean, vs, label = symbols.clean, symbols.v, f"contact {contact.name!r}"
    where = f"{label} of {owner!r}"
    if (contact.position is None) == (contact.gap is None):
        raise BadInput(f"{where} needs either a position or a gap.")
    place: list[Any] = []
    if contact.position is not None:
        if contact.slip is not None:
            raise BadInput(f"{where} gives a position and a slip; the slip follows from the position.")
        place = [
            clean(f"position of {label}", e, "qt") for e in _listed(f"position of {label}", contact.position, owner)
        ]
        if len(place) not in (2, 3):
            raise BadInput(f"position of {where} has {len(place)} entries, expected (x, y) or (x, y, z).")
        gap, slip = place[-1], tuple(slopes.along(e, symbols.q, vs, TIME) for e in place[:-1])
    else:
        gap = clean(f"gap of {label}", contact.gap, "qt")
        slip = tuple(
            clean(f"slip of {label}", e, "qvt") for e in _listed(f"slip of {label}", contact.slip or (), owner)
        )
        if len(slip) > 2:
            raise BadInput(f"slip of {where} has {len(slip)} entries, expected one or two.")
    coefficients = tuple(clean(f"{name} of {label}", getattr(contact, name), "p") for name in ("mu", "e_N", "e_T"))
    for name, e in zip(("mu", "e_N", "e_T"), coefficients, strict=True):
        if e.free_symbols - set(symbols.p):
            raise BadInput(f"{name} of {where} depends on the state or on time; it may hold parameters only.")
    if all(vanishes(x) for x in slopes.gradient(gap, symbols.q)):
        raise BadInput(f"The normal direction of {where} is identically zero: its gap holds no coordinate.")
    for entry in slip:
        rows = slopes.gradient(entry, vs)
        if any(not vanishes(x) for row in rows for x in slopes.gradient(row, vs)):
            raise BadInput(f"slip of {where} is not linear in the velocities.")
        if all(vanishes(row) for row in rows):
            raise BadInput(
                f"A tangential direction of {where} is identically zero; give its gap without slip if it has no "
                "friction."
            )
    if not slip and coefficients[0] != 0:
        raise BadInput(f"{where} has friction (mu) but neither a position nor a slip.")
    return ContactSymbols(gap, slip, (coefficients[0], coefficients[1], coefficients[2]), tuple(place))


def _state_symbols(q: list[Any], v: Sequence[Any] | None, t: Any, name: str) -> tuple[list[Any], Any, list[str]]:
    """Return the velocities, the time symbol, and the names of the coordinates."""
    for c in q:
        if not isinstance(c, sp.Symbol | AppliedUndef):
            raise BadInput(
                f"The coordinate {c!r} of {name!r} is no symbol; give SymPy symbols, such as sympy.Symbol('x'), or "
                "functions of time."
            )
    functions = [isinstance(c, AppliedUndef) for c in q]
    if any(functions) and not all(functions):
        raise BadInput(f"The coordinates of {name!r} mix symbols and functions of time; use one kind.")
    if not isinstance(t, sp.Symbol | None):
        raise BadInput(f"t of {name!r} is {t!r}; give a SymPy symbol.")
    time = sp.Symbol("t") if t is None else t
    if all(functions):
        times = {c.args for c in q}
        if len(times) != 1 or len(q[0].args) != 1:
            raise BadInput(f"The coordinates of {name!r} must be functions of one and the same time symbol.")
        time = q[0].args[0]
        names = [str(c.func) for c in q]
        if v is None:
            v = [sp.Derivative(c, time) for c in q]
    else:
        if v is None:
            raise BadInput(f"Give the velocity symbols v of {name!r}, one for each coordinate.")
        names = [str(c) for c in q]
    v = _listed("v", v, name)
    if len(v) != len(q):
        raise BadInput(f"v of {name!r} has length {len(v)}, expected {len(q)}: one for each of {listed(q)}.")
    for b in v:
        if not isinstance(b, sp.Symbol | AppliedUndef | sp.Derivative):
            raise BadInput(f"The velocity {b!r} of {name!r} is no symbol; give SymPy symbols.")
    return v, time, names


def finite_parameter(name: str, value: Any) -> float:
    """Return the value of a parameter as a float; raises BadInput unless it is a finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadInput(f"Parameter {name!r} is {value!r}, which is not a number.") from None
    except OverflowError:
        raise BadInput(f"Parameter {name!r} is too large for a floating-point number.") from None
    if not math.isfinite(number):
        raise BadInput(f"Parameter {name!r} is {number}; it must be finite.")
    return number


def _values(parameters: Mapping[Any, float] | None, owner: str) -> dict[str, float]:
    """Return parameter values by name; raises BadInput if a name occurs twice."""
    if not isinstance(parameters, Mapping | None):
        raise BadInput(f"parameters of {owner!r} is {type(parameters).__name__}; give {{symbol: value}}.")
    values: dict[str, float] = {}
    for key, value in (parameters or {}).items():
        if str(key) in values:
            raise BadInput(_twice(str(key), "parameters", owner))
        values[str(key)] = finite_parameter(str(key), value)
    return values


def _twice(printed: str, role: str, owner: str) -> str:
    return (
        f"Two {role} of {owner!r} are called {printed!r}, and symbols are told apart by their names, whatever their "
        "assumptions; rename one."
    )


def _named(label: str, value: Any, owner: str) -> dict[str, Any]:
    """Return a user's rows by name: the user's names, or else `label` with an index."""
    if isinstance(value, Mapping):
        return {str(key): row for key, row in value.items()}
    return {f"{label}[{i}]": row for i, row in enumerate(_listed(label, value, owner))}


def _listed(label: str, value: Any, owner: str) -> list[Any]:
    """Return a user's sequence as a list; raises BadInput for a string, or an object that is not iterable."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BadInput(f"{label} of {owner!r} is {value!s}, which is no list; put it in brackets.")
    return list(value)


def _expression(where: str, given: Any, rename: Mapping[Any, Any], equation: bool) -> Any:
    """Convert a user's expression to SymPy; it must be real, without derivatives other than the velocities.

    If an `equation` is allowed, the result for it is its left side minus its right side.
    """
    try:
        expr = sp.sympify(given)
    except (sp.SympifyError, TypeError):
        raise BadInput(f"{where} is not an expression.") from None
    if isinstance(expr, sp.Eq):
        if not equation:
            raise BadInput(f"{where} is an equation, {expr}; give an expression.")
        expr = expr.lhs - expr.rhs
    if not isinstance(expr, sp.Expr):
        raise BadInput(f"{where} is {given!s}, which is not an expression.")
    for wrong, words in ((sp.I, "the imaginary unit"), (sp.nan, "nan"), (sp.zoo, "a division by zero")):
        if expr.has(wrong):
            raise BadInput(f"{where} holds {words}; it must be real and finite.")
    if any(d not in rename for d in expr.atoms(sp.Derivative)):
        expr = expr.doit()  # expands d/dt of functions of the coordinates
        rest = sorted(str(d) for d in expr.atoms(sp.Derivative) if d not in rename)
        if rest:
            raise BadInput(f"{where} holds {rest[0]}; of the derivatives it may hold the velocities only.")
    return expr


def _force_list(forces: Sequence[Any] | Mapping[Any, Any] | None, q: list[Any], name: str) -> list[Any]:
    if forces is None:
        return [sp.Integer(0)] * len(q)
    if isinstance(forces, Mapping):
        found: list[Any] = [sp.Integer(0)] * len(q)
        place = {str(c): i for i, c in enumerate(q)}
        place |= {str(c.func): i for i, c in enumerate(q) if isinstance(c, AppliedUndef)}
        seen: set[int] = set()
        for key, force in forces.items():
            if str(key) not in place:
                raise BadInput(
                    f"forces of {name!r} names {key}, which is not a coordinate; these are {', '.join(place)}."
                )
            i = place[str(key)]
            if i in seen:
                raise BadInput(f"forces of {name!r} names the coordinate {key} twice.")
            seen.add(i)
            found[i] = force
        return found
    forces = _listed("forces", forces, name)
    if len(forces) != len(q):
        raise BadInput(f"forces of {name!r} has length {len(forces)}, expected {len(q)} (one for each coordinate).")
    return forces


def _check_names(q: Sequence[Any], v: Sequence[Any], parameters: Sequence[str], time: Any, owner: str) -> None:
    """Check that no name has two roles, because symbols are identified by their names."""
    groups = {"coordinate": q, "velocity": v, "parameter": parameters, "time": [time]}
    plural = {"coordinate": "coordinates", "velocity": "velocities"}
    roles: dict[str, str] = {}
    for role, group in groups.items():
        for printed in map(str, group):
            first = roles.setdefault(printed, role)
            if first != role and role == "time":
                raise BadInput(f"{printed!r} of {owner!r} is both a {first} and the time; rename it or pass t=...")
            if first != role:
                raise BadInput(f"{printed!r} of {owner!r} is both a {first} and a {role}; rename one.")
        printed_group = [str(s) for s in group]
        if len(set(printed_group)) != len(printed_group):
            again = next(s for s in printed_group if printed_group.count(s) > 1)
            raise BadInput(_twice(again, plural[role], owner))


def _identifiers(names: Sequence[str]) -> tuple[str, ...]:
    """Return a distinct ASCII identifier for each name; names that are such identifiers already are kept."""
    taken = {s for s in names if _identifier(s) == s}
    found = []
    for name in names:
        safe = _identifier(name)
        if safe != name:
            while safe in taken:
                safe += "_"
            taken.add(safe)
        found.append(safe)
    return tuple(found)


def _identifier(text: str) -> str:
    safe = "".join(c if c.isalnum() else "_" for c in text)
    return safe if safe and safe.isascii() else "u" + safe.encode("utf-8").hex()


def check_parameters(values: Mapping[str, Any], known: Mapping[str, float]) -> None:
    """Raise UnknownName unless all names are `known` parameters, and BadInput unless the values are finite numbers."""
    for name, value in values.items():
        if name not in known:
            raise UnknownName("parameter", name, known)
        finite_parameter(name, value)


def input_values(given: Any, known: Mapping[str, float]) -> dict[str, float]:
    """Check the parameter values that a control function returned, and return them; raises BadInput or UnknownName."""
    if not isinstance(given, Mapping):
        such = {next(iter(known), "F"): 0.0}
        raise BadInput(f"{given!r:.60} names no parameters; return values by name, such as {such}.")
    given = {str(name): value for name, value in given.items()}  # a SymPy symbol stands for its name
    check_parameters(given, known)
    return {name: float(value) for name, value in given.items()}
