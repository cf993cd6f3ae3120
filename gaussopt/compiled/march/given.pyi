"""What a generated module gives to the loops of `gaussopt.compiled.march`: functions without loops, numbers, tables.

Written by `gaussopt.codegen`, one module for each model and method; put into the loops when they are compiled. Arrays
are flat and of floats. Functions that return a truth value say whether no pivot vanished and every sine can be trusted.
"""

from gaussopt.core.arrays import Vector

N: int
"""Coordinates."""
SIZE: int
"""Entries of a state (q, v), 2 N."""
M: int
"""Constraints."""
M_H: int
"""Holonomic constraints."""
ONCE: int
"""Entries of `once`."""
PROJECTED: int
"""Whether every step ends with a projection onto the constraints."""

def prepare(p: Vector, once: Vector) -> None:
    """Write the parameters, and what depends on them alone, to `once`."""

def slope(t: float, y: Vector, once: Vector, k: Vector, looked: bool, limit: float, worst: Vector) -> bool:
    """Write (v, a) at the state y to k.

    If `looked`, residuals are computed, too, as squares, of constraints and forces, relative to what they are made of:
    `worst` (2,) keeps the largest, and beyond `limit` the answer is False.
    """

def correction(t: float, y: Vector, once: Vector, phi: Vector, d: Vector) -> bool:
    """Write the holonomic constraints to phi (M_H,), and to d (SIZE,) what Newton takes off q and off v."""

# -- Runge-Kutta methods -----------------------------------------------------------------------------------------

STAGES: int
"""Stages of the method; of an embedded one, the slope at the end of the step counts as one more."""
A: Vector
"""Coefficients of the stages, row by row, STAGES in each; the last row, STAGES, holds those of the step."""
C: Vector
"""Instants of the stages, and of the end, in units of the step."""

# -- error control -----------------------------------------------------------------------------------------------

E: Vector
"""Weights of the slopes, that of the end last, in the error."""
E3: Vector
"""The same of a second estimate; of no use where `PAIR` is 0."""
PAIR: int
"""Whether there are two estimates, as in DOP853."""
EXPONENT: float
"""Of the error in the factor between one step and the next."""

# -- methods that keep constraints themselves --------------------------------------------------------------------

AT_ONCE: int
"""RATTLE: whether the second half is linear in the velocity, so that one solve is enough."""

def impulse(
    t: float, stop: float, h: float, y: Vector, once: Vector, a: Vector, limit: float,
    worst: Vector,
) -> bool:  # fmt: skip
    """The velocity-level Gauss step: write the change of velocity over h to a (N,); `limit`, `worst` as in `slope`."""

KEPT: int
"""RATTLE: entries of `kept`."""

def half_start(t: float, y: Vector, once: Vector, kept: Vector) -> bool:
    """RATTLE: write what stays the same while a half is iterated to `kept`."""

def half_solve(
    part: int, t: float, h: float, y: Vector, once: Vector, kept: Vector, half: Vector, missed: Vector, a: Vector,
    lam: Vector,
) -> bool:  # fmt: skip
    """RATTLE: write acceleration and multipliers of the first or second half, `part` 0 or 1.

    `half` (N,) are the velocities between the halves, `missed` (M_H,) is taken off J a.
    """

def half_ends(stop: float, z: Vector, once: Vector, phi: Vector) -> bool:
    """RATTLE: write the holonomic constraints at the positions z and the end of the step to phi (M_H,)."""

def half_check(
    part: int, t: float, h: float, y: Vector, once: Vector, a: Vector, lam: Vector, limit: float,
    worst: Vector,
) -> bool:  # fmt: skip
    """RATTLE: residuals of a half; `limit`, `worst` as in `slope`."""

# -- recorded states ---------------------------------------------------------------------------------------------

FLAT: int
"""Entries of the flat step (M, h, Q, J, gamma)."""
PARAMETERS: int
"""Parameters of the model."""
CERTIFIED: int
"""Numbers of a certificate."""

def step(t: float, q: Vector, v: Vector, p: Vector, s: Vector) -> None:
    """Write the flat step."""

def answer(t: float, q: Vector, v: Vector, p: Vector, a: Vector, lam: Vector) -> bool:
    """Write acceleration and multipliers at a state."""

def certificate(s: Vector, a: Vector, lam: Vector, c: Vector) -> bool:
    """Write the numbers of the certificate, see `gaussopt.codegen.certificate`."""

def energy(t: float, q: Vector, v: Vector, p: Vector, e: Vector) -> None:
    """Write kinetic and potential energy and the power of the forces."""

def position(t: float, q: Vector, p: Vector, phi: Vector) -> None:
    """Write the holonomic constraints."""

def velocity(t: float, q: Vector, v: Vector, p: Vector, rate: Vector) -> None:
    """Write the residuals of all constraints at velocity level."""

# -- motions side by side ----------------------------------------------------------------------------------------

LENGTH: int
"""Numbers of a block."""
STATE: int
"""Where the states of a block begin, entry by entry, all lanes of one behind the other; likewise the numbers below."""
TOTAL: int
"""The states that the stages add up to."""
FAILED: int
"""The number of the step at which a motion failed, from 1 on, or zero."""
BEST: int
"""The least residual of a projection so far."""
DONE: int
"""Whether a projection has settled."""
SHARE: Vector
"""What of a stage's slope is in the step, by stage."""
REACH: Vector
"""What of it the next stage starts from."""

def constants(memory: Vector, l: int) -> None:
    """`prepare` for lane l."""

def first(memory: Vector, l: int, t: float, reach: float, share: float, number: float, limit: float) -> None:
    """The first stage of lanes l and l + LANES / 2, with its residuals; `number` is that of the step, from 1 on."""

def stage(memory: Vector, l: int, t: float, reach: float, share: float, number: float) -> None:
    """A further stage."""

def corrected(memory: Vector, l: int, t: float, sharp: float, number: float) -> None:
    """An iteration of the projection of two lanes."""
