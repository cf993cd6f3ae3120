"""Small records of comparisons, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gaussopt.comparison.records import PARTS, Answers, Times
from gaussopt.comparison.records import MotionRecord as Motion
from gaussopt.comparison.records import StepSource as Source

NAN = float("nan")
INF = float("inf")

FOUR_BAR = Source("problem", "four-bar", "A")
KNIFE_EDGE = Source("problem", "knife-edge-body", "NH-A")


def stack(contacts: float, family: str = "stack") -> Source:
    return Source("family", family, "", {"contacts": contacts, "mu": 0.3}, "contacts")


def answers(
    solver: str,
    right: str,
    *,
    source: Source = FOUR_BAR,
    formulation: str = "gauss",
    start: str = "warm",
    exact: bool = True,
    certified: Sequence[float] | None = None,
    iterations: Sequence[int] | None = None,
    residual: float = 1e-12,
    begins: Sequence[int] | None = None,
    **more: Any,
) -> Answers:
    """One letter a step; unrelated problems, where solvers begin anew at every step, unless `begins` says otherwise.

    c confirmed and claimed, l a false claim, m missed, f an honest failure; i called infeasible and not so, d the same
    of a confirmed answer, r infeasible and recognised, s infeasible and called solved, n infeasible and given
    up, v several solutions and called solved.
    """
    status = {"c": "solved", "m": "solved", "d": "solved", "r": "infeasible", "s": "infeasible", "n": "infeasible",
              "v": "multiple_solutions"}  # fmt: skip
    claim = {"c": "solved", "l": "solved", "s": "solved", "v": "solved", "i": "infeasible", "d": "infeasible",
             "r": "infeasible"}  # fmt: skip
    n = len(right)
    small = (
        [1e-12 if r in "cmd" else INF if r in "rsn" else 0.1 for r in right] if certified is None else list(certified)
    )
    return Answers(
        source, formulation, solver, start, exact,
        [status.get(r, "inaccurate") for r in right],
        [claim.get(r, "inaccurate") for r in right],
        small, [NAN] * n, [residual] * n, [residual] * n, [residual] * n,
        list(iterations) if iterations is not None else [3] * n,
        begins=list(range(n)) if begins is None else list(begins), **more,
    )  # fmt: skip


def times(
    solver: str,
    seconds: Sequence[float],
    *,
    source: Source = FOUR_BAR,
    formulation: str = "gauss",
    start: str = "warm",
    parts: Mapping[str, Sequence[float]] | None = None,
    band: float = 0.0,
    unconfirmed: Sequence[int] = (),
) -> Times:
    """Work at each step; its quartiles are the median widened by `band`. Other parts take no time unless given."""
    ranked = sorted(seconds)
    middle = 0.5 * (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2])
    all_parts = {p: [0.0] * 5 for p in PARTS}
    all_parts["backend"] = [NAN] * 5
    wide = [middle * (1 + band * k) for k in (-2, -1, 0, 1, 2)]
    all_parts |= {"work": wide, "total": wide, **{k: list(v) for k, v in (parts or {}).items()}}
    return Times(source, formulation, solver, start, all_parts, list(seconds), 5, list(unconfirmed))


def refused(solver: str, *, source: Source = FOUR_BAR, formulation: str = "gauss", start: str = "warm") -> Answers:
    return Answers(source, formulation, solver, start, True, refused="it takes linear systems only")


def motion(formulation: str, evaluations: int, error: float = 1e-6, dt: float = 0.0) -> Motion:
    return Motion(
        "knife-edge-body (NH-A)", formulation, "kkt", "rk45", dt, 30.0, "solved", "", evaluations, error, 1e-14,
        0.0, 1e-10, NAN,
    )  # fmt: skip
