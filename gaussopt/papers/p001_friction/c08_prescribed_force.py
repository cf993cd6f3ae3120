"""C8: non-ideal forces in Gauss's principle, known in advance or not, eqs. (22), (25) of paper 001."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from gaussopt.core.step_data import Matrix, Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction import steps as contact_steps
from gaussopt.papers.p001_friction.contact_samples import Contacts
from gaussopt.papers.p001_friction.steps import POSES
from gaussopt.solving.solve import solve_step

SEED = 80
CONVERGED = 1e-12
"""Relative change of the forces at which an iteration has ended."""

ROUNDING = 1e-6
"""Excess over the bound of one iteration that is rounding, for errors down to 1e-6 of the forces."""

STEPS = 250
"""Most iterations where nothing bounds their number."""

GIVEN = "a force known in advance may be put into Gauss's principle"
ONCE = "one solve is wrong where the force depends on the contact forces"
NEVER = "it stays wrong when it is solved again and again with the friction of the last contact forces, even for "
"$\\varrho<1$"


def check(quick: bool) -> Judgement:
    """Compute the evidence."""
    known, once, fixed, closed = _known(quick), _once(quick), _fixed_points(quick), _closed_forms(quick)
    rows, columns, program = _two_bars()
    contraction, adversary, beyond = _contraction(quick), _adversary(quick), _beyond(quick)
    converges = not (contraction.refutes or adversary.refutes)
    holds = {GIVEN: known.holds, ONCE: once.refutes, NEVER: not converges}
    sentence = (
        f"Given the friction, one solve is right ({known.computed}). Without it, {once.found}. Iterated, "
        f"{contraction.found}. {beyond.found}."
    )
    where = {
        "Gauss's principle for a force known in advance, by one solve": known.holds,
        "for friction, iterated, if $\\varrho=\\|A_0^{-1/2}CA_0^{-1/2}\\|<1$": converges,
        "for friction by one solve": not once.refutes,
        "for friction, iterated, with $\\varrho\\ge1$ in general": not beyond.refutes,
    }
    return Judgement(
        ClaimVerdict.of(list(holds.values())), sentence, (known, fixed, closed, program),
        (once, contraction, adversary, beyond), samples.circumstances(where), columns, rows,
    )  # fmt: skip


@dataclass(frozen=True)
class Iteration:
    """Frozen friction on a stack: N' = LCP(A_0, B + C N).

    Attributes
    ----------
    path : (iterations + 1, B, k)
        From N = 0.
    """

    path: Matrix

    @property
    def count(self) -> np.ndarray:
        """Iterations after which nothing changes; the length of the path where something always does, (B,)."""
        change = np.abs(np.diff(self.path, axis=0)).max(axis=2)
        size = np.maximum(np.abs(self.path[1:]).max(axis=2), 1e-300)
        still = change <= CONVERGED * size
        return np.where(still.any(axis=0), still.argmax(axis=0), len(self.path))

    @classmethod
    def run(cls, A0: Matrix, C: Matrix, b: Matrix, steps: int, start: Matrix | None = None) -> Iteration:
        """Iterate `steps` times."""
        N = np.zeros_like(b) if start is None else start
        path = [N]
        for _ in range(steps):
            N = sets.lcp(A0, b + sets.times(C, N))
            path.append(N)
        return cls(np.array(path))


def contraction(A0: Matrix, C: Matrix) -> Vector:
    """Rho = || A_0^(-1/2) C A_0^(-1/2) ||, (B,)."""
    values, vectors = np.linalg.eigh(A0)
    root = vectors / np.sqrt(values)[:, None, :]
    return np.asarray(np.linalg.norm(root.swapaxes(1, 2) @ C @ root, 2, axis=(1, 2)))


def _norm(A0: Matrix, x: Matrix) -> Vector:
    return np.asarray(np.sqrt(np.maximum(np.einsum("...bi,bij,...bj->...b", x, A0, x), 0.0)))


def _bars(count: int, mu: float, rng: np.random.Generator) -> list[Contacts]:
    """Steps with one to four contacts whose contact rows are not close to redundant."""
    found = []
    for bars, contacts in ((2, 1), (1, 2), (2, 2), (3, 3), (4, 4)):
        steps = samples.random_bars(count, bars, contacts, rng, (0.0, mu))
        found.append(steps[samples.definite(steps.smooth)])
    return found


def _known(quick: bool) -> Derivation:
    rng, number, worst = np.random.default_rng([SEED, 1]), 0, 0.0
    for steps in _bars(60 if quick else 400, 1.0, rng):
        steps = steps[samples.definite(steps.A)]
        truth = steps.solve()
        friction = sets.times(steps.friction.swapaxes(1, 2), truth.y)
        given = steps.solve(friction)
        size = np.abs(truth.x).max(axis=1)
        worst = max(worst, float((np.abs(given.x - truth.x).max(axis=1) / (1.0 + size)).max()))
        number += len(steps)
    return Derivation(
        "Friction that is known enters (25) as an applied force: $\\min\\frac12a^TMa-a^T(\\tilde Q+f)$ over the "
        "constraints has the equations of motion as its optimality conditions",
        f"largest relative error of accelerations and joint forces {worst:.0e} on {number} random steps of 1 to 4 "
        "hinged bars with 1 to 4 contacts",
        worst < samples.EQUAL,
    )


def _once(quick: bool) -> Attempt:
    bars = samples.two_bars()
    miss = np.abs(sets.lcp(bars.smooth, bars.b) - sets.lcp(bars.A, bars.b)).max(axis=1)
    rng, number, wrong = np.random.default_rng([SEED, 2]), 0, 0
    for steps in _bars(60 if quick else 400, 1.0, rng):
        steps = steps[samples.definite(steps.A)]
        z = sets.lcp(steps.A, steps.b)
        wrong += int((samples.relative(steps.A, steps.b, sets.lcp(steps.smooth, steps.b), z) > 1e-6).sum())
        number += len(steps)
    return Attempt(
        "Steps where one solve is wrong, with the friction that belongs to contact forces not yet known ($N=0$)",
        f"the two bars at {'; '.join(POSES)}, $\\mu=0.2$; {number} random steps of hinged bars, friction up to 1, seed "
        f"{SEED}",
        f"one solve is wrong by up to {miss.max():.4g} N on the two bars and wrong on {wrong} of {number} random steps",
        bool(miss.max() > 1e-6) or wrong > 0,
    )


def _fixed_points(quick: bool) -> Derivation:
    rng, number, worst, lowest = np.random.default_rng([SEED, 3]), 0, 0.0, np.inf
    for steps in _bars(60 if quick else 400, 1.0, rng):
        A0, C, b = steps.smooth, steps.coupling, steps.b
        below = contraction(A0, C) < 1
        A0, C, b = A0[below], C[below], b[below]
        z = sets.lcp(A0 + C, b)
        again = sets.lcp(A0, b + sets.times(C, z))
        worst = max(worst, float(samples.relative(A0, b, again, z).max(initial=0.0)))
        lowest = min(lowest, float(np.linalg.eigvalsh(sets.symmetric(A0 + C)).min(initial=np.inf)))
        number += len(b)
    return Derivation(
        "With $A=A_0+C$ the iteration is $N'=\\operatorname{LCP}(A_0,B+CN)$: its fixed points are the contact laws, "
        "$\\operatorname{LCP}(A_0,\\cdot)$ is a projection in the $A_0$-norm, so that the error shrinks at least by "
        "the factor $\\varrho=\\|A_0^{-1/2}CA_0^{-1/2}\\|$; $\\varrho<1$ implies that $\\operatorname{sym}A$ is "
        "positive definite",
        f"{number} random steps with ϱ < 1: the forces of the contact laws are reproduced to {worst:.0e}, smallest "
        f"eigenvalue of sym A {lowest:.2g}",
        worst < samples.EQUAL and lowest > 0,
    )


def _closed_forms(quick: bool) -> Derivation:
    angles = np.radians(np.linspace(2.0, 88.0, 12 if quick else 60))
    mu = problem("two-bar").parameter_values["mu"]
    steps, theta = samples.opposite_slides(angles, 1.0)
    rho = contraction(steps.smooth, steps.coupling)
    closed = np.maximum(0.75 * mu * np.sin(2 * theta), 0.5 * mu * np.tan(theta))
    apart = float((np.abs(rho - closed) / closed).max())
    rod = problem("sliding-rod", mu=0.9)
    single = [(t, rod.at(theta0=t)) for t in angles]
    one = Contacts.of([r.system.evaluate(0.0, r.q0, r.v0) for _, r in single])
    stated = np.array([0.9 * 3 * np.sin(t) * np.cos(t) / (1 + 3 * np.cos(t) ** 2) for t, _ in single])
    off = float(np.abs(contraction(one.smooth, one.coupling) - stated).max())
    return Derivation(
        "Two bars whose ends slide apart or together: "
        "$\\varrho=\\max(\\frac34\\mu\\sin2\\theta,\\frac12\\mu\\tan\\theta)$; the rod: $\\varrho=3\\mu sc/(1+3c^2)$",
        f"largest deviation of the derived operators at {len(angles)} angles: two bars {apart:.0e} (relative), rod "
        f"{off:.0e}; at 89° and μ = {mu:g} the two bars have ϱ = {0.5 * mu * np.tan(np.radians(89.0)):.2f}",
        apart < 1e-9 and off < 1e-9,
    )


def _two_bars() -> tuple[tuple[tuple[object, ...], ...], tuple[str, ...], Derivation]:
    labels = list(contact_steps.POSES)
    bars = samples.two_bars()
    A0, C, b = bars.smooth, bars.coupling, bars.b
    z = sets.lcp(bars.A, b)
    run, rho = Iteration.run(A0, C, b, 60), contraction(A0, C)
    error = _norm(A0, run.path - z)
    rows, worst, below = [], 0.0, 0
    for i, label in enumerate(labels):
        # The last two iterations whose errors are far above rounding.
        clear = np.flatnonzero(error[:, i] > 1e-9 * error[0, i])
        j = int(clear[-1])
        active = z[i] > 0
        S = np.linalg.solve(A0[i][np.ix_(active, active)], C[i][np.ix_(active, active)])
        radius = float(np.abs(np.linalg.eigvals(S)).max())
        # Over two iterations, because eigenvalues of opposite sign let the ratio alternate.
        rate = float(np.sqrt(error[j, i] / error[j - 2, i]))
        below += rate <= rho[i] * (1 + 1e-6)
        first, last = (float(np.abs(run.path[n, i] - z[i]).max()) for n in (1, -1))
        worst = max(worst, last)
        rows.append((label, float(rho[i]), rate, radius, int(run.count[i]), first))
    answer = solve_step(contact_steps.pose(labels[3]), "frozen-friction", "newton")
    own = float(np.abs(answer.lam_N - z[3]).max())
    columns = ("state", "ϱ", "mean rate of the last two iterations", "spectral radius of the active contacts",
               "iterations to 1e-12", "first iterate wrong by / N")  # fmt: skip
    program = Derivation(
        "Near the end the error shrinks, in the mean of two iterations, by the spectral radius of "
        "$A_{0,\\alpha\\alpha}^{-1}C_{\\alpha\\alpha}$, α the bearing contacts; single ratios may alternate about it "
        "where eigenvalues have opposite signs",
        f"two bars: mean rates of the last iterations at most ϱ on {below} of {len(labels)} states, errors at the "
        f"end at most {worst:.0e} N; the sequence of programs in accelerations ends {own:.0e} N from the contact "
        f"laws at {labels[3]}",
        below == len(labels) and worst < 1e-9 and own < 1e-9,
    )
    return tuple(rows), columns, program


def _contraction(quick: bool) -> Attempt:
    rng = np.random.default_rng([SEED, 4])
    number, above, failed, sharpest, highest = 0, 0, 0, 0.0, 0.0
    for steps in _bars(100 if quick else 600, 2.0, rng):
        A0, C, b = steps.smooth, steps.coupling, steps.b
        rho = contraction(A0, C)
        below = rho < 0.999
        A0, C, b, rho = A0[below], C[below], b[below], rho[below]
        start = sets.lcp(A0, 10.0 * rng.standard_normal(b.shape))
        z, length = sets.lcp(A0 + C, b), 25 if quick else 60
        error = _norm(A0, Iteration.run(A0, C, b, length, start).path - z)
        size = _norm(A0, z) + error[0]
        clear = error[:-1] > 1e-6 * size
        ratio = np.where(clear, error[1:] / np.where(clear, error[:-1], 1.0), 0.0) / rho
        above += int((ratio > 1 + ROUNDING).any(axis=0).sum())
        failed += int((error[-1] > rho**length * error[0] * (1 + ROUNDING) + 1e-9 * size).sum())
        sharpest, highest = max(sharpest, float(ratio.max(initial=0.0))), max(highest, float(rho.max(initial=0.0)))
        number += len(b)
    return Attempt(
        "Against convergence: a step with $\\varrho<1$ and an iteration in which the error is left larger than ϱ "
        "times what it was",
        f"{number} random steps of 1 to 4 hinged bars with 1 to 4 contacts, friction up to 2, ϱ up to {highest:.3f}, "
        f"{25 if quick else 60} iterations from random forces, seed {SEED}",
        f"it shrinks the error at least by the factor ϱ in every iteration on {number - above} of {number} random "
        f"steps with ϱ < 1 (largest ratio to ϱ {sharpest:.4f}) and misses the bound at the end on {failed}",
        above > 0 or failed > 0,
    )


def _adversary(quick: bool) -> Attempt:
    generations = 15 if quick else 100

    def ratio(points: Matrix) -> Vector:
        """Error after one iteration over the error before, over rho, which only the shape of C can change."""
        count = len(points)
        A0 = np.tile(np.eye(2), (count, 1, 1))
        A0[:, 0, 1] = A0[:, 1, 0] = points[:, 0]
        C = points[:, 1:5].reshape(count, 2, 2)
        b = np.stack((np.cos(points[:, 5]), np.sin(points[:, 5])), axis=1)
        start = np.maximum(points[:, 6:8], 0.0)
        rho = contraction(A0, C)
        # Scaled to the largest factor that still contracts.
        C = 0.999 * C / np.maximum(rho, 1e-300)[:, None, None]
        z = sets.lcp(A0 + C, b)
        before = _norm(A0, start - z)
        after = _norm(A0, sets.lcp(A0, b + sets.times(C, start)) - z)
        return np.where((rho > 1e-6) & (before > 1e-6), after / before / 0.999, np.nan)

    bounds = [(-0.95, 0.95)] + [(-1.0, 1.0)] * 4 + [(0.0, 2 * np.pi)] + [(-1.0, 10.0)] * 2
    value, _ = samples.maximise(ratio, bounds, generations)
    return Attempt(
        "Against convergence: two contacts and contact forces from which one iteration leaves more of the error "
        "than the factor ϱ",
        f"differential evolution over $A_0$, the shape of $C$, $B$ and the forces, ϱ = 0.999, {generations} "
        "generations of 120",
        f"the error after an iteration is at most {value:.6f} ϱ times the error before: the bound is "
        + ("exceeded" if value > 1 + ROUNDING else "attained at best"),
        value > 1 + ROUNDING,
    )


def _beyond(quick: bool) -> Attempt:
    rng = np.random.default_rng([SEED, 5])
    ends: Counter[str] = Counter()
    number = 0
    steps_taken = 120 if quick else STEPS
    for bars, contacts in ((2, 1), (2, 2), (3, 3)):
        steps = samples.random_bars(150 if quick else 500, bars, contacts, rng, (0.5, 4.0))
        steps = steps[samples.definite(steps.smooth)]
        A0, C, b = steps.smooth, steps.coupling, steps.b
        chosen = (contraction(A0, C) >= 1.001) & samples.definite(A0 + C)
        A0, C, b = A0[chosen], C[chosen], b[chosen]
        z = sets.lcp(A0 + C, b)
        run = Iteration.run(A0, C, b, steps_taken)
        close = samples.relative(A0, b, run.path[-1], z) < 1e-6
        growing = np.abs(run.path[-1]).max(axis=1) > 1e6 * (1.0 + np.abs(z).max(axis=1))
        ends.update({"close": int(close.sum()), "growing": int(growing.sum())})
        number += len(b)
    cycling = number - ends["close"] - ends["growing"]
    rod = _rod()
    return Attempt(
        "Steps with $\\varrho\\ge1$, positive definite $A$ and so exactly one solution, where the iteration from $N=0$ "
        "does not reach it",
        f"{number} random steps of two and three hinged bars with 1 to 3 contacts, friction from 0.5 to 4, "
        f"{steps_taken} iterations, seed {SEED}; the rod at 60° sliding to the right with μ = 2, and sliding to the "
        "left with μ = 2, where it is a Painlevé state",
        f"For ϱ ≥ 1 it still reaches the only solution on {ends['close']} of {number} random steps, goes round on "
        f"{cycling} and grows without bound on {ends['growing']}; {rod}",
        cycling + ends["growing"] > 0,
    )


def _rod() -> str:
    told = []
    for slip in (2.0, -2.0):
        entry = problem("sliding-rod", mu=2.0, vA0=slip, theta0=np.pi / 3)
        step = Contacts.of([entry.system.evaluate(0.0, entry.q0, entry.v0)])
        A, A0, C, b = step.A, step.smooth, step.coupling, step.b
        path = Iteration.run(A0, C, b, 40).path[:, 0, 0]
        rho = float(contraction(A0, C)[0])
        if A[0, 0, 0] > 0:
            z = float(sets.lcp(A, b)[0, 0])
            told.append(
                f"the rod to the right (ϱ = {rho:.3f}) ends with {path[-2]:.4g} and {path[-1]:.4g} N in turns, the "
                f"contact laws say {z:.4g} N"
            )
        else:
            told.append(
                f"to the left (ϱ = {rho:.3f}), with A = {A[0, 0, 0]:.3g}/kg and B = {b[0, 0]:.3g} m/s² and so "
                f"without a solution, each iteration multiplies the forces by {path[-1] / max(path[-2], 1e-300):.3f}"
            )
    return "; ".join(told)


claim = Claim(
    "C8", "001", "Eqs. (22), (25)",
    "Gauss's principle in the accelerations takes a non-ideal force that is known in advance, and fails if the force "
    "depends on the contact forces",
    check, "friction is put into the principle as an applied force; where it depends on the contact forces, by one "
    "solve or again and again with the contact forces of the solve before", 1.0,
)  # fmt: skip
