"""Records of a comparison: answers, which are the same bit for bit in every run, and times, which vary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from gaussopt.core.solution import Timing
from gaussopt.storage.schema import check

STARTS = ("setup", "cold", "warm")
"""How a solver starts on the next program of a sequence. "setup": set up anew, from its default point; "cold": updated,
from its default point; "warm": updated, from the previous answer."""

PARTS = (*Timing._fields, "work", "total")
"""The parts of a step that are timed. `work` is the time of the solver, backend and adapter together: setup + update +
solve minus the time of an empty solver (`Times.harness`); `total` is the time of the whole step."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

ILL_POSED = ("infeasible", "unbounded", "acceleration_not_unique", "no_solution", "multiple_solutions")
"""Statuses that call a step ill-posed; a status is a correct answer if the step is ill-posed in this way."""

REMEMBERED = 1 / 3
"""If repeated numbers take at most this fraction of the time on new numbers, the solver must remember answers."""

MOST_REASONS = 5
"""Maximum number of different reasons in a record of answers."""

SourceKey = tuple[str, str, str, tuple[tuple[str, float], ...], str, str]


def machine_of(made: Mapping[str, str]) -> tuple[str, ...]:
    """Return processor, system and threads from `CaseRecord.made`; times are from one machine if all three agree."""
    return tuple(made.get(name, "") for name in ("processor", "system", "threads"))


def on_machine(what: str, machine: str) -> str:
    """Append the name of the machine to a text, if there is one."""
    return f"{what}, on {machine}" if machine else what


class Record:
    """Base class of dataclasses that are converted to plain data and back."""

    __slots__ = ()

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data, for JSON and tables."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        """Make the record from a mapping that `to_mapping` wrote."""
        source = {"source": StepSource(**data["source"])} if "source" in data else {}
        return cls(**{**data, **source})

    @classmethod
    def read(cls, data: Any) -> Self:
        """Make the record from a mapping read from a file, after a check that every entry has the type of its field.

        Raises KeyError, TypeError or ValueError if the mapping does not describe a record.
        """
        check(cls.__name__, data, cls)
        record = cls.from_mapping(data)
        record.check()
        return record

    def check(self) -> None:
        """Check that the entries are consistent; raises ValueError, which says what is wrong."""


@dataclass(frozen=True, slots=True)
class StepSource:
    """Origin of a sequence of steps, as tables describe it.

    Attributes
    ----------
    kind : "problem" (states of a reference), "family", "qp" or "lcp" (a single program), "sequence" (exported programs)
        or "contact" (files of contacts with friction cones)
    name : name of the problem, family, program or folder
    part : the reference of a problem or sequence; the set of a program; the file of a contact problem; "" otherwise
    dials : all parameters (dials) of a family and their values
    swept : the dial that is swept, of which this source has one value; "" if none is swept
    machine : where answers and times were computed, if several comparisons are merged; "" elsewhere. It distinguishes
        sources, so that no count, ranking or mean over a source mixes the times of two machines.
    """

    kind: str
    name: str
    part: str = ""
    dials: Mapping[str, float] = field(default_factory=dict)
    swept: str = ""
    machine: str = ""

    @property
    def key(self) -> SourceKey:
        """Key that distinguishes sources, since a source itself holds a mapping and cannot be a key."""
        return self.kind, self.name, self.part, tuple(sorted(self.dials.items())), self.swept, self.machine

    @property
    def label(self) -> str:
        """Label on one line, for tables."""
        part = f"{self.swept} = {self.dials[self.swept]:g}" if self.swept else self.part
        return on_machine(f"{self.name}, {part}" if part else self.name, self.machine)


@dataclass(frozen=True, slots=True)
class CaseRecord(Record):
    """The results of one solver on the steps of one source with one kind of start: `start` is one of STARTS.

    The formulation is "" where the source holds programs. The solver's name includes the options that were given, as in
    "osqp(eps_abs=1e-3)". `made` says where and when, see `gaussopt.processes.environment.provenance`; it is empty if
    nothing was computed, and in files of earlier versions.
    """

    source: StepSource
    formulation: str
    solver: str
    start: str
    made: dict[str, str] = field(default_factory=dict, compare=False, kw_only=True)

    def check(self) -> None:
        """Check that the dial and the start are known; see `Record.check`."""
        source = self.source
        if source.swept and source.swept not in source.dials:
            raise ValueError(f"{source.swept[:40]!r} is none of the dials of {source.name[:40]!r}")
        if self.start not in STARTS:
            raise ValueError(f"{self.start[:40]!r} is no way to start")


@dataclass(frozen=True, slots=True)
class Answers(CaseRecord):
    """Answers to the steps of a source, without times.

    Lists have one entry per step. A step without an answer keeps its place: its errors are infinite.

    Attributes
    ----------
    exact : whether the formulation claims to be exact
    status, claim : verified status, and the status that the solver states
    certified : upper bound on the distance to the true acceleration, divided by 1 + its norm, in the mass norm; for a
        program without mechanics, the relative error bound or, if there is none, the relative residual
    error : distance to the reference, divided by 1 + the reference's norm, in the mass norm; NaN without a reference
    primal, dual, gap : residuals of the program at the point returned: violation of constraints, stationarity,
        complementarity, relative to the size of their terms. For an LCP: negative parts of z and w, 0, and min(z, w).
    refused : why the pair does not apply; then the lists are empty
    failure : why the lists end early: "crashed: ..." or "time limit: ..."
    size : numbers of coordinates, rows and contacts of the first step, or of unknowns and rows of the first program
    reasons : why steps are not confirmed, in sentences, and the number of steps for each; at most MOST_REASONS
    begins : steps at which every solver starts anew: the first of a sequence, and steps whose size differs from that
        of the previous step; all steps if the problems are unrelated. The other steps are re-solves.
    """

    exact: bool
    status: list[str] = field(default_factory=list)
    claim: list[str] = field(default_factory=list)
    certified: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    primal: list[float] = field(default_factory=list)
    dual: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    refused: str = ""
    failure: str = ""
    size: list[int] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)
    begins: list[int] = field(default_factory=lambda: [0])

    def check(self) -> None:
        """Check that all lists have the same length; see `Record.check`."""
        CaseRecord.check(self)
        steps = (self.status, self.claim, self.certified, self.error, self.primal, self.dual, self.gap)
        if len({len(x) for x in (*steps, self.iterations)}) > 1:
            raise ValueError(f"the lists of {self.solver[:40]!r} are of different lengths")

    @property
    def confirmed(self) -> list[bool]:
        """Mask of the answers that the certificate confirms as right."""
        return [s == "solved" for s in self.status]

    @property
    def claimed(self) -> list[bool]:
        """Mask of the answers that the solver claims to have solved."""
        return [c == "solved" for c in self.claim]


@dataclass(frozen=True, slots=True)
class Times(CaseRecord):
    """Seconds that a solver took on the steps of a source, taking turns with its rivals.

    Attributes
    ----------
    parts : for each of PARTS the QUANTILES over the re-solves and their repetitions, or over all steps of a source
        without re-solves; NaN where the solver reports nothing
    per_step : median of `work` at each step over the repetitions; shorter than the source where a slow solver was timed
        on the leading steps only, NaN where one of several unrelated problems was not timed
    unconfirmed : for each timed step, the number of timed answers that the certificate refutes; an answer that is
        not proved is not refuted
    harness : median seconds of an empty solver in the same turns, which are subtracted from `work`
    replayed : median over the steps of the processor time for data that the solver has met before, divided by the time
        for new data; NaN where steps are too short for a decision
    early : number of steps answered correctly only after a call of the solver's `refuses`, which is not timed
    """

    parts: dict[str, list[float]]
    per_step: list[float]
    repetitions: int
    unconfirmed: list[int] = field(default_factory=list)
    harness: float = float("nan")
    replayed: float = float("nan")
    early: int = 0

    def check(self) -> None:
        """Check that no part is missing; see `Record.check`."""
        CaseRecord.check(self)
        if set(self.parts) != set(PARTS) or any(len(x) != len(QUANTILES) for x in self.parts.values()):
            raise ValueError(f"the times of {self.solver[:40]!r} are not {len(QUANTILES)} of each part")

    @property
    def remembers(self) -> bool:
        """Whether the solver is so much faster on numbers solved before that it must have remembered its answers."""
        return self.replayed <= REMEMBERED

    @property
    def work(self) -> float:
        """Median seconds of a re-solve; for a source without re-solves, of setup and solve."""
        return self.parts["work"][2]

    @property
    def step(self) -> float:
        """Sum of the median seconds of formulation, `work` and recovery, by which formulations compete."""
        return sum(self.parts[part][2] for part in ("build", "work", "recover"))


@dataclass(frozen=True, slots=True)
class MotionRecord(Record):
    """Errors and drifts of one trajectory of a pair.

    Attributes
    ----------
    evaluations : accelerations computed, stages included
    error : largest |q - q_ref| at the instants that the reference and the run have in common; NaN if there are none
    certified : largest certified relative error of these accelerations, which does not bound the error of the motion
    position_drift, velocity_drift : largest violation of the constraints at position and at velocity level
    energy_drift : largest |E - E(0) - work|, relative; NaN if unknown: see `trajectory_errors.energy_drift`
    trajectory : name of the NetCDF file in the store, "" if none was kept
    machine, made : as in `StepSource` and in `CaseRecord`
    """

    problem: str
    formulation: str
    solver: str
    stepper: str
    dt: float
    t_end: float
    status: str
    message: str
    evaluations: int
    error: float
    certified: float
    position_drift: float
    velocity_drift: float
    energy_drift: float
    trajectory: str = ""
    machine: str = ""
    made: dict[str, str] = field(default_factory=dict, compare=False)
