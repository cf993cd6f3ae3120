"""Straight lines traced from kernels: the same numbers as the kernel's, under the same conditions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gaussopt.core.errors import NotCompiled
from gaussopt.jit.tracing import Trace, traceable, written
from gaussopt.jit.translation import Translation


def helper(x: float) -> float:
    return math.sqrt(abs(x)) - 1.0


def kernel(x: list, out: list) -> bool:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i] * (1.0 if i else 2.0)
    out[0] = max(helper(total), 0.5) / x[0]
    out[1] = 1.0 - -(x[1] ** 2) if x[1] > 0.0 else 0.0 * x[0]
    out[2] = 0.0 / x[0] + 1.0 / x[1]
    return bool(total <= 50.0)


def traced(sample: list[float], most: int = 100) -> tuple[Trace, list[object], bool]:
    trace = Trace(most)
    out: list[object] = [0.0] * 3
    found = traceable(kernel)([trace.value(f"x[{i}]", x) for i, x in enumerate(sample)], out)
    return trace, out, found


@pytest.mark.parametrize("sample", [[1.0, 2.0, 3.0], [-3.0, 0.5, 1.0], [7.0, 1.0, 1.0], [0.3, -1.0, 0.2]])
def test_the_lines_compute_what_the_kernel_computes_where_their_conditions_hold(sample: list[float]) -> None:
    trace, out, found = traced(sample)
    taken = 0
    for x in [*np.random.default_rng(3).normal(0.0, 3.0, (200, 3)).tolist(), sample]:
        scope: dict[str, object] = {"x": x, "sqrt": math.sqrt}
        exec("\n".join(trace.lines), scope)
        if eval(" and ".join(trace.conditions), scope):
            expected = [0.0] * 3
            assert kernel(x, expected) is found
            assert [eval(written(y), scope) for y in out] == expected  # type: ignore[arg-type]
            taken += 1
    assert 10 < taken < 201


def test_products_with_zero_and_one_leave_no_lines() -> None:
    trace = Trace(10)
    x = trace.value("x", 3.0)
    assert (x * 0.0, 0.0 * x, 0.0 / x) == (0.0, 0.0, 0.0)
    assert all(y is x for y in (x * 1.0, 1.0 * x, x / 1.0, x + 0.0, 0.0 + x, x - 0.0))
    assert len(trace.lines) == 1
    assert written(0.0 - x) == "w1"
    assert x != 3.0


def test_too_many_lines_are_refused() -> None:
    with pytest.raises(NotCompiled, match="more than 5 lines"):
        traced([1.0, 2.0, 3.0], 5)


def test_the_lines_are_in_the_language_of_kernels() -> None:
    trace, out, _ = traced([1.0, 2.0, 3.0])
    lines = [*trace.lines, f"if not ({' & '.join(trace.conditions)}):", "    return False"]
    lines += [*(f"out[{i}] = {written(y)}" for i, y in enumerate(out)), "return True"]  # type: ignore[arg-type]
    source = "def lines(x: Vector, out: Vector) -> bool:\n    " + "\n    ".join(lines)
    assert "fdiv" in str(Translation(source, ["lines"], False, {}))
