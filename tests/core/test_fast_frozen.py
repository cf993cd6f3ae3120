"""Frozen dataclasses that are made quickly are frozen dataclasses."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest

from gaussopt.core.fast_frozen import fast_frozen


@fast_frozen
@dataclass(frozen=True, slots=True)
class Slotted:
    """With memory for its fields alone."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: float = field(default=2.5, repr=False, compare=False)


@fast_frozen
@dataclass(frozen=True)
class Open:
    """With a dictionary."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: float = field(default=2.5, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class More(Slotted):
    """With one field more."""

    e: int = 5


@pytest.mark.parametrize("kind", [Slotted, Open])
def test_made_quickly_and_frozen(kind: Any) -> None:
    one = kind(1, c=[3])
    assert type(one) is kind
    assert (one.a, one.b, one.c, one.d) == (1, "b", [3], 2.5)
    assert kind(1).c is not kind(1).c
    for name in ("a", "other"):
        with pytest.raises((FrozenInstanceError, TypeError, AttributeError)):
            setattr(one, name, 2)
    with pytest.raises(FrozenInstanceError):
        del one.a
    assert repr(one) == f"{kind.__name__}(a=1, b='b', c=[3])"
    assert one == kind(1, "b", [3], 9.0) != kind(2, "b", [3])
    assert [x.name for x in fields(kind)] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("kind", [Slotted, Open])
def test_copies_and_changed_copies(kind: Any) -> None:
    one = kind(1, c=[3], d=4.0)
    for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), copy.copy(one), replace(one)):
        assert (type(other), other, other.d) == (kind, one, 4.0)
    assert replace(one, a=7).a == 7


@pytest.mark.parametrize("kind", [Slotted, Open])
def test_arguments_are_those_of_the_dataclass(kind: Any) -> None:
    assert list(inspect.signature(kind).parameters) == ["a", "b", "c", "d"]
    for wrong in ((), (1, 2, 3, 4, 5)):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            kind(*wrong)
    with pytest.raises(TypeError, match="other"):
        kind(1, other=2)


def test_derived_dataclasses_are_their_own() -> None:
    one = More(1, e=6)
    assert (type(one), one.a, one.c, one.e) == (More, 1, [], 6)
    with pytest.raises(FrozenInstanceError):
        one.e = 7  # type: ignore[misc]


def test_what_does_more_at_its_making_is_refused() -> None:
    @dataclass(frozen=True)
    class Checked:
        a: int

        def __post_init__(self) -> None:
            """Nothing."""

    with pytest.raises(TypeError, match="Checked has __post_init__"):
        fast_frozen(Checked)
