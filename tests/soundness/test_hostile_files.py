"""Files made to harm: whoever names one to gaussopt runs nothing by that, reads no other file and keeps the memory."""

from __future__ import annotations

import ast
import gzip
import hashlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest
from soundness.commands import refused

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison.results import FILE
from gaussopt.core import registry
from gaussopt.storage import netcdf
from gaussopt.storage.checksums import checksum

pytestmark = pytest.mark.campaigns

ROOT = Path(__file__).parents[2]
MARK = "ran"
PAYLOAD = f"import pathlib\npathlib.Path(__file__).with_name({MARK!r}).touch()\n"
NAMES = ("./payload.py", "payload.py", "payload", "{here}/payload.py", "../here/payload.py", "./payload", "os", "")
"""Names of a problem by which a data file might have the file beside it run."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_registry: None) -> Path:
    """The working folder of the victim, with a program beside the data, which leaves a mark if it runs."""
    place = tmp_path / "here"
    place.mkdir()
    (place / "payload.py").write_text(PAYLOAD)
    monkeypatch.chdir(place)
    return place


# -- motions ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def motion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("motion") / "motion.nc"
    go.simulate("crank-slider", t_end=0.004, dt=1e-3, step_folder=None, error_estimate=False).save(file)
    return file


def rewritten(file: Path, place: Path, name: str, change: Callable[[Any], Any]) -> Path:
    """A NetCDF file of which an attribute, a text of JSON, is another one, under a right checksum."""
    content = file.read_bytes()
    body = io.BytesIO(content[: content.rindex(netcdf.MARK)])
    with h5py.File(body, "r+") as data:
        data.attrs[name] = json.dumps(change(json.loads(data.attrs[name])))
    whole, target = body.getvalue(), place / "innocent.nc"
    target.write_bytes(whole + netcdf.MARK + hashlib.sha256(whole).hexdigest().encode() + b"\n")
    return target


def forged(motion: Path, place: Path, **entries: Any) -> Path:
    """The motion with other entries in its settings."""
    return rewritten(motion, place, "meta", lambda about: about | entries)


@pytest.mark.parametrize("name", NAMES)
def test_the_problem_that_a_motion_names_is_not_loaded_from_a_file(
    name: str, motion: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = forged(motion, here, problem=name.format(here=here))
    assert refused(capsys, "run", "--from", file.name, "--t-end", "0.006")
    assert refused(capsys, "animate", "--from", file.name, "--out", "x.svg")
    found = go.Trajectory.load(file)
    for use in (
        lambda: go.simulate(start=file, t_end=0.006), lambda: go.simulate(start=found, t_end=0.006),
        lambda: go.animate(found, "x.html"),
    ):  # fmt: skip
        with pytest.raises(go.GaussoptError):
            use()
    assert not (here / MARK).exists()


def test_what_needs_no_problem_works_whatever_the_motion_names(motion: Path, here: Path) -> None:
    file = forged(motion, here, problem="./payload.py")
    found = go.Trajectory.load(file)
    assert run(["plot", file.name, "--out", "x.svg"]) == 0
    assert len(found.to_pandas()) == 5
    assert "theta1" in found._repr_html_()
    assert found.to_mapping()["status"] == "solved"
    go.animate(found, "x.svg", problem="crank-slider")
    assert not (here / MARK).exists()


OWN = f"{PAYLOAD}\nimport gaussopt as go\nproblem = go.problem('crank-slider').named('payload')\n"


def test_a_problem_in_a_file_is_loaded_once_the_person_names_it(
    motion: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also that the name must be the file's: what the data name is not believed."""
    (here / "payload.py").write_text(OWN)
    assert run(["run", "payload.py", "--t-end", "0.002", "--save", "own.nc"]) == 0
    (here / MARK).unlink()
    registry._registered["problem"].clear()
    registry._files.clear()
    assert "the file that defines it, too" in refused(capsys, "run", "--from", "own.nc", "--t-end", "0.003")
    assert not (here / MARK).exists()
    assert run(["animate", "payload.py", "--from", "own.nc", "--out", "x.svg"]) == 0
    assert run(["run", "payload.py", "--from", "own.nc", "--t-end", "0.003"]) == 0
    assert (here / MARK).exists()
    assert run(["run", "--from", "own.nc", "--t-end", "0.003"]) == 0  # it is registered by now
    other = forged(motion, here, problem="./payload.py")
    assert "no file runs because data name it" in refused(capsys, "run", "--from", other.name, "--t-end", "0.006")
    assert "problem = " in refused(capsys, "run", "payload.py", "--from", other.name, "--t-end", "0.006")


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("parameters", [1]), ("parameters", {"m1": "x"}), ("parameters", {"m1": [1.0]}), ("problem", None),
        ("problem", ["a"]), ("variant", {}), ("units", [1]), ("units", ["m"]), ("rows", "lam"), ("open_forces", []),
        ("open_forces", {"lam": [0.5]}), ("residuals", {"position": None}), ("steps", 1.5), ("steps", -1),
        ("dt", "1"), ("tolerance", "small"), ("solver_options", [["eps", 1]]), ("stand_ins", 1), ("engine", 3),
        ("coordinates", [0, 1]), ("compared_with", "x"),
    ],
)  # fmt: skip
def test_entries_of_a_motion_of_another_kind_are_named(
    entry: str, value: Any, motion: Path, here: Path, assert_sentence: Callable[..., None]
) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.Trajectory.load(forged(motion, here, **{entry: value}))
    assert_sentence(caught.value, "innocent.nc")


def test_commands_that_read_a_motion_name_what_is_wrong_in_it(
    motion: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = forged(motion, here, parameters=[1]).name
    for words in (["plot", file], ["animate", "--from", file, "--out", "x.svg"], ["run", "--from", file]):
        assert file in refused(capsys, *words)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("mark", "memory"), {}), (("mark", "memory"), {"u": "x", "count": 0, "motion": {}, "watched": {}}),
        (("mark", "memory"), []), (("mark", "rows"), 10**9), (("mark", "rows"), 0.5), (("mark", "q"), [1.0]),
        (("mark", "t"), "now"), (("mark",), [1]), (("begin",), {}), (("equations",), "none"), (("equations",), [1.0]),
        (("settings",), {}), (("settings", "stabilisation"), {"name": "projection", "power": 1.0}),
        (("settings", "stabilisation"), "projection"), (("settings", "dt"), "x"), (("settings", "solver"), "./payload"),
        (("settings", "stepper"), "payload.py"), (("settings", "formulation"), "./payload.py"),
        (("settings", "solver_options"), {"option": "x"}), (("settings", "events"), None), (("key",), 1), ((), [1]),
        (("ended",), None),
    ],
)  # fmt: skip
def test_what_a_motion_keeps_for_its_continuation_is_checked(
    where: tuple[str, ...], value: Any, motion: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(kept: Any) -> Any:
        owner = kept
        for key in where[:-1]:
            owner = owner[key]
        if where:
            owner[where[-1]] = value
        return kept if where else value

    rewritten(motion, here, "restart", change)
    assert refused(capsys, "run", "--from", "innocent.nc", "--t-end", "0.006")
    assert not (here / MARK).exists()


# -- comparisons, atlases, batches, sequences, stores -----------------------------------------------------------


QUICK = (
    "--formulations", "gauss", "--solvers", "kkt", "--stride", "100", "--t-end", "0.01", "--time-budget", "0",
    "--no-motions",
)  # fmt: skip


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared") / "folder"
    assert run(["compare", "crank-slider", *QUICK, "--out", str(folder)]) == 0
    return folder


def renamed(results: Path, name: str) -> None:
    """The results with another name of their problem, under a right checksum."""
    data = json.loads(gzip.decompress(results.read_bytes()))
    data.pop("checksum")
    plain = json.loads(json.dumps(data).replace("crank-slider", json.dumps(name)[1:-1]))
    results.write_bytes(gzip.compress(json.dumps({**plain, "checksum": checksum(plain)}).encode()))


SCRIPT = "<script>alert(1)</script>"


@pytest.mark.parametrize("name", [*NAMES, SCRIPT, f'"><img src=x onerror=alert(1)>{SCRIPT}'])
def test_the_problems_of_results_are_not_loaded_from_files(
    name: str, compared: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = name.format(here=here)
    shutil.copytree(compared, here / "folder")
    renamed(here / "folder" / FILE, name)
    assert run(["report", "folder"]) == 0
    page = (here / "folder" / "index.html").read_text()
    assert name == "" or "is not registered" in page
    assert SCRIPT not in page
    assert "<img src=x" not in page
    if name in ("./payload.py", "payload", SCRIPT):
        run(["compare", "crank-slider", *QUICK, "--out", "new", "--against", "folder"])
    assert go.Results.load("folder").to_pandas()
    assert not (here / MARK).exists()


@pytest.fixture(scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("atlas") / "atlas.nc"
    go.scan("two-bar", [go.Axis("mu", 0.1, 1, 2)]).save(file)
    return file


@pytest.mark.parametrize("name", NAMES)
def test_the_problem_of_an_atlas_is_not_loaded_from_a_file(name: str, atlas: Path, here: Path) -> None:
    name = name.format(here=here)
    for label in (name, f"{name} (mu=1)"):
        found = go.Atlas.load(rewritten(atlas, here, "atlas", lambda about, label=label: about | {"problem": label}))
        for use in (found.step, found.values):
            with pytest.raises(go.GaussoptError):
                use(0)
        assert found.lcp(0).n == 2
        assert found.summary()["points"] == found.points
    found.plot()
    assert not (here / MARK).exists()


@pytest.mark.parametrize(
    ("entry", "value"), [("settings", [1]), ("settings", "x"), ("problem", 1), ("units", [1]), ("contacts", [1, 2])]
)
def test_entries_of_an_atlas_of_another_kind_are_refused(entry: str, value: Any, atlas: Path, here: Path) -> None:
    with pytest.raises(go.BadInput, match="atlas"):
        go.Atlas.load(rewritten(atlas, here, "atlas", lambda about: about | {entry: value}))


def test_the_parts_of_a_batch_are_data(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The problem of a batch is the one that is named with it, whatever its folder says."""
    words = ["batch", "crank-slider", "--axis", "m1=0.3:0.4:2", "--t-end", "0.002", "--out", "b"]
    assert run(words) == 0
    (part,) = (here / "b").glob("part-*.nc")
    good = netcdf.read(part, "a part")
    netcdf.write(good.assign_attrs(dict.fromkeys(("problem", "parameters", "meta", "title"), "./payload.py")), part)
    assert run(words) == 0
    for bad in (good.drop_vars("status"), good.assign_coords(trajectory=[7, 8]), good.drop_vars("trajectory")):
        netcdf.write(bad, part)
        assert "part-0000000.nc is no part of this batch" in refused(capsys, *words)
    assert not (here / MARK).exists()


def test_the_problem_of_a_sequence_is_not_loaded(here: Path) -> None:
    """Whatever its manifest calls it: several of them are compared, and the report is made again."""
    assert run(["export", "crank-slider", "--formulation", "dual", "--stride", "1000000", "--out", "good"]) == 0
    manifest = json.loads((here / "good" / "manifest.json").read_text())
    manifest.pop("checksum", None)
    words = []
    for i, name in enumerate(("./payload.py", "payload.py", "payload")):
        shutil.copytree(here / "good", here / str(i))
        forgery = manifest | {"problem": name, "formulation": "./payload.py"}
        (here / str(i) / "manifest.json").write_text(json.dumps(forgery))
        words += ["--sequence", str(i)]
    assert run(["compare", *words, "--solvers", "kkt", "--time-budget", "0", "--out", "out"]) == 0
    assert run(["report", "out"]) == 0
    assert not (here / MARK).exists()


def test_no_attachment_of_a_case_lies_elsewhere(here: Path) -> None:
    from gaussopt.execution.store import Store
    from gaussopt.processes.job import Job, JobOutcome
    from gaussopt.storage.checksums import digest_of

    job = Job("one", json.dumps, {"obj": 1})
    Store(here / "s").put(job, JobOutcome({"a": b"x"}, None, 0.1))
    file = Store(here / "s").path(job)
    (here / "s" / "cases" / f"{file.stem}.d").mkdir()
    record = json.loads(file.read_text())
    record["attachments"] = {"d/../../../payload.py": digest_of((here / "payload.py").read_bytes())}
    record.pop("checksum")
    file.write_text(json.dumps({**record, "checksum": checksum(record)}))
    told: list[str] = []
    assert Store(here / "s", note=told.append).get(job) is None
    assert any("names the attachment" in sentence for sentence in told)


PERSONS = {
    "cli/pictures.py": "the command line", "cli/atlas.py": "the command line", "cli/studies.py": "the command line",
    "cli/falsify.py": "the command line",
    "comparison/recommend.py": "the argument of recommend",
    "cli/compare.py": "the command line", "cli/run.py": "the command line", "animation/animate.py": "problem=",
    "atlas/scan.py": "the argument of scan and threshold", "comparison/plan.py": "the sources that are asked",
    "comparison/published.py": "names of our own", "simulation/continuation.py": "the problem named beside the motion",
    "simulation/settings.py": "the argument of simulate", "reporting/figures/convergence.py": "names of our own",
    "reporting/sections/atlas.py": "names of our own", "modelling/model_check.py": "the argument of check",
}  # fmt: skip
"""Where problems are looked up that may be files, and who names them."""


def test_only_persons_name_files() -> None:
    """Whoever looks up a problem by a name that may be a file says here that no data hold that name."""
    found = set()
    for file in (ROOT / "gaussopt").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "gaussopt.modelling.problem" in text else ():
            if isinstance(node, ast.ImportFrom) and node.module == "gaussopt.modelling.problem":
                found |= {file.relative_to(ROOT / "gaussopt").as_posix() for x in node.names if x.name == "problem"}
    assert {file for file in found if not file.startswith("papers/")} == set(PERSONS)
