"""Old name of `gaussopt.formulations.base`, kept for one release."""

from gaussopt.formulations.base import *  # noqa: F403
