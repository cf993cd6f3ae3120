"""Read problem and answer files of all known formats, which are recognised by content, not by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gaussopt.core.errors import BadInput
from gaussopt.core.files import json_object, read_bytes
from gaussopt.interchange import contactbench_npz, fclib, quadratic, siconos_dat
from gaussopt.interchange.contact_rows import check_order, reordered
from gaussopt.kinds import files, page_of
from gaussopt.kinds.files import Problem, check_entries, parse


def read_problem(path: str | os.PathLike[str], rows: str | None = None) -> Problem:
    """Return step data, a program or contacts from a JSON file, or a program or contacts from another code's file.

    Known formats are FCLIB's HDF5 files, Siconos' text files and ContactBench's NumPy archives and, for quadratic
    programs, archives of qpsolvers, MATLAB files with P, q, A, l, u, and MPS and QPS files. `rows`, "normal-first" or
    "tangents-first", is the order of a contact's rows in the file, if it is not the usual order of the format; the
    returned problem has the order N, T1, T2. Raises BadInput.
    """
    if rows is not None:
        check_order(rows)
    content = read_bytes(path)
    try:
        found = _read(content, path, rows is not None)
        if rows is None:
            return found
        if page_of(found).formulations != "contact":
            raise BadInput(f"it holds no contacts in space, of which the order of rows would be {rows}.")
        return reordered(found, rows, order_of_format(content))  # type: ignore[arg-type]
    except BadInput as error:
        text = str(error)
        raise BadInput(text if text.startswith((f"{path}", "Cannot read")) else f"{path}: {text}") from None


def order_of_format(content: bytes) -> str:
    """Return the order of contact rows in the format of a file."""
    return "tangents-first" if content.startswith(contactbench_npz.MAGIC) else "normal-first"


def _read(content: bytes, path: str | os.PathLike[str], in_space: bool) -> Problem:
    """Return the problem with its rows in the order that its format prescribes."""
    if content.startswith(fclib.MAGIC):
        return _told(fclib.read, content, in_space)
    if content.startswith(contactbench_npz.MAGIC) and b"mus.npy" in content:
        return _told(contactbench_npz.read, content, in_space)
    if content[:4096].lstrip()[:1].isdigit():
        return _told(siconos_dat.read, _text(content), in_space)
    program = _told(lambda content, _: quadratic.read(content), content, in_space)
    return parse(json_object(content, path)) if program is None else program


def _told(read: Any, content: Any, in_space: bool) -> Problem:
    """Return the result of a reader; if it fails with a message without a full stop, add one."""
    try:
        found: Problem = read(content, in_space)
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
    """Return the entries of an answer in a JSON file or the solution of an FCLIB file; raises BadInput."""
    content = read_bytes(path)
    if not content.startswith(fclib.MAGIC):
        return files.read_answer(path, problem)
    try:
        found: dict[str, Any] = fclib.read_solution(content)
        check_entries(found, ("r", "v"))
    except BadInput as error:
        raise BadInput(f"{path}: {str(error).rstrip('.')}.") from None
    return found


def members(folder: Path) -> list[Path]:
    """Return the files of a folder sorted by name, without hidden files and documentation; raises BadInput."""
    found = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    kept = [file for file in found if file.suffix.lower() not in (".md", ".txt", ".csv", ".html", ".py")]
    if not kept:
        raise BadInput(f"The folder {folder} holds no problem files.")
    return kept
