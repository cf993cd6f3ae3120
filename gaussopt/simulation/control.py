"""Control a motion: a user's function sets the inputs of the system at equal intervals, with every engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gaussopt.contact.activity import TOUCHING
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput, GaussoptError
from gaussopt.core.foreign import WRITES, Changed, call, call_with_copies
from gaussopt.core.output import Output
from gaussopt.core.status import Status
from gaussopt.core.stepper import Control
from gaussopt.integration.advance import Advance
from gaussopt.integration.recorder import Recorder
from gaussopt.integration.trajectory import Trajectory, WorstCertificate
from gaussopt.simulation.requested_outputs import with_outputs
from gaussopt.simulation.setting_table import MOST_STEPS


@dataclass(frozen=True)
class Controller:
    """A function that sets the inputs of a system at equal intervals, for `simulate(..., control=...)`.

    Between two of its instants, start + k period, the inputs are constant. A step ends at every instant, in each
    engine; compiled code goes on between them.

    Attributes
    ----------
    function : (t, q, v, outputs) -> inputs
        It gets the state, which it must not change, and the outputs of `simulate(outputs=...)` at that instant by name,
        of forces those under the earlier inputs (NaN at the start). It returns what it sets: of a system from energies
        or a model of bodies a mapping of parameters to values, with the same names each time; of a System of functions
        generalised forces, (n,), which are added to Q; of a MuJoCo model ctrl, (nu,).
    period : s

    Examples
    --------
    >>> import gaussopt as go
    >>> pull = go.Controller(lambda t, q, v, outputs: {"tau": -20.0 * v[0]}, period=0.01)
    >>> motion = go.simulate("crank-slider", control=pull, t_end=0.1, dt=1e-3)
    >>> print(motion.status, motion.outputs["control.tau"].shape)
    solved (101,)
    """

    function: Callable[[float, Vector, Vector, Mapping[str, float]], Any]
    period: float

    def __post_init__(self) -> None:
        """Refuse a function or period that cannot be used; raises BadInput."""
        if not callable(self.function):
            raise BadInput(f"The control is {self.function!r:.60}; give a function of (t, q, v, outputs).")
        if not isinstance(self.period, int | float | np.number) or not 0.0 < self.period < math.inf:
            raise BadInput(f"The period of a control is {self.period!r}; give a positive number of seconds.")

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))


class ControlledInputs:
    """The inputs of one motion at the instants of its control; for comparisons they are those of the motion again.

    Parameters
    ----------
    control : Controller
    begin, end : start and end of the motion, s
    outputs : outputs that the function gets
    names : names of the coordinates
    meta : entries of `Trajectory.meta` that outputs need

    Attributes
    ----------
    complete : whether the function is asked no more, and the last inputs stay
    """

    def __init__(
        self, control: Controller, begin: float, end: float, outputs: Mapping[str, Output], meta: Mapping[str, Any]
    ) -> None:  # fmt: skip
        self.control, self.complete, self._outputs, self._meta = control, False, outputs, meta
        self._grid = Control(end, control.period, 0.0, 0.0, origin=begin)
        self._instants: list[float] = []
        self._given: list[Any] = []
        self._values: list[dict[str, float]] = []

    @classmethod
    def of(cls, given: Mapping[str, Any], start: Any, rows: Sequence[str], outputs: Mapping[str, Output]) -> Self:
        """Make the inputs from the arguments of `simulate`, the start of the run, names of rows, and outputs.

        Raises BadInput if the control is invalid, or cannot be combined with another argument.
        """
        control, t0 = given["control"], given["t0"]
        if not isinstance(control, Controller):
            raise BadInput(f"control is {control!r:.60}; give go.Controller(function, period=...).")
        if given["start"] is not None:
            raise BadInput("control is given beside start, and no file holds what a control knows; give q0, v0, t0.")
        if given["integrals"]:
            raise BadInput("Integrals are not summed under a control, whose inputs jump; sum what is recorded.")
        if taken := [name for name in outputs if name.startswith("control.")]:
            raise BadInput(f"The output {taken[0]!r} has a name that the inputs have; choose another.")
        if (start.t_end - t0) / control.period > MOST_STEPS:
            raise BadInput(f"The period of the control is {control.period:g} s; its instants exceed {MOST_STEPS:g}.")
        meta = {"coordinates": list(start.system.coordinates(len(start.q))), "rows": list(rows),
                "parameters": start.parameters}  # fmt: skip
        return cls(control, t0, start.t_end, outputs, meta)

    @property
    def count(self) -> int:
        """Number of intervals of the motion."""
        return self._grid.grid_index(self._grid.t_end)

    def set(self, advance: Advance, whole: Control) -> Control:
        """Set the inputs at the present instant; return the part up to the next instant of a `whole` motion.

        Raises BadInput if the function fails, or returns no inputs of the system.
        """
        number = self._grid.grid_index(advance.t)
        fresh = number > len(self._given) and not self.complete
        given = self._asked(advance) if fresh else self._given[min(number, len(self._given)) - 1]
        where, before = f"The control {self.control.name!r} at t = {advance.t:.9g}", _levels(advance)
        try:
            values = advance.system.set_inputs(given, len(advance.q))
        except GaussoptError as error:
            raise BadInput(f"{where} returned no inputs: {error}") from None
        if fresh:
            _refuse_jumps(where, advance, before)
        if self._values and values.keys() != self._values[0].keys():
            raise BadInput(f"{where} sets {[*values]}, and {[*self._values[0]]} at the start; return the same names.")
        if fresh:
            self._instants.append(advance.t)
            self._given.append(given)
            self._values.append(values)
        end = self._grid.instant(number)
        if end <= advance.t:
            raise BadInput(f"{where} is due again at the same instant, by rounding: its period is too short here.")
        return replace(whole, t_end=end, instants=tuple(x for x in whole.instants if x < end))

    def _asked(self, advance: Advance) -> Any:
        """Return the result of the user's function at the present state."""
        t, outputs = advance.t, self._sensed(advance)
        what = f"The control {self.control.name!r} at t = {t:.9g}"

        def asked(t: float, q: Vector, v: Vector) -> Any:
            return deepcopy(call(what, self.control.function, t, q, v, outputs))  # the function may reuse its array

        try:
            return call_with_copies(asked, t, advance.q, advance.v)
        except Changed:
            raise BadInput(f"{what} {WRITES}.") from None

    def _sensed(self, advance: Advance) -> dict[str, float]:
        """Return the outputs at the present state, from the latest row; forces are not known at the start."""
        if not self._outputs:
            return {}
        recorder, system = advance.recorder, advance.system
        if len(recorder):
            recorder = recorder.latest()
        else:
            recorder = Recorder(len(system.contact_names))
            recorder.add(*advance.motion.row_without_answer(advance.t, advance.q, advance.v))
        meta = {**self._meta, "contacts": list(getattr(advance.recorder, "names", system.contact_names))}
        columns = recorder.arrays(len(advance.q))
        row = self.recorded(
            Trajectory(**columns, status=Status.SOLVED, message="", worst=WorstCertificate(), timing={}, meta=meta)
        )
        found = with_outputs(row, self._outputs).outputs
        return {name: float(values[-1]) for name, values in found.items() if name not in row.outputs}

    def recorded(self, motion: Trajectory) -> Trajectory:
        """Return the motion with the inputs as outputs `control.NAME`, and with the control in its metadata."""
        if not self._values:
            return motion
        at = np.searchsorted(self._instants, motion.t, side="right") - 1
        inputs = {f"control.{name}": np.array([x[name] for x in self._values])[at] for name in self._values[0]}
        about = {"function": self.control.name, "period": self.control.period, "inputs": [*self._values[0]]}
        return replace(motion, outputs=inputs, meta={**motion.meta, "control": about})


def _levels(advance: Advance) -> list[Vector]:
    """Return the gaps and the position residuals of a system; empty without parameters, which alone can move them."""
    system, at = advance.system, (advance.t, advance.q)
    found = (system.gaps(*at), system.position_residual(*at)) if system.parameters else (None, None)
    return [np.zeros(0) if x is None else x for x in found]


def _refuse_jumps(where: str, advance: Advance, before: list[Vector]) -> None:
    """Raise BadInput if new inputs moved the gap of a contact that touches before or after, or a constraint."""
    least = TOUCHING * (1.0 + float(np.abs(advance.q).max()))
    names = advance.system.contact_names, advance.system.row_names
    kinds = ("gap of contact", least), ("residual of constraint", math.inf)
    for known, (kind, near), old, new in zip(names, kinds, before, _levels(advance), strict=True):
        for i in np.flatnonzero((np.abs(new - old) > least) & (np.minimum(old, new) <= near)):
            raise BadInput(
                f"{where} moved the {kind} {repr(known[i]) if i < len(known) else i + 1} from {old[i]:.6g} to "
                f"{new[i]:.6g}, and bodies cannot follow at once: set forces, torques, springs or coefficients, or let "
                "the moved part be a body with a force on it."
            )
