"""The fixed-step loop of Yao, Liu & Yang 2020, without tests of gaps, slips or forces.

It advances velocities first, then coordinates, like the other fixed-step loops of the papers; this paper does not
specify the order. By default, formulation and solver are those of the paper, `normal-force-qp` by `newton`.
"""

from __future__ import annotations

from gaussopt.integration.steppers.semi_implicit import SemiImplicit


class AsPrinted001(SemiImplicit):
    """Semi-implicit Euler in which all contacts count as closed."""

    name = "as-printed-001"
    title = "The loop of 001 as printed (no events)"
    source = "Yao, Liu & Yang 2020, section 4, steps 1 to 6"
    loop = "without-events"
    pair = ("normal-force-qp", "newton")


stepper = AsPrinted001()
