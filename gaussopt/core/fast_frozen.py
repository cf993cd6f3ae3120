"""A decorator that speeds up the construction of frozen dataclasses, for classes used in every time step."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


def fast_frozen(cls: type[T]) -> type[T]:
    """Replace the `__init__` of a frozen dataclass by a version that takes a third of the time; change nothing else.

    The generated `__init__` of a frozen dataclass calls `object.__setattr__` for every field. The new one turns the
    object into a plain class of the same layout, assigns the fields, and restores the class. A derived class must be a
    dataclass with fields of its own. Raises TypeError if the class has a `__post_init__`, which would not be called.
    """
    if hasattr(cls, "__post_init__"):
        raise TypeError(f"{cls.__name__} has __post_init__, which would not be called")
    known: dict[str, Any] = {
        "become": object.__setattr__,
        "Fillable": type(cls.__name__, (), {"__slots__": slots} if (slots := vars(cls).get("__slots__")) else {}),
        "MISSING": MISSING,
    }
    parameters, body = [], ["kind = self.__class__", "become(self, '__class__', Fillable)"]
    for x in fields(cls):  # type: ignore[arg-type]
        name, default = x.name, f"default_{x.name}"
        known[default] = x.default_factory if x.default is MISSING else x.default
        made = x.default_factory is not MISSING
        required = x.default is MISSING and not made
        parameters.append(name if required else f"{name}=MISSING" if made else f"{name}={default}")
        body.append(f"self.{name} = {default}() if {name} is MISSING else {name}" if made else f"self.{name} = {name}")
    lines = [f"def __init__(self, {', '.join(parameters)}):", *body, "self.__class__ = kind"]
    exec("\n    ".join(lines), known)
    init, plain = known["__init__"], cls.__init__
    init.__wrapped__, init.__qualname__ = plain, plain.__qualname__
    cls.__init__ = init  # type: ignore[method-assign]
    return cls
