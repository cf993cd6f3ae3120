"""How the time and the memory of a step grow with the number of bodies: chains of links, open and closed.

For every length: medians of seconds per evaluation (step data, solve, certificate) and per RK4 step with recording, of
`sparse-kkt` and of OSQP where it finishes, and of the compiled kernels (a step of one evaluation, and an RK4 step,
residuals checked and nothing recorded); the exponent p of seconds = c N^p fitted over the lengths; and the bytes of the
step data, of the factors and of the lists kept between steps. Prints a table (and writes it with --out); it never fails
on a slow machine:

    python benchmarks/chain.py [--links 1000 10000 100000] [--out table.md]
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from statistics import median
from time import perf_counter

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import gaussopt as go  # noqa: E402
from gaussopt.core.step_data import memory, parts  # noqa: E402
from gaussopt.jit.kernel import COMPILED  # noqa: E402
from gaussopt.linalg.sparse_saddle_point import Saddle  # noqa: E402
from gaussopt.modelling.chain import Chain  # noqa: E402

LINKS = (1_000, 10_000, 100_000)
PARTS = ("model", "hand over", "solve", "certificate", "evaluation", "RK4 step")
DT = 1e-4
OSQP_BUDGET = 60.0
"""Seconds that OSQP may take for an evaluation; longer chains are left out after that."""

QUICK = 1.0
"""Seconds of an evaluation up to which OSQP is timed along a motion."""


@dataclass(frozen=True)
class Scaling:
    """Medians of one solver on one chain.

    Attributes
    ----------
    seconds : by part; NaN where it did not finish
    status : str
        How it ended, with the sentence if it did not.
    error : float
        Largest certified relative distance to the true acceleration.
    """

    links: int
    closed: bool
    solver: str
    seconds: Mapping[str, float]
    status: str
    error: float


def chain(links: int, closed: bool) -> tuple[Chain, np.ndarray, np.ndarray]:
    """A chain and its state at rest along an arc of two radians; `links` of 0.1 m and 0.1 kg."""
    free = Chain(links)
    q, v = free.arc(2.0)
    x, y = q[-3:-1] + 0.5 * free.length * np.array((np.cos(q[-1]), np.sin(q[-1])))
    return Chain(links, (float(x), float(y)) if closed else None), q, v


def rk4_step(links: int, closed: bool = False, solver: str = "sparse-kkt", steps: int | None = None) -> Scaling:
    """Seconds of an RK4 step of a motion (four certified evaluations and a record), and of an evaluation by part.

    Parameters
    ----------
    steps : int, optional
        How many steps the median is of; more for short chains if not given.
    """
    count = steps or max(4, min(50, 200_000 // links))
    body, q, v = chain(links, closed)
    marks: list[float] = []
    run = go.simulate(
        body.system, "gauss", solver, dt=DT, t_end=count * DT, q0=q, v0=v, step_folder=None, error_estimate=False,
        progress=lambda _: marks.append(perf_counter()),
    )  # fmt: skip
    status = str(run.status) if run.status is go.Status.SOLVED else f"{run.status}: {run.message}"
    n, t = run.worst.evaluations, run.timing
    seconds = {
        "model": t["model"] / n, "hand over": (t["setup"] + t["update"]) / n, "solve": t["solve"] / n,
        "certificate": t["verify"] / n, "evaluation": evaluation(links, closed, solver, max(3, count // 2)),
        "RK4 step": median(np.diff(marks)) if len(marks) > 1 else float("nan"),
    }  # fmt: skip
    return Scaling(links, closed, solver, seconds, status, run.worst.relative_error)


def compiled(links: int, closed: bool = False, repeats: int = 7) -> Scaling:
    """Seconds of a semi-implicit step, which has one evaluation, and of an RK4 step by compiled kernels."""
    from gaussopt.certificates import certify
    from gaussopt.compiled.advances.linkage_steps import LinkageKernels
    from gaussopt.core.tolerances import DEFAULT_TOLERANCE

    body, q, v = chain(links, closed)
    seconds = dict.fromkeys(PARTS, float("nan"))
    sound = True
    count = max(4, min(100, 1_000_000 // links))
    for part, stepper in (("evaluation", "semi-implicit"), ("RK4 step", "rk4")):
        march = LinkageKernels(body.linkage, stepper)
        start, spent = march.row.placed(q, v), []
        for _ in range(repeats):
            y, worst, trace = start.copy(), np.zeros(2), np.zeros((0, len(start)))
            begin = perf_counter()
            done = march.steps((0.0, DT, np.inf), (0, count, count + 1), y, trace, worst, DEFAULT_TOLERANCE**2)
            spent.append((perf_counter() - begin) / count)
            sound &= done == count
        seconds[part] = median(spent)
    certificate = certify(body.system.evaluate(0.0, q, v), *march.answer(q, v))
    status = "solved" if sound and certificate.passed() else "a step was handed over"
    return Scaling(links, closed, "compiled", seconds, status, certificate.relative_error)


def evaluation(links: int, closed: bool = False, solver: str = "sparse-kkt", repeats: int = 5) -> float:
    """Median of seconds per evaluation: step data, program, solve and certificate, after a first one that sets up."""
    body, q, v = chain(links, closed)
    driver = go.StepSolver("gauss", solver)
    spent = []
    for i in range(repeats + 1):
        begin = perf_counter()
        driver.solve(body.system.evaluate(0.0, q, v + 1e-3 * i))
        spent.append(perf_counter() - begin)
    return median(spent[1:])


def exponent(found: Sequence[Scaling], part: str) -> float:
    """The exponent p of seconds = c N^p, by least squares of logarithms; NaN of fewer than two lengths."""
    points = [(s.links, s.seconds[part]) for s in found if np.isfinite(s.seconds[part])]
    if len(points) < 2:
        return float("nan")
    links, seconds = np.log(np.array(points)).T
    return float(np.polyfit(links, seconds, 1)[0])


def bytes_of(links: int, closed: bool = False) -> dict[str, int]:
    """Bytes of the step data, of the numbers of the factors, and of what is kept between steps."""
    body, q, v = chain(links, closed)
    step = body.system.evaluate(0.0, q, v)
    saddle = Saddle.of(*parts(step))
    assert saddle is not None
    numbers, lists = saddle.stored()
    return {"step data": memory(step), "factors": numbers, "kept lists": lists}


def measure(links: Sequence[int] = LINKS) -> list[Scaling]:
    """All chains, shortest first; OSQP until an evaluation takes longer than its budget or does not end solved."""
    found = []
    for closed in (False, True):
        osqp = True
        for count in links:
            found.append(rk4_step(count, closed))
            found += [compiled(count, closed)] if COMPILED else []
            if osqp:
                found.append(_osqp(count, closed))
                osqp = found[-1].status == "solved"
    return found


def _osqp(links: int, closed: bool) -> Scaling:
    """OSQP along a motion where it is quick, else one evaluation from scratch within its budget."""
    body, q, v = chain(links, closed)
    begin = perf_counter()
    answer = go.StepSolver("gauss", "osqp", {"time_limit": OSQP_BUDGET}).solve(body.system.evaluate(0.0, q, v))
    spent = perf_counter() - begin
    if answer.status is go.Status.SOLVED and spent < QUICK:
        return rk4_step(links, closed, "osqp", 5)
    seconds = {**dict.fromkeys(PARTS, float("nan")), "evaluation": spent}
    status = str(answer.status) + ("" if answer.claim is answer.status else f" (it says {answer.claim})")
    return Scaling(links, closed, "osqp", seconds, status, answer.certificate.relative_error)


def table(found: Sequence[Scaling], links: Sequence[int]) -> list[str]:
    """Markdown lines."""
    lines = ["| chain | links | solver | " + " | ".join(f"{p}, ms" for p in PARTS) + " | certified error | status |"]
    lines.append("|---" * (len(PARTS) + 5) + "|")
    for s in found:
        cells = [f"{1e3 * s.seconds[p]:.3g}" if np.isfinite(s.seconds[p]) else "-" for p in PARTS]
        kind = "closed" if s.closed else "open"
        lines.append(f"| {kind} | {s.links} | {s.solver} | {' | '.join(cells)} | {s.error:.1e} | {s.status} |")
    lines += ["", "| chain | solver | exponent, evaluation | exponent, RK4 step |", "|---|---|---|---|"]
    for closed in (False, True):
        for solver in ("sparse-kkt", "osqp", *(("compiled",) if COMPILED else ())):
            these = [s for s in found if s.closed == closed and s.solver == solver]
            fits = " | ".join(f"{exponent(these, part):.2f}" for part in ("evaluation", "RK4 step"))
            lines.append(f"| {'closed' if closed else 'open'} | {solver} | {fits} |")
    lines += ["", "| links | step data, bytes a link | factors | kept lists |", "|---|---|---|---|"]
    for count in links:
        sizes = bytes_of(count)
        lines.append(f"| {count} | " + " | ".join(f"{size / count:.0f}" for size in sizes.values()) + " |")
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, nargs="+", default=LINKS)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    lines = table(measure(arguments.links), arguments.links)
    versions = ", ".join(f"{p} {metadata.version(p)}" for p in ("numpy", "scipy", "osqp"))
    lines += [
        "", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"{versions}.",
    ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
