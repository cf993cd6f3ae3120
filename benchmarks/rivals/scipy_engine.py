"""SymPy and SciPy as one would use them without a library of mechanics: lambdified equations, `solve_ivp`.

The accelerations follow from the linear system of M, J and the multipliers with `numpy.linalg.solve`; the integrator is
DOP853, adaptive, so that its tolerance takes the place of a step size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mechanisms import Mechanism
from numpy.typing import NDArray

from rivals.interface import AdaptiveRival
from rivals.symbolic import Layout, applied, constraints

DOES_MORE = "any symbolic expression, any ordinary differential equation, events, stiff methods"
Vector = NDArray[np.float64]


def dynamics(mechanism: Mechanism) -> tuple[Callable[[float, Vector], Vector], Layout]:
    """The rate of (q, v)."""
    import sympy as sp

    layout = Layout.of(mechanism)
    n = len(layout.masses)
    q, v = sp.symbols(f"q:{n}"), sp.symbols(f"v:{n}")
    phi = sp.Matrix(constraints(mechanism, layout, q, sp.sin, sp.cos))
    J = phi.jacobian(q)
    rows = J * sp.Matrix(v)
    gamma = -rows.jacobian(q) * sp.Matrix(v)
    force = sp.Matrix(applied(mechanism, layout, q, v))
    m = len(phi)
    compute: Any = sp.lambdify([q, v], [J, force.col_join(gamma)], modules="numpy", cse=True)
    matrix = np.zeros((n + m, n + m))
    matrix[:n, :n] = np.diag(layout.masses)

    def rate(t: float, state: Vector) -> Vector:
        jacobian, right = compute(state[:n], state[n:])
        matrix[n:, :n] = jacobian
        matrix[:n, n:] = jacobian.T
        return np.concatenate([state[n:], np.linalg.solve(matrix, right[:, 0])[:n]])

    return rate, layout


def prepare(mechanism: Mechanism, tolerance: float) -> Callable[[], Vector]:
    """A run to the last mark with this tolerance, absolute and relative."""
    from scipy.integrate import solve_ivp

    rate, layout = dynamics(mechanism)
    begin = np.concatenate([layout.start, np.zeros(len(layout.start))])
    marks, column = mechanism.marks, layout.watched(mechanism)
    assert marks is not None

    def run() -> Vector:
        found = solve_ivp(rate, (0.0, float(marks[-1])), begin, "DOP853", t_eval=marks, rtol=tolerance, atol=tolerance)
        if not found.success:
            raise RuntimeError(f"solve_ivp: {found.message}")
        angles: Vector = found.y[column]
        return angles

    return run


DOP853 = AdaptiveRival(
    "SymPy + SciPy solve_ivp, DOP853", DOES_MORE, "Python", "scipy", ("sympy", "scipy"), prepare=prepare
)
RIVALS = (DOP853,)
