"""Limits of joints that an equality ties to another joint: which can never be met, and which divide its range."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

TOUCHES = 1e-9
"""Distance beyond a limit, relative to 1 + the limit, that may come from rounding; m or rad."""


def tied_limits(mj: Any, model: Any, data: Any) -> tuple[dict[int, str], list[str]]:
    """Return joints, with names, whose limits contradict an active equality, and sentences on these and other limits.

    An equality makes a joint a polynomial of another one. Where that one has limits and depends on no third one, the
    polynomial's extremes and its crossings of the limit within that range prove what both allow together.
    """
    off = mj.mjtDisableBit
    if model.opt.disableflags & int(off.mjDSBL_EQUALITY | off.mjDSBL_LIMIT | off.mjDSBL_CONSTRAINT):
        return {}, []

    def name(i: int, kind: Any = mj.mjtObj.mjOBJ_JOINT) -> str:
        return str(mj.mj_id2name(model, kind, i) or i)

    tied = np.flatnonzero(data.eq_active.astype(bool) & (model.eq_type == mj.mjtEq.mjEQ_JOINT)).tolist()
    dependent, start = set(model.eq_obj1id[tied].tolist()), model.qpos0[model.jnt_qposadr]
    left_out, sentences, holes = dict[int, str](), list[str](), dict[int, list[str]]()
    for i in tied:
        one, two, value = int(model.eq_obj1id[i]), int(model.eq_obj2id[i]), Polynomial(model.eq_data[i, :5]).trim()
        free = two < 0 or not value.degree()
        if not model.jnt_limited[one] or not (free or (model.jnt_limited[two] and two not in dependent)):
            continue
        (low, high), ends = model.jnt_range[one].tolist(), np.zeros(2) if free else model.jnt_range[two] - start[two]
        value = Polynomial(value.coef[:1]) if free else value
        value.coef[0] += start[one]
        roots = np.concatenate([x.roots() for x in (value - low, value - high, value.deriv())])
        places = roots.real[np.abs(roots.imag) <= TOUCHES * (1.0 + np.abs(roots.real))]
        places = np.array([ends[0], *np.sort(places[(ends[0] < places) & (places < ends[1])]), ends[1]])
        beyond = np.maximum(low - value(places), value(places) - high)
        met = np.flatnonzero(beyond <= TOUCHES * (1.0 + max(abs(low), abs(high))))
        if not len(met):
            left_out[one] = name(one)
            sentences.append(
                f"The limit of joint {name(one)!r}, {low:g} to {high:g}, is left out, as equality "
                f"{name(i, mj.mjtObj.mjOBJ_EQUALITY)!r} keeps it {beyond.min():.2g} beyond that or more."
            )
        for a, b in pairwise(met):
            if b > a + 1:
                first, last = places[[a, b]] + start[two]
                words = f"{first:.3g} to {last:.3g} (joint {name(one)!r} by {beyond[a + 1 : b].max():.2g})"
                holes.setdefault(two, []).append(words)
    return left_out, sentences + [
        f"Joint {name(two)!r} cannot pass {', '.join(found)}, where equalities take another joint beyond its limit; "
        "MuJoCo's soft limits give way there. Widen these limits if it is meant to pass."
        for two, found in holes.items()
    ]
