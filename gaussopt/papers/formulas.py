"""Formulas that several papers share."""

from __future__ import annotations

from gaussopt.reporting.document import Formula

GAUSS = Formula(
    r"\min_a\ \tfrac{1}{2}\, a^T M a - a^T (Q - h) \quad \text{subject to} \quad J a = \gamma",
    "min 1/2 a^T M a - a^T (Q - h)   subject to   J a = gamma",
)
"""Gauss's principle, multiplied out."""
