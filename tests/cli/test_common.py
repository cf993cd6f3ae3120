"""What the commands share."""

from __future__ import annotations

import pytest

from gaussopt.cli import common
from gaussopt.cli.common import names_of, progress_bar
from gaussopt.core.errors import BadInput


def test_progress_in_lines_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(quick: float) -> list[str]:
        monkeypatch.setattr(common, "QUICK", quick)
        with progress_bar("compare", False, lines=True) as progress:
            assert progress is not None
            for fraction in (0.1, 0.26, 0.27, 0.8, 0.9, 1.0):
                progress(fraction)
        return [line.partition(" done")[0] for line in capsys.readouterr().err.splitlines()]

    assert said(0.0) == ["gaussopt: compare: 26 %", "gaussopt: compare: 80 %"]
    assert said(1e9) == []
    for quiet, lines in ((True, True), (False, False)):
        with progress_bar("compare", quiet, lines=lines) as progress:
            assert progress is None


def test_names() -> None:
    assert names_of(None) is None
    assert names_of("gauss, dual") == ["gauss", "dual"]
    for text in ("", "gauss,,dual", "gauss,"):
        with pytest.raises(BadInput, match="empty"):
            names_of(text)


def test_no_time_is_promised_where_the_rest_may_take_longer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 20.0])
    monkeypatch.setattr("gaussopt.cli.common.time.monotonic", lambda: next(clock))
    with progress_bar("compare", False, lines=True, even=False) as progress:
        assert progress is not None
        progress(0.5)
    assert capsys.readouterr().err == "gaussopt: compare: 50 % of the cases done after 20 s.\n"
