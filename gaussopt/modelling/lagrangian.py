"""Systems derived from SymPy energies: M, h, Q, J and gamma are never written by hand.

With T(q, v, t), V(q, t), generalised forces F(q, v, t), holonomic phi(q, t) = 0 and nonholonomic
f(q, v, t) = 0:

    M = T_vv,   h = T_vq v + T_vt - T_q,   Q = F - V_q,
    J = [phi_q; f_v],   gamma = -[(phi_q v)_q v + 2 phi_qt v + phi_tt;  f_q v + f_t]

The n - m quasi-velocities omega(q, v, t) and the m velocity constraints are together n functions whose Jacobian W
with respect to v is regular. D_omega consists of the first n - m columns of D = W^-1, and

    a = D_omega omega' + w,   w = -D ([omega; f]_q v + [omega; f]_t),   J D_omega = 0.

The gaps and slips of contacts and their derivatives are described in `gaussopt.symbolic.contacts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gaussopt.codegen.equations import equations_of
from gaussopt.codegen.source import Unwritable
from gaussopt.core import generated_modules
from gaussopt.core.arrays import Matrix, Vector, as_state
from gaussopt.core.contacts import Coefficients, Kinematics, check_coefficients, check_normals
from gaussopt.core.display import counted, listed
from gaussopt.core.endings import settled
from gaussopt.core.errors import BadInput
from gaussopt.core.row_rounding import may_be_rounding, without_rounding
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem, Energy, Outline, state_in_words
from gaussopt.modelling.generated_functions import ENOUGH, GeneratedFunctions, ParameterValues, Undefined
from gaussopt.symbolic.contacts import Layout
from gaussopt.symbolic.formulas import formulas_of
from gaussopt.symbolic.model import SymbolicModel
from gaussopt.symbolic.outline import outline_function
from gaussopt.symbolic.reading import GivenModel, check_parameters, input_values
from gaussopt.symbolic.reading import read_model as read_model

_NOTHING = np.zeros(0)

DEPENDENT = 1e12
"""Largest entry of |W| |W^-1| beyond which quasi-velocities count as dependent."""


class LagrangianSystem(AbstractSystem):
    """A system whose step data come from generated straight-line source; `model` holds energies and constraints."""

    def __init__(
        self, model: SymbolicModel, coordinates: tuple[str, ...], parameters: Mapping[str, float], module: ModuleType,
        contacts: Layout,
    ) -> None:  # fmt: skip
        self.name, self.model, self.depends_on_time = model.name, model, model.holds_time
        self.n, self.m_h = len(coordinates), len(model.holonomic)
        self.m, self.p_omega = self.m_h + len(model.nonholonomic), len(model.quasi_velocities)
        self._shape = (self.n,)
        self._coordinates = coordinates
        self._parameters = dict(parameters)
        self._p = ParameterValues(list(self._parameters.values()))
        self._module = module
        self._functions = GeneratedFunctions.of(module, False)
        self._certified, self._cancels = hasattr(module, "certificate"), hasattr(module, "row_terms")
        n, m, self._layout = self.n, self.m, contacts
        self._coefficients: Coefficients | None = None
        self._contact_cuts = self._layout.cuts(n)
        self._smooth = n * n + 2 * n + m * n + m
        self._size = self._smooth + self._contact_cuts[-1]
        self._cuts = (n * n, n * n + n, n * n + 2 * n, n * n + 2 * n + m * n)

    def _extent(self) -> str:
        return f"coordinates {listed(self._coordinates)}; {counted(self.m, 'equality row')}, "

    def to_latex(self) -> str:
        """Return M, h, Q, equality and contact rows as LaTeX; for a large system, only the form of its equations."""
        lines = [r", \quad ".join(line) for line in formulas_of(self.model, list(self._parameters))]
        return r"\begin{gathered} " + r" \\[6pt] ".join(lines) + r" \end{gathered}"

    def _repr_latex_(self) -> str:
        return f"$${self.to_latex()}$$"

    def _picture(self) -> str:
        """Return the formulas as MathML, which browsers render without a script and wrap on a narrow page."""
        from latex2mathml.converter import convert

        cell = '<div style="overflow-x:auto;max-width:100%;padding:.4em 0;font-size:min(1em,3.6vw)">'
        row = '<div style="display:flex;flex-wrap:wrap;gap:.4em 2em;align-items:center;padding:0 0 .8em">'
        lines = formulas_of(self.model, list(self._parameters))
        cells = ("".join(f"{cell}{convert(formula)}</div>" for formula in line) for line in lines)
        return "".join(f"{row}{line}</div>" for line in cells)

    @property
    def source_path(self) -> Path:
        """The path of the generated module file.

        Raises BadInput if it can be written neither to the cache folder nor to a temporary file.
        """
        return generated_modules.path_of(self._module)

    @property
    def source(self) -> str:
        """The generated source."""
        return generated_modules.text_of(self._module)

    @property
    def constant_entries(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the entries of M, (n, n), and of J, (m, n), that depend on parameters alone."""
        found = np.ones((self.n + self.m, self.n), dtype=bool)
        found.flat[list(self._module.VARYING)] = False
        return found[: self.n], found[self.n :]

    @property
    def parameters(self) -> dict[str, float]:
        return dict(self._parameters)

    def with_parameters(self, /, **values: float) -> LagrangianSystem:
        """Return the system with other parameter values, without a new derivation; raises UnknownName or BadInput."""
        check_parameters(values, self._parameters)
        merged = {**self._parameters, **{k: float(x) for k, x in values.items()}}
        system = LagrangianSystem(self.model, self._coordinates, merged, self._module, self._layout)
        system.name, system.notes, system.unused, system.watch = self.name, self.notes, self.unused, self.watch
        return system

    def set_inputs(self, given: Any, n: int) -> dict[str, float]:
        """Set parameters, which a control returned as a mapping; raises UnknownName or BadInput."""
        values = input_values(given, self._parameters)
        self._parameters = {**self._parameters, **values}
        self._p, self._coefficients = ParameterValues(list(self._parameters.values())), None
        return values

    def __reduce__(self) -> tuple[Callable[..., LagrangianSystem], tuple[Any, ...]]:
        """Pickle the energies; the receiving process reads the equations from disk or derives them."""
        said = self.name, self.notes, self.unused, self.watch
        return _restored, (self.model, self._coordinates, self._parameters, self._layout, said)

    def __copy__(self) -> LagrangianSystem:
        """Return a copy that shares the generated functions and all other attributes."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(self.model.rows)

    @property
    def quaternions(self) -> list[tuple[int, list[int]]]:
        return self.model.quaternions

    @property
    def without_rows(self) -> tuple[str, ...]:
        return tuple(self.model.without_rows)

    @property
    def chosen(self) -> str:
        return self.model.chosen

    def outline(self, q: Vector) -> Outline | None:
        """Return points, rods and contact points, inferred from the names of coordinates, constraints and contacts."""
        return None if self._outline is None else self._outline(q, self._p.list)

    @cached_property
    def _outline(self) -> Callable[[Any, Any], Outline] | None:
        return outline_function(self.model, self._layout.names)

    def of_motion(self, rows: int) -> LagrangianSystem:
        """Return a copy for one motion, which may switch to machine code independently of other motions."""
        return copy(self)

    @property
    def size(self) -> int | None:
        return self.n

    def prepare(self, evaluations: float) -> None:
        """Switch to machine code if the number of evaluations makes compiling worthwhile."""
        if evaluations >= ENOUGH:
            self._functions = GeneratedFunctions.of(self._module, True)

    def coordinates(self, n: int) -> tuple[str, ...]:
        return self._coordinates if len(self._coordinates) == n else super().coordinates(n)

    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> StepData:
        """Return the step data of the state, computed by the generated source.

        Raises BadInput where the expressions are undefined (square root of a negative number, division by zero), where
        the normal direction of a contact vanishes, or if mu, e_N or e_T is not a valid coefficient.
        """
        t, q, v = as_state(t, q, v, alike=False)  # `_run` checks the lengths, and its message names the system
        flat = self._run("step", self._size, t, q, v)
        n, m, (a, b, c, d) = self.n, self.m, self._cuts
        D_omega = w_omega = None
        if self.p_omega:
            inverse = self._omega_inverse(t, q, v)
            D_omega = inverse[:, : self.p_omega]
            w_omega = -inverse @ self._run("omega_bias", n, t, q, v)
        J, terms = flat[c:d].reshape(m, n), self._row_terms(t, q, v)
        if terms is not None:
            J[:] = without_rounding(J, terms)  # J is a view of `flat`, so the generated certificate reads these rows
        sure = self._certified and (terms is None or not may_be_rounding(J, terms))
        arithmetic = (self._functions, flat) if sure else None
        if not self._layout.names:
            return StepData.smooth(
                flat[:a].reshape(n, n), flat[a:b], flat[b:c], J, flat[d:], t, q, v, D_omega, w_omega, arithmetic, terms
            )
        contacts, coefficients = self._kinematics(flat[self._smooth :], t, q, v), self._friction()
        return StepData(
            flat[:a].reshape(n, n), flat[a:b], flat[b:c], J, flat[d : self._smooth],
            contacts.J_N, contacts.zeta_N, contacts.J_T, contacts.zeta_T, contacts.v_T, coefficients.mu, t, q, v,
            D_omega, w_omega, arithmetic, contacts.g_N, contacts.gdot_N, coefficients.e_N, coefficients.e_T,
            J_terms=terms,
        )  # fmt: skip

    def _kinematics(self, flat: Vector, t: float, q: Vector, v: Vector) -> Kinematics:
        """Return the contact kinematics, which are stored in `flat`, the contact part of the output of `step`."""
        n, k, d = self.n, self._layout.k, self._layout.d
        c = self._contact_cuts
        found = Kinematics(
            flat[: c[0]], flat[c[0] : c[1]], flat[c[1] : c[2]].reshape(k, n), flat[c[2] : c[3]],
            flat[c[3] : c[4]].reshape(k, d, n), flat[c[4] : c[5]].reshape(k, d), flat[c[5] :].reshape(k, d),
        )  # fmt: skip
        check_normals(self, found.J_N, found.J_T, t, q, v)
        return found

    def _friction(self) -> Coefficients:
        """Return mu, e_N and e_T, computed only once because they depend on the parameters alone."""
        if self._coefficients is None:
            k = self._layout.k
            out = [0.0] * (3 * k)
            try:
                self._module.coefficients(self._p.list, out)
            except (ValueError, ZeroDivisionError, OverflowError) as error:
                raise BadInput(f"The contact coefficients of {self.name!r} are undefined ({error}).") from None
            mu, e_N, e_T = np.array(out).reshape(3, k)
            self._coefficients = check_coefficients(self.name, self._layout.names, mu, e_N, e_T)
        return self._coefficients

    @property
    def contact_names(self) -> tuple[str, ...]:
        return self._layout.names

    @property
    def two_sided(self) -> tuple[bool, ...]:
        return self._layout.two_sided

    @property
    def tangents(self) -> int:
        """Number of tangent directions of a contact: 1 in the plane, 2 in space."""
        return self._layout.d

    def gaps(self, t: float, q: Vector) -> Vector:
        return self._run("gaps", self._layout.k, t, q) if self._layout.names else _NOTHING

    def gap_rates(self, t: float, q: Vector, v: Vector) -> Vector:
        return self._run("gap_rates", self._layout.k, t, q, v) if self._layout.names else _NOTHING

    def position_residual(self, t: float, q: Vector) -> Vector | None:
        return self._run("position", self.m_h, t, q) if self.m_h else _NOTHING

    def position_jacobian(self, t: float, q: Vector) -> Matrix:
        rows = self._run("position_jacobian", self.m_h * self.n, t, q).reshape(self.m_h, self.n)
        terms = self._row_terms(t, q, np.zeros(self.n))  # used for holonomic rows only, which do not depend on v
        return rows if terms is None else without_rounding(rows, terms[: self.m_h])

    def _row_terms(self, t: float, q: Vector, v: Vector) -> Matrix | None:
        """Return the sums of the magnitudes of the terms of J, (m, n); None if no cancellation can occur in J."""
        return self._run("row_terms", self.m * self.n, t, q, v).reshape(self.m, self.n) if self._cancels else None

    def velocity_residual(self, t: float, q: Vector, v: Vector) -> Vector | None:
        return self._run("velocity", self.m, t, q, v) if self.m else _NOTHING

    @property
    def has_quasi_velocities(self) -> bool:
        return self.p_omega > 0

    def quasi_velocity(self, t: float, q: Vector, v: Vector) -> Vector:
        if not self.p_omega:
            return super().quasi_velocity(t, q, v)
        return self._run("omega", self.n, t, q, v)[: self.p_omega]

    def velocity_from(self, t: float, q: Vector, omega: Vector, guess: Vector) -> Vector:
        """Return the velocity, (n,), that satisfies the constraints and has quasi-velocities omega, by Newton's method.

        One iteration suffices if the constraints and the quasi-velocities are linear in v.

        Raises BadInput if no velocity is found, or the quasi-velocities are dependent.
        """
        if not self.p_omega:
            return super().quasi_velocity(t, q, guess)
        v = guess
        target = np.concatenate((omega, np.zeros(self.m)))
        goal = 4e-15 * (1.0 + float(np.abs(omega).max(initial=0.0)))
        best = math.inf
        for _ in range(30):
            residual = self._run("omega", self.n, t, q, v) - target
            size = float(np.abs(residual).max())
            if settled(size, goal, best):
                return v
            best = min(best, size)
            v = v - self._omega_inverse(t, q, v) @ residual
        raise BadInput(f"No velocity of {self.name!r} has the quasi-velocities {omega} at t = {t:.9g}.")

    def quasi_velocity_rate(self, t: float, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return d omega / dt, (n - m,): the first entries of W a + [omega; f]_q v + [omega; f]_t."""
        if not self.p_omega:
            return super().quasi_velocity(t, q, v)
        n, p = self.n, self.p_omega
        W = self._run("omega_jacobian", n * n, t, q, v).reshape(n, n)
        return np.asarray(W[:p] @ a + self._run("omega_bias", n, t, q, v)[:p])

    def _omega_inverse(self, t: float, q: Vector, v: Vector) -> Matrix:
        n = self.n
        W = self._run("omega_jacobian", n * n, t, q, v).reshape(n, n)
        try:
            inverse = np.asarray(np.linalg.inv(W), dtype=np.float64)
        except np.linalg.LinAlgError:
            inverse = np.full_like(W, np.inf)
        # Rows have different units, so the condition is judged by the terms that cancel in W W^-1.
        if not np.isfinite(inverse).all() or (np.abs(W) @ np.abs(inverse)).max() > DEPENDENT:
            raise BadInput(
                f"The quasi-velocities of {self.name!r} and its velocity constraints are dependent at "
                f"{state_in_words(t, q, v)}; choose others."
            )
        return inverse

    def energy(self, t: float, q: Vector, v: Vector) -> Energy | None:
        """Return the kinetic and potential energy and the power of the given generalised forces."""
        return Energy(*self._run("energy", 3, t, q, v).tolist())

    def _run(self, function: str, size: int, t: float, *state: Vector) -> Vector:
        """Return the output of a generated function in a new array; raise BadInput if it is not finite."""
        for part in state:
            if part.shape != self._shape:
                name = "q" if part is state[0] else "v"
                raise BadInput(f"{name} of {self.name!r} has shape {part.shape}, expected ({self.n},).")
        try:
            return self._functions(function, size, float(t), state, self._p)
        except Undefined as error:
            reason, why = f"The equations of {self.name!r} are undefined ({error})", ""
            if not error.args:
                reason = f"{function} of {self.name!r} is not finite"
                why = "; of a Piecewise no case may hold there" if hasattr(self._module, "nan") else ""
            raise BadInput(f"{reason} at {state_in_words(t, *state)}{why}.") from None


def derive(given: GivenModel) -> LagrangianSystem:
    """Derive the system of a model; raises BadInput for an expression that cannot be written as code."""
    try:
        module = equations_of(given.model)
    except Unwritable as error:
        raise BadInput(f"In {given.model.name!r} {Unwritable(given.symbols.theirs(error.expression))}") from None
    system = LagrangianSystem(given.model, given.symbols.coordinates, given.parameters, module, given.contacts)
    system.notes, system.unused = given.notes, given.unused
    if given.model.quasi_velocities:
        _check_independent(system)
    return system


def _restored(model: SymbolicModel, coordinates: Any, parameters: Any, contacts: Layout, said: Any) -> LagrangianSystem:
    system = LagrangianSystem(model, coordinates, parameters, equations_of(model), contacts)
    system.name, system.notes, system.unused, system.watch = said
    return system


def _check_independent(system: LagrangianSystem) -> None:
    """Raise BadInput if the quasi-velocities are dependent at each of eight random states: then the model is wrong."""
    random = np.random.default_rng(0)
    for last in (False,) * 7 + (True,):
        q, v = random.uniform(0.2, 1.2, system.n), random.uniform(0.2, 1.2, system.n)
        try:
            system._omega_inverse(0.0, q, v)
            return
        except BadInput:
            if last:
                raise
