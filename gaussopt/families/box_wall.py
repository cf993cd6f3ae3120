"""Walls of boxes in running bond, as contact problems with friction cones.

Each step is a contact problem, with impulses as unknowns, of a gable of any size with random masses; in contrast, the
problem `box-wall` is the motion of one wall. Each face of a box has four contacts, one more than needed, so that W is
rank deficient and impulses are not unique.
"""

from __future__ import annotations

from collections.abc import Mapping

from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.modelling.contact_piles import box_wall
from gaussopt.modelling.family import CONE_DIALS, Dial, Family, draws


class BoxWall(Family):
    """Walls of boxes."""

    name = "box-wall"
    title = "Contact problems of walls of boxes"
    source = "gaussopt; rigid bodies with Coulomb friction"
    dials = (*CONE_DIALS, Dial("speed", 0.0, 0.0, 2.0, "m/s", "deviation of the velocities of the boxes"))

    def steps(self, dials: Mapping[str, float], count: int) -> tuple[ConeComplementarity, ...]:
        contacts, mu, ratio, speed = self.at(dials).values()
        return tuple(box_wall(int(contacts), mu, ratio, speed, seed).local for seed in draws(count))


family = BoxWall()
