"""Does criterion eta say when the printed normal-force QP is the LCP? Counts over random positive definite problems.

    python benchmarks/criterion.py [--count 2000] [--write]

Problems with A = S + K, S = X X^T + 0.1 I scaled to spectral norm 1, K skew with spectral norm kappa, bias standard
normal; for each n from 2 to 6 a fifth of the whole. Besides: contact operators of random bodies, J_N M^-1 (J_N^T +
mu J_T^T) with mu = 0.2, as far as they are positive definite. LCP and printed QP are solved by certified active-set
iterations, all at once; the criterion is evaluated at the LCP's solution. Problems whose eta misses its bound by 1e-11
to 1e-6 of its size are borderline: there rounding decides, so they are counted apart. --write puts the table into
docs/criterion.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from gaussopt.atlas.contact_study import BORDER, DECIDED, EQUAL, criteria, solve_printed, weights_stack
from gaussopt.atlas.stacked_steps import classify_stack
from gaussopt.solving.lcp_batch import solve_batch

ROOT = Path(__file__).parents[1]
SIZES = (2, 3, 4, 5, 6)
KAPPAS = (0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Counts:
    """What happened to a stack of problems.

    Attributes
    ----------
    problems, solved : int
        Generated, and solved by both programs with a certificate.
    equal, different : int
        Answers of the printed QP, borderline problems left out.
    mismatches : int
        Problems where the criterion is wrong.
    borderline : int
    median, largest : float
        Relative difference of the forces where they differ and |lam_N| > 0.05.
    tensile : int
        Printed QP with a negative force.
    weighted : int
        Problems with symmetrising weights.
    """

    problems: int
    solved: int
    equal: int
    different: int
    mismatches: int
    borderline: int
    median: float
    largest: float
    tensile: int
    weighted: int


def random_problems(count: int, n: int, kappa: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A with positive definite symmetric part and skew part of norm kappa, (count, n, n), and b."""
    X, Y = rng.standard_normal((2, count, n, n))
    S = X @ X.swapaxes(1, 2) + 0.1 * np.eye(n)
    S /= np.linalg.norm(S, 2, axis=(1, 2))[:, None, None]
    K = Y - Y.swapaxes(1, 2)
    K *= kappa / np.linalg.norm(K, 2, axis=(1, 2))[:, None, None]
    return S + K, rng.standard_normal((count, n))


def physical_problems(count: int, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Operators of k contacts on random bodies with k + 2 coordinates, mu = 0.2; positive definite ones only."""
    n = k + 2
    X = rng.standard_normal((2 * count, n, n))
    M = X @ X.swapaxes(1, 2) + 0.5 * np.eye(n)
    N, T = rng.standard_normal((2, 2 * count, k, n))
    sigma = rng.choice([-1.0, 1.0], (2 * count, k))
    A = N @ np.linalg.solve(M, (N + 0.2 * sigma[:, :, None] * T).swapaxes(1, 2))
    A = A[classify_stack(A).positive_definite][:count]
    return A, rng.standard_normal((len(A), k))


def evaluate(A: np.ndarray, b: np.ndarray) -> Counts:
    """Solve both programs and compare with the criterion."""
    answers = solve_batch(A, b, "newton")
    x = solve_printed(0.5 * (A + A.swapaxes(1, 2)), A, b)
    solved = answers.solved & np.isfinite(x).all(axis=1)
    A, b, z, x = A[solved], b[solved], answers.z[solved], x[solved]
    size = np.linalg.norm(z, axis=1)
    gap = np.linalg.norm(x - z, axis=1)
    relative = np.where(gap == 0, 0.0, gap / np.where(size > 0, size, 1e-300))
    violation = criteria(A, b, z)[1]
    border = (violation > BORDER[0]) & (violation < BORDER[1])
    equal, predicted = relative <= EQUAL, violation <= DECIDED
    strong = ~equal & ~border & (size > 0.05)
    return Counts(
        len(solved), int(solved.sum()), int((equal & ~border).sum()), int((~equal & ~border).sum()),
        int(((equal != predicted) & ~border).sum()), int(border.sum()),
        float(np.median(relative[strong])) if strong.any() else 0.0, float(relative[strong].max(initial=0.0)),
        int((x.min(axis=1) < -1e-9 * np.abs(x).max(axis=1)).sum()),
        int(np.isfinite(weights_stack(A)).all(axis=1).sum()),
    )  # fmt: skip


def run(count: int, seed: int = 20200301) -> list[tuple[str, int, str, Counts]]:
    """Rows (kind, n, kappa or mu, counts); `count` problems for each n, a third for each kappa."""
    rows = []
    for n in SIZES:
        for i, kappa in enumerate(KAPPAS):
            share = count // 3 + (i < count % 3)
            rng = np.random.default_rng([seed, n, i])
            rows.append(("random", n, f"kappa {kappa:g}", evaluate(*random_problems(share, n, kappa, rng))))
    for k in (2, 3):
        rng = np.random.default_rng([seed, k, 99])
        rows.append(("contacts", k, "mu 0.2", evaluate(*physical_problems(count, k, rng))))
    return rows


HEAD = (
    "kind", "n", "skew part", "problems", "solved", "equal", "different", "% different", "criterion wrong",
    "borderline", "median difference", "largest difference", "tensile", "weights exist",
)  # fmt: skip


def table(rows: list[tuple[str, int, str, Counts]]) -> list[str]:
    """The rows as Markdown."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    for kind, n, skew, c in rows:
        share = 100 * c.different / max(c.equal + c.different, 1)
        cells = (
            kind, n, skew, c.problems, c.solved, c.equal, c.different, f"{share:.0f}", c.mismatches, c.borderline,
            f"{c.median:.2f}", f"{c.largest:.3g}", c.tensile, c.weighted,
        )  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def main() -> None:
    """Run, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="problems for each n")
    parser.add_argument("--seed", type=int, default=20200301)
    parser.add_argument("--write", action="store_true", help="write docs/criterion.md")
    arguments = parser.parse_args()
    begin = perf_counter()
    rows = run(arguments.count, arguments.seed)
    lines = table(rows)
    random = [c for kind, _, _, c in rows if kind == "random"]
    total, solved = sum(c.problems for c in random), sum(c.solved for c in random)
    wrong, border = sum(c.mismatches for c in random), sum(c.borderline for c in random)
    equal, different = sum(c.equal for c in random), sum(c.different for c in random)
    verdict = (
        f"Of {total} random positive definite problems {solved} are solved by both programs with a certificate; the "
        f"printed QP equals the LCP on {equal} and differs on {different}; {border} are borderline. The criterion is "
        f"wrong on {wrong}."
    )
    print("\n".join([*lines, "", verdict, f"{perf_counter() - begin:.1f} s"]))
    if arguments.write:
        command = f"python benchmarks/criterion.py --count {arguments.count} --seed {arguments.seed} --write"
        (ROOT / "docs" / "criterion.md").write_text(page(lines, verdict, command), encoding="utf-8")


def page(lines: list[str], verdict: str, command: str) -> str:
    """The page of the docs."""
    return "\n".join([
        "# When the printed normal-force QP is the LCP",
        "",
        "Yao, Liu & Yang (2020) compute contact forces with sliding friction as min 1/2 z^T A z subject to",
        "A z + b >= 0. The mechanics is the complementarity problem 0 <= z, w = A z + b >= 0, z . w = 0. For positive",
        "definite A (its symmetric part) the two agree exactly if, at the solution z of the complementarity problem,",
        "",
        "    eta = 1/2 (I + A^-T A) z    satisfies    eta >= 0    and    eta_i = 0 wherever w_i > 0.",
        "",
        "So they always agree for symmetric A (no friction) and for one contact; not in general for two and more.",
        "`gaussopt atlas PROBLEM` draws where they agree for a mechanism; here the criterion is put to the test on",
        "random problems: A = S + K with S symmetric positive definite of norm 1 and K skew of norm kappa; and on",
        "contact operators of random bodies with mu = 0.2.",
        "",
        *lines,
        "",
        f"{verdict}",
        "",
        "Two answers are equal if their forces agree to 1e-8 of their size; the criterion counts violations up to 1e-9",
        "as rounding; a problem is borderline if the violation lies between 1e-11 and 1e-6. Differences are relative",
        "to the LCP's forces, where these are above 0.05; 'weights exist' counts the problems that",
        "`weighted-normal-force-qp` could repair.",
        "",
        f"Written by `{command}`.",
        "",
    ])  # fmt: skip


if __name__ == "__main__":
    main()
