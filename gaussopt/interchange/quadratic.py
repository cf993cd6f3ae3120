"""Quadratic programs in files of other codes: archives of qpsolvers, MATLAB files, MPS, and sets of qpbenchmark.

Constraints become rows l <= A x <= u, from the rows of G x <= h, A x = b and lb <= x <= ub that have a finite bound.
MPS and QPS files are read by HiGHS, Parquet files by pandas.
"""

from __future__ import annotations

import io
import math
import re
import struct
import tempfile
import zlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.core.errors import BadInput, MissingBackend
from gaussopt.core.machine import pass_on
from gaussopt.core.programs import INFINITE_BOUND, QP
from gaussopt.storage.archives import arrays_of

ARRAYS = ("P", "q", "G", "h", "A", "b", "lb", "ub")
"""Arrays in an archive of qpsolvers."""

COMPRESSED = 15
"""Code of a compressed part of a MATLAB file."""

MATLAB, PARQUET = b"MATLAB 5.0", b"PAR1"
"""First bytes of MATLAB and Parquet files."""

MPS = re.compile(rb"(\s*\*[^\n]*\n|\s*\n)*\s*(NAME|ROWS|OBJSENSE)\b")
"""Beginning of an MPS or QPS file, which is a text: comments, then a section."""

MOST_ENTRIES = 4_000_000
"""Largest number of entries of a matrix that is stored as dense, for which certificates prove more."""

MOST_BYTES = 200_000_000
"""Largest number of bytes that a MATLAB file may unpack to."""


def read(content: bytes) -> QP | None:
    """Return the quadratic program in a file, or None if the format is unknown. Raises BadInput, MissingBackend."""
    try:
        if content.startswith(b"PK\x03\x04"):
            return of_qpsolvers(arrays_of(content, ARRAYS))
        if content.startswith(MATLAB):
            return _of_matlab(content)
        if content.startswith(PARQUET):
            raise BadInput("it is a set of programs; compare it, or take single ones from it with pandas.")
        return _of_mps(content) if MPS.match(content) else None
    except (BadInput, MissingBackend):
        raise
    except Exception as error:  # a library may raise any exception on untrusted bytes
        pass_on("the file was not read", error)
        raise BadInput(f"it is damaged ({str(error).rstrip('.') or type(error).__name__}).") from None


def read_set(content: bytes) -> dict[str, QP | BadInput]:
    """Return the programs of a qpbenchmark Parquet file by name; an invalid program is replaced by its error.

    Raises BadInput for a table of another kind, MissingBackend without pyarrow.
    """
    if find_spec("pyarrow") is None:
        raise MissingBackend("A Parquet file needs pyarrow; pip install 'gaussopt[parquet]'.")
    import pandas as pd

    try:
        rows = pd.read_parquet(io.BytesIO(content), engine="pyarrow").to_dict("records")
    except Exception as error:
        pass_on("the file was not read", error)
        raise BadInput(f"it is no Parquet file, or damaged ({str(error).splitlines()[0].rstrip('.')}).") from None
    if not rows or not {"P", "q", "name"} <= rows[0].keys():
        raise BadInput("it is no set of qpbenchmark: its columns are not P, q, G, h, A, b, lb, ub and name.")
    found: dict[str, QP | BadInput] = {}
    for row in rows:
        try:
            # Matrices are written row after row.
            q = np.asarray(row["q"], dtype=float)
            flat = {k: np.asarray(row[k], dtype=float) for k in ARRAYS if row.get(k) is not None}
            shaped = {k: v.reshape(-1, len(q)) if k in ("P", "G", "A") else v for k, v in flat.items()}
            found[str(row["name"])] = of_qpsolvers({**dict.fromkeys(ARRAYS), **shaped})
        except (BadInput, ValueError, TypeError) as error:
            found[str(row["name"])] = BadInput(f"{row['name']}: {error}")
    return found


def of_qpsolvers(data: Mapping[str, Any]) -> QP:
    """Return min 1/2 x'Px + q'x with G x <= h, A x = b, lb <= x <= ub from named arrays; raises BadInput."""
    if data["P"] is None or data["q"] is None:
        raise BadInput("it lacks one of the arrays P and q.")
    h, b = (None if data[k] is None else data[k].ravel() for k in "hb")
    blocks = [(data["G"], np.full(0 if h is None else len(h), -np.inf), h), (data["A"], b, b)]
    return _program(data["P"], data["q"].ravel(), blocks, data["lb"], data["ub"])


def _program(P: Any, q: Any, blocks: list[tuple[Any, Any, Any]], lb: Any = None, ub: Any = None) -> QP:
    """Return the checked program; each block is (A, l, u) for l <= A x <= u, and lb, ub are bounds on x."""
    from scipy.sparse import csr_array, eye_array, vstack

    n = len(q)
    given = [
        (csr_array(np.atleast_2d(A) if isinstance(A, np.ndarray) else A), l, u) for A, l, u in blocks if A is not None
    ]
    if lb is not None or ub is not None:
        low, high = (np.full(n, x) if v is None else np.ravel(v) for v, x in ((lb, -np.inf), (ub, np.inf)))
        given.append((csr_array(eye_array(n)), low, high))
    given = given or [(csr_array((0, n)), np.zeros(0), np.zeros(0))]
    try:
        A: Any = vstack([rows for rows, _, _ in given], format="csr")
        l, u = (np.concatenate(part) for part in list(zip(*given, strict=True))[1:])
        kept = (l > -INFINITE_BOUND) | (u < INFINITE_BOUND)
        matrices = {"P": csr_array(np.atleast_2d(P) if isinstance(P, np.ndarray) else P), "A": A[kept]}
        bounds = {"l": l[kept], "u": u[kept]}
    except (ValueError, IndexError) as error:
        raise BadInput(f"its rows do not fit each other ({error}).") from None
    if all(math.prod(x.shape) <= MOST_ENTRIES for x in matrices.values()):
        matrices = {name: x.toarray() for name, x in matrices.items()}
    for name, x in matrices.items():
        stored = x.size if isinstance(x, np.ndarray) else x.nnz
        if stored > MOST_ENTRIES:
            raise BadInput(f"{name} has {stored:,} entries that are not zero; at most {MOST_ENTRIES:,} are read.")
    return QP.from_mapping({"q": q, **matrices, **bounds})


def _of_matlab(content: bytes) -> QP:
    from scipy.io import loadmat, whosmat

    # Check the sizes first, because a small file may unpack to more than the memory.
    for name, shape, kind in whosmat(io.BytesIO(content)):  # type: ignore[arg-type]
        if math.prod(shape) > MOST_ENTRIES and kind != "sparse":
            raise BadInput(f"{name} has {math.prod(shape):,} entries; at most {MOST_ENTRIES:,} are read.")
    if _unpacked(content) > MOST_BYTES:
        raise BadInput(f"it unpacks to more than {MOST_BYTES // 10**6} MB.")
    # The type stubs of SciPy accept file names only.
    data = loadmat(io.BytesIO(content), variable_names=("P", "q", "A", "l", "u"))  # type: ignore[arg-type]
    if missing := [key for key in "PqAlu" if key not in data]:
        raise BadInput(f"it lacks the variable {missing[0]}; expected P, q, A, l and u of l <= A x <= u.")
    q, l, u = (np.asarray(data[key], dtype=float).ravel() for key in "qlu")
    return _program(data["P"], q, [(data["A"], l, u)])


def _unpacked(content: bytes) -> int:
    """Return the number of bytes that the compressed parts of a MATLAB file (level 5) unpack to, up to MOST_BYTES."""
    total, at, order = 0, 128, "<" if content[126:128] == b"IM" else ">"
    while at + 8 <= len(content):
        kind, size = struct.unpack(order + "II", content[at : at + 8])
        unpack, rest = zlib.decompressobj(), content[at + 8 : at + 8 + size]
        while kind == COMPRESSED and rest and total <= MOST_BYTES:
            total += len(unpack.decompress(rest, 1 << 20))
            rest = unpack.unconsumed_tail
        at += 8 + size
    return total


def _of_mps(content: bytes) -> QP:
    if find_spec("highspy") is None:
        raise MissingBackend("An MPS or QPS file is read by HiGHS; pip install 'gaussopt[highs]'.")
    import highspy
    from scipy.sparse import csc_array

    reader = highspy.Highs()
    reader.setOptionValue("output_flag", False)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.mps"
        file.write_bytes(content)
        if reader.readModel(str(file)) != highspy.HighsStatus.kOk:
            raise BadInput("HiGHS does not read it as an MPS or QPS file.")
    model = reader.getModel()
    lp, curvature = model.lp_, model.hessian_
    if any(kind != highspy.HighsVarType.kContinuous for kind in lp.integrality_):
        raise BadInput("it has unknowns that are to be whole numbers, which is no quadratic program.")
    n, sign = lp.num_col_, -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0

    def columns(of: Any, rows: int) -> Any:
        return csc_array((np.array(of.value_), np.array(of.index_), np.array(of.start_)), shape=(rows, n))

    half = columns(curvature, n) if curvature.dim_ else csc_array((n, n))  # the lower triangle of the Hessian
    P = half + half.T - csc_array((half.diagonal(), (range(n), range(n))), shape=(n, n))
    rows = (columns(lp.a_matrix_, lp.num_row_), np.array(lp.row_lower_), np.array(lp.row_upper_))
    return _program(sign * P, sign * np.array(lp.col_cost_), [rows], np.array(lp.col_lower_), np.array(lp.col_upper_))
