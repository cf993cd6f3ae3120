"""One sentence on every verdict, for the table on the main document."""

from __future__ import annotations

from gaussopt.papers.claim import ClaimVerdict, Judgement
from gaussopt.reporting.document import Tex, Timed
from gaussopt.reporting.texts import Texts

texts = Texts(__file__)


def brief(identifier: str, judged: Judgement) -> Tex | None:
    """The sentence on a claim, for the outcome for which it was written; None for another one or without its numbers.

    An entry is named by the claim and by which of its readings hold, as in "C1 yes no".
    """
    entry = " ".join((identifier, *("yes" if r.holds else "no" for r in judged.readings)))
    if judged.verdict == ClaimVerdict.UNDECIDED or entry not in texts.entries:
        return None
    try:
        told = texts(entry, **judged.numbers)
    except KeyError:  # a shorter run need not have all numbers
        return None
    return (Timed if judged.times_decide else Tex)(told)
