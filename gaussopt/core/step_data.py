"""One instant of a mechanical system as numbers: what every formulation starts from.

M a + h = Q + J^T lam + J_N^T lam_N + J_T^T lam_T,     J a = gamma,     J_N a + zeta_N >= 0
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gaussopt.core.errors import BadInput
from gaussopt.core.fast_frozen import quick

if TYPE_CHECKING:
    from gaussopt.modelling.generated_functions import Evaluation

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Arithmetic = tuple["Evaluation", Vector]
"""What computes the generated certificate, and the flat step that it reads; see `gaussopt.codegen.ldl`."""

SYMMETRY_TOLERANCE = 1e-10
"""Largest relative asymmetry of M that still counts as rounding."""

DEFINITE_TOLERANCE = 1e-10
"""Most negative eigenvalue of M, relative to the largest, that still counts as zero."""


def all_finite(x: Vector) -> bool:
    """Whether all numbers of a vector are finite, (n,)."""
    # The square overflows only far beyond any physical number; then the entries themselves are asked.
    return math.isfinite(x.dot(x)) or bool(np.isfinite(x).all())


def is_sparse(A: Any) -> bool:
    """Whether a matrix is a SciPy sparse one; asks nothing of scipy.sparse, which not every run needs."""
    return not isinstance(A, np.ndarray) and hasattr(A, "tocsr")


def given_sparse(value: Any) -> bool:
    """Whether a matrix is given sparse: as one, or as the places and values of its entries in a file."""
    return is_sparse(value) or (isinstance(value, Mapping) and "row" in value)


def as_array(name: str, value: ArrayLike, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """Convert `value` to a finite float array of the given shape (None: any length).

    Raises
    ------
    BadInput
        Naming the array, the place and what was expected.
    """
    try:
        array = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} is not an array of numbers; give nested lists of equal length.") from None
    expected = "(" + ", ".join("any" if s is None else str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"
    if array.ndim != len(shape) or any(
        want is not None and have != want for have, want in zip(array.shape, shape, strict=False)
    ):
        raise BadInput(f"{name} has shape {array.shape}, expected {expected}.")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise BadInput(f"{name}{list(where)} is {array[where]}; all entries must be finite.")
    return array


def real_array(value: ArrayLike) -> NDArray[np.float64]:
    """A copy of `value` as an array of floats.

    Raises
    ------
    TypeError, ValueError, OverflowError
        Also for texts and complex numbers, which NumPy would turn into floats.
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
    """A finite number.

    Raises
    ------
    BadInput
    """
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if isinstance(value, str | bytes) or not math.isfinite(found):
        raise BadInput(f"{name} is {value!r}; give a finite number.")
    return found


def check_mass_matrix(M: Matrix, what: str = "the mass matrix M") -> Matrix:
    """Return M made exactly symmetric, or say why it is no mass matrix.

    Raises
    ------
    BadInput
        If M is asymmetric beyond rounding or has a negative eigenvalue beyond rounding.
    """
    scale = float(np.abs(M).max(initial=0.0))
    skew = np.abs(M - M.T)
    if skew.max(initial=0.0) > SYMMETRY_TOLERANCE * scale:
        i, j = (int(k) for k in np.unravel_index(int(skew.argmax()), skew.shape))
        raise BadInput(f"{what} is not symmetric: entry [{i}, {j}] is {M[i, j]:.6g} but [{j}, {i}] is {M[j, i]:.6g}.")
    M = 0.5 * M + 0.5 * M.T  # the sum itself might overflow
    if len(M):
        # Scaling by the diagonal makes the test independent of the units of the coordinates.
        size = np.abs(np.diag(M))
        d = np.sqrt(np.where(size > 0, size, max(scale, 1e-300)))
        lowest = float(np.linalg.eigvalsh(M / np.outer(d, d))[0])
        if not lowest >= -DEFINITE_TOLERANCE * len(M):
            raise BadInput(
                f"{what} is indefinite: an eigenvalue of its diagonally scaled form is {lowest:.6g}; "
                "a mass matrix must be positive semidefinite."
            )
    return M


@quick
@dataclass(frozen=True, slots=True)
class StepData:
    """The data of one time step.

    M and J may both be sparse, for systems of many bodies: SciPy arrays in compressed rows, see `sparse_arrays`.
    Code that takes such steps asks `sparse` first; formulations, solvers and analyses that do not refuse them.

    Attributes
    ----------
    M : (n, n)
        Mass matrix, symmetric positive semidefinite.
    h : (n,)
        Velocity-dependent inertia terms, on the left-hand side.
    Q : (n,)
        Generalised applied forces.
    J, gamma : (m, n), (m,)
        Equality constraints on the acceleration, J a = gamma; the force on the system is J^T lam.
    J_N, zeta_N : (k, n), (k,)
        Normal contact rows; gap acceleration J_N a + zeta_N >= 0.
    J_T, zeta_T, v_T : (k, d, n), (k, d), (k, d)
        Tangential contact rows, bias and slip velocity.
    mu : (k,)
        Friction coefficients.
    g_N, gdot_N : (k,), optional
        Gaps in m and their rates; None if only the rows of closed contacts are given.
    e_N, e_T : (k,), optional
        Coefficients of restitution; None means 0.
    least_N : (k,), optional
        Smallest normal forces that the contact laws allow: 0 <= lam_N - least_N complementary to w; None means 0. The
        restitution phase of an impact after Poisson has its own.
    dt : float, optional
        Length of the time step in s, for formulations at velocity level.
    D_omega, w_omega : (n, p), (n,), optional
        Quasi-velocities: a = D_omega omega' + w_omega with J D_omega = 0.
    arithmetic
        Generated straight-line certificate and the flat step it reads, if the system has one.
    t, q, v
        Instant and state the data belong to, if known.
    """

    M: Matrix
    h: Vector
    Q: Vector
    J: Matrix
    gamma: Vector
    J_N: Matrix
    zeta_N: Vector
    J_T: NDArray[np.float64]
    zeta_T: Matrix
    v_T: Matrix
    mu: Vector
    t: float = 0.0
    q: Vector | None = None
    v: Vector | None = None
    D_omega: Matrix | None = None
    w_omega: Vector | None = None
    arithmetic: Arithmetic | None = field(default=None, repr=False, compare=False)
    g_N: Vector | None = None
    gdot_N: Vector | None = None
    e_N: Vector | None = None
    e_T: Vector | None = None
    least_N: Vector | None = None
    dt: float | None = None

    @classmethod
    def smooth(
        cls,
        M: Matrix,
        h: Vector,
        Q: Vector,
        J: Matrix,
        gamma: Vector,
        t: float,
        q: Vector,
        v: Vector,
        D_omega: Matrix | None = None,
        w_omega: Vector | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> StepData:
        """Step data without contacts, unchecked: the evaluator's fast path."""
        n = len(Q)
        return cls(M, h, Q, J, gamma, *_no_contacts(n), t, q, v, D_omega, w_omega, arithmetic)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> StepData:
        """Checked step data from named arrays, as in a `step` file (absent = none, h = 0).

        Raises
        ------
        BadInput
            Missing M or Q, wrong shapes, NaN, asymmetric or indefinite M.
        """
        for key in ("M", "Q"):
            if data.get(key) is None:
                raise BadInput(f"A step needs {key!r}; it is missing.")
        if any(given_sparse(data.get(key)) for key in ("M", "J")):
            from gaussopt.core.sparse_arrays import step_from_mapping

            return step_from_mapping(data)
        M = as_array("M", data["M"], (None, None))
        n = len(M)
        M = check_mass_matrix(as_array("M", M, (n, n)))
        if n == 0:
            raise BadInput("A step needs at least one coordinate; M is empty.")

        def rows(matrix: str, vector: str) -> tuple[Matrix, Vector]:
            if is_absent(data.get(matrix)):
                if not is_absent(data.get(vector)):
                    raise BadInput(f"{vector!r} is given without {matrix!r}.")
                return np.zeros((0, n)), np.zeros(0)
            A = as_array(matrix, data[matrix], (None, n))
            if data.get(vector) is None:
                raise BadInput(f"{matrix!r} is given without {vector!r}.")
            return A, as_array(vector, data[vector], (len(A),))

        J, gamma = rows("J", "gamma")
        J_N, zeta_N = rows("J_N", "zeta_N")
        k = len(J_N)
        if (silent := ~J_N.any(axis=1)).any():
            raise BadInput(f"J_N[{int(np.argmax(silent))}] is zero; a contact needs a normal direction.")
        h = np.zeros(n) if data.get("h") is None else as_array("h", data["h"], (n,))
        if k == 0 and any(not is_absent(data.get(key)) for key in ("J_T", "zeta_T", "v_T", "mu")):
            raise BadInput("Tangential contact data are given without the normal rows 'J_N'.")
        J_T, zeta_T, v_T, mu = _tangential(data, k, n)
        if (silent := (mu > 0) & ~J_T.any(axis=(1, 2))).any():
            i = int(np.argmax(silent))
            raise BadInput(f"J_T[{i}] is zero although mu[{i}] is {mu[i]:.6g}; friction needs a direction.")
        t = float(as_array("t", data["t"], ())) if isinstance(data.get("t"), int | float) else 0.0
        q = None if data.get("q") is None else as_array("q", data["q"], (n,))
        v = None if data.get("v") is None else as_array("v", data["v"], (n,))
        D_omega = w_omega = None
        if data.get("D_omega") is not None:
            D_omega = as_array("D_omega", data["D_omega"], (n, None))
            w_omega = np.zeros(n) if data.get("w_omega") is None else as_array("w_omega", data["w_omega"], (n,))
        Q = as_array("Q", data["Q"], (n,))
        step = cls(M, h, Q, J, gamma, J_N, zeta_N, J_T, zeta_T, v_T, mu, t, q, v, D_omega, w_omega)
        kinematics = {
            name: as_array(name, data[name], (k,))
            for name in ("g_N", "gdot_N", "e_N", "e_T", "least_N")
            if not is_absent(data.get(name))
        }
        for name in ("e_N", "e_T"):
            if name in kinematics and not ((kinematics[name] >= 0) & (kinematics[name] <= 1)).all():
                raise BadInput(f"{name} holds {kinematics[name]}; coefficients of restitution lie between 0 and 1.")
        if data.get("dt") is not None:
            dt = float(as_array("dt", data["dt"], ()))
            if dt <= 0:
                raise BadInput(f"dt is {dt:g}; the length of a time step is positive.")
            step = replace(step, dt=dt)
        if not kinematics:
            return step
        return replace(
            step, g_N=kinematics.get("g_N"), gdot_N=kinematics.get("gdot_N"), e_N=kinematics.get("e_N"),
            e_T=kinematics.get("e_T"), least_N=kinematics.get("least_N"),
        )  # fmt: skip

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.Q)

    @property
    def m(self) -> int:
        """Number of equality rows."""
        return len(self.gamma)

    @property
    def k(self) -> int:
        """Number of contacts."""
        return len(self.zeta_N)

    @property
    def sparse(self) -> bool:
        """Whether M and J are sparse."""
        return is_sparse(self.M)

    @property
    def force(self) -> Vector:
        """Q - h, (n,): what accelerates the free system (the papers' Q with a tilde)."""
        return self.Q - self.h

    @property
    def speed(self) -> Vector:
        """|v_T|, (k,): the slip speed of every contact."""
        # Not the plain norm: squares of tiny slips vanish, and no slip means stick.
        if self.v_T.shape[1] == 1:
            return np.abs(self.v_T[:, 0])
        size = np.abs(self.v_T).max(axis=1, initial=0.0)
        return np.asarray(size * np.linalg.norm(self.v_T / np.where(size > 0, size, 1.0)[:, None], axis=1))

    @property
    def sigma(self) -> Matrix:
        """-v_T / |v_T|, (k, d): the direction of sliding friction; zero where there is no slip, which is no sign."""
        speed = self.speed
        return np.asarray(-self.v_T / np.where(speed > 0, speed, 1.0)[:, None])

    @property
    def resting(self) -> NDArray[np.bool_]:
        """Contacts with friction and without slip, (k,): they stick or start to slip."""
        return np.asarray((self.speed == 0) & (self.mu > 0))

    @property
    def least(self) -> Vector:
        """`least_N`, zeros if it is None, (k,)."""
        return np.zeros(self.k) if self.least_N is None else self.least_N

    @property
    def friction_map(self) -> Matrix:
        """J_N^T + J_T^T sigma mu, (n, k): what a unit normal force does through a sliding contact."""
        return np.asarray(self.J_N.T + np.einsum("kdn,kd->nk", self.J_T, self.sigma * self.mu[:, None]))

    def select(self, contacts: Sequence[int] | NDArray[np.intp]) -> StepData:
        """The same step with these contacts only, in this order."""
        i = np.asarray(contacts, dtype=np.intp)

        def part(x: Vector | None) -> Vector | None:
            return None if x is None else x[i]

        return replace(
            self, J_N=self.J_N[i], zeta_N=self.zeta_N[i], J_T=self.J_T[i], zeta_T=self.zeta_T[i], v_T=self.v_T[i],
            mu=self.mu[i], g_N=part(self.g_N), gdot_N=part(self.gdot_N), e_N=part(self.e_N), e_T=part(self.e_T),
            least_N=part(self.least_N),
        )  # fmt: skip

    def with_forces(self, lam_N: Vector, lam_T: Matrix) -> StepData:
        """The step without contacts in which these contact forces are applied forces, (k,) and (k, d)."""
        Q = self.Q + self.J_N.T @ lam_N + np.einsum("kdn,kd->n", self.J_T, lam_T)
        return replace(self.select([]), Q=Q, arithmetic=None)

    def with_gamma(self, gamma: Vector) -> StepData:
        """The same step with another right-hand side of the equality rows (stabilisation)."""
        if self.arithmetic is None:
            return replace(self, gamma=gamma)
        evaluation, flat = self.arithmetic
        known, begin = flat.copy(), self.n * self.n + 2 * self.n + self.m * self.n
        known[begin : begin + self.m] = gamma
        return replace(self, gamma=gamma, arithmetic=(evaluation, known))

    def to_mapping(self) -> dict[str, Any]:
        """The contents of a `step` file; empty arrays are left out."""
        out: dict[str, Any] = {"kind": "step"}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                if value.size:
                    out[f.name] = value.tolist()
            elif is_sparse(value):
                from gaussopt.core.sparse_arrays import to_triplets

                if value.shape[0]:
                    out[f.name] = to_triplets(value)
            elif isinstance(value, float | int):
                out[f.name] = float(value)
        return out

    def finite(self) -> bool:
        """Whether all numbers are finite."""
        values = (getattr(self, f.name) for f in fields(self))
        arrays = (value.data if is_sparse(value) else value for value in values)
        return all(bool(np.isfinite(x).all()) for x in arrays if isinstance(x, np.ndarray))


def is_absent(value: Any) -> bool:
    """Whether an entry of a step is not given: it is missing, null or empty."""
    return value is None or (isinstance(value, list | tuple | np.ndarray) and len(value) == 0)


def _no_contacts(n: int) -> tuple[Matrix, Vector, NDArray[np.float64], Matrix, Matrix, Vector]:
    if n not in _EMPTY:
        arrays = (
            np.zeros((0, n)),
            np.zeros(0),
            np.zeros((0, 1, n)),
            np.zeros((0, 1)),
            np.zeros((0, 1)),
            np.zeros(0),
        )
        for array in arrays:
            array.setflags(write=False)
        _EMPTY[n] = arrays
    return _EMPTY[n]


_EMPTY: dict[int, tuple[Matrix, Vector, NDArray[np.float64], Matrix, Matrix, Vector]] = {}


def _tangential(data: Mapping[str, Any], k: int, n: int) -> tuple[NDArray[np.float64], Matrix, Matrix, Vector]:
    """J_T, zeta_T, v_T and mu; in the plane JSON may drop the tangent axis."""
    mu = np.zeros(k) if is_absent(data.get("mu")) else as_array("mu", data["mu"], (k,))
    if (mu < 0).any():
        i = int(np.argmax(mu < 0))
        raise BadInput(f"mu[{i}] is {mu[i]:.6g}; a friction coefficient is not negative.")
    if is_absent(data.get("J_T")):
        if (mu > 0).any():
            raise BadInput("mu is positive but the tangential rows 'J_T' are missing.")
        return np.zeros((k, 1, n)), np.zeros((k, 1)), np.zeros((k, 1)), mu
    J_T = as_array("J_T", _with_axis(data["J_T"], 2), (k, None, n))
    d = J_T.shape[1]

    def tangent(name: str) -> Matrix:
        if is_absent(data.get(name)):
            return np.zeros((k, d))
        return as_array(name, _with_axis(data[name], 1), (k, d))

    return J_T, tangent("zeta_T"), tangent("v_T"), mu


def _with_axis(value: Any, flat: int) -> Any:
    """Planar data with the tangent axis put back; anything else as it is, for `as_array` to judge."""
    try:
        raw = real_array(value)
    except (TypeError, ValueError, OverflowError):
        return value
    return raw[:, None] if raw.ndim == flat else raw
