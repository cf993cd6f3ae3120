"""Every backend gets a program in the form that it is made for: the non-zeros, not a full matrix of them.

What is asserted is what the backend was handed, never a time.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.solver import Solver, make_solver, missing_packages
from gaussopt.families.linkage import RandomLinkage

BACKENDS = {"osqp": ("osqp", "OSQP", ("setup", "update")), "piqp:sparse": ("piqp", "SparseSolver", ("setup", "update")),
            "proxqp:sparse": ("proxsuite.proxqp.sparse", "QP", ("init", "update"))}  # fmt: skip
"""Module and class of the backend that the adapter asks, and the calls that take matrices."""

HERE = [n for n in BACKENDS if not missing_packages(registry.load("solver", n.partition(":")[0]))]
TWO = [name.partition(":")[0] for name in HERE if ":" in name]


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[tuple[str, dict[str, int]]]]:
    """Calls of a backend with the numbers of entries that came with them, oldest first."""

    def watch(name: str) -> list[tuple[str, dict[str, int]]]:
        place, cls, methods = BACKENDS[name]
        package, *inner = place.split(".")
        module = functools.reduce(getattr, inner, importlib.import_module(package))
        calls: list[tuple[str, dict[str, int]]] = []

        def watched(method: str) -> Callable[..., Any]:
            def called(self: Any, *given: Any, **named: Any) -> Any:
                named_all = {**dict(zip(("P", "q", "A", "l", "u"), given, strict=False)), **named}
                matrices = {k: v for k, v in named_all.items() if sparse.issparse(v) or k in ("Px", "Ax")}
                calls.append((method, {k: v.nnz if sparse.issparse(v) else len(v) for k, v in matrices.items()}))
                return getattr(super(watcher, self), method)(*given, **named)

            return called

        watcher: Any = type(cls, (getattr(module, cls),), {method: watched(method) for method in methods})
        monkeypatch.setattr(module, cls, watcher)
        return calls

    return watch


def linkage(bodies: int, count: int) -> list[go.QP]:
    """Gauss programs of a linkage's successive states."""
    programs = [go.formulate(step, "gauss") for step in RandomLinkage().steps({"bodies": bodies}, count)]
    assert all(isinstance(qp, go.QP) for qp in programs)
    return programs  # type: ignore[return-value]


def along(solver: Solver[Any], programs: list[go.QP]) -> list[np.ndarray]:
    """Answers of a solver that is set up once."""
    found = []
    for k, qp in enumerate(programs):
        (solver.update if k else solver.setup)(qp)
        x = solver.solve(None).x
        assert x is not None
        found.append(x)
    return found


def entries(qp: go.QP) -> int:
    return int(np.count_nonzero(qp.P) + np.count_nonzero(qp.A))


def test_osqp_gets_the_non_zeros_of_a_linkage(handed: Any) -> None:
    calls, qp = handed("osqp"), linkage(30, 1)[0]
    along(make_solver("osqp"), [qp])
    (method, counts), upper = calls[0], np.count_nonzero(np.triu(qp.P))
    assert (method, counts) == ("setup", {"P": upper, "A": np.count_nonzero(qp.A)})
    assert sum(counts.values()) < 0.05 * (qp.P.size + qp.A.size)


@pytest.mark.parametrize("name", [name for name in HERE if ":" in name])
def test_the_sparse_interfaces_get_the_non_zeros_of_a_linkage(name: str, handed: Any) -> None:
    calls, qp = handed(name), linkage(30, 1)[0]
    along(make_solver(name), [qp])
    assert sum(calls[0][1].values()) == entries(qp)


@pytest.mark.parametrize("name", HERE)
def test_the_states_of_a_motion_are_updates(name: str, handed: Any) -> None:
    calls, programs = handed(name), linkage(10, 4)
    found = along(make_solver(name), programs)
    assert [method in ("setup", "init") for method, _ in calls] == [True, False, False, False]
    for qp, x in zip(programs, found, strict=True):
        np.testing.assert_allclose(x, go.solve(qp, "kkt").x, rtol=0, atol=1e-8)


def changing() -> list[go.QP]:
    """Programs of one shape whose entries come and go: off the diagonal of P, in equalities and in inequalities."""
    rng = np.random.default_rng(7)
    programs = []
    for full in (0.0, 1.0, 0.0, 0.5):
        P = np.diag(rng.uniform(1.0, 2.0, 5))
        P[0, 3] = P[3, 0] = 0.3 * full
        A = np.array([[1.0, full, 0, 0, 0], [0, 0, 1.0, 0, full], [full, 0, 0, 1.0, 0]])
        x = rng.standard_normal(5)
        z = A @ x
        programs.append(
            go.QP(P, rng.standard_normal(5), A, z - np.array([0, 0.1, 0.1]), z + np.array([0, 0.1, np.inf]))
        )
    return programs


@pytest.mark.parametrize("name", HERE)
def test_places_are_the_union_over_a_sequence(name: str, handed: Any) -> None:
    """A new place is a set-up, an entry that vanishes or comes back is none, and every answer is right."""
    calls, programs = handed(name), changing()
    found = along(make_solver(name), programs)
    few, many = (sum(counts.values()) for _, counts in calls[:2])
    whole = [entries(qp) - (1 if name == "osqp" and qp.P[0, 3] else 0) for qp in programs]  # one triangle of P
    assert (few, many) == (whole[0], whole[1])
    assert [method in ("setup", "init") for method, _ in calls] == [True, True, False, False]
    assert [sum(counts.values()) for _, counts in calls[2:]] == [many, many]
    for qp, x in zip(programs, found, strict=True):
        np.testing.assert_allclose(x, go.solve(qp, "daqp").x, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", TWO)
def test_two_interfaces_one_answer(name: str) -> None:
    """Chosen by size and density, or by name; an interface that does not fit is refused in a sentence."""
    small, large, full = linkage(3, 1)[0], linkage(30, 1)[0], linkage(30, 1)[0]
    full = go.QP(full.P + 0.01, full.q, full.A, full.l, full.l)
    for qp, columns in ((small, False), (large, True), (full, False)):
        chosen, dense, columnar = (make_solver(n) for n in (name, f"{name}:dense", f"{name}:sparse"))
        x = [along(solver, [qp])[0] for solver in (chosen, dense, columnar)]
        assert [s.as_columns for s in (chosen, dense, columnar)] == [columns, False, True]  # type: ignore[attr-defined]
        np.testing.assert_allclose(x[1], x[2], rtol=0, atol=1e-9 * (1 + np.abs(x[1]).max()))
    columns_only = go.QP.from_mapping({"P": sparse.csr_array(small.P), "q": small.q, "A": sparse.csr_array(small.A),
                                       "l": small.l, "u": small.l})  # fmt: skip
    np.testing.assert_allclose(go.solve(columns_only, name).x, go.solve(small, "kkt").x, rtol=0, atol=1e-9)
    with pytest.raises(go.NotAccepted, match=f"use {name}:sparse"):
        go.solve(columns_only, f"{name}:dense")


@pytest.mark.parametrize("name", HERE)
def test_sparse_programs_whose_places_change(name: str) -> None:
    """An adapter that is updated by hand with other places takes them in."""
    programs = linkage(5, 2)
    more = programs[1].P + 0.01
    programs.append(go.QP(more, programs[1].q, programs[1].A, programs[1].l, programs[1].l))
    given = [go.QP(sparse.csr_array(q.P), q.q, sparse.csr_array(q.A), q.l, q.l) for q in programs]  # type: ignore[arg-type]
    for qp, x in zip(programs, along(make_solver(name), given), strict=True):
        np.testing.assert_allclose(x, go.solve(qp, "kkt").x, rtol=0, atol=1e-7)
