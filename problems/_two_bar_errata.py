"""Errata of the two-bar problem, and the computations that show them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import gaussopt.problems._two_bar_programs as programs
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.modelling.erratum import Evidence
from gaussopt.modelling.problem import Problem, problem
from gaussopt.problems._evidence import first_step, miss


def _bars() -> Problem:
    return problem("two-bar")


def both_active(step: StepData) -> tuple[Matrix, Vector, Vector]:
    """Return A, B and the forces -A^-1 B that keep both contacts closed; they solve the contact laws if positive."""
    A = step.J_N @ np.linalg.solve(step.M, step.friction_map)
    B = step.J_N @ np.linalg.solve(step.M, step.force) + step.zeta_N
    return A, B, np.asarray(-np.linalg.solve(A, B), dtype=np.float64)


def _energy_at(variant: str, t_end: float, steps: int = 90) -> float:
    """Return the energy after sliding with both contacts closed, by classical Runge-Kutta."""
    entry = _bars().at(variant=variant) if variant else _bars()
    system = entry.system

    def rate(z: Vector) -> Vector:
        step = system.evaluate(0.0, z[:4], z[4:])
        N = both_active(step)[2]
        return np.concatenate((z[4:], np.linalg.solve(step.M, step.force + step.friction_map @ N)))

    z, dt = np.concatenate((entry.q0, entry.v0)), t_end / steps
    for _ in range(steps):
        a = rate(z)
        b = rate(z + dt / 2 * a)
        c = rate(z + dt / 2 * b)
        z = z + dt / 6 * (a + 2 * b + 2 * c + rate(z + dt * c))
    energy = system.energy(t_end, z[:4], z[4:])
    assert energy is not None
    return energy.total


def _sign() -> Evidence:
    first = _bars().system.energy(0.0, _bars().q0, _bars().v0)
    assert first is not None
    printed, correct = _energy_at("printed-sign", 0.09), _energy_at("", 0.09)
    wrong, right = both_active(first_step("two-bar", variant="printed-sign"))[2], both_active(first_step("two-bar"))[2]
    return Evidence(
        {"energy at the start, J": first.total, "energy at 0.09 s, printed sign, J": printed,
         "energy at 0.09 s, correct, J": correct,
         "N_A at the start, printed, N": wrong[0], "N_C at the start, printed, N": wrong[1],
         "N_A at the start, correct, N": right[0], "N_C at the start, correct, N": right[1]},
        "With the printed sign friction feeds energy; at the start the two forces are exchanged.",
        printed <= first.total,
    )  # fmt: skip


def _rows() -> Evidence:
    printed, regular = first_step("two-bar", variant="printed-normal"), first_step("two-bar")
    system, q, v = _bars().system, _bars().q0, _bars().v0
    eps = 1e-6
    difference = (system.gaps(0.0, q + eps * v) - system.gaps(0.0, q - eps * v)) / (2 * eps)
    A = both_active(first_step("two-bar", variant="as-printed"))[0]
    numbers = {f"A[{i + 1}, {j + 1}], printed W_N and sign": float(A[i, j]) for i in (0, 1) for j in (0, 1)}
    numbers |= {f"A[{i + 1}, {j + 1}], correct": float(both_active(regular)[0][i, j]) for i in (0, 1) for j in (0, 1)}
    for which, step in (("printed", printed), ("derived", regular)):
        off = float(np.abs(step.J_N @ v - difference).max())
        numbers[f"rate of the gaps by the {which} rows, largest error, m/s"] = off
    return Evidence(
        numbers, "The printed rows are not the derivatives of the gaps (38).",
        numbers["rate of the gaps by the printed rows, largest error, m/s"] < 1e-6,
    )  # fmt: skip


def _bias() -> Evidence:
    printed, regular = first_step("two-bar", variant="printed-bias").zeta_N, first_step("two-bar").zeta_N
    system, q, v = _bars().system, _bars().q0, _bars().v0
    eps = 1e-4
    second = (system.gaps(0.0, q + eps * v) - 2 * system.gaps(0.0, q) + system.gaps(0.0, q - eps * v)) / eps**2
    return Evidence(
        {"bias of A, printed, m/s^2": printed[0], "bias of C, printed, m/s^2": printed[1],
         "bias of A, derived, m/s^2": regular[0], "bias of C, derived, m/s^2": regular[1],
         "bias of A, second difference of the gap": second[0], "bias of C, second difference of the gap": second[1]},
        "At the start the printed bias differs from the second derivative of the gaps at constant velocity.",
        bool(np.allclose(printed, second, atol=1e-5)),
    )  # fmt: skip


def _without_h() -> Evidence:
    rows = _bars().reference("two-bar-contact")
    misses = []
    for t, q, v in zip(rows.t, rows.q, rows.v, strict=True):
        step = _bars().system.evaluate(t, q, v)
        misses.append(miss(both_active(replace(step, h=np.zeros(4)))[2], both_active(step)[2]))
    B = both_active(first_step("two-bar", variant="printed-force"))[1]
    numbers = {
        "relative error of N at the start": misses[0], "relative error of N, median": float(np.median(misses)),
        "relative error of N, largest": max(misses), "B_A with the printed Q and F = 0, m/s^2": float(B[0]),
        "B_C with the printed Q and F = 0, m/s^2": float(B[1]),
    }  # fmt: skip
    return Evidence(
        numbers, "Leaving out h spoils the contact forces along the sliding motion; leaving out gravity as well leaves "
        "the bars without any reason to touch the floor (B > 0).",
        max(misses) < 1e-3,
    )  # fmt: skip


def _airborne() -> Evidence:
    step = first_step("two-bar", case="airborne")
    gap, rate = np.asarray(step.g_N), np.asarray(step.gdot_N)
    return Evidence(
        {"gap of A, m": gap[0], "gap of C, m": gap[1], "gap rate of A, m/s": rate[0], "gap rate of C, m/s": rate[1]},
        "The printed start is in the air and rising.",
        bool(np.abs(gap).max() < 1e-9),
    )  # fmt: skip


def _no_gap_test() -> Evidence:
    step = first_step("two-bar", variant="as-printed", case="airborne", F=-40.0, g=0.0)
    gap, N = np.asarray(step.g_N), both_active(step)[2]
    return Evidence(
        {"gap of A, m": gap[0], "gap of C, m": gap[1], "N_A, N": N[0], "N_C, N": N[1]},
        "With F = -40 N and the printed formulas the algorithm presses the floor from the air.",
        bool((N <= 0).all()),
    )


ERRATA = {
    "001-1": _sign, "001-2": _rows, "001-3": _bias, "001-4": _without_h, "001-5": _airborne, "001-6": _no_gap_test,
    "001-7": programs.printed_program, "001-8": programs.primal_program, "001-9": programs.without_directions,
    "001-11": programs.sizes, "001-12": programs.strict_convexity, "001-13": programs.all_ideal_forces,
}  # fmt: skip
