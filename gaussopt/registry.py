"""Old name of `gaussopt.core.registry`, kept for one release."""

from gaussopt.core.registry import *  # noqa: F403
