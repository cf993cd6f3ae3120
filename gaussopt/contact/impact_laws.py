"""Impact laws: the jump of the velocity when a contact closes with a negative gap rate.

By either law, no contact approaches after an impact, and Coulomb's law holds between impulses and slip (by Poisson's
law, after each phase). Newton: the gap rate after an impact is at least -e_N times the gap rate before. Poisson: the
impulse of the restitution phase is at least e_N times the impulse of the compression phase.
References: C. Glocker, F. Pfeiffer, "Multiple impacts with friction in rigid multibody systems", Nonlinear Dynamics 7,
1995; J. J. Moreau, "Unilateral contact and dry friction in finite freedom dynamics", CISM 302, 1988.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gaussopt.contact.velocity_level import jump_step, restitution_step
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.step_data import StepData


@dataclass(frozen=True, slots=True)
class VelocityJump:
    """A jump of the velocity with its impulses.

    Attributes
    ----------
    dv : (n,), jump of the velocity
    Lam_N, Lam_T : (k,), (k, d); impulses of the contacts, N s
    """

    dv: Vector
    Lam_N: Vector
    Lam_T: Matrix

    def energy_change(self, step: StepData) -> float:
        """Return the change of the kinetic energy, J: 1/2 (v+ + v-) M (v+ - v-)."""
        assert step.v is not None
        return float((step.v + 0.5 * self.dv) @ step.M @ self.dv)

    def energy_fed(self, step: StepData) -> float:
        """Return the work of the contact impulses in the frame of the obstacle, J; positive if contacts add energy.

        This work equals the change of the kinetic energy if the obstacle is at rest.
        """
        assert step.gdot_N is not None
        normal = self.Lam_N @ (step.gdot_N + 0.5 * step.J_N @ self.dv)
        slip = step.v_T + 0.5 * np.einsum("kdn,n->kd", step.J_T, self.dv)
        return float(normal + np.einsum("kd,kd->", self.Lam_T, slip))

    def to_mapping(self) -> dict[str, Any]:
        """Return the entries for JSON."""
        flat = self.Lam_T[:, 0] if self.Lam_T.shape[1] == 1 else self.Lam_T
        return {"Lam_N": self.Lam_N.tolist(), "Lam_T": flat.tolist()}


class Impulses(Protocol):
    """The solution of a step at velocity level."""

    @property
    def a(self) -> Vector | None:
        """Change of velocity, (n,); None if there is no solution."""

    @property
    def lam_N(self) -> Vector:
        """Normal impulses, (k,), N s."""

    @property
    def lam_T(self) -> Matrix:
        """Tangential impulses, (k, d), N s."""


ImpactSolver = Callable[[StepData], Impulses]
"""A function that solves a step at velocity level, or raises."""

ImpactLaw = Callable[[StepData, ImpactSolver], VelocityJump]
"""A function that returns the jump of an impact, named in `LAWS`.

Its arguments are a step with the contacts that touch, with `gdot_N` and `v_T` before the impact, and a function that
solves steps at velocity level with the formulation and the solver of the motion. The law is stated as one or more such
steps (`gaussopt.contact.velocity_level`), which this function solves, and the sum of their jumps is returned. So every
law works with every solver, and all impulses are certified.
"""


def _jump(found: Impulses) -> VelocityJump:
    assert found.a is not None
    return VelocityJump(found.a, found.lam_N, found.lam_T)


def newton(step: StepData, solve: ImpactSolver) -> VelocityJump:
    """Apply Newton's law: gap rate after >= -e_N times gap rate before, complementary to the impulse."""
    return _jump(solve(jump_step(step)))


def poisson(step: StepData, solve: ImpactSolver) -> VelocityJump:
    """Apply Poisson's law: compression without restitution, then impulses of at least e_N times those of compression.

    There is no tangential restitution in this law: e_T is not used.
    """
    none = np.zeros(step.k)
    first = _jump(solve(jump_step(replace(step, e_N=none, e_T=none))))
    if step.e_N is None or not (step.e_N * first.Lam_N).any():
        return first
    second = _jump(solve(restitution_step(step, first.dv, first.Lam_N)))
    return VelocityJump(first.dv + second.dv, first.Lam_N + second.Lam_N, first.Lam_T + second.Lam_T)


def no_law(step: StepData, solve: ImpactSolver) -> VelocityJump:
    """Raise BadInput, because no impact law was chosen."""
    rate = np.zeros(step.k) if step.gdot_N is None else step.gdot_N
    raise BadInput(
        f"a contact closes with the gap rate {rate.min():.6g} m/s and there is no impact law; choose newton or poisson "
        "and coefficients of restitution."
    )


LAWS: dict[str, ImpactLaw] = {"newton": newton, "poisson": poisson, "none": no_law}


def impact_law(name: str) -> ImpactLaw:
    """Return an impact law by name; raises UnknownName."""
    if name not in LAWS:
        raise UnknownName("impact law", name, LAWS)
    return LAWS[name]
