"""Computation of a batch and its dataset: members are integrated together if possible, otherwise one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.compiled import modules
from gaussopt.compiled.advances.generated import GeneratedAdvance
from gaussopt.compiled.advances.time_steps import CompiledTimeSteps
from gaussopt.core.errors import BadInput, NotCompiled
from gaussopt.core.status import Status
from gaussopt.core.stepper import Stabilisation, Stepper
from gaussopt.integration.accelerations import CertifiedAccelerations, Rejected
from gaussopt.integration.recorder import Recorder
from gaussopt.integration.time_grid import TimeGrid
from gaussopt.integration.trajectory import COLUMNS, CONTACT_COLUMNS
from gaussopt.jit.kernel import SWITCHED_OFF
from gaussopt.modelling.lagrangian import LagrangianSystem
from gaussopt.modelling.problem import Problem
from gaussopt.simulation.batch_alone import CERTIFIED, STATES, LoneMembers
from gaussopt.simulation.batch_contacts import ContactSteps, CudaContacts
from gaussopt.simulation.batch_cuda import CudaBatch
from gaussopt.simulation.batch_members import BatchMembers
from gaussopt.simulation.batch_simd import MarchedBatch, SimdBatch
from gaussopt.simulation.setting_table import completed
from gaussopt.simulation.settings import refuse_large
from gaussopt.solving.step_solver import StepSolver
from gaussopt.storage.conventions import describe

if TYPE_CHECKING:
    import xarray as xr

MARCHING = 0.8
"""Share of the reported progress that integrating all members together counts for."""

DIMENSIONS = ("trajectory", "time", "coordinate", "row", "contact", "tangent")
"""Names of dimensions, which no parameter may have in a dataset."""


def check_size(members: BatchMembers, instants: TimeGrid, certify: bool) -> None:
    """Raise BadInput if the recording would not fit into usual memory."""
    N, n = members.q.shape
    m, k = getattr(members.system, "m", n), len(members.system.contact_names)
    size = 8 * N * instants.count * (2 * n + (n + m + 16 + 8 * k if certify else 0))
    what, instead = f"{instants.count} instants of {N} trajectories", ", or record less with certify=False"
    refuse_large(what, size, instants.every, instead)


class Batch:
    """The computation of a batch; `settings` are passed to `simulate` for members that are computed one by one."""

    def __init__(
        self, members: BatchMembers, method: Stepper, instants: TimeGrid, settings: Mapping[str, Any], certify: bool,
        progress: Callable[[float], None],
    ) -> None:  # fmt: skip
        self.members, self.method, self.instants = members, method, instants
        self.stabiliser: Stabilisation = settings["stabilisation"]
        self._settings, self.certify, self.progress = settings, certify, progress
        self.columns: dict[str, NDArray[np.float64]] = {}
        self.status = np.full(members.count, "", dtype=object)  # "": not computed yet
        self.message = np.full(members.count, "", dtype=object)
        self.reached = np.full(members.count, np.nan)
        self.timing: dict[str, float] = {}
        self.engine = "one by one"
        self._run: MarchedBatch | None = None
        self._collected = False
        for i, fault in members.faults.items():
            self.status[i], self.message[i] = str(Status.BAD_INPUT), fault

    def run(self, threads: int | None, device: str) -> None:
        """Compute every member to its end, or to the failure that stops it."""
        self._march_together(threads, device)
        self._go_alone(threads)
        self.progress(1.0)

    def interrupt(self) -> None:
        """Keep the states that unfinished members have reached, and set their status to interrupted."""
        if self._run is not None and not self._collected:
            self._collect(self._run, Status.INTERRUPTED)
        left = self.status == ""
        self.status[left] = str(Status.INTERRUPTED)
        self.message[left] = "Interrupted before this trajectory was computed by itself."

    def _march_together(self, threads: int | None, device: str) -> None:
        """Integrate all members together by generated code, if it exists; otherwise raise BadInput for a GPU."""
        reason, run = self._why_alone(), None
        if reason is None:
            contacts, cpu = bool(self.members.system.contact_names), device == "cpu"
            kind: type[MarchedBatch] = SimdBatch if cpu else CudaBatch
            if contacts:
                kind = ContactSteps if cpu else CudaContacts
            try:
                control = completed({name: self._settings[name] for name in ("rtol", "atol")})
                run = kind(
                    self.members, self.method, self.stabiliser, self.instants, self._settings["tolerance"], threads,
                    (control["rtol"], control["atol"]),
                )  # fmt: skip
            except NotCompiled as error:
                reason = str(error)
        if run is None:
            if device != "cpu":
                raise BadInput(f"device={device!r} cannot take this batch: {reason}; leave device out.")
            return
        self.engine, self._run = "side by side" if device == "cpu" else device, run
        self.timing["compile"] = run.compiling
        begin = perf_counter()
        run.march(lambda done: self.progress(MARCHING * done))
        self.timing["march"] = perf_counter() - begin
        if run.kernel is not None:
            self.timing["kernel"] = run.kernel
        self._collect(run, Status.SOLVED)

    def _why_alone(self) -> str | None:
        """Return the reason why the members cannot be integrated together; None if they can."""
        system = self.members.system
        if not modules.has_llvm():
            return SWITCHED_OFF
        if not isinstance(system, LagrangianSystem):
            return "the system is not given by energies (System.from_lagrangian)"
        if self.method.loop == "time-stepping":
            return CompiledTimeSteps.why_not(system, self.stabiliser)
        if system.contact_names:
            return f"it has contacts, which the stepper 'moreau-jean' can take, not {self.method.name!r}"
        return GeneratedAdvance.why_not(self.method, self.stabiliser)

    def _collect(self, run: MarchedBatch, status: Status) -> None:
        """Keep the results of members whose steps and certificates pass; the other members are computed one by one."""
        begin = perf_counter()
        if self.certify:
            run.certify()
        recorded, n = self.instants.recorded(run.steps), run.n
        sound = run.sound()
        for array in (run.states, run.table):
            if array is not None:
                array[:, recorded:] = np.nan
                array[~sound] = np.nan
        self.columns |= {"q": run.states[..., :n], "v": run.states[..., n:]}
        if run.table is not None:
            self.columns |= run.columns()
        t = float(self.instants.times[recorded - 1])
        message = f"Reached t = {t:g}."
        if run.steps == self.instants.steps:  # on a GPU true of fetched members; others are not `sound`
            status = Status.SOLVED
        if status is Status.INTERRUPTED:
            message = f"Interrupted after t = {t:.9g}; the motion up to there is kept."
        one_by_one = self.certify and run.table is None
        if one_by_one and status is Status.INTERRUPTED:
            message += " Its recorded states are not certified."
        sound &= self.status == ""  # members with faults already have a status
        if one_by_one and status is Status.SOLVED:
            for i in np.flatnonzero(sound):
                sound[i] = self._certify_alone(int(i), recorded)
        self.status[sound], self.message[sound], self.reached[sound] = str(status), message, t
        self._collected = True
        self.timing["verify"] = perf_counter() - begin

    def _certify_alone(self, i: int, recorded: int) -> bool:
        """Certify the recorded states of a member one by one, with `StepSolver`; return whether all pass."""
        n, one = self.members.q.shape[1], self.members.one(i)
        system = one.system if isinstance(one, Problem) else one
        motion = CertifiedAccelerations(
            system, StepSolver("gauss", "kkt", None, self._settings["tolerance"]), self.stabiliser
        )
        recorder = Recorder()
        try:
            for k, t in enumerate(self.instants.times[:recorded].tolist()):
                q, v = self.columns["q"][i, k].copy(), self.columns["v"][i, k].copy()
                recorder.add(*motion.row(t, q, v, motion.answer(t, q, v)))
        except (Rejected, BadInput):
            return False
        arrays = recorder.arrays(n)
        for name in CERTIFIED:
            self._column(name, arrays[name].shape[1:])[i, :recorded] = arrays[name]
        return True

    def _column(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the array of a variable; create it, filled with NaN, if there is none yet."""
        if name not in self.columns:
            self.columns[name] = np.full((self.members.count, self.instants.count, *shape), np.nan)
        return self.columns[name]

    def _go_alone(self, cores: int | None) -> None:
        begin = perf_counter()
        left = np.flatnonzero(self.status == "").tolist()
        share = (1.0 - MARCHING) if self._run is not None else 1.0
        alone = LoneMembers(self.members, self._settings, self.instants, self.certify)
        for count, (i, found) in enumerate(alone.run(left, cores), 1):
            for name, values in found.columns.items():
                self._column(name, values.shape[1:])[i] = values
            self.status[i], self.message[i], self.reached[i] = str(found.status), found.message, found.reached
            if found.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            self.progress(1.0 - share + share * count / len(left))
        if left:
            self.timing["alone"] = perf_counter() - begin

    def dataset(self, seconds: float) -> xr.Dataset:
        """Return all results as a dataset; `seconds` is the time that the batch took."""
        import xarray as xr

        members, dimensions = self.members, COLUMNS | CONTACT_COLUMNS
        n = members.q.shape[1]
        for name in STATES:
            self._column(name, (n,))
        variables: dict[str, Any] = {
            name: (("trajectory", "time", *dimensions[name]), self.columns[name])
            for name in dimensions
            if name in self.columns
        }
        variables |= {
            "status": ("trajectory", self.status.astype(str)), "message": ("trajectory", self.message.astype(str)),
            "reached": ("trajectory", self.reached),
        }  # fmt: skip
        coords: dict[str, Any] = {
            "trajectory": np.arange(members.count), "time": self.instants.times,
            "coordinate": list(members.system.coordinates(n)),
        }  # fmt: skip
        if any("contact" in dims for _, (dims, _) in variables.items()):
            coords["contact"] = list(members.system.contact_names)
        for name, key in _keys(members.varied, {*variables, *coords, *DIMENSIONS}).items():
            coords[key] = ("trajectory", np.asarray(members.values[name]), {"long_name": name} if key != name else {})
        problem, given, timing = members.problem, self._settings, {**self.timing, "total": seconds}
        attributes = {
            "problem": problem.name, "variant": problem.variant if isinstance(problem, Problem) else "",
            "stepper": self.method.name, "dt": given["dt"], "t_end": given["t_end"],
            "tolerance": str(given["tolerance"]), "stabilisation": self.stabiliser.name,
            "record_every": self.instants.every, "engine": self.engine, "timing": json.dumps(timing),
        }  # fmt: skip
        units = [problem.units.get(name, "") for name in coords["coordinate"]] if isinstance(problem, Problem) else None
        return describe(xr.Dataset(variables, coords, attributes), f"trajectories of {problem.name}", units)


def _keys(names: Sequence[str], taken: set[str]) -> dict[str, str]:
    """Return, for each parameter, a name that a dataset and its file can hold; it is unchanged if possible."""
    fits = {name: "".join(c if c.isalnum() or c in "_'" else "_" for c in name) or "p_" for name in names}
    keys: dict[str, str] = {}
    for name in sorted(names, key=lambda name: fits[name] != name or name in taken):
        key = fits[name]
        while key in taken:
            key = f"p_{key}"
        taken = taken | {key}
        keys[name] = key
    return {name: keys[name] for name in names}
