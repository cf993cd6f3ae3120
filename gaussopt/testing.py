"""Checks of what every solver has to do, which the author of a solver calls from pytest.

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

Each check raises AssertionError with a sentence. The project's own tests call them for every installed solver. Giving
up is no error, so the first two say nothing about a solver that always gives up: the third counts what it solves.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gaussopt.comparison.sources import convex_set
from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LCP, QP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import make_solver
from gaussopt.core.status import Status
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.lcp.collection import known_lcps
from gaussopt.solving.solve import solve
from gaussopt.solving.solver_sequence import SolverSequence
from gaussopt.solving.verification import verified

NEAR = 1e-4
"""Distance from the solution, relative to 1 + its size, beyond which an answer counts as a different one."""


@dataclass(frozen=True, slots=True)
class KnownProgram:
    """A program with its solution x, (n,), which is None if not unique; `solvable` says whether there is a solution."""

    name: str
    program: QP | LCP
    x: Vector | None
    solvable: bool = True


def programs(solver: str, most: int = 30) -> list[KnownProgram]:
    """Return the programs with known answers, of at most `most` unknowns, that a solver accepts.

    They are the convex programs and LCPs of `gaussopt compare`. Raises UnknownName, MissingBackend.
    """
    convex = [KnownProgram(k, QP.from_mapping(c), np.array(c["x"])) for k, c in convex_set().items()]
    paired = [
        KnownProgram(k.name, k.lcp, k.z if k.answers == "one" else None, k.answers != "none")
        for k in known_lcps().values()
    ]
    one = make_solver(solver)
    return [c for c in (*convex, *paired) if c.program.n <= most and not one.refuses(c.program)]


def check_answer(solver: str, case: KnownProgram, tolerance: float = DEFAULT_TOLERANCE) -> None:
    """Check that a solver is right where it claims to have solved a program; giving up and saying so is no error.

    `tolerance` is that of the certificate.
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
    """Return the share of the solvable programs of `programs` for which a solver's answer is confirmed; NaN of none."""
    cases = [case.program for case in programs(solver, most) if case.solvable]
    solved = [solve(program, solver, tolerance=tolerance).status is Status.SOLVED for program in cases]
    return sum(solved) / len(solved) if solved else float("nan")


def check_manners(solver: str) -> None:
    """Check that a solver changes no programs or earlier answers, and solves a sequence like its single programs."""
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
    """Return the answer of a solver after `setup`; raise AssertionError if it raises or the answer is not finite."""
    try:
        found: RawSolution = one.solve(None)
    except Exception as error:
        raise AssertionError(f"{solver} raises {type(error).__name__} on {name}: {error}") from error
    assert found.x is None or np.isfinite(found.x).all(), f"The answer of {solver} to {name} is not finite."
    return found


def _locked(values: Any) -> Any:
    """Return a read-only copy."""
    copy = np.array(values)
    copy.setflags(write=False)
    return copy
