"""What the tests share: a cache of their own, data files, a pendulum, and the checks of errors and optima."""

from __future__ import annotations

import gc
import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

# The workers of a run share the cores: threads of their own would only be in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from browsers import FLAGS, PATIENCE, chromium
from hypothesis import HealthCheck, settings
from made_once import once
from registrations import forget_after
from samples import EXAMPLES

import gaussopt as go
from gaussopt.comparison.results import Results
from gaussopt.execution.workers import run_jobs
from gaussopt.processes.child_process import Order
from gaussopt.processes.job import JobOutcome
from gaussopt.processes.workers import Workers

# Tests judge answers and never time: an example drawn slowly on a busy machine is no failure.
settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("few", settings.get_profile("repeatable"), max_examples=EXAMPLES)

G = 9.81


def pytest_configure(config: pytest.Config) -> None:
    """By default few examples of a property are drawn."""
    settings.load_profile("repeatable" if config.option.markexpr == "campaigns" else "few")


def pytest_collectstart() -> None:
    """What is imported and collected lives as long as the run, and is not looked through for garbage."""
    gc.disable()


CORE = (
    "core", "linalg", "lcp", "certificates", "contact", "cone", "relaxations", "formulations", "kinds", "solving",
    "jit",
)  # fmt: skip
"""Folders of the tests of a single step, from its data to the verdict: what `-m fast` runs."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of the core, as tests of documents those of the papers' report, and properties as campaigns."""
    for item in items:
        if config.option.markexpr == "campaigns" and getattr(item.obj, "is_hypothesis_test", False):
            item.add_marker("campaigns")
        if "papers_report" in getattr(item, "fixturenames", ()) or "[papers_report" in item.name:
            item.add_marker("documents")
        if item.path.relative_to(Path(__file__).parent).parts[0] in CORE:
            item.add_marker("fast")


def pytest_collection_finish() -> None:
    """From here on what the tests make is looked through."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Generated modules of the tests stay out of the user's cache, and theirs out of the tests.

    The workers of one run share theirs, so that each system is derived once: files are written aside and renamed.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GAUSSOPT_CACHE", str(shared / "cache"))
        patch.delenv("GAUSSOPT_PLUGINS", raising=False)
        yield


@pytest.fixture(scope="session")
def guarded() -> Iterator[ModuleType]:
    """Cases for guards; every process that a test starts finds this module under its name."""
    helpers = str(Path(__file__).parent / "helpers")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(helpers)
        patch.setenv("PYTHONPATH", os.pathsep.join([helpers, str(Path(go.__file__).parents[1])]))
        yield importlib.import_module("guarded")


def _kept(file: Path, *arguments: Any, **options: Any) -> dict[str, JobOutcome]:
    """The outcomes of run_jobs, which are kept in a file as well."""
    outcomes = run_jobs(*arguments, **options)
    file.write_bytes(pickle.dumps(outcomes))
    return outcomes


@pytest.fixture(scope="session")
def papers_report(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> Path:
    """The folder of a quick report on the papers, for tests of documents."""
    from gaussopt.cli.main import run
    from gaussopt.papers import reproduce

    def make(out: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reproduce, "run_jobs", partial(_kept, out.with_name("papers_outcomes.pickle")))
            assert run(["papers", "--quick", "--jobs", "2", "--out", str(out)]) == 0

    return once(tmp_path_factory, "papers_report", make)


@pytest.fixture(scope="session")
def papers_outcomes(papers_report: Path) -> dict[str, JobOutcome]:
    """What the cases of `papers_report` gave, by their keys."""
    found: dict[str, JobOutcome] = pickle.loads(papers_report.with_name("papers_outcomes.pickle").read_bytes())
    return found


@pytest.fixture(scope="session")
def claims_outcomes(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> dict[str, JobOutcome]:
    """The claims of the papers, checked quickly in processes of their own, by the keys of their cases."""
    from gaussopt.papers import ledger

    made = once(tmp_path_factory, "claims.pickle", lambda file: _kept(file, ledger.cases(True), 2))
    found: dict[str, JobOutcome] = pickle.loads(made.read_bytes())
    return found


class Kept(Workers):
    """One process, and another for cases with plug-ins: neither is started anew because of the other.

    They outlive a `with` block; `shutdown` ends them.
    """

    def __init__(self) -> None:
        super().__init__(1)
        self._with_plugins = Workers(1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with_plugins = any(isinstance(order, Order) and order.plugins for order in args)
        return (self._with_plugins if with_plugins else super()).submit(fn, *args, **kwargs)

    def __exit__(self, *error: object) -> None:
        pass

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._with_plugins.shutdown(wait, cancel_futures=cancel_futures)
        super().shutdown(wait, cancel_futures=cancel_futures)


@pytest.fixture(scope="session")
def workers(own_cache: None) -> Iterator[Workers]:
    """Processes for the cases of many tests, so that their imports are paid for once."""
    found = Kept()
    yield found
    found.shutdown()


@pytest.fixture(scope="session")
def take_running(workers: Workers) -> Callable[[pytest.MonkeyPatch], None]:
    """Let whoever starts processes for one comparison take `workers`, whose imports are paid for."""

    def patched(patch: pytest.MonkeyPatch) -> None:
        for module in ("compare", "published", "recommend"):
            patch.setattr(f"gaussopt.comparison.{module}.Workers", lambda jobs: workers)

    return patched


@pytest.fixture
def running(take_running: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A test whose comparisons start no processes; that they start and end some is proved by tests without this."""
    take_running(monkeypatch)


@pytest.fixture(scope="session")
def compare(workers: Workers) -> Callable[..., Results]:
    """go.compare in the process of `workers`."""
    return partial(go.compare, executor=workers)


@pytest.fixture
def drawn() -> None:
    """For a test whose reports are drawn though those of its file are not."""


@pytest.fixture
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of reports are made and not drawn: tests of plotting, reporting and the atlas prove their drawings."""
    if "drawn" in request.fixturenames:
        return
    empty = '<svg xmlns="http://www.w3.org/2000/svg" width="1pt" height="1pt" viewBox="0 0 1 1"></svg>'
    for module in ("reporting.figures.plots", "reporting.sections.atlas"):
        monkeypatch.setattr(f"gaussopt.{module}.svg_of", lambda figure: empty)
    monkeypatch.setattr("gaussopt.reporting.figures.plots.legend_above", lambda *given: None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, or a system's like it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as p:
        path = chromium(p.chromium.executable_path)
        if not path:
            reason = "No browser: install chromium, or point GAUSSOPT_BROWSER to one."
            pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
        found = p.chromium.launch(executable_path=path, args=list(FLAGS), timeout=PATIENCE)
        yield found
        found.close()


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    forget_after(monkeypatch)


@pytest.fixture(scope="session")
def data() -> Callable[[str], Any]:
    """Reads a JSON file of tests/data."""
    folder = Path(__file__).parent / "data"
    return lambda name: json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def crank() -> go.Problem:
    """The crank-slider with the printed torque."""
    return go.problem("crank-slider")


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., str]:
    """Runs code in a fresh interpreter, in a folder of its own, and returns what it prints."""
    root = str(Path(go.__file__).parents[1])

    def run(code: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": root, **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def pendulum() -> go.System:
    """A point mass of 1 kg on a massless rod of 1 m, in Cartesian coordinates, as a person would write it."""
    return go.System(
        mass=np.eye(2),
        force=lambda t, q, v: [0.0, -G],
        equality=lambda t, q, v: ([[q[0], q[1]]], [-(v[0] ** 2) - v[1] ** 2]),
        position=lambda t, q: [0.5 * (q[0] ** 2 + q[1] ** 2 - 1.0)],
        energy=lambda t, q, v: (0.5 * (v[0] ** 2 + v[1] ** 2), G * q[1]),
        coordinates=("x", "y"),
        name="pendulum",
    )


@pytest.fixture(scope="session")
def assert_sentence() -> Callable[..., None]:
    """The message is one clear sentence that names the culprits."""

    def check(error: BaseException, *culprits: str) -> None:
        assert isinstance(error, go.GaussoptError)
        text = str(error)
        assert "\n" not in text
        assert text.endswith((".", "?"))
        for culprit in culprits:
            assert culprit in text

    return check


@pytest.fixture(scope="session")
def assert_optimal() -> Callable[..., None]:
    """The optimality conditions of a QP in our sign convention, each relative to the size of its terms."""

    def check(qp: go.QP, x: np.ndarray, y: np.ndarray, tolerance: float) -> None:
        z, gradient, force = qp.A @ x, qp.P @ x + qp.q, qp.A.T @ y
        size_of_forces = 1.0 + max(np.abs(part).max(initial=0.0) for part in (qp.P @ x, qp.q, force))
        size_of_rows = 1.0 + np.abs(z)
        assert np.abs(gradient - force).max() <= tolerance * size_of_forces
        assert (qp.l - z <= tolerance * size_of_rows).all()
        assert (z - qp.u <= tolerance * size_of_rows).all()
        # A force acts only where a row rests on the bound that the force's sign names.
        named = np.where(y > 0, qp.l, qp.u)
        absent = ~np.isfinite(named)
        assert (np.abs(y[absent]) <= tolerance * size_of_forces).all()
        slack = np.abs(z - named)[~absent]
        assert (np.abs(y[~absent]) * slack <= tolerance * size_of_forces * size_of_rows[~absent]).all()

    return check


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As on a terminal: whatever runs the tests in the background may have SIGINT ignored, children included."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
