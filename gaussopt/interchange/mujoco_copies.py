"""Copies of MuJoCo models for motions: a copy that is no longer used serves the next motion of the same model.

A model with meshes or textures has tens of megabytes, and a copy of them may take longer than MuJoCo's motion of 1 s.
"""

from __future__ import annotations

import copy
import sys
import weakref
from functools import cache
from typing import Any

import numpy as np

CHANGED = ("geom_gap", "pair_gap", "jnt_margin", "tendon_margin", "jnt_limited")
"""Arrays of a copy that motions change, besides its options."""

LEFT_OUT = ("tex_", "mesh_texcoord", "mesh_facetexcoord", "mesh_normal", "mesh_facenormal", "bvh_")
"""Beginnings of the names of arrays that are not compared: of pictures alone, or computed from arrays that are."""

LARGE = 100_000
"""Number of bytes above which NumPy compares arrays faster than Python compares their bytes."""

_spare: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def own_copy(model: Any, user: Any) -> Any:
    """Return a copy of the model as it is now, which belongs to the object `user` as long as that exists."""
    own = _spare.pop(model, None)
    if own is None or sys.getrefcount(own) > 2 or not _renewed(own, model):
        own = copy.copy(model)
    weakref.finalize(user, _give_back, weakref.ref(model), own)
    return own


def _give_back(model: Any, own: Any) -> None:
    if (known := model()) is not None:
        _spare[known] = own


def _renewed(own: Any, model: Any) -> bool:
    """Reset what motions change in a copy; return whether it then equals the model."""
    for name in CHANGED:
        getattr(own, name)[:] = getattr(model, name)
    for part, fields in _fields().items():
        ours, theirs = (x if part == "" else getattr(x, part) for x in (own, model))
        for name in fields:
            x, y = getattr(ours, name), getattr(theirs, name)
            if part:
                setattr(ours, name, y)
            elif isinstance(y, np.ndarray) and not (
                np.array_equal(x, y) if y.nbytes > LARGE else x.tobytes() == y.tobytes()
            ):
                return False
    return True


@cache
def _fields() -> dict[str, list[str]]:
    """Return the names of the fields of a model, of its options and of its statistics."""
    import mujoco

    parts = {"": mujoco.MjModel, "opt": mujoco.MjOption, "stat": mujoco.MjStatistic}
    return {part: [x for x in dir(of) if isinstance(getattr(of, x), property) and not x.startswith(LEFT_OUT)]
            for part, of in parts.items()}  # fmt: skip
