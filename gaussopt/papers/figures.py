"""Draw curves, and the forces, drift and energy of motions, and write remarks for captions; used by all papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.integrate import cumulative_simpson

from gaussopt.core.arrays import Vector
from gaussopt.integration.trajectory import Trajectory
from gaussopt.reporting.document import Figure, Gallery, Paragraph, Section, Tex
from gaussopt.reporting.figures import plots
from gaussopt.reporting.texts import Texts


def line_figure(
    name: str, caption: str, alt: str, x: Vector | Mapping[str, Vector], curves: Mapping[str, Vector],
    labels: tuple[str, str], *, data: pd.DataFrame | None = None, columns: tuple[str, str] = ("t", "curve"),
    **how: Any,
) -> Figure:  # fmt: skip
    """Return a figure of curves with its data; `x` is a common abscissa, or maps each curve to an abscissa.

    `data` are the curves by default, with the abscissa in `columns[0]` and, if each curve has another abscissa, the
    labels of the curves in `columns[1]`. `labels` are the axes' labels, `how` further arguments of `plots.lines`.
    """
    if data is None and isinstance(x, Mapping):
        data = pd.concat([pd.DataFrame({columns[1]: k, columns[0]: x[k], "value": y}) for k, y in curves.items()])
    elif data is None:
        data = pd.DataFrame({columns[0]: x, **curves})
    return Figure(name, caption, alt, plots.lines(x, curves, *labels, **how), data)


def thin(length: int, points: int = 800) -> slice:
    """Return a slice that keeps about `points` points of a curve."""
    return slice(None, None, max(1, length // points))


def remarks(curves: Mapping[str, Vector], *, log: bool = False) -> str:
    """Return remarks for a caption: which curves coincide and, if any value is zero, where zeros are drawn.

    Curves with a common abscissa coincide if they differ nowhere by more than half a percent of the plotted range.
    """
    drawn = {k: np.log10(np.maximum(np.abs(y), plots.ZERO_IS)) if log else np.asarray(y) for k, y in curves.items()}
    if not drawn:
        return ""
    height = max(float(y.max()) for y in drawn.values()) - min(float(y.min()) for y in drawn.values())
    together: list[list[str]] = []
    for label, y in drawn.items():
        for group in together:
            head = drawn[group[0]]
            if len(head) == len(y) and float(np.abs(head - y).max()) <= 0.005 * height:
                group.append(label)
                break
        else:
            together.append([label])
    if len(drawn) > 2 and len(together) == 1:
        words = " All curves coincide."
    else:
        named = [[f"'{label}'" for label in g] for g in together if len(g) > 1]
        words = "".join(f" The curves {', '.join(g[:-1])} and {g[-1]} coincide." for g in named)
    zeros = log and any(bool((np.abs(y) < plots.ZERO_IS).any()) for y in curves.values())
    return words + f" Zeros are drawn at {plots.ZERO_IS:.0e}." * zeros


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
