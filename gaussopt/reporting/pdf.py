"""A page of a report as PDF, printed by a browser's command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from gaussopt.core.errors import BadInput, MissingBackend

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
"""Names under which Chromium and its relatives are looked for."""

SECONDS = 300
"""A browser that takes longer hangs."""


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
    """Print a page into a file and return the path of it; raises BadInput with what the browser said if it fails."""
    pdf.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as profile:  # not that of a browser that is open now
        command = [
            browser, "--headless", f"--user-data-dir={profile}", "--no-pdf-header-footer",
            f"--print-to-pdf={pdf.resolve()}", page.resolve().as_uri(),
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium has no sandbox for the superuser
            command.insert(1, "--no-sandbox")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            said = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        except (OSError, subprocess.TimeoutExpired) as error:
            said = [str(error)]
    if not pdf.is_file():
        raise BadInput(f"{browser} did not print {page}: {said[0]}.")
    return pdf
