"""The parallelogram four-bar linkage of Yang & Yao 2017: a singular mass matrix.

Two cranks of length l and mass m turn about fixed pivots, and a coupler of the same length and mass joins them.
theta1 and theta2 are the crank angles, theta3 is the hinge angle; the coupler stays parallel to the ground. The kinetic
energy of the coupler is expressed by theta1', so theta3 has no mass: M = diag(4 m l^2/3, m l^2/3, 0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.erratum import Evidence, errata, notes
from gaussopt.modelling.modified import Variant
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.reference import Reference
from gaussopt.modelling.sketch import Angle, Bar, Bearing, Length, Parameters, Pin, Point, Shape, Torque, along, between
from gaussopt.problems._evidence import acceleration, first_step

PARAMETERS = (
    Parameter("m", 12.0, "kg", "mass of each bar"),
    Parameter("l", 2.0, "m", "length of each bar"),
    Parameter("psi", 450.0, "N m", "constant torque on crank 1; 0 lets the linkage swing"),
    Parameter(
        "tau3", 0.0, "N m", "torque on the hinge angle theta3 (a counterexample, not in the source)", printed=False
    ),
    Parameter("g", 9.81, "m/s^2", "gravity", printed=False),
    Parameter("omega0", 0.0, "rad/s", "initial rate of the cranks", printed=False),
)


def build(constraint: str = "regular", weight: float = 0.5, sign: int = 1) -> AbstractSystem:
    """Derive the equations; the constraint is theta1 = theta2, or, if "printed", l sin theta1 = l sin theta2.

    `weight` is the factor of m g l sin(theta2) in the potential energy (1 in the printed force). A `sign` of -1
    reverses all forces, as the printed objective does.
    """
    import sympy as sp

    q = th1, th2, th3 = sp.symbols("theta1 theta2 theta3")
    v = w1, w2, _ = sp.symbols("omega1 omega2 omega3")
    m, l, psi, tau3, g = sp.symbols("m l psi tau3 g")
    lift = sp.nsimplify(weight)
    closure = th1 - th2 if constraint == "regular" else l * sp.sin(th1) - l * sp.sin(th2)
    return System.from_lagrangian(
        q,
        v,
        kinetic=sp.Rational(2, 3) * m * l**2 * w1**2 + sp.Rational(1, 6) * m * l**2 * w2**2,
        potential=sign * m * g * l * (sp.Rational(3, 2) * sp.sin(th1) + lift * sp.sin(th2)),
        forces={th1: sign * psi, th3: sign * tau3},
        holonomic=[closure, th1 + th3 - sp.pi],
        quasi_velocities=[w1] if constraint == "regular" else [],
        parameters={p.name: p.value for p in PARAMETERS},
        name="four-bar",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state at theta1 = 60 degrees."""
    w = p["omega0"]
    return np.array([np.pi / 3, np.pi / 3, 2 * np.pi / 3]), np.array([w, w, -w])


# -- drawing ---------------------------------------------------------------------------------------------


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw both cranks, and the coupler at its hinge angle; the coupler meets crank 2 if the constraints hold."""
    l, (th1, th2, th3) = p["l"], q
    O, P = (0.0, 0.0), (l, 0.0)
    A, B = along(O, l, th1), along(P, l, th2)
    end = along(A, l, th1 + th3 - np.pi)
    return (
        Bar(O, A, "l"), Bar(P, B, "l"), Bar(A, end, "l"), Bearing(O, "", "w"), Bearing(P), Pin(A, "", "nw"), Pin(B),
        Point(between(A, end), trace=True), Angle(O, 0.0, th1, "θ_1"), Angle(P, 0.0, th2, "θ_2"),
        Angle(A, th1 - np.pi, th1 - np.pi + th3, "θ_3"), Torque(O, "ψ"), Length(O, P, "l", -0.3 * l),
    )  # fmt: skip


def at_angle(theta: float, rate: float, variant: str = "") -> StepData:
    """Return the step at a crank angle, for evidence and tests."""
    entry = problem.at(variant=variant) if variant else problem
    return entry.system.evaluate(0.0, np.array([theta, theta, np.pi - theta]), np.array([rate, rate, -rate]))


# -- errata ----------------------------------------------------------------------------------------------


def _against_start(label: str, variant: str, sentence: str) -> Evidence:
    printed, exact = acceleration(first_step("four-bar", variant=variant))[0], acceleration(first_step("four-bar"))[0]
    numbers = {f"θ₁″ at the start, {label}, rad/s²": printed, "θ₁″ at the start, correct, rad/s²": exact}
    return Evidence(numbers, sentence, bool(np.isclose(printed, exact)))


def _pseudo_inverse() -> Evidence:
    step = first_step("four-bar", tau3=100.0)
    printed, exact = acceleration(step, "pinv-mass-as-printed", np.inf), acceleration(step)
    force = step.force
    lost = force - step.M @ (np.linalg.pinv(step.M) @ force)
    return Evidence(
        {"θ₁″ with τ₃ = 100 N m, M^+ objective": printed[0], "θ₁″ with τ₃ = 100 N m, correct": exact[0],
         "force lost by the projection, N m": float(np.linalg.norm(lost))},
        "A torque on the massless hinge angle acts through the constraint; the M^+ objective ignores it.",
        bool(np.isclose(printed[0], exact[0])),
    )  # fmt: skip


def upright(rate: float) -> StepData:
    """Return the step with the printed constraint at 90 degrees, where its row vanishes: cos(pi/2) is set to zero."""
    step = at_angle(np.pi / 2, rate, "printed-constraint")
    return replace(step, J=np.where(np.abs(step.J) < 1e-15, 0.0, step.J), arithmetic=None)


def _constraint() -> Evidence:
    printed, exact = acceleration(upright(2.0)), acceleration(at_angle(np.pi / 2, 2.0))
    rank = np.linalg.matrix_rank(upright(2.0).J)
    numbers = {
        f"θ{i + 1}″ at 90°, {label}": float(a[i])
        for label, a in (("printed", printed), ("correct", exact))
        for i in (0, 1)
    }
    return Evidence(
        {**numbers, "rank of the printed J at 90°": float(rank)},
        "At 90 degrees and 2 rad/s the printed row vanishes; the acceleration is still 'unique' and wrong. (In "
        "floating point the row is 1e-16 and its direction is right; here it is zero, as it is in exact arithmetic.)",
        bool(np.allclose(printed, exact)),
    )


def _uniqueness() -> Evidence:
    step = first_step("four-bar")
    rank = int(np.linalg.matrix_rank(np.vstack((step.M, step.J))))
    return Evidence(
        {"rank of M": float(np.linalg.matrix_rank(step.M)), "rank of [M; J]": float(rank), "n": float(step.n)},
        "The acceleration is unique because rank [M; J] = n, a condition that the source does not state.",
        rank != step.n,
    )


def _gradient() -> Evidence:
    """Evaluate (4) as printed, with the constraint functions in place of their gradients."""
    step, entry = first_step("four-bar"), problem.at(variant="printed-constraint")
    phi = entry.system.position_residual(0.0, entry.q0)
    assert phi is not None
    missing = step.M @ acceleration(step) + step.h - step.Q
    return Evidence(
        {"entries of M a, N m": float(step.n), "entries of Φ^T λ": 1.0,
         "largest |Φ| at the start": float(np.abs(phi).max()), "largest |M a + h - Q| at the start, N m":
         float(np.abs(missing).max())},
        "Φ^T λ is one number where three are needed, and zero wherever the constraints hold; the constraint force is "
        "not zero.",
        bool(np.allclose(missing, 0.0)),
    )  # fmt: skip


ERRATA: dict[str, Callable[[], Evidence]] = {
    "002-1": partial(_against_start, "printed sign", "printed-sign", "The printed sign reverses all forces."),
    "002-2": _pseudo_inverse,
    "002-3": partial(
        _against_start, "printed force", "printed-force", "The printed forces count half of the coupler twice."
    ),
    "002-4": _constraint, "002-5": _gradient, "002-7": _uniqueness,
}  # fmt: skip

VARIANTS = {
    "printed-constraint": Variant(
        partial(build, constraint="printed"), "the printed row, l sin(theta1) = l sin(theta2)"
    ),
    "printed-force": Variant(partial(build, weight=1.0), "the forces as printed, half of the coupler twice"),
    "printed-sign": Variant(partial(build, sign=-1), "all forces reversed, as by the printed sign"),
}

COLUMNS = (("th1", "th2", "th3"), ("lam_theta12", "lam_theta13"), "E")

problem = Problem(
    name="four-bar",
    title="Parallelogram four-bar with a singular mass matrix",
    source="Yang & Yao 2017 (paper 002), Gauss's principle with a singular mass matrix, genetic algorithm",
    description="Three coordinates, two holonomic constraints, one degree of freedom, rank M = 2.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    units={"theta1": "rad", "theta2": "rad", "theta3": "rad"},
    t_end=2.0,
    dt=1e-3,
    references=(
        Reference("four-bar-A", "fourbar_A_const_torque.csv", {"psi": 450.0}, 1e-13, "constant torque, 2 s", *COLUMNS),
        Reference("four-bar-B", "fourbar_B_no_torque.csv", {"psi": 0.0}, 1e-13, "no torque, swings, 5 s", *COLUMNS),
        Reference("four-bar-printed-force", "fourbar_printedQ_const_torque.csv", {"psi": 450.0}, 1e-13,
                  "the printed forces, 2 s", *COLUMNS, "printed-force"),
    ),
    errata=errata(ERRATA),
    notes=notes("four-bar"),
    variants=VARIANTS,
)  # fmt: skip
