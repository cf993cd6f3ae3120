"""The contact problems of a motion in space as FCLIB files for other codes: one file for each Moreau-Jean step.

They are stated in velocities and impulses, u = W r + q, with the contacts that may close within the step. A file name
consists of the problem, the step number and the number of contacts; the file holds the solution if it is certified.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gaussopt.comparison.items import impulses_of
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import BadInput, NotAccepted
from gaussopt.core.files import check_new, prepare_folder
from gaussopt.core.status import Status
from gaussopt.core.time_step import SteppedSystem
from gaussopt.interchange.fclib import write_fclib
from gaussopt.modelling.problem import Problem
from gaussopt.simulation.simulate import simulate
from gaussopt.solving.solve import solve


def export_contacts(
    problem: Problem, out: Path, *, stride: int = 1, t_end: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write the contact problems of every `stride`-th step of a motion into a new folder.

    Returns `files`, a list of their names, `certified`, the number of files with a solution, and `stopped`, the message
    of a motion that did not reach its end. Steps without contacts are left out. Raises NotAccepted for contacts in the
    plane, and BadInput if the folder is not empty or the motion has no contacts.
    """
    if stride < 1:
        raise BadInput(f"stride is {stride}; it must be at least 1.")
    check_new(out)
    start = problem.system.evaluate(0.0, problem.q0, problem.v0)
    if start.J_T.shape[1] < 2 and not isinstance(problem.system, SteppedSystem):
        raise NotAccepted(
            f"The contacts of {problem.label} are not in space: Moreau-Jean steps are exported as FCLIB files of "
            "contacts with two tangents."
        )
    motion = simulate(problem, stepper="moreau-jean", t_end=t_end, error_estimate=False, step_folder=None)
    prepare_folder(out)
    files, certified, last, system = [], 0, len(motion.t) - 1, problem.system
    if isinstance(system, SteppedSystem) and last:
        system = system.begun(float(motion.t[0]), motion.q[0], motion.v[0], float(motion.t[1] - motion.t[0]))
    for i in range(0, last, stride):
        t, h = float(motion.t[i]), float(motion.t[i + 1] - motion.t[i])
        posed = impulses_of(system, t, motion.q[i], motion.v[i], h)
        if posed is not None:
            title, text = f"{problem.label}, t = {t:.9g} s", f"a Moreau-Jean step of {h:g} s"
            file, solved = write_solved(out, problem.name, i, posed, title, text)
            files.append(file)
            certified += solved
        if progress is not None:
            progress(min(1.0, (i + stride) / last))
    if not files:
        raise BadInput(f"No contact closes in the motion of {problem.label}, so that nothing was written.")
    stopped = {} if motion.status is Status.SOLVED else {"stopped": motion.message}
    return {"files": files, "certified": certified, **stopped}


def write_solved(
    out: Path, name: str, i: int, posed: ConeComplementarity, title: str, text: str
) -> tuple[str, bool]:  # fmt: skip
    """Write a contact problem as an FCLIB file; return the file name, and whether it holds a certified solution."""
    found = solve(posed, "hybrid")
    r = found.x if found.status is Status.SOLVED else None
    file = f"{name}-i{i:05d}-{posed.k}.hdf5"
    write_fclib(out / file, posed, r, title, text)
    return file, r is not None
