"""The documentation site: built without a warning, complete, and readable by everybody without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbformat
import pytest
from browsers import NARROW, WIDE, Opener, barriers, opener

import gaussopt as go
from gaussopt import bodies
from gaussopt.core import registry

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
REGISTERED = {"formulation": "formulations", "solver": "solvers", "stepper": "integration.steppers",
              "family": "families"}  # fmt: skip
"""Packages whose entries have a page of the reference each."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as CONTRIBUTING.md says; every tutorial is executed, and a warning is an error."""
    assert find_spec("sphinx"), "Sphinx is not installed: pip install -r requirements-test.lock"
    command = re.search(r"^python (-m sphinx .*) docs docs/_build/html", (ROOT / "CONTRIBUTING.md").read_text(), re.M)
    assert command is not None
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, *command[1].split(), "docs", str(out)],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return out


class Page(HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := given.get(key))}
        target = given.get("href") or given.get("src")
        if target and not target.startswith("data:"):
            self.links.append(target)
            if tag != "a":
                self.fetched.append(target)


def test_the_reference_lists_every_public_name_once() -> None:
    listed = re.findall(r"^   (\w+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)
    assert sorted(name for name in listed if name not in REGISTERED.values()) == sorted(go.__all__)
    parts = re.findall(r"^   bodies\.(\w+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)
    assert sorted([*parts, "Model"]) == sorted(name for name in vars(bodies) if name[0].isupper())


def test_every_link_leads_somewhere_and_nothing_comes_from_a_network(site: Path) -> None:
    pages = {file: Page(file) for file in site.rglob("*.html") if "reports/papers" not in file.as_posix()}
    for name in go.__all__:
        assert f"gaussopt.{name}" in pages[site / "generated" / f"gaussopt.{name}.html"].anchors
    for kind, package in REGISTERED.items():
        for name in registry.names(kind):
            page = site / "generated" / f"gaussopt.{package}.{name.replace('-', '_')}.html"
            assert f"The {kind} " in page.read_text(encoding="utf-8"), page
    for file, page in pages.items():
        assert not [link for link in page.fetched if "//" in link], file
        for link in page.links:
            path, _, anchor = re.sub(r"\?[^#]*", "", link).partition("#")
            if re.match(r"\w+:", path):
                continue
            target = Path(os.path.normpath(file.parent / unquote(path))) if path else file
            assert target.is_file(), f"{file.relative_to(site)}: {link}"
            if anchor and target in pages:
                assert unquote(anchor) in pages[target].anchors | {"top"}, f"{file.relative_to(site)}: {link}"


def test_every_tutorial_is_a_notebook_to_take_away(site: Path) -> None:
    pages = [*(ROOT / "docs" / "tutorials").glob("*.md"), *(ROOT / "docs").glob("tutorial-*.md")]
    assert len(pages) == 11
    for page in pages:
        file = (site / page.relative_to(ROOT / "docs")).with_suffix(".ipynb")
        book = nbformat.read(file, as_version=4)
        nbformat.validate(book)
        code = [cell.source for cell in book.cells if cell.cell_type == "code"]
        text = page.read_text(encoding="utf-8")
        assert len(code) == len(re.findall(r"^```(?:\{code-cell\} )?python$", text, re.M)) - text.count("[remove-cell]")
        assert all(cell in text for cell in code)
        assert not [cell.source for cell in book.cells if re.search(r"\]\((?!http)", cell.source)]
        assert file.name in Page(file.with_suffix(".html")).links


def test_the_gallery_shows_motions_in_space_and_the_code_of_each(site: Path) -> None:
    text = (site / "gallery.html").read_text(encoding="utf-8")
    films = re.findall(r'_animations/([\w-]+)\.html"', text)
    assert {"crank-slider", "heavy-top", "spatial-slider-crank"} <= set(films)
    turned = re.findall(r'<iframe src="_animations/([\w-]+)\.html"', text)
    assert turned == [name for name in dict.fromkeys(films) if go.problem(name).in_space]
    plain = re.sub(r"<[^>]*>", "", text).replace("&quot;", '"')
    assert all(f'go.animate(motion, "{name}.html")' in plain for name in films)


@pytest.fixture
def opened(browser: Any) -> Iterator[Opener]:
    with opener(browser) as (open_, _):
        yield open_


PAGES = ("index", "README", "api", "generated/gaussopt.simulate", "generated/gaussopt.QP", "certificates",
         "how-to-choose", "friction", "gallery", "bibliography", "_modules/index",
         "tutorials/crank-slider", "tutorials/counterexample", "_repository/reports/solvers/index")  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_barrier_and_fits_a_phone(opened: Opener, site: Path, name: str) -> None:
    if name == "gallery":  # the lists beside a page are the same on all
        assert barriers(opened(site / f"{name}.html", WIDE)) == []
    page = opened(site / f"{name}.html", NARROW)
    page.evaluate("document.fonts.ready")
    # A formula that is not understood leaves its marks, and one that does not fit is moved sideways.
    assert (
        page.evaluate("""[...document.querySelectorAll('.formula')].filter(e => e.scrollWidth > e.clientWidth + 1)
        .map(e => e.textContent)""")
        == []
    )
    assert (
        page.evaluate("""[...document.querySelectorAll('article math')].map(e => e.parentElement.textContent)
        .filter(text => text.includes('$'))""")
        == []
    )
    assert (
        page.evaluate("[...document.querySelectorAll('pre')].filter(e => e.scrollWidth > e.clientWidth + 1).length")
        == 0
    )
    # Without a font that has the constants of formulas an index stands on the line.
    assert (
        page.evaluate("""[...document.querySelectorAll('article msub, article msubsup')].filter(e => {
        const [base, index] = [...e.children].map(child => child.getBoundingClientRect());
        return e.children[0].localName === 'mi' && index.bottom < base.bottom + 1; }).map(e => e.textContent)""")
        == []
    )
    page.evaluate("document.querySelectorAll('.sidebar-drawer').forEach(e => e.remove())")
    out = page.evaluate("""[...document.querySelectorAll('article p, article li, article img, article math')]
        .filter(e => !e.closest('.table-wrapper, .formula, .picture, pre'))
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
        .map(e => e.outerHTML.slice(0, 200))""")
    assert out == []
    # The rows of a table are alike, and axe takes its time for each cell.
    page.locator("tbody tr:nth-child(n + 3)").evaluate_all("rows => rows.forEach(row => row.remove())")
    assert barriers(page) == []


def test_the_search_quotes_pages_from_a_local_file(opened: Opener, site: Path) -> None:
    page = opened(site / "index.html")
    page.goto(f"{(site / 'search.html').as_uri()}?q=Kolmogorov")
    quoted = page.locator("#search-results li", has_text="Friction, and why").locator("p.context")
    quoted.wait_for()
    assert "Kolmogorov" in quoted.inner_text()
