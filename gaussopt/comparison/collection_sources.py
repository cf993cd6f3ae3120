"""Groups of a built collection (`gaussopt collection build`) as sources of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.comparison.items import Data, Item
from gaussopt.comparison.records import StepSource
from gaussopt.comparison.spec import Spec, check_digest
from gaussopt.core.errors import BadInput
from gaussopt.core.files import inside, json_object, read_bytes, read_json
from gaussopt.kinds import page_of
from gaussopt.kinds.files import parse
from gaussopt.storage.checksums import digest_of

INDEX = "index.json"


@dataclass(frozen=True, slots=True)
class CollectionGroup(Spec):
    """The problems of a group, each with its answer; `digest` pins the index, which pins the files."""

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
        """The group."""
        return StepSource("sequence", self.group, "collection")

    @property
    def follows(self) -> bool:
        """Whether the group is a sequence."""
        return bool(self._rows()[0]["sequence"])

    @property
    def has_cones(self) -> bool:
        """Whether the problems are contacts with friction cones."""
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
    """Return the contents of the files of a problem and of its proof; raises BadInput if they are not as built."""
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
