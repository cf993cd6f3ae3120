"""Texts of the report in Markdown: what a file means, and that every entry of every file is used."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gaussopt.papers.chapters import Chapter, ChapterTexts
from gaussopt.papers.claim import ClaimVerdict, Judgement, Reading
from gaussopt.papers.texts import ClaimTexts
from gaussopt.reporting.document import Figure, Formula, Gallery, Paragraph, Table, Tex, Timed
from gaussopt.reporting.texts import Texts, number

PACKAGE = Path(__file__).parents[2] / "gaussopt"
FILES = sorted(file for room in ("papers", "reporting") for file in (PACKAGE / room).rglob("*.md"))

CHAPTER = r"""# C18

Eq. (1)

the square of a norm is a scalar product

## one

It is {{worst:.1e}} in {{tally[all]}}
states, $x_{i}$, seed {{seed}}

## method

By the principle

$$ \min_a a^T
M a $$
min a^T M a,   a free

## words

What the words
mean for {{who}}.

| word | meaning of $\|x\|$ {{who}} |
|---|---|
| one | $x_{i}$ |
"""


@pytest.fixture
def texts(tmp_path: Path) -> ClaimTexts:
    (tmp_path / "chapter.md").write_text(CHAPTER, encoding="utf-8")
    return ClaimTexts(str(tmp_path / "chapter.py"), seed=18)


def test_values_are_written_into_the_text(texts: ClaimTexts) -> None:
    told = texts("one", worst=1e-3, tally={"all": 7})
    assert told == "It is 1.0e-03 in 7 states, $x_{i}$, seed 18"


def test_blocks(texts: ClaimTexts) -> None:
    assert texts.blocks("method") == [
        Paragraph(Tex("By the principle")), Formula(r"\min_a a^T M a", "min a^T M a,   a free"),
    ]  # fmt: skip


def test_table(texts: ClaimTexts) -> None:
    own = texts.table("words", who="us")
    columns = ("word", "meaning of $|x|$ us")
    assert own == Table("words", "What the words mean for us.", columns, (("one", "$x_{i}$"),))
    assert texts.table("words", [("two", 2)], who="us", anchor="other").rows == (("two", 2),)


def test_a_value_of_a_call_comes_before_that_of_the_file(texts: ClaimTexts) -> None:
    assert texts("one", worst=1e-3, tally={"all": 7}, seed=19).endswith("seed 19")


def test_texts_of_users_hold_no_formulas(texts: ClaimTexts) -> None:
    plain = Texts(str(texts.file), str)
    told = plain.table("words", who="$5$", timed=True)
    assert {type(told.caption), *map(type, told.rows[0])} == {str}
    assert told.timed == told.columns


def test_claim(texts: ClaimTexts) -> None:
    claim = texts.claim("C18", "004", lambda quick: pytest.fail("not checked here"), 1.0)
    assert (claim.where, claim.says, claim.reading) == ("Eq. (1)", "the square of a norm is a scalar product", "")


TEMPLATE = r"""# lead

It is {{C1[worst]:~}} m.

# drift: The drift

## verdict C1

## first if C1 is no

It falls.

$$ a $$
a

## second if C1 is no

It falls by {{worst:.1f}} m.

## told

So it is {{word}}.

## figure curve, beside

With {{word}}.

# found curve in drift

It is {{C1[worst]:~1}}.

# words

## unread

{{nothing}}
"""


def chapter(folder: Path, holds: bool | None, **values: Any) -> Chapter:
    (folder / "chapter.md").write_text(TEMPLATE, encoding="utf-8")
    j = Judgement(
        ClaimVerdict.FALSE, "It rises.", (), (), numbers={"worst": 2e-9}, times_decide=True,
        readings=() if holds is None else (Reading("it falls", holds), Reading("it rests", True)),
    )  # fmt: skip
    drawn = Figure("curve", "of the supplement", "A curve.", "<svg></svg>", pd.DataFrame({"a": [1]}))
    judged: dict[str, Judgement | str] = {"C1": "no time" if holds is None else j}
    return ChapterTexts(str(folder / "chapter.py")).chapter("000", judged, values, {"curve": drawn})


def test_a_template_is_filled(tmp_path: Path) -> None:
    found = chapter(tmp_path, False, worst=1.25, word="so")
    (part,) = found.section.sections
    assert found.section.blocks == (Paragraph(Tex(r"It is $2\cdot 10^{-9}$ m.")),)
    assert (part.anchor, part.title) == ("chapter-000-drift", "The drift")
    verdict, first, formula, second, told, gallery = part.blocks
    assert isinstance(verdict, Paragraph)
    assert "“false”" in verdict.text
    assert [first, formula, second, told] == [
        Paragraph(Timed("It falls.")), Formula("a", "a"), Paragraph(Timed("It falls by 1.2 m.")),
        Paragraph(Tex("So it is so.")),
    ]  # fmt: skip
    assert isinstance(gallery, Gallery)
    assert gallery.figures[0].caption == "With so."
    (first_screen,) = found.found
    assert (first_screen, first_screen.figure, first_screen.anchor) == (
        r"It is $2\cdot 10^{-9}$.", "curve", "chapter-000-drift",
    )  # fmt: skip


def test_prose_of_readings_that_do_not_hold_so_is_the_judgements(tmp_path: Path) -> None:
    _, instead, told, _ = chapter(tmp_path, True, worst=1.25, word="so").section.sections[0].blocks
    assert instead == Paragraph(Tex("The verdict is 'false'. It rises."))
    assert told == Paragraph(Tex("So it is so."))


def test_what_was_not_computed_is_said(tmp_path: Path) -> None:
    found = chapter(tmp_path, None, worst=None, word=None)
    said = [b.text for b in (*found.section.blocks, *found.section.sections[0].blocks) if isinstance(b, Paragraph)]
    why = "Not computed in this run, since a case failed:"
    assert said == [
        f"{why} lead (C1[worst]).", "The verdict on claim C1 is not computed: no time", f"{why} second (worst).",
        f"{why} told (word).", f"{why} figure curve, beside (word).",
    ]  # fmt: skip
    assert found.found == ()
    with pytest.raises(KeyError, match="word"):
        chapter(tmp_path, False, worst=1.0)


@pytest.mark.parametrize(
    ("x", "words"),
    [(217.02, "220"), (0.0148, "0.015"), (2.158e7, r"$2.2\cdot 10^{7}$"), (1e-16, "$10^{-16}$"), (0.0, "0")],
)
def test_numbers_of_sentences(x: float, words: str) -> None:
    assert number(x) == words


def test_what_is_missing_is_an_error(texts: ClaimTexts) -> None:
    with pytest.raises(KeyError, match="worst"):
        texts("one", tally={"all": 7})
    with pytest.raises(KeyError, match="two"):
        texts("two")
    with pytest.raises(ValueError, match="unpack"):
        texts.derivation("one", True, worst=1e-3, tally={"all": 7})


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_entry_is_used_and_stands_once(file: Path) -> None:
    module = ast.parse(file.with_suffix(".py").read_text(encoding="utf-8"))
    text = file.read_text(encoding="utf-8")
    if file.name == "chapter.md":  # a template uses its entries itself, up to the words for its values
        text = text.partition("# words\n")[2]
    named = {node.value for node in ast.walk(module) if isinstance(node, ast.Constant)}
    headings = [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]
    assert len(headings) == len(set(headings))
    if re.match(r"c\d\d_", file.name):  # every judgement has a sentence, and rows under the heads of its numbers
        named |= {"sentence", "numbers"}
    # The sentence on a verdict is named by the readings that hold.
    assert {h for h in headings if not h.startswith("brief")} - named == set()
