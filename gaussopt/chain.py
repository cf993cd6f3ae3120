"""Old name of `gaussopt.modelling.chain`, kept for one release."""

from gaussopt.modelling.chain import *  # noqa: F403
