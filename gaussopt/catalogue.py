"""Old name of `gaussopt.modelling.problem`, kept for one release."""

from gaussopt.modelling.problem import *  # noqa: F403
