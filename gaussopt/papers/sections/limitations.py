"""Known limitations of the report."""

from __future__ import annotations

from gaussopt.reporting.document import Items, Section

KNOWN = (
    "The figures of the papers were not available, so no curve is compared with a printed one; statements are about "
    "formulas, numbers and sentences of the papers, and about what follows from them.",
    "Paper 000 does not print the inertias, paper 001 neither the parameters of the rod nor the force on the two bars, "
    "paper 002 neither start velocities nor settings of the genetic algorithm, paper 004 no parameters at all, and "
    "none a value of g. The tables of parameters mark what is our choice; verdicts that depend on it say so.",
    "The genetic algorithms are ours. A better one would err less; the section on it says with what effort ours was "
    "run.",
    "A search that refutes nothing proves nothing beyond what it covered. What is true without conditions rests on the "
    "derivation beside it.",
    "Times are of one machine, of Python, and of small dense steps, where adapters and memory count as much as "
    "algorithms. Ratios below 1.1 are called none.",
    "Certificates are exact up to a rounding floor that they state; below it answers cannot be ranked.",
    "Solutions of contact steps are counted by enumerating contact modes, up to twelve contacts; beyond, uniqueness is "
    "decided only where a matrix class proves it.",
    "Impacts follow Newton's or Poisson's law with Coulomb friction after the impact; in a state of Painlevé's paradox "
    "without a solution a motion ends, since the source has no law for it.",
)


def section() -> Section:
    """Known limitations."""
    return Section("limitations", "Known limitations", (Items(KNOWN),))
