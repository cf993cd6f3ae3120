"""Wrong answers made by hand, and what the certificates say of them; the same way as `gaussopt verify`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from soundness.judge.exact import Exact

from gaussopt.certificates import certify
from gaussopt.certificates.contact import certify_contact
from gaussopt.certificates.qp import certify_qp
from gaussopt.solving.verification import verify_answer

from .calls import claimed
from .findings import Claim


def perturbed(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Somewhere off, by a relative amount between 1e-6 and 1."""
    size = 10.0 ** -float(rng.uniform(0, 6))
    return x * (1.0 + size * rng.standard_normal(len(x))) + size * float(
        np.abs(x).max(initial=0.0)
    ) * rng.standard_normal(len(x))


def lies(rng: np.random.Generator, x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Points that are wrong unless by chance."""
    kinds = ("perturbed", "one entry off", "runaway", "sign flipped", "zero", "one entry huge")
    for name in rng.choice(kinds, 3, replace=False):
        if name == "perturbed":
            yield name, perturbed(rng, x)
        elif name == "one entry off":
            y = x.copy()
            i = int(rng.integers(len(x)))
            y[i] += 10.0 ** -float(rng.uniform(0, 6)) * (abs(x[i]) or 1.0)
            yield name, y
        elif name == "runaway":
            yield name, x * 1e15 + 1e15 * rng.standard_normal(len(x))
        elif name == "sign flipped":
            yield name, -x
        elif name == "zero":
            yield name, 0.0 * x
        else:
            y = x.copy()
            y[int(rng.integers(len(x)))] = 1e12
            yield name, y


def runaways(rng: np.random.Generator, qp: Any, x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Points far along a direction without curvature: any, the one that gains most, and one along the equalities."""
    values, V = np.linalg.eigh(qp.P)
    flat = V[:, values <= 1e-12 * max(values[-1], 0.0)]
    if not flat.shape[1]:
        return
    way = 10.0 ** float(rng.uniform(-6, 15)) * float(np.abs(x).max(initial=0.0) or 1.0)
    ways = {"runaway, any": rng.standard_normal(flat.shape[1]), "runaway, downhill": -flat.T @ qp.q}
    held = qp.A[qp.l == qp.u] @ flat
    if len(held):
        ways["runaway on equalities"] = ways["runaway, any"] - np.linalg.pinv(held) @ (held @ ways["runaway, any"])
    for name, s in ways.items():
        d = flat @ s
        if d.any():
            yield name, x + way / float(np.abs(d).max()) * d


def on_program(
    kind: str, thing: Any, points: list[np.ndarray], rng: np.random.Generator
) -> Iterator[tuple[str, Claim]]:
    """Lies about a QP or an LCP, next to a true solution."""
    base = points[int(rng.integers(len(points)))] if points else rng.standard_normal(len(thing.q))
    told = lies(rng, base) if kind == "lcp" else chain(lies(rng, base), runaways(rng, thing, base))
    for name, x in told:
        if kind == "lcp":
            said = verify_answer(thing, {"z": x}, 1e-7)
            verdict = said["certificate"].get("verdict")
            bound = said["certificate"].get("error_bound")
            yield name, Claim(
                said["status"], x.tolist(), error_bound=np.inf if bound is None else bound,
                forces_unique=said["forces_unique"], sure=verdict is not None, verdict=verdict,
            )  # fmt: skip
        else:
            c = certify_qp(thing, x, None)
            yield name, Claim("solved" if c.passed() else "inaccurate", x.tolist(), error_bound=c.error_bound)


def on_step(step: Any, a: np.ndarray, lam: np.ndarray | None, rng: np.random.Generator) -> Iterator[tuple[str, Claim]]:
    """Lies about a step without contacts; the true forces beside a wrong acceleration, and none."""
    for name, x in lies(rng, a):
        reported = lam if rng.random() < 0.5 else None
        c = certify(step, x, reported)
        yield name, claimed("solved" if c.passed() else "inaccurate", x, reported, None, None, c)
    if lam is not None and len(lam):
        wrong = perturbed(rng, lam)
        c = certify(step, a, wrong)
        yield "forces perturbed", claimed("solved" if c.passed() else "inaccurate", a, wrong, None, None, c)


def on_contact_step(
    step: Any, laws: Any, contacts: Any, x: Exact, rng: np.random.Generator
) -> Iterator[tuple[str, Claim]]:
    """Lies about a step with contacts: wrong contact forces with the acceleration that they cause, and others."""
    forces = np.array(x.floats())
    for name, f in lies(rng, forces):
        yield name, _with_forces(step, laws, contacts, f)
    # Closed contacts opened and the other way round: another mode's forces.
    swapped = np.where(forces > 0, 0.0, 1.0 + rng.random(len(forces)) * (10.0 ** float(rng.uniform(0, 16))))
    yield "another mode", _with_forces(step, laws, contacts, swapped)
    a = np.array(laws.acceleration(x).floats())
    off = perturbed(rng, a)
    c = certify_contact(step, off)
    yield "acceleration alone", claimed("solved" if c.passed() else "inaccurate", off, None, None, None, c)


def _with_forces(step: Any, laws: Any, contacts: Any, f: np.ndarray) -> Claim:
    """Forces and the acceleration that belongs to them, as consistent as floats are."""
    a = np.array([float(v) for v in laws.start])
    for value, effect in zip(f, laws.effect, strict=True):
        a = a + value * np.array([float(v) for v in effect])
    lam_N = f[: contacts.k]
    lam_T = np.zeros(step.v_T.shape)
    for i in range(contacts.k):
        if i in contacts.resting:
            lam_T[i, 0] = f[contacts.k + contacts.resting.index(i)]
        else:
            lam_T[i, : contacts.d] = [float(contacts.mu[i] * s) * lam_N[i] for s in contacts.sigma[i]]
    c = certify_contact(step, a, None, lam_N, lam_T)
    return claimed("solved" if c.passed() else "inaccurate", a, None, lam_N, lam_T, c)
