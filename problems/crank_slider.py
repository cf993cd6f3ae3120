"""The crank-slider of Yuan & Ge 2016: seven absolute coordinates, six holonomic constraints, one degree of freedom.

A crank of length l1 turns about the origin, a connecting rod of length l2 joins its tip to a slider on the x axis,
which a spring k and a damper c hold against a wall. (x1, y1, theta1) and (x2, y2, theta2) are centre and angle of
crank and rod, x3 is the slider. The spring is relaxed at x3 = l1 + l2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.erratum import Erratum, Evidence
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.reference import Reference
from gaussopt.modelling.sketch import (
    Angle,
    Bar,
    Bearing,
    Block,
    Damper,
    Length,
    Pin,
    Place,
    Point,
    Shape,
    Sketch,
    Spring,
    Torque,
    Wall,
    along,
)


def build() -> AbstractSystem:
    """Derive the equations from the energies and the six constraint functions."""
    import sympy as sp

    x1, y1, th1, x2, y2, th2, x3 = q = sp.symbols("x1 y1 theta1 x2 y2 theta2 x3")
    v = sp.symbols("vx1 vy1 omega1 vx2 vy2 omega2 vx3")
    m1, m2, m3, l1, l2, k, c, tau, g, I1, I2 = sp.symbols("m1 m2 m3 l1 l2 k c tau g I1 I2")
    cos, sin, half = sp.cos, sp.sin, sp.Rational(1, 2)
    masses = (m1, m1, I1, m2, m2, I2, m3)
    return System.from_lagrangian(
        q,
        v,
        kinetic=half * sum(m * u**2 for m, u in zip(masses, v, strict=True)),
        potential=m1 * g * y1 + m2 * g * y2 - tau * th1 + half * k * (l1 + l2 - x3) ** 2,
        forces={x3: -c * v[6]},
        holonomic=[
            x1 - half * l1 * cos(th1),
            y1 - half * l1 * sin(th1),
            l1 * cos(th1) - x2 + half * l2 * cos(th2),
            l1 * sin(th1) - y2 + half * l2 * sin(th2),
            x2 + half * l2 * cos(th2) - x3,
            y2 + half * l2 * sin(th2),
        ],
        parameters={str(p.name): p.value for p in PARAMETERS},
        name="crank-slider",
    )


def start(p: Mapping[str, float]) -> tuple[Vector, Vector]:
    """Stretched out along the x axis, at rest: theta1 = theta2 = 0."""
    l1, l2 = p["l1"], p["l2"]
    return np.array([l1 / 2, 0.0, 0.0, l1 + l2 / 2, 0.0, 0.0, l1 + l2]), np.zeros(7)


# -- the picture -------------------------------------------------------------------------------------------


def linkage(q: Vector, p: Mapping[str, float], slider: Place) -> tuple[Shape, ...]:
    """Crank, connecting rod and slider with its spring and damper, which hold it against a wall beyond its reach."""
    x1, y1, th1, x2, y2, th2 = q[:6]
    l1, l2 = p["l1"], p["l2"]
    O, A = along((x1, y1), -l1 / 2, th1), along((x1, y1), l1 / 2, th1)
    end, height = (l1 + l2) + 2.5 * l1, 0.18 * l2
    edge, up, down = slider[0] + 0.1 * l2, slider[1] + 0.35 * height, slider[1] - 0.35 * height
    return (
        Bar(O, A, "l_1"), Bar(along((x2, y2), -l2 / 2, th2), along((x2, y2), l2 / 2, th2), "l_2"),
        Block(slider, 0.2 * l2, height), Bearing(O, "O", "w"), Pin(A, "A", "n"), Pin(slider, "B", "nw"),
        Point((x2, y2), trace=True),
        Spring((edge, up), (end, up), "k"), Damper((end, down), (edge, down), "c"),
        Wall((end, -1.2 * height), (end, 1.2 * height)), Angle(O, 0.0, th1, "θ_1"), Angle(A, 0.0, th2, "θ_2"),
        Torque(O, "τ"), Length((0.0, 0.0), (slider[0], 0.0), "x_3", -0.3 * l2),
    )  # fmt: skip


def sketch(q: Vector, p: Mapping[str, float]) -> tuple[Shape, ...]:
    """The linkage, its slider on a smooth guide."""
    l1, l2 = p["l1"], p["l2"]
    y = -0.09 * l2
    return Wall((l2 - l1 - 0.15 * l2, y), (l1 + l2 + 0.15 * l2, y)), *linkage(q, p, (q[6], 0.0))


def pose(p: Mapping[str, float]) -> Vector:
    """The crank at 55 degrees."""
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


def _start_step() -> StepData:
    return problem.system.evaluate(0.0, problem.q0, problem.v0)


def _along(name: str = "crank-A-2s") -> list[StepData]:
    rows = problem.reference(name)
    return [problem.system.evaluate(t, q, v) for t, q, v in zip(rows.t, rows.q, rows.v, strict=True)]


def _exact(step: StepData) -> Vector:
    from gaussopt.solving.solve import solve_step

    answer = solve_step(step, "lagrange", "kkt")
    assert answer.a is not None
    return answer.a


def _as_printed(step: StepData) -> Vector:
    from gaussopt.solving.solve import solve_step

    answer = solve_step(step, "least-squares-as-printed", "kkt", tolerance=float("inf"))
    assert answer.a is not None
    return answer.a


def _parts(step: StepData) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """J^+, N, M^(1/2) and M^(-1/2)."""
    Jp: Matrix = np.asarray(np.linalg.pinv(step.J), dtype=np.float64)
    root: Matrix = np.sqrt(step.M)  # M is diagonal here
    return Jp, np.eye(step.n) - Jp @ step.J, root, np.diag(1 / root.diagonal())


def _metric() -> Evidence:
    step = _start_step()
    a0 = step.force / step.M.diagonal()
    Jp = np.linalg.pinv(step.J)
    unweighted = a0 + Jp @ (step.gamma - step.J @ a0)
    exact = _exact(step)
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
        exact = _exact(step)
        errors.append(float(np.linalg.norm(a - exact) / np.linalg.norm(exact)))
    return Evidence(
        {"median relative error": float(np.median(errors)), "largest relative error": max(errors),
         "relative error at the start, where γ = 0": errors[0]},
        f"Eq. (14) with the printed $b$ misses the acceleration along the 2 s motion ({len(errors)} states); at the "
        f"start, where $\\gamma=0$, the error is {errors[0]:.1e}.",
        bool(max(errors) < 1e-6),
    )  # fmt: skip


def _inconsistent() -> Evidence:
    step = _along()[30]
    Jp, N, root, inverse = _parts(step)
    A, b = root @ N, -(root @ Jp @ step.gamma - inverse @ step.force)
    miss = np.linalg.norm(b - A @ (np.linalg.pinv(A, rcond=1e-8) @ b)) / np.linalg.norm(b)
    return Evidence(
        {"distance of b from range A, relative to |b|": float(miss)},
        "At $t=0.3$ s no $z$ solves $\\mathcal{A}z=b$; the equation means least squares.",
        bool(miss < 1e-9),
    )


def _reverse_order() -> Evidence:
    _, N, root, inverse = _parts(_start_step())
    true = np.linalg.pinv(root @ N, rcond=1e-8)
    printed = np.linalg.pinv(N, rcond=1e-8) @ inverse
    difference = np.linalg.norm(printed - true) / np.linalg.norm(true)
    return Evidence(
        {"relative difference, Frobenius norm": float(difference)},
        "At the start the product of the inverses is not the inverse of the product.",
        bool(difference < 1e-9),
    )


def _equation_16() -> Evidence:
    from gaussopt.solving.solve import solve_step

    step = _start_step()
    rest = problem.at(tau=0.0)
    step_rest = rest.system.evaluate(0.0, rest.q0, rest.v0)
    printed, exact = _as_printed(step), _exact(step)
    errors = [np.linalg.norm(_as_printed(s) - _exact(s)) / np.linalg.norm(_exact(s)) for s in _along()]
    passes = solve_step(step, "least-squares-as-printed", "kkt", tolerance=float("inf")).certificate
    return Evidence(
        {
            "θ₁″ at t = 0, printed, tau = -0.5": printed[2],
            "θ₁″ at t = 0, exact, tau = -0.5": exact[2],
            "θ₁″ at t = 0, printed, tau = 0": _as_printed(step_rest)[2],
            "θ₁″ at t = 0, exact, tau = 0": _exact(step_rest)[2],
            "median relative error over 2 s": float(np.median(errors)),
            "largest relative error over 2 s": float(np.max(errors)),
            "constraint residual of the wrong answer": passes.constraint_residual,
        },
        "Eq. (16) satisfies the constraints to rounding and still misses the crank acceleration at t = 0: it gives "
        f"{printed[2] / exact[2]:.3g} times the true one with the printed torque, "
        f"{_as_printed(step_rest)[2] / _exact(step_rest)[2]:.3g} times without it.",
        bool(np.allclose(printed, exact, rtol=1e-9)),
    )


def _jacobian_entry() -> Evidence:
    step = _start_step()
    J = step.J.copy()
    J[5, 5] = 0.5 * problem.parameter_values["l2"] * np.sin(problem.q0[5])
    wrong = _exact(StepData.smooth(step.M, step.h, step.Q, J, step.gamma, 0.0, problem.q0, problem.v0))
    right = _exact(step)
    return Evidence(
        {"θ₁″ at t = 0, printed J": wrong[2], "θ₁″ at t = 0, derived J": right[2]},
        "$J_{66}$ is the derivative of $y_2+\\frac{l_2}{2}\\sin\\theta_2$ with respect to $\\theta_2$, hence a cosine.",
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
    read = np.array([*six, 0.0])  # the six printed numbers in their order
    inserted = np.insert(np.array(six), 5, 0.0)
    miss = problem.system.position_residual(0.0, read)
    hold = problem.system.position_residual(0.0, inserted)
    assert miss is not None
    assert hold is not None
    return Evidence(
        {"printed entries": 6.0, "|phi| in printed order": float(np.linalg.norm(miss)),
         "|phi| with theta2 = 0 inserted": float(np.linalg.norm(hold))},
        "Seven coordinates need seven numbers; with $\\theta_2=0$ inserted before $x_3$ the constraints hold.",
        bool(np.linalg.norm(miss) < 1e-12),
    )  # fmt: skip


def _comes_to_rest() -> Evidence:
    from gaussopt.simulation.simulate import simulate

    traj = simulate(problem, "lagrange", "kkt", stepper="dop853", t_end=10.0, rtol=1e-6, atol=1e-6)
    late = traj.t >= 5.0
    mean = (traj.q[-1, 2] - traj.q[late][0, 2]) / (traj.t[-1] - traj.t[late][0])
    return Evidence(
        {"theta1 at 10 s, rad": traj.q[-1, 2], "mean crank speed 5 to 10 s, rad/s": mean,
         "work of the torque per turn, J": abs(problem.parameter_values["tau"]) * 2 * np.pi},
        f"With the printed constant torque the crank turns at {mean:.2f} rad/s on average between 5 and 10 s; whether "
        "it can ever rest is claim C3.",
        bool(abs(mean) < 1.0),
    )  # fmt: skip


ERRATA = (
    Erratum(
        "000-1",
        r"eq. (2): $\frac12\|M^{-1}(Ma+h-Q)\|^2$",
        r"$\frac12\|M^{-1/2}(Ma+h-Q)\|^2$, as in eq. (3)",
        _metric,
    ),
    Erratum(
        "000-2",
        r"eq. (11): $b=-\{M^{-1/2}J^-\gamma-M^{-1/2}(Q-h)\}$",
        r"$b=-\{M^{1/2}J^-\gamma-M^{-1/2}(Q-h)\}$; the sign in front is right",
        _sign_of_exponent,
    ),
    Erratum(
        "000-3",
        r"eq. (12): $\mathcal{A}z=b$ with $\mathcal{A}=M^{1/2}(I-J^-J)$",
        r"least squares, $\mathcal{A}^T\mathcal{A}z=\mathcal{A}^Tb$; $b$ need not lie in the range of $\mathcal{A}$",
        _inconsistent,
    ),
    Erratum(
        "000-4",
        r"eq. (15): $\mathcal{A}^-=(I-J^-J)^-M^{-1/2}$",
        r"$\mathcal{A}^-=(M^{1/2}(I-J^-J))^+$; the two agree iff $\ker J$ is $M$-invariant",
        _reverse_order,
    ),
    Erratum(
        "000-5",
        r"eq. (16), with Moore-Penrose inverses $a=J^+\gamma+(I-J^+J)M^{-1}(Q-h)$",
        r"eq. (14) with the true inverse, $a=J^+\gamma+P(M^{1/2}P)^+b$, $P=I-J^+J$",
        _equation_16,
    ),
    Erratum("000-6", r"$J_{66}=\frac{l_2}{2}\sin\theta_2$", r"$J_{66}=\frac{l_2}{2}\cos\theta_2$", _jacobian_entry),
    Erratum(
        "000-7",
        r"$\gamma$ has five rows, the fifth is $\frac{l_2}{2}\sin\theta_2\,\dot\theta_2^2$",
        r"six rows: $\gamma_5=\frac{l_2}{2}\cos\theta_2\,\dot\theta_2^2$ is missing, the printed fifth is $\gamma_6$",
        _missing_row,
    ),
    Erratum(
        "000-8",
        r"$q(0)$ has six entries, $(\frac{l_1}{2},0,0,l_1+\frac{l_2}{2},0,l_1+l_2)$",
        r"seven: $\theta_2=0$ belongs before $x_3=l_1+l_2$",
        _initial_state,
    ),
    Erratum(
        "000-10",
        r"with $\tau=-0.5$ N m the mechanism finally stops",
        r"it spins up; without torque, $\tau=0$, it settles",
        _comes_to_rest,
    ),
)

COLUMNS = (
    ("x1", "y1", "th1", "x2", "y2", "th2", "x3"),
    ("lam1", "lam2", "lam3", "lam4", "lam5", "lam6"),
    "E_mech",
)

problem = Problem(
    name="crank-slider",
    title="Crank-slider with spring and damper",
    source="Yuan & Ge 2016 (paper 000), least squares and generalised inverses",
    description="Seven absolute coordinates, six holonomic constraints, one degree of freedom.",
    build=build,
    start=start,
    sketch=Sketch(sketch, pose),
    parameters=PARAMETERS,
    t_end=2.0,
    dt=1e-3,
    references=(
        Reference("crank-A-2s", "crank_A_2s.csv", {"tau": -0.5}, 1e-13, "printed torque, 2 s", *COLUMNS),
        Reference("crank-A-20s", "crank_A_20s.csv", {"tau": -0.5}, 1e-13, "printed torque, 20 s, 144 turns", *COLUMNS),
        Reference("crank-B-20s", "crank_B_20s.csv", {"tau": 0.0}, 1e-13, "without torque, comes to rest", *COLUMNS),
    ),
    errata=ERRATA,
    notes=(
        "Not checked: erratum 000-9, $\\ddot yy_2$ and missing second dots in eq. (20), and figure numbers that are "
        "off by one. It may be an artefact of the extraction of the text, and a misplaced dot leaves nothing to "
        "compute: the derivatives of the constraints are derived here and not copied.",
        "Printed correctly, by comparison with what is derived here: $M$, $Q$, the signs of rows 3 and 4 of $J$, the "
        "overall sign of $b$ in eq. (11), and $\\gamma_1$ to $\\gamma_4$.",
        "Gravity and the inertias are not printed in the source; the values here are our choice.",
    ),
)
