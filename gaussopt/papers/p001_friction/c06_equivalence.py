"""C6: equivalence of quadratic programs and the complementarity problem, eqs. (34) to (37) of paper 001."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from gaussopt.core.arrays import Matrix
from gaussopt.papers.claim import Attempt, Derivation, Judgement
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.evidence import contact_problems as problems
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction.contact_samples import Mask
from gaussopt.papers.p001_friction.steps import POSES
from gaussopt.papers.texts import ClaimTexts

SEED = 60
GAP = 1e-6
"""Relative distance above which two answers differ; for an excess of the objective, the threshold is its square."""

EXAMPLE = [[2, 1], [0, 2]]
"""The matrix A of the example that is solved in rational arithmetic."""

DIRECTIONS = ("sufficient", "necessary", "primal", "dual")

Broken = dict[str, Mask]
"""Masks over a stack of samples, by name: failures of each direction, and samples with forces at all contacts."""

texts = ClaimTexts(__file__, seed=SEED)


def check(quick: bool) -> Judgement:
    """Compute the evidence for and against the claim, and judge it."""
    bars, rows, lifted = _two_bars()
    one, even, random, physical, bearing = _one(quick), _even(quick), *_random(quick)
    exact, refuted = _exact(), {name: bars[name] + random[name] + physical[name] for name in DIRECTIONS}
    several = {
        "any-program": not (exact.refutes or refuted["sufficient"] or refuted["necessary"]),
        "any-dual": not (exact.refutes or refuted["primal"] or refuted["dual"]),
    }
    alike = {"any-program": ("sufficient", "necessary"), "any-dual": ("primal", "dual")}
    readings = (
        texts.reading("one-contact", not _fails(one), ours=False),
        *(texts.reading(name, holds, {"if-symmetric": not any(even[d] for d in alike[name])})
          for name, holds in several.items()),
    )  # fmt: skip
    searches = (
        texts.attempt("one", _fails(one), one=one, told=_told(one, one["number"])),
        texts.attempt("even", _fails(even), even=even, told=_told(even, even["number"])),
        exact,
        texts.attempt("two-bars", _fails(bars), states=len(rows), told=_told(bars, len(rows))),
        texts.attempt(
            "random", _fails(random) or _fails(physical), random=random, physical=physical,
            on_matrices=_told(random, random["number"]), on_bars=_told(physical, physical["number"]),
        ),
        texts.attempt("bearing", bearing[0] > 0, bearing=bearing),
    )  # fmt: skip
    numbers = {"states": len(rows), "bars": bars, "physical": physical, "lifted": lifted}
    return texts.judgement(readings, (_scalar(), _symmetric(quick)), searches, rows=rows, numbers=numbers)


def _fails(counts: Mapping[str, int]) -> bool:
    return any(counts[name] for name in DIRECTIONS)


def _told(counts: Mapping[str, int], number: int) -> str:
    return "; ".join(f"that {texts(name)} fails on {counts[name]} of {number}" for name in DIRECTIONS)


def _broken(A: Matrix, b: Matrix) -> Broken:
    """Test every direction of the equivalence on a stack of problems with positive definite A."""
    z, x, y = sets.lcp(A, b), sets.printed(A, b), sets.primal(A, b)

    def value(v: Matrix) -> np.ndarray:
        return np.asarray(0.5 * np.einsum("bi,bij,bj->b", v, A, v))

    excess = value(z) - value(x)
    laws = [samples.natural(A, b, v, v) > GAP for v in (x, y)]
    bearing = np.asarray((sets.times(A, z) + b <= GAP * np.abs(b)).all(axis=1) & (z > 0).all(axis=1))
    return {
        # The excess of a strictly convex objective is of second order in the distance from its minimum.
        "sufficient": laws[0], "necessary": excess > GAP**2 * np.maximum(value(z), 1e-300), "primal": laws[1],
        "dual": (samples.relative(A, b, x, y) > GAP) & (np.abs(b).max(axis=1) > 0), "bearing": bearing,
    }  # fmt: skip


def _counts(broken: Broken) -> dict[str, int]:
    return {name: int(broken[name].sum()) for name in DIRECTIONS}


def _exact() -> Attempt:
    A, b, c = EXAMPLE, [-2, 1], [-2, -2]
    S = [[Fraction(A[i][j] + A[j][i], 2) for j in range(2)] for i in range(2)]
    (z,), (x,) = sets.lcp_exactly(A, b), sets.printed_exactly(A, b)
    (u,), (y,) = sets.lcp_exactly(A, c), sets.lcp_exactly(S, c)
    w = [sum((Fraction(a) * e for a, e in zip(row, y, strict=True)), Fraction(d)) for row, d in zip(A, c, strict=True)]

    def text(v: list[Fraction]) -> str:
        return f"({', '.join(map(str, v))})"

    return texts.attempt(
        "exact", x != z or y != u, b=text([Fraction(e) for e in b]), z=text(z), x=text(x),
        c=text([Fraction(e) for e in c]), u=text(u), y=text(y), w=text(w),
    )  # fmt: skip


def _scalar() -> Derivation:
    tried, wrong = 0, 0
    for numerator in range(1, 7):
        for bias in range(-6, 7):
            A, b = [[Fraction(numerator, 3)]], [Fraction(bias, 2)]
            # (36) is equivalent to the contact laws, because sym A = A.
            answers = (sets.lcp_exactly(A, b), sets.printed_exactly(A, b))
            tried, wrong = tried + 1, wrong + any(a != [[max(Fraction(0), -b[0] / A[0][0])]] for a in answers)
    return texts.derivation("scalar", wrong == 0, tried=tried, wrong=wrong)


def _symmetric(quick: bool) -> Derivation:
    count, number, worst = (60 if quick else 400), 0, 0.0
    for A, b in problems.random_stacks(count, (SEED, 1)):
        # To be independent of the functions under test, solve (36) as an LCP, and (37) together with its multipliers.
        z = sets.lcp(A, b)
        x = sets.solve(A, np.zeros_like(b), A, A, b).x
        values = (
            0.5 * np.einsum("bi,bij,bj->b", z, A, z) + (b * z).sum(axis=1),
            0.5 * np.einsum("bi,bij,bj->b", x, A, x),
        )
        worst, number = max(worst, float(np.abs(sum(values)).max())), number + count
    return texts.derivation("symmetric", worst < 1e-9, number=number, worst=worst)


def _one(quick: bool) -> Counter[str]:
    """Count failures of each direction of the equivalence on hinged bars with one contact."""
    found = Counter[str]()
    for bars in (1, 2, 3):
        steps = samples.definite_bars(60 if quick else 400, bars, 1, np.random.default_rng([SEED, 5, bars]), (0.0, 2.0))
        found.update(_counts(_broken(*steps.problem)), number=len(steps))
    return found


def _even(quick: bool) -> Counter[str]:
    """Count failures of the equivalence in each direction, for symmetric matrices and for opening or closing bars."""
    found = Counter[str]()
    opposite, _ = samples.opposite_slides(np.radians(np.linspace(5.0, 80.0, 25)), 1.5)
    for A, b in (opposite.problem, *problems.random_stacks(60 if quick else 400, (SEED, 6))):
        found.update(_counts(_broken(A, b)), number=len(b))
    return found


def _random(quick: bool) -> tuple[Counter[str], Counter[str], tuple[int, int]]:
    """Count failures of the equivalence in each direction on random problems, and samples with all contacts loaded."""
    count = 60 if quick else 400
    matrices = problems.random_stacks(count // 4 + 1, (SEED, 3), problems.SKEWS)
    hinged = [
        samples.definite_bars(count, bars, contacts, np.random.default_rng([SEED, 4, bars]))
        for bars, contacts in ((1, 2), (2, 2), (3, 3), (4, 4))
    ]
    random, physical = Counter[str](), Counter[str]()
    differ = bear = 0
    for total, stacks in ((random, matrices), (physical, [steps.problem for steps in hinged])):
        for A, b in stacks:
            found = _broken(A, b)
            total.update(_counts(found), number=len(b))
            differ += int((found["sufficient"] & found["bearing"]).sum())
            bear += int(found["bearing"].sum())
    return random, physical, (differ, bear)


def _two_bars() -> tuple[dict[str, int], tuple[tuple[object, ...], ...], str]:
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
        f"{program[i, 1]:.5g} N at {label}"
        for i, label in enumerate(POSES) if found["sufficient"][i] and program[i, 1] < 0
    ]  # fmt: skip
    i = int(np.argmin(w.min(axis=1)))
    text = texts("pulled", pulled="; ".join(pulled)) if pulled else ""
    if found["primal"].any():
        text += " " + texts("penetrates", pose=list(POSES)[i], w=w[i].min())
    counts = _counts(found) if (lowest > 0).all() else dict.fromkeys(DIRECTIONS, 0)
    return counts, rows, text.strip()


claim = texts.claim("C6", "001", check, 0.4)
