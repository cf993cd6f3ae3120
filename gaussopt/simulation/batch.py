"""Batches of trajectories of one problem: parameter sweeps, Monte Carlo, grids of initial states."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.compiled import cuda
from gaussopt.contact.impact_laws import impact_law
from gaussopt.core.errors import BadInput
from gaussopt.core.interrupts import Interrupts
from gaussopt.core.keywords import suggesting
from gaussopt.core.stepper import Stabilisation
from gaussopt.core.system import AbstractSystem
from gaussopt.core.tolerances import DEFAULT_TOLERANCE, check_tolerance
from gaussopt.integration import stabilisation
from gaussopt.integration.time_grid import TimeGrid
from gaussopt.jit.threads import cores
from gaussopt.modelling.problem import Problem
from gaussopt.processes.child_process import Order
from gaussopt.processes.guarded_process import outcomes
from gaussopt.processes.job import Job, sentence
from gaussopt.simulation.batch_dataset import Batch, check_size
from gaussopt.simulation.batch_folder import BatchFolder
from gaussopt.simulation.batch_members import BatchMembers
from gaussopt.simulation.continuation import as_mapping
from gaussopt.simulation.setting_table import check_choices
from gaussopt.simulation.settings import check_kinds, check_settings, problem_or_system, stride
from gaussopt.storage.checksums import digest_of

if TYPE_CHECKING:
    import xarray as xr


DEVICES = "cpu", "cuda"
"""Devices on which batches are computed."""


@suggesting
@np.errstate(over="ignore", invalid="ignore")  # diverging motions are reported, not warned about
def simulate_batch(
    problem: str | Problem | AbstractSystem, *, parameters: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None, stepper: str = "rk4", dt: float | None = None,
    t_end: float | None = None, t0: float = 0.0, rtol: float | None = None, atol: float | None = None,
    tolerance: float = DEFAULT_TOLERANCE, stabilisation: str | Stabilisation = "none", impact: str = "newton",
    accumulation: str = "stop", record_every: int = 1, certify: bool = True, threads: int | None = None,
    device: str = "cpu", keep_interrupted: bool = True, progress: Callable[[float], None] | None = None,
    out: str | os.PathLike[str] | None = None, executor: Executor | None = None, control: None = None,
) -> xr.Dataset:  # fmt: skip
    """Integrate a problem for many sets of parameters and initial states.

    If the system is given by energies, and has no contacts and a method similar to rk4, or contacts in the plane and
    moreau-jean, generated code integrates all members, on all cores. Members that fail in it or have none (plain
    functions, adaptive methods) are computed by `simulate` one by one, with the same result, in several processes where
    that saves time. A trajectory that fails keeps its states up to the failure; the others continue.

    Parameters
    ----------
    problem : name, Problem or System; a bare system needs `initial` with q0 and v0, `dt` and `t_end`
    parameters : mapping of names, or their SymPy symbols, to (N,) arrays; a single number applies to all trajectories;
        parameters that are not given keep the problem's values
    initial : mapping with "q0" and "v0", each (N, n), or (n,) for all trajectories; the problem's own start at each
        trajectory's parameters if not given
    stepper, dt, t_end, t0, rtol, atol, tolerance, stabilisation, impact, accumulation : as in `simulate`
    record_every : steps between two recorded states; for an adaptive method, intervals of dt
    certify : whether accelerations, forces, energies, drifts and certificates of recorded states are computed, or only
        the states; the residuals of every step are checked in any case
    threads : number of cores to use; results do not depend on it
    device : "cpu", or "cuda" for an NVIDIA GPU (extra `cuda`), with a thread for each member; results differ by
        rounding. The CPU certifies recorded states and computes the members that fail on the GPU
    keep_interrupted : whether Ctrl-C ends the batch with what was computed instead of raising KeyboardInterrupt
    progress : called with the fraction done
    out : folder in which members are saved, 64 at a time (65,536 from a GPU), so that the same call can continue later
    executor : concurrent.futures.Executor for the members not yet in `out`; workers need the same packages

    Returns
    -------
    xarray.Dataset
        Dimensions trajectory (N), time, coordinate (n), row (m). q, v and, with `certify`, the variables of Trajectory:
        NaN at instants that a trajectory did not reach. status and message of each trajectory, and `reached`, its last
        instant (NaN if none). The given parameters are coordinates of the dataset; a name that is already taken gets
        the prefix p_, characters that no file can hold become _, and the original name is kept as `long_name`.

    Raises
    ------
    GaussoptError
        If the batch as a whole is invalid; errors of one trajectory are in its status.

    Examples
    --------
    >>> import gaussopt as go
    >>> torques = {"tau": [-0.6, -0.5, -0.4]}
    >>> data = go.simulate_batch("crank-slider", parameters=torques, dt=1e-3, t_end=0.01)
    >>> dict(data.sizes)["trajectory"]
    3
    """
    begin = perf_counter()
    settings: dict[str, Any] = {
        "stepper": stepper, "dt": dt, "t_end": t_end, "t0": t0, "rtol": rtol, "atol": atol, "tolerance": tolerance,
        "stabilisation": stabilisation, "impact": impact, "accumulation": accumulation,
    }  # fmt: skip
    check_kinds(stabilisation, progress)
    _check_resources(threads, device, executor, control)
    if out is not None or executor is not None:
        settings |= {"record_every": stride(record_every), "certify": certify, "threads": threads, "device": device}
        return _in_folder(out, (problem, parameters, initial), settings, keep_interrupted, progress, executor)
    batch = _batch(problem, (parameters, initial), settings, stride(record_every), certify, progress)
    return _run(batch, threads, device, keep_interrupted, begin)


def _batch(
    problem: str | Problem | AbstractSystem, varied: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None],
    settings: dict[str, Any], every: int, certify: bool, progress: Callable[[float], None] | None,
) -> Batch:  # fmt: skip
    """Check the settings, complete them from the problem, and return the batch."""
    check_tolerance(settings["tolerance"])
    check_choices(settings)
    impact_law(settings["impact"])
    entry = problem_or_system(problem)
    if isinstance(entry, Problem):
        settings |= {key: getattr(entry, key) for key in ("dt", "t_end") if settings[key] is None}
    dt, t_end, t0 = settings["dt"], settings["t_end"], settings["t0"]
    if dt is None or t_end is None:
        raise BadInput("A bare system needs dt and t_end.")
    method = check_settings(dt, t_end, settings["stepper"], t0, settings["rtol"], settings["atol"])
    settings["stabilisation"] = stabilisation.make(settings["stabilisation"])
    members = BatchMembers.of(entry, *varied)
    instants = TimeGrid(t0, t_end, dt, every)
    check_size(members, instants, certify)
    return Batch(members, method, instants, settings, certify, progress or (lambda done: None))


def _in_folder(
    out: str | os.PathLike[str] | None, varied: tuple[Any, Mapping[str, Any] | None, Mapping[str, Any] | None],
    settings: dict[str, Any], keep_interrupted: bool, progress: Callable[[float], None] | None,
    executor: Executor | None,
) -> xr.Dataset:  # fmt: skip
    """Compute the batch in parts that are kept in a folder, on an executor if one is given."""
    if out is None:
        raise BadInput("A batch on an executor needs out, the folder in which the members are saved.")
    members = BatchMembers.of(problem_or_system(varied[0]), *varied[1:])
    compute = partial(simulate_batch, members.problem, **settings, keep_interrupted=keep_interrupted)
    entry, start = members.problem, digest_of(np.hstack((members.q, members.v)).tobytes())
    left_out = {"threads", *(["device"] if settings["device"] == "cpu" else [])}
    about = {name: value for name, value in settings.items() if name not in left_out}
    about |= {
        "stabilisation": as_mapping(stabilisation.make(settings["stabilisation"])), "problem": entry.name,
        "variant": entry.variant if isinstance(entry, Problem) else "", "start": start,
        "parameters": {name: digest_of(values.tobytes()) for name, values in members.values.items()},
    }  # fmt: skip

    def starts(chosen: NDArray[np.intp]) -> dict[str, Any]:
        values = {name: members.values[name][chosen] for name in members.varied}
        return {"parameters": values, "initial": {"q0": members.q[chosen], "v0": members.v[chosen]}}

    def some(chosen: NDArray[np.intp]) -> xr.Dataset:
        def share(done: float) -> None:
            if progress is not None:
                progress((chosen[0] + done * len(chosen)) / members.count)

        return compute(**starts(chosen), progress=share)

    def spread(parts: list[NDArray[np.intp]]) -> Iterator[tuple[NDArray[np.intp], xr.Dataset]]:
        assert executor is not None
        given = {**compute.keywords, "problem": entry, "keep_interrupted": False}
        try:
            orders = {i: Order.of(Job(str(i), simulate_batch, given | starts(x))) for i, x in enumerate(parts)}
        except Exception as error:  # most often a user's functions cannot be pickled
            raise BadInput(f"The motions cannot be sent to the executor: {sentence(error)}; leave it out.") from None
        for done, (number, outcome) in enumerate(outcomes(executor, orders), 1):
            if progress is not None:
                progress(done / len(parts))
            if not outcome.failure:
                yield parts[number], outcome.value

    return BatchFolder(out, about).gather(members.count, some, None if executor is None else spread)


def _run(batch: Batch, threads: int | None, device: str, keep_interrupted: bool, begin: float) -> xr.Dataset:
    """Compute all members; if `keep_interrupted`, Ctrl-C ends the batch, with the results computed so far."""
    with Interrupts() if keep_interrupted else nullcontext(Interrupts()) as interrupts:
        try:
            batch.run(threads, device)
            interrupts.listening = False
        except KeyboardInterrupt:
            if not keep_interrupted:
                raise
            interrupts.listening = False
            batch.interrupt()
        return batch.dataset(perf_counter() - begin)


def _check_resources(threads: int | None, device: str, executor: Executor | None, control: object) -> None:
    if control is not None:
        raise BadInput(
            "A batch takes no control, whose function may remember one motion: call go.simulate(problem.at(...), "
            "control=go.Controller(...)) for each member."
        )
    if device not in DEVICES:
        raise BadInput(f"device is {device!r}; give one of {', '.join(map(repr, DEVICES))}.")
    if executor is not None:
        return  # each worker checks its own device and threads
    if device == "cuda":
        cuda.driver()
    if threads is None:
        return
    most = cores()
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or not 1 <= threads <= most:
        raise BadInput(f"threads is {threads!r}; give a whole number from 1 to {most}.")
