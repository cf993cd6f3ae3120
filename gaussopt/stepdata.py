"""Old name of `gaussopt.core.step_data` and `gaussopt.core.arrays`, kept for one release."""

from gaussopt.core.arrays import *  # noqa: F403
from gaussopt.core.step_data import *  # noqa: F403
