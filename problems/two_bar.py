"""The two hinged bars of Yao, Liu & Yang 2020 on a rough floor: two contacts with Coulomb friction.

Bars AB and BC of length l and mass m are hinged at B; A and C may touch the floor. x, y is the centroid of AB, theta1
its angle from the horizontal, theta2 the angle of BC from the vertical:
B = (x + l/2 cos theta1, y + l/2 sin theta1), C = B + l (sin theta2, -cos theta2). F pulls upwards at B, F_C at C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.contacts import Contact
from gaussopt.core.event import Event
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling import sketch as draw
from gaussopt.modelling.callables import System
from gaussopt.modelling.erratum import errata, notes
from gaussopt.modelling.modified import ModifiedSystem, Variant
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.parameter_grid import AtlasGrid, Axis
from gaussopt.modelling.problem import Case, Problem
from gaussopt.modelling.reference import Reference
from gaussopt.modelling.sketch import Parameters, Place, Shape, along
from gaussopt.problems._two_bar_errata import ERRATA
from gaussopt.problems._two_bar_errata import both_active as both_active

PARAMETERS = (
    Parameter("m", 2.0, "kg", "mass of each bar"),
    Parameter("l", 2.0, "m", "length of each bar"),
    Parameter("mu", 0.2, "1", "friction coefficient of both ends"),
    Parameter("F", 0.0, "N", "force upwards at the hinge B; the source gives no value", printed=False),
    Parameter("F_C", 0.0, "N", "force upwards at the end C (a counterexample, not in the source)", printed=False),
    Parameter("g", 9.81, "m/s^2", "gravity", printed=False),
    Parameter("e_N", 0.0, "1", "coefficient of restitution", printed=False),
    Parameter("x0", 2.0**0.5, "m", "initial x of the centroid of AB"),
    Parameter("gap0", 0.0, "m", "initial height of A", printed=False),
    Parameter("theta1_0", np.pi / 4, "rad", "initial angle of AB"),
    Parameter("theta2_0", np.pi / 4, "rad", "initial angle of BC"),
    Parameter("vx0", -1.0, "m/s", "initial velocity of the centroid of AB along the floor"),
    Parameter("gap_rate0", 0.0, "m/s", "initial velocity of A upwards", printed=False),
    Parameter("omega1_0", -0.1, "rad/s", "initial angular velocity of AB"),
    Parameter("omega2_0", 0.1, "rad/s", "initial angular velocity of BC"),
)


def build() -> AbstractSystem:
    """Derive the equations in the source's four coordinates."""
    import sympy as sp

    x, y, th1, th2 = q = sp.symbols("x y theta1 theta2")
    vx, vy, w1, w2 = v = sp.symbols("vx vy omega1 omega2")
    m, l, g = sp.symbols("m l g")
    B = sp.Matrix([x + l / 2 * sp.cos(th1), y + l / 2 * sp.sin(th1)])
    C = B + l * sp.Matrix([sp.sin(th2), -sp.cos(th2)])
    centre = (B + C) / 2
    speed = centre.jacobian(q) * sp.Matrix(v)
    kinetic = m * (vx**2 + vy**2 + sp.expand(speed.dot(speed))) / 2 + m * l**2 * (w1**2 + w2**2) / 24
    return _system("two-bar", q, v, {"kinetic": kinetic, "potential": m * g * (y + centre[1])}, B, C)


def build_maximal() -> AbstractSystem:
    """Derive the equations in six coordinates, three per bar, with two rows for the hinge."""
    import sympy as sp

    x1, y1, th1, x2, y2, th2 = q = sp.symbols("x1 y1 theta1 x2 y2 theta2")
    v = sp.symbols("vx1 vy1 omega1 vx2 vy2 omega2")
    m, l, g = sp.symbols("m l g")
    half = l / 2
    masses = (m, m, m * l**2 / 12) * 2
    B = sp.Matrix([x1 + half * sp.cos(th1), y1 + half * sp.sin(th1)])
    C = sp.Matrix([x2 + half * sp.sin(th2), y2 - half * sp.cos(th2)])
    parts = {
        "kinetic": sum(a * b**2 for a, b in zip(masses, v, strict=True)) / 2,
        "potential": m * g * (y1 + y2),
        "holonomic": [B[0] - (x2 - half * sp.sin(th2)), B[1] - (y2 + half * sp.cos(th2))],
    }
    return _system("two-bar-maximal", q, v, parts, B, C)


def _system(name: str, q: Any, v: Any, parts: dict[str, Any], B: Any, C: Any) -> AbstractSystem:
    """Return the system in coordinates that begin with x, y, theta1, from its energies and the positions of B and C."""
    import sympy as sp

    (x, y, th1), (l, mu, F, F_C, e_N) = q[:3], sp.symbols("l mu F F_C e_N")
    A = (x - l / 2 * sp.cos(th1), y - l / 2 * sp.sin(th1))
    pull = B.jacobian(q).T * sp.Matrix([0, F]) + C.jacobian(q).T * sp.Matrix([0, F_C])
    return System.from_lagrangian(
        q,
        v,
        **parts,
        forces=list(pull),
        contacts=[Contact(name, position=tuple(end), mu=mu, e_N=e_N) for name, end in (("A", A), ("C", C))],
        parameters={p.name: p.value for p in PARAMETERS},
        name=name,
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state with the source's angles and rates, and A at its initial height."""
    half, th1, w1 = p["l"] / 2, p["theta1_0"], p["omega1_0"]
    q = np.array([p["x0"], p["gap0"] + half * np.sin(th1), th1, p["theta2_0"]])
    return q, np.array([p["vx0"], p["gap_rate0"] + half * np.cos(th1) * w1, w1, p["omega2_0"]])


def to_maximal(q: Vector, v: Vector, l: float) -> tuple[Vector, Vector]:
    """Return the state of the variant `maximal`, (6,) and (6,), for a state in the four coordinates."""
    x, y, th1, th2 = q
    half = l / 2
    c1, s1, c2, s2 = np.cos(th1), np.sin(th1), np.cos(th2), np.sin(th2)
    vx, vy, w1, w2 = v
    place = np.array([x, y, th1, x + half * (c1 + s2), y + half * (s1 - c2), th2])
    return place, np.array([vx, vy, w1, vx + half * (-s1 * w1 + c2 * w2), vy + half * (c1 * w1 + s2 * w2), w2])


def start_maximal(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state of `start` in the six coordinates of the variant `maximal`."""
    return to_maximal(*start(p), p["l"])


def events(p: Parameters) -> tuple[Event, ...]:
    """Return the event at which B reaches the floor: AB lies flat. theta1 is the third coordinate in both variants."""
    return (Event("floor", lambda t, q, v: float(np.sin(q[2])), direction=-1, terminal=True),)


# -- drawing -----------------------------------------------------------------------------------------------


def _bars(A: Place, hinge: tuple[Place, Place], C: Place, q: Vector, angle: float) -> tuple[Shape, ...]:
    """Return both bars from their ends; `hinge` holds the end of AB and the beginning of BC."""
    B, D = hinge
    return (
        draw.Ground((A[0], 0.0)), draw.Bar(A, B, "l"), draw.Bar(D, C, "l"), draw.Pin(B, "B", "w"),
        draw.Point(A, "A", "nw"), draw.Point(C, "C", "ne"), draw.Point(B, trace=True),
        draw.ContactPoint("A", A), draw.ContactPoint("C", C), draw.Angle(A, 0.0, q[2], "θ_1"),
        draw.Angle(B, -np.pi / 2, angle - np.pi / 2, "θ_2"), draw.Force(B, np.pi / 2, "F"),
    )  # fmt: skip


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw bars AB and BC on the floor."""
    half, centre = p["l"] / 2, (q[0], q[1])
    B = along(centre, half, q[2])
    return _bars(along(centre, -half, q[2]), (B, B), along(B, p["l"], q[3] - np.pi / 2), q, q[3])


def sketch_maximal(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the bars from the six coordinates; the bars meet at B if the hinge rows hold."""
    half, first, second, down = p["l"] / 2, (q[0], q[1]), (q[3], q[4]), q[5] - np.pi / 2
    hinge = along(first, half, q[2]), along(second, -half, down)
    return _bars(along(first, -half, q[2]), hinge, along(second, half, down), q, q[5])


# -- closed forms with both ends on the floor --------------------------------------------------------------


def both_ends(theta: float, x: float, vx: float, omega: float, l: float) -> tuple[Vector, Vector]:
    """Return a state with both ends on the floor, theta2 = pi/2 - theta1."""
    y, vy = l / 2 * np.sin(theta), l / 2 * np.cos(theta) * omega
    return np.array([x, y, theta, np.pi / 2 - theta]), np.array([vx, vy, omega, -omega])


def delassus(theta: float, sigma: tuple[int, int], p: Parameters) -> Matrix:
    """Return A, the gap accelerations per unit contact force, (2, 2), 1/kg."""
    s, c = np.sin(theta), np.cos(theta)
    D = (1 + 3 * s**2) * (1 + 3 * c**2)
    own, other = 7 + 3 * s**2 - 9 * s**4, 1 - 9 * s**2 * c**2
    skew = np.array([[-5 / 3, np.cos(2 * theta)], [-np.cos(2 * theta), 5 / 3]])
    normal = 2 / (p["m"] * D) * np.array([[own, other], [other, own]])
    return np.asarray(normal + 9 * s * c / (p["m"] * D) * skew * np.array(sigma) * p["mu"])


def reduced(theta: float, omega: float, sigma: tuple[int, int], p: Parameters) -> tuple[float, float, Vector]:
    """Return theta'', x'' and (N_A, N_C) for both ends sliding and F = F_C = 0, derived without the contact rows."""
    s, c, mu, l, m, g = np.sin(theta), np.cos(theta), p["mu"], p["l"], p["m"], p["g"]
    a, b = sigma
    S = 4 * c + s * mu * (b - a)
    G = (-4 * c**2 + 5 * s * c * mu * (a - b) + 4 * s**2 * mu**2 * a * b) / S
    alpha = (-s * c * omega**2 + G * (2 * g / l - s * omega**2)) / (1 / 3 + s**2 - c * G)
    kappa = (m * l * (c * alpha - s * omega**2) + 2 * m * g) / S
    ax = 0.5 * (2 * mu * kappa * c * (a + b) / m + l * s * alpha + l * c * omega**2)
    return float(alpha), float(ax), np.array([kappa * (2 * c + s * mu * b), kappa * (2 * c - s * mu * a)])


# -- misprints ---------------------------------------------------------------------------------------------


def printed_sign(step: StepData, p: Parameters) -> StepData:
    """Reverse friction to act along the slip: the paper prints sgn v_T in place of sigma = -sgn v_T."""
    return replace(step, v_T=-step.v_T)


def printed_rows(step: StepData, p: Parameters) -> StepData:
    """Use the normal contact rows W_N as the paper prints them."""
    assert step.q is not None
    l, th1, th2 = p["l"], step.q[2], step.q[3]
    first = [0.0, l, -l / 2 * np.cos(th1), 0.0]
    return replace(step, J_N=np.array([first, [1.0, 0.0, l / 2 * np.sin(th1), l * np.sin(th2)]]))


def printed_bias(step: StepData, p: Parameters) -> StepData:
    """Use the printed bias of W_N: the centroid acceleration of BC with the wrong sign in its first entry."""
    assert step.q is not None
    assert step.v is not None
    half, (th1, th2), (w1, w2) = p["l"] / 2, step.q[2:], step.v[2:]
    along = half * (np.cos(th1) * w1**2 + np.sin(th2) * w2**2)
    return replace(step, zeta_N=np.array([along, half * (-np.sin(th1) * w1**2 + np.cos(th2) * w2**2)]))


def printed_force(step: StepData, p: Parameters) -> StepData:
    """Use the printed Q, without h and gravity."""
    assert step.q is not None
    F = p["F"]
    return replace(step, h=np.zeros(4), Q=np.array([0.0, F, F * p["l"] / 2 * np.cos(step.q[2]), 0.0]))


def as_printed(step: StepData, p: Parameters) -> StepData:
    """Apply all four misprints."""
    for change in (printed_sign, printed_rows, printed_bias, printed_force):
        step = change(step, p)
    return step


def build_altered(change: Callable[[StepData, Parameters], StepData]) -> AbstractSystem:
    """Return the regular system with a misprint of the paper applied to its steps."""
    return ModifiedSystem(build(), change)


VARIANTS = {
    "maximal": Variant(build_maximal, "six coordinates, those of both bars, and two rows for the hinge"),
    "printed-sign": Variant(partial(build_altered, printed_sign), "friction along the slip, as by the printed sign"),
    "printed-normal": Variant(partial(build_altered, printed_rows), "the normal rows W_N as printed"),
    "printed-bias": Variant(partial(build_altered, printed_bias), "the bias of the normal rows as printed"),
    "printed-force": Variant(partial(build_altered, printed_force), "the printed Q: neither h nor gravity"),
    "as-printed": Variant(partial(build_altered, as_printed), "all four misprints together"),
}

CASES = {
    "contact": Case({"gap0": 0.0, "gap_rate0": 0.0}, 0.6, "both ends on the floor (consistent reconstruction)"),
    "airborne": Case(
        {"gap0": 2.0**0.5 - np.sin(np.pi / 4), "gap_rate0": 1.0 + 0.1 * np.cos(np.pi / 4)}, 0.9,
        "the printed start y = l sin(pi/4), y' = 1: in the air, both ends land together",
    ),
}  # fmt: skip


EVENTS = {
    "contact": (
        ("reversal:C", 0.0962534976909762782), ("reversal:C", 0.481324914435816354), ("floor", 0.531209696578125137),
    ),
    "airborne": (
        ("landing:A", 0.504586063159988499), ("landing:C", 0.504586063159988499),
        ("reversal:C", 0.748448743481781183), ("floor", 0.791250516921970846),
    ),
}  # fmt: skip
REFERENCES = tuple(
    Reference(
        f"two-bar-{case}", f"twobar_{case}.csv", CASES[case].values, 1e-13, CASES[case].description,
        ("x", "y", "th1", "th2"), energy="E_mech", normal_forces=("N_A", "N_C"), phase="phase", events=events,
    )
    for case, events in EVENTS.items()
)  # fmt: skip

problem = Problem(
    name="two-bar",
    title="Two hinged bars on a rough floor",
    source="Yao, Liu & Yang 2020 (paper 001), Coulomb friction and a quadratic program of normal forces",
    description="Four coordinates (or six with two hinge rows), two contacts with friction.",
    build=build,
    start=start,
    sketch=sketch,
    sketches={"maximal": sketch_maximal},
    parameters=PARAMETERS,
    units={**dict.fromkeys(("x", "y", "x1", "y1", "x2", "y2"), "m"), "theta1": "rad", "theta2": "rad"},
    t_end=0.9,
    dt=1e-3,
    references=REFERENCES,
    errata=errata(ERRATA),
    notes=notes("two-bar"),
    cases=CASES,
    variants=VARIANTS,
    events=events,
    starts={"maximal": start_maximal},
    atlas=AtlasGrid(
        (Axis("theta1_0", np.radians(np.linspace(0.5, 89.5, 90))), Axis("mu", np.linspace(0.02, 1.2, 60))),
        # Both ends stay on the floor.
        follow={
            "theta2_0": lambda p: np.pi / 2 - p["theta1_0"], "omega2_0": lambda p: -p["omega1_0"],
            "gap0": lambda p: 0.0, "gap_rate0": lambda p: 0.0,
        },
    ),
)  # fmt: skip
