"""Motions in space: forces and places that are drawn, the page in a browser, glTF read back."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from browsers import NARROW, barriers, opener

import gaussopt as go
from gaussopt.animation.meshes import unit
from gaussopt.animation.space_page import SpaceMotion
from gaussopt.bodies import Ball, Box, Capsule, Cylinder, Pile, Spherical, SpringDamper
from gaussopt.bodies.model import Assembly
from gaussopt.modelling.solids import Plane

MASS, GRAVITY, MU = 2.0, 9.81, 0.3


@pytest.fixture(scope="module")
def pile() -> SpaceMotion:
    """A box that slides with 1 m/s, and a ball at rest on another."""
    pile = Pile(mu=MU)
    pile.box(MASS, (0.2, 0.1, 0.1), at=(0, 0, 0.05), velocity=(0, 1, 0))
    pile.ball(1.0, 0.1, at=(0.5, 0, 0.1))
    pile.ball(3.0, 0.05, at=(0.5, 0, 0.25))
    problem = pile.problem(t_end=0.1, dt=0.01, name="three bodies")
    found = go.simulate(problem, stepper="moreau-jean", error_estimate=False, step_folder=None).animate(problem=problem)
    assert isinstance(found, SpaceMotion)
    return found


@pytest.fixture(scope="module")
def hanging() -> SpaceMotion:
    """A weight that hangs at rest on a spring from a held particle, in a model with y upwards."""
    model = go.Model(dim=3, gravity=(0, -GRAVITY, 0))
    held = model.particle("held", 1.0, at=(0, 1, 0))
    weight = model.particle("weight", MASS, at=(0, 0.5, 0), shape=[Capsule(0.02, (0, 0, 0), (0, 0.1, 0)), Ball(0.05)])
    model.add(Spherical("hook", model.ground.at(0, 1, 0), held))
    model.add(SpringDamper("spring", held, weight, stiffness=MASS * GRAVITY / 0.1, length=0.4))
    problem = model.problem(t_end=0.02, name="hanging")
    found = go.simulate(problem, error_estimate=False, step_folder=None).animate(problem=problem)
    assert isinstance(found, SpaceMotion)
    return found


def test_arrows_are_the_forces_of_the_motion(pile: SpaceMotion, hanging: SpaceMotion) -> None:
    last = {
        kind: [(a.at[-1], a.force[-1]) for a in pile.scene.arrows if a.kind == kind]
        for kind in ("normal force", "friction")
    }
    normal = sum(f for at, f in last["normal force"] if at[0] < 0.3)
    assert normal == pytest.approx([0, 0, MASS * GRAVITY], abs=1e-6)
    assert sum(f for _, f in last["friction"]) == pytest.approx([0, -MU * MASS * GRAVITY, 0], abs=1e-6)
    assert all(abs(at[2]) < 1e-8 for at, _ in last["friction"])
    # The ball above presses along the line of centres, where the two touch.
    (above,) = [(at, f) for at, f in last["normal force"] if at[2] > 0.1]
    assert above[0] == pytest.approx([0.5, 0, 0.2], abs=1e-6)
    assert above[1] == pytest.approx([0, 0, 3 * GRAVITY], abs=1e-6)
    (hook,) = hanging.scene.arrows
    assert (hook.kind, hook.name) == ("joint force", "hook")
    assert hook.force[-1] == pytest.approx([0, (MASS + 1.0) * GRAVITY, 0], rel=1e-6)
    assert hook.at[-1] == pytest.approx([0, 1, 0])
    assert hanging.scene.picture.up == (0, 1, 0)


def test_meshes_face_outwards_and_have_their_volume() -> None:
    for mesh, volume in (("box", 1.0), ("ball", 4 / 3 * np.pi), ("cylinder", np.pi)):
        corners, normals, _ = unit(mesh)
        a, b, c = corners.reshape(-1, 3, 3).transpose(1, 0, 2)
        assert np.einsum("ti,ti->", a, np.cross(b, c)) / 6 == pytest.approx(volume, rel=0.04)
        faces = np.cross(b - a, c - a)
        middle = normals.reshape(-1, 3, 3).mean(axis=1)
        assert (np.einsum("ti,ti->t", faces, middle) > -1e-12).all()


def test_a_body_without_a_shape_is_a_wireframe_of_its_inertia_and_its_joints() -> None:
    """A rod of 3 x 0.2 x 0.1 m, its inertia given in a frame turned about z."""
    c, s = np.cos(0.4), np.sin(0.4)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    edges = np.array([3.0, 0.2, 0.1])
    inertia = R @ np.diag(MASS / 12 * (edges @ edges - edges**2)) @ R.T
    model = go.Model(dim=3)
    rod = model.body("rod", MASS, ((inertia + inertia.T) / 2).tolist(), at=(1, 0, 0))
    model.add(Spherical("tip", model.ground, rod.at(-1, 0, 0)))
    picture = Assembly(lambda: model).in_space({})
    *frame, link = (solid for name, solid in picture.solids if name == "rod")
    assert all(isinstance(edge, Cylinder) and edge.radius == 0 for edge in frame)
    along = np.abs([np.subtract(edge.end, edge.start) for edge in frame] @ R)
    assert along[np.lexsort(along.T)] == pytest.approx(np.repeat(np.diag(edges), 4, axis=0), abs=1e-12)
    middle = np.mean([np.add(edge.end, edge.start) / 2 for edge in frame], axis=0)
    assert middle == pytest.approx(0.0, abs=1e-12)
    assert link == Cylinder(0, (0, 0, 0), (-1, 0, 0))
    with pytest.raises(go.BadInput, match="shape of 'x' is 'round'"):
        model.body("x", 1.0, (1, 1, 1), shape="round")
    for solid in (Box(("a", 1, 1)), Cylinder(0.1, (0, 0), (0, 0, 1)), Ball(-1), Ball(sp.Symbol("unknown"))):
        wrong = go.Model(dim=3)
        wrong.particle("x", 1.0, shape=solid)
        with pytest.raises(go.BadInput, match=r"solid|shape"):
            Assembly(lambda wrong=wrong: wrong).in_space({})


def test_formulas_of_a_model_in_space() -> None:
    model = go.Model(dim=3, gravity=(0, 0, -GRAVITY))
    model.add(Spherical("tip", model.ground, model.body("top", MASS, (2, 2, 1)).at(0, -1, 0)))
    text = model.to_latex()
    assert text.count(r"\begin") == text.count(r"\end") > 3
    assert r"e_{0 top}" in text


def test_every_problem_in_space_has_its_bodies() -> None:
    for name in ("pinched-capsule", "four-leg-table", "box-wall", "sphere-pile", "rolling-disc"):
        problem = go.problem(name)
        picture = problem.in_space(problem.parameter_values, "")
        drawn = {body for body, _ in picture.solids} - {""}
        assert drawn <= {unit.partition("_")[2] for unit in problem.units}
        assert sum(isinstance(solid, Plane) for _, solid in picture.solids) <= 5


def test_the_page_in_a_browser(pile: SpaceMotion, browser: Any, tmp_path: Path) -> None:
    file = pile.save(tmp_path / "pile.html")
    text = file.read_text(encoding="utf-8")
    assert "Permission is hereby granted, free of charge" in text
    assert not re.search(r"<\w+[^>]*\s(src|href)\s*=", text)
    with opener(browser) as (open_, _):
        page = open_(file, NARROW, reduced_motion="reduce")
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        assert barriers(page) == []
        canvas = page.locator("canvas")

        def seen() -> bytes:
            page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            return bytes(canvas.screenshot())

        start = seen()
        page.locator("#time").evaluate("e => { e.value = 1000; e.dispatchEvent(new Event('input')); }")
        assert page.inner_text("#now") == "t = 0.1000 s"
        end = seen()
        canvas.press("ArrowLeft")
        turned = seen()
        before = page.evaluate("camera.position.toArray()")
        page.click("#home")
        assert page.evaluate("camera.position.toArray()") != pytest.approx(before, abs=1e-3)
        assert len({start, end, turned}) == 3
        assert page.evaluate("bodies[1].position.y") == pytest.approx(pile.scene.poses["1"][-1, 1], abs=1e-6)
        assert "1 goes from (0, 0, 0.05)" in str(canvas.get_attribute("aria-label"))
        assert page.locator("tbody tr").count() == 3 * 5
        assert page.inner_text("#play") == "Play"
        page.click("#play")
        assert page.inner_text("#play") == "Pause"


def test_gltf_moves_as_the_motion_does(hanging: SpaceMotion, pile: SpaceMotion, tmp_path: Path) -> None:
    if find_spec("pygltflib") is None:
        with pytest.raises(go.BadInput, match=re.escape("pip install 'gaussopt[gltf]'")):
            hanging.save(tmp_path / "x.glb")
        assert not list(tmp_path.iterdir())
        return
    import pygltflib

    for film in (hanging, pile):
        model: Any = pygltflib.GLTF2.load_binary(str(film.save(tmp_path / "x.glb")))
        nodes = {node.name: i for i, node in enumerate(model.nodes)}
        (moves,) = model.animations

        def values(accessor: Any, model: Any = model) -> Any:
            view = model.bufferViews[accessor.bufferView]
            found = np.frombuffer(model.binary_blob()[view.byteOffset : view.byteOffset + view.byteLength], "<f4")
            return found.reshape(accessor.count, -1)

        for name in film.scene.bodies:
            (channel,) = [c for c in moves.channels if (c.target.node, c.target.path) == (nodes[name], "translation")]
            sampler = moves.samplers[channel.sampler]
            assert values(model.accessors[sampler.output]) == pytest.approx(film.scene.poses[name][:, :3], abs=1e-6)
            assert values(model.accessors[sampler.input])[-1, 0] == pytest.approx(film.scene.frames.playback)


def test_refusals(pile: SpaceMotion, tmp_path: Path) -> None:
    with pytest.raises(
        go.BadInput, match=r"in space and has no sketch in the plane; write its motion as \.html or \.glb"
    ):
        pile.save(tmp_path / "x.svg")
    flat = go.simulate("four-bar", dt=0.01, t_end=0.02, step_folder=None)
    with pytest.raises(go.BadInput, match="in the plane"):
        go.animate(flat, tmp_path / "x.glb")
    assert not list(tmp_path.iterdir())
