"""Contact problems with exact Coulomb friction in space: the law between relative velocities and impulses.

Contact i owns rows 3i, 3i + 1, 3i + 2: the normal N and the tangents T1 and T2, right-handed and orthonormal.

    u = W r + q,    u~ = u + mu |u_T| n,    K* contains u~  _|_  r in K,
    K = {|r_T| <= mu r_N},    K* = {u_N >= mu |u_T|}

is Signorini's law at velocity level with Coulomb's law, in de Saxce's form; where u_N > 0 the contact opens.
Reference: G. de Saxce, Z.-Q. Feng, "The bipotential method: a constructive approach to design the complete contact law
with friction and improved numerical algorithms", Math. Comput. Modelling 28, 1998.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import (
    SYMMETRY_TOLERANCE,
    Matrix,
    Vector,
    as_array,
    check_mass_matrix,
    given_sparse,
    is_absent,
    require,
)
from gaussopt.core.delassus import ROWS as ROWS
from gaussopt.core.delassus import DelassusProduct, as_dense, block_inverse, block_mass, formed, is_blocks, operator
from gaussopt.core.display import About, counted, shown
from gaussopt.core.errors import BadInput
from gaussopt.core.fast_frozen import fast_frozen
from gaussopt.core.program import Program
from gaussopt.core.sparse_arrays import json_entries, read_sparse

LARGEST = 1e60
"""Upper limit for entries of W, q and mu; the largest entry of a nonzero W or q must be at least 1 / LARGEST."""

FRAMES = 1e-6
"""Largest deviation of the scalar products of a frame's vectors from those of an orthonormal frame."""


@shown
@fast_frozen
@dataclass(frozen=True)
class ConeComplementarity(Program):
    """The local form u = W r + q of contacts with friction cones.

    Attributes
    ----------
    W : (3 k, 3 k), Delassus operator, 1/kg; it need be neither symmetric nor regular. A matrix, or for many contacts
        sparse 3 x 3 blocks or a `DelassusProduct` (`gaussopt.core.delassus`)
    q : (3 k,), relative velocities without impulses, m/s
    mu : (k,), friction coefficients
    """

    shapes: ClassVar = {"W": "nn", "q": "n", "mu": "k"}
    takers: ClassVar = "hybrid or nsgs"
    sparse_takers: ClassVar = "hybrid or nsgs"

    W: Matrix
    q: Vector
    mu: Vector

    def _about(self) -> About:
        return About(counted(self.k, "contact"), (), [("W", self.W), ("q", self.q), ("mu", self.mu)])

    @property
    def n(self) -> int:
        return len(self.q)

    @property
    def k(self) -> int:
        """Number of contacts."""
        return len(self.mu)

    @property
    def pattern(self) -> tuple[Any, ...]:
        return (self.W.shape, type(self.W))

    @property
    def sparse(self) -> bool:
        return is_blocks(self.W)

    @cached_property
    def asymmetry(self) -> float:
        """Largest entry of W - W^T relative to that of W; for a `DelassusProduct`, the same with A in place of W."""
        W: Any = self.W.A if isinstance(self.W, DelassusProduct) else self.W
        size = largest_entry(W)
        return largest_entry(W - W.T) / size if size else 0.0

    @property
    def symmetric_part(self) -> Matrix:
        """The symmetric part (W + W^T) / 2, (3 k, 3 k), dense or as sparse blocks."""
        W = formed(self.W)
        half: Any = W * 0.5 + W.T * 0.5 if is_blocks(W) else 0.5 * (W + W.T)
        return half  # type: ignore[no-any-return]

    @property
    def local(self) -> ConeComplementarity:
        """The problem itself, since it is in local form; `GlobalContacts.local` computes the local form."""
        return self

    @property
    def symmetric(self) -> bool:
        """Whether W is symmetric up to rounding."""
        return self.asymmetry <= SYMMETRY_TOLERANCE

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> ConeComplementarity:
        """Return a checked problem from the contents of a `contact` file; raises BadInput.

        `frames`, (k, 3, 3) with the rows N, T1, T2 of each contact, are optional, and checked if given.
        """
        require("A contact problem", data, "W", "q", "mu")
        mu = friction_coefficients(data["mu"])
        check_frames(data.get("frames"), len(mu))
        rows = ROWS * len(mu)
        q, given = _array("q", data["q"], (rows,)), data["W"]
        dense = not given_sparse(given) and not isinstance(given, DelassusProduct)
        W = operator(_array("W", given, (rows, rows)) if dense else given, rows)
        for name, size in (("W", largest_entry(W)), ("q", largest_entry(q))):
            if size and not 1.0 / LARGEST <= size <= LARGEST:
                raise BadInput(f"The largest entry of {name} is {size:g}, beyond what can be squared; use other units.")
        return cls(W, q, mu)

    def in_order(self, order: NDArray[np.intp]) -> ConeComplementarity:
        """Return the problem with its rows permuted: row i of the result is row order[i]; raises BadInput."""
        W: Any = formed(self.W)
        W = W[np.ix_(order, order)] if isinstance(W, np.ndarray) else W.tocsr()[order][:, order]
        return ConeComplementarity.from_mapping({"W": W, "q": self.q[order], "mu": self.mu})

    def u(self, r: Vector) -> Vector:
        """Return the relative velocities u = W r + q, (3 k,), m/s."""
        return np.asarray(self.W @ r + self.q)

    def to_mapping(self) -> dict[str, Any]:
        """Return the problem as the contents of a `contact` file."""
        return {"kind": "contact", "W": json_entries(formed(self.W)), "q": self.q.tolist(), "mu": self.mu.tolist()}


@shown
@dataclass(frozen=True)
class GlobalContacts:
    """The global form of a problem of contacts with friction cones, in the velocities v of the bodies.

        M v = H r + f + G l,    u = H^T v + w,    G^T v + b = 0

    Attributes
    ----------
    M : (n, n), kg; its symmetric part positive semidefinite, definite where G^T v = 0
    H : (n, 3 k), directions of the contact impulses r
    f : (n,), momentum without contact impulses
    w : (3 k,), relative velocities at v = 0, m/s
    mu : (k,), friction coefficients
    G : (n, p), b : (p,), bilateral rows, with impulses l

    For many contacts without bilateral rows, M and H may be sparse, M with a block for each body.
    """

    M: Matrix
    H: Matrix
    f: Vector
    w: Vector
    mu: Vector
    G: Matrix
    b: Vector

    def _about(self) -> About:
        title = f"{counted(self.k, 'contact')}, {counted(len(self.f), 'velocity', 'velocities')}"
        return About(title, (), [(name, getattr(self, name)) for name in ("M", "H", "f", "w", "mu", "G", "b")])

    @property
    def k(self) -> int:
        """Number of contacts."""
        return len(self.mu)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> GlobalContacts:
        """Return a checked problem from a `contact-global` file, `frames` as in the local form; raises BadInput."""
        require("A global contact problem", data, "M", "H", "f", "w", "mu")
        mu = friction_coefficients(data["mu"])
        check_frames(data.get("frames"), len(mu))
        rows, f = ROWS * len(mu), as_array("f", data["f"], (None,))
        n = len(f)
        M: Any
        H: Any
        M = block_mass(data["M"], n) if rows and is_absent(data.get("G")) else None
        if M is None:
            M = as_dense("M", data["M"], (n, n))
            check_mass_matrix(0.5 * (M + M.T))
            H = np.zeros((n, 0)) if not rows else as_dense("H", data["H"], (n, rows))
        else:
            H = read_sparse("H", data["H"], (n, rows)).tocsc()
        b = np.zeros(0) if is_absent(data.get("b")) else as_array("b", data["b"], (None,))
        if is_absent(data.get("G")):
            if len(b):
                raise BadInput(f"b has {counted(len(b), 'entry', 'entries')}, but there is no G; give both or neither.")
            G = np.zeros((n, 0))
        else:
            G = as_array("G", data["G"], (n, None))
            b = b if len(b) else np.zeros(G.shape[1])
            if len(b) != G.shape[1]:
                raise BadInput(f"b has {len(b)} entries and G has {G.shape[1]} columns; they must agree.")
        found = cls(M, H, f, _array("w", data["w"], (rows,)), mu, G, b)
        _ = found.inverse
        return found

    @cached_property
    def inverse(self) -> Matrix:
        """The inverse of [M, -G; G^T, 0], (n + p, n + p).

        Raises BadInput if the matrix is singular: a massless direction is unconstrained, or rows of G^T are dependent.
        """
        if is_blocks(self.M):
            return block_inverse(self.M)  # type: ignore[no-any-return]
        p = self.G.shape[1]
        K = np.block([[self.M, -self.G], [self.G.T, np.zeros((p, p))]])
        size = np.abs(K).max(axis=1, initial=0.0)
        if len(K) and not (size > 0).all():
            raise BadInput("[M, G; G^T, 0] has a row of zeros: a velocity without mass, or an empty bilateral row.")
        d = 1.0 / np.sqrt(size)
        scaled = d[:, None] * K * d
        if len(K) and np.linalg.cond(scaled) > 1e14:
            raise BadInput(
                "[M, G; G^T, 0] is singular: give mass to every velocity that no bilateral row holds, and remove "
                "bilateral rows that depend on others."
            )
        return np.asarray(d[:, None] * np.linalg.inv(scaled) * d)

    @cached_property
    def local(self) -> ConeComplementarity:
        """The local form of the problem, with W = H^T A H, where A is the (n, n) upper left block of `inverse`."""
        n = len(self.f)
        W: Any
        if is_blocks(self.M):
            W = operator(DelassusProduct(self.H, self.inverse), ROWS * self.k)
        else:
            W = self.H.T @ self.inverse[:n, :n] @ self.H
            if np.array_equal(self.M, self.M.T):
                W = 0.5 * (W + W.T)
        return ConeComplementarity(W, self.H.T @ self._free[0] + self.w, self.mu)

    @cached_property
    def _free(self) -> tuple[Vector, Vector]:
        """Velocities, (n,), and bilateral impulses, (p,), without contact impulses."""
        return self._split(self.inverse @ np.concatenate((self.f, -self.b)))

    def in_order(self, order: NDArray[np.intp]) -> GlobalContacts:
        """Return the problem with its rows permuted: row i of the result is row order[i]; raises BadInput."""
        names, H = ("M", "f", "mu", *(("G", "b") if len(self.b) else ())), self.H
        data = {name: getattr(self, name) for name in names}
        return GlobalContacts.from_mapping({**data, "H": H[:, order], "w": self.w[order]})

    def velocities(self, r: Vector) -> tuple[Vector, Vector]:
        """Return the velocities v, (n,), and bilateral impulses l, (p,), that contact impulses r, (3 k,), cause."""
        return self._split(self.inverse @ np.concatenate((self.f + self.H @ r, -self.b)))

    def _split(self, x: Vector) -> tuple[Vector, Vector]:
        return x[: len(self.f)], x[len(self.f) :]

    def to_mapping(self) -> dict[str, Any]:
        """Return the contents of a `contact-global` file."""
        names = ("M", "H", "f", "w", "mu", *(("G", "b") if len(self.b) else ()))
        return {"kind": "contact-global", **{name: json_entries(getattr(self, name)) for name in names}}


def check_frames(frames: Any, k: int) -> None:
    """Check that the frames of k contacts, if given, are orthonormal and right-handed; raises BadInput."""
    if is_absent(frames):
        return
    given = as_array("frames", frames, (k, ROWS, ROWS))
    off = np.abs(given @ given.transpose(0, 2, 1) - np.eye(ROWS)).max(axis=(1, 2), initial=0.0)
    advice = "W, or H, and q have to be made with frames of unit vectors N, T1, T2 at right angles, N x T1 = T2."
    if (off > FRAMES).any():
        i = int(np.argmax(off > FRAMES))
        raise BadInput(f"frames[{i}] is not orthonormal, by {off[i]:.2g}; {advice}")
    left = np.linalg.det(given) < 0
    if left.any():
        raise BadInput(f"frames[{int(np.argmax(left))}] is left-handed; {advice}")


def friction_coefficients(value: Any) -> Vector:
    """Return checked friction coefficients, (k,); raises BadInput."""
    mu = np.zeros(0) if isinstance(value, list) and not value else as_array("mu", value, (None,))
    if (mu < 0).any():
        i = int(np.argmax(mu < 0))
        raise BadInput(f"mu[{i}] is {mu[i]:g}; a friction coefficient is not negative.")
    if (mu > LARGEST).any():
        i = int(np.argmax(mu))
        raise BadInput(f"mu[{i}] is {mu[i]:g}; friction coefficients up to {LARGEST:g} are solved.")
    return mu


def largest_entry(A: Any) -> float:
    """Return the largest absolute value of an entry; for a `DelassusProduct`, only diagonal entries are compared."""
    if isinstance(A, DelassusProduct):
        return float(np.abs(A.diagonal()).max(initial=0.0))
    return float(np.abs(A if isinstance(A, np.ndarray) else A.data).max(initial=0.0))


def _array(name: str, value: Any, shape: tuple[int, ...]) -> Any:
    """Check `value` and return it as an array of this shape; if the shape has no entries, accept any empty value."""
    if 0 in shape and np.size(value) == 0:
        return np.zeros(shape)
    if isinstance(value, list | np.ndarray) and len(value) != shape[0]:
        k, have = shape[0] // ROWS, len(value)
        raise BadInput(
            f"{name} has {have} rows, but mu has {k} entries: {ROWS} rows a contact (N, T1, T2) are {shape[0]}."
        )
    return as_array(name, value, shape)
