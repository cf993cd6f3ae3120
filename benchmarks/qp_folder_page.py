"""The page of `qp_folder.py`: counts by solver, the portfolio, false claims and tightness of the bound."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from measuring import machine, versions

SMALL = 1e-9

COLUMNS = ("solver", "solved", "false claims", "not proved", "inaccurate", "failed", "no answer in time", "not judged",
           "not taken", "all three residuals at most 1e-9")  # fmt: skip

PUBLISHED = 73.2
"""Per cent of all 138 problems that the best solver solves in qpbenchmark's published run at high accuracy."""

PACKAGES = ("clarabel", "cvxpy", "daqp", "highspy", "osqp", "piqp", "proxsuite", "scs")


def line(row: dict[str, Any]) -> str:
    """One verdict, to be watched."""
    said = f"{row['problem']:10}{row['solver']:11}{row['claim']:18}{row['status']:18}"
    return said + (f" bound {row['error_bound']}, {row['judged']:.1f} s" if "judged" in row else "")


def kind(row: dict[str, Any]) -> str:
    """The column in which a verdict counts."""
    status = row["status"]
    if status in ("solved", "not taken", "no answer in time"):
        return str(status)
    if status.startswith("not judged"):
        return "not judged"
    if status == "not_proved":
        return "not proved"
    if row["claim"] == "solved":  # its solver says solved, and the certificate says otherwise
        return "false claims"
    return "inaccurate" if status == "inaccurate" else "failed"


def small(row: dict[str, Any]) -> bool:
    """Whether an answer passes what qpbenchmark asks at high accuracy."""
    return max(row.get("three") or [math.inf]) <= SMALL


def page(
    rows: list[dict[str, Any]], problems: list[str], refused: dict[str, str], solvers: list[str], given: dict[str, Any]
) -> str:
    """The page in Markdown."""
    rows = [row for row in rows if row["problem"] in problems and row["solver"] in solvers]
    convex = [name for name in problems if name not in refused]
    counts = {s: Counter(kind(r) for r in rows if r["solver"] == s) for s in solvers}
    high = {s: {r["problem"] for r in rows if r["solver"] == s and small(r)} for s in solvers}
    proved = {r["problem"] for r in rows if r["status"] == "solved"}
    left = [name for name in convex if name not in proved]
    wronged = [r for r in rows if small(r) and r["status"] == "inaccurate"]
    best = max(solvers, key=lambda s: (counts[s]["solved"], len(high[s])))
    lines = [
        "# Maros-Meszaros", "",
        f"The problems of the Maros-Meszaros test set with at most {given['most']} unknowns, {len(problems)} files "
        f"of the "
        "138 of the set, by all installed solvers at the settings `high`: what qpbenchmark calls high accuracy, 1e-9 "
        f"absolute. A solver had {given['seconds']:g} s of processor time for a problem, a certificate "
        f"{given['prove']:g} s. The default tolerance of certificates is 1e-7, relative. The files are not part of the "
        "repository.", "",
        *(f"{name}: {why}; it counts as unsolved." for name, why in refused.items()), "",
        _table(COLUMNS, [
            (s, *(str(counts[s][c]) for c in COLUMNS[1:-1]), str(len(high[s]))) for s in solvers
        ]), "",
        "*False claims* are answers that their solver calls solved and the certificate inaccurate; *not proved* are "
        "those "
        "that pass 1e-9 in all three residuals of qpbenchmark, or nearly, and of which no distance within the "
        "tolerance "
        "follows; *inaccurate* are others that the solver itself does not call solved, *failed* those of which it "
        "says so. "
        "An answer that its solver does not call solved and that misses a residual by more than 1e-6 was not "
        "judged.", "",
        f"**Answers that pass 1e-9 in primal residual, dual residual and duality gap, and are called inaccurate: "
        f"{len(wronged)}.**", *(f"- {r['problem']} by {r['solver']}" for r in wronged), "",
        "## The portfolio", "",
        f"Solved and proved by at least one solver: **{len(proved)} of {len(problems)} "
        f"({100 * len(proved) / len(problems):.1f} %)**. The best single one, {best}, is proved on "
        f"{counts[best]['solved']} "
        f"({100 * counts[best]['solved'] / len(problems):.1f} %); all three residuals are at most 1e-9 for "
        f"{len(set().union(*high.values()))} problems by some solver. In qpbenchmark's published run at high "
        f"accuracy the "
        f"best single solver solves {PUBLISHED} % of all 138 problems; it has larger problems as well and 1,000 s "
        f"for each, "
        "so that the two shares stand beside each other and are not the same measure.", "",
        f"Proved by none: {', '.join(left) or 'none'}.", "",
    ]  # fmt: skip
    return "\n".join([*lines, *tightness(rows), *_false(rows), *_end()])


def tightness(rows: list[dict[str, Any]]) -> list[str]:
    """Bound beside true error."""
    known = [r for r in rows if r.get("true_error") is not None and "judged" in r]
    curved = [r for r in known if r["curved"]]
    finite = [r for r in known if r["error_bound"] is not None]
    loose = [r for r in finite if r["curved"] and r["error_bound"] > 100.0 * (r["true_error"] + r["floor"])]
    below = [r for r in finite if r["error_bound"] + r["floor"] < r["true_error"] * (1.0 - 1e-9)]
    ratios = sorted(r["error_bound"] / (r["true_error"] + r["floor"]) for r in finite if r["curved"])
    middle = f"{ratios[len(ratios) // 2]:.2f}" if ratios else "none"
    infinite = [r for r in curved if r["error_bound"] is None]
    return [
        "## Tightness of the bound", "",
        "True errors are distances in the norm of P to reference answers in extended precision, which another code "
        "finds "
        f"(`benchmarks/qp_folder_reference.py`): for {len({r['problem'] for r in known})} problems, on "
        f"{len({r['problem'] for r in curved})} of which P is positive definite on the directions that the equalities "
        "leave. The rounding floor is 16 (n + m + 4) roundings of the terms of x in the norm of P.", "",
        f"- Judged answers to these {len({r['problem'] for r in curved})} problems: {len(curved)}; without a finite "
        f"bound: "
        f"{len(infinite)}{_named(infinite)}.",
        f"- Bounds above 100 times true error and floor: {len(loose)}{_named(loose)}. The median of bound over true "
        f"error "
        f"and floor is {middle}, the largest {ratios[-1]:.3g}." if ratios else "- No bound was stated.",
        f"- Bounds below the true error by more than the floor, all problems: {len(below)}{_named(below)}.", "",
    ]  # fmt: skip


def _named(rows: list[dict[str, Any]]) -> str:
    return f" ({', '.join(r['problem'] + ' by ' + r['solver'] for r in rows[:12])})" if rows else ""


def _false(rows: list[dict[str, Any]]) -> list[str]:
    """Each false claim with its numbers."""
    found = [r for r in rows if kind(r) == "false claims"]
    if not found:
        return []
    shown = [
        (r["problem"], r["solver"], r["status"], *(f"{v:.1e}" for v in r.get("three", ())),
         *(f"{r[k]:.1e}" if r.get(k) is not None else "–" for k in ("relative_residual", "error_bound", "true_error")))
        for r in found
    ]  # fmt: skip
    heads = ("problem", "solver", "status", "primal residual", "dual residual", "duality gap", "relative residual",
             "bound", "true error")  # fmt: skip
    right = [r for r in found if r.get("true_error") is not None and r.get("error_bound")
             and r["true_error"] <= 1e-7 * r["error_bound"] / r["relative_error"]]  # fmt: skip
    said = (
        f"In the norm of P {len(right)} of them are right to 1e-7 of their scale by the reference{_named(right)}: "
        "their bound is too loose, P being singular on the directions that the equalities leave."
    )
    return ["## False claims", "", *([said, ""] if right else []), _table(heads, shown), ""]


def _end() -> list[str]:
    names = ", ".join(f"{k} {v}" for k, v in versions(PACKAGES).items())
    return [f"On {machine()}; {names}.", "",
            "Written by `python benchmarks/qp_folder.py FOLDER --out docs/maros-meszaros.md`, FOLDER holding the "
            "`.mat` "
            "files of the set.", ""]  # fmt: skip


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(r)} |" for r in (heads, ("---",) * len(heads), *rows))
