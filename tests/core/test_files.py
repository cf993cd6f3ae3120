from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core import files
from gaussopt.kinds import files as problem_files


def test_step_and_qp_files_are_read(tmp_path: Path) -> None:
    step, qp = tmp_path / "step.json", tmp_path / "qp.json"
    step.write_text('{"kind": "step", "M": [[2]], "Q": [1]}')
    qp.write_text('{"kind": "qp", "P": [[2]], "q": [1], "A": [[1]], "l": [null], "u": [3]}')
    loaded_step, loaded_qp = problem_files.load(step), problem_files.load(qp)
    assert isinstance(loaded_step, go.StepData)
    assert loaded_step.M[0, 0] == 2.0
    assert isinstance(loaded_qp, go.QP)
    assert loaded_qp.l[0] == -np.inf


@pytest.mark.parametrize(
    ("content", "culprit"),
    [
        (b"", "not JSON"), (b"M = 3", "line 1, column 1"),
        (b'{"kind": "step", "M": [[1]], "Q": [1', "not JSON"),
        (b"\xff\xfe\x00", "not text"), (b"[1, 2]", "list"), (b'"step"', "str"), (b"{}", "'kind'"),
        (b'{"kind": "spring"}', "'spring'"), (b'{"kind": ["step"]}', "step"), (b'{"kind": null}', "'kind'"),
        (b'{"kind": "step"}', "'M'"),
        (b'{"kind": "step", "M": [[NaN]], "Q": [1]}', "M[0, 0]"),
        (b'{"kind": "step", "M": [[1]], "Q": [Infinity]}', "Q[0]"),
        (b'{"kind": "qp", "P": [[1]]}', "'q'"),
        (b'{"kind": "qp", "P": [[1]], "q": [0], "A": 5}', "A"),
        (b"[" * 100_000, "nested"),
        (b'{"kind": "step", "M": ' + b"1" * 5000 + b"}", "bad.json"),  # more digits than Python's int takes
    ],
)  # fmt: skip
def test_a_file_that_is_no_program_is_named(
    content: bytes, culprit: str, tmp_path: Path, assert_sentence: Callable[..., None]
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(go.BadInput) as caught:
        problem_files.load(path)
    assert_sentence(caught.value, "bad.json", culprit)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path, assert_sentence: Callable[..., None]) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(go.BadInput) as caught:
            problem_files.load(path)
        assert_sentence(caught.value, path.name)


def test_text_is_written_whole_into_a_new_folder(tmp_path: Path) -> None:
    target = tmp_path / "new" / "report.md"
    files.write_text(target, "line 1\nline 2\n")
    assert target.read_bytes() == b"line 1\nline 2\n"
    assert list(target.parent.iterdir()) == [target]


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "taken"
    target.mkdir()
    with pytest.raises(go.BadInput, match="taken"):
        files.write_text(target, "text")
    assert list(tmp_path.iterdir()) == [target]


def test_what_was_written_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    replace, fsync = os.replace, os.fsync

    def synchronise(handle: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def rename(aside: str, target: Path) -> None:
        order.append("rename")
        replace(aside, target)

    monkeypatch.setattr(os, "fsync", synchronise)
    monkeypatch.setattr(os, "replace", rename)
    files.write_bytes(tmp_path / "case", b"\x00")
    assert order == ["file", "rename", "folder"]
    assert (tmp_path / "case").read_bytes() == b"\x00"
    order.clear()
    files.write_text(tmp_path / "figure", "x", durable=False)
    assert order == ["rename"]
