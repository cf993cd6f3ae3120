"""Names in a report: links lead somewhere, names occur once."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from report_pages import MOVING, STILL, every_block, figure

from gaussopt.reporting.document import (
    Animation,
    Block,
    Data,
    Document,
    Gallery,
    Highlight,
    Items,
    Link,
    Section,
    Summary,
    Table,
)
from gaussopt.reporting.document_checks import check

EMPTY = Table("t", "", ("a",), ())


def of(*blocks: Block, anchor: str = "s") -> Document:
    return Document("R", "", (), (Section(anchor, "S", blocks),))


def test_a_report_in_order() -> None:
    check(every_block())
    check(of(EMPTY, Items((Link("x", "table-t"), Link("y", "s")))))


@pytest.mark.parametrize(
    "document",
    [
        of(Items((Link("x", "nowhere"),))),
        of(Table("t", "", ("a",), ((Link("x", "nowhere"),),))),
        replace(of(), summary=Summary("", EMPTY, (Highlight("x", figure("f"), "nowhere"),))),
    ],
)
def test_a_link_that_leads_nowhere(document: Document) -> None:
    with pytest.raises(ValueError, match="lead nowhere: nowhere"):
        check(document)


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (of(EMPTY, EMPTY), "t"),
        (of(EMPTY, Data("t", "", pd.DataFrame())), "t"),
        (of(figure("f"), Gallery((figure("f"),))), "f"),
        (of(figure("m-animated"), Animation("m", "", "", MOVING, STILL, pd.DataFrame())), "m-animated"),
        (of(anchor="contents"), "contents"),
        (of(EMPTY, anchor="table-t"), "table-t"),
        (replace(of(EMPTY), summary=Summary("", EMPTY, ())), "t"),
    ],
)
def test_a_name_that_occurs_twice(document: Document, name: str) -> None:
    with pytest.raises(ValueError, match=f"same name: {name}"):
        check(document)
