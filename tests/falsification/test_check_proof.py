"""The script that checks proofs with fractions alone: it passes them, and finds every planted error."""

from __future__ import annotations

import ast
import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.falsification import check_proof

KNOWN = {
    ("normal-force-qp", "lcp"): (2, 0, 0),
    ("weighted-normal-force-qp", "lcp"): (2, 0, 0),
    ("weighted-normal-force-qp", "normal-force-qp"): (2, 0, 0),
    ("joint-force-qp", "lcp"): (1, 2, 1), ("frozen-friction", "lcp"): (1, 1, 0),
    ("least-squares-as-printed", "least-squares"): (0, 2, 1),
    ("pinv-mass-as-printed", "lagrange"): (0, 2, 1),
    ("newton", "poisson"): (1, 2, 0), ("coulomb-ccp", "coulomb-soccp"): (1, 0, 0),
    ("coulomb-pyramid:4", "coulomb-soccp"): (1, 0, 0),
}  # fmt: skip
"""Most contacts, coordinates and rows of the smallest known example of each pair."""

PAIRS = tuple(KNOWN)
IDS = ["-".join(pair) for pair in PAIRS]
MUTATIONS = 10
"""Of each of the ten proofs."""

falsified = cache(go.falsify)


@cache
def text_of(pair: tuple[str, str]) -> str:
    """What `write` puts into falsify.json."""
    return json.dumps(falsified(*pair).to_mapping())


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the fractions are in lists and objects."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*at, key))
    else:
        yield at


def put(value: Any, at: tuple[Any, ...], change: Any) -> None:
    for key in at[:-1]:
        value = value[key]
    value[at[-1]] = change(value[at[-1]])


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_known_differences_are_found_small_and_proved(pair: tuple[str, str]) -> None:
    found = falsified(*pair)
    assert found.found
    assert found.proof.exact
    most, coordinates, rows = KNOWN[pair]
    assert found.example.size("k") <= most
    assert found.example.size("m") <= rows
    assert found.example.size("n") <= coordinates
    entries = [e for array in found.example.arrays.values() for e in array.ravel()]
    assert all(isinstance(e, Fraction) and abs(e) <= 4 for e in entries)
    check_proof.check(json.loads(text_of(pair)))


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_every_mutated_proof_is_found(pair: tuple[str, str]) -> None:
    """Ten numbers of each proof, drawn from all of them, become others: 100 mutated proofs."""
    proof = json.loads(text_of(pair))
    rng, known = np.random.default_rng(11), list(places(proof["proof"]["numbers"]))
    assert known
    for _ in range(MUTATIONS):
        mutated = copy.deepcopy(proof)
        by = Fraction(int(rng.choice([-2, -1, 1, 2])), int(rng.choice([1, 7, 10**9])))
        place = known[int(rng.integers(len(known)))]
        put(mutated["proof"]["numbers"], place, lambda old, by=by: str(Fraction(old) + by))
        with pytest.raises(ValueError, match=r"\w"):
            check_proof.check(mutated)


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_a_number_of_the_example_that_is_another_is_found(pair: tuple[str, str]) -> None:
    proof = json.loads(text_of(pair))
    for place in places(proof["example"]["exact"]):
        mutated = copy.deepcopy(proof)
        put(mutated["example"]["exact"], place, lambda old: str(Fraction(old) + 1))
        with pytest.raises(ValueError, match="floating-point"):
            check_proof.check(mutated)


def test_answers_of_another_example_are_found() -> None:
    """The load of the example is doubled in fractions and floats alike, the answers stay."""
    proof = json.loads(text_of(PAIRS[0]))
    proof["example"]["exact"]["q"] = [str(2 * Fraction(x)) for x in proof["example"]["exact"]["q"]]
    proof["example"]["q"] = [2 * x for x in proof["example"]["q"]]
    with pytest.raises(ValueError, match=r"rows|w is not"):
        check_proof.check(proof)


def test_what_is_told_must_be_what_is_proved() -> None:
    proof = json.loads(text_of(PAIRS[0]))
    proof["proof"]["lines"][0] = proof["proof"]["lines"][0].replace("z = (", "z = (9/")
    with pytest.raises(ValueError, match="the line tells another answer"):
        check_proof.check(proof)
    proof = json.loads(text_of(PAIRS[0]))
    proof["proof"]["lines"][2] = proof["proof"]["lines"][2].replace(" by ", "1 by ")
    with pytest.raises(ValueError, match="the last line tells other numbers"):
        check_proof.check(proof)


def test_a_file_without_a_difference_and_functions_of_the_user_are_refused() -> None:
    nothing = json.loads(json.dumps(go.falsify("lcp", "lcp-qp", tries=5).to_mapping()))
    with pytest.raises(ValueError, match="claims no difference"):
        check_proof.check(nothing)
    proof = json.loads(text_of(PAIRS[0]))
    proof["proof"]["numbers"]["mine"] = proof["proof"]["numbers"].pop(proof["a"])
    proof["a"] = "mine"
    with pytest.raises(ValueError, match="no rule for mine"):
        check_proof.check(proof)


def test_other_formulations_of_the_same_programs() -> None:
    for pair in (("least-squares-as-printed", "udwadia-kalaba"), ("pinv-mass-as-printed", "gauss"),
                 ("joint-force-qp", "lcp-qp")):  # fmt: skip
        found = go.falsify(*pair, seed=5)
        assert found.found
        check_proof.check(json.loads(json.dumps(found.to_mapping())))


def test_the_script_stands_alone_beside_the_example(tmp_path: Path) -> None:
    """It imports nothing but the standard library, and has at most 250 lines that are not blank."""
    files = {path.name: path for path in go.falsify(*PAIRS[0]).write(tmp_path)}
    script = files["check_proof.py"]
    source = script.read_text(encoding="utf-8")
    assert len([line for line in source.splitlines() if line.strip()]) <= 250
    imported = {
        name.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import) for name in node.names
    }
    imported |= {str(node.module) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names
    command = [sys.executable, "-I", "-S", str(script), str(files["falsify.json"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "The proof holds.\n")
    proof = json.loads(files["falsify.json"].read_text(encoding="utf-8"))
    proof["proof"]["numbers"]["lcp"]["z"][0] += "1"
    files["falsify.json"].write_text(json.dumps(proof), encoding="utf-8")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("The proof does not hold: ")
