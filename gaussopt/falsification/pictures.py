"""Draw the state on which two formulations differ, with the contact forces of each formulation, on the same scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.animation.marks import fixed, page, placed
from gaussopt.animation.scene import clock_word, scene_of, words_beside
from gaussopt.core.motion import RecordedMotion
from gaussopt.falsification.example import Example, floats, vector
from gaussopt.modelling.problem import Problem, sketch_of


class _States(RecordedMotion):
    """A motion made for a picture: its states, one for each formulation, differ only in the contact forces."""

    def __init__(self, at: Problem, lam_N: Any, lam_T: Any) -> None:
        count = len(lam_N)
        self.t, self.q, self.v = (np.tile(x, (count, *(1,) * np.ndim(x))) for x in (0.0, at.q0, at.v0))
        self.t = self.t.ravel()
        self.lam_N, self.lam_T, self.lam = lam_N, lam_T[:, :, None], np.zeros((count, 0))
        names = at.system.contact_names or [f"contact {i + 1}" for i in range(lam_N.shape[1])]
        self.meta, self.events, self.message = {"problem": at.name, "contacts": names}, (), ""


def pictures_of(example: Example, at: Problem, answers: Mapping[str, Any]) -> dict[str, str]:
    """Return for each formulation a picture (SVG) with its contact forces, (k,); raises BadInput without a sketch."""
    known = {name: floats(z) for name, z in answers.items() if z is not None}
    if not known:
        return {}
    lam_N = np.array(list(known.values()))
    lam_T = -np.sign(example.numbers["v_T"]) * example.numbers["mu"] * lam_N
    scene = scene_of(_States(at, lam_N, lam_T), sketch_of(at), at.parameter_values)
    found = {}
    for i, (name, z) in enumerate(known.items()):
        told = f"{name}: normal forces {vector(f'{x:.4g}' for x in z)} N"
        parts = [placed(part, i) for part in (*scene.parts, *scene.arrows)]
        words = [placed(part) for part in (fixed(clock_word(told)), *words_beside(scene, still=True))]
        alt = f"{at.title} in the state on which the formulations differ. {told}."
        found[name] = page([*parts, *words], scene.view.width, scene.view.height, alt)
    return found
