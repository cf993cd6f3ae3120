"""The verdicts that are expected of the claims of the papers."""

from __future__ import annotations

from collections.abc import Callable

from gaussopt.papers.claim import ClaimVerdict, Judgement

Judged = Callable[[str], Judgement]

TRUE, FALSE, PART, CONDITIONAL = (ClaimVerdict[k] for k in ("TRUE", "FALSE", "PART", "CONDITIONAL"))
EXPECTED = {
    "C1": CONDITIONAL, "C2": CONDITIONAL, "C3": PART, "C4": TRUE, "C5": CONDITIONAL, "C6": CONDITIONAL,
    "C7": CONDITIONAL, "C8": TRUE, "C9": ClaimVerdict.IRREPRODUCIBLE, "C10": CONDITIONAL,
    "C11": ClaimVerdict.IRREPRODUCIBLE, "C12": FALSE, "C13": ClaimVerdict.UNCLAIMED, "C14": TRUE, "C15": TRUE,
    "C16": CONDITIONAL, "C17": CONDITIONAL,
}  # fmt: skip
