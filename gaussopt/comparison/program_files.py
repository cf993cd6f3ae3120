"""Program files, and folders of program files, as sources, in any format that gaussopt reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from gaussopt.comparison.contact_sources import ContactFiles
from gaussopt.comparison.items import Data
from gaussopt.comparison.records import StepSource
from gaussopt.comparison.spec import Spec, check_digest
from gaussopt.core.errors import BadInput
from gaussopt.core.files import read_bytes
from gaussopt.core.programs import QP
from gaussopt.interchange.problem_reader import members, read_problem
from gaussopt.interchange.quadratic import PARQUET, read_set
from gaussopt.kinds import page_of
from gaussopt.storage.checksums import digest_of


@dataclass(frozen=True, slots=True)
class ProgramFile(Spec):
    """A QP, LCP or step from a file; `digest` pins the contents of the file.

    Attributes
    ----------
    kind : kind of the source: "qp", "lcp" or "file"
    part : name of the folder or file of the set that the program belongs to, "" for a single file
    row : name of the program in a file that holds several
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
    """Return the programs of a Parquet file, cached by the digest of its contents."""
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
