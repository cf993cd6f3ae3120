"""Piles of spheres, walls of boxes and random contacts as spatial contact problems of adjustable size and difficulty.

A problem of a pile or wall is one time step, of length STEP, of rigid bodies under gravity; its attribute `local` is
the same problem in the contact impulses alone. Memory is proportional to the number of contacts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, GlobalContacts
from gaussopt.core.errors import BadInput

STEP, GRAVITY = 2e-3, 9.81
"""Length of the time step, s, and acceleration of gravity, m/s^2."""

DENSITY = 1000.0
"""Density of the lightest body, kg/m^3."""

RADIUS, BOX = 0.01, (0.2, 0.1, 0.1)
"""Radius of a sphere; length, width and height of a box, m."""

SCATTER = 0.02
"""Standard deviation, in diameters, of the random shifts of spheres that make all contacts differ."""

Bodies = NDArray[np.int64]


def sphere_pile(
    contacts: int = 100, mu: float = 0.8, mass_ratio: float = 1.0, speed: float = 0.0, seed: int = 1
) -> GlobalContacts:
    """Return a pyramid of spheres on the floor with `contacts` contacts; spheres above the floor rest on four others.

    Parameters
    ----------
    mu : friction coefficient; the pyramid stands at 0.8 and slides apart at 0.4
    mass_ratio : mass of the heaviest sphere relative to the lightest
    speed : standard deviation of the velocity components of the centres, m/s; 0 for a pile at rest
    """
    _check(contacts, mu, mass_ratio)
    random = np.random.default_rng(seed)
    layers, pairs, centres = 1, np.zeros((0, 2), dtype=np.int64), np.zeros((1, 3))
    while len(pairs) + layers * layers < contacts:
        layers += 1
        places = []
        for layer in range(layers):
            along = np.arange(layers - layer) + 0.5 * layer
            x, y = np.meshgrid(along, along)
            places.append(np.column_stack((x.ravel(), y.ravel(), np.full(x.size, layer * np.sqrt(0.5)))))
        centres = np.vstack(places)
        pairs = cKDTree(centres).query_pairs(1.01, output_type="ndarray").astype(np.int64)
        pairs = pairs[np.abs(centres[pairs[:, 0], 2] - centres[pairs[:, 1], 2]) > 0.1]
    floor = min(layers * layers, contacts)
    held = (contacts - floor) // 4  # number of spheres that rest on four others; `lone` spheres lie on the floor, apart
    lone = contacts - floor - 4 * held
    pairs = pairs[np.argsort(pairs.max(axis=1), kind="stable")][: 4 * held]  # spheres are numbered from the floor up
    aside = np.column_stack((-2.0 - np.arange(lone), np.zeros((lone, 2))))
    centres = np.vstack((centres[: floor + held], aside))
    ground = np.append(np.arange(floor), floor + held + np.arange(lone))
    above, below = np.append(ground, pairs.max(axis=1)), np.append(np.full(len(ground), -1), pairs.min(axis=1))
    centres = 2.0 * RADIUS * (centres + SCATTER * random.normal(size=centres.shape))
    apart = np.where(below[:, None] >= 0, centres[above] - centres[below], [0.0, 0.0, 1.0])
    normal = apart / np.linalg.norm(apart, axis=1)[:, None]
    mass = _masses(DENSITY * 4.0 / 3.0 * np.pi * RADIUS**3, mass_ratio, len(centres), random)
    inertia = np.repeat(0.4 * mass[:, None] * RADIUS**2, 3, axis=1)
    velocity = speed * random.normal(size=(len(centres), 6)) * np.repeat([1.0, 0.6 / RADIUS], 3)
    arms = -RADIUS * normal, RADIUS * normal
    return _step((above, below), normal, arms, mass, inertia, velocity, mu)


def box_wall(
    contacts: int = 100, mu: float = 0.5, mass_ratio: float = 1.0, speed: float = 0.0, seed: int = 1
) -> GlobalContacts:
    """Return a triangular wall in running bond; a box has four contacts with the floor or with each of two boxes below.

    Three contacts per face would suffice to hold a rigid box; the fourth makes W rank deficient. `contacts` is rounded
    up to a multiple of four; surplus boxes stand beside the wall. For other parameters see `sphere_pile`.
    """
    _check(contacts, mu, mass_ratio)
    random = np.random.default_rng(seed)
    faces, width = -(-contacts // 4), 1
    while width * width < faces:
        width += 1
    floor = min(width, faces)
    held = (faces - floor) // 2
    lone = faces - floor - 2 * held
    layer = np.repeat(np.arange(width), width - np.arange(width))[: floor + held]
    along = np.concatenate([np.arange(width - i) for i in range(width)])[: floor + held]
    place = np.column_stack((BOX[0] * (along + 0.5 * layer), np.zeros(len(layer)), BOX[2] * (layer + 0.5)))
    place = np.vstack((place, np.column_stack((-2.0 * BOX[0] * (1 + np.arange(lone)), np.zeros(lone),
                                               np.full(lone, 0.5 * BOX[2])))))  # fmt: skip
    upper = floor + np.arange(held)
    left = upper - (width - layer[upper] + 1)  # the box that supports the left half
    ground = np.append(np.arange(floor), floor + held + np.arange(lone))
    above = np.concatenate((ground, upper, upper))
    below = np.concatenate((np.full(len(ground), -1), left, left + 1))
    ends = np.repeat([[-0.45, 0.45], [-0.45, -0.05], [0.05, 0.45]], [len(ground), held, held], axis=0)
    corner = np.stack((ends[:, [0, 0, 1, 1]], np.tile([-0.45, 0.45], (len(ends), 2)), np.full((len(ends), 4), -0.5)), 2)
    at = (place[above, None] + corner * BOX).reshape(-1, 3)
    above, below = np.repeat(above, 4), np.repeat(below, 4)
    mass = _masses(DENSITY * float(np.prod(BOX)), mass_ratio, len(place), random)
    squares = np.array(BOX) ** 2
    inertia = mass[:, None] * (squares.sum() - squares) / 12.0
    velocity = speed * random.normal(size=(len(place), 6)) * np.repeat([1.0, 2.0 / BOX[0]], 3)
    normal = np.tile([0.0, 0.0, 1.0], (len(above), 1))
    return _step((above, below), normal, (at - place[above], at - place[below]), mass, inertia, velocity, mu)


def random_contacts(
    contacts: int = 100, mu: float = 0.5, mass_ratio: float = 10.0, deficiency: int = 0, seed: int = 1
) -> GlobalContacts:
    """Return random contacts: H^T has up to 12 random entries per row and 3 `contacts` - `deficiency` columns."""
    _check(contacts, mu, mass_ratio)
    n = ROWS * contacts - deficiency
    if deficiency < 0 or n < ROWS:
        raise BadInput(f"deficiency is {deficiency}; it lies between 0 and {ROWS * contacts - ROWS}.")
    random = np.random.default_rng(seed)
    touched = min(12, n)
    begin = np.arange(contacts) * n // contacts
    rows = (begin[:, None] + np.arange(touched)) % n
    values = random.normal(size=(contacts, ROWS, touched)) / np.sqrt(touched)
    places = np.repeat(rows, ROWS, axis=0).ravel(), np.repeat(np.arange(ROWS * contacts), touched)
    H = sparse.csr_array((values.ravel(), places), shape=(n, ROWS * contacts))
    M = sparse.diags_array(_masses(1.0, mass_ratio, n, random)).tocsr()
    w = random.normal(size=ROWS * contacts) - np.tile([0.7, 0.0, 0.0], contacts)
    return GlobalContacts.from_mapping({"M": M, "H": H, "f": np.zeros(n), "w": w, "mu": np.full(contacts, mu)})


def _check(contacts: int, mu: float, mass_ratio: float) -> None:
    if contacts < 1 or mu < 0 or mass_ratio < 1:
        raise BadInput(
            f"There are {contacts} contacts, mu is {mu:g} and mass_ratio {mass_ratio:g}; give at least one contact, no "
            "negative friction coefficient and a ratio of at least 1."
        )


def _masses(mass: float, ratio: float, count: int, random: np.random.Generator) -> Vector:
    """Return masses from `mass` to `mass` times `ratio`, with uniformly distributed logarithms."""
    return np.asarray(mass * ratio ** random.uniform(0.0, 1.0, count))


def _step(
    bodies: tuple[Bodies, Bodies], normal: Matrix, arms: tuple[Matrix, Matrix], mass: Vector, inertia: Matrix,
    velocity: Matrix, mu: float,
) -> GlobalContacts:  # fmt: skip
    """Return a time step. Contacts join two `bodies` (indices, -1: floor); `arms`, m, lead from centres to contacts."""
    k, n = len(normal), 6 * len(mass)
    across = np.where(np.abs(normal[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = across - (across * normal).sum(axis=1)[:, None] * normal
    first /= np.linalg.norm(first, axis=1)[:, None]
    frame = np.stack((normal, first, np.cross(normal, first)), axis=1)
    values, rows, columns = [], [], []
    for sign, body, arm in zip((1.0, -1.0), bodies, arms, strict=True):
        held = body >= 0
        turn = np.cross(arm[held, None, :], frame[held])
        values.append((sign * np.concatenate((frame[held], turn), axis=2)).ravel())
        places = 6 * body[held, None, None] + np.arange(6)
        rows.append(np.broadcast_to(places, (int(held.sum()), ROWS, 6)).ravel())
        columns.append(np.repeat(ROWS * np.flatnonzero(held)[:, None] + np.arange(ROWS), 6))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    H = sparse.csr_array(sparse.coo_array(entries, shape=(n, ROWS * k)))
    masses = np.hstack((np.repeat(mass[:, None], 3, axis=1), inertia)).ravel()
    v = velocity.copy()
    v[:, 2] -= GRAVITY * STEP
    M = sparse.diags_array(masses).tocsr()
    data = {"M": M, "H": H, "f": masses * v.ravel(), "w": np.zeros(ROWS * k), "mu": np.full(k, mu)}
    return GlobalContacts.from_mapping(data)
