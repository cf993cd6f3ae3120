"""The planar body on a knife edge of Hao, Liu & Yao 2020: one nonholonomic constraint.

A body of mass M and central inertia I_C slides on a plane; a blade at its centroid C lets it move only along its own
axis: vx sin(phi) - vy cos(phi) = 0. The loads are a force F(t) = F0 cos(nu t) at the fixed angle alpha and a torque
L_C. The quasi-velocities are omega1, the speed along the blade, and omega2, the turning rate.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.erratum import Evidence, errata, notes
from gaussopt.modelling.modified import Variant
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Case, Problem
from gaussopt.modelling.reference import Reference
from gaussopt.modelling.sketch import Angle, Axes, Blade, Block, Force, Parameters, Point, Shape, Sketch, Torque
from gaussopt.problems._evidence import acceleration

PARAMETERS = (
    Parameter("M", 2.0, "kg", "mass", printed=False),
    Parameter("I_C", 0.5, "kg m^2", "central moment of inertia", printed=False),
    Parameter("F0", 4.0, "N", "amplitude of the force", printed=False),
    Parameter("nu", 0.0, "rad/s", "frequency of the force; 0 for a constant one", printed=False),
    Parameter("alpha", -np.pi / 2, "rad", "direction of the force", printed=False),
    Parameter("L_C", 0.0, "N m", "torque", printed=False),
    Parameter("phi0", 0.0, "rad", "initial angle of the blade", printed=False),
    Parameter("Omega", 1.0, "rad/s", "initial turning rate", printed=False),
    Parameter("omega1_0", 2.0, "m/s", "initial speed along the blade", printed=False),
)


def build(row: str = "regular") -> AbstractSystem:
    """Derive the equations with the constraint in its regular form, or as the source prints it, vx tan(phi) - vy."""
    import sympy as sp

    _, phi, _ = q = sp.symbols("x phi y")
    vx, w, vy = v = sp.symbols("vx omega vy")
    M, I_C, F0, nu, alpha, L_C, t = sp.symbols("M I_C F0 nu alpha L_C t")
    F = F0 * sp.cos(nu * t)
    constraint = vx * sp.sin(phi) - vy * sp.cos(phi) if row == "regular" else vx * sp.tan(phi) - vy
    return System.from_lagrangian(
        q,
        v,
        kinetic=M * (vx**2 + vy**2) / 2 + I_C * w**2 / 2,
        forces=[F * sp.cos(alpha), L_C, F * sp.sin(alpha)],
        nonholonomic=[constraint],
        quasi_velocities=[vx * sp.cos(phi) + vy * sp.sin(phi), w],
        parameters={p.name: p.value for p in PARAMETERS},
        name="knife-edge-body",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state at the origin, moving along the blade."""
    phi, speed = p["phi0"], p["omega1_0"]
    return np.array([0.0, phi, 0.0]), np.array([speed * np.cos(phi), p["Omega"], speed * np.sin(phi)])


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the body from above, with its blade at C and its size from its radius of gyration."""
    x, phi, y = q
    r, C = np.sqrt(p["I_C"] / p["M"]), (x, y)
    return (
        Axes((0.0, 0.0)), Block(C, 2.2 * r, 1.3 * r, phi), Blade(C, 1.5 * r, phi), Point(C, "C", "se", trace=True),
        Angle(C, 0.0, phi, "φ"), Force(C, p["alpha"], "F"), Torque(C, "L_C"),
    )  # fmt: skip


def pose(p: Parameters) -> Vector:
    """Return the configuration of the labelled drawing, away from the origin and rotated."""
    r = np.sqrt(p["I_C"] / p["M"])
    return np.array([3.2 * r, 0.6, 1.6 * r])


CASES = {
    "NH-A": Case({"F0": 4.0, "nu": 0.0, "alpha": -np.pi / 2, "L_C": 0.0, "Omega": 1.0, "omega1_0": 2.0}, 30.0,
                 "constant force, cycloid in closed form"),
    "NH-B": Case({"F0": 8.0, "nu": 2.0, "alpha": 0.0, "L_C": 0.0, "Omega": 0.085, "omega1_0": 0.0}, 60.0,
                 "alternating force; the first crests coincide, then the tan row drifts"),
    "NH-C": Case({"F0": 3.0, "nu": 0.0, "alpha": np.pi / 6, "L_C": 0.2, "Omega": 0.3, "omega1_0": 0.5}, 10.0,
                 "with torque; seven crossings of the pole"),
}  # fmt: skip


def exact_cycloid(t: Vector) -> Vector:
    """Return the closed form of NH-A: x = t + sin(2t)/2, phi = t, y = sin(t)^2, as rows (x, phi, y)."""
    return np.stack((t + 0.5 * np.sin(2 * t), t, np.sin(t) ** 2), axis=1)


# -- errata ----------------------------------------------------------------------------------------------


STATE = np.array([0.0, 0.8, 0.0]), np.array([0.6 * np.cos(0.8), 0.5, 0.6 * np.sin(0.8)])
"""The state (q, v) at which equations are evaluated: 0.8 rad, 0.6 m/s along the blade and 0.5 rad/s."""


def _at_a_state() -> tuple[AbstractSystem, StepData, Matrix, Vector]:
    """Return the system NH-C, and its step, D_omega and acceleration at `STATE`."""
    system = problem.at(case="NH-C").system
    step = system.evaluate(0.0, *STATE)
    assert step.D_omega is not None
    return system, step, step.D_omega, acceleration(step)


def _derivative_of_w() -> Evidence:
    system, step, D, a = _at_a_state()
    q, v = STATE
    # w' along the true motion, by a central difference of w(q, v).
    eps = 1e-5
    ahead, behind = (np.asarray(system.evaluate(0.0, q + s * eps * v, v + s * eps * a).w_omega) for s in (1, -1))
    rate = system.quasi_velocity_rate(0.0, q, v, a)
    K = D.T @ step.M @ D
    printed = np.linalg.solve(K, D.T @ (step.force - step.M @ ((ahead - behind) / (2 * eps))))
    correct = np.linalg.solve(K, D.T @ (step.force - step.M @ np.asarray(step.w_omega)))
    return Evidence(
        {"ω₁′ with M w′ (printed)": printed[0], "ω₁′ with M w": correct[0], "ω₁′ of the true motion": rate[0]},
        "At phi = 0.8 rad, 0.6 m/s, 0.5 rad/s (case NH-C): the derivative of w has no place in the equation.",
        bool(np.isclose(printed[0], rate[0])),
    )


def _transpose() -> Evidence:
    """Evaluate (8) as printed: its product lacks a transpose, and is therefore an entrywise product."""
    _, step, D, a = _at_a_state()
    terms = (step.M @ a + step.h - step.Q) * D[:, 0]
    return Evidence(
        {"x entry": float(terms[0]), "φ entry": float(terms[1]), "y entry": float(terms[2]),
         "their sum": float(terms.sum())},
        "For the true acceleration (NH-C at φ = 0.8 rad) and δa along the blade: the sum, which the transpose "
        f"makes, is {terms.sum():.1g}. Without it (8) would ask each entry to be zero, as if there "
        "were no constraint force.",
        bool(np.allclose(terms, 0.0)),
    )  # fmt: skip


def _algorithm() -> Evidence:
    """Show that the printed algorithm uses omega' in place of omega."""
    system, _, D, a = _at_a_state()
    q, v = STATE
    omega, rate = system.quasi_velocity(0.0, q, v), system.quasi_velocity_rate(0.0, q, v, a)
    printed, correct = D @ rate, D @ omega
    return Evidence(
        {"x′ with ω′ in (13)": float(printed[0]), "x′ with ω in (13)": float(correct[0]),
         "x′ of the state": float(v[0])},
        "(13) is a relation between velocities: ω′ has to be integrated before it is put there.",
        bool(np.isclose(printed[0], v[0])),
    )  # fmt: skip


def _choice() -> Evidence:
    numbers = {}
    for phi in (1.0, 1.5, 1.57):
        J = np.array([[np.cos(phi), 0, np.sin(phi)], [0, 1, 0], [np.tan(phi), 0, -1]])
        numbers[f"|det| of the printed choice at {phi} rad"] = float(abs(np.linalg.det(J)))
    J[2] = np.sin(phi), 0, -np.cos(phi)
    numbers["|det| with the regular row at 1.57 rad"] = float(abs(np.linalg.det(J)))
    return Evidence(
        numbers, "The printed omega3 violates the source's own condition at the pole; with the regular row "
        f"the determinant is {numbers['|det| with the regular row at 1.57 rad']:.6g}.",
        numbers["|det| of the printed choice at 1.57 rad"] < 10,
    )  # fmt: skip


def _routh() -> Evidence:
    from gaussopt.simulation.simulate import simulate

    numbers = {}
    for label, variant in (("tan row", {"variant": "tan-row"}), ("regular row", {})):
        for dt in (0.0099, 0.01, 0.0101):  # the error depends on where within a step the pole lies
            traj = simulate(
                problem.at(case="NH-A", **variant), "routh", "kkt", dt=dt, t_end=2.0, step_folder=None,
                error_estimate=False,
            )  # fmt: skip
            off = float(np.abs(traj.q - exact_cycloid(traj.t))[:, [0, 2]].max())
            numbers[f"largest position error, {label}, dt = {dt:g} s, m"] = off
    tan, regular = ([v for k, v in numbers.items() if f" {row} row" in k] for row in ("tan", "regular"))
    return Evidence(
        numbers, f"Routh's equations with the regular row follow the closed form to {max(regular):.1e} m; those with "
        f"the tan row miss it by {min(tan):.2g} to {max(tan):.2g} m (NH-A, RK4 with three steps near 0.01 s, 2 s, one "
        "pole).", max(regular) > 1e-3 * min(tan),
    )  # fmt: skip


ERRATA = {
    "004-1": _derivative_of_w, "004-2": _transpose, "004-4": _algorithm, "004-5": _choice, "004-6": _routh,
}  # fmt: skip

COLUMNS = (("xC", "phi", "yC"), ("lam_regular",), "")

problem = Problem(
    name="knife-edge-body",
    title="Body on a knife edge (nonholonomic)",
    source="Hao, Liu & Yao 2020 (paper 004), quasi-velocities against Routh",
    description="Three coordinates, one nonholonomic constraint, two degrees of freedom.",
    build=build,
    start=start,
    sketch=Sketch(sketch, pose),
    parameters=PARAMETERS,
    units={"x": "m", "y": "m", "phi": "rad"},
    t_end=30.0,
    dt=1e-2,
    references=tuple(
        Reference(case, f"nonholonomic_{case[-1]}.csv", CASES[case].values, 1e-13, CASES[case].description, *COLUMNS)
        for case in CASES
    ),
    errata=errata(ERRATA),
    notes=notes("knife-edge-body"),
    cases=CASES,
    variants={"tan-row": Variant(partial(build, row="tan"), "the row as printed, vx tan(phi) - vy = 0")},
)
