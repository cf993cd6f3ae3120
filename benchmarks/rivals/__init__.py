"""Other engines on the same mechanisms, one file each; every module names its `RIVALS`."""

from rivals import casadi_engine, exudyn_engine, handwritten, mujoco_engine, pinocchio_engine, scipy_engine
from rivals.interface import AdaptiveRival, Rival

ALL: tuple[Rival | AdaptiveRival, ...] = (
    *handwritten.RIVALS, *casadi_engine.RIVALS, *mujoco_engine.RIVALS, *exudyn_engine.RIVALS,
    *pinocchio_engine.RIVALS, *scipy_engine.RIVALS,
)  # fmt: skip
PACKAGES = ("mujoco", "exudyn", "pin", "casadi", "sympy", "scipy")
