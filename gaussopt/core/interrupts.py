"""Handlers of Ctrl-C: one that preserves computed results, one that raises a lost KeyboardInterrupt again."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self


class _Handler:
    """A handler of Ctrl-C in the main thread; where the user has a handler, or in other threads, nothing is changed."""

    def __init__(self) -> None:
        self._before: Any = None

    def __enter__(self) -> Self:
        """Take over Ctrl-C from Python's own handler, or from a context in which this one may be nested."""
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if before is signal.default_int_handler or self._may_be_in(getattr(before, "__self__", None)):
                self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *raised: object) -> None:
        """Restore the previous handler."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _may_be_in(self, other: object) -> bool:
        return False

    def _hear(self, number: int, frame: FrameType | None) -> None:
        raise NotImplementedError


class Interrupts(_Handler):
    """Ctrl-C raises KeyboardInterrupt while `listening`, and is ignored otherwise.

    A KeyboardInterrupt may come between any two instructions, also while a result is put together, and then all of it
    is lost. Within this context the first Ctrl-C while `listening` raises one and ends `listening`, so that later ones
    are ignored and what follows runs to its end.
    """

    listening = True

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.listening:
            self.listening = False
            raise KeyboardInterrupt


class RememberedInterrupt(_Handler):
    """Ctrl-C whose KeyboardInterrupt is raised again if it was lost.

    A KeyboardInterrupt is printed and forgotten if it comes while Python calls back from code that cannot raise, such
    as the end of an object or of an import. Within this context Ctrl-C is a KeyboardInterrupt as usual, and `pass_on`
    raises KeyboardInterrupt once more if there was any. Contexts may be nested.
    """

    _heard = False

    def pass_on(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was heard."""
        if self._heard:
            raise KeyboardInterrupt

    def _may_be_in(self, other: object) -> bool:
        return isinstance(other, RememberedInterrupt)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard = True
        self._before(number, frame)
