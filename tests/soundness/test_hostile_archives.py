"""Files of arrays made to harm: bombs, links to elsewhere, code in pickles, damage, numbers that are no places."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import random
import resource
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import contact_cases as known
import h5py
import numpy as np
import pytest
import scipy.io

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.core.errors import GaussoptError
from gaussopt.interchange import fclib, siconos_dat
from gaussopt.interchange.problem_reader import read_answer
from gaussopt.storage import netcdf

pytestmark = pytest.mark.campaigns

Q = "fclib_local/vectors/q"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """An FCLIB file of two contacts with an answer; a motion without the checksum behind it, as others write NetCDF."""
    problem = known.problem("random-2-8-2")
    file = tmp_path_factory.mktemp("whole") / "x.hdf5"
    go.write_fclib(file, problem, r=np.zeros(problem.n))
    found = go.simulate("crank-slider", t_end=0.004, dt=1e-3, step_folder=None, error_estimate=False)
    return {"x.hdf5": file.read_bytes(), "x.nc": netcdf.image(found.to_xarray())[0]}


@pytest.fixture
def contacts(whole: dict[str, bytes], tmp_path: Path) -> Path:
    (tmp_path / "x.hdf5").write_bytes(whole["x.hdf5"])
    return tmp_path / "x.hdf5"


@pytest.fixture
def motion(whole: dict[str, bytes], tmp_path: Path) -> Path:
    (tmp_path / "x.nc").write_bytes(whole["x.nc"])
    return tmp_path / "x.nc"


# -- HDF5 -------------------------------------------------------------------------------------------------------


def large_chunk(file: h5py.File, name: str) -> None:
    file.create_dataset(name, (5,), maxshape=(None,), dtype="f8", chunks=(2 * 10**7,), compression="gzip")
    file[name][:] = 1.0


@cache
def stream() -> bytes:
    """Of deflate, which unpacks to 500 MB."""
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(2**20)) for _ in range(500)) + packer.flush()


def long_stream(file: h5py.File, name: str) -> None:
    """A chunk of 40 bytes that unpacks to 500 MB."""
    made = file.create_dataset(name, (5,), dtype="f8", chunks=(5,), compression="gzip")
    made.id.write_direct_chunk((0,), stream())


def packed_twice(file: h5py.File, name: str) -> None:
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((5,))
    plan.set_deflate(9)
    plan.set_deflate(9)
    space = h5py.h5s.create_simple((5,))
    h5py.h5d.create(file.id, name.encode(), h5py.h5t.NATIVE_DOUBLE, space, dcpl=plan)
    file[name][:] = 1.0


def unknown_filter(file: h5py.File, name: str) -> None:
    """One of those for which HDF5 looks for a library to load."""
    file.create_dataset(name, data=np.ones(5), compression="lzf")


def many_numbers(file: h5py.File, name: str) -> None:
    file.create_dataset(name, (10**9,), dtype="f8", chunks=(1000,))


def more_than_can_be_counted(file: h5py.File, name: str) -> None:
    file.create_dataset(name, (10**18, 10**18), dtype="f8", chunks=(1, 1))


def external(file: h5py.File, name: str) -> None:
    raw = Path(file.filename).with_name("raw")
    raw.write_bytes(np.ones(5).tobytes())
    file.create_dataset(name, (5,), "f8", external=[(str(raw), 0, 40)])


def virtual(file: h5py.File, name: str) -> None:
    other = Path(file.filename).with_name("other.h5")
    with h5py.File(other, "w") as source:
        source["y"] = np.ones(5)
    layout = h5py.VirtualLayout((5,), "f8")
    layout[:] = h5py.VirtualSource(str(other), "y", shape=(5,))
    file.create_virtual_dataset(name, layout)


def linked(file: h5py.File, name: str) -> None:
    other = Path(file.filename).with_name("other.h5")
    with h5py.File(other, "w") as source:
        source["y"] = np.ones(5)
    file[name] = h5py.ExternalLink(str(other), "y")


def soft_link(file: h5py.File, name: str) -> None:
    file[name] = h5py.SoftLink("/elsewhere")


def in_a_circle(file: h5py.File, name: str) -> None:
    file[name] = h5py.SoftLink(f"/{name}")


def references(file: h5py.File, name: str) -> None:
    file.create_dataset(name, (5,), dtype=h5py.ref_dtype)


def lists(file: h5py.File, name: str) -> None:
    file.create_dataset(name, (5,), dtype=h5py.vlen_dtype(np.float64))


def records(file: h5py.File, name: str) -> None:
    file[name] = np.zeros(5, dtype=[("a", "f8"), ("b", "i4")])


SPOILS: tuple[Callable[[h5py.File, str], None], ...] = (
    large_chunk, long_stream, packed_twice, unknown_filter, many_numbers, more_than_can_be_counted, external, virtual,
    linked, soft_link, in_a_circle, references, lists, records,
)  # fmt: skip
HEAVY = 100 * 2**20


def spoilt(path: Path, name: str, spoil: Callable[[h5py.File, str], None]) -> Path:
    with h5py.File(path, "r+") as file:
        del file[name]
        spoil(file, name)
    return path


@contextmanager
def light() -> Iterator[None]:
    """What is read may not take HEAVY bytes more of memory."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + HEAVY, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.parametrize("spoil", SPOILS)
def test_contacts_in_hdf5_are_checked_before_they_are_read(
    spoil: Callable[[h5py.File, str], None], contacts: Path, assert_sentence: Callable[..., None]
) -> None:
    for name in (Q, "solution/r"):
        spoilt(contacts, name, spoil)
    for read in (go.read_problem, lambda path: read_answer(path, known.problem("random-2-8-2"))):
        with light(), pytest.raises(go.BadInput) as caught:
            read(contacts)
        assert not isinstance(caught.value, go.MachineFailure)
        assert_sentence(caught.value, "x.hdf5")


@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("sealed", [True, False])
def test_motions_are_checked_before_they_are_read(
    spoil: Callable[[h5py.File, str], None],
    sealed: bool,
    motion: Path,
    assert_sentence: Callable[..., None],
) -> None:
    spoilt(motion, "power", spoil)
    if sealed:  # anybody can write our checksum
        netcdf_seal(motion)
    # What carries none is read in a process of its own, by the same checks: of one spoiling by every reader.
    readers = (go.Trajectory.load, go.Atlas.load, go.load_dataset)
    for read in readers if sealed or spoil is large_chunk else readers[:1]:
        with light(), pytest.raises(go.BadInput) as caught:
            read(motion)
        assert_sentence(caught.value, "x.nc")
        assert spoil not in (external, virtual, linked) or "only what lies in the file itself" in str(caught.value)


def netcdf_seal(path: Path) -> None:
    import hashlib

    content = path.read_bytes()
    path.write_bytes(content + netcdf.MARK + hashlib.sha256(content).hexdigest().encode() + b"\n")


@pytest.mark.parametrize("group", ["fclib_local", "fclib_local/vectors", "fclib_local/W", "solution"])
def test_no_group_on_the_way_leads_to_another_file(group: str, contacts: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.hdf5").write_bytes(contacts.read_bytes())
    with h5py.File(contacts, "r+") as file:
        del file[group]
        file[group] = h5py.ExternalLink(str(tmp_path / "secret.hdf5"), group)
    with pytest.raises(go.BadInput, match=f"it links '{group}' to another place|it holds no solution|none of FCLIB"):
        read_answer(contacts, go.read_problem(contacts))


def test_texts_that_a_motion_names_often_are_counted(motion: Path) -> None:
    """A text stands in the file once, and entries point to it."""
    with h5py.File(motion, "r+") as file:
        made = file.create_dataset("words", (30_000,), dtype=h5py.string_dtype())
        made[0] = "x" * 30_000
        place = made.id.get_offset()
    content = bytearray(motion.read_bytes())
    pointer = content[place : place + 16]
    content[place : place + 16 * 30_000] = pointer * 30_000
    motion.write_bytes(content)
    netcdf_seal(motion)
    with light(), pytest.raises(go.BadInput, match="'words' with its texts is larger than"):
        go.Trajectory.load(motion)


def test_packed_files_are_read(motion: Path, tmp_path: Path) -> None:
    """The filters of NetCDF, alone and together, and chunks larger than the array."""
    data = netcdf.read(motion, "a motion")
    packing = {"zlib": True, "complevel": 9, "shuffle": True, "fletcher32": True, "chunksizes": (4, 3)}
    netcdf.write(data, tmp_path / "packed.nc", {"q": packing, "lam": {"zlib": True}, "v": {"fletcher32": True}})
    packed = go.Trajectory.load(tmp_path / "packed.nc")
    assert np.array_equal(packed.q, data["q"].values)
    assert np.array_equal(packed.lam, data["lam"].values)


def test_flipped_bytes_of_contacts_get_sentences(contacts: Path) -> None:
    """Every reading ends in numbers or in a sentence; no number that is read is anything but finite."""
    good, random_ = contacts.read_bytes(), random.Random(3)
    ended = {"read": 0, "told": 0}
    for _ in range(200):
        content = bytearray(good)
        for _ in range(random_.choice((1, 1, 1, 2, 8))):
            content[random_.randrange(len(content))] = random_.randrange(256)
        for read in (fclib.read, fclib.read_solution):
            try:
                read(bytes(content))
                ended["read"] += 1
            except GaussoptError:
                ended["told"] += 1
    assert min(ended.values()) > 25


@pytest.mark.parametrize(
    ("name", "value", "culprit"),
    [
        ("W/i", 0.5, "W (rows) holds the place 0.5"), ("W/p", 1.2, "W (columns) holds the place 1.2"),
        ("W/i", -1.0, "W (rows) holds the place -1"), ("W/i", 1e300, "W (rows) holds the place 1e+300"),
        ("W/nz", 10**6, "W/nz is 1000000"), ("W/nz", 2.5, "one whole number"), ("W/m", 5.5, "one whole number"),
        ("W/x", np.nan, "is no finite number"), ("W/i", np.inf, "is no finite number"),
        ("spacedim", 2.9, "whole number"),
        ("vectors/mu", np.nan, "is no finite number"), ("W/nz", -1.5, "one whole number"), ("W/nz", -3, "W/nz is -3"),
    ],
)  # fmt: skip
def test_numbers_that_are_no_places_are_refused(name: str, value: float, culprit: str, contacts: Path) -> None:
    with h5py.File(contacts, "r+") as file:
        kept = file[f"fclib_local/{name}"][()].astype(float)
        kept[0] = value
        del file[f"fclib_local/{name}"]
        file[f"fclib_local/{name}"] = kept
    with pytest.raises(go.BadInput, match=r"x\.hdf5: ") as caught:
        go.read_problem(contacts)
    assert culprit in str(caught.value)


def test_compressed_columns_with_half_places_are_refused() -> None:
    """Where columns begin is counted, too."""
    for p, fine in (([0, 1, 2, 3], True), ([0, 0.5, 2, 3], False), ([0, 1, 2, 2.5], False), ([0, 2, 1, 3], False)):
        buffer = io.BytesIO()
        with h5py.File(buffer, "w") as file:
            for part, one in (("m", 3), ("n", 3), ("nz", -1), ("nzmax", 3)):
                file[f"fclib_local/W/{part}"] = np.array([one])
            for part, some in (("p", p), ("i", [0, 1, 2]), ("x", [1.0, 1.0, 1.0])):
                file[f"fclib_local/W/{part}"] = np.array(some)
            file["fclib_local/spacedim"] = np.array([3])
            file[Q], file["fclib_local/vectors/mu"] = np.array([-1.0, 0.5, 0.0]), np.array([0.5])
        if fine:
            assert isinstance(fclib.read(buffer.getvalue()), go.ConeComplementarity)
        else:
            with pytest.raises(go.BadInput, match="does not tell where 3 columns begin"):
                fclib.read(buffer.getvalue())


# -- text -------------------------------------------------------------------------------------------------------

HEAD, TAIL = "3\n1\n", "\n-1 .5 0\n.4\n"
LISTED = "2\n3 3 triplet: 3-by-3, nzmax: 9 nnz: 3\n{} {} : 1\n1 1 : 1\n2 2 : 1"
COLUMNS = "2\n3 3 3-by-3, nzmax: 9 nnz: {}, 1-norm: 1\ncol 0 : locations {} to {}\n 0 : 1\n"
MORE = "col 1 : locations 1 to 1\n 1 : 1\ncol 2 : locations 2 to 2\n 2 : 1"
BLOCKS = "1\n3 3\n1 1 1\n{} 3\n2 1\n{} {}\n{}\n0 1 0 0 0 1 0 0 0 1"


@pytest.mark.parametrize("good", [LISTED.format(0, 0), COLUMNS.format(3, 0, 0) + MORE, BLOCKS.format(3, 0, 1, 0)])
def test_texts_of_siconos_that_are_right_are_read(good: str) -> None:
    found = siconos_dat.read(HEAD + good + TAIL)
    assert isinstance(found, go.ConeComplementarity)
    assert np.array_equal(np.asarray(found.W.todense() if hasattr(found.W, "todense") else found.W), np.eye(3))


@pytest.mark.parametrize(
    ("matrix", "culprit"),
    [
        (LISTED.format(0.5, 0), "place 0.5"), (LISTED.format(0, 1.2), "place 1.2"), (LISTED.format(-1, 0), "place -1"),
        (LISTED.format(0, 3), "place 3"), (LISTED.format("nan", 0), "nan"), (LISTED.format("x", 0), "'x'"),
        (LISTED.format(0, 0).replace("nnz: 3", "nnz: 4"), "due"), (LISTED.format(0, 0).replace(" : ", " "), "due"),
        (LISTED.format(0, 0).replace("nnz: 3", "nnz: nan"), "nan"),
        (LISTED.format(0, 0).replace("nnz: 3", "nnz: inf"), "inf"),
        (LISTED.format(0, 0).replace("nnz: 3", "nnz: 2.5"), "2.5"),
        (LISTED.format(0, 0).replace("3-by-3", "9" * 5000 + "-by-3"), "ends before"),
        (COLUMNS.format(3, 0, 0.5) + MORE, "0.5"), (COLUMNS.format(3, 0, -2) + MORE, "-2"),
        (COLUMNS.format(3, 1, 1) + MORE, "places 1 to 1"), (COLUMNS.format(9, 0, 0) + MORE, "3 entries"),
        (COLUMNS.format(2, 0, 0) + MORE, "ends within|expected column 2"), (COLUMNS.format("nan", 0, 0) + MORE, "nan"),
        (COLUMNS.format(3, 0, 1) + MORE, "'col'"), (COLUMNS.format(3, 0, 0), "due"),
        (COLUMNS.format(3, 0, 0).replace("col 0", "col 1") + MORE, "column 1"),
        (BLOCKS.format(3, -5, 1, 0), "-5"), (BLOCKS.format(3, 0, 1, 0.5), "0.5"), (BLOCKS.format(2.5, 0, 1, 0), "2.5"),
        (BLOCKS.format(3, 0.5, 1, 0), "0.5"), (BLOCKS.format(3, 1, 1, 0), "do not fill"),
        (BLOCKS.format(3, 0, 1, 1), "column 1 of 1"), (BLOCKS.format("1e300", 0, 1, 0), "1e+300"),
    ],
)  # fmt: skip
def test_texts_of_siconos_that_are_damaged_get_a_sentence(
    matrix: str, culprit: str, tmp_path: Path, assert_sentence: Callable[..., None]
) -> None:
    file = tmp_path / "x.dat"
    file.write_text(HEAD + matrix + TAIL)
    with pytest.raises(go.BadInput) as caught:
        go.read_problem(file)
    assert_sentence(caught.value, "x.dat")
    assert any(word in str(caught.value) for word in culprit.split("|")), str(caught.value)


# -- archives of NumPy ------------------------------------------------------------------------------------------


class Trap:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (self.place,)


@pytest.mark.parametrize("name", ["G", "g", "mus", "lam0", "more"])
def test_archives_of_contactbench_unpickle_nothing(name: str, tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"G": np.eye(3), "g": np.zeros(3), "mus": np.ones(1)}
    np.savez(tmp_path / "x.npz", **arrays)
    assert isinstance(go.read_problem(tmp_path / "x.npz"), go.ConeComplementarity)
    for shape in ((), (1,)):
        trap = np.empty(shape, dtype=object)
        trap[...] = Trap(tmp_path / "ran")
        np.savez(tmp_path / "x.npz", **{**arrays, name: trap})
        if name == "lam0" and shape == ():  # an empty object, as others write what there is not
            go.read_problem(tmp_path / "x.npz")
        else:
            with pytest.raises(go.BadInput):
                go.read_problem(tmp_path / "x.npz")
    assert not (tmp_path / "ran").exists()
    np.load(tmp_path / "x.npz", allow_pickle=True)[name]  # the trap is one
    assert (tmp_path / "ran").exists()


# -- JSON -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["__import__('os').mkdir('ran')", {"__reduce__": "os.system"}, ["x"], None, True, []])
@pytest.mark.parametrize("field", ["M", "Q", "J", "P", "q", "A", "l", "kind", "W", "mu", "t", "name", "contacts"])
def test_entries_of_json_are_numbers(field: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for data in (
        {"M": [[1.0]], "Q": [1.0], "J": [[1.0]], "gamma": [0.0]}, {"kind": "qp", "P": [[1.0]], "q": [1.0]},
        {"kind": "lcp", "A": [[1.0]], "b": [1.0]},
        {"kind": "contact", "W": np.eye(3).tolist(), "q": [0.0] * 3, "mu": [1]},
    ):  # fmt: skip
        (tmp_path / "x.json").write_text(json.dumps(data | {field: value}))
        for command in (["solve", "x.json"], ["solve", "x.json", "--json"], ["verify", "x.json", "x.json"]):
            assert run(command) in (0, 1, 2)
    assert not (tmp_path / "ran").exists()


# -- models of other engines ------------------------------------------------------------------------------------


def test_model_files_of_other_engines_are_read_in_one_place_and_load_no_library() -> None:
    """MJCF and URDF with what they include are read by MuJoCo, only where a person names such a file as a problem."""
    readers = ("from_xml", "MjSpec", "buildModel", "buildGeom", "mj_loadXML", "mj_loadPluginLibrary")
    for file in Path(go.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(word in text for word in readers) else ():
            if (name := getattr(node, "attr", getattr(node, "id", ""))).startswith(readers):
                assert (file.name, name) == ("mujoco_model.py", "from_xml_path")


# -- MATLAB files -----------------------------------------------------------------------------------------------


def packed(**variables: Any) -> bytes:
    file = io.BytesIO()
    scipy.io.savemat(file, variables, do_compression=True)
    return file.getvalue()


SMALL = {"P": np.eye(1), "q": np.ones(1), "A": np.eye(1), "l": np.zeros(1), "u": np.ones(1)}


@pytest.mark.parametrize(("variables", "words"), [
    ({**SMALL, "P": np.zeros((3000, 3000))}, "at most 4,000,000 are read"),
    ({**SMALL, "q": np.array(["x"])}, "x.mat"), ({**SMALL, "u": np.array([{"a": 1}], dtype=object)}, "x.mat"),
    ({"P": np.eye(1)}, "lacks the variable q"),
])  # fmt: skip
def test_matlab_files_unpack_to_what_is_read_and_hold_numbers(
    variables: dict[str, Any], words: str, tmp_path: Path
) -> None:
    (tmp_path / "x.mat").write_bytes(packed(**variables))
    with pytest.raises(go.BadInput, match=words):
        go.read_problem(tmp_path / "x.mat")


def test_damaged_matlab_files_are_refused_by_a_sentence(tmp_path: Path) -> None:
    whole, file = packed(**SMALL), tmp_path / "x.mat"
    for at in range(128, len(whole), 7):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with contextlib.suppress(go.BadInput):
            go.read_problem(file)
