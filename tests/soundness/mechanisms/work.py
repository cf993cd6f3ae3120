"""The work of the campaign of models: a mechanism, states of it, the judge once for each, and every answer."""

from __future__ import annotations

import contextlib
import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from soundness.trials import findings
from soundness.trials.families import Program
from soundness.trials.findings import CRASHED, NOT_TAKEN, REFUSED, RIGHT, RIGHTLY, UNDECIDED, WRONG, Claim, Finding
from soundness.trials.work import Note, Tally, note_to

import gaussopt as go
from gaussopt.core.errors import GaussoptError, MissingBackend, NotAccepted

from . import draw, in_bodies, in_mujoco, motions
from .dials import drawn
from .fixed import ONE, fixed, floats, zeros
from .judge import Truth, Undecided, allowed_velocity, framed, judge, moved
from .measures import error
from .parts import Mechanism, State

TOLERANCE = 1e-6
"""Error of all accelerations in the norm of the masses, relative to those with and without joints together.

Where these are far below one in their unit, an error counts from what `passed` promises, or from a thousandth, as
errors of steps do.
"""
WELL = 1e-3
"""What has to be left of each chosen row, of unit length in unit masses, behind the others."""
SURE = 1e-5
"""The same, below which a wrong answer is left undecided."""
KINDS = {"plane": 0.3, "space": 0.3, "mujoco": 0.2, "pinocchio": 0.2}
"""Shares of the blocks."""
STATES = 200
"""States of a block: of one mechanism of `gaussopt.bodies`, of twenty of another engine."""
SPEEDS = 4
"""Velocities tried in every other position."""
MOTIONS = 10
"""Velocities in the first position; of mechanisms of `gaussopt.bodies` motions begin from each."""
MECHANISMS = 20
"""Mechanisms of another engine in a block."""
PAIRS = (
    ("gauss", "daqp"), ("null-space", "kkt"), ("lagrange", "kkt"), ("udwadia-kalaba", "kkt"), ("dual", "kkt"),
    ("routh", "kkt"), ("least-squares", "kkt"), ("gauss", "piqp"), ("gauss", "sparse-kkt"), ("dual", "daqp"),
)  # fmt: skip
INEXACT = ("piqp",)
"""Solvers that iterate to a tolerance: their refusals are counted, but not as those of exact ones."""
NOTHING = "Nothing can move", "The model has no joint"
DEFAULT = ("default", "default")
MOTION = ("dop853", "projection")


class States(Tally):
    """What came of a block, with the number of states and of motions."""

    states = unjudged = mechanisms = motions = 0

    def mapping(self) -> dict[str, Any]:
        numbers = {
            "states": self.states,
            "unjudged": self.unjudged,
            "mechanisms": self.mechanisms,
            "motions": self.motions,
        }
        return {**super().mapping(), **numbers}


def states_of(result: dict[str, Any]) -> int:
    return int(result["states"])


def kind_of(rng: np.random.Generator) -> str:
    names = list(KINDS)
    return names[int(rng.choice(len(names), p=[KINDS[name] for name in names]))]


def program_at(seed: int, index: int) -> tuple[Program, None]:
    """What a worker was doing that did not come back."""
    return Program("lost", "", {}, index), None


def run_block(seed: int, block: int, skip: set[tuple[int, str]], note: Note, size: int = STATES) -> States:
    """All states of a block."""
    tally, begin = States(), time.perf_counter()
    rng = np.random.default_rng([seed, block])
    kind = kind_of(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many = 1 if kind in ("plane", "space") else MECHANISMS
        for part in range(many):
            each = Trial(kind, np.random.default_rng([seed, block, part]), tally, skip, note)
            each.run(block * size + part * (size // many), size // many)
    tally.seconds = time.perf_counter() - begin
    return tally


def made_of(kind: str, rng: np.random.Generator) -> Mechanism:
    if kind in ("plane", "space"):
        return draw.mechanism(rng, 2 if kind == "plane" else 3)
    return draw.mechanism(rng, 3, kind)


class Trial:
    """One mechanism, in all its descriptions, through its states."""

    def __init__(
        self, kind: str, rng: np.random.Generator, tally: States, skip: set[tuple[int, str]], note: Note
    ) -> None:
        self.kind, self.rng, self.tally, self.skip, self.note = kind, rng, tally, skip, note
        self.made = made_of(kind, rng)
        self.family = "open"

    def run(self, first: int, count: int) -> None:
        """So many states; those that cannot be judged count, too."""
        truths = list(self.states(count))
        self.tally.mechanisms += 1
        told: dict[str, Any] = {}
        for name, make in self.descriptions().items():
            if (first, name) in self.skip:
                continue
            self.note(first, name)
            try:
                told[name] = make()
            except Undecided:  # MuJoCo does not take the model
                continue
            except GaussoptError as failure:
                self.add(first, name, DEFAULT, self.refused(str(failure), truths), truths)
            except Exception as failure:
                self.add(first, name, DEFAULT, crash(failure), truths)
        for i, (state, truth) in enumerate(truths[:MOTIONS] if self.kind in ("plane", "space") else ()):
            if truth is not None and truth.least > WELL:
                self.motion(first + i, told, state, truth)
        for i, (state, truth) in enumerate(truths):
            self.tally.states += 1
            if truth is None:
                self.tally.unjudged += 1
                continue
            for name, expressed in told.items():
                self.one(first + i, name, expressed, state, truth)

    def states(self, count: int) -> Iterator[tuple[State, Truth | None]]:
        """States along the motions that the mechanism allows, and what is true of them."""
        made, rng, state = self.made, self.rng, self.made.state
        last = zeros(len(made.bodies), 6)
        self.note(0, "judge")
        for i in range(count):
            if i >= MOTIONS and (i - MOTIONS) % SPEEDS == 0:
                with contextlib.suppress(Undecided):
                    state = moved(made, state, last, fixed(rng.uniform(0.0, 0.5)))
            frame = framed(made, state)
            try:
                speed = 0.0 if drawn(rng, "at rest") else drawn(rng, "speed")
                moving = allowed_velocity(made, state, frame, draw.twist(rng, made, speed))
                now = State(state.r, state.e, moving[:, :3], moving[:, 3:], state.t, state.turns)
                way = draw.twist(rng, made, drawn(rng, "way"))
                last = allowed_velocity(made, state, frame, way, still=True)
                truth = judge(made, now)
            except Undecided:
                yield state, None
                continue
            self.family = f"{made.dials['kind']}{', redundant' if truth.redundant else ''}"
            yield now, truth

    def descriptions(self) -> dict[str, Callable[[], Any]]:
        """By a name, how the mechanism is made for gaussopt."""
        if self.kind == "mujoco":
            return {"from_mujoco": lambda: in_mujoco.Expressed(self.made)}
        if self.kind == "pinocchio":
            from . import in_pinocchio  # Pinocchio takes 380 MB: the tests run without it, the campaign does not.

            return {"from_pinocchio": lambda: in_pinocchio.Expressed(self.made)}
        space = self.made.dim == 3
        regular, both = space and drawn(self.rng, "quaternion mass"), not space or drawn(self.rng, "maximal in space")
        found: dict[str, Callable[[], Any]] = {"joint": lambda: in_bodies.Expressed(self.made, "joint")}
        if both:
            found["maximal"] = lambda: in_bodies.Expressed(self.made, "maximal", regular)
        return found

    def one(self, index: int, name: str, expressed: Any, state: State, truth: Truth) -> None:
        """All answers to one state in one description."""
        try:
            step, found = expressed.step(state)
        except GaussoptError as failure:
            self.add(index, name, DEFAULT, self.refused(str(failure), [(state, truth)]), truth)
            return
        except Exception as failure:
            self.add(index, name, DEFAULT, crash(failure), truth)
            return
        pairs = [DEFAULT, PAIRS[int(self.rng.integers(len(PAIRS)))]]
        for pair in pairs:
            label = f"{name}/{'/'.join(pair)}"
            if (index, label) in self.skip:
                continue
            self.note(index, label)
            claim = None
            try:
                answer = go.solve_step(step) if pair == DEFAULT else go.solve_step(step, *pair)
                finding = self.judged(expressed, state, truth, found, step, answer)
                claim = Claim(str(answer.status), None if answer.a is None else answer.a.tolist())
            except (NotAccepted, MissingBackend):
                finding = Finding(NOT_TAKEN)
            except GaussoptError as failure:
                finding = Finding("refused as input", words(str(failure)))
            except Exception as failure:
                finding = crash(failure)
            self.add(index, name, pair, finding, truth, claim, step)

    def motion(self, index: int, told: dict[str, Any], state: State, truth: Truth) -> None:
        """One motion in every description."""
        unit = self.made.dials["unit of length"] * np.array([1.0] * 3 + [1.0 / self.made.dials["unit of length"]] * 3)
        speed = np.abs(np.hstack((floats(state.v), floats(state.w))) / unit).max()
        t_end = drawn(self.rng, "duration") / max(speed, np.sqrt(np.abs(truth.a / unit).max()), 1e-3)
        self.note(index, "reference")
        if (index, "reference") in self.skip:
            return
        try:
            end = motions.reference(self.made, state, t_end)
        except (motions.TooLong, Undecided):
            return
        self.tally.motions += 1
        for name, expressed in told.items():
            label = f"motion, {name}"
            if (index, f"{label}/{'/'.join(MOTION)}") in self.skip:
                continue
            self.note(index, f"{label}/{'/'.join(MOTION)}")
            try:
                moved_on = motions.simulated(expressed, state, t_end)
                finding = self.moved(expressed, end, moved_on)
            except GaussoptError as failure:
                finding = self.refused(str(failure), [(state, truth)])
            except Exception as failure:
                finding = crash(failure)
            self.add(index, label, MOTION, finding, truth)

    def moved(self, expressed: Any, end: State, motion: go.Trajectory) -> Finding:
        """What the reference says of the end of a motion."""
        if str(motion.status) != "solved":
            return Finding(REFUSED, f"{motion.status}: {words(motion.message)}")
        share = motions.distance(expressed, end, motion)
        if share <= motions.RIGHT_TO:
            return Finding(RIGHT, number=share)
        if motion.warnings:
            return Finding(RIGHTLY, "far from the true end, with a warning", share)
        return Finding(WRONG, "far from the true end", share)

    def refused(self, message: str, truths: list[tuple[State, Truth | None]]) -> Finding:
        """Rightly, where no body can move and gaussopt says so."""
        stuck = not any(truth is not None and truth.freedoms for _, truth in truths)
        if stuck and message.startswith(NOTHING):
            return Finding(RIGHTLY)
        return Finding("refused as input", words(message))

    def judged(self, expressed: Any, state: State, truth: Truth, found: Any, step: Any, answer: Any) -> Finding:
        """What the truth says of an answer."""
        if str(answer.status) != "solved":
            return Finding(REFUSED, f"{answer.status}: {words(answer.message)}")
        if answer.a is None or not np.isfinite(answer.a).all():
            return Finding(WRONG, "solved without an acceleration")
        gap = error(self.made, expressed.tree, state, truth, found, answer.a)
        own_a = truth.a.ravel()[self.made.columns]
        off, own = (float(np.linalg.norm(truth.half @ x)) for x in (gap, own_a))
        share = off / truth.size
        if not (share <= TOLERANCE or (share <= findings.PROPORTION and off <= findings.TOLERANCE * (1.0 + own))):
            return Finding(WRONG if truth.least > SURE else UNDECIDED, "far from the true acceleration", share)
        if answer.certificate.forces_unique and step.m > step.n - truth.freedoms:
            return Finding(WRONG if truth.least > SURE else UNDECIDED, "forces called unique, but are not")
        return Finding(RIGHT, number=share)

    def add(
        self, index: int, name: str, pair: tuple[str, str], finding: Finding, truth: Any, claim: Any = None,
        step: Any = None,
    ) -> None:  # fmt: skip
        """One answer; of a mechanism that is refused, once for all its states."""
        well = 2 * int(isinstance(truth, list) or truth.least > WELL)
        data: dict[str, Any] = {}
        if finding.outcome not in (RIGHT, RIGHTLY, NOT_TAKEN):
            data = {"mechanism": described(self.made), "step": numbers_of(step)}
        self.tally.add(Program(f"{self.kind}, {name}", self.family, data, index), *pair, finding, claim, well)


def crash(failure: BaseException) -> Finding:
    return Finding(CRASHED, f"{type(failure).__name__}: {words(str(failure))}")


def words(message: str) -> str:
    """The first sentence without its numbers and names: the same for the same cause."""
    first = re.split(r"[.;:] ", message + " ")[0]
    return re.sub(r"'[^']*'|-?\d[\d.e+-]*", "#", first).replace("|", "/")[:90]


def described(made: Mechanism) -> dict[str, Any]:
    """The parts of a mechanism in short."""
    return {
        "joints": [f"{j.name}: {j.kind} {j.a.body} {j.b.body}" for j in made.joints],
        "forces": [f"{f.kind} {f.a.body} {f.b.body}" for f in made.forces],
        "dials": dict(made.dials),
    }


def numbers_of(step: Any) -> Any:
    if step is None:
        return None
    return {key: np.asarray(getattr(step, key)).tolist() for key in ("M", "h", "Q", "J", "gamma")}


__all__ = ["ONE", "floats", "note_to"]
