"""Display of a motion: a text of at most three lines, a table with a figure, and curves selected by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.animation.animate import AnimatedMotion, animated
from gaussopt.animation.space_page import SpaceMotion
from gaussopt.core import display
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.motion import RecordedMotion
from gaussopt.core.status import Status
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.problem import Problem
from gaussopt.plotting import curves
from gaussopt.plotting.curves import Curve
from gaussopt.plotting.figures import one_or_all, plain_figure, pyplot_figure, svg_of
from gaussopt.plotting.svg import data_uri

LETTERS = {"q": "coordinates", "v": "velocities", "a": "accelerations", "lam": "lam", "forces": "forces"}

DEFAULT = ("coordinates", "outputs", "forces", "drift", "energy")
"""Groups of curves that are drawn if no names are given."""

FORCES, TORQUES = ("x", "y", "z", "across", "length", "height"), ("angle", "tilt", "turn")
"""Names of joint rows, without trailing numbers, whose multipliers are forces in N, and torques in N m."""

FIRST_EVENTS, LAST_EVENTS = 8, 4
"""Numbers of events shown at the beginning and at the end of a long list."""

MOST_POINTS = 4000
"""Largest number of instants in the figure of a notebook's table."""


class Events(tuple[dict[str, Any], ...]):
    """The events of a motion in the order of time, each a dictionary that is printed on one line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(self.lines()) or "no events"

    def lines(self, where: str = "") -> list[str]:
        """Return one line per event; if there are many, only the first and last. `where` ends the line between them."""
        lines = [f"event at t = {event['t']:.12g}: {_event_words(event)}" for event in self]
        left_out = len(lines) - FIRST_EVENTS - LAST_EVENTS
        if left_out <= 1:
            return lines
        return [*lines[:FIRST_EVENTS], f"({left_out} more events{where})", *lines[-LAST_EVENTS:]]


def _event_words(event: Mapping[str, Any]) -> str:
    who = event.get("contact") or ", ".join(event.get("contacts", []))
    more = {k: event[k] for k in ("Lam_N", "energy_change", "gain", "time_estimate", "error") if k in event}
    extra = ", ".join(f"{k} = {', '.join(f'{x:.6g}' for x in np.ravel(v))}" for k, v in more.items())
    return " ".join(part for part in (event["kind"].replace("_", " "), who, f"({extra})" if extra else "") if part)


class ShownMotion(RecordedMotion):
    """Texts, tables and figures of a motion; the derived class `Trajectory` holds the data."""

    # -- figures -----------------------------------------------------------------------------------

    def plot(self, *names: str, ax: Any = None, label: str = "") -> Any:
        """Draw quantities and events over time; quantities of equal kind and unit share a panel.

        Parameters
        ----------
        names : columns of `to_pandas`, such as "theta1", "v_theta1", "lam3" or "lam_N_A", or groups of columns:
            coordinates (q), velocities (v), accelerations (a), lam, lam_N, lam_T, forces (all three), gap, slip, drift,
            energy, error, outputs, or the name of one output. If no name is given: coordinates, outputs, forces,
            drift and energy, as far as the motion has them.
        ax : axes of matplotlib to draw on, one for each panel; a new figure of pyplot if not given. If the axes hold
            curves of another motion, the colour cycle continues.
        label : name of this motion in the legend of a figure of several motions; it follows the name of each curve

        Returns
        -------
        matplotlib.axes.Axes, or an array of Axes if there are several panels; `ax.figure` is the figure, which
        `gaussopt.save_figure` can save

        Raises UnknownName for an unknown name, BadInput if `ax` holds the wrong number of axes or nothing was
        recorded.
        """
        return one_or_all(self.draw(*names, onto=pyplot_figure if ax is None else ax, label=label))

    def draw(self, *names: str, onto: Any = plain_figure, every: int = 1, label: str = "") -> list[Any]:
        """Draw every `every`-th instant on the axes `onto`, or on the axes of a new figure, and return the axes."""
        known = {curve.name: curve for curve in self._curves(every)}
        groups = self._groups(known)
        wanted = names or tuple(name for name in DEFAULT if groups[name])
        if not len(self.t) or not wanted:
            raise BadInput(f"There is nothing to draw: {self.message}")
        found = curves.chosen(known, groups, wanted, "this motion")
        if label:
            found = [replace(c, label=label if len(found) == 1 else f"{c.name}, {label}") for c in found]
        return curves.draw(self.t[::every], found, [(float(e["t"]), str(e["kind"])) for e in self.events], onto)

    def _curves(self, every: int) -> Iterator[Curve]:
        """Yield all curves of the motion, thinned out to every `every`-th instant."""

        def curve(name: str, values: Vector, what: str, unit: str = "", log: bool = False) -> Curve:
            return Curve(name, values[::every], what, unit, log)

        units = [*self.meta.get("units", ()), *[""] * len(self.coordinates)]
        for block, prefix, what, per in (
            (self.q, "", "coordinate", ""), (self.v, "v_", "velocity", "/s"), (self.a, "a_", "acceleration", "/s²"),
        ):  # fmt: skip
            for i, name in enumerate(self.coordinates):
                yield curve(prefix + name, block[:, i], what, f"{units[i]}{per}" if units[i] else "")
        for i, name in enumerate(self.rows):
            row = name.rpartition(".")[2].rstrip("12") if "." in name else ""
            kind, unit = ("torque", "N m") if row in TORQUES else ("force", "N" if row in FORCES else "")
            yield curve(name, self.lam[:, i], f"constraint {kind}", unit)
        for i, contact in enumerate(self.contacts):
            yield curve(f"lam_N_{contact}", self.lam_N[:, i], "contact force", "N")
            yield curve(f"gap_{contact}", self.gap[:, i], "gap", "m")
            d = self.lam_T.shape[2]
            for j in range(d):
                end = contact if d == 1 else f"{contact}{j + 1}"
                yield curve(f"lam_T_{end}", self.lam_T[:, i, j], "contact force", "N")
                yield curve(f"slip_{end}", self.slip[:, i, j], "slip", "m/s")
        of_outputs = self.meta.get("output_units", {})
        for name, values in self.outputs.items():
            yield curve(name, values, f"output {name.partition('.')[0]}", of_outputs.get(name, ""))
        for name in ("position_drift", "velocity_drift"):
            yield curve(name, getattr(self, name), "constraint drift", log=True)
        for name, energy in (("kinetic", self.kinetic), ("potential", self.potential), ("total", self.energy)):
            yield curve(name, energy, "energy", "J")
        yield curve("power", self.power, "power", "W")
        yield curve("relative_error", self.relative_error, "relative error", "1", log=True)
        yield curve("error_bound", self.error_bound, "error bound", "kg^½ m/s²", log=True)

    def _groups(self, known: Mapping[str, Curve]) -> dict[str, list[str]]:
        """Return the names of the curves in each group; curves that hold only NaN are left out."""

        def of(*beginnings: str, what: str = "") -> list[str]:
            return [
                name for name, c in known.items()
                if (c.what == what if what else name.startswith(beginnings)) and np.isfinite(c.values).any()
            ]  # fmt: skip

        contact = {name: of(f"{name}_") if self.contacts else [] for name in ("lam_N", "lam_T", "gap", "slip")}
        lam = [*of(what="constraint force"), *of(what="constraint torque")]
        drift = of(what="constraint drift") if self.lam.shape[1] else []
        outputs = {x.partition(".")[0]: of(what=f"output {x.partition('.')[0]}") for x in self.outputs}
        groups = outputs | {
            "outputs": [x for members in outputs.values() for x in members],
            "coordinates": of(what="coordinate"), "velocities": of(what="velocity"),
            "accelerations": of(what="acceleration"), "lam": lam,
            "forces": [*lam, *contact["lam_N"], *contact["lam_T"]], **contact, "drift": drift,
            "energy": of(what="energy"), "error": of("relative_error"),
        }  # fmt: skip
        return groups | {letter: groups[name] for letter, name in LETTERS.items()}

    def animate(
        self, *, problem: str | Problem | AbstractSystem | None = None, sketch: Any = None
    ) -> AnimatedMotion | SpaceMotion:
        """Return the motion as an animation; a notebook shows it with a time slider, and its `save` writes it.

        Raises BadInput if the problem has no sketch and none can be derived, or if nothing was recorded.

        Parameters
        ----------
        problem : name, Problem or System to draw; the problem that was simulated if not given
        sketch : Sketch or callable (q, parameters) -> shapes, to draw instead of the problem's sketch
        """
        return animated(self, problem, sketch)

    # -- texts -------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        title = f"{self.meta.get('problem', 'a motion')}, {self.status}, {self._extent()}"
        told = "; ".join(x for x in (self._inexact(), self._certified()) if x)
        # The message names the reason of an early end, the forces that are not unique, and the warnings.
        plain = self.status is Status.SOLVED and not self.meta.get("open_forces") and not self.warnings
        return display.lines(type(self).__name__, title, self._content(), told, *(() if plain else (self.message,)))

    def _extent(self) -> str:
        if not len(self.t):
            return "nothing recorded"
        if len(self.t) == 1:
            return f"1 instant, t = {self.t[0]:g} s"
        return f"{display.counted(len(self.t), 'instant')} from t = {self.t[0]:g} to {self.t[-1]:.6g} s"

    def _content(self) -> str:
        counts = {"coordinate": self.q.shape[1], "constraint force": self.lam.shape[1],
                  "contact": len(self.contacts), "event": len(self.events)}  # fmt: skip
        return f"{', '.join(display.counted(count, one) for one, count in counts.items())}; {self._method()}"

    def _method(self) -> str:
        return f"{self.method_words}, {self.meta.get('stepper', '?')}"

    @property
    def method_words(self) -> str:
        """Formulation and solver in words, and the pairs that replaced them where contacts stick."""
        others = " and ".join(self.meta.get("stand_ins", ()))
        pair = f"{self.meta.get('formulation', '?')} by {self.meta.get('solver', '?')}"
        return f"{pair} ({others} where contacts stick)" if others else pair

    def _certified(self) -> str:
        worst = self.worst
        known = (
            self.status in (Status.SOLVED, Status.ACCUMULATION)
            and worst.evaluations > 0
            and np.isfinite(worst.relative_error)
        )
        return f"accelerations certified: {worst.words}" if known else ""

    def _inexact(self) -> str:
        """Return a text with the largest estimated error of a coordinate; "" if no error is known."""
        error = np.where(np.isfinite(self.error_estimate), self.error_estimate, -1.0)
        i = int(np.argmax(error)) if len(error) else -1
        return f"estimated error up to {error[i]:.2g} ({self.coordinates[i]})" if i >= 0 and error[i] >= 0 else ""

    def _repr_html_(self) -> str:
        rows = [
            ("status", self.status), ("recorded", self._extent()), ("method", self._method()),
            *([("accuracy", self._inexact())] if self._inexact() else []),
            *([("certified", self._certified())] if self._certified() else []),
            ("coordinates", display.listed(self.coordinates)),
            *([("contacts", display.listed(self.contacts))] if self.contacts else []),
            *([("events", display.counted(len(self.events), "event"))] if self.events else []),
            ("message", self.message), *(("warning", text) for text in self.warnings),
        ]  # fmt: skip
        title = f"Motion of {self.meta.get('problem', 'a system')}"
        return display.table(title, rows, below=self._figure(title))

    def _figure(self, title: str) -> str:
        """Return an image of the coordinates over time; "" if there is nothing to draw."""
        if len(self.t) < 2 or not np.isfinite(self.q).any():
            return ""
        every = -(-len(self.t) // MOST_POINTS)
        axes = self.draw("coordinates", every=every)
        return display.picture(data_uri(svg_of(axes[0].figure)), f"{title}: its coordinates over time.")
