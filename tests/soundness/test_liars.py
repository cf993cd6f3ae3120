"""Solvers, formulations and functions that lie about their answers, or write where they should only read.

Every liar is asked for a step, for a program and for a motion. Whatever it does, what is called solved is right, what
is not is a status with a sentence, and nobody else's numbers change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from soundness.systems import CONTACTS, SMOOTH, leave, system_of

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.programs import LCP, QP, LeastSquares, LinearSystem, Program
from gaussopt.core.solution import RawSolution, Solution
from gaussopt.core.solver import Options, Solver, make_solver, missing_packages
from gaussopt.core.status import Status
from gaussopt.formulations.base import Candidate, Formulation
from gaussopt.formulations.gauss import contact_qp
from gaussopt.solving.foreign_formulation import find
from gaussopt.solving.solver_sequence import SolverSequence
from gaussopt.solving.step_solver import StepSolver

RIGHT, ERROR, CRASHED, WRONG = Status.SOLVED, Status.SOLVER_ERROR, Status.CRASHED, Status.INACCURATE


def pendulum() -> go.System:
    """A point mass on a rod of 1 m by plain functions."""
    return go.System(
        np.diag([2.0, 2.0]), [0.0, -19.62], lambda t, q, v: (q[None, :].copy(), np.array([-float(v @ v)])),
        position=lambda t, q: [0.5 * (q @ q - 1.0)], name="pendulum",
    )  # fmt: skip


def step_at(angle: float = 0.3) -> go.StepData:
    q = np.array([np.sin(angle), -np.cos(angle)])
    return pendulum().evaluate(0.0, q, np.array([0.4 * np.cos(angle), 0.4 * np.sin(angle)]))


def truth(qp: QP) -> tuple[Any, Any]:
    """The optimum of a QP of equalities."""
    K = np.block([[qp.P, qp.A.T], [qp.A, np.zeros((qp.m, qp.m))]])
    z = np.linalg.lstsq(K, np.concatenate((-qp.q, qp.l)), rcond=None)[0]
    return z[: qp.n].copy(), -z[qp.n :].copy()


class Liar(Solver[Options]):
    """Solves a QP of equalities and then does what it is told; x and y are right until then."""

    name = "liar"
    title = "Lies"
    source = "a test"
    accepts = (QP,)
    updates = True
    warm_starts = True

    def __init__(self, lie: Callable[[Liar, Any, Any], Any], early: Callable[[Liar], None] | None = None) -> None:
        super().__init__(None, Options())
        self.lie, self.early, self.start = lie, early, None
        self.buffer, self.kept = np.zeros(0), []  # type: ignore[var-annotated]

    def setup(self, program: Program) -> None:
        """Keep the program, as adapters do."""
        assert isinstance(program, QP)
        self.qp = program
        if self.early is not None:
            self.early(self)

    def solve(self, start: Any) -> Any:
        """The truth, told by `lie`."""
        self.start = start
        return self.lie(self, *truth(self.qp))


class Disguised(np.ndarray[Any, Any]):
    """An array whose comparisons and products say what pleases."""

    def __eq__(self, other: object) -> Any:
        return np.ones(self.shape, dtype=bool)

    def __matmul__(self, other: Any) -> Any:
        return np.zeros(self.shape)

    def dot(self, *_: Any) -> Any:
        return 0.0


class Fickle(RawSolution):
    """An answer that is another one each time it is looked at."""

    __slots__ = ()
    looks = 0

    @property
    def x(self) -> Any:
        type(self).looks += 1
        return np.full(2, float(type(self).looks))


class Loud(RawSolution):
    """An answer that cannot be read."""

    __slots__ = ()

    @property
    def claim(self) -> Any:
        raise SystemExit(3)


class Own(BaseException):
    """Derived from BaseException alone."""


class Pressed(KeyboardInterrupt):
    """Looks like Ctrl-C and is none."""


def told(x: Any = None, y: Any = None, claim: Any = Status.SOLVED, **more: Any) -> Callable[..., Any]:
    """A lie in one of the entries; x and y are functions of the right ones."""
    return lambda s, a, lam: RawSolution(a if x is None else x(a), lam if y is None else y(lam), claim, **more)


def overwriting(name: str, change: Callable[[Any], Any], by_flags: bool = False) -> Callable[..., Any]:
    """A solver that writes into an array of the program before it solves the changed one."""

    def lie(s: Liar, a: Any, lam: Any) -> RawSolution:
        array = getattr(s.qp, name)
        if by_flags:
            array.setflags(write=True)
        array[...] = change(array.copy())
        return RawSolution(*truth(s.qp), Status.SOLVED)

    return lie


def same_buffer(s: Liar, a: Any, lam: Any) -> RawSolution:
    if s.buffer.shape != a.shape:
        s.buffer = np.zeros(a.shape)
    s.buffer[...] = a
    return RawSolution(s.buffer, lam, Status.SOLVED)


def changed_later(s: Liar, a: Any, lam: Any) -> RawSolution:
    for array in s.kept:
        array[...] = 7.0
    s.kept = [a, lam]
    return RawSolution(a, lam, Status.SOLVED)


def into_the_start(s: Liar, a: Any, lam: Any) -> RawSolution:
    for array in s.start or ():
        array.setflags(write=True)
        array[...] = 1e9
    return RawSolution(a, lam, Status.SOLVED)


def program_memory(s: Liar, a: Any, lam: Any) -> RawSolution:
    s.qp.q[...] = a
    return RawSolution(s.qp.q, lam, Status.SOLVED)


def replaced(s: Liar, a: Any, lam: Any) -> RawSolution:
    for name in ("P", "l"):
        object.__setattr__(s.qp, name, 2.0 * getattr(s.qp, name))
    return RawSolution(*truth(s.qp), Status.SOLVED)


def options_of_its_own(s: Liar, a: Any, lam: Any) -> RawSolution:
    s.options = {"tolerance": 1e9}  # type: ignore[assignment]
    s.updates = "yes"  # type: ignore[misc,assignment]
    return RawSolution(a, lam, Status.SOLVED)


def raising(error: BaseException) -> Callable[..., Any]:
    def lie(s: Liar, a: Any, lam: Any) -> Any:
        raise error

    return lie


def write_early(s: Liar) -> None:
    s.qp.P[...] = 3.0 * s.qp.P


def view_of_two(a: Any) -> Any:
    return np.repeat(a, 2)[::2]


LIES: dict[str, tuple[Callable[..., Any], Status]] = {
    # what it writes into: the answer is judged by the numbers that were asked
    "overwrites A": (overwriting("A", lambda A: 1.5 * A[:, ::-1]), WRONG),
    "overwrites l": (overwriting("l", lambda l: l + 1.0), WRONG),
    "overwrites P": (overwriting("P", lambda P: P + np.diag([1.0, 0.0])), WRONG),
    "overwrites q": (overwriting("q", lambda q: q + 1.0), WRONG),
    "overwrites l by its flags": (overwriting("l", lambda l: l + 1.0, by_flags=True), WRONG),
    "overwrites P by its flags": (overwriting("P", lambda P: P + np.diag([1.0, 0.0]), by_flags=True), WRONG),
    "replaces P and l": (replaced, WRONG),
    "answers in the memory of the program": (program_memory, RIGHT),
    "writes into the start": (into_the_start, RIGHT),
    # what it keeps
    "returns the same buffer each time": (same_buffer, RIGHT),
    "changes its answer later": (changed_later, RIGHT),
    "changes its own options": (options_of_its_own, RIGHT),
    # a wrong claim, number or word
    "claims a text": (told(claim="solved"), ERROR),
    "claims None": (told(claim=None), ERROR),
    "claims True": (told(claim=True), ERROR),
    "claims a class": (told(claim=Status), ERROR),
    "counts many": (told(iterations="many"), ERROR),
    "counts None": (told(iterations=None), ERROR),
    "counts a half": (told(iterations=1.5), ERROR),
    "counts true": (told(iterations=True), ERROR),
    "counts downwards": (told(iterations=-1), ERROR),
    "counts beyond all": (told(iterations=10**400), ERROR),
    "counts with NumPy": (told(iterations=np.int32(3)), RIGHT),
    "times a text": (told(backend="quick"), ERROR),
    "times None": (told(backend=None), ERROR),
    "times beyond all": (told(backend=10**400), ERROR),
    "times with NumPy": (told(backend=np.float32(0.5)), RIGHT),
    "notes a number": (told(note=5), ERROR),
    "notes a page": (told(note="a line\n" * 10_000), RIGHT),
    "a history of texts": (told(history=("a",)), ERROR),
    "a history that is none": (told(history=3.0), ERROR),
    "a history in an array": (told(history=[np.float64(1.0), 2]), RIGHT),
    "solutions of another size": (told(solutions=(np.zeros(5),)), ERROR),
    "solutions that are none": (told(solutions="all"), ERROR),
    # a wrong x
    "x of another length": (told(x=lambda a: np.append(a, 0.0)), ERROR),
    "x with two axes": (told(x=lambda a: a[:, None]), ERROR),
    "x without axes": (told(x=lambda a: np.array(1.0)), ERROR),
    "x a list": (told(x=list), ERROR),
    "x a text": (told(x=lambda a: "hello"), ERROR),
    "x complex": (told(x=lambda a: a + 0j), ERROR),
    "x of integers": (told(x=lambda a: a.astype(int)), ERROR),
    "x of objects": (told(x=lambda a: a.astype(object)), ERROR),
    "x of truth values": (told(x=lambda a: a > 0), ERROR),
    "x of texts": (told(x=lambda a: a.astype(str)), ERROR),
    "x not finite": (told(x=lambda a: a * np.nan), ERROR),
    "x infinite": (told(x=lambda a: a * np.inf), ERROR),
    "x in a disguise": (told(x=lambda a: (a + 1.0).view(Disguised)), WRONG),
    "x right in a disguise": (told(x=lambda a: a.view(Disguised)), RIGHT),
    "x a matrix": (told(x=lambda a: np.matrix(a)), ERROR),
    "x masked": (told(x=lambda a: np.ma.masked_array(a, mask=[True, False])), RIGHT),
    "x of the other byte order": (told(x=lambda a: a.astype(a.dtype.newbyteorder())), RIGHT),
    "x with negative strides": (told(x=lambda a: a[::-1].copy()[::-1]), RIGHT),
    "x with gaps": (told(x=view_of_two), RIGHT),
    "x read-only": (told(x=lambda a: np.frombuffer(a.tobytes())), RIGHT),
    "x of low precision": (told(x=lambda a: a.astype(np.float16)), WRONG),
    "x of single precision": (told(x=lambda a: a.astype(np.float32)), RIGHT),
    "x of high precision": (told(x=lambda a: a.astype(np.longdouble)), RIGHT),
    "no x": (lambda s, a, lam: RawSolution(None, lam, Status.SOLVED), ERROR),
    # a wrong y
    "y with two axes": (told(y=lambda lam: lam[:, None]), ERROR),
    "y a list": (told(y=list), ERROR),
    "y a text": (told(y=lambda lam: "hello"), ERROR),
    "y of another length": (told(y=lambda lam: np.append(lam, 0.0)), ERROR),
    "y complex": (told(y=lambda lam: lam * 1j), ERROR),
    "y not finite": (told(y=lambda lam: lam * np.nan), WRONG),
    "y false": (told(y=lambda lam: lam + 5.0), WRONG),
    # no answer at all
    "returns None": (lambda s, a, lam: None, ERROR),
    "returns a pair": (lambda s, a, lam: (a, lam), ERROR),
    "returns the class": (lambda s, a, lam: RawSolution, ERROR),
    "returns a Solution": (lambda s, a, lam: Solution(a, lam, RIGHT, RIGHT, ""), ERROR),
    "an answer without entries": (lambda s, a, lam: object.__new__(RawSolution), ERROR),
    "an answer that changes": (lambda s, a, lam: Fickle(a, lam, RIGHT), WRONG),
    "an answer that raises": (lambda s, a, lam: Loud(a, lam, RIGHT), ERROR),
    # exceptions
    "raises SystemExit": (raising(SystemExit(3)), CRASHED),
    "raises Own": (raising(Own("no\nat all")), CRASHED),
    "raises a kind of Ctrl-C": (raising(Pressed()), CRASHED),
    "raises GeneratorExit": (raising(GeneratorExit()), CRASHED),
    "raises RecursionError": (raising(RecursionError("too deep")), CRASHED),
    "raises NotAccepted": (raising(go.NotAccepted("changed its mind")), CRASHED),
}
lies = pytest.mark.parametrize(("lie", "expected"), LIES.values(), ids=LIES)


@pytest.fixture(autouse=True)
def fickle_anew() -> None:
    Fickle.looks = 0


def contents(step: go.StepData) -> list[bytes]:
    return [getattr(step, name).tobytes() for name in ("M", "h", "Q", "J", "gamma", "q", "v")]


pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")


@lies
def test_a_step_is_judged_by_its_own_numbers(lie: Callable[..., Any], expected: Status) -> None:
    """Twice by one solver, so that the second answer starts from the first."""
    driver = StepSolver("gauss", Liar(lie))
    steps = [step_at(0.3), step_at(0.9)]
    before = [contents(step) for step in steps]
    answers = [driver.solve(step) for step in steps]
    kept = [None if answer.a is None else answer.a.copy() for answer in answers]
    driver.solve(step_at(1.5))
    for step, was, answer, a in zip(steps, before, answers, kept, strict=True):
        assert contents(step) == was
        assert answer.status is expected
        assert answer.message.endswith((".", ")"))
        assert "\n" not in answer.message
        assert len(answer.message) < 1000
        right = go.solve_step(step).a
        assert right is not None
        if expected is RIGHT:
            np.testing.assert_allclose(answer.a, right, rtol=1e-6)  # type: ignore[arg-type]
        if a is not None:
            assert answer.a is not None
            np.testing.assert_array_equal(answer.a, a)  # also after the solver was asked again


@lies
def test_a_program_is_judged_by_its_own_numbers(
    lie: Callable[..., Any], expected: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a start is given, which is solved once more."""
    monkeypatch.setattr("gaussopt.solving.solver_sequence.make_solver", lambda name, options: Liar(lie))
    qp = go.formulate(step_at(), "gauss")
    assert isinstance(qp, QP)
    x, y = truth(qp)
    was = [a.tobytes() for a in (qp.P, qp.q, qp.A, qp.l, x, y)]
    for start in (None, (x, y)):
        found = go.solve(qp, "liar", start=start)
        assert not (expected is RIGHT and found.status in (ERROR, CRASHED))
        if expected in (ERROR, CRASHED):
            assert found.status is expected
        if found.status is RIGHT:
            np.testing.assert_allclose(found.x, x, rtol=1e-6)  # type: ignore[arg-type]
    assert [a.tobytes() for a in (qp.P, qp.q, qp.A, qp.l, x, y)] == was


def swing(solver: str) -> go.Trajectory:
    """A motion of four steps."""
    start: dict[str, Any] = {"q0": step_at().q, "v0": step_at().v, "t_end": 0.02, "dt": 0.005}
    return go.simulate(
        pendulum(), "gauss", solver, **start, step_folder=None, engine="interpreted", error_estimate=False
    )


@cache
def honest() -> go.Trajectory:
    """The same motion by a solver that tells the truth."""
    return swing("kkt")


@lies
def test_a_motion_by_a_liar_is_right_as_far_as_it_goes(
    lie: Callable[..., Any], expected: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes to the end where the answers are right, and otherwise ends at its start with the status of the step."""
    kind = type("Lying", (Liar,), {"__init__": lambda self, *_: Liar.__init__(self, lie)})
    monkeypatch.setitem(registry._registered["solver"], "liar", kind)
    motion, reference = swing("liar"), honest()
    assert motion.status is expected
    assert len(motion.t) == (5 if expected is RIGHT else 1)
    np.testing.assert_allclose(motion.q, reference.q[: len(motion.t)], rtol=1e-9)
    if expected is RIGHT:
        np.testing.assert_allclose(motion.a, reference.a, rtol=1e-6)
    else:  # the start alone, with no acceleration
        assert np.isnan(motion.a).all()


def test_what_is_written_at_the_set_up_is_written_into_a_copy() -> None:
    step = step_at()
    was = contents(step)
    answer = StepSolver("gauss", Liar(told(), write_early)).solve(step)
    assert contents(step) == was
    assert answer.status is WRONG


@pytest.mark.parametrize("method", ["setup", "update", "check", "refuses"])
def test_whatever_a_solver_raises_before_it_solves_is_a_status(method: str) -> None:
    driver = StepSolver("gauss", liar := Liar(told()))
    assert driver.solve(step_at(0.1)).status is RIGHT

    def fail(*_: Any) -> Any:
        raise SystemExit(3)

    if method == "setup":
        driver = StepSolver("gauss", liar)
    setattr(liar, method, fail)
    answer = driver.solve(step_at(0.2))
    assert answer.status is CRASHED
    assert "SystemExit" in answer.message


def test_ctrl_c_in_a_solver_is_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt):
        StepSolver("gauss", Liar(raising(KeyboardInterrupt()))).solve(step_at())
    with pytest.raises(go.MachineFailure, match="memory"):
        StepSolver("gauss", Liar(raising(MemoryError()))).solve(step_at())


# -- the package's own solvers write into nothing --------------------------------------------------------------


def own_programs() -> dict[str, tuple[Program, Program]]:
    """Two programs of one pattern of every kind."""
    pairs: dict[str, tuple[Program, Program]] = {}
    for name in ("gauss", "dual", "lagrange", "least-squares"):
        pairs[name] = go.formulate(step_at(0.3), name), go.formulate(step_at(0.9), name)
    rows = np.array([[1.0, 0.0], [1.0, 1.0]])
    P, low, high = np.diag([2.0, 3.0]), np.array([-1.0, 0.5]), np.array([1.0, np.inf])
    pairs["inequalities"] = QP(P, np.array([1.0, -4.0]), rows, low, high), QP(P, np.ones(2), rows, low, high)
    M = np.array([[2.0, 1.0], [1.0, 2.0]])
    pairs["lcp"] = LCP(M, np.array([-5.0, -6.0])), LCP(M, np.array([1.0, -6.0]))
    return pairs


@pytest.mark.parametrize("kind", own_programs())
@pytest.mark.parametrize("name", registry.names("solver"))
def test_a_solver_of_the_package_writes_into_nothing_that_it_is_given(name: str, kind: str) -> None:
    """Neither into programs nor into starts, also where it could; and its answers stay what they are."""
    if missing_packages(registry.load("solver", name)) or name in ("deap", "deap-cma"):
        pytest.skip("not installed, or slow: it calls the objective only")
    engine = SolverSequence(make_solver(name))
    first, second = own_programs()[kind]
    arrays = [x for p in (first, second) for x in vars(p).values() if isinstance(x, np.ndarray)]
    was = [x.tobytes() for x in arrays]
    try:
        raws = [engine.solve(first)[0]]
    except go.NotAccepted:
        pytest.skip("does not take it")
    assert raws[0].claim is not CRASHED
    kept = [None if x is None else x.tobytes() for x in (raws[0].x, raws[0].y)]
    raws += [engine.solve(second)[0], engine.solve(first)[0]]
    assert [x.tobytes() for x in arrays] == was
    assert [None if x is None else x.tobytes() for x in (raws[0].x, raws[0].y)] == kept
    assert all(raw.claim is not ERROR or "expected" not in raw.note for raw in raws)


def test_read_only_programs_are_solved_as_well() -> None:
    """A solver of somebody else may need memory that it can write to, whatever the step is made of."""
    step = step_at()
    for name in ("M", "Q", "J", "gamma"):
        getattr(step, name).setflags(write=False)
    seen = []
    answer = StepSolver(
        "gauss", Liar(lambda s, a, lam: seen.append(s.qp.P.flags.writeable) or RawSolution(a, lam, RIGHT))
    )
    assert answer.solve(step).status is RIGHT
    assert seen == [True]


# -- formulations ----------------------------------------------------------------------------------------------


class Lying(Formulation):
    """Gauss's program, with what it is told to do on the way."""

    name = "lying"
    title = "Lies"
    source = "a test"

    def __init__(self, **lies: Callable[..., Any]) -> None:
        self.lies = lies

    def refuses(self, step: go.StepData) -> str | None:
        return None

    def prepare(self, step: go.StepData) -> go.StepData:
        return self.lies["prepare"](step) if "prepare" in self.lies else step  # type: ignore[no-any-return]

    def apply(self, step: go.StepData) -> tuple[Program, Any]:
        program = contact_qp(step)
        return self.lies["apply"](step, program) if "apply" in self.lies else (program, step)  # type: ignore[no-any-return]

    def recover(self, data: Any, x: Any, y: Any) -> Any:
        return self.lies["recover"](data, x, y) if "recover" in self.lies else (x, y)

    def details(self, data: Any, x: Any) -> Any:
        return self.lies["details"](data) if "details" in self.lies else {}

    def contacts(self, step: go.StepData) -> Any:
        return self.lies["contacts"](step) if "contacts" in self.lies else super().contacts(step)


def overwrite(step: go.StepData, program: QP) -> tuple[Program, Any]:
    step.M[...] = 5.0 * step.M
    step.Q[...] = 0.0
    return contact_qp(step), step


def easier(step: go.StepData) -> go.StepData:
    return step.with_gamma(0.0 * step.gamma)


FORMULATIONS: dict[str, tuple[Formulation, str]] = {
    "apply leaves": (Lying(apply=leave), "SystemExit"),
    "recover leaves": (Lying(recover=leave), "SystemExit"),
    "contacts leaves": (Lying(contacts=leave), "SystemExit"),
    "no program": (Lying(apply=lambda s, p: (None, s)), "NoneType"),
    "no pair": (Lying(apply=lambda s, p: p), "QP"),
    "a program of lists": (Lying(apply=lambda s, p: (QP(p.P.tolist(), p.q, p.A, p.l, p.u), s)), "list"),
    "a complex program": (Lying(apply=lambda s, p: (QP(p.P * 1j, p.q, p.A, p.l, p.u), s)), "floats"),
    "a program that does not fit": (Lying(apply=lambda s, p: (QP(p.P, p.q, p.A[:, :1], p.l, p.u), s)), "fit"),
    "a system that does not fit": (Lying(apply=lambda s, p: (LinearSystem(p.P, p.q[:1]), s)), "fit"),
    "squares that do not fit": (Lying(apply=lambda s, p: (LeastSquares(p.P, p.q[:1], 2), s)), "fit"),
    "an LCP that does not fit": (Lying(apply=lambda s, p: (LCP(p.A, p.q), s)), "fit"),
    "a too long a": (Lying(recover=lambda d, x, y: (np.zeros(5), y)), "(5,)"),
    "a text": (Lying(recover=lambda d, x, y: ("a", y)), "str"),
    "no candidate": (Lying(recover=lambda d, x, y: None), "NoneType"),
    "multipliers too many": (Lying(recover=lambda d, x, y: (x, np.zeros(7))), "(7,)"),
    "friction of no contact": (Lying(recover=lambda d, x, y: Candidate(x, y, None, np.zeros((3, 1)))), "(3, 1)"),
    "contacts that are not there": (Lying(contacts=lambda step: [0, 1, 2]), "contacts"),
    "contacts in words": (Lying(contacts=lambda step: ["a"]), "contacts"),
}


@pytest.mark.parametrize(("formulation", "named"), FORMULATIONS.values(), ids=FORMULATIONS)
def test_a_formulation_that_fails_is_named(
    formulation: Formulation, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry._registered["formulation"], "lying", formulation)
    with pytest.raises(go.BadInput, match="formulation 'lying'") as caught:
        go.solve_step(step_at(), "lying")
    assert named in str(caught.value)


@pytest.mark.parametrize("lies", [{"apply": overwrite}, {"prepare": easier}, {"recover": lambda d, x, y: (0 * x, y)}])
def test_a_formulation_cannot_change_what_is_certified(lies: Any) -> None:
    step = step_at()
    was = contents(step)
    answer = StepSolver(Lying(**lies)).solve(step)
    assert contents(step) == was
    assert (answer.status is RIGHT) == ("prepare" in lies)  # at the level of accelerations nothing is prepared
    if "prepare" in lies:
        np.testing.assert_allclose(answer.a, go.solve_step(step).a, rtol=1e-12)  # type: ignore[arg-type]


def test_only_formulations_from_outside_are_guarded() -> None:
    assert find("gauss") is registry.load("formulation", "gauss")
    lying = Lying()
    assert find(lying) is not lying
    assert find(find(lying)).name == "lying"
    assert find(lying).details((step_at(), None), None) == {}
    assert find(Lying(details=lambda d: 5)).details((None, None), None) == {}


# -- functions of the state ------------------------------------------------------------------------------------


def writing(*places: int) -> Callable[..., Any]:
    """A function that writes into the numbers that it is given."""

    def write(*state: Any) -> None:
        for place in places:
            state[place].setflags(write=True)
            state[place][...] = 1.25 * state[place] + 1.0

    return write


FUNCTIONS = SMOOTH | CONTACTS
START: dict[str, Any] = {"q0": [0.0, 1.0], "v0": [0.0, 1.0], "t_end": 0.01, "dt": 0.001, "step_folder": None}


def falling(**others: Any) -> go.System:
    return system_of(FUNCTIONS | others)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_writes_into_the_state_is_named(name: str) -> None:
    write = writing(1) if name == "position" else writing(1, 2)

    def function(*state: Any) -> Any:
        found = FUNCTIONS[name](*state)
        write(*state)
        return found

    q, v = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    system = falling(**{name: function})
    with pytest.raises(go.BadInput, match=f"{name} of 'mine' writes into the q or v"):
        go.simulate(system, **{**START, "q0": q, "v0": v})
    asked = {"position": system.position_residual, "velocity": system.velocity_residual, "energy": system.energy}
    with pytest.raises(go.BadInput, match=f"{name} of 'mine' writes"):
        asked.get(name, system.evaluate)(*(0.0, q, v)[: 2 if name == "position" else 3])
    assert (q.tolist(), v.tolist()) == ([0.0, 1.0], [0.0, 1.0])


def test_what_is_changed_and_put_back_is_no_harm() -> None:
    """As a difference quotient does; the copies belong to the function."""

    def force(t: float, q: Any, v: Any) -> Any:
        q[1] += 0.5
        potential = 9.81 * q[1]
        q[1] -= 0.5
        return [0.0, -potential / (q[1] + 0.5)]

    motion = go.simulate(falling(force=force), **START)
    assert motion.status is RIGHT
    assert motion.q[-1, 1] == pytest.approx(1.0 + 0.01 - 0.5 * 9.81 * 1e-4, abs=1e-9)


def test_a_function_that_keeps_the_state_changes_nothing_later() -> None:
    kept: list[Any] = []

    def force(t: float, q: Any, v: Any) -> Any:
        for array in kept:
            array[...] = 1e6
        kept[:] = [q, v]
        return [0.0, -9.81]

    motion = go.simulate(falling(force=force), **START)
    assert motion.status is RIGHT
    np.testing.assert_allclose(motion.q, go.simulate(falling(), **START).q, rtol=1e-13)


def test_an_event_cannot_change_the_state() -> None:
    def value(t: float, q: Any, v: Any) -> float:
        v[...] = 0.0
        return 1.0

    with pytest.raises(go.BadInput, match="Event 'stop' writes into the q or v"):
        go.simulate(falling(), events=[go.Event("stop", value)], **START)


def test_a_system_of_its_own_class_cannot_change_the_state() -> None:
    class Mine(go.System):
        def evaluate(self, t: float, q: Any, v: Any) -> go.StepData:
            step = super().evaluate(t, q, v)
            if t > 0.004:
                q[...] = 5.0
            return step

    motion = go.simulate(Mine(np.eye(2), [0.0, -9.81], name="mine"), **START)
    assert motion.status is Status.BAD_INPUT
    assert "'mine' writes into the q or v" in motion.message
    assert motion.t[-1] == 0.004
    np.testing.assert_allclose(motion.q[:, 1], 1.0 + motion.t - 4.905 * motion.t**2, rtol=1e-9)
