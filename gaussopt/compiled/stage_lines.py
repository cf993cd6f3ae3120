"""The stage kernel as straight lines, for one model and for given modes and active sets of its contacts.

`gaussopt.contact.stage_kernel.stage` is written for any number of coordinates, joints and contacts. In a phase of a
motion these numbers, the zeros of the model's matrices, the modes and mostly the active set stay the same, so that the
kernel is traced with the data of one stage, and the lines are compiled. Where the conditions of the trace hold, they
give the kernel's results, bit by bit except for the signs of zeros; elsewhere they return a negative code, and the
kernel is called. What depends on parameters and modes alone, as with constant masses, is computed only where these have
changed, because divisions and square roots take most of the time.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.codegen.job import QUICK_LINES
from gaussopt.compiled.contact_equations import flat_size
from gaussopt.compiled.contact_kernel import PhaseWorkspace, pack
from gaussopt.compiled.modules import native
from gaussopt.contact.stage_kernel import stage
from gaussopt.contact.stage_laws import FIXED, StageWorkspace, stage_workspace
from gaussopt.core import generated_modules
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cache import key_of
from gaussopt.core.errors import NotCompiled
from gaussopt.jit.kernel import kernel
from gaussopt.jit.tracing import Trace, traceable, written
from gaussopt.lcp.pivoting import SOLVED, Active

PAYS = 5000
"""Number of stages with the same modes and active set after which lines are written for them."""

_HEAD = """from __future__ import annotations

from math import sqrt


def lines(
    data: Vector, modes: Vector, active: Active, K: Matrix, S: Matrix, fixed: Vector, out: Vector, numbers: Vector,
) -> tuple[int, int]:
    """


@kernel
def no_lines(
    data: Vector, modes: Vector, active: Active, K: Matrix, S: Matrix, fixed: Vector, out: Vector, numbers: Vector
) -> tuple[int, int]:
    """Leave a stage to the kernel."""
    return -1, 0


class StageLines:
    """The compiled lines of one model with n coordinates and m rows of joints.

    `literals` are those data of `stage` that are the same numbers at every state and for all parameters, else NaN;
    `fixed` tells which data depend on parameters alone; `stages` counts the stages by modes and active set, see `key`;
    `free` keeps the memory of motions that have ended, see `gaussopt.compiled.advances.contact_phases`.
    """

    def __init__(self, n: int, m: int, literals: Vector, fixed: NDArray[np.bool_]) -> None:
        self._n, self._m, self._literals, self._fixed = n, m, literals, fixed
        self.stages = Counter[bytes]()
        self.free = defaultdict[Any, list[Any]](list)
        self._known: dict[bytes, Callable[..., Any]] = {}

    @staticmethod
    def key(space: PhaseWorkspace) -> bytes:
        """Return modes and active set in one."""
        return space.kinds.tobytes() + space.active.tobytes()

    def code(self, space: PhaseWorkspace) -> Callable[..., Any]:
        """Return the lines for the present modes and active set, or `no_lines` if there are none."""
        return self._known.get(self.key(space), no_lines)

    def due(self, space: PhaseWorkspace) -> bool:
        """Return whether it pays to write lines for the present modes and active set."""
        key = self.key(space)
        return self.stages[key] >= PAYS and key not in self._known

    def write(self, space: PhaseWorkspace) -> None:
        """Write the lines for modes, active set and data in a workspace; if these are not regular, wait again."""
        key = self.key(space)
        try:
            text = self._text(space)
            module = generated_modules.store(f"stage_{len(self._literals)}", key_of(text), text)
            self._known[key] = native(module, "lines", contract=False)["lines"]
        except NotCompiled:  # too many lines
            self._known[key] = no_lines
        except ArithmeticError:
            self.stages[key] = 0

    def _text(self, space: PhaseWorkspace) -> str:
        """Trace `stage`; raises ArithmeticError if the sample is not regular, NotCompiled if there are many lines."""
        n, m, k, c, trace = self._n, self._m, len(space.kinds), len(space.closed), Trace(QUICK_LINES)

        def values(name: str, sample: Vector, free: NDArray[np.bool_]) -> NDArray[Any]:
            pairs = enumerate(zip(sample.tolist(), free, strict=True))
            return np.array([trace.value(f"{name}[{i}]", x) if traced else x for i, (x, traced) in pairs], dtype=object)

        data, modes = (
            values("data", space.data, np.isnan(self._literals)),
            values("modes", space.modes, space.modes != 0),
        )
        arrays = *stage_workspace(n, m, 1, c, len(space.surface.sticking)), space.active, space.out, space.numbers
        *parts, active, out, numbers = (x.astype(object) for x in arrays)
        memory = StageWorkspace(*parts)
        code, how = traceable(stage)(data, n, m, k, 1, space.closed, modes, active, memory, out, numbers)
        if code != SOLVED or (active != space.active).any():
            raise ArithmeticError(f"The stage kernel returned {code} for the sample.")
        conditions = [*(f"(active[{i}] == {x})" for i, x in enumerate(active)), *trace.conditions]
        results = {f"out[{i}]": x for i, x in enumerate(out)} | {f"numbers[{i}]": x for i, x in enumerate(numbers)}
        results |= {f"K[{i}, {i}]": memory.K[i, i] for i in range(n)}
        results |= {f"S[{i}, {j}]": memory.S[i, j] for i in range(c) for j in range(c)}
        lines = self._once(trace.lines, " ".join([*conditions, *map(written, results.values())]))
        return _HEAD + "\n    ".join([
            *lines, f"if not ({' & '.join(conditions) or 'True'}):", "    return -1, 0",
            *(f"{place} = {written(x)}" for place, x in results.items()), f"return {code}, {how}\n",
        ])  # fmt: skip

    def _once(self, lines: list[str], used: str) -> list[str]:
        """Return the lines, with those of fixed values in a branch that is taken where the values are not known yet.

        `used` names the values that are used after the lines.
        """
        given, once, rest = [], [], []
        moving = set[str]()
        for line in lines:
            name, _, text = line.partition(" = ")
            entry = re.fullmatch(r"(data|modes)\[(\d+)\]", text)
            if entry is not None and (entry[1] == "modes" or self._fixed[int(entry[2])]):
                given.append(line)
            elif entry is None and not moving.intersection(re.findall(r"w\d+", text)):
                once.append(line)
            else:
                moving.add(name)
                rest.append(line)
        names = set(re.findall(r"w\d+", " ".join([used, *(line.partition(" = ")[2] for line in rest)])))
        kept = [line.partition(" = ")[0] for line in once if line.partition(" = ")[0] in names]
        known = [repr(float(int(key_of(*lines)[:12], 16))), *(line.partition(" = ")[0] for line in given)]
        if len(known) + len(kept) > FIXED:
            return lines
        same = " & ".join(f"(fixed[{i}] == {x})" for i, x in enumerate(known))
        return [
            *given, f"if not ({same}):", *(f"    {line}" for line in once),
            *(f"    fixed[{i}] = {x}" for i, x in enumerate([*known, *kept])),
            *(f"{x} = fixed[{i}]" for i, x in enumerate(kept, len(known))), *rest,
        ]  # fmt: skip


@cache
def stage_lines(equations: str, n: int, m: int, k: int) -> StageLines:
    """Return the lines of a model, given the source of its equations and its numbers; all its motions share them."""
    flat = np.zeros(flat_size(n, m, k))  # the equations do not write zeros
    still, moving = np.zeros_like(flat), {"t", "q", "v"}
    body = equations.partition("def step(")[2].partition("\ndef ")[0]
    for place, name, text in re.findall(r"^    (?:out\[(\d+)\]|(\w+)) = (.+)", body, re.MULTILINE):
        moves = not moving.isdisjoint(re.findall(r"[A-Za-z_]\w*", text)) or "\n     " in body
        if place:
            flat[int(place)] = float(text) if re.fullmatch(r"-?[\d.]+", text) else math.nan
            still[int(place)] = math.nan if moves else 0.0
        elif moves:
            moving.add(name)
    data, fixed = np.zeros((2, len(flat) - n - k))
    pack(flat, np.full(k, math.nan), n, m, data)
    pack(still, np.zeros(k), n, m, fixed)
    return StageLines(n, m, data, ~np.isnan(fixed))
