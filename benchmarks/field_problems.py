"""Errors of the benchmark problems against published values, for each stepper and formulation, with the time it took.

    python benchmarks/field_problems.py [PROBLEM ...] [--steppers rk4,dop853,radau-projected] [--formulations gauss]
                                        [--tolerance 1e-9] [--json]

Adaptive steppers have the tolerance given, others the problem's own step; motions are projected. The error is the
largest one over the published instants, in the units of the published values; values and sources are those of
problems/data/published.json. Times are single runs, machine code made before included.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

import gaussopt as go
from gaussopt.core import registry

Values = NDArray[np.float64]
PUBLISHED = json.loads(resources.files("gaussopt.problems").joinpath("data", "published.json").read_text("utf-8"))


def _columns(*places: int, rates: Sequence[int] = ()) -> Callable[[go.Trajectory], Values]:
    return lambda motion: np.hstack((motion.q[:, list(places)], motion.v[:, list(rates)]))


def _andrews(motion: go.Trajectory) -> Values:
    one, two, three, four, five, six, seven = motion.q[:, 2::3].T
    return np.stack((one, two - one, three, four - five, five, six - seven, seven), axis=1)


@dataclass(frozen=True)
class Case:
    """What is published of a problem.

    Attributes
    ----------
    compared : columns of the published rows
    found : the same of a motion, (N, columns)
    rows : key of these rows
    instant : time of the only row, s; None where the first column is the time
    """

    compared: Sequence[int]
    found: Callable[[go.Trajectory], Values]
    rows: str = "rows"
    instant: float | None = None

    def published(self, problem: str) -> tuple[Values, Values]:
        """Instants, (r,), and values, (r, columns)."""
        rows = np.array(PUBLISHED[problem][self.rows])
        times = rows[:, 0] if self.instant is None else np.full(1, self.instant)
        return times, rows[:, list(self.compared)]


CASES = {
    "pendulum": Case((1, 2, 3, 4), _columns(0, 1, rates=(0, 1))),
    "slider-crank-spring": Case((1, 2, 3), _columns(2, 3, 5), "converged"),
    "car-axis": Case((0, 1, 2, 3), _columns(0, 1, 2, 3), instant=3.0),
    "andrews-squeezer": Case(range(7), _andrews, instant=0.03),
    "n-four-bar": Case((5, 6), _columns(2, rates=(2,))),
    "flyball-governor": Case((1, 2, 3), _columns(0, 1, 2)),
    "spatial-slider-crank": Case((3,), _columns(14)),
    "rolling-disc": Case((1, 2, 3), _columns(0, 1, 2)),
    "knife-edge-incline": Case((1, 2, 3, 4, 5), _columns(0, 1, 2, rates=(0, 1))),
    "nonholonomic-particle": Case((1, 2, 3), _columns(0, 1, 2)),
    "heavy-top": Case((1, 2, 3, 4, 5, 6), _columns(0, 1, 2, rates=(0, 1, 2))),
}


@dataclass(frozen=True)
class Row:
    """One motion beside the published values; the error is None where it did not reach the last of them."""

    problem: str
    stepper: str
    formulation: str
    status: str
    warned: bool
    error: float | None
    steps: int
    engine: str
    seconds: float


def measure(problem: str, stepper: str, formulation: str, tolerance: float, t_end: float | None = None) -> Row:
    """One motion to the last published instant, or to `t_end` if that is earlier."""
    case, entry = CASES[problem], go.problem(problem)
    times, values = case.published(problem)
    if t_end is not None:
        times, values = times[times <= t_end], values[: int((times <= t_end).sum())]
    adaptive = registry.load("stepper", stepper).adaptive
    # A recording interval that meets every instant: multiples of it are published.
    interval = float(np.gcd.reduce(np.rint(times * 1e4).astype(int))) * 1e-4
    settings = {"rtol": tolerance, "atol": tolerance, "dt": interval} if adaptive else {"record_every": 1}
    if not adaptive and times[-1] / entry.dt > 50_000:
        settings["record_every"] = max(1, round(interval / entry.dt))
    given = {} if formulation == "gauss" else {"formulation": formulation}
    begin = perf_counter()
    motion = go.simulate(
        entry, **given, stepper=stepper, t_end=float(times[-1]), stabilisation="projection", error_estimate=False,
        step_folder=None, **settings,
    )  # fmt: skip
    seconds, error = perf_counter() - begin, None
    if motion.status is go.Status.SOLVED:
        at = np.array([int(np.argmin(np.abs(motion.t - t))) for t in times])
        if np.abs(motion.t[at] - times).max() > 1e-9:
            raise ValueError(f"{problem}: some published instants are not among the recorded ones.")
        error = float(np.abs(case.found(motion)[at] - values).max())
    return Row(
        problem, stepper, formulation, str(motion.status), bool(motion.warnings), error, motion.meta["steps"],
        motion.meta["engine"], seconds,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", default=[], help=", ".join(CASES))
    parser.add_argument("--steppers", default="rk4,dop853,radau-projected")
    parser.add_argument("--formulations", default="gauss")
    parser.add_argument("--tolerance", type=float, default=1e-9)
    parser.add_argument("--json", action="store_true", help="one object for each line, as it is known")
    given = parser.parse_args(arguments)
    for name in given.problems:
        if name not in CASES:
            parser.error(f"nothing is published of {name!r}; choose from {', '.join(CASES)}.")
    if not given.json:
        print("| problem | stepper | formulation | status | error | steps | engine | s |")
        print("|---|---|---|---|---|---|---|---|")
    for problem in given.problems or CASES:
        for stepper in given.steppers.split(","):
            for formulation in given.formulations.split(","):
                try:
                    row = measure(problem, stepper, formulation, given.tolerance)
                except go.GaussoptError as refusal:
                    row = Row(problem, stepper, formulation, f"refused: {refusal}", False, None, 0, "", 0.0)
                if given.json:
                    print(json.dumps(asdict(row)), flush=True)
                    continue
                error, warned = "" if row.error is None else f"{row.error:.1e}", ", warned" if row.warned else ""
                cells = problem, stepper, formulation, row.status + warned, error, row.steps, row.engine
                print("|", *(f"{cell} |" for cell in cells), f"{row.seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
