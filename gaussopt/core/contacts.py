"""What a person gives for a contact, and what is derived from it.

gap g_N >= 0,   J_N = dg_N/dq,   zeta_N = second time derivative of g_N at constant v,
slip v_T = J_T v + ...,   zeta_T = time derivative of v_T at constant v
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning
from numpy.typing import ArrayLike, NDArray

from gaussopt.core.errors import BadInput, one_line
from gaussopt.core.machine import pass_on
from gaussopt.core.state_functions import WRITES, Changed, call_with_copies
from gaussopt.core.step_data import Matrix, Vector

Positions = Callable[[float, Vector], ArrayLike]

VANISHES = 1e-14
"""Largest entry of a normal row, relative to the contact's rows, that still counts as a zero direction."""


@dataclass(frozen=True)
class Contact:
    """One contact of a Lagrangian system, in SymPy expressions.

    Give `position`, or `gap` with or without `slip`.

    Attributes
    ----------
    name : str
    position : expressions (x, y) or (x, y, z), optional
        The material contact point; the last entry is its height over the floor. The gap is the height, the slip
        the rate of the others.
    gap : expression in the coordinates and time, optional
        Positive where open, m.
    slip : expressions linear in the velocities, optional
        Tangential velocity of the contact point relative to the ground, d entries, m/s.
    mu : expression in the parameters
        Friction coefficient.
    e_N, e_T : expressions in the parameters
        Coefficients of restitution, normal and tangential.
    two_sided : bool
        A guide without clearance: the contact always has one bearing wall, and changes walls instead of opening.
    """

    name: str
    position: Sequence[Any] | None = None
    gap: Any = None
    slip: Sequence[Any] | None = None
    mu: Any = 0
    e_N: Any = 0
    e_T: Any = 0
    two_sided: bool = False


@dataclass(frozen=True)
class Event:
    """An instant that a person wants located: `function` changes sign there.

    Attributes
    ----------
    name : str
    function : (t, q, v) -> float
    direction : int
        -1: falling through zero, +1: rising, 0: either.
    terminal : bool
        Whether the motion ends there.
    """

    name: str
    function: Callable[[float, Vector, Vector], float]
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be watched."""
        if not callable(self.function):
            raise BadInput(f"The function of event {self.name!r} is not callable; give a function of (t, q, v).")
        if self.direction not in (-1, 0, 1):
            raise BadInput(f"The direction of event {self.name!r} is {self.direction!r}; give -1, 0 or 1.")

    def value(self, t: float, q: Vector, v: Vector) -> float:
        """The function's value, a finite number.

        Raises
        ------
        BadInput
            If it raises, or is something else.
        """
        try:
            number = float(call_with_copies(self.function, t, q, v))
        except Changed:
            raise BadInput(f"Event {self.name!r} {WRITES}, at t = {t:.9g}.") from None
        except BaseException as error:
            pass_on(f"The event {self.name!r} was not looked at", error)
            raise BadInput(
                f"Event {self.name!r} raised {type(error).__name__} at t = {t:.9g}: {one_line(error)}."
            ) from error
        if not math.isfinite(number):
            raise BadInput(f"Event {self.name!r} is {number} at t = {t:.9g}; it must be finite.")
        return number

    def values(self, t: Vector, q: Matrix, v: Matrix) -> Vector:
        """The function's values at many states, (N,); the copies that it gets are made and compared all at once.

        Parameters
        ----------
        t : (N,)
        q, v : (N, n)

        Raises
        ------
        BadInput
            As `value`, naming the first instant of which that is true.
        """
        mine_q, mine_v = q.copy(), v.copy()
        try:
            found = np.array([float(self.function(*state)) for state in zip(t.tolist(), mine_q, mine_v, strict=True)])
            sound = np.isfinite(found).all() and np.array_equal(mine_q, q) and np.array_equal(mine_v, v)
        except KeyboardInterrupt:
            raise
        except BaseException:  # `value` finds the instant, and the words
            sound = False
        return found if sound else np.array([self.value(*state) for state in zip(t.tolist(), q, v, strict=True)])


@dataclass(frozen=True, slots=True)
class ContactData:
    """What a callable `contacts(t, q, v)` of a plain system returns; a mapping with these names does as well.

    Attributes
    ----------
    g_N : (k,)
        Gaps, m.
    J_N, zeta_N : (k, n), (k,)
        Normal rows and their bias: gap acceleration J_N a + zeta_N.
    gdot_N : (k,), optional
        Gap rates, m/s; J_N v if absent, which is right where the gap does not depend on time.
    J_T, zeta_T : (k, d, n), (k, d), optional
        Tangential rows and their bias; in the plane the axis d may be left out. Absent: no friction.
    v_T : (k, d), optional
        Slip velocities, m/s; J_T v if absent.
    mu, e_N, e_T : float or (k,), optional
        Friction coefficients and coefficients of restitution; 0 if absent.
    """

    g_N: ArrayLike
    J_N: ArrayLike
    zeta_N: ArrayLike
    gdot_N: ArrayLike | None = None
    J_T: ArrayLike | None = None
    zeta_T: ArrayLike | None = None
    v_T: ArrayLike | None = None
    mu: ArrayLike | None = None
    e_N: ArrayLike | None = None
    e_T: ArrayLike | None = None


@dataclass(frozen=True, slots=True)
class Kinematics:
    """The contact arrays of one state, checked, in the order of `StepData`."""

    g_N: Vector
    gdot_N: Vector
    J_N: Matrix
    zeta_N: Vector
    J_T: NDArray[np.float64]
    zeta_T: Matrix
    v_T: Matrix


@dataclass(frozen=True, slots=True)
class Coefficients:
    """mu, e_N and e_T of all contacts, (k,) each, checked."""

    mu: Vector
    e_N: Vector
    e_T: Vector


def check_coefficients(owner: str, names: Sequence[str], mu: Vector, e_N: Vector, e_T: Vector) -> Coefficients:
    """The coefficients, or which of them cannot be one.

    Raises
    ------
    BadInput
        mu that is negative or not finite, or e_N or e_T outside 0 to 1, with the contact's name and the value.
    """
    for i, name in enumerate(names):
        if not 0 <= mu[i] < math.inf:
            raise BadInput(
                f"mu of contact {name!r} of {owner!r} is {mu[i]:.6g}; a friction coefficient is finite and not "
                "negative."
            )
        for label, e in (("e_N", e_N), ("e_T", e_T)):
            if not 0 <= e[i] <= 1:
                raise BadInput(
                    f"{label} of contact {name!r} of {owner!r} is {e[i]:.6g}; a coefficient of restitution lies "
                    "between 0 and 1."
                )
    for array in (mu, e_N, e_T):
        array.setflags(write=False)
    return Coefficients(mu, e_N, e_T)


def vanishing_normal(J_N: Matrix, J_T: NDArray[np.float64]) -> int | None:
    """The first contact whose normal row is zero, up to rounding of its own rows; None if there is none."""
    if all(max(map(abs, row)) > 1e-6 for row in J_N.tolist()):
        return None  # nearly always; lists are quicker than arrays of this size
    scale = np.maximum(1.0, np.abs(J_T).max(axis=(1, 2), initial=0.0))
    size = np.abs(J_N).max(axis=1, initial=0.0) / scale
    return None if (size > VANISHES).all() else int(size.argmin())


# -- contacts of plain callables ---------------------------------------------------------------------------


def as_contact_data(value: Any) -> ContactData:
    """A person's answer as `ContactData`.

    Raises
    ------
    BadInput
        If it is neither a mapping nor `ContactData`, or lacks or misspells an entry; without a subject, which the
        caller puts in front.
    """
    if isinstance(value, ContactData):
        return value
    if not isinstance(value, Mapping):
        raise BadInput(f"returned {type(value).__name__}, expected a mapping or ContactData")
    known = [f.name for f in fields(ContactData)]
    for key in value:
        if key not in known:
            raise BadInput(f"returned the unknown entry {key!r}; known: {', '.join(known)}")
    for key in ("g_N", "J_N", "zeta_N"):
        if value.get(key) is None:
            raise BadInput(f"returned no {key!r}")
    if value.get("J_T") is None:
        for key in ("zeta_T", "v_T"):
            if value.get(key) is not None:
                raise BadInput(f"returned {key!r} without 'J_T'")
    elif value.get("zeta_T") is None:
        raise BadInput("returned 'J_T' without 'zeta_T'")
    return ContactData(**value)


def contact_points(
    position: Positions,
    *,
    mu: ArrayLike = 0.0,
    e_N: ArrayLike = 0.0,
    e_T: ArrayLike = 0.0,
    names: Sequence[str] | None = None,
    two_sided: Sequence[bool] | None = None,
) -> ContactPoints:
    """Contacts of a plain system from the positions of its material contact points alone.

    Parameters
    ----------
    position : callable (t, q) -> (k, d + 1)
        The contact points, m; the last column is the height over the floor. The gap is the height, the slip the
        rate of the others. If it computes with complex numbers (numpy functions do), derivatives are exact to
        rounding; otherwise they are central differences of eighth order.
    mu, e_N, e_T : float or (k,)
        Friction coefficients and coefficients of restitution.
    names : k names, optional
    two_sided : k bools, optional

    Returns
    -------
    ContactPoints
        To be given to `System(..., contacts=...)`.

    Raises
    ------
    BadInput
        If `position` is not a callable.
    """
    if not callable(position):
        raise BadInput(f"position of contact_points must be a callable, not {type(position).__name__}.")
    return ContactPoints(position, mu, e_N, e_T, names, two_sided)


class ContactPoints:
    """The callable (t, q, v) -> ContactData that `contact_points` makes."""

    STEP = 0.02
    """Step of the central differences, relative to coordinates of size 1."""

    RADIUS = 0.02
    """Radius in the complex plane on which second derivatives are averaged."""

    AGREE = 1e-6
    """Relative difference of complex-step and central derivatives beyond which the former are not trusted."""

    def __init__(
        self,
        position: Positions,
        mu: ArrayLike,
        e_N: ArrayLike,
        e_T: ArrayLike,
        names: Sequence[str] | None,
        two_sided: Sequence[bool] | None,
    ) -> None:
        self.position = position
        self.mu, self.e_N, self.e_T = mu, e_N, e_T
        self.names = None if names is None else tuple(names)
        self.two_sided = None if two_sided is None else tuple(two_sided)
        self._complex: bool | None = None

    def __call__(self, t: float, q: Vector, v: Vector) -> ContactData:
        """The contact arrays of the state."""
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
        """Whether complex arithmetic passes through `position`: abs() or a branch would falsify it silently."""
        direction = np.where(v == 0, 1.0, v)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error", ComplexWarning)  # math.sin takes the real part and only warns
                mine = (self._complex_jacobian(t, q), *self._complex_along(t, q, direction))
        except Exception:  # whatever a person's function raises on complex numbers
            return False
        reference = (self._central_jacobian(t, q), *self._central_along(t, q, direction))
        return all(
            a.shape == b.shape
            and bool(np.isfinite(a).all())
            and bool(np.abs(a - b).max(initial=0.0) <= self.AGREE * (1.0 + np.abs(b).max(initial=0.0)))
            for a, b in zip(mine, reference, strict=True)
        )

    # Complex steps: f(x + i h) = f + i h f' - ...; no difference is taken, so h may be tiny.

    def _complex_jacobian(self, t: float, q: Vector) -> NDArray[np.float64]:
        h = 1e-30
        columns = []
        for j in range(len(q)):
            z = q.astype(np.complex128)
            z[j] += 1j * h
            columns.append(self._at(t, z).imag / h)
        return np.stack(columns, axis=-1)

    def _complex_along(self, t: float, q: Vector, v: Vector) -> tuple[Matrix, Matrix]:
        """First and second derivative of the positions along the straight motion (t + s, q + s v)."""
        h = 1e-30
        rate = self._at(t + 1j * h, q + 1j * h * v).imag / h
        # Cauchy's integral over twelve points of a circle: error of order r^12, rounding of order 1e-16 / r^2.
        r = self.RADIUS / max(1.0, float(np.abs(v).max(initial=0.0)))
        second = np.zeros_like(rate)
        for angle in (np.arange(6) + 0.5) * np.pi / 6:  # the lower half plane is its mirror
            s = complex(r * np.exp(1j * angle))
            second += (self._at(t + s, q + s * v) * np.exp(-2j * angle)).real
        return rate, second / (3.0 * r**2)

    # Central differences of eighth order.

    def _central_jacobian(self, t: float, q: Vector) -> NDArray[np.float64]:
        def column(j: int) -> Matrix:
            h = self.STEP * max(1.0, abs(float(q[j])))
            unit = np.eye(len(q))[j]
            ends = [c * (self._real(t, q + i * h * unit) - self._real(t, q - i * h * unit)) for i, c in _FIRST]
            return np.asarray(np.sum(ends, axis=0) / h)

        return np.stack([column(j) for j in range(len(q))], axis=-1)

    def _central_along(self, t: float, q: Vector, v: Vector) -> tuple[Matrix, Matrix]:
        h = self.STEP / max(1.0, float(np.abs(v).max(initial=0.0)))
        middle = self._real(t, q)
        ends = {i: (self._real(t + i * h, q + i * h * v), self._real(t - i * h, q - i * h * v)) for i, _ in _FIRST}
        rate = sum(c * (ends[i][0] - ends[i][1]) for i, c in _FIRST) / h
        second = sum(c * (ends[i][0] - 2.0 * middle + ends[i][1]) for i, c in _SECOND) / h**2
        return np.asarray(rate), np.asarray(second)


_FIRST = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
_SECOND = ((1, 8 / 5), (2, -1 / 5), (3, 8 / 315), (4, -1 / 560))
"""Coefficients of central differences of eighth order, first and second derivative."""
