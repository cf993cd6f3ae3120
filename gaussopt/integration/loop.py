"""The time loop of every motion: it takes steps, passes on positions, keeps restart data and reports progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.status import Status
from gaussopt.core.stepper import Control
from gaussopt.integration.accelerations import Rejected
from gaussopt.integration.advance import Advance, End
from gaussopt.integration.restart import Mark

Progress = Callable[[float], None]
"""A function that is called with the fraction of the motion that is done."""


class Inputs(Protocol):
    """Sets the inputs of a system at instants; see `gaussopt.simulation.control`."""

    def set(self, advance: Advance, whole: Control) -> Control:
        """Set the inputs at the present instant; return the part up to the next instant of a `whole` motion."""


class MotionLoop:
    """Integrates a motion from a state to its end by an `Advance` of any kind.

    Parameters
    ----------
    advance : Advance, takes the steps and holds the state that the motion has reached
    progress : function called with the fraction of the motion done, or None
    too_long : function called with the instant after every step, or None; if it returns True, the loop ends and sets
        `left`, so that the motion can begin anew in machine code
    inputs : sets the inputs of a system under a control, or None

    Attributes
    ----------
    kept : restart data: at the end of the motion for an adaptive method; for constant steps at the first state after
        the last multiple of dt before the end, which may have shortened the steps, and the search for events, there
    """

    def __init__(
        self, advance: Advance, progress: Progress | None = None, too_long: Callable[[float], bool] | None = None,
        inputs: Inputs | None = None,
    ) -> None:  # fmt: skip
        self.advance, self.progress, self.too_long, self.inputs = advance, progress, too_long, inputs
        self._whole = advance.control
        self.kept: Mark | None = None
        self.left = False

    def integrate(self, t: float, q: Vector, v: Vector) -> End:
        """Integrate from a state to the end; return status and message.

        Raises Rejected if a step has no accepted answer. Raises BadInput if the motion cannot begin at that state or is
        no longer finite.
        """
        return self._traced(lambda: self.enter(t, q, v))

    def enter(self, t: float, q: Vector, v: Vector) -> None:
        """Begin at a state; raises what `integrate` raises."""
        a = self.advance
        a.t, a.q, a.v, a.origin = t, q, v, t
        if self.inputs is not None:
            a.control = self.inputs.set(a, self._whole)
            a.motion.forget()
        a.begin()

    def resume(self, mark: Mark) -> End:
        """Continue from the restart data of a loop with the same settings, exactly as that loop would have done.

        Raises what `integrate` raises.
        """
        return self._traced(lambda: self._recall(mark))

    def forward(self) -> End | None:
        """Take one or more steps and pass on the position; return status and message if the motion ends, else None."""
        ended = self._renewed() or self.advance.take()
        if ended is None and self.advance.looks is not None:
            self.advance.looks.at(self.advance.t, self.advance.q)
        return ended

    def _renewed(self) -> End | None:
        """Set the inputs where the control is due; return status and message if the motion ends there."""
        a = self.advance
        if self.inputs is None or a.t < a.control.t_end:
            return None
        rows = len(a.recorder)
        ended = a.renew(self.inputs.set(a, self._whole))
        if len(a.recorder) > rows:
            a.recorder.replaced.append(rows - 1)  # same state, earlier inputs
        return ended

    def _recall(self, mark: Mark) -> None:
        a = self.advance
        a.t, a.q, a.v, a.origin, a.steps = mark.t, mark.q, mark.v, mark.origin, mark.steps
        a.control = replace(a.control, origin=mark.origin)
        try:
            a.recall(mark.memory)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(
                f"What the motion to continue holds for that is damaged ({error!r:.80}); use a copy, or begin anew."
            ) from None

    def _traced(self, enter: Callable[[], None]) -> End:
        try:
            enter()
            return self._go_on()
        except (BadInput, Rejected):
            self.advance.trace_failure()
            raise

    def _go_on(self) -> End:
        advance, interval, known = self.advance, 0, None
        begin, end = advance.t, self._whole.t_end
        while advance.t < end:
            if known != (advance.control, advance.origin):
                known = advance.control, advance.origin
                grid = replace(advance.control, origin=advance.origin)
            if (number := grid.grid_index(advance.t)) != interval:
                self.kept, interval = self._mark(), number
            ended = self.forward()
            if ended is not None:
                return ended
            if self.too_long is not None and self.too_long(advance.t):
                self.left = True
                return Status.INTERRUPTED, "The motion begins anew as machine code."
            if self.progress is not None:
                self.progress((advance.t - begin) / (end - begin))
        if advance.method.adaptive:
            self.kept = self._mark()
        return Status.SOLVED, advance.reached()

    def _mark(self) -> Mark:
        a = self.advance
        return Mark(a.t, a.q, a.v, a.origin, a.steps, len(a.recorder), len(a.events), a.memory())
