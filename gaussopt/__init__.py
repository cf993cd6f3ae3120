"""gaussopt: every time step of a mechanical system as an optimisation problem.

System -> StepData -> Program -> Solution -> certificate -> Trajectory -> comparison -> report.
"""

from __future__ import annotations

import lazy_loader

from gaussopt._version import __version__ as __version__

# `__init__.pyi` lists the public names; each is imported at its first use, so that `import gaussopt` is fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
