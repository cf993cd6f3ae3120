"""Contacts from SymPy expressions: gaps, slips and their derivatives, ready to be generated.

g_N(q, t),   J_N = dg_N/dq,   zeta_N = (J_N v + g_t)_q v + (J_N v + g_t)_t;
v_T(q, v, t) linear in v,   J_T = dv_T/dv,   zeta_T = (v_T)_q v + (v_T)_t
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from gaussopt.core.contacts import Contact
from gaussopt.core.errors import BadInput

Clean = Callable[[str, Any, str], Any]
"""(label, expression, allowed) -> the expression in our symbols; see `gaussopt.modelling.lagrangian.derive`."""


@dataclass(frozen=True, slots=True)
class ContactSymbols:
    """One contact in our symbols: its gap, its slip (d entries, or none) and its coefficients."""

    gap: Any
    slip: tuple[Any, ...]
    coefficients: tuple[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """Names and kinds of the contacts of a system, and their tangent dimension d."""

    names: tuple[str, ...] = ()
    two_sided: tuple[bool, ...] = ()
    d: int = 1

    @property
    def k(self) -> int:
        """Number of contacts."""
        return len(self.names)

    def cuts(self, n: int) -> tuple[int, ...]:
        """Ends of g_N, gdot_N, J_N, zeta_N, J_T, zeta_T and v_T in the flat output."""
        k, d = self.k, self.d
        ends, end = [], 0
        for size in (k, k, k * n, k, k * d * n, k * d, k * d):
            end += size
            ends.append(end)
        return tuple(ends)


def read_contacts(
    contacts: Sequence[Contact], clean: Clean, along: Callable[[Any], Any], vs: Sequence[Any],
    parameters: Sequence[Any], owner: str,
) -> tuple[list[ContactSymbols], Layout]:  # fmt: skip
    """A person's contacts in our symbols, checked.

    `clean` brings an expression into our symbols, `along` is the time derivative of one in q and t; vs and `parameters`
    are our symbols for the velocities and the parameters.

    Raises BadInput naming the contact and what does not fit.
    """
    found: list[ContactSymbols] = []
    for i, contact in enumerate(contacts):
        if not isinstance(contact, Contact):
            raise BadInput(f"contacts[{i}] of {owner!r} is {type(contact).__name__}, expected a Contact.")
        found.append(_read(contact, f"contact {contact.name!r}", clean, along, vs, parameters, owner))
    names = tuple(str(c.name) for c in contacts)
    if len(set(names)) != len(names):
        twice = next(s for s in names if names.count(s) > 1)
        raise BadInput(f"Two contacts of {owner!r} are called {twice!r}; give each a name of its own.")
    sizes = {len(c.slip) for c in found if c.slip}
    if len(sizes) > 1:
        raise BadInput(f"The contacts of {owner!r} mix planar and spatial slip; all have one tangent dimension.")
    d = sizes.pop() if sizes else 1
    return found, Layout(names, tuple(bool(c.two_sided) for c in contacts), d)


def _read(
    contact: Contact, label: str, clean: Clean, along: Callable[[Any], Any], vs: Sequence[Any],
    parameters: Sequence[Any], owner: str,
) -> ContactSymbols:  # fmt: skip
    where = f"{label} of {owner!r}"
    if (contact.position is None) == (contact.gap is None):
        raise BadInput(f"{where} needs either a position or a gap.")
    if contact.position is not None:
        if contact.slip is not None:
            raise BadInput(f"{where} gives a position and a slip; the slip follows from the position.")
        place = [clean(f"position of {label}", e, "qt") for e in _entries(contact.position, "position", where)]
        if len(place) not in (2, 3):
            raise BadInput(f"position of {where} has {len(place)} entries, expected (x, y) or (x, y, z).")
        gap, slip = place[-1], tuple(along(e) for e in place[:-1])
    else:
        gap = clean(f"gap of {label}", contact.gap, "qt")
        slip = tuple(clean(f"slip of {label}", e, "qvt") for e in _entries(contact.slip or (), "slip", where))
        if len(slip) > 2:
            raise BadInput(f"slip of {where} has {len(slip)} entries, expected one or two.")
    coefficients = tuple(clean(f"{name} of {label}", getattr(contact, name), "p") for name in ("mu", "e_N", "e_T"))
    for name, e in zip(("mu", "e_N", "e_T"), coefficients, strict=True):
        if e.free_symbols - set(parameters):
            raise BadInput(f"{name} of {where} depends on the state or on time; it may hold parameters only.")
    if all(_is_zero(sp.diff(along(gap), b)) for b in vs):
        raise BadInput(f"The normal direction of {where} is identically zero: its gap holds no coordinate.")
    for entry in slip:
        rows = [sp.diff(entry, b) for b in vs]
        if any(not _is_zero(sp.diff(row, b)) for row in rows for b in vs):
            raise BadInput(f"slip of {where} is not linear in the velocities.")
        if all(_is_zero(row) for row in rows):
            raise BadInput(
                f"A tangential direction of {where} is identically zero; give its gap without slip if it has no "
                "friction."
            )
    if not slip and coefficients[0] != 0:
        raise BadInput(f"{where} has friction (mu) but neither a position nor a slip.")
    return ContactSymbols(gap, slip, (coefficients[0], coefficients[1], coefficients[2]))


def _entries(given: Any, what: str, where: str) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadInput(f"{what} of {where} is {given!s}, which is no list; put it in brackets.")
    return list(given)


def _is_zero(expr: Any) -> bool:
    """Whether an expression vanishes identically: a number at some place settles most cases quickly."""
    if not expr.free_symbols:
        return bool(sp.simplify(expr) == 0)
    symbols = sorted(expr.free_symbols, key=str)
    place = {s: sp.Float(0.37 + 0.11 * i) for i, s in enumerate(symbols)}
    value = sp.N(expr.subs(place))
    if value.is_number and value.is_finite and abs(complex(value)) > 1e-9:
        return False
    return bool(sp.simplify(expr) == 0)


def flat_contacts(
    contacts: Sequence[ContactSymbols], d: int, along: Callable[[Any], Any], qs: Sequence[Any], vs: Sequence[Any]
) -> list[Any]:
    """g_N, gdot_N, J_N, zeta_N, J_T, zeta_T, v_T, row by row, in the order of `Layout.cuts`."""
    zero = (sp.Integer(0),) * d
    gaps = [c.gap for c in contacts]
    rates = [along(e) for e in gaps]
    slips = [e for c in contacts for e in (c.slip or zero)]
    return [
        *gaps, *rates, *(sp.diff(e, a) for e in gaps for a in qs), *(along(e) for e in rates),
        *(sp.diff(e, b) for e in slips for b in vs), *(along(e) for e in slips), *slips,
    ]  # fmt: skip
