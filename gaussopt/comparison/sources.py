"""Sources of the steps that solvers are compared on: references, families, program files, exported sequences.

A spec is a small picklable description from which any process makes the same items; the files and entries that it
depends on determine the key of a stored result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from gaussopt.comparison.file_sources import CollectionGroup, ProgramFile
from gaussopt.comparison.items import SIMULATED, Data, Item, decided, states_of, typical_step
from gaussopt.comparison.records import StepSource
from gaussopt.comparison.sequence_files import read_manifest, read_sequence
from gaussopt.comparison.spec import Spec, check_digest
from gaussopt.contact.activity import closed_contacts
from gaussopt.core import registry
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import BadInput
from gaussopt.core.files import read_bytes
from gaussopt.core.programs import LCP, QP
from gaussopt.core.step_data import StepData
from gaussopt.core.time_step import SteppedSystem
from gaussopt.lcp.collection import known_lcps
from gaussopt.modelling.family import Family, sweep_values
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.registered import registered_problem
from gaussopt.storage.checksums import digest_of

CONTACT = re.compile(r"\bcontact (\d+)\b")


@dataclass(frozen=True, slots=True)
class ProblemStates(Spec):
    """The steps at every `stride`-th state of a reference of a problem.

    `settings` are parameters, case or variant of the problem. For a problem without references, `reference` is
    SIMULATED, and the motion is simulated until `t_end`, by default the end of the problem.
    """

    problem: str
    reference: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    stride: int = 1
    t_end: float | None = None

    @property
    def entry(self) -> Problem:
        """The problem with its settings."""
        return registered_problem(self.problem, **self.settings)

    follows = True

    @property
    def source(self) -> StepSource:
        return StepSource("problem", self.entry.label, self.reference)

    def items(self) -> tuple[Item, ...]:
        """Return the steps; see `states_of` for what is left out."""
        return tuple(states_of(self.entry, self.reference, self.stride, self.t_end))

    def typical(self) -> StepData:
        """Return the step at the start of the motion if it can be an item; otherwise return the first item."""
        entry = self.entry
        if not isinstance(entry.system, SteppedSystem):
            whole = entry.system.evaluate(0.0, entry.q0, entry.v0)
            start = decided(whole)
            if start is not None and (start.k or not whole.k):
                return start
        try:
            first = next(states_of(entry, self.reference, self.stride, self.t_end), None)
        except BadInput:  # the motion cannot begin; every case will report this
            first = None
        return typical_step(entry) if first is None else first.data  # type: ignore[return-value]

    def worded(self, reason: str, step: StepData) -> str:
        """Replace contact numbers in a sentence by the names that the system gives its contacts."""
        system = self.entry.system
        names = system.contact_names
        if step.k < len(names) and step.t is not None and step.q is not None and step.v is not None:
            names = tuple(names[i] for i in closed_contacts(system.evaluate(step.t, step.q, step.v)))
        if len(names) != step.k or any(name.startswith("contact ") for name in names):
            return reason
        return CONTACT.sub(lambda m: f"contact {names[int(m[1]) - 1]!r}", reason)


@dataclass(frozen=True, slots=True)
class FamilyPoint(Spec):
    """`count` steps of a family at one setting of its parameters (dials)."""

    family: str
    dials: Mapping[str, float]
    swept: str = ""
    count: int = 5

    follows = True

    @property
    def source(self) -> StepSource:
        return StepSource("family", self.family, "", dict(self.dials), self.swept)

    def items(self) -> tuple[Item, ...]:
        return tuple(map(Item, registry.load("family", self.family).steps(self.dials, self.count)))

    def typical(self) -> StepData | ConeComplementarity:
        step: StepData | ConeComplementarity = registry.load("family", self.family).steps(self.dials, 1)[0]
        return step


@dataclass(frozen=True, slots=True)
class PackagedProgram(Spec):
    """A program of a set in the package: "qp", the convex test set, or "lcp", chosen to distinguish solvers."""

    kind: str
    name: str

    @property
    def together(self) -> str:
        return "the set of complementarity problems" if self.kind == "lcp" else ""

    @property
    def source(self) -> StepSource:
        return StepSource(self.kind, self.name)

    def items(self) -> tuple[Item, ...]:
        """Return the program, with its solution if it is the unique one of a complementarity problem."""
        known = known_lcps().get(self.name) if self.kind == "lcp" else None
        return (Item(self.typical(), known.z if known and known.answers == "one" else None),)

    def typical(self) -> QP | LCP:
        return QP.from_mapping(convex_set()[self.name]) if self.kind == "qp" else known_lcps()[self.name].lcp


@dataclass(frozen=True, slots=True)
class ExportedSequence(Spec):
    """The programs of a folder that `gaussopt export` wrote; `digest` is that of its manifest."""

    folder: str
    digest: str

    @classmethod
    def of(cls, folder: str | Path) -> ExportedSequence:
        """Read and check a folder; raises BadInput."""
        read_manifest(Path(folder))
        found = cls(str(Path(folder).resolve()), digest_of(read_bytes(Path(folder) / "manifest.json")))
        found.items()
        return found

    @property
    def follows(self) -> bool:
        """Whether the items follow one another, as the steps of a motion do and the cells of an atlas do not."""
        return bool(_manifest(self.folder, self.digest).get("follows", True))

    @property
    def source(self) -> StepSource:
        """The problem, formulation and reference that the manifest names."""
        m = _manifest(self.folder, self.digest)
        return StepSource("sequence", f"{m['problem']} as {m['formulation']}", m["reference"])

    def items(self) -> tuple[Item, ...]:
        check_digest(Path(self.folder) / "manifest.json", self.digest)
        return tuple(map(Item, read_sequence(Path(self.folder))))

    def typical(self) -> Data:
        return self.items()[0].data


@lru_cache(maxsize=8)
def _manifest(folder: str, digest: str) -> dict[str, Any]:
    """Return the manifest of a folder, cached by the digest of its contents."""
    return read_manifest(Path(folder))


SPECS: tuple[type[Spec], ...] = (
    ProblemStates, FamilyPoint, ProgramFile, PackagedProgram, ExportedSequence, CollectionGroup,
)  # fmt: skip


def spec_of(data: Mapping[str, Any]) -> Spec:
    """Return the spec that a mapping describes."""
    kind = next(kind for kind in SPECS if kind.__name__ == data["spec"])
    return kind(**{k: v for k, v in data.items() if k != "spec"})


def problem_specs(entry: Problem, stride: int) -> list[ProblemStates]:
    """Return one spec for each reference of a problem, or one for its own motion if it has none."""
    names = [r.name for r in entry.references] or [SIMULATED]
    return [ProblemStates(entry.name, name, plain_settings(entry), stride) for name in names]


def family_sweep(name: str, dials: Sequence[str] = (), count: int = 5) -> list[FamilyPoint]:
    """Sweep a family along its parameters (dials), one at a time; the others keep their settings or defaults.

    Parameters
    ----------
    name : str
    dials : sequence of str
        `contacts=1:200` sweeps a range, `contacts=1,4,16` sweeps these values, `friction=0.3` sets a value. If no dial
        is given several values, every dial that is not set is swept over its whole range.
    count : number of steps at every point

    Raises
    ------
    UnknownName, BadInput
    """
    family: Family = registry.load("family", name)
    given = dict(family.parse_dial(text) for text in dials)
    fixed = family.at({dial: values[0] for dial, values in given.items() if len(values) == 1})
    swept = {dial: values for dial, values in given.items() if len(values) > 1}
    if not swept:
        free = [d for d in family.dials if d.name not in given and d.low < d.high]
        swept = {d.name: sweep_values(d, d.low, d.high) for d in free}
    points = [
        FamilyPoint(name, family.at({**fixed, dial: value}), dial, count)
        for dial, values in swept.items()
        for value in values
    ]
    if set(swept) - set(given):  # part of a dial's range may be impossible with the values of the other dials
        points = [p for p in points if _possible(p)]
    return points or [FamilyPoint(name, fixed, "", count)]


def _possible(point: FamilyPoint) -> bool:
    try:
        point.typical()
    except BadInput:
        return False
    return True


def convex_programs() -> list[PackagedProgram]:
    """Return the convex test set, program by program."""
    return [PackagedProgram("qp", name) for name in convex_set()]


def lcp_programs() -> list[PackagedProgram]:
    """Return the complementarity problems of the set chosen to distinguish solvers, small problems first."""
    return [PackagedProgram("lcp", name) for name, _ in sorted(known_lcps().items(), key=lambda known: known[1].lcp.n)]


def plain_settings(entry: Problem) -> dict[str, Any]:
    """Return the settings of a problem in a form that JSON can hold."""
    return {k: v.tolist() if hasattr(v, "tolist") else v for k, v in entry.settings.items()}


@cache
def convex_set() -> dict[str, Any]:
    """Load the small convex programs of Maros and Meszaros and of Hock and Schittkowski from the package."""
    text = resources.files("gaussopt.problems").joinpath("data", "convex_qp.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
