"""Errors that the user can correct, each with a message of one clear sentence.

They derive from `GaussoptError`. The command line prints the message without a stack trace and exits with code 2, or
with code 1 if the machine failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import PurePath

from gaussopt.core.status import Status


def one_line(error: object) -> str:
    """Return the text of an error on one line."""
    return " ".join(str(error).split())


class GaussoptError(Exception):
    """Base of all errors that gaussopt raises on purpose."""


class BadInput(GaussoptError, ValueError):
    """The data do not describe a problem: wrong shape, NaN, asymmetric mass matrix, and so on."""


class NegativeMass(BadInput):
    """A mass matrix gives negative kinetic energy to a motion of the coordinates with the indices `coordinates`."""

    def __init__(self, sentence: str, coordinates: Sequence[int]) -> None:
        self.coordinates = coordinates
        super().__init__(sentence)

    def where(self, names: Sequence[str]) -> str:
        """Return a sentence that names the coordinates."""
        return f" See the mass that moves with {', '.join(names[i] for i in self.coordinates)}."


class MachineFailure(BadInput):
    """The machine failed, not the data or a solver: the disk is full, or memory or open files are exhausted.

    The same call may succeed later, so the failure counts against no solver; see `gaussopt.core.machine`.
    """


class LeftOut(UserWarning):
    """A plug-in file was not loaded."""


class ModelSlip(UserWarning):
    """A model is valid, but probably not the model that the user meant; see `gaussopt.modelling.model_check`."""


class Unverified(UserWarning):
    """A file without a checksum was read, so damage to it would go unnoticed."""


class UnknownName(GaussoptError, KeyError):
    """A name is not registered; the message suggests the nearest registered name, or lists all if none is near."""

    def __init__(self, what: str, name: object, known: Iterable[str], more: str = "") -> None:
        known = sorted(known)
        # Short names count as near if they share half of their letters; longer names must share more.
        cutoff = 0.5 if len(str(name)) < 4 else 0.6
        near = get_close_matches(name, known, n=1, cutoff=cutoff) if isinstance(name, str) else []
        near = near or [k for k in known if k.lower() == str(name).lower()]
        hint = f"; did you mean {near[0]!r}?" if near else f"{more}; known: {', '.join(known) or 'none'}."
        if isinstance(name, str) and name.endswith(".py"):
            short = PurePath(name).stem.replace("_", "-")
            hint = f"; set GAUSSOPT_PLUGINS={name} (in Python go.register({name!r})) and name it {short!r}."
        kind, *owner = re.split("(?= (?:of|in) )", what, maxsplit=1)
        self.sentence = f"Unknown {kind} {name!r}{''.join(owner)}{hint}"
        if isinstance(name, list | tuple | dict):
            self.sentence = f"A {what} is given by its name, not as {name!r:.60}{hint}"
        super().__init__(self.sentence)

    def __str__(self) -> str:  # KeyError would print the repr
        return self.sentence


class MissingBackend(GaussoptError, ImportError):
    """A package that is needed is not installed."""


class NotAccepted(GaussoptError, ValueError):
    """A formulation does not fit the step, or a solver does not accept the program."""


class MotionStopped(BadInput):
    """A motion that began without error cannot be continued, although its input is valid."""


class IllPosed(GaussoptError, ValueError):
    """A formulation found that the program it builds has no minimiser; `status` is infeasible or unbounded."""

    def __init__(self, status: Status, sentence: str) -> None:
        self.status = status
        super().__init__(sentence)


class NotCompiled(Exception):
    """A motion cannot be compiled to a generated loop; the message is the reason, worded as a part of a sentence."""
