"""Table of the settings of `simulate`: default, allowed values, and whether a continuation must share the setting.

A test compares the signature of `simulate` with the table. The table determines the defaults, the values that are
checked by name, and the settings that a trajectory keeps because a continuation must share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gaussopt.core.errors import UnknownName
from gaussopt.core.tolerances import DEFAULT_TOLERANCE

MOST_STEPS = 1e9
"""Number of steps, or of instants of a control, above which a run is refused as a mistake."""


class Setting(NamedTuple):
    """A setting of `simulate`.

    Attributes
    ----------
    name : name in the signature
    default : value used if None is given
    choices, what : allowed values, and what messages call them
    kept : function (settings, loop) of a run that returns the value a continuation must share; None if it may differ
    """

    name: str
    default: Any = None
    choices: tuple[str, ...] = ()
    what: str = ""
    kept: Callable[[Any, Any], Any] | None = None


SETTINGS = (
    Setting("formulation", kept=lambda s, loop: s.formulation),
    Setting("solver", kept=lambda s, loop: s.solver),
    Setting("stepper", kept=lambda s, loop: s.method.name),
    Setting("dt", kept=lambda s, loop: s.control.dt),
    Setting("t_end"),
    Setting("rtol", 1e-9, kept=lambda s, loop: s.control.rtol),
    Setting("atol", 1e-9, kept=lambda s, loop: s.control.atol),
    Setting("tolerance", DEFAULT_TOLERANCE, kept=lambda s, loop: s.tolerance),
    Setting("stabilisation", "none"),
    Setting("warm_start", True, kept=lambda s, loop: s.warm_start),
    Setting("state", None, ("velocity", "quasi-velocity"), "state", lambda s, loop: loop.advance.motion.state),
    Setting("q0"),
    Setting("v0"),
    Setting("t0", 0.0),
    Setting("solver_options"),
    Setting("impact", "newton", kept=lambda s, loop: s.impact),
    Setting("accumulation", "stop", ("stop", "close"), "way through accumulations",
            lambda s, loop: "close" if s.rules.close else "stop"),
    Setting("events"),
    Setting("integrals"),
    Setting("outputs"),
    Setting("control"),
    Setting("step_folder"),
    Setting("keep_interrupted"),
    Setting("progress"),
    Setting("engine", "auto", ("auto", "interpreted", "compiled"), "engine", lambda s, loop: loop.advance.engine),
    Setting("record_every", 1, kept=lambda s, loop: s.record_every),
    Setting("start"),
    Setting("error_estimate"),
    Setting("on_singular", "warn", ("warn", "stop"), "way past singular positions"),
)  # fmt: skip
"""The settings, in the order of the signature."""

KEPT = tuple(x.name for x in SETTINGS if x.kept is not None)
"""Settings that a continuation shares, in addition to stabilisation, events and solver options."""

_DEFAULTS = {x.name: x.default for x in SETTINGS}


def completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which defaults replace None."""
    return {name: _DEFAULTS.get(name) if value is None else value for name, value in given.items()}


def check_choices(given: Mapping[str, Any]) -> None:
    """Raise UnknownName for a value that is not among the choices of its setting."""
    for x in SETTINGS:
        value = given.get(x.name)
        if x.choices and value is not None and value not in x.choices:
            raise UnknownName(x.what, value, x.choices)


def kept_of(settings: Any, loop: Any) -> dict[str, Any]:
    """Return the values, by the names in `KEPT`, that a continuation of a motion must share."""
    return {x.name: x.kept(settings, loop) for x in SETTINGS if x.kept is not None}
