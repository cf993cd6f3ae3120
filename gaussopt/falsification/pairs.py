"""The space of examples in which two formulations are compared, and proofs that their answers differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gaussopt.contact.impact_laws import LAWS
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.falsification import exact_bilateral, exact_contact, exact_sliding
from gaussopt.falsification.answers import FloatAnswer, Given, answerer, name_of, takes_lcp
from gaussopt.falsification.exact_bilateral import Bilateral
from gaussopt.falsification.exact_sliding import Sliding
from gaussopt.falsification.example import Example, vector
from gaussopt.falsification.mechanisms import MechanismSteps
from gaussopt.falsification.proved import Proved, parting_line
from gaussopt.falsification.search import DIFFERENT, Proof
from gaussopt.falsification.spaces import (
    ASSUMPTIONS,
    BilateralSteps,
    ConeProblems,
    Impacts,
    LCPs,
    SingularSteps,
    SlidingSteps,
    Space,
)
from gaussopt.linalg.rational import Exact, exact
from gaussopt.modelling.family import Family
from gaussopt.modelling.problem import Problem
from gaussopt.relaxations import is_contact_formulation

EQUIVALENT = {
    frozenset(("gauss", "lagrange")): "Gauss's principle of 1829: where [M; J] has full column rank and the rows are "
    "independent, the optimality conditions of the program are Lagrange's equations (docs/gauss-principle.md).",
    frozenset(("least-squares", "udwadia-kalaba")): "Both are the minimiser of |a - M^-1 F|_M subject to J a = gamma "
    "(Udwadia & Kalaba 1992; Yuan & Ge 2016, eq. (14), with the Moore-Penrose inverse of the product).",
    frozenset(("lcp", "lcp-qp")): "Cottle, Pang & Stone, The Linear Complementarity Problem, section 3.1: the minimum "
    "of z^T (A z + b) over z >= 0, A z + b >= 0 is 0 exactly where the LCP has a solution, and is attained there.",
}  # fmt: skip
"""Proofs of equivalence, by the pair of names."""

MOST_UNKNOWNS = 40
"""Largest sum of contacts, rows and coordinates for which a difference is proved."""

CLASSES = ("positive-definite", "symmetric", "p-matrix")
"""Names of assumptions about the contact operator A of sliding contacts."""


def space_of(a: Given, b: Given, given: Sequence[Any]) -> Space:
    """Return the space in which two formulations are compared.

    `given` holds names of assumptions, and perhaps a problem or a family. Raises BadInput and UnknownName.
    """
    sources = [g for g in given if isinstance(g, Problem | Family)]
    assumed = [g for g in given if not isinstance(g, Problem | Family)]
    for name in assumed:
        if name not in ASSUMPTIONS:
            raise UnknownName("assumption", str(name), ASSUMPTIONS)
    if len(sources) > 1:
        raise BadInput("Give one problem or one family whose steps are searched, not several.")
    space = MechanismSteps(sources[0], assumed) if sources else _plain(a, b, assumed)
    misplaced = [name for name in assumed if name not in _of(space)]
    if misplaced:
        raise BadInput(
            f"The assumption {misplaced[0]!r} ({ASSUMPTIONS[misplaced[0]]}) says nothing of the examples that "
            f"{name_of(a)} and {name_of(b)} are compared on."
        )
    if "one-contact" in assumed:
        space.sizes = [size for size in space.sizes if size[-1] == 1]
    return space


def _of(space: Space) -> tuple[str, ...]:
    """Return the names of the assumptions that can be made about the examples of a space."""
    if isinstance(space, ConeProblems):
        return ("one-contact", "sticking")
    if isinstance(space, Impacts):
        return ("one-contact",)
    return (*CLASSES, "one-contact") if isinstance(space, LCPs | SlidingSteps) else ()


def _plain(a: Given, b: Given, assumed: Sequence[str]) -> Space:
    names = [g for g in (a, b) if isinstance(g, str)]
    if {"newton", "poisson"} & set(names):
        return Impacts(assumed)
    if not names:
        return LCPs(assumed) if set(assumed) & set(CLASSES) else ConeProblems(assumed)
    if all(map(is_contact_formulation, names)):
        return ConeProblems(assumed)
    sliding = [*assumed, *(() if set(assumed) & set(CLASSES) else ("positive-definite",))]
    if all(map(takes_lcp, names)):
        return LCPs(sliding)
    if set(names) <= set(exact_bilateral.ANSWERS):
        return SingularSteps(assumed) if "pinv-mass-as-printed" in names else BilateralSteps(assumed)
    return SlidingSteps(sliding)


class ComparedPair:
    """Two formulations, to be compared on the examples of a space."""

    def __init__(self, a: Given, b: Given, space: Space) -> None:
        """Look up both formulations; raises UnknownName and BadInput."""
        for name in (g for g in (a, b) if isinstance(g, str)):
            if (name in LAWS) != isinstance(space, Impacts) or (name == "none"):
                raise BadInput(f"{name!r} cannot be compared here; impact laws are compared with each other.")
        self.names, self.given, self.space = (name_of(a), name_of(b)), (a, b), space
        self.answers: tuple[FloatAnswer, FloatAnswer] = (answerer(a, space.kind), answerer(b, space.kind))

    def exact_difference(self, example: Example) -> float | None:
        """Return the relative difference of the exact answers.

        It is infinite where one formulation is proved to have no answer, None where an exact answer is not known.
        """
        found = [self._answer(number, example) for number in (0, 1)]
        if found[0] is None or found[1] is None:
            return None
        x, y = found[0].point, found[1].point
        if x is None or y is None:
            return 0.0 if x is y else np.inf
        size = max(map(abs, (*x, *y)), default=0)
        return float(max(abs(i - j) for i, j in zip(x, y, strict=True)) / size) if size else 0.0

    def prove(self, example: Example) -> Proof | None:
        """Return the proof that the answers differ on an example, or None.

        Large examples are not proved: the numerators and denominators of their answers become too long.
        """
        if sum(map(example.size, "kmn")) > MOST_UNKNOWNS:
            return None
        found = [self._answer(number, example) for number in (0, 1)]
        if found[0] is None or found[1] is None:
            return self._by_violation(example, found)
        first, second = found[0], found[1]
        if first.point == second.point:
            return None
        if None in (first.point, second.point) and not any(first.point or second.point or ()):
            return None  # "no answer" instead of zero forces is no meaningful difference
        if example.kind == "contact" and "coulomb-soccp" in self.names:
            return self._by_violation(example, found)  # both answers may obey Coulomb's law
        if not (first.unique or second.unique):
            return None
        last = parting_line(*self.names, (first, second), self.space.symbol)
        return self._proof(example, first, second, last)

    def _answer(self, number: int, example: Example) -> Proved | None:
        name, given = self.names[number], self.given[number]
        if not isinstance(given, str):
            return self._returned(number, example)
        if example.kind == "contact":
            near = self.answers[number](example.numbers)
            known = exact_contact.CONES.get(name)
            return None if near is None or known is None else known(example, near)
        if name in LAWS:
            return exact_contact.IMPACTS[name](example)
        if "J_N" in example.arrays or example.kind == "lcp":
            contacts = Sliding.of(example)
            solve = exact_sliding.ANSWERS.get(name)
            return None if contacts is None or solve is None else solve(contacts)
        rows = Bilateral.of(example)
        solve_rows = exact_bilateral.ANSWERS.get(name)
        return None if rows is None or solve_rows is None else solve_rows(rows)

    def _returned(self, number: int, example: Example) -> Proved | None:
        """Return the answer of the user's function, with its floats converted exactly to fractions."""
        found = self.answers[number](example.numbers)
        name, symbol = self.names[number], self.space.symbol
        if found is None:
            return Proved(None, f"{name} returns no answer.")
        point = exact(found).tolist()
        near = vector(f"{x:.6g}" for x in found)
        return Proved(point, f"{name} returns {symbol} = {near}.", {symbol: point})

    def _by_violation(self, example: Example, found: Sequence[Proved | None]) -> Proof | None:
        """Prove that the answer of one formulation violates Coulomb's law, which the other formulation states."""
        for law, other in ((0, 1), (1, 0)):
            answer = found[other]
            if self.names[law] != "coulomb-soccp" or answer is None or answer.point is None:
                continue
            broken = exact_contact.breaks_coulomb(example, answer.point)
            near = self.answers[law](example.numbers)
            if broken is None or near is None:
                return None
            stated = found[law] or Proved(
                None, f"{self.names[law]} asks for Coulomb's law, which r = {vector(f'{x:.6g}' for x in near)} obeys "
                "to rounding.",
            )  # fmt: skip
            pair = (stated, answer) if law == 0 else (answer, stated)
            return self._proof(example, *pair, f"The answer of {self.names[other]} breaks Coulomb's law: {broken}.")
        return None

    def _proof(self, example: Example, first: Proved, second: Proved, last: str) -> Proof | None:
        if any(callable(g) for g in self.given):  # a difference within rounding errors does not count
            x, y = (answer(example.numbers) for answer in self.answers)
            if x is not None and y is not None:
                size = max(float(np.abs(x).max()), float(np.abs(y).max()))
                if float(np.abs(x - y).max()) <= DIFFERENT * size:
                    return None
                i = int(np.argmax(np.abs(x - y)))
                last = f"Their entries {self.space.symbol}_{i + 1} differ by {abs(x[i] - y[i]):.6g}."
        lines = (f"{self.names[0]}: {first.line}", f"{self.names[1]}: {second.line}", last)
        numbers = {name: dict(of.numbers) for name, of in zip(self.names, (first, second), strict=True)}
        return Proof(lines, {**numbers, "data": derived(example)}, not any(map(callable, self.given)))


def derived(example: Example) -> dict[str, Exact]:
    """Return the arrays A, A_0, C, b and ell, which proofs on sliding contacts quote; empty for other examples."""
    if example.kind != "step" or ("zeta_N" not in example.arrays and "J_N" not in example.arrays):
        return {}
    if "e_N" in example.arrays:
        return {}
    of = Sliding.of(example)
    if of is None or of.friction is None or of.pull is None:
        return {}
    return {"A": of.A, "A_0": of.A - of.friction, "C": of.friction, "b": of.b, "ell": of.pull}
