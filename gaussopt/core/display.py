"""Display of objects: up to three lines of text in a terminal, a small table in a notebook.

The text uses only what an object already holds: nothing slow is computed for it, and showing never raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from html import escape
from typing import Any, NamedTuple, TypeVar

import numpy as np

MOST_NUMBERS = 6
"""Maximum number of entries of a vector that are shown."""

MOST_ENTRIES = 9
"""Largest number of entries of a matrix that is shown by its entries; a larger matrix is shown by its shape."""

MOST_NAMES = 8
"""Maximum number of names listed."""

MOST_ROWS = 16
"""Maximum number of rows of a table that are shown."""


T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class About(NamedTuple):
    """Description of an object for display: a title, up to two more lines, and a table with its column headings."""

    title: str
    more: tuple[str, ...] = ()
    rows: Sequence[Sequence[Any]] = ()
    head: tuple[str, ...] = ()


def shown(cls: type[T]) -> type[T]:
    """Let the objects of a class be displayed, in a terminal and in a notebook, as their method `_about` describes.

    The method `_picture`, if any, returns HTML that is put below the table. An object that is not fully initialised,
    as in a debugger, is shown by the name of its class alone. A class may define its own `_repr_html_`.
    """

    def text(self: Any) -> str:
        try:
            about: About = self._about()
            return lines(type(self).__name__, about.title, *about.more)
        except Exception:
            return lines(type(self).__name__, "")

    def html(self: Any) -> str:
        try:
            about: About = self._about()
            below = self._picture() if hasattr(self, "_picture") else ""
            return table(f"{type(self).__name__}: {about.title}", about.rows, about.head, about.more, below)
        except Exception:
            return table(type(self).__name__, ())

    cls.__repr__ = text  # type: ignore[method-assign]
    if "_repr_html_" not in vars(cls):
        cls._repr_html_ = html  # type: ignore[attr-defined]
    return cls


def short(value: Any, digits: int = 4) -> str:
    """Return a short text for a number, an array or another value."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | int | np.number):
        return f"{value + 0:.{digits}g}"
    if isinstance(value, list | tuple):
        try:
            value = np.array(value, dtype=float)
        except (TypeError, ValueError):
            return listed(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        numbers = ", ".join(f"{x + 0:.{digits}g}" for x in value[:MOST_NUMBERS])
        return f"[{numbers}, …] ({len(value)})" if len(value) > MOST_NUMBERS else f"[{numbers}]"
    if isinstance(value, np.ndarray) and value.ndim == 2 and 0 < value.size <= MOST_ENTRIES:
        return f"[{'; '.join(', '.join(f'{x + 0:.{digits}g}' for x in row) for row in value)}]"
    if isinstance(value, np.ndarray):
        return " × ".join(map(str, value.shape))
    if hasattr(value, "nnz"):
        return f"{' × '.join(map(str, value.shape))}, sparse, {value.nnz} entries"
    return "–" if value is None else str(value)


def listed(names: Iterable[Any], most: int = MOST_NAMES) -> str:
    """Return names separated by commas; if there are more than `most`, the first `most` and the total number."""
    found = [str(name) for name in names]
    return ", ".join(found[:most]) + (f", … ({len(found)})" if len(found) > most else "")


def gathered(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Gather rows by a key, in the order in which keys first occur."""
    found: dict[K, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun, such as "2 events", "1 event" or "no events"."""
    return f"{count or 'no'} {one if count == 1 else many or f'{one}s'}"


def lines(kind: str, title: str, *more: str) -> str:
    """Return the text form <kind: title ...> of an object, with at most two further lines."""
    first = f"<{kind}: {title}" if title else f"<{kind}"
    return "\n ".join([first, *(line for line in more if line)]) + ">"


def error_words(bound: float, relative: float, floor: float) -> str:
    """Describe the error of a certified acceleration by its bound, or by the rounding floor if that is larger."""
    if not math.isfinite(bound):
        return "not certified"
    if bound <= floor:
        return f"certified: the acceleration is within {floor:.2g} of the true one, the rounding floor"
    return f"certified: the acceleration is within {bound:.2g} of the true one (relative {relative:.2g})"


def table(
    title: str, rows: Sequence[Sequence[Any]], head: Sequence[str] = (), more: Sequence[str] = (), below: str = ""
) -> str:
    """Return a small HTML table under a title and the lines of `more`; the HTML of `below` follows it."""
    cell = "text-align:left;padding:.15em .8em .15em 0;vertical-align:top"
    heads = "".join(f'<th scope="col" style="{cell}">{escape(str(x))}</th>' for x in head)
    cells = ("".join(f'<td style="{cell}">{escape(short(x))}</td>' for x in row) for row in rows[:MOST_ROWS])
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    left = len(rows) - MOST_ROWS
    rest = f"<p>{counted(left, 'more row')}.</p>" if left > 0 else ""
    said = "".join(f'<p style="margin:.2em 0">{escape(line)}</p>' for line in more if line)
    thead = f"<thead><tr>{heads}</tr></thead>" if heads else ""
    return (
        '<div style="max-width:46rem;overflow-x:auto">'
        f'<p style="margin:.3em 0"><strong>{escape(title)}</strong></p>{said}'
        f'<table style="border-collapse:collapse;margin:0">{thead}<tbody>{body}</tbody></table>'
        f"{rest}{below}</div>"
    )


def picture(address: str, alt: str) -> str:
    """Return an HTML image that is no wider than the page."""
    return f'<img src="{address}" alt="{escape(alt, quote=True)}" style="max-width:100%;height:auto;background:#fff">'


def reads_as_number(text: str) -> bool:
    """Return whether Python can read a text as a number, infinity and NaN included."""
    try:
        float(text)
    except ValueError:
        return False
    return True
