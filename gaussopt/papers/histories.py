"""Forces, constraint drift and energy along motions, in the same form for all papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.integrate import cumulative_simpson

from gaussopt.core.arrays import Vector
from gaussopt.integration.trajectory import Trajectory
from gaussopt.papers.figures import line_figure, remarks, thin
from gaussopt.reporting.document import Figure, Gallery, Paragraph, Section, Tex
from gaussopt.reporting.texts import Texts

texts = Texts(__file__)


def energy_residual(traj: Trajectory) -> Vector:
    """Return E(t) - E(0) - W(t) at the recorded instants, J; W is the work of the forces without a potential.

    W is integrated by Simpson's rule over the recorded instants; its error is of fourth order in their spacing.
    """
    work = cumulative_simpson(traj.power, x=traj.t, initial=0.0)
    return np.asarray(traj.energy - traj.energy[0] - work)


def forces_figure(name: str, traj: Trajectory, labels: Mapping[str, int], caption: str, unit: str) -> Figure:
    """Draw constraint forces over time; `labels` maps the label of each curve to the index of a multiplier."""
    cut = thin(len(traj.t))
    curves = {label: traj.lam[cut, i] for label, i in labels.items()}
    words = ", ".join(
        f"{label} between {traj.lam[:, i].min() + 0.0:.3g} and {traj.lam[:, i].max() + 0.0:.3g} {unit}"
        for label, i in labels.items()
    )
    return line_figure(
        name, f"{caption.removesuffix('.')}: {words}.{remarks(curves)}",
        f"Constraint forces over {traj.t[-1]:g} s: {words}.", traj.t[cut], curves, ("t / s", f"λ / {unit}"),
        size=(5.0, 3.0), above=len(curves) > 2,
    )  # fmt: skip


def balance_section(number: str, runs: Mapping[str, Trajectory], forces: Sequence[Figure], lead: str) -> Section:
    """Return a section of a paper with figures of forces (`forces_figure`), and drift and energy of its motions."""
    rows = (
        (label, v.t[-1], v.position_drift.max(), v.velocity_drift.max(), v.energy[0], v.energy[-1],
         float(np.abs(energy_residual(v)).max()))
        for label, v in runs.items()
    )  # fmt: skip
    drift, energy = (
        _figure(f"paper-{number}-{name}", what, runs, quantity, label, log)
        for name, what, quantity, label, log in (
            ("balance-drift", "Constraint drift in velocity", "velocity_drift", "drift", True),
            ("balance-energy", "Mechanical energy", "energy", "E / J", False),
        )
    )
    table = texts.table("balance", rows, anchor=f"balance-{number}")
    blocks = (Paragraph(Tex(lead)), Gallery((*forces, drift, energy)), table)
    return Section(f"balance-{number}", "Forces, constraint drift and energy", blocks)


def _figure(name: str, what: str, runs: Mapping[str, Trajectory], quantity: str, label: str, log: bool) -> Figure:
    t, curves = ({k: getattr(v, of)[thin(len(v.t))] for k, v in runs.items()} for of in ("t", quantity))
    unit = label.partition(" / ")[2]
    last = "; ".join(
        f"{k} at most {y.max():.1e}" if log else f"{k} from {y[0]:.4g} to {y[-1]:.4g} {unit}" for k, y in curves.items()
    )
    caption = f"{what} over time{' (logarithmic)' if log else ''}: {last}.{remarks(curves, log=log)}"
    return line_figure(
        name, caption, f"{what}: {last}.", t, curves, ("t / s", label), columns=("t", "run"), log=log, size=(5.0, 3.0),
        above=True,
    )  # fmt: skip
