"""Four motions of the papers by three codes that share no equations: the largest differences of their positions.

    python benchmarks/replication.py [--out docs/replication.md]

With --out the numbers that the report on the papers quotes are written beside its texts, too. The codes are gaussopt;
SciPy's DOP853 with equations that were derived by hand and stand in this file; and MuJoCo's
mass matrix, forces and Jacobians, with one linear system a step by NumPy and the same integrator. MuJoCo's own
constraints are soft and its own contacts regularised, so that only its kinematics and dynamics of free bodies are used.
Takes half a minute.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import gaussopt as go

Values = NDArray[np.float64]

Rows = Callable[[float, Values, Values], tuple[Values, Values, Values]]
"""(t, q, v) -> J and g of J a = g, and the matrix that turns multipliers into forces."""

QUOTED = Path(go.__file__).parent / "papers" / "sections" / "replication.json"
"""The numbers that the report on the papers quotes."""

SAMPLES = 40
"""Times after the start at which the codes are compared."""


@dataclass(frozen=True)
class Motion:
    """A motion of the papers, and how the other two codes compute it.

    Attributes
    ----------
    name, end : what it is called, and its last time in s
    ours : (t) -> (T, n) positions by gaussopt
    by_hand : (t) -> (T, k) positions by equations derived by hand
    by_mujoco : (t) -> (T, k) positions by MuJoCo's matrices
    shown : indices of the compared coordinates of gaussopt, k of them
    """

    name: str
    end: float
    ours: Callable[[Values], Values]
    by_hand: Callable[[Values], Values]
    by_mujoco: Callable[[Values], Values]
    shown: Sequence[int]


def integrate(rates: Callable[[float, Values], Values], start: Sequence[float], times: Values) -> Values:
    """Return the states at `times`, (T, k), by DOP853 with tolerances near rounding."""
    found = solve_ivp(rates, (0.0, times[-1]), start, "DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    assert found.success, found.message
    return np.asarray(found.y.T)


def gaussopt(name: str, case: str = "") -> Callable[[Values], Values]:
    """Return the positions of a registered problem by gaussopt's default formulation and solver."""

    def positions(times: Values) -> Values:
        problem = go.problem(name).at(case=case) if case else go.problem(name)
        found = go.simulate(
            problem, stepper="dop853", rtol=1e-12, atol=1e-13, t_end=float(times[-1]), dt=float(times[0])
        )
        rows = np.searchsorted(found.t, times - 1e-9)
        return np.asarray(found.q[rows])

    return positions


# -- equations by hand -----------------------------------------------------------------------------------------


def crank_by_hand(times: Values) -> Values:
    """theta1, theta2 and x3 of the crank-slider, by the energy balance in the angle of the crank.

    With T = I(theta) theta'^2 / 2 the equation is I theta'' + I' theta'^2 / 2 = tau - V' - c x3'^2 theta'.
    """
    p = go.problem("crank-slider").parameter_values
    m1, m2, m3, l1, l2, k, c, tau, g, I1, I2 = (
        float(p[x]) for x in ("m1", "m2", "m3", "l1", "l2", "k", "c", "tau", "g", "I1", "I2")
    )

    def geometry(th: float) -> tuple[float, ...]:
        s, co = np.sin(th), np.cos(th)
        beta = -np.arcsin(l1 * s / l2)
        b = -l1 * co / (l2 * np.cos(beta))  # dbeta/dtheta
        bb = (l1 * s + l2 * np.sin(beta) * b * b) / (l2 * np.cos(beta))
        return s, co, beta, b, bb

    def rates(_: float, z: Values) -> Values:
        th, w = z
        s, co, beta, b, bb = geometry(th)
        sb, cb = np.sin(beta), np.cos(beta)
        x2, y2 = -l1 * s - l2 / 2 * sb * b, l1 * co + l2 / 2 * cb * b  # slopes of the rod's centre
        xx2, yy2 = -l1 * co - l2 / 2 * (cb * b * b + sb * bb), -l1 * s + l2 / 2 * (-sb * b * b + cb * bb)
        x3, xx3 = -l1 * s - l2 * sb * b, -l1 * co - l2 * (cb * b * b + sb * bb)
        inertia = m1 * l1**2 / 4 + I1 + m2 * (x2**2 + y2**2) + I2 * b**2 + m3 * x3**2
        half_slope = m2 * (x2 * xx2 + y2 * yy2) + I2 * b * bb + m3 * x3 * xx3
        place = l1 * co + l2 * cb
        lift = m1 * g * l1 / 2 * co + m2 * g * y2 - k * (l1 + l2 - place) * x3
        return np.array([w, (tau - lift - c * x3**2 * w - half_slope * w**2) / inertia])

    th = integrate(rates, (0.0, 0.0), times)[:, 0]
    beta = -np.arcsin(l1 * np.sin(th) / l2)
    return np.stack((th, beta, l1 * np.cos(th) + l2 * np.cos(beta)), axis=1)


def four_bar_by_hand(times: Values) -> Values:
    """theta1 and theta2 of the parallelogram: 5/3 m l^2 theta'' = psi - 2 m g l cos theta."""
    p = go.problem("four-bar").parameter_values
    m, l, psi, g = (float(p[x]) for x in ("m", "l", "psi", "g"))

    def rates(_: float, z: Values) -> Values:
        return np.array([z[1], (psi - 2 * m * g * l * np.cos(z[0])) / (5 / 3 * m * l**2)])

    th = integrate(rates, (np.pi / 3, 0.0), times)[:, :1]
    return np.hstack((th, th))


def bars_by_hand(times: Values) -> Values:
    """x, y, theta1 and theta2 of the two bars with both ends sliding: Newton and Euler, four equations.

    A stands at (s, 0), B at (s + l cos theta, l sin theta), C at (s + 2 l cos theta, 0). Unknown are s'', theta'' and
    the normal forces N_A and N_C; friction is -mu N sgn(v) at each end.
    """
    p = go.problem("two-bar").parameter_values
    m, l, mu, g = (float(p[x]) for x in ("m", "l", "mu", "g"))
    I = m * l**2 / 12

    def rates(_: float, z: Values) -> Values:
        _, th, u, w = z
        s, c = np.sin(th), np.cos(th)
        fA, fC = -mu * np.sign(u), -mu * np.sign(u - 2 * l * s * w)  # friction for a normal force of one
        # Centres: (s + l/2 cos, l/2 sin) and (s + 3 l/2 cos, l/2 sin); columns s'', theta'', N_A, N_C.
        up, up_known = l / 2 * c, -l / 2 * s * w**2
        side, side_known = (-l / 2 * s, -3 * l / 2 * s), (-l / 2 * c * w**2, -3 * l / 2 * c * w**2)
        # A cross product of the arm from B, a share of (-c, -s) or (c, -s), with an acceleration or a force.
        left = np.array([
            [2 * m, m * (side[0] + side[1]), -fA, -fC],
            [0.0, 2 * m * up, -1.0, -1.0],
            [m * l / 2 * s, m * l / 2 * (-c * up + s * side[0]) + I, l * c - l * s * fA, 0.0],
            [m * l / 2 * s, m * l / 2 * (c * up + s * side[1]) - I, 0.0, -l * c - l * s * fC],
        ])  # fmt: skip
        right = np.array([
            -m * (side_known[0] + side_known[1]),
            -2 * m * g - 2 * m * up_known,
            m * g * l / 2 * c - m * l / 2 * (-c * up_known + s * side_known[0]),
            -m * g * l / 2 * c - m * l / 2 * (c * up_known + s * side_known[1]),
        ])  # fmt: skip
        a = np.linalg.solve(left, right)
        assert a[2] > 0
        assert a[3] > 0
        return np.array([u, w, a[0], a[1]])

    start, rate = np.pi / 4, float(p["omega1_0"])
    speed = float(p["vx0"]) + l / 2 * np.sin(start) * rate  # of A, from that of the centre
    found = integrate(rates, (float(p["x0"]) - l / 2 * np.cos(start), start, speed, rate), times)
    s, th = found[:, 0], found[:, 1]
    return np.stack((s + l / 2 * np.cos(th), l / 2 * np.sin(th), th, np.pi / 2 - th), axis=1)


def blade_by_hand(times: Values) -> Values:
    """x, phi and y of the knife edge in case NH-B, by m omega1' = F cos(phi - alpha) and phi'' = L_C / I_C."""
    p = go.problem("knife-edge-body").at(case="NH-B").parameter_values
    M, I_C, F0, nu, alpha, L_C = (float(p[x]) for x in ("M", "I_C", "F0", "nu", "alpha", "L_C"))

    def rates(t: float, z: Values) -> Values:
        _, phi, _, speed, turn = z
        return np.array([
            speed * np.cos(phi), turn, speed * np.sin(phi), F0 * np.cos(nu * t) * np.cos(phi - alpha) / M, L_C / I_C,
        ])  # fmt: skip

    start = (0.0, float(p["phi0"]), 0.0, float(p["omega1_0"]), float(p["Omega"]))
    return integrate(rates, start, times)[:, :3]


# -- MuJoCo's matrices -----------------------------------------------------------------------------------------


class Free:
    """A model of MuJoCo without constraints: its mass matrix, its forces, and the rows of points."""

    def __init__(self, bodies: str) -> None:
        frame = '<mujoco><option gravity="0 -9.81 0"/><compiler angle="radian"/><worldbody>'
        self.model = mujoco.MjModel.from_xml_string(f"{frame}{bodies}</worldbody></mujoco>")
        self.data = mujoco.MjData(self.model)

    def at(self, q: Values, v: Values) -> tuple[Values, Values]:
        """Return M, (n, n), and the forces Q - h, (n,)."""
        self.data.qpos[:], self.data.qvel[:] = q, v
        mujoco.mj_forward(self.model, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return M, np.asarray(self.data.qfrc_passive - self.data.qfrc_bias)

    def point(self, body: str, place: Sequence[float], v: Values) -> tuple[Values, Values]:
        """Return the rows (2, n) of a point of a body in the plane, and their part J' v of its acceleration, (2,)."""
        number, n = self.model.body(body).id, self.model.nv
        where = self.data.xpos[number] + self.data.xmat[number].reshape(3, 3) @ np.asarray(place, dtype=float)
        J, rate = np.zeros((3, n)), np.zeros((3, n))
        mujoco.mj_jac(self.model, self.data, J, None, where, number)
        mujoco.mj_jacDot(self.model, self.data, rate, None, where, number)
        return J[:2], rate[:2] @ v

    def motion(self, start: Values, speed: Values, rows: Rows,
               forces: Callable[[float], Values], times: Values) -> Values:  # fmt: skip
        """Return the positions of MuJoCo's coordinates, (T, n)."""
        n = self.model.nv

        def rates(t: float, z: Values) -> Values:
            q, v = z[:n], z[n:]
            M, f = self.at(q, v)
            J, g, pull = rows(t, q, v)
            left = np.block([[M, -pull], [J, np.zeros((len(J), len(J)))]])
            return np.concatenate((v, np.linalg.solve(left, np.concatenate((f + forces(t), g)))[:n]))

        return integrate(rates, np.concatenate((start, speed)).tolist(), times)[:, :n]


def bar(name: str, at: str, joints: str, mass: float, centre: float, inertia: float, inside: str = "") -> str:
    """Return a body of MJCF in the plane z = 0."""
    return (
        f'<body name="{name}" pos="{at}">{joints}<inertial pos="{centre!r} 0 0" mass="{mass!r}" '
        f'diaginertia="{inertia!r} {inertia!r} {inertia!r}"/>{inside}</body>'
    )


HINGE = '<joint type="hinge" axis="0 0 1"/>'


def _joined(free: Free, one: tuple[str, Sequence[float]], two: tuple[str, Sequence[float]]) -> Rows:
    def rows(_: float, __: Values, v: Values) -> tuple[Values, Values, Values]:
        (J, a), (K, b) = free.point(*one, v), free.point(*two, v)
        return J - K, b - a, (J - K).T

    return rows


def crank_by_mujoco(times: Values) -> Values:
    """theta1, theta2 and x3 of the crank-slider: crank and rod in series, and a slider with spring and damper."""
    p = go.problem("crank-slider").parameter_values
    l1, l2 = p["l1"], p["l2"]
    rod = bar("rod", f"{l1!r} 0 0", HINGE, p["m2"], l2 / 2, p["I2"])
    slide = f'<joint type="slide" axis="1 0 0" stiffness="{p["k"]!r}" damping="{p["c"]!r}"/>'
    free = Free(
        bar("crank", "0 0 0", HINGE, p["m1"], l1 / 2, p["I1"], rod)
        + bar("slider", f"{l1 + l2!r} 0 0", slide, p["m3"], 0.0, 1.0)
    )
    rows, push = _joined(free, ("rod", (l2, 0, 0)), ("slider", (0, 0, 0))), np.array([p["tau"], 0.0, 0.0])
    q = free.motion(np.zeros(3), np.zeros(3), rows, lambda _: push, times)
    return np.stack((q[:, 0], q[:, 0] + q[:, 1], l1 + l2 + q[:, 2]), axis=1)


def four_bar_by_mujoco(times: Values) -> Values:
    """theta1 and theta2 of the parallelogram: two cranks, and the coupler as a body of its own with a hinge."""
    p = go.problem("four-bar").parameter_values
    m, l = p["m"], p["l"]
    I = m * l**2 / 12
    free = Free(
        bar("one", "0 0 0", HINGE, m, l / 2, I, bar("coupler", f"{l!r} 0 0", HINGE, m, l / 2, I))
        + bar("two", f"{l!r} 0 0", HINGE, m, l / 2, I)
    )
    rows, push = _joined(free, ("coupler", (l, 0, 0)), ("two", (l, 0, 0))), np.array([p["psi"], 0.0, 0.0])
    start = np.array([np.pi / 3, -np.pi / 3, np.pi / 3])
    q = free.motion(start, np.zeros(3), rows, lambda _: push, times)
    return q[:, [0, 2]]


FLOATING = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>' + HINGE


def bars_by_mujoco(times: Values) -> Values:
    """x, y, theta1 and theta2 of the two bars: both ends held at the floor, friction by the signs of their slips."""
    p = go.problem("two-bar").parameter_values
    m, l, mu = p["m"], p["l"], p["mu"]
    second = bar("BC", f"{l / 2!r} 0 0", HINGE, m, l / 2, m * l**2 / 12)
    free = Free(bar("AB", "0 0 0", FLOATING, m, 0.0, m * l**2 / 12, second))

    def rows(_: float, __: Values, v: Values) -> tuple[Values, Values, Values]:
        ends = [free.point(*end, v) for end in (("AB", (-l / 2, 0, 0)), ("BC", (l, 0, 0)))]
        J = np.array([row[1] for row, _ in ends])
        pull = np.array([row[1] - mu * np.sign(row[0] @ v) * row[0] for row, _ in ends]).T
        return J, -np.array([known[1] for _, known in ends]), pull

    th, w, w2 = p["theta1_0"], p["omega1_0"], p["omega2_0"]
    start = np.array([p["x0"], l / 2 * np.sin(th), th, -np.pi / 2 + p["theta2_0"] - th])
    speed = np.array([p["vx0"], l / 2 * np.cos(th) * w, w, w2 - w])
    q = free.motion(start, speed, rows, lambda _: np.zeros(4), times)
    return np.column_stack((q[:, :3], q[:, 2] + q[:, 3] + np.pi / 2))


def blade_by_mujoco(times: Values) -> Values:
    """x, phi and y of the knife edge in case NH-B; MuJoCo has no nonholonomic constraint: the row is ours."""
    p = go.problem("knife-edge-body").at(case="NH-B").parameter_values
    free = Free(bar("body", "0 0 0", FLOATING, p["M"], 0.0, p["I_C"]))
    free.model.opt.gravity[:] = 0.0
    way = np.array([np.cos(p["alpha"]), np.sin(p["alpha"]), 0.0])

    def rows(_: float, q: Values, v: Values) -> tuple[Values, Values, Values]:
        s, c = np.sin(q[2]), np.cos(q[2])
        J = np.array([[s, -c, 0.0]])
        return J, np.array([-(c * v[0] + s * v[1]) * v[2]]), J.T

    def forces(t: float) -> Values:
        return np.asarray(p["F0"] * np.cos(p["nu"] * t) * way + np.array([0.0, 0.0, p["L_C"]]))

    speed = p["omega1_0"] * np.array([np.cos(p["phi0"]), np.sin(p["phi0"]), 0.0]) + np.array([0.0, 0.0, p["Omega"]])
    q = free.motion(np.array([0.0, 0.0, p["phi0"]]), speed, rows, forces, times)
    return q[:, [0, 2, 1]]


MOTIONS = (
    Motion("Yuan & Ge 2016, crank-slider: θ₁, θ₂, x₃", 2.0, gaussopt("crank-slider"), crank_by_hand, crank_by_mujoco,
           (2, 5, 6)),
    Motion("Yao, Liu & Yang 2020, two bars sliding on the floor: x, y, θ₁, θ₂", 0.3, gaussopt("two-bar"), bars_by_hand,
           bars_by_mujoco, (0, 1, 2, 3)),
    Motion("Yang & Yao 2017, four-bar: θ₁, θ₂", 0.5, gaussopt("four-bar"), four_bar_by_hand, four_bar_by_mujoco,
           (0, 1)),
    Motion("Hao, Liu & Yao 2020, knife edge, case NH-B: x, φ, y", 15.0, gaussopt("knife-edge-body", "NH-B"),
           blade_by_hand, blade_by_mujoco, (0, 1, 2)),
)  # fmt: skip


def differences(motion: Motion, times: Values) -> tuple[float, list[float]]:
    """Return the largest change of a position, and the largest differences of the three pairs of codes."""
    ours, hand, other = motion.ours(times)[:, motion.shown], motion.by_hand(times), motion.by_mujoco(times)
    pairs = ((ours, hand), (ours, other), (hand, other))
    return float(np.abs(ours - ours[0]).max()), [float(np.abs(a - b).max()) for a, b in pairs]


def page() -> tuple[str, dict[str, object]]:
    """Return the page with the table of all motions, and what the report on the papers quotes of it."""
    rows, every = [], []
    for motion in MOTIONS:
        size, apart = differences(motion, np.linspace(0.0, motion.end, SAMPLES + 1)[1:])
        every += apart
        rows.append(f"| {motion.name} | {motion.end:g} | {size:.3g} | " + " | ".join(f"{x:.0e}" for x in apart) + " |")
    head = (
        "| motion and coordinates | end, s | largest change | gaussopt − by hand | gaussopt − MuJoCo | "
        "by hand − MuJoCo |"
    )
    quoted = {"motions": len(rows), "apart": max(every), "mujoco": mujoco.__version__}
    text = "\n".join((
        "# The papers' motions by three codes", "",
        "Four motions, one of each paper, are computed by three codes that share no equations: gaussopt, with its "
        "default formulation and solver; SciPy, with equations that were derived by hand; and MuJoCo's mass matrix, "
        "forces and Jacobians of points, with one linear system a step for the multipliers by NumPy. MuJoCo's own "
        "constraints and contacts are not used, because they are soft; it has no nonholonomic constraint, so that the "
        "row of the knife edge is written by hand there, too. All three integrate by DOP853 with a relative tolerance "
        f"of 1e-12. The differences are the largest of all coordinates named, in m and rad, at {SAMPLES} times.", "",
        head, "|---|---|---|---|---|---|", *rows, "",
        f"Written by `python benchmarks/replication.py --out docs/replication.md`, gaussopt {go.__version__}, "
        f"MuJoCo {mujoco.__version__}.", "",
    ))  # fmt: skip
    return text, quoted


def main(arguments: list[str] | None = None) -> int:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file to write instead of printing")
    given = parser.parse_args(arguments)
    text, quoted = page()
    if given.out is None:
        print(text)
    else:
        given.out.write_text(text, encoding="utf-8")
        QUOTED.write_text(json.dumps(quoted) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
