"""Old name of `gaussopt.core.solver`, kept for one release."""

from gaussopt.core.solver import *  # noqa: F403
