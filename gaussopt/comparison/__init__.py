"""Compare formulations and solvers: on given steps, as trajectories, in time, on equal terms."""

from gaussopt.comparison.on_states import (
    Indices,
    MotionResult,
    PairResult,
    Results,
    common_instants,
    compare,
    compare_on_states,
    errors_against,
    pairs,
)

__all__ = [
    "Indices",
    "MotionResult",
    "PairResult",
    "Results",
    "common_instants",
    "compare",
    "compare_on_states",
    "errors_against",
    "pairs",
]
