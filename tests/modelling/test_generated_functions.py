"""The functions of a model as machine code agree with CPython, and leave undefined states to it."""

from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.certificates import certify
from gaussopt.core import registry
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.modelling import generated_functions, lagrangian
from gaussopt.modelling.callables import System
from gaussopt.modelling.generated_functions import GeneratedFunctions
from gaussopt.modelling.lagrangian import LagrangianSystem

pytest.importorskip("llvmlite")

AGREE = 1e-12


@contextmanager
def machine_code(system: System, wanted: bool) -> Iterator[GeneratedFunctions]:
    """The system's functions as machine code, or run by CPython, also in its motions."""
    assert isinstance(system, LagrangianSystem)
    kept = system._functions
    system._functions = GeneratedFunctions.of(system._module, wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lagrangian, "ENOUGH", math.nan)
        yield system._functions
    system._functions = kept


def by_both(system: System, ask: Callable[[], Any]) -> tuple[Any, Any]:
    """What is found by CPython, and by machine code."""
    with machine_code(system, False):
        plain = ask()
    with machine_code(system, True) as known:
        assert known.code
        return plain, ask()


def arrays(step: StepData) -> list[np.ndarray[Any, Any]]:
    """All arrays of a step."""
    return [x for x in (getattr(step, name) for name in step.__slots__) if isinstance(x, np.ndarray)]


ROWS = (
    "t", "q", "v", "a", "lam", "error_bound", "relative_error", "position_drift", "velocity_drift", "kinetic",
    "potential", "power", "gap",
)  # fmt: skip

MOTIONS: list[tuple[str, dict[str, Any]]] = [
    ("crank-slider", {"formulation": "gauss", "solver": "osqp", "dt": 1e-3, "t_end": 0.05}),
    ("crank-slider", {"formulation": "udwadia-kalaba", "solver": "kkt", "stepper": "rk45", "t_end": 0.05}),
    ("crank-slider", {"formulation": "gauss", "solver": "daqp", "dt": 1e-3, "t_end": 0.05,
                      "stabilisation": "baumgarte"}),
    ("crank-slider", {"formulation": "null-space", "solver": "kkt", "dt": 1e-3, "t_end": 0.05,
                      "stabilisation": "projection"}),
    ("knife-edge-body", {"formulation": "quasi-velocity", "solver": "kkt", "dt": 1e-2, "t_end": 0.5}),
    ("four-bar", {"formulation": "gauss", "solver": "kkt", "dt": 1e-3, "t_end": 0.05}),
    ("box", {"dt": 1e-2, "t_end": 0.5}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings"), MOTIONS)
def test_motions_by_machine_code_and_by_cpython_agree(name: str, settings: dict[str, Any]) -> None:
    problem = go.problem(name)
    plain, ours = by_both(
        problem.system, lambda: go.simulate(problem, engine="interpreted", error_estimate=False, **settings)
    )
    assert plain.status is ours.status is go.Status.SOLVED
    for row in ROWS:
        expected = getattr(plain, row)
        size = float(np.abs(expected).max(initial=0.0))
        if row in ("error_bound", "relative_error", "position_drift", "velocity_drift"):  # rounding itself
            size = 1.0
        np.testing.assert_allclose(getattr(ours, row), expected, rtol=AGREE, atol=AGREE * max(1.0, size), err_msg=row)


@pytest.mark.parametrize("name", registry.names("problem"))
def test_the_equations_of_every_problem_have_machine_code(name: str) -> None:
    system = go.problem(name).system
    if isinstance(system, LagrangianSystem):
        with machine_code(system, True) as known:
            # Bricard's five rods in quaternions are beyond what is compiled.
            assert name == "bricard" or {"step", "position", "velocity", "energy"} <= set(known.code)


@pytest.mark.parametrize("name", ["crank-slider", "knife-edge-body", "sliding-rod", "two-bar"])
def test_steps_certificates_and_residuals_agree(name: str) -> None:
    problem = go.problem(name)
    system = problem.system
    n = len(problem.q0)

    def ask() -> list[Any]:
        found, random = [], np.random.default_rng(3)
        for _ in range(50):
            q, v, a = problem.q0 + random.normal(size=n), random.normal(size=n), random.normal(size=n)
            step = system.evaluate(0.3, q, v)
            residuals = [system.position_residual(0.3, q), system.velocity_residual(0.3, q, v), system.gaps(0.3, q)]
            found += [x for x in (*arrays(step), *residuals) if x is not None]
            for lam in (random.normal(size=step.m), None):
                certified = certify(step.select([]), a, lam)
                found.append(np.array([certified.error_bound, certified.constraint_residual, certified.norm_a]))
            energy = system.energy(0.3, q, v)
            assert energy is not None
            found.append(np.array([energy.kinetic, energy.potential, energy.power]))
        return found

    for plain, ours in zip(*by_both(system, ask), strict=True):
        size = float(np.abs(plain).max(initial=0.0))
        np.testing.assert_allclose(ours, plain, rtol=AGREE, atol=AGREE * size)


def test_steps_that_are_kept_stay_as_they_are() -> None:
    problem = go.problem("crank-slider")
    system = problem.system
    with machine_code(system, True):
        system.evaluate(0.0, problem.q0, problem.v0)
        first = system.evaluate(0.0, problem.q0, problem.v0)
        kept = [x.copy() for x in arrays(first)]
        shifted = first.with_gamma(first.gamma + 1.0)
        certified = certify(first, np.ones(first.n))
        lam = certified.lam.copy()
        second = system.evaluate(0.1, problem.q0 + 0.1, problem.v0 - 1.0)
        certify(second, np.zeros(first.n))
        for now, before in zip(arrays(first), kept, strict=True):
            np.testing.assert_array_equal(now, before)
        np.testing.assert_array_equal(certified.lam, lam)
        assert not np.shares_memory(first.M, second.M)
        # The stabilised rows have a certificate of their own.
        assert certify(shifted, np.ones(first.n)).constraint_residual != certified.constraint_residual
        plain = certify(replace(shifted, arithmetic=None), np.ones(first.n))
        assert certify(shifted, np.ones(first.n)).error_bound == pytest.approx(plain.error_bound, rel=1e-12)


def test_a_step_travels_with_its_certificate() -> None:
    problem = go.problem("crank-slider")
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    for other in (pickle.loads(pickle.dumps(step)), copy.deepcopy(step)):
        assert certify(other, np.ones(step.n)).error_bound == certify(step, np.ones(step.n)).error_bound
        assert other.arithmetic is not None
        assert step.arithmetic is not None
        assert other.arithmetic[0] is step.arithmetic[0]


x, u = sp.symbols("x u")


def falling(potential: Any, name: str) -> System:
    """One coordinate in a potential."""
    return System.from_lagrangian([x], [u], kinetic=u**2 / 2, potential=potential, name=name)


UNDEFINED = {
    "root": (x ** sp.Rational(5, 2), -0.5),
    "pole": (1 / x, 0.0),
    "pole within bounds": (sp.Integral(sp.atan(1 / x), x).doit(), 0.0),
    "logarithm": (x * sp.log(x), -1.0),
    "overflow": (sp.exp(x**2), 40.0),
    "large": (x**4 * 1e200, 1e60),
    "nan": (x**2, np.nan),
    "infinite": (x**2, np.inf),
}


@pytest.mark.parametrize("kind", UNDEFINED)
@np.errstate(over="ignore")
def test_undefined_equations_are_refused_in_the_same_words(kind: str) -> None:
    potential, at = UNDEFINED[kind]
    system = falling(potential, f"undefined {kind}")

    def ask() -> tuple[str, str]:
        said = []
        for value in (at, 0.75):
            try:
                said.append(repr(system.evaluate(0.0, [value], [1.0]).Q.tolist()))
            except BadInput as error:
                said.append(str(error))
        return said[0], said[1]

    plain, ours = by_both(system, ask)
    assert plain == ours
    assert plain[1].startswith("[")
    assert ("undefined" in plain[0]) or ("not finite" in plain[0])


@pytest.mark.parametrize("potential", [sp.floor(x) * x, sp.Mod(x, 2) * x], ids=["floor", "remainder"])
def test_steps_in_the_equations_agree(potential: Any) -> None:
    system = System.from_lagrangian([x], [u], kinetic=u**2 / 2, forces=[potential], name=f"steps {potential}")
    plain, ours = by_both(system, lambda: [system.evaluate(0.0, [y], [0.0]).Q.tolist() for y in (2.5, -0.75)])
    assert plain == ours == [[float(potential.subs(x, y))] for y in (2.5, -0.75)]


def test_a_source_that_changed_on_the_disk_changes_nothing() -> None:
    system = falling(sp.cos(x), "swept away")
    assert isinstance(system, LagrangianSystem)
    text = system.source
    content = system.source_path.read_bytes()
    system.source_path.write_text(text.replace("sin", "cos"), encoding="utf-8")
    with machine_code(system, True) as known:
        system.evaluate(0.0, [0.5], [0.0])
        assert system.evaluate(0.0, [0.5], [0.0]).Q[0] == np.sin(0.5)
        assert known.code
    assert system.source == text
    system.source_path.write_bytes(content)


def test_states_of_any_kind_are_taken() -> None:
    problem = go.problem("crank-slider")
    system, table = problem.system, np.random.default_rng(0).normal(size=(7, 3))
    given: list[tuple[Any, Any, Any]] = [
        (0, table[:, 0], table[:, 1]),
        (np.float64(0.5), table[:, 0].tolist(), table[:, 2].astype(np.float32)),
        (1, table[:, 0].astype(">f8"), np.arange(7)),
    ]

    def ask() -> list[bytes]:
        return [y.tobytes() for t, q, v in given for y in arrays(system.evaluate(t, q, v))]

    plain, ours = by_both(system, ask)
    assert plain == ours
    with machine_code(system, True):
        system.energy(0.0, problem.q0, problem.v0)
        with pytest.raises(BadInput, match=r"q of 'crank-slider' has shape \(6,\)"):
            system.evaluate(0.0, np.zeros(6), np.zeros(7))
        with pytest.raises(BadInput, match=r"v of 'crank-slider' has shape \(8,\)"):
            system.evaluate(0.0, np.zeros(7), np.zeros(8))


@np.errstate(over="ignore", invalid="ignore")
def test_candidates_of_any_kind_are_certified() -> None:
    problem = go.problem("crank-slider")
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    table = np.random.default_rng(0).normal(size=(7, 2))
    candidates = [table[:, 0], table[:, 0].astype(np.float32), np.full(7, np.nan), np.full(7, 1e200), np.zeros(7)]

    def ask() -> list[str]:
        again = problem.system.evaluate(0.0, problem.q0, problem.v0)
        return [repr(certify(s, a, lam)) for s in (step, again) for a in candidates for lam in (None, np.ones(6))]

    plain, ours = by_both(problem.system, ask)
    assert plain == ours


def test_systems_of_one_model_share_their_code() -> None:
    problem = go.problem("crank-slider")
    other = problem.system.with_parameters(**{name: 1.25 * x for name, x in problem.system.parameters.items()})

    def ask() -> list[Any]:
        found = [system.evaluate(0.0, problem.q0, problem.v0) for system in (problem.system, other, problem.system)]
        assert found[0].M.tobytes() == found[2].M.tobytes() != found[1].M.tobytes()
        return [x for step in found for x in arrays(step)]

    for plain, ours in zip(*by_both(problem.system, ask), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=AGREE, atol=AGREE * float(np.abs(plain).max(initial=0.0)))


def test_threads_have_workspaces_of_their_own() -> None:
    problem = go.problem("crank-slider")
    states = [problem.q0 + 0.01 * i for i in range(8)]

    def ask(q: Any) -> list[bytes]:
        return [problem.system.evaluate(0.0, q, problem.v0).J.tobytes() for _ in range(300)]

    with machine_code(problem.system, True), ThreadPoolExecutor(8) as pool:
        for q, found in zip(states, pool.map(ask, states), strict=True):
            assert set(found) == {problem.system.evaluate(0.0, q, problem.v0).J.tobytes()}


PLAIN = """
import sys
import gaussopt as go
motion = go.simulate("crank-slider", "gauss", "kkt", dt=1e-4, t_end=0.06, error_estimate=False)
print("llvmlite" in sys.modules, *motion.a.ravel().tolist())
"""


def test_where_machine_code_is_not_wanted_the_numbers_agree() -> None:
    environment = {**os.environ, "GAUSSOPT_COMPILE": "0"}
    done = subprocess.run([sys.executable, "-c", PLAIN], env=environment, capture_output=True, text=True, check=True)
    loaded, *plain = done.stdout.split()
    assert loaded == "False"
    motion = go.simulate("crank-slider", "gauss", "kkt", dt=1e-4, t_end=0.06, error_estimate=False)
    expected = np.array(plain, dtype=np.float64)
    np.testing.assert_allclose(motion.a.ravel(), expected, rtol=1e-9, atol=AGREE * float(np.abs(expected).max()))


@pytest.mark.parametrize("enough", [generated_functions.ENOUGH - 1, generated_functions.ENOUGH])
def test_a_motion_of_some_length_is_compiled_and_no_other(enough: int) -> None:
    system = falling(sp.sin(x) ** 2, "counted")
    one, other = system.of_motion(0), system.of_motion(0)
    one.prepare(enough)
    for given, code in ((one, enough == generated_functions.ENOUGH), (other, False), (system, False)):
        assert isinstance(given, LagrangianSystem)
        assert bool(given._functions.code) is code
