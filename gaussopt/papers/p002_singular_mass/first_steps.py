"""First steps of the linkage for the report: by the source's flow chart, and with penalties instead of constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.modelling.problem import problem
from gaussopt.papers.evidence.random_steps import lost_force
from gaussopt.papers.p002_singular_mass.genetic_runs import start
from gaussopt.solving.solve import solve_step

PENALTIES = (1e2, 1e4, 1e6)


@dataclass(frozen=True, slots=True)
class Branch:
    """One step by the source's flow chart (M^-1 or M^+) and by the objective without any inverse.

    Attributes
    ----------
    singular : whether M is singular, the criterion of the flow chart
    chart, plain : first acceleration by the flow chart and by 1/2 a^T M a - a^T Q~, rad/s^2
    outside : part of (I - M M^+) Q~ outside the range of J^T, which the flow chart loses
    """

    label: str
    singular: bool
    chart: float
    plain: float
    outside: float


def flow_chart() -> list[Branch]:
    """Follow the flow chart at the start of the linkage, in two sets of coordinates, and for a regular M."""
    crank = problem("crank-slider")
    regular = crank.system.evaluate(0.0, crank.q0, crank.v0)
    found = [_branch("crank-slider, first step", regular, 2)]
    for torque in (0.0, 100.0):
        step = start(tau3=torque)
        found.append(_branch(f"four-bar, τ₃ = {torque:g} N m", step, 0))
        found.append(_branch(f"the same in (θ₁, θ₂, θ₁ + θ₃), τ₃ = {torque:g} N m", in_other_coordinates(step), 0))
    return found


def _branch(label: str, step: StepData, i: int) -> Branch:
    chart, plain = (solve_step(step, name, "kkt", tolerance=math.inf).a for name in ("pinv-mass-as-printed", "gauss"))
    assert chart is not None
    assert plain is not None
    lost = lost_force(step)
    held, *_ = np.linalg.lstsq(step.J.T, lost, rcond=None)
    singular = bool(np.linalg.matrix_rank(step.M) < step.n)
    return Branch(label, singular, float(chart[i]), float(plain[i]), float(np.linalg.norm(lost - step.J.T @ held)))


def in_other_coordinates(step: StepData) -> StepData:
    """Return a step of the linkage with theta1 + theta3 in place of theta3; its q and v are not transformed."""
    S = np.linalg.inv(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    return replace(step, M=S.T @ step.M @ S, h=S.T @ step.h, Q=S.T @ step.Q, J=step.J @ S)


def penalised(step: StepData, weight: float) -> Vector:
    """Return the minimiser of 1/2 a^T M a - a^T (Q - h) + weight |J a - gamma|^2, (n,)."""
    K = step.M + 2 * weight * step.J.T @ step.J
    return np.asarray(np.linalg.solve(K, step.force + 2 * weight * step.J.T @ step.gamma))


def penalties(seeds: int) -> list[tuple[float, float, list[float]]]:
    """Return penalties, and errors of the minimiser and of genetic algorithm runs at the first step, rad/s^2."""
    step = start()
    exact = solve_step(step, "lagrange", "kkt").a
    assert exact is not None
    found = []
    for weight in PENALTIES:
        errors = []
        for seed in range(seeds):
            a = solve_step(step, "gauss", "deap", tolerance=math.inf, coordinates="full", penalty=weight, seed=seed).a
            errors.append(math.inf if a is None else float(np.abs(a - exact).max()))
        found.append((weight, float(np.abs(penalised(step, weight) - exact).max()), errors))
    return found
