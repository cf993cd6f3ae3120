"""Old name of `gaussopt.core.programs` and `gaussopt.core.solution`, for plug-ins."""

from gaussopt.core.programs import *  # noqa: F403
from gaussopt.core.solution import *  # noqa: F403
