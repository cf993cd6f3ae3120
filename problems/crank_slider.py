"""The crank-slider of Yuan & Ge 2016: seven absolute coordinates, six holonomic constraints, one degree of freedom.

A crank of length l1 turns about the origin, and a connecting rod of length l2 joins its tip to a slider on the x axis;
a spring k and a damper c join the slider to a wall. (x1, y1, theta1) and (x2, y2, theta2) are centre and angle of
crank and rod, x3 is the position of the slider. The spring is relaxed at x3 = l1 + l2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling import sketch as draw
from gaussopt.modelling.callables import System
from gaussopt.modelling.erratum import Evidence, errata, notes
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.reference import Reference
from gaussopt.modelling.sketch import Parameters, Place, Shape, Sketch, along
from gaussopt.problems._evidence import acceleration, first_step, mass_miss, miss


def equations(q: Sequence[Any], v: Sequence[Any], weight: Any) -> dict[str, Any]:
    """Return energies, forces and constraint functions in seven coordinates, or in eight with the slider's height."""
    import sympy as sp

    x1, y1, th1, x2, y2, th2, x3, y3 = (*q, 0)[:8]
    m1, m2, m3, l1, l2, k, c, tau, I1, I2 = sp.symbols("m1 m2 m3 l1 l2 k c tau I1 I2")
    cos, sin, half = sp.cos, sp.sin, sp.Rational(1, 2)
    masses = (m1, m1, I1, m2, m2, I2, m3, m3)
    return {
        "kinetic": half * sum(m * u**2 for m, u in zip(masses, v, strict=False)),
        "potential": weight - tau * th1 + half * k * (l1 + l2 - x3) ** 2,
        "forces": {x3: -c * v[6]},
        "holonomic": [
            x1 - half * l1 * cos(th1),
            y1 - half * l1 * sin(th1),
            l1 * cos(th1) - x2 + half * l2 * cos(th2),
            l1 * sin(th1) - y2 + half * l2 * sin(th2),
            x2 + half * l2 * cos(th2) - x3,
            y2 + half * l2 * sin(th2) - y3,
        ],
    }


def build() -> AbstractSystem:
    """Derive the equations from the energies and the six constraint functions."""
    import sympy as sp

    q, v = sp.symbols("x1 y1 theta1 x2 y2 theta2 x3"), sp.symbols("vx1 vy1 omega1 vx2 vy2 omega2 vx3")
    m1, m2, g = sp.symbols("m1 m2 g")
    parts = equations(q, v, m1 * g * q[1] + m2 * g * q[4])
    return System.from_lagrangian(q, v, **parts, parameters={p.name: p.value for p in PARAMETERS}, name="crank-slider")


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state stretched out along the x axis, at rest: theta1 = theta2 = 0."""
    l1, l2 = p["l1"], p["l2"]
    return np.array([l1 / 2, 0.0, 0.0, l1 + l2 / 2, 0.0, 0.0, l1 + l2]), np.zeros(7)


# -- drawing -----------------------------------------------------------------------------------------------


def linkage(q: Vector, p: Parameters, slider: Place) -> tuple[Shape, ...]:
    """Return crank, rod, and slider with its spring and damper, which end at a wall beyond the slider's reach."""
    x1, y1, th1, x2, y2, th2 = q[:6]
    l1, l2 = p["l1"], p["l2"]
    O, A = along((x1, y1), -l1 / 2, th1), along((x1, y1), l1 / 2, th1)
    tail, head = along((x2, y2), -l2 / 2, th2), along((x2, y2), l2 / 2, th2)
    end, height = (l1 + l2) + 2.5 * l1, 0.18 * l2
    edge, up, down = slider[0] + 0.1 * l2, slider[1] + 0.35 * height, slider[1] - 0.35 * height
    return (
        draw.Bar(O, A, "l_1"), draw.Bar(tail, head, "l_2"), draw.Block(slider, 0.2 * l2, height),
        draw.Bearing(O, "O", "w"), draw.Pin(A, "A", "n"), draw.Pin(slider, "B", "se"),
        draw.Point((x2, y2), trace=True), draw.Spring((edge, up), (end, up), "k"),
        draw.Damper((end, down), (edge, down), "c"), draw.Wall((end, -1.2 * height), (end, 1.2 * height)),
        draw.Angle(O, 0.0, th1, "θ_1"), draw.Angle(A, 0.0, th2, "θ_2"), draw.Torque(O, "τ"),
        draw.Length((0.0, 0.0), (slider[0], 0.0), "x_3", -0.3 * l2),
    )  # fmt: skip


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the linkage with its slider on a smooth guide."""
    l1, l2 = p["l1"], p["l2"]
    y = -0.09 * l2
    return draw.Wall((l2 - l1 - 0.15 * l2, y), (l1 + l2 + 0.15 * l2, y)), *linkage(q, p, (q[6], 0.0))


def pose(p: Parameters) -> Vector:
    """Return the configuration of the labelled drawing, with the crank at 55 degrees."""
    th1 = np.radians(55.0)
    th2 = -np.arcsin(p["l1"] * np.sin(th1) / p["l2"])
    tip = p["l1"] * np.array([np.cos(th1), np.sin(th1)])
    middle, end = (tip + share * p["l2"] * np.array([np.cos(th2), np.sin(th2)]) for share in (0.5, 1.0))
    return np.array([*tip / 2, th1, *middle, th2, end[0]])


PARAMETERS = (
    Parameter("m1", 0.37, "kg", "mass of the crank"),
    Parameter("m2", 0.77, "kg", "mass of the connecting rod"),
    Parameter("m3", 0.1, "kg", "mass of the slider"),
    Parameter("l1", 0.15, "m", "length of the crank"),
    Parameter("l2", 0.56, "m", "length of the connecting rod"),
    Parameter("k", 5.0, "N/m", "spring stiffness"),
    Parameter("c", 1.0, "N s/m", "damping constant"),
    Parameter("tau", -0.5, "N m", "constant torque on the crank; 0 lets the mechanism settle"),
    Parameter("g", 9.81, "m/s^2", "gravity", printed=False),
    Parameter("I1", 0.37 * 0.15**2 / 12, "kg m^2", "inertia of the crank, uniform rod m1 l1^2 / 12", printed=False),
    Parameter("I2", 0.77 * 0.56**2 / 12, "kg m^2", "inertia of the rod, uniform rod m2 l2^2 / 12", printed=False),
)


# -- errata: printed formula, corrected formula, and the computation -------------------------------------


def _along() -> list[StepData]:
    rows = problem.reference("crank-A-2s")
    return [problem.system.evaluate(t, q, v) for t, q, v in zip(rows.t, rows.q, rows.v, strict=True)]


def _as_printed(step: StepData) -> Vector:
    return acceleration(step, "least-squares-as-printed", np.inf)


def _parts(step: StepData) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Return J^+, N, M^(1/2) and M^(-1/2)."""
    Jp: Matrix = np.asarray(np.linalg.pinv(step.J), dtype=np.float64)
    root: Matrix = np.sqrt(step.M)  # M is diagonal here
    return Jp, np.eye(step.n) - Jp @ step.J, root, np.diag(1 / root.diagonal())


def _metric() -> Evidence:
    step = first_step("crank-slider")
    a0 = step.force / step.M.diagonal()
    Jp = np.linalg.pinv(step.J)
    unweighted = a0 + Jp @ (step.gamma - step.J @ a0)
    exact = acceleration(step)
    return Evidence(
        {"θ₁″ of eq. (2), rad/s^2": unweighted[2], "θ₁″ exact, rad/s^2": exact[2]},
        "Minimising eq. (2) as printed weighs all coordinates alike and gives another crank acceleration at t = 0.",
        bool(np.allclose(unweighted, exact, rtol=1e-9)),
    )


def _sign_of_exponent() -> Evidence:
    errors = []
    for step in _along():
        Jp, N, root, inverse = _parts(step)
        b = -(inverse @ Jp @ step.gamma - inverse @ step.force)
        a = Jp @ step.gamma + N @ (np.linalg.pinv(root @ N, rcond=1e-8) @ b)
        errors.append(mass_miss(step, a, acceleration(step)))
    return Evidence(
        {"median relative error, mass norm": float(np.median(errors)), "largest relative error, mass norm": max(errors),
         "relative error at the start, where γ = 0, mass norm": errors[0]},
        f"Eq. (14) with the printed $b$ misses the acceleration along the 2 s motion ({len(errors)} states); at the "
        f"start, where $\\gamma=0$, the error is {errors[0]:.1e}.",
        bool(max(errors) < 1e-6),
    )  # fmt: skip


def _inconsistent() -> Evidence:
    step = _along()[30]
    Jp, N, root, inverse = _parts(step)
    A, b = root @ N, -(root @ Jp @ step.gamma - inverse @ step.force)
    off = np.linalg.norm(b - A @ (np.linalg.pinv(A, rcond=1e-8) @ b)) / np.linalg.norm(b)
    return Evidence(
        {"distance of b from range A, relative to |b|": float(off)},
        "At $t=0.3$ s no $z$ solves $\\mathcal{A}z=b$; the equation means least squares.",
        bool(off < 1e-9),
    )


def _reverse_order() -> Evidence:
    _, N, root, inverse = _parts(first_step("crank-slider"))
    true = np.linalg.pinv(root @ N, rcond=1e-8)
    printed = np.linalg.pinv(N, rcond=1e-8) @ inverse
    difference = miss(printed, true)
    return Evidence(
        {"relative difference, Frobenius norm": difference},
        "At the start the product of the inverses is not the inverse of the product.",
        bool(difference < 1e-9),
    )


def _equation_16() -> Evidence:
    from gaussopt.solving.solve import solve_step

    step = first_step("crank-slider")
    step_rest = first_step("crank-slider", tau=0.0)
    printed, exact = _as_printed(step), acceleration(step)
    errors = [mass_miss(s, _as_printed(s), acceleration(s)) for s in _along()]
    passes = solve_step(step, "least-squares-as-printed", "kkt", tolerance=float("inf")).certificate
    return Evidence(
        {
            "θ₁″ at t = 0, printed, tau = -0.5, rad/s^2": printed[2],
            "θ₁″ at t = 0, exact, tau = -0.5, rad/s^2": exact[2],
            "θ₁″ at t = 0, printed, tau = 0, rad/s^2": _as_printed(step_rest)[2],
            "θ₁″ at t = 0, exact, tau = 0, rad/s^2": acceleration(step_rest)[2],
            "median relative error over 2 s, mass norm": float(np.median(errors)),
            "largest relative error over 2 s, mass norm": float(np.max(errors)),
            "constraint residual of the wrong answer": passes.constraint_residual,
        },
        "Eq. (16) satisfies the constraints to rounding and still misses the acceleration: over the 2 s motion "
        f"({len(errors)} states) its relative error in the mass norm is {np.median(errors):.3g} in the median and "
        f"{np.max(errors):.3g} at most.",
        bool(np.allclose(printed, exact, rtol=1e-9)),
    )


def _jacobian_entry() -> Evidence:
    step = first_step("crank-slider")
    J = step.J.copy()
    J[5, 5] = 0.5 * problem.parameter_values["l2"] * np.sin(problem.q0[5])
    wrong = acceleration(StepData.smooth(step.M, step.h, step.Q, J, step.gamma, 0.0, problem.q0, problem.v0))
    right = acceleration(step)
    return Evidence(
        {"θ₁″ at t = 0, printed J, rad/s^2": wrong[2], "θ₁″ at t = 0, derived J, rad/s^2": right[2]},
        f"With the printed entry the crank's acceleration at the start is {wrong[2]:.3f} instead of {right[2]:.3f} "
        "rad/s²; $J_{66}$ is the derivative of $y_2+\\frac{l_2}{2}\\sin\\theta_2$ with respect to $\\theta_2$, hence a "
        "cosine.",
        bool(np.isclose(wrong[2], right[2])),
    )


def _missing_row() -> Evidence:
    step = _along()[30]
    rows = problem.reference("crank-A-2s")
    l2, q, v = problem.parameter_values["l2"], rows.q[30], rows.v[30]
    printed = 0.5 * l2 * np.sin(q[5]) * v[5] ** 2
    return Evidence(
        {"printed row 5": printed, "derived gamma_5": step.gamma[4], "derived gamma_6": step.gamma[5]},
        f"At $t=0.3$ s the printed fifth row differs from $\\gamma_6$ by {abs(printed - step.gamma[5]):.1e} and from "
        f"$\\gamma_5$ by {abs(printed - step.gamma[4]):.3g}; $\\gamma$ has {len(step.gamma)} rows.",
        bool(np.isclose(printed, step.gamma[4])),
    )


def _initial_state() -> Evidence:
    p = problem.parameter_values
    six = [p["l1"] / 2, 0.0, 0.0, p["l1"] + p["l2"] / 2, 0.0, p["l1"] + p["l2"]]
    read = np.array([*six, 0.0])  # the paper prints six numbers for seven coordinates; here they are the first six
    inserted = np.insert(np.array(six), 5, 0.0)
    off, hold = (np.linalg.norm(np.asarray(problem.system.position_residual(0.0, q))) for q in (read, inserted))
    return Evidence(
        {"printed entries": 6.0, "|phi| in printed order": float(off),
         "|phi| with theta2 = 0 inserted": float(hold)},
        "Seven coordinates need seven numbers; with $\\theta_2=0$ inserted before $x_3$ the constraints hold.",
        bool(off < 1e-12),
    )  # fmt: skip


def _comes_to_rest() -> Evidence:
    from gaussopt.simulation.simulate import simulate

    traj = simulate(
        problem, "gauss", "kkt", stepper="dop853", t_end=10.0, rtol=1e-6, atol=1e-6, error_estimate=False,
        engine="compiled",
    )  # fmt: skip
    late = traj.t >= 5.0
    mean = (traj.q[-1, 2] - traj.q[late][0, 2]) / (traj.t[-1] - traj.t[late][0])
    return Evidence(
        {"theta1 at 10 s, rad": traj.q[-1, 2], "mean crank speed 5 to 10 s, rad/s": mean,
         "work of the torque per turn, J": abs(problem.parameter_values["tau"]) * 2 * np.pi},
        f"With the printed constant torque the crank turns at {mean:.2f} rad/s on average between 5 and 10 s; whether "
        "it can ever rest is claim C3.",
        bool(abs(mean) < 1.0),
    )  # fmt: skip


ERRATA = {
    "000-1": _metric, "000-2": _sign_of_exponent, "000-3": _inconsistent, "000-4": _reverse_order,
    "000-5": _equation_16, "000-6": _jacobian_entry, "000-7": _missing_row, "000-8": _initial_state,
    "000-10": _comes_to_rest,
}  # fmt: skip

COLUMNS = (("x1", "y1", "th1", "x2", "y2", "th2", "x3"), tuple(f"lam{i}" for i in range(1, 7)), "E_mech")

problem = Problem(
    name="crank-slider",
    title="Crank-slider with spring and damper",
    source="Yuan & Ge 2016 (paper 000), least squares and generalised inverses",
    description="Seven absolute coordinates, six holonomic constraints, one degree of freedom.",
    build=build,
    start=start,
    sketch=Sketch(sketch, pose),
    parameters=PARAMETERS,
    units={"x1": "m", "y1": "m", "x2": "m", "y2": "m", "x3": "m", "theta1": "rad", "theta2": "rad"},
    t_end=2.0,
    dt=1e-3,
    references=(
        Reference("crank-A-2s", "crank_A_2s.csv", {"tau": -0.5}, 1e-13, "printed torque, 2 s", *COLUMNS),
        Reference("crank-A-20s", "crank_A_20s.csv", {"tau": -0.5}, 1e-13, "printed torque, 20 s, 144 turns", *COLUMNS),
        Reference("crank-B-20s", "crank_B_20s.csv", {"tau": 0.0}, 1e-13, "without torque, comes to rest", *COLUMNS),
    ),
    errata=errata(ERRATA),
    notes=notes("crank-slider"),
)
