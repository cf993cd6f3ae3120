"""The generated module of a model: step data, residuals, energies, contacts and the certificate's arithmetic."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import sympy as sp

from gaussopt.codegen import source
from gaussopt.codegen.certificate import certificate_source
from gaussopt.core import generated_modules
from gaussopt.symbolic.cancellation import may_cancel, sizes
from gaussopt.symbolic.derivatives import Recursion
from gaussopt.symbolic.model import SymbolicModel


def equations_of(model: SymbolicModel) -> ModuleType:
    """Return the generated module of a model, from the cache or generated now.

    Raises BadInput as `SymbolicModel.equations` does, and if other users can write to the folder `GAUSSOPT_CACHE`.
    Raises Unwritable if an expression has no counterpart in Python.
    """
    key = source.key_of(model.key)
    module = generated_modules.load(model.name, key)
    if module is not None:
        return module
    collecting = gc.isenabled()
    gc.disable()  # looking for garbage among a million expressions, none of which is, takes a seventh of the time
    try:
        return generated_modules.store(model.name, key, equations_source(model))
    finally:
        if collecting:
            gc.enable()


def equations_source(model: SymbolicModel) -> str:
    """Return the source of the module: step data, residuals, energies, contacts and the certificate's arithmetic.

    Raises BadInput as `SymbolicModel.equations` does, and if an expression has no counterpart in Python.
    """
    e, n = model.equations, len(model.q)
    state: dict[str, Sequence[Any] | None] = {"t": None, "q": model.q, "v": model.v, "p": model.p}
    place: dict[str, Sequence[Any] | None] = {"t": None, "q": model.q, "p": model.p}
    flat = [x for row in e.M for x in row] + e.h + e.Q + [x for row in e.J for x in row] + e.gamma
    doc = "M (n*n), h (n), Q (n), J (m*n), gamma (m), row by row."
    if model.contacts:
        # Contacts are in one function with the smooth part, so that sines and cosines are shared.
        flat += model.flat_contacts()
        doc = doc[:-1] + "; then g_N, gdot_N, J_N, zeta_N, J_T, zeta_T, v_T."
    gradients = [x for row in e.J[: len(model.holonomic)] for x in row]
    functions = [
        source.Function("step", state, flat, doc),
        source.Function("position", place, model.holonomic, "Holonomic constraint functions phi (m_h)."),
        source.Function("position_jacobian", place, gradients, "phi_q (m_h*n), row by row."),
        source.Function("velocity", state, e.rates, "Constraint residuals at velocity level (m)."),
        *_terms(e.J, state, model.recursion),
        source.Function("energy", state, e.energy, "Kinetic and potential energy, power of the forces."),
    ]
    if model.quasi_velocities:
        full = [*model.quasi_velocities, *e.rates]
        slopes = [slope for x in full for slope in model.derivatives.gradient(x, model.v)]
        functions += [
            source.Function("omega", state, full, "Quasi-velocities, then the velocity constraints (n)."),
            source.Function("omega_jacobian", state, slopes, "Their derivative by v (n*n)."),
            source.Function("omega_bias", state, [*map(model.along, full)], "Their time derivative at constant v (n)."),
        ]
    if model.contacts:
        gaps = [c.gap for c in model.contacts]
        coefficients = [c.coefficients[i] for i in range(3) for c in model.contacts]
        functions += [
            source.Function("gaps", place, gaps, "Gaps g_N (k)."),
            source.Function("gap_rates", state, [model.along(x) for x in gaps], "Gap rates (k)."),
            source.Function("coefficients", {"p": model.p}, coefficients, "mu (k), e_N (k), e_T (k)."),
        ]
    zero, known, of = sp.S.Zero, set(model.p), model.derivatives.symbols
    pattern_M, pattern_J = [x is not zero for row in e.M for x in row], [x is not zero for row in e.J for x in row]
    certificate = certificate_source(n, pattern_M, pattern_J)
    entries = enumerate(x for row in (*e.M, *e.J) for x in row)
    constants = {"VARYING": tuple(i for i, x in entries if x is not zero and not of(x) <= known)}
    more = [certificate] if certificate else []
    return source.source(functions, f"Equations of {model.name}.", more, constants, model.recursion)


def _terms(
    J: Sequence[Sequence[Any]], state: dict[str, Sequence[Any] | None], lines: Recursion | None
) -> list[source.Function]:
    """Return a function for the term sizes of rows of J whose nonzero entries are all sums; [] if there are none.

    An entry with a single term cannot cancel; a row that has one never consists of rounding errors alone.
    """
    suspicious = [all(may_cancel(x, lines) for x in row if x != 0) for row in J]
    if not any(suspicious):
        return []
    zero = sp.Integer(0)
    flat = [
        x for row, may in zip(J, suspicious, strict=True) for x in (sizes(row, lines) if may else [zero] * len(row))
    ]
    return [source.Function("row_terms", state, flat, "Sizes of the terms of J (m*n), row by row.")]
