"""What a campaign found: reproducers as files, the summary as a section of a page."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from . import findings
from .calls import INEXACT, PRINTED
from .findings import CRASHED, MISNAMED, NOT_TAKEN, REFUSED, RIGHT, RIGHTLY, UNDECIDED, WRONG

BEGIN, END = "<!-- campaign -->", "<!-- /campaign -->"
BAD = (WRONG, CRASHED)
OF_MASS = ("dual", "routh", "udwadia-kalaba", "least-squares")
"""Formulations that begin with M^-1 or M^(-1/2): their programs are well-conditioned where M is."""
NOT_LAWS = (*PRINTED, "normal-force-qp", "joint-force-qp", "gauss", "frozen-friction")
"""Formulations that are not the mechanics of every step they take (printed formulas, an iteration that may end)."""

REGULARISED = (("dual", "daqp"),)
"""Pairs that are exact for independent rows alone: with dependent ones the dual matrix is singular, and DAQP leaves
singular matrices to an iteration that may cycle, as its page says."""

Key = tuple[str, str, str, str, str, str, int]


def rows_of(results: Iterable[dict[str, Any]]) -> Counter[Key]:
    """All counts together."""
    total: Counter[Key] = Counter()
    for result in results:
        for text, n in result["counts"].items():
            kind, family, formulation, solver, outcome, cause, well = text.split("|")
            total[kind, family, formulation, solver, outcome, cause, int(well)] += n
    return total


def faults_of(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The smallest reproducers of every cause, formulation and solver."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for result in results:
        for fault in result["faults"]:
            group = tuple(str(fault[k]) for k in ("kind", "outcome", "cause", "formulation", "solver"))
            groups.setdefault(group, []).append(fault)
    out = []
    for group in groups.values():
        group.sort(key=lambda f: len(json.dumps(f["program"])))
        out += group[:3]
    return out


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60]


def write_faults(folder: Path, faults: list[dict[str, Any]]) -> int:
    """One JSON file each, in folders by outcome and cause; returns how many of them are called solved and wrong."""
    root = folder / "faults"
    shutil.rmtree(root, ignore_errors=True)
    for fault in faults:
        place = root / slug(fault["outcome"]) / slug(f"{fault['kind']} {fault['cause']}")
        place.mkdir(parents=True, exist_ok=True)
        name = slug(f"{fault['formulation']} {fault['solver']} {fault['index']}")
        (place / f"{name}.json").write_text(json.dumps(fault, indent=1) + "\n")
    return sum(f["outcome"] in BAD for f in faults)


def table(head: tuple[str, ...], rows: Iterable[Iterable[Any]]) -> list[str]:
    out = ["| " + " | ".join(head) + " |", "|" + "---|" + "---:|" * (len(head) - 1)]
    out += ["| " + " | ".join(f"{c:,}" if isinstance(c, int) else str(c) for c in row) + " |" for row in rows]
    return [*out, ""]


def outcomes(total: Counter[Key], of: Callable[[Key], str | None]) -> list[tuple[Any, ...]]:
    """Counts of each outcome by a name."""
    groups: dict[str, Counter[str]] = {}
    for key, n in total.items():
        name = of(key)
        if name is not None and key[4] != NOT_TAKEN:
            groups.setdefault(name, Counter())[key[4]] += n
    rows = []
    for name in sorted(groups):
        c = groups[name]
        rows.append(
            (
                name,
                sum(c.values()),
                c[RIGHT],
                sum(c[o] for o in BAD),
                c[REFUSED],
                c[RIGHTLY] + c["refuted"],
                c[MISNAMED],
                c[UNDECIDED],
            )
        )
    return rows


HEAD = (
    "what was tried",
    "trials",
    "solved and right",
    "wrong or crashed",
    "solvable, not solved",
    "rightly not solved",
    "other verdict",
    "undecided",
)


def by_cause(total: Counter[Key], outcome: str) -> list[tuple[str, int]]:
    """How often there was an outcome, by kind and cause."""
    found: Counter[str] = Counter()
    for key, n in total.items():
        if key[4] == outcome:
            found[f"{key[0]}: {key[5]}"] += n
    return found.most_common()


def exact_pair(key: Key) -> bool:
    """Whether formulation and solver promise to solve every well-conditioned program that they take."""
    kind, _, formulation, solver, *_ = key
    if not key[6] or (formulation in OF_MASS and key[6] < 2):
        return False
    if formulation == "verify" or solver.split(":")[0] in INEXACT or formulation in PRINTED:
        return False
    if (formulation, solver) in REGULARISED:
        return False
    return not (formulation in NOT_LAWS and kind == "contact step")


def refusals(total: Counter[Key]) -> tuple[int, int, Counter[tuple[str, str]]]:
    """Well-conditioned trials of exact pairs, those not solved, and by cause."""
    trials = refused = 0
    causes: Counter[tuple[str, str]] = Counter()
    for key, n in total.items():
        if key[4] == NOT_TAKEN or not exact_pair(key):
            continue
        trials += n
        if key[4] == REFUSED:
            refused += n
            causes[f"{key[0]}, {key[2] or key[0]} with {key[3]}", f"{key[1]}: {key[5]}"] += n
    return trials, refused, causes


def summary(total: Counter[Key], settings: dict[str, Any], seconds: float) -> str:
    """The section between the markers."""
    trials = sum(n for key, n in total.items() if key[4] != NOT_TAKEN)
    wrong = sum(n for key, n in total.items() if key[4] == WRONG)
    crashed = sum(n for key, n in total.items() if key[4] == CRASHED)
    lies = sum(n for key, n in total.items() if key[2] == "verify")
    well, refused, causes = refusals(total)
    share = 100.0 * refused / well if well else 0.0
    out = [
        BEGIN, "",
        f"{trials:,} trials (seed {settings['seed']}, {seconds / 3600:.1f} hours of one core), {lies:,} of them wrong "
        f"answers made by hand. **Called solved and refuted: {wrong:,}. Crashed: {crashed:,}.** Wrongly refused among "
        f"{well:,} trials of exact methods on well-conditioned programs: {refused:,} ({share:.3f} %).", "",
        "By kind:", "", *table(HEAD, outcomes(total, lambda k: k[0])),
        "By family:", "", *table(HEAD, outcomes(total, lambda k: f"{k[0]}: {k[1]}")),
        "By formulation and solver:", "",
        *table(HEAD, outcomes(total, lambda k: f"{k[0]}: {k[2] + ', ' if k[2] else ''}{k[3]}")),
    ]  # fmt: skip
    bad: Counter[str] = Counter()
    for key, n in total.items():
        if key[4] in BAD:
            bad[", ".join((key[0], key[4], key[5]))] += n
    if bad:
        out += ["Faults by cause:", "", *table(("kind, outcome, cause", "trials"), bad.most_common())]
    for title, outcome in (
        ("Undecided, by cause:", UNDECIDED),
        ("Another verdict than the exact one, by cause:", MISNAMED),
    ):
        if found := by_cause(total, outcome):
            out += [title, "", *table(("cause", "trials"), found)]
    if causes:
        out += ["Wrongly refused by exact methods among well-conditioned programs, by cause:", ""]
        out += table(("method", "family and status", "trials"), ((a, b, n) for (a, b), n in causes.most_common(40)))
    return "\n".join([*out, END])


def insert(page: Path, section: str, marks: tuple[str, str] = (BEGIN, END)) -> None:
    """Put the section between the markers of a page, at its end if there are none."""
    text = page.read_text() if page.exists() else "# Soundness\n"
    pattern = re.compile(".*?".join(map(re.escape, marks)), re.DOTALL)
    text = pattern.sub(lambda _: section, text) if pattern.search(text) else f"{text.rstrip()}\n\n{section}\n"
    page.write_text(text)


__all__ = ["faults_of", "findings", "insert", "rows_of", "summary", "write_faults"]
