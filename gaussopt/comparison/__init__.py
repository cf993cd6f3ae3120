"""Compare formulations and solvers: on given steps, in time, as trajectories, on equal terms."""

from gaussopt.comparison.items import typical_step
from gaussopt.comparison.pairing import installed_solvers, pairs
from gaussopt.comparison.reference_states import PairResult, compare_on_states
from gaussopt.comparison.trajectory_errors import Indices, common_instants, errors_against

__all__ = [
    "Indices",
    "PairResult",
    "common_instants",
    "compare_on_states",
    "errors_against",
    "installed_solvers",
    "pairs",
    "typical_step",
]
