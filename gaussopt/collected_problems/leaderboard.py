"""The page that compares all solvers on the whole collection: right answers, false claims, failures and times."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.comparison import performance_profiles as performance
from gaussopt.comparison.compare import compare
from gaussopt.comparison.file_sources import CollectionGroup, index_of
from gaussopt.comparison.pairing import installed_solvers
from gaussopt.comparison.records import STARTS, Answers
from gaussopt.comparison.results import Results
from gaussopt.comparison.step_table import step_table
from gaussopt.core import registry
from gaussopt.core.display import gathered
from gaussopt.core.errors import BadInput
from gaussopt.core.files import read_bytes, write_text
from gaussopt.processes.environment import versions
from gaussopt.reporting.document import Block, Document, Finding, Paragraph, Section, Table
from gaussopt.reporting.html.page import write
from gaussopt.reporting.sections.grouping import anchor_of
from gaussopt.reporting.sections.speed import profile_figure
from gaussopt.reporting.texts import Texts

texts = Texts(__file__)

KINDS = {"qp": "Quadratic programs", "lcp": "Complementarity problems", "contact": "Contacts with friction cones"}

LAW = "coulomb-soccp"
"""Formulation of contact problems with friction: Coulomb's law itself, without relaxation."""

SIZES = (10, 100, 10_000)
"""Upper limits of the size classes, as numbers of unknowns."""

LIMITS: dict[str, Any] = {"time_budget": 0.1, "case_limit": 20.0}
"""Seconds for timing a solver on a group, and for all answers of a solver to a group."""

LOST = "lost:"
"""Beginning of the text `failure` of a case that failed for a reason outside the solver."""

HARDEST = 10
"""Number of the hardest problems that the page lists."""

COUNTS = ("problems", "right", "false claims", "missed", "failures")
COLUMNS = ("kind", "class", "unknowns", "solver", *COUNTS, "median / ms")
"""Columns of the table of all solvers; `--with` reads them from a page that was made before."""


def leaderboard(
    folder: Path, out: Path, solvers: Sequence[str] | None = None, *, beside: Path | None = None, **settings: Any
) -> dict[str, Any]:
    """Compare solvers on a built collection and write the page; finished cases in `out` are not computed again.

    Parameters
    ----------
    solvers : names, or files of solvers; by default all that are installed and not stochastic
    beside : the table `data/solvers.csv` of another page, whose solvers are listed together with the compared solvers
    **settings : time_budget (0.1 s), case_limit (20 s), jobs, progress, note, as for `compare`; each group is a source

    Returns status, message, report (path of the page) and findings. Raises BadInput, UnknownName.
    """
    published = [] if beside is None else _published(beside)
    named = [registry.named_by_file("solver", s) if registry.holds_solver(s) else s for s in solvers or ()]
    results = compare(
        CollectionGroup.all_of(folder), [LAW], named or installed_solvers(stochastic=False), motions=False, out=out,
        **LIMITS | settings,
    )  # fmt: skip
    return write_page(results, folder, out, published)


def write_page(results: Results, folder: Path, out: Path, published: Sequence[Any] = ()) -> dict[str, Any]:
    """Write the page on the results of all groups, with rows from the table of another page; see `leaderboard`."""
    table = _steps(results, index_of(folder))
    page = _document(table, published)
    report = write(page, out)
    lines = ",\n".join(f"{json.dumps(name)}: {counts}" for name, counts in difficulty(table).items())
    write_text(out / "difficulty.json", f"{{\n{lines}\n}}\n")
    message = f"{table['solver'].nunique()} solvers on {table['problem'].nunique()} problems."
    if lost := sum(map(_lost, results.answers)):
        message += f" {lost} cases were lost, which says nothing of the solvers; the same command runs them again."
    return {
        "status": "crashed" if lost else "solved", "message": message, "report": str(report),
        "findings": list(map(str, page.findings)),
    }  # fmt: skip


def _lost(answers: Answers) -> bool:
    """Return whether a case was lost for a reason outside the solver, such as a failure of the machine."""
    return answers.failure.startswith(LOST)


def _steps(results: Results, index: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return, for each problem and solver, the answer from the last kind of start, and data of the problem."""
    table = step_table(results.answers, results.times)
    table = table[~table["refused"] & ~table["case"].isin([i for i, a in enumerate(results.answers) if _lost(a)])]
    order = table["start"].map(STARTS.index)
    table = table[order == order.groupby([table["name"], table["solver"]]).transform("max")]
    kept = gathered((row for row in index if not row["withdrawn"]), lambda row: str(row["group"]))
    own = [kept[name][step] for name, step in zip(table["name"], table["step"], strict=True)]
    return table.assign(
        problem=[row["name"] for row in own], kind=[row["kind"] for row in own], n=[row["n"] for row in own],
        matrix=[row["class"] for row in own], size=[_size(row["n"]) for row in own],
        condition=[row["condition"] or math.inf for row in own],
        failure=[results.answers[case].failure.partition(":")[0] for case in table["case"]],
    )  # fmt: skip


def _size(n: int) -> str:
    i = next(i for i, most in enumerate(SIZES) if n <= most)
    return f"{SIZES[i - 1] + 1 if i else 1} to {SIZES[i]}"


def _row(cells: Sequence[Any], rows: pd.DataFrame) -> tuple[Any, ...]:
    """Return a row of the table of solvers: counts of the steps that count for or against it, and the median time."""
    own = rows[rows["own"]]
    failed = int((~own["right"] & ~own["false"]).sum())
    milliseconds = 1e3 * float(rows["work"].median()) if rows["work"].notna().any() else math.nan
    counts = (len(own), *(int(own[name].sum()) for name in ("right", "false", "missed")), failed)
    return (*cells, *counts, float(f"{milliseconds:.3g}"))


def _solver_rows(table: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    for (kind, solver), rows in table.groupby(["kind", "solver"], sort=True):
        yield _row((kind, "all", "all", solver), rows)
    for keys, rows in table.groupby(["kind", "matrix", "size", "solver"], sort=True):
        yield _row(keys, rows)


def _published(path: Path) -> list[tuple[Any, ...]]:
    """Read the table of solvers of another page; raise BadInput if the file does not hold such a table."""
    head, *rows = csv.reader(read_bytes(path).decode("utf-8", "replace").splitlines()) or [[]]
    if tuple(head) != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise BadInput(f"{path} is no table of solvers; give data/solvers.csv of a page on the collection.")
    try:
        return [(*row[:4], *map(int, row[4:9]), float(row[9] or "nan")) for row in rows]
    except ValueError as error:
        raise BadInput(f"{path} holds a cell that is no number: {error}.") from None


def difficulty(table: pd.DataFrame) -> dict[str, list[int]]:
    """Return for each problem how many solvers were not right, and how many solvers were considered in all."""
    own = table[table["own"]]
    found = own.groupby("problem", sort=False)["right"].agg(["size", "sum"])
    return {str(name): [int(row["size"] - row["sum"]), int(row["size"])] for name, row in found.iterrows()}


def _document(table: pd.DataFrame, published: Sequence[tuple[Any, ...]]) -> Document:
    rows = list(_solver_rows(table))
    mine = {(row[0], row[3]) for row in rows}
    rows += [row for row in published if (row[0], row[3]) not in mine]
    rows.sort(key=lambda row: (list(KINDS).index(row[0]), row[1] != "all", *row[1:3], -row[5]))
    sections = [
        _section("All solvers by class and size", (
            *map(Paragraph, texts.paragraphs("solvers")),
            Table("solvers", str(texts("solvers caption")), COLUMNS, tuple(rows), timed=("median / ms",)),
        )),
        *_times(table),
        _section("The hardest problems", (Paragraph(texts("hardest")), _hardest(table))),
        _section("Add a solver of your own", tuple(map(Paragraph, texts.paragraphs("own")))),
        _section("Environment", (
            Table("environment", "Packages of this page.", ("package", "version"), tuple(versions().items())),
        )),
    ]  # fmt: skip
    whole = {kind: [row for row in rows if row[0] == kind and row[1] == "all"] for kind in KINDS}
    findings = [Finding(KINDS[kind], _finding(of), sections[0].anchor) for kind, of in whole.items() if of]
    lead = texts("lead", problems=table["problem"].nunique(), solvers=table["solver"].nunique())
    return Document(str(texts("title")), lead, tuple(findings), tuple(sections))


def _section(title: str, blocks: tuple[Block, ...]) -> Section:
    """Return a section with the anchor that the documentation site makes from its title."""
    return Section(anchor_of(title), title, blocks)


def _finding(rows: Sequence[tuple[Any, ...]]) -> str:
    best = max(row[5] for row in rows)
    first = ", ".join(f"{row[3]} on {row[5]} of {row[4]}" for row in rows if row[5] == best)
    false = ", ".join(f"{row[3]} {row[6]}" for row in sorted(rows, key=lambda row: -row[6]) if row[6])
    return str(texts("finding", first=first, false=false or "none"))


def _times(table: pd.DataFrame) -> Iterator[Section]:
    """Yield a section with means and a performance profile for each kind; right answers without a time do not count."""
    own = table[table["own"]]
    own = own.assign(cost=own["work"].where(own["right"], math.inf))
    for kind, title in KINDS.items():
        values = own[own["kind"] == kind].set_index(["problem", "solver"])["cost"].unstack("solver")
        if not np.isfinite(values.to_numpy()).any():
            continue
        nothing = (0,) * values.shape[1]
        of = performance.Costs(
            tuple(values.columns), values.to_numpy(), nothing, nothing, 0, np.zeros(values.shape, dtype=bool)
        )
        rows = [(m.name, float(f"{1e6 * m.seconds:.3g}"), m.failures, m.steps)
                for m in performance.geometric_means(of)]  # fmt: skip
        head = ("solver", "mean / µs", "not right", "problems")
        blocks: list[Block] = [Table(f"means-{kind}", str(texts("means")), head, tuple(rows), timed=("mean / µs",))]
        if len(of.names) > 1:
            blocks.append(profile_figure(f"profile-{kind}", of, f"solves of {title.lower()}", None))
        yield _section(f"Times of {title.lower()}", tuple(blocks))


def _hardest(table: pd.DataFrame) -> Table:
    """Tabulate the problems that the largest share of solvers gets wrong, and what these solvers claim."""
    wrong = difficulty(table)
    ranked = sorted(wrong, key=lambda name: (-wrong[name][0] / wrong[name][1], -wrong[name][1], name))[:HARDEST]
    rows = []
    for name in ranked:
        of = table[(table["problem"] == name) & table["own"]]
        said = Counter(
            "solved, which is refuted" if row.claim == "solved" else str(row.claim or row.failure or "nothing")
            for row in of[~of["right"]].itertuples()
        )
        why = "; ".join(f"{count} say {what}" for what, count in said.most_common())
        first = of.iloc[0]
        about = (name, first["kind"], first["matrix"], int(first["n"]), float(first["condition"]))
        rows.append((*about, *wrong[name], why))
    head = ("problem", "kind", "class", "unknowns", "condition", "not right", "solvers", "what those say")
    return Table("hardest", str(texts("hardest caption")), head, tuple(rows))
