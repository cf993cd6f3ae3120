"""Load problems of a built collection, chosen by their properties."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.collected_problems.check_proofs import KINDS
from gaussopt.comparison.file_sources import index_of, read_member
from gaussopt.core.arrays import Vector
from gaussopt.core.display import About, counted, shown
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.files import read_json
from gaussopt.kinds.files import Problem, parse


@shown
@dataclass(frozen=True, eq=False)
class CollectionProblem:
    """A problem of the collection; its files are read at each access to their contents.

    Attributes
    ----------
    folder : folder of the collection
    row : the row of the index: name, group, kind, n, class, answers, condition, ...; see README.md in the folder
    """

    folder: Path
    row: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the problem."""
        return str(self.row["name"])

    @property
    def problem(self) -> Problem:
        """The problem, for `go.solve`; raises BadInput if the file is damaged."""
        return parse(self._files[0])

    @property
    def answer(self) -> dict[str, Vector]:
        """The answer: x and y of a quadratic program, z of an LCP, or contact impulses r; empty if there is none."""
        found = self._files[0]
        return {name: np.array(found[name]) for name in KINDS[found["kind"]][0] if name in found}

    @property
    def difficulty(self) -> tuple[int, int] | None:
        """Numbers of solvers without a right answer, and of all solvers considered, as measured; None if unknown."""
        found = read_json(self.folder / "difficulty.json").get(self.name)
        return (int(found[0]), int(found[1])) if found else None

    @property
    def proof(self) -> dict[str, Any]:
        """The proof, as `check_proofs.py` reads it."""
        return self._files[1]

    @property
    def _files(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return read_member(self.folder, dict(self.row))

    def _about(self) -> About:
        size = counted(self.row["n"], "unknown")
        return About(f"{self.name}: {self.row['kind']}, {size}", (self.row["origin"],), list(self.row.items()))


def collection(
    folder: str | os.PathLike[str], name: str = "*", *, unknowns: tuple[int, int] | None = None,
    withdrawn: bool = False, **properties: Any,
) -> list[CollectionProblem]:  # fmt: skip
    """Return problems of a collection that `gaussopt collection build` wrote.

    Parameters
    ----------
    folder : the folder of the collection
    name : pattern of the names, such as "chain-*"
    unknowns : smallest and largest number of unknowns
    withdrawn : whether problems that turned out wrong are included
    **properties : values, or lists of values, of columns of the index: kind="lcp", answers=["one", "several"],
        sequence=True, group="lcp-murty"; the column "class" is called `matrix_class`

    Raises
    ------
    UnknownName, BadInput
        For a property that the index does not have, or a folder without an index.
    """
    where = Path(folder)
    rows = index_of(where)
    if "matrix_class" in properties:
        properties["class"] = properties.pop("matrix_class")
    if unknown := [key for key in properties if key not in rows[0]]:
        raise UnknownName("property in the index of a collection", unknown[0], rows[0])
    low, high = unknowns or (0, np.inf)
    if low > high:
        raise BadInput(f"unknowns is {unknowns}; give the smallest number first.")
    wanted = {
        key: [value] if isinstance(value, str) or not isinstance(value, Sequence) else value
        for key, value in properties.items()
    }
    return [
        CollectionProblem(where, row) for row in rows
        if fnmatch(row["name"], name) and low <= row["n"] <= high and (withdrawn or not row["withdrawn"])
        and all(row[key] in values for key, values in wanted.items())
    ]  # fmt: skip
