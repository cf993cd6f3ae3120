"""Damage to stored files, kills and full disks: python tests/soundness/damage.py --flips 1000 --kills 100 --full 200

Every kind of file that gaussopt writes and reads again is damaged bit by bit, its writers are killed at random moments,
and made to write where there is no room. What is counted as wrong: numbers that changed unnoticed, an error that is no
sentence, a file that is half written, a solver that is blamed. The summary is what docs/soundness.md shows.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gaussopt as go
from gaussopt.comparison.records import Answers
from gaussopt.comparison.records import StepSource as Source
from gaussopt.comparison.results import Results, read_results, write_results
from gaussopt.comparison.sequence_files import export_sequence, read_sequence
from gaussopt.execution.store import Store
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.reporting.document import Document
from gaussopt.reporting.html.page import write as write_report

KEPT = {"value": [1.5, -2.25, "text"], "numbers": [i / 7 for i in range(20)]}


def kept_case() -> None:
    """The case of the store, which is never run."""


CASE = Job("a case", kept_case, {"n": 3})


@dataclass(frozen=True)
class Kind:
    """One kind of stored file.

    Attributes
    ----------
    name : str
    write : (folder) -> None
        Writes it, over an older one if there is one.
    read : (folder) -> anything that can be compared by ==; None: not there any more, to be computed again
    files : (folder) -> the files that are damaged
    meanwhile : what reading may say while it is written anew, where the older one is removed first
    """

    name: str
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    files: Callable[[Path], list[Path]]
    meanwhile: tuple[str, ...] = ()


def kinds() -> list[Kind]:
    """Everything that is written and read again."""
    motion = go.simulate("four-bar", dt=0.01, t_end=0.2, step_folder=None)
    batch = go.simulate_batch("four-bar", initial={"v0": np.zeros((3, 3))}, dt=0.01, t_end=0.05)
    atlas = go.scan("sliding-rod", [go.Axis("mu", np.linspace(0, 1, 7))])
    answers = Answers(
        Source("problem", "p", "r"),
        "gauss",
        "kkt",
        "cold",
        True,
        ["solved"] * 3,
        ["solved"] * 3,
        [1.0] * 3,
        [0.1, np.nan, 0.3],
        [1e-9] * 3,
        [2e-9] * 3,
        [0.0] * 3,
        [1, 2, 3],
    )
    results = Results((answers,), (), (), {"case": "why"}, {"tolerance": 1e-7})
    report = Document("Title", "Lead.", (), ())

    def one(name: str) -> Callable[[Path], list[Path]]:
        return lambda folder: [folder / name]

    def put(folder: Path) -> None:
        for path in folder.glob("cases/*.json"):
            path.unlink()  # what is kept already would not be written again
        Store(folder).put(CASE, JobOutcome({**KEPT, "trajectory.nc": motion.to_netcdf()[:3000]}, "", 0.5))

    def get(folder: Path) -> Any:
        found = Store(folder).get(CASE)
        return None if found is None else (str(found), found.value["trajectory.nc"].read_bytes())

    def export(folder: Path) -> None:
        shutil.rmtree(folder / "sequence", ignore_errors=True)
        export_sequence(go.problem("four-bar"), "gauss", folder / "sequence", stride=200)

    def sequence(folder: Path) -> Any:
        return [str(p.to_mapping()) for p in read_sequence(folder / "sequence")]

    def load_motion(folder: Path) -> Any:
        return plain(go.Trajectory.load(folder / "m.nc").to_xarray())

    def load_batch(folder: Path) -> Any:
        return plain(go.load_dataset(folder / "b.nc"))

    def load_atlas(folder: Path) -> Any:
        return plain(go.Atlas.load(folder / "a.nc").data)

    def kept(folder: Path) -> list[Path]:
        return sorted((folder / "cases").iterdir())

    def exported(folder: Path) -> list[Path]:
        return sorted((folder / "sequence").glob("*[nz]"))

    name = "results.json.gz"
    return [
        Kind("run --save", lambda f: motion.save(f / "m.nc"), load_motion, one("m.nc")),
        Kind("batch", lambda f: go.save_dataset(batch, f / "b.nc"), load_batch, one("b.nc")),
        Kind("atlas", lambda f: atlas.save(f / "a.nc"), load_atlas, one("a.nc")),
        Kind("compare, results", lambda f: write_results(results, f), lambda f: repr(read_results(f)), one(name)),
        Kind("compare, cases", put, get, kept, ("again",)),
        Kind("export", export, sequence, exported, ("noticed",)),
        Kind("papers, report", lambda f: write_report(report, f), page, lambda f: []),
    ]


def page(folder: Path) -> Any:
    """Whether the page of a report is whole."""
    text = (folder / "index.html").read_text(encoding="utf-8")
    return text.rstrip().endswith("</html>"), (folder / "index.md").read_text(encoding="utf-8")


def plain(data: Any) -> Any:
    """A dataset as something that can be compared; written again, its history begins with a later second."""
    attributes = {k: re.sub(r"^[\d-]+T[\d:]+Z", "", v) if k == "history" else v for k, v in data.attrs.items()}
    variables = data.variables.items()
    return {str(k): (v.dims, v.values.tobytes(), str(v.values.tolist())) for k, v in variables}, str(attributes)


def tried(read: Callable[[], Any], truth: Any) -> str:
    """What became of a reading: one of "noticed", "same", "again"; anything else is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", go.Unverified)  # a sentence of its own
            found = read()
    except go.GaussoptError as error:
        sentence = str(error)
        return "noticed" if "\n" not in sentence and sentence.endswith(".") else f"no sentence: {sentence!r}"
    except Exception as error:
        return f"raw error: {type(error).__name__}"
    return "again" if found is None else "same" if found == truth else "CHANGED"


def flip(kind: Kind, folder: Path, count: int, chance: random.Random) -> Counter[str]:
    """Flip one bit of one file, read, and put it right again."""
    kind.write(folder)
    truth, found = kind.read(folder), Counter[str]()
    whole = {path: path.read_bytes() for path in kind.files(folder)}
    for _ in range(count if whole else 0):
        path = chance.choice(sorted(whole))
        content = bytearray(whole[path])
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
        found[tried(lambda: kind.read(folder), truth)] += 1
        for other, right in whole.items():
            if not other.exists() or other == path:
                other.write_bytes(right)
    return found


def kill(kind: Kind, folder: Path, count: int, chance: random.Random) -> Counter[str]:
    """Kill a process that writes without end, and look at what is there."""
    kind.write(folder)
    truth, found = kind.read(folder), Counter[str]()
    visible = {path for path in folder.rglob("*") if not path.name.startswith(".")}
    for _ in range(count):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                while True:
                    kind.write(folder)
            os._exit(1)
        time.sleep(chance.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            found["the writer failed"] += 1
        word = tried(lambda: kind.read(folder), truth)
        more = {path for path in folder.rglob("*") if not path.name.startswith(".")} - visible
        found["half written" if word not in ("same", *kind.meanwhile) or more else word] += 1
        kind.write(folder)
        found["lost" if kind.read(folder) != truth else "whole after another run"] += 1
    return found


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may grow beyond a size, as on a disk without room; the signal is ignored, as Python does."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
        signal.signal(signal.SIGXFSZ, ignored)


@contextlib.contextmanager
def tiny_disk(folder: Path, size: int) -> Iterator[bool]:
    """A file system of so many bytes at a folder; whether it could be made."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        made = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        made = False
    try:
        yield made
    finally:
        if made:
            subprocess.run(["umount", str(folder)], check=True)


def full(kind: Kind, folder: Path, count: int, chance: random.Random) -> Counter[str]:
    """Write where there is no room, over an older file, and look at what is there."""
    kind.write(folder)
    truth, found = kind.read(folder), Counter[str]()
    largest = max(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    for _ in range(count):
        with largest_file(chance.randrange(largest)):
            try:
                kind.write(folder)
                found["written"] += 1
            except go.MachineFailure as error:
                found["a sentence" if str(error).startswith("Cannot write") else f"another sentence: {error}"] += 1
            except Exception as error:
                found[f"raw error: {type(error).__name__}: {error}"] += 1
        word = tried(lambda: kind.read(folder), truth)
        if word not in ("same", *kind.meanwhile):
            found[f"the older file: {word}"] += 1
        if list(folder.rglob("*.tmp")):
            found["something left behind"] += 1
        kind.write(folder)
    return found


RIGHT = {"noticed", "same", "again", "whole after another run", "a sentence", "written"}


def campaign(flips: int, kills: int, fulls: int, seed: int = 0) -> dict[tuple[str, str], Counter[str]]:
    """What was found, by test and kind of file; whatever is not in RIGHT is wrong."""
    chance = random.Random(seed)
    found: dict[tuple[str, str], Counter[str]] = {}
    tests = (("bit flips", flip, flips), ("kills", kill, kills), ("no room", full, fulls))
    for kind in kinds():
        for test, run, count in tests:
            with tempfile.TemporaryDirectory() as folder:
                found[test, kind.name] = run(kind, Path(folder), count, chance)
    return found


def table(found: dict[tuple[str, str], Counter[str]]) -> str:
    """The summary as Markdown."""
    lines = ["| test | files of | trials | what came of them | wrong |", "|---|---|---|---|---|"]
    for (test, name), counts in found.items():
        wrong = sum(n for word, n in counts.items() if word not in RIGHT)
        trials = counts.total() - counts["whole after another run"]
        said = ", ".join(f"{word} {n}" for word, n in sorted(counts.items()))
        if trials:
            lines.append(f"| {test} | {name} | {trials} | {said} | {wrong} |")
    return "\n".join(lines)


def main() -> int:
    """Run a campaign and print its summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("flips", 1000), ("kills", 100), ("full", 200), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    found = campaign(given.flips, given.kills, given.full, given.seed)
    print(table(found))
    return int(any(word not in RIGHT for counts in found.values() for word in counts))


if __name__ == "__main__":
    sys.exit(main())
