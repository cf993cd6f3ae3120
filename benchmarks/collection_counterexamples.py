"""Search the counterexamples of the collection, and write them for `gaussopt collection build`.

    python benchmarks/collection_counterexamples.py

writes gaussopt/collected_problems/counterexamples.json: for each pair of formulations the smallest example on which
`falsify` proved a difference, as a problem, with the exact answer where the proof has one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gaussopt as go
from gaussopt.collected_problems.members import COUNTEREXAMPLES

PAIRS = (
    ("normal-force-qp", "lcp"), ("joint-force-qp", "lcp"), ("weighted-normal-force-qp", "lcp"),
    ("frozen-friction", "lcp"), ("coulomb-ccp", "coulomb-soccp"), ("coulomb-pyramid:4", "coulomb-soccp"),
    ("pinv-mass-as-printed", "lagrange"), ("least-squares-as-printed", "least-squares"),
)  # fmt: skip

TRIES = 100_000
"""Number of examples after which a search ends; a search without a time limit gives the same example everywhere."""


def _problem(found: go.Falsification) -> dict[str, Any] | None:
    """Return the example as an LCP, a contact problem or a quadratic program; None if it is none of them."""
    assert found.example is not None
    assert found.proof is not None
    arrays = {name: values.astype(float).tolist() for name, values in found.example.arrays.items()}
    if found.example.kind in ("lcp", "contact"):
        return {"kind": found.example.kind, **arrays}
    data = found.proof.numbers.get("data", {})
    if "A" in data:
        M, q = ([[float(x) for x in row] for row in data["A"]], [float(x) for x in data["b"]])
        return {"kind": "lcp", "M": M, "q": q}
    if set(arrays) <= {"M", "Q", "J", "gamma"}:
        minus = [-x for x in arrays["Q"]]
        ends = arrays.get("gamma", [])
        return {"kind": "qp", "P": arrays["M"], "q": minus, "A": arrays.get("J", []), "l": ends, "u": ends}
    return None


def main() -> None:
    """Search all pairs."""
    rows = []
    for a, b in PAIRS:
        found = go.falsify(a, b, tries=TRIES, seconds=240)
        print(found.message, flush=True)
        if found.proof is None or not found.proof.exact or (problem := _problem(found)) is None:
            continue
        numbers = found.proof.numbers.get(b, {})
        exact = {name: [str(x) for x in numbers[name]] for name in "zr" if name in numbers}
        if problem["kind"] != "contact" or exact:  # an answer of contacts that is not known exactly cannot be proved
            rows.append({"a": a, "b": b, "problem": problem, "exact": exact})
    lines = ",\n".join(json.dumps(row) for row in rows)
    Path(COUNTEREXAMPLES).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
