"""Quadratic programs of a folder by all installed solvers, and what the certificate says of their answers.

    python benchmarks/qp_folder.py FOLDER [--most 1000] [--solvers daqp piqp ...] [--seconds 20] [--prove 60]
        [--keep KEPT] [--out docs/maros-meszaros.md]

Each file FOLDER/*.mat holds P, q, A, l, u of 1/2 x'Px + q'x, l <= A x <= u, as the files of the Maros-Meszaros problems
do that qpbenchmark and OSQP use; bounds from 1e20 on are infinite. Solvers run at the settings `HIGH`, those that
qpbenchmark calls high accuracy. First every solver answers every problem, then the certificate judges the answers.

The folder KEPT holds what is done: KEPT/answers/PROBLEM.SOLVER.npz the answers, KEPT/verdicts.jsonl a line for each
verdict. The same command goes on where it was; to judge the same answers anew, remove verdicts.jsonl. Work is done in a
process that is ended with its time, so that nothing that does not end keeps the others waiting.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import psutil
import qp_folder_page
import qp_folder_reference

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.solver import missing_packages
from gaussopt.solving.solver_sequence import SolverSequence
from gaussopt.solving.verification import verified

SMALL = 1e-9
"""Residual, absolute, that qpbenchmark's high accuracy asks for."""

STARTING = 5.0
"""Seconds for a new process to import what it needs, beside its time."""

NEAR = 1e-6
"""Residual up to which an answer is judged that its solver does not call solved."""

_BOTH = {"eps_abs": SMALL, "eps_rel": 0.0}
_GAP = {**_BOTH, "check_duality_gap": True, "eps_duality_gap_abs": SMALL, "eps_duality_gap_rel": 0.0}

HIGH: dict[str, dict[str, Any]] = {
    "clarabel": {"tol_gap_abs": SMALL, "tol_gap_rel": 0.0, "tol_feas": SMALL},
    "daqp": {"primal_tol": SMALL, "dual_tol": SMALL},
    "highs": {"primal_feasibility_tolerance": SMALL, "dual_feasibility_tolerance": SMALL},
    "osqp": _BOTH,
    "piqp": _GAP,
    "proxqp": _GAP,
    "scs": _BOTH,
}
"""Settings by solver; those that are not named have no such dial and run at their defaults."""


def read(path: Path) -> go.QP:
    """The dense program of a file, without rows that bound nothing; raises BadInput if it is not convex."""
    from scipy.io import loadmat

    data = loadmat(path)
    P, A = (np.asarray(data[key].todense(), dtype=float) for key in "PA")
    q, l, u = (np.asarray(data[key], dtype=float).ravel() for key in "qlu")
    l, u = np.where(l <= -1e20, -np.inf, l), np.where(u >= 1e20, np.inf, u)
    kept = np.isfinite(l) | np.isfinite(u)
    return go.QP.from_mapping({"P": P, "q": q, "A": A[kept], "l": l[kept], "u": u[kept]})


def unknowns(path: Path) -> int:
    """Number of unknowns of a file, without its matrices."""
    from scipy.io import whosmat

    return int(max(next(shape for name, shape, _ in whosmat(path) if name == "q")))


def installed() -> list[str]:
    """All solvers of quadratic programs whose packages are here, but searches at random, which promise no digits."""
    entries = {name: registry.load("solver", name) for name in go.names("solver")}
    return [n for n, c in entries.items() if go.QP in c.accepts and not c.stochastic and not missing_packages(c)]


def answer(path: Path, solver: str) -> dict[str, Any]:
    """What a solver answers."""
    begin = perf_counter()
    try:
        raw, timing = SolverSequence(solver, HIGH.get(solver, {})).solve(read(path))
    except (go.NotAccepted, go.BadInput) as error:
        return {"claim": "not taken", "note": str(error)}
    seconds = timing.setup + timing.solve
    found = {"claim": str(raw.claim), "note": raw.note, "seconds": seconds, "all": perf_counter() - begin}
    return found | {name: value for name, value in (("x", raw.x), ("y", raw.y)) if value is not None}


def verdict(path: Path, answers: dict[str, dict[str, Any]], solver: str) -> dict[str, Any]:
    """What the certificate says of an answer."""
    from gaussopt.core.solution import RawSolution, Timing

    given = answers[solver]
    if "seconds" not in given:
        return {"status": given["claim"], "claim": given["claim"], "note": given.get("note", "")}
    qp = read(path)
    three = residuals(qp, given.get("x"), given.get("y"))
    if given["claim"] not in ("solved", "inaccurate") and not max(three) <= NEAR:
        return {"status": given["claim"], "claim": given["claim"], "three": list(three)}
    raw = RawSolution(given.get("x"), given.get("y"), go.Status(given["claim"]), note=given["note"])
    found = verified(qp, raw, Timing())
    c = found.certificate
    names = ("error_bound", "relative_error", "relative_residual", "objective_gap")
    return {
        "status": str(found.status), "claim": given["claim"], "three": list(three),
        **{name: c.get(name) for name in names}, "seconds": given["seconds"], "judged": found.timing.verify,
    }  # fmt: skip


def residuals(qp: go.QP, x: Any, y: Any) -> tuple[float, float, float]:
    """Primal residual, dual residual and duality gap of an answer itself, as qpbenchmark has them; infinite if none."""
    if x is None or y is None or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return (np.inf,) * 3
    z, r = qp.A @ x, qp.P @ x + qp.q - qp.A.T @ y
    # A force towards a bound that is not there is left in the dual residual.
    lower, upper = (y > 0) & np.isfinite(qp.l), (y < 0) & np.isfinite(qp.u)
    lost = np.where(lower | upper, 0.0, y)
    gap = x @ qp.P @ x + qp.q @ x - qp.l[lower] @ y[lower] - qp.u[upper] @ y[upper]
    missed = np.maximum(np.maximum(qp.l - z, z - qp.u), 0.0).max(initial=0.0)
    return float(missed), float(np.abs(r + qp.A.T @ lost).max()), float(abs(gap))


def _serve(work: Callable[..., dict[str, Any]], path: Path, more: tuple[Any, ...], names: list[str], out: Any) -> None:
    warnings.simplefilter("ignore")
    for name in names:
        out.put(work(path, *more, name))
    out.close()
    out.join_thread()


def in_time(
    work: Callable[..., dict[str, Any]], path: Path, more: tuple[Any, ...], names: list[str], seconds: float
) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Results of `work(path, *more, name)` by name, as they come; a process that takes longer for one is ended."""
    context = multiprocessing.get_context("spawn")
    left = list(names)
    while left:
        results = context.Queue()
        process = context.Process(target=_serve, args=(work, path, more, left, results))
        process.start()
        limit = seconds + STARTING
        while left:
            found: dict[str, Any] | str = "no answer in time"
            while spent(process.pid) < limit:
                try:
                    found = results.get(timeout=0.5)
                    break
                except queue.Empty:
                    if not process.is_alive() and results.empty():
                        found = "crashed"
                        break
            yield left.pop(0), found
            limit = spent(process.pid) + seconds
            if isinstance(found, str):
                break
        process.kill()
        process.join()


def spent(pid: int | None) -> float:
    """Processor time of a process and of those that it started; on a busy machine others' work is not charged."""
    try:
        process = psutil.Process(pid)
        every = [process, *process.children(recursive=True)]
        return float(sum(sum(one.cpu_times()[:4]) for one in every))
    except psutil.Error:  # it has ended
        return 0.0


def solve_all(path: Path, solvers: list[str], seconds: float, folder: Path) -> None:
    """Answers that are not there yet, into files."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [s for s in solvers if not (folder / f"{path.stem}.{s}.npz").exists()]
    for solver, found in in_time(answer, path, (), missing, seconds):
        entry: dict[str, Any] = {"claim": found} if isinstance(found, str) else found
        print(f"{path.stem:10}{solver:11}{entry['claim']:18}{entry.get('seconds', seconds):8.2f} s", flush=True)
        np.savez(folder / f"{path.stem}.{solver}.npz", **{k: np.asarray(v) for k, v in entry.items()})


def answers_of(path: Path, solvers: list[str], folder: Path) -> dict[str, dict[str, Any]]:
    """What `solve_all` has written."""
    found = {}
    for solver in solvers:
        with np.load(folder / f"{path.stem}.{solver}.npz") as data:
            found[solver] = {key: data[key] if data[key].ndim else data[key].item() for key in data.files}
    return found


def main() -> None:
    """Read the arguments, solve, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=1000, help="unknowns at most (default 1000)")
    parser.add_argument("--solvers", nargs="*", help="all that are installed by default")
    parser.add_argument("--seconds", type=float, default=20.0, help="for one solver on one problem")
    parser.add_argument("--prove", type=float, default=60.0, help="seconds for one certificate")
    parser.add_argument("--keep", type=Path, default=Path("qp-folder"), help="folder of what is done")
    parser.add_argument("--out", type=Path, help="Markdown page")
    given = parser.parse_args()
    solvers = given.solvers or installed()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # for the processes to come
    everything = sorted(given.folder.glob("*.mat"), key=unknowns)
    paths = [path for path in everything if unknowns(path) <= given.most]
    answered, verdicts = given.keep / "answers", given.keep / "verdicts.jsonl"
    for path in paths:
        solve_all(path, solvers, given.seconds, answered)
    rows = [json.loads(text) for text in verdicts.read_text().splitlines()] if verdicts.exists() else []
    with verdicts.open("a") as file:
        for path in paths:
            rows += judge_all(path, solvers, given.prove, answered, rows, file)
    refused = measure_errors(paths, solvers, answered, rows)
    page = qp_folder_page.page(rows, [p.stem for p in paths], refused, solvers, vars(given))
    print(page)
    if given.out:
        given.out.write_text(page, encoding="utf-8")


def judge_all(
    path: Path, solvers: list[str], seconds: float, folder: Path, rows: list[dict[str, Any]], file: Any
) -> list[dict[str, Any]]:
    """Verdicts that are not among the rows yet, also written to the file."""
    done = {row["solver"] for row in rows if row["problem"] == path.stem}
    answers, fresh = answers_of(path, solvers, folder), []
    for solver, found in in_time(verdict, path, (answers,), [s for s in solvers if s not in done], seconds):
        lost = {"status": f"not judged: {found}", "claim": answers[solver]["claim"]}
        fresh.append({"problem": path.stem, "solver": solver, **(lost if isinstance(found, str) else found)})
        print(json.dumps(fresh[-1]), file=file, flush=True)
        print(qp_folder_page.line(fresh[-1]), flush=True)
    return fresh


def measure_errors(paths: list[Path], solvers: list[str], folder: Path, rows: list[dict[str, Any]]) -> dict[str, str]:
    """Fill in true errors and rounding floors of the rows; returns what is no convex program, and why."""
    refused = {}
    for path in paths:
        try:
            qp = read(path)
        except go.BadInput as error:
            refused[path.stem] = str(error).rstrip(".")
            continue
        answers = answers_of(path, solvers, folder)
        judged = [row for row in rows if row["problem"] == path.stem and "judged" in row]
        mine = [row for row in judged if "x" in answers[row["solver"]]]
        kept = folder.parent / "references" / f"{path.stem}.npz"
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            order = sorted(mine, key=lambda row: max(row["three"]))[:4]
            start = [(answers[r["solver"]]["x"], answers[r["solver"]]["y"]) for r in order if max(r["three"]) < np.inf]
            found = qp_folder_reference.reference(qp, start)
            # An extended number as a double and what is left of it.
            x = (
                np.zeros((2, 0))
                if found is None
                else np.array([found.x.astype(float), found.x - found.x.astype(float)])
            )
            np.savez(kept, x=x.astype(float), curved=qp_folder_reference.curved(qp))
        with np.load(kept) as data:
            x, curved = data["x"].astype(np.longdouble).sum(axis=0), bool(data["curved"])
        for row in mine if len(x) else ():
            given = np.abs(answers[row["solver"]]["x"])
            terms = float(given @ (np.abs(qp.P) @ given) + np.abs(qp.q) @ given)
            row["true_error"] = qp_folder_reference.distance(qp, answers[row["solver"]]["x"], x)
            row["floor"] = 16 * (qp.n + qp.m + 4) * np.finfo(float).eps * terms**0.5
            row["curved"] = curved
    return refused


if __name__ == "__main__":
    main()
