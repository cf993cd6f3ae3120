"""Every solver that is installed by the checks that are offered to the authors of others."""

from __future__ import annotations

from pathlib import Path

import pytest

import gaussopt as go
from gaussopt import testing
from gaussopt.comparison.pairing import installed_solvers
from gaussopt.core import registry

PLUGINS = Path(__file__).parents[1] / "plugins"
SOLVERS = [
    s
    for s in installed_solvers(stochastic=False)
    if {go.QP, go.LCP} & {*registry.load("solver", s).accepts} and testing.programs(s)
]


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_it_calls_solved_is(solver: str) -> None:
    # The program HS268 is so ill conditioned that residuals of 1e-9 leave 1e-6 of the point open.
    tolerance = 1e-6 if solver in ("osqp", "cvxpy") else 1e-7
    for case in testing.programs(solver):
        testing.check_answer(solver, case, tolerance)


@pytest.mark.parametrize("solver", SOLVERS)
def test_it_only_reads_and_keeps_what_it_gave(solver: str) -> None:
    testing.check_manners(solver)


def test_a_forgetful_solver_fails_and_an_honest_one_passes() -> None:
    for name in ("least_index", "sign_forgetter"):
        go.register(PLUGINS / f"{name}.py")
    cases = {case.name: case for case in testing.programs("sign-forgetter", 10)}
    for name in [name for name in cases if name.startswith(("definite", "small", "dominant"))]:
        testing.check_answer("least-index", cases[name])
    for name in ("definite-10", "dominant-10", "small1-3"):
        with pytest.raises(AssertionError, match=f"sign-forgetter calls {name} solved, which is not so"):
            testing.check_answer("sign-forgetter", cases[name])
    with pytest.raises(AssertionError, match="has no solution, and sign-forgetter has solved it"):
        testing.check_answer("sign-forgetter", cases["no-way-2"])


def test_a_solver_that_writes_into_its_program_is_told(tmp_path: Path) -> None:
    text = (PLUGINS / "least_index.py").read_text().replace('"least-index"', '"writer"')
    (tmp_path / "writer.py").write_text(
        text.replace("self.lcp = program", "self.lcp = program\n        program.q *= 1.0")
    )
    go.register(tmp_path / "writer.py")
    with pytest.raises(ValueError, match="read-only"):
        testing.check_manners("writer")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ZeroDivisionError('boom')", "raising does not end .*boom"),
        ("return RawSolution(np.full(self.lcp.n, np.nan), None, Status.SOLVED)", "which is not so|is not finite"),
    ],
)
def test_solvers_that_raise_or_return_no_numbers_are_told(tmp_path: Path, body: str, words: str) -> None:
    text = (PLUGINS / "least_index.py").read_text().replace('"least-index"', '"raising"')
    head, _, _ = text.partition("    def solve(")
    (tmp_path / "raising.py").write_text(
        f"{head}    def solve(self, start):\n        {body}\n\n\nsolver = {text.rsplit('solver = ', 1)[1]}"
    )
    go.register(tmp_path / "raising.py")
    case = testing.programs("raising", 10)[0]
    with pytest.raises(AssertionError, match=words):
        testing.check_answer("raising", case)
    with pytest.raises(AssertionError, match=r"raising raises ZeroDivisionError|is not finite"):
        testing.check_manners("raising")


def test_a_solver_that_always_gives_up_solves_no_share(tmp_path: Path) -> None:
    assert testing.share_solved("lemke", 10) > 0.8
    text = (PLUGINS / "least_index.py").read_text().replace('"least-index"', '"idle"')
    head, _, _ = text.partition("    def solve(")
    body = "return RawSolution(None, None, Status.ITERATION_LIMIT)"
    (tmp_path / "idle.py").write_text(
        f"{head}    def solve(self, start):\n        {body}\n\n\nsolver = {text.rsplit('solver = ', 1)[1]}"
    )
    go.register(tmp_path / "idle.py")
    assert testing.share_solved("idle", 10) == 0.0
