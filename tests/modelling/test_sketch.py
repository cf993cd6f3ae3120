"""Sketches: every problem looks like its mechanics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core import registry
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem, sketch_of
from gaussopt.modelling.sketch import (
    Bar,
    Block,
    ContactPoint,
    Disk,
    Ground,
    Pin,
    Place,
    Point,
    Shape,
    Sketch,
    Wall,
    along,
    as_sketch,
    between,
    chain,
    segments,
    words,
)  # fmt: skip
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure, drawn_shapes, inventory

PROBLEMS = registry.names("problem")
VARIANTS = [(name, variant) for name in PROBLEMS for variant in ("", *go.problem(name).variants)]


def states(entry: Problem) -> list[np.ndarray]:
    """The start and a few states along a straight line from it; sketches need no dynamics."""
    return [entry.q0 + s * (entry.v0 + 0.3) for s in np.linspace(0.0, 0.5, 6)]


def shapes_at(entry: Problem, q: np.ndarray) -> tuple[Shape, ...]:
    return sketch_of(entry).shapes(q, entry.parameter_values, entry.name)


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_every_problem_has_a_sketch_of_rigid_bodies(name: str, variant: str) -> None:
    entry = go.problem(name, **({"variant": variant} if variant else {}))
    frames = [shapes_at(entry, q) for q in states(entry)]
    for track in zip(*frames, strict=True):
        assert len({type(s) for s in track}) == 1
        if isinstance(track[0], Bar):
            lengths = [float(np.hypot(*np.subtract(s.end, s.start))) for s in track]
            assert np.ptp(lengths) < 1e-12 * (1 + max(lengths))
        if isinstance(track[0], Block):
            assert len({(s.width, s.height) for s in track}) == 1


@pytest.mark.parametrize("name", ["crank-slider", "four-bar", "guided-slider-crank"])
def test_hinges_hold_along_the_motion(name: str) -> None:
    entry = go.problem(name)
    traj = go.simulate(entry, dt=1e-3, t_end=0.1, step_folder=None, error_estimate=False)
    for q in traj.q[::20]:
        shapes = shapes_at(entry, q)
        ends = np.array([p for s in shapes if isinstance(s, Bar) for p in (s.start, s.end)])
        for pin in (s for s in shapes if isinstance(s, Pin)):
            # A bar ends there, and as a rule a second one: the rows of the system hold, so the picture closes.
            assert np.hypot(*(ends - pin.at).T).min() < 1e-9


def distance(point: ContactPoint, shapes: tuple[Shape, ...]) -> float:
    """Height over the nearest surface with the contact's normal."""
    found = []
    for s in shapes:
        if isinstance(s, Ground | Wall):
            angle = s.angle if isinstance(s, Ground) else np.arctan2(*np.subtract(s.end, s.start)[::-1])
            normal = np.array([-np.sin(angle), np.cos(angle)])
            if normal @ point.normal > 1 - 1e-9:
                at = s.at if isinstance(s, Ground) else s.start
                found.append(float(normal @ np.subtract(point.at, at)))
    return min(found, key=abs)


@pytest.mark.parametrize(("name", "variant"), [x for x in VARIANTS if "printed" not in x[1]])
def test_contact_points_are_where_the_system_says(name: str, variant: str) -> None:
    entry = go.problem(name, **({"variant": variant} if variant else {}))
    system = entry.system
    start = system.evaluate(0.0, entry.q0, entry.v0)
    if not start.k or start.J_T.shape[1] != 1:
        pytest.skip("no contacts in the plane")
    for q in states(entry):
        shapes = shapes_at(entry, q)
        contacts = {s.name: s for s in shapes if isinstance(s, ContactPoint)}
        assert set(system.contact_names) <= set(contacts)
        step = system.evaluate(0.0, q, entry.v0 + 0.2)
        for i, contact in enumerate(system.contact_names):
            assert step.g_N is not None
            here = contacts[contact]
            assert distance(here, shapes) == pytest.approx(step.g_N[i], abs=1e-12)
            if any(isinstance(s, Disk) for s in shapes):
                continue  # its contact point moves over the body
            eps = 1e-6
            ends = [next(s for s in shapes_at(entry, q + e * (entry.v0 + 0.2))
                         if isinstance(s, ContactPoint) and s.name == contact) for e in (-eps, eps)]  # fmt: skip
            rate = np.subtract(ends[1].at, ends[0].at) / (2 * eps)
            assert rate @ here.normal == pytest.approx(step.gdot_N[i], abs=1e-8)  # type: ignore[index]
            assert rate @ here.tangent == pytest.approx(step.v_T[i, 0], abs=1e-8)


@pytest.mark.parametrize("name", PROBLEMS)
def test_drawings(name: str) -> None:
    entry = go.problem(name)
    figure = drawing_figure(entry, "drawing")
    again = drawing_figure(entry, "drawing")
    assert figure.svg == again.svg
    shapes, _ = drawn_shapes(entry)
    for s in shapes:
        label = getattr(s, "label", "")
        if label:
            assert words(label) in figure.alt
    assert len(figure.data) >= 3


def test_the_two_models_of_the_bars_look_alike() -> None:
    four, six = go.problem("two-bar"), go.problem("two-bar", variant="maximal")
    a, b = (shapes_at(p, p.q0) for p in (four, six))
    for s, t in zip(a, b, strict=True):
        assert np.allclose(segments(s), segments(t), atol=1e-12)


def test_a_double_pendulum_takes_three_lines(pendulum: go.System) -> None:
    def sketch(q: Any, p: Any) -> Any:
        return chain((0, 0), (p["l1"], q[0] - np.pi / 2), (p["l2"], q[1] - np.pi / 2), labels="OAB")

    shapes = as_sketch(sketch).shapes(np.array([0.0, np.pi / 2]), {"l1": 1.0, "l2": 2.0})
    end = next(s for s in shapes if isinstance(s, Point))
    assert end.at == pytest.approx((2.0, -1.0))
    assert inventory(shapes) == "2 bars; hinge (A); fixed bearing (O); marked point (B)"


def test_geometry() -> None:
    assert along((1.0, 1.0), 2.0, np.pi / 2) == pytest.approx((1.0, 3.0))
    assert between((0.0, 0.0), (2.0, 4.0)) == (1.0, 2.0)


def bare(**more: Any) -> Problem:
    import sympy as sp

    x, v = sp.symbols("x v")
    return Problem(
        name="bare", title="Bare", source="test", description="One mass.",
        parameters=(Parameter("k", 1.0, "N/m", "k"),),
        build=lambda: go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, parameters={"k": 1.0}, name="bare"),
        start=lambda p: (np.ones(1), np.zeros(1)), t_end=1.0, dt=0.1, **more,
    )  # fmt: skip


def point(q: Any, p: Any) -> tuple[Shape, ...]:
    return (Point((q[0], 0.0), "P"),)


def broken(q: Any, p: Any) -> tuple[Shape, ...]:
    raise KeyError("l")


class OwnPoint(Point):
    """A kind of shape of a person's own."""


def place(at: Any) -> Callable[..., tuple[Shape, ...]]:
    return lambda q, p: (Point(at),)


def test_a_problem_without_a_sketch_says_how_to_give_one(assert_sentence: Any) -> None:
    with pytest.raises(go.BadInput) as error:
        drawing_figure(bare(), "x")
    assert_sentence(error.value, "'bare'", "sketch=", "Bar(start, end)")


def test_a_variant_with_other_coordinates_needs_its_own(assert_sentence: Any) -> None:
    entry = bare(sketch=point, variants={"other": bare().build}, starts={"other": lambda p: (np.ones(1), np.zeros(1))})
    with pytest.raises(go.BadInput) as error:
        sketch_of(entry.at(variant="other"))
    assert_sentence(error.value, "'other'", "sketches")
    assert sketch_of(replace(entry, sketches={"other": point}).at(variant="other")).draw is point
    assert sketch_of(entry).draw is point


def leaves(q: Any, p: Any) -> Any:
    raise SystemExit(5)


@pytest.mark.parametrize(
    ("sketch", "culprits"),
    [
        (broken, ["KeyError", "bare"]),
        (lambda q, p: ("bar",), ["str"]),
        (place((np.nan, 0.0)), ["Point", "finite"]),
        (place((1.0, 2.0, 3.0)), ["Point"]),
        (place("here"), ["Point", "here"]),
        (lambda q, p: (Point((0.0, 0.0), "A", "up"),), ["side", "up"]),
        (3.0, ["float", "function"]),
        (lambda q, p: [], ["no shapes"]),
        (lambda q, p: (), ["no shapes"]),
        (leaves, ["SystemExit", "5"]),
        (lambda q, p: [Disk((0.0, 0.0), -0.05)], ["radius", "negative"]),
        (lambda q, p: [Disk((0.0, 0.0), np.float64(np.inf))], ["radius", "finite"]),
        (lambda q, p: [OwnPoint((0.0, np.nan))], ["OwnPoint", "finite"]),
        (lambda q, p: (Point((0.0, 0.0), 3),), ["label", "text"]),
    ],
)
def test_bad_sketches_give_one_sentence(sketch: Any, culprits: list[str], assert_sentence: Any) -> None:
    with pytest.raises(go.GaussoptError) as error:
        drawing_figure(bare(sketch=sketch), "x")
    assert_sentence(error.value, *culprits)


def test_the_pose_is_left_where_a_start_is_given() -> None:
    entry = bare(sketch=Sketch(point, lambda p: np.array([5.0])))
    spot: Place = next(s.at for s in drawn_shapes(entry)[0] if isinstance(s, Point))
    assert spot == (5.0, 0.0)
    shapes, posed = drawn_shapes(entry.at(q0=[2.0]))
    assert not posed
    assert shapes[0].at == (2.0, 0.0)  # type: ignore[union-attr]


def test_an_error_of_several_lines_is_told_on_one() -> None:
    def draw(q: Any, p: Any) -> Any:
        raise ValueError("boom\nline 2")

    with pytest.raises(go.BadInput, match="The sketch of the problem raised ValueError: boom line 2"):
        Sketch(draw).shapes(np.zeros(1), {})


@pytest.mark.parametrize("x", [1, np.float64(1.0), np.array(1.0)])
def test_any_number_is_a_coordinate(x: Any) -> None:
    shapes = Sketch(lambda q, p: (Point((x, 0)), Point((x, 0.0)))).shapes(np.zeros(1), {})
    assert all(s.at == (1.0, 0.0) for s in shapes)  # type: ignore[union-attr]
