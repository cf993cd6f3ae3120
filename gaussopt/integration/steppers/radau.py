"""Radau IIA, order 5, implicit, adaptive (for stiff systems), through SciPy."""

from __future__ import annotations

from gaussopt.integration.steppers.base import Adaptive


class RadauStepper(Adaptive):
    """SciPy's Radau."""

    name = "radau"
    title = "Radau IIA, order 5, implicit, adaptive (for stiff systems)"
    source = "Hairer & Wanner 1996, SciPy"
    order, implicit = 5, True
    method = "Radau"


stepper = RadauStepper()
