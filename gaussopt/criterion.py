"""Old name of `gaussopt.contact.qp_equivalence`, kept for one release."""

from gaussopt.contact.qp_equivalence import *  # noqa: F403
