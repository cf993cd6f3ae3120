"""FCLIB's HDF5 files of frictional contact problems, local and global, read and written.

Mixed local problems, u = W r + V l + q with V^T r + R l + s = 0, are condensed to r. FCLIB files hold triplets with
row indices in `i` and column indices in `p`, although the header of the library says otherwise.
Reference: V. Acary, M. Bremond, T. Koziara, F. Perignon, "FCLIB: a collection of discrete 3D frictional contact
problems", INRIA RT-0444, 2014.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gaussopt._version import __version__
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity, GlobalContacts
from gaussopt.core.delassus import as_dense, formed
from gaussopt.core.errors import BadInput
from gaussopt.core.files import write_bytes
from gaussopt.interchange.contact_rows import PLANAR, check_dimension, global_in_space, local_in_space
from gaussopt.kinds import page_of
from gaussopt.storage.hdf5 import FileLayout, opened

MAGIC = b"\x89HDF\r\n\x1a\n"
"""First bytes of an HDF5 file."""

CSC, CSR = -1, -2
"""Values of `nz` for compressed columns and compressed rows; otherwise `nz` is the number of triplets."""

LARGEST = 2**22
"""Largest number of rows or columns of a matrix that is read."""

Places = Vector | Index
"""Indices of entries: floats from a file, or integers computed here."""

LOCAL, GLOBAL, ROLLING = "fclib_local", "fclib_global", "fclib_global_rolling"

LAYOUTS = {
    "contact": (LOCAL, ("W",), ("q", "mu")), "contact-global": (GLOBAL, ("M", "H", "G"), ("f", "w", "mu", "b")),
}  # fmt: skip
"""Group, matrices and vectors of each form of contact problem."""


class Reader:
    """Reader of the datasets of an open file; it refuses a dataset larger than the size of the file allows."""

    def __init__(self, file: Any, size: int) -> None:
        self._file, self._layout = file, FileLayout(file, size)

    def has(self, name: str) -> bool:
        """Return whether a dataset or group of this name exists."""
        return name in self._file

    def array(self, name: str) -> Vector:
        """Return a dataset as a vector; raises BadInput unless it holds finite numbers."""
        entry = self._layout.dataset(name)
        if getattr(entry, "dtype", np.dtype("O")).kind not in "iuf":
            raise BadInput(f"{name!r} is no array of numbers")
        values = np.asarray(entry[()], dtype=np.float64).ravel()
        if not np.isfinite(values).all():
            raise BadInput(f"{name}[{int(np.argmin(np.isfinite(values)))}] is no finite number")
        return values

    def integer(self, name: str) -> int:
        """Return a scalar, which FCLIB stores as an array of length one."""
        values = self.array(name)
        if len(values) != 1 or values[0] != np.floor(values[0]):
            raise BadInput(f"{name!r} is {values[:3]}, expected one whole number")
        return int(values[0])

    def matrix(self, name: str) -> Any:
        """Return a matrix in any of the three layouts as a sparse matrix; raises BadInput."""
        m, n, nz = (self.integer(f"{name}/{part}") for part in ("m", "n", "nz"))
        if min(m, n) < 0 or max(m, n) > LARGEST:
            raise BadInput(f"{name!r} has shape ({m}, {n}), which is too large to be solved here")
        i, p, x = (self.array(f"{name}/{part}") for part in ("i", "p", "x"))
        if nz > min(len(i), len(p), len(x)):
            raise BadInput(f"{name}/nz is {nz}, and {len(i)} rows, {len(p)} columns and {len(x)} values are there")
        if nz >= 0:
            return triplets(name, i[:nz], p[:nz], x[:nz], (m, n))
        if nz not in (CSC, CSR):
            raise BadInput(f"{name}/nz is {nz}; expected -1 (columns), -2 (rows) or a number of triplets")
        major, minor = (n, m) if nz == CSC else (m, n)
        if len(p) != major + 1 or p[0] != 0 or (np.diff(p) < 0).any() or p[-1] > min(len(i), len(x)) or (p % 1).any():
            raise BadInput(f"{name}/p does not tell where {major} {'columns' if nz == CSC else 'rows'} begin")
        count = int(p[-1])
        outer = np.repeat(np.arange(major), np.diff(p).astype(np.int64))
        check_places(f"{name}/i", i[:count], minor)
        row, column = (i[:count], outer) if nz == CSC else (outer, i[:count])
        return triplets(name, row, column, x[:count], (m, n))


def check_places(name: str, found: Places, size: int) -> None:
    """Raise BadInput unless all indices are whole numbers from 0 to size - 1."""
    wrong = found[~((found >= 0) & (found < size) & (found == np.floor(found)))]
    if len(wrong):
        raise BadInput(f"{name} holds the place {wrong[0]:g}; expected whole numbers from 0 to {size - 1}")


def triplets(name: str, row: Places, column: Places, value: Vector, shape: tuple[int, int]) -> Any:
    """Return a sparse matrix from its entries, summing entries with equal indices; raises BadInput."""
    if not len(row) == len(column) == len(value):
        raise BadInput(f"{name} has {len(row)} rows, {len(column)} columns and {len(value)} values of entries")
    check_places(f"{name} (rows)", row, shape[0])
    check_places(f"{name} (columns)", column, shape[1])
    places = row.astype(np.int64), column.astype(np.int64)
    return sparse.csr_array(sparse.coo_array((value, places), shape=shape))


def dense(name: str, A: Any) -> Matrix:
    """Return a matrix of a file as a dense matrix; raises BadInput if that would be too large."""
    return as_dense(name, A, A.shape)


def read(content: bytes, in_space: bool = False) -> ConeComplementarity | GlobalContacts:
    """Return the problem in a file; `in_space` refuses planar contacts. The caller adds the file's name to BadInput."""
    with opened(content) as file:
        reader = Reader(file, len(content))
        if reader.has(ROLLING):
            raise BadInput("it holds contacts with rolling friction (fclib_global_rolling), which are not solved here")
        if reader.has(LOCAL):
            return _local(reader, in_space)
        if reader.has(GLOBAL):
            return _global(reader, in_space)
    raise BadInput("it is an HDF5 file, but none of FCLIB: there is neither 'fclib_local' nor 'fclib_global'")


def read_solution(content: bytes) -> dict[str, list[float]]:
    """Return `r` and, if present, `v` of the solution in a file; raises BadInput."""
    with opened(content) as file:
        reader = Reader(file, len(content))
        if not reader.has("solution/r"):
            raise BadInput("it holds no solution ('/solution/r')")
        return {
            name: reader.array(f"solution/{name}").tolist() for name in ("r", "v") if reader.has(f"solution/{name}")
        }


def _local(reader: Reader, in_space: bool) -> ConeComplementarity:
    dimension = check_dimension(reader.integer(f"{LOCAL}/spacedim"), in_space)
    W, q, mu = reader.matrix(f"{LOCAL}/W"), reader.array(f"{LOCAL}/vectors/q"), reader.array(f"{LOCAL}/vectors/mu")
    if W.shape != (len(q), len(q)) or len(q) != dimension * len(mu):
        raise BadInput(f"W has shape {W.shape}, q {len(q)} and mu {len(mu)} entries, with {dimension} rows a contact")
    if reader.has(f"{LOCAL}/V"):
        V, R = (dense(name, reader.matrix(f"{LOCAL}/{name}")) for name in ("V", "R"))
        s = reader.array(f"{LOCAL}/vectors/s")
        if V.shape != (len(q), len(s)) or R.shape != (len(s), len(s)):
            raise BadInput(f"V has shape {V.shape}, R {R.shape} and s {len(s)} entries, which do not fit {len(q)} rows")
        W, q = _condensed(dense("W", W), q, V, R, s)
    if dimension == PLANAR:
        return local_in_space(dense("W", W), q, mu)
    return ConeComplementarity.from_mapping({"W": W, "q": q, "mu": mu})


def _condensed(W: Matrix, q: Vector, V: Matrix, R: Matrix, s: Vector) -> tuple[Matrix, Vector]:
    """Return W and q after elimination of the bilateral impulses l; raises BadInput if R is singular."""
    if len(s) and np.linalg.cond(R) > 1e14:
        raise BadInput("R of its bilateral rows is singular; remove rows that depend on others")
    inner = np.linalg.solve(R, np.column_stack((V.T, s)))
    return W - V @ inner[:, :-1], q - V @ inner[:, -1]


def _global(reader: Reader, in_space: bool) -> GlobalContacts:
    dimension = check_dimension(reader.integer(f"{GLOBAL}/spacedim"), in_space)
    data = {name: reader.array(f"{GLOBAL}/vectors/{name}") for name in ("f", "w", "mu")}
    data |= {name: reader.matrix(f"{GLOBAL}/{name}") for name in ("M", "H")}
    if reader.has(f"{GLOBAL}/G"):
        data |= {"G": dense("G", reader.matrix(f"{GLOBAL}/G")), "b": reader.array(f"{GLOBAL}/vectors/b")}
    return given_global(data, dimension)


def given_global(data: dict[str, Any], dimension: int) -> GlobalContacts:
    """Return a checked three-dimensional global problem; contacts may have two or three rows. Raises BadInput."""
    if dimension != PLANAR:
        return GlobalContacts.from_mapping(data)
    data |= {name: dense(name, data[name]) for name in ("M", "H")}
    n, k = len(data["f"]), len(data["mu"])
    G = data.get("G", np.zeros((n, 0)))
    if data["M"].shape != (n, n) or data["H"].shape != (n, PLANAR * k) or len(data["w"]) != PLANAR * k:
        raise BadInput(f"M has shape {data['M'].shape}, H {data['H'].shape}; expected {(n, n)} and {(n, PLANAR * k)}")
    flat = GlobalContacts(data["M"], data["H"], data["f"], data["w"], data["mu"], G, data.get("b", np.zeros(0)))
    return GlobalContacts.from_mapping(global_in_space(flat).to_mapping())


def write_fclib(
    path: str | Path, problem: ConeComplementarity | GlobalContacts, r: Vector | None = None, title: str = "",
    text: str = "",
) -> None:  # fmt: skip
    """Write a problem, with its solution if r is given, completely or not at all; raises BadInput on failure."""
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        place, *parts = LAYOUTS[page_of(problem).name]
        absent = () if len(getattr(problem, "b", ())) else ("G", "b")
        matrices, vectors = ([name for name in part if name not in absent] for part in parts)
        root = file.create_group(place)
        _scalar(root, "spacedim", ROWS)
        for name in matrices:
            _write_matrix(root.create_group(name), getattr(problem, name))
        for name in vectors:
            root[f"vectors/{name}"] = getattr(problem, name)
        for name, words in (("title", title), ("description", text), ("math_info", f"gaussopt {__version__}")):
            root[f"info/{name}"] = np.bytes_(words or " ")
        if r is not None:
            motion, _ = page_of(problem).motion(problem, r)
            for name, values in {"r": r, "u": problem.local.u(r), **motion}.items():
                if name != "l" or len(values):
                    file[f"solution/{name}"] = values
    write_bytes(Path(path), buffer.getvalue())


def _scalar(group: Any, name: str, value: int) -> None:
    group[name] = np.array([value], dtype=np.int32)


def _write_matrix(group: Any, A: Any) -> None:
    """Write a matrix as triplets, with row indices in `i` and column indices in `p`."""
    entries = sparse.coo_array(formed(A))
    entries.eliminate_zeros()
    row, column = entries.coords
    for name, value in (("m", A.shape[0]), ("n", A.shape[1]), ("nz", len(row)), ("nzmax", len(row))):
        _scalar(group, name, value)
    group["i"], group["p"], group["x"] = row.astype(np.int32), column.astype(np.int32), entries.data
