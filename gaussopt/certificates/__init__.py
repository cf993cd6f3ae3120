"""Certificates: proved bounds on the distance between a candidate, from any source, and the true solution."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gaussopt.certificates.base import Certificate
from gaussopt.certificates.bilateral import certify_dense, certify_generated, with_own_scales
from gaussopt.certificates.bilateral_sparse import certify_sparse
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import NotAccepted
from gaussopt.core.step_data import StepData

ENTRIES = 250_000
"""If a sparse certificate fails, a dense certificate is computed for matrices of up to this number of entries."""

SINGULAR_ENTRIES = 10_000
"""If M is singular, sparse certificates scale roughly; dense ones are computed up to this number of entries."""


def certify(step: StepData, a: Vector | None, lam: Vector | None = None) -> Certificate:
    """Certify a candidate acceleration of a step without contacts.

    Parameters
    ----------
    step : StepData
    a : (n,) or None, the candidate; if None, only the verdict on the step is computed
    lam : (m,) or None, reported multipliers, which are certified, too

    Raises
    ------
    NotAccepted
        If the step has contacts.
    BadInput
        If M is asymmetric or indefinite.

    Examples
    --------
    A mass of 2 kg falls with 9.81 m/s^2; the candidate 9 has an error of 0.81 * sqrt(2) in the mass norm.

    >>> import gaussopt as go
    >>> import numpy as np
    >>> step = go.StepData.from_mapping({"M": [[2.0]], "Q": [-19.62]})
    >>> round(float(go.certify(step, np.array([-9.0])).error_bound), 4)
    1.1455
    """
    if step.k:
        raise NotAccepted(f"The step has {step.k} contacts; the certificate covers steps without contacts.")
    if step.arithmetic is not None and a is not None:
        found = certify_generated(step, a, lam)
        if found is not None:
            return with_own_scales(step, a, found)
    if a is not None and not math.isfinite(float(a.sum())):
        a = None
    if lam is not None and not math.isfinite(float(lam.sum())):
        lam = np.full(step.m, np.inf)
    if not step.sparse:
        return certify_dense(step, a, lam)
    found = certify_sparse(step, a, lam)
    limit = ENTRIES if not found.passed() else SINGULAR_ENTRIES if found.singular_mass else 0
    if step.n * max(step.n, step.m) > limit:
        return found
    # If M is singular or rows are dependent, the sparse factors are regularised and determine ranks only roughly.
    # Therefore small matrices are certified again, by singular values.
    return certify_dense(replace(step, M=step.M.toarray(), J=step.J.toarray()), a, lam)  # type: ignore[attr-defined]
