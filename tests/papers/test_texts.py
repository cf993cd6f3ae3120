"""Texts of the report in Markdown: what a file means, and that every entry of every file is used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gaussopt.papers.claim import ClaimVerdict, Judgement
from gaussopt.papers.texts import ChapterTexts, ClaimTexts, judged_as, number, numbers_of
from gaussopt.reporting.document import Formula, Paragraph, Table, Tex, Timed
from gaussopt.reporting.texts import Texts

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


def test_a_paragraph_without_its_numbers_says_so(tmp_path: Path) -> None:
    (tmp_path / "chapter.md").write_text("# drift\n\nIt is {{worst}} m.\n\n$$ a $$\na\n", encoding="utf-8")
    chapter = ChapterTexts(str(tmp_path / "chapter.py"))
    assert chapter.told("drift", Timed, worst=number(2e-9)) == [
        Paragraph(Timed(r"It is $2\cdot 10^{-9}$ m.")), Formula("a", "a"),
    ]  # fmt: skip
    (paragraph,) = chapter.told("drift", worst=None)
    assert isinstance(paragraph, Paragraph)
    assert "drift" in paragraph.text
    j = Judgement(ClaimVerdict.TRUE, "", (), (), numbers={"worst": 1.0})
    assert (judged_as(j), judged_as("no time")) == ("true", "not computed")
    assert (numbers_of(j, "worst", "least"), numbers_of("no time", "worst")) == (
        {"worst": 1.0, "least": None}, {"worst": None},
    )  # fmt: skip


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
    named = {node.value for node in ast.walk(module) if isinstance(node, ast.Constant)}
    headings = [line.lstrip("# ") for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    assert len(headings) == len(set(headings))
    # The sentence on a verdict is named by the readings that hold.
    assert {h for h in headings if not h.startswith("brief")} - named == set()
