"""The slider-crank of the SUNDIALS examples: a spring and a damper join the midpoints of crank and rod.

The centre of mass of the rod is at the slider; a constant force F pulls the rod's far end along x.
"""

from __future__ import annotations

from gaussopt.bodies import AppliedForce, Model, Revolute, Slot, SpringDamper
from gaussopt.bodies.mechanism import mechanism
from gaussopt.modelling.parameter import Parameter

PARAMETERS = (
    Parameter("a", 0.5, "m", "length of the crank"),
    Parameter("J1", 1.0, "kg m^2", "inertia of the crank about its pivot"),
    Parameter("m2", 1.0, "kg", "mass of rod and slider"),
    Parameter("J2", 2.0, "kg m^2", "inertia of the rod about the slider"),
    Parameter("k", 1.0, "N/m", "stiffness of the spring"),
    Parameter("c", 1.0, "N s/m", "damping constant"),
    Parameter("l0", 1.0, "m", "length of the relaxed spring"),
    Parameter("F", 1.0, "N", "force along x"),
)


def fill(model: Model) -> None:
    """Add crank and rod; the rod reaches 1 m from the slider to the crank and 1 m beyond the slider."""
    import sympy as sp

    a, J1, m2, J2, k, c, l0, F = model.symbols.values()
    crank = model.body("crank", m2, J1, angle=sp.pi / 2)
    rod = model.body("rod", m2, J2, at=(sp.sqrt(1 - a**2), 0), angle=-sp.asin(a))
    model.add(Revolute("O", model.ground, crank))
    model.add(Revolute("A", crank.at(a, 0), rod.at(-1, 0)))
    model.add(Slot("guide", model.ground, rod))
    model.add(SpringDamper("spring", crank.at(a / 2, 0), rod.at(-0.5, 0), k, l0, c))
    model.add(AppliedForce("pull", model.ground, rod.at(1, 0), (F, 0)))


problem = mechanism(
    fill,
    name="slider-crank-spring",
    title="Slider-crank with a spring between crank and rod",
    source="SUNDIALS 7, examples idaSlCrank_dns and idasSlCrank_dns",
    description="Two bodies, five holonomic constraints, one degree of freedom, damped.",
    parameters=PARAMETERS,
    hold=["theta_crank"],
    bodies=["crank", "rod"],
    t_end=10.0,
    dt=1e-2,
)
