"""References of the report and the citation file name the same works."""

from __future__ import annotations

import re
from pathlib import Path

from gaussopt.papers.claim import SOURCES
from gaussopt.papers.sections import appendix
from gaussopt.reporting.document import Items

CITATION = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")


def test_the_software_is_cited_as_its_citation_file_says() -> None:
    own = appendix.entries()[appendix.SOFTWARE]
    for said in (own["title"], own["author"], own["version"]):
        assert said in CITATION
    assert own["note"].removeprefix("License ") in CITATION


def test_papers_have_the_same_titles_and_addresses_everywhere() -> None:
    papers = list(appendix.entries().values())[: len(SOURCES)]
    for paper, source in zip(papers, SOURCES.values(), strict=True):
        assert paper["title"] in CITATION
        assert paper["year"] in source.authors
        if "doi" in paper:
            assert f"doi: {paper['doi']}" in CITATION


def test_every_entry_is_listed_and_written() -> None:
    (items,) = (b for b in appendix.references().blocks if isinstance(b, Items))
    written = appendix.bibtex()
    keys = re.findall(r"^@\w+\{(\w+),$", written, re.MULTILINE)
    assert len(items.items) == len(keys) == len(set(keys)) == len(appendix.entries())
    assert written.count("{") == written.count("}")
    for fields, item in zip(appendix.entries().values(), items.items, strict=True):
        assert all(fields[name] in str(item) for name in ("title", "doi") if name in fields)
