"""Batches of Moreau-Jean steps with contacts in the plane: members one by one in machine code, or threads of a GPU."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.compiled.contact_equations import ContactEquations, contact_equations
from gaussopt.compiled.step_certificates import certified_rows, coefficients, taking_part
from gaussopt.core.arrays import Matrix
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.integration.trajectory import COLUMNS, CONTACT_COLUMNS
from gaussopt.jit.threads import share
from gaussopt.modelling.lagrangian import LagrangianSystem
from gaussopt.simulation.batch_cuda import CudaBatch
from gaussopt.simulation.batch_simd import ROWS, MarchedBatch, SimdBatch


class ContactBatch(MarchedBatch):
    """Records, for each state, the step that ends there, and certifies it as a single motion does."""

    contacts = True

    def _recording(self, members: int, instants: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        records = np.zeros((members, instants, 2 + 5 * self.n))
        return records, records[..., 1 + 2 * self.n : 1 + 4 * self.n]

    def certify(self) -> None:
        """Compute the values of every recorded state, in groups of states with the same contacts."""
        system, i, n, k = self.members.system, self.instants, self.n, len(self.members.system.contact_names)
        assert isinstance(system, LagrangianSystem)
        equations, sizes, law = self._equations, (n, self.m, system.m_h), self._law
        count, recorded, N = i.count, i.recorded(self.steps), self.members.count
        # The row of the start holds the first step, which begins there.
        numbers = np.minimum(np.arange(count) * i.every, i.steps)
        start = i.at(np.maximum(numbers - 1, 0))
        times = np.stack((start, i.at(np.maximum(numbers, 1)) - start, i.at(numbers)), axis=1)
        self.table = np.full((N, count, 9 + 3 * n + self.m + 5 * k), np.nan)
        trace, table = self.records.reshape(N * count, -1), self.table.reshape(N * count, -1)
        kept = np.flatnonzero((self.failed[:, None] == 0) & (np.arange(count) < recorded))
        rough = (law[:, :k] > 0) @ 2.0 ** np.arange(k)
        groups = np.stack((trace[kept, -1], rough[kept // count]), axis=1)
        for group in np.unique(groups, axis=0):
            chosen = kept[(groups == group).all(axis=1)]
            closed = taking_part(group[0], k)

            def some(first: int, last: int, chosen: NDArray[np.intp] = chosen, closed: Any = closed) -> None:
                rows = chosen[first:last]
                good, columns = certified_rows(
                    equations, sizes, closed, times[rows % count], trace[rows],
                    (self._p[rows // count], law[rows // count]), min(self.tolerance, DEFAULT_TOLERANCE), np.zeros(5),
                )  # fmt: skip
                parts = [x.reshape(len(rows), -1) for x in columns.values()]
                table[rows] = np.hstack((good[:, None], *parts))

            for begin in range(0, len(chosen), ROWS):
                share(some, range(begin, min(begin + ROWS, len(chosen))), self.threads)
        self.certified[:] = recorded

    def sound(self) -> NDArray[np.bool_]:
        """Mark the members of which no step failed and every certificate passes, and whose coefficients are valid."""
        law, k = self._law, len(self.members.system.contact_names)
        return np.asarray(super().sound() & (law >= 0.0).all(axis=1) & (law[:, k:] <= 1.0).all(axis=1))

    @cached_property
    def _equations(self) -> ContactEquations:
        system = self.members.system
        assert isinstance(system, LagrangianSystem)
        return contact_equations(system.model, system.source)

    @cached_property
    def _law(self) -> Matrix:
        """The coefficients mu, e_N and e_T of all contacts of each member, (N, 3 k)."""
        return coefficients(self._equations, self._p[: self.members.count], len(self.members.system.contact_names))

    def _passing(self, table: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(table[..., 0] == 1.0)

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return the table by the names of `Trajectory`, each (N, T, ...)."""
        assert self.table is not None
        sizes, found, at = {"coordinate": self.n, "row": self.m, "tangent": 1}, {}, 1
        for name, dimensions in (COLUMNS | CONTACT_COLUMNS).items():
            shape = [sizes.get(x, len(self.members.system.contact_names)) for x in dimensions]
            width = int(np.prod(shape))
            found[name] = self.table[..., at : at + width].reshape(*self.table.shape[:2], *shape)
            at += width
        return found


class ContactSteps(ContactBatch, SimdBatch):
    """Members one by one, shared between the cores."""

    whole = 1

    def _march(self, count: int, fresh: bool = False) -> None:
        i, limit = self.instants, min(self.tolerance, DEFAULT_TOLERANCE) ** 2
        rest = (
            self._memory.reshape(-1), fresh, i.begin, i.dt, i.end, self.steps, count, i.every, i.steps, limit,
            self.records.reshape(-1), i.count,
        )  # fmt: skip
        share(lambda first, last: self._code.march(first, last, *rest), range(len(self._memory)), self.threads)


class CudaContacts(ContactBatch, CudaBatch):
    """A thread of a GPU for each member."""
