"""Checks of the settings and other non-array entries of a saved motion, before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from gaussopt.core.errors import BadInput
from gaussopt.storage.schema import Count, Schema, check

META: Schema = {
    **dict.fromkeys(("problem", "formulation", "solver", "stepper", "stabilisation"), str),
    **dict.fromkeys(("dt", "t_end", "rtol", "atol"), float | None), "steps": Count,
    "tolerance": float | Literal["inf"], "parameters": dict[str, float], "solver_options": dict[str, str],
    **dict.fromkeys(("variant", "engine", "chosen_coordinates"), NotRequired[str]),
    "residuals": NotRequired[dict[str, float]], "output_units": NotRequired[dict[str, str]],
    "open_forces": NotRequired[dict[str, list[Count | str]]],
    **dict.fromkeys(("coordinates", "contacts", "rows", "without_rows", "units", "stand_ins", "compared_with"),
                    NotRequired[list[str]]),
    **dict.fromkeys(("evaluations", "iterations", "handed_over"), NotRequired[Count]),
}  # fmt: skip
"""Entries of `Trajectory.meta`."""

ENTRIES: Schema = {
    "worst": dict[str, float | None], "timing": dict[str, float], "warnings": list[str], "events": list[dict[str, Any]],
}  # fmt: skip
"""Entries of a saved motion besides its arrays, `meta` and `restart`."""

ENDED: Schema = {"ended": NotRequired[str], "continues": NotRequired[str | None]}
"""Entries of `Trajectory.restart` of a motion that cannot be continued."""

RESTART: Schema = {
    "ended": str, "continues": str | None, "key": str, "equations": list[float], "begin": dict[str, Any],
    "settings": {
        "events": list[str], "integrals": NotRequired[list[str]], "solver_options": dict[str, Any] | None,
        "stabilisation": dict[str, float | str],
    },
    "mark": {"rows": Count, "events": Count, "steps": Count, "memory": dict[str, Any]},
}  # fmt: skip
"""Entries of `Trajectory.restart` of a motion that can be continued."""


def check_entries(read: Mapping[str, Any]) -> None:
    """Check the ENTRIES of a saved motion; raises BadInput that names the first wrong entry."""
    check("the file", read, ENTRIES)
    for i, event in enumerate(read["events"]):
        check(f"event {i}", event, {"t": float, "kind": str})


def check_saved(meta: Any, restart: Any, instants: int, coordinates: int) -> None:
    """Check the entries `meta` and `restart` of a saved motion; raises BadInput that names the first wrong entry."""
    check("meta", meta, META)
    if len(meta.get("units", ())) not in (0, coordinates):
        raise BadInput(f"units of meta are {len(meta['units'])}, expected {coordinates}")
    continues = "mark" in restart
    check("restart", restart, RESTART if continues else ENDED)
    if continues and restart["mark"]["rows"] > instants:
        raise BadInput(f"rows in the mark of restart is {restart['mark']['rows']}, and {instants} instants are there")
    chosen = restart["settings"]["stabilisation"] if continues else {"name": ""}
    if [name for name, value in chosen.items() if isinstance(value, str)] != ["name"]:
        raise BadInput(f"stabilisation of settings of restart is {chosen!r:.60}, expected a name with numbers")
