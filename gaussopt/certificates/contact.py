"""The certificate of a candidate with contact forces: errors, residual of the contact laws, uniqueness.

A candidate (a, lam, lam_N, lam_T) is judged in three steps. First, the distance of a from the acceleration that lam_N
and lam_T cause is computed exactly, as for steps without contacts. Second, the contact laws
(`gaussopt.contact.laws.ContactLaws`) give their residual and the distance to a true solution. Third, they decide
whether the solution is unique.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gaussopt.certificates import certify
from gaussopt.certificates.base import Certificate, unmeasured
from gaussopt.certificates.cone_laws import laws_of
from gaussopt.contact.contradiction import unless_contradictory
from gaussopt.contact.laws import NO_CONTACTS, Uniqueness, UniquenessProof
from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.tolerances import finite_or_none
from gaussopt.linalg.dense import coordinate_scale, norm
from gaussopt.linalg.saddle_point import Posedness, posedness

SMALL = 1e-9
"""Laws that are missed by no more than this, relative to 1 + ||a||_M, need no search for a contradiction."""


@dataclass(frozen=True, slots=True, repr=False)
class ContactCertificate(Certificate):
    """Proved errors of a candidate (a, lam, lam_N, lam_T); see `Certificate` for the fields shared with it.

    Attributes
    ----------
    law_residual : norm of the natural map of the contact and friction laws, in the unit of ||a||_M
    friction_power : power of friction if it is positive (friction acts along the slip), otherwise 0, W
    smallest_w : smallest gap acceleration, m/s^2; NaN if it was not computed
    contact : Uniqueness, how many accelerations the contact laws allow, and the proof
    """

    law_residual: float = 0.0
    friction_power: float = 0.0
    smallest_w: float = math.nan
    contact: Uniqueness = NO_CONTACTS

    def own_tolerance(self, tolerance: float) -> float:
        """Return the error allowed relative to the scale of the step: `tolerance`, or its square root if smaller."""
        return min(tolerance, math.sqrt(tolerance))

    @property
    def laws_missed(self) -> float:
        """The residual of the contact laws, `law_residual`."""
        return self.law_residual

    def to_mapping(self) -> dict[str, Any]:
        """Return the entries for JSON."""
        return {
            **Certificate.to_mapping(self),
            "law_residual": finite_or_none(self.law_residual),
            "friction_power": self.friction_power,
            "uniqueness": self.contact.reason,
        }


def certify_contact(
    step: StepData,
    a: Vector | None,
    lam: Vector | None = None,
    lam_N: Vector | None = None,
    lam_T: Matrix | None = None,
    operator: ContactOperator | None = None,
    thorough: bool = True,
) -> ContactCertificate:
    """Certify a candidate solution of a step whose contacts are all closed.

    Parameters
    ----------
    step : StepData
    a : (n,) or None; if None, only existence and uniqueness are decided
    lam, lam_N, lam_T : (m,), (k,), (k, d) or None
        Reported forces; if absent, the forces of the true solution nearest to a are used.
    operator : ContactOperator of the step, if it has already been computed
    thorough : bool
        Whether all contact modes may be enumerated with linear programs to decide uniqueness. Otherwise only quick
        proofs are tried, and `contact.decided` may be False.

    Raises
    ------
    NotAccepted
        If a number overflows or underflows, see `ContactOperator.of`.

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> given = {"M": [[2.0]], "Q": [-19.62], "J_N": [[1.0]], "zeta_N": [0.0]}
    >>> block = go.StepData.from_mapping(given)
    >>> go.certify_contact(block, np.array([0.0])).relative_error < 1e-12
    True
    """
    posed = posedness(step)
    if posed.verdict is not Status.SOLVED:
        return _without(step, posed, Uniqueness(posed.verdict, UniquenessProof.JOINTS, False))
    op = ContactOperator.of(step) if operator is None else operator
    laws = laws_of(op)
    verdict = laws.uniqueness(thorough, posed.forces_unique)
    if a is None or not np.isfinite(a).all() or verdict.status is not Status.SOLVED:
        return _without(step, posed, unless_contradictory(op, verdict) if thorough else verdict)
    if lam_N is None or not np.isfinite(lam_N).all() or (lam_T is not None and not np.isfinite(lam_T).all()):
        lam_N, lam_T = op.split(laws.nearest(a, thorough))
        lam = None
    if lam_T is None:
        lam_T = op.split(np.concatenate((lam_N, np.zeros(len(op.rows) - op.k))))[1]
    x = op.unknowns(lam_N, lam_T)
    own = certify(step.with_forces(lam_N, lam_T), a, lam)
    missed = laws.residual(a, lam_N, lam_T)
    bound, error_norm, floor = laws.distance(a, x, own.error_bound, missed, verdict, thorough)
    if thorough and math.isinf(bound) and missed > SMALL * (1.0 + own.norm_a):
        verdict = unless_contradictory(op, verdict)
        if verdict.status is not Status.SOLVED:
            return _without(step, posed, verdict)
    d = coordinate_scale(step.M, step.J)
    natural = norm(op.joints.a_J / d) + norm(a / d) + norm(step.force * d)
    return ContactCertificate(
        error_bound=bound, error_norm=error_norm, constraint_residual=own.constraint_residual,
        force_residual=own.force_residual if lam is not None else own.error_bound,
        rounding_floor=own.rounding_floor + floor, condition=own.condition, norm_a=own.norm_a, norm_a_2=own.norm_a_2,
        norm_gamma=own.norm_gamma, verdict=Status.SOLVED, forces_unique=verdict.forces_unique,
        singular_mass=own.singular_mass, lam=own.lam, natural_scale=natural, residual_share=own.residual_share,
        unit_error=own.unit_error, force_share=own.force_share, law_residual=missed,
        friction_power=max(float(np.vdot(lam_T, step.v_T)), 0.0), contact=verdict,
        smallest_w=float((step.J_N @ a + step.zeta_N).min(initial=math.inf)),
    )  # fmt: skip


def _without(step: StepData, posed: Posedness, verdict: Uniqueness) -> ContactCertificate:
    """Return a certificate with the verdict on the step only, because there is no candidate or no unique solution."""
    base = unmeasured(step, verdict.status, verdict.forces_unique, posed.singular_mass)
    shared = {f.name: getattr(base, f.name) for f in fields(Certificate)}
    return ContactCertificate(**shared, law_residual=math.inf, contact=verdict)
