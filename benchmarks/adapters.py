"""What the adapters of solvers cost: each beside a call of the same backend written by hand, in turns.

    python benchmarks/adapters.py [--sizes 10 100 1000] [--only osqp piqp:sparse ...] [--budget 4] [--keep FILE]
        [--out docs/adapters.md]

Both sides begin with the same program, run with the same settings and from a cold start, and must give the same answer.
Times are of the processor, so that a busy machine disturbs them less. FILE keeps the rows that are done.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import by_hand
import numpy as np
from measuring import Competitor, interleave, machine, versions
from scipy import sparse

import gaussopt as go

KINDS = ("dense", "sparse in dense arrays", "sparse")
LIMIT = 1.3
LARGE = 1000
"""Unknowns from which fewer programs and rounds have to do."""

DENSE_ONLY, SPARSE_ONLY = ("daqp", "kkt", "cvxpy"), ("sparse-kkt",)

PACKAGES = ("clarabel", "cvxpy", "daqp", "highspy", "osqp", "piqp", "proxsuite", "scs", "numpy", "scipy")

LARGEST = {"cvxpy": 100}
"""Sizes beyond which a solver is not asked: CVXPY compiles each of the n^2 parameters of P."""


def programs(n: int, kind: str, equalities: bool) -> list[go.QP]:
    """Strictly convex programs of n unknowns and n/2 rows, with one pattern and new numbers; a third of rows is active.

    Dense: full matrices. Sparse: P has five diagonals, each row four neighbouring unknowns.
    """
    rng, m, found = np.random.default_rng(n), n // 2, []
    for _ in range(2 if n >= LARGE else 4):
        if kind == "dense":
            B = rng.standard_normal((n, n)) / np.sqrt(n)
            P, A = B @ B.T + np.eye(n), rng.standard_normal((m, n))
        else:
            P = np.zeros((n, n))
            for off, size in ((1, 0.5), (2, 0.3)):
                P += np.diag(rng.uniform(-size, size, n - off), off)
            P, A = P + P.T + 2.0 * np.eye(n), np.zeros((m, n))
            for i in range(m):
                A[i, 2 * i : 2 * i + 4] = rng.uniform(0.5, 1.0, min(4, n - 2 * i))
        x, y = rng.standard_normal(n), rng.uniform(0.5, 2.0, m)
        l = A @ x
        u = l + (0.0 if equalities else 1.0)
        if not equalities:  # equalities, rows on their lower bounds, rows on none
            u[: m // 3] = l[: m // 3]
            idle = np.arange(m) >= 2 * m // 3
            l[idle], y[idle] = l[idle] - 0.5, 0.0
        q = A.T @ y - P @ x
        take = sparse.csr_array if kind == "sparse" else np.ascontiguousarray
        found.append(go.QP(take(P), q, take(A), l, l if equalities else u))
    return found


Row = dict[str, Any]
"""A solver on one size and kind: medians of adapter and hand in seconds, their ratio with quartiles, for both tasks."""

TASKS = ("set-up", "re-solve")

CAUSES = {
    "daqp": "at a set-up the adapter looks whether the program is badly scaled or P singular, and mends both, "
    "without which "
    "DAQP takes small units for zero; a sequence pays that once",
    "sparse-kkt": "SuperLU's answer is taken as it comes by hand; the adapter balances, eliminates P, and refines "
    "until the "
    "optimality conditions hold to rounding",
    "osqp": "every re-solve looks whether an entry is new, without which it would be dropped in silence: some 30 "
    "microseconds for a sparse program, and a pass over the million and a half numbers of dense arrays",
    "piqp:sparse": "the same look for new entries, in three matrices",
    "proxqp:sparse": "the same look for new entries, in three matrices",
    "clarabel": "the same look for new entries",
    "kkt": "the adapter balances units and corrects the answer until every row holds to rounding; LAPACK alone does "
    "not",
}
"""Why a ratio may be above the limit, where the adapter does what the hand-written call leaves out."""


def measure(name: str, n: int, kind: str, budget: float) -> Row:
    """Set-up with the first solve, and re-solves, of adapter and hand in turns."""
    qps = programs(n, kind, name in ("kkt", "sparse-kkt"))
    mine, hand = go.make_solver(name), by_hand.CALLS[name]
    settings = mine.options
    answers: dict[str, Any] = {}

    def begin(qp: go.QP) -> None:
        mine.setup(qp)
        answers["adapter"] = mine.solve(None).x

    def again(qp: go.QP) -> None:
        mine.update(qp)
        answers["adapter"] = mine.solve(None).x

    state: list[Any] = [None]

    def begin_by_hand(qp: go.QP) -> None:
        state[0], answers["hand"] = hand.begin(qp, settings)

    def again_by_hand(qp: go.QP) -> None:
        state[0], answers["hand"] = hand.again(state[0], qp, settings)

    row: Row = {"solver": name, "n": n, "kind": kind, "apart": 0.0}
    for what, calls in zip(TASKS, ((begin, begin_by_hand), (again, again_by_hand)), strict=True):
        for call in calls:
            call(qps[0])
        size = 1.0 + np.abs(answers["hand"]).max()
        row["apart"] = max(row["apart"], float(np.abs(answers["adapter"] - answers["hand"]).max() / size))
        competitors = [
            Competitor(who, _around(call, qps), len(qps)) for who, call in zip(("adapter", "hand"), calls, strict=True)
        ]
        times = interleave(competitors, budget / 2, least=3 if n >= LARGE else 5, clock=process_time)
        ratio = times.ratio("adapter", "hand")
        row[what] = [times.of(w).median for w in ("adapter", "hand")] + [ratio.median, ratio.lower, ratio.upper]
    return row


def _around(call: Callable[[go.QP], None], qps: list[go.QP]) -> Callable[[], None]:
    def run() -> None:
        for qp in qps:
            call(qp)

    return run


def line(row: Row) -> str:
    """A row of the table."""
    cells = [row["solver"], f"{row['n']}", row["kind"]]
    for what in TASKS:
        adapter, hand, *ratio = row[what]
        mark = "**" if ratio[0] > LIMIT else ""
        cells += [
            f"{1e3 * adapter:.3g}",
            f"{1e3 * hand:.3g}",
            f"{mark}{ratio[0]:.2f}{mark} ({ratio[1]:.2f}–{ratio[2]:.2f})",
        ]
    return f"| {' | '.join(cells)} | {row['apart']:.0e} |"


def page(rows: list[Row]) -> str:
    """The page in Markdown; what was not measured is named."""
    done = {(r["solver"], r["kind"], r["n"]) for r in rows}
    sizes = (10, 100, LARGE)
    lacking = [f"{s} ({k}, n = {n})" for s in by_hand.CALLS for k in KINDS for n in sizes
               if fits(s, k, n) and (s, k, n) not in done]  # fmt: skip
    above = {r["solver"] for r in rows for what in TASKS if r[what][2] > LIMIT}
    count = sum(r[what][2] > LIMIT for r in rows for what in TASKS)
    heads = ("solver", "n", "program", "set-up: adapter, ms", "by hand, ms", "ratio (quartiles)",
             "re-solve: adapter, ms", "by hand, ms", "ratio (quartiles)", "answers apart")  # fmt: skip
    names = ", ".join(f"{k} {v}" for k, v in versions(PACKAGES).items())
    return "\n".join([
        "# Adapters", "",
        "What a comparison charges a solver for must be the solver. So every adapter is timed beside a call of the "
        "same "
        "backend that a user would write from its documentation (`benchmarks/by_hand.py`): same program, same "
        "settings, cold "
        "starts, in turns, processor time, medians of the rounds. *Set-up* is a new solver object and its first solve; "
        "*re-solve* is the update with new numbers in all matrices and vectors, and the solve. Both sides begin with "
        "P, q, "
        "A, l and u in NumPy arrays (dense programs, and sparse ones that are given by dense arrays) or in "
        "compressed rows "
        "(sparse), so that both convert them; by hand the places of the entries are remembered between re-solves. "
        "Programs "
        f"have n/2 rows, a third each of equalities, active and idle two-sided rows (`kkt`: equalities). The aim is "
        f"a ratio "
        f"of at most {LIMIT}.", "",
        f"Of {2 * len(rows)} ratios {count} are above it, in bold.", "",
        *([f"Not measured in this run: {', '.join(lacking)}.", ""] if lacking else []),
        "\n".join(f"| {' | '.join(c)} |" for c in (heads, ("---",) * len(heads))),
        *(line(r) for r in rows), "",
        *([f"Causes of ratios above {LIMIT}:", ""] if above else []),
        *(f"- `{name}`: {CAUSES.get(name, 'times of this size vary by more than the ratio; see its quartiles')}."
          for name in by_hand.CALLS if name in above), "",
        "HiGHS runs in a helper process outside comparisons, because it may end the process that it runs in; that "
        "costs a "
        "few tenths of a millisecond a program, which are not in this table. SCS and HiGHS take new matrices by a "
        "new set-up. "
        "CVXPY is not asked for 1,000 unknowns: it would compile a million parameters of P. quadprog is under the "
        "GPL and "
        "was not installed. Solvers of complementarity problems are gaussopt's own and have no backend.", "",
        "**Dense or sparse.** OSQP, SCS, Clarabel and HiGHS get the non-zeros of every program; over a sequence of "
        "programs "
        "OSQP, Clarabel, PIQP and ProxQP keep the union of the places, and are set up anew only where a place is "
        "new. DAQP and "
        "quadprog are dense. PIQP and ProxQP have both interfaces: the sparse one is used from 100 unknowns and rows "
        "on where "
        "P and A have at most 3 non-zeros in a row on average, and for sparse programs; `piqp:dense`, `piqp:sparse`, "
        "`proxqp:dense` and `proxqp:sparse` choose one by name.", "",
        f"On {machine()}; {names}.", "", "Written by `python benchmarks/adapters.py --out docs/adapters.md`.", "",
    ])  # fmt: skip


def fits(name: str, kind: str, n: int) -> bool:
    """Whether a solver takes programs of this kind and size."""
    if kind == "sparse" and (name.endswith(":dense") or name in DENSE_ONLY):
        return False
    return (kind == "sparse" or name not in SPARSE_ONLY) and n <= LARGEST.get(name, n)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--only", nargs="+", default=list(by_hand.CALLS))
    parser.add_argument("--budget", type=float, default=4.0, help="seconds for a row, about")
    parser.add_argument("--keep", type=Path, help="JSON lines of what is done")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    if given.keep and given.keep.exists():
        rows = [json.loads(text) for text in given.keep.read_text().splitlines()]
    done = {(r["solver"], r["kind"], r["n"]) for r in rows}
    wanted = [(s, k, n) for n in given.sizes for k in reversed(KINDS) for s in given.only if fits(s, k, n)]
    for name, kind, n in wanted:
        if (name, kind, n) in done:
            continue
        rows.append(measure(name, n, kind, given.budget))
        print(line(rows[-1]), flush=True)
        if given.keep:
            with given.keep.open("a") as file:
                print(json.dumps(rows[-1]), file=file)
    order = list(by_hand.CALLS)
    rows.sort(key=lambda r: (order.index(r["solver"]), KINDS.index(r["kind"]), r["n"]))
    if given.out:
        given.out.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
