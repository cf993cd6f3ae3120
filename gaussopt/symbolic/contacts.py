"""Records of contacts given by SymPy expressions for gaps and slips, from which derivatives follow.

g_N(q, t),   J_N = dg_N/dq,   zeta_N = (J_N v + g_t)_q v + (J_N v + g_t)_t;
v_T(q, v, t) linear in v,   J_T = dv_T/dv,   zeta_T = (v_T)_q v + (v_T)_t
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ContactSymbols:
    """A contact in internal symbols: gap, slip (d entries, or none), mu, e_N and e_T, and position if given."""

    gap: Any
    slip: tuple[Any, ...]
    coefficients: tuple[Any, Any, Any]
    place: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of the contacts of a system, which of them are two-sided, and their tangent dimension d."""

    names: tuple[str, ...] = ()
    two_sided: tuple[bool, ...] = ()
    d: int = 1

    @property
    def k(self) -> int:
        """Number of contacts."""
        return len(self.names)

    def cuts(self, n: int) -> tuple[int, ...]:
        """Return the end index of each of g_N, gdot_N, J_N, zeta_N, J_T, zeta_T and v_T in the flat output."""
        k, d = self.k, self.d
        ends, end = [], 0
        for size in (k, k, k * n, k, k * d * n, k * d, k * d):
            end += size
            ends.append(end)
        return tuple(ends)
