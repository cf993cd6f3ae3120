"""Machine code of generated functions does what CPython does."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.codegen import source
from gaussopt.compiled.advances.contact_phases import PhaseMarcher
from gaussopt.contact import stage_kernel
from gaussopt.core import generated_modules
from gaussopt.core.errors import NotCompiled
from gaussopt.integration.events import regular_stages

pytest.importorskip("llvmlite")

from gaussopt.jit import llvm
from gaussopt.jit.entry import Workspace, _parameter
from gaussopt.jit.translation import Translation


def module_of(text: str) -> ModuleType:
    """A generated module with this text."""
    return generated_modules.store("translated", source.key_of(text), text)


def both(text: str, name: str = "f", contract: bool = False) -> tuple[Any, Any]:
    """A function as machine code and as CPython runs it."""
    module = module_of(text)
    return llvm.functions(module, [name], contract)[name], getattr(module, name)


EXPRESSIONS = (
    "x + y*2 - -x", "x/y", "x**2 + y**3", "x**-2", "x**0", "abs(x)**1.5", "(x > y) + 0.5", "x % y", "y % x", "-x % y",
    "max(x, y, 0.5)", "min(x, y)", "x if x > 0.0 and not y > 1.0 else y", "sin(x)*cos(y) + tan(x/4)",
    "exp(x) + log(abs(y))", "sqrt(abs(x*y))", "atan2(x, y)", "hypot(x, y) - pi", "floor(x) + float(int(y))",
    "1.0 if 0.0 <= x < 1.0 or y == 2 else 3", "copysign(2.5, x)", "1e300*x*1e10", "erf(x) + lgamma(abs(y) + 1)",
    "TABLE[1]*x + TABLE[0] + NUMBER",
)  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_have_the_values_of_cpython(expression: str) -> None:
    compiled, plain = both(
        "from math import *\n\nTABLE = (-0.5, 1.25)\nNUMBER = 7\n\n\n"
        f"def f(x: float, y: float) -> float:\n    return {expression}\n"
    )
    for x, y in ((0.3, 2.0), (-1.7, 0.6), (1.0, -3.25), (2.5, 2.5)):
        assert compiled(x, y) == pytest.approx(plain(x, y), rel=1e-15, abs=0), (x, y)


def test_nan_is_passed_on_as_by_cpython() -> None:
    compiled, plain = both(
        "def f(x: float, y: float) -> float:\n    return 4.0 if max(x, y) == max(x, y) else 5.0 if x != y else 6.0\n"
    )
    for x, y in ((math.nan, 1.0), (1.0, math.nan)):
        assert compiled(x, y) == plain(x, y)


STATEMENTS = '''
from numpy import zeros


def inner(a, b, out):
    """A pair of numbers into the first places; whether the first is larger."""
    out[0], out[1] = a, b
    if a > b:
        return True
    return False


def pair(x: float) -> tuple:
    return x + 1.0, 2.0*x


def f(n: int, x: list, out: list) -> int:
    """Loops forwards and backwards, leaving them, and parts of sequences."""
    space = zeros(3)
    total = largest = 0.0
    found = -1
    for i in range(n):
        total += x[i]
        if x[i] > largest:
            largest, found = x[i], i
    for i in range(n - 1, -1, -1):
        out[i] = total - x[i]
        if i == 2:
            out[i] *= 2
            break
    k = 0
    while k < n and total > 1.0:
        total /= 2
        k += 1
    for j in range(1, n, 2):
        out[n + j//2] = j % 3
    if inner(total, largest, space) or not k:
        out[n] = 100.0
    elif k == 3:
        out[n] = 200.0
    else:
        pass
    both = pair(space[1])
    last = out[2*n - 2:]
    last[0] = both[0]
    last[1] += both[1]
    return found
'''


def test_statements_do_what_they_do_in_cpython() -> None:
    compiled, plain = both(STATEMENTS)
    for seed in range(5):
        x = np.random.default_rng(seed).uniform(-1, 3, 7)
        out, expected = np.zeros(14), np.zeros(14)
        assert compiled(7, x, out) == plain(7, x, expected)
        np.testing.assert_array_equal(out, expected)


MATRICES = """
from __future__ import annotations


def any_order(function):
    return function


@any_order
def total(x, n):
    found = 0.0
    for i in range(n):
        found += x[i]
    return found > 10.0


def f(table: Table, x: list) -> int:
    n = table.shape[1]
    row, other = (table[1], x) if table[0, 0] > 0.0 else (x, table[1, 1:])
    table[2, n - 1] = row[0] - other[1]
    row, other = other, row
    for i in range(2):
        row, other = other, row
        other[0] = 10.0*i + n
    return 1 if total(table[0], n) else 0
"""


def test_matrices_and_sums_in_any_order() -> None:
    compiled, plain = both(MATRICES)
    for first in (1.0, -1.0, 20.0):
        tables = [np.arange(12.0).reshape(3, 4) for _ in range(2)]
        rows = [np.array([3.0, 5.0]) for _ in range(2)]
        for table in tables:
            table[0, 0] = first
        assert compiled(tables[0], rows[0]) == plain(tables[1], rows[1])
        np.testing.assert_array_equal(tables[0], tables[1])
        np.testing.assert_array_equal(rows[0], rows[1])


KERNELS = """
from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gaussopt.lcp.pivoting import Active, Indices
from gaussopt.core.arrays import Matrix, ShortIndex, Vector, Index

Other = Callable[[float, Vector], tuple[float, int]]


class Inner(NamedTuple):
    grid: Indices
    places: Index
    shorts: ShortIndex


class Space(NamedTuple):
    table: Matrix
    inner: Inner
    scale: float


def marked(counts, i):
    counts[i] += 1
    return True


def other(t: float, x: Vector) -> tuple[float, int]:
    exponent = 0
    _, exponent = math.frexp(t)
    return math.ldexp(x[len(x) - 1], 1 - exponent), len(x)


def kernel(
    function: Other, space: Space, x: Vector, active: Active, counts: Index, warm: bool, out: Matrix
) -> tuple[int, float]:
    (rows, width), m = out.shape, len(active)
    table, inner, scale = space
    copy = np.zeros((rows, width))
    members = np.empty(width, np.int64)
    total, found = 0.0, 0
    for i in range(width + m):
        # The second side of each has no place in the array where the first does not hold.
        if i < width and not active[m - width + i]:
            continue
        value = x[i] if i < width else table[1, i - width] if i - width < table.shape[1] else 0.5
        if i >= width or x[i] > 0.0 and marked(counts, 0):
            total += value
        found += (i < 3 or active[i - 3] == 1) and marked(counts, 1)
    view = table if warm else out
    same = view is table
    for i in range(rows):
        members[0] = i + inner.grid[1, 0] + inner.places[1] + inner.shorts[1]
        space_again = np.zeros(i + 1)
        for j in range(width):
            copy[i, j] = space.table[i, j] + members[0] + len(space_again)
    part = copy[1:rows]
    part[0, 0] = math.inf
    got, length = function(total, x[1:width])
    if not math.isfinite(part[0, 0]) and same:
        total += got
    for i in range(rows):
        for j in range(width):
            out[i, j] = copy[i, j] * scale
    return found + length, total
"""


def test_arrays_with_shapes_records_functions_and_memory() -> None:
    module = module_of(KERNELS)
    compiled = llvm.functions(module, ["kernel", "other"], contract=False)
    inner = module.Inner(np.arange(6).reshape(2, 3), np.array([4, 5]), np.array([7, -3], dtype=np.int32))
    x, active = np.array([1.0, -2.0, 3.0]), np.array([1, 0, 1, 1])
    for warm in (True, False):
        space = module.Space(np.arange(9.0).reshape(3, 3), inner, 0.5)
        results, counts, outs = [], [], []
        for form in ((compiled["kernel"], compiled["other"]), (module.kernel, module.other)):
            counts.append(np.zeros(2, np.int64))
            outs.append(np.zeros((3, 3)))
            results.append(form[0](form[1], space, x, active, counts[-1], warm, outs[-1]))
        assert results[0] == results[1]
        np.testing.assert_array_equal(*counts)
        np.testing.assert_array_equal(*outs)
        assert np.isinf(outs[0][1, 0])
    with pytest.raises(TypeError, match="contiguous array of int64 with 1 axes"):
        compiled["kernel"](compiled["other"], space, x, x, counts[0], True, outs[0])
    with pytest.raises(TypeError, match="missing 1 required"):
        compiled["other"](1.0)


def test_a_record_that_came_before_is_not_taken_for_another() -> None:
    module = module_of(
        "from __future__ import annotations\n\nfrom typing import NamedTuple\n\n"
        "from gaussopt.core.step_data import Vector\n"
        "\n\nclass Space(NamedTuple):\n    x: Vector\n    n: int\n\n\n"
        "def f(space: Space) -> float:\n    return space.x[space.n]\n"
    )
    compiled = llvm.functions(module, ["f"], contract=False)["f"]
    one, other = module.Space(np.array([1.0, 2.0]), 1), module.Space(np.array([3.0]), 0)
    assert [compiled(space) for space in (one, one, other, one)] == [2.0, 2.0, 3.0, 2.0]
    one.x[1] = 5.0
    assert compiled(one) == 5.0


@pytest.mark.parametrize("name", ["box", "two-bar"])
def test_stages_of_a_motion_are_those_of_cpython(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def twice(*arguments: Any) -> Any:
        nonlocal calls
        *given, out, numbers = arguments
        copies = copy.deepcopy(arguments)
        calls += 1
        answer = stage_kernel.stage(*arguments)
        assert llvm.plain(stage_kernel.stage)(*copies) == answer
        for mine, theirs in ((out, copies[-2]), (numbers, copies[-1]), (given[7], copies[7])):
            np.testing.assert_array_equal(mine, theirs)
        return answer

    monkeypatch.setattr(regular_stages, "stage", twice)
    monkeypatch.setattr(PhaseMarcher, "why_not", staticmethod(lambda *settings: "stages alone"))
    go.simulate(name, engine="compiled", t_end=0.05, dt=5e-3)
    assert calls > 20


@pytest.mark.parametrize(
    "line",
    ["x = [1.0]", "with x: pass", "x = lambda: 1", "return unknown(x)", "return other", "return 'a'", "return x @ x"],
)
def test_what_has_no_translation_is_said(line: str) -> None:
    with pytest.raises(NotCompiled, match="no translation"):
        Translation(f"def f(x: float) -> float:\n    {line}\n", ["f"], False, {})


@pytest.mark.parametrize(
    ("head", "why"),
    [("x, y: float", "no annotation of x"), ("x: np.ndarray", "ndarray"), ("x: NDArray[np.float64]", "NDArray")],
)
def test_a_parameter_without_a_known_annotation_is_said(head: str, why: str) -> None:
    with pytest.raises(NotCompiled, match=why):
        Translation(f"def f({head}) -> float:\n    return 1.0\n", ["f"], False, {})


def test_a_class_that_the_scope_does_not_know_has_no_translation() -> None:
    with pytest.raises(NotCompiled, match="'ndarray' has no translation"):
        _parameter(np.ndarray, {})


def test_machine_code_is_kept_and_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUSSOPT_CACHE", str(tmp_path))
    compiled, _ = both("def f(x: float) -> float:\n    return 3*x\n")
    (file,) = tmp_path.glob("*.o")
    assert compiled(2.0) == 6.0
    good = file.read_bytes()
    file.write_bytes(good[:-1] + b"?")
    compiled, _ = both("def f(x: float) -> float:\n    return 3*x\n")
    assert compiled(2.0) == 6.0
    assert file.read_bytes() == good
    monkeypatch.setattr(llvm, "_translated", lambda *arguments: pytest.fail("compiled again"))
    compiled, _ = both("def f(x: float) -> float:\n    return 3*x\n")
    assert compiled(2.0) == 6.0


def test_arrays_of_another_kind_are_refused() -> None:
    compiled, _ = both("def f(x: list) -> float:\n    return x[0]\n")
    assert compiled(np.array([2.0])) == 2.0
    for wrong in (np.array([1]), np.zeros((4, 4))[:, 0], [1.0]):
        with pytest.raises(TypeError, match="takes a contiguous array of float64 here"):
            compiled(wrong)


def test_contraction_is_asked_for() -> None:
    text = "def f(x: float, y: float, z: float) -> float:\n    return x*y + z\n"
    assert " contract " in str(Translation(text, ["f"], True, {}))
    assert " contract " not in str(Translation(text, ["f"], False, {}))
    x = 1.0 + 2.0**-30
    assert both(text)[0](x, x, -x * x) == 0.0


def straight(lines: str, sizes: tuple[int | None, ...] = (None, None, 2)) -> tuple[Workspace, Any]:
    """Straight lines as checked machine code, and as CPython runs them."""
    arguments = ", ".join(f"{name}: {'list' if size else 'float'}" for name, size in zip("xyz", sizes, strict=False))
    text = "from math import *\n\n\n" + f"def f({arguments}):\n" + "".join(f"    {x}\n" for x in lines.split("; "))
    module = module_of(text)
    return Workspace(llvm.checked_functions(module, ["f"])["f"], sizes), module.f


STRAIGHT = (
    "x + y*2 - -x", "x/y", "x**2 + y**3", "(x + y)**2", "x**-2", "(1/3)*x**4", "abs(x)**1.5", "x**(1/3)",
    "max(x, y, 0.5)", "x if x > 0.0 and not y > 1.0 else 1/y", "sin(x)*cos(y) + tan(x/4)", "exp(x) + log(y)",
    "sqrt(x*y) + asin(x)", "atan2(x, y) + sinh(x)*cosh(y) + tanh(x)", "log1p(x) + expm1(y) + erf(x)",
    "((0) if x < 0 else (1/2) if x == 0 else (1))", "0.0 if x == 0 else copysign(1, x)",
    "acos(x) + acosh(y) + atanh(x)", "x % y", "floor(x)*y", "hypot(x, y) + lgamma(x)",
)  # fmt: skip


@pytest.mark.parametrize("expression", STRAIGHT)
def test_straight_lines_agree_with_cpython_or_leave_it_to_it(expression: str) -> None:
    space, plain = straight(f"z[0] = {expression}")
    (first, second, out), random = space.arguments, np.random.default_rng(11)
    special = [0.0, -0.0, 1.0, -1.0, 1e-310, 1e200, -1e200, math.inf, math.nan]
    pairs = [tuple(p) for p in random.normal(size=(2000, 2)).tolist()] + [(a, b) for a in special for b in special]
    done = 0
    for x, y in pairs:
        expected, fails = [7.0], False
        try:
            plain(x, y, expected)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):
            fails = True
        if isinstance(expected[0], complex) or not math.isfinite(expected[0]):
            fails = True
        first[0], second[0] = x, y
        if space.call():
            assert not fails, (x, y)
            assert out[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-12), (x, y)
            done += 1
        else:  # beyond what fails it may leave a few that are enormous
            assert fails or max(abs(x), abs(y)) >= 1e200 or not math.isfinite(x + y), (x, y)
    assert done > 200


def test_what_is_returned_and_written_on_the_way_counts() -> None:
    space, _ = straight("z[1] = 1.0/y; z[0] = 2.0*z[1]")
    _, y, out = space.arguments
    y[0] = 2.0
    assert space.call() is True
    assert out.tolist() == [1.0, 0.5]
    y[0] = 0.0
    assert space.call() is False
    answers, _ = straight("if not x[0] > 0.0: return False; y[0] = x[0]; return True", (1, 1))
    for value in (1.0, -1.0, 2.0):  # the result stands for a moment where the address of x does
        answers.arguments[0][0] = value
        assert answers.call() is (value > 0)
    assert answers.arguments[1][0] == 2.0


def test_a_branch_that_is_not_taken_may_be_undefined() -> None:
    space, _ = straight("z[0] = log(x) if x > 0.0 else 1/y")
    (x, y, out) = space.arguments
    x[0], y[0] = 1.0, 0.0
    assert space.call()
    x[0], y[0] = -1.0, 4.0
    assert space.call()
    assert out[0] == 0.25


def test_straight_lines_are_kept_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def kept(x: float, out: list):\n    out[0] = x**5\n"
    module = module_of(text)
    first = llvm.checked_functions(module, ["kept"])["kept"]
    monkeypatch.setattr(llvm, "_translated", None)
    again = llvm.checked_functions(module, ["kept"])["kept"]
    for entrance in (first, again):
        space = Workspace(entrance, (None, 1))
        space.arguments[0][0] = 1.7
        assert space.call()
        assert space.arguments[1][0] == pytest.approx(1.7**5, rel=1e-12)


def test_arrays_that_must_not_be_written_are_taken_and_others_refused() -> None:
    compiled, _ = both("from __future__ import annotations\n\n\ndef f(x: Vector, i: int) -> float:\n    return x[i]\n")
    frozen = np.arange(3.0)
    frozen.setflags(write=False)
    assert compiled(frozen, 2) == 2.0
    for wrong in (np.arange(3), np.zeros((2, 2)), np.zeros(6)[::2], [1.0]):
        with pytest.raises(TypeError, match="contiguous array of float64 with 1 axes"):
            compiled(wrong, 0)
