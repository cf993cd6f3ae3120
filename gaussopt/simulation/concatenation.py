"""Concatenation of a motion and its continuations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.core.errors import BadInput
from gaussopt.integration.trajectory import COLUMNS, CONTACT_COLUMNS, NAMED, Trajectory, WorstCertificate
from gaussopt.simulation.simulate import whole_message

ARRAYS = ("t", *COLUMNS, *CONTACT_COLUMNS)


def concatenate(motions: Iterable[Trajectory]) -> Trajectory:
    """Join a motion and its continuations, each made by `simulate(..., start=...)` from the previous motion.

    With a method of constant steps and the same engine, the result equals bit for bit what a single call to `simulate`
    up to the last end would record. A state that was recorded only because a part ended there is left out.

    Parameters
    ----------
    motions : the motions, in order of time

    Returns
    -------
    Trajectory
        It holds instants, events, warnings and worst certificates of all motions; status, failed step and settings of
        the last motion; the outputs that all motions have; sums of computing times and counts, where a step that two
        parts share counts twice; and sums of estimated errors, although it is not known how the error of a part grows
        in the next part.

    Raises
    ------
    BadInput
        If a motion does not continue the previous motion.

    Examples
    --------
    >>> import gaussopt as go
    >>> first = go.simulate("crank-slider", t_end=0.1, dt=1e-2)
    >>> second = go.simulate("crank-slider", start=first, t_end=0.2, dt=1e-2)
    >>> print(len(go.concatenate([first, second]).t))
    21
    """
    parts = list(motions)
    for part in parts:
        if not isinstance(part, Trajectory):
            raise BadInput(f"The motions hold a {type(part).__name__}; give a list of Trajectory objects.")
    if not parts:
        raise BadInput("There are no motions to join; give a list of Trajectory objects.")
    joined = parts[0]
    for number, part in enumerate(parts[1:], 2):
        if "key" not in joined.restart or part.restart.get("continues") != joined.restart["key"]:
            raise BadInput(
                f"Motion {number} does not continue the one before it; make it by simulate(..., start=...) of that one."
            )
        joined = _joined(joined, part)
    return joined


def _joined(first: Trajectory, last: Trajectory) -> Trajectory:
    rows, events = first.restart["mark"]["rows"], first.restart["mark"]["events"]
    if rows and len(last.t) and _state(first, rows - 1) == _state(last, 0):
        rows -= 1  # the last state of one part is the first of the next
    before: dict[str, Any] = {name: getattr(first, name)[:rows] for name in ARRAYS}
    arrays: dict[str, Any] = {name: getattr(last, name) for name in ARRAYS}
    meta = _meta(first.meta, last.meta)
    if first.contacts != last.contacts:  # contacts of time steps appear and disappear
        seen = [x for x, gap in zip(first.contacts, before["gap"].T, strict=True) if not np.isnan(gap).all()]
        meta["contacts"] = names = list(dict.fromkeys((*last.contacts, *seen)))
        for found, own in ((before, first.contacts), (arrays, last.contacts)):
            found.update({name: _of_contacts(name, found[name], own, names) for name in CONTACT_COLUMNS})
    arrays = {name: np.concatenate((before[name], x)) for name, x in arrays.items()}
    named: dict[str, Any] = {
        f"{kind}s": {x: np.concatenate((y[:rows], after[x])) for x, y in earlier.items() if x in after}
        for kind, earlier, after in ((kind, *(getattr(part, f"{kind}s") for part in (first, last))) for kind in NAMED)
    }
    open_forces = {**first.meta["open_forces"]}
    for name, found in last.meta["open_forces"].items():
        open_forces[name] = sorted({*open_forces.get(name, ()), *found})
    warnings = tuple(dict.fromkeys((*first.warnings, *last.warnings)))
    restart = {**last.restart, "continues": first.restart["continues"]}
    if "mark" in restart:
        mark = restart["mark"]
        restart["mark"] = {**mark, "rows": mark["rows"] + rows, "events": mark["events"] + events}
    worst = {
        x: max(getattr(first.worst, x), getattr(last.worst, x))
        for x in WorstCertificate.__slots__
        if x != "evaluations"
    }
    return replace(
        last, **arrays, **named, events=(*first.events[:events], *last.events), warnings=warnings,
        error_estimate=first.error_estimate + last.error_estimate,
        worst=WorstCertificate(**worst, evaluations=first.worst.evaluations + last.worst.evaluations),
        timing=_sum(first.timing, last.timing, {**first.timing, **last.timing}), restart=restart,
        meta=meta | {"open_forces": open_forces},
        message=whole_message(
            restart["ended"], open_forces, last.meta.get("rows", ()), arrays["forces_unique"], warnings,
            last.failed_step_file,
        ),
    )  # fmt: skip


def _of_contacts(column: str, values: Any, own: Sequence[str], names: Sequence[str]) -> Any:
    """Return a column of the contacts `names`, of which those that `own` lacks are absent."""
    found = np.full((len(values), len(names), *values.shape[2:]), np.nan if column == "gap" else 0.0)
    there = [i for i, name in enumerate(own) if name in names]
    found[:, [names.index(own[i]) for i in there]] = values[:, there]
    return found


def _state(motion: Trajectory, i: int) -> tuple[bytes, bytes, bytes]:
    return motion.t[i].tobytes(), motion.q[i].tobytes(), motion.v[i].tobytes()


def _sum(first: Mapping[str, Any], last: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: first.get(name, 0) + last.get(name, 0) for name in names}


def _meta(first: Mapping[str, Any], last: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings and number of steps of the last part, and the sums of the counts of both parts."""
    counts: Sequence[str] = [x for x in ("evaluations", "iterations", "handed_over") if x in last]
    found = {**last, **_sum(first, last, counts)}
    if "residuals" in last:
        found["residuals"] = {x: max(first["residuals"][x], size) for x, size in last["residuals"].items()}
    return found
