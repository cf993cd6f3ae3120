"""Steps with contacts, borders included."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .families import Data, Maker, changed, definite, definite_dyadic, dyadic, spans, unit

TRIPLES = np.array([[3, 4], [5, 12], [8, 15], [0, 1], [7, 24]], dtype=float)
"""Slips whose speed is a whole number."""


def slips(rng: np.random.Generator, k: int, d: int) -> np.ndarray:
    """Slip velocities with rational speeds, none zero, (k, d)."""
    if d == 1:
        return rng.choice([-2.0, -1.0, 1.0, 3.0], (k, 1))
    v = TRIPLES[rng.integers(0, len(TRIPLES), k)] * rng.choice([-1.0, 1.0], (k, 2))
    return np.where(rng.random((k, 1)) < 0.5, v, v[:, ::-1])


def assembled(
    rng: np.random.Generator,
    k: int,
    d: int,
    exact: bool,
    resting: float = 0.0,
    mu: float = 0.5,
    n: int = 0,
    joints: float = 0.4,
) -> Data:
    """A step of k contacts; dyadic numbers or floats."""
    n = n or int(rng.integers(1 if exact else 2, 6))
    m = int(rng.integers(1, 3)) if rng.random() < joints and n > 2 else 0
    m = min(m, n - 1)

    def block(*shape: int, top: int = 2) -> np.ndarray:
        return dyadic(rng, *shape, top=top) if exact else rng.standard_normal(shape)

    J_N = block(k, n)
    J_N[~J_N.any(axis=1), 0] = 1.0
    J_T = block(k, d, n)
    J_T[~J_T.any(axis=(1, 2)), 0, 0] = 1.0
    friction = rng.integers(0, int(8 * mu) + 1, k) / 8.0 if exact else rng.uniform(0, mu, k)
    v = slips(rng, k, d)
    if d == 1:
        v[rng.random(k) < resting] = 0.0
    return {
        "M": definite_dyadic(rng, n) if exact else definite(rng, n), "Q": block(n, top=4), "J": block(m, n),
        "gamma": block(m), "J_N": J_N, "zeta_N": block(k, top=4) - 1.0, "J_T": J_T, "zeta_T": block(k, d), "v_T": v,
        "mu": friction,
    }  # fmt: skip


def number(rng: np.random.Generator, most: int = 4) -> int:
    return int(rng.integers(1, most + 1))


def frictionless(rng: np.random.Generator) -> Data:
    data = assembled(rng, number(rng), 1, bool(rng.random() < 0.5))
    return {key: value for key, value in data.items() if key not in ("J_T", "zeta_T", "v_T", "mu")}


def sliding(rng: np.random.Generator) -> Data:
    return assembled(rng, number(rng), 1, bool(rng.random() < 0.3))


def sliding_in_space(rng: np.random.Generator) -> Data:
    return assembled(rng, number(rng), 2, bool(rng.random() < 0.3))


def without_slip(rng: np.random.Generator) -> Data:
    return assembled(rng, number(rng, 2), 1, bool(rng.random() < 0.4), resting=0.8)


def painleve(rng: np.random.Generator) -> Data:
    return assembled(rng, number(rng, 3), int(rng.integers(1, 3)), bool(rng.random() < 0.6), mu=4.0)


def painleve_without_slip(rng: np.random.Generator) -> Data:
    return assembled(rng, number(rng, 2), 1, True, mu=4.0, resting=0.6)


def redundant_contacts(rng: np.random.Generator) -> Data:
    """More contacts than freedom, or the same contact again."""
    data = assembled(rng, number(rng, 3), 1, True, resting=0.3, n=int(rng.integers(1, 4)), mu=1.0)
    again = int(rng.integers(len(data["mu"])))
    for key in ("J_N", "zeta_N", "J_T", "zeta_T", "v_T", "mu"):
        data[key] = np.concatenate((data[key], data[key][again : again + 1]))
    if rng.random() < 0.4:
        data["zeta_N"][-1] += float(rng.choice([1.0, 1e-9, -1e-6]))
    if rng.random() < 0.3:
        data["J_N"][-1] *= 2.0
        data["zeta_N"][-1] *= 2.0
    return data


def border(rng: np.random.Generator) -> Data:
    """A diagonal entry of the contact operator exactly zero: friction cancels the own mass."""
    for _ in range(30):
        data = assembled(
            rng, number(rng, 4), int(rng.integers(1, 3)), True, mu=2.0, joints=0.0, n=int(rng.integers(2, 5))
        )
        n = len(data["Q"])
        data["M"] = np.diag(rng.choice([0.25, 0.5, 1.0, 2.0], n))
        done = 0
        for i in range(len(data["mu"])):
            if rng.random() < 0.3 and done:
                continue
            mu = _cancelling(data, i)
            if mu is not None:
                data["mu"][i] = mu
                done += 1
        if done:
            return data
    return data


def _cancelling(data: Data, i: int) -> float | None:
    """The friction coefficient at which row i meets no resistance of its own, if it is a float."""
    v = [Fraction(x) for x in data["v_T"][i].tolist()]
    square = sum(x * x for x in v)
    speed = Fraction(round(float(square) ** 0.5))
    if not speed or speed * speed != square:
        return None
    masses = [Fraction(x) for x in np.diag(data["M"]).tolist()]
    normal = [Fraction(x) for x in data["J_N"][i].tolist()]
    along = [
        sum(-a / speed * Fraction(t) for a, t in zip(v, column, strict=True)) for column in data["J_T"][i].T.tolist()
    ]
    own = sum(a * a / m for a, m in zip(normal, masses, strict=True))
    other = sum(a * b / m for a, b, m in zip(normal, along, masses, strict=True))
    if other >= 0:
        return None
    mu = -own / other
    return float(mu) if Fraction(float(mu)) == mu and mu < 8 else None


def ties(rng: np.random.Generator) -> Data:
    """A solution chosen first: contacts whose force and gap acceleration both vanish, friction at its bound."""
    k, d = number(rng, 3), int(rng.integers(1, 3))
    data = assembled(rng, k, d, True, resting=0.4, mu=1.0, joints=0.3)
    n = len(data["Q"])
    a, force = dyadic(rng, n, top=2), np.maximum(dyadic(rng, k, top=2), 0.0)
    gap = np.where((force > 0) | (rng.random(k) < 0.6), 0.0, 1.0)
    data["zeta_N"] = gap - data["J_N"] @ a
    friction = np.zeros((k, d))
    for i, v in enumerate(data["v_T"]):
        if v.any():
            data["mu"][i] = 0.0 if d == 2 and not v.all() else data["mu"][i]
            if d == 2:
                data["mu"][i] = float(rng.choice([0.0, 0.0, 13.0 / 16 if abs(v).max() == 12 else 0.0]))
            friction[i] = -v / max(abs(v).max(), 1.0) * data["mu"][i] * force[i] if d == 1 else 0.0
            if d == 1:
                friction[i] = -np.sign(v) * data["mu"][i] * force[i]
            elif data["mu"][i]:
                friction[i] = -v / 16.0 * force[i]
        else:
            bound = data["mu"][i] * force[i]
            friction[i] = rng.choice([-bound, 0.0, bound])
            data["zeta_T"][i] = -(data["J_T"][i] @ a)
    pull = data["J_N"].T @ force + np.einsum("kdn,kd->n", data["J_T"], friction)
    data["gamma"] = data["J"] @ a
    data["Q"] = data["M"] @ a - pull - data["J"].T @ dyadic(rng, len(data["J"]))
    return data


def opposed(rng: np.random.Generator) -> Data:
    """Contacts that face each other: contradictory, by a lot or by a little, or exactly in touch on both sides."""
    data = assembled(rng, 1, 1, True, mu=1.0)
    keys = ("J_N", "zeta_N", "J_T", "zeta_T", "v_T", "mu")
    for key in keys:
        data[key] = np.concatenate((data[key], data[key]))
    data["J_N"][1] *= -1.0
    gap = float(rng.choice([0.0, 1.0, -1.0, 1e-6, -1e-6, 1e-9, -1e-9, -1e-12]))
    data["zeta_N"][1] = -data["zeta_N"][0] + gap * (abs(data["zeta_N"][0]) or 1.0)
    if rng.random() < 0.5:
        data["mu"][:] = 0.0
    return data


def on_singular_mass(rng: np.random.Generator) -> Data:
    """A massless coordinate that a joint holds."""
    data = assembled(rng, number(rng, 2), 1, True, resting=0.3, n=int(rng.integers(2, 4)), joints=0.0)
    n = len(data["Q"])
    data["M"][-1] = data["M"][:, -1] = 0.0
    J = dyadic(rng, 1, n, top=2)
    J[0, -1] = 1.0
    return {**data, "J": J, "gamma": dyadic(rng, 1)}


def dependent_joints(rng: np.random.Generator) -> Data:
    """Contacts beside joint rows that depend on each other."""
    data = assembled(rng, number(rng, 2), 1, True, resting=0.3, n=int(rng.integers(3, 5)), joints=1.0)
    J, gamma = data["J"], data["gamma"]
    if len(J):
        data["J"], data["gamma"] = np.vstack((J, 2.0 * J[:1])), np.append(gamma, 2.0 * gamma[0])
    return data


def impact(rng: np.random.Generator) -> Data:
    """Contacts in touch with a velocity: an impact after Newton, restitution included."""
    data = assembled(rng, number(rng, 2), 1, True, mu=1.0, n=int(rng.integers(2, 5)))
    v = dyadic(rng, len(data["Q"]), top=2)
    k = len(data["mu"])
    data["v_T"] = np.einsum("kdn,n->kd", data["J_T"], v)
    return {**data, "v": v, "e_N": rng.integers(0, 5, k) / 4.0, "e_T": rng.integers(0, 3, k) / 4.0}


def time_step(rng: np.random.Generator) -> Data:
    """The same over a length of time."""
    return {**impact(rng), "dt": float(rng.choice([0.5, 2.0**-10, 2.0**-20]))}


@changed
def in_units(rng: np.random.Generator, data: Data) -> Data:
    """Coordinates, contact rows, masses and time in units up to 2^+-40."""
    span, n = spans(rng), len(data["Q"])
    d = 2.0 ** rng.integers(-span, span + 1, n) if rng.random() < 0.5 else np.ones(n)
    mass, time, length = (unit(rng, span, 0.5) for _ in range(3))
    rows = 2.0 ** rng.integers(-span, span + 1, len(data["J"]))
    out = {**data, "M": mass * data["M"] * np.outer(d, d), "Q": data["Q"] * d * mass * time * length}
    out["J"] = data["J"] * d * rows[:, None] if len(rows) else data["J"]
    out["gamma"] = data["gamma"] * rows * time * length
    for of in [x for x in "NT" if f"J_{x}" in data]:
        out[f"J_{of}"], out[f"zeta_{of}"] = data[f"J_{of}"] * d, data[f"zeta_{of}"] * time * length
    return out


CONTACT: dict[str, tuple[float, Maker]] = {
    "frictionless": (1.5, frictionless),
    "sliding": (2.0, sliding),
    "sliding in space": (2.0, sliding_in_space),
    "without slip": (1.5, without_slip),
    "large friction": (1.5, painleve),
    "large friction without slip": (1.0, painleve_without_slip),
    "redundant contacts": (1.0, redundant_contacts),
    "border": (2.0, border),
    "ties": (1.5, ties),
    "opposed": (1.0, opposed),
    "impact": (0.7, impact),
    "time step": (0.7, time_step),
    "singular mass": (0.5, on_singular_mass),
    "dependent joints": (0.5, dependent_joints),
    "units of sliding": (1.0, in_units(sliding)),
    "units of border": (1.0, in_units(border)),
    "units of without slip": (0.7, in_units(without_slip)),
    "units of large friction": (0.7, in_units(painleve)),
    "units of redundant contacts": (0.5, in_units(redundant_contacts)),
    "units of ties": (0.5, in_units(ties)),
}
