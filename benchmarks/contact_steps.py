"""Contact steps: the compiled kernel, the same kernel in plain Python, DAQP and Lemke's method, by number of contacts.

Medians of interleaved turns over the same sequences, microseconds a step. A step is everything from the arrays of an
instant (M, Q - h, J_N, zeta_N of frictionless contacts; DAQP takes no others) to a and lam_N: factors of M, contact
forces, acceleration. Sequences: boxes in a stack, at rest, all contacts pressing; bodies in a row whose feet press and
lift in turn. Warm starts from the contacts that pressed at the step before, cold ones from none. DAQP is given the
primal Gauss program; its numbers are wall time through its Python interface and what its C code reports of itself,
set-up (which factorises M) and solution. The kernel's are those of a loop that is compiled too, as in a compiled
motion, of single calls from Python, and of the same source uncompiled.

    python benchmarks/contact_steps.py [--rounds 60] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from gaussopt.contact.operator import ContactOperator  # noqa: E402
from gaussopt.contact_kernel import Workspace, contact_step, workspace  # noqa: E402
from gaussopt.core import registry  # noqa: E402
from gaussopt.core.step_data import Matrix, Vector  # noqa: E402
from gaussopt.jit.kernel import COMPILED, kernel  # noqa: E402
from gaussopt.lcp.pivoting import Active  # noqa: E402
from gaussopt.solvers.lemke import lemke  # noqa: E402

CONTACTS = (1, 2, 4, 8, 16)
SEQUENCES = (("box-stack", {"friction": 0.0}), ("sliding-row", {"friction": 0.0, "joints": 0}))
STEPS = 20
"""Of a sequence: so few that its arrays stay in the processor's cache, as those of a motion do."""

TURNS = 5
"""Times that a compiled loop goes through the sequence in one call."""

SLOW = 10
"""Steps of a turn of the slow rivals."""

INFINITE = 1e30


@kernel
def run(
    M: Matrix, force: Matrix, J: Matrix, gamma: Matrix, R: Matrix, zeta: Matrix, active: Active, z: Vector, a: Vector,
    lam: Vector, w: Vector, space: Workspace, warm: bool, turns: int,
) -> tuple[int, float]:  # fmt: skip
    """A sequence, its matrices one below the other, so many times in a compiled loop.

    Returns
    -------
    failed, total
        How many of its steps are not solved; the acceleration summed.
    """
    failed, total = 0, 0.0
    steps, n = force.shape
    m, k = len(lam), len(z)
    for turn in range(turns * steps):
        s = turn % steps
        if not warm:
            for c in range(k):
                active[c] = 0
        rows = R[s * k : (s + 1) * k]
        code = contact_step(
            M[s * n : (s + 1) * n], force[s], J[s * m : (s + 1) * m], gamma[s], rows, rows, zeta[s], active, z, a, lam,
            w, space,
        )  # fmt: skip
        if code != 0:
            failed += 1
        for i in range(n):
            total += a[i]
    return failed, total


class Sequence:
    """A sequence of steps, and how each rival goes through it; every method returns seconds for one step."""

    def __init__(self, family: str, dials: dict[str, float], contacts: int) -> None:
        self.steps = registry.load("family", family).steps({"contacts": contacts, **dials}, STEPS)
        parts = [(s.M, s.force, s.J, s.gamma, s.J_N, s.zeta_N) for s in self.steps]
        self.arrays = [np.ascontiguousarray(np.stack(column)) for column in zip(*parts, strict=True)]
        self.stacked = [x.reshape(math.prod(x.shape[:-1]), x.shape[-1]) for x in self.arrays]
        n, m, k = self.steps[0].n, self.steps[0].m, contacts
        self.n, self.k = n, k
        self.state = np.zeros(k, np.int64), np.zeros(k), np.zeros(n), np.zeros(m), np.zeros(k)
        self.space = workspace(n, m, k)
        self.daqp = [
            (s.M.copy(), -s.force, s.J_N.copy(), np.full(k, INFINITE), -s.zeta_N) for s in self.steps
        ]  # fmt: skip
        self.model: Any = None
        self.reported: list[float] = []

    def compiled(self, warm: bool) -> float:
        """The kernel in a compiled loop."""
        begin = perf_counter()
        failed, _ = run(*self.stacked, *self.state, self.space, warm, TURNS)
        spent = perf_counter() - begin
        assert not failed
        return spent / (TURNS * STEPS)

    def called(self, step: Callable[..., int], warm: bool, count: int) -> float:
        """Single calls from Python, of the compiled or the plain function."""
        M, force, J, gamma, R, zeta = self.arrays
        active = self.state[0]
        spent = 0.0
        for s in range(count):
            if not warm:
                active[:] = 0
            arguments = (M[s], force[s], J[s], gamma[s], R[s])
            begin = perf_counter()
            code = step(*arguments, arguments[-1], zeta[s], *self.state, self.space)
            spent += perf_counter() - begin
            assert code == 0
        return spent / count

    def by_daqp(self, warm: bool) -> float:
        """DAQP: one model updated along the sequence with the working set it has, or a new model at every step."""
        import daqp

        sense = np.zeros(self.k, np.intc)
        spent = reported = 0.0
        for data in self.daqp:
            begin = perf_counter()
            if warm and self.model is not None:
                self.model.update(*data, self.guess)
                set_up = 0.0
            else:
                self.model = daqp.Model()
                _, set_up = self.model.setup(*data, sense)
            _, _, flag, info = self.model.solve()
            spent += perf_counter() - begin
            reported += set_up + info["solve_time"]
            assert flag == 1
            self.guess = np.where(info["lam"] != 0, 1 | 2, 0).astype(np.intc)
        self.reported.append(reported / STEPS)
        return spent / STEPS

    def by_lemke(self) -> float:
        """Contact operator and Lemke's method, in numpy."""
        begin = perf_counter()
        for step in self.steps[:SLOW]:
            op = ContactOperator.of(step)
            z = lemke(op.lcp).x
            assert z is not None
            op.acceleration(z)
        return (perf_counter() - begin) / SLOW

    def agree(self) -> float:
        """Largest difference between the accelerations of the kernel and of DAQP, relative to 1 + the largest."""
        import daqp

        M, force, J, gamma, R, zeta = self.arrays
        worst = 0.0
        for s in range(STEPS):
            contact_step(M[s], force[s], J[s], gamma[s], R[s], R[s], zeta[s], *self.state, self.space)
            model = daqp.Model()
            model.setup(*self.daqp[s], np.zeros(self.k, np.intc))
            worst = max(
                worst, float(np.abs(model.solve()[0] - self.state[2]).max() / (1 + np.abs(self.state[2]).max()))
            )
        return worst


def measure(family: str, dials: dict[str, float], contacts: int, rounds: int) -> dict[str, float]:
    """Medians in microseconds by rival, and the ratios of DAQP's to the kernel's."""
    sequence = Sequence(family, dials, contacts)
    rivals: dict[str, Callable[[], float]] = {
        "warm": lambda: sequence.compiled(True), "cold": lambda: sequence.compiled(False),
        "call": lambda: sequence.called(contact_step, True, STEPS),
        "daqp warm": lambda: sequence.by_daqp(True), "daqp cold": lambda: sequence.by_daqp(False),
        "lemke": sequence.by_lemke,
    }  # fmt: skip
    for rival in rivals.values():
        rival()
    found: dict[str, list[float]] = {name: [] for name in [*rivals, "daqp C warm", "daqp C cold"]}
    for turn in range(rounds):
        for name, rival in rivals.items():
            if name == "lemke" and turn % 5:
                continue
            found[name].append(rival())
            if name.startswith("daqp"):
                found[name.replace("daqp", "daqp C")].append(sequence.reported[-1])
    result = {name: 1e6 * median(times) for name, times in found.items()}
    result["coordinates"] = float(sequence.n)
    result["difference"] = sequence.agree()
    result["ratio"] = min(result["daqp warm"], result["daqp cold"]) / result["warm"]
    result["ratio to C"] = result["daqp C cold"] / result["warm"]
    return result


def uncompiled() -> list[float]:
    """Microseconds of the kernel in plain Python, in the order of `cases`, by a process that does not compile."""
    command = [sys.executable, __file__, "--plain"]
    environment = {**os.environ, "GAUSSOPT_COMPILE": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [float(x) for x in json.loads(done.stdout)]


def cases() -> list[tuple[str, dict[str, float], int]]:
    """Sequence, its dials, and the number of contacts."""
    return [(family, dict(dials), k) for family, dials in SEQUENCES for k in CONTACTS]


def plain() -> list[float]:
    """Medians of single calls, for `uncompiled`."""
    found = []
    for case in cases():
        sequence = Sequence(*case)
        found.append(1e6 * median(sequence.called(contact_step, True, STEPS) for _ in range(5)))
    return found


def rows(rounds: int = 60) -> list[dict[str, Any]]:
    """One row for each sequence and number of contacts."""
    return [
        {"sequence": case[0], "contacts": case[2], "plain": slow, **measure(*case, rounds)}
        for case, slow in zip(cases(), uncompiled(), strict=True)
    ]


COLUMNS = (
    ("warm", "kernel, warm"), ("cold", "kernel, cold"), ("call", "one call from Python"), ("plain", "plain Python"),
    ("daqp warm", "DAQP, warm"), ("daqp cold", "DAQP, cold"), ("daqp C cold", "DAQP's own clock"),
    ("lemke", "numpy Lemke"), ("ratio", "DAQP / kernel"), ("ratio to C", "its own clock / kernel"),
)  # fmt: skip


def table(found: list[dict[str, Any]]) -> list[str]:
    """Markdown."""
    titles = ["sequence", "contacts", "coordinates", *(title for _, title in COLUMNS)]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for row in found:
        cells = [row["sequence"], str(row["contacts"]), f"{row['coordinates']:.0f}"]
        lines.append("| " + " | ".join([*cells, *(f"{row[name]:.3g}" for name, _ in COLUMNS)]) + " |")
    return lines


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.plain:
        print(json.dumps(plain()))
        return
    found = rows(arguments.rounds)
    versions = ", ".join(f"{p} {metadata.version(p)}" for p in ("numpy", "daqp", *(["llvmlite"] if COMPILED else [])))
    text = "\n".join([
        "# Contact steps", "",
        f"Microseconds a step, medians of {arguments.rounds} interleaved turns of {STEPS} steps.", "",
        *table(found), "",
        f"Largest difference of accelerations from DAQP's: {max(r['difference'] for r in found):.1e}.", "",
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"{versions}.", "",
    ])  # fmt: skip
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
