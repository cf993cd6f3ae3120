"""Old name of `gaussopt.core.errors`, kept for one release."""

from gaussopt.core.errors import *  # noqa: F403
