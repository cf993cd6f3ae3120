"""Definiteness of the contact operator: whether friction leaves the accelerations unique."""

from __future__ import annotations

import numpy as np

from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Matrix
from gaussopt.core.step_data import StepData


def definiteness(step: StepData) -> float:
    """Smallest eigenvalue of sym(delassus), scaled so that without friction its diagonal is 1.

    Of one contact it is what friction leaves of the response to a normal force.
    """
    op = ContactOperator.of(step)
    own = np.linalg.norm(step.J_N @ op.joints.root, axis=1)
    if (own <= 0).any():
        return 0.0
    return smallest_eigenvalue(0.5 * (op.delassus + op.delassus.T) / np.outer(own, own))


def smallest_eigenvalue(S: Matrix) -> float:
    """Smallest eigenvalue of a symmetric matrix of entries near 1, zero where it is rounding, (c, c)."""
    value = float(S[0, 0]) if len(S) == 1 else float(np.linalg.eigvalsh(S)[0])
    # Redundant contacts have a zero there for good, which is no event.
    return 0.0 if abs(value) <= 1e-9 else value
