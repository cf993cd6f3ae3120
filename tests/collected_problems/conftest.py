"""A part of the collection, built once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_once import once

from gaussopt.collected_problems.build import build

GROUPS = (
    "chain-3-open", "chain-300", "repeated-rows-3", "gauss-4", "sliding-4-0.6", "motion-nh-a", "lcp-any", "lcp-murty",
    "lcp-dominant",
    "lcp-subset-sum", "qp-tied", "qp-flat", "contradiction-lcp", "contradiction-infeasible", "contradiction-unbounded",
    "friction-wall-2", "friction-sequence-random-4", "counterexamples-lcp",
)  # fmt: skip


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> Path:
    """The folder of the built groups."""

    def make(folder: Path) -> None:
        folder.mkdir()
        assert build(folder / "collection", GROUPS, archive=True)["groups"] == len(GROUPS)

    return once(tmp_path_factory, "built_collection", make) / "collection"
