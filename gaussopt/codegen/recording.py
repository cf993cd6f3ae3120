"""Functions for `gaussopt.compiled.march.recording`: a model's generated module and the acceleration."""

from __future__ import annotations

from gaussopt.codegen import step
from gaussopt.codegen.certificate import certificate_source
from gaussopt.codegen.functions import Written, indented, names_in, stores
from gaussopt.codegen.job import Orders, within_limit
from gaussopt.codegen.pivot_order import Elimination
from gaussopt.core.errors import NotCompiled
from gaussopt.symbolic.model import SymbolicModel


def write(model: SymbolicModel, equations: str, orders: Orders) -> Written:
    """Return the functions for a model, given the source `equations` of its generated module; may raise NotCompiled."""
    without = "its certificate has no generated form (a singular mass matrix, or too many rows)"
    if "\ndef certificate(" not in equations:
        raise NotCompiled(without)
    known = residuals(model, equations)
    n, m = known.constants["N"], known.constants["M"]
    texts, spare = list(known.functions), redundant_rows(model, orders.step)
    if spare:
        e = model.equations
        other = certificate_source(n, [x != 0 for row in e.M for x in row], [x != 0 for row in e.J for x in row], spare)
        if other is None:
            raise NotCompiled(without)
        texts = [*(text for text in texts if not text.startswith("def certificate(")), other]
    lines = within_limit(step.acceleration(model, orders.step, False)[0])
    sizes = {"FLAT": n * n + 2 * n + m * n + m, "CERTIFIED": 9 + 2 * m, **known.constants}
    return Written([*texts, _answer(model, lines)], lines.imports | known.imports, sizes)


def redundant_rows(model: SymbolicModel, how: Elimination) -> list[int]:
    """Return the rows of J that an elimination leaves out, which counts only rows that are not of a quaternion."""
    rows = [r for r in range(len(model.equations.J)) if r not in {turn.row for turn in model.turns}]
    first = len(model.q) - len(model.turns)
    return sorted(rows[i - first] for i in how.order[len(how.order) - how.spare :])


def residuals(model: SymbolicModel, equations: str) -> Written:
    """Return only the functions of the model's generated module, which suffice for the residuals of constraints."""
    texts = [f"def {text.strip()}" for text in equations.split("\ndef ")[1:]]
    sizes = {
        "N": len(model.q), "M": len(model.equations.J), "M_H": len(model.holonomic), "PARAMETERS": len(model.p),
    }  # fmt: skip
    return Written(texts, _imports(equations), sizes)


def _answer(model: SymbolicModel, lines: step.Lines) -> str:
    used = names_in([*lines.once, *lines.body])
    reads = [
        f"{s} = {name}[{i}]"
        for name, symbols in (("q", model.q), ("v", model.v), ("p", model.p))
        for i, s in enumerate(symbols)
        if str(s) in used
    ]
    found = [*stores("a", lines.results["a"]), *stores("lam", lines.results["lam"]), f"return {lines.regular}"]
    return "\n".join(["def answer(t, q, v, p, a, lam):", *indented([*reads, *lines.once, *lines.body, *found])])


def _imports(text: str) -> frozenset[str]:
    """Return the names that a generated module imports from math."""
    found = [line.removeprefix("from math import ").split(", ") for line in text.splitlines() if "from math" in line]
    return frozenset(name for names in found for name in names)
