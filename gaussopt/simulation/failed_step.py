"""The file of a step that was not accepted."""

from __future__ import annotations

import json
from pathlib import Path

from gaussopt.core.errors import BadInput
from gaussopt.core.files import write_text
from gaussopt.core.step_data import StepData


def save_failed(step: StepData | None, name: str, message: str, folder: str | Path | None) -> str | None:
    """Save a step in a folder that exists; the path, or None where nothing was saved."""
    if step is None or folder is None or not Path(folder).is_dir():
        return None
    safe = "".join(c if c.isalnum() else "-" for c in name)
    path = Path(folder) / f"gaussopt-step-{safe}-t{step.t:.6g}.json"
    try:
        write_text(path, json.dumps({**step.to_mapping(), "name": name, "note": message}, indent=1))
    except BadInput:
        return None  # the step is still on the trajectory; a read-only folder must not hide the reason
    return str(path)
