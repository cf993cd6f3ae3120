"""Chapters on the papers: they build from what was computed, and say so where a case failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gaussopt.papers import ledger
from gaussopt.papers.chapters import Chapter
from gaussopt.papers.claim import Judgement
from gaussopt.papers.p000_least_squares import chapter as chapter_000
from gaussopt.papers.p000_least_squares import motions as motions_000
from gaussopt.papers.p001_friction import atlas_section
from gaussopt.papers.p001_friction import chapter as chapter_001
from gaussopt.papers.p001_friction import section as section_001
from gaussopt.papers.p002_singular_mass import chapter as chapter_002
from gaussopt.papers.p002_singular_mass import section as section_002
from gaussopt.papers.p004_quasi_velocities import chapter as chapter_004
from gaussopt.papers.p004_quasi_velocities import motions as motions_004
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Figure, Paragraph, Table, blocks_of

CHAPTERS: dict[str, ModuleType] = {"000": chapter_000, "001": chapter_001, "002": chapter_002, "004": chapter_004}
NEEDED = {
    "000": (motions_000.cases, ("motion: exact", "eq. (16): ", "erratum 000-6")),
    "001": (section_001.cases, ("two-bar-contact: ", "energy: ", "erratum 001-5")),
    "002": (section_002.cases, ("motion: constant torque", "penalty", "noise: ", "erratum 002-3")),
    "004": (motions_004.cases, ("NH-B: Routh, tan row", "NH-A, RK4, 0.01 s: ", "spread: ", "erratum 004-1")),
}
"""The cases that a chapter draws on, by the beginning of their keys."""

FIGURES = {
    "000": {"paper-000-drawing", "paper-000-equation-16", "paper-000-operations", "paper-000-turning"},
    "001": {
        "paper-001-drawing-rod", "paper-001-drawing-bars", "paper-001-forces-over-angle", "atlas-two-bar-qp-sliding",
        "paper-001-energy", "paper-001-figure-5",
    },
    "002": {"paper-002-drawing", "paper-002-figure-4", "paper-002-figure-5", "paper-002-noise"},
    "004": {"paper-004-drawing", "paper-004-two-steps", "paper-004-NH-A-violation", "paper-004-spread"},
}  # fmt: skip


@pytest.fixture(scope="module")
def outcomes(papers_outcomes: Mapping[str, JobOutcome]) -> dict[str, dict[str, JobOutcome]]:
    found = {
        number: {c.key: papers_outcomes[f"{number}: {c.key}"] for c in cases(True) if c.key.startswith(keys)}
        for number, (cases, keys) in NEEDED.items()
    }
    found["001"] |= {c.key: papers_outcomes[c.key] for c in atlas_section.cases(True)}
    return found


@pytest.fixture(scope="module")
def judged(papers_outcomes: Mapping[str, JobOutcome]) -> dict[str, Judgement | str]:
    return ledger.judgements(papers_outcomes)


@pytest.fixture(scope="module")
def chapters(outcomes: Mapping[str, Any], judged: dict[str, Judgement | str]) -> dict[str, Chapter]:
    return {number: module.chapter(outcomes[number], judged, True) for number, module in CHAPTERS.items()}


def words(found: Chapter) -> str:
    blocks = blocks_of([found.section])
    return "\n".join([*(b.text for b in blocks if isinstance(b, Paragraph)), *found.found])


def figures(found: Chapter) -> dict[str, str]:
    return {b.name: b.caption for b in blocks_of([found.section]) if isinstance(b, Figure)}


@pytest.mark.parametrize("number", CHAPTERS)
def test_a_chapter_is_whole(chapters: dict[str, Chapter], number: str) -> None:
    found = chapters[number]
    text = words(found)
    assert "Not computed" not in text
    assert figures(found).keys() == FIGURES[number]
    assert all(name in text for name in (f"[#figure-{f}]" for f in FIGURES[number]))
    for claim in (c for c in ledger.ledger() if c.paper == number):
        assert f"laim {claim.id}" in text
    assert 1200 < len(text.split()) + sum(len(c.split()) for c in figures(found).values()) < 2000
    assert len(found.found) == 2
    assert {f.figure for f in found.found if f.figure} <= FIGURES[number]
    assert text.count("$") % 2 == 0
    assert "nan" not in text.split()


@pytest.mark.parametrize("number", CHAPTERS)
def test_what_failed_leaves_sentences(number: str) -> None:
    nothing: dict[str, Judgement | str] = {c.id: "not run" for c in ledger.ledger()}
    found = CHAPTERS[number].chapter({"atlas": JobOutcome(None, "It ran out of time.", 1.0)}, nothing, True)
    assert words(found).count("Not computed in this run") > 5
    assert found.found == ()


def test_numbers_follow_the_outcomes(
    outcomes: Mapping[str, Any], judged: dict[str, Judgement | str], chapters: dict[str, Chapter]
) -> None:
    own = dict(outcomes["000"])
    key = chapter_000.PRINTED_16
    own[key] = JobOutcome(replace(own[key].value, q=own[key].value.q + 100.0), "", 0.0)
    c1 = judged["C1"]
    assert isinstance(c1, Judgement)
    motions = {**c1.numbers["motions"].values, "largest": 77.125}
    changed = judged | {"C1": replace(c1, numbers={**c1.numbers, "motions": motions})}
    before, after = words(chapters["000"]), words(chapter_000.chapter(own, changed, True))
    assert "-20.88" in before
    assert "-20.88" not in after
    assert "79.12" in after
    assert "77.12" in after


def test_prose_stands_only_on_the_evidence_it_describes(
    outcomes: Mapping[str, Any], judged: dict[str, Judgement | str], chapters: dict[str, Chapter]
) -> None:
    c1, c5 = judged["C1"], judged["C5"]
    assert isinstance(c1, Judgement)
    assert isinstance(c5, Judgement)
    holds = {
        k: replace(j, readings=tuple(replace(r, holds=True) for r in j.readings)) for k, j in (("C1", c1), ("C5", c5))
    }
    assert "The masses have disappeared" in words(chapters["000"])
    assert "The masses have disappeared" not in words(chapter_000.chapter(outcomes["000"], judged | holds, True))
    told = words(chapter_001.chapter(outcomes["001"], judged | holds, True))
    assert "no longer holds" not in told
    assert c5.sentence in told


def test_the_atlas_is_whole_and_its_counts_are_those_of_its_data(
    outcomes: Mapping[str, Any], chapters: dict[str, Chapter]
) -> None:
    whole, lines = outcomes["001"]["atlas"].value
    blocks = [b for b in blocks_of([whole]) if isinstance(b, Table | Figure)]
    names = {b.name for b in blocks}
    assert len(names) == len(blocks)
    assert {"table-two-bar", "painleve-signs", "boundaries-two-bar", "atlas-sliding-rod-qp"} <= names
    assert any("riterion η" in line for line in lines)
    figure = next(b for b in blocks if isinstance(b, Figure) and b.name == chapter_001.MAP)
    tensile = int(np.sum(figure.data["qp"] == "tensile"))
    assert tensile > 0
    assert f"lets a contact pull at {tensile}" in lines[0]
    told = words(chapters["001"])
    assert f"lets a contact pull {tensile} times" in " ".join(told.split())


def test_drift_and_heights_are_those_of_the_runs(
    outcomes: Mapping[str, Any], judged: dict[str, Judgement | str]
) -> None:
    key, c11 = "spread: NH-A, tan", judged["C11"]
    assert isinstance(c11, Judgement)
    spread = outcomes["004"][key].value
    drift = replace(spread.drift, position=0.0 * spread.drift.position + 0.5)
    own = outcomes["004"] | {key: JobOutcome(replace(spread, drift=drift), "", 0.0)}
    assert "0.5 m in the median (10 % to 90 %: 0.5 to 0.5 m)" in words(chapter_004.chapter(own, judged, True))
    changed = judged | {"C11": replace(c11, numbers={**c11.numbers, "low": 77.0})}
    assert "by 77 to " in words(chapter_002.chapter(outcomes["002"], changed, True))
