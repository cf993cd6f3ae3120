"""Records as data frames: one row for each step, case, part of the time or motion.

Every column has one type; lists become rows. Written as CSV they open in pandas, polars and DuckDB: no index column,
names without spaces, infinite numbers as inf, absent ones empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.comparison import metrics
from gaussopt.comparison.paired_records import join
from gaussopt.comparison.records import PARTS, QUANTILES, Answers, Motion, Source, Times
from gaussopt.core.files import write_text

if TYPE_CHECKING:
    import pandas as pd

CASE = ("kind", "name", "part", "dial", "value", "dials", "formulation", "solver", "start")
"""The columns that tell cases apart; `dials` holds all of them, as in "contacts=4 mu=0.3"."""

NAMED = ("q05", "q25", "q50", "q75", "q95")
assert len(NAMED) == len(QUANTILES)


def case_of(source: Source, formulation: str, solver: str, start: str) -> tuple[Any, ...]:
    """The entries of CASE."""
    dials = " ".join(f"{k}={v:g}" for k, v in source.dials.items())
    value = source.dials[source.swept] if source.swept else float("nan")
    return source.kind, source.name, source.part, source.swept, value, dials, formulation, solver, start


def summary(answers: Sequence[Answers], times: Sequence[Times] = ()) -> pd.DataFrame:
    """One row for each source, formulation, solver and start: see `gaussopt.comparison.metrics.Summary`."""
    import pandas as pd

    counts = ("exact", "steps", "open", "confirmed", "recognised", "claimed", "false_claims", "missed", "success",
              "correct")  # fmt: skip
    worst = ("worst_certified", "worst_error", "primal", "dual", "gap", "iterations", "most_iterations")
    rest = ("backend", "overhead", "timed", "repetitions", "refused", "failure")
    spread = ("certified", "error", "work")
    rows = [
        (*case_of(r.source, r.formulation, r.solver, r.start), *(getattr(r, k) for k in (*counts, *worst)),
         *chain.from_iterable(getattr(r, k) for k in spread), *(getattr(r, k) for k in rest))
        for r in metrics.summary(answers, times)
    ]  # fmt: skip
    columns = [*CASE, *counts, *worst, *(f"{k}_{q}" for k in spread for q in NAMED), *rest]
    return pd.DataFrame(rows, columns=columns)


def steps(answers: Sequence[Answers], times: Sequence[Times] = ()) -> pd.DataFrame:
    """One row for each answer; `work` is the median seconds at that step, NaN where it was not timed."""
    import pandas as pd

    lengths = [len(a.status) for a in answers]
    cases = [case_of(a.source, a.formulation, a.solver, a.start) for a in answers]
    columns: dict[str, Any] = {
        name: np.repeat(np.array([c[i] for c in cases], dtype=float if name == "value" else object), lengths)
        for i, name in enumerate(CASE)
    }
    columns["step"] = np.concatenate([np.zeros(0, dtype=int), *(np.arange(n) for n in lengths)])
    for name, kind in (("status", object), ("claim", object), ("certified", float), ("error", float),
                       ("primal", float), ("dual", float), ("gap", float), ("iterations", int)):  # fmt: skip
        columns[name] = np.array(list(chain.from_iterable(getattr(a, name) for a in answers)), dtype=kind)
    columns["confirmed"] = np.array(list(chain.from_iterable(a.confirmed for a in answers)), dtype=bool)
    columns["work"] = np.concatenate(
        [np.zeros(0), *(c.timed[:n] for c, n in zip(join(answers, times), lengths, strict=True))]
    )
    return pd.DataFrame(columns)


def times(records: Sequence[Times]) -> pd.DataFrame:
    """One row for each case and part of the time, quantiles in seconds over all steps and repetitions."""
    import pandas as pd

    rows = [
        (*case_of(t.source, t.formulation, t.solver, t.start), part, *t.parts[part], len(t.per_step), t.repetitions)
        for t in records
        for part in PARTS
    ]
    return pd.DataFrame(rows, columns=[*CASE, "part_of_time", *NAMED, "steps", "repetitions"])


def motions(records: Sequence[Motion]) -> pd.DataFrame:
    """One row for each trajectory."""
    import pandas as pd

    return pd.DataFrame([m.to_mapping() for m in records], columns=list(Motion.__dataclass_fields__))


def write(
    folder: Path, answers: Sequence[Answers], timed: Sequence[Times] = (), moved: Sequence[Motion] = ()
) -> list[Path]:
    """Write summary.csv, steps.csv, times.csv and motions.csv; tables without rows are left out.

    Raises
    ------
    BadInput
        If the folder cannot be written.
    """
    frames = {
        "summary": summary(answers, timed), "steps": steps(answers, timed), "times": times(timed),
        "motions": motions(moved),
    }  # fmt: skip
    written = []
    for name, frame in frames.items():
        if len(frame):
            write_text(folder / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
            written.append(folder / f"{name}.csv")
    return written
