"""What a comparison records: answers, which every run repeats bit for bit, and times, which none does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from gaussopt.comparison.record_check import check_fields
from gaussopt.core.solution import Timing

STARTS = ("setup", "cold", "warm")
"""How a solver meets the next program of a sequence: set up anew and started from its default; updated and started
from its default; updated and started from the answer before."""

PARTS = (*Timing._fields, "work", "total")
"""The parts of a step that are timed. `work` is what the solver is responsible for, setup + update + solve; `total`
is everything."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

ILL_POSED = ("infeasible", "unbounded", "acceleration_not_unique", "no_solution", "multiple_solutions")
"""What can be true of a step itself, and be recognised by a solver."""

MOST_REASONS = 5
"""Different sentences that a record keeps."""


@dataclass(frozen=True, slots=True)
class StepSource:
    """Where a sequence of steps comes from, in words that tables can show.

    Attributes
    ----------
    kind : str
        "problem" (states of a reference), "family", "qp" (a single program) or "sequence" (exported programs).
    name : str
        Of the problem, family, program or folder.
    part : str
        The reference of a problem, "" elsewhere.
    dials : mapping of str to float
        Of a family, all of them.
    swept : str
        The dial that this point is a value of; "" if none is swept.
    """

    kind: str
    name: str
    part: str = ""
    dials: Mapping[str, float] = field(default_factory=dict)
    swept: str = ""

    @property
    def key(self) -> SourceKey:
        """Tells sources apart: a source itself holds a mapping and cannot be a key."""
        return self.kind, self.name, self.part, tuple(sorted(self.dials.items())), self.swept

    @property
    def label(self) -> str:
        """One line for tables."""
        if self.swept:
            return f"{self.name}, {self.swept} = {self.dials[self.swept]:g}"
        return f"{self.name}, {self.part}" if self.part else self.name


SourceKey = tuple[str, str, str, tuple[tuple[str, float], ...], str]


def _check_case(source: StepSource, start: str) -> None:
    if source.swept and source.swept not in source.dials:
        raise ValueError(f"{source.swept[:40]!r} is none of the dials of {source.name[:40]!r}")
    if start not in STARTS:
        raise ValueError(f"{start[:40]!r} is no way to start")


class _Record:
    """A dataclass with a source, as plain data and back."""

    __slots__ = ()

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        """The record of a mapping."""
        return cls(**{**data, "source": StepSource(**data["source"])})

    @classmethod
    def read(cls, data: Any) -> Self:
        """The record of a mapping that comes from a file.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is none.
        """
        check_fields(cls, data)
        check_fields(StepSource, data["source"])
        record = cls.from_mapping(data)
        record.check()
        return record

    def check(self) -> None:
        """See that the entries fit each other.

        Raises
        ------
        ValueError
        """


@dataclass(frozen=True, slots=True)
class Answers(_Record):
    """What one solver answered to the steps of one source, cold, warm or set up anew. No times.

    Lists have one entry a step. A step without an answer keeps its place: its errors are infinite.

    Attributes
    ----------
    source : StepSource
    formulation : str
        "" where the source holds programs.
    solver : str
        With its options where they differ from the defaults, such as "osqp(eps_abs=1e-3)".
    start : str
        One of STARTS.
    exact : bool
        Whether the formulation claims to be exact.
    status : list of str
        Verified.
    claim : list of str
        What the solver says.
    certified : list of float
        Certified distance to the true acceleration relative to 1 + its size, in the mass norm; of a program without
        mechanics, the relative error bound or, where there is none, the relative residual.
    error : list of float
        Against the reference, relative to 1 + max |a|; NaN where there is none.
    primal, dual, gap : list of float
        Residuals of the program at the point returned: violation of constraints, stationarity, complementarity,
        relative to the size of their terms. Of an LCP: negative parts of z and w, 0, and min(z, w).
    iterations : list of int
    refused : str
        Why the pair does not apply; then the lists are empty.
    failure : str
        Why the lists end early: "crashed: ..." or "time limit: ...".
    size : list of int
        Of the first step its coordinates, rows and contacts; of a program its unknowns and rows.
    reasons : dict of str to int
        Why steps are not confirmed, in sentences, and how often each was said; at most MOST_REASONS.
    """

    source: StepSource
    formulation: str
    solver: str
    start: str
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

    def check(self) -> None:
        """See that lists have one entry a step; see `_Record.check`."""
        _check_case(self.source, self.start)
        steps = (self.status, self.claim, self.certified, self.error, self.primal, self.dual, self.gap)
        if len({len(x) for x in (*steps, self.iterations)}) > 1:
            raise ValueError(f"the lists of {self.solver[:40]!r} are of different lengths")

    @property
    def confirmed(self) -> list[bool]:
        """Which answers the certificate confirms."""
        return [s == "solved" for s in self.status]

    @property
    def claimed(self) -> list[bool]:
        """Which answers the solver calls solved."""
        return [c == "solved" for c in self.claim]


@dataclass(frozen=True, slots=True)
class Times(_Record):
    """How long one solver took on the steps of one source, interleaved with its rivals. Seconds.

    Attributes
    ----------
    source, formulation, solver, start : as of Answers
    parts : dict of str to list of float
        Of each of PARTS the QUANTILES over all steps and repetitions; NaN where the solver reports nothing.
    per_step : list of float
        Median of `work` at each step over the repetitions. May be shorter than the source: slow solvers are timed on
        the leading steps only.
    repetitions : int
    unconfirmed : list of int
        How many of the answers given on the clock were not confirmed, at each step that was timed.
    """

    source: StepSource
    formulation: str
    solver: str
    start: str
    parts: dict[str, list[float]]
    per_step: list[float]
    repetitions: int
    unconfirmed: list[int] = field(default_factory=list)

    def check(self) -> None:
        """See that every part is there; see `_Record.check`."""
        _check_case(self.source, self.start)
        if set(self.parts) != set(PARTS) or any(len(x) != len(QUANTILES) for x in self.parts.values()):
            raise ValueError(f"the times of {self.solver[:40]!r} are not {len(QUANTILES)} of each part")

    @property
    def work(self) -> float:
        """Median seconds of setup + update + solve."""
        return self.parts["work"][2]


@dataclass(frozen=True, slots=True)
class MotionRecord:
    """How one pair carried a trajectory.

    Attributes
    ----------
    evaluations : int
        Steps solved, stages included.
    error : float
        Largest |q - q_ref| at the instants of the reference that the run also has; NaN without any.
    certified : float
        Largest certified relative error over all steps solved.
    position_drift, velocity_drift : float
        Largest violation of the constraints.
    energy_drift : float
        Largest |E - E(0) - work|, relative to the largest energy; NaN where the system states no energy.
    trajectory : str
        Name of the NetCDF file in the store, "" if none was kept.
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

    @classmethod
    def read(cls, data: Any) -> MotionRecord:
        """The motion of a mapping that comes from a file, see `_Record.read`."""
        check_fields(cls, data)
        return cls(**data)

    def to_mapping(self) -> dict[str, Any]:
        """For JSON and tables."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
