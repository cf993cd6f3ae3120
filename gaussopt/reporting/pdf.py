"""PDF of a report page, printed by a browser from the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from gaussopt.animation.marks import OUTLINE
from gaussopt.core.errors import BadInput, MissingBackend
from gaussopt.plotting.svg import encoded

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
"""Executable names of Chromium and similar browsers, in the order of the search."""

SECONDS = 300
"""Seconds after which a browser counts as hanging."""


def find_browser() -> str:
    """Return the path of a browser that can print; raises MissingBackend if none is found."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        names = ", ".join(BROWSERS)
        raise MissingBackend(
            f"No browser can print the PDF: none of {names} is on PATH. Install one, or leave out --pdf."
        )
    return found


def print_page(browser: str, page: Path, pdf: Path) -> Path:
    """Print a self-contained page into a file and return its path; raises BadInput with the browser's message.

    Letters of drawings lose their white outline in print, since browsers write outlined letters as Type 3 fonts.
    """
    pdf.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as own:  # a new profile, not that of a running browser
        printed = Path(own) / page.name
        text = page.read_text(encoding="utf-8").replace(OUTLINE, "").replace(encoded(OUTLINE), "")
        printed.write_text(text, encoding="utf-8")
        command = [
            browser, "--headless", f"--user-data-dir={own}/profile", "--no-pdf-header-footer",
            f"--print-to-pdf={pdf.resolve()}", printed.as_uri(),
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium's sandbox does not work for the superuser
            command.insert(1, "--no-sandbox")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            said = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        except (OSError, subprocess.TimeoutExpired) as error:
            said = [str(error)]
    if not pdf.is_file():
        raise BadInput(f"{browser} did not print {page}: {said[0]}.")
    return pdf
