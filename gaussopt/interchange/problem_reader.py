"""Problem and answer files of any known format, told by their content and not by their names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gaussopt.core import problem_files
from gaussopt.core.errors import BadInput
from gaussopt.core.files import json_object, read_bytes
from gaussopt.core.problem_files import Problem, check_entries, parse
from gaussopt.interchange import contactbench_npz, fclib, siconos_dat


def read_problem(path: str | os.PathLike[str]) -> Problem:
    """Step data, a program or contacts from a JSON file, or contacts from a file of another code.

    Known are FCLIB's HDF5 files, Siconos' text files and ContactBench's NumPy archives. Raises BadInput.
    """
    content = read_bytes(path)
    try:
        if content.startswith(fclib.MAGIC):
            return _told(fclib.read, content)
        if content.startswith(contactbench_npz.MAGIC):
            return _told(contactbench_npz.read, content)
        head = content[:4096].lstrip()
        if head[:1].isdigit():
            return _told(siconos_dat.read, _text(content))
        return parse(json_object(content, path))
    except BadInput as error:
        text = str(error)
        raise BadInput(text if text.startswith((f"{path}", "Cannot read")) else f"{path}: {text}") from None


def _told(read: Any, content: Any) -> Problem:
    """What a reader finds; its complaints as sentences."""
    try:
        found: Problem = read(content)
    except BadInput as error:
        text = str(error)
        raise BadInput(text if text.endswith(".") else f"{text}.") from None
    return found


def _text(content: bytes) -> str:
    try:
        return content.decode("ascii")
    except UnicodeDecodeError:
        raise BadInput("it begins with a number and is no text.") from None


def read_answer(path: str | os.PathLike[str], problem: Problem) -> dict[str, Any]:
    """The entries of an answer, in JSON or in the solution of an FCLIB file; raises BadInput."""
    content = read_bytes(path)
    if not content.startswith(fclib.MAGIC):
        return problem_files.read_answer(path, problem)
    try:
        found: dict[str, Any] = fclib.read_solution(content)
        check_entries(found, "answer to a contact problem")
    except BadInput as error:
        raise BadInput(f"{path}: {str(error).rstrip('.')}.") from None
    return found


def members(folder: Path) -> list[Path]:
    """The files of a folder in the order of their names, hidden ones and texts about them left out; raises BadInput."""
    found = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    kept = [file for file in found if file.suffix.lower() not in (".md", ".txt", ".csv", ".html")]
    if not kept:
        raise BadInput(f"The folder {folder} holds no problem files.")
    return kept
