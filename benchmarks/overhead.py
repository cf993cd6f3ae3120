"""Where one acceleration evaluation of the crank-slider goes: model, formulation, solver, certificate, integration.

Medians of interleaved runs, in microseconds, for several solvers. Prints a table (and writes it with --out); it never
fails on a slow machine. Run it on a quiet one; `benchmarks/run.py` puts it into docs/performance.md:

    python benchmarks/overhead.py [--rounds 40] [--out FILE]
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from importlib import metadata
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from measuring import Spread, machine  # noqa: E402
from page import Goal, Section, Table, markdown, spread  # noqa: E402

import gaussopt as go  # noqa: E402
from gaussopt.core import registry  # noqa: E402

SOLVERS = ("kkt", "osqp", "daqp", "cvxpy")
STEPS = 200
PARTS = ("model", "formulation", "hand over", "solver", "recover", "certificate", "integration", "ours", "total")


def measure(solver: str) -> dict[str, float]:
    """Microseconds per acceleration evaluation of one short run, Gauss QP and RK4."""
    begin = perf_counter()
    motion = go.simulate(
        "crank-slider", "gauss", solver, dt=1e-3, t_end=STEPS * 1e-3, step_folder=None, error_estimate=False
    )
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


class Alone:
    """OSQP following the programs of that run, with nothing of ours around it."""

    def __init__(self) -> None:
        import osqp
        from scipy import sparse

        programs: list[go.QP] = []
        adapter = registry.load("solver", "osqp")

        def noted(function: Any) -> Any:
            def note(solver: Any, program: Any) -> None:
                programs.append(program)
                function(solver, program)

            return note

        with patch.multiple(adapter, setup=noted(adapter.setup), update=noted(adapter.update)):
            measure("osqp")
        first, *others = programs
        n, m = first.n, first.m
        upper = np.tril_indices(n)[::-1]  # row by row of the transpose: column by column
        P = sparse.csc_matrix((first.P[upper], upper[0], np.cumsum(np.arange(n + 1))), shape=(n, n))
        full = np.tile(np.arange(m), n), np.arange(n + 1) * m
        A = sparse.csc_matrix((first.A.ravel(order="F"), *full), shape=(m, n))
        settings = {k: x for k, x in vars(adapter.options_type()).items() if k != "time_limit"}
        self._model = osqp.OSQP(algebra="builtin")
        self._model.setup(P, first.q, A, first.l, first.u, verbose=False, warm_starting=True, **settings)
        self._calls = [{"Px": x.P[upper], "Ax": x.A.ravel(order="F"), "q": x.q, "l": x.l, "u": x.u} for x in others]

    def measure(self) -> float:
        """Microseconds per update and solve by OSQP's Python interface."""
        model, begin = self._model, perf_counter()
        for values in self._calls:
            model.update(**values)
            model.solve(raise_error=False)
        return 1e6 * (perf_counter() - begin) / len(self._calls)


def numpy_certificate() -> float:
    """Microseconds of the same certificate by numpy and LAPACK, for comparison."""
    entry = go.problem("crank-slider")
    rows = entry.reference("crank-A-2s")
    step = go.StepData.from_mapping(entry.system.evaluate(rows.t[30], rows.q[30], rows.v[30]).to_mapping())
    begin = perf_counter()
    for _ in range(200):
        go.certify(step, rows.a[30], rows.lam[30])
    return 1e6 * (perf_counter() - begin) / 200


def why(parts: dict[str, float], own: float, ratio: Spread) -> str:
    """What a step by OSQP consists of beside OSQP, in sentences."""
    return (
        f"OSQP alone, following the same programs through its Python class, takes {own:.1f} microseconds for update "
        f"and solve. A step with OSQP takes {spread(ratio, 1.0, '×')} that time. Beside OSQP's own work it holds the "
        f"certificate ({parts['certificate']:.0f} microseconds), the equations ({parts['model']:.0f}), the stepper, "
        f"recording and book-keeping ({parts['integration']:.0f}), and the program and its recovery "
        f"({parts['formulation'] + parts['recover']:.0f}). Long motions do not run in this loop."
    )


def section(rounds: int = 40) -> Section:
    """Interleave the solvers: the table of the parts, and what OSQP's and CVXPY's steps cost beside their own calls."""
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    numpy_times = []
    for solver in 2 * SOLVERS:
        measure(solver)  # warm up: imports, caches, and calls enough for machine code
    osqp, alone = Alone(), []
    for i in range(rounds):
        for solver in SOLVERS:
            if solver != "cvxpy" or i % 4 == 0:
                found[solver].append(measure(solver))
        numpy_times.append(numpy_certificate())
        alone.append(osqp.measure())
    medians = {s: {p: median(run[p] for run in found[s]) for p in PARTS} for s in SOLVERS}
    rows = [(s, *(f"{medians[s][p]:.1f}" for p in PARTS)) for s in SOLVERS]
    ratio = Spread.of([run["total"] / own for run, own in zip(found["osqp"], alone, strict=True)])
    cvxpy = Spread.of([run["total"] / (run["hand over"] + run["solver"]) for run in found["cvxpy"]])
    goals = [Goal("CVXPY step against its own DPP re-solve", 1.1, True, cvxpy)]
    return Section(
        "Where a step of the Python loop goes",
        (
            "Microseconds per acceleration evaluation of the crank-slider (7 coordinates, 6 constraints), Gauss QP, "
            f"RK4 with dt = 1 ms: medians of {rounds} interleaved runs of {STEPS} steps (CVXPY: a quarter). 'ours' is "
            "everything but the solver's own call and the hand-over of the program to it; 'integration' holds the "
            "stepper, recording (drift, energy) and book-keeping.",
            "Equations and certificate are generated straight-line source, which CPython runs in the first calls of a "
            "process and machine code in these; by numpy and LAPACK the certificate takes "
            f"{median(numpy_times):.1f} microseconds.",
            why(medians["osqp"], median(alone), ratio),
        ),
        (Table(("solver", *PARTS), rows, [{"engine": s, **medians[s]} for s in SOLVERS]),),
        goals,
    )


def main() -> None:
    """Print the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    versions = ", ".join(f"{p} {metadata.version(p)}" for p in ("numpy", "scipy", "osqp", "daqp", "cvxpy", "clarabel"))
    text = markdown(
        "Where a step goes", (), (section(arguments.rounds),),
        (f"{machine()}, {versions}.", "Written by `python benchmarks/overhead.py`; read ratios, not microseconds."),
    )  # fmt: skip
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
