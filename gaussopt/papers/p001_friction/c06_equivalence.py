"""C6: quadratic programs and complementarity problem as conditions for each other, (34) to (37) of paper 001."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from gaussopt.core.step_data import Matrix
from gaussopt.papers.claim import ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction.contact_samples import Mask
from gaussopt.papers.p001_friction.steps import POSES
from gaussopt.papers.texts import ClaimTexts

SEED = 60
GAP = 1e-6
"""Relative distance from which two answers differ; its square for an excess of the objective."""

READINGS = {
    "sufficient": "the minimum of (37) satisfies the contact laws",
    "necessary": "the forces of the contact laws are the minimum of (37)",
    "primal": "the minimum of (36) satisfies the contact laws",
    "dual": "(36) and (37) have the same minimum",
}


Broken = dict[str, Mask]
"""Where each reading fails on a stack, by its name, and where all contacts bear."""

texts = ClaimTexts(__file__, seed=SEED)


def check(quick: bool) -> Judgement:
    """Compute the evidence."""
    exact, scalar, same, weighted = _exact(), _scalar(), _symmetric(quick), _weighted(quick)
    bars, rows, columns, lifted = _two_bars()
    random, physical, bearing = _random(quick)
    holds = {name: not (bars[name] or random[name] or physical[name]) for name in READINGS}
    where = {
        "if-one-contact": scalar.holds, "if-symmetric": same.holds, "if-weighted": weighted.holds,
        "if-several-contacts": all(holds.values()),
    }  # fmt: skip
    failing = [READINGS[name] for name, truth in holds.items() if not truth]
    sentence = (
        "All problems here have one solution, because $A$ is positive definite. "
        + (f"Refuted on the two bars or on random steps: that {'; that '.join(failing)}. " if failing else "")
        + lifted
    )
    searches = (
        texts.attempt("two-bars", any(bars.values()), states=len(rows), told=_told(bars, len(rows))),
        texts.attempt(
            "random", any(random[name] or physical[name] for name in READINGS), random=random, physical=physical,
            on_matrices=_told(random, random["number"]), on_bars=_told(physical, physical["number"]),
        ),
        texts.attempt("bearing", bearing[0] > 0, bearing=bearing),
    )  # fmt: skip
    return Judgement(
        ClaimVerdict.of(list(holds.values())), sentence, (exact, scalar, same, weighted), searches,
        texts.circumstances(where), columns, rows,
    )  # fmt: skip


def _told(counts: dict[str, int], number: int) -> str:
    return "; ".join(f"{READINGS[name]}: not on {counts[name]} of {number}" for name in READINGS)


def _broken(A: Matrix, b: Matrix) -> Broken:
    """Try every reading on a stack with positive definite A."""
    z, x, y = sets.lcp(A, b), sets.printed(A, b), sets.primal(A, b)

    def value(v: Matrix) -> np.ndarray:
        return np.asarray(0.5 * np.einsum("bi,bij,bj->b", v, A, v))

    excess = value(z) - value(x)
    laws = [samples.natural(A, b, v, v) > GAP for v in (x, y)]
    bearing = np.asarray((sets.times(A, z) + b <= GAP * np.abs(b)).all(axis=1) & (z > 0).all(axis=1))
    return {
        # The excess is of second order in the distance of two strictly convex minima.
        "sufficient": laws[0], "necessary": excess > GAP**2 * np.maximum(value(z), 1e-300), "primal": laws[1],
        "dual": (samples.relative(A, b, x, y) > GAP) & (np.abs(b).max(axis=1) > 0), "bearing": bearing,
    }  # fmt: skip


def _counts(broken: Broken) -> dict[str, int]:
    return {name: int(broken[name].sum()) for name in READINGS}


def _exact() -> Derivation:
    A, b, c = [[2, 1], [0, 2]], [-2, 1], [-2, -2]
    half = Fraction(1, 2)
    S = [[Fraction(2), half], [half, Fraction(2)]]
    (z,), (x,) = sets.lcp_exactly(A, b), sets.printed_exactly(A, b)
    (u,), (y,) = sets.lcp_exactly(A, c), sets.lcp_exactly(S, c)
    w = [sum((Fraction(a) * e for a, e in zip(row, y, strict=True)), Fraction(d)) for row, d in zip(A, c, strict=True)]

    def text(v: list[Fraction]) -> str:
        return f"({', '.join(map(str, v))})"

    return texts.derivation(
        "exact", x != z and y != u and min(w) < 0, b=text([Fraction(e) for e in b]), z=text(z), x=text(x),
        c=text([Fraction(e) for e in c]), u=text(u), y=text(y), w=text(w),
    )  # fmt: skip


def _scalar() -> Derivation:
    tried, wrong = 0, 0
    for numerator in range(1, 7):
        for bias in range(-6, 7):
            A, b = [[Fraction(numerator, 3)]], [Fraction(bias, 2)]
            # (36) reads as the contact laws, because sym A = A.
            answers = (sets.lcp_exactly(A, b), sets.printed_exactly(A, b))
            tried, wrong = tried + 1, wrong + any(a != [[max(Fraction(0), -b[0] / A[0][0])]] for a in answers)
    return texts.derivation("scalar", wrong == 0, tried=tried, wrong=wrong)


def _symmetric(quick: bool) -> Derivation:
    count, number, failures, worst = (60 if quick else 400), 0, 0, 0.0
    for n in (2, 3, 4, 5):
        A, b = samples.random_definite(count, n, 0.0, np.random.default_rng([SEED, 1, n]))
        failures, number = failures + sum(_counts(_broken(A, b)).values()), number + count
        z, x = sets.primal(A, b), sets.printed(A, b)
        gap = 0.5 * np.einsum("bi,bij,bj->b", z, A, z) + (b * z).sum(axis=1)
        gap += 0.5 * np.einsum("bi,bij,bj->b", x, A, x)
        worst = max(worst, float(np.abs(gap).max()))
    return texts.derivation("symmetric", worst < 1e-9 and not failures, number=number, worst=worst, failures=failures)


def _weighted(quick: bool) -> Derivation:
    count, number, worst, indefinite = (60 if quick else 400), 0, 0.0, 0
    for n in (2, 3, 4, 5):
        A, b, d = samples.random_symmetrisable(count, n, np.random.default_rng([SEED, 2, n]))
        z = sets.lcp(A, b)
        x = sets.quadratic(sets.symmetric(d[:, :, None] * A), np.zeros_like(b), A, b)
        worst, number = max(worst, float(samples.relative(A, b, x, z).max())), number + count
        indefinite += int((~samples.definite(A, 0.0)).sum())
    return texts.derivation("weighted", worst < samples.EQUAL, number=number, indefinite=indefinite, worst=worst)


def _random(quick: bool) -> tuple[Counter[str], Counter[str], tuple[int, int]]:
    """Counts of the failures of each direction on random matrices and on hinged bars, and where all contacts bear."""
    count = 60 if quick else 400
    matrices = [
        samples.random_definite(count // 4 + 1, n, skew, np.random.default_rng([SEED, 3, n, i]))
        for n in (2, 3, 4, 5) for i, skew in enumerate((0.1, 0.3, 1.0, 3.0))
    ]  # fmt: skip
    hinged = [
        samples.definite_bars(count, bars, contacts, np.random.default_rng([SEED, 4, bars]))
        for bars, contacts in ((1, 2), (2, 2), (3, 3), (4, 4))
    ]
    random, physical = Counter[str](), Counter[str]()
    differ = bear = 0
    for total, stacks in ((random, matrices), (physical, [(steps.A, steps.b) for steps in hinged])):
        for A, b in stacks:
            found = _broken(A, b)
            total.update(_counts(found), number=len(b))
            differ += int((found["sufficient"] & found["bearing"]).sum())
            bear += int(found["bearing"].sum())
    return random, physical, (differ, bear)


def _two_bars() -> tuple[dict[str, int], tuple[tuple[object, ...], ...], tuple[str, ...], str]:
    steps = samples.two_bars()
    A, b = steps.A, steps.b
    laws, program, primal = steps.solve().y, sets.printed(A, b), sets.primal(A, b)
    w = sets.times(A, primal) + b
    lowest = np.linalg.eigvalsh(sets.symmetric(A))[:, 0]
    rows = tuple(
        (label, *(float(v) for array in (lowest[i : i + 1], laws[i], program[i], primal[i]) for v in array),
         float(np.where(np.abs(w[i]) < 1e-12, 0.0, w[i]).min()))
        for i, label in enumerate(POSES)
    )  # fmt: skip
    found = _broken(A, b)
    pulled = [
        f"at {label} (37) gives N_C = {program[i, 1]:.5g} N"
        for i, label in enumerate(POSES) if found["sufficient"][i] and program[i, 1] < 0
    ]  # fmt: skip
    i = int(np.argmin(w.min(axis=1)))
    text = f"On the two bars: {'; '.join(pulled)}, where C separates by the contact laws. " if pulled else ""
    if found["primal"].any():
        text += f"(36) lets an end penetrate, worst at {list(POSES)[i]} with w = {w[i].min():.4g} m/s²."
    counts = _counts(found) if (lowest > 0).all() else dict.fromkeys(READINGS, 0)
    return counts, rows, texts.columns("states"), text.strip()


claim = texts.claim("C6", "001", check, 0.4)
