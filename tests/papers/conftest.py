"""What the tests of the papers share: the claims as a quick run judges them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from judged_claims import Judged

from gaussopt.papers import ledger
from gaussopt.papers.claim import Judgement
from gaussopt.processes.job import JobOutcome


@pytest.fixture(scope="session")
def judged(claims_outcomes: Mapping[str, JobOutcome]) -> Judged:
    """The judgement of a claim, by its number."""
    found = ledger.judgements(claims_outcomes)

    def of(number: str) -> Judgement:
        judgement = found[number]
        assert isinstance(judgement, Judgement), judgement
        return judgement

    return of
