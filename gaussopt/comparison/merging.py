"""Comparisons of several machines as one folder, in which each keeps its own records.

Every record of a merged comparison names its machine, which tells sources apart (`records.StepSource.machine`): answers
stand beside each other, and times of two machines, or of one machine on two days, are never in one median, mean,
profile or ranking. A machine is called as its folder. The settings of each comparison stay under `machines` in
`Results.meta`, so that each can be taken out again (`parts_of`); trajectories lie in a folder of `cases` for each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from gaussopt.comparison.records import Answers, machine_of
from gaussopt.comparison.results import LISTS, NUMBERS, Results, read_results, write_results
from gaussopt.comparison.step_table import label_of
from gaussopt.core.display import counted, listed
from gaussopt.core.errors import BadInput
from gaussopt.core.files import inside, prepare_folder, read_regular, write_bytes
from gaussopt.storage.checksums import checksum
from gaussopt.storage.netcdf import verified

ALIKE = (*NUMBERS, "case_limit")
"""Settings that comparisons of one folder share: they decide verdicts, and what a time is."""


def merge_results(
    folders: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str],
    note: Callable[[str], None] | None = None,
) -> Results:  # fmt: skip
    """Join comparisons, and merged ones, in a new folder, which `Results.load` and `gaussopt report` read.

    Parameters
    ----------
    folders : what `compare` wrote into its `out`, or this function; they stay as they are
    out : a new or empty folder
    note : called with sentences on what was found twice or is not there

    Returns
    -------
    Results
        with the sentences on what contradicts each other under `conflicts` in `meta`

    Raises BadInput, before anything is written, if a folder holds no results or damaged ones, if the comparisons were
    asked with other tolerances or limits, or if `out` holds something.
    """
    target, tell = Path(out), note or (lambda sentence: None)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BadInput(f"{target} is there already; name a new folder for the merged comparison.")
    if len(folders) < 2:
        raise BadInput("Give the folders of at least two comparisons.")
    parts: dict[str, Results] = {}
    known: dict[str, str] = {}
    for folder in map(Path, folders):
        for name, part in parts_of(read_results(folder), folder.resolve().name).items():
            moved = [{**m.to_mapping(), "trajectory": ""} for m in part.motions]
            digest = checksum({**part.to_mapping(), "motions": moved})
            if digest in known:
                tell(f"{folder} holds the comparison of {known[digest]} once more; it is kept once.")
                continue
            known[digest] = _free(name, parts)
            parts[known[digest]] = part
    _check_alike(parts)
    kept = {path: place for name, part in parts.items() for path, place in _trajectories(name, part, tell)}
    joined = replace(_joined(parts, kept), store=target)
    prepare_folder(target)
    for path, place in kept.items():
        write_bytes(target / "cases" / path, read_regular(place))
    write_results(joined, target)
    return joined


def parts_of(results: Results, name: str = "") -> dict[str, Results]:
    """The comparisons that a merged one was made of, by machine; one that is not merged is its only part.

    Its machine then has the name that is given, as far as file names and anchors can have it. The store of a part is
    the folder of its trajectories.
    """
    machines = results.meta.get("machines")
    if not machines:
        own = replace(results, store=None if results.store is None else results.store / "cases")
        return {_plain_name(name): own}
    return {
        machine: Results(
            tuple(_moved(r, "") for r in results.answers if r.source.machine == machine),
            tuple(_moved(r, "") for r in results.times if r.source.machine == machine),
            tuple(
                replace(m, machine="", trajectory=m.trajectory.removeprefix(f"{machine}/"))
                for m in results.motions if m.machine == machine
            ),
            {
                key.removeprefix(f"{machine} | "): why
                for key, why in results.failures.items() if key.startswith(f"{machine} | ")
            },
            own, None if results.store is None else results.store / "cases" / machine,
        )
        for machine, own in machines.items()
    }  # fmt: skip


def write_parquets(results: Results, folder: Path, name: str) -> list[Path]:
    """Write the table of all answers as one Parquet file for each machine and version of gaussopt, to be committed.

    `name` is that of the machine where the results are not merged. Raises MissingBackend without a package that writes
    Parquet, BadInput if a file cannot be written.
    """
    written = []
    for machine, part in parts_of(results, name).items():
        version = _plain_name(str(part.meta.get("versions", {}).get("gaussopt", "")))
        written.append(_joined({machine: part}, {}).to_parquet(folder / f"{machine}-{version}.parquet"))
    return written


def _plain_name(text: str) -> str:
    """A text as part of file names and anchors."""
    return re.sub(r"[^\w.-]+", "-", text).strip(".-") or "unnamed"


def _moved(record: Any, machine: str) -> Any:
    """A record of answers or times, of another machine."""
    return replace(record, source=replace(record.source, machine=machine))


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """The name, or with a number behind it where it is taken."""
    return next(n for i in range(1, len(taken) + 2) if (n := f"{name}-{i}" if i > 1 else name) not in taken)


def _check_alike(parts: Mapping[str, Results]) -> None:
    """Raise BadInput where comparisons were asked with settings that decide verdicts and times."""
    (first, of), *others = parts.items()
    for (name, part), setting in ((other, s) for other in others for s in ALIKE):
        then, now = of.meta.get(setting), part.meta.get(setting)
        if then != now:
            raise BadInput(
                f"The {setting.replace('_', ' ')} of {first} is {then}, that of {name} {now}; merge comparisons of the "
                "same settings."
            )


def _trajectories(name: str, part: Results, tell: Callable[[str], None]) -> Iterator[tuple[str, Path]]:
    """Places within `cases`, and files, of the trajectories of a part; raises BadInput for a damaged one."""
    missing = 0
    for file in (m.trajectory for m in part.motions if m.trajectory):
        place = None if part.store is None else inside(part.store, file)
        if place is None or not place.exists():
            missing += 1
            continue
        verified(place)
        yield f"{name}/{file}", place
    if missing:
        what = counted(missing, "trajectory", "trajectories")
        tell(f"The folder of {name} does not hold {what} of its records, which are merged without.")


def _joined(parts: Mapping[str, Results], there: Mapping[str, Path]) -> Results:
    """The parts as one; `there` are the trajectories that are kept."""
    metas = {name: part.meta for name, part in parts.items()}
    first = next(iter(metas.values()))
    problems: dict[str, Any] = {}
    files: dict[str, list[str]] = {}
    for meta in metas.values():
        problems = {**meta.get("problems", {}), **problems}
        for folder, names in meta.get("files", {}).items():
            files[folder] = list(dict.fromkeys((*files.get(folder, ()), *names)))
    meta = {
        "sources": [f"{label}, on {name}" for name, of in metas.items() for label in of.get("sources", ())],
        **{name: _union(of.get(name, ()) for of in metas.values()) for name in (*LISTS[1:], "precision")},
        **{name: first[name] for name in ALIKE if name in first}, "problems": problems, "files": files,
        "machines": metas, "conflicts": list(conflicts(parts)),
    }  # fmt: skip
    return Results(
        tuple(_moved(r, name) for name, part in parts.items() for r in part.answers),
        tuple(_moved(r, name) for name, part in parts.items() for r in part.times),
        tuple(
            replace(m, machine=name, trajectory=f"{name}/{m.trajectory}" if f"{name}/{m.trajectory}" in there else "")
            for name, part in parts.items() for m in part.motions
        ),
        {f"{name} | {key}": why for name, part in parts.items() for key, why in part.failures.items()}, meta,
    )  # fmt: skip


def _union(lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(x for of in lists for x in of))


# -- what contradicts each other ----------------------------------------------------------------------

Key = tuple[Any, str, str, str]


def conflicts(parts: Mapping[str, Results]) -> Iterator[str]:
    """Sentences on what two comparisons say of the same thing: other verdicts, other problems, the same machine twice.

    Answers are compared by verdict, claim and, where both are confirmed, by their error against the reference, which
    may differ by no more than the two certified errors and the tolerance. Digits beyond that are those of the machine.
    """
    by = {name: {_key(a): a for a in part.answers} for name, part in parts.items()}
    for (one, first), (other, then) in combinations(parts.items(), 2):
        known, told = first.meta.get("problems", {}), then.meta.get("problems", {})
        for label in (label for label in known if label in told and known[label] != told[label]):
            yield f"{label} has other parameters or another start on {other} than on {one}: these are two problems."
        both = [key for key in by[one] if key in by[other]]
        limit = first.meta.get("tolerance", 0.0)
        for key in both:
            why = _difference(by[one][key], by[other][key], limit)
            if why:
                yield f"{label_of(*key[1:3])}, {key[3]}, on {by[one][key].source.label}: {why.format(one, other)}."
        alike = [key for key in both if (at := _where(by[one][key])) and at == _where(by[other][key])]
        if alike:
            such = f"{label_of(*alike[0][1:3])}, {alike[0][3]}, on {by[one][alike[0]].source.label}"
            yield (
                f"{one} and {other} are the same machine with the same versions, and {counted(len(alike), 'case')} "
                f"({such}) stand in both; they are kept apart."
            )
    unknown = [name for name, of in by.items() if not any(map(_where, of.values()))]
    if unknown:
        yield f"Which machine it was is not on record for {listed(unknown)}."


def _key(answers: Answers) -> Key:
    return answers.source.key, answers.formulation, answers.solver, answers.start


def _where(answers: Answers) -> tuple[str, ...]:
    """What tells the machine and the versions of a record; empty where they are not on record."""
    return (*machine_of(answers.made), answers.made.get("versions", "")) if answers.made else ()


def _difference(a: Answers, b: Answers, tolerance: float) -> str:
    """How the answers of two machines, {} and {}, contradict each other; "" if they do not."""
    if bool(a.refused) != bool(b.refused):
        return f"refused on {'{0}' if a.refused else '{1}'} only ({_plain(a.refused or b.refused)})"
    if bool(a.failure) != bool(b.failure):
        return f"ended early on {'{0}' if a.failure else '{1}'} only ({_plain(a.failure or b.failure)})"
    if a.size != b.size or (len(a.status) != len(b.status) and not a.failure):
        return f"{len(a.status)} steps of size {a.size} on {{0}} and {len(b.status)} of size {b.size} on {{1}}"
    rows = list(zip(zip(a.status, a.claim, strict=True), zip(b.status, b.claim, strict=True), strict=False))
    turned = [i for i, (x, y) in enumerate(rows) if x != y]
    if turned:
        x, y = (_words(*row) for row in rows[turned[0]])
        at = f"other verdicts at {len(turned)} of {len(rows)} steps, first at step {turned[0]}"
        return f"{at}, {x} on {{0}} and {y} on {{1}}"
    columns = zip(a.confirmed, a.error, b.error, a.certified, b.certified, strict=False)
    apart = [abs(x - y) for ok, x, y, p, q in columns if ok and abs(x - y) > p + q + tolerance]
    return f"confirmed answers that are {max(apart):.1e} apart, more than both certificates allow" if apart else ""


def _words(status: str, claim: str) -> str:
    """A verdict as it stands in a sentence."""
    return f"{status} (claimed {claim})".replace("_", " ")


def _plain(reason: str) -> str:
    """A reason within a sentence that is formatted."""
    return reason.rstrip(".").replace("{", "{{").replace("}", "}}")
