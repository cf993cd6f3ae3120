"""The stage kernel in straight lines: its numbers, bit by bit, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.compiled import stage_lines
from gaussopt.compiled.advances.contact_phases import PhaseMarcher
from gaussopt.compiled.stage_lines import StageLines, no_lines
from gaussopt.contact.stage_kernel import stage
from gaussopt.contact.stage_laws import DEFINITE, ORIENTED
from gaussopt.jit.kernel import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="compilation is switched off")

MOTIONS: list[tuple[str, dict[str, Any]]] = [
    ("sliding-rod", {"t_end": 0.1}), ("two-bar", {"t_end": 0.3}), ("bouncing-ball", {"t_end": 1.0, "dt": 5e-3}),
    ("block-on-incline", {"t_end": 0.3}),
    ("friction-oscillator", {"t_end": 4.0, "dt": 0.05}), ("guided-slider-crank", {"t_end": 0.03}),
]  # fmt: skip


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[tuple[StageLines, Any, Any]]:
    """Lines are written for every phase at its first run of steps; the lines of models, workspaces, sizes."""
    found: list[tuple[StageLines, Any, Any]] = []
    march = PhaseMarcher._march
    stage_lines.stage_lines.cache_clear()
    monkeypatch.setattr(stage_lines, "PAYS", 0)

    def noted(self: PhaseMarcher, *arguments: Any) -> int:
        done = march(self, *arguments)
        space = self._space
        if done and self._lines.code(space) is not no_lines:
            copies = {name: getattr(space, name).copy() for name in ("data", "closed", "modes", "active", "kinds")}
            found.append((self._lines, space._replace(**copies), (self._n, self._m, self._k)))
        return done

    monkeypatch.setattr(PhaseMarcher, "_march", noted)
    return found


def solved(code: Any, data: Any, space: Any, sizes: tuple[int, int, int], active: Any) -> tuple[Any, ...]:
    n, m, k = sizes
    for x in (space.out, space.numbers, space.memory.S, space.memory.K):
        x[...] = 0.0
    if code is stage:
        codes = code(data, n, m, k, 1, space.closed, space.modes, active, space.memory, space.out, space.numbers)
    else:
        memory = space.memory
        codes = code(data, space.modes, active, memory.K, memory.S, memory.fixed, space.out, space.numbers)
    weights = np.diagonal(space.memory.K)[:n].copy()
    return codes, space.out.copy(), space.numbers.copy(), space.memory.S.copy(), weights, active


@pytest.mark.parametrize(("name", "settings"), MOTIONS, ids=[name for name, _ in MOTIONS])
def test_lines_give_the_kernels_numbers_or_none(name: str, settings: dict[str, Any], at_once: list[Any]) -> None:
    go.simulate(name, stepper="rk4", engine="compiled", error_estimate=False, **settings)
    phases = {(space.kinds.tobytes(), space.active.tobytes()): (lines, space, sizes) for lines, space, sizes in at_once}
    random, same = np.random.default_rng(0), 0
    for lines, space, sizes in phases.values():
        for size, parameters in ((0.0, True), (1e-9, True), (1e-3, True), (1e-2, False), (0.3, True), (3.0, True)):
            free = np.isnan(lines._literals) & (parameters | ~lines._fixed)
            data = np.where(free, space.data * (1.0 + size * random.normal(size=len(space.data))), space.data)
            ours = solved(lines.code(space), data, space, sizes, space.active.copy())
            if ours[0][0] < 0:
                continue
            theirs = solved(stage, data, space, sizes, space.active.copy())
            assert ours[0] == theirs[0]
            for x, y in zip(ours[1:], theirs[1:], strict=True):
                np.testing.assert_array_equal(x, y)
            same += 1
    assert same >= 2 * len(phases) > 0


def test_lines_leave_other_sets_and_forces_to_the_kernel(at_once: list[Any]) -> None:
    go.simulate("sliding-rod", stepper="rk4", engine="compiled", error_estimate=False, t_end=0.1)
    lines, space, sizes = at_once[-1]
    n = sizes[0]
    code = lines.code(space)
    assert solved(code, space.data, space, sizes, space.active.copy())[0] == (0, DEFINITE)
    assert solved(code, space.data, space, sizes, 1 - space.active)[0][0] == -1
    pulled = space.data.copy()
    pulled[n * n : n * n + n] *= -1.0  # forces that lift the rod
    assert solved(code, pulled, space, sizes, space.active.copy())[0][0] == -1
    assert solved(code, np.full(len(pulled), np.nan), space, sizes, space.active.copy())[0][0] == -1


@pytest.mark.parametrize("name", ["sliding-rod", "block-on-incline"])
def test_motions_are_the_same_with_and_without_lines(
    name: str, at_once: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_lines = go.simulate(name, stepper="rk4", engine="compiled", t_end=0.3, error_estimate=False)
    assert at_once
    monkeypatch.setattr(StageLines, "code", lambda *_: no_lines)
    without = go.simulate(name, stepper="rk4", engine="compiled", t_end=0.3, error_estimate=False)
    for field in ("t", "q", "v", "a", "lam_N", "lam_T", "gap", "slip", "mode", "power"):
        np.testing.assert_array_equal(getattr(with_lines, field), getattr(without, field))
    assert with_lines.worst == without.worst


def test_the_proof_of_uniqueness_is_kept(at_once: list[Any]) -> None:
    go.simulate("block-on-incline", stepper="rk4", engine="compiled", error_estimate=False, t_end=2.0, dt=0.01)
    proofs = {
        solved(lines.code(space), space.data, space, sizes, space.active.copy())[0][1]
        for lines, space, sizes in at_once if (space.kinds == 2).any()
    }  # fmt: skip
    assert proofs == {ORIENTED}


def test_a_stage_that_is_not_regular_is_no_sample(at_once: list[Any]) -> None:
    go.simulate("sliding-rod", stepper="rk4", engine="compiled", error_estimate=False, t_end=0.1)
    lines, space, (n, m, _) = at_once[-1]
    fresh = StageLines(n, m, lines._literals, lines._fixed)
    pulled = space.data.copy()
    pulled[n * n : n * n + n] *= -1.0
    assert fresh.due(space)
    fresh.write(space._replace(data=pulled))
    assert fresh.code(space) is no_lines
    fresh.write(space)
    assert fresh.code(space) is not no_lines
