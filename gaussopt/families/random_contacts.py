"""Contact problems with friction cones and random rows, whose matrix W has any rank.

Each contact acts on twelve velocities. With as many velocities as rows, W is regular; with fewer, `deficiency` is the
missing share of its rank, and there is often no velocity that opens all contacts.
"""

from __future__ import annotations

from collections.abc import Mapping

from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.modelling.contact_piles import random_contacts
from gaussopt.modelling.family import CONE_DIALS, Dial, Family, draws


class RandomContacts(Family):
    """Random contact problems whose matrix W has a given rank."""

    name = "random-contacts"
    title = "Contact problems with random rows"
    source = "gaussopt"
    dials = (*CONE_DIALS, Dial("deficiency", 0.0, 0.0, 0.9, "1", "share of the rows of W that depend on others"))

    def steps(self, dials: Mapping[str, float], count: int) -> tuple[ConeComplementarity, ...]:
        contacts, mu, ratio, share = self.at(dials).values()
        k = int(contacts)
        missing = min(round(share * ROWS * k), ROWS * k - ROWS)
        return tuple(random_contacts(k, mu, ratio, missing, seed).local for seed in draws(count))


family = RandomContacts()
