"""Motions as videos, written by ffmpeg through matplotlib."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from gaussopt.animation.gif import pictures
from gaussopt.animation.playback import HOLD
from gaussopt.animation.scene import Scene
from gaussopt.core.errors import BadInput
from gaussopt.plotting.figures import figure_of

RATE = 25
"""Pictures per second."""

DOTS = 100.0
"""Pixels per inch of the figure."""


def mp4(scene: Scene) -> bytes:
    """Write a scene as MP4, which pauses on its last picture.

    Raises BadInput if there is no ffmpeg, which is searched for at matplotlib's setting `animation.ffmpeg_path`.
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
        writer = FFMpegWriter(fps=RATE, codec="h264")
        with writer.saving(figure, str(file), DOTS):
            for picture in pictures(scene, RATE):
                image.set_data(np.asarray(picture))
                writer.grab_frame()
            for _ in range(round(RATE * HOLD)):
                writer.grab_frame()
        return file.read_bytes()
