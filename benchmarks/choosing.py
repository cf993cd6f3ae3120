"""The tables of docs/how-to-choose.md, from the data of the committed comparisons.

    python benchmarks/choosing.py [--write]

Reads reports/solvers/data (the problems of the papers) and reports/families/data (steps built to measure). --write puts
the tables between the page's markers; without it they are printed.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to-choose.md"
SOLVERS = ROOT / "reports" / "solvers" / "data"
FAMILIES = ROOT / "reports" / "families" / "data"
PROBLEMS = ("crank-slider", "four-bar", "knife-edge-body", "sliding-rod", "two-bar")
DIALS = {
    ("linkage", "bodies"): "bodies of a linkage",
    ("sliding-row", "contacts"): "contacts of a sliding row",
    ("sliding-row", "friction"): "friction of a sliding row",
    ("box-stack", "contacts"): "contacts of a stack of boxes at rest",
}
EVER = ("deap", "deap-cma")
"""Controls: shown with the word they keep, not with their times."""

Row = dict[str, str]


def tables() -> dict[str, str]:
    """Every table by the name of its marker."""
    return {"pairs": pairs(), "formulations": formulations(), "solvers": solvers(), "dials": dials()}


def filled(page: str) -> str:
    """The page with its tables."""
    for name, table in tables().items():
        pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        page, count = re.subn(pattern, lambda m, t=table: f"{m[1]}\n{t}\n\n{m[2]}", page, flags=re.S)
        assert count == 1, f"the page has {count} places for {name}"
    return page


def pairs() -> str:
    """The three pairs that were fastest without a failure, on each problem."""
    rows = []
    for problem in PROBLEMS:
        best = _right(problem)[:3]
        cells = [f"{r['pair']} {float(r['factor']) / float(best[0]['factor']):.2f}" for r in best]
        rows.append((problem, *cells))
    return _table(("problem", "fastest", "second", "third"), rows)


def formulations() -> str:
    """By what factor the fastest solver of each formulation is behind the fastest pair, on each problem."""
    asked = {p: _read(SOLVERS / f"means-all-problem-{p}.csv") for p in PROBLEMS}
    names = sorted({r["pair"].partition(" by ")[0] for rows in asked.values() for r in rows})
    rows = []
    for name in names:
        cells = []
        for problem in PROBLEMS:
            there = any(r["pair"].startswith(f"{name} by ") for r in asked[problem])
            cells.append(_factor(problem, f"{name} by ", "") if there else "–")
        rows.append((name, *cells))
    rows.sort(key=lambda row: [_order(cell) for cell in row[1:]])
    return _table(("formulation", *PROBLEMS), rows)


def solvers() -> str:
    """What each solver's word is worth, and how far its fastest formulation is behind the fastest pair."""
    rows = []
    for r in _read(SOLVERS / "words-all.csv"):
        name = r["solver"]
        if "(" in name:
            continue
        word = f"{100 * float(r['correct_rate']):.4g} %"
        times = ["control"] * len(PROBLEMS) if name in EVER else [_factor(p, "", f" by {name}") for p in PROBLEMS]
        rows.append((name, r["steps"], r["false_claims"], word, *times))
    rows.sort(key=lambda row: [_order(cell) for cell in row[4:]])
    return _table(("solver", "steps", "false claims", "says what is true", *PROBLEMS), rows)


def dials() -> str:
    """The fastest pair without a failure at every setting of a dial."""
    rows = []
    for (family, dial), words in DIALS.items():
        found = _read(FAMILIES / f"dial-all-family-{family}-{dial}.csv")
        for value in dict.fromkeys(r["value"] for r in found):
            right = [r for r in found if r["value"] == value and _plain(r["solver"]) and float(r["success"]) == 1.0]
            right.sort(key=lambda r: float(r["seconds"]))
            cells = [
                f"{r['formulation']} by {r['solver']} {float(r['seconds']) / float(right[0]['seconds']):.2f}"
                for r in right[:2]
            ]
            rows.append((words, f"{float(value):g}", *cells, *["–"] * (2 - len(cells)), str(len(right))))
    return _table(("dial", "value", "fastest", "second", "pairs right on every step"), rows)


def _right(problem: str) -> list[Row]:
    """Pairs with default options that never failed, the fastest first."""
    rows = _read(SOLVERS / f"means-all-problem-{problem}.csv")
    found = [r for r in rows if _plain(r["pair"]) and int(r["failures"]) == 0]
    return sorted(found, key=lambda r: float(r["seconds"]))


def _factor(problem: str, begin: str, end: str) -> str:
    right = _right(problem)
    mine = [float(r["seconds"]) for r in right if r["pair"].startswith(begin) and r["pair"].endswith(end)]
    if mine:
        return f"{min(mine) / float(right[0]['seconds']):.2f}"
    asked = [r["pair"] for r in _read(SOLVERS / f"means-all-problem-{problem}.csv")]
    return "fails" if any(p.startswith(begin) and p.endswith(end) for p in asked) else "–"


def _plain(word: str) -> bool:
    return "(" not in word


def _order(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.inf


def _read(file: Path) -> list[Row]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    """Write or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="into docs/how-to-choose.md")
    if parser.parse_args().write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        for name, table in tables().items():
            print(f"{name}\n\n{table}\n")


if __name__ == "__main__":
    main()
