"""The planar body on a knife edge of Hao, Liu & Yao 2020: one nonholonomic constraint.

A body of mass M and central inertia I_C slides on a plane; a blade at its centroid C lets it move only along its own
axis: vx sin(phi) - vy cos(phi) = 0. A force F(t) = F0 cos(nu t) acts at the fixed angle alpha, and a torque L_C.
Quasi-velocities: omega1, the speed along the blade, and omega2, the turning rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from gaussopt.core.step_data import StepData, Vector
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.erratum import Erratum, Evidence
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Case, Problem
from gaussopt.modelling.reference import Reference
from gaussopt.modelling.sketch import Angle, Axes, Blade, Block, Force, Point, Shape, Sketch, Torque

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
    """Derive the equations with the regular row, or with the printed one (vx tan(phi) - vy)."""
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


def start(p: Mapping[str, float]) -> tuple[Vector, Vector]:
    """At the origin, moving along the blade."""
    phi, speed = p["phi0"], p["omega1_0"]
    return np.array([0.0, phi, 0.0]), np.array([speed * np.cos(phi), p["Omega"], speed * np.sin(phi)])


def sketch(q: Vector, p: Mapping[str, float]) -> tuple[Shape, ...]:
    """The body from above, as large as its inertia says, with its blade at C."""
    x, phi, y = q
    r, C = np.sqrt(p["I_C"] / p["M"]), (x, y)
    return (
        Axes((0.0, 0.0)), Block(C, 2.2 * r, 1.3 * r, phi), Blade(C, 1.5 * r, phi), Point(C, "C", "s", trace=True),
        Angle(C, 0.0, phi, "φ"), Force(C, p["alpha"], "F"), Torque(C, "L_C"),
    )  # fmt: skip


def pose(p: Mapping[str, float]) -> Vector:
    """Away from the origin and turned."""
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
    """Closed form of NH-A: x = t + sin(2t)/2, phi = t, y = sin(t)^2, as rows (x, phi, y)."""
    return np.stack((t + 0.5 * np.sin(2 * t), t, np.sin(t) ** 2), axis=1)


# -- errata ----------------------------------------------------------------------------------------------


def _at_a_state() -> tuple[Problem, StepData, Vector]:
    """NH-C at 0.8 rad, 0.6 m/s along the blade and 0.5 rad/s, with the acceleration there."""
    from gaussopt.solving.solve import solve_step

    entry = problem.at(case="NH-C")
    q, v = np.array([0.0, 0.8, 0.0]), np.array([0.6 * np.cos(0.8), 0.5, 0.6 * np.sin(0.8)])
    step = entry.system.evaluate(0.0, q, v)
    a = solve_step(step, "lagrange", "kkt").a
    assert a is not None
    return entry, step, a


def _derivative_of_w() -> Evidence:
    entry, step, a = _at_a_state()
    assert step.q is not None
    assert step.v is not None
    q, v = step.q, step.v
    # w' along the true motion, by a central difference of w(q, v).
    eps = 1e-5
    ends = [entry.system.evaluate(0.0, q + s * eps * v, v + s * eps * a).w_omega for s in (1, -1)]
    assert ends[0] is not None
    assert ends[1] is not None
    assert step.w_omega is not None
    D = step.D_omega
    assert D is not None
    rate = entry.system.quasi_velocity_rate(0.0, q, v, a)
    K = D.T @ step.M @ D
    printed = np.linalg.solve(K, D.T @ (step.force - step.M @ ((ends[0] - ends[1]) / (2 * eps))))
    correct = np.linalg.solve(K, D.T @ (step.force - step.M @ step.w_omega))
    return Evidence(
        {"ω₁′ with M w′ (printed)": printed[0], "ω₁′ with M w": correct[0], "ω₁′ of the true motion": rate[0]},
        "At phi = 0.8 rad, 0.6 m/s, 0.5 rad/s (case NH-C): the derivative of w has no place in the equation.",
        bool(np.isclose(printed[0], rate[0])),
    )


def _transpose() -> Evidence:
    """(8) without its transpose, read as a product entry by entry."""
    _, step, a = _at_a_state()
    D = step.D_omega
    assert D is not None
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
    """The printed steps put omega' where omega belongs."""
    entry, step, a = _at_a_state()
    assert step.q is not None
    assert step.v is not None
    D = step.D_omega
    assert D is not None
    omega = entry.system.quasi_velocity(0.0, step.q, step.v)
    rate = entry.system.quasi_velocity_rate(0.0, step.q, step.v, a)
    printed, correct = D @ rate, D @ omega
    return Evidence(
        {"x′ with ω′ in (13)": float(printed[0]), "x′ with ω in (13)": float(correct[0]), "x′ of the state":
         float(step.v[0])},
        "(13) is a relation between velocities: ω′ has to be integrated before it is put there.",
        bool(np.isclose(printed[0], step.v[0])),
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
        traj = simulate(problem.at(case="NH-A", **variant), "routh", "kkt", dt=0.01, t_end=10.0, step_folder=None)
        numbers[f"largest position error, {label}, m"] = float(np.abs(traj.q - exact_cycloid(traj.t))[:, [0, 2]].max())
    return Evidence(
        numbers, "Routh's equations with the regular row follow the closed form to "
        f"{numbers['largest position error, regular row, m']:.1e} m; those with the tan row miss it by "
        f"{numbers['largest position error, tan row, m']:.2g} m (NH-A, RK4, dt = 0.01, 10 s).",
        numbers["largest position error, regular row, m"] > 1e-3,
    )  # fmt: skip


ERRATA = (
    Erratum("004-1", r"(9): $g^*=D_\omega^T(A\dot w+g)$", r"$g^*=D_\omega^T(Aw+g)$", _derivative_of_w),
    Erratum("004-2", r"(8): $(A\ddot q+g-Q)\,\delta\ddot q=0$", r"$(A\ddot q+g-Q)^T\delta\ddot q=0$", _transpose),
    Erratum("004-4", r"algorithm: put $\dot\omega$ into (13)",
            r"integrate $\dot\omega$, then $\dot q=D_\omega\omega$", _algorithm),
    Erratum("004-5", r"$\omega_3=\dot x\tan\varphi-\dot y$", r"$\omega_3=\dot x\sin\varphi-\dot y\cos\varphi$",
            _choice),
    Erratum("004-6", "Routh's equations are singular and drift",
            r"only with the row $\dot x\tan\varphi-\dot y=0$", _routh),
)  # fmt: skip

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
    t_end=30.0,
    dt=1e-2,
    references=tuple(
        Reference(case, f"nonholonomic_{case[-1]}.csv", CASES[case].values, 1e-13, CASES[case].description, *COLUMNS)
        for case in CASES
    ),
    errata=ERRATA,
    notes=(
        "Erratum 004-7: the source prints no parameters, integrator or step size; all values are our choice, and its "
        "figures cannot be compared number by number.",
        "Erratum 004-3 (dots on two coordinates, an axis $Cz$ for $C\\xi$) and the equation numbers of 004-4 "
        "(velocities from (2) and (3), not from (1) and (2)) are misprints with nothing to compute.",
        "The source states the constraints as $f_k(q,\\dot q,t)=0$, possibly nonlinear; $\\dot q=D_\\omega\\omega+d$ "
        "needs them linear in $\\dot q$. In general $\\ddot q=D_\\omega\\dot\\omega+w$ stays true and $\\dot q$ is "
        "recovered from $\\omega(q,\\dot q,t)=\\omega$; claim C14 checks that on a particle.",
    ),
    cases=CASES,
    variants={"tan-row": partial(build, row="tan")},
)
