"""The car axis: a heavy axle on two springs, the right one on a wavy road.

The left spring stands at the origin, the right one at (x_b, y_b) with y_b = r sin(omega t), x_b^2 + y_b^2 = L^2. The
left end of the axle stays on the line through the origin perpendicular to the line between the feet of the springs;
the ends keep the distance L. Each end has the mass K = M eps^2 / 2 for the scaled mass M of the axle.
"""

from __future__ import annotations

from gaussopt.bodies import Distance, Model, Slot, SpringDamper
from gaussopt.bodies.mechanism import mechanism
from gaussopt.modelling.parameter import Parameter

PARAMETERS = (
    Parameter("M", 10.0, "kg", "mass of the axle"),
    Parameter("eps", 0.01, "1", "scale of the mass"),
    Parameter("L", 1.0, "m", "length of the axle"),
    Parameter("L0", 0.5, "m", "length of the relaxed springs"),
    Parameter("r", 0.1, "m", "height of the waves of the road"),
    Parameter("omega", 10.0, "rad/s", "their frequency"),
    Parameter("g", 1.0, "m/s^2", "gravity"),
)


def fill(model: Model) -> None:
    """Add two particles and springs of stiffness 1 N/m."""
    import sympy as sp

    M, eps, L, L0, r, omega, g = model.symbols.values()
    model.gravity, K = (0, -g), M * eps**2 / 2
    height = r * sp.sin(omega * model.t)
    wheel = model.moving("wheel", (sp.sqrt(L**2 - height**2), height))
    line = model.moving("wheels", (0, 0), sp.asin(height / L))
    left = model.particle("left", K, at=(0, L0), velocity=(-1 / (2 * L), 0))
    right = model.particle("right", K, at=(L, L0), velocity=(-1 / (2 * L), 0))
    model.add(SpringDamper("left-spring", model.ground, left, 1, L0))
    model.add(SpringDamper("right-spring", wheel, right, 1, L0))
    model.add(Slot("guide", line.at(0, 0, axis=(0, 1)), left))
    model.add(Distance("axle", left, right, L))


problem = mechanism(
    fill,
    name="car-axis",
    title="Car axis on a wavy road",
    source="Test set for initial value problem solvers, problem caraxis",
    description="Four coordinates, two holonomic constraints, one of them depends on time; fast springs.",
    parameters=PARAMETERS,
    bodies=["left", "right"],
    t_end=3.0,
    dt=1e-3,
)
