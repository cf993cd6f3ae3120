"""CasADi: our arithmetic from its symbolic engine, in its virtual machine and compiled from its C.

M^-1 is diagonal, J M^-1 J^T is factorised by CasADi's sparse symbolic L D L^T; common subexpressions are eliminated.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from mechanisms import Mechanism
from numpy.typing import NDArray

from rivals.compiling import folder, shared_library
from rivals.interface import Rival, Run, per_mark
from rivals.symbolic import Layout, applied, constraints

if TYPE_CHECKING:
    import casadi

DOES_MORE = "derivatives of any order, optimal control, nonlinear programming"
PACKAGES = ("casadi",)
COMPILER = "gcc"


def prepare(mechanism: Mechanism, dt: float, steps: int, marks: int, compiled: bool) -> Run:
    """RK4; the loop from mark to mark is CasADi's `mapaccum`."""
    import casadi as ca

    layout = Layout.of(mechanism)
    n = len(layout.masses)
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    phi = ca.vertcat(*constraints(mechanism, layout, [q[i] for i in range(n)], ca.sin, ca.cos))
    J = ca.jacobian(phi, q)
    rows = J @ v
    gamma = -ca.jacobian(rows, q) @ v
    free = ca.vertcat(*applied(mechanism, layout, [q[i] for i in range(n)], [v[i] for i in range(n)])) / layout.masses
    lifted = J / ca.repmat(ca.DM(layout.masses).T, phi.numel(), 1)
    D, LT, order = ca.ldl(lifted @ J.T)
    force = ca.ldl_solve(gamma - J @ free, D, LT, order)
    rate = ca.Function("rate", [q, v], [free + lifted.T @ force], {"cse": True})

    k1 = rate(q, v)
    v2 = v + dt / 2 * k1
    k2 = rate(q + dt / 2 * v, v2)
    v3 = v + dt / 2 * k2
    k3 = rate(q + dt / 2 * v2, v3)
    v4 = v + dt * k3
    k4 = rate(q + dt * v3, v4)
    end = ca.vertcat(q + dt / 6 * (v + 2 * (v2 + v3) + v4), v + dt / 6 * (k1 + 2 * (k2 + k3) + k4))
    step = ca.Function("step", [ca.vertcat(q, v)], [end], {"cse": True})
    if compiled:
        step = _compiled(step)
    each = per_mark(steps, marks)
    advance = step.mapaccum(each) if each > 1 else step
    begin, column = ca.DM(np.concatenate([layout.start, np.zeros(n)])), layout.watched(mechanism)

    def run() -> NDArray[np.float64]:
        state, angles = begin, np.empty(marks)
        for k in range(marks):
            state = advance(state)[:, -1]
            angles[k] = float(state[column])
        return angles

    return run


def _compiled(step: casadi.Function) -> casadi.Function:
    """The same function from its C source."""
    import casadi

    source = folder() / f"step_{next(_numbers)}.c"  # a library that is loaded cannot be written again
    generator = casadi.CodeGenerator(source.stem)
    generator.add(step)
    generator.generate(f"{folder()}/")
    return casadi.external("step", str(shared_library(COMPILER, (), source)))


_numbers = count()

RIVALS = (
    Rival(
        "CasADi, RK4, virtual machine", DOES_MORE, "C++", "casadi", PACKAGES, prepare=partial(prepare, compiled=False)
    ),
    Rival(
        "CasADi, RK4, C compiled",
        DOES_MORE,
        "C++",
        "casadi",
        PACKAGES,
        COMPILER,
        prepare=partial(prepare, compiled=True),
    ),
)
