"""Animations: what is drawn is what was computed."""

from __future__ import annotations

import html as html_text
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

import gaussopt as go
from gaussopt.animation import raster
from gaussopt.animation.playback import HOLD, captions_of, frames_of, nice_below, sampled, speed_of
from gaussopt.animation.raster import gif
from gaussopt.animation.scene import LONGEST_ARROW, Scene, scene_of, stamps
from gaussopt.animation.smil import kept, thinned
from gaussopt.modelling.problem import sketch_of
from gaussopt.modelling.sketch import Bar, Point, chain
from gaussopt.reporting.figures.mechanism_drawing import animation_block

SVG = "{http://www.w3.org/2000/svg}"
FORBIDDEN = re.compile(r"\bid=|<script|href|url\(|xlink|@import|\bon\w+=|<style")


@pytest.fixture(scope="module")
def rod() -> go.Trajectory:
    """The rod that slides, stops and sticks."""
    return go.simulate(go.problem("sliding-rod", case="stop"), dt=2e-3, step_folder=None)


@pytest.fixture(scope="module")
def ball() -> go.Trajectory:
    """Flights and impacts."""
    return go.simulate("bouncing-ball", dt=0.02, t_end=3.0, step_folder=None)


@pytest.fixture(scope="module")
def crank() -> go.Trajectory:
    return go.simulate("crank-slider", stepper="dop853", dt=0.01, t_end=1.0, step_folder=None)


def scene(traj: go.Trajectory, name: str, **more: Any) -> Scene:
    entry = go.problem(name)
    return scene_of(traj, sketch_of(entry), traj.meta["parameters"], **more)


# -- speed and frames ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("span", [1e-9, 1e-3, 0.2, 0.53, 1.0, 2.0, 4.0, 7.0, 12.0, 20.0, 30.0, 60.0, 1e4])
def test_playback_takes_four_to_twelve_seconds_at_a_round_speed(span: float) -> None:
    speed = speed_of(span)
    assert 4.0 - 1e-6 <= span / speed <= 12.0 + 1e-6
    assert nice_below(speed) == pytest.approx(speed)
    if 4 <= span <= 12:
        assert speed == 1.0


def test_frames_follow_the_cubic_between_recorded_instants(crank: go.Trajectory) -> None:
    fine = go.simulate("crank-slider", stepper="dop853", dt=0.0025, t_end=1.0, step_folder=None)
    frames = sampled(crank, fine.t, 0.1)
    assert len(frames.t) == len(fine.t)
    assert np.abs(frames.q - fine.q).max() < 3e-4


def test_both_sides_of_an_event_are_frames(rod: go.Trajectory) -> None:
    frames = frames_of(rod)
    stick = next(e["t"] for e in rod.events if e["kind"] == "stick")
    there = np.flatnonzero(np.abs(frames.t - stick) < 1e-12)
    assert len(there) == 2
    # Friction falls from mu N to what holds the rod.
    before, after = np.abs(frames.lam_T[there, 0] / frames.lam_N[there, 0])
    assert before == pytest.approx(0.5, rel=1e-6)
    assert after < 0.49
    assert np.diff(frames.t).min() >= 0
    assert (frames.t[0], frames.t[-1]) == (rod.t[0], rod.t[-1])


def test_states_that_left_the_finite_numbers_are_not_drawn(crank: go.Trajectory) -> None:
    q = crank.q.copy()
    q[50:] = np.nan
    assert frames_of(replace(crank, q=q)).t[-1] == crank.t[49]
    q[:] = np.nan
    with pytest.raises(go.BadInput, match="no instant"):
        frames_of(replace(crank, q=q))


def test_captions_gather_what_is_too_quick(ball: go.Trajectory) -> None:
    captions = captions_of(ball, frames_of(ball))
    impacts = [e for e in ball.events if e["kind"] == "impact"]
    assert [c.t for c in captions] == [e["t"] for e in impacts]
    assert all(c.impacts == ("floor",) for c in captions)
    many = replace(ball, events=tuple({"t": 1.0 + 1e-3 * i, "kind": "impact", "contact": "floor"} for i in range(9)))
    (one,) = captions_of(many, frames_of(ball))
    assert one.text == "impact of floor (9 times)"


# -- forces ----------------------------------------------------------------------------------------------------


def arrows_at(s: Scene, frame: int) -> list[tuple[float, float]]:
    """Length (px, with its sign) and direction (degrees) of the arrows, from where they begin to where heads end."""
    found = []
    for shaft, head in zip(s.arrows[::2], s.arrows[1::2], strict=True):
        x, y, angle, *_ = shaft.at(frame)
        tip = head.at(frame)
        along = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        found.append((float((tip[0] - x) * along[0] + (tip[1] - y) * along[1]), angle))
    return found


def test_arrows_have_direction_and_length_of_the_forces(rod: go.Trajectory) -> None:
    s = scene(rod, "sliding-rod")
    assert s.legend is not None
    N, T = s.frames.lam_N[:, 0], s.frames.lam_T[:, 0]
    assert s.legend.scale * np.abs(N).max() == pytest.approx(LONGEST_ARROW)
    assert s.legend.length == pytest.approx(s.legend.scale * s.legend.value)
    for frame in (0, len(N) // 3, len(N) - 1):
        normal, friction = arrows_at(s, frame)
        assert normal == pytest.approx((s.legend.scale * N[frame], -90.0))  # upwards on the screen
        assert friction == pytest.approx((s.legend.scale * T[frame], 0.0))
    assert arrows_at(s, 0)[1][0] > 0  # A slides to the left, friction points to the right


def test_arrows_vanish_with_the_force() -> None:
    traj = go.simulate(go.problem("sliding-rod", case="lift"), dt=2e-3, step_folder=None)
    s = scene(traj, "sliding-rod")
    open_ = np.flatnonzero(s.frames.t > traj.events[0]["t"] + 1e-9)
    assert len(open_)
    for arrow in s.arrows:
        *_, sx, _sy = arrow.at(int(open_[0]))
        assert sx == 0.0


def test_a_two_sided_contact_bears_on_its_other_wall() -> None:
    traj = go.simulate(go.problem("guided-slider-crank", case="turning"), dt=5e-3, t_end=0.02, step_folder=None)
    traj = replace(traj, lam_N=np.linspace(3.0, -2.0, len(traj.t))[:, None])
    s = scene(traj, "guided-slider-crank")
    N = s.frames.lam_N[:, 0]
    assert (N > 0).any()
    assert (N < 0).any()
    shaft = s.arrows[0]
    low, high = (float(shaft.at(int(np.flatnonzero(sign * N > 0)[0]))[1]) for sign in (1, -1))
    assert high < low  # further up on the screen
    assert arrows_at(s, int(N.argmin()))[0][0] < 0


def test_no_forces_no_scale(ball: go.Trajectory) -> None:
    s = scene(ball, "bouncing-ball")
    assert s.legend is None
    assert len(s.struck) == len(s.captions) == len([e for e in ball.events if e["kind"] == "impact"])


# -- the animated picture --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rod", "ball", "crank"])
def test_svg_is_small_well_formed_and_alone(name: str, request: pytest.FixtureRequest) -> None:
    traj = request.getfixturevalue(name)
    entry = go.problem(traj.meta["problem"])
    block = animation_block(traj, entry, "motion", "It moves.")
    for svg in (block.svg, block.still):
        root = ElementTree.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert root.get("role") == "img"
        assert not FORBIDDEN.search(svg)
        assert len(svg) < 150_000
        width, height = float(root.get("width", 0)), float(root.get("height", 0))
        assert 300 < width < 760
        assert 100 < height < 480
    root = ElementTree.fromstring(block.svg)
    moves = [e for e in root.iter() if e.tag.startswith(f"{SVG}animate")]
    assert moves
    cycle = float(root.get("data-playback", 0)) + HOLD
    for move in moves:
        keys = [float(k) for k in move.get("keyTimes", "").split(";")]
        assert len(keys) == len(move.get("values", "").split(";"))
        assert keys[0] == 0
        assert sorted(keys) == keys
        assert keys[-1] == 1 or move.get("calcMode") == "discrete"
        assert float(move.get("dur", "0s")[:-1]) == pytest.approx(cycle, abs=1e-3)
    assert not [e for e in ElementTree.fromstring(block.still).iter() if e.tag.startswith(f"{SVG}animate")]
    assert "Playback: " in block.caption
    again = animation_block(traj, entry, "motion", "It moves.")
    assert (again.svg, again.still, again.alt) == (block.svg, block.still, block.alt)
    assert "t" in block.data
    assert len(frames_of(traj).t) / 4 <= len(block.data) <= len(frames_of(traj).t) / 3
    assert set(block.data.columns) >= {"t", *traj.coordinates}


def test_the_picture_moves_as_the_mechanism_does(crank: go.Trajectory) -> None:
    """Rotation of the crank at all key frames, read back from the file."""
    block = animation_block(crank, go.problem("crank-slider"), "motion", "")
    root = ElementTree.fromstring(block.svg)
    cycle = float(root.get("data-playback", 0)) + HOLD
    speed = float(root.get("data-speed", 0))
    theta1 = crank.q[:, 2]
    found = False
    for move in root.iter(f"{SVG}animateTransform"):
        values = np.array([v.split(",") for v in move.get("values", "").split(";")], dtype=float)
        t = np.array([float(k) for k in move.get("keyTimes", "").split(";")]) * cycle * speed
        if move.get("type") == "rotate" and abs(values[-1, 0]) > 90:
            truth = -np.degrees(np.interp(np.minimum(t, crank.t[-1]), crank.t, theta1))
            found = found or bool(np.abs(values[:, 0] - truth).max() < 1.5)
    assert found


def test_words_tell_the_motion(rod: go.Trajectory, ball: go.Trajectory) -> None:
    alt = animation_block(rod, go.problem("sliding-rod"), "x", "").alt
    assert f"theta goes from {rod.q[0, 2]:.3g} to {rod.q[-1, 2]:.3g}" in alt
    assert "stick of A at 0.05931 s" in alt
    assert f"{rod.lam_N.max():.3g} N" in alt
    assert "Contact floor bears no force." in animation_block(ball, go.problem("bouncing-ball"), "x", "").alt


def test_a_motion_beside(crank: go.Trajectory) -> None:
    other = go.simulate(go.problem("crank-slider", tau=-0.2), stepper="dop853", dt=0.02, t_end=0.8, step_folder=None)
    s = scene(crank, "crank-slider", beside={"less torque": other}, label="torque")
    assert s.frames.t[-1] == pytest.approx(0.8)
    assert [name for name, _ in s.names] == ["torque", "less torque"]
    first, second = s.tracks
    assert first.points.shape == second.points.shape
    end = sketch_of(go.problem("crank-slider")).shapes(other.q[-1], other.meta["parameters"])
    spot = next(x for x in end if isinstance(x, Point))
    assert second.points[-1] == pytest.approx(s.view.pixels(spot.at), abs=0.01)


@pytest.fixture
def few_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pictures a second in a GIF."""
    monkeypatch.setattr(raster, "RATE", 2.0)


def test_a_single_instant_stands_still(crank: go.Trajectory, few_pictures: None) -> None:
    first = replace(crank, **{k: getattr(crank, k)[:1] for k in ("t", "q", "v", "lam_N", "lam_T")})
    block = animation_block(first, go.problem("crank-slider"), "x", "")
    ElementTree.fromstring(block.svg)
    assert "rotate" not in "".join(re.findall("<animateTransform[^>]*", block.svg))
    assert len(gif(scene(first, "crank-slider"))) > 100


def test_kept_samples_reproduce_the_rest() -> None:
    t = np.sort(np.random.default_rng(1).uniform(0, 1, 200))
    values = np.stack((np.sin(9 * t), t**2), axis=1)
    rows = kept(t, values, 1e-3)
    assert len(rows) < 150
    back = np.stack([np.interp(t, t[rows], values[rows, i]) for i in (0, 1)], axis=1)
    assert np.abs(back - values).max() <= 1e-3
    jump = kept(np.array([0.0, 1.0, 1.0, 2.0]), np.array([[0.0], [0.0], [5.0], [5.0]]), 0.1)
    assert jump == [0, 1, 2, 3]
    line = thinned(np.column_stack((np.linspace(0, 100, 50), np.zeros(50))))
    assert len(line) == 2


def test_stamps_are_round_and_few() -> None:
    for t_end in (0.0437, 0.53, 2.0, 60.0):
        traj = go.simulate("knife-edge-body", dt=t_end / 5, t_end=t_end, step_folder=None)
        times, texts = stamps(frames_of(traj))
        assert 20 <= len(times) <= 80
        assert len(set(texts)) == len(texts)
        assert np.abs([float(x[4:-2]) for x in texts] - times).max() < 1e-9


# -- files -----------------------------------------------------------------------------------------------------


def test_gif(rod: go.Trajectory, tmp_path: Path) -> None:
    path = go.animate(rod, tmp_path / "rod.gif")
    playback = scene(rod, "sliding-rod").frames.playback
    with Image.open(path) as image:
        assert image.n_frames == round(playback * 20) + 1
        assert image.info["loop"] == 0
        image.seek(3)
        colours = image.convert("RGB").getcolors(100_000)
    assert colours is not None
    assert {(255, 255, 255), (196, 74, 0)} <= {c for _, c in colours}  # ground, and the normal force


def test_html_has_controls_and_asks_for_nothing(rod: go.Trajectory, tmp_path: Path) -> None:
    page = go.animate(rod, tmp_path / "rod.html").read_text(encoding="utf-8")
    assert "prefers-reduced-motion" in page
    assert 'type="range"' in page
    assert "<noscript>" in page
    assert not re.search(r'(src|href)\s*=\s*["\']', page)
    assert page.count("<svg") == 2


def test_a_system_of_ones_own(pendulum: go.System, tmp_path: Path) -> None:
    traj = go.simulate(pendulum, q0=[1.0, 0.0], v0=[0.0, 0.0], t_end=0.5, dt=0.01, step_folder=None)

    def sketch(q: Any, p: Any) -> Any:
        return chain((0.0, 0.0), (1.0, np.arctan2(q[1], q[0])), labels="OA")

    path = go.animate(traj, tmp_path / "pendulum.svg", sketch=sketch)
    ElementTree.fromstring(path.read_text(encoding="utf-8"))
    with pytest.raises(go.BadInput, match="sketch="):
        go.animate(traj, tmp_path / "pendulum.svg")


def test_refusals(rod: go.Trajectory, tmp_path: Path, assert_sentence: Any) -> None:
    for path, culprit in (("rod.avi", ".avi"), ("rod", "nothing"), ("none/rod.svg", "none")):
        with pytest.raises(go.BadInput) as error:
            go.animate(rod, tmp_path / path)
        assert_sentence(error.value, culprit)

    def changes(q: Any, p: Any) -> Any:
        return [Bar((0, 0), (1, 1))] * (1 if q[2] == rod.q[0, 2] else 2)

    with pytest.raises(go.BadInput, match="other shapes"):
        go.animate(rod, tmp_path / "rod.svg", sketch=changes)
    assert not list(tmp_path.iterdir())


def test_the_variant_decides_the_sketch(tmp_path: Path) -> None:
    entry = go.problem("two-bar", variant="maximal")
    traj = go.simulate(entry, dt=5e-3, t_end=0.02, step_folder=None)
    assert traj.meta["variant"] == "maximal"
    traj.save(tmp_path / "x.nc")
    go.animate(go.Trajectory.load(tmp_path / "x.nc"), tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_bytes().startswith(b"<svg")


def test_bytes_are_the_same_in_another_process(run_python: Any, tmp_path: Path, few_pictures: None) -> None:
    """Where names have another order by their hashes."""
    code = (
        "import gaussopt as go\nfrom gaussopt.animation import raster\nraster.RATE = 2.0\n"
        "motion = go.simulate('four-bar', dt=0.02, t_end=0.1, step_folder=None)\n"
        "for name in ('there.svg', 'there.gif'): go.animate(motion, name)"
    )
    run_python(code, PYTHONHASHSEED="2" if os.environ.get("PYTHONHASHSEED") == "1" else "1")
    motion = go.simulate("four-bar", dt=0.02, t_end=0.1, step_folder=None)
    for ending in ("svg", "gif"):
        here = go.animate(motion, tmp_path / f"here.{ending}")
        assert here.read_bytes() == (tmp_path / f"there.{ending}").read_bytes()


def test_names_of_users_cannot_break_the_picture(rod: go.Trajectory, tmp_path: Path) -> None:
    label = """<b>"it's" & so"""

    def sketch(q: Any, p: Any) -> Any:
        return (Bar((0.0, 0.0), (float(q[0]), 1.0)), Point((float(q[0]), 1.0), label))

    events = ({"t": 0.05, "kind": label},)
    named = replace(rod, events=events, meta={**rod.meta, "problem": label})
    text = go.animate(named, tmp_path / "x.svg", sketch=sketch).read_text(encoding="utf-8")
    root = ElementTree.fromstring(text.replace('"', "'"))  # as it stands in an attribute
    assert label in root.get("aria-label", "")
    assert label in ["".join(e.itertext()) for e in root.iter(f"{SVG}text")]
    page = go.animate(named, tmp_path / "x.html", sketch=sketch).read_text(encoding="utf-8")
    assert "<b>" not in page


def test_a_notebook_shows_the_motion_by_itself(ball: go.Trajectory) -> None:
    film = ball.animate()
    html = film._repr_html_()
    assert "<iframe" in html
    assert 'sandbox="allow-scripts"' in html
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)", html.replace("srcdoc=", ""))
    assert repr(film).startswith("<AnimatedMotion: ")
    assert film.page(whole=False) in html_text.unescape(html)


def test_video_needs_ffmpeg(ball: go.Trajectory, tmp_path: Path) -> None:
    from matplotlib.animation import FFMpegWriter

    film, file = ball.animate(), tmp_path / "ball.mp4"
    if FFMpegWriter.isAvailable():
        assert b"ftyp" in film.save(file).read_bytes()[:16]
    else:
        with pytest.raises(go.BadInput, match="needs ffmpeg"):
            film.save(file)
        assert not file.exists()
