"""ContactBench's NumPy archives {G, g, mus}: u = G r + g, with the rows of a contact in the order T1, T2, N."""

from __future__ import annotations

import numpy as np

from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.errors import BadInput
from gaussopt.storage.archives import arrays_of

MAGIC = b"PK\x03\x04"
"""First bytes of a NumPy archive."""

NAMES = ("G", "g", "mus", "lam0")


def read(content: bytes, in_space: bool = False) -> ConeComplementarity:
    """Return the problem in a file, which is always spatial. The caller adds the file's name to BadInput."""
    arrays = arrays_of(content, NAMES)
    G, g, mus = (arrays[name] for name in NAMES[:3])
    if G is None or g is None or mus is None:
        raise BadInput("it lacks one of the arrays G, g and mus")
    mu, q = mus.ravel(), g.ravel()
    if G.shape != (len(q), len(q)) or len(q) != ROWS * len(mu):
        raise BadInput(f"G has shape {G.shape}, g {len(q)} and mus {len(mu)} entries; expected 3 rows a contact")
    order = (ROWS * np.arange(len(mu))[:, None] + [2, 0, 1]).ravel()
    return ConeComplementarity.from_mapping({"W": G[np.ix_(order, order)], "q": q[order], "mu": mu})
