"""Forces and torques on all bodies, (k, 6), by Newton and Euler: what accelerates them without joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from .fixed import ONE, Array, cross, div, dot, mul, norm, zeros
from .parts import GROUND, Force, Mechanism, Seen, State
from .rows import along

Loads = Array


def loads(mechanism: Mechanism, state: State) -> Loads:
    """Weights, gyroscopic torques and force elements."""
    out = zeros(len(mechanism.bodies), 6)
    for i, body in enumerate(mechanism.bodies):
        out[i, :3] = mul(mechanism.gravity, body.mass)
        if not body.particle:
            turned = dot(dot(state.R[i], body.inertia), dot(state.R[i].T, state.w[i]))
            out[i, 3:] = -cross(state.w[i], turned)
    for force in mechanism.forces:
        _ELEMENTS[force.kind](force.constants, Seen(force.a, state), Seen(force.b, state), out, mechanism.dim)
    return out


def _pull(out: Loads, a: Seen, b: Seen, force: Array) -> None:
    """A force on b at its point, and against it on a."""
    for seen, own in ((b, force), (a, -force)):
        if seen.body != GROUND:
            out[seen.body, :3] += own
            out[seen.body, 3:] += cross(seen.arm, own)


def _twist(out: Loads, a: Seen, b: Seen, torque: Array) -> None:
    for seen, own in ((b, torque), (a, -torque)):
        if seen.body != GROUND:
            out[seen.body, 3:] += own


def _spring(c: dict[str, Any], a: Seen, b: Seen, out: Loads, dim: int) -> None:
    d, dd = b.p - a.p, b.v - a.v
    if c["length"] == 0 and c["damping"] == 0:
        _pull(out, a, b, mul(-d, c["stiffness"]))
        return
    size = norm(d)
    tension = mul(c["stiffness"], size - c["length"]) + mul(c["damping"], div(int(dot(d, dd)), size))
    _pull(out, a, b, mul(-d, div(tension, size)))


def _torsion(c: dict[str, Any], a: Seen, b: Seen, out: Loads, dim: int) -> None:
    _twist(out, a, b, np.array([0, 0, -mul(c["stiffness"], (b.turned - a.turned) - c["relaxed"])], dtype=object))


def _bushing(c: dict[str, Any], a: Seen, b: Seen, out: Loads, dim: int) -> None:
    for k, n in enumerate(a.axes[:dim]):
        row = along(a, n, b)
        assert row.value is not None
        rate = int(dot(n, b.v - a.v) + dot(a.rate(n), b.p - a.p))
        pull = -(mul(c["stiffness"][k], row.value) + mul(c["damping"][k], rate))
        for body, own in row.at.items():
            out[body] += mul(own, pull)
    spin = b.w - a.w
    if dim == 2:
        torque = -mul(c["torsion"][0], (b.turned - a.turned)) - mul(c["torsion_damping"][0], int(spin[2]))
        _twist(out, a, b, np.array([0, 0, torque], dtype=object))
        return
    half = sum(c["torsion"]) >> 1
    torque = zeros(3)
    for k in range(3):
        torque = torque - mul(cross(b.axes[k], a.axes[k]), c["torsion"][k] - half)
        torque = torque - mul(a.axes[k], mul(c["torsion_damping"][k], int(dot(a.axes[k], spin))))
    _twist(out, a, b, torque)


def _force(c: dict[str, Any], a: Seen, b: Seen, out: Loads, dim: int) -> None:
    _pull(out, a, b, c["constant"] - mul(b.p - a.p, c["stiffness"]) - mul(b.v - a.v, c["damping"]))


def _torque(c: dict[str, Any], a: Seen, b: Seen, out: Loads, dim: int) -> None:
    torque = c["constant"] - mul(b.w - a.w, c["damping"])
    if dim == 2:
        torque = torque - np.array([0, 0, mul(c["stiffness"], (b.turned - a.turned))], dtype=object)
    _twist(out, a, b, torque)


_ELEMENTS = {
    "spring": _spring, "torsion": _torsion, "bushing": _bushing, "force": _force, "torque": _torque,
}  # fmt: skip
__all__ = ["ONE", "Force", "loads"]
