"""C6: quadratic programs and complementarity problem as conditions for each other, (34) to (37) of paper 001."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gaussopt.core.step_data import Matrix
from gaussopt.papers.claim import Attempt, Claim, ClaimVerdict, Derivation, Judgement
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction.contact_samples import Mask
from gaussopt.papers.p001_friction.steps import POSES

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


def check(quick: bool) -> Judgement:
    """Compute the evidence."""
    exact, scalar, same, weighted = _exact(), _scalar(), _symmetric(quick), _weighted(quick)
    bars, rows, columns, lifted = _two_bars()
    random, physical, bearing = _random(quick)
    holds = {name: not (bars[name] or random[name] or physical[name]) for name in READINGS}
    where = {
        "for one contact": scalar.holds, "for symmetric $A$": same.holds,
        "with weights $\\frac12\\lambda^TDA\\lambda$, $D>0$ diagonal, $DA=(DA)^T$, for P-matrices": weighted.holds,
        "for two and more contacts with friction": all(holds.values()),
    }  # fmt: skip
    failing = [READINGS[name] for name, truth in holds.items() if not truth]
    sentence = (
        "All problems here have one solution, because $A$ is positive definite. "
        + (f"Refuted on the two bars or on random steps: that {'; that '.join(failing)}. " if failing else "")
        + lifted
    )
    searches = (
        Attempt(
            "Against the claim: states of the paper's own two bars with positive definite $A$ where one of the "
            "directions fails",
            f"the {len(rows)} states of the table, both ends on the floor and sliding to the left, $\\mu=0.2$",
            _told(bars, len(rows)), any(bars.values()),
        ),
        Attempt(
            "Against the claim: random problems with positive definite $A$ where one of the directions fails",
            f"{random['number']} matrices with 2 to 5 contacts, skew parts of norm 0.1 to 3; {physical['number']} "
            f"steps of 1 to 4 hinged bars with 2 to 4 contacts, friction up to 1; seed {SEED}",
            f"matrices: {_told(random, random['number'])}; hinged bars: {_told(physical, physical['number'])}",
            any(random[name] or physical[name] for name in READINGS),
        ),
        Attempt(
            "Against the claim where all contacts bear ($w=0$, $\\lambda>0$ by the contact laws), so that nothing "
            "separates", "the same random problems", f"{bearing[0]} of {bearing[1]} differ all the same",
            bearing[0] > 0,
        ),
    )  # fmt: skip
    return Judgement(
        ClaimVerdict.of(list(holds.values())), sentence, (exact, scalar, same, weighted), searches,
        samples.circumstances(where), columns, rows,
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

    return Derivation(
        "Optimality of (37) reads $\\operatorname{sym}(A)\\lambda=A^T\\eta$, $0\\le\\eta\\perp A\\lambda+B\\ge0$, that "
        "of (36) $0\\le\\lambda\\perp\\operatorname{sym}(A)\\lambda+B\\ge0$; the contact laws are $0\\le\\lambda\\perp "
        "A\\lambda+B\\ge0$. For $A=\\begin{pmatrix}2&1\\\\0&2\\end{pmatrix}$ all three have exactly one solution",
        f"$B={text([Fraction(e) for e in b])}$: contact laws {text(z)}, (37) {text(x)}; "
        f"$B={text([Fraction(e) for e in c])}$: contact laws {text(u)}, (36) {text(y)}, whose $w={text(w)}$ penetrates",
        x != z and y != u and min(w) < 0,
    )


def _scalar() -> Derivation:
    tried, wrong = 0, 0
    for numerator in range(1, 7):
        for bias in range(-6, 7):
            A, b = [[Fraction(numerator, 3)]], [Fraction(bias, 2)]
            # (36) reads as the contact laws, because sym A = A.
            answers = (sets.lcp_exactly(A, b), sets.printed_exactly(A, b))
            tried, wrong = tried + 1, wrong + any(a != [[max(Fraction(0), -b[0] / A[0][0])]] for a in answers)
    return Derivation(
        "For one contact with $A>0$ all three are $\\lambda=\\max(0,-B/A)$",
        f"{tried} pairs of fractions, {wrong} exceptions", wrong == 0,
    )  # fmt: skip


def _symmetric(quick: bool) -> Derivation:
    count, number, counts = (60 if quick else 400), 0, dict.fromkeys(READINGS, 0)
    worst = 0.0
    for n in (2, 3, 4, 5):
        A, b = samples.random_definite(count, n, 0.0, np.random.default_rng([SEED, 1, n]))
        found = _counts(_broken(A, b))
        counts, number = {k: v + found[k] for k, v in counts.items()}, number + count
        z, x = sets.primal(A, b), sets.printed(A, b)
        gap = 0.5 * np.einsum("bi,bij,bj->b", z, A, z) + (b * z).sum(axis=1)
        gap += 0.5 * np.einsum("bi,bij,bj->b", x, A, x)
        worst = max(worst, float(np.abs(gap).max()))
    return Derivation(
        "For $A=A^T$ (36) and (37) are duals of each other (Dorn) with opposite values, and both are the contact laws",
        f"{number} random problems with 2 to 5 contacts: sum of the two values at most {worst:.0e}; "
        f"{sum(counts.values())} failures of any direction",
        worst < 1e-9 and not any(counts.values()),
    )


def _weighted(quick: bool) -> Derivation:
    count, number, worst, indefinite = (60 if quick else 400), 0, 0.0, 0
    for n in (2, 3, 4, 5):
        A, b, d = samples.random_symmetrisable(count, n, np.random.default_rng([SEED, 2, n]))
        z = sets.lcp(A, b)
        x = sets.quadratic(sets.symmetric(d[:, :, None] * A), np.zeros_like(b), A, b)
        worst, number = max(worst, float(samples.relative(A, b, x, z).max())), number + count
        indefinite += int((~samples.definite(A, 0.0)).sum())
    return Derivation(
        "With $DA=(DA)^T$ the optimality conditions of $\\min\\frac12\\lambda^TDA\\lambda$ have $\\eta=D\\lambda$: "
        "they are the contact laws",
        f"{number} random symmetrisable P-matrices with 2 to 5 contacts, {indefinite} of them not positive definite: "
        f"largest relative difference {worst:.0e}",
        worst < samples.EQUAL,
    )


def _random(quick: bool) -> tuple[dict[str, int], dict[str, int], tuple[int, int]]:
    """Counts of the failures of each direction on random matrices and on hinged bars, and where all contacts bear."""
    count = 60 if quick else 400
    stacks: list[list[tuple[Matrix, Matrix]]] = [[], []]
    for n in (2, 3, 4, 5):
        for i, skew in enumerate((0.1, 0.3, 1.0, 3.0)):
            rng = np.random.default_rng([SEED, 3, n, i])
            stacks[0].append(samples.random_definite(count // 4 + 1, n, skew, rng))
    for bars, contacts in ((1, 2), (2, 2), (3, 3), (4, 4)):
        steps = samples.definite_bars(count, bars, contacts, np.random.default_rng([SEED, 4, bars]))
        stacks[1].append((steps.A, steps.b))
    totals: list[dict[str, int]] = []
    bearing = [0, 0]
    for group in stacks:
        total = dict.fromkeys((*READINGS, "number"), 0)
        for A, b in group:
            found = _broken(A, b)
            total = {k: total[k] + v for k, v in {**_counts(found), "number": len(b)}.items()}
            bearing[0] += int((found["sufficient"] & found["bearing"]).sum())
            bearing[1] += int(found["bearing"].sum())
        totals.append(total)
    return totals[0], totals[1], (bearing[0], bearing[1])


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
    columns = ("state", "smallest eigenvalue of sym A / (1/kg)", "N_A / N", "N_C / N", "N_A by (37) / N",
               "N_C by (37) / N", "N_A by (36) / N", "N_C by (36) / N", "least w by (36) / (m/s²)")  # fmt: skip
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
    return counts, rows, columns, text.strip()


claim = Claim(
    "C6", "001", "Eqs. (34) to (37)",
    "where the solution is unique, the quadratic programs and the complementarity problem are necessary and sufficient "
    "for each other",
    check, "(36): $\\min\\frac12\\lambda^TA\\lambda+B^T\\lambda$ over $\\lambda\\ge0$; (37): $\\min\\frac12\\lambda^TA"
    "\\lambda$ over $A\\lambda+B\\ge0$, which is (29); the contact laws: $0\\le\\lambda\\perp A\\lambda+B\\ge0$. The "
    "claim has its own condition, uniqueness, so that one counterexample with unique solutions decides each direction",
    0.4,
)  # fmt: skip
