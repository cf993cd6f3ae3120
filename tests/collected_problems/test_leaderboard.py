"""The page on all solvers: counts by class and size, a solver of one's own beside it, and going on after a stop."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gaussopt.cli.main import run
from gaussopt.collected_problems.build import build
from gaussopt.collected_problems.leaderboard import COLUMNS, leaderboard
from gaussopt.core.errors import BadInput

OWN = """
import numpy as np
from gaussopt.core.programs import LCP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status


class Zero(Solver[Options]):
    name = "zero"
    title = "It says that z = 0 solves everything"
    source = "a test"
    accepts = (LCP,)

    def setup(self, program):
        self._n = program.n

    def solve(self, start):
        return RawSolution(np.zeros(self._n), None, Status.SOLVED)


solver = Zero
"""


@pytest.fixture(scope="module")
def page(
    tmp_path_factory: pytest.TempPathFactory, take_running: Callable[[pytest.MonkeyPatch], None]
) -> Iterator[tuple[Path, Path]]:
    """A small collection, and the page of two solvers on it."""
    where = tmp_path_factory.mktemp("page")
    build(where / "collection", ["sliding-2-0.6", "chain-3-open", "contradiction-lcp"])
    with pytest.MonkeyPatch.context() as patch:
        take_running(patch)
        leaderboard(where / "collection", where / "out", ["lemke", "kkt"])
        yield where / "collection", where / "out"


def table(out: Path, name: str = "solvers") -> list[dict[str, Any]]:
    with (out / "data" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_counts_by_class_and_size(page: tuple[Path, Path]) -> None:
    rows = {(r["kind"], r["class"], r["unknowns"], r["solver"]): r for r in table(page[1])}
    everything = rows["lcp", "all", "all", "lemke"]
    assert (everything["problems"], everything["right"], everything["false claims"]) == ("62", "62", "0")
    assert rows["qp", "convex", "1 to 10", "kkt"]["right"] == "20"
    parts = [int(r["problems"]) for key, r in rows.items() if key[3] == "lemke" and key[1] != "all"]
    assert sum(parts) == 62
    wrong = json.loads((page[1] / "difficulty.json").read_text())
    assert wrong["chain-3-open-000"] == [0, 1]
    assert len(table(page[1], "hardest")) == 10


def test_the_page_can_be_sorted_and_filtered(page: tuple[Path, Path]) -> None:
    text = (page[1] / "index.html").read_text()
    assert "Solvers on the collection of step problems" in text
    assert "All solvers by class and size" in text
    assert "Add a solver of your own" in text


def test_it_goes_on_from_finished_cases(page: tuple[Path, Path]) -> None:
    cases = sorted((page[1] / "cases").glob("*.json"))
    before = {path.name: path.stat().st_mtime_ns for path in cases}
    leaderboard(page[0], page[1], ["lemke", "kkt"])
    assert {path.name: path.stat().st_mtime_ns for path in sorted((page[1] / "cases").glob("*.json"))} == before


def test_a_solver_of_ones_own_stands_beside_the_others(
    page: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "zero.py").write_text(OWN)
    beside = str(page[1] / "data" / "solvers.csv")
    command = ["collection", "compare", str(page[0]), str(tmp_path / "zero.py"), "--with", beside]
    assert run([*command, "--out", str(tmp_path / "mine"), "--time-budget", "0"]) == 0
    rows = {(r["solver"], r["class"]): r for r in table(tmp_path / "mine") if r["kind"] == "lcp"}
    assert rows["lemke", "all"]["right"] == "62"
    assert int(rows["zero", "all"]["false claims"]) > 0
    assert int(rows["zero", "all"]["right"]) + int(rows["zero", "all"]["false claims"]) == 62
    assert "Page:" in capsys.readouterr().out


def test_a_wrong_table_or_no_folder_is_refused(page: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match="no table of solvers"):
        leaderboard(page[0], tmp_path / "out", ["lemke"], beside=tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text(",".join(COLUMNS) + "\nlcp,all,all,x,a,b,c,d,e,f\n")
    with pytest.raises(BadInput, match="no number"):
        leaderboard(page[0], tmp_path / "out", ["lemke"], beside=tmp_path / "x.csv")
    assert run(["collection", "compare", "--out", str(tmp_path / "out")]) == 2
