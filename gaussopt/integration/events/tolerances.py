"""Tolerances by which events are located and contact modes decided, in one record for the loop and its kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EventTolerances:
    """Tolerances of motions with contacts, with their ranges of sensible values: counts, and relative numbers.

    Attributes
    ----------
    changes : count, 10 to 100
        Largest number of changes of contact modes at one instant. If it is smaller, many true changes at once are
        refused; if it is larger, a state that does not settle is found later.
    returns : count, 2 to 5
        Largest number of returns to the same modes at one instant; rounding may cause one return, which must pass.
    noise : 1e-15 to 1e-12, of 1 + the largest entry of the state
        Gap or slip that is rounding error. If smaller, rounding switches contacts; if larger, short flights are missed.
    instant : 1e-15 to 1e-12, of 1 + t
        Accuracy of the length of a step to an event. If it is larger, impacts begin with a penetration.
    unshared : 1e-13 to 1e-9, of the largest normal force
        Force that counts as zero. If it is smaller, a redundant contact without a share of the forces seems to open.
    leaving : 0.01 to 0.5, of the margin below the limit
        Loss half-way to the event above which a contact exceeds its limit at once. If larger, a slip begins too late.
    vanishing : 1e-11 to 1e-7, of the terms of the sum
        Slip acceleration or force that counts as zero where modes are decided. If it is smaller, rounding decides
        between stick and slip; if it is larger, a slow start of slipping counts as stick.
    energy : 1e-12 to 1e-6, of 1 + the kinetic energy
        Energy fed by contacts in an impact, or in a step of time stepping, that is reported as an event.
    correction : 1e-5 to 1e-2, of 1 + the largest entry of the state
        Largest correction by projection. If smaller, coarse steps are refused; if larger, wrong states are accepted.
    mobile : 1e-8 to 1e-4, of the motion of the free bodies
        Motion along a slip, caused by a force along it, below which the slip is not corrected. If it is smaller, the
        correction at a dead centre moves everything else.
    approaches : count, 10 to 50
        Number of bisections of a step that fails; the failure is located to 2^-approaches of the step.
    near : 1e-9 to 1e-4, rtol and atol
        Least tolerances of an adaptive method on the way to a failure, where forces grow without bound.
    losing : 0.01 to 0.5, eigenvalue of the scaled sym(delassus)
        Eigenvalue below which the failure of an integrator is attributed to the loss of definiteness.
    lost : 1e-9 to 1e-3, eigenvalue of the scaled sym(delassus)
        Eigenvalue below which forces that rounding leaves undetermined are attributed to the loss of definiteness.
    fed : 1e-9 to 1e-3, of 1 + the power of the friction force at the speed of the motion
        Power of friction that is reported as an event.
    """

    changes: int = 30
    returns: int = 2
    noise: float = 1e-14
    instant: float = 1e-14
    unshared: float = 1e-11
    leaving: float = 0.05
    vanishing: float = 1e-9
    energy: float = 1e-10
    correction: float = 1e-3
    mobile: float = 1e-6
    approaches: int = 24
    near: float = 1e-6
    losing: float = 0.1
    lost: float = 1e-6
    fed: float = 1e-6


TOLERANCES = EventTolerances()
