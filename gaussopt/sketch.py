"""Old name of `gaussopt.modelling.sketch`, kept for one release."""

from gaussopt.modelling.sketch import *  # noqa: F403
