"""Motions as pictures drawn with Pillow: a GIF, byte for byte the same for the same motion, or a video by ffmpeg."""

from __future__ import annotations

import io
import math
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.animation.marks import INDEX, Mark, Part, Ring, Stroke, Word
from gaussopt.animation.playback import CAPTION, FLASH, HOLD
from gaussopt.animation.scene import SECOND, Scene, caption_word, clock_word, stamps, timeline, words_beside
from gaussopt.core.arrays import Matrix
from gaussopt.core.errors import BadInput
from gaussopt.plotting.colours import BODY, EDGE, FRICTION, INK, NORMAL, OTHER, PALE, PATH, WHITE, mixed
from gaussopt.plotting.figures import figure_of

FINER = 2
"""Factor by which pictures are drawn larger and then reduced, to smooth edges."""

RATE = 20.0
"""Frames per second of a GIF, whose frame times are whole hundredths of a second."""

VIDEO_RATE = 25
"""Frames per second of a video."""

DOTS = 100.0
"""Pixels per inch of the matplotlib figure from which a video is written."""

STEPS = 24
"""Number of shades of each colour in the palette."""

IN_PLACE = np.eye(3)
"""Identity, the transformation of marks that do not move."""


def gif(scene: Scene) -> bytes:
    """Write a scene as a GIF that repeats and pauses on its last frame."""
    from PIL import Image

    frames = [x.quantize(palette=_palette(), dither=Image.Dither.NONE) for x in _pictures(scene, RATE)]
    times = [round(1000 / RATE)] * (len(frames) - 1) + [round(1000 * HOLD)]
    out = io.BytesIO()
    frames[0].save(out, format="GIF", save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=False,
                   disposal=1)  # fmt: skip
    return out.getvalue()


def mp4(scene: Scene) -> bytes:
    """Write a scene as MP4, which ends with a pause on its last picture.

    Raises BadInput if ffmpeg is not found; matplotlib's setting `animation.ffmpeg_path` gives its path.
    """
    from matplotlib.animation import FFMpegWriter

    if not FFMpegWriter.isAvailable():
        raise BadInput("An .mp4 needs ffmpeg, which is not installed; install it, or write .gif, .svg or .html.")
    # H.264 accepts only even numbers of pixels.
    width, height = (2 * round(x / 2) for x in (scene.view.width, scene.view.height))
    figure = figure_of((width / DOTS, height / DOTS), None, dpi=DOTS)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    image = axes.imshow(np.zeros((height, width, 3), dtype=np.uint8), aspect="auto")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "motion.mp4"
        writer = FFMpegWriter(fps=VIDEO_RATE, codec="h264")
        with writer.saving(figure, str(file), DOTS):
            for picture in _pictures(scene, VIDEO_RATE):
                image.set_data(np.asarray(picture))
                writer.grab_frame()
            for _ in range(round(VIDEO_RATE * HOLD)):
                writer.grab_frame()
        return file.read_bytes()


def _pictures(scene: Scene, rate: float) -> Iterator[Any]:
    """Return the pictures of a playback, `rate` per second, as Pillow images."""
    playback = scene.frames.playback
    seconds = np.linspace(0.0, playback, max(2, round(playback * rate) + 1))
    rows = np.clip(np.searchsorted(scene.frames.clock, seconds - 1e-9), 0, len(scene.frames.t) - 1)
    return (_picture(scene, int(i), float(s)) for i, s in zip(rows, seconds, strict=True))


@cache
def _palette() -> Any:
    """Return an image that holds the palette of all pictures."""
    from PIL import Image, ImageColor

    inks = (INK, PALE, EDGE, NORMAL, FRICTION, PATH, OTHER)
    # The palette has steps from each colour to white, and from each edge colour to that of its body. It lacks the
    # palest step, which Pillow would use in place of white, because it rounds colours down before the search.
    colours = ["#ffffff", *(mixed(c, i / STEPS) for c in inks for i in range(2, STEPS + 1))]
    for fill, edge in ((BODY, EDGE), (SECOND.fill, OTHER)):
        colours += [mixed(edge, i / STEPS, fill) for i in range(STEPS)]
    image = Image.new("P", (1, 1))
    image.putpalette([level for colour in colours for level in ImageColor.getrgb(colour)])
    return image


def _picture(scene: Scene, frame: int, second: float) -> Any:
    """Draw a frame, with the texts that are shown at the time `second` of playback."""
    from PIL import Image

    size = (round(scene.view.width) * FINER, round(scene.view.height) * FINER)
    image = Image.new("RGB", size, WHITE)
    brush = _Brush(image)
    for track in scene.tracks:
        brush.line(track.points, mixed(track.colour, 0.3), 1.0)
        brush.line(track.points[: frame + 1], track.colour, 1.6)
    for part in scene.parts:
        brush.part(part, frame)
    for caption, at in scene.struck:
        age = second - scene.frames.second(caption.t)
        if 0 <= age < FLASH:
            brush.mark(Ring(at, 13.0, mixed(NORMAL, 1 - age / FLASH), 2.5))
    for part in scene.arrows:
        brush.part(part, frame)
    axis, left, right, y = timeline(scene)
    for part in (*axis, *words_beside(scene)):
        brush.part(part, 0)
    x = left + (right - left) * min(second / scene.frames.playback, 1.0)
    brush.mark(Ring((x, y), 5.0, INK, 0.0, INK))
    times, texts = stamps(scene.frames)
    now = float(scene.frames.t[0]) + second * scene.frames.speed
    text = texts[max(0, int(np.searchsorted(times, now + 1e-9 * (1 + abs(now)), side="right")) - 1)]
    brush.mark(clock_word(text))
    said = [c for c in scene.captions if 0 <= second - scene.frames.second(c.t) <= CAPTION]
    if said:
        brush.mark(caption_word(scene, said[-1]))
    return image.reduce(FINER)


@cache
def _font(size: int, letter: bool) -> Any:
    """Return a font that is supplied with matplotlib, so that it is the same on every machine."""
    import matplotlib
    from PIL import ImageFont

    name = "DejaVuSerif-Italic.ttf" if letter else "DejaVuSans.ttf"
    return ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/{name}", size)


def _width(mark: Stroke | Ring) -> int:
    return max(1, round(mark.width * FINER))


class _Brush:
    """Painter that draws marks enlarged by FINER; the finished picture is reduced by FINER, which smooths edges."""

    def __init__(self, image: Any) -> None:
        from PIL import ImageDraw

        self.draw = ImageDraw.Draw(image)

    def part(self, part: Part, frame: int) -> None:
        """Draw a part at a frame."""
        x, y, angle, sx, sy = part.at(frame)
        if sx == 0 or sy == 0:
            return
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        place = np.array([[c * sx, -s * sy, x], [s * sx, c * sy, y], [0.0, 0.0, 1.0]])
        for mark in part.marks:
            self.mark(mark, place)

    def mark(self, mark: Mark, place: Matrix = IN_PLACE) -> None:
        """Draw a mark under a transformation, (3, 3)."""
        if isinstance(mark, Stroke):
            for line in mark.lines:
                points = np.column_stack((np.array(line), np.ones(len(line)))) @ place.T
                self._stroke(mark, points[:, :2])
        elif isinstance(mark, Ring):
            x, y = (place @ np.array([*mark.centre, 1.0]))[:2] * FINER
            r = mark.radius * FINER
            outline = mark.colour if mark.width else None
            self.draw.ellipse((x - r, y - r, x + r, y + r), mark.fill or None, outline, _width(mark))
        else:
            self._word(mark, place)

    def line(self, points: Matrix, colour: str, width: float) -> None:
        """Draw a line through points (P, 2), px."""
        if len(points) > 1:
            self._stroke(Stroke((), colour, width), points)

    def _stroke(self, mark: Stroke, points: Matrix) -> None:
        xy = [tuple(p) for p in (points * FINER).tolist()]
        if mark.fill:
            self.draw.polygon(xy, mark.fill)
        if mark.width:
            width = _width(mark)
            if mark.dash:
                xy = xy[:2]
            self.draw.line([*xy, *xy[:2]] if mark.closed else xy, mark.colour, width, joint="curve")
            if mark.round and not mark.closed:
                for x, y in (xy[0], xy[-1]):
                    self.draw.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), mark.colour)

    def _word(self, word: Word, place: Matrix) -> None:
        x, y = (place @ np.array([*word.at, 1.0]))[:2] * FINER
        size = round(word.size * FINER * 0.88)
        pieces = [
            (text, below, _font(round(INDEX * size) if below else size, word.letter)) for text, below in word.pieces()
        ]
        total = sum(font.getlength(text) for text, _, font in pieces)
        x -= {"start": 0.0, "middle": total / 2, "end": total}[word.anchor]
        for text, below, font in pieces:
            drop = 0.28 * word.size * FINER if below else 0.0
            self.draw.text((x, y + drop), text, word.colour, font, anchor="ls", stroke_width=FINER, stroke_fill=WHITE)
            x += font.getlength(text)
