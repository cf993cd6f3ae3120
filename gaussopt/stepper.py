"""Old name of `gaussopt.core.stepper`, kept for one release."""

from gaussopt.core.stepper import *  # noqa: F403
from gaussopt.integration.steppers.base import *  # noqa: F403
