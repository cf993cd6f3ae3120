"""Ctrl-C that spares what was computed, and Ctrl-C that is not lost."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupts:
    """Ctrl-C is a KeyboardInterrupt while it is listened to, and nothing otherwise.

    A KeyboardInterrupt may come between any two instructions, also while a result is put together, and then all of it
    is lost. Within this context the first Ctrl-C that is listened to raises one, and none of the others does: what
    follows is heard to the end. Elsewhere than in the main thread, where none arrives, and beside a handler of somebody
    else nothing is changed. `listening` says whether Ctrl-C raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.listening = True
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        """Take over where Ctrl-C is Python's own."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *raised: object) -> None:
        """Give back."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _hear(self, *_: object) -> None:
        if self.listening:
            self.listening = False
            raise KeyboardInterrupt


class RememberedInterrupt:
    """Ctrl-C that is raised once more where it was lost.

    A KeyboardInterrupt is printed and forgotten if it comes while Python calls back from code that cannot raise, such
    as the end of an object or of an import. Within this context Ctrl-C is a KeyboardInterrupt as ever, and `pass_on`
    raises another one if there was any. Contexts may be nested. Elsewhere than in the main thread, and beside a handler
    of somebody else, nothing is changed.
    """

    def __init__(self) -> None:
        self._heard = False
        self._before: Any = None

    def __enter__(self) -> RememberedInterrupt:
        """Listen."""
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            ours = isinstance(getattr(before, "__self__", None), RememberedInterrupt)
            if ours or before is signal.default_int_handler:
                self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *raised: object) -> None:
        """Give back."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def pass_on(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was heard."""
        if self._heard:
            raise KeyboardInterrupt

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard = True
        self._before(number, frame)
