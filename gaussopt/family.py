"""Old name of `gaussopt.modelling.family`, kept for one release."""

from gaussopt.modelling.family import *  # noqa: F403
