"""The equations of a mechanical system at one instant, in numbers: the input of every formulation.

M a + h = Q + J^T lam + J_N^T lam_N + J_T^T lam_T,     J a = gamma,     J_N a + zeta_N >= 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix as Matrix
from gaussopt.core.arrays import Vector as Vector
from gaussopt.core.arrays import as_array as as_array
from gaussopt.core.arrays import check_mass_matrix, given_sparse, is_absent, is_sparse, require, with_axis
from gaussopt.core.display import About, counted, shown
from gaussopt.core.errors import BadInput
from gaussopt.core.fast_frozen import fast_frozen
from gaussopt.core.row_rounding import without_rounding, without_rounding_of_zeros
from gaussopt.core.sparse_arrays import Sparse, check_sparse_mass, read_sparse, to_triplets


class StepCertifier(Protocol):
    """The interface of the generated certificate of a system; see `gaussopt.codegen.certificate`."""

    def certificate(
        self, step: Vector, a: Vector, lam: Vector | None, m: int
    ) -> tuple[Sequence[float], Vector, Vector] | None:
        """Return residuals, multipliers and distances of rows, see `Certificate`; None if a pivot is too small."""


CONTACT_ARRAYS = ("J_N", "zeta_N", "J_T", "zeta_T", "v_T", "mu", "g_N", "gdot_N", "e_N", "e_T", "least_N")
"""Fields of a step with one entry or row per contact."""

Arithmetic = tuple[StepCertifier, Vector]
"""The generated certificate of a step, and the numbers of the step as one vector, its argument."""


@shown
@fast_frozen
@dataclass(frozen=True, slots=True)
class StepData:
    """The data of one time step.

    For systems of many bodies M and J may both be sparse: SciPy arrays in compressed rows, see `sparse_arrays`.
    Code that accepts sparse steps tests `sparse` first; all other formulations, solvers and analyses refuse them.

    Attributes
    ----------
    M : (n, n), mass matrix, symmetric positive semidefinite
    h : (n,), velocity-dependent inertia terms, on the left-hand side
    Q : (n,), generalised applied forces
    J, gamma : (m, n), (m,), equality constraints on the acceleration, J a = gamma; the force on the system is J^T lam
    J_N, zeta_N : (k, n), (k,), normal contact rows; gap acceleration J_N a + zeta_N >= 0
    J_T, zeta_T, v_T : (k, d, n), (k, d), (k, d), tangential contact rows, bias and slip velocity
    mu : (k,), friction coefficients
    g_N, gdot_N : (k,), optional, gaps in m and their rates in m/s; None if only the rows of closed contacts are given
    e_N, e_T : (k,), optional, coefficients of restitution; None means 0
    least_N : (k,), optional
        Smallest normal forces that the contact laws allow: 0 <= lam_N - least_N is complementary to the gap
        acceleration. None means 0. They are set in the restitution phase of Poisson's impact law.
    dt : length of the time step in s, for formulations at velocity level, optional
    D_omega, w_omega : (n, p), (n,), optional, quasi-velocities: a = D_omega omega' + w_omega with J D_omega = 0
    arithmetic
        The generated certificate and the flat step that it reads, if the system has a generated certificate.
    t, q, v
        Instant and state to which the data belong, if known.
    J_terms, gamma_terms : (m, n), (m,), optional
        For each entry of J and gamma, the sum of the sizes of the terms that were added, which may cancel. Entries of J
        that are only rounding errors of their terms are set to zero, see `gaussopt.core.row_rounding`. None: rounding
        errors are relative to the entry itself, so that a row, however small, is a constraint.

    Examples
    --------
    >>> import gaussopt as go
    >>> fall = go.StepData.from_mapping({"M": [[2.0, 0.0], [0.0, 2.0]], "Q": [0.0, -19.62]})
    >>> print(go.solve_step(fall).a)
    [ 0.   -9.81]
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
    J_terms: Matrix | None = None
    gamma_terms: Vector | None = None

    @classmethod
    def smooth(
        cls, M: Matrix, h: Vector, Q: Vector, J: Matrix, gamma: Vector, t: float, q: Vector, v: Vector,
        D_omega: Matrix | None = None, w_omega: Vector | None = None, arithmetic: Arithmetic | None = None,
        J_terms: Matrix | None = None,
    ) -> StepData:  # fmt: skip
        """Return step data without contacts and without checks; evaluators use it because it is fast."""
        n = len(Q)
        return cls(M, h, Q, J, gamma, *_no_contacts(n), t, q, v, D_omega, w_omega, arithmetic, J_terms=J_terms)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> StepData:
        """Return checked step data from named arrays, as in a `step` file; absent arrays are empty, h is 0 if absent.

        Raises BadInput for a missing M or Q, wrong shapes, NaN, or an asymmetric or indefinite M.
        """
        require("A step", data, "M", "Q")
        return (_sparse if any(given_sparse(data.get(key)) for key in ("M", "J")) else _dense)(data)

    def _about(self) -> About:
        counts = counted(self.n, "coordinate"), counted(self.m, "equality row"), counted(self.k, "contact")
        rows = [(f.name, x) for f in fields(self) if isinstance(x := getattr(self, f.name), np.ndarray) and x.size]
        matrices = [(name, x) for name in ("M", "J") if is_sparse(x := getattr(self, name))]
        return About(f"{', '.join(counts)}, t = {self.t:g} s", (), [*matrices, *rows])

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
        """Q - h, (n,), the force on the free system (Q with a tilde in the papers)."""
        return self.Q - self.h

    @property
    def speed(self) -> Vector:
        """The slip speed |v_T| of every contact, (k,), m/s."""
        # In the plain norm the squares of tiny slips would underflow to zero, and zero slip means sticking.
        if self.v_T.shape[1] == 1:
            return np.abs(self.v_T[:, 0])
        size = np.abs(self.v_T).max(axis=1, initial=0.0)
        return np.asarray(size * np.linalg.norm(self.v_T / np.where(size > 0, size, 1.0)[:, None], axis=1))

    @property
    def sigma(self) -> Matrix:
        """The direction of sliding friction, -v_T / |v_T|, (k, d); zero where there is no slip."""
        speed = self.speed
        return np.asarray(-self.v_T / np.where(speed > 0, speed, 1.0)[:, None])

    @property
    def resting(self) -> NDArray[np.bool_]:
        """Mask, (k,), of the contacts with friction and without slip, which stick or start to slip."""
        return np.asarray((self.speed == 0) & (self.mu > 0))

    @property
    def rests_in_space(self) -> bool:
        """Whether a contact with two tangents has friction and no slip, so that its law cannot be written as an LCP."""
        return self.J_T.shape[1] > 1 and bool(self.resting.any())

    @property
    def least(self) -> Vector:
        """`least_N`, (k,), or zeros if it is None."""
        return np.zeros(self.k) if self.least_N is None else self.least_N

    @property
    def friction_map(self) -> Matrix:
        """J_N^T + J_T^T sigma mu, (n, k): the generalised force of a unit normal force with its sliding friction."""
        return np.asarray(self.J_N.T + np.einsum("kdn,kd->nk", self.J_T, self.sigma * self.mu[:, None]))

    def select(self, contacts: Sequence[int] | NDArray[np.intp]) -> StepData:
        """Return the step with only the given contacts, in the given order."""
        i = np.asarray(contacts, dtype=np.intp)
        given = {name: x for name in CONTACT_ARRAYS if (x := getattr(self, name)) is not None}
        return replace(self, **{name: x[i] for name, x in given.items()})

    def with_forces(self, lam_N: Vector, lam_T: Matrix) -> StepData:
        """Return the step with the contacts replaced by applied forces lam_N, (k,), and lam_T, (k, d).

        Q also takes -h, which leaves h = 0: where Q and h cancel, their sizes would round contact forces away.
        """
        Q = self.force + self.J_N.T @ lam_N + np.einsum("kdn,kd->n", self.J_T, lam_T)
        return replace(self.select([]), Q=Q, h=np.zeros(self.n), arithmetic=None)

    def with_gamma(self, gamma: Vector) -> StepData:
        """Return the same step with another right-hand side gamma, (m,), as stabilisation needs it."""
        if self.arithmetic is None:
            return replace(self, gamma=gamma)
        evaluation, flat = self.arithmetic
        known, begin = flat.copy(), self.n * self.n + 2 * self.n + self.m * self.n
        known[begin : begin + self.m] = gamma
        return replace(self, gamma=gamma, arithmetic=(evaluation, known))

    def to_mapping(self) -> dict[str, Any]:
        """Return the contents of a `step` file; empty arrays are left out."""
        out: dict[str, Any] = {"kind": "step"}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                if value.size:
                    out[f.name] = value.tolist()
            elif is_sparse(value):
                if value.shape[0]:
                    out[f.name] = to_triplets(value)
            elif isinstance(value, float | int):
                out[f.name] = float(value)
        return out

    def finite(self) -> bool:
        """Return whether all numbers of the step are finite."""
        values = (getattr(self, f.name) for f in fields(self))
        arrays = (value.data if is_sparse(value) else value for value in values)
        return all(bool(np.isfinite(x).all()) for x in arrays if isinstance(x, np.ndarray))


@lru_cache(maxsize=64)
def _no_contacts(n: int) -> tuple[Matrix, Vector, NDArray[np.float64], Matrix, Matrix, Vector]:
    """Return empty J_N, zeta_N, J_T, zeta_T, v_T and mu; they are shared, and therefore read-only."""
    arrays = (
        np.zeros((0, n)), np.zeros(0), np.zeros((0, 1, n)), np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0),
    )  # fmt: skip
    for array in arrays:
        array.setflags(write=False)
    return arrays


def sparse_step(
    M: Sparse, h: Vector, Q: Vector, J: Sparse, gamma: Vector, t: float, q: Vector | None, v: Vector | None
) -> StepData:
    """Return step data with sparse matrices, without checks."""
    return StepData.smooth(M, h, Q, J, gamma, t, q, v)  # type: ignore[arg-type]


def parts(step: StepData) -> tuple[Sparse, Sparse]:
    """Return M and J of a sparse step, typed as sparse matrices."""
    assert all(map(is_sparse, (step.M, step.J)))
    return step.M, step.J  # type: ignore[return-value]


def memory(step: StepData) -> int:
    """Return the number of bytes of the arrays of a sparse step: M, J with their indices, and the vectors."""
    M, J = parts(step)
    arrays = [x for A in (M, J) for x in (A.data, A.indices, A.indptr)]
    arrays += [step.h, step.Q, step.gamma, *(x for x in (step.q, step.v) if x is not None)]
    return sum({id(x): x.nbytes for x in arrays}.values())


def _dense(data: Mapping[str, Any]) -> StepData:
    M = as_array("M", data["M"], (None, None))
    n = len(M)
    M = check_mass_matrix(as_array("M", M, (n, n)))
    if n == 0:
        raise BadInput("A step needs at least one coordinate; M is empty.")
    J, gamma = _rows(data, "J", "gamma", n)
    J_N, zeta_N = _rows(data, "J_N", "zeta_N", n)
    k = len(J_N)
    if (silent := ~J_N.any(axis=1)).any():
        raise BadInput(f"J_N[{int(np.argmax(silent))}] is zero; a contact needs a normal direction.")
    h = _or_zeros(data, "h", n)
    if k == 0 and any(not is_absent(data.get(key)) for key in ("J_T", "zeta_T", "v_T", "mu")):
        raise BadInput("Tangential contact data are given without the normal rows 'J_N'.")
    J_T, zeta_T, v_T, mu = _tangential(data, k, n)
    if (silent := (mu > 0) & ~J_T.any(axis=(1, 2))).any():
        i = int(np.argmax(silent))
        raise BadInput(f"J_T[{i}] is zero although mu[{i}] is {mu[i]:.6g}; friction needs a direction.")
    t, q, v = _state(data, n)
    D_omega = _optional(data, "D_omega", (n, None))
    w_omega = None if D_omega is None else _or_zeros(data, "w_omega", n)
    Q = as_array("Q", data["Q"], (n,))
    J_terms, gamma_terms = _optional(data, "J_terms", J.shape), _optional(data, "gamma_terms", gamma.shape)
    if (J_terms is not None and (J_terms < 0).any()) or (gamma_terms is not None and (gamma_terms < 0).any()):
        raise BadInput("J_terms and gamma_terms are sizes; they hold a negative number.")
    J = without_rounding(J, J_terms)
    gamma = without_rounding_of_zeros(J, gamma, gamma_terms)
    return StepData(
        M, h, Q, J, gamma, J_N, zeta_N, J_T, zeta_T, v_T, mu, t, q, v, D_omega, w_omega,
        **_gaps_and_restitution(data, k), dt=_duration(data), J_terms=J_terms, gamma_terms=gamma_terms,
    )  # fmt: skip


def _sparse(data: Mapping[str, Any]) -> StepData:
    """Return checked sparse step data; M and J are sparse matrices, or mappings made by `to_triplets`."""
    for key in ("J_N", "J_T", "D_omega", "J_terms", "gamma_terms"):
        if not is_absent(data.get(key)):
            what = "sizes of terms need" if key.endswith("terms") else "contacts and quasi-velocities need"
            raise BadInput(f"A step with sparse matrices holds {key!r}; {what} dense ones.")
    Q = as_array("Q", data["Q"], (None,))
    n = len(Q)
    M = check_sparse_mass(read_sparse("M", data["M"], (n, n)))
    given = data.get("J") is not None
    _see_pair(data, "J", "gamma", given)
    rows = len(as_array("gamma", data["gamma"], (None,))) if isinstance(data.get("J"), Mapping) else None
    J = read_sparse("J", data["J"] if given else np.zeros((0, n)), (rows, n))
    gamma = as_array("gamma", data["gamma"], (J.shape[0],)) if given else np.zeros(0)
    t, q, v = _state(data, n)
    return sparse_step(M, _or_zeros(data, "h", n), Q, J, gamma, t, q, v)


def _optional(data: Mapping[str, Any], name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64] | None:
    return None if data.get(name) is None else as_array(name, data[name], shape)


def _or_zeros(data: Mapping[str, Any], name: str, n: int) -> Vector:
    return np.zeros(n) if data.get(name) is None else as_array(name, data[name], (n,))


def _state(data: Mapping[str, Any], n: int) -> tuple[float, Vector | None, Vector | None]:
    """Return t, q and v; t becomes 0 if it is a text, which files use as a comment."""
    t = float(as_array("t", data["t"], ())) if isinstance(data.get("t"), int | float) else 0.0
    return t, _optional(data, "q", (n,)), _optional(data, "v", (n,))


def _see_pair(data: Mapping[str, Any], matrix: str, vector: str, given: bool) -> None:
    """Refuse a matrix such as J without its vector gamma, and such a vector without its matrix."""
    if not given and not is_absent(data.get(vector)):
        raise BadInput(f"{vector!r} is given without {matrix!r}.")
    if given and data.get(vector) is None:
        raise BadInput(f"{matrix!r} is given without {vector!r}.")


def _rows(data: Mapping[str, Any], matrix: str, vector: str, n: int) -> tuple[Matrix, Vector]:
    given = not is_absent(data.get(matrix))
    A = as_array(matrix, data[matrix], (None, n)) if given else np.zeros((0, n))
    _see_pair(data, matrix, vector, given)
    return A, as_array(vector, data[vector], (len(A),)) if given else np.zeros(0)


def _gaps_and_restitution(data: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Return the optional arrays g_N, gdot_N, e_N, e_T and least_N, as far as they are given."""
    names = ("g_N", "gdot_N", "e_N", "e_T", "least_N")
    found = {name: as_array(name, data[name], (k,)) for name in names if not is_absent(data.get(name))}
    for name in ("e_N", "e_T"):
        if name in found and not ((found[name] >= 0) & (found[name] <= 1)).all():
            raise BadInput(f"{name} holds {found[name]}; coefficients of restitution lie between 0 and 1.")
    return found


def _duration(data: Mapping[str, Any]) -> float | None:
    dt = _optional(data, "dt", ())
    if dt is not None and dt <= 0:
        raise BadInput(f"dt is {float(dt):g}; the length of a time step is positive.")
    return None if dt is None else float(dt)


def _tangential(data: Mapping[str, Any], k: int, n: int) -> tuple[NDArray[np.float64], Matrix, Matrix, Vector]:
    """Return J_T, zeta_T, v_T and mu; planar data may leave out the tangent axis."""
    mu = np.zeros(k) if is_absent(data.get("mu")) else as_array("mu", data["mu"], (k,))
    if (mu < 0).any():
        i = int(np.argmax(mu < 0))
        raise BadInput(f"mu[{i}] is {mu[i]:.6g}; a friction coefficient is not negative.")
    if is_absent(data.get("J_T")):
        if (mu > 0).any():
            raise BadInput("mu is positive but the tangential rows 'J_T' are missing.")
        return np.zeros((k, 1, n)), np.zeros((k, 1)), np.zeros((k, 1)), mu
    J_T = as_array("J_T", with_axis(data["J_T"], 2), (k, None, n))
    d = J_T.shape[1]

    def tangent(name: str) -> Matrix:
        if is_absent(data.get(name)):
            return np.zeros((k, d))
        return as_array(name, with_axis(data[name], 1), (k, d))

    return J_T, tangent("zeta_T"), tangent("v_T"), mu
