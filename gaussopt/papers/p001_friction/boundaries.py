"""Tables of the rod and the two bars of paper 001: where the printed program differs from mechanics, and by how much.

Numbers are computed from step data; closed forms, and values "stated" by an analysis of the paper, are listed as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from gaussopt.atlas.contact_study import LCP_CLASSES, QP_CLASSES, solve_printed, study
from gaussopt.atlas.scan import load_directions, scan
from gaussopt.atlas.stacked_steps import ContactStack
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.modelling.parameter_grid import Axis
from gaussopt.modelling.problem import Problem, problem
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.p001_friction.c08_prescribed_force import Iteration, norm
from gaussopt.problems.sliding_rod import painleve_region
from gaussopt.problems.two_bar import delassus
from gaussopt.reporting.document import Table
from gaussopt.reporting.texts import Texts

CO_SLIDING = (-1, -1)
SPREADING = (-1, 1)
CLOSING = (1, -1)

texts = Texts(__file__)


def two_bar_stack(
    theta: float, slips: tuple[int, int] = CO_SLIDING, mu: float = 0.2, omega: float = 0.0, **settings: Any
) -> ContactStack:
    """Return the contact operators of the two bars at an angle, rad, and a rate, rad/s, with both ends on the floor."""
    angles = {"theta1_0": theta, "theta2_0": np.pi / 2 - theta, "omega1_0": omega, "omega2_0": -omega}
    return _stack(problem("two-bar", mu=mu, **settings).at(**angles), slips)


def rod_stack(theta: float, **settings: float) -> ContactStack:
    """Return the contact operators of the rod at the angle theta, rad, while its contact point slides to the left."""
    return _stack(problem("sliding-rod", **settings).at(theta0=theta), (-1,))


def _stack(at: Problem, slips: Sequence[int]) -> ContactStack:
    return ContactStack.of([at.system.evaluate(0.0, at.q0, at.v0)], np.array([slips]))


def _root(function: Callable[..., float], low: float, high: float, *others: Any) -> float:
    """Return a root between two bounds, all in degrees; `function` has an angle in rad and `others` as arguments."""
    found = brentq(function, np.radians(low), np.radians(high), args=others, xtol=1e-14, rtol=1e-14)
    return float(np.degrees(found))


def _row(name: str, mu: float, computed: float, closed: float, stated: float | str, unit: str = "°") -> tuple[Any, ...]:
    return name, mu, computed, float(closed), computed - float(closed), stated, unit


def _lifted(theta: float, mu: float, eta: bool) -> float:
    """Return the force at C (or, if `eta`, eta of the criterion for the printed QP) while both contacts are active."""
    stack = two_bar_stack(theta, mu=mu)
    return _active(stack.delassus[0], stack.bias[0], eta)


def _active(A: Matrix, b: Vector, eta: bool) -> float:
    z = -np.linalg.solve(A, b)
    return float((np.linalg.solve(A.T, 0.5 * (A + A.T) @ z) if eta else z)[1])


def _closed_eta(theta: float, mu: float) -> float:
    """Return eta at C by the closed form of the operator, for the bias (-1, -1); only the sign of eta matters."""
    p = {**problem("two-bar").parameter_values, "mu": mu}
    return _active(delassus(theta, (1, 1), p), np.full(2, -1.0), True)


def _entries(theta: float, mu: float) -> float:
    """Return A_12 A_21 while both ends slide to the left; symmetrising weights exist if it is positive."""
    A = two_bar_stack(theta, mu=mu).delassus[0]
    return float(A[0, 1] * A[1, 0])


def _lowest(theta: float, mu: float, slips: tuple[int, int]) -> float:
    """Return the smallest eigenvalue of the symmetric part of A."""
    A = two_bar_stack(theta, slips, mu).delassus[0]
    return float(np.linalg.eigvalsh(0.5 * (A + A.T))[0])


STATED_QP_LIFTS = {0.2: 86.413, 0.5: 80.95, 1.0: 71.29}
STATED_NO_WEIGHTS = {
    0.2: (18.109, 23.764, 66.236, 71.891), 0.5: (14.433, 27.715, 62.285, 75.567), 1.0: (10.123, 32.623, 57.377, 79.877),
}  # fmt: skip


def two_bar_boundaries() -> tuple[tuple[Any, ...], ...]:
    """Find where answers and matrix classes of the two bars change, by root finding and in closed form; list both."""
    rows = []
    for mu, stated in STATED_QP_LIFTS.items():
        limit = float(np.degrees(np.arctan(2 / mu)))
        lcp, qp = _root(_lifted, 45.0, 89.5, mu, False), _root(_lifted, limit, 89.5, mu, True)
        rows.append(_row("LCP lifts C above (μ tan θ = 2)", mu, lcp, limit, 84.289 if mu == 0.2 else "–"))
        closed = _root(_closed_eta, limit, 89.5, mu)
        rows.append(_row("printed QP lifts C above (η of C zero)", mu, qp, closed, stated))
    for mu, edges in STATED_NO_WEIGHTS.items():
        # 2 |1 - 9 s^2 c^2| = 9 mu s c |cos 2 theta|; with u = sin 2 theta: 2 |1 - 9/4 u^2| = 9/2 mu u sqrt(1 - u^2),
        # so that (2 - 9/2 u^2)^2 = 81/4 mu^2 u^2 (1 - u^2), a quadratic equation in u^2.
        squares = sorted(np.roots([81 / 4 * (1 + mu**2), -(18 + 81 / 4 * mu**2), 4.0]).real)
        ends = [0.5 * np.arcsin(float(np.sqrt(x))) for x in squares]
        exact = np.degrees([*ends, *(np.pi / 2 - e for e in ends[::-1])])
        for side, value, angle in zip(("from", "to") * 2, edges, exact, strict=True):
            rows.append(_row(f"no weights {side}", mu, _root(_entries, value - 1.0, value + 1.0, mu), angle, value))
    for bound, mu, between, angle in (
        ("μ tan θ = 2", 0.2, (80.0, 89.0), np.arctan(2 / 0.2)),
        ("μ sin 2θ = 4/3", 1.5, (20.0, 40.0), 0.5 * np.arcsin(4 / (3 * 1.5))),
    ):
        name, shown = f"spreading: positive definite below ({bound})", bound.replace("=", "<")
        rows.append(_row(name, mu, _root(_lowest, *between, mu, SPREADING), np.degrees(angle), shown))
    # If both ends slide to the same side, sym A loses positive definiteness at the smallest mu near 90 degrees.
    limit = float(brentq(lambda mu: _lowest(np.pi / 2 - 1e-4, mu, CO_SLIDING), 0.8, 1.0, xtol=1e-12))
    name = "co-sliding: positive definite at all angles for μ below 8/√75"
    rows.append(_row(name, limit, limit, 8 / 75**0.5, 0.9237, "1"))
    return tuple(rows)


def rod_boundaries() -> tuple[tuple[Any, ...], ...]:
    """Find the angles of the rod at which A changes its sign, and the smallest mu with A = 0."""

    def A(theta: float, mu: float) -> float:
        return float(rod_stack(theta, mu=mu).delassus[0, 0, 0])

    rows = []
    for mu, stated in ((1.5, (50.642, 73.048)), (2.0, (37.377, 79.188))):
        region = painleve_region(mu)
        assert region is not None
        for side, within, exact, value in zip(("from", "to"), ((1.0, 63.0), (63.0, 89.0)), region, stated, strict=True):
            rows.append(_row(f"rod: A < 0 {side}", mu, _root(A, *within, mu), np.degrees(exact), value))

    def lowest(mu: float) -> Any:
        return minimize_scalar(A, bounds=(0.9, 1.3), args=(mu,), method="bounded", options={"xatol": 1e-10})

    touch = float(brentq(lambda mu: float(lowest(mu).fun), 1.2, 1.5, xtol=1e-13))
    rows.append(_row("rod: smallest μ with A = 0 somewhere", touch, touch, 4 / 3, "4/3", "1"))
    rows.append(_row("rod: tan θ there", touch, float(np.tan(lowest(touch).x)), 2.0, "2", "1"))
    return tuple(rows)


SIGNS = (
    ("A > 0, B > 0", 0.3, 60.0, 1.0, "λ = 0", "same"), ("A > 0, B = 0", 0.3, 60.0, 0.0, "λ = 0", "same"),
    ("A > 0, B < 0", 0.3, 60.0, -1.0, "λ = −B/A", "same"), ("A < 0, B > 0", 1.5, 63.0, 1.0, "two", "unbounded"),
    ("A < 0, B = 0", 1.5, 63.0, 0.0, "λ = 0", "unbounded"), ("A < 0, B < 0", 1.5, 63.0, -1.0, "none", "unbounded"),
    ("A = 0, B > 0", 5 / 3, 45.0, 1.0, "λ = 0", "any λ"), ("A = 0, B = 0", 5 / 3, 45.0, 0.0, "any λ ≥ 0", "any λ"),
    ("A = 0, B < 0", 5 / 3, 45.0, -1.0, "none", "infeasible"),
)  # fmt: skip
"""Signs, mu, angle in degrees, sign of B, and the results that the table states for the LCP and the printed QP."""


def painleve_table() -> Table:
    """Return the sign table of the rod: solutions of the LCP and result of the printed QP, for all signs of A and B."""
    rows = []
    for name, mu, degrees, sign, *stated in SIGNS:
        theta, omega = np.radians(degrees), 4.0
        # B = l omega^2 sin theta - g: choose the gravity that gives B the wanted sign.
        g = 0.5 * omega**2 * np.sin(theta) - sign
        stack = rod_stack(theta, mu=mu, omega0=omega, g=g, l=0.5)
        found = study(stack)
        rows.append((name, mu, degrees, float(stack.delassus[0, 0, 0]), float(stack.bias[0, 0]),
                     LCP_CLASSES[found["lcp"][0]], float(found["lam_lcp"][0, 0]), stated[0],
                     QP_CLASSES[found["qp"][0]], stated[1]))  # fmt: skip
    return texts.table("painleve-signs", rows)


def painleve_counts(quick: bool = False) -> Table:
    """Count the classes that occur for each pair of signs on a grid of (theta, theta', mu)."""
    size = 12 if quick else 20
    axes = (
        Axis("theta0", np.radians(np.linspace(2.0, 88.0, size))), Axis("omega0", np.linspace(0.0, 8.0, size // 2)),
        Axis("mu", np.linspace(0.1, 2.5, size)),
    )  # fmt: skip
    atlas = scan("sliding-rod", axes)
    A, B = np.asarray(atlas.data["delassus"].values).ravel(), np.asarray(atlas.data["bias"].values).ravel()
    lcp, qp = atlas.codes("lcp").ravel(), atlas.codes("qp").ravel()
    lam = np.asarray(atlas.data["lam_lcp"].values).ravel()
    rows: list[tuple[Any, ...]] = []
    for sign, *_, stated_lcp, stated_qp in (SIGNS[i] for i in (0, 2, 3, 5)):
        chosen = ((A > 0) == ("A > 0" in sign)) & ((B > 0) == ("B > 0" in sign))
        free = int((chosen & (lcp == 0) & (lam == 0)).sum())
        pressed = int((chosen & (lcp == 0) & (lam > 0)).sum())
        others = {label: int((chosen & (qp == j)).sum()) for j, label in enumerate(QP_CLASSES)}
        rows.append((sign, int(chosen.sum()), free, pressed, int((chosen & (lcp == 2)).sum()),
                     int((chosen & (lcp == 4)).sum()), stated_lcp, others["equal"], others["unbounded"],
                     stated_qp))  # fmt: skip
    return texts.table("painleve-grid", rows, atlas=atlas)


STATES = (
    ("45°, θ̇₁ = −0.1 rad/s", 45.0, -0.1, 0.0, (13.678, 11.191), (13.678, 11.191), "0"),
    ("60°, θ̇₁ = −0.5 rad/s", 60.0, -0.5, 0.0, (18.613, 13.117), (18.613, 13.117), "0"),
    ("60°, 20 N up at C", 60.0, 0.0, 20.0, (19.65651, 0.0), (19.45388, -0.81249), "4.3 %"),
    ("85°", 85.0, 0.0, 0.0, (40.588, 0.0), (43.089, -2.875), "9.4 %"),
    ("88°", 88.0, 0.0, 0.0, (40.735, 0.0), (62.218, -21.667), "75 %"),
    ("89.5°, forces over m |B|", 89.5, 0.0, 0.0, (2.0245, 0.0), (6.469, -4.429), "310 %"),
)
"""State, angle, theta', pull at C in N, forces that the paper states for LCP and printed QP, and their difference."""


def table_25() -> Table:
    """Compare forces by LCP, printed QP and weighted QP with those that the paper states for sliding to the left."""
    rows = []
    for name, degrees, omega, pull, lcp, qp, stated in STATES:
        stack = two_bar_stack(np.radians(degrees), omega=omega, F_C=pull)
        found = study(stack)
        A, b, z, x = stack.delassus[0], stack.bias[0], found["lam_lcp"][0], found["lam_qp"][0]
        scale = float(-b[0] * problem("two-bar").parameter_values["m"]) if "over" in name else 1.0
        w, v = A @ z + b, A @ x + b
        rows.append((name, *(z / scale), *lcp, float(max(w[1], 0.0)), *(x / scale), *qp, float(max(v[1], 0.0)),
                     float(found["force_difference"][0]), stated, float(found["weighted_difference"][0])))  # fmt: skip
    return texts.table("table-two-bar", rows)


def joint_table() -> Table:
    """Tabulate forces by program (24) in all ideal forces, with two rows per hinge, at the states of `table_25`."""
    stated = {"60°, 20 N up at C": "19.4323, -0.8988"}
    rows = []
    for name, degrees, omega, pull, *_ in STATES[:5]:
        stack = two_bar_stack(np.radians(degrees), omega=omega, F_C=pull, variant="maximal")
        found = study(stack)
        A, ell = stack.delassus, stack.ell
        P = 0.5 * (A + A.swapaxes(1, 2))
        joint = solve_printed(P, A, stack.bias, 0.5 * ell)[0]
        rows.append((name, *found["lam_lcp"][0], *found["lam_qp"][0], *joint, stated.get(name, "as eq. 29"), *ell[0]))
    return texts.table("joint-forces", rows)


STATED_FRACTIONS: dict[tuple[float, float], str] = {
    (0.2, 45.0): "0", (0.2, 60.0): "46 %", (0.2, 30.0): "47 %", (0.2, 70.0): "52 %", (0.2, 80.0): "67 %",
}  # fmt: skip


def load_fractions(quick: bool = False) -> Table:
    """Tabulate the share of all load directions in which the printed QP differs from the LCP, and the differences."""
    directions = load_directions(360 if quick else 1440, 2)
    states = [
        ("co-sliding", CO_SLIDING, degrees, mu) for mu in (0.2, 0.5) for degrees in (45.0, 60.0, 30.0, 70.0, 80.0)
    ]
    rows: list[tuple[Any, ...]] = []
    for name, slips, degrees, mu in (*states, ("spreading", SPREADING, 60.0, 0.2), ("closing", CLOSING, 60.0, 0.2)):
        found = study(two_bar_stack(np.radians(degrees), slips, mu).with_bias(directions))
        strong = np.linalg.norm(found["lam_lcp"], axis=1) > 0.05
        differs = found["qp"] > 0
        largest = found["force_difference"][differs & strong].max(initial=0.0)
        stated = STATED_FRACTIONS.get((mu, degrees), "–") if slips == CO_SLIDING else "never"
        rows.append((name, degrees, mu, float(100 * differs.mean()), stated, float(100 * largest),
                     int((found["agrees"] == 0).sum()), int(found["borderline"].sum())))  # fmt: skip
    return texts.table("load-directions", rows, directions=len(directions))


FROZEN = (
    ("45°", 45.0, 0.0, (0.1225, 0.1225, 0.1225, 14)), ("60°", 60.0, 0.0, (0.2044, 0.2015, 0.1500, 15)),
    ("60°, 20 N up at C", 60.0, 20.0, (0.2044, 0.1551, 0.1551, 15)),
    ("85°", 85.0, 0.0, (0.3403, 0.1170, 0.1170, 14)), ("88°", 88.0, 0.0, (0.3454, 0.0514, 0.0514, 10)),
    ("89.5°", 89.5, 0.0, (0.3464, 0.0131, 0.0131, 8)),
)  # fmt: skip
"""Cases: angle, degrees; pull, N; stated bound on the rate, last ratio, spectral radius, number of iterations."""


def _frozen_iteration(stack: ContactStack) -> tuple[Vector, Vector]:
    """Iterate from zero with frozen friction; return all iterates' errors in A_0's norm, and the first iterate."""
    path = Iteration.run(stack.smooth, stack.delassus - stack.smooth, stack.bias, 60).path
    errors = norm(stack.smooth, path - sets.lcp(stack.delassus, stack.bias))[:, 0]
    return errors[: int(np.argmax(errors <= 1e-12 * errors[0])) + 1], path[1, 0]


def frozen_table() -> Table:
    """Tabulate how fast the iteration with frozen friction converges on the two bars, and the theoretical rates."""
    rows = []
    for name, degrees, pull, stated in FROZEN:
        stack = two_bar_stack(np.radians(degrees), F_C=pull)
        found = study(stack)
        errors, first = _frozen_iteration(stack)
        active = found["lam_lcp"][0] > 1e-9 * found["lam_lcp"][0].max()
        A_0, C = stack.smooth[0], stack.delassus[0] - stack.smooth[0]
        part = np.ix_(active, active)
        radius = float(np.abs(np.linalg.eigvals(np.linalg.solve(A_0[part], C[part]))).max())
        ratios = errors[1:] / errors[:-1]
        # Errors below 1e-9 of the first error are rounding errors, and their ratios are meaningless.
        clear = ratios[errors[1:] > 1e-9 * errors[0]]
        wrong = float(np.abs(first - found["lam_lcp"][0]).max())
        rows.append((name, float(found["contraction"][0]), stated[0], float(clear[-1]), float(clear[-2:].max()),
                     stated[1], radius, stated[2], len(errors) - 1, stated[3], wrong))  # fmt: skip
    return texts.table("frozen-friction", rows)


def two_bar_tables(quick: bool = False) -> tuple[Table, ...]:
    """Return the tables that accompany the maps of the two bars' atlas."""
    found = texts.table("boundaries", two_bar_boundaries())
    return found, table_25(), joint_table(), load_fractions(quick), frozen_table()


def rod_tables(quick: bool = False) -> tuple[Table, ...]:
    """Return the tables that accompany the maps of the rod's atlas."""
    return texts.table("boundaries", rod_boundaries()), painleve_table(), painleve_counts(quick)


TABLES = {"two-bar": two_bar_tables, "sliding-rod": rod_tables}
"""Functions that make the tables for the maps of an atlas, by the name of the problem."""
