"""Old name of `gaussopt.contact.operator`, kept for one release."""

from gaussopt.contact.operator import *  # noqa: F403
