"""Contacts and limits near a state of a MuJoCo model, as rows; data that depend on the geometries alone are cached.

MuJoCo is queried with arrays of all contacts at once, without a Python loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS
from gaussopt.core.row_rounding import without_rounding
from gaussopt.interchange.mujoco_equalities import distances, may_be_small, sizes_of_places, turning
from gaussopt.interchange.mujoco_rows import IN_GAP, contacts_at, geometry_name

AHEAD = 0.01
"""Distance, m or rad, below which open contacts and limits are taken into account."""


class NearContacts(NamedTuple):
    """Contacts and limits that are near: names, friction coefficients, (k,), and the indices of their rows.

    Rows number `rows` of MuJoCo become rows number `places` of contacts; `counted` are indices of these contacts among
    MuJoCo's. If `together` is set, all contacts have three rows.
    """

    names: tuple[str, ...]
    mu: Vector
    rows: NDArray[np.intp]
    places: NDArray[np.intp]
    counted: NDArray[np.intp]
    together: bool


class ContactFinder:
    """Finder of contacts and limits near the states that are set in `data`."""

    def __init__(self, mj: Any, model: Any, data: Any) -> None:
        self.mj, self.model, self.data = mj, model, data
        self._known: dict[tuple[Any, ...], NearContacts] = {}
        # Rows of limits of hinges and slides have a single entry, which never changes.
        joints = model.jnt_type[model.jnt_limited.astype(bool)]
        self._single = not (model.tendon_limited.any() or (joints == mj.mjtJoint.mjJNT_BALL).any())
        self.turns = turning(mj, model)
        self._names: dict[tuple[int, ...], str] = {}

    def __call__(self, E: Matrix) -> tuple[NearContacts, Matrix, Vector]:
        """Return contacts and limits near the state of `data`, the rows E and then theirs, (p, nv), and gaps, (k,)."""
        data, contact = self.data, self.data.contact
        J, gaps = data.efc_J.reshape(-1, self.model.nv)[: data.nefc], contact.dist - contact.includemargin
        first, limits = data.ne + data.nf, data.nl
        limited: Any = b""
        if limits:
            at = slice(first, first + limits)
            limited = J[at].tobytes() if self._single else self._limits(at)
        key = limited, first, contact.geom.tobytes(), contact.efc_address.tobytes()
        pattern = self._known.get(key)
        if pattern is None:
            pattern = self._known[key] = self._found(self._limits(at) if limits else ())
        R = np.zeros((len(E) + ROWS * len(pattern.names), self.model.nv))
        R[: len(E)], of_contacts = E, R[len(E) :]
        if pattern.together:
            of_contacts[ROWS * limits :] = J[first + limits :]
            if limits:
                of_contacts[: ROWS * limits : ROWS] = J[at]
        else:
            of_contacts[pattern.places] = J[pattern.rows]
            gaps = gaps[pattern.counted]
        if gaps.size and may_be_small(of_contacts[::ROWS]):
            of_contacts[:] = without_rounding(of_contacts, sizes_of_places(self.turns, distances(data).max()))
        if limits:
            gaps = np.concatenate((data.efc_pos[at] - data.efc_margin[at] + AHEAD, gaps))
        return pattern, R, gaps

    def _limits(self, at: slice) -> tuple[tuple[int, int, int], ...]:
        """Return kind (negative), number and side of each limit."""
        data = self.data
        J = data.efc_J.reshape(-1, self.model.nv)[at]
        leading = np.take_along_axis(J, np.abs(J).argmax(axis=1)[:, None], 1).ravel()
        kinds, numbers = (-data.efc_type[at]).tolist(), data.efc_id[at].tolist()
        return tuple(zip(kinds, numbers, (leading > 0).tolist(), strict=True))

    def _found(self, limits: tuple[tuple[int, ...], ...]) -> NearContacts:
        """Return the cached description of the present contacts, valid as long as the same geometries are near."""
        data, contact = self.data, self.data.contact
        geom, dim, friction = contact.geom, contact.dim, contact.friction
        if dim.size and (dim.max() > ROWS or geom.min() < 0 or (friction[:, 0] != friction[:, 1]).any()):
            for _ in contacts_at(self.mj, self.model, data):
                pass  # raises BadInput for contacts that do not follow Coulomb's law
        first = data.ne + data.nf
        rows, places = [*range(first, first + len(limits))], [*range(0, ROWS * len(limits), ROWS)]
        keys, counted = list(limits), np.flatnonzero(contact.exclude <= IN_GAP)
        seen: dict[tuple[int, int], int] = {}
        mu = [0.0] * len(limits)
        for i in counted.tolist():
            width, address, (one, two) = int(dim[i]), int(contact.efc_address[i]), geom[i].tolist()
            rows += range(address, address + width)
            places += range(ROWS * len(keys), ROWS * len(keys) + width)
            mu.append(float(friction[i, 0]) if width > 1 else 0.0)
            number = seen[one, two] = seen.get((one, two), -1) + 1
            keys.append((one, two, number))
        together = counted.size == dim.size and bool((dim == ROWS).all())
        return NearContacts(
            tuple(self._name(key) for key in keys), np.array(mu), np.array(rows, dtype=np.intp),
            np.array(places, dtype=np.intp), counted, together,
        )  # fmt: skip

    def _name(self, key: tuple[int, ...]) -> str:
        if key not in self._names:
            mj, model = self.mj, self.model
            if key[0] >= 0:
                one, two = (geometry_name(mj, model, i).strip("'") for i in key[:2])
                name = f"{one}, {two}" + (f", {key[2] + 1}" if key[2] else "")
            else:
                joint = -key[0] == int(mj.mjtConstraint.mjCNSTR_LIMIT_JOINT)
                kind = mj.mjtObj.mjOBJ_JOINT if joint else mj.mjtObj.mjOBJ_TENDON
                name = mj.mj_id2name(model, kind, key[1]) or f"{'joint' if joint else 'tendon'} {key[1]}"
                name += ", lower limit" if key[2] else ", upper limit"
            self._names[key] = name
        return self._names[key]
