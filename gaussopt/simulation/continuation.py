"""Continuation of a motion: the data that a trajectory keeps for it, and checks of a user's settings against them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.display import listed
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stabilisation
from gaussopt.core.system import AbstractSystem
from gaussopt.integration import stabilisation
from gaussopt.integration.restart import Mark
from gaussopt.integration.trajectory import Trajectory
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find_problem
from gaussopt.modelling.registered import registered_problem
from gaussopt.simulation.setting_table import KEPT
from gaussopt.storage.checksums import checksum

GOLDEN = 0.618033988749895
"""The golden ratio minus 1; its multiples modulo 1 serve as weights, unrelated to the numbers in any equations."""

SAME = 1e-8
"""Difference of equations, relative to their largest number, that rounding errors on another machine may cause."""

CONTINUABLE = (Status.SOLVED, Status.INTERRUPTED)

OWN_START = "to begin a motion of its own at its last state, give q0, v0 and t0"


def restart_of(settings: Mapping[str, Any], begin: Mark, first: StepData, mark: Mark) -> dict[str, Any]:
    """Return the data that a trajectory keeps for its continuation.

    Parameters
    ----------
    settings : the settings named in `KEPT`, and stabilisation, events (their names) and solver_options
    begin : the start of the motion, as the user gave it
    first : the step data at the start of the motion
    mark : state of the loop from which a continuation goes on
    """
    kept = {
        "settings": {**settings, "stabilisation": as_mapping(settings["stabilisation"])},
        "begin": begin.to_mapping(), "equations": equations(first).tolist(), "mark": mark.to_mapping(),
    }  # fmt: skip
    where = {x: value for x, value in kept["mark"].items() if x not in ("rows", "events")}
    return {**kept, "key": checksum({"mark": where, "begin": kept["begin"], "settings": kept["settings"]})}


def as_mapping(stabiliser: Stabilisation) -> dict[str, Any]:
    """Return name and parameters of a stabilisation as a mapping."""
    known = is_dataclass(stabiliser) and not isinstance(stabiliser, type)
    return {"name": stabiliser.name, **(asdict(stabiliser) if known else {})}  # type: ignore[call-overload]


def equations(step: StepData) -> Vector:
    """Return a few numbers that identify the equations at a state: sizes, and weighted sums of their entries."""
    n, m, k = (1.0 + np.arange(size) * GOLDEN % 1.0 for size in (step.n, step.m, step.k))
    sums = [n @ (step.M @ n), n @ step.force, m @ (step.J @ n), m @ step.gamma, k @ (step.J_N @ n), k @ step.zeta_N]
    sums += [k @ (step.J_T.sum(axis=1) @ n), k @ step.mu] if step.k else []
    return np.array([step.n, step.m, step.k, *sums], dtype=np.float64)


class Continuation:
    """A motion to continue, which the constructor checks.

    Parameters
    ----------
    start : Trajectory, or the path of a trajectory file

    Raises BadInput if the motion cannot be continued.
    """

    def __init__(self, start: Any) -> None:
        motion = Trajectory.load(start) if isinstance(start, str | os.PathLike) else start
        if not isinstance(motion, Trajectory):
            raise BadInput(f"start is {start!r:.60}; give a Trajectory, or the file of one.")
        self.motion, self.kept = motion, motion.restart
        if motion.status not in CONTINUABLE:
            raise BadInput(
                f"The motion to continue ended with the status {motion.status}, and no motion goes on from there "
                f"({motion.message.rstrip('.')}); {OWN_START}."
            )
        if "control" in motion.meta:
            raise BadInput(
                "The motion to continue was under a control, and what its function remembers is in no file; "
                f"{OWN_START}, and the control again."
            )
        if "mark" not in self.kept:
            raise BadInput(f"The motion to continue does not hold what its steps depended on; {OWN_START}.")
        try:
            self.mark = Mark.of(self.kept["mark"])
            self._begin, self._settings = Mark.of(self.kept["begin"]), dict(self.kept["settings"])
            self._stabiliser = dict(self._settings["stabilisation"])
        except (LookupError, TypeError, ValueError) as error:
            raise BadInput(f"What the motion to continue holds for that is damaged: {error}.") from None
        last = motion.events[-1] if motion.events else {}
        if motion.status is Status.SOLVED and last.get("terminal"):
            raise BadInput(
                f"The motion to continue ended at its event {last['kind']!r}, as it would again; {OWN_START}."
            )

    def problem(self, name: str | None = None) -> Problem:
        """Return the problem of the motion, with its parameters; `name`, a name or file, replaces the recorded name."""
        meta = self.motion.meta
        try:
            entry = registered_problem(meta["problem"]) if name is None else find_problem(name)
        except UnknownName:
            if name is not None:
                raise
            raise BadInput(
                f"The motion to continue is of {meta['problem']!r}, which has no registered name; give its problem or "
                "system, or the file that defines it, too."
            ) from None
        known = {p.name for p in entry.parameters}
        if name is not None and not known.issuperset(meta["parameters"]):
            return entry  # not the motion's problem: `check` will refuse it
        variant = {"variant": meta["variant"]} if meta.get("variant") in entry.variants else {}
        return entry.at(**{**variant, **meta["parameters"]})

    def filled(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Complete a user's settings by those of the motion; raises BadInput where the two differ."""
        for name in ("q0", "v0", "t0"):
            if given[name] is not None:
                raise BadInput(f"{name} is given beside start; a motion that is continued has its state.")
        found = dict(given)
        for name in KEPT:
            kept = self._settings.get(name)
            if given[name] is not None and (name, given[name]) != ("engine", "auto"):
                self._compare(name, given[name], kept)
            found[name] = kept
        options = {k: str(x) for k, x in (self._settings["solver_options"] or {}).items()}
        if given["solver_options"] is None:
            found["solver_options"] = self._settings["solver_options"]
        else:
            self._compare("solver_options", {k: str(x) for k, x in given["solver_options"].items()}, options)
        found["stabilisation"] = self._stabilisation(given["stabilisation"])
        return found | {"q0": self._begin.q, "v0": self._begin.v, "t0": self._begin.t}

    def _stabilisation(self, given: Any) -> Any:
        kept = self._stabiliser
        if given is not None:
            asked = as_mapping(stabilisation.make(given))
            self._compare("stabilisation", asked, kept)
            return given
        known = stabilisation.STABILISATIONS.get(kept["name"])
        if known is None:
            raise BadInput(f"The motion to continue was stabilised by {kept['name']!r}; give that object again.")
        if set(kept) != set(as_mapping(known)):
            raise BadInput(f"The motion to continue was stabilised by {_word(kept)}, which is damaged; {OWN_START}.")
        return replace(known, **kept)  # type: ignore[type-var]

    @staticmethod
    def _compare(name: str, given: Any, kept: Any) -> None:
        if given != kept:
            raise BadInput(
                f"The motion to continue was computed with {name} = {_word(kept)}, and {_word(given)} is asked for; a "
                f"continuation has the settings of its motion ({OWN_START})."
            )

    def check(self, entry: Problem | AbstractSystem) -> None:
        """Raise BadInput if the problem's name, variant, parameters or coordinates are not those of the motion."""
        meta, name, variant = self.motion.meta, entry.name, ""
        if isinstance(entry, Problem):
            name, variant, parameters = entry.name or entry.system.name, entry.variant, entry.parameter_values
        else:
            parameters = dict(entry.parameters)
        self._compare("problem", name, meta["problem"])
        self._compare("variant", variant, meta["variant"])
        for key in sorted({*parameters, *meta["parameters"]}):
            self._compare(key, parameters.get(key), meta["parameters"].get(key))
        there = self.motion.coordinates
        here = entry.coordinates if isinstance(entry, Problem) else entry.coordinates(len(there))
        self._compare("the coordinates", listed(here), listed(there))

    def check_first(self, name: str, events: list[str], integrals: list[str], first: StepData) -> None:
        """Raise BadInput if the names of events or integrals, or the equations at the start, have changed."""
        self._compare("events", events, self._settings["events"])
        self._compare("integrals", integrals, self._settings.get("integrals", []))
        here, there = equations(first), np.array(self.kept["equations"])
        if here.shape != there.shape or not (np.abs(here - there) <= SAME * (1.0 + np.abs(there).max())).all():
            raise BadInput(
                f"The equations of {name!r} are not those of the motion to continue, which has the same name and the "
                "same parameters; continue it with the system that it was computed with."
            )

    def check_end(self, t_end: float) -> None:
        """Raise BadInput if the motion has already reached this end."""
        reached = max(self.mark.t, float(self.motion.t[-1]) if len(self.motion.t) else self.mark.t)
        if not t_end > reached:
            raise BadInput(
                f"t_end is {t_end:g}, and the motion to continue is known up to t = {reached:.9g}; give a later end."
            )


def _word(value: Any) -> str:
    if isinstance(value, dict) and "name" in value:
        rest = ", ".join(f"{k}={x:g}" for k, x in value.items() if k != "name")
        return f"{value['name']}{rest and f' ({rest})'}"
    return str(value if not isinstance(value, Path) else value.name) or "none"
