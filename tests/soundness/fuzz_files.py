"""Files of contacts, and files made to harm: names that are paths to a program, bombs, links, half places."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zlib
from functools import cache
from typing import Any

import h5py
import numpy as np
from fuzz_cases import AROUND, Case, Entry, damaged

from gaussopt.storage import netcdf

RAN = "ran"
"""What appears in the working folder if the program of `PAYLOAD` runs."""

PAYLOAD: dict[str, Entry] = {
    "payload.py": f"import os\nos.mkdir({RAN!r})\n".encode(),
    "given/payload.py": f"import os\nos.mkdir({RAN!r})\n".encode(),
}
PATHS = (
    "./payload.py",
    "payload.py",
    "payload",
    "./payload",
    "given/payload.py",
    "../x.py",
    "/",
    "x.nc",
    "gaussopt",
    "os",
)

PLACES = (0.5, -1.0, 1e300, np.nan, np.inf, -0.0, 2.0, 3.0, 2.0**31, 1e-300)
WORDS = ("0.5", "-1", "nan", "inf", "1e300", "9" * 5000, "x", "", "3-by-3,", "triplet:", ":", "0", "1", "2", "3", "1e9")


def contacts(rng: random.Random) -> Case:
    """Contacts in the format of another code, with something wrong, read and solved."""
    name, content = rng.choice((("x.hdf5", _fclib), ("x.dat", _siconos), ("x.npz", _contactbench)))
    made = content(rng)
    if rng.random() < 0.4:
        made = damaged(rng, made)
    command = rng.choice((["solve", name], ["verify", name, name], ["solve", name, "--rows", "tangents-first"]))
    return Case("contacts", (*command, "--json"), {**AROUND, name: made})


def _fclib(rng: random.Random) -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        numbers: dict[str, Any] = {
            "W/m": [3], "W/n": [3], "W/nz": [3], "W/nzmax": [3], "W/i": [0, 1, 2], "W/p": [0, 1, 2], "W/x": [1.0] * 3,
            "spacedim": [3], "vectors/q": [-1.0, 0.5, 0.0], "vectors/mu": [0.5],
        }  # fmt: skip
        wrong = rng.choice((*numbers, ""))
        for part, value in numbers.items():
            array = np.array(value, dtype=np.float64)
            if part == wrong:
                array[rng.randrange(len(array))] = rng.choice(PLACES)
                array = array[: rng.choice((len(array), len(array), 0, 1))]
            file[f"fclib_local/{part}"] = array
        file["solution/r"], file["solution/u"] = np.zeros(3), np.zeros(3)
        if rng.random() < 0.3:
            _spoil(rng, file, rng.choice(("fclib_local/vectors/q", "fclib_local/W/i", "solution/r", "fclib_local")))
    return buffer.getvalue()


def _siconos(rng: random.Random) -> bytes:
    matrix = rng.choice((
        "0 3 3 3 3 1 0 0 0 1 0 0 0 1", "1 3 3 1 1 1 3 3 2 1 0 1 0 0 1 0 0 0 1 0 0 0 1",
        "2 3 3 triplet: 3-by-3, nzmax: 9 nnz: 3 0 0 : 1 1 1 : 1 2 2 : 1",
        "2 3 3 3-by-3, nzmax: 9 nnz: 3, 1-norm: 1 col 0 : locations 0 to 0 0 : 1 col 1 : locations 1 to 1 1 : 1 "
        "col 2 : locations 2 to 2 2 : 1",
    ))  # fmt: skip
    words = f"3 1 {matrix} -1 .5 0 .4".split()
    for _ in range(rng.choice((0, 1, 1, 2))):
        words[rng.randrange(len(words))] = rng.choice(WORDS)
    return " ".join(words[: rng.choice((len(words), len(words), rng.randrange(len(words)))) or 1]).encode()


def _contactbench(rng: random.Random) -> bytes:
    arrays: dict[str, Any] = {"G": np.eye(3), "g": np.zeros(3), "mus": np.ones(1)}
    name = rng.choice((*arrays, "lam0", "other"))
    arrays[name] = rng.choice((
        np.array([print], dtype=object), np.array({"a": 1}, dtype=object), np.zeros(0), np.full((2, 2), np.nan),
        np.array(["x"]), np.array([1j]), np.zeros((1, 1, 1)),
    ))  # fmt: skip
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _spoil(rng: random.Random, file: Any, name: str) -> None:
    """A dataset that takes far more than its file, or lies elsewhere, in the place of another one."""
    del file[name]
    match rng.randrange(8):
        case 0:
            file.create_dataset(name, (3,), maxshape=(None,), dtype="f8", chunks=(5 * 10**8,), compression="gzip")
        case 1:
            file.create_dataset(name, (3,), dtype="f8", chunks=(3,), compression="gzip").id.write_direct_chunk(
                (0,), bomb()
            )
        case 2:
            file.create_dataset(name, (10**9,), dtype="f8", chunks=(1000,))
        case 3:
            file[name] = h5py.ExternalLink("other.h5", "y")
        case 4:
            file[name] = h5py.SoftLink(f"/{name}")
        case 5:
            file.create_dataset(name, (3,), "f8", external=[("file", 0, 24)])
        case 6:
            file.create_dataset(name, (3,), dtype=h5py.vlen_dtype(np.float64))
        case _:
            layout = h5py.VirtualLayout((3,), "f8")
            layout[:] = h5py.VirtualSource("other.h5", "y", shape=(3,))
            file.create_virtual_dataset(name, layout)


@cache
def bomb() -> bytes:
    """A stream of deflate that unpacks to 4 GiB of zeros."""
    packer = zlib.compressobj(9)
    head = packer.compress(bytes(2**22)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(2**22)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + 1023 * again + packer.flush()


def hostile(rng: random.Random, given: dict[str, dict[str, bytes]]) -> Case:
    """A motion with a right seal that names a program beside it, takes far more than its bytes, or lies elsewhere."""
    name, content = rng.choice(sorted(given["motions"].items()))
    place = io.BytesIO(content[: content.rindex(netcdf.MARK)])
    with h5py.File(place, "r+") as file:
        if rng.random() < 0.6:
            key = rng.choice(("meta", "meta", "restart"))
            about = json.loads(file.attrs[key])
            owner = about if key == "meta" else about["settings"]
            for part in rng.choices(("problem", "variant", "solver", "stepper", "formulation", "stabilisation"), k=2):
                owner[part] = rng.choice(PATHS)
            file.attrs[key] = json.dumps(about)
        else:
            _spoil(rng, file, rng.choice(("power", "q", "kinetic")))
    body = place.getvalue()
    sealed = body + netcdf.MARK + hashlib.sha256(body).hexdigest().encode() + b"\n"
    command = rng.choice((
        ["run", "--from", name, "--t-end", "0.005"], ["animate", "--from", name, "--out", "o.svg"],
        ["plot", name, "--out", "o.svg"], ["animate", name.removesuffix(".nc"), "--from", name, "--out", "o.svg"],
    ))  # fmt: skip
    return Case("hostile", (*command, "--json"), {**AROUND, **PAYLOAD, name: sealed})
