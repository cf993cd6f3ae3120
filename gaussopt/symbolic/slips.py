"""Detection of mistakes in a user's symbols that lead to valid equations, but of another mechanism."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gaussopt.core.display import listed


def of_symbols(q: Sequence[str], v: Sequence[str]) -> Iterator[str]:
    """Yield a warning if the names show that the velocities are in another order than the coordinates."""
    expected = _paired(q, v)
    if expected is not None and expected != list(v):
        yield (
            f"The velocities are {listed(v)}, in another order than the coordinates {listed(q)}: the first velocity is "
            f"taken for the rate of the first coordinate, and so on. Give v = [{', '.join(expected)}]."
        )


def _paired(q: Sequence[str], v: Sequence[str]) -> list[str] | None:
    """Return the velocities in the order of the coordinates, if names are prefix + coordinate + suffix, else None."""
    for name in q:
        if name in v[0]:
            before, _, behind = v[0].partition(name)
            expected = [f"{before}{x}{behind}" for x in q]
            if set(expected) == set(v):
                return expected
    return None
