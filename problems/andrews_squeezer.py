"""Andrews' squeezing mechanism: seven bodies in the plane, driven by a motor, one degree of freedom.

Body 1 is the crank about O, body 2 the rod from its tip F to E. Rods 3, 4 and 6 are hinged to body 2 at E: 3 turns
about B and is pulled at D by a spring from C; 4 and 6 are hinged to the ends of 5 and 7, which turn about A. The
source's coordinates are beta = theta_1, Theta = theta_2 - theta_1, gamma = theta_3, delta = theta_5,
Phi = theta_4 - theta_5, epsilon = theta_7 and Omega = theta_6 - theta_7.
"""

from __future__ import annotations

from gaussopt.bodies import AppliedTorque, Model, Revolute, SpringDamper
from gaussopt.bodies.mechanism import mechanism
from gaussopt.modelling.parameter import Parameter

MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.0705, 0.00706, 0.05498)
INERTIAS = (2.194e-6, 4.41e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
LENGTHS = {
    "xa": -0.06934, "ya": -0.00227, "xb": -0.03635, "yb": 0.03273, "xc": 0.014, "yc": 0.072, "d": 0.028, "da": 0.0115,
    "e": 0.02, "ea": 0.01421, "rr": 0.007, "ra": 0.00092, "ss": 0.035, "sa": 0.01874, "sb": 0.01043, "sc": 0.018,
    "sd": 0.02, "ta": 0.02308, "tb": 0.00916, "u": 0.04, "ua": 0.01228, "ub": 0.00449, "zf": 0.02, "zt": 0.04,
    "fa": 0.01421, "l0": 0.07785,
}  # fmt: skip
PARAMETERS = (
    *(Parameter(f"m{i}", m, "kg", f"mass of body {i}") for i, m in enumerate(MASSES, 1)),
    *(Parameter(f"I{i}", x, "kg m^2", f"inertia of body {i}") for i, x in enumerate(INERTIAS, 1)),
    Parameter("c0", 4530.0, "N/m", "stiffness of the spring"),
    Parameter("mom", 0.033, "N m", "torque of the motor"),
)
START = (
    -0.0617138900142764496358948458001, 0.0, 0.455279819163070380255912382449, 0.222668390165885884674473185609,
    0.487364979543842550225598953530, -0.222668390165885884674473185609, 1.23054744454982119249735015568,
)  # fmt: skip
"""Values of (beta, Theta, gamma, Phi, delta, Omega, epsilon), rad."""


def fill(model: Model) -> None:
    """Add the bodies; each frame has its origin at the centre of mass, and the angle that the source uses."""
    p, g = model.symbols, LENGTHS
    beta, Theta, gamma, Phi, delta, Omega, epsilon = START
    angles = (beta, beta + Theta, gamma, Phi + delta, delta, Omega + epsilon, epsilon)
    A, B, E = (g["xa"], g["ya"]), (g["xb"], g["yb"]), (-0.02, 0.0)
    near = ((0.0, 0.0), (-0.01, 0.0), B, E, A, E, A)
    one, two, three, four, five, six, seven = (
        model.body(f"{i}", p[f"m{i}"], p[f"I{i}"], at=at, angle=angle)
        for i, (at, angle) in enumerate(zip(near, angles, strict=True), 1)
    )
    ground = model.ground
    model.add(Revolute("O", ground, one.at(-g["ra"], 0)))
    model.add(Revolute("F", one.at(g["rr"] - g["ra"], 0), two.at(g["da"], 0)))
    model.add(Revolute("B", ground.at(*B), three.at(-g["sa"], -g["sb"])))
    # Points of body 3 relative to B: E at (0, -ss), D at (sd, -sc).
    corner, pulled = three.at(-g["sa"], -g["sb"] - g["ss"]), three.at(g["sd"] - g["sa"], -g["sc"] - g["sb"])
    end = two.at(g["da"] - g["d"], 0)
    model.add(Revolute("E3", end, corner))
    model.add(Revolute("A5", ground.at(*A), five.at(g["tb"], -g["ta"])))
    model.add(Revolute("A7", ground.at(*A), seven.at(-g["ua"], g["ub"])))
    model.add(Revolute("H4", five.at(g["tb"] + g["zt"], -g["ta"]), four.at(0, g["e"] - g["ea"])))
    model.add(Revolute("E4", end, four.at(0, -g["ea"])))
    model.add(Revolute("H6", seven.at(-g["ua"], g["ub"] - g["u"]), six.at(g["fa"] - g["zf"], 0)))
    model.add(Revolute("E6", end, six.at(g["fa"], 0)))
    model.add(SpringDamper("spring", ground.at(g["xc"], g["yc"]), pulled, p["c0"], g["l0"]))
    model.add(AppliedTorque("motor", ground, one, p["mom"]))


problem = mechanism(
    fill,
    name="andrews-squeezer",
    title="Andrews' squeezing mechanism",
    source="Test set for initial value problem solvers, problem andrews; E. Hairer, G. Wanner, Solving Ordinary "
    "Differential Equations II, 1996, sec. VII.7; IFToMM benchmark library, problem A03",
    description="Seven bodies, twenty holonomic constraints, one degree of freedom, fast and small.",
    parameters=PARAMETERS,
    hold=["theta_1"],
    bodies="1234567",
    t_end=0.03,
    dt=1e-5,
)
