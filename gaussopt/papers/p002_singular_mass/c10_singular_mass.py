"""C10: Gauss's function with the pseudo-inverse of a singular mass matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from scipy.optimize import nnls

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement
from gaussopt.papers.evidence import random_steps as rs
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.evidence.random_steps import Size, kernel, lost_force, minimiser
from gaussopt.papers.p002_singular_mass.genetic_runs import in_other_coordinates, start
from gaussopt.papers.texts import ClaimTexts

SEED = 10


as_printed = rs.by_formulation("pinv-mass-as-printed")
"""Function that computes the acceleration with M^+ in Gauss's function, but with the misprinted sign corrected."""

SAME = 1e-9
"""Relative difference up to which two accelerations count as equal."""

TORQUE = 100.0
"""Torque on the massless hinge angle, N m."""

UNITS = (1.0, 10.0)
"""Factors s: the second of two coordinates is measured in a unit s times smaller than that of the first."""

SIZES = (Size(3, 2, 2), Size(4, 2, 3))
"""Sizes of the optimised steps; the first is the size of the linkage."""

text = ClaimTexts(__file__, eigenvalues=rs.EIGENVALUES, seed=SEED, torque=TORQUE)

LINKAGE = "linkage at its start, sign corrected"
REVERSED = "linkage at its start, sign as printed"
LOADED = f"linkage, {TORQUE:g} N m on the hinge angle θ₃"
OTHER = "the same in the coordinates θ₁, θ₂, θ₁ + θ₃"


def check(quick: bool) -> Judgement:
    """Judge the claim by a theorem, by closed forms, and by searches for counterexamples in both directions."""
    found = _circumstances()
    holds = {label: _close(p, e) for label, (p, e) in found.items()}
    kept = _kept(150 if quick else 1000), _worst(1 if quick else 12)
    counterexample = _counterexample(found, holds)
    right = holds[LINKAGE] and not any(s.refutes for s in kept)
    one_sided = _one_sided(200 if quick else 2000)
    always = right and not counterexample.refutes and not one_sided.refutes
    readings = (
        text.reading("as-printed", always and holds[REVERSED], {"if-linkage": holds[REVERSED]}, ours=False),
        text.reading(
            "in-place-of-inverse",
            always,
            {"if-kept": right, "if-lost": not counterexample.refutes, "if-one-sided": not one_sided.refutes},
            ours=False,
        ),
    )
    (plain, exact), (reversed_, _), (lost, true), (other, _) = (found[k] for k in (LINKAGE, REVERSED, LOADED, OTHER))
    return text.judgement(
        readings, (_formula(150 if quick else 1000), _closed_form(), _units(), _rank(20 if quick else 200)),
        (counterexample, *kept, _least(1 if quick else 12), one_sided),
        rows=tuple((label, p, e, holds[label]) for label, (p, e) in found.items()),
        numbers={"plain": plain, "exact": exact, "reversed": reversed_, "lost": lost, "true": true, "other": other,
                 "residual": max(s["worst"] for s in kept)},
    )  # fmt: skip


def _counterexample(found: Mapping[str, tuple[float, float]], holds: Mapping[str, bool]) -> Attempt:
    labels = (LOADED, OTHER, *map(_unit_label, UNITS))
    told = "; ".join(f"{k}: {found[k][0]:.4g} instead of {found[k][1]:.4g} rad/s²" for k in labels if not holds[k])
    return text.attempt(
        "counterexample", bool(told), told=told or text("no counterexample"), torque=TORQUE,
        units=" and ".join(f"{u:g}" for u in UNITS),
    )  # fmt: skip


def _unit_label(unit: float) -> str:
    return f"two coordinates that share one mass, unit of the second s = {unit:g}"


def _close(printed: float, exact: float) -> bool:
    return bool(abs(printed - exact) <= SAME * (1.0 + abs(exact)))


def _circumstances() -> dict[str, tuple[float, float]]:
    """Return the acceleration of the first coordinate, by the printed formula and exactly, in each circumstance."""
    loaded = start(tau3=TORQUE)
    steps = {LINKAGE: start(), LOADED: loaded, OTHER: in_other_coordinates(loaded)}
    steps |= {_unit_label(u): _shared(u) for u in UNITS}
    found = {k: (float(as_printed(s)[0]), float(minimiser(s)[0])) for k, s in steps.items()}
    # The printed sign reverses the force; the exact acceleration does not change: it is that of LINKAGE.
    return {REVERSED: (float(as_printed(start(variant="printed-sign"))[0]), found[LINKAGE][1]), **found}


def _shared(unit: float) -> StepData:
    """Return a step of a unit mass with velocity v1 + v2, v2 = 0, and unit force on q2, whose unit is 1/`unit` m."""
    S, zero = np.diag([1.0, 1.0 / unit]), np.zeros(2)
    force, J = S @ np.array([0.0, 1.0]), np.array([[0.0, 1.0]]) @ S
    return StepData.smooth(S @ np.ones((2, 2)) @ S, zero, force, J, np.zeros(1), 0.0, zero, zero)


def _formula(count: int) -> Derivation:
    random, deviation = np.random.default_rng(SEED), 0.0
    for step in rs.singular_steps(random, count, outside=1.0):
        # With a = a* + e, Z^T (M a - M M^+ F) = 0 and Z^T (M a* - F) = 0: e = -Z (Z^T M Z)^-1 Z^T (I - M M^+) F.
        Z = kernel(step.J)
        stated = -Z @ np.linalg.solve(Z.T @ step.M @ Z, Z.T @ lost_force(step))
        measured = rs.minimiser_with_pinv(step) - minimiser(step)
        scale = np.linalg.cond(Z.T @ step.M @ Z) * (1.0 + np.linalg.norm(measured))
        deviation = max(deviation, float(np.linalg.norm(measured - stated) / scale))
    return text.derivation("formula", deviation < SAME, count=count, deviation=deviation)


def _kept(count: int) -> Attempt:
    steps = rs.singular_steps(np.random.default_rng(SEED), count)
    worst = max(rs.residual(step, as_printed(step)) for step in steps)
    return text.attempt("random steps", worst > SAME, count=count, worst=worst)


def _worst(generations: int) -> Attempt:
    least, tried = _searched(lambda step: -rs.residual(step, as_printed(step)), 0.0, generations)
    return text.attempt("worst step", -least > SAME, tried=tried, sizes=_sizes(), worst=-least)


def _least(generations: int) -> Attempt:

    def share(step: StepData) -> float:
        Z = kernel(step.J)
        lost = float(np.linalg.norm(Z.T @ lost_force(step)))
        if lost < 1e-4:
            return math.inf  # excluded, because nearly all of the lost force is normal to ker J
        K = np.linalg.norm(Z.T @ step.M @ Z, 2)
        return float(K * np.linalg.norm(as_printed(step) - minimiser(step)) / lost)

    least, tried = _searched(share, 1.0, generations)
    return text.attempt("least error", least < 1.0 - 1e-6, tried=tried, sizes=_sizes(), least=least)


def _one_sided(count: int) -> Attempt:
    """Count steps with inequalities J a >= gamma whose true motion does not minimise the function with M^+.

    By the conditions of optimality, which are necessary and sufficient, a* is the true motion if M a* - F = J^T lam,
    where lam >= 0 for active rows and lam = 0 for the others. With M^+ the same conditions must hold for F without
    its part in the kernel of M.
    """
    random, wrong = np.random.default_rng(SEED + 2), 0
    for _ in range(count):
        size = rs.drawn(random)
        step = rs.singular_step(random.uniform(-1, 1, size.numbers), size)
        a, lam = random.uniform(-1, 1, size.n), random.uniform(0.1, 1.0, size.rows)
        pressed = replace(step, gamma=step.J @ a, Q=step.M @ a - step.J.T @ lam)
        _, off = nnls(step.J.T, step.M @ a - pressed.force + lost_force(pressed))
        wrong += int(off > SAME)
    return text.attempt("one-sided", wrong > 0, count=count, wrong=wrong)


def _searched(cost: Callable[[StepData], float], outside: float, generations: int) -> tuple[float, int]:
    """Minimise a cost over steps of all SIZES by differential evolution; return the least cost and the evaluations."""
    least, tried = math.inf, 0
    for size in SIZES:

        def of_numbers(z: Vector, size: Size = size) -> float:
            return cost(rs.singular_step(z, size, outside))

        found = minimise(of_numbers, [(-1.0, 1.0)] * size.numbers, generations, SEED, population=1)
        least, tried = min(least, found.value), tried + found.tried
    return least, tried


def _sizes() -> str:
    return text("sizes", sizes=" and ".join(f"{s.n} coordinates, rank {s.rank}, {s.rows} rows" for s in SIZES))


def _closed_form() -> Derivation:
    entry = problem("four-bar")
    p, theta = entry.parameter_values, float(entry.q0[0])
    weight = 2 * p["m"] * p["g"] * p["l"] * math.cos(theta)
    inertia = 5 * p["m"] * p["l"] ** 2 / 3
    # theta3 = pi - theta1, so the torque tau3 works against theta1.
    torques = (0.0, TORQUE)
    closed = [(p["psi"] - torque - weight) / inertia for torque in torques]
    solved = [float(minimiser(start(tau3=torque))[0]) for torque in torques]
    return text.derivation(
        "closed form", all(map(_close, solved, closed)), torque=torques, closed=closed, solved=solved
    )


def _units() -> Derivation:
    values = {u: (float(rs.minimiser_with_pinv(_shared(u))[0]), 1.0 / (1.0 + u * u)) for u in UNITS}
    words = "; ".join(f"s = {u:g}: {p:.4g}, stated {e:.4g}" for u, (p, e) in values.items())
    truth = max(abs(float(minimiser(_shared(u))[0])) for u in UNITS)
    holds = truth < SAME and all(_close(p, e) for p, e in values.values())
    return text.derivation("units", holds, values=words, truth=truth)


def _rank(count: int) -> Derivation:
    random = np.random.default_rng(SEED + 1)
    regular, singular = math.inf, 0.0
    for _ in range(count):
        for well in (True, False):
            (step,) = rs.singular_steps(random, 1, well_posed=well)
            Z = kernel(step.J)
            ratio = 1.0 / np.linalg.cond(Z.T @ step.M @ Z)
            regular, singular = (min(regular, ratio), singular) if well else (regular, max(singular, ratio))
    return text.derivation("rank", regular > 1e3 * singular, count=count, regular=regular, singular=singular)


claim = text.claim("C10", "002", check, 2.5)
