"""Calls of backends as their documentation shows them, without gaussopt: set up and solve; then new numbers.

Each call takes a program as gaussopt has it, P, q, A, l, u, in NumPy arrays or compressed rows, and turns it into what
the backend takes. `begin` returns what `again` goes on with, and the answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import gaussopt as go

Found = tuple[Any, Any]


class Kept:
    """A matrix of known places as compressed columns: made once, then new values only."""

    def __init__(self, A: Any, part: Any = sparse.csc_matrix) -> None:
        self.matrix = sparse.csc_matrix(part(sparse.csc_matrix(A)))
        numbered = sparse.csr_array(A) if not sparse.issparse(A) else sparse.csr_array(A, copy=True)
        numbered.data = np.arange(1.0, numbered.nnz + 1)
        self.order = sparse.csc_matrix(part(sparse.csc_matrix(numbered))).data.astype(int) - 1
        rows, columns = self.matrix.indices, np.repeat(np.arange(A.shape[1]), np.diff(self.matrix.indptr))
        self.places = rows, columns

    def values(self, A: Any) -> Any:
        """New values, by columns."""
        return A.data[self.order] if sparse.issparse(A) else A[self.places]

    def renewed(self, A: Any) -> Any:
        """The matrix with new values."""
        self.matrix.data = self.values(A)
        return self.matrix


def upper(A: Any) -> Any:
    """The upper triangle."""
    return sparse.triu(A, format="csc")


def lower(A: Any) -> Any:
    """The lower triangle."""
    return sparse.tril(A, format="csc")


def columns(matrices: dict[str, Any], dense: bool, kept: Any) -> dict[str, Any]:
    """The matrices as a dense interface takes them, or as compressed columns, by new values where they are kept."""
    if dense:
        return matrices
    if kept is None:
        return {name: sparse.csc_matrix(A) for name, A in matrices.items()}
    for name, A in matrices.items():
        if name not in kept:
            kept[name] = Kept(A)
    return {name: kept[name].renewed(A) for name, A in matrices.items()}


class OSQP:
    """osqp.org: setup with the upper triangle of P, then update of values; polish as it is set."""

    @staticmethod
    def begin(qp: go.QP, settings: Any) -> Found:
        """Set up and solve."""
        import osqp

        given = {k: v for k, v in vars(settings).items() if k != "time_limit"}
        P, A = upper(sparse.csc_matrix(qp.P)), sparse.csc_matrix(qp.A)
        model = osqp.OSQP()
        model.setup(P, qp.q, A, qp.l, qp.u, verbose=False, warm_starting=False, **given)
        return (model, {}), model.solve().x

    @staticmethod
    def again(state: Any, qp: go.QP, settings: Any) -> Found:
        """Give it new numbers and solve."""
        model, kept = state
        if not kept:
            kept |= {"P": Kept(qp.P, upper), "A": Kept(qp.A)}
        model.update(q=qp.q, l=qp.l, u=qp.u, Px=kept["P"].values(qp.P), Ax=kept["A"].values(qp.A))
        return state, model.solve().x


class PIQP:
    """PIQP's dense or sparse solver: rows split into equalities and two-sided rows."""

    def __init__(self, dense: bool) -> None:
        self.dense = dense

    def _data(self, qp: go.QP, kept: Any = None) -> dict[str, Any]:
        eq = qp.l == qp.u
        matrices = columns({"P": qp.P, "A": qp.A[eq], "G": qp.A[~eq]}, self.dense, kept)
        return matrices | {"c": qp.q, "b": qp.l[eq], "h_l": qp.l[~eq], "h_u": qp.u[~eq]}

    def begin(self, qp: go.QP, settings: Any) -> Found:
        """Set up and solve."""
        import piqp

        solver = piqp.DenseSolver() if self.dense else piqp.SparseSolver()
        solver.settings.compute_timings = True
        for key, value in vars(settings).items():
            setattr(solver.settings, key, value)
        solver.setup(**self._data(qp))
        solver.solve()
        return (solver, {}), np.array(solver.result.x)

    def again(self, state: Any, qp: go.QP, settings: Any) -> Found:
        """Give it new numbers and solve."""
        solver, kept = state
        data = self._data(qp, kept)
        solver.update(**data)
        solver.solve()
        return state, np.array(solver.result.x)


class ProxQP:
    """ProxQP's dense or sparse solver."""

    def __init__(self, dense: bool) -> None:
        self.dense = dense

    def _data(self, qp: go.QP, kept: Any = None) -> dict[str, Any]:
        eq = qp.l == qp.u
        matrices = columns({"H": qp.P, "A": qp.A[eq], "C": qp.A[~eq]}, self.dense, kept)
        return matrices | {"g": qp.q, "b": qp.l[eq], "l": qp.l[~eq], "u": qp.u[~eq]}

    def begin(self, qp: go.QP, settings: Any) -> Found:
        """Set up and solve."""
        from proxsuite import proxqp

        data = self._data(qp)
        form = proxqp.dense if self.dense else proxqp.sparse
        solver = form.QP(qp.n, len(data["b"]), len(data["l"]))
        solver.settings.initial_guess = proxqp.InitialGuess.EQUALITY_CONSTRAINED_INITIAL_GUESS
        solver.settings.compute_timings = True
        for key, value in vars(settings).items():
            setattr(solver.settings, key, value)
        solver.init(**data)
        solver.solve()
        return (solver, {}), np.array(solver.results.x)

    def again(self, state: Any, qp: go.QP, settings: Any) -> Found:
        """Give it new numbers and solve."""
        solver, kept = state
        data = self._data(qp, kept)
        solver.update(**data)
        solver.solve()
        return state, np.array(solver.results.x)


class DAQP:
    """DAQP's model: setup, then update."""

    @staticmethod
    def _data(qp: go.QP) -> tuple[Any, ...]:
        sense = np.where(qp.l == qp.u, 5, 0).astype(np.intc)
        return qp.P, qp.q, qp.A, qp.u, qp.l, sense

    def begin(self, qp: go.QP, settings: Any) -> Found:
        """Set up and solve."""
        import daqp

        model = daqp.Model()
        model.settings = {k: v for k, v in vars(settings).items() if k != "scaling"}
        model.setup(*self._data(qp))
        return model, model.solve()[0]

    def again(self, model: Any, qp: go.QP, settings: Any) -> Found:
        """Give it new numbers and solve."""
        model.update(*self._data(qp))
        return model, model.solve()[0]


def conic(qp: go.QP, kept: Any = None) -> tuple[Any, Any, Any, int, int]:
    """P, A and b of A x + s = b with s zero for equalities and not negative for the others, and their numbers."""
    eq = qp.l == qp.u
    below, above = ~eq & np.isfinite(qp.l), ~eq & np.isfinite(qp.u)
    stack: Any = sparse.vstack if sparse.issparse(qp.A) else np.vstack
    rows = stack((qp.A[eq], -qp.A[below], qp.A[above]))
    b = np.concatenate((qp.l[eq], -qp.l[below], qp.u[above]))
    numbers = int(eq.sum()), int(below.sum() + above.sum())
    if kept is None:
        return upper(sparse.csc_matrix(qp.P)), sparse.csc_matrix(rows), b, *numbers
    if not kept:
        kept |= {"P": Kept(qp.P, upper), "A": Kept(rows)}
    return (
        kept["P"].values(qp.P),
        kept["A"].values(sparse.csr_array(rows) if sparse.issparse(rows) else rows),
        b,
        *numbers,
    )


class Clarabel:
    """Clarabel: the solver is made with the data, `update` takes new values where presolve is off."""

    @staticmethod
    def begin(qp: go.QP, settings: Any) -> Found:
        """Set up and solve."""
        import clarabel

        P, A, b, equal, others = conic(qp)
        chosen = clarabel.DefaultSettings()
        chosen.verbose, chosen.presolve_enable = False, False
        for key, value in vars(settings).items():
            setattr(chosen, key, value)
        cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(others)]
        solver = clarabel.DefaultSolver(P, qp.q, A, b, cones, chosen)
        return (solver, {}), np.array(solver.solve().x)

    @staticmethod
    def again(state: Any, qp: go.QP, settings: Any) -> Found:
        """Give it new numbers and solve."""
        P, A, b, _, _ = conic(qp, state[1])
        state[0].update(P=P, q=qp.q, A=A, b=b)
        return state, np.array(state[0].solve().x)


class SCS:
    """SCS: new matrices need a new solver; its `update` takes vectors only."""

    @staticmethod
    def begin(qp: go.QP, settings: Any) -> Found:
        """Set up and solve."""
        import scs

        P, A, b, equal, others = conic(qp)
        data = {"P": P, "A": A, "b": b, "c": qp.q}
        return None, scs.SCS(data, {"z": equal, "l": others}, verbose=False, **vars(settings)).solve()["x"]

    def again(self, state: Any, qp: go.QP, settings: Any) -> Found:
        """Give it new numbers and solve."""
        return self.begin(qp, settings)


class HiGHS:
    """highspy: a model is passed to a solver object, which is kept."""

    @staticmethod
    def _solve(solver: Any, qp: go.QP) -> Any:
        import highspy

        P, A = lower(sparse.csc_matrix(qp.P)), sparse.csc_matrix(qp.A)
        model = highspy.HighsModel()
        lp, hessian = model.lp_, model.hessian_
        lp.num_col_, lp.num_row_, lp.col_cost_ = qp.n, qp.m, qp.q
        lp.col_lower_, lp.col_upper_ = np.full(qp.n, -highspy.kHighsInf), np.full(qp.n, highspy.kHighsInf)
        lp.row_lower_, lp.row_upper_ = qp.l, qp.u
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.num_row_, lp.a_matrix_.num_col_ = qp.m, qp.n
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
        hessian.dim_, hessian.start_, hessian.index_, hessian.value_ = qp.n, P.indptr, P.indices, P.data
        solver.passModel(model)
        solver.run()
        return np.array(solver.getSolution().col_value)

    def begin(self, qp: go.QP, settings: Any) -> Found:
        """Set up and solve."""
        import highspy

        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        for key, value in vars(settings).items():
            solver.setOptionValue(key, value)
        return solver, self._solve(solver, qp)

    def again(self, solver: Any, qp: go.QP, settings: Any) -> Found:
        """Give it new numbers and solve."""
        return solver, self._solve(solver, qp)


class CVXPY:
    """CVXPY with parameters, compiled once; P as a factor, because a quadratic form in a parameter is not DPP."""

    @staticmethod
    def _fill(state: Any, qp: go.QP) -> Any:
        problem, x, F, q, A, low, high, E, b = state
        eq = qp.l == qp.u
        F.value, q.value = np.linalg.cholesky(qp.P).T, qp.q
        E.value, b.value, A.value, low.value, high.value = qp.A[eq], qp.l[eq], qp.A[~eq], qp.l[~eq], qp.u[~eq]
        problem.solve(solver="CLARABEL", warm_start=False, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
        return x.value

    def begin(self, qp: go.QP, settings: Any) -> Found:
        """Set up and solve."""
        import cvxpy as cp

        n, equal = qp.n, int((qp.l == qp.u).sum())
        x, F, q = cp.Variable(n), cp.Parameter((n, n)), cp.Parameter(n)
        E, b = cp.Parameter((equal, n)), cp.Parameter(equal)
        A, low, high = cp.Parameter((qp.m - equal, n)), cp.Parameter(qp.m - equal), cp.Parameter(qp.m - equal)
        objective = cp.Minimize(0.5 * cp.sum_squares(F @ x) + q @ x)
        state = cp.Problem(objective, [E @ x == b, A @ x >= low, A @ x <= high]), x, F, q, A, low, high, E, b
        return state, self._fill(state, qp)

    def again(self, state: Any, qp: go.QP, settings: Any) -> Found:
        """Give it new numbers and solve."""
        return state, self._fill(state, qp)


class Dense:
    """NumPy on the optimality conditions of equality rows."""

    @staticmethod
    def begin(qp: go.QP, settings: Any) -> Found:
        """Set up and solve."""
        K = np.block([[qp.P, qp.A.T], [qp.A, np.zeros((qp.m, qp.m))]])
        return None, np.linalg.solve(K, np.concatenate((-qp.q, qp.l)))[: qp.n]

    def again(self, state: Any, qp: go.QP, settings: Any) -> Found:
        """Give it new numbers and solve."""
        return self.begin(qp, settings)


class Sparse:
    """SciPy's SuperLU on the optimality conditions of equality rows."""

    @staticmethod
    def begin(qp: go.QP, settings: Any) -> Found:
        """Set up and solve."""
        from scipy.sparse.linalg import splu

        K = sparse.block_array([[qp.P, qp.A.T], [qp.A, None]], format="csc")
        return None, splu(K).solve(np.concatenate((-qp.q, qp.l)))[: qp.n]

    def again(self, state: Any, qp: go.QP, settings: Any) -> Found:
        """Give it new numbers and solve."""
        return self.begin(qp, settings)


CALLS: dict[str, Any] = {
    "osqp": OSQP(), "piqp:dense": PIQP(True), "piqp:sparse": PIQP(False), "proxqp:dense": ProxQP(True),
    "proxqp:sparse": ProxQP(False), "daqp": DAQP(), "clarabel": Clarabel(), "scs": SCS(), "highs": HiGHS(),
    "cvxpy": CVXPY(), "kkt": Dense(), "sparse-kkt": Sparse(),
}  # fmt: skip
