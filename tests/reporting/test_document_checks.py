"""Names in a report: links lead somewhere, names occur once."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from report_pages import MOVING, STILL, every_block

from gaussopt.reporting.document import (
    Animation,
    Block,
    Data,
    Document,
    Figure,
    Finding,
    Gallery,
    Items,
    Link,
    Paragraph,
    Section,
    Table,
    Tex,
)
from gaussopt.reporting.document_checks import checked

EMPTY = Table("t", "", ("a",), ())


def figure(name: str) -> Figure:
    return Figure(name, "A curve.", "A curve.", STILL, pd.DataFrame())


def of(*blocks: Block, anchor: str = "s") -> Document:
    return Document("R", "", (), (Section(anchor, "S", blocks),))


def test_a_report_in_order() -> None:
    checked(every_block())
    checked(of(EMPTY, Items((Link("x", "table-t"), Link("y", "s")))))


@pytest.mark.parametrize(
    "document",
    [
        of(Items((Link("x", "nowhere"),))),
        of(Table("t", "", ("a",), ((Link("x", "nowhere"),),))),
        of(Paragraph(Tex("See [#nowhere]."))),
        replace(of(), findings=(Finding("x", "y", "nowhere"),)),
        replace(of(), pages=(replace(of(Items((Link("x", "nowhere"),)), anchor="p"), name="page"),)),
    ],
)
def test_a_link_that_leads_nowhere(document: Document) -> None:
    with pytest.raises(ValueError, match="lead nowhere: nowhere"):
        checked(document)


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (of(EMPTY, EMPTY), "t"),
        (of(EMPTY, Data("t", "", pd.DataFrame())), "data/t.csv"),
        (of(figure("f"), Gallery((figure("f"),))), "f"),
        (of(figure("m-animated"), Animation("m", "", "", MOVING, STILL, pd.DataFrame())), "figures/m"),
        (of(anchor="contents"), "contents"),
        (of(EMPTY, anchor="table-t"), "table-t"),
        (replace(of(), pages=(of(anchor="p"),)), "index"),
        (replace(of(), pages=(replace(of(), name="page"),)), "s"),
        (replace(of(EMPTY), pages=(replace(of(replace(EMPTY, rows=((1,),)), anchor="p"), name="page"),)), "data/t"),
    ],
)
def test_a_name_that_occurs_twice(document: Document, name: str) -> None:
    with pytest.raises(ValueError, match=f"same name: {name}"):
        checked(document)


def test_a_figure_may_stand_on_two_pages() -> None:
    other = replace(figure("f"), caption="Told otherwise.")
    page = replace(of(other, Paragraph(Tex("[#figure-f], [#s]")), anchor="p"), name="page")
    checked(replace(of(figure("f"), Items((Link("x", "p"), Link("y", "page")))), pages=(page,)))


def test_what_a_failed_case_left_out_is_no_lost_link() -> None:
    assert list(checked(of(Paragraph(Tex("See [#figure-f] and [#table-t].")), EMPTY))) == ["data/t.csv"]
