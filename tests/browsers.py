"""A real browser for what the project writes as pages, and what is asked of every page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = ("--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
         "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip

DRIVER = "GL Driver Message (OpenGL, Performance"
"""What the software that draws in space says of its own speed where there is no graphics card."""

PATIENCE = 600e3
"""Milliseconds until a browser that does not answer is given up; a slow machine is no defect of a page."""

WIDE, NARROW = {"width": 1100, "height": 900}, {"width": 390, "height": 844}

Opener = Callable[..., Any]


def chromium(playwright_chromium: str) -> str:
    """Path of a browser: the one asked for, a system's, or playwright's own; "" if there is none."""
    names = ("chromium", "google-chrome", "chromium-browser")
    found = os.environ.get("GAUSSOPT_BROWSER") or next(filter(None, map(shutil.which, names)), "")
    return found or (playwright_chromium if Path(playwright_chromium).is_file() else "")


@contextmanager
def opener(browser: Any) -> Iterator[tuple[Opener, list[str]]]:
    """What opens a page, and the addresses that pages asked for; at the end none was foreign and none complained."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts = []

    def open_(file: Path, viewport: dict[str, int] = WIDE, **options: Any) -> Any:
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("request", lambda r: asked.append(r.url))
        page.on("requestfailed", lambda r: complaints.append(r.url))
        page.on("console", lambda m: complaints.append(m.text) if _is_complaint(m) else None)
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.goto(file.as_uri())
        return page

    yield open_, asked
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert not complaints, complaints


def _is_complaint(message: Any) -> bool:
    return message.type in ("error", "warning") and DRIVER not in message.text


def barriers(page: Any) -> list[Any]:
    """Violations that axe calls serious or critical, with the first elements that have them."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    # Style sheets beside a page are not preloaded: a browser lets no script read files.
    found = Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    return [(v["id"], [n["target"] for n in v["nodes"]][:3]) for v in serious]
