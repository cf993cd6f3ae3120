"""Contacts from SymPy expressions: gaps, slips and their derivatives as records.

g_N(q, t),   J_N = dg_N/dq,   zeta_N = (J_N v + g_t)_q v + (J_N v + g_t)_t;
v_T(q, v, t) linear in v,   J_T = dv_T/dv,   zeta_T = (v_T)_q v + (v_T)_t
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ContactSymbols:
    """A contact in our symbols: its gap, its slip (d entries, or none), its coefficients, and its position if given."""

    gap: Any
    slip: tuple[Any, ...]
    coefficients: tuple[Any, Any, Any]
    place: tuple[Any, ...] = ()


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
        """Return ends of g_N, gdot_N, J_N, zeta_N, J_T, zeta_T and v_T in the flat output."""
        k, d = self.k, self.d
        ends, end = [], 0
        for size in (k, k, k * n, k, k * d * n, k * d, k * d):
            end += size
            ends.append(end)
        return tuple(ends)
