"""The cases of a comparison: functions that take and return plain data, so that any process can run them.

Answers are the same bit for bit wherever they are computed. Times vary, so they are measured in separate cases, in
which competing pairs of formulation and solver take turns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gaussopt.comparison.clock import on_one_clock
from gaussopt.comparison.items import Item
from gaussopt.comparison.pairing import is_exact
from gaussopt.comparison.records import MOST_REASONS, Answers, MotionRecord
from gaussopt.comparison.solver_sequence_run import SequenceRun, starts_of
from gaussopt.comparison.solver_spec import parse_word, stepper_settings
from gaussopt.comparison.sources import spec_of
from gaussopt.comparison.spec import Spec
from gaussopt.comparison.trajectory_errors import energy_drift, errors_against
from gaussopt.core import registry
from gaussopt.core.errors import MachineFailure, NotAccepted
from gaussopt.core.status import Status
from gaussopt.kinds import Residuals, page_of
from gaussopt.modelling.registered import registered_problem
from gaussopt.processes.environment import provenance
from gaussopt.simulation.simulate import simulate

NOWHERE = (
    "no state of the source is a step that can be asked: contacts are open or just changing modes there; a smaller "
    "stride takes more states"
)


def answer_case(spec: Mapping[str, Any], formulation: str, solver: str, tolerance: float) -> list[dict[str, Any]]:
    """Solve all items of a source; return, for each kind of start of the solver, a record `Answers` as a mapping.

    `spec` is a mapping that `sources.spec_of` reads; `formulation` is "" if the source holds programs.
    """
    where = spec_of(spec)
    items = where.items()
    size, refused = (page_of(items[0].data).size(items[0].data), "") if items else ([], NOWHERE)
    found = []
    for start in starts_of(solver, where.follows):
        record = Answers(
            where.source, formulation, solver, start, is_exact(formulation), refused=refused, size=size,
            begins=begins_of(where, items), made=provenance(parse_word(solver)[0]),
        )  # fmt: skip
        run = SequenceRun(formulation, solver, start, tolerance)
        try:
            replies = [(run.solve(item), run.residuals) for item in items]
        except NotAccepted as reason:
            return [replace(record, refused=str(reason), size=[]).to_mapping()]
        said = Counter(reply.message for reply, _ in replies if reply.status is not Status.SOLVED)
        columns: dict[str, Any] = {
            name: [getattr(reply, name) for reply, _ in replies] for name in ("certified", "error", "iterations")
        }
        columns |= {name: [str(getattr(reply, name)) for reply, _ in replies] for name in ("status", "claim")}
        columns |= {name: [getattr(fit, name) for _, fit in replies] for name in Residuals._fields}
        found.append(replace(record, reasons=dict(list(said.items())[:MOST_REASONS]), **columns).to_mapping())
    return found


def begins_of(where: Spec, items: Sequence[Item]) -> list[int]:
    """Return the indices of the steps at which every solver is set up anew; see `records.Answers`."""
    sizes = [page_of(item.data).size(item.data) for item in items]
    return [i for i in range(len(items)) if i == 0 or not where.follows or sizes[i] != sizes[i - 1]]


def time_case(
    spec: Mapping[str, Any], pairs: Sequence[Sequence[str]], tolerance: float, budget: float
) -> list[dict[str, Any]]:
    """Time the pairs on a source, each for `budget` seconds per kind of start; return mappings of records `Times`."""
    where = spec_of(spec)
    items = where.items()
    if not items:
        return []
    rivals = [
        (formulation, solver, start) for formulation, solver in pairs for start in starts_of(solver, where.follows)
    ]
    found = on_one_clock(where.source, rivals, items, begins_of(where, items), tolerance, budget)
    return [{**times.to_mapping(), "made": provenance(parse_word(times.solver)[0])} for times in found]


def motion_case(
    problem: str, settings: Mapping[str, Any], formulation: str, solver: str, stepper: str, dt: float | None,
    t_end: float | None, tolerance: float,
) -> dict[str, Any]:  # fmt: skip
    """Simulate a problem with a formulation and a solver, and measure the trajectory.

    Returns {"motion": the MotionRecord as a mapping, "trajectory.nc": the trajectory as the bytes of a NetCDF file}.
    Raises NotAccepted if the pair does not fit a step of the motion, and MachineFailure if, say, the disk is full.
    """
    entry = registered_problem(problem, **settings)
    name, options = parse_word(solver)
    method, settings_of_it = stepper_settings(stepper)
    adaptive = registry.load("stepper", method).adaptive
    own_step = {"dt": entry.dt if dt is None and not adaptive else dt}
    traj = simulate(
        entry, formulation, name, solver_options=options, stepper=method, t_end=t_end, tolerance=tolerance,
        step_folder=None, error_estimate=False, **{**own_step, **settings_of_it},  # type: ignore[arg-type]
    )  # fmt: skip
    if traj.meta.get("machine_failure"):
        raise MachineFailure(traj.message)
    own = {**entry.parameter_values, "variant": entry.variant}
    named = [
        r.name for r in entry.references
        if {**entry.parameter_values, **r.parameters, "variant": r.variant} == own and len(traj.t)
    ]  # fmt: skip
    error = _largest(errors_against(traj, entry.reference(named[0]))[1]) if named else math.nan
    motion = MotionRecord(
        entry.label, formulation, solver, stepper, float(traj.meta["dt"] or 0.0), float(traj.meta["t_end"]),
        str(traj.status), traj.message, traj.worst.evaluations, error, traj.worst.relative_error,
        _largest(traj.position_drift), _largest(traj.velocity_drift), energy_drift(traj), made=provenance(name),
    )  # fmt: skip
    return {"motion": motion.to_mapping(), "trajectory.nc": traj.to_netcdf() if len(traj.t) else b""}


def _largest(values: Any) -> float:
    return float(values.max()) if len(values) else math.nan
