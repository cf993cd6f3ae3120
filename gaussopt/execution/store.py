"""Finished cases on disk: a folder for each comparison, a file for each case.

    store.json                   marks the folder as a store and gives its format
    cases/KEY.json               label, identity, outcome, checksum
    cases/KEY.trajectory.nc      an entry of the outcome's value that is bytes, here "trajectory.nc"
    set-aside/                   files found in cases/ that were damaged or not written by a store
    .users, .writing             empty lock files

KEY is the SHA-256 of the identity: everything that decides the result (see `identity_of`). Files are JSON as Python
writes it, with NaN, Infinity and -Infinity as bare words; numbers are read back bit for bit. Each file is written under
a temporary name, synchronised and renamed, attachments first, so that a store holds only complete cases even if the
process is killed. Two processes may share a store: if both compute a case, the first result is kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gaussopt._version import __version__
from gaussopt.core.errors import BadInput
from gaussopt.core.files import PROBE, prepare_folder, write_bytes, write_text
from gaussopt.processes.environment import environment
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.storage.checksums import Damage, checksum, digest_of, sealed, unsealed

FORMAT = 1
KIND = "gaussopt store"
HEAD = "store.json"

_PARTS = {"cases", "set-aside", ".users", ".writing"}
_OWN = re.compile(r"(?P<key>[0-9a-f]{64})\.(?P<entry>.+)")
_ENTRY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def identity_of(case: Job) -> dict[str, Any]:
    """Return everything that decides the result of a case, in JSON types.

    These are the function's name, the arguments, the versions of Python, gaussopt, numpy, scipy, sympy and the packages
    of the entries that the case depends on, the source code of the core and of these entries, and the store's format,
    but not the time limit, which decides only whether there is a result. Raises BadInput if arguments are not JSON.
    """
    function = f"{case.function.__module__}.{case.function.__qualname__}"
    identity = {"format": FORMAT, "function": function, "arguments": case.arguments, **environment(case.depends)}
    try:
        plain: dict[str, Any] = json.loads(json.dumps(identity))
    except (TypeError, ValueError) as error:
        raise BadInput(f"The case {case.key!r} cannot be stored, its arguments are no JSON: {error}.") from None
    return plain


class Store:
    """A folder of finished cases, created if missing; `note` is called with a sentence for each file that is set aside.

    Raises BadInput if the folder holds other files, has another format, or cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], note: Callable[[str], None] | None = None) -> None:
        self.folder = Path(folder)
        self._cases = self.folder / "cases"
        self._note = note or (lambda sentence: None)
        self._open()

    def get(self, case: Job) -> JobOutcome | None:
        """Return the outcome of a case, or None if it must be computed.

        A failure at the time limit is returned unless the case now has a higher limit. A damaged file is set aside.
        """
        key = checksum(identity_of(case))
        try:
            return self._read(case, key)
        except Damage:
            with self._alone():  # another process may just have repaired the file
                try:
                    return self._read(case, key)
                except Damage as damage:
                    self._set_aside(key, str(damage))
                    return None

    def put(self, case: Job, outcome: JobOutcome) -> JobOutcome:
        """Store an outcome and return it as later reads will return it: tuples as lists, keys as text.

        If the value is a mapping, its entries may be bytes: each of these is written to a separate file, named after
        the entry, and returned as a path. If another process has already stored an outcome of this case, that outcome
        is kept and returned. Raises BadInput if the value is not JSON, or the files cannot be written.
        """
        identity = identity_of(case)
        key = checksum(identity)
        value, attachments = _apart(case, outcome.value)
        record = {
            "format": FORMAT, "written_by": f"gaussopt {__version__}", "case": case.key, "identity": identity,
            "outcome": {"value": value, "failure": outcome.failure, "seconds": outcome.seconds, "kind": outcome.kind},
            "limit": case.limit,
            "attachments": {entry: digest_of(content) for entry, content in attachments.items()},
        }  # fmt: skip
        try:
            record = json.loads(json.dumps(record))
        except (TypeError, ValueError) as error:
            raise BadInput(f"The case {case.key!r} returned something that is no JSON: {error}.") from None
        text = sealed(record)
        with self._alone():
            with contextlib.suppress(Damage):  # a damaged file is replaced
                kept = self._read(case, key)
                if kept is not None:
                    return kept
            for entry, content in attachments.items():
                write_bytes(self._cases / f"{key}.{entry}", content)
            write_text(self._cases / f"{key}.json", text)
        return self._outcome(key, record)

    def path(self, case: Job, entry: str = "json") -> Path:
        """Return the path of the file of a case, or of the file that holds an entry of its value."""
        return self._cases / f"{checksum(identity_of(case))}.{entry}"

    def stale(self, cases: Iterable[Job]) -> int:
        """Count the stored cases that are not among `cases`: they belong to other code, versions or settings."""
        wanted = {checksum(identity_of(case)) for case in cases}
        return sum(file.stem not in wanted for file in self._cases.glob("*.json"))

    def _read(self, case: Job, key: str) -> JobOutcome | None:
        path = self._cases / f"{key}.json"
        try:
            record = unsealed(path.read_bytes(), FORMAT)
            if checksum(record["identity"]) != key:
                raise Damage("it is the file of another case")
            for entry, digest in record["attachments"].items():
                self._verify(key, entry, digest)
            outcome, limit = self._outcome(key, record), record["limit"]
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Damage(f"it cannot be read ({error.strerror})") from None
        except (AttributeError, KeyError, TypeError):
            raise Damage("it is not the file of a case") from None
        return None if outcome.kind == "time_limit" and case.limit > limit else outcome

    def _outcome(self, key: str, record: Mapping[str, Any]) -> JobOutcome:
        outcome = JobOutcome(**record["outcome"])
        paths = {entry: self._cases / f"{key}.{entry}" for entry in record["attachments"]}
        return replace(outcome, value={**outcome.value, **paths}) if paths else outcome

    def _verify(self, key: str, entry: str, digest: str) -> None:
        if not _ENTRY.fullmatch(entry):  # the name might be a path outside the folder
            raise Damage(f"it names the attachment {entry[:40]!r}")
        try:
            with (self._cases / f"{key}.{entry}").open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            raise Damage(f"its {entry} is missing") from None
        if found != digest:
            raise Damage(f"the checksum of its {entry} is wrong")

    def _open(self) -> None:
        prepare_folder(self.folder)
        head = self.folder / HEAD
        found = {f.name for f in self.folder.iterdir() if f.suffix not in (".tmp", PROBE)}
        other = sorted(found - _PARTS)
        if HEAD in found:
            self._check(head)
        elif other:  # never overwrite a folder with other contents, such as a report
            raise BadInput(f"{self.folder} is no store and holds other things ({other[0]}); name an empty folder.")
        # Every process using the store holds a shared lock. A process that gets the exclusive lock is alone: it cleans
        # up. A process that is opening the store has no shared lock yet, so `_alone` keeps others from cleaning.
        with self._alone():
            if not head.exists():
                about = {"kind": KIND, "format": FORMAT, "written_by": f"gaussopt {__version__}"}
                write_text(head, json.dumps(about, indent=1) + "\n")
            self._check(head)  # another process may have made the file meanwhile
            prepare_folder(self._cases)
            self._presence = (self.folder / ".users").open("ab")
            weakref.finalize(self, self._presence.close)
            with contextlib.suppress(OSError):
                fcntl.flock(self._presence, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._clean()
            with contextlib.suppress(OSError):
                fcntl.flock(self._presence, fcntl.LOCK_SH)

    def _check(self, head: Path) -> None:
        try:
            about = json.loads(head.read_bytes())
            kind, form, writer = about["kind"], about["format"], about["written_by"]
        except (OSError, ValueError, RecursionError, KeyError, TypeError):
            raise BadInput(f"{head} is damaged or not gaussopt's; name another folder.") from None
        if kind != KIND:
            raise BadInput(f"{head} was not written by a comparison of gaussopt; name another folder.")
        if form != FORMAT:
            raise BadInput(
                f"{self.folder} was written by {writer} in format {form}, this is gaussopt {__version__} with "
                f"format {FORMAT}; name another folder, or go on with the version that wrote it."
            )

    def _clean(self) -> None:
        """Remove temporary files of killed runs; set aside files that were not written by a store."""
        for leftover in (*self.folder.glob("*.tmp"), *self._cases.glob("*.tmp")):
            leftover.unlink(missing_ok=True)
        for file in self._cases.iterdir():
            own = _OWN.fullmatch(file.name)
            if own is None:
                self._move(file)
                self._note(f"{file} is not the file of a case; it was moved to {self.folder / 'set-aside'}.")
            elif own["entry"] != "json" and not (self._cases / f"{own['key']}.json").exists():
                file.unlink(missing_ok=True)  # a process was killed after writing the attachment, before the case

    def _set_aside(self, key: str, damage: str) -> None:
        for file in self._cases.glob(f"{key}.*"):
            self._move(file)
        path = self._cases / f"{key}.json"
        self._note(f"{path} is not used: {damage}; it was moved to {self.folder / 'set-aside'}, the case is run again.")

    def _move(self, file: Path) -> None:
        aside = self.folder / "set-aside"
        prepare_folder(aside)
        target, n = aside / file.name, 1
        while target.exists():
            target, n = aside / f"{file.name}.{n}", n + 1
        with contextlib.suppress(FileNotFoundError):
            file.rename(target)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from writing; on file systems without locks only atomic renaming protects the files."""
        with (self.folder / ".writing").open("ab") as lock:
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _apart(case: Job, value: Any) -> tuple[Any, dict[str, bytes]]:
    """Separate the entries of type bytes from the rest of the value."""
    if not isinstance(value, Mapping):
        return value, {}
    attachments = {str(k): bytes(v) for k, v in value.items() if isinstance(v, (bytes, bytearray))}
    for entry in attachments:
        if not _ENTRY.fullmatch(entry) or entry == "json" or entry.endswith(".tmp"):
            raise BadInput(f"The case {case.key!r} returned bytes called {entry!r}, which is no name for a file.")
    return {k: v for k, v in value.items() if not isinstance(v, (bytes, bytearray))}, attachments
