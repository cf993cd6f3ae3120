"""Dormand-Prince, order 8(5,3), adaptive, through SciPy."""

from __future__ import annotations

from gaussopt.integration.steppers.base import Adaptive


class DOP853Stepper(Adaptive):
    """SciPy's DOP853."""

    name = "dop853"
    title = "Dormand-Prince, order 8(5,3), adaptive"
    source = "Hairer, Norsett & Wanner 1993, SciPy"
    order, stages = 8, 12
    method = "DOP853"


stepper = DOP853Stepper()
