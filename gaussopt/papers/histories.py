"""Forces, constraint drift and energy along motions, in one form for all papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gaussopt.core.step_data import Vector
from gaussopt.papers.report_parts import remarks, thin
from gaussopt.reporting.document import Figure, Gallery, Paragraph, Section, Table, Tex
from gaussopt.reporting.figures import plots

if TYPE_CHECKING:
    from gaussopt.integration.trajectory import Trajectory


def energy_residual(traj: Trajectory) -> Vector:
    """E(t) - E(0) - W(t) at the recorded instants, J; W is the work of the forces without a potential.

    W is integrated by Simpson's rule over the recorded instants, so that the residual has an error of its own of
    fourth order in their distance.
    """
    from scipy.integrate import cumulative_simpson

    work = cumulative_simpson(traj.power, x=traj.t, initial=0.0)
    return np.asarray(traj.energy - traj.energy[0] - work)


def forces_figure(name: str, traj: Trajectory, labels: Mapping[str, int], caption: str, unit: str) -> Figure:
    """Constraint forces over time.

    Parameters
    ----------
    name : str
    traj : Trajectory
    labels : label to the index of the multiplier
    caption : str
        What the multipliers are.
    unit : str
    """
    import pandas as pd

    cut = thin(len(traj.t))
    curves = {label: traj.lam[cut, i] for label, i in labels.items()}
    words = ", ".join(
        f"{label} between {traj.lam[:, i].min() + 0.0:.3g} and {traj.lam[:, i].max() + 0.0:.3g} {unit}"
        for label, i in labels.items()
    )
    svg = plots.lines(traj.t[cut], curves, "t / s", f"λ / {unit}", size=(5.0, 3.0), above=len(curves) > 2)
    return Figure(
        name, f"{caption.removesuffix('.')}: {words}.{remarks(curves)}",
        f"Constraint forces over {traj.t[-1]:g} s: {words}.", svg, pd.DataFrame({"t": traj.t[cut], **curves}),
    )  # fmt: skip


def balance_section(number: str, runs: Mapping[str, Trajectory], forces: Sequence[Figure], lead: str) -> Section:
    """Forces as figures, drift and energy as a table and figures.

    Parameters
    ----------
    number : str
        Of the paper.
    runs : label to motion
    forces : figures of `forces_figure`
    lead : str
        What to see.
    """
    rows = tuple(
        (label, v.t[-1], v.position_drift.max(), v.velocity_drift.max(), v.energy[0], v.energy[-1],
         float(np.abs(energy_residual(v)).max()))
        for label, v in runs.items()
    )  # fmt: skip
    table = Table(
        f"balance-{number}",
        "Constraint drift (largest violation of the constraints in position and velocity) and energy. The energy "
        "residual is the largest |E(t) − E(0) − W(t)|, W the work of the forces without a potential, by Simpson's rule "
        "over the recorded instants.",
        ("run", "end / s", "position drift", "velocity drift", "E at the start / J", "E at the end / J",
         "energy residual / J"),
        rows,
    )  # fmt: skip
    drift, energy = (
        _figure(f"paper-{number}-{name}", what, {k: of(v) for k, v in runs.items()}, label, log)
        for name, what, of, label, log in (
            ("balance-drift", "Constraint drift in velocity", _velocity_drift, "drift", True),
            ("balance-energy", "Mechanical energy", _energy, "E / J", False),
        )
    )
    blocks = (Paragraph(Tex(lead)), Gallery((*forces, drift, energy)), table)
    return Section(f"balance-{number}", "Forces, constraint drift and energy", blocks)


def _velocity_drift(traj: Trajectory) -> tuple[Vector, Vector]:
    cut = thin(len(traj.t))
    return traj.t[cut], traj.velocity_drift[cut]


def _energy(traj: Trajectory) -> tuple[Vector, Vector]:
    cut = thin(len(traj.t))
    return traj.t[cut], traj.energy[cut]


def _figure(name: str, what: str, curves: Mapping[str, tuple[Vector, Vector]], label: str, log: bool) -> Figure:
    import pandas as pd

    svg = plots.lines(
        {k: t for k, (t, _) in curves.items()}, {k: y for k, (_, y) in curves.items()}, "t / s", label,
        log=log, size=(5.0, 3.0), above=True,
    )  # fmt: skip
    unit = label.partition(" / ")[2]
    last = "; ".join(
        f"{k} at most {y.max():.1e}" if log else f"{k} from {y[0]:.4g} to {y[-1]:.4g} {unit}"
        for k, (_, y) in curves.items()
    )
    data = pd.concat([pd.DataFrame({"run": k, "t": t, "value": y}) for k, (t, y) in curves.items()])
    notes = remarks({k: y for k, (_, y) in curves.items()}, log=log)
    caption = f"{what} over time{' (logarithmic)' if log else ''}: {last}.{notes}"
    return Figure(name, caption, f"{what}: {last}.", svg, data)
