"""Old name of `gaussopt.core.step_data`, kept for one release."""

from gaussopt.core.step_data import *  # noqa: F403
