"""The arithmetic of the methods that keep constraints themselves, as straight lines; see `gaussopt.steppers`.

Beside the names of `gaussopt.compiled.source` the lines read h, the length of the step, and stop, its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from gaussopt.compiled.elimination import Elimination
from gaussopt.compiled.source import Lines, Scribe, accelerations, equations_of, misfit, step_matrix
from gaussopt.equations import TIME, Model
from gaussopt.straight_line import Entry

END = sp.Symbol("stop", real=True)
"""Time at the end of the step."""


def _force(model: Model) -> list[Any]:
    return [Q - h for Q, h in zip(model.equations.Q, model.equations.h, strict=True)]


def _divided(scribe: Scribe, entries: Sequence[Entry]) -> list[Entry]:
    return [scribe.w.let(f"({x})/h") if x else None for x in entries]


# -- the velocity-level Gauss step ----------------------------------------------------------------------


def _linearised(
    scribe: Scribe,
) -> tuple[list[list[Entry]], list[list[Entry]], list[Entry], list[Entry], list[Entry]]:
    """M, J, Q - h at the start, phi at the end of time, and rates of the other rows at the end of time."""
    model = scribe.model
    m_h, later = len(model.holonomic), {TIME: END}
    groups = [[sp.sympify(e).xreplace(later) for e in part] for part in (model.holonomic, model.equations.rates[m_h:])]
    M, J, (f, phi, rates) = equations_of(scribe, _force(model), *groups)
    return M, J, f, phi, rates


def velocity_step(model: Model, order: Sequence[int], polynomials: bool) -> Lines:
    """Change of velocity over h, and impulses over h.

    Results
    -------
    a (n), lam (m)
    """
    scribe = Scribe(model, polynomials, "s")
    w, v = scribe.w, [str(s) for s in model.v]
    M, J, f, phi, rates = _linearised(scribe)
    rows = [w.total((), [x, w.let(w.dot(row, v))]) for row, x in zip(J, _divided(scribe, phi), strict=False)]
    g = _divided(scribe, [*rows, *(f"-{x}" if x else None for x in rates)])
    found = Elimination.of(w, step_matrix(M, J), order)
    a, lam = _parts(scribe, found.solve(w, [*f, *g]))
    return scribe.lines({"a": a, "lam": lam}, found.checks)


def velocity_residuals(model: Model, polynomials: bool) -> Lines:
    """`residuals` of such a step, as `gaussopt.compiled.source.residuals`: of the linearised constraints, over h."""
    scribe = Scribe(model, polynomials, "r")
    w, a = scribe.w, accelerations(model)
    M, J, f, phi, rates = _linearised(scribe)
    change = [w.let(f"h*{x}") for x in a]
    v = [w.let(f"{s} + {x}") for s, x in zip(model.v, change, strict=True)]
    ends = [w.total([w.dot(row, v), x]) for row, x in zip(J, _divided(scribe, phi), strict=False)]
    ends += [w.total([w.dot(row, change), x]) for row, x in zip(J[len(phi) :], rates, strict=True)]
    scale = [w.let(w.dot(row, a)) for row in J]
    return scribe.lines({"residuals": misfit(w, M, J, f, _divided(scribe, ends), scale)}, ())


def _parts(scribe: Scribe, x: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Acceleration and multipliers."""
    n = len(scribe.model.q)
    return list(x[:n]), [scribe.w.let(f"-{entry}") if entry else None for entry in x[n:]]


# -- RATTLE -------------------------------------------------------------------------------------------------


def end_positions(n: int) -> list[str]:
    """Names of the coordinates at the end of the step."""
    return [f"z_{i}" for i in range(n)]


def half_velocities(n: int) -> list[str]:
    """Names of the velocities between the halves."""
    return [f"half_{i}" for i in range(n)]


def missed_positions(m: int) -> list[str]:
    """Names of what the first half takes off J a."""
    return [f"missed_{r}" for r in range(m)]


def half_step(model: Model, order: Sequence[int], polynomials: bool) -> tuple[Lines, Lines]:
    """A half of RATTLE at its own state, `part` 0 or 1: what its iteration repeats comes second.

    J a is that of Gauss's principle less what the positions miss, or 2/h (J (v - v_half) - rates).

    Results
    -------
    none; a (n), lam (m)
    """
    scribe = Scribe(model, polynomials, "s")
    w, n, e = scribe.w, len(model.q), model.equations
    M, J, (f, gamma, rates) = equations_of(scribe, _force(model), e.gamma, e.rates)
    missed = missed_positions(len(model.holonomic))
    change = [w.let(f"{v} - {half}") for v, half in zip(model.v, half_velocities(n), strict=True)]
    g: list[Entry] = []
    for r, (row, start, rate) in enumerate(zip(J, gamma, rates, strict=True)):
        first = w.total([start], missed[r : r + 1]) or "0.0"
        second = w.total([w.dot(row, change)], [rate]) or "0.0"
        g.append(w.let(f"{first} if part == 0 else 2.0*({second})/h"))
    found = Elimination.of(w, step_matrix(M, J), order)
    a, lam = _parts(scribe, found.solve(w, [*f, *g]))
    changing = [*map(str, model.v), *missed]
    return scribe.repeated(changing, {}, {"a": a, "lam": lam}, found.checks)


def end_residuals(model: Model, polynomials: bool) -> Lines:
    """Holonomic constraints at the end positions z and the end of time.

    Results
    -------
    phi (m_h)
    """
    scribe = Scribe(model, polynomials, "b")
    names = end_positions(len(model.q))
    ends = dict(zip(model.q, (sp.Symbol(z, real=True) for z in names), strict=True)) | {TIME: END}
    (phi,) = scribe.expressions([sp.sympify(c).xreplace(ends) for c in model.holonomic])
    return scribe.lines({"phi": phi}, ())


def half_residuals(model: Model, polynomials: bool) -> Lines:
    """`residuals` of a half: of the velocity constraints at the end, over h/2."""
    scribe = Scribe(model, polynomials, "r")
    w, a = scribe.w, accelerations(model)
    M, J, (f, rates) = equations_of(scribe, _force(model), model.equations.rates)
    missed = [w.let(f"2.0*part*{x}/h") if x else None for x in rates]
    scale = [w.let(w.dot(row, a)) for row in J]
    return scribe.lines({"residuals": misfit(w, M, J, f, missed, scale)}, ())


def settles_at_once(model: Model) -> bool:
    """Whether the equations of the second half are linear in the velocity, so that one solve is enough."""
    matrices = [*_force(model), *(x for row in model.equations.J for x in row)]
    return not any(sp.sympify(e).free_symbols & set(model.v) for e in matrices)
