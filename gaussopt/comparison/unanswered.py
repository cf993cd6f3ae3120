"""Sources of a comparison that nobody answers to, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gaussopt.comparison.records import Answers

UNFIT = "none of these formulations and solvers fit it"


def unanswered(sources: Sequence[str], answers: Sequence[Answers]) -> dict[str, str]:
    """Why nobody answers to a source, by its label.

    Parameters
    ----------
    sources : labels of all that were asked
    answers : with those that were refused
    """
    asked = {r.source.label for r in answers if not r.refused}
    return {label: _reason(label, answers) for label in sources if label not in asked}


def _reason(label: str, answers: Sequence[Answers]) -> str:
    """What most pairs were refused for; misfits of a formulation alone count where no pair was formed."""
    own = [r for r in answers if r.source.label == label]
    said = Counter(r.refused for r in own if r.solver) or Counter(r.refused for r in own)
    return said.most_common(1)[0][0] if said else UNFIT
