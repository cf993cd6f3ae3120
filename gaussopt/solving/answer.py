"""A certified answer to a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gaussopt.certificates.base import Certificate
from gaussopt.certificates.contact import ContactCertificate
from gaussopt.contact.laws import Uniqueness
from gaussopt.core.arrays import Vector
from gaussopt.core.display import About, error_words, short, shown
from gaussopt.core.fast_frozen import fast_frozen
from gaussopt.core.solution import Timing
from gaussopt.core.status import Status


@shown
@fast_frozen
@dataclass(frozen=True, slots=True)
class Answer:
    """A certified answer to a step.

    Attributes
    ----------
    a : (n,) or None
    lam : (m,) or None, multipliers; computed by the certificate if the formulation has none
    lam_N, lam_T : (k,), (k, d), contact forces; NaN if there is no answer
    status, message : verified status, and a sentence that explains it; `claim` is the status that the solver reported
    certificate : Certificate, a ContactCertificate if the step has contacts
    iterations : int
    timing : Timing
    details : entries that the formulation adds to the answer, such as a contraction factor
    history : tuple of float, the solver's record of its convergence, see `RawSolution`
    """

    a: Vector | None
    lam: Vector | None
    lam_N: Vector
    lam_T: Vector
    status: Status
    claim: Status
    message: str
    certificate: Certificate
    iterations: int
    timing: Timing
    details: dict[str, Any] = field(default_factory=dict)
    history: tuple[float, ...] = ()

    def _about(self) -> About:
        c = self.certificate
        found = error_words(c.error_bound, c.relative_error, c.rounding_floor)
        words = found if self.status is Status.SOLVED else self.message
        rows = [
            ("status", self.status), *([("method", self.details["method"])] if "method" in self.details else []),
            ("claim of the solver", self.claim), ("a", self.a), ("lam", self.lam),
            *([("lam_N", self.lam_N), ("lam_T", self.lam_T)] if len(self.lam_N) else []),
            ("forces unique", self.forces_unique),
            ("iterations", self.iterations), ("seconds", self.timing.total), ("message", self.message),
        ]  # fmt: skip
        return About(f"{self.status}, a = {short(self.a)}", (words,), rows)

    @property
    def forces_unique(self) -> bool:
        """Whether the multipliers and contact forces are unique."""
        return self.certificate.forces_unique

    @property
    def contact(self) -> Uniqueness | None:
        """The verdict on the contact laws: uniqueness, all solutions, and ranges; None for a step without contacts."""
        return self.certificate.contact if isinstance(self.certificate, ContactCertificate) else None
