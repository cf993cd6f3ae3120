"""What a person gives for a contact, and what is derived from it.

gap g_N >= 0,   J_N = dg_N/dq,   zeta_N = second time derivative of g_N at constant v,
slip v_T = J_T v + ...,   zeta_T = time derivative of v_T at constant v
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gaussopt.stepdata import Vector


@dataclass(frozen=True)
class Contact:
    """One contact of a Lagrangian system, in SymPy expressions.

    Give `position`, or `gap` with or without `slip`.

    Attributes
    ----------
    name : str
    position : expressions (x, y) or (x, y, z), optional
        The material contact point; the last entry is its height over the floor. The gap is the height, the slip
        the rate of the others.
    gap : expression in the coordinates and time, optional
        Positive where open, m.
    slip : expressions linear in the velocities, optional
        Tangential velocity of the contact point relative to the ground, d entries, m/s.
    mu : expression in the parameters
        Friction coefficient.
    e_N, e_T : expressions in the parameters
        Coefficients of restitution, normal and tangential.
    two_sided : bool
        A guide without clearance: the contact always has one bearing wall, and changes walls instead of opening.
    """

    name: str
    position: Sequence[Any] | None = None
    gap: Any = None
    slip: Sequence[Any] | None = None
    mu: Any = 0
    e_N: Any = 0
    e_T: Any = 0
    two_sided: bool = False


@dataclass(frozen=True)
class Event:
    """An instant that a person wants located: `function` changes sign there.

    Attributes
    ----------
    name : str
    function : (t, q, v) -> float
    direction : int
        -1: falling through zero, +1: rising, 0: either.
    terminal : bool
        Whether the motion ends there.
    """

    name: str
    function: Callable[[float, Vector, Vector], float]
    direction: int = 0
    terminal: bool = False
