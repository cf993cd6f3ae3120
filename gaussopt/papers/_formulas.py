"""Formulas for the reports: MathML put together from small parts, and those that several papers share."""

from __future__ import annotations

from gaussopt.reporting.document import Formula


def i(name: str) -> str:
    """An identifier."""
    return f"<mi>{name}</mi>"


def n(number: float | str) -> str:
    """A number."""
    return f"<mn>{number}</mn>"


def o(operator: str) -> str:
    """An operator."""
    return f"<mo>{operator}</mo>"


def words(text: str) -> str:
    """Words between formulas, with space around them."""
    return f"<mspace width='1em'/><mtext>{text}</mtext><mspace width='1em'/>"


def gap() -> str:
    """Space between two formulas."""
    return "<mspace width='1em'/>"


def row(*parts: str) -> str:
    """Parts side by side, as one."""
    return f"<mrow>{''.join(parts)}</mrow>"


def sup(base: str, exponent: str) -> str:
    """A power."""
    return f"<msup>{base}{exponent}</msup>"


def sub(base: str, index: str) -> str:
    """An index."""
    return f"<msub>{base}{index}</msub>"


def frac(above: str, below: str) -> str:
    """A fraction."""
    return f"<mfrac>{above}{below}</mfrac>"


def paren(*parts: str) -> str:
    """Parts in parentheses, as one."""
    return row(o("("), *parts, o(")"))


def formula(text: str, *parts: str) -> Formula:
    """A displayed formula with its plain text."""
    return Formula(f"<math display='block'>{''.join(parts)}</math>", text)


T = i("T")
MINIMISE = f"<munder>{i('min')}{i('a')}</munder>"
HALF = frac(n(1), n(2))

GAUSS = formula(
    "min 1/2 a^T M a - a^T (Q - h)   subject to   J a = gamma",
    MINIMISE, HALF, sup(i("a"), T), i("M"), i("a"), o("−"), sup(i("a"), T), o("("), i("Q"), o("−"), i("h"), o(")"),
    words("subject to"), i("J"), i("a"), o("="), i("γ"),
)  # fmt: skip
"""Gauss's principle, multiplied out."""
