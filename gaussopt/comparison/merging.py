"""Comparisons from several machines, merged into one folder in which each keeps its own records.

Every record of a merged comparison names its machine (`records.StepSource.machine`). Answers of several machines are
listed together, but times of two machines, or of one machine on two days, never enter the same median, mean, profile or
ranking. A machine has the name of its comparison's folder. The settings of each comparison are under `machines` in
`Results.meta`, by which `parts_of` separates them; each has its own folder of trajectories in `cases`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from gaussopt.comparison.records import Answers, machine_of
from gaussopt.comparison.results import LISTS, NUMBERS, Results, read_results, write_results
from gaussopt.comparison.step_table import label_of
from gaussopt.core.display import counted, listed
from gaussopt.core.errors import BadInput
from gaussopt.core.files import check_new, inside, prepare_folder, read_regular, write_bytes
from gaussopt.storage.checksums import checksum
from gaussopt.storage.netcdf import verified

ALIKE = (*NUMBERS, "case_limit")
"""Settings that merged comparisons must have in common: they decide the verdicts, and what is timed."""


def merge_results(
    folders: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str],
    note: Callable[[str], None] | None = None,
) -> Results:  # fmt: skip
    """Merge comparisons, or merged comparisons, into a new folder, which `Results.load` and `gaussopt report` read.

    Parameters
    ----------
    folders : folders that `compare` or this function wrote; they are not changed
    out : a new or empty folder
    note : called with sentences on duplicate and missing records

    Returns the results, with sentences on contradictions between them under `conflicts` in `meta`. Raises BadInput,
    before anything is written, if a folder holds no results or damaged ones, if the comparisons differ in tolerances
    or limits, or if `out` is not empty.
    """
    target, tell = Path(out), note or (lambda sentence: None)
    check_new(target)
    if len(folders) < 2:
        raise BadInput("Give the folders of at least two comparisons.")
    parts: dict[str, Results] = {}
    known: dict[str, str] = {}
    for folder in map(Path, folders):
        for name, part in parts_of(read_results(folder), folder.resolve().name).items():
            digest = checksum(
                replace(part, motions=tuple(replace(m, trajectory="") for m in part.motions)).to_mapping()
            )
            if digest in known:
                tell(f"{folder} holds the comparison of {known[digest]} once more; it is kept once.")
                continue
            names = (f"{name}-{i}" if i > 1 else name for i in range(1, len(parts) + 2))
            known[digest] = free = next(n for n in names if n not in parts)
            parts[free] = part
    _check_alike(parts)
    kept: dict[str, Path] = {}
    for name, part in parts.items():
        assert part.store is not None
        files = {f"{name}/{m.trajectory}": inside(part.store, m.trajectory) for m in part.motions if m.trajectory}
        there = {path: place for path, place in files.items() if place.exists()}
        if len(there) < len(files):
            tell(f"Trajectories that are not in the folder of {name}, and not merged: {len(files) - len(there)}.")
        for place in there.values():
            verified(place)
        kept |= there
    joined = replace(_joined(parts, kept), store=target)
    prepare_folder(target)
    for path, place in kept.items():
        write_bytes(target / "cases" / path, read_regular(place))
    write_results(joined, target)
    return joined


def parts_of(results: Results, name: str = "") -> dict[str, Results]:
    """Return the comparisons that make up a merged one, by machine.

    A comparison that is not merged counts as a single part. Its key is the given name, in which characters that are not
    allowed in file names are replaced. The store of a part is the folder of its trajectories.
    """
    store = None if results.store is None else results.store / "cases"
    if not results.meta.get("machines"):
        return {re.sub(r"[^\w.-]+", "-", name).strip(".-") or "unnamed": replace(results, store=store)}
    return {
        machine: Results(
            tuple(_moved(r, "") for r in results.answers if r.source.machine == machine),
            tuple(_moved(r, "") for r in results.times if r.source.machine == machine),
            tuple(replace(m, machine="", trajectory=m.trajectory.removeprefix(f"{machine}/"))
                  for m in results.motions if m.machine == machine),
            {key.removeprefix(f"{machine} | "): why
             for key, why in results.failures.items() if key.startswith(f"{machine} | ")},
            own, None if store is None else store / machine,
        )
        for machine, own in results.meta["machines"].items()
    }  # fmt: skip


def _moved(record: Any, machine: str) -> Any:
    """Copy a record of answers or times with another name of its machine."""
    return replace(record, source=replace(record.source, machine=machine))


def _check_alike(parts: Mapping[str, Results]) -> None:
    """Raise BadInput if comparisons differ in settings that decide verdicts and times."""
    (first, of), *others = parts.items()
    for (name, part), setting in ((other, s) for other in others for s in ALIKE):
        then, now = of.meta.get(setting), part.meta.get(setting)
        if then != now:
            what = f"The {setting.replace('_', ' ')} of {first} is {then}, that of {name} {now}"
            raise BadInput(f"{what}; merge comparisons of the same settings.")


def _joined(parts: Mapping[str, Results], there: Mapping[str, Path]) -> Results:
    """Join the parts of a merged comparison; `there` maps paths in the merged folder to existing trajectories."""
    metas = {name: part.meta for name, part in parts.items()}
    meta: dict[str, Any] = {
        "sources": [f"{label}, on {name}" for name, of in metas.items() for label in of.get("sources", ())],
        "problems": {}, "files": {}, "machines": metas, "conflicts": list(conflicts(parts)),
    }  # fmt: skip
    for own in metas.values():
        meta = {s: own[s] for s in ALIKE if s in own} | meta
        meta |= {s: list(dict.fromkeys((*meta.get(s, ()), *own.get(s, ())))) for s in (*LISTS[1:], "precision")}
        meta["problems"] = {**own.get("problems", {}), **meta["problems"]}
        for folder, names in own.get("files", {}).items():
            meta["files"][folder] = list(dict.fromkeys((*meta["files"].get(folder, ()), *names)))
    motions = [
        replace(m, machine=name, trajectory=path if (path := f"{name}/{m.trajectory}") in there else "")
        for name, part in parts.items() for m in part.motions
    ]  # fmt: skip
    return Results(
        tuple(_moved(r, name) for name, part in parts.items() for r in part.answers),
        tuple(_moved(r, name) for name, part in parts.items() for r in part.times), tuple(motions),
        {f"{name} | {key}": why for name, part in parts.items() for key, why in part.failures.items()}, meta,
    )  # fmt: skip


# -- contradictions between comparisons ----------------------------------------------------------------------


def conflicts(parts: Mapping[str, Results]) -> Iterator[str]:
    """Yield sentences on contradictions: verdicts differ, problems of one name differ, or a machine occurs twice.

    Answers are compared by verdict, claim and, where both are confirmed, by error against the reference: the errors may
    differ by up to the sum of both certified errors and the tolerance. Smaller differences are due to the machine.
    """
    by = {n: {(a.source.key, a.formulation, a.solver, a.start): a for a in p.answers} for n, p in parts.items()}
    for (one, first), (other, then) in combinations(parts.items(), 2):
        known, told = first.meta.get("problems", {}), then.meta.get("problems", {})
        for label in (label for label in known if label in told and known[label] != told[label]):
            yield f"{label} has other parameters or another start on {other} than on {one}: these are two problems."
        both = {key: (a, by[other][key]) for key, a in by[one].items() if key in by[other]}
        for a, b in both.values():
            why = _difference(a, b, first.meta.get("tolerance", 0.0), (one, other))
            if why:
                yield f"{_case(a)}: {why}."
        alike = [_case(a) for a, b in both.values() if _where(a) and _where(a) == _where(b)]
        if alike:
            stand = f"and {counted(len(alike), 'case')} ({alike[0]}) stand in both; they are kept apart."
            yield f"{one} and {other} are the same machine with the same versions, {stand}"
    unknown = [name for name, of in by.items() if not any(map(_where, of.values()))]
    if unknown:
        yield f"Which machine it was is not on record for {listed(unknown)}."


def _case(a: Answers) -> str:
    return f"{label_of(a.formulation, a.solver)}, {a.start}, on {a.source.label}"


def _where(a: Answers) -> tuple[str, ...]:
    """Return the machine and the versions by which a record was made; empty if they were not recorded."""
    return (*machine_of(a.made), a.made.get("versions", "")) if a.made else ()


def _difference(a: Answers, b: Answers, tolerance: float, names: tuple[str, str]) -> str:
    """Return a clause on how the answers of two machines contradict each other; "" if they do not."""
    for said, x, y in (("refused", a.refused, b.refused), ("ended early", a.failure, b.failure)):
        if bool(x) != bool(y):
            return f"{said} on {names[0] if x else names[1]} only ({(x or y).rstrip('.')})"
    if a.size != b.size or (len(a.status) != len(b.status) and not a.failure):
        first, then = (
            f"{len(x.status)} steps of size {x.size} on {name}" for x, name in zip((a, b), names, strict=True)
        )
        return f"{first} and {then}"
    verdicts = zip(a.status, a.claim, b.status, b.claim, strict=False)
    rows = [(f"{r} (claimed {s})", f"{t} (claimed {u})") for r, s, t, u in verdicts]
    turned = [i for i, (x, y) in enumerate(rows) if x != y]
    if turned:
        x, y = (word.replace("_", " ") for word in rows[turned[0]])
        at = f"other verdicts at {len(turned)} of {len(rows)} steps, first at step {turned[0]}"
        return f"{at}, {x} on {names[0]} and {y} on {names[1]}"
    columns = zip(a.confirmed, a.error, b.error, a.certified, b.certified, strict=False)
    apart = [abs(x - y) for right, x, y, p, q in columns if right and abs(x - y) > p + q + tolerance]
    return f"confirmed answers that are {max(apart):.1e} apart, more than both certificates allow" if apart else ""
