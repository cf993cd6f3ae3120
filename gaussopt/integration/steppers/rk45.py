"""Dormand-Prince, order 5(4), adaptive, through SciPy."""

from __future__ import annotations

from gaussopt.integration.steppers.base import Adaptive


class RK45Stepper(Adaptive):
    """SciPy's RK45."""

    name = "rk45"
    title = "Dormand-Prince, order 5(4), adaptive"
    source = "Dormand & Prince 1980, SciPy"
    order, stages = 5, 6
    method = "RK45"


stepper = RK45Stepper()
