"""A derived system shows its equations as formulas in the user's letters."""

from __future__ import annotations

import gaussopt as go
from gaussopt.modelling.chain import Chain


def test_crank_slider() -> None:
    latex = go.problem("crank-slider").system._repr_latex_()
    assert latex.startswith("$$")
    assert latex.endswith("$$")
    assert r"M \ddot q + h = Q + J^T \lambda" in latex
    assert r"\dot{\theta}_{1}^{2}" in latex  # of gamma
    assert "q_" not in latex  # our own prefix
    assert "p_" not in latex


def test_contacts_and_cancelled_products() -> None:
    system = go.problem("two-bar").system
    assert r"\cos{\left(\theta_{1} - \theta_{2} \right)}" in system._repr_latex_()
    for part in ("J_N^T", "g_N = ", "J_N = ", "v_T = ", "J_T = "):
        assert part in system._repr_latex_()
    assert "<math" in system._repr_html_()


def test_a_large_system_shows_the_form_only() -> None:
    import sympy as sp

    q, v = sp.symbols("q1:10"), sp.symbols("v1:10")
    system = go.System.from_lagrangian(q, v, kinetic=sum(b**2 for b in v) / 2, name="nine")
    assert system._repr_latex_() == r"$$\begin{gathered} M \ddot q + h = Q, \quad q \in \mathbb{R}^{9} \end{gathered}$$"
    assert "_repr_latex_" not in dir(Chain(2).system)
