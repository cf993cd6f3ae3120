"""The certificate of sparse programs with inequalities: against exact answers, and on large programs."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from samples import sample
from scipy.io import savemat
from scipy.sparse import csr_array, diags_array, eye_array
from soundness.judge import convex
from soundness.trials import findings, lies, qp_families, work

import gaussopt as go
from gaussopt.certificates import qp_sparse
from gaussopt.certificates.qp import classify_qp
from gaussopt.cli.main import run
from gaussopt.core.status import Status
from gaussopt.interchange import quadratic
from gaussopt.interchange.quadratic import read
from gaussopt.solving.defaults import default_solver


@pytest.fixture
def always_sparse(monkeypatch):
    """Sparse programs stay sparse, however small they are."""
    monkeypatch.setattr(qp_sparse, "ENTRIES", 0)


@pytest.mark.parametrize("draws_and_least", sample([(50, 60)], [(150, 180)]))
@pytest.mark.usefixtures("always_sparse")
def test_random_programs_against_exact_answers(draws_and_least):
    """No answer that is off by more than 1e-5 passes, solvable programs are called so, most right answers pass."""
    draws, least = draws_and_least
    rng, names = np.random.default_rng(5), list(qp_families.QPS)
    passed = refused = bounded = 0
    for number in range(draws):
        data = work.without_infinity(work.arrays(qp_families.QPS[names[number % len(names)]][1](rng)))
        try:
            dense = go.QP.from_mapping(data)
        except go.BadInput:
            continue
        if dense.equalities_only:
            continue
        qp = go.QP(csr_array(dense.P), dense.q, csr_array(dense.A), dense.l, dense.u)
        truth = convex.judge(data["P"], data["q"], data["A"], data["l"], data["u"])
        assert classify_qp(qp) in ("solved", truth.verdict)
        if truth.verdict != "solved":
            continue
        assert truth.x is not None
        answers = [(x, None) for _, x in lies.runaways(rng, dense, np.array(truth.x.floats()))]
        found = [go.solve(dense, solver) for solver in ("daqp", "piqp")]
        answers += [(a.x, a.y) for a in found if a.x is not None]
        right = [a.x for a in found if a.status is Status.SOLVED]
        for x, y in answers:
            c = go.certify_qp(qp, x, y)
            passed, refused = passed + c.passed(), refused + (not c.passed() and any(x is a for a in right))
            bounded += c.passed() and np.isfinite(c.error_bound)
            if c.passed():
                claim = findings.Claim("solved", x.tolist(), error_bound=c.error_bound, objective_gap=c.objective_gap)
                finding = findings.of_qp(truth, claim)
                assert finding.outcome != findings.WRONG or 0 < finding.number < 1e-5
    assert passed > least
    assert refused < 0.06 * passed
    assert bounded > 0.8 * passed


def chain(n: int) -> go.QP:
    """A coupled P, n unknowns between bounds that some of them rest on."""
    P = csr_array(diags_array([np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], offsets=[0, 1, -1]))
    q = np.cos(np.arange(n))
    A = csr_array(eye_array(n))
    return go.QP.from_mapping({"P": P, "q": q, "A": A, "l": np.full(n, -0.4), "u": np.full(n, 0.4)})


@pytest.mark.parametrize("solver", ["clarabel", "osqp", "piqp"])
def test_solvers_of_sparse_programs_take_inequalities(solver):
    """Beyond the size up to which the certificate of the dense program is made."""
    qp = chain(1500)
    try:
        found = go.solve(qp, solver)
    except go.MissingBackend:
        pytest.skip("its package is missing")
    assert found.status is Status.SOLVED
    assert found.x is not None
    c = go.certify_qp(qp, found.x)
    assert c.passed()
    assert c.relative_error < 1e-7
    assert not go.certify_qp(qp, found.x + 1e-4 * np.sin(np.arange(qp.n))).passed()
    assert not go.certify_qp(qp, np.clip(found.x, -0.39, 0.39)).passed()


def test_the_solver_that_is_taken_by_default_and_those_that_refuse():
    qp = chain(20)
    assert default_solver(qp) == "clarabel"
    with pytest.raises(go.NotAccepted, match="inequalities"):
        go.solve(qp, "sparse-kkt")
    with pytest.raises(go.NotAccepted, match=r"clarabel, osqp"):
        go.solve(qp, "daqp")


def test_the_command_solves_a_sparse_file(tmp_path, capsys):
    (tmp_path / "chain.json").write_text(json.dumps(chain(20).to_mapping()))
    assert run(["solve", str(tmp_path / "chain.json"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["solver"]) == ("solved", "clarabel")


def test_contradictions_and_free_descents_are_named():
    qp = chain(1100)
    rows = csr_array(np.vstack((np.eye(1, 1100), np.eye(1, 1100))))
    apart = go.QP(qp.P, qp.q, rows, np.array([1.0, -np.inf]), np.array([np.inf, 0.5]))
    assert go.solve(apart, "clarabel").status is Status.INFEASIBLE
    free = go.QP(csr_array((1100, 1100)), qp.q, qp.A, np.full(1100, -np.inf), qp.u)
    assert go.solve(free, "clarabel").status is Status.UNBOUNDED


def test_an_indefinite_coupled_matrix_is_refused():
    P = chain(300).P - 3.0 * eye_array(300)
    with pytest.raises(go.BadInput, match="P is indefinite"):
        go.QP.from_mapping({"P": csr_array(P), "q": np.zeros(300)})


def test_large_programs_of_files_stay_sparse():
    qp, file = chain(3000), io.BytesIO()
    savemat(file, {"P": qp.P.tocsc(), "q": qp.q, "A": qp.A.tocsc(), "l": qp.l, "u": qp.u}, do_compression=True)
    found = read(file.getvalue())
    assert found is not None
    assert found.sparse
    assert (found.n, found.m) == (3000, 3000)
    assert go.QP.from_mapping(found.to_mapping()).sparse


def test_a_small_file_that_unpacks_to_much_is_refused(monkeypatch):
    monkeypatch.setattr(quadratic, "MOST_BYTES", quadratic.MOST_BYTES // 20)
    n, entries, file = 20_000, 1_000_000, io.BytesIO()
    many = csr_array((np.zeros(entries), np.zeros(entries, dtype=np.int32), np.linspace(0, entries, n + 1).astype(int)))
    many.resize((n, n))
    savemat(
        file,
        {"P": many.tocsc(), "q": np.zeros(n), "A": many[:1], "l": np.zeros(1), "u": np.zeros(1)},
        do_compression=True,
    )
    assert len(file.getvalue()) < 250_000
    with pytest.raises(go.BadInput, match="unpacks to more than"):
        read(file.getvalue())
