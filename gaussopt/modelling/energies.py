"""Build systems from energies and constraints that users write in SymPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gaussopt.core.contacts import Contact
from gaussopt.core.keywords import suggesting
from gaussopt.modelling.lagrangian import LagrangianSystem, derive, read_model


@suggesting
def from_lagrangian(
    q: Sequence[Any],
    v: Sequence[Any] | None = None,
    *,
    kinetic: Any,
    potential: Any = 0,
    forces: Sequence[Any] | Mapping[Any, Any] | None = None,
    holonomic: Sequence[Any] | Mapping[str, Any] = (),
    nonholonomic: Sequence[Any] | Mapping[str, Any] = (),
    quasi_velocities: Sequence[Any] = (),
    contacts: Sequence[Contact] = (),
    parameters: Mapping[Any, float] | None = None,
    t: Any = None,
    name: str = "system",
) -> LagrangianSystem:
    """Derive the equations M a + h = Q + J^T lam, J a = gamma from energies and constraints in SymPy.

    M = d^2 T / dv^2 may depend on q and be singular; the derivatives are exact. SI units, angles in rad.

    Parameters
    ----------
    q : n symbols, or n functions of time such as sympy's dynamicsymbols
    v : n symbols for the velocities; not needed if `q` are functions of time
    kinetic : kinetic energy T(q, v, t), at most quadratic in v
    potential : potential energy V(q, t)
    forces : generalised forces without potential, as n expressions or {coordinate: expression}
    holonomic : expressions phi(q, t), zero on the constraints; a list, or {name: expression}, whose names appear in
        messages and label the constraint forces
    nonholonomic : expressions f(q, v, t), zero on the constraints, in the same forms; they may be nonlinear in v
    quasi_velocities : n - m expressions omega(q, v, t), independent of each other and of the constraints
    contacts : unilateral contacts, each given by the position of its contact point, or by its gap and slip
    parameters : {symbol or name: value}; every other symbol is an error
    t : the time symbol; the symbol named "t" if not given
    name : name of the system in messages

    Raises
    ------
    BadInput
        For an unknown symbol, a wrong length or an invalid expression, which the message names.

    Examples
    --------
    >>> import gaussopt as go
    >>> import sympy as sp
    >>> x, v, k = sp.symbols("x v k")
    >>> spring = go.System.from_lagrangian(
    ...     [x], [v], kinetic=v**2 / 2, potential=k * x**2 / 2, parameters={k: 4.0})
    >>> print(spring.evaluate(0.0, [1.0], [0.0]).Q)
    [-4.]
    """
    parts = {
        "kinetic": kinetic, "potential": potential, "forces": forces, "holonomic": holonomic,
        "nonholonomic": nonholonomic, "quasi_velocities": quasi_velocities, "contacts": contacts,
    }  # fmt: skip
    return derive(read_model(q, v, parts, parameters, t, name))
