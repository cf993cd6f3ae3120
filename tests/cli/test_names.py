"""One name for one thing: options of the command line are keywords of Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import typer
from rich.text import Text

import gaussopt as go
from gaussopt.cli.main import app, run
from gaussopt.collected_problems.build import build
from gaussopt.collected_problems.leaderboard import leaderboard
from gaussopt.comparison.sequence_files import export_sequence
from gaussopt.papers.reproduce import reproduce
from gaussopt.reporting.write import benchmarks, write_report
from gaussopt.solving.verification import verify_answer

PYTHON: dict[str, tuple[Callable[..., Any], ...]] = {
    "run": (go.simulate,), "solve": (go.solve_step,), "verify": (verify_answer,), "papers": (reproduce,),
    "animate": (go.simulate, go.animate), "atlas": (go.scan, go.threshold), "compare": (go.compare,),
    "report": (write_report,), "merge": (go.merge_results,),
    "export": (export_sequence,), "list": (), "show": (), "plot": (), "batch": (go.simulate_batch,),
    "benchmarks": (benchmarks,), "recommend": (go.recommend,), "falsify": (go.falsify,),
    "collection": (build, leaderboard, go.compare),
}  # fmt: skip
"""What each command calls; lists, descriptions and figures have no settings in Python."""

REPEATED = {
    "solver_option": "solver_options", "formulation": "formulations", "solver": "solvers", "axis": "axes",
    "family": "sources", "group": "groups", "sequence": "sources", "contact": "sources",
}  # fmt: skip
"""Options that are given once for each entry of a list."""

OTHERWISE = {
    "json": "how a command prints", "set": "settings of go.problem", "from": "start; Python keeps from for itself",
    "save": "motion.save", "rows": "rows of go.read_problem",
    "parquet": "results.to_parquet", "dial": "a source of go.compare",
    "qp": "a source of go.compare", "lcp": "a source of go.compare",
    "dask": "executor, of which it is one", "no_motions": "motions=False",
    "no_error_estimate": "error_estimate=False", "step_file": "step_folder", "no_step_file": "step_folder=None",
    "export_counterexamples": "methods of the atlas", "against": "a second comparison, read beside the first",
    "boundary": "the formulations of go.threshold", "hashes": "a file of what build returns",
    "with": "beside; Python keeps with for itself",
}  # fmt: skip
"""What is no keyword, and why."""


def test_options_are_keywords() -> None:
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        known = {key for function in PYTHON[name] for key in inspect.signature(function).parameters}
        for parameter in command.params:
            for option in (*parameter.opts, *parameter.secondary_opts):
                key = option.removeprefix("--").replace("-", "_")
                if parameter.param_type_name != "option" or key in OTHERWISE or not PYTHON[name]:
                    continue
                if key == "out" and name in ("report", "atlas", "falsify"):
                    continue  # folders of reports, which Python writes apart
                if (name, key) in {("batch", "axis"), ("export", "family")}:
                    continue  # a grid, which is one of `parameters`; a name
                assert key in known or REPEATED.get(key) in known, f"gaussopt {name} {option}"


def test_public_names_only() -> None:
    assert dir(go) == sorted(go.__all__)
    assert all(hasattr(go, name) for name in go.__all__)


def test_help_has_no_words_that_are_taken_for_markup() -> None:
    for command in typer.main.get_command(app).commands.values():  # type: ignore[attr-defined]
        for text in (command.help, *(getattr(p, "help", None) for p in command.params)):
            assert Text.from_markup(text or "").plain == (text or "").replace("\\[", "[")


def test_a_name_that_may_be_that_of_a_file_is_answered_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "qpz", "--out", "unused"]) == 2
    assert "Unknown problem 'qpz', and no file or folder has that name" in capsys.readouterr().err
    assert run(["compare", "four-bar", "--solvers", "my-solver", "--out", "unused"]) == 2
    assert "compare also takes my_solver.py beside the problems" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_name_that_no_file_can_have_is_unknown(name: str) -> None:
    with pytest.raises(go.UnknownName, match="Unknown problem"):
        go.problem(name)
    with pytest.raises(go.UnknownName):
        go.compare(name)
