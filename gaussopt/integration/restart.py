"""The data of a motion between two steps from which a continuation goes on as if the motion had never ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.fast_frozen import fast_frozen


@fast_frozen
@dataclass(frozen=True, slots=True)
class Mark:
    """The state of a loop between two steps.

    Attributes
    ----------
    t, q, v : the instant, s, and the state, (n,)
    origin : the instant from which steps are counted in multiples of dt
    steps : steps of the method so far
    rows, events : numbers of instants and events recorded so far
    memory : by name, the data besides the state that the loop passes from step to step
    """

    t: float
    q: Vector
    v: Vector
    origin: float
    steps: int
    rows: int
    events: int
    memory: Mapping[str, Any] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        """Return the mark as JSON data, from which `of` restores every number bit for bit."""
        found: dict[str, Any] = json.loads(json.dumps({x: getattr(self, x) for x in self.__slots__}, default=_plain))
        return found

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Mark:
        """Make a mark from JSON data; raises LookupError, TypeError or ValueError if they do not describe a mark."""
        found = cls(**data)
        q, v = (np.array(x, dtype=np.float64) for x in (found.q, found.v))
        if not q.shape == v.shape == (len(q),):
            raise ValueError("a mark has one velocity for each coordinate")
        return replace(found, q=q, v=v, t=float(found.t), origin=float(found.origin))


class Deferred(Mapping[str, Any]):
    """A mapping that is computed when it is first read, because most motions are never continued or saved."""

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self._make = make

    @cached_property
    def _data(self) -> dict[str, Any]:
        return self._make()

    def __getitem__(self, key: str) -> Any:
        """Return the entry of a key; raises KeyError for an unknown key."""
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._data)

    def __len__(self) -> int:
        """Count the keys."""
        return len(self._data)

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        """Copy and pickle the mapping as a plain dict."""
        return dict, (self._data,)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if callable(value):  # computed only where it is saved
        return value()
    raise TypeError(f"a mark holds no {type(value).__name__}")
