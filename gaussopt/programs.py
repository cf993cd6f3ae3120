"""Old name of `gaussopt.core.programs`, kept for one release."""

from gaussopt.core.programs import *  # noqa: F403
