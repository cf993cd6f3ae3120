"""The method on one page: the program of a step, the additions for contact, and what a certificate proves."""

from __future__ import annotations

from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.reporting.document import Section
from gaussopt.reporting.texts import Texts, number

texts = Texts(__file__)

PARTS = (("program", "Gauss's principle as a program"), ("contact", "Contact and friction"),
         ("certificate", "What a certificate says, and what not"))  # fmt: skip


def section() -> Section:
    """Return the section on the program of a step, contact, the certificate, and the symbols of all chapters."""
    values = {"tolerance": number(DEFAULT_TOLERANCE)}
    parts = [Section(f"method-{name}", title, tuple(texts.blocks(name, **values))) for name, title in PARTS]
    symbols = Section("method-symbols", "Symbols", (texts.table("symbols"),))
    return Section("method", "Method and certificate", (), (*parts, symbols))
