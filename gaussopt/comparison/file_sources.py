"""Files and folders as sources: programs, contact problems with friction cones, and groups of a built collection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.comparison.items import Data, Item
from gaussopt.comparison.records import StepSource
from gaussopt.comparison.spec import Spec, check_digest
from gaussopt.core.errors import BadInput
from gaussopt.core.files import inside, json_object, missing_file, read_bytes, read_json
from gaussopt.core.programs import QP
from gaussopt.interchange.problem_reader import members, read_problem
from gaussopt.interchange.quadratic import PARQUET, read_set
from gaussopt.kinds import page_of
from gaussopt.kinds.files import parse
from gaussopt.storage.checksums import digest_of


@dataclass(frozen=True, slots=True)
class ProgramFile(Spec):
    """A program, a step or contacts with friction cones, u = W r + q, from a file; `digest` pins the file's contents.

    Attributes
    ----------
    kind, name, part : as in `StepSource`; `kind` is "qp", "lcp", "file" or "contact"
    row : name of the program in a file of several programs
    rows : order of the rows of a contact, see `read_problem`
    """

    path: str
    digest: str
    kind: str
    name: str
    part: str = ""
    row: str = ""
    rows: str | None = None

    @property
    def source(self) -> StepSource:
        return StepSource(self.kind, self.name, self.part)

    def typical(self) -> Data:
        check_digest(Path(self.path), self.digest)
        found: Data = _load(self.path, self.digest, self.row, self.rows)
        return found


@lru_cache(maxsize=8)
def _load(path: str, digest: str, row: str = "", rows: str | None = None) -> Any:
    """Return the program, the step, or the contacts in their local form; it is cached by the digest of the file."""
    if not row:
        found: Any = read_problem(path, rows)
        return found.local if page_of(found).formulations == "contact" else found
    return _set(path, digest)[row]


@lru_cache(maxsize=1)
def _set(path: str, digest: str) -> dict[str, QP | BadInput]:
    """Return the programs of a Parquet file; they are cached by the digest of the file."""
    return read_set(read_bytes(path))


def programs_of(
    place: str | Path, note: Callable[[str], None] = lambda sentence: None, rows: str | None = None,
    contacts: bool = False,
) -> list[ProgramFile]:  # fmt: skip
    """Return the programs of a file, folder or Parquet file such as qpbenchmark writes, each as its own source.

    Contacts with friction cones come last. With `contacts` they alone are read, with the rows of a contact in the order
    `rows`. `note` is called with a sentence on each file of a folder, and each program of a Parquet file, that is left
    out. Raises BadInput if all are left out, or if the only file cannot be read.
    """
    where = Path(place).resolve()
    if not where.exists():
        raise BadInput(missing_file(place))
    folder = where.is_dir()
    found: list[ProgramFile] = []
    cones: list[ProgramFile] = []
    for file in members(where) if folder else [where]:
        try:
            content = read_bytes(file)
            given = str(file), digest_of(content)
            if content.startswith(PARQUET) and not contacts:
                for row, program in _set(*given).items():
                    if isinstance(program, BadInput):
                        note(f"{file.name} is read without a program: {program}")
                    else:
                        found.append(ProgramFile(*given, "qp", row, where.stem, row))
                continue
            page = page_of(_load(*given, rows=rows))
            if page.formulations == "contact":
                cones.append(ProgramFile(*given, "contact", where.stem, file.name, rows=rows))
            elif contacts:
                raise BadInput(f"{file} holds no contacts with friction cones.")
            else:
                kind = "file" if page.formulations or (page.name == "lcp" and not folder) else page.name
                found.append(ProgramFile(*given, kind, file.stem, where.stem if folder else ""))
        except BadInput as error:
            if not folder:
                raise
            note(f"{file.name} is left out: {str(error).removeprefix(f'{file}: ').rstrip('.')}.")
    if cones and not (folder or contacts):
        raise BadInput(f"{place} holds contacts with friction cones; name it with --contact.")
    if len(cones) == 1:
        cones = [replace(cones[0], part="")]
    if not found and not cones:
        what = "contacts with friction cones" if contacts else "programs that can be read"
        raise BadInput(f"{place} holds no {what}.")
    return [*found, *cones]


INDEX = "index.json"


@dataclass(frozen=True, slots=True)
class CollectionGroup(Spec):
    """The problems of a group with their answers; `digest` is that of the index, which lists the files' digests."""

    folder: str
    group: str
    digest: str

    @classmethod
    def all_of(cls, folder: str | Path) -> list[CollectionGroup]:
        """Return the groups of a built collection; raises BadInput if the folder holds none."""
        where = Path(folder).resolve()
        names = dict.fromkeys(row["group"] for row in index_of(where))
        return [cls(str(where), name, digest_of(read_bytes(where / INDEX))) for name in names]

    @property
    def source(self) -> StepSource:
        """The source of the group's problems."""
        return StepSource("sequence", self.group, "collection")

    @property
    def follows(self) -> bool:
        """Whether the group's problems are successive steps of a sequence."""
        return bool(_rows(self)[0]["sequence"])

    def items(self) -> tuple[Item, ...]:
        """Return the problems; an answer that is proved to be the only one is the reference."""
        check_digest(Path(self.folder) / INDEX, self.digest)
        return tuple(_item(Path(self.folder), row) for row in _rows(self))

    def typical(self) -> Data:
        """Return the first problem."""
        return _item(Path(self.folder), _rows(self)[0]).data


def index_of(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of the index of a built collection; raises BadInput if there is none."""
    if not (folder / INDEX).is_file():
        raise BadInput(f"{folder} holds no {INDEX}; give a folder that `gaussopt collection build` wrote.")
    rows = read_json(folder / INDEX).get("problems")
    keys = {"name", "group", "kind", "file", "proof", "sequence", "answers", "sha256", "withdrawn"}
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and keys <= row.keys() for row in rows):
        raise BadInput(f"{folder / INDEX} lists no problems; build the collection again.")
    return rows


def read_member(folder: Path, row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the contents of the files of a problem and of its proof; raises BadInput if one has changed."""
    paths = [inside(folder, row[key]) for key in ("file", "proof")]
    contents = [read_bytes(path) for path in paths]
    if digest_of(b"".join(contents)) != row["sha256"]:
        raise BadInput(f"{paths[0]} or its proof is not the file that the index names; build the collection again.")
    problem, proof = (json_object(content, path) for content, path in zip(contents, paths, strict=True))
    return problem, proof


@lru_cache(maxsize=256)
def _rows(of: CollectionGroup) -> tuple[dict[str, Any], ...]:
    """Return the rows of a group, without withdrawn problems, cached by the digest of the index."""
    return tuple(row for row in index_of(Path(of.folder)) if row["group"] == of.group and not row["withdrawn"])


def _item(folder: Path, row: dict[str, Any]) -> Item:
    problem, _ = read_member(folder, row)
    data: Any = parse(problem)
    answer = problem.get(next(iter(page_of(data).answer_sizes(data))))
    return Item(data, np.array(answer, dtype=float) if row["answers"] == "one" else None)
