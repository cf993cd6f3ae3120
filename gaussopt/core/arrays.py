"""Read, check and copy arrays of numbers that a user gives; errors are reported in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gaussopt.core.errors import BadInput, NegativeMass

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Index = NDArray[np.int64]
ShortIndex = NDArray[np.int32]

SYMMETRY_TOLERANCE = 1e-10
"""Largest relative asymmetry of M that still counts as rounding error."""

DEFINITE_TOLERANCE = 1e-10
"""Most negative eigenvalue of M, relative to the largest, that still counts as zero."""

FEW = 64
"""Largest number of entries that are summed as Python floats."""

MOST_NAMES = 12
"""Maximum number of coordinates named in a message."""


def all_finite(x: Vector) -> bool:
    """Return whether all entries of a vector, (n,), are finite."""
    # A sum of few Python floats is faster than NumPy's test; it may overflow, silently, although all are finite.
    return (len(x) <= FEW and math.isfinite(sum(x.tolist()))) or bool(np.isfinite(x).all())


def is_sparse(A: Any) -> bool:
    """Return whether A is a sparse matrix of SciPy, without importing scipy.sparse, which not every run needs."""
    return not isinstance(A, np.ndarray) and hasattr(A, "tocsr")


def given_sparse(value: Any) -> bool:
    """Return whether a matrix is given as a sparse matrix of SciPy, or as a mapping with row and column numbers."""
    return is_sparse(value) or (isinstance(value, Mapping) and "row" in value)


def as_array(name: str, value: ArrayLike, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """Convert `value` to a finite float array of the given shape (None: any length).

    Raises BadInput, which names the array, the index of the wrong entry and what was expected.
    """
    try:
        array = real_array(value)
    except (TypeError, ValueError, OverflowError):
        kind = "a list of numbers" if len(shape) == 1 else "nested lists of equal length"
        raise BadInput(f"{name} is not an array of numbers; give {kind}.") from None
    if array.ndim != len(shape) or any(
        want is not None and have != want for have, want in zip(array.shape, shape, strict=False)
    ):
        raise BadInput(f"{name} has shape {array.shape}, expected {shape_in_words(shape)}.")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise BadInput(f"{name}{list(where)} is {array[where]}; all entries must be finite.")
    return array


def shape_in_words(shape: tuple[int | None, ...]) -> str:
    """Return an expected shape in words, for messages; None stands for any length."""
    if None not in shape:
        return str(shape)
    kind = {1: "a vector", 2: "a matrix"}.get(len(shape), f"an array of {len(shape)} axes")
    axes = ("rows", "columns", "layers") if len(shape) == 2 else ("first", "second", "third")
    known = [(axes[i], s) for i, s in enumerate(shape) if s is not None]
    if len(shape) == 2:
        return kind + "".join(f" with {s} {axis if s != 1 else axis[:-1]}" for axis, s in known)
    return kind + (", " if known else "") + " and ".join(f"{s} along the {axis}" for axis, s in known)


def as_coordinates(name: str, value: ArrayLike, coordinates: Sequence[str] | None) -> Vector:
    """Return a vector with one number for each coordinate, or of any length if the names are None; raises BadInput."""
    if coordinates is None:
        return as_array(name, value, (None,))
    n = len(coordinates)
    order = ", ".join([*coordinates[:MOST_NAMES], *(["..."] if n > MOST_NAMES else [])])
    if isinstance(value, Mapping):
        raise BadInput(f"{name} is a {type(value).__name__}; give a list with one number for each of {order}.")
    found = as_array(name, value, (None,))
    if len(found) != n:
        raise BadInput(f"{name} has shape {found.shape}, expected ({n},): one entry for each of {order}.")
    return found


def as_state(t: Any, q: ArrayLike, v: ArrayLike, alike: bool = True) -> tuple[float, Vector, Vector]:
    """Return t (s) and the vectors q and v after checks; if `alike`, lengths must agree; raises BadInput."""
    try:
        time, state, rate = float(t), np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        if state.ndim == rate.ndim == 1 and (rate.shape == state.shape or not alike) and math.isfinite(time):
            return time, state, rate
    except (TypeError, ValueError, OverflowError):
        pass
    time, state = finite_number("t", t), as_array("q", q, (None,))
    return time, state, as_array("v", v, state.shape if alike else (None,))


def real_array(value: ArrayLike) -> NDArray[np.float64]:
    """Return a copy of `value` as an array of floats.

    Raises TypeError, ValueError or OverflowError, also for strings and complex numbers, which NumPy would convert.
    """
    array = np.array(value)
    if array.dtype == np.float64:
        return array
    if array.dtype.kind not in "fiubO" or (
        array.dtype.kind == "O" and any(isinstance(x, str | bytes | complex) for x in array.flat)
    ):
        raise TypeError
    return array.astype(np.float64)


def finite_number(name: str, value: Any) -> float:
    """Return a finite number; raises BadInput."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if isinstance(value, str | bytes) or not math.isfinite(found):
        raise BadInput(f"{name} is {value!r}; give a finite number.")
    return found


def check_mass_matrix(M: Matrix, what: str = "the mass matrix M") -> Matrix:
    """Return the symmetric part of M, (n, n), after checking that M is a mass matrix.

    Raises BadInput if M is asymmetric beyond rounding, NegativeMass if it has a negative eigenvalue beyond rounding.
    """
    scale = float(np.abs(M).max(initial=0.0))
    skew = np.abs(M - M.T)
    if skew.max(initial=0.0) > SYMMETRY_TOLERANCE * scale:
        i, j = (int(k) for k in np.unravel_index(int(skew.argmax()), skew.shape))
        raise BadInput(f"{what} is not symmetric: entry [{i}, {j}] is {M[i, j]:.6g} but [{j}, {i}] is {M[j, i]:.6g}.")
    M = 0.5 * M + 0.5 * M.T  # halve first, because M + M.T might overflow
    diagonal = M.diagonal()
    positive = np.count_nonzero((diagonal > 0) & (diagonal < math.inf))
    if len(M) and np.count_nonzero(M) != positive:  # otherwise M is diagonal, without negative entries
        # Scaling by the diagonal makes the test independent of the units of the coordinates.
        size = np.abs(diagonal)
        d = np.sqrt(np.where(size > 0, size, max(scale, 1e-300)))
        scaled = M / np.outer(d, d)
        if not np.linalg.eigvalsh(scaled)[0] >= -DEFINITE_TOLERANCE * len(M):
            words, coordinates = _negative_direction(M, np.linalg.eigh(scaled)[1][:, 0] / d)
            raise NegativeMass(f"{what} is indefinite: {words}", coordinates)
    return M


def _negative_direction(M: Matrix, u: Vector) -> tuple[str, list[int]]:
    """Return in words why M is indefinite, given u, (n,), with u^T M u < 0, and the coordinates that move in u."""
    i = int(np.argmin(np.diag(M)))
    if M[i, i] < 0:
        give = "give masses and moments of inertia that are not negative."
        return f"its diagonal entry [{i}, {i}] is {M[i, i]:.6g}; {give}", [i]
    u = u / np.abs(u).max()
    moving = [int(k) for k in np.flatnonzero(np.abs(u) > 1e-3)]
    ratio = " to ".join(f"{u[k]:.3g}" for k in moving)
    return (
        f"velocities of the coordinates {moving} (counted from 0) in the ratio {ratio} would have negative kinetic "
        f"energy, {0.5 * float(u @ M @ u):.3g}; make the entries of M that couple them smaller."
    ), moving


def check_progress(progress: Any) -> None:
    """Refuse a `progress` that is neither None nor a function of the fraction done; raises BadInput."""
    if progress is not None and not callable(progress):
        example = "progress=lambda done: print(f'{done:.0%}')"
        raise BadInput(f"progress is {progress!r}; give a function of the fraction done, such as {example}.")


def is_absent(value: Any) -> bool:
    """Return whether an entry of a file is absent: missing, null or empty."""
    return value is None or (isinstance(value, list | tuple | np.ndarray) and len(value) == 0)


def require(what: str, data: Mapping[str, Any], *keys: str) -> None:
    """Check that a file gives these entries; raises BadInput, where `what`, such as "A step", begins the message."""
    for key in keys:
        if data.get(key) is None:
            raise BadInput(f"{what} needs {key!r}; it is missing.")


def with_axis(value: Any, flat: int) -> Any:
    """Insert an axis of length 1 after the first axis of an array with `flat` axes; return other arrays unchanged."""
    try:
        raw = real_array(value)
    except (TypeError, ValueError, OverflowError):
        return value
    return raw[:, None] if raw.ndim == flat else raw
