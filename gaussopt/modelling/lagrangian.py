"""Systems from SymPy energies: M, h, Q, J and gamma derived, never typed.

With T(q, v, t), V(q, t), generalised forces F(q, v, t), holonomic phi(q, t) = 0 and nonholonomic
f(q, v, t) = 0:

    M = T_vv,   h = T_vq v + T_vt - T_q,   Q = F - V_q,
    J = [phi_q; f_v],   gamma = -[(phi_q v)_q v + 2 phi_qt v + phi_tt;  f_q v + f_t]

Quasi-velocities omega(q, v, t), n - m of them, complete the velocity constraints to n functions with a regular
derivative W by v. With D = W^-1 the first n - m columns are D_omega and

    a = D_omega omega' + w,   w = -D ([omega; f]_q v + [omega; f]_t),   J D_omega = 0.

Contacts: gap and slip with their derivatives, see `gaussopt.symbolic.contacts`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray
from sympy.core.function import AppliedUndef

from gaussopt.codegen.equations import equations_of
from gaussopt.codegen.source import Unwritable
from gaussopt.core import generated_modules
from gaussopt.core.contacts import Coefficients, Contact, Kinematics, check_coefficients, vanishing_normal
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.core.system import AbstractSystem, Energy, state_in_words
from gaussopt.modelling.generated_functions import ENOUGH, GeneratedFunctions, ParameterValues, Undefined
from gaussopt.symbolic.contacts import Layout, read_contacts
from gaussopt.symbolic.model import TIME, Model, along

_NOTHING = np.zeros(0)

DEPENDENT = 1e12
"""Condition number beyond which quasi-velocities count as dependent."""


class LagrangianSystem(AbstractSystem):
    """A system whose step data come from generated straight-line source.

    Attributes
    ----------
    model : Model
        Energies and constraints in our symbols.
    source_path : Path
        The generated module, readable Python.
    """

    def __init__(
        self,
        model: Model,
        coordinates: tuple[str, ...],
        parameters: Mapping[str, float],
        module: ModuleType,
        contacts: Layout,
    ) -> None:
        self.name, self.model = model.name, model
        self.n, self.m_h = len(coordinates), len(model.holonomic)
        self.m, self.p_omega = self.m_h + len(model.nonholonomic), len(model.quasi_velocities)
        self._shape = (self.n,)
        self._coordinates = coordinates
        self._parameters = dict(parameters)
        self._p = ParameterValues(list(self._parameters.values()))
        self._module = module
        self._functions = GeneratedFunctions.of(module, False)
        self._certified = hasattr(module, "certificate")
        n, m = self.n, self.m
        self._layout = contacts
        self._coefficients: Coefficients | None = None
        self._contact_cuts = self._layout.cuts(n)
        self._smooth = n * n + 2 * n + m * n + m
        self._size = self._smooth + self._contact_cuts[-1]
        self._cuts = (n * n, n * n + n, n * n + 2 * n, n * n + 2 * n + m * n)

    @property
    def source_path(self) -> Path:
        """The generated module file.

        Raises
        ------
        BadInput
            If there is no place for it, neither in the cache folder nor among temporary files.
        """
        return generated_modules.path_of(self._module)

    @property
    def source(self) -> str:
        """The generated source."""
        return generated_modules.text_of(self._module)

    @property
    def constant_entries(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which entries of M, (n, n), and of J, (m, n), depend on parameters alone."""
        found = np.array(self._module.CONSTANT, dtype=bool).reshape(-1, self.n)
        return found[: self.n], found[self.n :]

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by name."""
        return dict(self._parameters)

    def with_parameters(self, /, **values: float) -> LagrangianSystem:
        """The same equations with other parameter values; nothing is derived again.

        Raises
        ------
        UnknownName, BadInput
        """
        for key, value in values.items():
            if key not in self._parameters:
                raise UnknownName("parameter", key, self._parameters)
            _finite_parameter(key, value)
        merged = {**self._parameters, **{k: float(x) for k, x in values.items()}}
        system = LagrangianSystem(self.model, self._coordinates, merged, self._module, self._layout)
        system.name = self.name
        return system

    def of_motion(self, rows: int) -> LagrangianSystem:
        """The system for one motion, which may be compiled without the others."""
        return copy(self)

    def prepare(self, evaluations: float) -> None:
        """Evaluate by machine code from now on, where so many evaluations are worth it."""
        if evaluations >= ENOUGH:
            self._functions = GeneratedFunctions.of(self._module, True)

    def coordinates(self, n: int) -> tuple[str, ...]:
        """Names of the n coordinates."""
        return self._coordinates if len(self._coordinates) == n else super().coordinates(n)

    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> StepData:
        """Step data of the state, by the generated source.

        Raises
        ------
        BadInput
            Where the expressions are undefined (square root of a negative number, division by zero), where the
            normal direction of a contact vanishes, or if mu, e_N or e_T is no such coefficient.
        """
        q = np.asarray(q, dtype=np.float64)
        v = np.asarray(v, dtype=np.float64)
        flat = self._run("step", self._size, t, q, v)
        n, m, (a, b, c, d) = self.n, self.m, self._cuts
        D_omega = w_omega = None
        if self.p_omega:
            inverse = self._omega_inverse(t, q, v)
            D_omega = inverse[:, : self.p_omega]
            w_omega = -inverse @ self._run("omega_bias", n, t, q, v)
        arithmetic = (self._functions, flat) if self._certified else None
        if not self._layout.names:
            return StepData.smooth(
                flat[:a].reshape(n, n), flat[a:b], flat[b:c], flat[c:d].reshape(m, n), flat[d:], t, q, v, D_omega,
                w_omega, arithmetic,
            )  # fmt: skip
        contacts, coefficients = self._kinematics(flat[self._smooth :], t, q, v), self._friction()
        return StepData(
            flat[:a].reshape(n, n), flat[a:b], flat[b:c], flat[c:d].reshape(m, n), flat[d : self._smooth],
            contacts.J_N, contacts.zeta_N, contacts.J_T, contacts.zeta_T, contacts.v_T, coefficients.mu, t, q, v,
            D_omega, w_omega, arithmetic, contacts.g_N, contacts.gdot_N, coefficients.e_N, coefficients.e_T,
        )  # fmt: skip

    def _kinematics(self, flat: Vector, t: float, q: Vector, v: Vector) -> Kinematics:
        """The contact part of a flat step."""
        n, k, d = self.n, self._layout.k, self._layout.d
        c = self._contact_cuts
        found = Kinematics(
            flat[: c[0]], flat[c[0] : c[1]], flat[c[1] : c[2]].reshape(k, n), flat[c[2] : c[3]],
            flat[c[3] : c[4]].reshape(k, d, n), flat[c[4] : c[5]].reshape(k, d), flat[c[5] :].reshape(k, d),
        )  # fmt: skip
        zero = vanishing_normal(found.J_N, found.J_T)
        if zero is not None:
            raise BadInput(
                f"The normal direction of contact {self._layout.names[zero]!r} of {self.name!r} is zero at "
                f"{state_in_words(t, q, v)}."
            )
        return found

    def _friction(self) -> Coefficients:
        """mu, e_N and e_T; they depend on the parameters alone, so they are computed once."""
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
        """Names of the contacts, in the order of the step data; empty if there are none."""
        return self._layout.names

    @property
    def two_sided(self) -> tuple[bool, ...]:
        """Which contacts are guides without clearance, (k,)."""
        return self._layout.two_sided

    @property
    def tangents(self) -> int:
        """Tangent directions of a contact: 1 in the plane, 2 in space."""
        return self._layout.d

    def gaps(self, t: float, q: Vector) -> Vector:
        """Gaps g_N of all contacts, (k,), m."""
        return self._run("gaps", self._layout.k, t, q) if self._layout.names else _NOTHING

    def gap_rates(self, t: float, q: Vector, v: Vector) -> Vector:
        """Gap rates of all contacts, (k,), m/s."""
        return self._run("gap_rates", self._layout.k, t, q, v) if self._layout.names else _NOTHING

    def position_residual(self, t: float, q: Vector) -> Vector | None:
        """Holonomic constraint functions, (m_h,)."""
        return self._run("position", self.m_h, t, q)

    def position_jacobian(self, t: float, q: Vector) -> Matrix:
        """Jacobian of the holonomic constraints, (m_h, n)."""
        return self._run("position_jacobian", self.m_h * self.n, t, q).reshape(self.m_h, self.n)

    def velocity_residual(self, t: float, q: Vector, v: Vector) -> Vector | None:
        """Constraint residuals at velocity level, (m,)."""
        return self._run("velocity", self.m, t, q, v)

    @property
    def has_quasi_velocities(self) -> bool:
        """Whether quasi-velocities were given."""
        return self.p_omega > 0

    def quasi_velocity(self, t: float, q: Vector, v: Vector) -> Vector:
        """The quasi-velocities omega(q, v, t), (p,)."""
        if not self.p_omega:
            return super().quasi_velocity(t, q, v)
        return self._run("omega", self.n, t, q, v)[: self.p_omega]

    def velocity_from(self, t: float, q: Vector, omega: Vector, guess: Vector) -> Vector:
        """The velocity with these quasi-velocities on the velocity constraints, (n,), by Newton's method.

        One iteration if the constraints and the quasi-velocities are linear in v.

        Raises
        ------
        BadInput
            If no velocity is found, or the quasi-velocities are dependent.
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
            if size <= goal or (size < 1e3 * goal and size >= 0.5 * best):
                return v
            best = min(best, size)
            v = v - self._omega_inverse(t, q, v) @ residual
        raise BadInput(f"No velocity of {self.name!r} has the quasi-velocities {omega} at t = {t:.9g}.")

    def quasi_velocity_rate(self, t: float, q: Vector, v: Vector, a: Vector) -> Vector:
        """W a + bias, the first p entries."""
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
        # Rows are functions of different units: judge by the entries that the inverse cancels.
        if not np.isfinite(inverse).all() or (np.abs(W) @ np.abs(inverse)).max() > DEPENDENT:
            raise BadInput(
                f"The quasi-velocities of {self.name!r} and its velocity constraints are dependent at "
                f"{state_in_words(t, q, v)}; choose others."
            )
        return inverse

    def energy(self, t: float, q: Vector, v: Vector) -> Energy | None:
        """Kinetic and potential energy and the power of the given generalised forces."""
        return Energy(*self._run("energy", 3, t, q, v).tolist())

    def _run(self, function: str, size: int, t: float, *state: Vector) -> Vector:
        """The output of a generated function, finite, in memory of its own."""
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


def derive(
    q: Sequence[Any],
    v: Sequence[Any] | None = None,
    *,
    kinetic: Any,
    potential: Any = 0,
    forces: Sequence[Any] | Mapping[Any, Any] | None = None,
    holonomic: Sequence[Any] = (),
    nonholonomic: Sequence[Any] = (),
    quasi_velocities: Sequence[Any] = (),
    contacts: Sequence[Contact] = (),
    parameters: Mapping[Any, float] | None = None,
    t: Any = None,
    name: str = "system",
) -> LagrangianSystem:
    """Derive a system from its energies and constraints.

    Parameters
    ----------
    q : n symbols, or n functions of time such as sympy's dynamicsymbols
    v : n symbols for the velocities; not needed if `q` are functions of time
    kinetic : kinetic energy T(q, v, t), at most quadratic in v
    potential : potential energy V(q, t)
    forces : generalised forces without potential, as n expressions or {coordinate: expression}
    holonomic : expressions phi(q, t), zero on the constraints
    nonholonomic : expressions f(q, v, t), zero on the constraints; they may be nonlinear in v
    quasi_velocities : n - m expressions omega(q, v, t), independent of each other and of the constraints
    contacts : unilateral contacts, each by the position of its contact point or by its gap and slip
    parameters : {symbol or name: value}; every other symbol is an error
    t : the time symbol; the symbol named "t" if not given

    Returns
    -------
    LagrangianSystem

    Raises
    ------
    BadInput
        Naming the unknown symbol, the wrong length, or the expression that does not fit.
    """
    q = _listed("q", q, name)
    n = len(q)
    if n == 0:
        raise BadInput(f"{name!r} has no coordinates; give at least one.")
    values = _values(parameters, name)
    rename, safe, coordinates = _renaming(q, v, list(values), t, name)
    theirs = {ours: sp.Symbol(str(given)) for given, ours in rename.items()}
    if isinstance(contacts, Contact):
        contacts = [contacts]

    ours = {TIME, *rename.values()}

    def clean(label: str, expr: Any, allowed: str) -> Any:
        expr = _expression(
            f"{label} of {name!r}", expr, rename, equation=label.startswith(("holonomic", "nonholonomic"))
        )
        expr = _replace(expr, rename)
        unknown = sorted(str(s) for s in expr.free_symbols - ours)
        unknown += sorted(str(f.xreplace(theirs)) for f in expr.atoms(AppliedUndef, sp.Derivative))
        if unknown:
            raise BadInput(
                f"{label} of {name!r} holds the unknown symbol {unknown[0]!r}; make it a coordinate or give its "
                "value in parameters."
            )
        if "v" not in allowed:
            moving = sorted(names[s] for s in expr.free_symbols if s in names)
            if moving:
                raise BadInput(f"{label} of {name!r} depends on the velocity of {moving[0]!r}; it must not.")
        return expr

    qs = [sp.Symbol(f"q_{c}", real=True) for c in safe]
    vs = [sp.Symbol(f"v_{c}", real=True) for c in safe]
    names = dict(zip(vs, coordinates, strict=True))
    ps = [rename[sp.Symbol(s)] for s in values]
    T = clean("kinetic", kinetic, "qvt")
    V = clean("potential", potential, "qt")
    F = [clean("forces", f, "qvt") for f in _force_list(forces, q, name)]
    phi = [clean(f"holonomic[{i}]", e, "qt") for i, e in enumerate(_listed("holonomic", holonomic, name))]
    f = [clean(f"nonholonomic[{i}]", e, "qvt") for i, e in enumerate(_listed("nonholonomic", nonholonomic, name))]
    listed = _listed("quasi_velocities", quasi_velocities, name)
    omega = [clean(f"quasi_velocities[{i}]", e, "qvt") for i, e in enumerate(listed)]
    m = len(phi) + len(f)
    if omega and len(omega) != n - m:
        raise BadInput(f"{name!r} needs n - m = {n - m} quasi-velocities, not {len(omega)}.")

    touching, layout = read_contacts(
        _listed("contacts", contacts, name), clean, lambda e: along(e, qs, vs), vs, ps, name
    )

    model = Model(name, qs, vs, ps, T, V, F, phi, f, omega, touching, layout.d, names)
    try:
        module = equations_of(model)
    except Unwritable as error:
        raise BadInput(f"In {name!r} {Unwritable(error.expression.xreplace(theirs))}") from None
    system = LagrangianSystem(model, coordinates, values, module, layout)
    if omega:
        _check_independent(system)
    return system


def _check_independent(system: LagrangianSystem) -> None:
    """Quasi-velocities that are dependent at every state are a mistake of the model."""
    random = np.random.default_rng(0)
    failure: BadInput | None = None
    for _ in range(8):
        q, v = random.uniform(0.2, 1.2, system.n), random.uniform(0.2, 1.2, system.n)
        try:
            system._omega_inverse(0.0, q, v)
            return
        except BadInput as error:
            failure = error
    assert failure is not None
    raise failure


def _finite_parameter(name: str, value: Any) -> float:
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
    """Parameter values by printed name, each name once."""
    if not isinstance(parameters, Mapping | None):
        raise BadInput(f"parameters of {owner!r} is {type(parameters).__name__}; give {{symbol: value}}.")
    values: dict[str, float] = {}
    for key, value in (parameters or {}).items():
        if str(key) in values:
            raise BadInput(_twice(str(key), "parameters", owner))
        values[str(key)] = _finite_parameter(str(key), value)
    return values


def _twice(printed: str, role: str, owner: str) -> str:
    return (
        f"Two {role} of {owner!r} are called {printed!r}, and symbols are told apart by their names, whatever their "
        "assumptions; rename one."
    )


def _listed(label: str, value: Any, owner: str) -> list[Any]:
    """A person's list; a string is none."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BadInput(f"{label} of {owner!r} is {value!s}, which is no list; put it in brackets.")
    return list(value)


def _expression(where: str, given: Any, rename: Mapping[Any, Any], equation: bool) -> Any:
    """A person's expression in SymPy, real and without derivatives other than the velocities.

    Where it is to vanish (`equation`), an equation stands for its left side less its right one.
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
        expr = expr.doit()  # d/dt of a function of the coordinates is written out
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
                raise BadInput(f"forces of {name!r} names {key}, which is not a coordinate.")
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


def _renaming(
    q: list[Any], v: Sequence[Any] | None, parameters: Sequence[str], t: Any, name: str
) -> tuple[dict[Any, Any], tuple[str, ...], tuple[str, ...]]:
    """The user's symbols to ours (real, prefixed by their role), and the coordinates as identifiers and by name."""
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
        raise BadInput(f"v of {name!r} has length {len(v)}, expected {len(q)} (one for each coordinate).")
    for b in v:
        if not isinstance(b, sp.Symbol | AppliedUndef | sp.Derivative):
            raise BadInput(f"The velocity {b!r} of {name!r} is no symbol; give SymPy symbols.")
    _check_names(q, v, parameters, time, name)
    safe = _identifiers(names)
    rename: dict[Any, Any] = {}
    for c, b, s in zip(q, v, safe, strict=True):
        rename[b] = sp.Symbol(f"v_{s}", real=True)
        rename[c] = sp.Symbol(f"q_{s}", real=True)
    for p, s in zip(parameters, _identifiers(parameters), strict=True):
        rename[sp.Symbol(p)] = sp.Symbol(f"p_{s}", real=True)
    rename[time] = TIME
    return rename, safe, tuple(s if c.isspace() or not c else c for c, s in zip(names, safe, strict=True))


def _check_names(q: Sequence[Any], v: Sequence[Any], parameters: Sequence[str], time: Any, owner: str) -> None:
    """Every printed name has one role: expressions are read by name."""
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


def _replace(expr: Any, rename: Mapping[Any, Any]) -> Any:
    """Replace by name, so that a person's assumptions on symbols (positive, real) do not matter."""
    whole = {k: r for k, r in rename.items() if not isinstance(k, sp.Symbol)}
    by_name = {str(k): r for k, r in rename.items() if isinstance(k, sp.Symbol)}
    # All at once: one of our names may be another one of the person's.
    return expr.xreplace(whole | {s: by_name[str(s)] for s in expr.free_symbols if str(s) in by_name})


def _identifiers(names: Sequence[str]) -> tuple[str, ...]:
    """An ASCII identifier for each name, all different; a name that is one stays as it is."""
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
