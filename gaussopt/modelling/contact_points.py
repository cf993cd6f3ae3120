"""Derive the contacts of plain systems from the positions of contact points by numerical differentiation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.exceptions import ComplexWarning
from numpy.typing import ArrayLike, NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.contacts import ContactData
from gaussopt.core.errors import BadInput

Positions = Callable[[float, Vector], ArrayLike]

FIRST = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
SECOND = ((1, 8 / 5), (2, -1 / 5), (3, 8 / 315), (4, -1 / 560))
"""Coefficients of eighth-order central differences for first and second derivatives."""

STEP = 0.02
"""Step of the central differences, relative to coordinates of magnitude 1."""

RADIUS = 0.02
"""Radius of the circle in the complex plane on which Cauchy's integral gives second derivatives."""

AGREE = 1e-6
"""Relative difference from central differences above which complex-step derivatives are not trusted."""


def contact_points(
    position: Positions,
    *,
    mu: ArrayLike = 0.0,
    e_N: ArrayLike = 0.0,
    e_T: ArrayLike = 0.0,
    names: Sequence[str] | None = None,
    two_sided: Sequence[bool] | None = None,
) -> ContactPoints:
    """Return the contacts of a system of callables, which are defined by the positions of its contact points alone.

    Parameters
    ----------
    position : callable (t, q) -> (k, d + 1)
        Positions of the contact points, m. The last column, the height above the floor, is the gap; the rate of the
        other columns is the slip velocity. If the function accepts complex numbers (as NumPy functions do), derivatives
        are exact up to rounding errors; otherwise they are central differences of eighth order.
    mu, e_N, e_T : float or (k,), friction coefficients and coefficients of restitution
    names : k names, optional
    two_sided : k bools, optional

    Returns
    -------
    ContactPoints
        Pass it to `System(..., contacts=...)`.

    Raises
    ------
    BadInput
        If `position` is not a callable.
    """
    if not callable(position):
        raise BadInput(f"position of contact_points must be a callable, not {type(position).__name__}.")
    return ContactPoints(
        position, mu, e_N, e_T, None if names is None else tuple(names), None if two_sided is None else tuple(two_sided)
    )  # fmt: skip


@dataclass
class ContactPoints:
    """The callable (t, q, v) -> ContactData that `contact_points` returns, with the arguments as attributes."""

    position: Positions
    mu: ArrayLike
    e_N: ArrayLike
    e_T: ArrayLike
    names: tuple[str, ...] | None
    two_sided: tuple[bool, ...] | None
    _complex: bool | None = field(default=None, init=False)

    def __call__(self, t: float, q: Vector, v: Vector) -> ContactData:
        """Return the contact arrays of the state."""
        p = self._real(t, q)
        if self._complex is None:
            self._complex = self._accepts_complex(t, q, v)
        jacobian, along = (
            (self._complex_jacobian, self._complex_along)
            if self._complex
            else (self._central_jacobian, self._central_along)
        )
        J = jacobian(t, q)
        rate, second = along(t, q, v)
        return ContactData(
            g_N=p[:, -1], J_N=J[:, -1], zeta_N=second[:, -1], gdot_N=rate[:, -1], J_T=J[:, :-1],
            zeta_T=second[:, :-1], v_T=rate[:, :-1], mu=self.mu, e_N=self.e_N, e_T=self.e_T,
        )  # fmt: skip

    def _real(self, t: float, q: Vector) -> Matrix:
        value = np.asarray(self.position(t, q))
        if value.ndim != 2 or value.shape[1] not in (2, 3) or not np.isrealobj(value):
            raise BadInput(
                f"position of contact_points returned an array of shape {value.shape}, expected real (k, 2) or "
                f"(k, 3), at t = {t:.9g}, q = {np.array2string(q, precision=6, separator=', ')}."
            )
        return np.asarray(value, dtype=np.float64)

    def _at(self, t: complex, q: NDArray[np.complex128]) -> NDArray[np.complex128]:
        value: NDArray[np.complex128] = np.asarray(self.position(t, q), dtype=np.complex128)  # type: ignore[arg-type]
        return value

    def _accepts_complex(self, t: float, q: Vector, v: Vector) -> bool:
        """Return whether `position` is correct for complex q; calls of abs() or branches may make it silently wrong."""
        direction = np.where(v == 0, 1.0, v)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error", ComplexWarning)  # math.sin drops imaginary parts with a mere warning
                mine = (self._complex_jacobian(t, q), *self._complex_along(t, q, direction))
        except Exception:  # a user's function may raise any exception on complex numbers
            return False
        reference = (self._central_jacobian(t, q), *self._central_along(t, q, direction))
        return all(
            a.shape == b.shape
            and bool(np.isfinite(a).all())
            and bool(np.abs(a - b).max(initial=0.0) <= AGREE * (1.0 + np.abs(b).max(initial=0.0)))
            for a, b in zip(mine, reference, strict=True)
        )

    # Complex steps: f(x + i h) = f + i h f' - ...; nothing is subtracted, so h may be tiny.

    def _complex_jacobian(self, t: float, q: Vector) -> NDArray[np.float64]:
        h = 1e-30
        columns = []
        for j in range(len(q)):
            z = q.astype(np.complex128)
            z[j] += 1j * h
            columns.append(self._at(t, z).imag / h)
        return np.stack(columns, axis=-1)

    def _complex_along(self, t: float, q: Vector, v: Vector) -> tuple[Matrix, Matrix]:
        """Return the first and second derivative in s of the positions at (t + s, q + s v), at s = 0."""
        h = 1e-30
        rate = self._at(t + 1j * h, q + 1j * h * v).imag / h
        # Cauchy's integral over twelve points of a circle: truncation error ~ r^12, rounding error ~ 1e-16 / r^2.
        r = RADIUS / max(1.0, float(np.abs(v).max(initial=0.0)))
        second = np.zeros_like(rate)
        for angle in (np.arange(6) + 0.5) * np.pi / 6:  # the lower half plane follows by symmetry
            s = complex(r * np.exp(1j * angle))
            second += (self._at(t + s, q + s * v) * np.exp(-2j * angle)).real
        return rate, second / (3.0 * r**2)

    # Central differences of eighth order.

    def _central_jacobian(self, t: float, q: Vector) -> NDArray[np.float64]:
        def column(j: int) -> Matrix:
            h = STEP * max(1.0, abs(float(q[j])))
            unit = np.eye(len(q))[j]
            ends = [c * (self._real(t, q + i * h * unit) - self._real(t, q - i * h * unit)) for i, c in FIRST]
            return np.asarray(np.sum(ends, axis=0) / h)

        return np.stack([column(j) for j in range(len(q))], axis=-1)

    def _central_along(self, t: float, q: Vector, v: Vector) -> tuple[Matrix, Matrix]:
        h = STEP / max(1.0, float(np.abs(v).max(initial=0.0)))
        middle = self._real(t, q)
        ends = {i: (self._real(t + i * h, q + i * h * v), self._real(t - i * h, q - i * h * v)) for i, _ in FIRST}
        rate = sum(c * (ends[i][0] - ends[i][1]) for i, c in FIRST) / h
        second = sum(c * (ends[i][0] - 2.0 * middle + ends[i][1]) for i, c in SECOND) / h**2
        return np.asarray(rate), np.asarray(second)
