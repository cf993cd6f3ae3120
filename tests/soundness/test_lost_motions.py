"""Whatever ends a motion in the middle, what was computed until then is kept, saved and certified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from soundness.systems import CONTACTS, SMOOTH, Function, leave, system_of

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.core import registry
from gaussopt.core.programs import QP, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status
from gaussopt.solvers.kkt import KKT

BREAK = 0.055
"""Instant at which something goes wrong, s; a step ends at 0.05 and the next one does not."""

SETTINGS: dict[str, Any] = {"q0": [0.0, 1.0], "v0": [0.0, 1.0], "t_end": 0.1, "dt": 0.01, "step_folder": None}


def broken(parts: dict[str, Function], name: str, instead: Function) -> go.System:
    """A system one of whose functions is another one after BREAK."""
    usual = parts[name]
    return system_of(parts | {name: lambda t, *state: (instead if t > BREAK else usual)(t, *state)})


def check_kept(motion: go.Trajectory, path: Path | None, end: float = 0.05) -> None:
    """The motion until the break is there, right, certified, and comes back from a file where there is a folder."""
    assert motion.t[-1] == pytest.approx(end, abs=1e-12)
    assert motion.message
    assert "\n" not in motion.message
    np.testing.assert_allclose(motion.q[:, 1], 1.0 + motion.t - 4.905 * motion.t**2, atol=0.06)
    assert len(motion.a) == len(motion.lam) == len(motion.t) == len(motion.error_bound)
    assert np.isfinite(motion.error_bound).all()
    if path is None:
        return
    again = go.Trajectory.load(motion.save(path / "motion.nc"))
    np.testing.assert_array_equal(again.q, motion.q)
    assert (again.status, again.message) == (motion.status, motion.message)


def two_rows(t: float, *state: Any) -> Any:
    return np.eye(2), np.zeros(2)


def no_rows(t: float, *state: Any) -> Any:
    return np.zeros((0, 2)), np.zeros(0)


@pytest.mark.parametrize("rows", [two_rows, no_rows])
@pytest.mark.parametrize("stabilisation", ["none", "baumgarte", "projection"])
@pytest.mark.parametrize("stepper", ["rk4", "semi-implicit", "dop853", "radau", "rattle", "velocity-gauss"])
def test_equality_rows_that_come_or_go_end_a_motion_and_lose_none(
    stepper: str, stabilisation: str, rows: Function, tmp_path: Path
) -> None:
    try:
        motion = go.simulate(broken(SMOOTH, "equality", rows), stepper=stepper, stabilisation=stabilisation, **SETTINGS)
    except go.NotAccepted:
        pytest.skip("the stepper does not take the stabilisation")
    assert motion.status is Status.BAD_INPUT
    assert "equality of 'mine' returned" in motion.message
    assert "rows, and 1 before" in motion.message
    end = 0.05
    if stepper in ("dop853", "radau"):  # of their own steps the last one that does not pass the break
        end = motion.t[-1]
        assert 0.0 < end <= BREAK
    check_kept(motion, tmp_path if stabilisation == "projection" else None, end)


def test_rows_that_change_are_told_where_an_adaptive_method_takes_its_own_steps(tmp_path: Path) -> None:
    motion = go.simulate(broken(SMOOTH, "equality", two_rows), stepper="rk45", **SETTINGS | {"dt": None})
    assert motion.status is Status.BAD_INPUT
    assert motion.t[-1] <= BREAK
    check_kept(motion, tmp_path, motion.t[-1])


@pytest.mark.parametrize("stabilisation", ["none", "projection"])
def test_sparse_rows_that_come_end_a_motion_and_lose_none(stabilisation: str, tmp_path: Path) -> None:
    def equality(t: float, q: Any, v: Any) -> Any:
        m = 2 if t > BREAK else 1
        return sparse.csr_array(np.eye(2)[:m]), np.zeros(m)

    system = go.System(sparse.csr_array(np.eye(2)), [0.0, -9.81], equality, name="mine")
    motion = go.simulate(system, stabilisation=stabilisation, **SETTINGS)
    assert motion.status is Status.BAD_INPUT
    assert "has 2 equality rows" in motion.message
    check_kept(motion, tmp_path)


def test_a_system_may_have_other_rows_in_another_motion() -> None:
    """What is remembered belongs to one motion, and evaluation alone remembers nothing."""
    rows = [1]
    system = system_of(SMOOTH | {"equality": lambda t, q, v: (np.eye(2)[: rows[0]], np.zeros(rows[0]))})
    bare = system_of({k: f for k, f in SMOOTH.items() if k not in ("position", "velocity", "equality")}
                             | {"equality": lambda t, q, v: (np.eye(2)[: rows[0]], np.zeros(rows[0]))})  # fmt: skip
    for rows[0] in (1, 2, 1):
        assert system.evaluate(0.0, np.zeros(2), np.zeros(2)).m == rows[0]
        settings = SETTINGS | {"v0": [0.0, 0.0]}
        assert go.simulate(bare, **settings).lam.shape[1] == rows[0]


@pytest.mark.parametrize("stepper", ["rk4", "dop853", "moreau-jean"])
@pytest.mark.parametrize(
    "contacts",
    [
        lambda t, q, v: {"g_N": [5.0, 6.0], "J_N": np.eye(2), "zeta_N": [0.0, 0.0]},
        lambda t, q, v: {"g_N": [], "J_N": np.zeros((0, 2)), "zeta_N": []},
        lambda t, q, v: CONTACTS["contacts"](t, q, v) | {"J_T": np.ones((1, 2, 2)), "zeta_T": np.zeros((1, 2))},
    ],
    ids=["one more", "none", "another direction"],
)
def test_contacts_that_come_or_go_end_a_motion_and_lose_none(contacts: Function, stepper: str, tmp_path: Path) -> None:
    motion = go.simulate(broken(SMOOTH | CONTACTS, "contacts", contacts), stepper=stepper, **SETTINGS)
    assert motion.status is Status.BAD_INPUT
    assert "never changes" in motion.message
    check_kept(motion, tmp_path)


def test_rows_that_change_beside_contacts(tmp_path: Path) -> None:
    motion = go.simulate(broken(SMOOTH | CONTACTS, "equality", two_rows), **SETTINGS)
    assert motion.status is Status.BAD_INPUT
    check_kept(motion, tmp_path)


def fail(*_: Any) -> Any:
    raise ZeroDivisionError("division\nby zero")


def write(t: float, *state: Any) -> Any:
    state[0][...] = 9.0


WRONG: dict[str, Function] = {
    "raises": fail, "leaves": leave, "writes": write, "None": lambda *_: None, "a text": lambda *_: "hello",
    "not finite": lambda *_: np.full(2, np.nan), "complex": lambda *_: np.ones(2) * 1j,
    "too many": lambda *_: np.zeros(7), "ragged": lambda *_: [[1.0], [1.0, 2.0]],
    "a generator": lambda *_: (x for x in (1.0, 2.0)),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", [*SMOOTH, "contacts"])
def test_a_function_that_fails_in_the_middle_ends_a_motion_and_loses_none(
    name: str, wrong: str, tmp_path: Path
) -> None:
    if (name, wrong) in (("position", "too many"), ("velocity", "too many")):
        pytest.skip("only their largest entry is recorded")
    parts = SMOOTH | (CONTACTS if name == "contacts" else {})
    motion = go.simulate(broken(parts, name, WRONG[wrong]), **SETTINGS)
    assert motion.status is Status.BAD_INPUT
    assert f"{name}" in motion.message
    assert "'mine'" in motion.message
    check_kept(motion, tmp_path if wrong == "raises" or name == "force" else None)


@pytest.mark.parametrize("wrong", ["raises", "leaves", "None", "a text", "not finite", "complex"])
def test_an_event_that_fails_in_the_middle_ends_a_motion_and_loses_none(wrong: str, tmp_path: Path) -> None:
    event = go.Event("mine", lambda t, q, v: WRONG[wrong]() if t > BREAK else 1.0)
    motion = go.simulate(system_of(SMOOTH | CONTACTS), events=[event], **SETTINGS)
    assert motion.status is Status.BAD_INPUT
    assert "Event 'mine'" in motion.message
    check_kept(motion, tmp_path)


def test_a_machine_that_gives_out_in_a_function(tmp_path: Path) -> None:
    def starve(*_: Any) -> Any:
        raise MemoryError

    motion = go.simulate(broken(SMOOTH, "force", starve), **SETTINGS)
    assert motion.status is Status.CRASHED
    assert "memory" in motion.message
    check_kept(motion, tmp_path)


class Breaking(Solver[Options]):
    """Right for some programs, then something else."""

    name = "breaking"
    title = "Breaks"
    source = "a test"
    accepts = (QP,)
    lie: Function
    count = 0

    def setup(self, program: Program) -> None:
        """As `kkt`."""
        self.program = program

    def solve(self, start: Any) -> Any:
        """Right at the first 24 stages."""
        type(self).count += 1
        kkt = KKT(None, Options())
        kkt.setup(self.program)
        raw = kkt.solve(None)
        return raw if type(self).count <= 24 else type(self).lie(raw)


LIES: dict[str, tuple[Function, Status]] = {
    "leaves": (leave, Status.CRASHED),
    "raises": (fail, Status.CRASHED),
    "returns None": (lambda raw: None, Status.SOLVER_ERROR),
    "another shape": (lambda raw: RawSolution(raw.x[:1], raw.y, raw.claim), Status.SOLVER_ERROR),
    "nothing finite": (lambda raw: RawSolution(raw.x * np.nan, raw.y, raw.claim), Status.SOLVER_ERROR),
    "a wrong answer": (lambda raw: RawSolution(raw.x + 1.0, raw.y, raw.claim), Status.INACCURATE),
    "a wrong count": (lambda raw: RawSolution(raw.x, raw.y, raw.claim, "many"), Status.SOLVER_ERROR),
}


@pytest.mark.parametrize(("lie", "status"), LIES.values(), ids=LIES)
def test_a_solver_that_fails_in_the_middle_ends_a_motion_and_loses_none(
    lie: Function, status: Status, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kind = type("BreakingNow", (Breaking,), {"lie": staticmethod(lie), "count": 0})
    monkeypatch.setitem(registry._registered["solver"], "breaking", kind)
    parts = {name: function for name, function in SMOOTH.items() if name != "energy"}
    motion = go.simulate(system_of(parts), "gauss", "breaking", **SETTINGS)
    assert motion.status is status
    assert motion.failed_step is not None
    check_kept(motion, tmp_path, motion.t[-1])
    assert len(motion.t) > 3


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("no convergence"), RecursionError("deep"), IndexError()])
def test_what_nobody_expects_loses_no_motion_either(
    error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A defect of the package, too: it is told, and what was computed before it is kept."""
    from gaussopt.solving import step_solver as solving

    usual = solving.certify_step

    def certify(step: go.StepData, *rest: Any, **more: Any) -> Any:
        if step.t > BREAK:
            raise error
        return usual(step, *rest, **more)

    monkeypatch.setattr(solving, "certify_step", certify)
    motion = go.simulate(system_of(SMOOTH), **SETTINGS)
    assert motion.status is Status.CRASHED
    assert type(error).__name__ in motion.message
    assert "GAUSSOPT_DEBUG" in motion.message
    check_kept(motion, tmp_path)
    monkeypatch.setenv("GAUSSOPT_DEBUG", "1")
    with pytest.raises(type(error)):
        go.simulate(system_of(SMOOTH), **SETTINGS)


def test_a_progress_that_raises_keeps_the_motion(tmp_path: Path) -> None:
    def progress(fraction: float) -> None:
        if fraction > 0.45:
            raise ValueError("enough")

    motion = go.simulate(system_of(SMOOTH), progress=progress, error_estimate=False, **SETTINGS)
    assert motion.status is Status.CRASHED
    assert "ValueError: enough" in motion.message
    check_kept(motion, tmp_path)


def test_a_failure_at_the_start_is_an_error_as_ever() -> None:
    with pytest.raises(go.BadInput, match="force of 'mine' raised ZeroDivisionError"):
        go.simulate(system_of(SMOOTH | {"force": fail}), **SETTINGS)


FILE = """
import gaussopt as go
import numpy as np
def equality(t, q, v):
    m = 2 if t > 0.055 else 1
    return np.eye(2)[:m], np.zeros(m)
problem = go.Problem.of(go.System(np.eye(2), [0.0, -9.81], equality), q0=[0.0, 1.0], v0=[0.0, 1.0], t_end=0.1, dt=0.01)
"""


def test_what_is_computed_is_saved_by_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(FILE, encoding="utf-8")
    code = run(["run", "mine.py", "--save", "motion.nc", "--json"])
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (code, found["status"]) == (2, "bad_input")
    assert "returned 2 rows, and 1 before" in found["message"]
    assert found["t"] == pytest.approx(0.05)
    assert "Traceback" not in shown.err
    motion = go.Trajectory.load("motion.nc")
    assert len(motion.t) == 6
    assert motion.status is Status.BAD_INPUT
