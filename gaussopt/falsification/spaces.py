"""Spaces of examples that are described by numbers in [-1, 1], for random draws and for optimisers alike.

Every space decodes the numbers into the arrays of an example, by functions of `gaussopt.papers.evidence`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.falsification.exact_sliding import Sliding
from gaussopt.falsification.example import Example, Numbers
from gaussopt.lcp import classify_matrix
from gaussopt.linalg.rational import independent, leading_minors, principal_minors, solve
from gaussopt.papers.evidence import contact_problems, random_steps
from gaussopt.papers.p001_friction.contact_samples import hinged_bars

Size = tuple[int, ...]

ASSUMPTIONS = {
    "positive-definite": "the symmetric part of the contact operator A is positive definite",
    "symmetric": "the contact operator A is symmetric",
    "p-matrix": "the contact operator A is a P-matrix",
    "one-contact": "there is one contact",
    "sticking": "impulses inside the friction cones bring all contacts to rest",
}
"""The assumptions by name, each described in words."""

SKEWS = 3.0
"""Largest norm of the skew part of a drawn contact operator, whose symmetric part has norm 1."""


class Space(ABC):
    """Examples of one kind.

    Attributes
    ----------
    kind : kind of its examples
    symbol : symbol of the vector that is compared
    sizes : the sizes that are searched, in increasing order
    size_words : by entry of a size, the word for what it counts, such as "contacts"
    given : names of the assumptions
    always : properties of all its examples, in words
    """

    kind: str
    symbol: str
    sizes: Sequence[Size]
    size_words: tuple[str, ...]
    always: tuple[str, ...] = ()

    def __init__(self, given: Sequence[str]) -> None:
        self.given = tuple(given)

    @abstractmethod
    def count(self, size: Size) -> int:
        """Return how many numbers describe an example."""

    @abstractmethod
    def decode(self, size: Size, x: Vector) -> Numbers | None:
        """Return the arrays that numbers in [-1, 1] describe, or None if they violate an assumption."""

    def decoded(self, size: Size, points: Matrix) -> Iterator[Numbers | None]:
        """Decode each row of `points` into an example; a subclass may decode all rows at once, which is faster."""
        return (self.decode(size, x) for x in points)

    def example(self, size: Size, x: Vector) -> Example | None:
        """Return the example that the numbers x describe."""
        numbers = self.decode(size, x)
        return None if numbers is None else Example.of(self.kind, numbers)

    def allows(self, example: Example) -> bool:
        """Return whether an example satisfies the assumptions, in exact arithmetic."""
        return True

    def simpler(self, example: Example) -> Iterator[Example]:
        """Yield examples that are simpler than this one."""
        return example.simpler()

    def pictures(self, example: Example, answers: Mapping[str, Any]) -> dict[str, str]:
        """Return SVG pictures of the example, one with each answer, if the example is a mechanism that can be drawn."""
        return {}

    def words(self, size: Size) -> str:
        """Describe a size in words."""
        return ", ".join(f"{n} {word}" for n, word in zip(size, self.size_words, strict=True))


def _classes_hold(given: Sequence[str], A: Any) -> bool:
    """Return whether A, a matrix of fractions, belongs to the classes in `given`."""
    if "symmetric" in given and (A != A.T).any():
        return False
    if "positive-definite" in given and min(leading_minors((A + A.T) / 2)) <= 0:
        return False
    return "p-matrix" not in given or min(principal_minors(A)) > 0


class LCPs(Space):
    """Contact operators A and gap accelerations b of sliding contacts."""

    kind, symbol = "lcp", "z"
    sizes: Sequence[Size] = ((1,), (2,), (3,))
    size_words = ("contacts",)

    def count(self, size: Size) -> int:
        return 2 * size[0] ** 2 + size[0] + 1

    def decode(self, size: Size, x: Vector) -> Numbers | None:
        return next(self.decoded(size, x[None]))

    def decoded(self, size: Size, points: Matrix) -> Iterator[Numbers | None]:
        (k,) = size
        X, Y = points[:, : 2 * k * k].reshape(-1, 2, k, k).swapaxes(0, 1)
        skew = 0.0 if "symmetric" in self.given else SKEWS * np.abs(points[:, -1, None, None])
        any_p_matrix = "p-matrix" in self.given and "positive-definite" not in self.given
        stack = Y + np.abs(X) * np.eye(k) if any_p_matrix else contact_problems.definite_from(X, Y, skew)
        for A, x in zip(stack, points, strict=True):
            if any_p_matrix and not classify_matrix(A).p_matrix:
                yield None
            else:
                yield {"M": A, "q": x[2 * k * k : -1]}

    def allows(self, example: Example) -> bool:
        return _classes_hold(self.given, example.arrays["M"])


class SlidingSteps(Space):
    """Steps of hinged bars whose contacts all slide."""

    kind, symbol = "step", "lam_N"
    sizes: Sequence[Size] = ((1, 1), (2, 1), (1, 2), (2, 2), (3, 3))
    size_words = ("bars", "contacts")

    def count(self, size: Size) -> int:
        return 7 * size[0] + 3 * size[1]

    def decode(self, size: Size, x: Vector) -> Numbers | None:
        bars, k = size
        lengths, masses, angles, spins, loads, rest = np.split(x, np.cumsum([bars, bars, bars, bars, 3 * bars]))
        place, friction, sign = rest.reshape(3, 1, k)
        drawn = hinged_bars(
            2.0 ** lengths[None], 2.0 ** masses[None], np.pi * angles[None], 2.0 * spins[None], 0.5 * place,
            20.0 * loads.reshape(1, bars, 3), 1.0 + friction, np.where(sign > 0, 1.0, -1.0),
        )  # fmt: skip
        if not ({"p-matrix"} & set(self.given)) and not contact_problems.definite(drawn.A)[0]:
            return None
        return {
            "M": drawn.M[0], "Q": drawn.force[0], "J": drawn.J[0], "gamma": drawn.gamma[0], "J_N": drawn.J_N[0],
            "zeta_N": drawn.zeta_N[0], "J_T": drawn.friction[0], "v_T": -np.ones(k), "mu": np.ones(k),
        }  # fmt: skip

    def allows(self, example: Example) -> bool:
        of = Sliding.of(example)
        return of is not None and _classes_hold(self.given, of.A)


class Impacts(SlidingSteps):
    """Impacts of hinged bars with contacts in the plane, at least one of which approaches."""

    symbol = "r"
    sizes: Sequence[Size] = ((1, 1), (1, 2))

    def count(self, size: Size) -> int:
        return super().count(size) + 3 * size[0] + size[1]

    def decode(self, size: Size, x: Vector) -> Numbers | None:
        bars, k = size
        plain = super().count(size)
        found = super().decode(size, x[:plain])
        if found is None:
            return None
        kept = {name: found[name] for name in ("M", "J_N", "J_T", "mu")}
        v, e = np.split(x[plain:], [3 * bars])
        kept |= {"Q": np.zeros(3 * bars), "zeta_N": np.zeros(k), "v": v, "e_N": 0.5 + 0.5 * e}
        return kept if (kept["J_N"] @ kept["v"] < 0).any() else None

    def allows(self, example: Example) -> bool:
        arrays = example.arrays
        return "e_N" in arrays and "v" in arrays and all(0 <= e <= 1 for e in arrays["e_N"])


class BilateralSteps(Space):
    """Steps without contacts; if `singular` is set, half of the draws have a singular mass matrix."""

    kind, symbol = "step", "a"
    sizes: Sequence[Size] = ((2, 1), (3, 1), (3, 2), (4, 2))
    size_words = ("coordinates", "rows")
    always = ("M is symmetric positive definite", "the rows of J are independent")
    singular = False

    def count(self, size: Size) -> int:
        n, m = size
        return max(random_steps.entries(n, m), random_steps.Size(n, n - 1, m).numbers) + 1

    def decode(self, size: Size, x: Vector) -> Numbers | None:
        return next(self.decoded(size, x[None]))

    def decoded(self, size: Size, points: Matrix) -> Iterator[Numbers | None]:
        n, m = size
        stacks = random_steps.arrays_of(points[:, : random_steps.entries(n, m)], n, m, 1e2, 1e1)
        for x, M, Q, h, J, gamma in zip(points, *stacks, strict=True):
            yield self._singular(size, x) or {"M": M, "Q": Q - h, "J": J, "gamma": gamma}

    def _singular(self, size: Size, x: Vector) -> Numbers | None:
        """Return a step with a singular mass matrix if the last entry of x is positive, else None."""
        if not self.singular or x[-1] <= 0:
            return None
        shape = random_steps.Size(size[0], size[0] - 1, size[1])
        step = random_steps.singular_step(x[: shape.numbers], shape, outside=float(x[-1]))
        return {"M": step.M, "Q": step.force, "J": step.J, "gamma": step.gamma}

    def allows(self, example: Example) -> bool:
        M = example.arrays["M"]
        J = example.arrays.get("J")
        if J is not None and len(independent(J.T)) < len(J):
            return False
        return min(principal_minors(M)) >= 0 if self.singular else min(leading_minors(M)) > 0


class SingularSteps(BilateralSteps):
    """Steps without contacts, half of which have a singular mass matrix."""

    always = ("M is symmetric positive semidefinite", "the rows of J are independent")
    singular = True


class ConeProblems(Space):
    """Contact problems in space with a positive definite W."""

    kind, symbol = "contact", "r"
    always = ("W is symmetric positive definite",)
    sizes: Sequence[Size] = ((1,), (2,))
    size_words = ("contacts",)

    def count(self, size: Size) -> int:
        n = 3 * size[0]
        return n * n + n + size[0]

    def decode(self, size: Size, x: Vector) -> Numbers | None:
        n = 3 * size[0]
        X = x[: n * n].reshape(1, n, n)
        W = contact_problems.definite_from(X, 0 * X, 0.0)[0]
        q = x[n * n : n * n + n]
        if "sticking" in self.given:  # impulses r, drawn inside the cones, bring the bodies to rest if q = -W r
            mu = 0.55 + 0.45 * x[n * n + n :]
            q = q.reshape(-1, 3).copy()
            q[:, 0] = 1.0 + 0.5 * q[:, 0]
            q[:, 1:] *= 0.7 * (mu * q[:, 0])[:, None]
            return {"W": W, "q": -W @ q.ravel(), "mu": mu}
        return {"W": W, "q": q, "mu": 0.55 + 0.45 * x[n * n + n :]}

    def allows(self, example: Example) -> bool:
        W, q, mu = (example.arrays[name] for name in ("W", "q", "mu"))
        if min(leading_minors(W)) <= 0 or min(mu) < 0:
            return False
        r = solve(W, -q) if "sticking" in self.given else None
        return r is None or all(
            r[3 * i] >= 0 and r[3 * i + 1] ** 2 + r[3 * i + 2] ** 2 <= (m * r[3 * i]) ** 2 for i, m in enumerate(mu)
        )
