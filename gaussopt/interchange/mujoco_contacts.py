"""Contacts and limits near a state of a MuJoCo model, as rows; data that depend on the geometries alone are cached.

MuJoCo is queried with arrays of all contacts at once, without a Python loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS
from gaussopt.interchange.contact_kernel import Nearby, Present, RowPlaces, bound_friction, collect, lower_limits
from gaussopt.interchange.mujoco_ahead import LookAhead
from gaussopt.interchange.mujoco_equalities import Equalities, turning
from gaussopt.interchange.mujoco_rows import IN_GAP, PARTS, check_contacts, dry_name, geometry_name
from gaussopt.interchange.step_kernel import StepMemory

KEPT = 4
"""Number of sets of contacts for which memory is kept."""


@dataclass(frozen=True, eq=False)
class NearContacts:
    """Nearby contacts and limits, and friction without normal rows: of joints and tendons, in spinning and in rolling.

    Such friction is a contact that has tangents only. The normal impulse that bounds it is that of the contact with the
    index in `parents`, (k,), for spinning and rolling, and dt times `losses`, (k,), N or N m, for a joint or tendon.
    Friction coefficients `mu`, (k,), are in m for spinning and rolling.

    `opens`, (k,), is False for friction without a normal; `places` are the rows in MuJoCo's Jacobian.
    """

    names: tuple[str, ...]
    mu: Vector
    places: RowPlaces
    parents: NDArray[np.intp]
    losses: Vector
    opens: NDArray[np.bool_]

    @cached_property
    def bounds(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Vector]:
        """Of friction without a normal: rows of its normals, of the parents' normals, and losses."""
        own = np.flatnonzero(~self.opens)
        return ROWS * own, ROWS * self.parents[own], self.losses[own]

    @cached_property
    def _parts(self) -> dict[bytes, NearContacts]:
        return {}

    def only(self, wanted: NDArray[np.bool_]) -> NearContacts:
        """Return the contacts that are wanted, (k,), changed to include all friction of joints and tendons.

        Spinning and rolling friction is wanted if its contact is.
        """
        own, parents = ~self.opens, self.parents
        wanted[own] = (parents[own] == np.flatnonzero(own)) | wanted[parents[own]]
        key = wanted.tobytes()
        if key not in self._parts:
            self._parts[key] = replace(
                self, names=tuple(compress(self.names, wanted.tolist())), mu=self.mu[wanted],
                parents=(np.cumsum(wanted) - 1)[parents[wanted]], losses=self.losses[wanted], opens=self.opens[wanted],
            )  # fmt: skip
        return self._parts[key]

    @cached_property
    def indices(self) -> tuple[Index, Index]:
        """`opens` and `parents` as kernels take them."""
        return self.opens.astype(np.int64), self.parents.astype(np.int64)

    @cached_property
    def _chosen(self) -> dict[bytes, NearContacts]:
        return {}

    def chosen(self, wanted: Index) -> NearContacts:
        """Return the contacts for which `gaussopt.interchange.step_kernel.taking_part` has written 1."""
        found = self._chosen.get(key := wanted.tobytes())
        if found is None:
            found = self._chosen[key] = self if wanted.all() else self.only(wanted > 0)
        return found

    def bounded(self, W: Matrix, q: Vector, dt: float) -> tuple[Matrix, Vector]:
        """Return W and q with rows that set the normal impulse of friction without a normal to its bound.

        Such a row of u = W r + q is c (r_N - r_N of the parent), or c (r_N - dt loss), with c > 0; Signorini's law
        makes it zero. This is the rolling resistance of V. Acary, F. Bourrier, "Coulomb friction with rolling
        resistance as a cone complementarity problem", Eur. J. Mech. A Solids 85, 2021, with a separate disk for each
        kind of friction. W is no longer symmetric.
        """
        if len(self.bounds[0]):
            W, q = W.copy(), q.copy()
            bound_friction(W, q, *self.bounds, dt)
        return W, q


class ContactFinder:
    """Finder of rows near the state in `data`: of equalities, contacts, and limits; `ahead` has raised margins."""

    def __init__(
        self, mj: Any, model: Any, data: Any, ahead: LookAhead, equalities: Equalities, masses: SparseRows
    ) -> None:
        self.mj, self.model, self.data, self._ahead, self._masses = mj, model, data, ahead.ahead, masses
        self._equalities, every, turns = equalities, np.arange(model.nbody), turning(mj, model)
        state = masses.values, data.qfrc_smooth, data.qvel
        self._present = Present(equalities.terms, every, data.xpos, data.xipos, turns, *state, ahead.moving)
        self._known: dict[tuple[Any, ...], NearContacts] = {}
        # Rows of limits of hinges and slides have a single entry, which never changes.
        joints = model.jnt_type[model.jnt_limited.astype(bool)]
        self._single = not (model.tendon_limited.any() or (joints == mj.mjtJoint.mjJNT_BALL).any())
        self._names: dict[tuple[int, ...], str] = {}
        self._dry: list[str] = []
        self._memory: dict[NearContacts, StepMemory] = {}
        self._nearby: dict[NearContacts, Nearby] = {}
        self.looks = 0

    def __call__(self) -> tuple[NearContacts, Nearby, float, float]:
        """Return contacts and limits near the state of `data`, what a step needs of them, and what `collect` returns.

        The second is valid up to the next call; `looks` counts the calls.
        """
        data, m = self.data, self._equalities.m
        ncon, limits = data.ncon, data.nl
        first, limited, touching, values = data.ne + data.nf, b"", b"", data.efc_J
        if limits:
            limited = self._limited(first, limits, values)
        if ncon:
            contact = data.contact
            touching = contact.geom.tobytes() + contact.efc_address.tobytes()
        pattern = self._known.get(key := (limited, first, touching))
        if pattern is None:
            numbers = (x.tolist() for x in self._limits(first, limits))
            pattern = self._known[key] = self._found(tuple(zip(*numbers, strict=True)))
        given, room = self._equalities.unlike(data) if m else None, len(values)
        if given is not None:
            room += len(given[0].values)
        near = self._nearby.get(pattern)
        if near is None or len(near.R.values) < room:
            if len(self._nearby) == KEPT:
                self._nearby.clear()
            near = self._nearby[pattern] = Nearby.of(len(pattern.mu), m, self._masses, self.model.nv, room)
        if given is not None:
            for x, y in zip((*near.R, near.phi), (*given[0], given[1]), strict=True):
                x[: len(y)] = y
        of_rows = data.efc_J_rowadr, data.efc_J_rownnz, data.efc_J_colind, values, data.efc_pos, data.efc_margin
        lowest, speed = collect(*of_rows, pattern.places, self._present, near, given is None, ncon > 0)
        self.looks += 1
        return pattern, near, lowest, speed

    def _limited(self, first: int, limits: int, values: Vector) -> bytes:
        """Return bytes that tell the limits from others: their numbers, and whether they are lower or upper limits."""
        data = self.data
        if not self._single:
            return b"".join(x.tobytes() for x in self._limits(first, limits))
        begin = int(data.efc_J_rowadr[first])
        signs: bytes = data.efc_id[first : first + limits].tobytes() + values[begin : begin + limits].tobytes()
        return signs

    def memory(self, contacts: NearContacts, wanted: Index | None, damping: Vector, m: int) -> StepMemory:
        """Return memory for steps with these contacts, which are those `wanted` or all, and m equality rows."""
        found = self._memory.get(contacts)
        if found is None:
            if len(self._memory) == KEPT:
                self._memory.clear()
            kept = np.arange(len(contacts.mu)) if wanted is None else np.flatnonzero(wanted)
            self._memory[contacts] = found = StepMemory.of(
                kept, contacts.mu, contacts.bounds, contacts.indices[0], damping, m
            )
        return found

    def _limits(self, first: int, count: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """Return the negative types of `count` limits, their indices, and whether they are lower limits."""
        data, at, lower = self.data, slice(first, first + count), np.empty(count, dtype=np.int64)
        lower_limits(data.efc_J_rowadr, data.efc_J_rownnz, data.efc_J, first, lower)
        return -data.efc_type[at], data.efc_id[at], lower > 0

    def _found(self, limits: tuple[tuple[int, ...], ...]) -> NearContacts:
        """Return the description of the contacts, which stays valid while the same geometries are near each other."""
        data, contact = self.data, self.data.contact
        geom, dim, friction = contact.geom, contact.dim, contact.friction
        counted = np.flatnonzero(contact.exclude <= IN_GAP)
        check_contacts(self.mj, self.model, contact, counted)
        dry, first = data.nf, data.ne + data.nf
        of_dry = slice(data.ne, first)
        rows, places = [*range(data.ne, first + len(limits))], [*range(1, ROWS * dry, ROWS)]
        places += range(ROWS * dry, ROWS * (dry + len(limits)), ROWS)
        if len(self._dry) != dry:
            self._dry = [dry_name(self.mj, self.model, data, i) for i in range(of_dry.start, of_dry.stop)]
        names = [*self._dry, *(self._name(key) for key in limits)]
        mu, parents, losses = [1.0] * dry + [0.0] * len(limits), [*range(len(names))], [0.0] * len(names)
        losses[:dry] = data.efc_frictionloss[of_dry].tolist()
        normals, ahead = [*range(first, first + len(limits))], [self._ahead] * len(limits)
        seen: dict[tuple[int, int], int] = {}
        for i in counted.tolist():
            width, address, (one, two) = int(dim[i]), int(contact.efc_address[i]), geom[i].tolist()
            number, parent = seen.get((one, two), -1) + 1, len(names)
            seen[one, two] = number
            name = self._name((one, two, number))
            normals.append(address)
            ahead.append(0.0)
            for start, stop, word, share in PARTS:
                if width <= start:
                    break
                last = min(stop, width)
                rows += range(address + start, address + last)
                begin = ROWS * len(names) + (1 if start else 0)
                places += range(begin, begin + last - start)
                mu.append(float(friction[i, share]) if last > 1 else 0.0)
                names.append(name + word)
                parents.append(parent)
                losses.append(0.0)
        opens = np.array([x == i for i, x in enumerate(parents)], dtype=bool)
        opens[:dry] = False
        index = [np.array(x, dtype=np.int64) for x in (rows, places, np.flatnonzero(opens), normals)]
        where = RowPlaces(index[0], index[1], index[2], index[3], np.array(ahead))
        return NearContacts(
            tuple(names), np.array(mu), where, np.array(parents, dtype=np.intp), np.array(losses), opens
        )

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
