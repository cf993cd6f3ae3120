"""Quadratic programs of a folder by all solvers, and what the certificate says of their answers.

    python benchmarks/qp_folder.py FOLDER [--most 1000] [--solvers daqp piqp] [--seconds 60]

Each file FOLDER/*.mat holds P, q, A, l, u of 1/2 x'Px + q'x, l <= A x <= u, as the files of the Maros-Meszaros problems
do that qpbenchmark and OSQP use; bounds from 1e20 on are infinite. A line for each problem and solver: the verified
status, the three residuals of qpbenchmark (primal, dual, duality gap; absolute), the certified bound on ||x - x*||_P
and the same relative to its scale. Every problem has a process of its own, which ends with its time.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import gaussopt as go

HIGH = 1e-9
SOLVERS = ("daqp", "piqp", "proxqp", "osqp", "clarabel", "scs", "highs", "quadprog", "newton")


def read(path: Path) -> go.QP:
    """The dense program of a file, without rows that bound nothing."""
    from scipy.io import loadmat

    data = loadmat(path)
    P, A = (np.asarray(data[key].todense(), dtype=float) for key in "PA")
    q, l, u = (np.asarray(data[key], dtype=float).ravel() for key in "qlu")
    l, u = np.where(l <= -1e20, -np.inf, l), np.where(u >= 1e20, np.inf, u)
    kept = np.isfinite(l) | np.isfinite(u)
    return go.QP(P, q, A[kept], l[kept], u[kept])


def unknowns(path: Path) -> int:
    """Number of unknowns of a file, without its matrices."""
    from scipy.io import whosmat

    return int(max(next(shape for name, shape, _ in whosmat(path) if name == "q")))


def row(name: str, solver: str, found: Any) -> dict[str, Any]:
    """What is said of one answer."""
    c = {key: math.inf if value is None else value for key, value in found.certificate.items()}
    three = [c.get(key, math.inf) for key in ("primal_residual", "dual_residual", "duality_gap")]
    bounds = [c.get(key, math.inf) for key in ("error_bound", "relative_error", "relative_residual")]
    return {
        "problem": name, "solver": solver, "status": str(found.status), "claim": str(found.claim), "three": three,
        "high": max(three) <= HIGH, "bounds": bounds, "seconds": (found.timing.solve, found.timing.verify),
    }  # fmt: skip


def solve_all(path: Path, solvers: list[str], queue: Any) -> None:
    """All solvers on one file; each row is handed on at once."""
    warnings.simplefilter("ignore")
    qp = read(path)
    for solver in solvers:
        try:
            queue.put(row(path.stem, solver, go.solve(qp, solver)))
        except (go.NotAccepted, go.MissingBackend) as error:
            queue.put({"problem": path.stem, "solver": solver, "status": "not taken", "why": str(error)[:60]})
        except go.BadInput as error:
            queue.put({"problem": path.stem, "solver": solver, "status": "bad_input", "why": str(error)[:60]})


def shown(r: dict[str, Any]) -> str:
    """One line."""
    begin = f"{r['problem']:10}{r['solver']:9}{r['status']:16}"
    if "three" not in r:
        return begin + r.get("why", "")
    three = " ".join(f"{v:8.1e}" for v in r["three"])
    bound, relative, residual = r["bounds"]
    return (
        f"{begin}{three} {'high' if r['high'] else '    '} bound {bound:8.1e} relative {relative:8.1e} residual "
        f"{residual:8.1e}  {r['seconds'][0]:6.2f} s, certificate {r['seconds'][1]:6.2f} s"
    )


def main() -> None:
    """Read the arguments, run, print lines and counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=1000, help="unknowns at most (default 1000)")
    parser.add_argument("--solvers", nargs="*", default=list(SOLVERS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for one solver on one problem, about")
    given = parser.parse_args()
    count: Counter[tuple[str, str]] = Counter()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # for the processes to come
    context = multiprocessing.get_context("spawn")
    for path in sorted(given.folder.glob("*.mat"), key=unknowns):
        if unknowns(path) > given.most:
            break
        left = list(given.solvers)
        while left:  # a solver that does not end is left out, and the next one begins
            queue = context.Queue()
            process = context.Process(target=solve_all, args=(path, left, queue), daemon=True)
            process.start()
            for solver in list(left):
                try:
                    found = queue.get(timeout=given.seconds)
                except Exception:  # nothing came in time
                    found = {"problem": path.stem, "solver": solver, "status": "no answer in time"}
                    process.kill()
                left.remove(solver)
                print(shown(found), flush=True)
                count[solver, found["status"]] += 1
                if found.get("high"):
                    count[solver, "all three residuals at most 1e-9"] += 1
                if found["status"] == "no answer in time":
                    break
            process.join(1.0)
            process.kill()
    for (solver, what), number in sorted(count.items()):
        print(f"{solver:9}{what:40}{number:5}")


if __name__ == "__main__":
    main()
