"""Differences between two comparisons of the same steps: which pairs became right or wrong, faster or slower.

Answers are the same bit for bit in every run, so a single step that becomes right or wrong is a change. Times vary from
run to run, and a change of time counts only if it exceeds the noise:

- The time of a step is the median over its repetitions. The factor of a step is its new time divided by its old time,
  and the factor of a pair is the median over its steps. The interval of a pair, with confidence CONFIDENCE, comes from
  the sign test, which assumes no distribution (`scipy.stats.quantile_test`). With fewer than FEWEST steps, too few for
  that confidence, it is the range of the factors of the steps, widened to cover the quartiles of the repetitions.
- The machine may be faster in one run than in the other. The controls of a source are its pairs whose code and packages
  have not changed: the median of their factors is the pace, by which all factors are divided, and the largest
  deviation of a control from the pace is the noise between runs.
- A pair is faster or slower if its whole interval lies beyond the noise, which is at least NOISE, or ALONE if there are
  no controls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gaussopt.comparison.merging import parts_of
from gaussopt.comparison.records import SourceKey, machine_of
from gaussopt.comparison.results import Results
from gaussopt.comparison.solver_spec import registered_name
from gaussopt.comparison.step_table import TimedAnswers, as_used, join, label_of
from gaussopt.comparison.warm_starts import NOISE
from gaussopt.core.display import gathered
from gaussopt.core.errors import BadInput
from gaussopt.processes.environment import difference

CONFIDENCE = 0.99
FEWEST = 8
ALONE = 1.5
"""Factor by which times are assumed to vary by noise if there are no controls to measure it."""


@dataclass(frozen=True, slots=True)
class PairChange:
    """The change of a pair of formulation and solver on one source, over all kinds of start.

    Attributes
    ----------
    changed : how code and packages of the pair differ from before, in words; "" if they are the same
    gained, lost : number of steps that became right, and of steps that became wrong
    false_before, false_after : number of claims, "solved" or "ill-posed", that the certificate does not confirm
    factor, low, high : new time divided by old time, corrected for the machine's pace, and its interval; None
        where the pair was not timed in both comparisons
    noise : factor up to which two times count as equal
    timed : number of steps that were timed in both comparisons
    """

    source: str
    formulation: str
    solver: str
    changed: str
    gained: int
    lost: int
    false_before: int
    false_after: int
    factor: float | None = None
    low: float | None = None
    high: float | None = None
    noise: float = NOISE
    timed: int = 0

    @property
    def label(self) -> str:
        """Formulation, solver and source."""
        return f"{label_of(self.formulation, self.solver)} on {self.source}"

    @property
    def speed(self) -> str:
        """The new speed: "faster", "slower" or "same" (within noise); "" if code is unchanged or times are unknown."""
        if not self.changed or self.factor is None or self.low is None or self.high is None:
            return ""
        return "faster" if self.high < 1 / self.noise else "slower" if self.low > self.noise else "same"

    @property
    def worse(self) -> bool:
        """Whether the pair lost right answers, or makes more false claims, or became slower beyond the noise."""
        return self.lost > 0 or self.false_after > self.false_before or self.speed == "slower"


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences between a comparison and an earlier one.

    Attributes
    ----------
    pairs : changes of the pairs that both comparisons ran on the same source
    pace : by source, median ratio of new to old time over the pairs with unchanged code; no entry without such pairs
    absent : labels of the pairs that only one comparison has, or that have different numbers of steps in the two
    refused : for each pair that answered before and is refused now, by label, the reason
    unlike : number of pairs, counted on each source, whose times are not compared because the machines differ
    """

    pairs: tuple[PairChange, ...]
    pace: Mapping[str, float]
    absent: tuple[str, ...]
    refused: Mapping[str, str]
    unlike: int = 0

    @property
    def worse(self) -> bool:
        """Whether any pair is worse than before."""
        return bool(self.worse_pairs)

    @property
    def worse_pairs(self) -> list[str]:
        """Descriptions of the pairs whose results became worse, and of those that are refused now."""
        return [*(p.label for p in self.pairs if p.worse), *self.refused]

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        rows = [{**asdict(p), "speed": p.speed, "worse": p.worse} for p in self.pairs]
        return {
            "worse": self.worse, "pairs": rows, "pace": dict(self.pace), "absent": list(self.absent),
            "refused": dict(self.refused), "unlike": self.unlike,
        }  # fmt: skip


def changes(old: Results, new: Results) -> Changes:
    """Compare two comparisons; raises BadInput if their settings differ or they have nothing in common to compare.

    If the earlier comparison is merged, its part from the machine of the new comparison is used or, if it has none,
    its first part. Times of different machines are not compared.
    """
    if "machines" in new.meta:
        raise BadInput("The later comparison is merged of several; compare one of them with what was before.")
    before, at = list(parts_of(old).values()), {machine_of(t.made) for t in new.times if t.made}
    old = next((part for part in before if any(machine_of(t.made) in at for t in part.times)), before[0])
    for name in ("tolerance", "time_budget"):
        then, now = old.meta.get(name), new.meta.get(name)
        if then != now:
            raise BadInput(f"The {name.replace('_', ' ')} was {then} then and is {now} now; compare with the same one.")
    there, here = _cases(old), _cases(new)
    common = [key for key in here if key in there and _steps(there[key]) == _steps(here[key])]
    refused = _refused(there, here, new)
    if not common and not refused:
        raise BadInput("The two comparisons have no pair with the same steps in common; ask for the same sources.")
    clocked = {key: [c.times.made for c in (*there[key], *here[key]) if c.times and c.times.made] for key in common}
    unlike = {key for key, made in clocked.items() if len(set(map(machine_of, made))) > 1}
    clocks = {key: None if key in unlike else _clock(there[key], here[key]) for key in common}
    changed = {key: _why(old, new, key) for key in common}
    pairs, pace = [], {}
    for source in dict.fromkeys(key[0] for key in common):
        own = [key for key in common if key[0] == source]
        controls = [c[0] for key in own if not changed[key] and (c := clocks[key])]
        label = here[own[0]][0].source.label
        middle = float(np.median(controls)) if controls else 1.0
        if controls:
            pace[label] = middle
        noise = max((NOISE, *(max(c / middle, middle / c) for c in controls))) if controls else ALONE
        for key in own:
            clock = clocks[key]
            factor, low, high = (None, None, None) if clock is None else (x / middle for x in clock[:3])
            counts, timed = _counts(there[key], here[key]), 0 if clock is None else clock[3]
            pairs.append(PairChange(label, key[1], key[2], changed[key], *counts, factor, low, high, noise, timed))
    absent = [_words(key, there | here) for key in {**there, **here} if key not in common and key not in refused]
    gone = {_words(key, there): why for key, why in refused.items()}
    return Changes(tuple(pairs), pace, tuple(absent), gone, len(unlike))


Key = tuple[SourceKey, str, str]


def _cases(results: Results) -> dict[Key, list[TimedAnswers]]:
    """Return the cases of each pair on each source, one for each kind of start, without refusals."""
    asked = (case for case in join(results.answers, results.times) if not case.answers.refused)
    return gathered(asked, lambda case: (case.source.key, *case.pair))


def _words(key: Key, cases: Mapping[Key, Sequence[TimedAnswers]]) -> str:
    return f"{label_of(key[1], key[2])} on {cases[key][0].source.label}"


def _refused(there: Iterable[Key], here: Mapping[Key, Any], new: Results) -> dict[Key, str]:
    """Return why pairs that answered before are refused now; a refused formulation refuses all its pairs."""
    why = {(a.source.name, a.formulation, a.solver): a.refused for a in new.answers if a.refused}
    found = {}
    for key in there:
        source, formulation, solver = key
        name = source[1]
        reason = why.get((name, formulation, solver)) or why.get((name, formulation, ""))
        if reason and key not in here:
            found[key] = reason
    return found


def _steps(cases: Iterable[TimedAnswers]) -> list[tuple[str, int]]:
    return sorted((c.answers.start, c.steps) for c in cases)


def _why(old: Results, new: Results, key: Key) -> str:
    """Describe how the code and the packages of a pair differ between the comparisons; "" if they do not."""
    _, formulation, solver = key
    said = []
    for part in (f"solver {registered_name(solver)}", *([f"formulation {formulation}"] if formulation else [])):
        before, now = (r.meta.get("code", {}).get(part) for r in (old, new))
        said.append(difference(now, before) if before and now else "code that is not on record")
    return "; ".join(dict.fromkeys(s for s in said if s))


def _counts(old: Iterable[TimedAnswers], new: Iterable[TimedAnswers]) -> tuple[int, int, int, int]:
    """Count the steps whose answers have become right, those that no longer are, and false claims before and after."""
    before, after = ({c.answers.start: c for c in cases} for cases in (old, new))
    gained = sum(int((after[s]["right"] & ~before[s]["right"]).sum()) for s in before)
    lost = sum(int((before[s]["right"] & ~after[s]["right"]).sum()) for s in before)
    false = [sum(int((c["false"] & c["own"]).sum()) for c in of.values()) for of in (before, after)]
    return gained, lost, false[0], false[1]


def _clock(old: Iterable[TimedAnswers], new: Iterable[TimedAnswers]) -> tuple[float, float, float, int] | None:
    """Return the median ratio of new to old step times, the interval of this median, and the number of steps."""
    (before,), (after,) = as_used(old), as_used(new)
    if before.times is None or after.times is None:
        return None
    both = min(len(before.times.per_step), len(after.times.per_step))
    ratios = np.array(after.times.per_step[:both]) / np.array(before.times.per_step[:both])
    ratios = ratios[np.isfinite(ratios)]
    timed = len(ratios)
    if not timed:
        return None
    middle = float(np.median(ratios))
    if timed < FEWEST:
        then, now = before.times.parts["work"], after.times.parts["work"]
        return middle, min(*ratios, now[1] / then[3]), max(*ratios, now[3] / then[1]), timed
    from scipy.stats import quantile_test  # a slow import, needed only for an earlier comparison

    result: Any = quantile_test(ratios)
    interval = result.confidence_interval(CONFIDENCE)
    return middle, float(interval.low), float(interval.high), timed


def sentences(found: Changes) -> list[str]:
    """Describe the changes in sentences for the user."""
    lines = [f"Changed since then: {why}." for why in dict.fromkeys(p.changed for p in found.pairs if p.changed)]
    if not lines:
        lines = ["Every pair has the code and the packages that it had then."]
    for p in found.pairs:
        if p.gained or p.lost:
            lines.append(f"{p.label}: {p.gained} steps became right, {p.lost} became wrong, over all kinds of start.")
        if p.false_after != p.false_before:
            lines.append(f"{p.label}: {p.false_after} false claims, {p.false_before} before.")
        if p.speed in ("faster", "slower"):
            span = f"{CONFIDENCE:.0%} interval" if p.timed >= FEWEST else f"range over {p.timed} steps"
            lines.append(
                f"{p.label} is {p.speed}: a step takes {p.factor:.3g} of its earlier time ({span} "
                f"{p.low:.3g} to {p.high:.3g}; factors up to {p.noise:.3g} are noise)."
            )
    lines += [f"{pair} answered then and is refused now: {why.rstrip('.')}." for pair, why in found.refused.items()]
    within = sum(p.speed == "same" for p in found.pairs)
    if within:
        lines.append(
            f"Changed pairs as fast as then, up to the noise: {within}, each counted on each sequence of steps."
        )
    if found.pairs and not any(p.gained or p.lost or p.false_after != p.false_before for p in found.pairs):
        lines.append("Every pair that answered in both is right on the same steps as before.")
    for source, pace in found.pace.items() if any(p.speed for p in found.pairs) else ():
        lines.append(
            f"On {source}, pairs that did not change took {pace:.3g} times as long as then, which is the machine; the "
            "factors are corrected by that."
        )
    if found.unlike:
        lines.append(f"Not compared are times that were taken on another machine than then: {found.unlike} pairs.")
    if found.absent:
        lines.append(f"Not in both comparisons with the same steps: {', '.join(found.absent)}.")
    return lines
