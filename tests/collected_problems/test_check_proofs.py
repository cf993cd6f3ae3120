"""The script that checks the proofs of the collection: it passes them, and finds every planted error."""

from __future__ import annotations

import ast
import copy
import json
import random
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from gaussopt.collected_problems import check_proofs

LINES = 250
MUTATIONS = 100


def test_it_passes_every_proof_without_gaussopt_and_numpy(built: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-I", "-S", str(built / "check_proofs.py")], capture_output=True, text=True, check=False
    )
    count = len(json.loads((built / "index.json").read_text())["problems"])
    assert found.returncode == 0, found.stdout
    assert f"{count} of {count} proofs hold, {count - 3} of them of exact answers." in found.stdout  # 3 of chain-300


def test_it_is_short_and_plain_python(built: Path) -> None:
    text = (built / "check_proofs.py").read_text()
    assert len(text.splitlines()) <= LINES
    tree = ast.walk(ast.parse(text))
    names = [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in tree
             if isinstance(node, ast.Import | ast.ImportFrom)]  # fmt: skip
    assert set(names) <= sys.stdlib_module_names


STRONGER = {"one": "several", "at most one": "one", "unknown": "one", "several": "one", "none at all": "one"}
"""Words on the number of answers, and one that is false or does not follow."""


def mutated(problem: Any, proof: Any, rng: random.Random) -> tuple[Any, Any, str]:
    """A problem and a proof with one error, and what was changed."""
    problem, proof = copy.deepcopy((problem, proof))
    claim = rng.choice(proof["claims"])
    rule = claim["rule"]
    ways = ["datum", "word"]
    if rule in ("exact", "ray", "unbounded", "all", "near") or "weights" in claim or claim.get("L"):
        ways += ["claim"] * 4
    if any(key in problem for key in ("x", "z", "r")):
        ways.append("stored")
    way = rng.choice(ways)
    names = check_proofs.KINDS[problem["kind"]][0]
    if way == "datum":  # another problem, of which the proof says nothing
        problem["kind"] = {"qp": "lcp", "lcp": "contact", "contact": "qp"}[problem["kind"]]
    elif way == "word":
        proof["answers"] = STRONGER[proof["answers"]]
    elif way == "stored":
        name = rng.choice(names)
        i = rng.randrange(len(problem[name])) if problem[name] else -1
        if i < 0:
            return mutated(problem, proof, rng)
        problem[name][i] += 1.0
    elif rule == "exact":
        name = rng.choice([name for name in names if claim[name]])
        i = rng.randrange(len(claim[name]))
        claim[name][i] = str(Fraction(claim[name][i]) + Fraction(1, rng.choice((3, 7, 10**6))))
    elif rule == "near":
        claim["residual"] = "1e-40"
    elif rule == "all":
        claim["count"] += 1
    elif rule in ("ray", "unbounded"):
        claim["y"] = [str(-Fraction(y)) for y in claim["y"]]
    elif "weights" in claim:
        claim["weights"][rng.randrange(len(claim["weights"]))] = "0"
    elif isinstance(claim["L"], dict):
        claim["L"]["value"][rng.randrange(len(claim["L"]["value"]))] += 4096.0
    else:
        line = rng.choice([line for line in claim["L"] if line])
        line[-1] += 4096.0
    return problem, proof, f"{way} of {rule}"


def test_it_finds_a_hundred_of_a_hundred_mutated_proofs(built: Path) -> None:
    rng = random.Random(39)
    rows = json.loads((built / "index.json").read_text())["problems"]
    missed, kinds = [], Counter[str]()
    for _ in range(MUTATIONS):
        row = rng.choice(rows)
        problem, proof = (json.loads((built / row[key]).read_text()) for key in ("file", "proof"))
        check_proofs.check(problem, proof)
        problem, proof, what = mutated(problem, proof, rng)
        kinds[what] += 1
        try:
            check_proofs.check(problem, proof)
        except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError):
            continue
        missed.append(f"{row['name']}: {what}")
    assert not missed
    assert len(kinds) >= 10


def test_the_class_of_a_matrix_proves_an_answer_of_lcps_alone() -> None:
    contact = {"kind": "contact", "W": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "q": [-1, 0, 0], "mu": [1]}
    proof = {"class": "none", "answers": "one", "claims": [{"rule": "p-matrix"}, {"rule": "definite"}]}
    check_proofs.check({"kind": "lcp", "M": contact["W"], "q": contact["q"]}, proof)
    with pytest.raises(ValueError, match="'one' does not follow"):
        check_proofs.check(contact, proof)


@pytest.mark.parametrize(
    ("r", "holds"),
    [([2, -1, 0], True), ([2, 1, 0], False), ([2, -1, 1], False), ([3, -1, 0], False), ([0, 0, 0], False)],
)
def test_coulombs_law_is_checked_exactly(r: list[int], holds: bool) -> None:
    """The contact slides along T1 with friction 1/2, so that r_T1 = -r_N / 2."""
    contact = {"W": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "q": [-2, 2, 0], "mu": [0.5]}
    assert (check_proofs.worst_contact(contact, check_proofs.row(r)) == 0) == holds


def test_it_reports_a_wrong_file_and_goes_on(built: Path, tmp_path: Path) -> None:
    index = json.loads((built / "index.json").read_text())
    index["problems"] = index["problems"][:2]
    for row in index["problems"]:
        for key in ("file", "proof"):
            (tmp_path / row[key]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / row[key]).write_bytes((built / row[key]).read_bytes())
    index["problems"][0]["answers"] = "several"
    (tmp_path / "index.json").write_text(json.dumps(index))
    assert check_proofs.main(tmp_path) == 1


@pytest.mark.parametrize(
    ("M", "q", "count"), [([[2]], [-3], 1), ([[-1]], [1], 2), ([[-1]], [-1], 0), ([[0, 1], [1, 1]], [0, 0], None)]
)
def test_all_solutions_of_small_problems(M: Any, q: Any, count: int | None) -> None:
    rows = check_proofs.matrix(M)
    if count is None:
        with pytest.raises(ValueError, match="principal minor"):
            check_proofs.solutions(rows, check_proofs.row(q))
    else:
        assert len(check_proofs.solutions(rows, check_proofs.row(q))) == count


@pytest.mark.parametrize(
    ("S", "low"), [([[2, 1], [1, 2]], 1), ([[1, 1], [1, 1]], 0), ([[0, 1], [1, 1]], None), ([[1, 4], [-4, 1]], 1)]
)
def test_elimination_tells_definite_from_semidefinite(S: Any, low: int | None) -> None:
    assert check_proofs.modulus(check_proofs.matrix(S)) == low


def test_a_factor_bounds_the_eigenvalues_from_below() -> None:
    S = check_proofs.matrix([[5, 2], [2, 5]])
    assert check_proofs.modulus(S, [[1.0], [1.0, 1.0]]) == 2  # the rest is [4, 1; 1, 3]
    with pytest.raises(ValueError, match="not diagonally dominant"):
        check_proofs.modulus(S, [[3.0], [0.0, 1.0]])
