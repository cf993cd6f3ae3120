"""Programs of a campaign from a seed: what all kinds share, and steps without contacts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Data = dict[str, Any]
Maker = Callable[[np.random.Generator], Data]
Change = Callable[[np.random.Generator, Data], Data]
GAPS = (1.0, 1e-3, 1e-6, 1e-9, 1e-12, 2.0**-52)
"""Relative sizes of contradictions: by a lot and by a little."""


@dataclass(frozen=True)
class Program:
    """One program: the contents of its file, without arrays, and where it comes from."""

    kind: str
    family: str
    data: Data
    index: int


def changed(change: Change) -> Callable[[Maker], Maker]:
    """Make of a change of a program, which may draw numbers, a function from makers to makers."""
    return lambda make: lambda rng: change(rng, make(rng))


def spans(rng: np.random.Generator) -> int:
    """Draw the largest power of two of a change of units."""
    return int(rng.choice([4, 12, 24, 40]))


def unit(rng: np.random.Generator, span: int, share: float = 1.0) -> float:
    """Draw a power of two up to 2^+-span; with probability 1 - share it is 1."""
    return 2.0 ** int(rng.integers(-span, span + 1)) if share == 1.0 or rng.random() < share else 1.0


def dyadic(rng: np.random.Generator, *shape: int, top: int = 4, bits: int = 1) -> Any:
    """Small multiples of 2^-bits, whose sums and products are exact in floats."""
    return rng.integers(-top << bits, (top << bits) + 1, shape) / 2.0**bits


def definite(rng: np.random.Generator, n: int) -> Any:
    """A well-conditioned positive definite matrix of floats."""
    L = rng.standard_normal((n, n))
    M = L @ L.T + 0.5 * n * np.eye(n)
    return 0.5 * (M + M.T)


def definite_dyadic(rng: np.random.Generator, n: int) -> Any:
    """A positive definite matrix of small dyadic numbers, diagonal half of the time."""
    if rng.random() < 0.5:
        return np.diag(2.0 ** rng.integers(-2, 3, n) * rng.choice([1.0, 3.0], n))
    L = np.tril(rng.integers(-2, 3, (n, n)), -1) + np.eye(n)
    return L @ np.diag(2.0 ** rng.integers(-1, 3, n)) @ L.T


def singular_dyadic(rng: np.random.Generator, n: int) -> Any:
    """An exactly singular positive semidefinite matrix of small integers."""
    r = int(rng.integers(0, n))
    L = rng.integers(-2, 3, (n, r)).astype(float)
    return L @ L.T


def rows_like(rng: np.random.Generator, J: Any, count: int) -> Any:
    """Rows that are small integer combinations of the rows of J, exactly."""
    if not len(J):
        return np.zeros((count, J.shape[1]))
    return rng.integers(-2, 3, (count, len(J))) @ J


def plain(data: Data) -> Data:
    """Arrays as lists; empty ones left out."""
    out: Data = {}
    for key, value in data.items():
        if isinstance(value, np.ndarray):
            if value.size:
                out[key] = value.tolist()
        elif value is not None:
            out[key] = value
    return out


def sizes(rng: np.random.Generator, most: int = 6) -> tuple[int, int]:
    n = int(rng.integers(1, most + 1))
    return n, int(rng.integers(0, n + 1))


# -- steps without contacts --------------------------------------------------------------------------------


def regular(rng: np.random.Generator) -> Data:
    """Well-conditioned floats."""
    n, m = sizes(rng)
    m = min(m, max(n - 1, 1))
    return {
        "M": definite(rng, n),
        "Q": rng.standard_normal(n),
        "J": rng.standard_normal((m, n)),
        "gamma": rng.standard_normal(m),
    }


def small_numbers(rng: np.random.Generator) -> Data:
    """Small dyadic numbers, h too; rows may depend on each other by chance."""
    n, m = sizes(rng)
    return {
        "M": definite_dyadic(rng, n), "Q": dyadic(rng, n), "h": dyadic(rng, n), "J": dyadic(rng, m, n, top=2),
        "gamma": dyadic(rng, m),
    }  # fmt: skip


def singular_mass(rng: np.random.Generator) -> Data:
    """M exactly singular; rows may hold the free directions or not, forces may pull along them or not."""
    n, m = sizes(rng)
    M = singular_dyadic(rng, n)
    J = dyadic(rng, m, n, top=2)
    Q = dyadic(rng, n) if rng.random() < 0.5 else M @ dyadic(rng, n) + J.T @ dyadic(rng, m)
    return {"M": M, "Q": Q, "J": J, "gamma": J @ dyadic(rng, n) if rng.random() < 0.8 else dyadic(rng, m)}


def redundant(rng: np.random.Generator) -> Data:
    """Exactly dependent rows that agree with each other, zero rows among them."""
    n, m = sizes(rng)
    M = definite_dyadic(rng, n) if rng.random() < 0.7 else singular_dyadic(rng, n)
    J = dyadic(rng, m, n, top=2)
    J = np.vstack((J, rows_like(rng, J, int(rng.integers(1, 4)))))
    J = J[rng.permutation(len(J))]
    return {"M": M, "Q": dyadic(rng, n), "J": J, "gamma": J @ dyadic(rng, n)}


def contradictory(rng: np.random.Generator) -> Data:
    """Dependent rows that contradict each other, by a lot or by a little."""
    data = redundant(rng)
    gamma, gap = data["gamma"].copy(), float(rng.choice(GAPS))
    i = int(rng.integers(len(gamma)))
    gamma[i] = gamma[i] * (1.0 + gap) if gamma[i] else gap
    return {**data, "gamma": gamma}


def with_quasi_velocities(rng: np.random.Generator) -> Data:
    """Small numbers, with a basis of the motions that the rows allow."""
    n = int(rng.integers(2, 6))
    m = int(rng.integers(1, n))
    a = dyadic(rng, n, top=2)
    J = np.hstack((np.eye(m), dyadic(rng, m, n - m, top=2)))
    D = np.vstack((-J[:, m:], np.eye(n - m)))
    order = rng.permutation(n)
    J, D = J[:, order], D[order]
    return {
        "M": definite_dyadic(rng, n), "Q": dyadic(rng, n), "J": J, "gamma": J @ a, "D_omega": D, "w_omega": a,
    }  # fmt: skip


def nearly_dependent(rng: np.random.Generator) -> Data:
    """Rows that depend on each other, or a mass matrix that is singular, but for a little."""
    n = int(rng.integers(2, 6))
    m = int(rng.integers(1, n))
    gap = 10.0 ** -float(rng.uniform(3, 15))
    J = rng.standard_normal((m, n))
    if rng.random() < 0.5 and m > 1:
        J[-1] = J[0] * rng.uniform(0.5, 2) + gap * rng.standard_normal(n)
        M = definite(rng, n)
    else:
        V = np.linalg.qr(rng.standard_normal((n, n)))[0]
        M = (V * np.append(np.ones(n - 1), gap)) @ V.T
        M = 0.5 * (M + M.T)
    return {"M": M, "Q": rng.standard_normal(n), "J": J, "gamma": rng.standard_normal(m)}


def square(rng: np.random.Generator) -> Data:
    """As many rows as coordinates and more."""
    n = int(rng.integers(1, 5))
    J = dyadic(rng, n, n, top=2)
    a = dyadic(rng, n)
    J = np.vstack((J, rows_like(rng, J, int(rng.integers(0, 3)))))
    gamma = J @ a
    if rng.random() < 0.2:
        gamma[-1] += float(rng.choice(GAPS))
    return {"M": definite_dyadic(rng, n), "Q": dyadic(rng, n), "J": J, "gamma": gamma}


def of_rounding(rng: np.random.Generator) -> Data:
    """Rows whose terms cancel and leave rounding, among rows that are constraints; what they say is `meant`.

    Half of the time small rows are beside them whose terms are as small: these are constraints.
    """
    meant = redundant(rng) if rng.random() < 0.5 else regular(rng)
    J, gamma = meant["J"], meant["gamma"]
    m, n = J.shape
    terms, known = np.abs(J) * rng.uniform(1.0, 8.0, J.shape), np.abs(gamma)
    if m and rng.random() < 0.5:
        i, unit = int(rng.integers(m)), 2.0 ** -float(rng.integers(20, 60))
        J[i], gamma[i], terms[i], known[i] = unit * J[i], unit * gamma[i], unit * terms[i], unit * known[i]
    idle = int(rng.integers(1, 3))
    size = 2.0 ** rng.integers(-6, 7, (idle, 1)).astype(float)
    noise, rest = (2.0**-53 * size * rng.uniform(-1.0, 1.0, (idle, k)) for k in (n, 1))
    order = rng.permutation(m + idle)
    exact = {"J": np.vstack((J, np.zeros((idle, n)))), "gamma": np.append(gamma, np.zeros(idle))}
    given = {"J": np.vstack((J, noise)), "gamma": np.append(gamma, rest[:, 0])}
    sizes_of = {"J_terms": np.vstack((terms, size * np.ones((idle, n)))), "gamma_terms": np.append(known, size[:, 0])}
    shuffled = {key: x[order] for key, x in (given | sizes_of).items()}
    return {**meant, **shuffled, "meant": {key: x[order].tolist() for key, x in exact.items()}}


@changed
def in_units(rng: np.random.Generator, data: Data) -> Data:
    """The same steps with coordinates, rows, masses and time in other units, all powers of two up to 2^+-40."""
    span = spans(rng)
    d, r = (2.0 ** rng.integers(-span, span + 1, len(data[key])) for key in ("Q", "J"))
    mass, time = (unit(rng, span, 0.3) for _ in range(2))
    forces = {key: data[key] * d * mass * time for key in ("Q", "h") if key in data}
    rows = {"J": data["J"] * d * r[:, None], "gamma": data["gamma"] * r * time}
    return {**data, "M": mass * data["M"] * np.outer(d, d), **rows, **forces}


@changed
def in_magnitude(rng: np.random.Generator, data: Data) -> Data:
    """The same steps with all right-hand sides, or all masses, huge or tiny."""
    factor = 2.0 ** (int(rng.choice([-500, -300, -100, -60, 60, 100, 300, 480])) + int(rng.integers(-20, 20)))
    keys = ("Q", "h", "gamma") if rng.random() < 0.5 else ("M", "Q", "h")
    return {**data, **{key: data[key] * factor for key in keys if key in data}}


BILATERAL: dict[str, tuple[float, Maker]] = {
    "regular": (3.0, regular),
    "small numbers": (2.0, small_numbers),
    "singular mass": (2.0, singular_mass),
    "redundant rows": (2.0, redundant),
    "quasi-velocities": (0.5, with_quasi_velocities),
    "contradictory rows": (2.0, contradictory),
    "nearly dependent": (1.0, nearly_dependent),
    "as many rows as coordinates": (1.0, square),
    "rows of rounding": (1.5, of_rounding),
    "units of regular": (2.0, in_units(regular)),
    "units of small numbers": (1.0, in_units(small_numbers)),
    "units of redundant": (1.0, in_units(redundant)),
    "units of singular mass": (1.0, in_units(singular_mass)),
    "units of contradictory": (1.0, in_units(contradictory)),
    "huge and tiny": (1.0, in_magnitude(small_numbers)),
}
