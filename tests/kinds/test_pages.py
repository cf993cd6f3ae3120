"""A kind of program is what its page says: a new one is solved, judged, read and verified with no other line."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import contact_cases as known
import numpy as np
import pytest

import gaussopt as go
from gaussopt import kinds
from gaussopt.cli.main import run
from gaussopt.core.acceptance import Measures, ProgramCertificate
from gaussopt.core.cone_complementarity import GlobalContacts
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution, Timing
from gaussopt.kinds import Page, files, page_of
from gaussopt.kinds.step import judge as judge_step
from gaussopt.solving.verification import verified

S = go.Status


@dataclass(frozen=True)
class RootOf(Program):
    """Find x >= 0 with x^2 = a, (n,)."""

    shapes: ClassVar = {"a": "n"}
    a: np.ndarray

    @property
    def n(self) -> int:
        return len(self.a)

    @property
    def pattern(self) -> tuple[Any, ...]:
        return (self.n,)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> RootOf:
        return cls(np.array(data["a"], dtype=float))


@dataclass(frozen=True)
class RootCertificate(ProgramCertificate):
    error: float

    @property
    def measures(self) -> Measures:
        return Measures(True, self.error)

    def to_mapping(self) -> dict[str, float]:
        return {"relative_residual": self.error}


class RootPage(Page[RootOf]):
    kind = RootOf
    title = "square root"
    name = "root"
    article = "a root"
    entries = ("a",)
    answer = ("x",)
    solver = "babylon"

    def certify(self, program: RootOf, raw: RawSolution, tolerance: float) -> RootCertificate:
        x = np.full(program.n, np.nan) if raw.x is None else raw.x
        return RootCertificate(float(np.abs(x * x / program.a - 1.0).max()))

    def doubt(self, program: RootOf, proof: Any, raw: RawSolution, tolerance: float) -> tuple[S, str]:
        return S.INACCURATE, f"x^2 is off by {proof.error:.1e}."


SOLVER = """
import numpy as np
from gaussopt.core.program import Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status


class Babylon(Solver[Options]):
    name, title, source = "babylon", "Heron's method", "textbook"
    accepts = (Program,)

    def setup(self, program):
        self.a = program.a

    def solve(self, start):
        x = np.ones(len(self.a))
        for _ in range(60):
            x = 0.5 * (x + self.a / x)
        return RawSolution(x, None, Status.SOLVED)


solver = Babylon
"""


@pytest.fixture
def roots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of the new kind, whose page is named and whose solver is registered."""
    pages = (*kinds.PAGES, RootPage())
    monkeypatch.setattr(kinds, "_PAGES", {page.kind: page for page in pages})
    monkeypatch.setattr(files, "PAGES", pages)
    (tmp_path / "babylon.py").write_text(SOLVER)
    monkeypatch.setenv("GAUSSOPT_PLUGINS", str(tmp_path / "babylon.py"))
    file = tmp_path / "root.json"
    file.write_text('{"kind": "root", "a": [4.0, 9.0]}')
    return file


def test_a_new_kind_needs_its_page_alone(roots: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = go.solve(RootOf(np.array([4.0, 9.0])), "babylon")
    assert found.status is S.SOLVED
    assert found.x == pytest.approx([2.0, 3.0], rel=1e-14)
    for x, status in ((found.x * (1 + 1e-9), S.SOLVED), (found.x * (1 + 1e-5), S.INACCURATE), (None, S.INACCURATE)):
        raw = RawSolution(x, None, S.SOLVED)
        assert verified(RootOf(np.array([4.0, 9.0])), raw, Timing()).status is status
    assert run(["solve", str(roots), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["x"] == pytest.approx([2.0, 3.0])
    assert told["solver"] == "babylon"
    assert run(["solve", str(roots), "--formulation", "gauss", "--json"]) == 2
    assert "A root is a program already" in json.loads(capsys.readouterr().out)["message"]


def test_what_has_no_page_is_refused_in_a_sentence() -> None:
    with pytest.raises(go.BadInput, match=r"A program is one of QP, LinearSystem, .*, not RootOf"):
        page_of(RootOf(np.ones(1)))
    step = go.StepData.from_mapping({"M": [[1.0]], "Q": [1.0]})
    masses = {"M": np.eye(3), "H": np.eye(3), "f": np.ones(3), "w": np.zeros(3), "mu": [0.5]}
    for given in (step, GlobalContacts.from_mapping(masses)):
        with pytest.raises(go.BadInput, match=f"not {type(given).__name__}; see formulate"):
            go.solve(given, "kkt")


@pytest.mark.parametrize("tolerance", [1e-7, np.inf])
@pytest.mark.parametrize("claim", [S.SOLVED, S.INACCURATE, S.CRASHED, S.INFEASIBLE, S.ITERATION_LIMIT])
def test_nothing_is_solved_without_a_point(claim: S, tolerance: float) -> None:
    """An infinite tolerance records bounds; where there is no point it has nothing to record."""
    contacts = known.problem("ccp-dilation")
    programs = (
        go.QP(np.eye(2), np.ones(2), np.zeros((0, 2)), np.zeros(0), np.zeros(0)), go.LCP(np.eye(2), -np.ones(2)),
        go.LinearSystem(np.eye(2), np.ones(2)), go.LeastSquares(np.eye(2), np.ones(2), 2), contacts,
        ConeProgram(contacts.symmetric_part, contacts.q, contacts.mu),
    )  # fmt: skip
    for program in programs:
        for x in (None, np.full(program.n, np.nan)):
            found = page_of(program).judge(program, RawSolution(x, None, claim), tolerance)
            assert found.status is not S.SOLVED, type(program).__name__
            assert found.message


@pytest.mark.parametrize(("missed", "status"), [(5e-10, "not_proved"), (1e-3, "inaccurate")])
def test_an_answer_without_a_bound_is_not_called_missing(missed: float, status: str) -> None:
    """As of redundant contacts that stick: the answer is finite, and no bound of its distance follows."""
    step = go.StepData.from_mapping({"M": [[2.0]], "Q": [-19.62], "J_N": [[1.0]], "zeta_N": [0.0]})
    proof = go.certify_contact(step, np.array([0.0]))
    unbounded = dataclasses.replace(proof, error_bound=math.inf, error_norm=math.inf, law_residual=missed)
    found, message = judge_step(step, RawSolution(np.zeros(1), None, go.Status.SOLVED), unbounded, 1e-7, "Advice.")
    assert str(found) == status
    assert f"misses the laws of contact by {missed:.2g}" in message
