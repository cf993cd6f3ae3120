"""Whole motions as machine code: loops written by `gaussopt.codegen`, and kernels of contacts and linkages."""

from types import ModuleType

from gaussopt.compiled import generated_loop, linkage_loop
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.lagrangian import LagrangianSystem
from gaussopt.modelling.linkage import LinkageSystem

LOOPS: dict[type[AbstractSystem], ModuleType] = {LagrangianSystem: generated_loop, LinkageSystem: linkage_loop}
"""What runs motions without contacts, by the kind of system.

Each module holds SOLVER, the solver that it stands for; `why_not(method, stabiliser)`, why it cannot run a motion; and
`loop_of(method)`, a GeneratedLoop.
"""


def loops_of(system: AbstractSystem) -> ModuleType | None:
    """The module whose loops run motions of a system, None if there is none."""
    return next((module for kind, module in LOOPS.items() if isinstance(system, kind)), None)
