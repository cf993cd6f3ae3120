"""Spaces of examples from mechanisms: a step for each choice of parameters, or a member of a family of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gaussopt.atlas.grid_states import chosen_axes, closed_sliding, state, values_at
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput, GaussoptError
from gaussopt.falsification.example import Example, Numbers
from gaussopt.falsification.pictures import pictures_of
from gaussopt.falsification.spaces import Size, Space
from gaussopt.modelling.family import Family
from gaussopt.modelling.parameter_grid import Axis
from gaussopt.modelling.problem import Problem

SLIP = "slip of contact "
"""Prefix of the key of a contact's slip sign in the setting of an example; the contact's number follows."""

MOST_CONTACTS = 6


class MechanismSteps(Space):
    """The step at a problem's start, for any slip signs and any parameters in its atlas; or a family's first step."""

    size_words = ()

    def __init__(self, source: Problem | Family, given: Sequence[str], axes: Sequence[Axis] | None = None) -> None:
        """Use the dials of a family, or a problem's `axes`; raise BadInput without dials or with too many contacts."""
        super().__init__(given)
        self.source, self.sizes = source, ((),)
        if isinstance(source, Family):
            self.dials = [(d.name, d.low, d.high, d.integer) for d in source.dials]
        else:
            chosen = chosen_axes(source, axes)
            self.dials = [(a.name, float(a.values.min()), float(a.values.max()), False) for a in chosen]
        if not self.dials:
            raise BadInput(f"{source.name} has no free parameter in its atlas; leave one of them unset.")
        first = self._step({name: low for name, low, *_ in self.dials})
        in_space = hasattr(first, "W")
        self.contacts = first.k if isinstance(source, Problem) else 0
        if self.contacts > MOST_CONTACTS:
            raise BadInput(f"{source.name} has {self.contacts} contacts; at most {MOST_CONTACTS} are searched.")
        self.kind = "contact" if in_space else "step"
        self.symbol = "r" if self.kind == "contact" else "lam_N" if first.k else "a"

    def count(self, size: Size) -> int:
        return len(self.dials) + self.contacts

    def decode(self, size: Size, x: Vector) -> Numbers | None:
        found = self.example(size, x)
        return None if found is None else found.numbers

    def example(self, size: Size, x: Vector) -> Example | None:
        setting = {}
        for (name, low, high, whole), at in zip(self.dials, x, strict=False):
            value = low + (high - low) * 0.5 * (1.0 + float(at))
            setting[name] = float(round(value)) if whole else value
        for i, sign in enumerate(x[len(self.dials) :], 1):
            setting[f"{SLIP}{i}"] = 1.0 if sign > 0 else -1.0
        return self.at(setting)

    def simpler(self, example: Example) -> Iterator[Example]:
        """Yield examples whose parameters have fewer digits."""
        for name in (name for name, *_ in self.dials):
            value = example.setting[name]
            for digits in range(1, 7):
                rounded = float(f"{value:.{digits - 1}e}")
                if len(f"{rounded:.12g}") < len(f"{value:.12g}"):
                    found = self.at({**example.setting, name: rounded})
                    if found is not None:
                        yield found

    def words(self, size: Size) -> str:
        return f"{self.source.name} over {', '.join(name for name, *_ in self.dials)}"

    def at(self, setting: Mapping[str, float]) -> Example | None:
        """Return the step with these dial values and slip signs; None if the mechanism has no such state."""
        try:
            found = self._step({name: value for name, value in setting.items() if not name.startswith(SLIP)})
        except GaussoptError:
            return None
        if self.kind == "contact":
            return Example.of("contact", {"W": np.asarray(found.W), "q": found.q, "mu": found.mu}, setting)
        if self.contacts:
            found = closed_sliding(
                found, np.array([setting[f"{SLIP}{i + 1}"] for i in range(self.contacts)], dtype=int)
            )
        if found.k and found.J_T.shape[1] > 1:
            raise BadInput(f"{self.source.name} has contacts in space; give a problem with contacts in the plane.")
        numbers = {"M": found.M, "Q": found.force, "J": found.J, "gamma": found.gamma}
        if found.k:
            numbers |= {"J_N": found.J_N, "zeta_N": found.zeta_N, "J_T": found.J_T[:, 0], "v_T": found.v_T[:, 0],
                        "mu": found.mu}  # fmt: skip
        return Example.of("step", numbers, setting)

    def pictures(self, example: Example, answers: Mapping[str, Any]) -> dict[str, str]:
        if not isinstance(self.source, Problem) or not self.contacts:
            return {}
        values = {name: value for name, value in example.setting.items() if not name.startswith(SLIP)}
        try:
            return pictures_of(example, self.source.at(**self._full(values)), answers)
        except BadInput:  # it has no sketch to draw
            return {}

    def _step(self, values: Mapping[str, float]) -> Any:
        if isinstance(self.source, Family):
            return self.source.steps(values, 1)[0]
        return state(self.source, self._full(values))

    def _full(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the given parameters, and the parameters that the rules of the problem's grid compute from them."""
        assert isinstance(self.source, Problem)
        return values_at(self.source, [Axis(name, [value]) for name, value in values.items()], list(values.values()))
