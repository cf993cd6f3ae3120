"""Files and folders as sources: programs, contact problems with friction cones, and groups of a built collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.comparison.items import Data, Item
from gaussopt.comparison.records import StepSource
from gaussopt.comparison.spec import Spec, check_digest
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import BadInput
from gaussopt.core.files import inside, json_object, read_bytes, read_json
from gaussopt.core.programs import QP
from gaussopt.interchange.problem_reader import members, read_problem
from gaussopt.interchange.quadratic import PARQUET, read_set
from gaussopt.kinds import page_of
from gaussopt.kinds.files import parse
from gaussopt.storage.checksums import digest_of


@dataclass(frozen=True, slots=True)
class ContactFiles(Spec):
    """Contact problems, u = W r + q, from files in the order of their names; `digests` are those of the files.

    `rows` is the order of the rows of a contact, see `read_problem`; `part` is the name of a file within a folder.
    """

    name: str
    paths: Sequence[str]
    digests: Sequence[str]
    rows: str | None = None
    part: str = ""

    @classmethod
    def of(cls, path: str | Path, note: Callable[[str], None] | None = None, rows: str | None = None) -> ContactFiles:
        """Read and check a file, or all files of a folder; raises BadInput.

        A file of a folder that holds no contacts is left out, and `note` is called with a sentence on it.
        """
        where = Path(path).resolve()
        if not where.exists():
            raise BadInput(f"There is no file or folder {path}.")
        kept = {}
        for file in map(str, members(where) if where.is_dir() else [where]):
            digest = digest_of(read_bytes(file))
            try:
                _read(file, digest, rows)
                kept[file] = digest
            except BadInput as error:
                if note is None or not where.is_dir():
                    raise
                note(f"{Path(file).name} is left out: {error}")
        if not kept:
            raise BadInput(f"The folder {path} holds no contacts with friction cones.")
        return cls(where.stem, tuple(kept), tuple(kept.values()), rows)

    @property
    def source(self) -> StepSource:
        """The folder, or the file."""
        return StepSource("contact", self.name, self.part)

    @property
    def parts(self) -> tuple[ContactFiles, ...]:
        """Each file as a separate source, since the problems are unrelated."""
        if len(self.paths) == 1:
            return (self,)
        return tuple(
            replace(self, paths=(path,), digests=(digest,), part=Path(path).name)
            for path, digest in zip(self.paths, self.digests, strict=True)
        )

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files."""
        return tuple(Path(path).name for path in self.paths)

    @property
    def has_cones(self) -> bool:
        """True, because all problems have friction cones."""
        return True

    def items(self) -> tuple[Item, ...]:
        """Return one problem for each file; raises BadInput if a file has changed."""
        for path, digest in zip(self.paths, self.digests, strict=True):
            check_digest(Path(path), digest)
        return tuple(
            Item(_read(path, digest, self.rows)) for path, digest in zip(self.paths, self.digests, strict=True)
        )

    def typical(self) -> ConeComplementarity:
        """Return the problem of the first file."""
        return _read(self.paths[0], self.digests[0], self.rows)


@cache
def _read(path: str, digest: str, rows: str | None) -> ConeComplementarity:
    found: Any = read_problem(path, rows)
    if page_of(found).formulations != "contact":
        raise BadInput(f"{path} holds no contacts with friction cones.")
    local: ConeComplementarity = found.local
    return local


@dataclass(frozen=True, slots=True)
class ProgramFile(Spec):
    """A QP, LCP or step from a file; `digest` pins the contents of the file.

    Attributes
    ----------
    kind : kind of the source: "qp", "lcp" or "file"
    part : name of the folder or file of the set that the program belongs to, "" for a single file
    row : name of the program in a file of several programs
    """

    path: str
    digest: str
    kind: str
    part: str = ""
    row: str = ""

    @classmethod
    def of(cls, path: str | Path) -> ProgramFile:
        """Read and check a file; raises BadInput."""
        found = _load(str(Path(path).resolve()))
        if page_of(found).formulations == "contact":
            raise BadInput(f"{path} holds contacts with friction cones; name it with --contact.")
        kind = "qp" if page_of(found).name == "qp" else "file"
        return cls(str(Path(path).resolve()), digest_of(read_bytes(Path(path))), kind)

    @property
    def source(self) -> StepSource:
        return StepSource(self.kind, self.row or Path(self.path).stem, self.part)

    def typical(self) -> Data:
        check_digest(Path(self.path), self.digest)
        found: Data = _load(self.path, self.row, self.digest)
        return found


@lru_cache(maxsize=8)
def _load(path: str, row: str = "", digest: str = "") -> Any:
    if not row:
        return read_problem(path)
    found = _set(path, digest)[row]
    if isinstance(found, BadInput):
        raise found
    return found


@lru_cache(maxsize=1)
def _set(path: str, digest: str) -> dict[str, QP | BadInput]:
    """Return the programs of a Parquet file; they are cached by the digest of the file."""
    return read_set(read_bytes(path))


def programs_of(place: str | Path, note: Callable[[str], None]) -> list[Spec]:
    """Return the programs of a folder, or of a Parquet file such as qpbenchmark writes, each as its own source.

    All files of contacts with friction cones form one source. `note` is called with a sentence on each file that is
    left out; BadInput is raised if all are left out.
    """
    where = Path(place).resolve()
    found: list[Spec] = []
    contacts = False
    for file in members(where) if where.is_dir() else [where]:
        try:
            content = read_bytes(file)
            if content.startswith(PARQUET):
                digest = digest_of(content)
                programs = _set(str(file), digest)
                for error in (x for x in programs.values() if isinstance(x, BadInput)):
                    note(f"{file.name} is read without a program: {error}")
                whole = [row for row, x in programs.items() if not isinstance(x, BadInput)]
                found += [ProgramFile(str(file), digest, "qp", where.stem, row) for row in whole]
                continue
            problem = read_problem(file)
            page = page_of(problem)
            if page.formulations == "contact":
                contacts = True
                continue
            kind = "file" if page.formulations else page.name
            found.append(ProgramFile(str(file), digest_of(content), kind, where.stem))
        except BadInput as error:
            note(f"{file.name} is left out: {str(error).removeprefix(f'{file}: ').rstrip('.')}.")
    if contacts:
        found.append(ContactFiles.of(where, lambda sentence: None))
    if not found:
        raise BadInput(f"{place} holds no programs that can be read.")
    return found


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
        return bool(self._rows()[0]["sequence"])

    @property
    def has_cones(self) -> bool:
        """Whether the problems are contact problems with friction cones."""
        return bool(self._rows()[0]["kind"] == "contact")

    def _rows(self) -> tuple[dict[str, Any], ...]:
        return _rows(self.folder, self.group, self.digest)

    def items(self) -> tuple[Item, ...]:
        """Return the problems; an answer that is proved to be the only one is the reference."""
        check_digest(Path(self.folder) / INDEX, self.digest)
        return tuple(_item(Path(self.folder), row) for row in self._rows())

    def typical(self) -> Data:
        """Return the first problem."""
        return _item(Path(self.folder), self._rows()[0]).data


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
def _rows(folder: str, group: str, digest: str) -> tuple[dict[str, Any], ...]:
    """Return the rows of a group, without withdrawn problems, cached by the digest of the index."""
    return tuple(row for row in index_of(Path(folder)) if row["group"] == group and not row["withdrawn"])


def _item(folder: Path, row: dict[str, Any]) -> Item:
    problem, _ = read_member(folder, row)
    data: Any = parse(problem)
    answer = problem.get(next(iter(page_of(data).answer_sizes(data))))
    return Item(data, np.array(answer, dtype=float) if row["answers"] == "one" else None)
