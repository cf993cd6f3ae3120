"""Pyramids of spheres on the floor, as contact problems with friction cones.

Each step is a contact problem, with impulses as unknowns, of a pyramid of any size with small random changes of
positions and masses; in contrast, the problem `sphere-pile` is a motion of a few balls. At a friction coefficient of
0.8 pyramids stand, at 0.4 they slide apart. There are more contacts than support needs: impulses are rarely unique.
"""

from __future__ import annotations

from collections.abc import Mapping

from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.modelling.contact_piles import sphere_pile
from gaussopt.modelling.family import CONE_DIALS, Dial, Family, draws


class SpherePile(Family):
    """Pyramids of spheres."""

    name = "sphere-pile"
    title = "Contact problems of pyramids of spheres"
    source = "gaussopt; rigid bodies with Coulomb friction"
    dials = (*CONE_DIALS, Dial("speed", 0.0, 0.0, 2.0, "m/s", "deviation of the velocities of the spheres"))

    def steps(self, dials: Mapping[str, float], count: int) -> tuple[ConeComplementarity, ...]:
        contacts, mu, ratio, speed = self.at(dials).values()
        return tuple(sphere_pile(int(contacts), mu, ratio, speed, seed).local for seed in draws(count))


family = SpherePile()
