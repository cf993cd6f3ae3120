"""Errata of the two bars, and the computations that show them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.modelling.erratum import Erratum, Evidence
from gaussopt.modelling.problem import Problem, problem
from gaussopt.problems._two_bar_programs import (
    all_ideal_forces,
    primal_program,
    printed_program,
    sizes,
    strict_convexity,
    without_directions,
)


def _bars() -> Problem:
    return problem("two-bar")


def both_active(step: StepData) -> tuple[Matrix, Vector, Vector]:
    """A, B and the forces -A^-1 B that keep both contacts closed; the mechanics' answer where they are positive."""
    A = step.J_N @ np.linalg.solve(step.M, step.friction_map)
    B = step.J_N @ np.linalg.solve(step.M, step.force) + step.zeta_N
    return A, B, np.asarray(-np.linalg.solve(A, B), dtype=np.float64)


def _start(variant: str = "", **settings: object) -> StepData:
    entry = _bars().at(**settings, **({"variant": variant} if variant else {}))
    return entry.system.evaluate(0.0, entry.q0, entry.v0)


def _energy_at(variant: str, t_end: float, steps: int = 90) -> float:
    """Energy after sliding with both contacts closed, by classical Runge-Kutta."""
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
    wrong, right = both_active(_start("printed-sign"))[2], both_active(_start())[2]
    return Evidence(
        {"energy at the start, J": first.total, "energy at 0.09 s, printed sign, J": printed,
         "energy at 0.09 s, correct, J": correct,
         "N_A at the start, printed, N": wrong[0], "N_C at the start, printed, N": wrong[1],
         "N_A at the start, correct, N": right[0], "N_C at the start, correct, N": right[1]},
        "With the printed sign friction feeds energy; at the start the two forces are exchanged.",
        printed <= first.total,
    )  # fmt: skip


def _rows() -> Evidence:
    printed, regular = _start("printed-normal"), _start()
    eps = 1e-6
    there, back = (_bars().system.gaps(0.0, _bars().q0 + s * eps * _bars().v0) for s in (1, -1))
    difference = (there - back) / (2 * eps)
    assert printed.v is not None
    A = both_active(_start("as-printed"))[0]
    numbers = {f"A[{i + 1}, {j + 1}], printed W_N and sign": float(A[i, j]) for i in (0, 1) for j in (0, 1)}
    numbers |= {f"A[{i + 1}, {j + 1}], correct": float(both_active(regular)[0][i, j]) for i in (0, 1) for j in (0, 1)}
    numbers["rate of the gaps by the printed rows, largest error, m/s"] = float(
        np.abs(printed.J_N @ printed.v - difference).max()
    )
    numbers["rate of the gaps by the derived rows, largest error, m/s"] = float(
        np.abs(regular.J_N @ printed.v - difference).max()
    )
    return Evidence(
        numbers, "The printed rows are not the derivatives of the gaps (38).",
        numbers["rate of the gaps by the printed rows, largest error, m/s"] < 1e-6,
    )  # fmt: skip


def _bias() -> Evidence:
    printed, regular = _start("printed-bias").zeta_N, _start().zeta_N
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
    numbers: dict[str, float] = {}
    worst = 0.0
    rows = _bars().reference("two-bar-contact")
    misses = []
    for t, q, v in zip(rows.t, rows.q, rows.v, strict=True):
        step = _bars().system.evaluate(t, q, v)
        exact = both_active(step)[2]
        wrong = both_active(replace(step, h=np.zeros(4)))[2]
        misses.append(float(np.linalg.norm(wrong - exact) / np.linalg.norm(exact)))
    worst = max(misses)
    numbers["relative error of N at the start"] = misses[0]
    numbers["relative error of N, median"] = float(np.median(misses))
    numbers["relative error of N, largest"] = worst
    B = both_active(_start("printed-force"))[1]
    numbers["B_A with the printed Q and F = 0, m/s^2"] = float(B[0])
    numbers["B_C with the printed Q and F = 0, m/s^2"] = float(B[1])
    return Evidence(
        numbers, "Leaving out h spoils the contact forces along the sliding motion; leaving out gravity as well leaves "
        "the bars without any reason to touch the floor (B > 0).",
        worst < 1e-3,
    )  # fmt: skip


def _airborne() -> Evidence:
    step = _start(case="airborne")
    assert step.g_N is not None
    assert step.gdot_N is not None
    return Evidence(
        {"gap of A, m": step.g_N[0], "gap of C, m": step.g_N[1], "gap rate of A, m/s": step.gdot_N[0],
         "gap rate of C, m/s": step.gdot_N[1]},
        "The printed start is in the air and rising.",
        bool(np.abs(step.g_N).max() < 1e-9),
    )  # fmt: skip


def _no_gap_test() -> Evidence:
    step = _start("as-printed", case="airborne", F=-40.0, g=0.0)
    assert step.g_N is not None
    N = both_active(step)[2]
    return Evidence(
        {"gap of A, m": step.g_N[0], "gap of C, m": step.g_N[1], "N_A, N": N[0], "N_C, N": N[1]},
        "With F = -40 N and the printed formulas the algorithm presses the floor from the air.",
        bool((N <= 0).all()),
    )


ERRATA = (
    Erratum("001-1", r"friction sign $s=\operatorname{sgn}v_T$",
            r"$s=-\operatorname{sgn}v_T$, as used for the rod", _sign),
    Erratum("001-2", r"$W_N=\begin{pmatrix}0&l&\cdot&0\\1&0&\frac l2s_1&ls_2\end{pmatrix}$",
            r"$W_N=\begin{pmatrix}0&1&-\frac l2c_1&0\\0&1&\frac l2c_1&ls_2\end{pmatrix}$", _rows),
    Erratum("001-3", r"bias $\left(\frac l2(c_1\dot\theta_1^2+s_2\dot\theta_2^2),\ "
            r"\frac l2(-s_1\dot\theta_1^2+c_2\dot\theta_2^2)\right)$",
            r"$\left(\frac l2s_1\dot\theta_1^2,\ -\frac l2s_1\dot\theta_1^2+lc_2\dot\theta_2^2\right)$", _bias),
    Erratum("001-4", r"$Q=\left(0,\ F,\ \frac{Fl}2c_1,\ 0\right)$, no $h$, no value of $F$",
            r"$Q=\left(0,\ F-2mg,\ (F-mg)\frac l2c_1,\ -mg\frac l2s_2\right)$ and $h$", _without_h),
    Erratum("001-5", r"start $y=l\sin\frac\pi4$, $\dot y=1$",
            r"$y=\frac l2\sin\frac\pi4$, $\dot y=\frac l2\cos(\theta_1)\,\dot\theta_1$", _airborne),
    Erratum("001-6", "six steps without a test of the gaps", "gaps, rates, impacts and sticking have to be tested",
            _no_gap_test),
    Erratum("001-7", r"(20), (23), (29), (39): $\frac12\lambda^TA\lambda$ as a minimum principle for every positive "
            "definite $A$",
            r"only where $\eta=\frac12(I+A^{-T}A)\lambda\ge0$ and $\eta_i=0$ wherever $w_i>0$", printed_program),
    Erratum("001-8", r"the Kuhn-Tucker conditions (35) are $0\le\lambda\perp A\lambda+B\ge0$; (36) and (37) are "
            "equivalent",
            "for a scalar or symmetric $A$ only", primal_program),
    Erratum("001-9", r"(21), (22): $A_1M^{-1}f(F)$ and $Q+Y$, without $H$",
            r"$A_1M^{-1}Hf(F)$ and $Q+HY$; for (11) $H=W_T^T$, $f(F)=\sigma\mu F$", without_directions),
    Erratum("001-11", r"sizes of $b_1$: $h+s$, of $b_2$: $g$; (17) $FG^{Ci}$",
            r"$b_1$: $h+l$, $b_2$: $s+g$; $GF^{Ci}$", sizes),
    Erratum("001-12", "$A$ positive definite: a strictly convex model exists, unlike Pfeiffer's",
            r"not (29); with weights $\frac12\lambda^TDA\lambda$ where $DA=(DA)^T$, $D>0$ diagonal, and $A$ is a "
            "P-matrix", strict_convexity),
    Erratum("001-13", r"(24): $\frac12F^TG^TM^{-1}GHF$ over all ideal forces",
            r"with joints it has the extra term $-\frac12\ell^T\lambda$, $\ell=\sigma\mu W_T(a_J-a_0)$, and is not "
            "(29)",
            all_ideal_forces),
)  # fmt: skip
