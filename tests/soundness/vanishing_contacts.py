"""Contact problems whose own blocks of W vanish or nearly do, through every solver, judged in exact arithmetic.

    python tests/soundness/vanishing_contacts.py [--count 10000] [--seed 1] [--solvers a,b] [--iterations 2000]

An answer that is called solved is refuted where a contact closes, where an impulse leaves its cone, or where no
impulse and velocity that satisfy the law are near it: within NEAR of the largest impulse and of |q|. The exit code is 1
if any is.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.solver import missing_packages

NEAR = 1e-5
"""Share of |q| and of the largest impulse within which an answer must be, a hundred times the tolerance of a solve."""

SIZES = (0.0, 1e-16, 1e-12, 1e-8, 1e-5, 1e-2, 1.0, 1e4)
"""Factors of the rows of a contact."""


def solvers() -> list[str]:
    """The solvers of cone complementarity problems whose packages are installed."""
    classes = {name: registry.load("solver", name) for name in registry.names("solver")}
    return [n for n, c in classes.items() if go.ConeComplementarity in c.accepts and not missing_packages(c)]


def problems(seed: int) -> Iterator[go.ConeComplementarity]:
    """Problems of one to four contacts without end; the kinds of `operator` in turn."""
    rng = np.random.default_rng(seed)
    while True:
        for kind in range(KINDS):
            k = int(rng.integers(1, 5))
            W = operator(rng, kind, k)
            q = rng.standard_normal(3 * k) * np.repeat(rng.choice([0.0, 1e-6, 1.0, 1.0, 1.0], k), 3)
            q[::3] -= rng.choice([0.0, 0.0, 1.0])
            yield go.ConeComplementarity(W, q, rng.choice([0.0, 0.1, 0.5, 1.0, 2.0], k))


KINDS = 7
"""Number of kinds of operators."""


def operator(rng: np.random.Generator, kind: int, k: int) -> np.ndarray:
    """W of one kind.

    Of masses, 0, also with rows that touch nothing, 1; of a size for each contact from 0 to 16 powers of ten apart, 2;
    without diagonal blocks, 3; not symmetric, 4; with skew diagonal blocks of trace zero, 5; zero, 6.
    """
    n = 3 * k
    B = rng.standard_normal((int(rng.integers(1, n + 1)), n))
    if kind == 1:
        B *= rng.choice([0.0, 1.0], n)
    if kind in (2, 3, 4, 5):
        B *= np.repeat(rng.choice(SIZES, k), 3)
    W = B.T @ B
    own = np.arange(n).reshape(k, 3)
    rows, columns = own[:, :, None], own[:, None, :]
    gone = rng.random(k) < 0.5
    if kind == 3:
        W[rows[gone], columns[gone]] = 0.0
    if kind in (4, 5):
        W = W + rng.standard_normal((n, n)) * rng.choice([1e-12, 1e-6, 1e-2, 1.0])
    if kind == 5:
        A = rng.standard_normal((int(gone.sum()), 3, 3))
        W[rows[gone], columns[gone]] = A - A.transpose(0, 2, 1)
    return W if kind != 6 else np.zeros((n, n))


def missed(problem: go.ConeComplementarity, r: np.ndarray) -> tuple[float, float, float]:
    """How far contacts close, impulses leave their cones, and both from the law; u is computed in exact numbers.

    Relative to the largest entry of q, to a size of impulses, and to both. That size is the largest impulse, and at
    least the one that stops |q| at the contact that is easiest to move: smaller ones move nothing.
    """
    x = [Fraction(v) for v in r.tolist()]
    u = np.array([
        float(sum((Fraction(w) * y for w, y in zip(row, x, strict=True)), Fraction(b)))
        for row, b in zip(problem.W.tolist(), problem.q.tolist(), strict=True)
    ]).reshape(-1, 3)  # fmt: skip
    p, mu = r.reshape(-1, 3), problem.mu
    moves = float(np.abs(problem.W).max())
    free = float(np.abs(problem.q).max()) or 1.0
    pushed = max(float(np.abs(r).max()), free / moves if moves > 0 else free)
    outside = np.maximum(np.hypot(p[:, 1], p[:, 2]) - mu * p[:, 0], -p[:, 0]).max()
    r_, v = p / pushed, u / free
    v[:, 0] += mu * np.hypot(v[:, 1], v[:, 2])
    law = max(_distance(a, b, m) for a, b, m in zip(r_, v, mu, strict=True))
    return max(-float(u[:, 0].min()), 0.0) / free, max(float(outside), 0.0) / pushed, law


def _distance(r: np.ndarray, v: np.ndarray, mu: float) -> float:
    """The natural map r - P_K(r - v) of one contact, without the cancellation of r - v where that lies in a cone."""
    x = r - v
    size = math.hypot(x[1], x[2])
    if x[0] >= 0.0 and size <= mu * x[0]:
        return float(np.linalg.norm(v))
    if mu * size <= -x[0]:
        return float(np.linalg.norm(r))
    height = (x[0] + mu * size) / (1.0 + mu * mu)
    side = mu * height / size if size else 0.0
    return float(np.linalg.norm(r - np.array([height, side * x[1], side * x[2]])))


def refuted(problem: go.ConeComplementarity, r: np.ndarray) -> str:
    """Why an answer is not a solution, empty if it is one."""
    closing, outside, law = missed(problem, r)
    words = ("closes", closing), ("leaves the cone", outside), ("off the law", law)
    return ", ".join(f"{word} by {value:.2g}" for word, value in words if not value <= NEAR)


def ask(
    name: str, problem: go.ConeComplementarity, iterations: int | None = None, **options: Any
) -> go.Solution | None:
    """What a solver says, with at most so many iterations where it counts them; None where it refuses."""
    if iterations is not None and hasattr(registry.load("solver", name).options_type(), "max_iter"):
        options["max_iter"] = min(iterations, registry.load("solver", name).options_type().max_iter)
    try:
        return go.solve(problem, name, solver_options=options)
    except go.NotAccepted:
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, judge, print a line for each solver and a reproducer for each refuted answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--solvers", default="")
    parser.add_argument("--iterations", type=int, help="at most, of solvers that count them")
    given = parser.parse_args(arguments)
    bad = 0
    for name in given.solvers.split(",") if given.solvers else solvers():
        statuses, wrong, begin, source = Counter[str](), 0, time.process_time(), problems(given.seed)
        for number in range(given.count):
            problem = next(source)
            found = ask(name, problem, given.iterations)
            statuses["refused" if found is None else str(found.status)] += 1
            reason = refuted(problem, found.x) if found is not None and found.status is go.Status.SOLVED else ""
            if reason:
                wrong += 1
                data = {"kind": "contact", **{key: getattr(problem, key).tolist() for key in ("W", "q", "mu")}}
                print(f"{name} {number}: {reason}; {json.dumps({**data, 'r': found.x.tolist()})}", flush=True)
        bad += wrong
        told = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
        print(f"{name}: {wrong} false solved of {given.count}; {told}; {time.process_time() - begin:.0f} s", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
