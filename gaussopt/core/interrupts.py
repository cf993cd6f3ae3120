"""Handlers of Ctrl-C: one protects computed results, one raises a lost KeyboardInterrupt again."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self


class _Handler:
    """A handler of Ctrl-C, installed in the main thread only, and only if the user has not installed a handler."""

    def __init__(self) -> None:
        self._before: Any = None

    def __enter__(self) -> Self:
        """Install this handler if the present handler is Python's default, or an enclosing context allows nesting."""
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

    A KeyboardInterrupt may be raised between any two instructions; if it came while a result is assembled, the whole
    result would be lost. So within this context the first Ctrl-C raises KeyboardInterrupt and sets `listening` to
    False, and the code that then assembles the result is not interrupted again.
    """

    listening = True

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.listening:
            self.listening = False
            raise KeyboardInterrupt


class RememberedInterrupt(_Handler):
    """Ctrl-C raises KeyboardInterrupt, and `pass_on` raises it again in case the first was lost.

    Python prints a KeyboardInterrupt and drops it if it is raised in a callback of code that cannot propagate
    exceptions, such as a finaliser. Within this context every Ctrl-C is also recorded, and `pass_on` raises
    KeyboardInterrupt if there was any. Contexts may be nested.
    """

    _heard = False

    def pass_on(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed within this context."""
        if self._heard:
            raise KeyboardInterrupt

    def _may_be_in(self, other: object) -> bool:
        return isinstance(other, RememberedInterrupt)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard = True
        self._before(number, frame)
