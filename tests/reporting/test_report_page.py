"""The page of a report in a real browser: alone, without errors, for everybody, and what its buttons do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browsers import NARROW, WIDE, Opener, barriers, opener
from report_pages import GROUPED, NASTY, SORTED, every_block, without_times

from gaussopt.reporting.document import Document, Section, Table
from gaussopt.reporting.html.page import write

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(every_block(), tmp_path_factory.mktemp("every"))


@pytest.fixture
def opened(browser: Any) -> Iterator[Opener]:
    """Opens a report, which asks for nothing but itself."""
    with opener(browser) as (open_, asked):
        yield open_
    assert all(url.partition("#")[0].endswith(".html") for url in asked if url.startswith("file:"))


@pytest.fixture(params=["every", "papers_report"])
def report(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found if found.suffix else found / "index.html"


# Colours are those of the scheme and places those of the width: each is looked at once.
@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
def test_no_serious_barrier(opened: Opener, every: Path, viewport: dict[str, int], scheme: str) -> None:
    # The policy of the page lets no foreign script in, the checker's included.
    page = opened(every, viewport, bypass_csp=True, color_scheme=scheme)
    assert barriers(page) == []


def test_no_serious_barrier_in_the_papers(opened: Opener, papers_report: Path) -> None:
    page = opened(papers_report / "index.html", NARROW, bypass_csp=True)
    # The rows of a table are alike, and axe takes its time for each cell.
    page.locator("tbody tr:nth-child(n + 2)").evaluate_all("rows => rows.forEach(row => row.remove())")
    assert barriers(page) == []


def test_readable_without_scripts(opened: Opener, every: Path) -> None:
    page = opened(every, java_script_enabled=False)
    assert page.locator("button").count() == 0
    assert page.locator(".still img").is_visible()
    assert page.locator(".moving").is_hidden()
    assert page.locator("#table-sorted").is_visible()
    assert page.locator("nav ol").first.is_visible()


def test_pictures_have_words_headings_skip_no_level_links_lead_somewhere_and_formulas_are_shown(
    opened: Opener, report: Path
) -> None:
    page = opened(report)
    pictures = page.evaluate("""[...document.querySelectorAll('img, svg, figure')].map(e => e.matches('svg')
        ? e.closest('[role=img]')?.getAttribute('aria-label') : (e.matches('img') ? e : e.querySelector('img')).alt)""")
    assert pictures
    assert all(words and len(words) > 10 for words in pictures)
    levels = page.evaluate("""[...document.querySelectorAll('h1, h2, h3, h4, h5, h6, [role=heading]')]
        .map(e => +(e.getAttribute('aria-level') ?? e.tagName[1]))""")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    inside = page.evaluate("[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash.slice(1))")
    assert all(page.evaluate("ids => ids.map(id => document.getElementById(id) !== null)", inside))
    files = page.evaluate("[...document.querySelectorAll('a:not([href^=\"#\"])')].map(a => a.getAttribute('href'))")
    assert files
    assert all((report.parent / file.partition("#")[0]).is_file() for file in files if "://" not in file)
    sizes = page.evaluate("[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height)")
    hidden = page.evaluate("[...document.querySelectorAll('details:not([open]) math')].length")
    assert sizes
    assert sum(height == 0 for height in sizes) <= hidden
    # What is typed as a formula and is none is shown as typed; the papers have none of these.
    malformed = [r"\frac{a}{", r"\nosuchcommand"] if report.parent.name.startswith("every") else []
    assert page.locator("code.tex").all_inner_texts() == malformed


def test_paper_shows_everything_and_a_phone_scrolls_in_one_direction(opened: Opener, report: Path) -> None:
    page = opened(report, NARROW)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    hidden = page.locator("nav, .play, .tools, .skip")
    assert hidden.evaluate_all("found => found.every(e => !e.checkVisibility())")
    assert page.locator("thead th").evaluate_all("found => found.every(e => e.innerText.trim() !== '')")
    page.set_viewport_size({"width": 680, "height": 900})  # A4 between its margins
    cut = page.evaluate("""[...document.querySelectorAll('.table')].filter(e => e.scrollWidth > e.clientWidth + 1
        && e.querySelectorAll('thead th').length < 20).map(e => e.innerHTML.slice(0, 200))""")
    assert cut == []
    assert page.evaluate("[...document.querySelectorAll('details:not(.long)')].every(d => d.open)")
    # Long tables are left to their files.
    assert page.evaluate("[...document.querySelectorAll('.long')].every(d => !d.checkVisibility())")
    assert page.evaluate("[...document.querySelectorAll('.on-paper')].every(d => d.checkVisibility())")
    assert page.evaluate("[...document.querySelectorAll('.still')].every(e => e.checkVisibility())")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not page.evaluate("[...document.querySelectorAll('.findings details')].some(d => d.open)")
    page.emulate_media(media="screen")
    page.set_viewport_size(NARROW)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # Nothing sticks out of the page that does not scroll by itself.
    out = page.evaluate("""[...document.querySelectorAll('main *')].filter(e => !e.closest('.table, .formula, figure')
        && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 200))""")
    assert out == []


def test_tab_skips_names_are_shown_as_they_are_findings_are_seen_first_and_contents_lead_three_levels_down(
    opened: Opener, every: Path
) -> None:
    page = opened(every)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#main"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    assert page.title() == f"A report on {NASTY}"
    assert page.locator("#blocks p").nth(1).inner_text() == NASTY or NASTY in page.locator("#blocks").inner_text()
    assert page.locator("#table-names tbody th").inner_text() == NASTY
    assert page.locator("#table-names math").count() == 0
    assert page.locator("script").count() == 1
    assert "for 5$." in page.locator("#blocks").inner_text()
    shown = page.locator(".findings li:visible")
    assert shown.count() == 7
    assert shown.last.bounding_box()["y"] < WIDE["height"]
    page.locator(".findings summary").click()
    assert page.locator(".findings li:visible").count() == 11
    assert page.locator(".findings li:visible").nth(7).evaluate("e => e.closest('ol').start") == 8
    page.locator("nav summary:visible").first.click()
    page.locator("nav").get_by_role("link", name="Level 3").click()
    assert page.url.endswith("#deep-1")
    page.locator("nav [aria-current]").wait_for()


def test_pages_lead_to_each_other(opened: Opener, every: Path) -> None:
    page = opened(every)
    assert page.locator(".findings a").all_inner_texts() == ["A subject", "Figure 1", "Table 1", "Other"]
    page.get_by_role("link", name="Other", exact=True).click()
    assert page.url.endswith("further.html#more")
    # A figure of this page's own has a number of its own, one that another page shows has that page's.
    assert page.locator("#table-few td, #table-few tbody th").all_inner_texts()[0].startswith("Figure S1.1, Figure 3, ")
    assert page.locator("#figure-alone figcaption").inner_text().startswith("Figure S1.1. The curve alone")
    page.get_by_role("link", name="Figure 3").click()
    assert page.url.endswith("index.html#figure-right")
    assert page.locator("#figure-right figcaption").inner_text().startswith("Figure 3. ")


def column(page: Any, name: str, j: int) -> list[str]:
    found: list[str] = page.locator(f"#table-{name} tbody tr").evaluate_all(
        "(rows, j) => rows.map(r => r.cells[j].innerText)", j
    )
    return found


def sorter(page: Any, name: str, j: int) -> Any:
    return page.locator(f"#table-{name} thead th").nth(j).locator("button")


def test_numbers_sort_by_all_their_digits_words_as_people_do_and_rows_that_belong_together_stay_so(
    opened: Opener, every: Path
) -> None:
    page = opened(every)
    button, head = sorter(page, "sorted", 1), page.locator("#table-sorted thead th").nth(1)
    before = column(page, "sorted", 0)
    for press in (button.click, partial(button.press, "Enter"), partial(button.press, " ")):
        press()
        assert column(page, "sorted", 0) == ["s10", "Beta", "s9", "alpha"]  # NaN last
        assert head.get_attribute("aria-sort") == "ascending"
        press()
        assert column(page, "sorted", 0) == ["s9", "Beta", "s10", "alpha"]  # and still last
        assert head.get_attribute("aria-sort") == "descending"
        press()
        assert column(page, "sorted", 0) == before == [row[0] for row in SORTED.rows]
        assert head.get_attribute("aria-sort") is None
    sorter(page, "sorted", 0).click()
    assert column(page, "sorted", 0) == ["alpha", "Beta", "s9", "s10"]
    sorter(page, "sorted", 3).click()
    assert column(page, "sorted", 0)[:2] == ["s9", "alpha"]  # numbers before words
    assert page.locator("#table-sorted thead th[aria-sort]").count() == 1
    assert "cost" in page.locator("#status").inner_text()
    sorter(page, "grouped", 0).click()
    assert column(page, "grouped", 3) == ["5", "−1", "3", "9"]
    sorter(page, "grouped", 3).click()
    assert column(page, "grouped", 3) == ["3", "9", "5", "−1"]
    assert len(GROUPED.rows) == 4


def test_rows_are_filtered_by_words(opened: Opener, tmp_path: Path) -> None:
    rows = tuple((f"HS{i}", "nobody" if i % 5 == 0 else "daqp, osqp", float(-i)) for i in range(1, 21))
    groups = tuple(row for i in range(10) for row in ((f"E{i}", float(i)), ("", 10.0 + i)))
    tables = (
        Table("many", "Who solved what.", ("file", "solved by", "value"), rows),
        Table("pairs", "Rows that belong together.", ("erratum", "value"), groups),
        Table("short", "Few.", ("a",), tuple((float(i),) for i in range(8))),
    )
    page = opened(write(Document("Filters", "", (), (Section("s", "Tables", tables),)), tmp_path), bypass_csp=True)
    assert page.get_by_role("searchbox").count() == 2  # what a glance takes in has none
    field = page.get_by_role("searchbox", name="Filter rows: many")
    shown = page.locator("#table-many tbody tr:visible")
    sorter(page, "many", 2).click()
    field.focus()
    page.keyboard.type("NOBODY hs1")
    assert shown.evaluate_all("rows => rows.map(r => r.cells[0].innerText)") == ["HS15", "HS10"]  # still sorted
    assert page.locator("#status").inner_text() == "2 of 20 rows are shown."
    assert barriers(page) == []
    page.keyboard.press("Escape")
    assert shown.count() == 20
    page.get_by_role("searchbox", name="Filter rows: pairs").fill("13")
    kept = page.locator("#table-pairs tbody tr:visible")
    assert kept.evaluate_all("rows => rows.map(r => r.innerText.trim())") == ["E3\t3", "13"]


def test_copy_takes_the_rows_that_are_shown(opened: Opener, tmp_path: Path) -> None:
    table = Table("many", "Numbers.", ("name", "value"), tuple((f"n{i}", float(i)) for i in range(12)))
    page = opened(write(Document("Copies", "", (), (Section("s", "Tables", (table,)),)), tmp_path),
                  permissions=["clipboard-read", "clipboard-write"])  # fmt: skip
    page.get_by_role("searchbox").fill("n1")
    page.get_by_role("button", name="Copy: many").click()
    page.locator("#status", has_text="Copied 3 rows.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "name\tvalue\nn1\t1.0\nn10\t10.0\nn11\t11.0\n"


COPIED = "solver\terror\twhat\tcost $c_N$\tseconds"


@pytest.mark.parametrize("clipboard", ["granted", "missing", "nothing works"])
def test_copy_takes_all_digits(opened: Opener, every: Path, clipboard: str) -> None:
    permissions = ["clipboard-read", "clipboard-write"] if clipboard == "granted" else []
    page = opened(every, permissions=permissions)
    if clipboard != "granted":
        page.evaluate("""() => {
            Object.defineProperty(navigator, 'clipboard', { value: undefined });
            document.addEventListener('copy', () => { window.taken = document.activeElement.value; });
        }""")
    if clipboard == "nothing works":
        page.evaluate("() => { document.execCommand = () => false; }")
    button = page.locator("#table-sorted").locator("xpath=ancestor::*[@class='table-block']").get_by_text("Copy")
    button.press("Enter")
    page.locator("#status:not(:empty)").wait_for()
    said = page.locator("#status").inner_text()
    if clipboard == "nothing works":
        assert "CSV" in said
        return
    assert said == "Copied 4 rows."
    text = page.evaluate("navigator.clipboard.readText()" if clipboard == "granted" else "window.taken")
    lines = text.splitlines()
    assert lines[0] == COPIED
    assert lines[1].split("\t") == ["s10", "1.23456789012e-09", "refuses", "$|x| < 1$", "0.5"]
    assert lines[2].split("\t")[1] == "2000000.0"
    assert page.evaluate("document.activeElement.textContent") == "Copy"


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_motion_plays_when_asked_to(opened: Opener, every: Path, motion: str) -> None:
    page = opened(every, reduced_motion=motion)
    still, moving = page.locator("#figure-motion .still"), page.locator("#figure-motion .moving")
    time = "document.querySelector('#figure-motion svg').getCurrentTime()"
    paused = "document.querySelector('#figure-motion svg').animationsPaused()"
    assert still.is_visible()
    assert moving.is_hidden()
    assert page.evaluate(time) == 0
    player = page.locator("#figure-motion button")
    assert player.inner_text() == "Play"
    player.press("Enter")
    assert still.is_hidden()
    assert moving.is_visible()
    assert player.inner_text() == "Pause"
    page.wait_for_timeout(200)
    assert page.evaluate(time) > 0.05
    player.press(" ")
    assert player.inner_text() == "Play"
    assert page.evaluate(paused)
    page.emulate_media(media="print")
    assert still.is_visible()
    assert moving.is_hidden()


def test_times_are_marked(tmp_path: Path) -> None:
    first, second = (write(every_block(s), tmp_path / str(s)).read_text(encoding="utf-8") for s in (0.125, 0.5))
    assert first != second
    assert without_times(first) == without_times(second)
    assert re.search("0\\.125", without_times(first)) is None
