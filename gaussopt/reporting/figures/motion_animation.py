"""Make the part of a report that shows a motion: animation, still picture, description, and data."""

from __future__ import annotations

from collections.abc import Mapping

from gaussopt.animation.animate import data_of, description, parameters_of, still_svg
from gaussopt.animation.playback import speed_words
from gaussopt.animation.scene import scene_of
from gaussopt.animation.smil import animated_svg
from gaussopt.core.motion import RecordedMotion
from gaussopt.modelling.problem import Problem, sketch_of
from gaussopt.reporting.document import Animation


def animation_block(
    trajectory: RecordedMotion, problem: Problem, name: str, caption: str, *,
    beside: Mapping[str, RecordedMotion] | None = None, label: str = "", t_end: float | None = None,
) -> Animation:  # fmt: skip
    """Make a block of a report that shows a motion until `t_end` (s): animation, still picture, description, and data.

    The sketch is that of `problem`; the speed of playback is added to the caption. Further motions, `beside`, are drawn
    in the same picture, where `label` names the first motion. Raises BadInput if there is no sketch, or if it fails.
    """
    scene = scene_of(
        trajectory, sketch_of(problem), parameters_of(trajectory, problem), beside=beside, label=label, t_end=t_end
    )
    alt = description(scene, trajectory, problem.title)
    shown = f"{caption} Playback: {speed_words(scene.frames.speed)}."
    return Animation(name, shown, alt, animated_svg(scene, alt), still_svg(scene, alt), data_of(scene, trajectory))
