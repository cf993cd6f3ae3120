"""Generated functions of RATTLE, whose two half steps, both iterative, share the same code."""

from __future__ import annotations

from gaussopt.codegen import constrained_step
from gaussopt.codegen.functions import StraightFunctions, Written, looks, names_in, stores
from gaussopt.codegen.job import LoopJob, within_limit


def write(job: LoopJob) -> Written:
    """Return the generated functions of the stepper `rattle`."""
    model = job.model
    before, within = (within_limit(x, job.most) for x in constrained_step.half_step(model, job.orders.step))
    ends, check = constrained_step.end_residuals(model), constrained_step.half_residuals(model)
    correct = job.correction()
    functions = StraightFunctions(model, [x for x in (before, check, within, ends, correct) if x])
    n, m, m_h = functions.n, functions.m, functions.m_h
    assigned = [line.partition(" = ")[0] for line in before.body]
    read = names_in([*within.body, within.regular, *(x for part in within.results.values() for x in part if x)])
    kept = [name for name in dict.fromkeys(assigned) if name in read]
    halves, missed = constrained_step.half_velocities(n), constrained_step.missed_positions(m_h)
    own = _placed("kept", kept) | _placed("half", halves) | _placed("missed", missed)
    latest = _placed("a", [f"a_{i}" for i in range(n)]) | _placed("lam", [f"lam_{r}" for r in range(m)])
    found = [
        functions.function(
            "half_start(t, y, once, kept)", [*before.body, *stores("kept", kept), f"return {before.regular}"]
        ),
        functions.function(
            "half_solve(part, t, h, y, once, kept, half, missed, a, lam)",
            [
                *within.body, *stores("a", within.results["a"]), *stores("lam", within.results["lam"]),
                f"return {within.regular}",
            ], own,
        ),
        functions.function(
            "half_ends(stop, z, once, phi)",
            [*ends.body, *stores("phi", ends.results["phi"]), f"return {ends.regular}"],
            _placed("z", constrained_step.end_positions(n)),
        ),
        functions.function(
            "half_check(part, t, h, y, once, a, lam, limit, worst)",
            ["good = True", *looks(check), "return good"], latest,
        ),
    ]  # fmt: skip
    at_once = int(constrained_step.settles_at_once(model))
    space = 3 * n + m + 2 * m_h + len(kept)
    return functions.written(found, space, correct, KEPT=len(kept), AT_ONCE=at_once)


def _placed(array: str, names: list[str]) -> dict[str, str]:
    """Return, for each name, the source of the entry of `array` that holds its value."""
    return {name: f"{array}[{i}]" for i, name in enumerate(names)}
