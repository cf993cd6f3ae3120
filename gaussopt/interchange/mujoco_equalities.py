"""Rows of a MuJoCo model's equalities in a fixed order, with rounding errors set to zero.

MuJoCo omits an equality while all entries of its rows are zero, and includes it again when they are 1e-17, as happens
on the axis of a hinge. Therefore rows are identified by the index of their equality and their index within it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.row_rounding import without_rounding
from gaussopt.interchange.contact_kernel import SMALL, RowTerms
from gaussopt.linalg.dense import cholesky, solve_lower, solve_lower_transposed

DEPENDENT = 1e-12
"""Eigenvalue, relative to the largest, below which equality rows count as dependent."""

DOUBTFUL, MARGIN = 1e-3, 4.0
"""Singular value of rows, relative to the largest, below which they may be dependent, and the factor by which it must
exceed the change of the rows in the last step towards closed loops, and the residual that no such step removes."""

ROUNDED = 1e-12
"""Singular value of rows, relative to the largest, that rounding errors alone do not reach."""

CLOSINGS = 5
"""Largest number of steps of Newton's method towards closed loops."""


class enough_memory:  # noqa: N801 - it is called like a function
    """Raise BadInput if MuJoCo's memory is too small for all contacts or rows, some of which it would leave out."""

    def __init__(self, mj: Any, model: Any, data: Any) -> None:
        self._mj, self._model, self._numbers = mj, model, data.warning.number

    def __enter__(self) -> None:
        self._before = self._numbers.tobytes()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None and self._numbers.tobytes() == self._before:
            return
        mj = self._mj
        changed = self._numbers != np.frombuffer(self._before, self._numbers.dtype)
        kinds = [int(mj.mjtWarning.mjWARN_CONTACTFULL), int(mj.mjtWarning.mjWARN_CNSTRFULL)]
        if changed[kinds].any() or (isinstance(error, mj.FatalError) and "out of memory" in str(error)):
            raise BadInput(
                f"The contacts and constraints of the model need more memory than the {int(self._model.narena)} bytes "
                'that it gives them; write <size memory="64M"/> into it, or more, and no nconmax.'
            ) from None


def constraint_rows(mj: Any, model: Any, data: Any) -> Matrix:
    """Return MuJoCo's efc_J, (nefc, nv), from dense or sparse storage.

    MuJoCo's array may be longer: rows of an equality that cannot move are not counted in nefc, but stay in the array.
    """
    m, n = int(data.nefc), int(model.nv)
    if not mj.mj_isSparse(model):
        return np.array(data.efc_J).reshape(-1, n)[:m]
    found = np.zeros((m, n))
    mj.mju_sparse2dense(found, data.efc_J, data.efc_J_rownnz[:m], data.efc_J_rowadr[:m], data.efc_J_colind)
    return found


def turning(mj: Any, model: Any) -> Vector:
    """Return a vector, (nv,), that is 1 for each angular velocity, rad/s, and 0 for each linear velocity, m/s."""
    kinds, joints = mj.mjtJoint, model.dof_jntid
    of_joint = model.jnt_type[joints]
    first_three = np.arange(model.nv) < model.jnt_dofadr[joints] + 3
    along = (of_joint == kinds.mjJNT_SLIDE) | ((of_joint == kinds.mjJNT_FREE) & first_three)
    return np.where(along, 0.0, 1.0)


def sizes_of_places(turns: Vector, reach: Any) -> NDArray[np.float64]:
    """Return magnitudes of the terms of a relative velocity of two points, per unit of joint velocity, (..., nv).

    MuJoCo computes such velocities from twists at the centres of mass of trees, that is from positions up to `reach`,
    (...), m, from the origin. Even a small difference contains the rounding errors of these terms.
    """
    sizes: NDArray[np.float64] = 2.0 * (1.0 - turns + 4.0 * np.multiply.outer(reach, turns))
    return sizes


def distances(data: Any) -> Vector:
    """Return the distance of each body, or of its centre of mass if that is larger, from the origin, m, (bodies,)."""
    found: Vector = np.sqrt(np.maximum(*(np.einsum("ij,ij->i", x, x) for x in (data.xpos, data.xipos))))
    return found


def rope_sizes(data: Any, turns: Vector, number: int) -> Vector:
    """Return term sizes, (nv,), of a tendon's row, from the points of its path; zero for a fixed tendon."""
    first, count = int(data.ten_wrapadr[number]), int(data.ten_wrapnum[number])
    path = np.linalg.norm(data.wrap_xpos.reshape(-1, 3)[first : first + count], axis=1)
    sizes: Vector = sizes_of_places(turns, np.maximum(path, distances(data).max())).sum(axis=0)
    return sizes


def independent(E: Matrix) -> Matrix:
    """Return orthonormal weights, (m, rank), that combine the m rows of E^T into independent rows."""
    values, vectors = np.linalg.eigh(E.T @ E)
    weights: Matrix = vectors[:, values > DEPENDENT * values[-1]]
    return weights


def place_near(mj: Any, model: Any, near: Any, data: Any, way: Vector | None = None, share: float = 1.0) -> None:
    """Set the data `near` to the configuration that `share` of the displacement `way`, (nv,), reaches from `data`."""
    near.eq_active[:], near.time, near.qpos[:] = data.eq_active, data.time, data.qpos
    near.mocap_pos[:], near.mocap_quat[:] = data.mocap_pos, data.mocap_quat
    if way is not None and share:
        mj.mj_integratePos(model, near.qpos, way, share)
    with enough_memory(mj, model, near):
        mj.mj_fwdPosition(model, near)


def independent_where_closed(
    mj: Any, model: Any, data: Any, equalities: Equalities, M: Matrix, along: tuple[Vector, Vector]
) -> NDArray[np.bool_] | None:
    """Mark rows, (m,), that are independent where loops are closed and imply the others; None to keep them all.

    MuJoCo's soft loops are open by a little, and files round the numbers of a model, so that rows that imply each other
    differ by as much. If they counted as independent, their contradiction would be divided by that small difference.
    So the rank is that of the rows, scaled by the masses M, (nv, nv), at a state nearby that Newton's method finds with
    those rows that are surely independent; `data` is not changed. A residual that is left there, m or rad, is taken for
    the error of the rows, per rad or m. All rows are kept where the derivatives J_dot v in `along`, (m,), beside the
    sizes of their terms, contradict each other by more than the residuals at the state make them, as at a dead centre.
    """
    if not equalities.m:
        return None
    L, at, change = cholesky(M), data, 0.0
    scaled, phi = here, _ = _scaled(equalities, data, L)
    largest = float(np.abs(phi).max())
    V, values, weights = np.linalg.svd(scaled, full_matrices=False)
    of_state, size = weights, values[0]
    if not ((values > ROUNDED * size) & (values <= DOUBTFUL * size)).any():
        return None
    for _ in range(CLOSINGS):
        sure, before = values > DOUBTFUL * size, scaled
        way = V[:, sure] @ ((weights[sure] @ phi) / values[sure])
        begin, at = at, mj.MjData(model) if at is data else at
        place_near(mj, model, at, begin, way if L is None else solve_lower_transposed(L, way), -1.0)
        scaled, phi = _scaled(equalities, at, L)
        V, values, weights = np.linalg.svd(scaled, full_matrices=False)
        change = float(np.linalg.norm(scaled - before, 2)) / size
        if change <= DEPENDENT:
            break
    length = float(np.linalg.norm(equalities(at)[0], 2))
    error = max(ROUNDED, MARGIN * float(np.abs(phi).max()) / length, MARGIN * change)
    rank = int((values > error * size).sum())
    J_dot_v, terms = along
    allowed = MARGIN * largest * float(data.qvel @ data.qvel) + ROUNDED * float(np.linalg.norm(terms))
    if rank == equalities.m or np.linalg.norm(of_state[rank:] @ J_dot_v) > allowed:
        return None
    kept = np.asarray(~here.any(axis=0))
    kept[qr(of_state[:rank], mode="r", pivoting=True)[1][:rank]] = True
    return kept


def _scaled(equalities: Equalities, data: Any, L: Matrix | None) -> tuple[Matrix, Vector]:
    """Return the rows L^-1 J^T as columns, (nv, m), and the residuals, (m,)."""
    J, phi, _ = equalities(data)
    return J.T if L is None else solve_lower(L, J.T), phi


class Equalities:
    """The `m` rows of the active equalities in `data`, and for each row the index of its equality, (m,)."""

    def __init__(self, mj: Any, model: Any, data: Any) -> None:
        self._mj, self._model, self._turns = mj, model, turning(mj, model)
        kinds, there = mj.mjtEq, np.bincount(data.efc_id[: data.ne], minlength=model.neq)
        known = {kinds.mjEQ_CONNECT: 3, kinds.mjEQ_WELD: 6, kinds.mjEQ_JOINT: 1, kinds.mjEQ_TENDON: 1}
        off = mj.mjtDisableBit.mjDSBL_EQUALITY | mj.mjtDisableBit.mjDSBL_CONSTRAINT
        active = data.eq_active.astype(bool) & (model.opt.disableflags & int(off) == 0)
        counts = [known.get(kinds(x), n) for x, n in zip(model.eq_type, there, strict=True)]
        self._counts = np.where(active, np.array(counts, dtype=np.intp), 0)
        self._starts = np.cumsum(self._counts) - self._counts
        self.numbers = np.repeat(np.arange(model.neq), self._counts)
        self.m = len(self.numbers)
        self._ropes = np.flatnonzero((model.eq_type == kinds.mjEQ_TENDON) & active).tolist()
        self._near, self._far = np.zeros((2, self.m, model.nv))
        trees: list[NDArray[np.intp]] = []
        for i in range(model.neq):
            trees.append(np.zeros(1, dtype=np.intp))
            if active[i] and kinds(model.eq_type[i]) in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
                trees[i] = self._of_bodies(i)
        self._bodies = np.concatenate([*trees, []]).astype(np.intp)
        ends = np.cumsum([0, *map(len, trees)])
        self._trees, self._order = ends[:-1], self.numbers.astype(data.efc_id.dtype).tobytes()
        bodies, numbers = self._bodies.astype(np.int64), self.numbers.astype(np.int64)
        self.terms = RowTerms(bodies, ends.astype(np.int64), numbers, self._near, self._far)

    def _of_bodies(self, i: int) -> NDArray[np.intp]:
        """Store the magnitudes of terms of a connect or weld, at the origin and per metre; return its trees' bodies."""
        mj, model, at = self._mj, self._model, slice(self._starts[i], self._starts[i] + 3)
        ends = np.array([model.eq_obj1id[i], model.eq_obj2id[i]])
        anchor = np.linalg.norm(model.eq_data[i, :6].reshape(2, 3), axis=1).max()
        if model.eq_objtype[i] == mj.mjtObj.mjOBJ_SITE:
            anchor, ends = np.linalg.norm(model.site_pos[ends], axis=1).max(), model.site_bodyid[ends]
        self._near[at], self._far[at] = sizes_of_places(self._turns, anchor), 8.0 * self._turns
        self._near[at.stop : self._starts[i] + self._counts[i]] = 2.0 * abs(model.eq_data[i, 10]) * self._turns
        return np.append(np.flatnonzero(np.isin(model.body_rootid, model.body_rootid[ends])), 0)

    def _in_order(self, data: Any) -> bool:
        """Return whether MuJoCo's equality rows are all rows in the fixed order."""
        ne = int(data.ne)
        return ne == self.m and bool(data.efc_id[:ne].tobytes() == self._order)

    def residuals(self, data: Any) -> Vector:
        """Return the residuals, (m,), m or rad, which may be a view of `data`."""
        return data.efc_pos[: self.m] if self._in_order(data) else self._as_they_are(data)[1]

    def unlike(self, data: Any) -> tuple[SparseRows, Vector] | None:
        """Return rows, (m, nv), without rounding errors, and residuals, (m,), unless MuJoCo has just these rows.

        Return None if only rounding errors that `clear_rounding` finds are in MuJoCo's rows, which must be sparse.
        """
        if self._in_order(data):
            if not self._ropes:
                return None
            square = (constraint_rows(self._mj, self._model, data)[: self.m] ** 2).sum(axis=1)
            if not (square < SMALL**2).any():
                return None
        J, phi, _ = self(data)
        return SparseRows.of(J), phi

    def _as_they_are(self, data: Any) -> tuple[Matrix, Vector]:
        """Return rows in the fixed order, with rounding errors, (m, nv), and residuals, (m,), m or rad."""
        ne, model = int(data.ne), self._model
        J, phi, ids = np.zeros((self.m, model.nv)), np.zeros(self.m), data.efc_id[:ne]
        found = np.bincount(ids, minlength=model.neq)
        if ((found != self._counts) & (found != 0)).any():
            raise BadInput("Rows of the equality of a flexible body come and go along the motion, so that they cannot "
                           "be told from each other; leave that equality out.")  # fmt: skip
        if ne:
            places = self._starts[ids] + np.arange(ne) - np.searchsorted(ids, ids)
            J[places], phi[places] = constraint_rows(self._mj, model, data)[:ne], data.efc_pos[:ne]
        return J, phi

    def __call__(self, data: Any) -> tuple[Matrix, Vector, Matrix]:
        """Return rows, (m, nv), residuals, (m,), m or rad, and the sizes of the terms of the rows, (m, nv)."""
        model, (J, phi) = self._model, self._as_they_are(data)
        if not self.m:
            return J, phi, J
        reach = np.maximum.reduceat(distances(data)[self._bodies], self._trees)
        sizes = self._near + self._far * reach[self.numbers][:, None]
        for i in self._ropes:
            one, two = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
            sizes[self._starts[i]] = rope_sizes(data, self._turns, one)
            if two >= 0:
                slope = np.polynomial.Polynomial(model.eq_data[i, :5]).deriv()
                slope = abs(slope(data.ten_length[two] - model.tendon_length0[two]))
                sizes[self._starts[i]] += slope * rope_sizes(data, self._turns, two)
        return without_rounding(J, sizes), phi, sizes
