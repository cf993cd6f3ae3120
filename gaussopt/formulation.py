"""Old name of `gaussopt.formulations.base`, kept for one release."""

from gaussopt.formulations._sliding import *  # noqa: F403
from gaussopt.formulations.base import *  # noqa: F403
