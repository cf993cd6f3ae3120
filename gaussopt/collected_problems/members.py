"""The members of the collection: groups of problems, each with its origin and the function that generates its problems.

All numbers have few bits (`dyadic`), and random numbers are integers, so that all machines generate the same problems.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.collected_problems.dyadic import short, significant
from gaussopt.comparison.items import states_of
from gaussopt.core import registry
from gaussopt.core.arrays import Matrix, Vector, is_sparse
from gaussopt.core.programs import LCP, QP
from gaussopt.core.sparse_arrays import to_triplets
from gaussopt.core.step_data import StepData
from gaussopt.lcp.collection import known_lcps
from gaussopt.modelling.contact_piles import box_wall, random_contacts, sphere_pile
from gaussopt.modelling.registered import registered_problem
from gaussopt.solving.defaults import formulate

VERSION, ADDED = "1.0", "2026-11-27"
"""Version of the collection, and the date on which groups without a date of their own were added."""

WITHDRAWN: dict[str, tuple[str, str]] = {}
"""Names of problems that turned out wrong -> date and reason. They stay in the collection; loading skips them."""

STEPS = 20
"""Number of steps of a sequence."""

Drawn = tuple[dict[str, Any], dict[str, Any]]
"""The contents of a problem's file without the answer, and the hints on the answer that `proofs.prove` takes."""

Pose = Callable[[StepData], Drawn]
Dials = dict[str, float]


@dataclass(frozen=True, slots=True)
class CollectedGroup:
    """Problems of one origin.

    Attributes
    ----------
    name, origin : name of the group, and where its problems come from, in a sentence
    draw : function that yields the problems
    follows : whether the problems are successive steps of a sequence
    added : date on which the group was added
    """

    name: str
    origin: str
    draw: Callable[[], Iterator[Drawn]] = field(repr=False)
    follows: bool = False
    added: str = ADDED


# -- steps of mechanisms ----------------------------------------------------------------------------


def _quadratic(step: StepData, rows: int = 0) -> Drawn:
    """Return the rounded Gauss program of a step, with `rows` redundant equations, each the sum of two others."""
    program: Any = formulate(step, "gauss")
    P = program.P
    diagonal = is_sparse(P) or not np.count_nonzero(P - np.diag(np.diag(P)))
    P = P.copy() if is_sparse(P) else significant(P) if diagonal else short(P)
    if is_sparse(P):
        P.data = significant(P.data)
    A, q = short(program.A), short(program.q)
    l, u = short(program.l), short(program.u) if program.l is not program.u else None
    if rows:
        twice = np.arange(rows) % (len(A) - 1)
        A = np.vstack((A, A[twice] + A[twice + 1]))
        l = np.concatenate((l, l[twice] + l[twice + 1]))
    return QP(P, q, A, l, l if u is None else u).to_mapping(), {}


def _complementary(step: StepData) -> Drawn:
    program: Any = formulate(step, "lcp")
    M, skew = program.M, 0.5 * (program.M - program.M.T)
    noise = np.abs(skew).max() < 1e-9 * np.abs(M).max()
    return LCP(short(M - skew if noise else M, 20), short(program.q)).to_mapping(), {}


def _family(name: str, dials: Mapping[str, float], pose: Pose, count: int = STEPS) -> Iterator[Drawn]:
    yield from map(pose, registry.load("family", name).steps(dials, count))


def _motion(name: str, reference: str, pose: Pose) -> Iterator[Drawn]:
    """Yield the steps at about STEPS states of a reference, which is stored and the same on every machine."""
    entry = registered_problem(name)
    count = len(entry.reference(reference).t)
    for item in states_of(entry, reference, max(1, count // STEPS)):
        yield pose(item.data)  # type: ignore[arg-type]


def _mechanisms() -> Iterator[CollectedGroup]:
    chain = "{} links in the plane joined by pins, {}; family chain of gaussopt, evenly spaced instants of a second."
    for links, closed in product((3, 5, 8, 12, 16, 20), (0, 1)):
        dials: Dials = {"links": links, "closed": closed}
        text = chain.format(links, "both ends on the ground" if closed else "one end on the ground")
        name = f"chain-{links}-{'closed' if closed else 'open'}"
        yield CollectedGroup(name, text, partial(_family, "chain", dials, _quadratic), True)
    for links in (100, 300, 1000, 3333):
        text = chain.format(links, "one end on the ground")
        yield CollectedGroup(f"chain-{links}", text, partial(_family, "chain", {"links": links}, _quadratic, 3), True)
    for bodies, ratio in product((2, 4, 7), (1, 1e3, 1e6)):
        text = f"{bodies} bars with masses up to {ratio:g} times apart, linked; family linkage of gaussopt."
        dials = {"bodies": bodies, "mass-ratio": ratio}
        name = f"linkage-{bodies}-{int(ratio)}"
        yield CollectedGroup(name, text, partial(_family, "linkage", dials, _quadratic), True)
    for links in (3, 5, 8, 12):
        text = f"A chain of {links} links whose last rows are sums of other rows: the forces are not unique."
        pose = partial(_quadratic, rows=max(1, links // 2))
        yield CollectedGroup(f"repeated-rows-{links}", text, partial(_family, "chain", {"links": links}, pose), True)
    for contacts, friction in product((2, 4, 8, 16), (0.0, 0.3, 0.6)):
        text = f"Bodies that slide on {contacts} feet, friction {friction:g}; family sliding-row of gaussopt."
        dials = {"contacts": contacts, "friction": friction, "joints": 1}
        name = f"sliding-{contacts}-{friction:g}"
        yield CollectedGroup(name, text, partial(_family, "sliding-row", dials, _complementary), True)
    for contacts in (2, 4, 8):
        text = f"Bodies that slide on {contacts} feet without friction, as Gauss's quadratic program."
        dials = {"contacts": contacts, "friction": 0.0, "joints": 1}
        yield CollectedGroup(f"gauss-{contacts}", text, partial(_family, "sliding-row", dials, _quadratic), True)


def _papers() -> Iterator[CollectedGroup]:
    for name, references, pose in (
        ("crank-slider", ("crank-A-2s", "crank-A-20s", "crank-B-20s"), _quadratic),
        ("four-bar", ("four-bar-A", "four-bar-B", "four-bar-printed-force"), _quadratic),
        ("knife-edge-body", ("NH-A", "NH-B", "NH-C"), _quadratic),
        ("sliding-rod", ("rod-floor", "rod-stop", "rod-lift"), _complementary),
        ("two-bar", ("two-bar-contact",), _complementary),
    ):
        for reference in references:
            text = f"States of the motion {reference} of the problem {name} of gaussopt."
            yield CollectedGroup(f"motion-{reference.lower()}", text, partial(_motion, name, reference, pose), True)


# -- problems of whole numbers ------------------------------------------------------------------------


def _integers(rng: np.random.Generator, *shape: int, most: int = 3) -> Matrix:
    return rng.integers(-most, most + 1, size=shape).astype(float)


def _exactly(x: Any) -> list[Fraction]:
    return [Fraction(float(v)) for v in x]


def _lcp(M: Matrix, q: Vector, z: Vector | None = None, **more: Any) -> Drawn:
    return LCP(M, q).to_mapping(), {**({} if z is None else {"z": _exactly(z)}), **more}


def _known() -> Iterator[Drawn]:
    for known in known_lcps().values():
        M, q = known.lcp.M, known.lcp.q
        if known.z is not None:
            yield _lcp(M, q, known.z)
        elif (M.sum(axis=0) <= 0).all():  # q < 0 and M has column sums <= 0: no w >= 0
            yield _lcp(M, q, claims=[{"rule": "ray", "y": _texts(np.ones(len(q)))}])
        else:
            yield _lcp(M, q, claims=[{"rule": "all", "count": 0}])


def _growing(name: str) -> Iterator[Drawn]:
    for n in range(3, 25):
        upper = np.eye(n) + 2 * np.triu(np.ones((n, n)), 1)
        last, first = np.eye(n)[-1], np.eye(n)[0]
        if name == "murty":
            yield _lcp(upper, -np.ones(n), last)
        elif name == "fathi":
            yield _lcp(upper @ upper.T, -np.ones(n), last)
        else:
            yield _lcp(upper.T, np.exp2(np.arange(n, 0, -1)) - 2.0 ** (n + 1), 2.0**n * first)


def _subset_sums() -> Iterator[Drawn]:
    """Yield Chung's LCPs, each with a solution if and only if some of the numbers a have the sum b."""
    rng = np.random.default_rng(7)
    for n, possible in product((2, 3, 4, 6, 10, 20), (True, False, True)):
        a = 2.0 * rng.integers(1, 60, size=n)
        chosen = rng.random(n) < 0.5
        chosen[0] = True
        b = a[chosen].sum() + (0 if possible else 1)  # infeasible, because a sum of even numbers is not odd
        sides = np.vstack((np.ones(n), -np.ones(n)))
        M = np.block([[-np.eye(n), np.zeros((n, 2))], [sides, -n * np.eye(2)]])
        if possible:
            yield _lcp(M, np.concatenate((a, [-b, b])), np.concatenate((np.where(chosen, a, 0), [0, 0])))
        elif n + 2 <= 6:
            yield _lcp(M, np.concatenate((a, [-b, b])), claims=[{"rule": "all", "count": 0}])


def _drawn_lcps(kind: str) -> Iterator[Drawn]:
    """Yield LCPs with a random matrix and a random answer; for "tied", z_i = w_i = 0 at about half of the indices."""
    for n, seed in product((1, 2, 3, 4, 6, 10, 16, 24, 40), range(8)):
        rng = np.random.default_rng([n, seed])
        B = _integers(rng, n, n)
        gram, skew = B @ B.T + np.eye(n), np.triu(B, 1) - np.triu(B, 1).T
        dominant = B.copy()
        dominant[1:, 0] = np.where(B[1:, 0] < 0, 60, -60)  # with a large first column the symmetric part is indefinite
        np.fill_diagonal(dominant, np.abs(dominant).sum(axis=1) - np.abs(dominant.diagonal()) + 1)
        M = {"definite": gram, "skew": gram + 5 * skew, "dominant": dominant, "tied": gram + skew, "any": B}[kind]
        size, held = rng.integers(1, 10, size=n), rng.random(n) < 0.5
        size = size * (rng.random(n) >= 0.5) if kind == "tied" else size
        z = np.where(held, size, 0).astype(float)
        yield _lcp(M, np.where(held, 0, size) - M @ z, z)


def _drawn_qps(kind: str) -> Iterator[Drawn]:
    """Yield quadratic programs with random P, A, x and y; q and the bounds are such that x and y are the answer."""
    for n, seed in product((1, 2, 3, 5, 8, 12, 20, 30, 50), range(8)):
        rng = np.random.default_rng([n, seed, 1])
        m = 2 * n
        B, A = _integers(rng, n, n), _integers(rng, m, n)
        x, y = _integers(rng, n, most=9), rng.integers(1, 10, size=m).astype(float)
        # Rows are equalities (0), at the lower (1) or upper bound (2), or inactive (3); with "tied" some y are zero.
        place = rng.choice(4, size=m, p=(0.1, 0.2, 0.2, 0.5))
        place[np.cumsum(place < 3) > n] = 3
        P = B @ B.T + np.eye(n) if kind != "flat" else B[:, : n // 2 + 1] @ B[:, : n // 2 + 1].T
        y = np.select([place == 0, place == 1, place == 2], [y * rng.choice((-1, 1), size=m), y, -y], 0.0)
        if kind == "tied":
            y[place > 0] *= rng.random(int((place > 0).sum())) < 0.5
        scale = np.exp2(rng.integers(-12, 13, size=n)) if kind == "scaled" else np.ones(n)
        v = A @ x
        gap = rng.integers(1, 5, size=m)
        l = np.where(place <= 1, v, np.where(place == 2, -np.inf, v - gap))
        u = np.where((place == 0) | (place == 2), v, np.where(place == 1, np.inf, v + gap))
        q = A.T @ y - P @ x
        program = QP(scale[:, None] * P * scale, scale * q, A * scale, l, u)
        factor = {"factor": B[:, : n // 2 + 1].tolist()} if kind == "flat" else {}
        yield program.to_mapping(), {"x": _exactly(x / scale), "y": _exactly(y), **factor}


def _contradictions(kind: str) -> Iterator[Drawn]:
    """Yield LCPs or quadratic programs without an answer, each with a ray that proves this."""
    for n, seed in product((1, 2, 3, 5, 8, 12, 20), range(6)):
        rng = np.random.default_rng([n, seed, 2])
        B, y = _integers(rng, n, n), rng.integers(1, 4, size=n + 1).astype(float)
        if kind == "lcp":
            # y'M <= 0 <= y and q'y < 0, so that no z >= 0 has M z + q >= 0.
            y, M, q = y[:n], B.copy(), _integers(rng, n)
            M[0] = -(np.abs(y[1:] @ B[1:]) + rng.integers(0, 3, size=n)) if n > 1 else -1
            q[0] = -np.abs(y[1:] @ q[1:]) - 1
            yield _lcp(M, q, claims=[{"rule": "ray", "y": _texts(y)}])
        elif kind == "infeasible":
            A = np.vstack((B, -(y[:n] @ B)))  # with the multipliers (y, 1), the weighted rows sum to zero
            l = np.append(_integers(rng, n), 0.0)
            l[-1] = 1.0 - y[:n] @ l[:-1]
            ray = np.append(y[:n], 1.0)
            P = B @ B.T + np.eye(n)
            program = QP(P, _integers(rng, n), A, l, np.full(n + 1, np.inf))
            yield program.to_mapping(), {"claims": [{"rule": "ray", "y": _texts(ray)}]}
        else:
            d = rng.integers(1, 4, size=n).astype(float)
            A = np.abs(B)  # along d q'x falls without bound: A d >= 0, and the constraints are lower bounds only
            q = -np.eye(n)[rng.integers(n)]
            program = QP(np.zeros((n, n)), q, A, A @ np.ones(n) - 1, np.full(n, np.inf))
            claim = {"rule": "unbounded", "x": _texts(np.ones(n)), "y": _texts(d)}
            yield program.to_mapping(), {"claims": [claim]}


def _texts(values: Any) -> list[str]:
    return [str(Fraction(float(v))) for v in values]


def _whole_numbers() -> Iterator[CollectedGroup]:
    text = "Problems of the literature and drawn ones that distinguish solvers of LCPs."
    yield CollectedGroup("lcp-known", text, _known)
    for name, text in (
        ("murty", "Murty's least-index pivoting takes exponentially many pivots (Murty 1978)."),
        ("fathi", "As Murty's, with a symmetric positive definite matrix (Fathi 1979)."),
        ("murty-lemke", "Lemke's algorithm takes exponentially many pivots (Murty 1978)."),
    ):
        yield CollectedGroup(f"lcp-{name}", text, partial(_growing, name))
    text = "An LCP that has an answer only if some of given numbers have a given sum (Chung 1989)."
    yield CollectedGroup("lcp-subset-sum", text, _subset_sums)
    for kind, text in (
        ("definite", "symmetric positive definite"), ("skew", "positive definite with a large skew part"),
        ("dominant", "diagonally dominant by rows"), ("any", "of any kind"),
        ("tied", "positive definite, with pairs that are zero on both sides"),
    ):  # fmt: skip
        text = f"Drawn whole numbers, a matrix {text}, and a drawn answer."
        yield CollectedGroup(f"lcp-{kind}", text, partial(_drawn_lcps, kind))
    for kind, text in (
        ("drawn", "strictly convex"), ("tied", "bounds that are reached without a force"),
        ("scaled", "unknowns in units up to 2^24 apart"), ("flat", "a singular Hessian"),
    ):  # fmt: skip
        text = f"Drawn whole numbers, an answer drawn first: {text}."
        yield CollectedGroup(f"qp-{kind}", text, partial(_drawn_qps, kind))
    for kind in ("lcp", "infeasible", "unbounded"):
        text = f"Drawn whole numbers, without an answer: {'infeasible' if kind == 'lcp' else kind}."
        yield CollectedGroup(f"contradiction-{kind}", text, partial(_contradictions, kind))


# -- friction in space --------------------------------------------------------------------------------

DIRECTIONS = ((3, 4, 5), (-4, 3, 5), (5, -12, 13), (-8, -15, 17), (0, 1, 1), (-1, 0, 1))
"""Tangential directions (x, y), each followed by its length, which is an integer."""

PILES: dict[str, Any] = {"spheres": sphere_pile, "wall": box_wall, "random": random_contacts}


def _contacts(pile: str, count: int, mu: float, seed: int, steps: int = 1) -> Iterator[Drawn]:
    """Yield contact problems of a pile, with random impulses r and velocities u that obey Coulomb's law.

    F is rounded, so that W = F^T F is exact; q = u - W r. From step to step impulses and slips change by a few percent.
    """
    given, rng = PILES[pile](count, mu, 10.0, seed=seed), np.random.default_rng([count, seed, 3])
    H: Any = given.H.toarray() if hasattr(given.H, "toarray") else given.H
    mass = given.M.diagonal()
    F = short(H / np.sqrt(mass)[:, None], 12)
    k = len(given.mu)
    W = F.T @ F
    unit = np.exp2(-(np.frexp(np.abs(W).max())[1] // 2))
    mode = rng.choice(3, size=k, p=(0.2, 0.4, 0.4))  # modes: 0 open, 1 sticking, 2 sliding
    way = np.array(DIRECTIONS)[rng.integers(len(DIRECTIONS), size=k)]
    push, speed = rng.integers(20, 60, size=k), rng.integers(20, 60, size=k)
    for _ in range(steps):
        push, speed = (np.clip(x + rng.integers(-1, 2, size=k), 8, 99) for x in (push, speed))
        r, u = np.zeros((k, 3)), np.zeros((k, 3))
        r[mode > 0, 0] = (push * way[:, 2])[mode > 0]
        slides = mode == 2
        r[slides, 1:] = mu * (push[:, None] * way[:, :2])[slides]
        r[mode == 1, 1:] = mu * (push[:, None] * way[:, :2] // 2)[mode == 1]
        u[slides, 1:] = -(speed[:, None] * way[:, :2])[slides] * 2.0**-6
        u[mode == 0] = np.column_stack((speed, way[:, :2]))[mode == 0] * 2.0**-6
        q = u.ravel() - (W @ r.ravel()) * unit**2
        data = {"kind": "contact", "W": _sparsely(W * unit**2), "q": q.tolist(), "mu": [mu] * k}
        yield data, {"r": _exactly(r.ravel()), "factor": _sparsely(F.T * unit)}


def _sparsely(W: Matrix) -> Any:
    from scipy.sparse import csr_array

    return W.tolist() if np.count_nonzero(W) > 0.3 * W.size else to_triplets(csr_array(W))


def _piles(pile: str, count: int) -> Iterator[Drawn]:
    for mu, seed in product((0.25, 0.5, 1.0), range(1, 7)):
        yield from _contacts(pile, count, mu, seed)


def _friction() -> Iterator[CollectedGroup]:
    what = {"spheres": "a pyramid of spheres", "wall": "a wall of boxes", "random": "contacts with random rows"}
    text = "Friction in space: {} contacts of {}, with impulses drawn first that stick, slide and are open."
    for pile, count in (*product(PILES, (1, 2, 4, 8, 16, 32)), ("spheres", 64), ("spheres", 128)):
        yield CollectedGroup(f"friction-{pile}-{count}", text.format(count, what[pile]), partial(_piles, pile, count))
    for pile, count in product(PILES, (4, 20)):
        more = " From step to step they change by a few percent."
        draw = partial(_contacts, pile, count, 0.5, 9, STEPS)
        yield CollectedGroup(f"friction-sequence-{pile}-{count}", text.format(count, what[pile]) + more, draw, True)


COUNTEREXAMPLES = Path(__file__).with_name("counterexamples.json")
"""File of examples on which two formulations differ; benchmarks/collection_counterexamples.py found them."""


def _counterexamples(kind: str) -> Iterator[Drawn]:
    for entry in json.loads(COUNTEREXAMPLES.read_text(encoding="utf-8")):
        if entry["problem"]["kind"] == kind:
            yield entry["problem"], {name: [Fraction(x) for x in values] for name, values in entry["exact"].items()}


def groups() -> list[CollectedGroup]:
    """Return all groups in the order of the collection."""
    text = "The smallest examples on which `gaussopt falsify` proved that two formulations differ."
    kinds = ("lcp", "contact", "qp")  # one group per kind, since a solver accepts or rejects whole kinds
    last = [CollectedGroup(f"counterexamples-{kind}", text, partial(_counterexamples, kind)) for kind in kinds]
    return [*_mechanisms(), *_papers(), *_whole_numbers(), *_friction(), *last]
