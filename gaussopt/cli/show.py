"""The command `gaussopt show`: information on a problem, formulation, solver, stepper or family."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gaussopt.cli.common import Json, Set, argument, settings_of, show
from gaussopt.core.errors import BadInput, IllPosed, NotAccepted, UnknownName

if TYPE_CHECKING:
    from gaussopt.core.programs import Program
    from gaussopt.core.step_data import StepData
    from gaussopt.modelling.problem import Problem

ANY = ("problem", "formulation", "solver", "stepper", "family")

Name = Annotated[
    str,
    argument("NAME|FILE.py", "A problem, formulation, solver, stepper or family: a name from `gaussopt list`, or a "
             "file.py.", *ANY, files=(".py",)),
]  # fmt: skip


class Known(NamedTuple):
    """Information on a registered entry, as data and as text, and the arguments of a command that uses the entry."""

    data: dict[str, Any]
    lines: list[str]
    use: str


def show_command(context: typer.Context, name: Name, set_: Set = None, json_: Json = False) -> None:
    """Show the description of a problem, a formulation, a solver, a stepper or a family."""
    from gaussopt.core import registry

    given, own = name, registry.is_file(name)
    if own:
        kind, name = registry.register(name)
        kinds = [kind]
    else:
        kinds, name = _kinds(name), name.partition(":")[0]  # the name of a variant may follow that of the solver
    if set_ and "problem" not in kinds:
        raise BadInput(f"--set changes a problem, and {name!r} is a {kinds[0]}.")
    data: dict[str, Any] = {"status": "solved", "name": name}
    lines: list[str] = []
    for kind in kinds:
        entry = registry.load(kind, name)
        if kind == "problem":
            found = _problem(entry.at(**settings_of(set_)), given, set_ or [])
            use = f"gaussopt {found.use}"
        else:
            found = ABOUT[kind](entry)
            use = f"{f'GAUSSOPT_PLUGINS={shlex.quote(given)} ' if own else ''}gaussopt {found.use}"
        data[kind] = {"title": entry.title, "source": entry.source, **found.data, "use": use}
        lines += [""] * bool(lines)
        lines += [f"{name}, a {kind}: {entry.title}", *([f"Source: {entry.source}"] if entry.source else [])]
        lines += [*found.lines, f"Use it: {use}"]
    show(context.obj, json_, data, *lines)


def _kinds(word: str) -> list[str]:
    """Return the kinds of registered entries with a name; raises UnknownName, or BadInput for the name of a file."""
    from gaussopt.core import registry

    name = word.partition(":")[0]
    kinds = [kind for kind in ANY if name in registry.names(kind)]
    if not kinds:
        every = sorted({known for kind in ANY for known in registry.names(kind)})
        if Path(f"{name}.py").is_file():
            raise BadInput(f"Unknown name {name!r}; did you mean the file {name}.py? Known: {', '.join(every)}.")
        raise UnknownName("name", name, every)
    return kinds


def _columns(rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return the rows of a table as lines with aligned columns, indented below a heading."""
    texts = [[f"{x + 0:.6g}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return ["  " + "  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in texts]


# -- problems ----------------------------------------------------------------------------------------------


def _problem(entry: Problem, given: str, settings: list[str]) -> Known:
    """Return the information on a problem, and a `run` command with options that avoid drift and endless impacts."""
    from gaussopt.comparison.items import typical_step
    from gaussopt.comparison.pairing import misfit
    from gaussopt.core import registry

    start = entry.system.evaluate(0.0, entry.q0, entry.v0)
    residual = entry.system.position_residual(0.0, entry.q0)
    held = 0 if residual is None else len(residual)
    typical = typical_step(entry)
    fits = [f for f in registry.names("formulation") if not misfit(registry.load("formulation", f), typical)]
    values, sketch = entry.parameter_values, _sketch(entry)
    units = [entry.units.get(name, "") for name in entry.coordinates]
    zeros = [0.0] * start.k
    data = {
        "description": entry.description, "t_end": entry.t_end, "dt": entry.dt,
        "parameters": [{**asdict(p), "value": values[p.name], "default": p.value} for p in entry.parameters],
        "cases": {n: {"values": dict(c.values), "t_end": c.t_end, "description": c.description}
                  for n, c in entry.cases.items()},
        "variants": {n: {"description": getattr(v, "description", "")} for n, v in entry.variants.items()},
        "coordinates": [{"name": n, "unit": u, "q0": float(q), "v0": float(v)}
                        for n, u, q, v in zip(entry.coordinates, units, entry.q0, entry.v0, strict=True)],
        "rows": {"equality": start.m, "position_level": held},
        "contacts": [{"name": n, "mu": float(mu), "e_N": float(e)} for n, mu, e in zip(
            entry.system.contact_names, start.mu, zeros if start.e_N is None else start.e_N, strict=True)],
        "references": [r.name for r in entry.references], "formulations": fits, "sketch": sketch,
        "errata": len(entry.errata),
    }  # fmt: skip
    bounces = start.e_N is not None and bool((start.e_N > 0).any())
    words = [f"run {shlex.quote(given)}", *(f"--set {shlex.quote(item)}" for item in settings)]
    words += ["--stabilisation projection"] * bool(held) + ["--accumulation close"] * bounces
    return Known(data, _problem_lines(data), " ".join(words))


def _sketch(entry: Problem) -> str:
    """Return the shapes of a sketch in words; "" if there is none."""
    from gaussopt.core.display import counted
    from gaussopt.modelling.problem import sketch_of
    from gaussopt.modelling.sketch import words

    try:
        shapes = sketch_of(entry).shapes(entry.q0, entry.parameter_values)
    except BadInput:
        return ""
    nouns = {
        "ContactPoint": ("contact point", ""), "Axes": ("pair of axes", "pairs of axes"),
        "Length": ("dimension line", ""), "Ground": ("ground line", ""),
    }  # fmt: skip
    counts = Counter(type(shape).__name__ for shape in shapes)
    labels: dict[str, dict[str, None]] = {kind: {} for kind in counts}
    for shape in shapes:
        text = getattr(shape, "label", getattr(shape, "name", ""))
        labels[type(shape).__name__] |= {words(text): None} if text else {}
    said = ((counted(count, *nouns.get(kind, (kind.lower(), ""))), labels[kind]) for kind, count in counts.items())
    return ", ".join(f"{what} ({', '.join(names)})" if names else what for what, names in said)


def _problem_lines(data: dict[str, Any]) -> list[str]:
    equality, held, contacts = data["rows"]["equality"], data["rows"]["position_level"], data["contacts"]
    lines = [data["description"]] if data["description"] else []
    if data["parameters"]:
        rows = ((p["name"], p["value"], p["unit"].removeprefix("1"), p["meaning"]) for p in data["parameters"])
        lines += ["Parameters, changed by --set NAME=VALUE:", *_columns(rows)]
    if data["cases"]:
        cases = ((name, f"to t = {c['t_end']:g} s", c["description"]) for name, c in data["cases"].items())
        lines += ["Cases, chosen by --set case=NAME:", *_columns(cases)]
    if data["variants"]:
        variants = ((name, v["description"]) for name, v in data["variants"].items())
        lines += ["Variants, chosen by --set variant=NAME:", *_columns(variants)]
    rates = ((c["name"], c["q0"], c["unit"], c["v0"], c["unit"] and f"{c['unit']}/s") for c in data["coordinates"])
    lines += ["Coordinates, with position and velocity at the start:", *_columns(rates)]
    level = {0: "none", equality: "all"}.get(held, held)
    rows_said = f"{equality}, {level} of them given at position level" if equality else "none"
    lines.append(f"Equality rows: {rows_said}")
    names = (f"{c['name']} (mu = {c['mu']:g}, e_N = {c['e_N']:g})" for c in contacts)
    lines.append(f"Contacts: {', '.join(names) or 'none'}")
    lines.append(f"References: {', '.join(data['references']) or 'none'}")
    lines.append(f"Formulations that fit: {', '.join(data['formulations']) or 'none'}")
    lines.append(f"Sketch: {data['sketch'] or 'none'}")
    if data["errata"]:
        lines.append(f"Errata of the source, each with a computation that shows it: {data['errata']}")
    return [*lines, f"End and step, if not given: t = {data['t_end']:g} s, dt = {data['dt']:g} s"]


# -- small examples, which show what formulations make and solvers accept --------------------------------------

SMOOTH: dict[str, Any] = {"M": [[1.0, 0.0], [0.0, 1.0]], "Q": [0.0, -9.81], "v": [1.0, 0.0], "dt": 1e-3}
CONTACT: dict[str, Any] = {"J_N": [[0.0, 1.0]], "zeta_N": [0.0], "J_T": [[[1.0, 0.0]]], "zeta_T": [[0.0]]}
ROW: dict[str, Any] = {"J": [[0.6, 0.8]], "gamma": [-1.0]}
SPACE: dict[str, Any] = {
    "M": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "Q": [0.0, 0.0, -9.81], "v": [0.0, 0.0, 0.0], "dt": 1e-3,
    "J_N": [[0.0, 0.0, 1.0]], "zeta_N": [0.0], "J_T": [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], "zeta_T": [[0.0, 0.0]],
    "mu": [0.3], "v_T": [[0.0, 0.0]],
}  # fmt: skip
STEPS: dict[str, dict[str, Any]] = {
    "equality rows": {**SMOOTH, **ROW},
    "equality rows and quasi-velocities": {**SMOOTH, **ROW, "D_omega": [[0.8], [-0.6]], "w_omega": [-0.6, -0.8]},
    "a singular mass matrix": {**SMOOTH, "M": [[1.0, 0.0], [0.0, 0.0]], "J": [[0.0, 1.0]], "gamma": [0.0]},
    "no rows and no contacts": SMOOTH,
    "a contact without friction": {**SMOOTH, **CONTACT, "mu": [0.0], "v_T": [[1.0]]},
    "a contact that slides with friction": {**SMOOTH, **CONTACT, "mu": [0.3], "v_T": [[1.0]]},
    "a contact with friction at rest": {**SMOOTH, **CONTACT, "mu": [0.3], "v_T": [[0.0]], "v": [0.0, 0.0]},
    "a contact in space with friction at rest": SPACE,
}
"""The smallest step of each kind."""
SPARSE = "sparse matrices"

EXAMPLES = {
    "quadratic programs with equality rows": ("gauss", "equality rows"),
    "quadratic programs with inequalities": ("gauss", "a contact without friction"),
    "quadratic programs with sparse matrices": ("gauss", SPARSE),
    "systems of linear equations": ("lagrange", "equality rows"),
    "least-squares problems": ("least-squares", "equality rows"),
    "linear complementarity problems": ("lcp", "a contact that slides with friction"),
}
"""For each kind of program, a formulation and steps from which the formulation makes a program of this kind."""
CONTACTS, CONES = "contacts with friction cones", "cone programs of contacts"
IDENTITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def _examples() -> Iterator[tuple[str, Program]]:
    """Yield a small program of each kind."""
    import numpy as np

    from gaussopt.core.cone_complementarity import ConeComplementarity
    from gaussopt.core.cone_program import ConeProgram
    from gaussopt.solving.defaults import formulate

    for kind, (formulation, step) in EXAMPLES.items():
        yield kind, formulate(_step(step), formulation)
    yield CONES, ConeProgram(np.eye(3), np.array([-1.0, 2.0, 0.0]), np.array([0.5]))
    yield CONTACTS, ConeComplementarity.from_mapping({"W": IDENTITY, "q": [-1.0, 2.0, 0.0], "mu": [0.5]})


def _step(kind: str) -> StepData:
    from scipy import sparse

    from gaussopt.core.step_data import StepData

    if kind != SPARSE:
        return StepData.from_mapping(STEPS[kind])
    rows = {key: sparse.csr_array(value) for key, value in (("M", SMOOTH["M"]), ("J", ROW["J"]))}
    return StepData.from_mapping({"Q": SMOOTH["Q"], "gamma": ROW["gamma"], **rows})


def _formulation(entry: Any) -> Known:
    from gaussopt.kinds import page_of
    from gaussopt.solving.defaults import formulate

    made: dict[str, str] = {}
    titles: dict[str, str] = {}
    refused: dict[str, str] = {}
    solvers: dict[str, None] = {}
    for kind in (*STEPS, SPARSE):
        try:
            program = formulate(_step(kind), entry.name)
        except (NotAccepted, IllPosed, BadInput) as error:
            refused[kind] = _reason(error)
        else:
            made[kind], titles[kind] = type(program).__name__, page_of(program).title
            solvers |= dict.fromkeys(_takers(program))
    data = {"exact": entry.exact, "level": entry.level, "state": entry.state, "makes": made, "refuses": refused,
            "solvers": list(solvers)}  # fmt: skip
    exact = "yes" if entry.exact else "no; it is a formula of its source, reproduced as it is"
    lines = [
        f"Its solution is the mechanics' answer: {exact}",
        f"It solves at the level of: {'velocities' if entry.level == 'velocity' else 'accelerations'}",
        "What it makes of a step with", *_columns(titles.items()),
        *(["What it refuses: a step with", *_refusals(refused)] if refused else []),
        f"Installed solvers that take its programs: {', '.join(solvers) or 'none'}",
    ]  # fmt: skip
    what = "solve STEP.json" if entry.level == "velocity" else "run PROBLEM"
    return Known(data, lines, f"{what} --formulation {entry.name}")


def _refusals(refused: dict[str, str]) -> list[str]:
    """Return lines that state each reason for a refusal once, after the kinds that are refused for this reason."""
    from gaussopt.core.display import gathered

    found = gathered(refused, refused.__getitem__)
    return [line for reason, kinds in found.items() for line in (f"  {', '.join(kinds)}:", f"    {reason}")]


def _reason(error: Exception) -> str:
    """Return the reason in an error message, without the name of the formulation or solver that refuses."""
    text = str(error).rstrip(".")
    before, colon, after = text.partition(": ")
    return after if colon and before.startswith("The ") and " does not " in before else text


def _takers(program: Program) -> list[str]:
    """Return the installed solvers that accept a program."""
    from gaussopt.comparison.pairing import installed_solvers
    from gaussopt.core.solver import make_solver

    found = []
    for name in installed_solvers():
        try:
            make_solver(name).check(program)
        except NotAccepted:
            continue
        found.append(name)
    return found


def _solver(entry: Any) -> Known:
    from gaussopt.core.solver import make_solver, missing_packages

    missing = missing_packages(entry)
    takes, refused = [], {}
    for kind, program in _examples():
        try:  # if packages are missing, the solver cannot be created; check the attributes of its class only
            make_solver(entry.name).check(program) if not missing else _declared(entry, program)
        except NotAccepted as error:
            if isinstance(program, entry.accepts):  # `accepts` already excludes other kinds
                refused[kind] = _reason(error)
        else:
            takes.append(kind)
    options = {f.name: getattr(entry.options_type(), f.name) for f in fields(entry.options_type)}
    variants = [] if missing else list(entry.variants())
    where = f"gaussopt[{entry.extra}]" if entry.extra else " ".join(missing)
    data = {
        "available": not missing, "missing": missing, "accepts": [t.__name__ for t in entry.accepts],
        "takes": takes, "refuses": refused, "exact": entry.exact, "stochastic": entry.stochastic,
        "updates": entry.updates, "warm_starts": entry.warm_starts, "variants": variants,
        "options": options, "meaning": _meaning(entry.options_type),
    }  # fmt: skip
    yes = ("no", "yes")
    lines = [
        f"Installed: no; pip install '{where}'" if missing else "Installed: yes",
        f"Takes: {', '.join(takes) or 'none of the examples'}",
        *(["Refuses:", *_refusals(refused)] if refused else []),
        f"Exact to rounding on well-posed programs: {yes[entry.exact]}; searches at random: {yes[entry.stochastic]}; "
        f"reuses its set-up: {yes[entry.updates]}; uses a start: {yes[entry.warm_starts]}",
        *([f"Variants, chosen as {entry.name}:VARIANT: {', '.join(variants)}"] if variants else []),
    ]
    if options:
        lines += ["Options with their defaults, changed by --solver-option NAME=VALUE:", *_columns(options.items())]
        lines += [f"  {data['meaning']}"] * bool(data["meaning"])
    use = "solve CONTACTS.json" if takes in ([CONTACTS], [CONES]) else "run PROBLEM"
    return Known(data, lines, f"{use} --solver {entry.name}")


def _declared(entry: Any, program: Program) -> None:
    """Raise NotAccepted if the class attributes of a solver show that it does not take a program."""
    fits = entry.sparse if getattr(program, "sparse", False) else entry.dense
    if not (fits and isinstance(program, entry.accepts)):
        raise NotAccepted(f"it takes {', '.join(t.__name__ for t in entry.accepts)}")


def _meaning(options: type) -> str:
    """Return the docstrings of a class of options and its base classes as one text."""
    own = (c for c in reversed(options.__mro__[:-2]) if c.__doc__ and not c.__doc__.startswith(f"{c.__name__}("))
    return " ".join(" ".join(str(c.__doc__).split()) for c in own).replace("`", "")


# -- steppers and families ---------------------------------------------------------------------------------


def _stepper(entry: Any) -> Known:
    pair = entry.pair and {"formulation": entry.pair[0], "solver": entry.pair[1]}
    data = {"order": entry.order, "stages": entry.stages, "adaptive": entry.adaptive, "pair": pair}
    step = "chosen from --rtol and --atol; --dt is the recording interval" if entry.adaptive else "constant, --dt"
    lines = [f"Order: {entry.order}", f"Length of a step: {step}"]
    lines += [] if entry.adaptive else [f"Programs solved in a step: {entry.stages}"]
    if entry.pair:
        lines.append(f"If none are named it uses: the formulation {entry.pair[0]} with the solver {entry.pair[1]}")
    return Known(data, lines, f"run PROBLEM --stepper {entry.name}")


def _family(entry: Any) -> Known:
    from gaussopt.modelling.family import sweep_values

    dials = [{**asdict(d), "sweep": sweep_values(d, d.low, d.high)} for d in entry.dials]
    rows = (
        (d["name"], f"{d['low']:g} to {d['high']:g}{'' if d['unit'] == '1' else ' ' + d['unit']}",
         f"{d['default']:g} if not set", d["meaning"])
        for d in dials
    )  # fmt: skip
    lines = ["Dials, set by --dial NAME=VALUE and swept by --dial NAME=LOW:HIGH:", *_columns(rows)]
    first = entry.dials[0]
    sweep = f"--dial {first.name}={first.low:g}:{first.high:g}"
    return Known({"dials": dials}, lines, f"compare --family {entry.name} {sweep} --out DIR")


ABOUT: dict[str, Callable[[Any], Known]] = {
    "formulation": _formulation, "solver": _solver, "stepper": _stepper, "family": _family,
}  # fmt: skip
