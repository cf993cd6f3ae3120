"""The committed report of the papers says what the code computes: its data, up to rounding and measured times."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from judged_claims import EXPECTED, Judged
from report_pages import every_block

from gaussopt.comparison.results import Results
from gaussopt.execution.workers import run_jobs
from gaussopt.papers import ledger
from gaussopt.papers.claim import Judgement
from gaussopt.papers.p001_friction import atlas_section
from gaussopt.papers.pages import PAPERS, document
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting import document_checks
from gaussopt.reporting.html.page import write

pytestmark = pytest.mark.documents

COMMITTED = Path(__file__).parents[2] / "reports" / "papers"


def _benchmark(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


committed_reports, other_seeds = _benchmark("committed_reports"), _benchmark("other_seeds")

RELATIVE = 1e-6
"""Numbers that differ by less of their size are the same."""

SMALL = 1e-9
"""Below it a number is what rounding leaves of an exact zero, and only its order of magnitude is compared."""

LEAST, WITHIN = 1e-13, 1e3
"""Small numbers are the same within a factor, counted from a least one: 1e-16 and 5e-11 are, 1e-16 and 5e-10 not."""

NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.(\d+))?(?:[eE]([-+−]?\d+))?(?![\w.]*\w)")

MACHINE = "environment"
"""The table of what a run was made with; it need not be the same."""

UNITS, VERDICT = "vector units", "verdict"
"""On other vector units last digits differ, and with them the steps of adaptive methods: only verdicts are compared."""


KEPT = ("errata-", "claim-", "claims", "atlas-", "boundaries-", "parameters-", "cases-", "verdicts")
"""The tables that are computed again; the motions between them take minutes."""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, JobOutcome]:
    """Errata, claims and atlas of a full run."""
    cases = [
        replace(c, key=f"{number}: {c.key}")
        for number, paper in PAPERS.items()
        for c in paper.cases(False)
        if c.key.startswith("erratum")
    ]
    found = run_jobs([*cases, *atlas_section.cases(False), *ledger.cases(False)], 2)
    assert {key: o.failure for key, o in found.items() if o.failure} == {}
    return found


@pytest.fixture(scope="module")
def fresh(outcomes: dict[str, JobOutcome], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was computed, as it is in the committed report."""
    out = tmp_path_factory.mktemp("papers")
    write(document(outcomes, Results((), (), (), {}), False), out)
    return out


def same_number(a: float, b: float, precision: float = 0.0) -> bool:
    """Whether two numbers are equal up to rounding, `precision` being the unit of their last digit."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    small, large = sorted((abs(a), abs(b)))
    if large < SMALL:
        return large <= WITHIN * max(small, LEAST)
    return abs(a - b) <= max(RELATIVE * large, 1.01 * precision)


def same_text(a: str, b: str) -> bool:
    """Whether two texts are the same but for the rounding of the numbers in them."""
    if a == b:
        return True
    try:
        return same_number(float(a), float(b))
    except ValueError:
        pass
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    pairs = zip(NUMBER.finditer(a), NUMBER.finditer(b), strict=True)
    return all(same_number(_value(x), _value(y), max(_unit(x), _unit(y))) for x, y in pairs)


def _value(found: re.Match[str]) -> float:
    return float(found[0].replace("−", "-"))


def _unit(found: re.Match[str]) -> float:
    """The unit of the last digit that is printed; whole numbers are counts, and exact."""
    decimals, exponent = len(found[1] or ""), int((found[2] or "0").replace("−", "-"))
    return 10.0 ** (exponent - decimals) if decimals or found[2] else 0.0


def read(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def differences(committed: Path, fresh: Path, kept: tuple[str, ...] = ("",)) -> list[str]:
    """Where two reports differ in more than rounding and times; `kept` are beginnings of the names of files."""
    both = (committed, fresh)
    timed_in = [json.loads((report / "data" / document_checks.TIMED).read_text(encoding="utf-8")) for report in both]
    tables = timed_in[0]["tables"] | timed_in[1]["tables"]
    of_time = {*timed_in[0]["figures"], *timed_in[1]["figures"], document_checks.TIMED.partition(".")[0]}
    for name, held in tables.items():  # which rows there are, and whether there is such a table, is a matter of times
        header = next(read(path)[0] for report in both if (path := report / "data" / f"{name}.csv").exists())
        of_time |= {name} if set(header) == set(held["columns"]) else set()
    found = []
    for folder in ("data", "figures"):
        names = [
            {p.name for p in (report / folder).iterdir() if p.name.startswith(kept) and p.stem not in of_time}
            for report in both
        ]
        found += [f"{folder}/{name} is only in one of them" for name in sorted(names[0] ^ names[1])]
    alike = _units_of(committed) == _units_of(fresh)
    for path in sorted((committed / "data").glob("*.csv")):
        other = fresh / "data" / path.name
        if other.exists() and path.name.startswith(kept) and path.stem not in {*of_time, MACHINE}:
            line = _first(read(path), read(other), tables.get(path.stem, {}), alike)
            found += [f"data/{path.name}: {line}"] if line else []
    return found


def _units_of(report: Path) -> str:
    """What the table of the machine says of its vector units."""
    path = report / "data" / f"{MACHINE}.csv"
    return dict(row[:2] for row in read(path)).get(UNITS, "") if path.exists() else ""


def _first(old: list[list[str]], new: list[list[str]], held: dict[str, Any], alike: bool) -> str:
    """The first difference of two tables, "" if there is none.

    `held` are the places of times; only verdicts are compared if the machines are not `alike`.
    """
    if old[:1] != new[:1]:
        return f"columns {old[:1]} became {new[:1]}"
    if not alike:
        old, new = (
            [[x for x, name in zip(row, old[0], strict=True) if name == VERDICT] for row in t] for t in (old, new)
        )
    if len(old) != len(new) and (alike or old[0]):
        return f"{len(old) - 1} rows became {len(new) - 1}"
    skipped = {j for j, column in enumerate(old[0]) if column in held.get("columns", ())}
    cells = {(i + 1, j) for i, j in held.get("cells", ())}
    rows = [
        [["" if j in skipped or (i, j) in cells else cell for j, cell in enumerate(row)] for i, row in enumerate(table)]
        for table in (old, new)
    ]
    if skipped:  # rows may be in the order of their times
        rows = [sorted(table) for table in rows]
    for i, (a, b) in enumerate(zip(*rows, strict=False)):
        for column, x, y in zip(old[0], a, b, strict=True):
            if not same_text(x, y):
                return f"row {i}, {column}: {x[:200]!r} became {y[:200]!r}"
    return ""


def test_the_committed_report_is_up_to_date(fresh: Path) -> None:
    found = differences(COMMITTED, fresh, KEPT)
    lines = "\n".join(found[:40])
    link = "python benchmarks/committed_reports.py link reports/papers"
    assert not found, f"Write it again: gaussopt papers --jobs 2 --pdf --out reports/papers && {link}\n{lines}"


@pytest.mark.parametrize("number", ["C5", "C6", "C7", "C8", "C9"])
def test_full_and_quick_checks_agree(outcomes: dict[str, JobOutcome], number: str) -> None:
    full, quick = ledger.judgements(outcomes)[number], ledger.check(number, True)
    assert isinstance(full, Judgement)
    assert full.verdict is EXPECTED[number]
    assert [d.holds for d in full.derivations] == [d.holds for d in quick.derivations]
    assert [s.refutes for s in full.searches] == [s.refutes for s in quick.searches]
    assert full.conditions.startswith(quick.conditions[:40])


@pytest.mark.parametrize("number", EXPECTED)
def test_the_numbers_of_a_quick_run_lie_in_the_bands_of_table_1(judged: Judged, number: str) -> None:
    (verdict, stated), quick = other_seeds.table()[number], judged(number)
    assert str(quick.verdict) == verdict
    found = quick.reason
    if number == "C11":  # it ends earlier, where the main document states the range for the same and more seeds
        text = (COMMITTED / "index.md").read_text(encoding="utf-8")
        end, high = f"{quick.numbers['end']:g}", quick.numbers["high"]
        ((least, largest),) = re.findall(rf"([\d.]+) to ([\d.]+) % \([\d.]+ % in the median\) after {end} s", text)
        assert float(least) <= high <= float(largest) * 1.05
        (whole,) = re.findall(r"over [\d.]+ s the", stated)
        (most,) = re.findall(r"roughly [\d.]+ %", stated)
        found = found.replace(f"over {end} s the", whole).replace(f"roughly {high:.2g} %", most)
    assert other_seeds.outside(stated, found) == []


@pytest.mark.parametrize(
    ("stated", "found", "right"),
    [
        ("about 87 times", "about 88 times", True), ("about 87 times", "about 99 times", False),
        ("87 times", "88 times", False), ("roughly 23 %", "roughly 12 %", True),
        ("roughly 23 %", "roughly 49 %", False), ("3e-15 of", "2e-12 of", True),
        ("3e-15 of", "2e-9 of", False), ("of 500 random bodies", "of 60 random bodies", True),
        ("of 500 bodies", "of 60 bodies", False), ("−48.5 rad/s", "48.5 rad/s", False), ("for 3", "by 3", False),
    ],
)  # fmt: skip
def test_bands(stated: str, found: str, right: bool) -> None:
    assert (other_seeds.outside(stated, found) == []) is right


def test_the_committed_pages_are_small_and_show_the_figures_beside_them() -> None:
    shown = set()
    for page in COMMITTED.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert len(text.encode()) < 2_000_000
        assert "base64," not in text
        shown |= set(re.findall('<img src="([^"]*)"', text))
    assert shown
    assert all((COMMITTED / name).is_file() for name in shown)


def test_the_committed_main_document_is_short_and_complete() -> None:
    words = (COMMITTED / "index.md").read_text(encoding="utf-8").split()
    assert len(words) <= 12_000
    printed = (COMMITTED / "paper.pdf").read_bytes()
    assert printed.count(b"/Type /Page\n") <= 15
    assert b"/CIDFontType2" in printed
    assert b"/Type3" not in printed, "journals refuse Type 3 fonts"
    claims = read(COMMITTED / "data" / "claims.csv")
    assert len(claims) == 18
    assert all(len(row[-1].split()) <= 60 for row in claims), "a verdict has no sentence of its own"
    for page in COMMITTED.glob("*.md"):  # a figure that a text names and no page shows
        assert "that this run did not" not in page.read_text(encoding="utf-8")


def test_the_committed_hashes_are_those_of_the_files() -> None:
    assert (COMMITTED / committed_reports.SUMS).read_text(encoding="utf-8") == committed_reports.hashes(COMMITTED)


def test_a_page_is_linked_to_the_figures_beside_it(tmp_path: Path) -> None:
    write(every_block(), tmp_path)
    pages = sorted(tmp_path.glob("*.html"))
    before = [page.read_text(encoding="utf-8") for page in pages]
    assert len(pages) == 2
    assert committed_reports.link(tmp_path) == sum(text.count('src="data:') for text in before)
    for page, old in zip(pages, before, strict=True):
        after = page.read_text(encoding="utf-8")
        assert "img-src 'self'" in after
        shown = re.findall('<img src="([^"]*)"', after)
        assert shown
        assert len(shown) == old.count("<img src=")
        assert all((tmp_path / name).is_file() for name in shown)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("solved", "solved"), ("nan", "nan"), ("inf", "inf"), ("1.0000001", "1.0000002"), ("3e-16", "2e-12"),
        ("0.0", "4e-11"), ("-1.23456789e-3", "-1.23456790e-3"),
        ("wrong by 4.27% on 12 of 30 states", "wrong by 4.28% on 12 of 30 states"),
        ("residual 1.2e-15, rate 8.50", "residual 4.4e-14, rate 8.51"), ("θ = −0.978", "θ = −0.979"),
    ],
)  # fmt: skip
def test_rounding_is_no_difference(a: str, b: str) -> None:
    assert same_text(a, b)
    assert same_text(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("solved", "inaccurate"), ("", "0.0"), ("nan", "0.0"), ("1.00001", "1.00002"), ("3e-16", "2e-9"),
        ("3e-16", "5e-10"), ("2e-9", "3e-9"), ("1e-3", "-1e-3"), ("7 of 12 states", "8 of 12 states"),
        ("rate 8.50", "rate 8.60"), ("residual 1.2e-15", "residual 1.2e-8"), ("C1 is false", "C2 is false"),
        ("true", "true under conditions"), ("x2", "x3"),
    ],
)  # fmt: skip
def test_a_change_is_noticed(a: str, b: str) -> None:
    assert not same_text(a, b)
    assert not same_text(b, a)


def written(folder: Path, rows: list[list[str]]) -> Path:
    for name in ("data", "figures"):
        (folder / name).mkdir(parents=True)
    parts = {"figures": [], "tables": {"t": {"columns": ["seconds"], "cells": [[1, 0]]}}}
    (folder / "data" / document_checks.TIMED).write_text(json.dumps(parts), encoding="utf-8")
    with (folder / "data" / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["what", "error", "seconds"], *rows])
    return folder


def test_files_columns_and_rows_are_compared_and_times_are_not(tmp_path: Path) -> None:
    old = written(tmp_path / "old", [["a", "1e-3", "0.1"], ["took 3 s", "2e-3", "0.2"], ["b", "3e-3", "0.3"]])
    same = written(tmp_path / "same", [["b", "3e-3", "0.1"], ["took 4 s", "2e-3", "0.2"], ["a", "1e-3", "0.3"]])
    assert differences(old, same) == []
    other = written(tmp_path / "other", [["a", "1.1e-3", "0.3"], ["took 4 s", "2e-3", "0.1"], ["b", "3e-3", "0.4"]])
    assert differences(old, other) == ["data/t.csv: row 1, error: '1e-3' became '1.1e-3'"]
    shorter = written(tmp_path / "shorter", [["a", "1e-3", "0.3"]])
    (shorter / "figures" / "new.svg").write_text("", encoding="utf-8")
    assert differences(old, shorter) == [
        "figures/new.svg is only in one of them", "data/t.csv: 3 rows became 1",
    ]  # fmt: skip


def test_on_other_vector_units_only_verdicts_are_compared(tmp_path: Path) -> None:
    old, new = (
        written(tmp_path / name, [["a", "1e-3", "0.1"], ["took 3 s", "2e-3", "0.2"]]) for name in ("old", "new")
    )
    for folder, error, verdict, units in ((old, "1e-3", "true", "V3"), (new, "2e-3", "false", "V4")):
        (folder / "data" / "claims.csv").write_text(f"error,verdict\n{error},{verdict}\n")
        (folder / "data" / "environment.csv").write_text(f"what,version\nvector units,{units}\n")
    assert differences(old, new) == ["data/claims.csv: row 1, verdict: 'true' became 'false'"]
