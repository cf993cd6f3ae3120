"""Old name of `gaussopt.core.sparse_arrays`, kept for one release."""

from gaussopt.core.sparse_arrays import *  # noqa: F403
from gaussopt.core.step_data import memory, parts, sparse_step  # noqa: F401
