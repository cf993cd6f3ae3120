"""Limit how far a projection may move a MuJoCo model, relative to the error that it corrects.

A projection is linear: it uses the rows as they are at the beginning of a step. If a row is almost zero, as for a
contact whose normal meets the axis of a hinge, the projection would move the model beyond where these rows are valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS
from gaussopt.core.errors import BadInput
from gaussopt.interchange.mujoco_equalities import Equalities, place_near, turning
from gaussopt.interchange.mujoco_rows import IN_GAP
from gaussopt.interchange.step_kernel import AT_LEAST

LOOKED = 1e-3
"""A projection that moves a coordinate by more than this, m or rad, must be shown to reduce the error."""

NEAR = 0.01
"""Displacements by a projection up to this, m or rad, are never refused as too large."""

TURNED = 1.0
"""Largest rotation by a projection, rad; beyond it the rows at the beginning of a step are no longer valid."""

SAID = 3
"""Largest number of contacts and rows that a message names."""

FARTHER = 10.0
"""Largest displacement of a joint in a projection, relative to the largest depth of contacts or residual of loops. A
rotation counts as its angle times MuJoCo's dof_length, at most 1 m, because residuals may be angles."""

HALVINGS = 10
"""Largest number of times that the correction of a step is halved until it reduces the error."""

MENDED = 0.1
"""A correction must reduce the error by at least this fraction of the linearly predicted reduction."""


class BoundedProjection:
    """Shortens or refuses corrections of a model's state in `data`.

    Margins of limits are increased by `ahead`, m or rad. `stuck` maps names of contacts that no correction separates to
    their depths, m.
    """

    def __init__(self, mj: Any, model: Any, data: Any, equalities: Equalities, ahead: float) -> None:
        self._ahead = ahead
        self.mj, self.model, self.data, self._equalities = mj, model, data, equalities
        self._turns, self._lengths = turning(mj, model), np.clip(model.dof_length, NEAR, 1.0)
        self.stuck: dict[str, float] = {}

    @cached_property
    def near(self) -> Any:
        """Data for other configurations."""
        return self.mj.MjData(self.model)

    def __call__(
        self, state: tuple[SparseRows, Vector, Vector, float], names: Sequence[str], rows: Sequence[str],
        before: Vector, way: Vector,
    ) -> None:  # fmt: skip
        """Shorten a correction of a displacement, from `before` to `way`, (nv,), in place until it reduces the error.

        The correction is accepted if the sum of squares of depths and residuals falls by the share `MENDED` of the
        reduction that the rows predict (Armijo's rule). Raises BadInput if it is far too large or never accepted.

        Parameters
        ----------
        state : rows of equalities and contacts, residuals, gaps, and the least gap, at the state of `data`
        names, rows : names of the contacts and of the equality rows
        """
        R, phi, gaps, lowest = state
        back = way - before
        if not (back.dot(back) <= LOOKED**2 or np.abs(back).max() <= LOOKED):
            open_by = (names, -gaps), (rows, np.abs(phi))
            self._refuse_far(back, *open_by)
            size, there = _error_by_rows(R, phi, gaps, before), self._error_at(before)
            for _ in range(HALVINGS):
                due = size - _error_by_rows(R, phi, gaps, before + back)
                if there - self._error_at(before + back) >= MENDED * due:
                    break
                back /= 2.0
            else:
                self._refuse_far(way - before, *open_by, mends=bool(np.abs(way - before).max() <= NEAR))
            way[:] = before + back
        if lowest < -AT_LEAST and np.abs(back).max() <= LOOKED:
            stays = (gaps < -AT_LEAST) & (R.times(way, len(phi), ROWS, gaps.copy()) < 0.5 * gaps)
            self.stuck.update((names[j], -float(gaps[j])) for j in np.flatnonzero(stays).tolist())

    def _error_at(self, way: Vector) -> float:
        """Return the sum of the squares of depths and residuals after the displacement `way`."""
        near = self.near
        place_near(self.mj, self.model, near, self.data, way)
        limits, contact = slice(near.ne + near.nf, near.ne + near.nf + near.nl), near.contact
        gaps = np.concatenate((
            near.efc_pos[limits] - near.efc_margin[limits] + self._ahead,
            (contact.dist - contact.includemargin)[contact.exclude <= IN_GAP],
        ))  # fmt: skip
        return float(np.sum(np.minimum(gaps, 0.0) ** 2) + np.sum(self._equalities.residuals(near) ** 2))

    def _refuse_far(self, way: Vector, *open_by: tuple[Sequence[str], Vector], mends: bool = True) -> None:
        """Raise BadInput unless a displacement, (nv,), reduces the error (`mends`) and is not too large for it.

        `open_by` are names and depths of contacts, and names and residuals of equality rows, m or rad.
        """
        most = NEAR + FARTHER * max(float(depths.max(initial=0.0)) for _, depths in open_by)
        share = np.abs(way) / np.where(self._turns > 0.0, np.minimum(most / self._lengths, TURNED), most)
        if mends and (share <= 1.0).all():
            return
        i, model = int(np.argmax(np.nan_to_num(share, nan=np.inf))), self.model
        joint = int(model.dof_jntid[i])
        name = self.mj.mj_id2name(model, self.mj.mjtObj.mjOBJ_JOINT, joint) or joint
        where = [f"{names[j]} by {depths[j]:.2g} m or rad" for names, depths in open_by
                 for j in np.argsort(-depths)[:SAID] if depths[j] > 0.0]  # fmt: skip
        raise BadInput(
            f"The projection does not converge: it would move joint {name!r} by {abs(way[i]):.2g} "
            f"{'rad' if self._turns[i] else 'm'} within a step to undo that contacts overlap or loops are open: "
            f"{', '.join(where)}. Begin where contacts are apart and loops closed, let geometries that overlap not "
            "touch (contype, conaffinity or exclude), or leave the stabilisation out."
        )


def _error_by_rows(R: SparseRows, phi: Vector, gaps: Vector, way: Vector) -> float:
    """Return the sum of squares of depths and residuals that the rows predict after a displacement, (nv,)."""
    depths = np.minimum(R.times(way, len(phi), ROWS, gaps.copy()), 0.0)
    return float(depths @ depths + np.sum(R.times(way, 0, 1, phi.copy()) ** 2))
