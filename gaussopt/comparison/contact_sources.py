"""Contact problems with friction cones as a source: one file or a folder, in any format that gaussopt reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from gaussopt.comparison.items import Item
from gaussopt.comparison.records import StepSource
from gaussopt.comparison.spec import Spec, check_digest
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import BadInput
from gaussopt.core.files import read_bytes
from gaussopt.interchange.problem_reader import members, read_problem
from gaussopt.kinds import page_of
from gaussopt.storage.checksums import digest_of


@dataclass(frozen=True, slots=True)
class ContactFiles(Spec):
    """Contact problems from files in the order of their names, in local form; `digests` pin the contents of the files.

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
        """True: all problems have friction cones."""
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
