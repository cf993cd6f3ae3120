"""The work of a campaign: one program after the other, the judge once, every solver on it, and what came of it."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from soundness.judge import bilateral, complementarity, contact, convex
from soundness.judge.exact import Exact

from . import calls, conditions, findings, lies
from .contact_families import CONTACT
from .families import BILATERAL, Maker, Program, plain
from .findings import CRASHED, MISNAMED, NOT_TAKEN, RIGHT, UNDECIDED, WRONG, Claim, Finding
from .lcp_families import LCPS
from .qp_families import QPS

KINDS: dict[str, tuple[float, dict[str, tuple[float, Maker]]]] = {
    "step": (0.35, BILATERAL), "contact step": (0.25, CONTACT), "lcp": (0.20, LCPS), "qp": (0.20, QPS),
}  # fmt: skip
BLOCK = 100
"""Programs of a block, the unit that is done or not done."""
LYING = 0.4
"""Share of the programs about which the certificates are lied to."""
NOTED = (WRONG, CRASHED, MISNAMED, findings.REFUSED, UNDECIDED)
KEPT = 3
"""Examples of each cause, formulation and solver that a block keeps."""
INFINITE = 1e20
"""Bounds at or beyond this count as infinite, which is a rule of the file format."""

Note = Callable[[int, str], None]


@dataclass
class Tally:
    """What came of a block."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    _kept: Counter[str] = field(default_factory=Counter)

    def add(
        self, program: Program, formulation: str, solver: str, found: Finding, claim: Claim | None, well: int
    ) -> None:
        """One trial."""
        key = "|".join((program.kind, program.family, formulation, solver, found.outcome, found.cause, str(int(well))))
        self.counts[key] += 1
        if found.outcome not in NOTED or (found.outcome == findings.REFUSED and not well):
            return
        group = "|".join((program.kind, formulation, solver, found.outcome, found.cause))
        if self._kept[group] < (KEPT if found.outcome in (WRONG, CRASHED) else 1):
            self._kept[group] += 1
            self.faults.append(fault(program, formulation, solver, found, claim))

    def mapping(self) -> dict[str, Any]:
        """For JSON."""
        return {"counts": dict(self.counts), "faults": self.faults, "seconds": self.seconds}


def fault(program: Program, formulation: str, solver: str, found: Finding, claim: Claim | None) -> dict[str, Any]:
    """A reproducer: the program's file, the call, what was said and what is true."""
    data = {"kind": "step" if program.kind == "contact step" else program.kind, **without_infinity(program.data)}
    return {
        "kind": program.kind, "family": program.family, "index": program.index, "formulation": formulation,
        "solver": solver, "outcome": found.outcome, "cause": found.cause, "number": found.number,
        "answer": None if claim is None else asdict(claim), "program": data,
    }  # fmt: skip


def without_infinity(data: dict[str, Any]) -> dict[str, Any]:
    """Bounds as in a file, null where infinite."""
    out = dict(data)
    for key in ("l", "u"):
        if key in out:
            out[key] = [None if v is None or abs(v) >= INFINITE else v for v in out[key]]
    return out


def program_at(seed: int, index: int) -> tuple[Program, np.random.Generator]:
    """The program of a place in the campaign, and the numbers that follow."""
    rng = np.random.default_rng([seed, index])
    names = list(KINDS)
    kind = names[int(rng.choice(len(names), p=[KINDS[name][0] for name in names]))]
    table = KINDS[kind][1]
    shares = np.array([share for share, _ in table.values()])
    family = list(table)[int(rng.choice(len(shares), p=shares / shares.sum()))]
    data = table[family][1](rng)
    return Program(kind, family, plain(data) if kind != "qp" else arrays(data), index), rng


def arrays(data: dict[str, Any]) -> dict[str, Any]:
    """A program with all arrays as lists, empty ones too."""
    out = {key: value.tolist() for key, value in data.items()}
    if not len(out["l"]):
        out = {"P": out["P"], "q": out["q"], "A": [], "l": [], "u": []}
    return out


def judged(program: Program) -> tuple[Any, Callable[[Any, Claim], Finding]]:
    """The truth about a program, and how answers are compared with it."""
    d = program.data
    if program.kind == "step":
        # Rows that are rounding are given, and others are meant.
        return bilateral.judge({**d, **d.get("meant", {})}), findings.of_step
    if program.kind == "contact step":
        return contact.judge(contact.jump(d) if "v" in d else d), findings.of_contact_step
    if program.kind == "lcp":
        return complementarity.judge(d["M"], d["q"]), findings.of_lcp
    cut = without_infinity(d)
    return convex.judge(d["P"], d["q"], d["A"], cut["l"], cut["u"]), findings.of_qp


def run_block(seed: int, block: int, skip: set[tuple[int, str]], note: Note, size: int = BLOCK) -> Tally:
    """All trials of a block; `note` is told what is tried before it is, `skip` names what ended a process before."""
    tally, begin = Tally(), time.perf_counter()
    for index in range(block * size, (block + 1) * size):
        one_program(seed, index, skip, note, tally)
    tally.seconds = time.perf_counter() - begin
    return tally


def one_program(seed: int, index: int, skip: set[tuple[int, str]], note: Note, tally: Tally) -> None:
    """Every call on one program."""
    program, rng = program_at(seed, index)
    note(index, "judge")
    try:
        truth, compare = judged(program)
    except (convex.GaveUp, ValueError) as error:
        tally.add(program, "", "", Finding("unjudged", type(error).__name__), None, False)
        return
    well = conditions.well(program.kind, truth)
    try:
        thing = calls.subject(
            "step" if "M" in program.data and program.kind.endswith("step") else program.kind, program.data
        )
    except calls.GaussoptError as error:
        tally.add(program, "", "reading", Finding("refused as input", str(error)[:60]), None, False)
        return
    kind = "step" if program.kind.endswith("step") else program.kind
    solved: list[Claim] = []
    for formulation, solver in calls.pairs(kind, program.data, rng):
        name = f"{formulation}/{solver}"
        if (index, name) in skip:
            continue
        note(index, name)
        claim, found = None, Finding(NOT_TAKEN)
        try:
            claim = calls.answer(kind, thing, program.data, formulation, solver)
            found = compare(truth, claim)
            if kind == "qp" and found.outcome == RIGHT:
                # Of two answers that the judge lets pass, bounds that contradict each other are wrong all the same.
                found = next(filter(None, (findings.of_pair(truth, claim, other) for other in solved)), found)
                solved.append(claim)
        except calls.Refused:
            pass
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            found = Finding(CRASHED, f"{type(error).__name__}: {str(error)[:80]}")
        tally.add(program, formulation, solver, found, claim, well)
    if rng.random() < LYING and "v" not in program.data:
        _lie(program, thing, truth, compare, rng, tally, note)


def _lie(
    program: Program, thing: Any, truth: Any, compare: Any, rng: np.random.Generator, tally: Tally, note: Note
) -> None:
    """Wrong answers through the certificates; only those that pass are compared, the others are right to fail."""
    note(program.index, "lies")
    try:
        for name, claim in _told(program, thing, truth, rng):
            found = compare(truth, claim) if claim.status == "solved" else _bound_only(truth, compare, claim)
            tally.add(program, "verify", f"lie: {name}", found, claim, False)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        tally.add(
            program, "verify", "lies", Finding(CRASHED, f"{type(error).__name__}: {str(error)[:80]}"), None, False
        )


def _bound_only(truth: Any, compare: Any, claim: Claim) -> Finding:
    """A lie that does not pass: its error bound must be true all the same."""
    found = compare(truth, claim)
    return found if found.outcome == WRONG else Finding("refuted")


def _told(program: Program, thing: Any, truth: Any, rng: np.random.Generator) -> Iterator[tuple[str, Claim]]:
    if program.kind == "step":
        a = np.array(truth.a.floats()) if truth.a is not None else rng.standard_normal(thing.n)
        lam = None
        with contextlib.suppress(calls.Refused):
            reported = calls.answer("step", thing, program.data, "lagrange", "kkt").lam
            lam = np.array(reported) if reported is not None else None
        yield from lies.on_step(thing, a, lam, rng)
    elif program.kind == "contact step":
        points = [v for part in truth.parts for v in part.vertices]
        if truth.laws is not None:
            x = points[int(rng.integers(len(points)))] if points else Exact((1,) * len(truth.laws.effect), 1)
            yield from lies.on_contact_step(thing, truth.laws, truth.contacts, x, rng)
    elif program.kind == "lcp":
        points = [np.array(v.floats()) for part in truth.parts for v in part.vertices]
        yield from lies.on_program("lcp", thing, points, rng)
    else:
        points = [np.array(truth.x.floats())] if truth.x is not None else []
        yield from lies.on_program("qp", thing, points, rng)


def note_to(path: str) -> Note:
    """What is being tried, written where another process can read it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)

    def note(index: int, name: str) -> None:
        os.pwrite(handle, f"{index} {name}".ljust(80).encode(), 0)

    return note


__all__ = ["BLOCK", "RIGHT", "Tally", "note_to", "one_program", "program_at", "run_block"]
