"""Calling a person's functions of the state without letting them change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gaussopt.core.step_data import Vector

WRITES = "writes into the q or v that it is given; let it work on copies, such as q.copy()"


class Changed(Exception):
    """A function has written into the state that it was given."""


def call_with_copies(function: Callable[..., Any], t: float, q: Vector, v: Vector | None) -> Any:
    """A function of (t, q) or (t, q, v) at copies of a state; raises Changed if they are other numbers afterwards.

    What is changed and put back, as for a difference quotient, passes.
    """
    mine = q.copy()
    if v is None:
        value = function(t, mine)
        if mine.tobytes() != q.tobytes():
            raise Changed
        return value
    mine_v = v.copy()
    value = function(t, mine, mine_v)
    if mine.tobytes() != q.tobytes() or mine_v.tobytes() != v.tobytes():
        raise Changed
    return value
