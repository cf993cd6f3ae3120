"""C13: motion of the linkage through its singular configuration; our own result, as the paper claims nothing."""

from __future__ import annotations

import math

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.evidence.random_steps import lagrange_system
from gaussopt.papers.p002_singular_mass import noisy_linkage as linkage
from gaussopt.papers.p002_singular_mass.noisy_linkage import END, M1, M2, MGL, NOISE, OFF, PRINTED, REGULAR, ROWS, STEP
from gaussopt.papers.texts import ClaimTexts
from gaussopt.problems.four_bar import at_angle, upright
from gaussopt.simulation.simulate import simulate
from gaussopt.solving.solve import solve_step

text = ClaimTexts(__file__, end=END)

RATE = 2.0
"""Rate of the crank in the singular configuration, rad/s."""

DISTANCES = (1e-1, 1e-2, 1e-3, 1e-4)
"""Distances of the crank's angle from pi/2, rad."""


def check(quick: bool) -> Judgement:
    """Study the acceleration at the singular configuration, and motions through it: exact, and with errors."""
    crossing, gap = _crossing((0.01,) if quick else (0.01, 0.005))
    runs = linkage.RUNS
    shares = {a: {row: _left(row, a, runs) for row in ROWS} for a in NOISE}
    found = "; ".join(
        f"{a:g} rad/s²: printed row {by[PRINTED][0]} off, regular row {by[REGULAR][0]} (largest difference there "
        f"{by[REGULAR][1]:.1e} rad)"
        for a, by in shares.items()
    )
    noise = text.attempt(
        "noise", any(by[PRINTED][0] for by in shares.values()), runs=runs, seed=linkage.SEED,
        noise=" and ".join(f"{a:g}" for a in NOISE), step=STEP, off=OFF, found=found,
    )  # fmt: skip
    carried = [gap < OFF, *(by[PRINTED][0] == 0 for by in shares.values())]
    lead = "carried" if all(carried) else "carried if exact" if any(carried) else "not carried"
    numbers = {
        "lead": text(lead), "crosses": "steps across" if gap < OFF else "leaves the branch", "gap": gap,
        "leave": " and ".join(f"{by[PRINTED][0]} of {runs} with {a:g} rad/s²" for a, by in shares.items()),
        "regular": sum(by[REGULAR][0] for by in shares.values()), "mass": int(np.linalg.matrix_rank(upright(RATE).M)),
        "rows": int(np.linalg.matrix_rank(upright(RATE).J)), "off": shares[NOISE[0]][PRINTED][0], "runs": runs,
        "smaller": NOISE[0],
    }  # fmt: skip
    rows = tuple(
        (row, a, runs, off, off / runs, largest) for a, by in shares.items() for row, (off, largest) in by.items()
    )
    searches = (crossing, noise, _smallest(2 if quick else 12))
    return text.judgement(
        (), (_at_the_configuration(), _degenerates(), _branches()), searches, rows=rows, numbers=numbers
    )


def _left(row: str, amplitude: float, runs: int) -> tuple[int, float]:
    """Count the noisy runs that leave the branch, and return the largest difference of the remaining runs, rad."""
    found = linkage.noisy(row, amplitude, runs)
    last = found.gaps[:, -1]
    return found.left, float(last[last <= OFF].max(initial=0.0))


def _smallest(generations: int) -> Attempt:
    low = -13.0
    regular: list[float] = []

    def cost(z: Matrix) -> Vector:
        direction, exponent, steps = z[0], z[1], np.round(z[2])
        error = 10.0**exponent * np.array([np.cos(direction), np.sin(direction)])
        count = z.shape[1]
        gaps, other = (linkage.end(rates, END / steps, steps, lambda _: error, count) for rates in ROWS.values())
        regular.append(float(other.max()))
        return np.where(gaps > OFF, exponent, 10.0)

    bounds = [(0.0, 2 * np.pi), (low, -1.0), (50.0, 400.0)]
    found = minimise(cost, bounds, generations, 13, population=20, together=True)
    words = "None throws it off"
    if off := found.value < 10.0:
        words = f"An error of {10**found.value:.1e} rad/s² with {round(found.at[2])} steps throws it off"
    return text.attempt("smallest error", off, tried=found.tried, low=10**low, found=words, regular=max(regular))


def _at_the_configuration() -> Derivation:
    psi = linkage.P["psi"]
    stated = (np.array([1.0, 0.0, -1.0]) * psi / M1, np.array([1.0, 1.0, -1.0]) * psi / (M1 + M2))
    solved = [solve_step(s, "lagrange", "kkt").a for s in (upright(RATE), at_angle(math.pi / 2, RATE))]
    apart = max(float(np.abs(s - e).max()) if s is not None else np.inf for s, e in zip(solved, stated, strict=True))
    printed, right = ("(" + ", ".join(f"{x:.6g}" for x in v) + ")" for v in stated)
    rank = int(np.linalg.matrix_rank(upright(RATE).J))
    together = int(np.linalg.matrix_rank(np.vstack((upright(RATE).M, upright(RATE).J))))
    return text.derivation(
        "at the configuration", apart < 1e-9, rank=rank, together=together, printed=printed, right=right,
        apart=apart,
    )  # fmt: skip


def _degenerates() -> Derivation:
    words, apart, products = [], 0.0, []
    for distance in DISTANCES:
        theta = math.pi / 2 - distance
        step = at_angle(theta, RATE, "printed-constraint")
        force = linkage.P["psi"] - 1.5 * MGL * math.cos(theta), -0.5 * MGL * math.cos(theta)
        between = (M2 * force[0] - M1 * force[1]) / (M1 + M2)
        stated = -between / (linkage.P["l"] * math.cos(theta))
        lam = solve_step(step, "lagrange", "kkt").lam
        apart = max(apart, abs(float(lam[0]) / stated - 1.0) if lam is not None else np.inf)
        products.append(float(np.linalg.cond(lagrange_system(step)[0])) * distance**2)
        words.append(f"{distance:g} rad: λ₁ = {stated:.3g} N, cond · ε² = {products[-1]:.4g}")
    holds = apart < 1e-5 and max(products) < 1.2 * min(products)
    return text.derivation("degenerates", holds, multipliers="; ".join(words), apart=apart)


def _branches() -> Derivation:
    theta = np.random.default_rng(13).uniform(-math.pi, math.pi, 1000)
    both = max(np.abs(np.sin(theta) - np.sin(other)).max() for other in (theta, math.pi - theta))
    closure = float(np.abs(np.cos(theta) - np.cos(math.pi - theta)).max())
    return text.derivation("branches", bool(both < 1e-14 and closure > 1.0), both=both, closure=closure)


def _crossing(steps: tuple[float, ...]) -> tuple[Attempt, float]:
    entry, worst, by_hand = problem("four-bar", variant="printed-constraint"), 0.0, 0.0
    for dt in steps:
        run = simulate(entry, "lagrange", "kkt", dt=dt, t_end=END, step_folder=None, error_estimate=False)
        reached = float(run.t[-1]) >= END * (1 - 1e-9)
        worst = max(worst, abs(float(run.q[-1, 0] - run.q[-1, 1])) if reached else np.inf)
        gap = linkage.end(ROWS[PRINTED], dt, round(END / dt), lambda _: 0.0, 1)
        by_hand = max(by_hand, float(gap[0]))
    largest = max(worst, by_hand)
    words = ", ".join(f"{dt:g}" for dt in steps)
    return text.attempt("crossing", not largest < OFF, steps=words, worst=worst, by_hand=by_hand), largest


claim = text.claim("C13", "002", check, 2.0)
