"""C13: the linkage through the configuration that the source calls singular."""

from __future__ import annotations

import math

import numpy as np

from gaussopt.core.step_data import Matrix, Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.p002_singular_mass import noisy_linkage as linkage
from gaussopt.papers.p002_singular_mass.noisy_linkage import END, NOISE, OFF, PRINTED, REGULAR, ROWS, STEP
from gaussopt.problems.four_bar import at_angle, upright
from gaussopt.simulation.simulate import simulate
from gaussopt.solving.solve import solve_step

RATE = 2.0
"""rad/s, at the configuration."""

DISTANCES = (1e-1, 1e-2, 1e-3, 1e-4)
"""rad from pi/2."""


def check(quick: bool) -> Judgement:
    """The acceleration at the configuration, crossings with exact and with inexact accelerations."""
    wrong = _at_the_configuration()
    crossing, gap = _crossing((0.01,) if quick else (0.01, 0.005))
    runs = linkage.runs(quick)
    shares = {a: {row: _left(row, a, runs) for row in ROWS} for a in NOISE}
    noise = Attempt(
        "A run with inexact accelerations, as a genetic algorithm leaves them, that does not stay on its branch.",
        f"{runs} runs for each row and each noise (seed {linkage.SEED}): independent Gaussian errors of "
        f"{' and '.join(f'{a:g}' for a in NOISE)} rad/s² on each acceleration that RK4 asks for, {STEP:g} s, up to "
        f"{END:g} s; off is $|\\theta_1-\\theta_2|>{OFF:g}$ rad.",
        "; ".join(
            f"{a:g} rad/s²: printed row {by[PRINTED][0]} off, regular row {by[REGULAR][0]} (largest difference there "
            f"{by[REGULAR][1]:.1e} rad)"
            for a, by in shares.items()
        )
        + ".",
        any(by[PRINTED][0] for by in shares.values()),
    )
    smallest = _smallest(2 if quick else 12)
    derivations = (wrong, _degenerates(), _branches(), crossing)
    # At the configuration; across it with exact accelerations; with each noise.
    carried = [not wrong.holds, gap < OFF, *(by[PRINTED][0] == 0 for by in shares.values())]
    verdict = ClaimVerdict.TRUE if all(carried) else ClaimVerdict.IRREPRODUCIBLE if any(carried) else ClaimVerdict.FALSE
    lead = {
        ClaimVerdict.TRUE: "The printed equations carry the linkage through $\\theta_1=\\pi/2$.",
        ClaimVerdict.FALSE: "The printed equations do not carry the linkage through $\\theta_1=\\pi/2$.",
    }.get(verdict, "Whether the printed equations carry the linkage through $\\theta_1=\\pi/2$ is decided by what is "
          "not printed: the errors of the accelerations and the step.")  # fmt: skip
    sentence = (
        f"{lead} At the configuration itself they give {'a wrong' if wrong.holds else 'the right'} acceleration. With "
        f"exact accelerations RK4 {'steps across' if gap < OFF else 'leaves the branch'} "
        f"($|\\theta_1-\\theta_2|$ {gap:.0e} rad); with errors of "
        + " and ".join(f"{a:g} rad/s² {by[PRINTED][0]} of {runs}" for a, by in shares.items())
        + f" runs leave the branch, with the regular row {sum(by[REGULAR][0] for by in shares.values())}."
    )
    rows = tuple(
        (row, a, runs, off, off / runs, largest) for a, by in shares.items() for row, (off, largest) in by.items()
    )
    return Judgement(
        verdict, sentence, derivations, (noise, smallest), "", ("row", "noise / (rad/s²)", "runs", "off", "share",
        "largest difference of those that stay / rad"), rows,
    )  # fmt: skip


def _left(row: str, amplitude: float, runs: int) -> tuple[int, float]:
    """The number of noisy runs that leave the branch, and the largest difference of the others, rad."""
    found = linkage.noisy(row, amplitude, runs)
    return found.left, found.stayed


def _smallest(generations: int) -> Attempt:
    p, low = linkage.parameters(), -13.0
    regular: list[float] = []

    def cost(z: Matrix) -> Vector:
        direction, exponent, steps = z[0], z[1], np.round(z[2])
        error = 10.0**exponent * np.array([np.cos(direction), np.sin(direction)])
        count = z.shape[1]
        gaps, other = (linkage.end(rates(p), END / steps, steps, lambda _: error, count) for rates in ROWS.values())
        regular.append(float(other.max()))
        return np.where(gaps > OFF, exponent, 10.0)

    bounds = [(0.0, 2 * np.pi), (low, -1.0), (50.0, 400.0)]
    found = minimise(cost, bounds, generations, 13, population=20, together=True)
    off = found.value < 10.0
    return Attempt(
        "The smallest constant error of the accelerations that throws the printed row off.",
        f"Differential evolution (seed 13, {found.tried} runs) over its direction, its size from {10**low:.0e} to 0.1 "
        f"rad/s² and 50 to 400 steps of RK4 up to {END:g} s.",
        (f"An error of {10**found.value:.1e} rad/s² with {round(found.at[2])} steps throws it off" if off
         else "None throws it off")
        + f"; with the regular row the largest difference of all these runs is {max(regular):.1e} rad.",
        off,
    )  # fmt: skip


def _at_the_configuration() -> Derivation:
    """Holds if the printed row gives another acceleration than the linkage has."""
    p = linkage.parameters()
    m1, m2 = 4 * p["m"] * p["l"] ** 2 / 3, p["m"] * p["l"] ** 2 / 3
    stated = (np.array([1.0, 0.0, -1.0]) * p["psi"] / m1, np.array([1.0, 1.0, -1.0]) * p["psi"] / (m1 + m2))
    solved = [solve_step(s, "lagrange", "kkt").a for s in (upright(RATE), at_angle(math.pi / 2, RATE))]
    apart = max(float(np.abs(s - e).max()) if s is not None else np.inf for s, e in zip(solved, stated, strict=True))
    printed, right = ("(" + ", ".join(f"{x:.6g}" for x in v) + ")" for v in stated)
    rank = int(np.linalg.matrix_rank(upright(RATE).J))
    together = int(np.linalg.matrix_rank(np.vstack((upright(RATE).M, upright(RATE).J))))
    return Derivation(
        "At $\\theta_1=\\theta_2=\\pi/2$ the printed row $(l\\cos\\theta_1,-l\\cos\\theta_2,0)$ vanishes and crank 2 "
        "is let go: $\\ddot\\theta_1=\\psi/M_1$, $\\ddot\\theta_2=0$. The linkage moves with "
        "$\\ddot\\theta=\\psi/(M_1+M_2)$. $\\operatorname{rank}\\binom MJ=3$ all the same: the wrong acceleration is "
        "'unique'.",
        f"rank J = {rank}, rank [M; J] = {together}; printed {printed}, right {right} rad/s²; the package's solutions "
        f"are these to {apart:.1e}.",
        bool(apart < 1e-9 and np.abs(stated[0] - stated[1]).max() > 1e-9),
    )


def _degenerates() -> Derivation:
    p = linkage.parameters()
    m1, m2, mgl = 4 * p["m"] * p["l"] ** 2 / 3, p["m"] * p["l"] ** 2 / 3, p["m"] * p["g"] * p["l"]
    words, apart, products = [], 0.0, []
    for distance in DISTANCES:
        theta = math.pi / 2 - distance
        step = at_angle(theta, RATE, "printed-constraint")
        force = p["psi"] - 1.5 * mgl * math.cos(theta), -0.5 * mgl * math.cos(theta)
        between = (m2 * force[0] - m1 * force[1]) / (m1 + m2)
        stated = -between / (p["l"] * math.cos(theta))
        lam = solve_step(step, "lagrange", "kkt").lam
        apart = max(apart, abs(float(lam[0]) / stated - 1.0) if lam is not None else np.inf)
        K = np.block([[step.M, -step.J.T], [step.J, np.zeros((2, 2))]])
        products.append(float(np.linalg.cond(K)) * distance**2)
        words.append(f"{distance:g} rad: λ₁ = {stated:.3g} N, cond · ε² = {products[-1]:.4g}")
    return Derivation(
        "The printed row is $l\\cos\\theta$ times the regular one, so its multiplier is the regular one divided by "
        "$l\\cos\\theta$ and the condition number of the equations grows like $\\varepsilon^{-2}$ with the distance "
        "$\\varepsilon$ from $\\pi/2$. $M$ has the same rank everywhere.",
        f"{'; '.join(words)}; multipliers by the package agree to {apart:.1e}.",
        apart < 1e-5 and max(products) < 1.2 * min(products),
    )


def _branches() -> Derivation:
    theta = np.random.default_rng(13).uniform(-math.pi, math.pi, 1000)
    both = [np.abs(np.sin(theta) - np.sin(other)).max() for other in (theta, math.pi - theta)]
    closure = float(np.abs(np.cos(theta) - np.cos(math.pi - theta)).max())
    return Derivation(
        "$l\\sin\\theta_1=l\\sin\\theta_2$ has two branches, $\\theta_2=\\theta_1$ and $\\theta_2=\\pi-\\theta_1$, "
        "which cross at $\\pm\\pi/2$. On the second the linkage is torn apart: $l\\cos\\theta_1=l\\cos\\theta_2$ is "
        "not required.",
        f"1000 random angles: the printed closure holds on both to {max(both):.1e}; on the second the horizontal one "
        f"is violated by up to {closure:.3g} l.",
        bool(max(both) < 1e-14 and closure > 1.0),
    )


def _crossing(steps: tuple[float, ...]) -> tuple[Derivation, float]:
    entry, worst, by_hand = problem("four-bar", variant="printed-constraint"), 0.0, 0.0
    for dt in steps:
        run = simulate(entry, "lagrange", "kkt", dt=dt, t_end=END, step_folder=None)
        reached = float(run.t[-1]) >= END * (1 - 1e-9)
        worst = max(worst, abs(float(run.q[-1, 0] - run.q[-1, 1])) if reached else np.inf)
        gap = linkage.end(ROWS[PRINTED](linkage.parameters()), dt, round(END / dt), lambda _: 0.0, 1)
        by_hand = max(by_hand, float(gap[0]))
    return Derivation(
        "Rounding alone need not throw a run off: it does so only if a stage of the integrator comes closer to "
        "$\\pi/2$ than $\\theta_1$ and $\\theta_2$ have parted.",
        f"RK4 with {', '.join(f'{dt:g}' for dt in steps)} s over the configuration with exact accelerations: "
        f"$|\\theta_1-\\theta_2|$ at {END:g} s at most {worst:.1e} rad by the package, {by_hand:.1e} by hand.",
        max(worst, by_hand) < OFF,
    ), max(worst, by_hand)


claim = Claim(
    "C13", "002", "Singular configuration of the linkage",
    "the method passes the singular configuration of the linkage", check,
    "the printed constraint carries the motion through $\\theta_1=\\pi/2$, where its row vanishes; the source prints "
    "neither the accuracy of its accelerations nor its step. It cannot be reproduced if these decide", 2.0,
)  # fmt: skip
