"""Formulas in texts: what becomes MathML, what stays a text, and what Markdown can stand."""

from __future__ import annotations

import re

import pytest
from report_pages import NASTY

from gaussopt.reporting.document import Formula, Link, Table, Tex, Timed, text_of, typeset
from gaussopt.reporting.html.formulas import display, has_formulas, html, malformed, markdown, portable


def test_only_our_own_texts_have_formulas() -> None:
    assert html("$x$") == "$x$"
    assert html(Tex("$x$")) == "<math><mi>x</mi></math>"
    assert html(Timed("in $x$ s")) == "in <math><mi>x</mi></math> s"
    assert not has_formulas("$x$")
    assert not has_formulas(Tex("5 $ and 6 $"))


def test_everything_else_is_escaped() -> None:
    assert html(NASTY) == html(Timed.plain(NASTY))
    assert "<script" not in html(Tex(f"{NASTY} $y$"))
    assert html(Link(NASTY, "x")).startswith('<a href="#x">&lt;script')


@pytest.mark.parametrize(
    "latex",
    [
        r"\frac{a}{", r"a}b", r"x^{2", r"\nosuchcommand", r"\left(", r"\begin{pmatrix}", "^", r"\text{<b>x</b>}",
        r"\href{http://example.org}{y}", r"\style{color:red}{x}", r"\class{a}{x}", r"\text{a & b}",
    ],
)  # fmt: skip
def test_malformed_formulas_fall_back_to_their_text(latex: str) -> None:
    shown = html(Tex(f"before ${latex}$ after"))
    assert "<math" not in shown
    assert "<b>" not in shown
    assert "href" not in re.sub(r"<code.*?</code>", "", shown)
    assert malformed(latex)
    assert markdown(Tex(f"${latex}$")) == f"`{latex}`"
    assert display(Formula(latex, "a < b")) == "a &lt; b"


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\lambda_N^T", "<msubsup><mi>λ</mi><mi>N</mi><mi>T</mi></msubsup>"),
        (r"\tfrac12", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
        (r"\dot q", "<mover><mi>q</mi><mo>˙</mo></mover>"),
        (r"a < b", "<mo>&lt;</mo>"),
        (r"0 \le x \perp y", '<mo lspace="0.278em" rspace="0.278em">⟂</mo>'),
        (r"M^{1/2}", '<mo lspace="0" rspace="0">/</mo>'),
        (r"a = (-2, 1)", '<mo form="prefix" lspace="0" rspace="0">−</mo><mn>2</mn>'),
        (r"a - b", "<mi>a</mi><mo>−</mo>"),
        (r"-\operatorname{sgn} v", '−</mo><mi>sgn</mi><mspace width="0.167em" /><mi>v</mi>'),
        (r"2 \sin \varphi", '<mspace width="0.167em" /><mi>sin</mi><mspace width="0.167em" /><mi>φ</mi>'),
    ],
)
def test_formulas_of_mechanics(latex: str, expected: str) -> None:
    assert expected in html(Tex(f"${latex}$"))
    assert not malformed(latex)


def test_displayed_limits_stand_below() -> None:
    assert "<munder><mi>min</mi><mi>a</mi></munder>" in display(Formula(r"\min_a f", "min f"))
    assert "<msub><mi>min</mi><mi>a</mi></msub>" in html(Tex(r"$\min_a f$"))


def test_long_formulas_may_be_broken_behind_relations() -> None:
    pieces = html(Tex(r"$M a + h = Q + J^T \lambda + J_N^T \lambda_N = f(a, b)$")).split("</math>")[:-1]
    assert [piece.endswith(("<mo>=</mo>", '<mo stretchy="false">)</mo>')) for piece in pieces] == [True] * 3
    assert html(Tex("$a = b$")).count("<math") == 1
    assert display(Formula(r"a = b, \quad c = d", "")).count("<math") == 2


def test_dollar_signs_can_be_written() -> None:
    assert html(Tex(r"5\$ and $x$")) == "5$ and <math><mi>x</mi></math>"
    assert html(Timed.plain("$x$ costs $5")) == "$x$ costs $5"


def test_markdown_keeps_formulas_and_escapes_the_rest() -> None:
    assert markdown(Tex("a|b is $|x| < 1$")) == r"a\|b is $\vert x\vert \lt 1$"
    assert markdown("$x$ <b> [a](b)") == r"\$x\$ \<b\> \[a\](b)"
    assert markdown(Link("C1", "claim-c1")) == "[C1](#claim-c1)"
    assert portable(r"\|x\| > 0") == r"\Vert x\Vert \gt 0"


@pytest.mark.parametrize("text", ["- a", "+ a", "1. a", "12) a", "# a", "a\n# b", "> a", "* a"])
def test_texts_begin_no_block_of_markdown(text: str) -> None:
    assert re.match(r"\s*([-+*#>]|\d+[.)])\s", markdown(text)) is None
    assert "\n" not in markdown(text)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("τ = -0.5 N m, 5e-11", "τ = −0.5 N m, 5e−11"), ("(-2, -.5)", "(−2, −.5)"), ("eps=1e-09", "eps=1e−09"),
        ("crank-A-2s", "crank-A-2s"), ("2020-01-31", "2020-01-31"), ("--3", "--3"), ("eq. (14)-2", "eq. (14)-2"),
    ],
)  # fmt: skip
def test_numbers_have_a_minus_sign(typed: str, shown: str) -> None:
    assert typeset(typed) == html(typed) == shown
    if "e−" not in shown:
        assert html(Tex(f"{typed} $x^{{-1}}$")).startswith(shown)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("to 3.1e-15 at most", r"to $3.1\cdot 10^{-15}$ at most"), ("(-2e-7)", r"($-2\cdot 10^{-7}$)"),
        ("eps=1e+09.", "eps=$10^{9}$."), ("v1e-5 0x1e5 1e5m a.1e5", "v1e−5 0x1e5 1e5m a.1e5"),
    ],
)  # fmt: skip
def test_sentences_show_exponents_as_powers_of_ten(typed: str, shown: str) -> None:
    assert markdown(Tex(typed)) == shown
    assert "$" not in markdown(typed).replace("\\$", "")


def test_numbers_have_the_digits_of_their_column() -> None:
    table = Table("t", "", ("time", "mean", "quantity"), (), timed=("time",), rounded=("mean",))
    shown = [text_of(-63.33333333, digits=table.digits(name)) for name in table.columns]
    assert shown == ["−63.3", "−63.33", "−63.3333"]
    assert text_of(-1.5e-9) == "−1.500e−09"
    with pytest.raises(ValueError, match="no columns"):
        Table("t", "", ("a",), (), rounded=("b",))
