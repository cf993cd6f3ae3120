"""Contacts as the user gives them, and the arrays that are derived from them.

gap g_N >= 0,   J_N = dg_N/dq,   zeta_N = second time derivative of g_N at constant v,
slip v_T = J_T v + ...,   zeta_T = time derivative of v_T at constant v
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.system import AbstractSystem, state_in_words

VANISHES = 1e-14
"""A row of J_N counts as zero up to this largest entry, relative to the larger of 1 and the contact's rows of J_T."""

FEW = 2000
"""Number of entries of J_N up to which Python lists are quicker than arrays."""


@dataclass(frozen=True)
class Contact:
    """One contact of a Lagrangian system, in SymPy expressions.

    Specify either `position`, or `gap` with or without `slip`.

    Attributes
    ----------
    name : str
    position : expressions (x, y) or (x, y, z), optional
        The material contact point: its last entry, the height, is the gap; the rates of the others are the slip.
    gap : expression in the coordinates and time, optional, m, positive where the contact is open
    slip : expressions linear in the velocities, optional
        Tangential velocity of the contact point relative to the ground, d entries, m/s.
    mu : expression in the parameters, friction coefficient
    e_N, e_T : expressions in the parameters, coefficients of restitution, normal and tangential
    two_sided : whether the contact is a guide without clearance, which does not open but presses on its other wall
        At impacts of other contacts the guide is an equality, without e_N; in single steps it is one-sided.

    Examples
    --------
    >>> import gaussopt as go
    >>> import sympy as sp
    >>> y, w, m, g = sp.symbols("y w m g")
    >>> floor = go.Contact("floor", gap=y, e_N=0.5)
    >>> ball = go.System.from_lagrangian(
    ...     [y], [w], kinetic=m * w**2 / 2, potential=m * g * y, contacts=[floor],
    ...     parameters={m: 1.0, g: 9.81})
    >>> bounce = go.simulate(ball, q0=[1.0], v0=[0.0], dt=1e-3, t_end=0.5)
    >>> [(event["kind"], round(event["t"], 4)) for event in bounce.events]
    [('impact', 0.4515)]
    """

    name: str
    position: Sequence[Any] | None = None
    gap: Any = None
    slip: Sequence[Any] | None = None
    mu: Any = 0
    e_N: Any = 0
    e_T: Any = 0
    two_sided: bool = False


@dataclass(frozen=True, slots=True)
class ContactData:
    """The contact arrays that the user's function `contacts(t, q, v)` returns, either as this class or as a mapping.

    Attributes
    ----------
    g_N : (k,), gaps, m
    J_N, zeta_N : (k, n), (k,), normal rows and their bias; the gap acceleration is J_N a + zeta_N, m/s^2
    gdot_N : (k,), optional, gap rates, m/s; J_N v if absent, which is right where the gap does not depend on time
    J_T, zeta_T : (k, d, n), (k, d), optional
        Tangential rows and their bias; in the plane the axis d may be left out. Without them there is no friction.
    v_T : (k, d), optional, slip velocities, m/s; J_T v if absent
    mu, e_N, e_T : float or (k,), optional, friction coefficients and coefficients of restitution; 0 if absent
    """

    g_N: ArrayLike
    J_N: ArrayLike
    zeta_N: ArrayLike
    gdot_N: ArrayLike | None = None
    J_T: ArrayLike | None = None
    zeta_T: ArrayLike | None = None
    v_T: ArrayLike | None = None
    mu: ArrayLike | None = None
    e_N: ArrayLike | None = None
    e_T: ArrayLike | None = None


@dataclass(frozen=True, slots=True)
class Kinematics:
    """The checked contact arrays of one state, named and shaped as in `StepData`."""

    g_N: Vector
    gdot_N: Vector
    J_N: Matrix
    zeta_N: Vector
    J_T: NDArray[np.float64]
    zeta_T: Matrix
    v_T: Matrix


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The checked coefficients mu, e_N and e_T of all contacts, (k,) each."""

    mu: Vector
    e_N: Vector
    e_T: Vector


def check_coefficients(owner: str, names: Sequence[str], mu: Vector, e_N: Vector, e_T: Vector) -> Coefficients:
    """Return the coefficients; raises BadInput if a mu is negative or not finite, or an e_N or e_T outside [0, 1]."""
    for i, name in enumerate(names):
        which = f"of contact {name!r} of {owner!r} is"
        if not 0 <= mu[i] < math.inf:
            raise BadInput(f"mu {which} {mu[i]:.6g}; a friction coefficient is finite and not negative.")
        for label, e in (("e_N", e_N), ("e_T", e_T)):
            if not 0 <= e[i] <= 1:
                raise BadInput(f"{label} {which} {e[i]:.6g}; a coefficient of restitution lies between 0 and 1.")
    for array in (mu, e_N, e_T):
        array.setflags(write=False)
    return Coefficients(mu, e_N, e_T)


def check_normals(
    system: AbstractSystem, J_N: Matrix, J_T: NDArray[np.float64], t: float, q: Vector, v: Vector
) -> None:
    """Check that no normal row is zero up to rounding; raises BadInput."""
    # The usual case: all rows are clearly not zero.
    few = J_N.size <= FEW
    if all(max(map(abs, row)) > 1e-6 for row in J_N.tolist()) if few else (np.abs(J_N).max(axis=1) > 1e-6).all():
        return
    scale = np.maximum(1.0, np.abs(J_T).max(axis=(1, 2), initial=0.0))
    size = np.abs(J_N).max(axis=1, initial=0.0) / scale
    if not (size > VANISHES).all():
        raise BadInput(
            f"The normal direction of contact {system.contact_names[size.argmin()]!r} of {system.name!r} is zero at "
            f"{state_in_words(t, q, v)}."
        )


def as_contact_data(value: Any) -> ContactData:
    """Return `ContactData` from the value that a user's function returned.

    Raises BadInput if entries are unknown or missing; the calling code adds the subject to the message.
    """
    if isinstance(value, ContactData):
        return value
    if not isinstance(value, Mapping):
        raise BadInput(f"returned {type(value).__name__}, expected a mapping or ContactData")
    known = [f.name for f in fields(ContactData)]
    for key in value:
        if key not in known:
            raise BadInput(f"returned the unknown entry {key!r}; known: {', '.join(known)}")
    for key in ("g_N", "J_N", "zeta_N"):
        if value.get(key) is None:
            raise BadInput(f"returned no {key!r}")
    if value.get("J_T") is None:
        for key in ("zeta_T", "v_T"):
            if value.get(key) is not None:
                raise BadInput(f"returned {key!r} without 'J_T'")
    elif value.get("zeta_T") is None:
        raise BadInput("returned 'J_T' without 'zeta_T'")
    return ContactData(**value)
