"""Old name of `gaussopt.core.status`, kept for one release."""

from gaussopt.core.status import *  # noqa: F403
