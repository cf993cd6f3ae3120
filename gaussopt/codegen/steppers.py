"""Generated functions of the steppers that are compiled; Runge-Kutta methods have constant steps or error control."""

from __future__ import annotations

from gaussopt.codegen import constrained_step, recording, source
from gaussopt.codegen.equations import equations_of
from gaussopt.codegen.functions import StraightFunctions, Written, looks, names_in, stores, table, value
from gaussopt.codegen.job import LoopJob, within_limit
from gaussopt.core import generated_modules
from gaussopt.core.errors import NotCompiled
from gaussopt.symbolic.gap_angles import angles_and_rates


def constant_step(job: LoopJob) -> Written:
    """Return the functions of a stepper with a tableau; raises NotCompiled if it has none."""
    tableau = job.method.tableau
    if tableau is None:
        raise NotCompiled(f"the stepper {job.method.name!r} has no tableau, which its generated loop is written from")
    stages = len(tableau.b)
    A = table([*tableau.A, tableau.b], stages)
    return _of_stages(job, stages, A=A, C=table([tableau.c], stages))


def one_slope(job: LoopJob) -> Written:
    """Return the functions of a stepper that uses only the slope at the start of a step."""
    return _of_stages(job, 1)


def error_control(job: LoopJob) -> Written:
    """Return the functions of an embedded method of SciPy; the slope at the end of the step counts as another stage."""
    method = job.method.scipy_class()
    stages = int(method.n_stages)
    pair = hasattr(method, "E5")
    errors = [method.E5, method.E3] if pair else [method.E, [0.0] * (stages + 1)]
    return _of_stages(
        job, stages + 1, A=table([*method.A.tolist(), method.B.tolist()], stages), C=(*method.C.tolist(), 1.0),
        E=table([errors[0]], stages + 1), E3=table([errors[1]], stages + 1), PAIR=int(pair),
        EXPONENT=-1.0 / (int(method.error_estimator_order) + 1),
    )  # fmt: skip


def _of_stages(job: LoopJob, stages: int, **tables: object) -> Written:
    step, check, correct = job.acceleration()
    functions = StraightFunctions(job.model, [x for x in (step, check, correct) if x])
    space = 2 * functions.n * stages
    return functions.written([functions.slope(step, check)], space, correct, STAGES=stages, **tables)


def velocity_gauss(job: LoopJob) -> Written:
    """Return the functions of the stepper velocity-gauss."""
    step = within_limit(constrained_step.velocity_step(job.model, job.orders.step), job.most)
    check, correct = constrained_step.velocity_residuals(job.model), job.correction()
    functions = StraightFunctions(job.model, [x for x in (step, check, correct) if x])
    known = [f"{name}_{i} = {value(x)}" for name in ("a", "lam") for i, x in enumerate(step.results[name])]
    lines = [
        *step.body, *stores("a", step.results["a"]), f"good = {step.regular}", *known, *looks(check), "return good",
    ]  # fmt: skip
    impulse = functions.function("impulse(t, stop, h, y, once, a, limit, worst)", lines)
    return functions.written([impulse], functions.n, correct)


def rattle(job: LoopJob) -> Written:
    """Return the functions of the stepper rattle, whose two half steps, both iterative, share the same code."""
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


def moreau_jean(job: LoopJob) -> Written:
    """Return the functions of the stepper moreau-jean: those of the model's module, the force, and angles of gaps."""
    model, (angles, periodic) = job.model, angles_and_rates(job.model)
    state = {"t": None, "q": model.q, "v": model.v, "p": model.p}
    e = model.equations
    more = source.source(
        [
            source.Function("force", state, [Q - h for Q, h in zip(e.Q, e.h, strict=True)], "Q - h (n)."),
            source.Function("angles", state, angles, "Arguments of functions in gaps and slips, then their rates."),
        ],
        "",
        lines=model.recursion,
    )
    parts = [recording.residuals(model, text) for text in (generated_modules.text_of(equations_of(model)), more)]
    n, m, k, a = len(model.q), len(e.J), len(model.contacts), len(angles) // 2
    size, gaps = 2 * n + len(model.p) + 1, n * n + 2 * n + m * n + m
    normals, own = gaps + 2 * k, {}
    end = gaps + k * (2 * n + 5)
    for name, entries in (
        ("FORCE", n), ("JUMP", n), ("ACTIVE", k), ("PUSH", 2 * k), ("FACTOR", n * n), ("BASIS", (m + 2 * k) * n),
        ("JOINTS", m * m), ("LENGTHS", 2 * k), ("FRICTION", k), ("PARTS", 2 * k * m), ("DRIFT", m), ("LIFT", m),
        ("DELASSUS", 4 * k * k), ("BIAS", 2 * k + m), ("TABLEAU", 2 * k * (2 * k + 1)), ("MOTION", n), ("FREE", n),
        ("MEAN", n), ("MOVED", n), ("NEXT", n), ("TURNS", 4 * a),
    ):  # fmt: skip
        own[name], end = end, end + entries
    sizes = {
        "SIZE": 2 * n, "K": k, "LAW": 3 * k, "WORK": end, "ROW": 2 + 5 * n, "CODES": 4**k, "ANGLES": a,
        "PERIODIC": periodic, "LANES": 1, "STATE": 0, "CONSTANTS": 2 * n, "FAILED": size - 1, "LENGTH": size,
        "GAPS": gaps, "NORMALS": normals, "TANGENTS": normals + k * n + k, **own,
    }  # fmt: skip
    functions = [text for part in parts for text in part.functions]
    return Written(functions, parts[0].imports | parts[1].imports, {**parts[0].constants, **sizes})


def _placed(array: str, names: list[str]) -> dict[str, str]:
    """Map each name to the source of the entry of `array` that holds its value."""
    return {name: f"{array}[{i}]" for i, name in enumerate(names)}
