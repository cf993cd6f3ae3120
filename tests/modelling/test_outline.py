"""Systems without a sketch are drawn from their points, rods, pins and contact points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.modelling.chain import Chain
from gaussopt.modelling.problem import sketch_of


def test_rods_and_bearing_of_a_double_pendulum() -> None:
    x1, y1, x2, y2, *v = sp.symbols("x1 y1 x2 y2 vx1 vy1 vx2 vy2")
    system = go.System.from_lagrangian(
        [x1, y1, x2, y2], v, kinetic=sum(b**2 for b in v) / 2,
        holonomic=[x1**2 + y1**2 - 1, 4 - (x2 - x1) ** 2 - (y2 - y1) ** 2], name="pendula",
    )  # fmt: skip
    outline = system.outline(np.array([0.0, -1.0, 2.0, -1.0]))
    assert outline.points == [(0.0, -1.0), (2.0, -1.0)]
    assert sorted(map(sorted, outline.rods)) == [[(0.0, -1.0), (0.0, 0.0)], [(0.0, -1.0), (2.0, -1.0)]]
    assert outline.bearings == [(0.0, 0.0)]
    kinds = [type(s).__name__ for s in sketch_of(go.Problem.of(system, [0, -1, 2, -1], t_end=1.0)).draw(np.ones(4), {})]
    assert kinds == ["Bar", "Bar", "Bearing", "Point", "Point"]


def test_contact_points_are_where_the_gaps_say() -> None:
    problem = go.problem("two-bar", l=3.0)
    outline = problem.system.outline(problem.q0)
    assert list(outline.contacts) == ["A", "C"]
    assert [y for _, y in outline.contacts.values()] == pytest.approx(problem.system.gaps(0.0, problem.q0))


def test_pins_of_a_linkage_and_points_of_a_plain_system() -> None:
    chain = Chain(3)
    q, _ = chain.hanging()
    outline = chain.system.outline(q)
    assert np.allclose(outline.bearings, [(0, 0)])
    assert np.allclose(outline.pins, [(0, -0.1), (0, -0.2)])
    assert np.allclose(outline.rods[-1], [(0, -0.2), (0, -0.25)])
    plain = go.System(mass=np.eye(2), force=[0, -9.81], contacts=go.contact_points(lambda t, q: q[None], names=["P"]))
    assert plain.outline(np.array([1.0, 2.0])).contacts == {"P": (1.0, 2.0)}


def test_a_motion_without_sketch_is_animated() -> None:
    problem = replace(go.problem("box"), sketch=None, sketches={})
    motion = go.simulate(problem, dt=1e-2, t_end=0.05)
    assert "<iframe" in motion.animate(problem=problem)._repr_html_()
    bare = go.System(mass=[[1.0]], force=[1.0], name="point")
    slides = go.simulate(bare, q0=[0.0], v0=[0.0], dt=0.1, t_end=0.2)
    with pytest.raises(go.BadInput, match="no sketch, so nothing can be drawn"):
        slides.animate(problem=bare)
