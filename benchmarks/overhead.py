"""Where one acceleration evaluation of the crank-slider goes: model, formulation, solver, certificate, integration.

Medians of interleaved runs, in microseconds, for several solvers. Prints a table (and writes it with --out); it never
fails on a slow machine. Run it on a quiet one:

    python benchmarks/overhead.py [--rounds 40] [--out docs/performance.md]
"""

from __future__ import annotations

import argparse
import os
import platform
from collections import defaultdict
from importlib import metadata
from pathlib import Path
from statistics import median
from time import perf_counter

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import gaussopt as go  # noqa: E402

SOLVERS = ("kkt", "osqp", "daqp", "cvxpy")
STEPS = 50
PARTS = ("model", "formulation", "hand over", "solver", "recover", "certificate", "integration", "ours", "total")


def measure(solver: str) -> dict[str, float]:
    """Microseconds per acceleration evaluation of one short run, Gauss QP and RK4."""
    begin = perf_counter()
    motion = go.simulate("crank-slider", "gauss", solver, dt=1e-3, t_end=STEPS * 1e-3, step_folder=None)
    spent = perf_counter() - begin
    assert motion.status is go.Status.SOLVED, motion.message
    n = motion.worst.evaluations
    t = motion.timing
    handed = t["setup"] + t["update"]
    known = t["model"] + t["build"] + handed + t["solve"] + t["recover"] + t["verify"]
    parts = {
        "model": t["model"], "formulation": t["build"], "hand over": handed, "solver": t["solve"],
        "recover": t["recover"], "certificate": t["verify"], "integration": t["total"] - known,
        "ours": t["total"] - handed - t["solve"], "total": spent,
    }  # fmt: skip
    return {name: 1e6 * seconds / n for name, seconds in parts.items()}


def numpy_certificate() -> float:
    """Microseconds of the same certificate by numpy and LAPACK, for comparison."""
    entry = go.problem("crank-slider")
    rows = entry.reference("crank-A-2s")
    step = go.StepData.from_mapping(entry.system.evaluate(rows.t[30], rows.q[30], rows.v[30]).to_mapping())
    begin = perf_counter()
    for _ in range(200):
        go.certify(step, rows.a[30], rows.lam[30])
    return 1e6 * (perf_counter() - begin) / 200


def main() -> None:
    """Interleave the solvers, print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    numpy_times = []
    for solver in SOLVERS:
        measure(solver)  # warm up: imports, caches
    for i in range(arguments.rounds):
        for solver in SOLVERS:
            if solver != "cvxpy" or i % 4 == 0:
                found[solver].append(measure(solver))
        numpy_times.append(numpy_certificate())
    lines = ["| solver | " + " | ".join(PARTS) + " |", "|---" * (len(PARTS) + 1) + "|"]
    for solver in SOLVERS:
        cells = [f"{median(run[p] for run in found[solver]):.1f}" for p in PARTS]
        lines.append(f"| {solver} | " + " | ".join(cells) + " |")
    versions = ", ".join(f"{p} {metadata.version(p)}" for p in ("numpy", "scipy", "osqp", "daqp", "cvxpy", "clarabel"))
    text = "\n".join([
        "# Performance",
        "",
        "Microseconds per acceleration evaluation of the crank-slider (7 coordinates, 6 constraints), Gauss QP, RK4",
        f"with dt = 1 ms: medians of {arguments.rounds} interleaved runs of {STEPS} steps (CVXPY: a quarter).",
        "'ours' is everything but the solver's own call and the hand-over of the program to it; 'integration' holds",
        "the stepper, recording (drift, energy) and book-keeping.",
        "",
        *lines,
        "",
        f"The certificate is generated straight-line source; by numpy and LAPACK it takes {median(numpy_times):.1f}.",
        "",
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"{versions}.",
        "Written by `python benchmarks/overhead.py --out docs/performance.md`; read ratios, not microseconds.",
        "",
    ])  # fmt: skip
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
