"""A command of the command line, run in the process of the test."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gaussopt.cli.main import run


def call_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a command; standard output must be one JSON object and nothing else."""
    code = run([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)
