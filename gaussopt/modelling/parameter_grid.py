"""The grid of states that an atlas of a problem scans: axes of parameters, and parameters computed from others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.core.arrays import Vector, as_array, finite_number
from gaussopt.core.display import About, counted, shown
from gaussopt.core.errors import BadInput
from gaussopt.modelling.parameter import Parameter

MAX_COUNT = 100_000
"""Largest number of values of an axis."""


@shown
@dataclass(frozen=True, eq=False, init=False)
class Axis:
    """Values of a parameter, in its unit: `Axis("mu", [0.1, 0.5, 1.0])` or, evenly spaced, `Axis("mu", 0.1, 1, 40)`.

    Attributes
    ----------
    name : name of the parameter
    values : (count,)

    Examples
    --------
    >>> import gaussopt as go
    >>> print(go.Axis("mu", 0.0, 1.0, 5).values)
    [0.   0.25 0.5  0.75 1.  ]
    """

    name: str
    values: Vector

    def __init__(self, name: str, values: ArrayLike, high: float | None = None, count: int | None = None) -> None:
        """Set the given values or, if `high` and `count` are given, `count` evenly spaced ones from `values` to `high`.

        Raises BadInput if there are no values, a value is not finite, or the count is not between 1 and MAX_COUNT.
        """
        label = f"axis {name}"
        if high is None and count is None:
            found = as_array(label, values, (None,))
        elif high is None or count is None:
            raise BadInput(f"Of the {label} low, high and count are not all given; give all three, or its values.")
        else:
            low, high = (finite_number(f"The end of the {label}", x) for x in (values, high))
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= MAX_COUNT:
                raise BadInput(f"The count of {label} is {count!r}; give a whole number from 1 to {MAX_COUNT}.")
            found = np.linspace(low, high, int(count))
        if not len(found):
            raise BadInput(f"The {label} has no values; give at least one.")
        found.setflags(write=False)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", found)

    def _about(self) -> About:
        ends = f"{self.values.min():g} to {self.values.max():g}"
        return About(f"{self.name}, {ends}, {counted(len(self.values), 'value')}", (), [("values", self.values)])

    @classmethod
    def parse(cls, text: str) -> Axis:
        """Return an axis from NAME=LOW:HIGH:COUNT, with :log behind it for equal ratios, or from NAME=VALUE.

        Raises BadInput.

        Examples
        --------
        >>> import gaussopt as go
        >>> print(go.Axis.parse("mass=0.01:100:5:log").values)
        [1.e-02 1.e-01 1.e+00 1.e+01 1.e+02]
        """
        name, equals, span = text.partition("=")
        parts = span.split(":")
        problem = f"The axis {text!r} is not of the form NAME=LOW:HIGH:COUNT or NAME=LOW:HIGH:COUNT:log."
        logarithmic = parts[3:] == ["log"]
        parts = parts[:3] if logarithmic else parts
        if not equals or not name.strip() or len(parts) not in (1, 3):
            raise BadInput(problem)
        try:
            low, high = float(parts[0]), float(parts[1] if len(parts) == 3 else parts[0])
            count = int(parts[2]) if len(parts) == 3 else 1
        except ValueError:
            raise BadInput(problem) from None
        if not logarithmic:
            return cls(name.strip(), low, high, count)
        if not 0 < low < np.inf or not 0 < high < np.inf:
            raise BadInput(f"The ends of the logarithmic axis {text!r} must be positive and finite.")
        exponents = cls(name.strip(), np.log10(low), np.log10(high), count).values
        return cls(name.strip(), np.array([low, *10.0 ** exponents[1:-1], high][:count]))


class PlainTable(NamedTuple):
    """A table that a problem adds to the report of its atlas; `name` is the file name of the table.

    Numbers in the rows are printed with as many digits as they need.
    """

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, eq=False)
class AtlasGrid:
    """The states of a problem that its atlas shows by default.

    Attributes
    ----------
    axes : tuple of Axis
    follow : name -> (parameter values -> value)
        Rules that compute parameters from the others at every point, unless a parameter is an axis or set by the user.
    tables : (quick) -> tables, optional
        Function that returns further tables of the report: each a `PlainTable`, or an object with the same fields.
    """

    axes: tuple[Axis, ...] = ()
    follow: Mapping[str, Callable[[Mapping[str, float]], float]] = field(default_factory=dict)
    tables: Callable[[bool], Sequence[PlainTable]] | None = None


def default_grid(parameters: Sequence[Parameter]) -> AtlasGrid:
    """Return a grid over the first angle and the first friction coefficient, for a problem without its own grid."""
    axes = []
    angles = [p for p in parameters if p.unit == "rad"]
    if angles:
        centre = angles[0].value
        axes.append(Axis(angles[0].name, np.linspace(centre - 1.0, centre + 1.0, 41)))
    coefficients = [p for p in parameters if p.unit == "1" and p.name.startswith("mu")]
    if coefficients:
        axes.append(Axis(coefficients[0].name, np.linspace(0.0, 1.5, 31)))
    return AtlasGrid(tuple(axes))
