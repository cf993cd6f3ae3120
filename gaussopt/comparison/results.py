"""Results of a comparison, and the file that stores them, so that a report can be written without computing again."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, Self

from gaussopt.comparison import pairs, tables
from gaussopt.comparison.records import Answers, MotionRecord, Times
from gaussopt.core.display import About, counted, listed, shown
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.files import read_regular, write_bytes
from gaussopt.execution.store import HEAD
from gaussopt.plotting.figures import one_or_all, pyplot_figure
from gaussopt.storage.archives import gunzip
from gaussopt.storage.checksums import Damage, sealed, unsealed
from gaussopt.storage.parquet import parquet
from gaussopt.storage.schema import Schema, check

if TYPE_CHECKING:
    import pandas as pd

FILE = "results.json.gz"
FORMAT = 2

LISTS, NUMBERS = ("sources", "formulations", "solvers", "steppers"), ("tolerance", "dt", "t_end", "time_budget")
"""Entries of `Results.meta` that are lists and numbers; their values distinguish comparisons."""

META: Schema = {
    **dict.fromkeys((*LISTS, "precision", "conflicts"), NotRequired[list[str]]),
    **dict.fromkeys(("problems", "versions", "code"), NotRequired[dict[str, Any]]),
    "files": NotRequired[dict[str, list[str]]],
    "machines": NotRequired[dict[Annotated[str, re.compile(r"\w[\w.-]*")], dict[str, Any]]],
}
"""Entries of `Results.meta` that are checked on reading, also in the settings of each machine."""

UNFIT = "none of these formulations and solvers fit it"


@shown
@dataclass(frozen=True, slots=True)
class Results:
    """Results of `compare`.

    Attributes
    ----------
    answers : answers of every pair to every source; `refused` says why a pair does not apply
    times : times of the pairs that answered
    motions : trajectories of pairs that are right at all states of a problem
    failures : reasons why cases failed, by case
    meta : the settings of the comparison, and the versions and code that computed it
    store : folder of the finished cases, None if they were not kept
    """

    answers: tuple[Answers, ...]
    times: tuple[Times, ...]
    motions: tuple[MotionRecord, ...]
    failures: dict[str, str]
    meta: dict[str, Any] = field(default_factory=dict)
    store: Path | None = None

    def _about(self) -> About:
        found = pairs.rows(self.answers, self.times)
        sources = listed(dict.fromkeys(r.source.partition(",")[0] for r in found))
        title = f"{sources}; solvers {listed(dict.fromkeys(r.solver for r in found))}"
        right, steps = sum(r.confirmed for r in found), sum(r.steps for r in found)
        broken = f", {counted(len(self.failures), 'failure')}" if self.failures else ""
        more = (f"{right} of {steps} answers confirmed, {counted(len(self.motions), 'motion')}{broken}",)
        return About(title, more, [r.cells for r in found], pairs.HEAD)

    def plot(self, source: str | None = None, *, start: str | None = None, ax: Any = None) -> Any:
        """Draw the time per step of each pair of formulation and solver, with its 5 and 95 % quantiles.

        Points are hollow where the certificate does not confirm every answer. A solver has the same colour and marker
        in all figures.

        Parameters
        ----------
        source : label of the only source to draw, such as "four-bar, D-2s"; a panel for each if not given
        start : "setup", "cold" or "warm"; if not given, the last of these that a pair has, as in a simulation
        ax : axes of matplotlib to draw on, one for each panel; a new figure of pyplot if not given

        Returns
        -------
        matplotlib.axes.Axes, or an array of them where there are several panels

        Raises UnknownName for a source or start that does not exist, BadInput where nothing was timed or `ax` holds
        another number of axes.
        """
        found = pairs.rows(self.answers, self.times)
        return one_or_all(pairs.draw(found, source, start, pyplot_figure if ax is None else ax))

    def table(self, name: str = "pairs", form: str = "markdown") -> str:
        """Format a table: `form` is "markdown", "csv" or "latex".

        `name` is "pairs" (formulation, solver, source, right answers and times) or the name of a table of `to_pandas`.
        Raises UnknownName for other names.
        """
        import pandas as pd

        if name == "pairs":
            cells = [row.cells for row in pairs.rows(self.answers, self.times)]
            return pairs.text_of(pd.DataFrame(cells, columns=list(pairs.HEAD)), form)
        known = self.to_pandas()
        if name not in known:
            raise UnknownName("table of results", name, ["pairs", *known])
        return pairs.text_of(known[name], form)

    def to_mapping(self) -> dict[str, Any]:
        """Return every record and the settings, for JSON."""
        return {
            "answers": [r.to_mapping() for r in self.answers],
            "times": [r.to_mapping() for r in self.times],
            "motions": [r.to_mapping() for r in self.motions],
            "failures": self.failures,
            "meta": self.meta,
        }

    def to_pandas(self) -> dict[str, pd.DataFrame]:
        """Return the tables `summary`, `steps`, `times` and `motions`."""
        return tables.frames(self.answers, self.times, self.motions)

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the table `steps`, one row for each answer, as a Parquet file; a failed write leaves no partial file.

        Raises BadInput if the file cannot be written.
        """
        frame = tables.steps(self.answers, self.times)
        write_bytes(Path(path), parquet({str(name): column.tolist() for name, column in frame.items()}))
        return Path(path)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Results:
        """Load results that `gaussopt compare --out`, or `compare` with `out`, wrote to a folder; raises BadInput."""
        return read_results(Path(folder))

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any], store: Path | None = None) -> Self:
        """Return the results in a mapping from a file; raises KeyError, TypeError or ValueError if it is wrong."""
        check("the file", data, {"failures": dict[str, str], "meta": META})
        failures, meta = data["failures"], data["meta"]
        for name, own in meta.get("machines", {}).items():
            check(f"the machine {name}", own, META)
            if own.get("machines"):
                raise ValueError(f"the comparison of {name} is merged itself")
        found = cls(
            tuple(map(Answers.read, data["answers"])), tuple(map(Times.read, data["times"])),
            tuple(map(MotionRecord.read, data["motions"])), dict(failures), dict(meta), store,
        )  # fmt: skip
        named = {r.source.machine for r in (*found.answers, *found.times)} | {m.machine for m in found.motions}
        if not named <= set(meta.get("machines") or ("",)):
            raise ValueError("its records are of machines that it does not list")
        return found


def write_results(results: Results, folder: Path) -> None:
    """Write all results as compressed JSON, with NaN and Infinity as Python's json writes them.

    Raises BadInput if the folder cannot be written.
    """
    text = sealed({"format": FORMAT, **results.to_mapping()}, indent=None)
    write_bytes(folder / FILE, gzip.compress(text.encode(), mtime=0))


def read_results(folder: Path) -> Results:
    """Read results that `write_results` wrote.

    Raises BadInput if there are no results, or they are damaged or of another format.
    """
    path = folder / FILE
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is not a folder; give one that `gaussopt compare --out` wrote.")
    if not path.exists():
        if (folder / HEAD).is_file():
            kept = sum(1 for _ in (folder / "cases").glob("*.json"))
            raise BadInput(
                f"The comparison in {folder} has not come to its end; start the same `gaussopt compare` again: "
                f"{kept} finished cases are kept."
            )
        raise BadInput(f"{folder} holds no {FILE}; give a folder in which `gaussopt compare --out` came to its end.")
    packed = read_regular(path.resolve())
    try:
        text = gunzip(packed)
        data = unsealed(text, FORMAT)
        if b"\\ud" in text.lower():  # unpaired surrogates, which UTF-8 cannot encode
            json.dumps(data, ensure_ascii=False).encode()
        return Results.from_mapping(data, folder)
    except (Damage, KeyError, TypeError, AttributeError, ValueError) as error:
        why = str(error).rstrip(".")
        raise BadInput(f"{path} is damaged ({why}); run the comparison again, finished cases are kept.") from None


def refuse_other(folder: Path, meta: Mapping[str, Any]) -> None:
    """Raise BadInput if a comparison with the settings `meta` would replace different results in the folder.

    A comparison that only adds sources, formulations, solvers or steppers is accepted: it includes the old results.
    """
    try:
        known = read_results(folder).meta if (folder / FILE).exists() else {}
    except BadInput:  # the old results are damaged or of another format
        return
    other = [f"{name} {known[name]}" for name in NUMBERS if name in known and known[name] != meta[name]]
    for name in LISTS:
        lost = [x for x in known.get(name, ()) if x not in meta[name]]
        other += [f"the {name} {listed(lost)}"] if lost else []
    if other:
        raise BadInput(
            f"{folder} holds a comparison with {'; '.join(other)}, which are not asked now; name another folder."
        )


def unanswered(sources: Sequence[str], answers: Sequence[Answers]) -> dict[str, str]:
    """Return, by label of each source without an answer, the reason for which most of its pairs were refused.

    If no pair was formed, the refusals of formulations are counted.
    """
    found = {}
    for label in sources:
        own = [r for r in answers if r.source.label == label]
        if all(r.refused for r in own):
            said = Counter(r.refused for r in own if r.solver) or Counter(r.refused for r in own)
            found[label] = said.most_common(1)[0][0] if said else UNFIT
    return found
