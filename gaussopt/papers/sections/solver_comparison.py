"""Compare the solvers on the problems of the papers: correctness, speed, and time against accuracy."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

from gaussopt.comparison.compare import compare
from gaussopt.comparison.pairing import installed_solvers
from gaussopt.comparison.results import Results
from gaussopt.comparison.sources import problem_specs
from gaussopt.comparison.spec import Spec
from gaussopt.modelling.problem import problem
from gaussopt.reporting.document import Items, Section
from gaussopt.reporting.sections.comparison import document
from gaussopt.reporting.texts import Texts

ANCHOR = "solvers"

SMOOTH = ("gauss", "lagrange", "null-space", "udwadia-kalaba")
CONTACTS = ("lcp", "lcp-qp", "stick-slip")
WIDEST = ("gauss", "lcp-qp")
"""The formulations that most solvers accept, for which accuracy against time is measured."""

PROBLEMS = {"crank-slider": 1, "four-bar": 1, "knife-edge-body": 1, "sliding-rod": 3, "two-bar": 2}
"""Number of reference motions used of each problem; without contacts one suffices, as all steps are alike."""

SHOWN = ("right", "fast", "precision", "warm")
"""Sections of the comparison that this report shows; claims and refusals are left to the comparison's own report."""


def results(quick: bool, executor: Executor, progress: Callable[[float], None] | None = None) -> Results:
    """Compare all installed deterministic solvers on a few steps of each problem.

    With `quick`, each problem has one reference, formulations and steps are fewer, and measurements get less time.
    """
    sources: list[Spec] = []
    for name, count in PROBLEMS.items():
        sources += problem_specs(problem(name), 200 if quick else 50)[: 1 if quick else count]
    return compare(
        sources, WIDEST if quick else (*SMOOTH, *CONTACTS), solvers(quick), precision=WIDEST,
        motions=False, time_budget=0.002 if quick else 0.02, executor=executor, progress=progress,
    )  # fmt: skip


def solvers(quick: bool) -> list[str]:
    """Return the names of the solvers to compare; a quick run omits variants of the same method."""
    found = installed_solvers(stochastic=False)
    return [s for s in found if s in FEW] if quick else found


FEW = ("kkt", "osqp", "newton", "daqp", "clarabel", "lemke")


def section(found: Results) -> Section:
    """Return the part of the report on solvers."""
    page = document(found)
    parts = tuple(s for s in page.sections if s.anchor in SHOWN)
    reading = tuple(b for s in page.sections if s.anchor == "reading" for b in s.blocks)
    broken = tuple(f"{case}: {why}" for case, why in found.failures.items())
    blocks = (*Texts(__file__).blocks("lead"), *reading, *((Items(broken),) if broken else ()))
    return Section(ANCHOR, "Solvers compared", blocks, parts)
