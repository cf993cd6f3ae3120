"""Which of thirty contact problems `hybrid` solves to 1e-8 within 45 s of processor time, and what it takes.

    PYTHONPATH=. python benchmarks/friction_reach.py [--only WORD]

`benchmarks/friction.py` prints the same rows and writes them to a page. The problems are a fixed list: piles of
spheres, walls of boxes and random contacts of `gaussopt.modelling.contact_piles`, with seed 1. Siconos' solvers PROX
and NSGS stand beside where the package `siconos` is installed. Every problem is solved in a process of its own, and
every answer is judged by the natural map relative to |q|, whatever the solver claims.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import active_children, get_context
from typing import Any, NamedTuple

import numpy as np

from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.solver import make_solver
from gaussopt.linalg.cones import residual
from gaussopt.modelling.contact_piles import box_wall, random_contacts, sphere_pile

TOLERANCE, SECONDS, ENDED = 1e-8, 45.0, 400.0
"""Natural map that counts as reached, limit in processor time, and wall time after which a process is ended."""

WANTED = 29
"""Number of problems that are to be reached."""

RESTING = 1e-9
"""Largest velocity of a pile at rest, relative to |q|; answers with such velocities are static equilibria."""

Built = Callable[[], Any]


class Found(NamedTuple):
    """Natural map, processor time in seconds and impulses of an answer; without impulses if there was none in time."""

    error: float
    seconds: float
    r: Any

    def told(self, problem: ConeComplementarity) -> str:
        """Return what was found in words; a pile is at rest if the answer is a static equilibrium."""
        if self.r is None:
            return f"no answer within {ENDED:g} s"
        rests = np.abs(problem.u(self.r)).max() <= RESTING * np.linalg.norm(problem.q)
        return f"{self.error:.1e} in {self.seconds:.3g} s, {'at rest' if rests else 'in motion'}"


def problems() -> Iterator[tuple[str, Built, float]]:
    """Yield names, builders and goals in seconds of the thirty problems."""
    moving, slips = partial(sphere_pile, mu=0.4, speed=0.5), partial(sphere_pile, mu=0.4)
    wall = partial(box_wall, mu=0.5)
    for k, goal in ((100, SECONDS), (1000, SECONDS), (3000, SECONDS), (10_000, 20.0)):
        yield f"moving spheres, {k} contacts", partial(moving, k), goal
    for k in (100, 1000, 3000, 10_000):
        yield f"spheres from rest, mu 0.8, {k} contacts", partial(sphere_pile, k), SECONDS
    for k, goal in ((100, SECONDS), (300, SECONDS), (1000, 60.0)):
        yield f"spheres from rest, mu 0.4, {k} contacts", partial(slips, k), goal
    yield "spheres from rest, mu 0.8, mass ratio 1000, 300 contacts", partial(sphere_pile, 300, mass_ratio=1e3), SECONDS
    yield "moving spheres, mass ratio 1000, 300 contacts", partial(moving, 300, mass_ratio=1e3), SECONDS
    for k, goal in ((100, SECONDS), (300, SECONDS), (1000, 1.0), (3000, 20.0)):
        yield f"moving wall, {k} contacts", partial(wall, k, speed=0.5), goal
    for k, goal in ((100, SECONDS), (1000, SECONDS), (3000, SECONDS), (10_000, 2.0)):
        yield f"wall from rest, {k} contacts", partial(wall, k), goal
    yield "wall from rest, mass ratio 100, 300 contacts", partial(wall, 300, mass_ratio=100.0), SECONDS
    yield "moving wall, mass ratio 100, 300 contacts", partial(wall, 300, mass_ratio=100.0, speed=0.5), SECONDS
    yield "moving wall, mu 0.1, 300 contacts", partial(box_wall, 300, mu=0.1, speed=0.5), SECONDS
    for k in (100, 1000, 3000):
        yield f"random contacts, {k}", partial(random_contacts, k), SECONDS
    for k in (100, 1000):
        yield f"random contacts, {k}, rank less by {k // 2}", partial(random_contacts, k, deficiency=k // 2), SECONDS
    yield "random contacts, mu 1, 300", partial(random_contacts, 300, mu=1.0), SECONDS


def by_hybrid(build: Built) -> Found:
    """Solve a problem by `hybrid`."""
    problem = build().local
    begin = time.process_time()
    solver = make_solver("hybrid", {"tolerance": TOLERANCE})
    solver.setup(problem)
    r = solver.solve(None).x
    return Found(residual(problem, r), time.process_time() - begin, r)


def by_siconos(build: Built, name: str) -> Found:
    """Solve a problem by a solver of Siconos, such as PROX."""
    import siconos.numerics as sn

    problem = build().local
    W = problem.W if isinstance(problem.W, np.ndarray) else problem.W.tocsr()
    given, r = sn.FrictionContactProblem(3, W, problem.q, problem.mu), np.zeros(problem.n)
    options = sn.SolverOptions(getattr(sn, f"SICONOS_FRICTION_3D_{name}"))
    options.dparam[sn.SICONOS_DPARAM_TOL] = TOLERANCE
    begin = time.process_time()
    sn.fc3d_driver(given, r, np.zeros(problem.n), options)
    return Found(residual(problem, r), time.process_time() - begin, r)


def apart(run: Callable[..., Found], *arguments: Any) -> Found:
    """Return what a function finds in a process of its own, which is ended after ENDED seconds."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        asked = pool.submit(run, *arguments)
        try:
            return asked.result(ENDED)
        except TimeoutError:
            for process in active_children():
                process.terminate()
            return Found(np.inf, ENDED, None)


def rows(cause: Callable[[Any, Any, bool], str], only: str = "") -> Iterator[tuple[str, str, str, bool | None, str]]:
    """Yield the rows of a table; `cause` tells why an answer is late or inaccurate, from problem and impulses."""
    reached, count, siconos = 0, 0, importlib.util.find_spec("siconos") is not None
    for name, build, goal in problems():
        if only not in name:
            continue
        found = apart(by_hybrid, build)
        count, met = count + 1, found.error <= TOLERANCE and found.seconds <= goal
        reached += found.error <= TOLERANCE and found.seconds <= SECONDS
        problem = build().local
        remark = "" if met or found.r is None else cause(problem, found.r, not found.error <= TOLERANCE)
        yield name, f"{TOLERANCE:.0e} in {goal:g} s", found.told(problem), met, remark
        for other in ("PROX", "NSGS") if siconos else ():
            yield f"{name}, by Siconos {other}", "", apart(by_siconos, build, other).told(problem), None, ""
    if not only:
        yield (f"of these problems reached to {TOLERANCE:.0e} within {SECONDS:g} s by hybrid", f"{WANTED} of {count}",
               f"{reached} of {count}", reached >= WANTED, "" if siconos else "Siconos is not installed")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="problems whose name contains this word")
    for row in rows(lambda problem, r, inaccurate: "", parser.parse_args().only):
        print(" | ".join(str(part) for part in row), flush=True)
