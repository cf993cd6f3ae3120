"""The command line as the tests of wrong and hostile input call it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gaussopt.cli.main import run


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, what --json prints, and standard error."""
    capsys.readouterr()
    code = run([*arguments, "--json"])
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    data: dict[str, Any] = json.loads(shown.out)
    assert "defect" not in shown.err + str(data.get("message"))
    return code, data, shown.err


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence by which a command refuses its input."""
    code, data, _ = call(capsys, *arguments)
    message = str(data["message"])
    assert (code, data["status"]) == (2, "bad_input"), message
    assert message.endswith(".")
    assert "\n" not in message
    return message
