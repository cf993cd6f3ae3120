"""Summary of the pairs of a comparison: formulation and solver, number of right answers, and times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gaussopt.comparison.records import STARTS, Answers, Times
from gaussopt.comparison.step_table import SEVERAL, base_of, label_of
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.plotting import dots
from gaussopt.plotting.figures import plain_figure

if TYPE_CHECKING:
    import pandas as pd

HEAD = ("steps of", "pair", "start", "confirmed", "steps", "median time / µs")

FORMS = ("markdown", "csv", "latex")


class PairRow(NamedTuple):
    """A pair's answers on the steps of one source; steps that have several solutions are left out.

    Times are the 5, 50 and 95 % quantiles of the solver's work, µs: of a re-solve or, if none was timed, of set-up
    and solve.
    """

    source: str
    pair: str
    solver: str
    start: str
    confirmed: int
    steps: int
    times: tuple[float, float, float]

    @property
    def cells(self) -> tuple[Any, ...]:
        """Cells of the pair's row in a table with the headings HEAD."""
        return self.source, self.pair, self.start, self.confirmed, self.steps, self.times[1]


def rows(answers: Sequence[Answers], times: Sequence[Times]) -> list[PairRow]:
    """Return a row for each pair that was not refused, on each source and with each kind of start."""
    nothing = (math.nan,) * 3
    work = {(t.source.key, t.formulation, t.solver, t.start): t.parts["work"] for t in times}
    found = []
    for a in (a for a in answers if not a.refused):
        known = work.get((a.source.key, a.formulation, a.solver, a.start))
        taken = nothing if known is None else (1e6 * known[0], 1e6 * known[2], 1e6 * known[4])
        pair = label_of(a.formulation, a.solver)
        steps = sum(status not in SEVERAL for status in a.status)
        found.append(PairRow(a.source.label, pair, a.solver, a.start, sum(a.confirmed), steps, taken))
    return found


def draw(found: Sequence[PairRow], source: str | None, start: str | None, onto: Any = plain_figure) -> list[Any]:
    """Draw the time of each pair on every source, or on one; return the axes, one per source.

    Raises UnknownName for an unknown source or start, and BadInput if nothing was timed or the number of given axes is
    not the number of sources.
    """
    timed = [row for row in found if row.times[1] > 0]
    if not timed:
        raise BadInput("No pair was timed, so there is nothing to draw.")
    if start is not None and start not in (starts := {row.start for row in timed}):
        raise UnknownName("start of these results", start, starts)
    last = {(row.source, row.pair): row for row in sorted(timed, key=lambda row: STARTS.index(row.start))}
    chosen = [row for row in timed if row.start == start] if start else list(last.values())
    sources = list(dict.fromkeys(row.source for row in timed))
    if source is not None and source not in sources:
        raise UnknownName("source of these results", source, sources)
    panels = {
        name: [
            dots.Dot(row.pair, base_of(row.solver), row.times, row.confirmed == row.steps)
            for row in chosen
            if row.source == name
        ]
        for name in ([source] if source else sources)
    }
    return dots.draw(panels, "time per step / µs", onto)


def text_of(frame: pd.DataFrame, form: str) -> str:
    """Format a table as Markdown, CSV or LaTeX; raises UnknownName for an unknown form."""
    if form == "csv":
        return frame.to_csv(index=False, lineterminator="\n")
    if form == "latex":
        return frame.to_latex(index=False, escape=True, float_format="%.4g")
    if form != "markdown":
        raise UnknownName("form of a table", form, FORMS)

    def cell(value: Any) -> str:
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        return text.replace("|", "\\|").replace("\n", " ")

    lines = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy(dtype=object).tolist()]
    return "".join(f"| {' | '.join(cell(x) for x in line)} |\n" for line in lines)
