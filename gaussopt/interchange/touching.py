"""Step data of closed contacts, and of friction limited by a given force or by a multiple of a normal force."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector


def touching(
    rows: NDArray[np.float64], bias: NDArray[np.float64], mu: Vector, v: Vector, at_rest: float
) -> dict[str, Any]:
    """Return the step data of contacts that open at no more than `at_rest`, m/s; slip up to this speed counts as zero.

    Contacts whose normal rows are zero have no effect and are left out.

    rows : (k, 3, n), the normal first; bias : (k, 3), derivative of the rows along v, times v; mu : (k,)
    """
    u = rows @ v
    closed = (u[:, 0] <= at_rest) & rows[:, 0].any(axis=1)
    if not closed.any():
        return {}
    rows, bias, u = rows[closed], bias[closed], u[closed]
    slip = u[:, 1:] * (np.linalg.norm(u[:, 1:], axis=1) > at_rest)[:, None]
    return {
        "J_N": rows[:, 0], "zeta_N": bias[:, 0], "J_T": rows[:, 1:], "zeta_T": bias[:, 1:], "v_T": slip,
        "mu": mu[closed],
    }  # fmt: skip


class Friction(NamedTuple):
    """Friction forces without a gap: dry friction of joints and tendons, spinning and rolling friction of contacts.

    tangents, bias : (d, 2, n), (d, 2), for d forces, rows, the second of which may be zero, and their derivatives along
    v, times v mu : (d,), coefficients; 1, or in m for spinning and rolling parents : (d,), index of the contact whose
    normal force bounds the friction; -1 for joints and tendons losses : (d,), N or N m, the largest friction of joints
    and tendons; 0 for contacts
    """

    tangents: NDArray[np.float64]
    bias: NDArray[np.float64]
    mu: Vector
    parents: NDArray[np.intp]
    losses: Vector

    def beside(self, rows: NDArray[np.float64], M: Matrix) -> tuple[NDArray[np.float64], Matrix, Vector]:
        """Return the rows of contacts, (k, 3, n), extended by friction to (k + d, 3, n + d), with M and forces.

        Each friction force belongs to a contact whose normal force r is determined by an additional coordinate s of
        arbitrary mass m: m s'' = r - r_parent, or r - loss, and the gap acceleration of the parent is smaller by s''.
        Signorini's law, 0 <= s'' complementary to r >= 0, leaves s'' = 0 and r = r_parent only, since s'' > 0 would
        mean r = 0 and m s'' = -r_parent <= 0. Coulomb's law of this contact is then the law of rolling resistance of V.
        Acary, F. Bourrier, "Coulomb friction with rolling resistance as a cone complementarity problem", Eur. J. Mech.
        A Solids 85, 2021, with separate disks for sliding, spinning and rolling.
        """
        (k, _, n), d = rows.shape, len(self.mu)
        found, mass, own = np.zeros((k + d, 3, n + d)), np.zeros((n + d, n + d)), np.arange(d)
        found[:k, :, :n], found[k:, 1:, :n], found[k + own, 0, n + own] = rows, self.tangents, 1.0
        tied = np.flatnonzero(self.parents >= 0)
        found[self.parents[tied], 0, n + tied] = -1.0
        mass[:n, :n], mass[n:, n:] = M, np.eye(d) * np.trace(M) / n
        return found, mass, np.append(np.zeros(n), -self.losses)
