"""Inputs by the ten thousand: no traceback, no exit code but 0, 1 and 2, no run over 20 s or 2 GB.

    python tests/soundness/fuzz.py --count 100000 --jobs 2
    python tests/soundness/fuzz.py --only 4711

Inputs follow from the seed and their number. The campaign goes on where it was stopped; failures are kept as folders
with the files, the command and the reason. With --write the summary is put into docs/soundness.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz_cases import DEVICE_ZERO, FLAGS, Case, case_of
from fuzz_files import RAN

SECONDS = 20.0
BYTES = 2 << 30
BATCH = 500
"""Inputs of one process: what leaks or dies costs as many."""

SLACK = 10.0
CODES = (0, 1, 2)
DEFECT = "this is a defect"
TRACE = "Traceback (most recent call last)"
HEADLESS = {"--help", "--version", "-h"}
"""With these nothing else is promised."""


class TooLong(BaseException):
    """An input took too long; nobody catches this on the way."""


# -- one input --------------------------------------------------------------------------------------------------


def lay(case: Case, folder: Path) -> None:
    """Put the files of an input into an empty folder."""
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        elif isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)


def failure_of(case: Case, folder: Path) -> str:
    """What is wrong with how an input ends, nothing if all is well; the working folder is `folder`."""
    os.chdir(folder)
    way = {"inside": _inside, "process": _in_a_process, "reader": _by_a_reader}[case.way]
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        found = way(case)
        if not found and (folder / RAN).exists():
            found = "a data file ran a program"
    except TooLong:
        found = TooLong.__name__
    except BaseException as error:
        found = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        os.chdir("/")
    # The command line may have caught it, and called it a defect.
    return f"took more than {SECONDS:g} s" if TooLong.__name__ in found else found


def _too_long(number: int, frame: Any) -> None:
    raise TooLong


def judged(case: Case, code: int, out: str, err: str) -> str:
    """What is wrong with an exit code and with what was printed."""
    if code not in CODES:
        return f"exit code {code}"
    for word in (TRACE, DEFECT):
        if word in out + err:
            return next(line for line in (err + out).splitlines() if word in line or "Error" in line)
    if HEADLESS & set(case.arguments):
        return ""
    if code and not re.search(r"^gaussopt: .*\S", err, re.MULTILINE) and case.arguments and "Usage" not in out:
        return f"exit code {code} without a sentence"
    if "--json" in case.arguments and not _is_value(case.arguments):
        try:
            (line,) = out.splitlines()
            if not isinstance(json.loads(line, parse_constant=_no_number), dict):
                return "with --json no object was printed"
        except ValueError:
            return f"with --json something else was printed: {out[:80]!r}"
    return ""


def _is_value(arguments: Sequence[str]) -> bool:
    """Whether `--json` stands behind an option that lost its value, and is taken for it."""
    before = arguments[arguments.index("--json") - 1]
    return before.startswith("--") and "=" not in before and before not in FLAGS


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _inside(case: Case) -> str:
    from gaussopt.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(case.arguments))
    return judged(case, code, out.getvalue(), err.getvalue())


def _in_a_process(case: Case) -> str:
    command = [sys.executable, "-m", "gaussopt", *case.arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS)
    if resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 > BYTES:
        return "took more than 2 GB"
    return judged(case, done.returncode, done.stdout, done.stderr)


def _by_a_reader(case: Case) -> str:
    """Readers raise sentences only."""
    from gaussopt.core.errors import GaussoptError

    name, path = case.arguments
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            READERS[name](Path(path))
    except GaussoptError as error:
        return "" if str(error).strip() else "an error without a sentence"
    return ""


def _motion(path: Path) -> None:
    from gaussopt.integration.trajectory import Trajectory

    Trajectory.load(path)


def _sequence(path: Path) -> None:
    from gaussopt.comparison.sources import ExportedSequence

    found = ExportedSequence.of(path)
    assert found.source
    assert found.items()


def _results(path: Path) -> None:
    from gaussopt.comparison.results import read_results

    read_results(path)


def _store(path: Path) -> None:
    from gaussopt.execution.store import Store

    kept = Store(path)
    if (outcome := kept.get(_finished())) is not None:
        assert outcome.value["rows"] == [1.0, 2.0], "changed contents went unnoticed"
        assert outcome.value["table"].read_bytes() == b"12345", "a changed attachment went unnoticed"


def _forged_store(path: Path) -> None:
    from gaussopt.execution.store import Store

    Store(path).get(_finished())


READERS: dict[str, Callable[[Path], None]] = {
    "motion": _motion, "sequence": _sequence, "results": _results, "store": _store, "forged store": _forged_store,
}  # fmt: skip


# -- what gaussopt writes, to be spoiled ------------------------------------------------------------------------


def _finished() -> Any:
    from gaussopt.processes.job import Job as Work

    return Work("one", json.dumps, {"obj": [1.0, {"a": None}]})


def prepare(folder: Path, compared: bool = True) -> None:
    """Write motions, sequences, a store and results, small ones; `compared`: of a comparison that takes place."""
    from gaussopt.cli.main import run
    from gaussopt.comparison.results import write_results
    from gaussopt.execution.store import Store
    from gaussopt.processes.job import JobOutcome

    def wanted(*arguments: str) -> None:
        quiet = io.StringIO()
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            code = run(list(arguments))
        assert code == 0, quiet.getvalue()

    (folder / "motions").mkdir(parents=True)
    for problem in ("bouncing-ball", "crank-slider"):
        file = str(folder / "motions" / f"{problem}.nc")
        wanted("run", problem, "--dt", "0.001", "--t-end", "0.003", "--save", file)
    out = str(folder / "sequence-qp")
    wanted("export", "crank-slider", "--formulation", "dual", "--stride", "1000000", "--out", out)
    out = str(folder / "sequence-lcp")
    wanted("export", "block-on-incline", "--formulation", "lcp", "--stride", "1000000", "--out", out)
    kept = folder / "store"
    value = {"rows": [1.0, 2.0], "table": b"12345"}
    Store(kept).put(_finished(), JobOutcome(value, None, 0.1))
    if not compared:
        write_results(_by_hand(), kept)
        return
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "small.json"
        program.write_text('{"kind": "qp", "P": [[1, 0], [0, 1]], "q": [-1, 1]}', encoding="utf-8")
        out = str(Path(name) / "compared")
        wanted("compare", str(program), "--solvers", "kkt,newton", "--time-budget", "0", "--no-motions", "--out", out)
        shutil.copy(Path(out) / "results.json.gz", kept)


def _by_hand() -> Any:
    """Results of a comparison that did not take place."""
    from gaussopt.comparison.records import PARTS, Answers, Times
    from gaussopt.comparison.records import StepSource as Source
    from gaussopt.comparison.results import Results

    source = Source("family", "chain", "", {"links": 3.0}, "links")
    lists: dict[str, Any] = {k: [0.0] for k in ("certified", "error", "primal", "dual", "gap")}
    answers = Answers(
        source, "gauss", "kkt", "cold", True, ["solved"], ["solved"], **lists, iterations=[1], size=[1, 0]
    )
    times = Times(source, "gauss", "kkt", "cold", {part: [1e-6] * 5 for part in PARTS}, [1e-6], 3, [0])
    return Results((answers,), (times,), (), {}, {"tolerance": 1e-7, "sources": [source.label]})


def _warm() -> None:
    """Import once what every process of inputs would import again; build the command line once."""
    import h5py  # noqa: F401
    import xarray  # noqa: F401

    import gaussopt.animation.animate
    import gaussopt.atlas.scan
    import gaussopt.papers.pages
    import gaussopt.papers.reproduce
    import gaussopt.reporting.sections.atlas
    import gaussopt.reporting.write  # noqa: F401
    from gaussopt.cli import main as cli
    from gaussopt.core import registry

    for kind in registry.KINDS:
        for name in registry.names(kind):
            registry.load(kind, name)
    cli.command_line()


# -- many inputs ------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What became of inputs.

    Attributes
    ----------
    kinds : inputs of each kind
    failures : (number, reason)
    slowest : seconds
    bytes : peak memory beyond what the process began with
    """

    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest: float = 0.0
    bytes: int = 0

    def add(self, row: dict[str, Any]) -> None:
        """One row, see `_serve`."""
        self.kinds[row["kind"]] += 1
        self.slowest = max(self.slowest, row["seconds"])
        self.bytes = max(self.bytes, row["bytes"])
        if row["failure"]:
            self.failures.append((row["number"], row["failure"]))

    @property
    def count(self) -> int:
        """Inputs tried."""
        return sum(self.kinds.values())


def _serve(seed: int, numbers: range, folder: Path, here: int) -> None:
    """Try inputs one after the other and write a row for each; runs in a process of its own."""
    _confine()
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in numbers:
        case = case_of(seed, number, folder)
        begin = time.monotonic()
        with _working(case) as place:
            failure = failure_of(case, place)
        row = {
            "number": number, "kind": f"{case.kind} ({case.way})", "seconds": time.monotonic() - begin,
            "bytes": 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base), "failure": failure,
        }  # fmt: skip
        os.write(here, json.dumps(row).encode() + b"\n")


def _confine() -> None:
    """Bound the memory of this process, and connect its streams to nothing."""
    limit = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


@contextlib.contextmanager
def _working(case: Case) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as name:
        lay(case, Path(name))
        yield Path(name)


class Batch:
    """A process that tries inputs, and the rows that it has written."""

    def __init__(self, seed: int, numbers: range, folder: Path) -> None:
        self.numbers = numbers
        self.rows: list[dict[str, Any]] = []
        self.there, here = os.pipe()
        self._left = b""
        self.heard = time.monotonic()
        self.child = os.fork()
        if self.child == 0:
            try:
                os.setpgid(0, 0)
                os.close(self.there)
                _serve(seed, numbers, folder, here)
            finally:
                os._exit(0)
        os.close(here)

    def read(self) -> bool:
        """Take in what was written; whether there may be more."""
        content = os.read(self.there, 1 << 16)
        *lines, self._left = (self._left + content).split(b"\n")
        self.rows += map(json.loads, lines)
        self.heard = time.monotonic()
        return bool(content)

    def end(self) -> str:
        """See the process off; how it died, where it did."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child, signal.SIGKILL) if time.monotonic() - self.heard > SECONDS + SLACK else None
        _, status = os.waitpid(self.child, 0)
        os.close(self.there)
        return "" if os.WIFEXITED(status) else f"the process died by {signal.Signals(os.WTERMSIG(status)).name}"


def campaign(seed: int, numbers: range, folder: Path, jobs: int = 1) -> Iterator[Batch]:
    """Try inputs in processes, each a batch of them; yields what has come to its end."""
    waiting = [numbers[i : i + BATCH] for i in range(0, len(numbers), BATCH)][::-1]
    running: list[Batch] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Batch(seed, waiting.pop(), folder))
        ready, _, _ = select.select([b.there for b in running], [], [], 1.0)
        for batch in list(running):
            more = batch.read() if batch.there in ready else time.monotonic() - batch.heard < SECONDS + SLACK
            if more:
                continue
            death = batch.end()
            running.remove(batch)
            done = len(batch.rows)
            if done < len(batch.numbers):  # it died, or hangs, at the next one
                lost = batch.numbers[done]
                kind = case_of(seed, lost, folder)
                batch.rows.append({
                    "number": lost, "kind": f"{kind.kind} ({kind.way})", "seconds": 0.0, "bytes": 0,
                    "failure": death or "the process ended",
                })  # fmt: skip
                if rest := batch.numbers[done + 1 :]:
                    waiting.append(rest)
            yield batch


# -- failures ---------------------------------------------------------------------------------------------------


def signature(failure: str) -> str:
    """What failures of one cause have in common."""
    return re.sub(r"[-+]?\d[\d.e+-]*|'[^']*'|\"[^\"]*\"", "#", failure)[:120]


def alone(case: Case) -> str:
    """How an input fails in a process of its own."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        _confine()
        with _working(case) as place:
            os.write(here, failure_of(case, place).encode()[:4000])
        os._exit(0)
    os.close(here)
    if not select.select([there], [], [], SECONDS + SLACK)[0]:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(there, "rb") as answer:
        said = answer.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return said if os.WIFEXITED(status) else f"the process died by {signal.Signals(os.WTERMSIG(status)).name}"


def _smaller(case: Case) -> Iterator[Case]:
    """The same with one thing less: a word, a file, an entry of a file."""
    words = case.arguments
    for i in range(1, len(words)):
        if words[i].startswith("--") and i + 1 < len(words) and not words[i + 1].startswith("--"):
            yield Case(case.kind, words[:i] + words[i + 2 :], case.files, case.way)
        if words[i].startswith("--"):
            yield Case(case.kind, words[:i] + words[i + 1 :], case.files, case.way)
    for name, content in case.files.items():
        yield Case(case.kind, words, {k: v for k, v in case.files.items() if k != name}, case.way)
        if isinstance(content, bytes) and name.endswith(".json"):
            with contextlib.suppress(ValueError, RecursionError, AttributeError):
                data = json.loads(content)
                for key in data:
                    less = json.dumps({k: v for k, v in data.items() if k != key}).encode()
                    yield Case(case.kind, words, {**case.files, name: less}, case.way)


def minimal(case: Case, failure: str, tries: int = 60) -> Case:
    """A smaller input that fails alike."""
    if case.way == "process" or failure.startswith("took"):
        return case  # each try takes long
    smaller = True
    while smaller and tries > 0:
        smaller = False
        for candidate in _smaller(case):
            tries -= 1
            if tries <= 0:
                break
            if signature(alone(candidate)) == signature(failure):
                case, smaller = candidate, True
                break
    return case


def keep(case: Case, failure: str, folder: Path) -> None:
    """Write an input as a folder: its files, and the command with the reason."""
    folder.mkdir(parents=True, exist_ok=True)
    lay(Case(case.kind, case.arguments, {k: v for k, v in case.files.items() if v != DEVICE_ZERO}), folder)
    words = shlex.join(case.arguments)
    command = f"read: {words}" if case.way == "reader" else f"python -m gaussopt {words}"
    (folder / "failure.txt").write_text(f"{command}\n\n{failure}\n", encoding="utf-8", errors="backslashreplace")


# -- the campaign -----------------------------------------------------------------------------------------------

MARKS = "<!-- fuzz -->", "<!-- /fuzz -->"


def summary(tally: Tally, seed: int) -> str:
    """What became of the inputs, in Markdown."""
    kinds: dict[str, Counter[str]] = {}
    for kind, count in tally.kinds.items():
        name, _, way = kind.partition(" (")
        kinds.setdefault(name, Counter())[way.rstrip(")")] += count
    rows = [
        f"| {name} | {c['inside'] + c['process'] + c['reader']:,} | {c['process']:,} |"
        for name, c in sorted(kinds.items())
    ]
    reasons = Counter(signature(reason) for _, reason in tally.failures)
    found = [f"- {count} times: {reason}" for reason, count in reasons.most_common()]
    return "\n".join([
        f"{tally.count:,} inputs (seed {seed}): {len(tally.failures)} ended in a traceback, in a sentence about a "
        f"defect, with an exit code other than 0, 1 and 2, without the JSON that was asked for, after more than "
        f"{SECONDS:g} s, or with more than 2 GB. The slowest took {tally.slowest:.1f} s; no input took more than "
        f"{tally.bytes / 1e6:.0f} MB beside what is loaded anyway.", "",
        "| what was varied | inputs | in a process of their own |", "|---|---:|---:|", *rows,
        *([""] if found else []), *found, "",
        f"Written by `python tests/soundness/fuzz.py --count {tally.count} --write`; `--only N` tries one input.",
    ])  # fmt: skip


def write_into(page: Path, text: str) -> None:
    """Put the summary between its marks."""
    before, rest = page.read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}", encoding="utf-8")


def _resumed(state: Path, numbers: range) -> tuple[Tally, list[int]]:
    """What an earlier run has done, and what is left."""
    tally, done = Tally(), set()
    if state.exists():
        for line in state.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["number"] in numbers and row["number"] not in done:
                done.add(row["number"])
                tally.add(row)
    return tally, [n for n in numbers if n not in done]


def main() -> int:
    """Run the campaign; 1 where something failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", type=int, help="try one input, and show where it fails")
    parser.add_argument("--folder", type=Path, default=Path("fuzzed"), help="of the state and the failures")
    parser.add_argument("--write", action="store_true", help="put the summary into docs/soundness.md")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    folder = options.folder.resolve()
    with tempfile.TemporaryDirectory() as name:
        ready = Path(name) / "ready"
        prepare(ready)
        _warm()
        if options.only is not None:
            return _one(options.seed, options.only, ready)
        tally = _all(options.seed, range(options.count), ready, folder, options.jobs)
    text = summary(tally, options.seed)
    print(text)
    if options.write:
        write_into(Path(__file__).parents[2] / "docs" / "soundness.md", text)
    return 1 if tally.failures else 0


def _one(seed: int, number: int, ready: Path) -> int:
    case = case_of(seed, number, ready)
    print(case)
    os.environ["GAUSSOPT_DEBUG"] = "1"
    with _working(case) as place:
        if case.way == "inside":
            from gaussopt.cli.main import run

            os.chdir(place)
            print("exit code", run(list(case.arguments)))
            return 0
        print(failure_of(case, place) or "all is well")
    return 0


def _all(seed: int, numbers: range, ready: Path, folder: Path, jobs: int) -> Tally:
    state = folder / f"seed-{seed}.jsonl"
    tally, left = _resumed(state, numbers)
    begin, seen = time.monotonic(), Counter(signature(reason) for _, reason in tally.failures)
    parts = [range(left[0], left[-1] + 1)] if left and len(left) == left[-1] - left[0] + 1 else _runs(left)
    with state.open("a", encoding="utf-8") as file:
        for part in parts:
            for batch in campaign(seed, part, ready, jobs):
                for row in batch.rows:
                    tally.add(row)
                    file.write(json.dumps(row) + "\n")
                    if row["failure"]:
                        kind = signature(row["failure"])
                        seen[kind] += 1
                        if seen[kind] <= 3:
                            case = minimal(case_of(seed, row["number"], ready), row["failure"])
                            keep(case, row["failure"], folder / f"failure-{seed}-{row['number']}")
                            print(f"{row['number']}: {row['failure'][:200]}", file=sys.stderr, flush=True)
                file.flush()
                spent = time.monotonic() - begin
                if sys.stderr.isatty() or tally.count % 5000 < BATCH:
                    print(
                        f"{tally.count} inputs, {len(tally.failures)} failures, {spent:.0f} s",
                        file=sys.stderr,
                        flush=True,
                    )
    return tally


def _runs(numbers: list[int]) -> list[range]:
    """Numbers as ranges without gaps."""
    found: list[range] = []
    for n in numbers:
        if found and found[-1].stop == n:
            found[-1] = range(found[-1].start, n + 1)
        else:
            found.append(range(n, n + 1))
    return found


if __name__ == "__main__":
    raise SystemExit(main())
