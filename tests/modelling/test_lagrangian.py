"""Derived equations against hand-derived ones, against numerical differentiation, and as source code."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.modelling.lagrangian import LagrangianSystem

FUNCTIONS = ("step", "position", "position_jacobian", "velocity", "energy")
t = sp.Symbol("t")


class Model:
    """Energies and constraints in one place, so that the derived equations can be checked against them."""

    def __init__(
        self,
        q: Sequence[Any],
        v: Sequence[Any],
        kinetic: Any,
        potential: Any = 0,
        forces: Sequence[Any] | None = None,
        holonomic: Sequence[Any] = (),
        nonholonomic: Sequence[Any] = (),
        parameters: dict[str, float] | None = None,
    ) -> None:
        self.q, self.v, self.parameters = list(q), list(v), parameters or {}
        self.T, self.V = sp.sympify(kinetic), sp.sympify(potential)
        self.F = [sp.sympify(f) for f in forces or [0] * len(self.q)]
        self.phi, self.f = list(holonomic), list(nonholonomic)

    def system(self, name: str, **parameters: float) -> LagrangianSystem:
        return go.System.from_lagrangian(
            self.q, self.v, kinetic=self.T, potential=self.V, forces=self.F, holonomic=self.phi,
            nonholonomic=self.f, parameters={**self.parameters, **parameters}, name=name,
        )  # fmt: skip

    def number(self, expression: Any) -> Callable[..., Any]:
        """A function of (t, q, v) in mpmath's precision."""
        values = {sp.Symbol(k): sp.Float(x, 40) for k, x in self.parameters.items()}
        function = sp.lambdify([t, *self.q, *self.v], sp.sympify(expression).subs(values), "mpmath")
        return lambda time, q, v: function(time, *q, *v)


def double_pendulum() -> Model:
    th1, th2, w1, w2 = sp.symbols("theta1 theta2 omega1 omega2")
    m1, m2, l1, l2, g = sp.symbols("m1 m2 l1 l2 g")
    T = (m1 + m2) * l1**2 * w1**2 / 2 + m2 * l2**2 * w2**2 / 2 + m2 * l1 * l2 * w1 * w2 * sp.cos(th1 - th2)
    V = -(m1 + m2) * g * l1 * sp.cos(th1) - m2 * g * l2 * sp.cos(th2)
    return Model([th1, th2], [w1, w2], T, V, parameters={"m1": 1.3, "m2": 0.7, "l1": 0.9, "l2": 1.1, "g": 9.81})


def growing_bead_on_a_moving_wire() -> Model:
    """Mass, wire and potential change with time; the kinetic energy has terms of second, first and no order in v."""
    r, s, u, w = sp.symbols("r s u w")
    m0, k, Omega = sp.symbols("m0 k Omega")
    m = m0 * (1 + sp.sin(3 * t) / 4) * (1 + r**2 / 10)
    x, y = r * sp.cos(Omega * t + s), r * sp.sin(Omega * t + s) + sp.cos(t)
    quick = {r: u, s: w}
    vx, vy = (sp.diff(z, t) + sum(sp.diff(z, c) * d for c, d in quick.items()) for z in (x, y))
    return Model(
        [r, s], [u, w], m * (vx**2 + vy**2) / 2, k * (r - sp.sin(t)) ** 2 / 2 + r * sp.cos(s),
        forces=[-u * w, sp.exp(-t) * r], parameters={"m0": 1.5, "k": 4.0, "Omega": 0.8},
    )  # fmt: skip


def car_axis() -> Model:
    """IVP Test Set "caraxis": one rheonomic and one scleronomic constraint."""
    xl, yl, xr, yr = q = sp.symbols("xl yl xr yr")
    v = sp.symbols("vxl vyl vxr vyr")
    K, g, L, L0, r, omega = sp.symbols("K g L L0 r omega")
    yb = r * sp.sin(omega * t)
    xb = sp.sqrt(L**2 - yb**2)
    left, right = sp.sqrt(xl**2 + yl**2), sp.sqrt((xr - xb) ** 2 + (yr - yb) ** 2)
    return Model(
        q, v, K / 2 * sum(u**2 for u in v), K * g * (yl + yr) + (left - L0) ** 2 / 2 + (right - L0) ** 2 / 2,
        holonomic=[xb * xl + yb * yl, (xl - xr) ** 2 + (yl - yr) ** 2 - L**2],
        parameters={"K": 5e-4, "g": 1.0, "L": 1.0, "L0": 0.5, "r": 0.1, "omega": 10.0},
    )  # fmt: skip


def sleigh_and_hamel() -> Model:
    """A knife edge (linear in v) and Appell and Hamel's constraint (nonlinear in v), with a moving wall."""
    x, y, z, th = q = sp.symbols("x y z theta")
    vx, vy, vz, w = v = sp.symbols("vx vy vz omega")
    m, I, a = sp.symbols("m I a")
    return Model(
        q, v, m * (vx**2 + vy**2 + vz**2) / 2 + I * w**2 / 2, m * z,
        forces=[0, -vy, 0, sp.sin(t)],
        holonomic=[x - y**2 * sp.cos(t)],
        nonholonomic=[vx * sp.sin(th) - vy * sp.cos(th) - a * w * t, vz**2 - a**2 * (vx**2 + vy**2)],
        parameters={"m": 2.0, "I": 0.3, "a": 0.7},
    )  # fmt: skip


MODELS = [double_pendulum, growing_bead_on_a_moving_wire, car_axis, sleigh_and_hamel]


def test_double_pendulum_agrees_with_the_hand_derived_equations() -> None:
    model = double_pendulum()
    m1, m2, l1, l2, g = model.parameters.values()
    q, v = np.array([0.4, -1.2]), np.array([2.0, -3.0])
    step = model.system("double-pendulum").evaluate(0.0, q, v)
    c, s = math.cos(q[0] - q[1]), math.sin(q[0] - q[1])
    coupling = m2 * l1 * l2
    np.testing.assert_allclose(step.M, [[(m1 + m2) * l1**2, coupling * c], [coupling * c, m2 * l2**2]], rtol=1e-14)
    np.testing.assert_allclose(step.h, [coupling * s * v[1] ** 2, -coupling * s * v[0] ** 2], rtol=1e-13)
    np.testing.assert_allclose(
        step.Q, [-(m1 + m2) * g * l1 * math.sin(q[0]), -m2 * g * l2 * math.sin(q[1])], rtol=1e-14
    )
    assert step.m == 0


@pytest.mark.parametrize("build", MODELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_lagranges_equations_hold_along_any_path(build: Callable[[], Model], seed: int) -> None:
    """M a + h - Q = d/dt T_v - T_q + V_q - F and J a - gamma = phi'', f', differentiated numerically."""
    model = build()
    n = len(model.q)
    rng = np.random.default_rng(seed)
    time, (q, v, a) = float(rng.random()), 0.5 + 0.5 * rng.random((3, n))
    step = model.system(build.__name__).evaluate(time, q, v)
    T, V = model.number(model.T), model.number(model.V)

    with mp.workdps(30):
        at = mp.mpf(time)
        q_, v_, a_ = ([mp.mpf(float(x)) for x in part] for part in (q, v, a))

        def position(s: Any) -> list[Any]:
            return [x + u * s + b * s**2 / 2 for x, u, b in zip(q_, v_, a_, strict=True)]

        def velocity(s: Any) -> list[Any]:
            return [u + b * s for u, b in zip(v_, a_, strict=True)]

        def along(function: Callable[..., Any], order: int) -> float:
            return float(mp.diff(lambda s: function(at + s, position(s), velocity(s)), 0, order))

        def exchanged(part: list[Any], i: int, value: Any) -> list[Any]:
            return [*part[:i], value, *part[i + 1 :]]

        for i in range(n):

            def momentum(time: Any, q: list[Any], v: list[Any], i: int = i) -> Any:
                return mp.diff(lambda u: T(time, q, exchanged(v, i, u)), v[i])

            T_q = mp.diff(lambda x, i=i: T(at, exchanged(q_, i, x), v_), q_[i])
            V_q = mp.diff(lambda x, i=i: V(at, exchanged(q_, i, x), v_), q_[i])
            inertia = along(momentum, 1) - float(T_q)
            applied = float(model.number(model.F[i])(at, q_, v_)) - float(V_q)
            size = 1.0 + np.abs(step.M[i]) @ np.abs(a) + abs(step.h[i]) + abs(step.Q[i])
            # Thirty digits leave the differences exact to a float's rounding.
            assert step.M[i] @ a + step.h[i] == pytest.approx(inertia, abs=1e-13 * size)
            assert step.Q[i] == pytest.approx(applied, abs=1e-13 * size)
        accelerations = [along(model.number(phi), 2) for phi in model.phi] + [
            along(model.number(f), 1) for f in model.f
        ]
        rates = [along(model.number(phi), 1) for phi in model.phi]
        residuals = [float(model.number(f)(at, q_, v_)) for f in model.f]
    size = 1.0 + np.abs(step.J) @ np.abs(a) + np.abs(step.gamma)
    np.testing.assert_array_less(np.abs(step.J @ a - step.gamma - accelerations), 1e-13 * size)
    system = model.system(build.__name__)
    np.testing.assert_allclose(system.velocity_residual(time, q, v), rates + residuals, rtol=1e-13, atol=1e-13)
    phi = [float(model.number(e)(time, q, v)) for e in model.phi]
    np.testing.assert_allclose(system.position_residual(time, q), phi, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(system.position_jacobian(time, q), step.J[: len(phi)], rtol=1e-14)


@pytest.mark.parametrize("build", MODELS)
def test_energies_and_power(build: Callable[[], Model]) -> None:
    model = build()
    rng = np.random.default_rng(3)
    q, v = 0.5 + 0.5 * rng.random((2, len(model.q)))
    energy = model.system(build.__name__).energy(0.3, q, v)
    assert energy is not None
    assert energy.kinetic == pytest.approx(float(model.number(model.T)(0.3, q, v)), rel=1e-14)
    assert energy.potential == pytest.approx(float(model.number(model.V)(0.3, q, v)), rel=1e-14)
    power = sum(float(model.number(f)(0.3, q, v)) * u for f, u in zip(model.F, v, strict=True))
    assert energy.power == pytest.approx(power, rel=1e-14)


def test_car_axis_starts_with_the_published_acceleration() -> None:
    # IVP Test Set: a = (0, -1, 0, -1) and no forces at the start.
    step = car_axis().system("car_axis").evaluate(0.0, [0.0, 0.5, 1.0, 0.5], [-0.5, 0.0, -0.5, 0.0])
    answer = go.solve_step(step)
    # The masses of 5e-4 kg magnify the rounding of forces of size 1.
    np.testing.assert_allclose(answer.a, [0.0, -1.0, 0.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(answer.lam, [0.0, 0.0], atol=1e-15)


# -- how symbols may be written -------------------------------------------------------------------------


def test_dynamicsymbols_give_the_same_equations() -> None:
    from sympy.physics.mechanics import dynamicsymbols

    model = double_pendulum()
    functions = dynamicsymbols("theta1 theta2")
    time = dynamicsymbols._t
    exchange = {
        **dict(zip(model.v, (f.diff(time) for f in functions), strict=True)),
        **dict(zip(model.q, functions, strict=True)),
    }
    system = go.System.from_lagrangian(
        functions, kinetic=model.T.subs(exchange), potential=model.V.subs(exchange),
        forces={functions[0]: -functions[0].diff(time)}, parameters=model.parameters, name="dynamic",
    )  # fmt: skip
    q, v = np.array([0.4, -1.2]), np.array([2.0, -3.0])
    ours, theirs = model.system("double-pendulum").evaluate(0.0, q, v), system.evaluate(0.0, q, v)
    assert system.coordinates(2) == ("theta1", "theta2")
    np.testing.assert_allclose(theirs.M, ours.M, rtol=1e-14)
    np.testing.assert_allclose(theirs.h, ours.h, rtol=1e-13)
    np.testing.assert_allclose(theirs.Q, ours.Q + np.array([-v[0], 0.0]), rtol=1e-14)


def test_assumptions_on_symbols_do_not_matter() -> None:
    x, u, m = sp.Symbol("x", real=True), sp.Symbol("u", real=True), sp.Symbol("m", positive=True)
    system = go.System.from_lagrangian(
        [x], [u], kinetic=m * u**2 / 2, potential=sp.sqrt(m**2) * x, parameters={"m": 2.0}
    )
    step = system.evaluate(0.0, [1.0], [0.0])
    assert step.M[0, 0] == 2.0
    assert step.Q[0] == -2.0


def test_another_time_symbol() -> None:
    x, u, s = sp.symbols("x u s")
    system = go.System.from_lagrangian([x], [u], kinetic=u**2 / 2, forces=[sp.sin(s)], t=s, name="other-time")
    assert system.evaluate(0.5, [0.0], [0.0]).Q[0] == math.sin(0.5)


def test_awkward_names_are_safe() -> None:
    x, u, lam, w0 = sp.Symbol("φ"), sp.Symbol("class"), sp.Symbol("lambda"), sp.Symbol("w0")
    kinetic = (1 + sp.cos(x) ** 2) * w0 * u**2 / 2
    system = go.System.from_lagrangian(
        [x], [u], kinetic=kinetic, potential=lam * sp.cos(x) ** 2 * sp.sin(x), parameters={"lambda": 3.0, "w0": 2.0}
    )
    assert system.evaluate(0.0, [0.0], [0.0]).M[0, 0] == pytest.approx(4.0, rel=1e-15)
    assert system.evaluate(0.0, [0.0], [0.0]).Q[0] == pytest.approx(-3.0, rel=1e-15)


@pytest.mark.parametrize("name", ['say """hi"""', "C:\\Users\\new", "two\nlines", ""])
def test_any_name_of_a_system_will_do(name: str) -> None:
    x, u = sp.symbols("x u")
    system = go.System.from_lagrangian([x], [u], kinetic=u**2 / 2, potential=x, name=name)
    assert system.evaluate(0.0, [0.0], [0.0]).Q[0] == -1.0


def test_piecewise_and_sign_run_as_written() -> None:
    x, u = sp.symbols("x u")
    stop = sp.Piecewise((-100 * x, x > 0), (0, True))
    system = go.System.from_lagrangian([x], [u], kinetic=u**2 / 2, forces=[stop - sp.sign(u)], name="stop")
    assert system.evaluate(0.0, [0.5], [2.0]).Q[0] == -51.0
    assert system.evaluate(0.0, [-0.5], [-2.0]).Q[0] == 1.0


# -- parameters -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_a_piecewise_without_a_last_case_is_undefined_beyond_its_cases(engine: str) -> None:
    x, v = sp.symbols("x v")
    system = go.System.from_lagrangian(
        [x], [v], kinetic=v**2 / 2, potential=sp.Piecewise((x, x > 0.5), (2 * x, x > 0.2))
    )
    motion = go.simulate(system, q0=[1.0], v0=[0.0], dt=0.01, t_end=3.0, engine=engine)
    assert motion.status is go.Status.BAD_INPUT
    assert 0.2 < motion.q[-1, 0] < 0.21
    assert motion.message.endswith("of a Piecewise no case may hold there.")


def test_messages_hold_the_names_that_were_given() -> None:
    angle, rate, y, vy, m = sp.symbols("θ ω y/z v m")

    def system(**parts: Any) -> go.System:
        given = {"kinetic": m * (rate**2 + vy**2), "parameters": {m: 1.0}, **parts}
        return go.System.from_lagrangian([angle, y], [rate, vy], **given)

    assert system().coordinates(2) == ("θ", "y/z")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"potential": sp.besselj(0, m * angle) + sp.exp(m * angle)}, "besselj(1, m*θ) has no counterpart"),
        ({"potential": sp.floor(angle) * y}, "Derivative(floor(θ), θ) has no counterpart"),
        ({"potential": sp.Function("F")(angle)}, "unknown symbol 'F(θ)'"),
        ({"kinetic": rate**4}, "velocity of 'θ'"),
        ({"holonomic": [vy]}, "velocity of 'y/z'"),
    ]
    for parts, words in wrong:
        with pytest.raises(go.BadInput) as error:
            system(**parts)
        assert words in str(error.value)
        assert "q_" not in str(error.value)


def test_overriding_a_parameter_derives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = double_pendulum()
    system = model.system("double-pendulum")
    monkeypatch.setattr("gaussopt.codegen.equations.equations_source", lambda model: pytest.fail("derived again"))
    heavy = system.with_parameters(m1=4.3)
    assert heavy._module is system._module
    assert heavy.parameters == {**model.parameters, "m1": 4.3}
    assert system.parameters["m1"] == 1.3
    zero = np.zeros(2)
    assert heavy.evaluate(0.0, zero, zero).M[0, 0] == pytest.approx(5.0 * 0.9**2, rel=1e-15)
    # Nor does stating the same model with other values.
    assert model.system("double-pendulum", m2=9.0)._module is system._module


def test_unknown_and_bad_parameters_are_named(assert_sentence: Callable[..., None]) -> None:
    system = double_pendulum().system("double-pendulum")
    with pytest.raises(go.UnknownName) as unknown:
        system.with_parameters(m3=1.0)
    assert_sentence(unknown.value, "'m3'", "did you mean 'm")
    for bad in ("heavy", float("nan"), None):
        with pytest.raises(go.BadInput) as caught:
            system.with_parameters(m1=bad)  # type: ignore[arg-type]
        assert_sentence(caught.value, "'m1'")


# -- what is refused ------------------------------------------------------------------------------------

x, y, u, w, m = sp.symbols("x y u w m")
GOOD: dict[str, Any] = {"q": [x, y], "v": [u, w], "kinetic": m * (u**2 + w**2) / 2, "parameters": {"m": 1.0}}


@pytest.mark.parametrize(
    ("change", "culprits"),
    [
        ({"potential": sp.Symbol("k") * x**2}, ("potential", "'k'")),
        ({"potential": sp.Symbol("p_0") * x}, ("potential", "'p_0'")),
        ({"potential": sp.Symbol("v_max") * x}, ("potential", "'v_max'")),
        ({"potential": sp.Symbol("q_x") * x}, ("potential", "'q_x'")),  # not the coordinate x
        ({"kinetic": sp.Symbol("M") * u**2}, ("kinetic", "'M'")),
        ({"forces": [0, sp.Symbol("F")]}, ("forces", "'F'")),
        ({"holonomic": [x - sp.Symbol("L")]}, ("holonomic[0]", "'L'")),
        ({"nonholonomic": [u - sp.Symbol("c") * w]}, ("nonholonomic[0]", "'c'")),
        ({"potential": sp.Function("f")(x)}, ("potential", "f(")),
        ({"potential": x * u}, ("potential", "velocity of 'x'")),
        ({"holonomic": [x - w]}, ("holonomic[0]", "velocity of 'y'")),
        ({"kinetic": u**4 + w**2}, ("kinetic", "more than quadratic", "velocity of 'x'")),
        ({"kinetic": sp.sqrt(1 + w**2)}, ("kinetic", "more than quadratic", "velocity of 'y'")),
        ({"nonholonomic": [x - y]}, ("nonholonomic[0]", "no velocity")),
        ({"holonomic": [sp.Integer(3)]}, ("holonomic[0]", "no coordinate")),
        ({"forces": [1]}, ("forces", "length 1", "expected 2")),
        ({"forces": {sp.Symbol("z"): 1}}, ("forces", "z")),
        ({"v": [u]}, ("length 1", "expected 2")),
        ({"v": None}, ("velocity symbols",)),
        ({"q": [], "v": []}, ("no coordinates",)),
        ({"q": [x, x]}, ("Two coordinates", "'x'")),
        ({"q": [x, sp.Function("y")(t)]}, ("mix symbols and functions",)),
        ({"parameters": {"m": 1.0, "x": 2.0}}, ("'x'", "coordinate and a parameter")),
        ({"parameters": {"m": float("inf")}}, ("'m'", "finite")),
        ({"parameters": {"m": "heavy"}}, ("'m'", "not a number")),
        ({"potential": sp.gamma(x) * sp.zeta(x)}, ("elementary functions",)),
    ],
)
def test_what_does_not_fit_is_named(
    change: dict[str, Any], culprits: tuple[str, ...], assert_sentence: Callable[..., None]
) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.System.from_lagrangian(**{**GOOD, **change})
    assert_sentence(caught.value, *culprits)


def test_an_undefined_state_is_named(assert_sentence: Callable[..., None]) -> None:
    system = go.System.from_lagrangian([x], [u], kinetic=u**2 / 2, potential=sp.log(x), name="well")
    for bad in (0.0, float("nan")):
        with pytest.raises(go.BadInput) as caught:
            system.evaluate(2.5, [bad], [1.0])
        assert_sentence(caught.value, "'well'", "t = 2.5")
    with pytest.raises(go.BadInput) as caught:
        system.evaluate(0.0, [1.0, 2.0], [1.0])
    assert_sentence(caught.value, "'well'", "shape (2,)")


# -- the generated source -------------------------------------------------------------------------------


def test_the_source_opens_and_says_what_it_is() -> None:
    system = car_axis().system("car_axis")
    assert system.source_path.suffix == ".py"
    assert "Equations of car_axis" in system.source
    compile(system.source, "generated", "exec")
    for name in FUNCTIONS:
        assert inspect.getsource(getattr(system._module, name)).startswith(f"def {name}(")


def _arguments(system: LagrangianSystem, function: str, convert: Callable[[list[float]], Any]) -> tuple[Any, ...]:
    n, m, h = system.n, system.m, system.m_h
    q, v = (list(part) for part in 0.5 + 0.5 * np.random.default_rng(5).random((2, n)))
    sizes = {"step": n * n + 2 * n + m * n + m, "position": h, "position_jacobian": h * n, "velocity": m, "energy": 3}
    state = (q,) if function.startswith("position") else (q, v)
    return (0.25, *map(convert, state), convert(system._p.list), convert([0.0] * sizes[function]))


@pytest.mark.parametrize("build", MODELS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_lists_and_arrays_give_the_same_numbers(build: Callable[[], Model], function: str) -> None:
    system = build().system(build.__name__)
    run = getattr(system._module, function)
    lists, arrays = _arguments(system, function, list), _arguments(system, function, np.array)
    run(*lists)
    run(*arrays)
    # numpy's power may round its last digit differently from C's.
    np.testing.assert_allclose(arrays[-1], lists[-1], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("build", [car_axis, sleigh_and_hamel])
def test_machine_code_of_the_source_gives_the_same_numbers(build: Callable[[], Model]) -> None:
    pytest.importorskip("llvmlite")
    from gaussopt.jit.llvm import functions

    system = build().system(build.__name__)
    compiled = functions(system._module, FUNCTIONS, contract=False)
    for name in FUNCTIONS:
        plain, ours = _arguments(system, name, np.array), _arguments(system, name, np.array)
        getattr(system._module, name)(*plain)
        compiled[name](*ours)
        # numpy's power may round its last digit differently from C's.
        np.testing.assert_allclose(ours[-1], plain[-1], rtol=1e-14, atol=1e-15)


# -- the cache of generated modules ---------------------------------------------------------------------


def _derive(name: str) -> LagrangianSystem:
    return go.System.from_lagrangian(
        [x], [u], kinetic=m * u**2 / 2, potential=m * x**2, parameters={"m": 2.0}, name=name
    )


def _forget(system: LagrangianSystem) -> None:
    del sys.modules[system._module.__name__]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace(b"v_x*v_x", b"v_x*q_x"),
        lambda text: text[: len(text) // 2],
        lambda text: b"",
        lambda text: b"import os\n",
        lambda text: b"\xff\xfe" + text,
    ],
    ids=["edited", "cut", "empty", "replaced", "binary"],
)
def test_a_damaged_module_is_generated_again(
    damage: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUSSOPT_CACHE", str(tmp_path))
    system = _derive("spring")
    text = system.source_path.read_bytes()
    _forget(system)
    assert damage(text) != text
    system.source_path.write_bytes(damage(text))
    again = _derive("spring")
    _forget(again)
    assert again.source_path.read_bytes() == text
    assert again.evaluate(0.0, [1.0], [0.0]).Q[0] == -4.0
    assert list(tmp_path.glob("*.tmp")) == []


def test_a_cached_module_is_used_by_the_next_process(tmp_path: Path, run_python: Callable[..., str]) -> None:
    code = (
        "import sympy as sp, gaussopt as go\nfrom gaussopt.codegen import equations\n"
        "x, u = sp.symbols('x u')\n"
        "if {again}: equations.equations_source = None\n"
        "system = go.System.from_lagrangian([x], [u], kinetic=u**2 / 2, potential=x**2)\n"
        "print(system.evaluate(0.0, [1.5], [0.0]).Q[0])"
    )
    for again in (False, True):
        assert run_python(code.format(again=again), GAUSSOPT_CACHE=str(tmp_path / "cache")).strip() == "-3.0"


def test_without_a_writable_cache_it_still_computes(tmp_path: Path, run_python: Callable[..., str]) -> None:
    blocked, spare = tmp_path / "blocked", tmp_path / "spare"
    blocked.write_text("a file where the folder should be")
    spare.mkdir()
    code = (
        "import sympy as sp, gaussopt as go\n"
        "x, u = sp.symbols('x u')\n"
        "system = go.System.from_lagrangian([x], [u], kinetic=u**2 / 2, potential=x**2)\n"
        "print(system.evaluate(0.0, [1.5], [0.0]).Q[0])"
    )
    assert run_python(code, GAUSSOPT_CACHE=str(blocked), TMPDIR=str(spare)).strip() == "-3.0"


# -- names and what is given in their place ---------------------------------------------------------------------


def oscillator(**changes: Any) -> LagrangianSystem:
    x, v, k = sp.symbols("x v k")
    given = {"q": [x], "v": [v], "kinetic": v**2 / 2, "potential": k * x**2 / 2, "parameters": {k: 4.0}, "name": "osc"}
    return go.System.from_lagrangian(**given | changes)


NAMES = sp.Symbol("t"), sp.Symbol("x"), sp.Symbol("v"), sp.Symbol("k")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q": [NAMES[0]], "potential": 0}, "'t' of 'osc' is both a coordinate and the time; rename it or pass t=..."),
        ({"v": [NAMES[0]], "kinetic": NAMES[0] ** 2}, "'t' of 'osc' is both a velocity and the time"),
        ({"parameters": {"k": 4.0, "t": 1.0}}, "'t' of 'osc' is both a parameter and the time"),
        ({"parameters": {sp.Symbol("k", positive=True): 1.0, NAMES[3]: 2.0}}, "Two parameters of 'osc' are called 'k'"),
        ({"v": [sp.Symbol("x", real=True)]}, "'x' of 'osc' is both a coordinate and a velocity"),
        ({"parameters": {"k": 4.0, "v": 1.0}}, "'v' of 'osc' is both a velocity and a parameter"),
        ({"parameters": {"k": 10**400}}, "Parameter 'k' is too large"),
        ({"parameters": [("k", 1.0)]}, "parameters of 'osc' is list; give {symbol: value}"),
        ({"q": ["x"]}, "give SymPy symbols"),
        ({"q": "x"}, "q of 'osc' is x, which is no list"),
        ({"q": [None]}, "The coordinate None of 'osc' is no symbol"),
        ({"q": [2 * NAMES[1]]}, "The coordinate 2*x of 'osc' is no symbol"),
        ({"q": NAMES[1]}, "q of 'osc' is x, which is no list"),
        ({"v": NAMES[2]}, "v of 'osc' is v, which is no list"),
        ({"v": [None]}, "The velocity None of 'osc' is no symbol"),
        ({"t": "t"}, "t of 'osc' is 't'; give a SymPy symbol"),
        ({"holonomic": NAMES[1]}, "holonomic of 'osc' is x, which is no list"),
        ({"kinetic": sp.Eq(NAMES[1], 1)}, "kinetic of 'osc' is an equation"),
        ({"holonomic": [True]}, "holonomic[0] of 'osc' is True, which is not an expression"),
        ({"forces": NAMES[1]}, "forces of 'osc' is x, which is no list"),
        ({"forces": {NAMES[1]: None}}, "forces of 'osc' is None, which is not an expression"),
        ({"forces": {NAMES[1]: sp.I}}, "forces of 'osc' holds the imaginary unit"),
        ({"forces": {NAMES[1]: 1.0, "x": 2.0}}, "forces of 'osc' names the coordinate x twice"),
        ({"contacts": 3}, "contacts of 'osc' is 3, which is no list"),
        ({"contacts": [go.Contact("c", gap=NAMES[1], mu=float("nan"))]}, "mu of contact 'c' of 'osc' holds nan"),
        ({"contacts": [go.Contact("c", position=NAMES[1])]}, "position of contact 'c' of 'osc' is x, which is no list"),
    ],
)
def test_what_is_no_system_is_refused_in_one_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(go.BadInput) as error:
        oscillator(**changes)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_coordinate_called_t_works_beside_another_time() -> None:
    c, _v, s = sp.symbols("t v s")
    system = oscillator(q=[c], potential="k*t**2/2", forces=[s], t=s)
    assert pytest.approx([3.0 - 4.0 * 0.5]) == system.evaluate(3.0, [0.5], [0.0]).Q


@pytest.mark.parametrize("name", ["µ", "k_{1}", "my k", "a-b", "mu'", "λ", "lambda", "k_"])
def test_parameters_may_have_any_name(name: str) -> None:
    k, x, _v = sp.Symbol(name), sp.Symbol("x"), sp.Symbol("v")
    system = oscillator(
        potential=k * x**2 / 2, parameters={k: 0.25}, contacts=go.Contact("c", position=(x, 1 + x), mu=k)
    )
    step = system.evaluate(0.0, [2.0], [0.0])
    assert (step.Q, step.mu, system.parameters) == (pytest.approx([-0.5]), pytest.approx([0.25]), {name: 0.25})
    assert pytest.approx([-1.0]) == system.with_parameters(**{name: 0.5}).evaluate(0.0, [2.0], [0.0]).Q


def test_parameters_with_nearly_one_name_stay_apart() -> None:
    x = sp.Symbol("x")
    a, b, c, d = sp.symbols("k' k_ k* k__")
    values = {a: 1.0, b: 10.0, c: 100.0, d: 1000.0}
    system = oscillator(potential=(a + 2 * b + 3 * c + 4 * d) * x, parameters=values)
    assert pytest.approx([-4321.0]) == system.evaluate(0.0, [0.0], [0.0]).Q


def test_names_of_the_generated_source_are_free_for_a_person() -> None:
    """A parameter called like the symbol that a function of time is replaced by."""
    x = sp.Function("x")(t)
    p = sp.Symbol("q_x")
    system = go.System.from_lagrangian([x], kinetic=sp.diff(x, t) ** 2 / 2, potential=p * x**2 / 2, parameters={p: 3.0})
    assert pytest.approx([-6.0]) == system.evaluate(0.0, [2.0], [0.0]).Q


def test_accelerations_are_refused_and_written_derivatives_done() -> None:
    x = sp.Function("x")(t)
    given: dict[str, Any] = {"q": [x], "kinetic": sp.diff(x, t) ** 2 / 2}
    force = sp.Derivative(x**2, t)
    assert pytest.approx([12.0]) == go.System.from_lagrangian(**given, forces=[force]).evaluate(0.0, [3.0], [2.0]).Q
    with pytest.raises(go.BadInput, match="of the derivatives it may hold the velocities only"):
        go.System.from_lagrangian(**given, forces=[sp.diff(x, t, 2)])


def test_equations_and_names_stand_for_what_they_mean() -> None:
    x, y, u, v = sp.symbols("x y u v")
    both = [
        oscillator(q=[x, y], v=[u, v], kinetic=(u**2 + v**2) / 2, holonomic=[row], forces={force: 2 * x})
        for row, force in ((sp.Eq(x, 2 * y), "y"), (x - 2 * y, y))
    ]
    one, other = (s.evaluate(0.0, [1.0, 0.5], [0.0, 0.0]) for s in both)
    np.testing.assert_array_equal(one.J, other.J)
    np.testing.assert_array_equal(one.Q, other.Q)
