"""Batches in parts, each of which is saved to a folder when it is complete, so that a later call can continue."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaussopt._version import __version__
from gaussopt.core.errors import BadInput
from gaussopt.core.files import prepare_folder, write_text
from gaussopt.core.status import Status
from gaussopt.storage.checksums import Damage, sealed, unsealed
from gaussopt.storage.netcdf import load_dataset, save_dataset

if TYPE_CHECKING:
    import xarray as xr

PART, CARD_PART = 64, 65_536
"""Number of members of a part, on the CPU and on a GPU; killing the process loses the part in progress."""

HEAD = "batch.json"

Compute = Callable[[NDArray[np.intp]], "xr.Dataset"]
"""A function that returns the dataset of the members with these indices."""

Spread = Callable[[list[NDArray[np.intp]]], Iterator[tuple[NDArray[np.intp], "xr.Dataset"]]]
"""A function that computes parts, each given by the indices of its members, and yields (indices, dataset)."""


class BatchFolder:
    """A folder with the parts of one batch; it is created if it does not exist.

    `about` holds, as JSON data, everything that determines the result. Raises BadInput if the folder holds other files,
    or a batch with a different `about`.
    """

    def __init__(self, folder: str | os.PathLike[str], about: Mapping[str, Any]) -> None:
        self._folder, self._size = Path(folder), CARD_PART if "device" in about else PART
        plain: dict[str, Any] = json.loads(json.dumps({"gaussopt": __version__, **about}))
        prepare_folder(self._folder)
        head = self._folder / HEAD
        if head.exists():
            self._check(head, plain)
        elif any(self._folder.iterdir()):
            raise BadInput(f"{self._folder} is not empty and holds no batch; name another folder.")
        else:
            write_text(head, sealed(plain))

    def _check(self, head: Path, about: dict[str, Any]) -> None:
        try:
            found = unsealed(head.read_bytes())
        except (OSError, Damage):
            raise BadInput(f"{head} is damaged or not gaussopt's; name another folder.") from None
        other = [name for name in {**found, **about} if found.get(name) != about.get(name)]
        if other:
            raise BadInput(f"{self._folder} holds a batch with other {', '.join(other)}; name another folder.")

    def gather(self, count: int, compute: Compute, spread: Spread | None = None) -> xr.Dataset:
        """Return all members, read from the folder or computed now; if interrupted, the members computed so far.

        If `spread` is given, it first computes the parts that have no file, in any order; `compute` then computes those
        that are still missing.
        """
        import xarray as xr

        parts, numbers = [], [np.arange(i, min(i + self._size, count)) for i in range(0, count, self._size)]
        for members, found in spread([x for x in numbers if not self._file(x).exists()]) if spread else ():
            save_dataset(found.assign_coords(trajectory=members), self._file(members))
        for members in numbers:
            part = self._part(members, compute)
            parts.append(part)
            if (part.status == str(Status.INTERRUPTED)).any():
                break
        return xr.concat(parts, "trajectory", combine_attrs="override")

    def _file(self, members: NDArray[np.intp]) -> Path:
        return self._folder / f"part-{members[0]:07d}.nc"

    def _part(self, members: NDArray[np.intp], compute: Compute) -> xr.Dataset:
        import xarray as xr

        file = self._file(members)
        known = load_dataset(file) if file.exists() else None
        if known is not None:
            if not {"status", "trajectory"} <= set(known.variables) or not np.isin(known.trajectory, members).all():
                raise BadInput(f"{file} is no part of this batch; remove it, and its members are computed again.")
            done = known.isel(trajectory=(known.status != str(Status.INTERRUPTED)).values)
            members = np.setdiff1d(members, done.trajectory.values)
            if not len(members):
                return known
        found = compute(members).assign_coords(trajectory=members)
        if known is not None and done.sizes["trajectory"]:
            found = xr.concat([done, found], "trajectory", combine_attrs="override").sortby("trajectory")
        save_dataset(found, file)
        return found
