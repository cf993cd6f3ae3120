"""Paper 001, Yao, Liu & Yang 2020: Coulomb friction by a quadratic program of normal forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaussopt.catalogue import Problem, problem
from gaussopt.papers import _common as common
from gaussopt.papers import _contact_motions as motions
from gaussopt.papers import _contact_steps as steps
from gaussopt.papers import _formulas as f
from gaussopt.papers import _painleve as painleve
from gaussopt.papers._common import Results
from gaussopt.papers._contact_steps import EQUAL, OnSteps, Programs
from gaussopt.reporting.document import Block, Formula, Paragraph, Section, Table
from gaussopt.work import Case, Outcome

PROBLEM = "two-bar"
ROD = "sliding-rod"


# -- the work ------------------------------------------------------------------------------------------


def cases(quick: bool) -> list[Case]:
    """Everything that is computed for this paper."""
    errata = common.errata_cases(PROBLEM, {"001-1": 0.5}) + common.errata_cases(ROD, {})
    return motions.cases(quick) + painleve.cases(quick) + steps.cases(quick) + errata


# -- the text ------------------------------------------------------------------------------------------


def section(outcomes: dict[str, Outcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """The paper's section and the findings for the summary."""
    results = Results(outcomes)
    bars, rod = problem(PROBLEM), problem(ROD)
    findings: list[str] = []
    parts = (
        _model(bars, rod),
        _method(results),
        *motions.sections(results, findings),
        painleve.section(results, findings),
        steps.section(results, findings),
        common.claims_section("001", _claims(results, findings)),
        common.errata_section(_both(bars, rod), "001", results, findings),
    )
    title = "Paper 001: Coulomb friction, a quadratic program of normal forces (Yao, Liu & Yang 2020)"
    lead = f"{bars.title}: {bars.description} {rod.title}: {rod.description}"
    return Section("paper-001", title, (Paragraph(lead),), parts), tuple(findings)


def _both(bars: Problem, rod: Problem) -> Problem:
    """One entry with the errata and notes of both problems."""
    return replace(bars, errata=bars.errata + rod.errata, notes=bars.notes + rod.notes)


def _model(bars: Problem, rod: Problem) -> Section:
    text = (
        "Two bars AB and BC of length l are hinged at B; A and C may touch the floor. Coordinates q = (x, y, θ₁, θ₂): "
        "centroid and angle from the horizontal of AB, angle of BC from the vertical. The rod has q = (x, y, θ), its "
        "centroid and angle from the horizontal; its lower end A may touch the floor. A contact is given by the "
        "position of its point. Gaps, slips, their rows J_N and J_T and the velocity terms ζ_N and ζ_T are derived. "
        "The two bars are also built in the coordinates of both bars, with two rows for the hinge."
    )
    starts = Table(
        "cases-001", "Cases; what is not listed is as in the tables of parameters.",
        ("problem", "case", "what", "values", "end / s"),
        tuple(
            (entry.name, name, case.description, ", ".join(f"{k} = {v:.6g}" for k, v in case.values.items()),
             case.t_end)
            for entry in (bars, rod) for name, case in entry.cases.items()
        ),
    )  # fmt: skip
    tables = (
        common.parameters_table(bars, "parameters-001", "Parameters of the two bars."),
        common.parameters_table(rod, "parameters-001-rod", "Parameters of the rod."),
        starts,
    )
    return Section("model-001", "Model", (Paragraph(text), *tables))


# -- the method ----------------------------------------------------------------------------------------

_A, _B, _W = f.i("A"), f.i("b"), f.i("w")
_N = f.sub(f.i("λ"), f.i("N"))
_JN, _JT = f.sub(f.i("J"), f.i("N")), f.sub(f.i("J"), f.i("T"))
_MAP = f.paren(f.sup(_JN, f.T), f.o("+"), f.sup(_JT, f.T), f.i("μ"), f.i("σ"))
_MINIMISE = f"<munder>{f.i('min')}{_N}</munder>"
_QUADRATIC = (f.HALF, f"<msubsup>{f.i('λ')}{f.i('N')}{f.T}</msubsup>")
_ROWS = (f.words("subject to"), _A, _N, f.o("+"), _B, f.o("≥"), f.n(0))


def _formulas() -> dict[str, Formula]:
    """The formulas of the method, by name."""
    D, eta, ell = f.i("D"), f.i("η"), f.i("ℓ")
    k, next_k = f.i("k"), f.row(f.i("k"), f.o("+"), f.n(1))
    a = f.i("a")
    return {
        "motion": f.formula(
            "M a + h = Q + J^T lam + (J_N^T + J_T^T mu sigma) lam_N,   sigma = -sgn v_T,   w = J_N a + zeta_N",
            f.i("M"), a, f.o("+"), f.i("h"), f.o("="), f.i("Q"), f.o("+"), f.sup(f.i("J"), f.T), f.i("λ"), f.o("+"),
            _MAP, _N, f.o(","), f.gap(), f.i("σ"), f.o("="), f.o("−"), f.i("sgn"), f.sub(f.i("v"), f.i("T")), f.o(","),
            f.gap(), _W, f.o("="), _JN, a, f.o("+"), f.sub(f.i("ζ"), f.i("N")),
        ),
        "operator": f.formula(
            "w = A lam_N + b,   A = J_N K (J_N^T + J_T^T mu sigma),   b = J_N a_J + zeta_N",
            _W, f.o("="), _A, _N, f.o("+"), _B, f.o(","), f.gap(), _A, f.o("="), _JN, f.i("K"), _MAP, f.o(","), f.gap(),
            _B, f.o("="), _JN, f.sub(a, f.i("J")), f.o("+"), f.sub(f.i("ζ"), f.i("N")),
        ),
        "printed": f.formula(
            "(29)   min 1/2 lam_N^T A lam_N   subject to   A lam_N + b >= 0",
            f.words("(29)"), _MINIMISE, *_QUADRATIC, _A, _N, *_ROWS,
        ),
        "lcp": f.formula(
            "0 <= lam_N,   w = A lam_N + b >= 0,   lam_N^T w = 0",
            f.n(0), f.o("≤"), _N, f.o(","), f.gap(), _W, f.o("="), _A, _N, f.o("+"), _B, f.o("≥"), f.n(0), f.o(","),
            f.gap(), f"<msubsup>{f.i('λ')}{f.i('N')}{f.T}</msubsup>", _W, f.o("="), f.n(0),
        ),
        "criterion": f.formula(
            "eta = 1/2 (I + A^-T A) lam_N >= 0   and   eta_i = 0 wherever w_i > 0",
            eta, f.o("="), f.HALF, f.paren(f.i("I"), f.o("+"), f.sup(_A, f.row(f.o("−"), f.T)), _A), _N, f.o("≥"),
            f.n(0), f.words("and"), f.sub(eta, f.i("i")), f.o("="), f.n(0), f.words("wherever"), f.sub(_W, f.i("i")),
            f.o(">"), f.n(0),
        ),
        "weighted": f.formula(
            "min 1/2 lam_N^T D A lam_N   subject to   A lam_N + b >= 0,   D > 0 diagonal,   D A = (D A)^T",
            _MINIMISE, *_QUADRATIC, D, _A, _N, *_ROWS, f.o(","), f.gap(), D, f.o(">"), f.n(0), f.words("diagonal,"),
            D, _A, f.o("="), f.sup(f.paren(D, _A), f.T),
        ),
        "joints": f.formula(
            "min 1/2 lam_N^T A lam_N - 1/2 ell^T lam_N   subject to   A lam_N + b >= 0,   "
            "ell = sigma mu J_T (a_J - a_0)",
            _MINIMISE, *_QUADRATIC, _A, _N, f.o("−"), f.HALF, f.sup(ell, f.T), _N, *_ROWS, f.o(","), f.gap(), ell,
            f.o("="), f.i("σ"), f.i("μ"), _JT, f.paren(f.sub(a, f.i("J")), f.o("−"), f.sub(a, f.n(0))),
        ),
        "frozen": f.formula(
            "a^(k+1) = argmin 1/2 a^T M a - a^T (Q - h + J_T^T mu sigma lam_N^k)   subject to   J a = gamma,   "
            "J_N a + zeta_N >= 0",
            f.sup(a, next_k), f.o("="), f.i("argmin"), f.HALF, f.sup(a, f.T), f.i("M"), a, f.o("−"), f.sup(a, f.T),
            f.paren(f.i("Q"), f.o("−"), f.i("h"), f.o("+"), f.sup(_JT, f.T), f.i("μ"), f.i("σ"),
                    f"<msubsup>{f.i('λ')}{f.i('N')}{k}</msubsup>"),
            f.words("subject to"), f.i("J"), a, f.o("="), f.i("γ"), f.o(","), f.gap(), _JN, a, f.o("+"),
            f.sub(f.i("ζ"), f.i("N")), f.o("≥"), f.n(0),
        ),
        "contraction": f.formula(
            "rho = || A_0^(-1/2) C A_0^(-1/2) ||,   A_0 = J_N K J_N^T,   C = A - A_0",
            f.i("ϱ"), f.o("="), f.o("‖"), f.sup(f.sub(_A, f.n(0)), f.row(f.o("−"), f.n("1/2"))), f.i("C"),
            f.sup(f.sub(_A, f.n(0)), f.row(f.o("−"), f.n("1/2"))), f.o("‖"), f.o(","), f.gap(), f.sub(_A, f.n(0)),
            f.o("="), _JN, f.i("K"), f.sup(_JN, f.T), f.o(","), f.gap(), f.i("C"), f.o("="), _A, f.o("−"),
            f.sub(_A, f.n(0)),
        ),
    }  # fmt: skip


def _method(results: Results) -> Section:
    formulas = _formulas()
    blocks: list[Block] = [
        Paragraph("Sliding friction is a known multiple of the normal force, against the slip:"),
        formulas["motion"],
        Paragraph(
            "With the joints eliminated (K is M⁻¹ restricted to the directions they leave free, a_J the acceleration "
            "without contact forces) the gap accelerations are linear in the normal forces:"
        ),
        formulas["operator"],
        Paragraph("The source finds the normal forces by the quadratic program normal-force-qp,"),
        formulas["printed"],
        Paragraph("The laws of contact are the linear complementarity problem lcp,"),
        formulas["lcp"],
        Paragraph(
            "The quadratic form is a potential of the source's variational condition only if A is symmetric, and "
            "friction makes it unsymmetric. For positive definite A the program returns the forces of the LCP exactly "
            "if those forces satisfy"
        ),
        formulas["criterion"],
        Paragraph(
            "which holds for symmetric A and for one contact, and fails as a rule where one of two contacts opens. "
            "Weights repair it where they exist (weighted-normal-force-qp): the optimality conditions are then the LCP."
        ),
        formulas["weighted"],
        Paragraph(
            "With joints kept, eq. (24) of the source minimises over all ideal forces (joint-force-qp). Eliminating "
            "the joints from it leaves a term that (29) does not have, so that it is wrong already for one contact:"
        ),
        formulas["joints"],
        Paragraph(
            "Eqs. (22) and (25) take a force that is known in advance into Gauss's principle, which is right. Coulomb "
            "friction is not known in advance, but the principle may be iterated (frozen-friction); its fixed points "
            "are the solutions of the LCP, and it converges if ϱ < 1:"
        ),
        formulas["frozen"],
        formulas["contraction"],
    ]
    found: list[Programs] | None = results.value("programs")
    if found:
        blocks.append(Table(
            "frozen-001",
            "Frozen friction on states of the two bars (both ends on the floor, sliding to the left, no rotation). The "
            "first iterate has no friction at all.",
            ("state", "ϱ", "programs", "N_A / N", "N_C / N", "first iterate wrong by / N", "error at the end / N"),
            tuple((p.label, p.contraction, p.count, p.lcp[0], p.lcp[1], float(np.abs(p.first - p.lcp).max()),
                   float("nan") if p.frozen is None else float(np.abs(p.frozen - p.lcp).max())) for p in found),
        ))  # fmt: skip
    return Section("method-001", "Method", tuple(blocks))


# -- claims --------------------------------------------------------------------------------------------


def _claims(results: Results, findings: list[str]) -> Sequence[tuple[str, str, str]]:
    found: list[Programs] = results.value("programs") or []
    rows = []
    if found:
        rows += [
            _minimum_principle(results, found, findings),
            _equivalence(found),
            _convex_model(found),
            _prescribed(found),
        ]
    rows += _agrees_with_physics(results)
    return rows


def _split(found: Sequence[Programs]) -> tuple[list[Programs], list[Programs]]:
    """States on which eq. (29) returns the forces of the LCP, and the others."""
    return [p for p in found if p.misses(p.printed) <= EQUAL], [p for p in found if not p.misses(p.printed) <= EQUAL]


def _minimum_principle(results: Results, found: Sequence[Programs], findings: list[str]) -> tuple[str, str, str]:
    same, other = _split(found)
    predicted = sum(p.predicts == (p in same) for p in found)
    worst = max(other, key=lambda p: p.misses(p.printed), default=None)
    tensile = min((float(p.printed.min()) for p in other if p.printed is not None), default=0.0)
    words = [f"two bars: equal to the LCP on {len(same)} of {len(found)} states"]
    if worst is not None and worst.printed is not None:
        words.append(
            f"off by {min(p.misses(p.printed) for p in other):.1%} to {worst.misses(worst.printed):.1%} on the others, "
            f"with forces down to {tensile:.4g} N (tensile)"
        )
    words.append(f"the criterion predicts {predicted} of {len(found)}")
    rod: OnSteps | None = results.value("steps: rod: normal-force-qp")
    if rod is not None:
        newton = next((r for r in rod.results if r.pair.solver == "newton"), None)
        if newton is not None:
            words.append(f"one contact (rod): error of the forces at most {newton.force_error:.1e} N")
    apart = [p for p in found if p.printed is not None and p.joint is not None
             and np.abs(p.printed - p.joint).max() > EQUAL * np.abs(p.lcp).max()]  # fmt: skip
    if apart:
        words.append(
            f"with the hinge kept, eq. (24) differs from (29) on {', '.join(p.label for p in apart)}: N_C = "
            + ", ".join(f"{p.joint[1]:.5g} N instead of {p.printed[1]:.5g} N" for p in apart
                        if p.joint is not None and p.printed is not None)
        )  # fmt: skip
    if other:
        findings.append(
            f"The printed program (29) returns the forces of mechanics on {len(same)} of {len(found)} states of the "
            f"two bars with both ends on the floor and forces down to {tensile:.4g} N on the others, where C lifts "
            f"off. The criterion predicts {predicted} of {len(found)}."
        )
    verdict = "true" if not other else "false" if not same else "true under conditions"
    return "½ λᵀAλ is a minimum principle for positive definite A", verdict, "; ".join(words)


def _equivalence(found: Sequence[Programs]) -> tuple[str, str, str]:
    _, other = _split(found)
    unique = [p for p in other if p.definite]
    weighted = [p for p in found if p.weighted is not None]
    worst = max((p.misses(p.weighted) for p in weighted), default=float("nan"))
    verdict = "false" if unique else "true"
    return (
        "where the solution is unique, the quadratic program and the LCP are necessary and sufficient for each other",
        verdict,
        f"A is positive definite, so that both have exactly one solution, and they differ on {len(unique)} of "
        f"{sum(p.definite for p in found)} such states; with weights they agree to {worst:.1e} on all {len(weighted)} "
        "states that have weights",
    )


def _convex_model(found: Sequence[Programs]) -> tuple[str, str, str]:
    _, other = _split(found)
    without = [p.label for p in found if p.definite and p.weighted is None]
    mended = [p for p in other if p.weighted is not None and p.misses(p.weighted) <= EQUAL]
    if not other:
        verdict = "true"
    elif mended:
        verdict = "false as printed; true with weights where they exist"
    else:
        verdict = "false"
    words = (
        f"the printed objective is strictly convex and wrong on {len(other)} states; weights mend {len(mended)} of them"
    )
    if without:
        words += f"; no weights exist at {', '.join(without)} although A is positive definite"
    return "for positive definite A there is a strictly convex model, contrary to Pfeiffer", verdict, words


def _prescribed(found: Sequence[Programs]) -> tuple[str, str, str]:
    known = max(p.prescribed for p in found)
    once = max(float(np.abs(p.first - p.lcp).max()) for p in found)
    iterated = [p for p in found if p.frozen is not None]
    last = max((float(np.abs(p.frozen - p.lcp).max()) for p in iterated if p.frozen is not None), default=float("nan"))
    works, fails = known < 1e-8, once > 1e-3
    verdict = "true for one solve; iterated it converges if ϱ < 1" if works and fails else "true" if works else "false"
    return (
        "a non-ideal force known in advance may be put into Gauss's principle; one that depends on the contact forces "
        "may not",
        verdict,
        f"with the true friction given in advance the acceleration is right to {known:.1e}; one solve without friction "
        f"is wrong by up to {once:.4g} N; iterated with ϱ up to {max(p.contraction for p in iterated):.3f} it reaches "
        f"{last:.1e} N after at most {max(p.count for p in iterated)} programs",
    )


def _agrees_with_physics(results: Results) -> list[tuple[str, str, str]]:
    start = results.trajectory("air: printed formulas, F = g = 0")
    loaded = results.trajectory(f"air: {next(iter(motions.AIR))}")
    runs = motions.pair_of(results, "two-bar-contact")
    if start is None or len(runs) < len(motions.PAIRS):
        return []
    q, N = motions.difference(*runs.values())
    grounded = bool(np.abs(start.gap[0]).max() < 1e-9)
    words = [
        f"the printed start is {start.gap[0].min():.4f} m above the floor; with F = g = 0 no contact force ever arises"
    ]
    if loaded is not None:
        words.append(f"with a load the printed loop presses {loaded.lam_N[0].min():.3g} N and more from there")
    fed = results.trajectory("energy: printed sign")
    if fed is not None:
        words.append(f"the printed sign of friction feeds {fed.energy[-1] - fed.energy[0]:.4f} J in {fed.t[-1]:g} s")
    words.append(
        f"on the reconstruction the quadratic program and the LCP agree ({q:.1e} in the coordinates, {N:.1e} N)"
    )
    verdict = "true" if grounded else "cannot be reproduced as printed; the reconstruction is regular"
    return [("the simulation of the two bars agrees with physics", verdict, "; ".join(words))]
