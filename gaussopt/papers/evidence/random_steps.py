"""Random steps with rows J and forces, where M is positive definite with a chosen condition number, or singular.

A single function decodes numbers into a step; random draws and optimisers use it to search for counterexamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core import registry
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.solving.solver_sequence import SolverSequence


def entries(n: int, m: int) -> int:
    """Return how many numbers describe a step of n coordinates and m rows."""
    return n + n * n + m + m * m + n * m + 2 * n + m


def step_of(x: Vector, n: int, m: int, mass_condition: float, row_condition: float) -> StepData:
    """Decode numbers between -1 and 1 into a step.

    Parameters
    ----------
    x : (entries(n, m),), logarithms of eigenvalues, matrices for orthonormal factors, Q, h, gamma
    mass_condition, row_condition : largest condition numbers of M and J, reached if x holds both -1 and 1
    """
    M, Q, h, J, gamma = (array[0] for array in arrays_of(x[None], n, m, mass_condition, row_condition))
    return StepData.smooth(M, h, Q, J, gamma, 0.0, np.zeros(n), np.zeros(n))


def arrays_of(
    points: Matrix, n: int, m: int, mass_condition: float, row_condition: float
) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
    """Return M, Q, h, J and gamma of many steps, stacked; each row of `points` defines one step, see `step_of`."""
    parts = np.split(points, np.cumsum([n, n * n, m, m * m, n * m, n, n]), axis=1)
    masses, lengths = mass_condition ** (0.5 * parts[0]), row_condition ** (0.5 * parts[2])
    V, U, W = (
        _orthonormal(p.reshape(len(points), -1, k))
        for p, k in zip((parts[1], parts[3], parts[4]), (n, m, m), strict=True)
    )
    M = (V * masses[:, None]) @ V.swapaxes(1, 2)
    J = (U * lengths[:, None]) @ W.swapaxes(1, 2)
    return 0.5 * (M + M.swapaxes(1, 2)), parts[5], parts[6], J, parts[7]


def draw(rng: np.random.Generator, n: int, m: int, mass_condition: float = 1e3, row_condition: float = 1e2) -> StepData:
    """Draw a random step, see `step_of`."""
    return step_of(rng.uniform(-1.0, 1.0, entries(n, m)), n, m, mass_condition, row_condition)


def sizes(rng: np.random.Generator, most: int) -> tuple[int, int]:
    """Draw the numbers of coordinates and rows of a step: 2 <= n <= most, 1 <= m < n."""
    n = int(rng.integers(2, most + 1))
    return n, int(rng.integers(1, n))


def kernel(A: Matrix) -> Matrix:
    """Find an orthonormal basis of ker A, (n, n - rank); singular values up to 1e-10 of the largest count as zero."""
    _, s, Vt = np.linalg.svd(A)
    return np.asarray(Vt[int((s > 1e-10 * s.max(initial=0.0)).sum()) :].T)


def projector(J: Matrix) -> Matrix:
    """Return the orthogonal projector N onto ker J."""
    Z = kernel(J)
    return np.asarray(Z @ Z.T)


def free_acceleration(step: StepData) -> Vector:
    """Return a0 = M^-1 (Q - h)."""
    return np.asarray(np.linalg.solve(step.M, step.force))


def lagrange_system(step: StepData) -> tuple[Matrix, Vector]:
    """Return matrix and right-hand side of Lagrange's equations with the rows: [M, -J^T; J, 0] and (Q - h, gamma)."""
    K = np.block([[step.M, -step.J.T], [step.J, np.zeros((step.m, step.m))]])
    return K, np.concatenate((step.force, step.gamma))


def minimiser(step: StepData) -> Vector:
    """Find the true acceleration by minimal coordinates of the step: a = a_p + Z z with Z^T M (a - a0) = 0.

    The basis Z of ker J comes from a singular value decomposition, and the reduced system is solved directly; no
    formulation or solver of this package is used.
    """
    Z = kernel(step.J)
    particular = np.linalg.lstsq(step.J, step.gamma, rcond=None)[0]
    z = np.linalg.solve(Z.T @ step.M @ Z, Z.T @ (step.force - step.M @ particular))
    return np.asarray(particular + Z @ z)


def mass_norm(M: NDArray[np.floating[Any]], a: NDArray[np.floating[Any]]) -> float:
    """Return the mass norm (a^T M a)^(1/2)."""
    return float(np.sqrt(max(float(a @ M @ a), 0.0)))


def miss(step: StepData, a: Vector, true: Vector | None = None) -> float:
    """Return the error |a - true| / (|true| + |a0|) in the mass norm; a0 is the free acceleration."""
    true = minimiser(step) if true is None else true
    size = mass_norm(step.M, true) + mass_norm(step.M, free_acceleration(step))
    return mass_norm(step.M, a - true) / size


def misses(
    steps: Iterable[StepData], candidate: Callable[[StepData], Vector], true: Callable[[StepData], Vector] = minimiser
) -> list[float]:
    """Return, for each step, the error of the acceleration that the function `candidate` returns; see `miss`."""
    return [miss(s, candidate(s), true(s)) for s in steps]


def answer(formulation: Any, sequence: SolverSequence, step: StepData) -> tuple[Vector, Vector | None]:
    """Solve a step without certificate; the acceleration is infinite if the solver returns none."""
    program, data = formulation.apply(step)
    raw, _ = sequence.solve(program)
    if raw.x is None:
        return np.full(step.n, np.inf), None
    a, lam = formulation.recover(data, raw.x, raw.y)
    return a, lam


def by_formulation(name: str) -> Callable[[StepData], Vector]:
    """Return the function that solves steps by a formulation and linear algebra, without certificate."""
    entry, sequence = registry.load("formulation", name), SolverSequence("kkt")
    return lambda step: np.asarray(answer(entry, sequence, step)[0])


def _orthonormal(X: Matrix) -> Matrix:
    """Make the columns of X, or of each matrix of a stack, orthonormal; a small shift gives full rank even to X = 0."""
    rows, columns = X.shape[-2:]
    return np.asarray(np.linalg.qr(X + 1e-3 * np.eye(rows, columns))[0])


EIGENVALUES = (0.1, 10.0)
"""Range of the nonzero eigenvalues of M, narrow so that rounding errors stay small."""


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a step: n coordinates, M of the given rank, J with `rows` rows."""

    n: int
    rank: int
    rows: int

    @property
    def numbers(self) -> int:
        """Return how many numbers describe a step of this size."""
        return self.n * self.rank + self.rank + self.rows * (self.n + 1) + 2 * self.n


def drawn(random: np.random.Generator, most: int = 8, well_posed: bool = True) -> Size:
    """Draw the size of a step; rank M + number of rows is at least n if `well_posed`, and otherwise less than n."""
    n = int(random.integers(2 if well_posed else 3, most + 1))
    rank = int(random.integers(1, n if well_posed else n - 1))
    return Size(n, rank, int(random.integers(n - rank, n) if well_posed else random.integers(1, n - rank)))


def singular_step(z: Vector, size: Size, outside: float = 0.0) -> StepData:
    """Decode numbers in [-1, 1] into a step with a singular mass matrix.

    Its force has a part in the range of M, a part in the kernel of M that is a constraint force J^T y, and `outside`
    times a unit vector from the kernel of M.
    """
    n, r, m = size.n, size.rank, size.rows
    basis, spread, rows, gamma, x, p = np.split(np.asarray(z, dtype=float), np.cumsum([n * r, r, m * n, m, n]))
    U = np.linalg.qr(basis.reshape(n, r), mode="complete")[0]
    U, K = U[:, :r], U[:, r:]
    low, high = np.log(EIGENVALUES)
    M = (U * np.exp(low + (high - low) * 0.5 * (1.0 + spread))) @ U.T
    J = rows.reshape(m, n)
    # K c is a constraint force if and only if Z^T K c = 0.
    both = kernel(kernel(J).T @ K)
    lost = K @ (K.T @ p)
    force = M @ x + K @ (both @ (both.T @ (K.T @ p))) + outside * lost / max(float(np.linalg.norm(lost)), 1e-300)
    return StepData.smooth(0.5 * (M + M.T), np.zeros(n), force, J, gamma, 0.0, np.zeros(n), np.zeros(n))


def singular_steps(
    random: np.random.Generator, count: int, outside: float = 0.0, well_posed: bool = True
) -> Iterator[StepData]:
    """Draw steps with a singular mass matrix, each of a random size."""
    for _ in range(count):
        size = drawn(random, well_posed=well_posed)
        yield singular_step(random.uniform(-1, 1, size.numbers), size, outside)


def lost_force(step: StepData) -> Vector:
    """Return (I - M M^+) F, the part of the force F = Q - h that does not enter the objective with M^+."""
    return np.asarray(step.force - step.M @ (np.linalg.pinv(step.M, rcond=1e-10) @ step.force))


def residual(step: StepData, a: Vector) -> float:
    """Measure the residual of Z^T (M a - F) = 0 and J a = gamma, relative to the size of their terms; Z spans ker J."""
    size = np.linalg.norm(a)
    along = np.linalg.norm(kernel(step.J).T @ (step.M @ a - step.force))
    across = np.linalg.norm(step.J @ a - step.gamma)
    terms = np.linalg.norm(step.M) * size + np.linalg.norm(step.force)
    return float(along / terms + across / (np.linalg.norm(step.J) * size + np.linalg.norm(step.gamma)))


def minimiser_with_pinv(step: StepData) -> Vector:
    """Return the minimiser, (n,), of (M a - F)^T M^+ (M a - F) under J a = gamma, by numpy and a basis of ker J."""
    Z, projector = kernel(step.J), step.M @ np.linalg.pinv(step.M, rcond=1e-10)
    a, *_ = np.linalg.lstsq(step.J, step.gamma, rcond=None)
    along = Z.T @ projector
    return np.asarray(a + Z @ np.linalg.solve(along @ step.M @ Z, along @ (step.force - step.M @ a)))
