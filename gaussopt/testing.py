"""Checks that every solver, formulation and stepper must pass; their authors can call them from pytest.

    import pytest
    from gaussopt import register, testing

    register("my_solver.py")

    @pytest.mark.parametrize("case", testing.programs("my-solver"), ids=lambda case: case.name)
    def test_answers(case):
        testing.check_answer("my-solver", case)

    def test_manners():
        testing.check_manners("my-solver")

    def test_solves_most():
        assert testing.share_solved("my-solver") > 0.8

    @pytest.mark.parametrize("case", testing.steps(), ids=lambda case: case.name)
    def test_formulation(case):
        testing.check_formulation("my-formulation", case)

    def test_stepper():
        testing.check_stepper("my-stepper")

Each check raises AssertionError with a clear message. The project's own tests call them for every registered entry.
A solver may report that it has no answer; a solver that never finds an answer passes the first two checks, but not the
third, which counts solved programs. Likewise a formulation may refuse steps, and a stepper may refuse motions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.linalg import null_space

from gaussopt.comparison.sources import convex_set
from gaussopt.core import registry
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import NotAccepted
from gaussopt.core.programs import LCP, QP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import make_solver
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stepper
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.integration.trajectory import Trajectory
from gaussopt.lcp.collection import known_lcps
from gaussopt.modelling.callables import System
from gaussopt.simulation.simulate import simulate
from gaussopt.solving.foreign_formulation import find
from gaussopt.solving.solve import solve, solve_step
from gaussopt.solving.solver_sequence import SolverSequence
from gaussopt.solving.verification import verified

NEAR = 1e-4
"""An answer is wrong if its distance from the solution, relative to 1 + the size of the solution, exceeds this."""


@dataclass(frozen=True, slots=True)
class KnownProgram:
    """A program, its solution x, (n,), which is None if x is not unique, and whether the program has a solution."""

    name: str
    program: QP | LCP
    x: Vector | None
    solvable: bool = True


def programs(solver: str, most: int = 30) -> list[KnownProgram]:
    """Return the programs with known solutions, of at most `most` unknowns, that a solver accepts.

    They are the convex programs and LCPs of `gaussopt compare`. Raises UnknownName or MissingBackend.
    """
    convex = [KnownProgram(k, QP.from_mapping(c), np.array(c["x"])) for k, c in convex_set().items()]
    paired = [
        KnownProgram(k.name, k.lcp, k.z if k.answers == "one" else None, k.answers != "none")
        for k in known_lcps().values()
    ]
    one = make_solver(solver)
    return [c for c in (*convex, *paired) if c.program.n <= most and not one.refuses(c.program)]


def check_answer(solver: str, case: KnownProgram, tolerance: float = DEFAULT_TOLERANCE) -> None:
    """Check that a solver's answer is right if it claims `solved`; a solver may also claim that it has no answer.

    `tolerance` is the tolerance of the certificate.
    """
    found = solve(case.program, solver, tolerance=tolerance)
    assert found.status is not Status.CRASHED, f"{solver} does not end {case.name}: {found.message}"
    assert case.solvable or found.claim is not Status.SOLVED, (
        f"{case.name} has no solution, and {solver} has solved it."
    )
    if found.claim is not Status.SOLVED or case.x is None:
        return
    confirmed = found.status in (Status.SOLVED, Status.NOT_PROVED)
    assert confirmed, f"{solver} calls {case.name} solved, which is not so: {found.message}"
    assert found.x is not None
    miss = float(np.linalg.norm(found.x - case.x) / (1.0 + np.linalg.norm(case.x)))
    assert miss <= NEAR, f"The answer of {solver} to {case.name} is {miss:.1e} off, relative to 1 + its size."


def share_solved(solver: str, most: int = 30, tolerance: float = DEFAULT_TOLERANCE) -> float:
    """Return the fraction of the solvable `programs` for which a solver's answer is verified; NaN if there are none."""
    cases = [case.program for case in programs(solver, most) if case.solvable]
    solved = [solve(program, solver, tolerance=tolerance).status is Status.SOLVED for program in cases]
    return sum(solved) / len(solved) if solved else float("nan")


def check_manners(solver: str) -> None:
    """Check that a solver changes neither programs nor earlier answers, and that earlier programs affect no status."""
    for case in [c for c in programs(solver) if c.x is not None and c.program.n > 1][:3]:
        doubled = replace(case.program, q=2.0 * case.program.q)
        given = [
            replace(p, **{f.name: _locked(getattr(p, f.name)) for f in fields(p)}) for p in (case.program, doubled)
        ]
        one = make_solver(solver)
        one.setup(given[0])
        first = _answer(one, solver, case.name)
        kept = None if first.x is None else np.array(first.x)
        (one.update if one.updates else one.setup)(given[1])
        one.solve(None if kept is None or not one.warm_starts else (kept, None))
        stays = kept is None or first.x is None or bool((first.x == kept).all())
        assert stays, f"The next answer of {solver} overwrites the one before."
        for warm in (False, True):
            sequence = SolverSequence(solver, warm_start=warm)
            for program in (case.program, doubled, case.program):
                alone = solve(program, solver)
                found = verified(program, *sequence.solve(program))
                same = found.status is alone.status or Status.NOT_PROVED in (found.status, alone.status)
                assert same, f"{solver} ends {case.name} as {alone.status} alone and as {found.status} in a sequence."


def _answer(one: Any, solver: str, name: str) -> RawSolution:
    """Return a solver's answer after its `setup`; raise AssertionError if it raises or its answer is not finite."""
    try:
        found: RawSolution = one.solve(None)
    except Exception as error:
        raise AssertionError(f"{solver} raises {type(error).__name__} on {name}: {error}") from error
    assert found.x is None or np.isfinite(found.x).all(), f"The answer of {solver} to {name} is not finite."
    return found


def _locked(values: Any) -> Any:
    """Return a read-only copy of an array."""
    copy = np.array(values)
    copy.setflags(write=False)
    return copy


# -- formulations ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KnownStep:
    """A step and its known acceleration a, (n,)."""

    name: str
    step: StepData
    a: Vector


def steps(seed: int = 0) -> list[KnownStep]:
    """Return steps with known accelerations, computed by a basis of the null space of J or, with contacts, by hand.

    They are: a free step; steps with constraints, redundant rows or singular M; a sliding and a sticking block.
    """
    rng = np.random.default_rng(seed)
    root, J, h, Q = rng.normal(size=(5, 5)), rng.normal(size=(2, 5)), rng.normal(size=5), rng.normal(size=5)
    full, gamma, light = root @ root.T + np.eye(5), rng.normal(size=2), np.diag([1.0, 2.0, 3.0, 4.0, 0.0])
    found = []
    for name, M, rows, right in (
        ("free", full, J[:0], gamma[:0]), ("constrained", full, J, gamma),
        ("redundant rows", full, np.vstack((J, J[0] + J[1])), np.append(gamma, gamma.sum())),
        ("singular mass", light, J, gamma),
    ):  # fmt: skip
        Z, one = null_space(rows) if len(rows) else np.eye(5), np.linalg.lstsq(rows, right, rcond=None)[0]
        a = one + Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ (Q - h - M @ one))
        found.append(KnownStep(name, StepData.smooth(M, h, Q, rows, right, 0.0, np.zeros(5), np.zeros(5)), a))
    for name, pull, rate, a in (("slides", 5.0, 1.0, [1.0, 0.0]), ("sticks", 5.0, 0.0, [0.0, 0.0])):
        # A block of 2 kg, pulled along a rough floor with a downward force of 10 N.
        block = {"M": np.diag([2.0, 2.0]), "Q": [pull, -10.0], "J_N": [[0.0, 1.0]], "zeta_N": [0.0],
                 "J_T": [[1.0, 0.0]], "zeta_T": [0.0], "v_T": [rate], "mu": [0.3 if rate else 0.6]}  # fmt: skip
        found.append(KnownStep(name, StepData.from_mapping(block), np.array(a)))
    return found


def check_formulation(formulation: str, case: KnownStep) -> None:
    """Check that a formulation gives the known acceleration of a step, or refuses the step with a reason.

    A formulation that is not `exact` may give another acceleration, but not as `solved`. The arrays are read-only.
    """
    step = replace(case.step, **{
        f.name: _locked(x) for f in fields(case.step) if isinstance(x := getattr(case.step, f.name), np.ndarray)
    })  # fmt: skip
    try:
        found = solve_step(step, formulation)
    except NotAccepted:
        return
    wrong = found.a is None or float(np.abs(found.a - case.a).max()) > NEAR * (1.0 + float(np.abs(case.a).max()))
    solved = found.status is Status.SOLVED
    exact = find(formulation).exact
    assert not (solved and wrong), f"{formulation} ends {case.name!r} as solved with another acceleration."
    assert solved or not exact, f"{formulation} is exact, and ends {case.name!r} as {found.status}: {found.message}"


# -- steppers ----------------------------------------------------------------------------------------------------------


def check_stepper(stepper: str) -> None:
    """Check a stepper: its order (or accuracy, if adaptive), the recorded instants, and that motions can be continued.

    x'' = -x' - e^-t + 6 t + 3 t^2, x(0) = 0, x'(0) = 1 has the solution x = t^3 + t e^-t. A stepper may refuse it.
    """
    method: Stepper = registry.load("stepper", stepper)
    driven = System([[1.0]], lambda t, q, v: -v - np.exp(-t) + 6 * t + 3 * t**2)

    def moved(fine: float, **more: Any) -> Trajectory:
        dials: dict[str, Any] = {"rtol": fine, "atol": fine, "dt": 0.25} if method.adaptive else {"dt": fine}
        about: dict[str, Any] = {"t_end": 1.0} | dials | more
        return simulate(driven, stepper=stepper, q0=[0.0], v0=[1.0], error_estimate=False, step_folder=None, **about)

    ladder = (1e-4, 1e-8) if method.adaptive else (1 / 32, 1 / 64)
    try:
        coarse, fine = (moved(dial) for dial in ladder)
    except NotAccepted:
        return
    errors = [abs(float(motion.q[-1, 0]) - 1.0 - np.exp(-1.0)) for motion in (coarse, fine)]
    if method.adaptive:
        assert errors[1] < 1e3 * ladder[1], f"{stepper} is {errors[1]:.1e} off at a tolerance of {ladder[1]:g}."
    else:
        order = np.log2(errors[0] / errors[1])
        said = f"Halving the step of {stepper} gains the order {order:.2f}, not {method.order}."
        assert abs(order - method.order) < 0.2, said
    instants = np.linspace(0.0, 1.0, len(fine.t))
    assert bool((fine.t == instants).all()), f"{stepper} does not meet the instants of its interval."
    half = moved(ladder[0], t_end=0.5)
    on = simulate(driven, start=half, t_end=1.0, error_estimate=False, step_folder=None)
    same = method.adaptive or bool((on.q[-1] == coarse.q[-1]).all() and (on.v[-1] == coarse.v[-1]).all())
    assert same, f"A motion by {stepper} that is continued is not the motion at one go."
