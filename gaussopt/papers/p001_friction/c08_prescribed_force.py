"""C8: Gauss's principle with friction that is known in advance, or that depends on the contact forces; eq. (25)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.modelling.problem import problem
from gaussopt.papers.claim import Attempt, Derivation, Judgement, OwnResult
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.evidence import contact_problems as problems
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction.contact_samples import Contacts
from gaussopt.papers.p001_friction.steps import POSES, pose
from gaussopt.papers.texts import ClaimTexts
from gaussopt.solving.solve import solve_step

SEED = 80
CONVERGED = 1e-12
"""An iteration ends when the relative change of the forces is at most this."""

ROUNDING = 1e-6
"""Rounding can raise the error of an iteration above its bound by this share, if errors exceed 1e-6 of the forces."""

FALLING = [degrees for degrees, loads in POSES.values() if not loads]
"""Angles, degrees, of the special states of the two bars at which gravity is the only load."""

STEPS = 250
"""Number of iterations in cases for which no bound on the necessary number is known."""

texts = ClaimTexts(__file__, seed=SEED, poses="; ".join(POSES))


def check(quick: bool) -> Judgement:
    """Compute the evidence for and against the claim, and judge it."""
    gauss, known = _known(quick)
    varied, once = _varied(quick), _once(quick)
    readings = (
        texts.reading("if-known", not known.refutes, ours=False, statement="holds"),
        texts.reading("if-varied", varied.refutes, statement="fails"),
        texts.reading("if-once", once.refutes, statement="fails"),
    )
    return texts.judgement(readings, (gauss,), (known, varied, once), own=_iterated(quick))


def _iterated(quick: bool) -> OwnResult:
    """Study an iteration that the paper does not propose: Gauss's principle with the friction of the last iterate."""
    rows, program = _two_bars()
    contraction, adversary, beyond = _contraction(quick), _adversary(quick), _beyond(quick)
    sentence = texts("iterated", contraction=contraction, beyond=beyond)
    derived = (_fixed_points(quick), _closed_forms(quick), program)
    return OwnResult(sentence, derived, (contraction, adversary, beyond), texts.columns("states"), rows)


@dataclass(frozen=True)
class Iteration:
    """Iterates N' = LCP(A_0, b + C N) of the normal forces with friction held at its last value, (steps + 1, B, k)."""

    path: Matrix

    @property
    def count(self) -> np.ndarray:
        """Number of iterations after which the forces no longer change, (B,); steps + 1 if they never settle."""
        change = np.abs(np.diff(self.path, axis=0)).max(axis=2)
        size = np.maximum(np.abs(self.path[1:]).max(axis=2), 1e-300)
        still = change <= CONVERGED * size
        return np.where(still.any(axis=0), still.argmax(axis=0), len(self.path))

    @classmethod
    def run(cls, A0: Matrix, C: Matrix, b: Matrix, steps: int, start: Matrix | None = None) -> Iteration:
        """Return all iterates of `steps` iterations from `start`, which is zero by default."""
        N = np.zeros_like(b) if start is None else start
        path = [N]
        for _ in range(steps):
            N = sets.lcp(A0, b + sets.times(C, N))
            path.append(N)
        return cls(np.array(path))


def contraction(A0: Matrix, C: Matrix) -> Vector:
    """Compute rho = || A_0^(-1/2) C A_0^(-1/2) ||, (B,)."""
    values, vectors = np.linalg.eigh(A0)
    root = vectors / np.sqrt(values)[:, None, :]
    return np.asarray(np.linalg.norm(root.swapaxes(1, 2) @ C @ root, 2, axis=(1, 2)))


def norm(A0: Matrix, x: Matrix) -> Vector:
    """Return (x^T A_0 x)^(1/2) of each vector."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("...bi,bij,...bj->...b", x, A0, x), 0.0)))


def _bars(count: int, mu: float, rng: np.random.Generator) -> list[Contacts]:
    """Draw steps with one to four contacts whose contact rows are not close to redundant."""
    found = []
    for bars, contacts in ((2, 1), (1, 2), (2, 2), (3, 3), (4, 4)):
        steps = samples.random_bars(count, bars, contacts, rng, (0.0, mu))
        found.append(steps[problems.definite(steps.smooth)])
    return found


def _known(quick: bool) -> tuple[Derivation, Attempt]:
    """Check that the true motion minimises (25) with the true friction, and check the identity that implies this."""
    rng, number, worst, identity = np.random.default_rng([SEED, 1]), 0, 0.0, 0.0
    for steps in _bars(60 if quick else 400, 1.0, rng):
        steps = steps[problems.definite(steps.A)]
        truth = steps.solve()
        friction = sets.times(steps.friction.swapaxes(1, 2), truth.y)
        given = steps.solve(friction)
        a, minimum = (found.x[:, : steps.M.shape[1]] for found in (truth, given))
        free = np.asarray(np.linalg.solve(steps.M, (steps.force + friction)[..., None])[..., 0])
        size = norm(steps.M, a) + norm(steps.M, free)
        worst = max(worst, float((norm(steps.M, minimum - a) / size).max()))
        number += len(steps)
        # Compare with other accelerations that the joints allow: add delta, drawn from ker J.
        drawn = rng.standard_normal(a.shape)
        inverse = np.asarray(np.linalg.pinv(steps.J), dtype=np.float64)
        delta = drawn - sets.times(inverse, sets.times(steps.J, drawn))
        push = steps.force + friction
        more, less = (_gauss(steps.M, x, push) for x in (a + delta, a))
        said = 0.5 * np.einsum("bi,bij,bj->b", delta, steps.M, delta)
        said += (truth.y * sets.times(steps.J_N, delta)).sum(axis=1)
        identity = max(identity, float((np.abs(more - less - said) / (1.0 + np.abs(more) + np.abs(less))).max()))
    derived = texts.derivation("gauss", identity < samples.EQUAL, identity=identity, number=number)
    return derived, texts.attempt("known", worst > samples.EQUAL, worst=worst, number=number)


def _gauss(M: Matrix, a: Matrix, push: Matrix) -> Vector:
    """Return the objective of (25), (B,), without the term that is constant in a."""
    return np.asarray(0.5 * np.einsum("bi,bij,bj->b", a, M, a) - (a * push).sum(axis=1))


def _varied(quick: bool) -> Attempt:
    """Minimise (25) if friction varies with the contact forces, min 1/2 N^T A_0 N, on steps without joints."""
    rng, count = np.random.default_rng([SEED, 6]), 150 if quick else 1000

    def wrong(steps: Contacts) -> tuple[int, int]:
        program = sets.quadratic(steps.smooth, np.zeros_like(steps.b), steps.A, steps.b)
        miss = samples.relative(steps.A, steps.b, program, sets.lcp(steps.A, steps.b))
        return int((miss > 1e-6).sum()), len(steps)

    drawn = {k: samples.definite_bars(count, 1, k, rng) for k in (1, 2)}
    one, two = (wrong(drawn[k][problems.definite(drawn[k].smooth)]) for k in (1, 2))
    bars = wrong(samples.on_floor(np.radians(FALLING)))
    return texts.attempt("varied", max(one[0], two[0], bars[0]) > 0, one=one, two=two, bars=bars)


def _once(quick: bool) -> Attempt:
    bars = samples.two_bars()
    miss = np.abs(sets.lcp(bars.smooth, bars.b) - sets.lcp(bars.A, bars.b)).max(axis=1)
    rng, number, wrong = np.random.default_rng([SEED, 2]), 0, 0
    for steps in _bars(60 if quick else 400, 1.0, rng):
        steps = steps[problems.definite(steps.A)]
        z = sets.lcp(steps.A, steps.b)
        wrong += int((samples.relative(steps.A, steps.b, sets.lcp(steps.smooth, steps.b), z) > 1e-6).sum())
        number += len(steps)
    return texts.attempt(
        "once", bool(miss.max() > 1e-6) or wrong > 0, number=number, miss=np.quantile(miss, (0.0, 0.5, 1.0)),
        states=len(miss), wrong=wrong,
    )  # fmt: skip


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
    return texts.derivation(
        "fixed-points", worst < samples.EQUAL and lowest > 0, number=number, worst=worst, lowest=lowest
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
    return texts.derivation(
        "closed-forms", apart < 1e-9 and off < 1e-9, angles=len(angles), apart=apart, off=off, mu=mu,
        next_to_90=0.5 * mu * np.tan(np.radians(89.0)),
    )  # fmt: skip


def _two_bars() -> tuple[tuple[tuple[object, ...], ...], Derivation]:
    labels = list(POSES)
    bars = samples.two_bars()
    A0, C, b = bars.smooth, bars.coupling, bars.b
    z = sets.lcp(bars.A, b)
    run, rho = Iteration.run(A0, C, b, 60), contraction(A0, C)
    error = norm(A0, run.path - z)
    rows, worst, below = [], 0.0, 0
    for i, label in enumerate(labels):
        # Use the last two iterations whose errors are far above rounding errors.
        clear = np.flatnonzero(error[:, i] > 1e-9 * error[0, i])
        j = int(clear[-1])
        active = z[i] > 0
        S = np.linalg.solve(A0[i][np.ix_(active, active)], C[i][np.ix_(active, active)])
        radius = float(np.abs(np.linalg.eigvals(S)).max())
        # Average over two iterations: if eigenvalues have opposite signs, the ratio alternates.
        rate = float(np.sqrt(error[j, i] / error[j - 2, i]))
        below += rate <= rho[i] * (1 + 1e-6)
        first, last = (float(np.abs(run.path[n, i] - z[i]).max()) for n in (1, -1))
        worst = max(worst, last)
        rows.append((label, float(rho[i]), rate, radius, int(run.count[i]), first))
    answer = solve_step(pose(labels[3]), "frozen-friction", "newton")
    own = float(np.abs(answer.lam_N - z[3]).max())
    program = texts.derivation(
        "program", below == len(labels) and worst < 1e-9 and own < 1e-9, below=below, states=len(labels), worst=worst,
        own=own, pose=labels[3],
    )  # fmt: skip
    return tuple(rows), program


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
        error = norm(A0, Iteration.run(A0, C, b, length, start).path - z)
        size = norm(A0, z) + error[0]
        clear = error[:-1] > 1e-6 * size
        ratio = np.where(clear, error[1:] / np.where(clear, error[:-1], 1.0), 0.0) / rho
        above += int((ratio > 1 + ROUNDING).any(axis=0).sum())
        failed += int((error[-1] > rho**length * error[0] * (1 + ROUNDING) + 1e-9 * size).sum())
        sharpest, highest = max(sharpest, float(ratio.max(initial=0.0))), max(highest, float(rho.max(initial=0.0)))
        number += len(b)
    return texts.attempt(
        "contraction", above > 0 or failed > 0, number=number, highest=highest, length=25 if quick else 60,
        below=number - above, sharpest=sharpest, failed=failed,
    )  # fmt: skip


def _adversary(quick: bool) -> Attempt:
    generations = 15 if quick else 100

    def ratio(points: Matrix) -> Vector:
        """Return (error after one iteration) / (error before it) / rho with rho = 0.999."""
        count = len(points)
        A0 = np.tile(np.eye(2), (count, 1, 1))
        A0[:, 0, 1] = A0[:, 1, 0] = points[:, 0]
        C = points[:, 1:5].reshape(count, 2, 2)
        b = np.stack((np.cos(points[:, 5]), np.sin(points[:, 5])), axis=1)
        start = np.maximum(points[:, 6:8], 0.0)
        rho = contraction(A0, C)
        # Scale C so that the contraction factor is just below 1.
        C = 0.999 * C / np.maximum(rho, 1e-300)[:, None, None]
        z = sets.lcp(A0 + C, b)
        before = norm(A0, start - z)
        after = norm(A0, sets.lcp(A0, b + sets.times(C, start)) - z)
        return np.where((rho > 1e-6) & (before > 1e-6), after / before / 0.999, np.nan)

    bounds = [(-0.95, 0.95)] + [(-1.0, 1.0)] * 4 + [(0.0, 2 * np.pi)] + [(-1.0, 10.0)] * 2
    value, _ = samples.maximise(ratio, bounds, generations)
    return texts.attempt(
        "adversary", value > 1 + ROUNDING, generations=generations, value=value,
        how="exceeded" if value > 1 + ROUNDING else "attained at best",
    )  # fmt: skip


def _beyond(quick: bool) -> Attempt:
    rng = np.random.default_rng([SEED, 5])
    ends: Counter[str] = Counter()
    number = 0
    steps_taken = 120 if quick else STEPS
    for bars, contacts in ((2, 1), (2, 2), (3, 3)):
        steps = samples.random_bars(150 if quick else 500, bars, contacts, rng, (0.5, 4.0))
        steps = steps[problems.definite(steps.smooth)]
        A0, C, b = steps.smooth, steps.coupling, steps.b
        chosen = (contraction(A0, C) >= 1.001) & problems.definite(A0 + C)
        A0, C, b = A0[chosen], C[chosen], b[chosen]
        z = sets.lcp(A0 + C, b)
        run = Iteration.run(A0, C, b, steps_taken)
        close = samples.relative(A0, b, run.path[-1], z) < 1e-6
        growing = np.abs(run.path[-1]).max(axis=1) > 1e6 * (1.0 + np.abs(z).max(axis=1))
        ends.update({"close": int(close.sum()), "growing": int(growing.sum())})
        number += len(b)
    cycling = number - ends["close"] - ends["growing"]
    rod = _rod()
    return texts.attempt(
        "beyond", cycling + ends["growing"] > 0, number=number, steps_taken=steps_taken, close=ends["close"],
        cycling=cycling, growing=ends["growing"], rod=rod,
    )  # fmt: skip


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
            told.append(texts("rod-to-the-right", rho=rho, last=path[-2:], z=z))
        else:
            factor = path[-1] / max(path[-2], 1e-300)
            told.append(texts("rod-to-the-left", rho=rho, A=A[0, 0, 0], B=b[0, 0], factor=factor))
    return "; ".join(told)


claim = texts.claim("C8", "001", check, 1.0)
