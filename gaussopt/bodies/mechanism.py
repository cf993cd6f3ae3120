"""Problems of the package, made from a function that adds bodies and joints to a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gaussopt.bodies.body import COORDINATES
from gaussopt.bodies.model import Assembly, Model
from gaussopt.modelling.modified import Variant
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem

Fill = Callable[[Model], None]
"""A function that adds bodies, joints, forces and contacts to an empty model."""


def mechanism(
    fill: Fill, *, name: str, parameters: Sequence[Parameter], dim: int = 2, bodies: Sequence[str] = (),
    hold: Sequence[str] = (), variants: Mapping[str, tuple[Fill, str]] | None = None, **about: Any,
) -> Problem:  # fmt: skip
    """Return the problem of a mechanism, whose equations are derived when needed, not when its module is loaded.

    Parameters
    ----------
    fill : function that adds the parts to a model with the name, dimension and parameters given here
    name : name of the problem and of its system
    parameters : the parameters, in the order of `model.symbols`
    dim : 2 for the plane, 3 for space
    bodies : names of the bodies, for the units of their coordinates
    hold : names of coordinates that keep their guesses at the start
    variants : for each name, another function that fills the model, and a description of the difference
    about : title, source, description, t_end, dt, cases and other settings of `Problem`; a `sketch` replaces the
        automatic picture in the plane
    """

    def assembled(parts: Fill) -> Assembly:
        return Assembly(partial(_filled, parts, dim, name, tuple(parameters)), hold)

    own = assembled(fill)
    others = {key: (assembled(parts), words) for key, (parts, words) in (variants or {}).items()}
    picture: dict[str, Any] = {"sketch": own.sketch} if dim == 2 else {"in_space": own.in_space}
    return Problem(
        name=name, build=own.build, start=own.start, parameters=tuple(parameters), units=units(*bodies),
        variants={key: Variant(other.build, words) for key, (other, words) in others.items()},
        starts={key: other.start for key, (other, _) in others.items()},
        sketches={key: other.sketch for key, (other, _) in others.items()}, **(picture | about),
    )  # fmt: skip


def units(*bodies: str) -> dict[str, str]:
    """Return the units of the coordinates of bodies, by name."""
    return {f"{kind}_{body}": unit for body in bodies for kind, unit in COORDINATES.items()}


def _filled(fill: Fill, dim: int, name: str, parameters: tuple[Parameter, ...]) -> Model:
    model = Model(dim=dim, name=name, parameters=parameters)
    fill(model)
    return model
