"""Old name of `gaussopt.core.solver`, for plug-ins."""

from gaussopt.core.solver import *  # noqa: F403
