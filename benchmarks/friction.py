"""Contacts with friction cones against what was aimed at: correctness, proofs, speed and size, row by row.

    python benchmarks/friction.py [--cases FILE] [--files FOLDER] [--quick] [--reach] [--out docs/performance.md]

`--cases` are certified cases as JSON (tests/data/contact_cases.json.gz if not given), `--files` a folder of files of
other codes, `--reach` measures the thirty problems of `friction_reach.py` only, which have a section of their own.
`--out` replaces the sections of a page, or appends them. Times are the least of several; read them on a quiet machine.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib.util
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import friction_reach  # noqa: E402
import numpy as np  # noqa: E402
from friction_reach import RESTING  # noqa: E402
from measuring import machine, versions  # noqa: E402

import gaussopt as go  # noqa: E402
from gaussopt.certificates.cone_bounds import global_bound, local_bound  # noqa: E402
from gaussopt.cone.monotonicity import monotonicity  # noqa: E402
from gaussopt.cone.sweeps import Sweeps  # noqa: E402
from gaussopt.core import registry  # noqa: E402
from gaussopt.core.cone_program import ConeProgram  # noqa: E402
from gaussopt.core.solver import make_solver, missing_packages  # noqa: E402
from gaussopt.linalg.cones import natural_map, residual, rows_of, steps_of  # noqa: E402
from gaussopt.modelling.contact_piles import sphere_pile  # noqa: E402
from gaussopt.solvers._conic import fixed_point  # noqa: E402
from gaussopt.solvers.hybrid import NEAR  # noqa: E402
from gaussopt.solving.contact_sequence import ContactSequence  # noqa: E402

CASES = Path(__file__).parents[1] / "tests" / "data" / "contact_cases.json.gz"
HEADING, REACH = "## Contacts with friction cones", "## Thirty problems of contacts"
MADE = (
    "Made by `python benchmarks/friction.py`; piles are pyramids of spheres, times the least processor time of several."
    " What falls short stands with what was measured of it."
)
REACHED = (
    "Made by `python benchmarks/friction.py --reach`: a fixed list of piles of "
    "spheres, walls of boxes and random contacts (`benchmarks/friction_reach.py`), each solved once by `hybrid`, in "
    "processor time. Velocities tell whether a pile that starts from rest stays at rest. What falls short stands with "
    "what was measured of it."
)
MOVING, REST = {"mu": 0.4, "speed": 0.5}, {"mu": 0.8}
FROZEN_ROWS = 6_000
"""Largest number of rows of problems for which cone programs in turn are tried."""
KERNEL = {16: 72.0, 108: 92.0, 968: 201.0}
"""Nanoseconds per contact and sweep of a hand-written C kernel on piles of another making, by contacts."""

LIMIT = 20.0
"""Seconds that each of the other solvers gets."""

RELAXATIONS = ("coulomb-ccp", "aclm", "tresca", "panagiotopoulos", "coulomb-pyramid:4", "coulomb-pyramid:16")

MORE = 500
"""Sweeps that tell how fast an answer that is not good enough still gets better."""

FROZEN = 5, 20
"""Cone programs in turn that tell whether their fixed point attracts."""

WANDER = 0.01
"""Share of contacts that still change their mode, and that hold the error, above which sweeps are said to wander."""


class Row(NamedTuple):
    """What was aimed at and what was found; `met` None where it was not measured."""

    what: str
    goal: str
    found: str
    met: bool | None
    remark: str = ""


def least(run: Callable[[], object], repeats: int) -> float:
    """Seconds of processor time of the quickest call; of several, the first is not counted."""
    if repeats > 1:
        run()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def known(path: Path) -> list[tuple[dict[str, Any], go.ConeComplementarity]]:
    """The certified cases."""
    with gzip.open(path) as file:
        return [(case, go.ConeComplementarity.from_mapping(case)) for case in json.load(file)["cases"]]


def correctness(cases: Sequence[Any], files: Path | None) -> Iterator[Row]:
    """Residuals of hybrid, claims on unsolvable cases, several solutions."""
    errors, several, both, unique = [], 0, 0, 0
    for case, problem in cases:
        if case["expected_status"] not in ("solved", "multiple_solutions"):
            continue
        found = go.solve(problem, "hybrid")
        errors.append(found.certificate["residual"])
        if case["expected_status"] == "multiple_solutions":
            several, both = several + 1, both + (len(found.solutions) > 1)
            unique += found.certificate["velocity_unique"] is True
    own = len(errors)
    for file in sorted(files.iterdir()) if files else ():
        if file.suffix in (".hdf5", ".dat", ".npz"):
            given = go.read_problem(file)
            local = given.local if isinstance(given, go.GlobalContacts) else given
            errors.append(go.solve(local, "hybrid").certificate["residual"])
    remark = f"{own} certified cases, {len(errors) - own} files of other codes"
    most, share = max(errors), float(np.mean(np.array(errors) <= 1e-12))
    goal = "each at most 1e-8, 90 % at most 1e-12"
    found = f"at most {most:.1e}; {100 * share:.0f} % of {len(errors)} at most 1e-12"
    yield Row("`hybrid`: natural map over the norm of q", goal, found, most <= 1e-8 and share >= 0.9, remark)
    wrong, told, asked = 0, 0, 0
    for case, problem in cases:
        if case["expected_status"] in ("no_solution", "infeasible"):
            for said in answers(problem):
                asked, wrong = asked + 1, wrong + (said.status is go.Status.SOLVED)
                told += "margin of existence" in said.message or "farkas_ray" in said.message
    yield Row("unsolvable cases called solved, any solver and relaxation", "0, margin or ray in the message",
              f"{wrong} of {asked} answers, {told} tell margin or ray", wrong == 0 and told == asked)  # fmt: skip
    yield Row("cases with several solutions of which at least two are found", "half, never called unique",
              f"{both} of {several}, {unique} called unique", 2 * both >= several and not unique)  # fmt: skip


def answers(problem: go.ConeComplementarity) -> Iterator[go.Solution]:
    """What every solver of the law, and the relaxations by their solvers, say of a problem that they accept."""
    for name in registry.names("solver"):
        entry = registry.load("solver", name)
        if go.ConeComplementarity in entry.accepts and not missing_packages(entry):
            with contextlib.suppress(go.NotAccepted):
                yield go.solve(problem, name)
    for formulation, name in itertools.product(RELAXATIONS, ("clarabel", "scs", "lemke")):
        with contextlib.suppress(go.NotAccepted):
            yield ContactSequence(formulation, name).solve(problem)


def bounds(cases: Sequence[Any], count: int) -> Row:
    """Proved bounds against true errors of perturbed answers."""
    random, numbers, wrong, done = np.random.default_rng(18), 0, 0, 0
    chosen = [(c, p) for c, p in cases if c["expected_status"] in ("solved", "multiple_solutions")]
    for case, problem in chosen:
        truths = [np.array(r) for r in [case["r"], *case.get("solutions", [])]]
        modulus, reference = monotonicity(problem), local_bound(problem, truths[0])
        slack = reference.velocity if reference else 0.0
        for _ in range(-(-count // len(chosen))):
            size = 10.0 ** random.uniform(-15, 0) * (np.abs(truths[0]).max() or 1.0)
            r = truths[0] + size * random.normal(size=problem.n)
            error = min(float(np.linalg.norm(problem.W @ (r - x))) for x in truths)
            done += 1
            for bound in (global_bound(problem, r, modulus), local_bound(problem, r)):
                if bound is not None:
                    numbers, wrong = numbers + 1, wrong + (error > bound.velocity + slack)
    return Row("bound against true error of perturbed answers", "never violated",
               f"{wrong} violations of {numbers} bounds, {done} answers", wrong == 0)  # fmt: skip


def kernel() -> Iterator[Row]:
    """Nanoseconds per contact and sweep."""
    for contacts, wanted in KERNEL.items():
        problem, sweeps = (given := sphere_pile(contacts, **MOVING).local), 20_000 // contacts
        own = Sweeps(problem)

        def run(own: Sweeps = own, sweeps: int = sweeps) -> None:
            own.r[:] = 0.0
            own.run(sweeps)

        found = 1e9 * least(run, 40) / sweeps / contacts
        rows = len(own.blocks.column) / contacts + 1
        yield Row(f"sweep kernel, {contacts} contacts, ns per contact and sweep", f"at most {1.3 * wanted:.0f}",
                  f"{found:.0f}", found <= 1.3 * wanted,
                  f"{rows:.0f} blocks a row; {'by factors' if given.sparse else 'by blocks'}")  # fmt: skip


def solved(
    contacts: int, tolerance: float, goal: float, state: dict[str, float], repeats: int, by: str = "hybrid", **more: Any
) -> Row:
    """Seconds of `go.solve` to a tolerance."""
    problem, found = sphere_pile(contacts, **state).local, []
    options = {"tolerance": tolerance, **more}
    seconds = least(
        lambda: found.append(go.solve(problem, by, tolerance=max(tolerance, 1e-7), solver_options=options)),
        repeats,
    )
    error = residual(problem, found[-1].x)
    # A pile that cannot stay, because no static forces balance it, begins to slide when it is let go.
    moves = np.abs(problem.u(found[-1].x)).max() > RESTING * np.linalg.norm(problem.q)
    how = "in motion" if state.get("speed") else f"{'let go' if moves else 'at rest'}, mu {state['mu']:g}"
    found_in = f"{error:.1e} in {seconds:.3g} s"
    met = error <= tolerance and seconds <= goal
    remark = "" if met else measured_cause(problem, found[-1].x, error > tolerance)
    return Row(f"{contacts} contacts {how}, to {tolerance:.0e}, by {by}", f"at most {goal:g} s", found_in, met, remark)


def measured_cause(problem: go.ConeComplementarity, r: Any, inaccurate: bool) -> str:
    """What a measurement tells of an answer that is inaccurate, or late."""
    if inaccurate:
        own, before = Sweeps(problem), residual(problem, r)
        own.r[:] = r
        own.run(MORE // 2)
        seen = modes(problem, own.r)
        own.run(MORE // 2)
        changed = float(np.mean(modes(problem, own.r) != seen))
        parts = np.linalg.norm(rows_of(natural_map(problem, own.r, steps_of(problem.W))), axis=1)
        order = np.sort(parts**2)[::-1].cumsum()
        holding = (1 + np.searchsorted(order, 0.9 * order[-1])) / problem.k
        wander = changed > WANDER and holding > WANDER
        return (
            f"{MORE} more sweeps of `nsgs` multiply the natural map by {residual(problem, own.r) / before:.3g}; "
            f"{100 * changed:.1f} % of the contacts change between open, stick and slip in their second half, and "
            f"{100 * holding:.0f} % of the contacts hold 90 % of its square: "
            + ("sweeps wander in all of the pile" if wander else "few contacts are left")
            + (frozen(problem) if problem.n <= FROZEN_ROWS else "")
        )
    program, clarabel = ConeProgram(problem.symmetric_part, problem.q, problem.mu), make_solver("clarabel")

    def alone() -> Any:
        clarabel.setup(program)
        return clarabel.solve(None).x

    error = residual(problem, alone())
    told = f"one cone program alone takes clarabel {least(alone, 5):.2g} s and leaves the natural map at {error:.1e}"
    return told + ("" if error <= NEAR else ", too far: sweeps have to follow")


def frozen(problem: go.ConeComplementarity) -> str:
    """How far cone programs lead whose shift mu |u_T| is frozen at the slip of the last one."""
    found = [fixed_point(problem, count) for count in FROZEN]
    if any(r is None for r in found):
        return "; cone programs with frozen slip have no answer"
    first, last = (residual(problem, r) for r in found if r is not None)
    told = f"; {FROZEN[0]} cone programs with frozen slip leave {first:.1e}, {FROZEN[1]} leave {last:.1e}"
    return told + (": they do not converge either" if last > 0.1 * first else "")


def modes(problem: go.ConeComplementarity, r: Any) -> Any:
    """Open, 0, stick, 1, or slip, 2, of each contact, (k,)."""
    normal, tangent = rows_of(r)[:, 0], np.linalg.norm(rows_of(r)[:, 1:], axis=1)
    return np.where(normal <= 0.0, 0, np.where(tangent < (1.0 - 1e-9) * problem.mu * normal, 1, 2))


def overhead() -> Row:
    """What a call takes beyond the solver."""
    problem = sphere_pile(16, **MOVING).local

    def alone() -> None:
        solver = make_solver("hybrid")
        solver.setup(problem)
        solver.solve(None)

    extra = 1e3 * (least(lambda: go.solve(problem, "hybrid"), 30) - least(alone, 30))
    return Row("`go.solve` at 16 contacts beyond the solver itself", "at most 1 ms", f"{extra:.2f} ms", extra <= 1.0)


def memory() -> Row:
    """How the bytes of problem and sweeps grow."""
    sizes, bytes_ = (2_500, 5_000, 10_000), []
    for contacts in sizes:
        own = Sweeps(sphere_pile(contacts).local)
        bytes_.append(own.nbytes)
    power = float(np.polyfit(np.log(sizes), np.log(bytes_), 1)[0])
    return Row("memory of the sweeps from 2500 to 10000 contacts", "linear",
               f"{bytes_[-1] / 1e6:.0f} MB at 10000, power {power:.2f}", power < 1.1)  # fmt: skip


def others() -> Iterator[Row]:
    """The convex relaxation of a pile by other solvers; its answers violate Coulomb's law, whoever computes them."""
    for name in ("clarabel", "scs", "apgd", "cvxpy"):
        found = within(LIMIT, relaxed, name)
        yield Row(f"`coulomb-ccp` by {name}, 100 contacts in motion", "", *found)


def relaxed(name: str) -> tuple[str, None, str]:
    """Time and natural map of the convex relaxation by a solver."""
    sequence, problem = ContactSequence("coulomb-ccp", name), sphere_pile(100, **MOVING).local
    seconds = least(lambda: sequence.solve(problem), 2)
    error = sequence.solve(problem).certificate["residual"]
    return f"{seconds:.3g} s", None, f"natural map of Coulomb's law {error:.1e}"


def within(limit: float, run: Callable[..., tuple[str, None, str]], *arguments: Any) -> tuple[str, None, str]:
    """What a function finds in a process of its own, which ends at the limit in seconds."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        asked = pool.submit(run, *arguments)
        try:
            return asked.result(limit)
        except TimeoutError:
            for process in active_children():
                process.terminate()
            return f"not within {limit:g} s", None, ""
        except go.GaussoptError as error:
            return "no answer", None, str(error)


def beside_mujoco() -> Iterator[Row]:
    """One step of a pyramid by MuJoCo and by us, and how far a held capsule sinks."""
    held = "capsule held between finger and wall, sunk after 60 s"
    motion = go.simulate("pinched-capsule", stepper="moreau-jean", error_estimate=False)
    yield Row(f"{held}, by gaussopt (moreau-jean)", "at most 1e-9", f"{abs(motion.q[-1, 2] - motion.q[0, 2]):.1e} m",
              bool(np.abs(motion.q - motion.q[0]).max() <= 1e-9), "largest change of any coordinate "
              f"{np.abs(motion.q - motion.q[0]).max():.1e}")  # fmt: skip
    if importlib.util.find_spec("mujoco") is None:
        yield Row("the same, and a step of a pyramid, by MuJoCo", "", "not installed", None, "pip install mujoco")
        return
    from rivals import mujoco_friction

    for words, impratio, noslip in (("own settings", 1, 0), ("impratio 10", 10, 0), ("impratio 10, noslip 10", 10, 10)):
        sunk = mujoco_friction.creep(60.0, 2e-3, impratio, noslip)
        yield Row(f"{held}, by MuJoCo, {words}", "", f"{sunk:.1e} m", None, "measured from 1 s on")
    for impratio in (1.0, 10.0):
        step = mujoco_friction.pyramid(4, 0.8, 2e-3, 50, impratio)
        what = f"a step of a pyramid of spheres ({step.problem.k} contacts), by"
        theirs, ours = least(step.again, 5), least(lambda p=step.problem: go.solve(p, "hybrid"), 2)  # type: ignore[misc]
        exact = go.solve(step.problem, "hybrid").certificate["residual"]
        told = f"natural map of Coulomb's law {residual(step.problem, step.r):.1e}; contacts are found in this time too"
        yield Row(f"{what} MuJoCo, impratio {impratio:g}", "", f"{theirs:.2g} s", None, told)
        yield Row(f"{what} hybrid", "", f"{ours:.2g} s", None, f"natural map of Coulomb's law {exact:.1e}")


def table(heading: str, made: str, rows: Sequence[Row]) -> str:
    """A section as Markdown."""
    lines = [heading, "", made, "", "| what | goal | measured | met | remark |", "|---|---|---|---|---|"]
    words = {True: "yes", False: "no", None: ""}
    lines += [f"| {row.what} | {row.goal} | {row.found} | {words[row.met]} | {row.remark} |" for row in rows]
    names = ("gaussopt", "numpy", "scipy", "llvmlite", "clarabel", "scs", "mujoco")
    found = ", ".join(f"{name} {version}" for name, version in versions(names).items())
    return "\n".join([*lines, "", f"{machine()}. {found}.", ""])


def write(path: Path, heading: str, text: str) -> None:
    """Replace a section of a page, or append it."""
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    before, _, after = page.partition(f"{heading}\n")
    rest = after[after.find("\n## ") + 1 :] if "\n## " in after else ""
    path.write_text(f"{before.rstrip()}\n\n{text}{chr(10) + rest if rest else ''}", encoding="utf-8")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--files", type=Path)
    parser.add_argument("--quick", action="store_true", help="fewer answers and no piles of more than 1000 contacts")
    parser.add_argument("--reach", action="store_true", help="the thirty problems only")
    parser.add_argument("--out", type=Path, help="Markdown page")
    arguments = parser.parse_args()
    sections = [(REACH, REACHED, reach())]
    if not arguments.reach:
        sections[:0] = [(HEADING, MADE, every(arguments))]
    for heading, made, found in sections if not arguments.quick else sections[:1]:
        rows = []
        for row in found:
            rows.append(row)
            print(" | ".join(str(part) for part in row), flush=True)
        text = table(heading, made, rows)
        print(text)
        if arguments.out:
            write(arguments.out, heading, text)


def reach() -> Iterator[Row]:
    """The thirty problems."""
    return (Row(*row) for row in friction_reach.rows(measured_cause))


def every(arguments: argparse.Namespace) -> Iterator[Row]:
    """All other rows."""
    cases, quick = known(arguments.cases), arguments.quick
    yield from correctness(cases, arguments.files)
    yield bounds(cases, 500 if quick else 10_000)
    yield from kernel()
    yield overhead()
    yield from (solved(100, 1e-8, 0.01, state, 7) for state in (MOVING, REST, {"mu": 0.4}))
    yield solved(1000, 1e-8, 3.0, MOVING, 2)
    yield solved(1000, 1e-8, 60.0, REST, 1)
    if not quick:
        yield solved(1000, 1e-8, 60.0, {"mu": 0.4}, 1, "nsgs", max_iter=200_000)
        yield solved(10_000, 1e-4, 30.0, MOVING, 1)
        yield solved(10_000, 1e-4, 30.0, REST, 1)
        yield memory()
    yield from others()
    yield from beside_mujoco()
    if importlib.util.find_spec("mujoco") is not None:
        import piles

        yield from (Row(*row) for row in piles.rows())


if __name__ == "__main__":
    main()
