"""The functions of a model as machine code have the digits of CPython, and leave to it what is its own."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.certificates.bilateral import certify
from gaussopt.core import registry
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.modelling import generated_functions
from gaussopt.modelling.callables import System
from gaussopt.modelling.generated_functions import Evaluation
from gaussopt.modelling.lagrangian import LagrangianSystem

pytest.importorskip("llvmlite")

NEVER = 10**9


@contextmanager
def calls(system: System, before: int) -> Iterator[Evaluation]:
    """The system's functions as machine code after so many calls by CPython."""
    assert isinstance(system, LagrangianSystem)
    known = system._evaluation
    kept = known.code, known._left
    known.code, known._left = {}, before
    try:
        yield known
    finally:
        known.code, known._left = kept


def by_both(system: System, ask: Callable[[], Any]) -> tuple[Any, Any]:
    """What is found by CPython, and by machine code."""
    with calls(system, NEVER):
        plain = ask()
    with calls(system, 1) as known:
        known._count()
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
    ("crank-slider", {"formulation": "gauss", "solver": "daqp", "dt": 1e-3, "t_end": 0.05, "stabilise": "baumgarte"}),
    ("crank-slider", {"formulation": "null-space", "solver": "kkt", "dt": 1e-3, "t_end": 0.05,
                      "stabilise": "projection"}),
    ("knife-edge-body", {"formulation": "quasi-velocity", "solver": "kkt", "dt": 1e-2, "t_end": 0.5}),
    ("four-bar", {"formulation": "gauss", "solver": "kkt", "dt": 1e-3, "t_end": 0.05}),
    ("box", {"dt": 1e-2, "t_end": 0.5}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings"), MOTIONS)
def test_no_digit_of_a_motion_depends_on_when_machine_code_takes_over(name: str, settings: dict[str, Any]) -> None:
    problem = go.problem(name)
    found = []
    for before in (NEVER, 1, 41):
        with calls(problem.system, before) as known:
            found.append(go.simulate(problem, engine="interpreted", step_folder=None, **settings))
            assert bool(known.code) is (before != NEVER)
    plain, *others = found
    assert plain.status is go.Status.SOLVED
    for other in others:
        assert (other.worst, other.message) == (plain.worst, plain.message)
        for row in ROWS:
            assert getattr(other, row).tobytes() == getattr(plain, row).tobytes(), row


@pytest.mark.parametrize("name", registry.names("problem"))
def test_the_equations_of_every_problem_have_machine_code(name: str) -> None:
    system = go.problem(name).system
    if isinstance(system, LagrangianSystem):
        assert {"step", "position", "velocity", "energy"} <= set(generated_functions._compiled(system._module))


@pytest.mark.parametrize("name", ["crank-slider", "knife-edge-body", "sliding-rod", "two-bar"])
def test_steps_certificates_and_residuals_have_the_same_digits(name: str) -> None:
    problem = go.problem(name)
    system, random = problem.system, np.random.default_rng(3)
    n = len(problem.q0)

    def ask() -> list[bytes]:
        found = []
        for _ in range(50):
            q, v, a = problem.q0 + random.normal(size=n), random.normal(size=n), random.normal(size=n)
            step = system.evaluate(0.3, q, v)
            certified = certify(step.select([]), a, random.normal(size=step.m))
            more = certify(step.select([]), a)
            residuals = [system.position_residual(0.3, q), system.velocity_residual(0.3, q, v), system.gaps(0.3, q)]
            found += [x.tobytes() for x in (*arrays(step), *residuals) if x is not None]
            found += [repr(system.energy(0.3, q, v)).encode(), repr(certified).encode(), repr(more).encode()]
        return found

    with calls(system, NEVER):
        plain = ask()
    random = np.random.default_rng(3)
    with calls(system, 1):
        assert ask() == plain


def test_steps_that_are_kept_stay_as_they_are() -> None:
    problem = go.problem("crank-slider")
    system = problem.system
    with calls(system, 1):
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


def test_a_branch_that_is_not_taken_may_be_undefined() -> None:
    system = falling(sp.Piecewise((x**2, x < 1), (sp.log(x - 1) + 1 / (x - 1), True)), "branches")
    with calls(system, 1) as known:
        system.evaluate(0.0, [0.5], [0.0])
        out = np.zeros(system.n**2 + 2 * system.n)  # type: ignore[attr-defined]
        for value in (0.5, 2.0):
            assert known.code["step"](0.0, np.array([value]), np.zeros(1), np.zeros(0), out)
            step = system.evaluate(0.0, [value], [0.0])
            assert step.Q[0] == pytest.approx(-1.0 if value == 0.5 else 0.0)


@pytest.mark.parametrize("potential", [sp.floor(x) * x, sp.Mod(x, 2) * x], ids=["floor", "remainder"])
def test_what_has_no_exact_translation_stays_with_cpython(potential: Any) -> None:
    system = System.from_lagrangian([x], [u], kinetic=u**2 / 2, forces=[potential], name=f"stays {potential}")
    with calls(system, 1) as known:
        values = [system.evaluate(0.0, [2.5], [0.0]).Q.tolist() for _ in range(3)]
        assert not known.code
    assert values == [[float(potential.subs(x, 2.5))]] * 3


def test_a_source_that_changed_on_the_disk_changes_nothing() -> None:
    system = falling(sp.cos(x), "swept away")
    assert isinstance(system, LagrangianSystem)
    text = system.source
    content = system.source_path.read_bytes()
    system.source_path.write_text(text.replace("sin", "cos"), encoding="utf-8")
    with calls(system, 1) as known:
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
    with calls(system, 1):
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
    with calls(problem.system, 1):
        problem.system.energy(0.0, problem.q0, problem.v0)
        step = other.evaluate(0.0, problem.q0, problem.v0)
    with calls(problem.system, NEVER):
        for ours, plain in zip(arrays(step), arrays(other.evaluate(0.0, problem.q0, problem.v0)), strict=True):
            assert ours.tobytes() == plain.tobytes()


PLAIN = """
import sys
import gaussopt as go
from gaussopt.modelling import generated_functions as evaluation
evaluation.ENOUGH = 10
motion = go.simulate("crank-slider", "gauss", "kkt", dt=1e-3, t_end=0.02, step_folder=None)
system = go.problem("crank-slider").system
print(bool(system._evaluation.code), "llvmlite" in sys.modules, motion.a.tobytes().hex())
"""


def test_where_machine_code_is_not_wanted_the_digits_are_the_same() -> None:
    environment = {**os.environ, "GAUSSOPT_COMPILE": "0"}
    done = subprocess.run([sys.executable, "-c", PLAIN], env=environment, capture_output=True, text=True, check=True)
    problem = go.problem("crank-slider")
    with calls(problem.system, 1):
        motion = go.simulate(problem, "gauss", "kkt", dt=1e-3, t_end=0.02, step_folder=None)
    assert done.stdout.split() == ["False", "False", motion.a.tobytes().hex()]


def test_the_number_of_calls_is_counted_for_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated_functions, "ENOUGH", 3)
    monkeypatch.setattr(generated_functions, "COMPILED", True)
    system = falling(sp.sin(x) ** 2, "counted")
    assert isinstance(system, LagrangianSystem)
    known = system._evaluation
    for count in range(1, 6):
        (system if count % 2 else system.with_parameters()).evaluate(0.0, [0.5], [0.0])
        assert bool(known.code) is (count >= 3)
