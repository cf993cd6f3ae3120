"""Straight-line code of the methods that satisfy the constraints by themselves; see `integration.steppers`.

In addition to the names listed in `gaussopt.codegen.step`, the code reads h, the step length, and stop, the step's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import sympy as sp

from gaussopt.codegen.ldl import Entry
from gaussopt.codegen.pivot_order import Elimination
from gaussopt.codegen.step import Lines, StepWriter, all_hold, names_used, relative_squares, unbalanced
from gaussopt.symbolic.model import TIME, SymbolicModel

END = sp.Symbol("stop", real=True)
"""Time at the end of the step."""


def _divided(writer: StepWriter, entries: Sequence[Entry]) -> list[Entry]:
    return [writer.w.let(f"({x})/h") if x else None for x in entries]


def _reduced(writer: StepWriter, a: list[Entry]) -> list[Entry]:
    """Return names of b for a = S b, see `gaussopt.symbolic.rotations`."""
    return writer.changed(writer.model.turned.inward, a)


def _misfit(
    writer: StepWriter, M: list[list[Entry]], J: list[list[Entry]], f: Sequence[Entry], missed: Sequence[Entry]
) -> list[Entry]:
    """Return names of |missed|^2 / (1 + |J a|^2) and |M a - f - J^T lam|^2 / (1 + |f|^2)."""
    w, a = writer.w, _reduced(writer, [f"a_{i}" for i in range(len(M))])
    lam: list[Entry] = [f"lam_{r}" for r in range(len(J))]
    d = unbalanced(w, M, J, f, a, lam)
    return relative_squares(w, (missed, [w.let(w.dot(row, a)) for row in J]), (d, f))


def _repeated(
    writer: StepWriter, names: Iterable[str], results: dict[str, list[Entry]], checks: Iterable[str]
) -> tuple[Lines, Lines]:
    """Split the code of an iteration that changes `names` into lines that run once and lines that are repeated."""
    changing = set(names)
    stays: list[str] = []
    changes: list[str] = []
    for line in writer.lines({}, ()).body:
        name, _, value = line.partition(" = ")
        if not changing.isdisjoint(names_used(value)):
            changing.add(name)
            changes.append(line)
        else:
            stays.append(line)
    conditions = list(dict.fromkeys(checks))
    first = replace(writer.lines({}, [c for c in conditions if changing.isdisjoint(names_used(c))]), body=tuple(stays))
    regular = all_hold([c for c in conditions if not changing.isdisjoint(names_used(c))])
    found = {name: tuple(entries) for name, entries in results.items()}
    return first, Lines((), tuple(changes), found, regular, first.imports)


# -- the velocity-level Gauss step ----------------------------------------------------------------------


def _linearised(
    writer: StepWriter,
) -> tuple[list[list[Entry]], list[list[Entry]], list[Entry], list[Entry], list[Entry]]:
    """Return M, J and Q - h at the start, and phi and the nonholonomic residuals at the same (q, v) and time `stop`."""
    model = writer.model
    m_h, later = len(model.holonomic), {TIME: END}
    groups = [model.replaced(part, later) for part in (model.turned.holonomic, model.turned.rates[m_h:])]
    M, J, (f, phi, rates) = writer.matrices(model.turned.forces, *groups)
    return M, J, f, phi, rates


def velocity_step(model: SymbolicModel, how: Elimination) -> Lines:
    """Write the code for a (n), the change of velocity divided by h, and lam (m), the impulses divided by h."""
    writer = StepWriter(model, True, "s")
    w = writer.w
    M, J, f, phi, rates = _linearised(writer)
    v = _reduced(writer, [str(s) for s in model.v])
    rows = [w.total((), [x, w.let(w.dot(row, v))]) for row, x in zip(J, _divided(writer, phi), strict=False)]
    g = _divided(writer, [*rows, *(f"-{x}" if x else None for x in rates)])
    found = writer.saddle(M, J, how)
    b, lam = found.solve(f, g)
    a = writer.changed(model.turned.outward, b)
    return writer.lines({"a": a, "lam": lam}, [*writer.checks, *found.checks])


def velocity_residuals(model: SymbolicModel) -> Lines:
    """Write the code for the relative squared residuals of `velocity_step`; linearised constraints are divided by h."""
    writer = StepWriter(model, True, "r")
    w = writer.w
    M, J, f, phi, rates = _linearised(writer)
    change = [w.let(f"h*a_{i}") for i in range(len(M))]
    v = _reduced(writer, [w.let(f"{s} + {x}") for s, x in zip(model.v, change, strict=True)])
    change = _reduced(writer, change)
    ends = [w.total([w.dot(row, v), x]) for row, x in zip(J, _divided(writer, phi), strict=False)]
    ends += [w.total([w.dot(row, change), x]) for row, x in zip(J[len(phi) :], rates, strict=True)]
    return writer.lines({"residuals": _misfit(writer, M, J, f, _divided(writer, ends))}, ())


# -- RATTLE -------------------------------------------------------------------------------------------------


def end_positions(n: int) -> list[str]:
    """Return names of the coordinates at the end of the step."""
    return [f"z_{i}" for i in range(n)]


def half_velocities(n: int) -> list[str]:
    """Return names of the velocities between the two halves of a step."""
    return [f"half_{i}" for i in range(n)]


def missed_positions(m: int) -> list[str]:
    """Return names of the corrections that the first half step subtracts from the right-hand side of J a = gamma."""
    return [f"missed_{r}" for r in range(m)]


def half_step(model: SymbolicModel, how: Elimination) -> tuple[Lines, Lines]:
    """Write the code of both halves of RATTLE: lines to run once, then lines that the iteration repeats.

    Results are a and lam; part 0 has J a = gamma - missed, and part 1 has J a = 2/h (J (v - v_half) - rates).
    """
    writer, e = StepWriter(model, True, "s"), model.turned
    w, n = writer.w, len(model.q)
    M, J, (f, gamma, rates) = writer.matrices(e.forces, e.gamma, e.rates)
    missed = missed_positions(len(model.holonomic))
    change = _reduced(writer, [w.let(f"{v} - {half}") for v, half in zip(model.v, half_velocities(n), strict=True)])
    g: list[Entry] = []
    for r, (row, start, rate) in enumerate(zip(J, gamma, rates, strict=True)):
        first = w.total([start], missed[r : r + 1]) or "0.0"
        second = w.total([w.dot(row, change)], [rate]) or "0.0"
        g.append(w.let(f"{first} if part == 0 else 2.0*({second})/h"))
    found = writer.saddle(M, J, how)
    b, lam = found.solve(f, g)
    a = writer.changed(model.turned.outward, b)
    changing = [*map(str, model.v), *missed]
    return _repeated(writer, changing, {"a": a, "lam": lam}, [*writer.checks, *found.checks])


def end_residuals(model: SymbolicModel) -> Lines:
    """Write the code for the holonomic constraints phi (m_h) at the end of the step: positions z, time `stop`."""
    writer = StepWriter(model, True, "b")
    names = end_positions(len(model.q))
    ends = dict(zip(model.q, (sp.Symbol(z, real=True) for z in names), strict=True)) | {TIME: END}
    (phi,) = writer.expressions(model.replaced(model.holonomic, ends))
    return writer.lines({"phi": phi}, writer.checks)


def half_residuals(model: SymbolicModel) -> Lines:
    """Write the code for the residuals of a half step; only the second counts velocity constraints, divided by h/2."""
    writer = StepWriter(model, True, "r")
    w = writer.w
    M, J, (f, rates) = writer.matrices(model.turned.forces, model.turned.rates)
    missed = [w.let(f"2.0*part*{x}/h") if x else None for x in rates]
    return writer.lines({"residuals": _misfit(writer, M, J, f, missed)}, ())


def settles_at_once(model: SymbolicModel) -> bool:
    """Return whether the equations of the second half are linear in its final velocity, so that one solve is enough."""
    e, d = model.equations, model.derivatives
    return not any(d.symbols(sp.sympify(x)) & model.quick for row in (e.Q, e.h, *e.J) for x in row)
