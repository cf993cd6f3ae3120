"""The equations of a system as SymPy expressions, and the source that computes them.

Derived from energies and constraints, see `gaussopt.modelling.lagrangian`; everything generated starts here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy as sp

from gaussopt.codegen import source as codegen
from gaussopt.codegen.ldl import certificate_source
from gaussopt.core.errors import BadInput
from gaussopt.symbolic.contacts import ContactSymbols, flat_contacts

TIME = sp.Symbol("t", real=True)


@dataclass(frozen=True)
class Model:
    """What a system is made of, in our symbols.

    Attributes
    ----------
    name : str
    q, v, p : symbols of the coordinates (n), velocities (n) and parameters
    kinetic, potential : T(q, v, t), V(q, t)
    forces : F(q, v, t), n generalised forces without potential
    holonomic, nonholonomic : phi(q, t), f(q, v, t), zero on the constraints
    quasi_velocities : omega(q, v, t)
    contacts : their gaps, slips and coefficients
    tangents : tangent dimension d of the contacts
    names : of the coordinates by their velocities, for messages
    """

    name: str
    q: Sequence[Any]
    v: Sequence[Any]
    p: Sequence[Any]
    kinetic: Any
    potential: Any
    forces: Sequence[Any]
    holonomic: Sequence[Any]
    nonholonomic: Sequence[Any]
    quasi_velocities: Sequence[Any]
    contacts: Sequence[ContactSymbols]
    tangents: int
    names: Mapping[Any, str] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """A short name for everything that the equations depend on."""
        bar = sp.Symbol("|")
        parts = [*self.q, *self.v, *self.p, self.kinetic, self.potential, *self.forces, *self.holonomic, bar,
                 *self.nonholonomic, bar, *self.quasi_velocities]  # fmt: skip
        for c in self.contacts:
            parts += [bar, c.gap, *c.slip, bar, *c.coefficients]
        return codegen.key_of(*map(sp.srepr, parts))

    @cached_property
    def equations(self) -> Equations:
        """The model differentiated.

        Raises
        ------
        BadInput
            If the kinetic energy is more than quadratic in the velocities, or a constraint constrains nothing.
        """
        d, along = sp.diff, self.along
        n, name, qs, vs = len(self.q), self.name, self.q, self.v
        T = sp.expand(self.kinetic)
        M = [[d(T, a, b) for b in vs] for a in vs]
        for i in range(n):
            for j in range(n):
                quick = sorted(self.names.get(s, str(s)) for s in M[i][j].free_symbols if s in vs)
                if quick:
                    raise BadInput(
                        f"kinetic of {name!r} is more than quadratic in the velocities: M[{i}, {j}] depends on the "
                        f"velocity of {quick[0]!r}."
                    )
        for i, row in enumerate(self.nonholonomic):
            if not any(s in row.free_symbols for s in vs):
                raise BadInput(f"nonholonomic[{i}] of {name!r} holds no velocity; give it under holonomic.")
        for i, row in enumerate(self.holonomic):
            if not any(s in row.free_symbols for s in qs):
                raise BadInput(f"holonomic[{i}] of {name!r} holds no coordinate; it constrains nothing.")
        return Equations(
            M=M,
            h=[along(d(T, b)) - d(T, a) for a, b in zip(qs, vs, strict=True)],
            Q=[force - d(self.potential, a) for force, a in zip(self.forces, qs, strict=True)],
            J=[[d(row, a) for a in qs] for row in self.holonomic]
            + [[d(row, b) for b in vs] for row in self.nonholonomic],
            gamma=[-along(along(row)) for row in self.holonomic] + [-along(row) for row in self.nonholonomic],
            rates=[*map(along, self.holonomic), *self.nonholonomic],
            energy=[T, self.potential, sum((f * b for f, b in zip(self.forces, vs, strict=True)), sp.Integer(0))],
        )

    def along(self, expr: Any) -> Any:
        """Time derivative at constant v: expr_q v + expr_t."""
        return along(expr, self.q, self.v)

    def source(self) -> str:
        """The generated module: step data, residuals, energies, contacts and the certificate's arithmetic.

        Raises
        ------
        BadInput
            As `equations`; also if an expression has no counterpart in Python.
        """
        e, n, d = self.equations, len(self.q), sp.diff
        state: dict[str, Sequence[Any] | None] = {"t": None, "q": self.q, "v": self.v, "p": self.p}
        place: dict[str, Sequence[Any] | None] = {"t": None, "q": self.q, "p": self.p}
        flat = [x for row in e.M for x in row] + e.h + e.Q + [x for row in e.J for x in row] + e.gamma
        doc = "M (n*n), h (n), Q (n), J (m*n), gamma (m), row by row."
        if self.contacts:
            # In one function with the smooth part, so that sines and cosines are shared.
            flat += flat_contacts(self.contacts, self.tangents, self.along, self.q, self.v)
            doc = doc[:-1] + "; then g_N, gdot_N, J_N, zeta_N, J_T, zeta_T, v_T."
        functions = [
            codegen.Function("step", state, flat, doc),
            codegen.Function("position", place, self.holonomic, "Holonomic constraint functions phi (m_h)."),
            codegen.Function(
                "position_jacobian",
                place,
                [x for row in e.J[: len(self.holonomic)] for x in row],
                "phi_q (m_h*n), row by row.",
            ),
            codegen.Function("velocity", state, e.rates, "Constraint residuals at velocity level (m)."),
            codegen.Function("energy", state, e.energy, "Kinetic and potential energy, power of the forces."),
        ]
        if self.quasi_velocities:
            full = [*self.quasi_velocities, *e.rates]
            functions += [
                codegen.Function("omega", state, full, "Quasi-velocities, then the velocity constraints (n)."),
                codegen.Function(
                    "omega_jacobian", state, [d(x, b) for x in full for b in self.v], "Their derivative by v (n*n)."
                ),
                codegen.Function(
                    "omega_bias", state, [self.along(x) for x in full], "Their time derivative at constant v (n)."
                ),
            ]
        if self.contacts:
            gaps = [c.gap for c in self.contacts]
            coefficients = [c.coefficients[i] for i in range(3) for c in self.contacts]
            functions += [
                codegen.Function("gaps", place, gaps, "Gaps g_N (k)."),
                codegen.Function("gap_rates", state, [self.along(x) for x in gaps], "Gap rates (k)."),
                codegen.Function("coefficients", {"p": self.p}, coefficients, "mu (k), e_N (k), e_T (k)."),
            ]
        pattern_M, pattern_J = [x != 0 for row in e.M for x in row], [x != 0 for row in e.J for x in row]
        certificate = certificate_source(n, pattern_M, pattern_J)
        known = set(self.p)
        constants = {"CONSTANT": tuple(x.free_symbols <= known for row in (*e.M, *e.J) for x in row)}
        more = [certificate] if certificate else []
        return codegen.source(functions, f"Equations of {self.name}.", more, constants)


@dataclass(frozen=True)
class Equations:
    """The derived expressions of one step.

    Attributes
    ----------
    M, h, Q, J, gamma : as in `gaussopt.core.step_data.StepData`
    rates : constraint residuals at velocity level, (m,)
    energy : kinetic energy, potential energy, power of the forces without potential
    """

    M: list[list[Any]]
    h: list[Any]
    Q: list[Any]
    J: list[list[Any]]
    gamma: list[Any]
    rates: list[Any]
    energy: list[Any]


def along(expr: Any, qs: Sequence[Any], vs: Sequence[Any]) -> Any:
    """Time derivative at constant v: expr_q v + expr_t."""
    return sum((sp.diff(expr, a) * b for a, b in zip(qs, vs, strict=True)), sp.diff(expr, TIME))
