"""Old name of `gaussopt.modelling.problem` and its parts, kept for one release."""

from gaussopt.modelling.erratum import *  # noqa: F403
from gaussopt.modelling.parameter import *  # noqa: F403
from gaussopt.modelling.problem import *  # noqa: F403
from gaussopt.modelling.reference import *  # noqa: F403
