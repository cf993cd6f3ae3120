"""The summary of a campaign of models, as a section of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from soundness.trials.findings import CRASHED, NOT_TAKEN, REFUSED, UNDECIDED, WRONG
from soundness.trials.page import HEAD, Key, by_cause, outcomes, table

from .dials import table as table_of_dials
from .work import INEXACT

BEGIN, END = "<!-- models -->", "<!-- /models -->"
AS_INPUT = "refused as input"


def counted(results: Iterable[dict[str, Any]], key: str) -> int:
    return sum(int(result.get(key, 0)) for result in results)


def refusals(total: Counter[Key]) -> tuple[int, int, Counter[tuple[str, str]]]:
    """Answers of exact methods to well-conditioned states, those not solved, and by cause."""
    answers = refused = 0
    causes: Counter[tuple[str, str]] = Counter()
    for key, n in total.items():
        if key[4] == NOT_TAKEN or not key[6] or key[3] in INEXACT:
            continue
        answers += n
        if key[4] in (REFUSED, AS_INPUT):
            refused += n
            causes[f"{key[0]}: {key[2]}, {key[3]}", key[5]] += n
    return answers, refused, causes


def summary(total: Counter[Key], results: list[dict[str, Any]], settings: dict[str, Any]) -> str:
    """The section between the markers."""
    wrong, crashed = (sum(n for key, n in total.items() if key[4] == what) for what in (WRONG, CRASHED))
    answers, refused, causes = refusals(total)
    states, unjudged = counted(results, "states"), counted(results, "unjudged")
    trials = sum(n for key, n in total.items() if key[4] != NOT_TAKEN)
    seconds, motions = sum(result["seconds"] for result in results), counted(results, "motions")
    out = [
        BEGIN, "",
        f"{states:,} states of {counted(results, 'mechanisms'):,} mechanisms (seed {settings['seed']}, "
        f"{seconds / 3600:.1f} hours of one core), and {motions:,} motions; {trials:,} answers. "
        f"**Called solved and refuted: {wrong:,}. Crashed: {crashed:,}.** Wrongly refused among {answers:,} answers of "
        "exact methods to well-conditioned "
        f"states: {refused:,} ({100.0 * refused / max(answers, 1):.3f} %). {unjudged:,} states were left unjudged, "
        "because rows depend on each other there but for a little.", "",
        "By description:", "", *table(HEAD, outcomes(total, lambda k: k[0])),
        "By kind of mechanism:", "", *table(HEAD, outcomes(total, lambda k: f"{k[0].split(',')[0]}: {k[1]}")),
        "By formulation and solver:", "", *table(HEAD, outcomes(total, lambda k: f"{k[2]}, {k[3]}")),
    ]  # fmt: skip
    for title, outcome in (("Refuted", WRONG), ("Crashed", CRASHED), ("Undecided", UNDECIDED)):
        if rows := by_cause(total, outcome):
            out += [f"{title}, by cause:", "", *table(("cause", "answers"), rows)]
    if causes:
        out += ["Wrongly refused by exact methods in well-conditioned states, by cause:", ""]
        out += table(("method", "what is said", "answers"), ((a, b, n) for (a, b), n in causes.most_common(40)))
    out += ["What is drawn, and from which range:", "", *table_of_dials(), ""]
    return "\n".join([*out, END])
