"""Records as data frames: one row for each step, case, part of the time or motion.

Every column has one type, and lists become rows. The CSV files open in pandas, polars and DuckDB: they have no index
column and no spaces in names, infinite numbers are written as inf, and missing numbers are empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.comparison import metrics
from gaussopt.comparison.records import PARTS, Answers, CaseRecord, MotionRecord, Times
from gaussopt.comparison.step_table import step_table
from gaussopt.core.files import write_text

CASE = ("kind", "name", "part", "dial", "value", "dials", "formulation", "solver", "start")
"""The columns that identify cases; `dials` holds all dials, as in "contacts=4 mu=0.3"."""

ORIGIN = ("machine", "processor", "system", "threads", "versions", "date")
"""Last columns of every table, which state the origin of a row: the machine in a merged comparison, where and when the
row was computed, and by which packages; empty where nothing is recorded."""

NAMED = ("q05", "q25", "q50", "q75", "q95")


def _case_of(record: CaseRecord) -> tuple[Any, ...]:
    source = record.source
    dials = " ".join(f"{k}={v:g}" for k, v in source.dials.items())
    value = source.dials[source.swept] if source.swept else float("nan")
    return (source.kind, source.name, source.part, source.swept, value, dials, record.formulation, record.solver,
            record.start)  # fmt: skip


def _cases(records: Iterable[CaseRecord]) -> pd.DataFrame:
    return pd.DataFrame([_case_of(r) for r in records], columns=list(CASE))


def _with_origin(
    frame: pd.DataFrame, records: Sequence[CaseRecord | MotionRecord], rows: Any
) -> pd.DataFrame:  # fmt: skip
    """Return a table with the columns of ORIGIN added; `rows` holds, for each row, the index of its record."""
    machines = [r.machine if isinstance(r, MotionRecord) else r.source.machine for r in records]
    known = [(m, *(r.made.get(name, "") for name in ORIGIN[1:])) for m, r in zip(machines, records, strict=True)]
    origin = pd.DataFrame(known, columns=list(ORIGIN), dtype=object).iloc[list(rows)].reset_index(drop=True)
    return pd.concat((frame, origin), axis=1)


def summary(answers: Sequence[Answers], times: Sequence[Times] = ()) -> pd.DataFrame:
    """Return one row for each source, formulation, solver and start, as in `gaussopt.comparison.metrics.summary`."""
    frame, rows = _cases(answers), pd.DataFrame(metrics.summary(answers, times))
    for name, column in rows.items():
        if name in ("certified", "error", "work"):
            frame[[f"{name}_{q}" for q in NAMED]] = np.array(column.to_list(), dtype=float).reshape(-1, len(NAMED))
        else:
            frame[name] = column
    return _with_origin(frame, answers, range(len(answers)))


def steps(answers: Sequence[Answers], times: Sequence[Times] = ()) -> pd.DataFrame:
    """Return one row for each answer; `work` is the median seconds at that step, NaN where it was not timed."""
    table = step_table(answers, times)
    table = table[table["answered"]]
    frame = _cases(answers).loc[table["case"]].reset_index(drop=True)
    for name in ("step", "status", "claim", "certified", "error", "primal", "dual", "gap", "iterations", "confirmed",
                 "work"):  # fmt: skip
        frame[name] = table[name].to_numpy()
    return _with_origin(frame.astype({"iterations": int}), answers, table["case"])


def times(records: Sequence[Times]) -> pd.DataFrame:
    """Return one row for each part of each case's time: quantiles in seconds over all steps and repetitions."""
    rows = [(*_case_of(t), part, *t.parts[part], len(t.per_step), t.repetitions) for t in records for part in PARTS]
    frame = pd.DataFrame(rows, columns=[*CASE, "part_of_time", *NAMED, "steps", "repetitions"])
    return _with_origin(frame, records, [i for i in range(len(records)) for _ in PARTS])


def motions(records: Sequence[MotionRecord]) -> pd.DataFrame:
    """Return one row for each trajectory."""
    columns = [f.name for f in fields(MotionRecord) if f.name not in ("machine", "made")]
    frame = pd.DataFrame([m.to_mapping() for m in records], columns=columns)
    return _with_origin(frame, records, range(len(records)))


def frames(
    answers: Sequence[Answers], timed: Sequence[Times] = (), moved: Sequence[MotionRecord] = ()
) -> dict[str, pd.DataFrame]:
    """Return the tables `summary`, `steps`, `times` and `motions`."""
    return {
        "summary": summary(answers, timed), "steps": steps(answers, timed), "times": times(timed),
        "motions": motions(moved),
    }  # fmt: skip


def write(
    folder: Path, answers: Sequence[Answers], timed: Sequence[Times] = (), moved: Sequence[MotionRecord] = ()
) -> list[Path]:
    """Write summary.csv, steps.csv, times.csv and motions.csv; tables without rows are left out.

    Raises BadInput if the folder cannot be written.
    """
    written = []
    for name, frame in frames(answers, timed, moved).items():
        if len(frame):
            write_text(folder / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
            written.append(folder / f"{name}.csv")
    return written
