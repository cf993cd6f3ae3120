"""What generated loops ask of the system that they are written for."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gaussopt.symbolic.model import Model


class GeneratedSystem(Protocol):
    """A system whose equations are generated source."""

    @property
    def model(self) -> Model:
        """Energies and constraints."""

    @property
    def source(self) -> str:
        """Text of the generated module."""

    @property
    def m(self) -> int:
        """Constraint rows."""

    @property
    def m_h(self) -> int:
        """Holonomic rows, which come first."""

    @property
    def constant_entries(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which entries of M and J never vary."""
