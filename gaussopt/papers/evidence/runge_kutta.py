"""Runge-Kutta methods for many motions at once, for equations written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

from gaussopt.core.arrays import Vector

Rates = Callable[[Any, Vector], Vector]
"""Function of (t, state) that returns the rates of the state; each row of the state holds one variable."""


def march(rates: Rates, state: Vector, dt: Any) -> Iterator[Vector]:
    """Yield the start and the state after every step, without end; `dt` is one number or one for each motion.

    The rates are called four times per step, in the order of the stages: rates that draw random errors rely on it.
    """
    half = 0.5 * dt
    for k in count():
        yield state
        t = k * dt
        k1 = rates(t, state)
        k2 = rates(t + half, state + half * k1)
        k3 = rates(t + half, state + half * k2)
        k4 = rates(t + dt, state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * (k2 + k3) + k4)


METHODS = (RK23, RK45, DOP853)
"""Methods of SciPy that adapt the step, whose tableaux and orders are used here."""


def evaluations(rates: Rates, state: Vector, end: float, rtol: float, method: Any = RK45) -> Vector:
    """Count how often SciPy's method evaluates the rates of each motion until an instant, all motions at once.

    Parameters
    ----------
    rates : see `Rates`; its first argument holds the instant of each motion, (S,)
    state : the start, (n, S)
    end : last instant
    rtol : relative tolerance; the absolute one is a thousandth of it
    method : one of METHODS

    Return the counts, (S,). The first step and the control of the step size are as in `scipy.integrate.solve_ivp`.
    """
    exponent, atol, stages = -1.0 / (method.error_estimator_order + 1), 1e-3 * rtol, method.n_stages
    t, f = np.zeros(state.shape[1]), rates(np.zeros(state.shape[1]), state)
    scale = atol + np.abs(state) * rtol
    size, slope = _rms(state / scale), _rms(f / scale)
    small = (size < 1e-5) | (slope < 1e-5)
    first = np.minimum(np.where(small, 1e-6, 0.01 * size / np.where(small, 1.0, slope)), end)
    bend = _rms((rates(first, state + first * f) - f) / scale) / first
    straight = np.maximum(slope, bend) <= 1e-15
    second = np.where(
        straight, np.maximum(1e-6, 1e-3 * first), (0.01 / np.where(straight, 1.0, np.maximum(slope, bend))) ** -exponent
    )
    h, counted, accepted = np.minimum(np.minimum(100 * first, second), end), np.full(len(t), 2), np.full(len(t), True)
    K = np.empty((stages + 1, *state.shape))
    while (going := t < end).any():
        step = np.minimum(np.maximum(h, 10 * np.spacing(t)), end - t)
        K[0] = f
        for i in range(1, stages):
            K[i] = rates(t + method.C[i] * step, state + step * np.tensordot(method.A[i, :i], K[:i], 1))
        new = state + step * np.tensordot(method.B, K[:stages], 1)
        K[stages] = rates(t + step, new)
        error = step * _estimate(method, K, atol + np.maximum(np.abs(state), np.abs(new)) * rtol)
        factor = 0.9 * np.maximum(error, 1e-300) ** exponent
        done = going & (error < 1.0)
        grown = np.where(accepted, np.minimum(10.0, factor), np.minimum(1.0, factor))
        h = step * np.where(done, grown, np.maximum(0.2, factor))
        counted, accepted = counted + stages * going, done
        t, state, f = np.where(done, t + step, t), np.where(done, new, state), np.where(done, K[stages], f)
    return counted


def _rms(x: Vector) -> Vector:
    return np.asarray(np.sqrt((x * x).mean(axis=0)))


def _estimate(method: Any, K: Vector, scale: Vector) -> Vector:
    """Return the method's estimate of the error divided by the step, in units of the tolerance, (S,)."""
    if method is not DOP853:
        return _rms(np.tensordot(method.E, K, 1) / scale)
    fifth, third = (_rms(np.tensordot(E, K, 1) / scale) for E in (method.E5, method.E3))
    return np.asarray(fifth**2 / np.sqrt(np.maximum(fifth**2 + 0.01 * third**2, 1e-300)))
