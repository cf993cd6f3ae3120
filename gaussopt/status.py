"""Old name of `gaussopt.core.status`, for plug-ins."""

from gaussopt.core.status import *  # noqa: F403
