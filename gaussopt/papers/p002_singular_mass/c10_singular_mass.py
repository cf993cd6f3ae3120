"""C10: Gauss's function with the pseudo-inverse of a singular mass matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.core.step_data import Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import maximise, minimise
from gaussopt.papers.p002_singular_mass.singular_steps import EIGENVALUES, Size, Step, as_printed, drawn, of_data
from gaussopt.solving.solver_sequence import SolverSequence

SAME = 1e-9
"""Relative difference up to which two accelerations are the same."""

TORQUE = 100.0
"""N m on the massless hinge angle."""

UNITS = (1.0, 10.0)
"""Units of the second of two coordinates; 10 is ten times smaller than the first."""

SIZES = (Size(3, 2, 2), Size(4, 2, 3))
"""Of the optimised steps; the first is that of the linkage."""

LINKAGE = "linkage at its start, sign corrected"
REVERSED = "linkage at its start, sign as printed"
LOADED = f"linkage, {TORQUE:g} N m on the hinge angle θ₃"
OTHER = "the same in the coordinates θ₁, θ₂, θ₁ + θ₃"


def check(quick: bool) -> Judgement:
    """Theorem, closed forms, and searches in both of its directions."""
    found = _circumstances()
    formula, sufficient = _random(150 if quick else 1000)
    searches = (sufficient, _worst(1 if quick else 12), _least(1 if quick else 12))
    derivations = (formula, _closed_form(), _units(), _rank(20 if quick else 200))
    theorem = not any(s.refutes for s in searches) and all(d.holds for d in derivations)
    holds = {label: _close(p, e) for label, (p, e) in found.items()}
    # Under its conditions it holds if the linkage and the theorem say so; then the sign, the force, the unit.
    without = [holds[label] for label in found if label not in (LINKAGE, OTHER)]
    verdict = ClaimVerdict.of([holds[LINKAGE] and theorem, *without])
    (plain, exact), (reversed_, _), (lost, true), (kept, _) = (found[k] for k in (LINKAGE, REVERSED, LOADED, OTHER))
    sentence = (
        f"With the sign of the force corrected the printed function gives {plain:.4g} rad/s² for the first "
        f"acceleration of the linkage, which is {exact:.4g}; with the printed sign {reversed_:.4g}. With a torque of "
        f"{TORQUE:g} N m on the massless hinge angle it gives {lost:.4g}, where {true:.4g} is right, and {kept:.4g} "
        "for the same step in other coordinates."
    )
    conditions = _conditions(found, holds, theorem)
    rows = tuple((label, p, e, holds[label]) for label, (p, e) in found.items())
    return Judgement(
        verdict, sentence, derivations, searches, verdict.where(conditions),
        ("circumstance", "as printed", "exact", "same"), rows,
    )  # fmt: skip


def _conditions(found: Mapping[str, tuple[float, float]], holds: Mapping[str, bool], theorem: bool) -> str:
    corrected = [] if holds[REVERSED] else ["the sign of $\\tilde Q$ is corrected"]
    if not theorem:
        right, wrong = ([k for k, v in holds.items() if v is same] for same in (True, False))
        return f"right in these circumstances: {'; '.join(right)}; wrong in: {'; '.join(wrong)}. No condition follows."
    needed = [
        *corrected, "$\\operatorname{rank}\\binom{M}{J}=n$",
        "the part $(I-MM^+)\\tilde Q$ of the force, which the function drops, lies in the range of $J^T$",
    ]  # fmt: skip
    words = f"{', '.join(needed[:-1])} and {needed[-1]}."
    if holds[LOADED] is not holds[OTHER]:
        words += " Whether it does depends on the coordinates."
    values = [found[_unit_label(u)][0] for u in UNITS]
    if not all(_close(value, values[0]) for value in values):
        words += " What the function gives where it does not depends on their units."
    return words


def _unit_label(unit: float) -> str:
    return f"two coordinates that share one mass, unit of the second s = {unit:g}"


def _close(printed: float, exact: float) -> bool:
    return bool(abs(printed - exact) <= SAME * (1.0 + abs(exact)))


def _first(**settings: Any) -> Step:
    entry = problem("four-bar", **settings)
    return of_data(entry.system.evaluate(0.0, entry.q0, entry.v0))


def _circumstances() -> dict[str, tuple[float, float]]:
    """First acceleration as printed and exact, by circumstance."""
    sequence = SolverSequence("kkt")
    plain, loaded = _first(), _first(tau3=TORQUE)
    S = np.linalg.inv(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    other = Step(S.T @ loaded.M @ S, S.T @ loaded.force, loaded.J @ S, loaded.gamma)
    steps = {LINKAGE: plain, LOADED: loaded, OTHER: other}
    steps |= {_unit_label(u): _shared(u) for u in UNITS}
    found = {k: (float(as_printed(s, sequence)[0]), float(s.acceleration()[0])) for k, s in steps.items()}
    # The printed sign reverses the force; what it should give is what the linkage does.
    return {REVERSED: (float(as_printed(_first(variant="printed-sign"), sequence)[0]), found[LINKAGE][1]), **found}


def _shared(unit: float) -> Step:
    """A unit mass that moves with v1 + v2, v2 held, a unit force on the second coordinate; that in parts of `unit`."""
    S = np.diag([1.0, 1.0 / unit])
    return Step(S @ np.ones((2, 2)) @ S, S @ np.array([0.0, 1.0]), np.array([[0.0, 1.0]]) @ S, np.zeros(1))


def _random(count: int) -> tuple[Derivation, Attempt]:
    random, sequence = np.random.default_rng(10), SolverSequence("kkt")
    deviation = worst = 0.0
    for _ in range(count):
        size = drawn(random)
        z = random.uniform(-1, 1, size.numbers)
        step = Step.of(z, size, outside=1.0)
        # From a = a* + e: Z^T (M a - M M^+ F) = 0 and Z^T (M a* - F) = 0 leave e = -Z (Z^T M Z)^-1 Z^T (I - M M^+) F.
        Z = step.kernel
        stated = -Z @ np.linalg.solve(Z.T @ step.M @ Z, Z.T @ step.lost)
        measured = as_printed(step, sequence) - step.acceleration()
        scale = np.linalg.cond(Z.T @ step.M @ Z) * (1.0 + np.linalg.norm(measured))
        deviation = max(deviation, float(np.linalg.norm(measured - stated) / scale))
        kept = Step.of(z, size)
        worst = max(worst, kept.residual(as_printed(kept, sequence)))
    formula = Derivation(
        "With the sign corrected and $Z$ a basis of $\\ker J$, the minimiser of the printed function differs from "
        "Gauss's by $-Z(Z^TMZ)^{-1}Z^T(I-MM^+)\\tilde Q$. As $Z^TMZ$ is regular this is zero if and only if "
        "$(I-MM^+)\\tilde Q$ lies in the range of $J^T$.",
        f"{count} random steps with a unit force in the kernel of M: the printed minimiser less the one by the null "
        f"space deviates from the formula by at most {deviation:.1e} (relative to the error and the condition of "
        "ZᵀMZ).",
        deviation < SAME,
    )
    search = Attempt(
        "A step that fulfils the conditions and is still solved wrongly.",
        f"{count} random steps (seed 10): n = 2 to 8, every rank of M from 1 to n − 1, every number of rows that "
        f"leaves a degree of freedom and a unique acceleration; eigenvalues of M {EIGENVALUES[0]:g} to "
        f"{EIGENVALUES[1]:g}, all else in [−1, 1].",
        f"The largest residual of Gauss's optimality conditions is {worst:.1e} of their terms.",
        worst > SAME,
    )
    return formula, search


def _worst(generations: int) -> Attempt:
    sequence = SolverSequence("kkt")
    worst, evaluations = 0.0, 0
    for size in SIZES:

        def residual(z: Vector, size: Size = size) -> float:
            step = Step.of(z, size)
            return step.residual(as_printed(step, sequence))

        found = maximise(residual, [(-1.0, 1.0)] * size.numbers, generations, 10, population=1)
        worst, evaluations = max(worst, found.value), evaluations + found.tried
    return Attempt(
        "The same, looked for on purpose.",
        f"Differential evolution (seed 10, {evaluations} steps) that maximises the residual over M, J, force and γ; "
        + _sizes(),
        f"The largest residual is {worst:.1e}.",
        worst > SAME,
    )


def _least(generations: int) -> Attempt:
    sequence = SolverSequence("kkt")
    least, evaluations = math.inf, 0
    for size in SIZES:

        def share(z: Vector, size: Size = size) -> float:
            step = Step.of(z, size, outside=1.0)
            Z = step.kernel
            lost = float(np.linalg.norm(Z.T @ step.lost))
            if lost < 1e-4:
                return math.inf  # the constraints hold nearly all of it
            K = np.linalg.norm(Z.T @ step.M @ Z, 2)
            return float(K * np.linalg.norm(as_printed(step, sequence) - step.acceleration()) / lost)

        found = minimise(share, [(-1.0, 1.0)] * size.numbers, generations, 10, population=1)
        least, evaluations = min(least, found.value), evaluations + found.tried
    return Attempt(
        "A step that violates the condition on the force and is solved rightly all the same.",
        f"Differential evolution (seed 10, {evaluations} steps) that minimises the error times the norm of $Z^TMZ$ per "
        f"lost newton, which the formula keeps above 1, where at least 1e-4 of a unit force is lost; {_sizes()}",
        f"The smallest value is {least:.6g}.",
        least < 1.0 - 1e-6,
    )


def _sizes() -> str:
    sizes = " and ".join(f"{s.n} coordinates, rank {s.rank}, {s.rows} rows" for s in SIZES)
    return f"{sizes}; eigenvalues of M {EIGENVALUES[0]:g} to {EIGENVALUES[1]:g}, all else in [−1, 1]."


def _closed_form() -> Derivation:
    entry = problem("four-bar")
    p, theta = entry.parameter_values, float(entry.q0[0])
    weight = 2 * p["m"] * p["g"] * p["l"] * math.cos(theta)
    inertia = 5 * p["m"] * p["l"] ** 2 / 3
    # theta3 = pi - theta1: the torque tau3 works against theta1.
    closed = {0.0: (p["psi"] - weight) / inertia, TORQUE: (p["psi"] - TORQUE - weight) / inertia}
    solved = {torque: float(_first(tau3=torque).acceleration()[0]) for torque in closed}
    words = "; ".join(f"τ₃ = {k:g} N m: {closed[k]:.6g}, by the null space {solved[k]:.6g} rad/s²" for k in closed)
    return Derivation(
        "The linkage has one degree of freedom: "
        "$\\tfrac53ml^2\\,\\ddot\\theta=\\psi-\\tau_3-2mgl\\cos\\theta$, since $\\theta_3=\\pi-\\theta_1$.",
        f"{words}.",
        all(_close(solved[k], closed[k]) for k in closed),
    )


def _units() -> Derivation:
    sequence = SolverSequence("kkt")
    values = {u: (float(as_printed(_shared(u), sequence)[0]), 1.0 / (1.0 + u * u)) for u in UNITS}
    words = "; ".join(f"s = {u:g}: {p:.4g}, stated {e:.4g}" for u, (p, e) in values.items())
    truth = max(abs(float(_shared(u).acceleration()[0])) for u in UNITS)
    return Derivation(
        "$MM^+$ projects orthogonally, and what is orthogonal depends on units. A unit mass that moves with "
        "$\\dot q_1+\\dot q_2$, with $q_2$ held and a unit force on it, does not move: $\\ddot q_1=0$. With $q_2$ in "
        "a unit $s$ times smaller the printed function gives $\\ddot q_1=1/(1+s^2)$.",
        f"{words}; by the null space {truth:.1g}.",
        truth < SAME and all(_close(p, e) for p, e in values.values()),
    )


def _rank(count: int) -> Derivation:
    random = np.random.default_rng(11)
    regular, singular = math.inf, 0.0
    for _ in range(count):
        for well in (True, False):
            size = drawn(random, well_posed=well)
            step = Step.of(random.uniform(-1, 1, size.numbers), size)
            Z = step.kernel
            ratio = 1.0 / np.linalg.cond(Z.T @ step.M @ Z)
            regular, singular = (min(regular, ratio), singular) if well else (regular, max(singular, ratio))
    return Derivation(
        "The acceleration is unique if and only if $Z^TMZ$ is regular, that is "
        "$\\operatorname{rank}\\binom{M}{J}=n$; the source does not state this.",
        f"{count} random steps of each kind (seed 11): smallest by largest eigenvalue of ZᵀMZ at least {regular:.1e} "
        f"where the ranks suffice, at most {singular:.1e} where they do not.",
        regular > 1e3 * singular,
    )


claim = Claim(
    "C10", "002", "Eq. (2), flow chart",
    "Gauss's function with the pseudo-inverse $M^+$ solves systems with a singular mass matrix", check,
    "the minimiser of $\\tfrac12(Ma-\\tilde Q)^TM^+(Ma-\\tilde Q)$ subject to $Ja=\\gamma$ is the acceleration of "
    "the system", 2.5,
)  # fmt: skip
