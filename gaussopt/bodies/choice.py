"""Choice between the coordinates of all bodies and those of joints, by the work that a stage takes in each.

The work is the number of operations of the generated code of a stage, whose order of elimination is chosen at the
assembled start. It is counted once for a mechanism and kept in the cache folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Protocol

from gaussopt.codegen.job import Orders
from gaussopt.codegen.source import key_of
from gaussopt.codegen.step import acceleration
from gaussopt.core import cache
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput, NotCompiled
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.lagrangian import LagrangianSystem

MOST = 150
"""Number of coordinates of all bodies up to which both kinds are derived and compared."""

_OPERATION = re.compile(r" [-+] |[*/]|(?<=[\w)])[-+]")


class Built(Protocol):
    """A mechanism in one kind of coordinates; see `gaussopt.bodies.model.Assembly`."""

    def build(self) -> AbstractSystem:
        """Return its system; raises BadInput if it has none in these coordinates."""

    def start(self, values: Mapping[str, float]) -> tuple[Vector, Vector]:
        """Return its assembled start for these parameter values."""


def fewer_operations(built: Callable[[str], Built]) -> tuple[str, str]:
    """Return "joint" or "maximal" and the sentence that gives the reason, for a mechanism `built` in either kind."""
    given = built("maximal")
    system = given.build()
    if not isinstance(system, LagrangianSystem) or system.n > MOST:
        return "maximal", f"maximal: of more than {MOST} coordinates the operations of a stage are not counted"
    name = f"coordinates_{key_of(system.model.key)}"
    if (kept := cache.read(name)) is None:
        counts = {"maximal": _operations(given), "joint": _operations(built("joint"))}
        kind = min(counts, key=lambda kind: counts[kind])
        words = [f"{count:.0f} in {kind} coordinates" for kind, count in counts.items() if count < math.inf]
        kept = f"{kind}: operations of a stage are {' and '.join(words) or 'not counted'}".encode()
        cache.write(name, kept)
    said = kept.decode()
    return said.partition(":")[0], said


def _operations(given: Built) -> float:
    """Return the number of operations of a stage; it is infinite if no code of a stage can be generated."""
    try:
        system = given.build()
        if not isinstance(system, LagrangianSystem):
            return math.inf
        first = system.evaluate(0.0, *given.start(system.parameters))
        orders = Orders.of(system.model, system.constant_entries, first)
    except (BadInput, NotCompiled):
        return math.inf
    lines, _ = acceleration(system.model, orders.step, True)
    return float(sum(len(_OPERATION.findall(line.partition(" = ")[2])) for line in lines.body))
