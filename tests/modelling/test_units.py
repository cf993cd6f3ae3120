"""Every problem that ships says the units of its coordinates, of its variants, too; a motion carries them."""

import pytest

import gaussopt as go


@pytest.mark.parametrize("name", go.names("problem"))
def test_every_coordinate_has_its_unit(name: str) -> None:
    problem = go.problem(name)
    for entry in (problem, *(problem.at(variant=variant) for variant in problem.variants)):
        assert {entry.units.get(c) for c in entry.coordinates} <= {"m", "rad", "1"}  # 1: of quaternions


def test_a_motion_carries_the_units() -> None:
    motion = go.simulate("box", t_end=2e-3, dt=1e-3)
    assert dict(zip(motion.coordinates, motion.meta["units"], strict=True)) == {"x": "m", "y": "m", "theta": "rad"}
