"""Results of a comparison whose checksum is right and whose entries are not: whoever forges them gets a sentence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gaussopt as go
from gaussopt.comparison import results as results_file
from gaussopt.comparison.records import PARTS, Answers, Times
from gaussopt.comparison.records import MotionRecord as Motion
from gaussopt.comparison.records import StepSource as Source
from gaussopt.comparison.results import Results
from gaussopt.storage.checksums import checksum

SOURCE = Source("family", "chain", "", {"links": 3.0}, "links")
LISTS: dict[str, Any] = {k: [0.0] for k in ("certified", "error", "primal", "dual", "gap")}
ANSWERS = Answers(SOURCE, "gauss", "kkt", "cold", True, ["solved"], ["solved"], **LISTS, iterations=[1], size=[1, 0, 0])
TIMES = Times(
    SOURCE, "gauss", "kkt", "cold", {part: [0.0] * 5 for part in PARTS}, [1e-6], 3, [0], harness=0.0, replayed=1.0
)
MOTION = Motion("chain", "gauss", "kkt", "rk4", 0.1, 1.0, "solved", "", 4, 0.0, 0.0, 0.0, 0.0, 0.0)


def written(place: Path, spoil: Callable[[dict[str, Any]], Any]) -> Path:
    """A folder of results, with a right checksum."""
    data = {
        "format": results_file.FORMAT,
        **Results((ANSWERS,), (TIMES,), (MOTION,), {}, {"tolerance": 1e-7}).to_mapping(),
    }
    spoil(data)
    text = json.dumps({**data, "checksum": checksum(data)})
    (place / results_file.FILE).write_bytes(gzip.compress(text.encode()))
    return place


def test_what_was_written_is_read(tmp_path: Path) -> None:
    found = results_file.read_results(written(tmp_path, lambda data: None))
    assert (found.answers, found.times, found.motions) == ((ANSWERS,), (TIMES,), (MOTION,))


def put(*where: Any) -> Callable[[dict[str, Any]], None]:
    """Puts a value at a place."""
    *path, last, value = where

    def spoil(data: dict[str, Any]) -> None:
        owner: Any = data
        for key in path:
            owner = owner[key]
        owner[last] = value

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        put("answers", 0, "solver", True),
        put("answers", 0, "formulation", 3),
        put("answers", 0, "status", []),
        put("answers", 0, "claim", [1]),
        put("answers", 0, "primal", [[0.0]]),
        put("answers", 0, "dual", ["0.0"]),
        put("answers", 0, "gap", [10**400]),
        put("answers", 0, "start", "hot"),
        put("answers", 0, "note", 1),
        put("answers", 0, "reasons", {"why": "x"}),
        put("answers", 0, "source", "dials", 1.0),
        put("answers", 0, "source", "swept", "mass"),
        put("answers", 0, "source", "name", "\ud800"),
        put("answers", 0, 7),
        put("answers", {"solver": 1}),
        put("times", 0, "parts", "work", [0.0]),
        put("times", 0, "parts", {}),
        put("times", 0, "repetitions", 2.5),
        put("motions", 0, "error", None),
        put("motions", 0, []),
        put("failures", {"a": 1}),
        put("meta", [1]),
        put("meta", "sources", [["a"]]),
        put("meta", "sources", 1.0),
    ],
)
def test_forged_results_are_refused(
    spoil: Callable[[dict[str, Any]], None], tmp_path: Path, assert_sentence: Callable[..., None]
) -> None:
    with pytest.raises(go.BadInput) as caught:
        results_file.read_results(written(tmp_path, spoil))
    assert_sentence(caught.value, results_file.FILE, "damaged")
