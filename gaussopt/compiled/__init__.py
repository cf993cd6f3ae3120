"""Whole motions as machine code: loops written by `gaussopt.codegen`, and kernels of contacts and linkages."""

from gaussopt.compiled.adaptive_loop import GeneratedAdaptiveLoop
from gaussopt.compiled.fixed_step_loop import GeneratedFixedStepLoop
from gaussopt.compiled.generated_loop import GeneratedLoop
from gaussopt.compiled.linkage_loop import LinkageLoop
from gaussopt.core.stepper import Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.lagrangian import LagrangianSystem
from gaussopt.modelling.linkage import LinkageSystem


def loop_of(system: AbstractSystem, method: Stepper) -> type[GeneratedLoop] | None:
    """The compiled loop of motions without contacts of such a system by a method, None if there is none."""
    if isinstance(system, LinkageSystem):
        return LinkageLoop
    if isinstance(system, LagrangianSystem):
        return GeneratedAdaptiveLoop if method.adaptive else GeneratedFixedStepLoop
    return None
