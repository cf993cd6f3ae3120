"""Old name of `gaussopt.modelling.callables`, kept for one release."""

from gaussopt.modelling.callables import *  # noqa: F403
