"""Old name of `gaussopt.core.sparse_arrays`, kept for one release."""

from gaussopt.core.sparse_arrays import *  # noqa: F403
