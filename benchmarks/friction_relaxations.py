"""Draw what two relaxations of Coulomb's law cost, for docs/friction-in-space.md.

    python benchmarks/friction_relaxations.py docs/figures

A body of 1 kg touches a horizontal floor with one point, under gravity, for one step of 0.01 s. `dilation.svg`: the
velocity with which the convex cone program lifts it, against its speed. `pyramid.svg`: the angle between the velocities
after the step by a pyramid of k facets and by the cone, against the direction of slip, and the largest one against k.
The figures that the page quotes are printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from gaussopt import ConeComplementarity
from gaussopt.core.arrays import Vector
from gaussopt.plotting.colours import CURVES
from gaussopt.plotting.figures import plain_figure, save_figure, styled
from gaussopt.plotting.looks import STYLES
from gaussopt.solving.solve import solve_contacts

WEIGHT = 9.81 * 0.01
"""Impulse of the weight in one step, N s."""

FACETS = (4, 8, 16, 32, 64)
FRICTION = (0.1, 0.3, 0.5, 0.8)
SLOW = 0.0588
"""Speed before the step, m/s; friction of 0.5 takes 0.049 m/s of it."""


def point(mu: float, speed: float, direction: float) -> ConeComplementarity:
    """A point of 1 kg on the floor, moving in a direction, rad."""
    return ConeComplementarity(
        np.eye(3), np.array([-WEIGHT, speed * np.cos(direction), speed * np.sin(direction)]), np.array([mu])
    )


def velocity(problem: ConeComplementarity, formulation: str) -> Vector:
    """Velocity after the step, (3,), m/s."""
    found = solve_contacts(problem, formulation)
    return problem.u(found["r"])


def turn(facets: int, direction: float) -> float:
    """Angle from the slip by the cone to that by the pyramid, degrees."""
    problem = point(0.5, SLOW, direction)
    exact, other = (velocity(problem, name)[1:] for name in ("coulomb-soccp", f"coulomb-pyramid:{facets}"))
    cross, dot = exact[0] * other[1] - exact[1] * other[0], exact @ other
    return float(np.degrees(np.arctan2(cross, dot)))


def dilation_figure(file: Path) -> None:
    """Draw the dilation of the convex cone program."""
    figure = plain_figure((5.4, 3.2))
    axes = figure.subplots()
    speeds = np.linspace(0.0, 6.0, 25)
    for i, mu in enumerate(FRICTION):
        lifts = [velocity(point(mu, v, 0.4), "coulomb-ccp")[0] for v in speeds]
        exact = [velocity(point(mu, v, 0.4), "coulomb-soccp")[0] for v in speeds]
        axes.plot(speeds, lifts, color=CURVES[i], linestyle=STYLES[i], label=f"convex cone program, μ = {mu}")
        print(f"mu = {mu}: lifted at {lifts[-1]:.3g} m/s from 6 m/s; by Coulomb's law at most {max(exact):.1g} m/s")
    axes.plot(speeds, exact, color="black", label="Coulomb's law, every μ")
    styled(axes, "speed before the step / (m/s)", "normal velocity after it / (m/s)")
    axes.legend(fontsize=8, frameon=False)
    save_figure(figure, file)


def pyramid_figure(file: Path) -> None:
    """Draw the turn of the slip by pyramids."""
    figure = plain_figure((7.2, 3.2))
    left, right = figure.subplots(1, 2)
    angles = np.radians(np.linspace(0.0, 90.0, 181))
    worst = []
    for i, facets in enumerate(FACETS):
        turns = [turn(facets, a) for a in angles]
        worst.append(max(map(abs, turns)))
        left.plot(np.degrees(angles), turns, color=CURVES[i], linestyle=STYLES[i % 4], label=f"{facets} facets")
        print(f"{facets} facets: slip turned by at most {worst[-1]:.3g} degrees")
    styled(left, "direction of slip before the step / °", "turn of the slip after it / °")
    left.legend(fontsize=8, frameon=False)
    right.loglog(FACETS, worst, color="black", marker="o")
    styled(right, "facets k", "largest turn / °")
    right.set_xticks(FACETS, map(str, FACETS))
    right.set_yticks((2, 5, 10, 20, 40), ("2", "5", "10", "20", "40"))
    right.minorticks_off()
    save_figure(figure, file)


def main() -> None:
    """Draw both."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures")
    folder.mkdir(parents=True, exist_ok=True)
    dilation_figure(folder / "dilation.svg")
    pyramid_figure(folder / "pyramid.svg")


if __name__ == "__main__":
    main()
