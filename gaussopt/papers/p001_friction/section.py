"""Paper 001, Yao, Liu & Yang 2020: Coulomb friction by a quadratic program of normal forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaussopt.atlas.contact_study import BORDER
from gaussopt.modelling.problem import Problem, problem
from gaussopt.papers import report_parts as common
from gaussopt.papers.p001_friction import loop_and_rod, motions, painleve, steps, two_bar_motions
from gaussopt.papers.p001_friction.steps import EQUAL, Programs
from gaussopt.papers.report_parts import PaperResults
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.reporting.document import Block, Formula, Gallery, Paragraph, Section, Table, Tex
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure

PROBLEM = "two-bar"
ROD = "sliding-rod"


def cases(quick: bool) -> list[Job]:
    """Everything that is computed for this paper."""
    errata = common.errata_cases(PROBLEM, {"001-1": 0.5}) + common.errata_cases(ROD, {})
    return motions.cases(quick) + painleve.cases(quick) + steps.cases(quick) + errata


def section(outcomes: dict[str, JobOutcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """The paper's section and the findings for the summary."""
    results = PaperResults(outcomes)
    bars, rod = problem(PROBLEM), problem(ROD)
    findings: list[str] = []
    parts = (
        _model(bars, rod),
        _method(results, findings),
        two_bar_motions.reconstruction(results, findings),
        two_bar_motions.printed_start(results, findings),
        loop_and_rod.agreement_section(results, findings),
        loop_and_rod.printed_loop(results, findings),
        loop_and_rod.energy(results, findings),
        loop_and_rod.rod(results, findings),
        painleve.section(results, findings),
        steps.section(results, findings),
        common.errata_section(_both(bars, rod), "001", results, findings),
    )
    title = "Paper 001: Coulomb friction, a quadratic program of normal forces (Yao, Liu & Yang 2020)"
    lead = f"{bars.title}: {bars.description} {rod.title}: {rod.description}"
    return Section("paper-001", title, (Paragraph(lead),), parts), tuple(findings)


def _both(bars: Problem, rod: Problem) -> Problem:
    """One entry with the errata of both problems in the order of their numbers, and the notes."""
    errata = sorted(bars.errata + rod.errata, key=lambda e: int(e.id.rpartition("-")[2]))
    return replace(bars, errata=tuple(errata), notes=bars.notes + rod.notes)


def _model(bars: Problem, rod: Problem) -> Section:
    text = (
        "Two bars AB and BC of length $l$ are hinged at B; A and C may touch the floor. Coordinates "
        "$q=(x,y,\\theta_1,\\theta_2)$: centroid and angle from the horizontal of AB, angle of BC from the vertical. "
        "The rod has $q=(x,y,\\theta)$, its centroid and angle from the horizontal; its lower end A may touch the "
        "floor. A contact is given by the position of its point. Gaps, slips, their rows $J_N$ and $J_T$ and the "
        "velocity terms $\\zeta_N$ and $\\zeta_T$ are derived. The two bars are also built in the coordinates of both "
        "bars, with two rows for the hinge."
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
    drawings = Gallery((drawing_figure(bars, "paper-001-drawing-bars"), drawing_figure(rod, "paper-001-drawing-rod")))
    return Section("model-001", "Model", (Paragraph(Tex(text)), drawings, *tables))


_QUADRATIC = r"\min_{\lambda_N}\ \tfrac{1}{2}\, \lambda_N^T"
_MAP = r"\left(J_N^T + J_T^T \mu \sigma\right)"
_ROWS = r"\quad \text{subject to} \quad A \lambda_N + b \ge 0"

_FORMULAS = {
    "motion": Formula(
        rf"M a + h = Q + J^T \lambda + {_MAP} \lambda_N, \quad \sigma = -\operatorname{{sgn}} v_T, \quad "
        r"w = J_N a + \zeta_N",
        "M a + h = Q + J^T lam + (J_N^T + J_T^T mu sigma) lam_N,   sigma = -sgn v_T,   w = J_N a + zeta_N",
    ),
    "operator": Formula(
        rf"w = A \lambda_N + b, \quad A = J_N K {_MAP}, \quad b = J_N a_J + \zeta_N",
        "w = A lam_N + b,   A = J_N K (J_N^T + J_T^T mu sigma),   b = J_N a_J + zeta_N",
    ),
    "printed": Formula(
        rf"\text{{(29)}} \quad {_QUADRATIC} A \lambda_N {_ROWS}",
        "(29)   min 1/2 lam_N^T A lam_N   subject to   A lam_N + b >= 0",
    ),
    "lcp": Formula(
        r"0 \le \lambda_N, \quad w = A \lambda_N + b \ge 0, \quad \lambda_N^T w = 0",
        "0 <= lam_N,   w = A lam_N + b >= 0,   lam_N^T w = 0",
    ),
    "criterion": Formula(
        r"\eta = \tfrac{1}{2} \left(I + A^{-T} A\right) \lambda_N \ge 0 \quad \text{and} \quad \eta_i = 0 "
        r"\text{ wherever } w_i > 0",
        "eta = 1/2 (I + A^-T A) lam_N >= 0   and   eta_i = 0 wherever w_i > 0",
    ),
    "weighted": Formula(
        rf"{_QUADRATIC} D A \lambda_N {_ROWS}, \quad D > 0 \text{{ diagonal}}, \quad D A = (D A)^T",
        "min 1/2 lam_N^T D A lam_N   subject to   A lam_N + b >= 0,   D > 0 diagonal,   D A = (D A)^T",
    ),
    "joints": Formula(
        rf"{_QUADRATIC} A \lambda_N - \tfrac{{1}}{{2}}\, \ell^T \lambda_N {_ROWS}, \quad "
        r"\ell = \sigma \mu J_T (a_J - a_0)",
        "min 1/2 lam_N^T A lam_N - 1/2 ell^T lam_N   subject to   A lam_N + b >= 0,   ell = sigma mu J_T (a_J - a_0)",
    ),
    "frozen": Formula(
        r"a^{k+1} = \operatorname{argmin}\ \tfrac{1}{2}\, a^T M a - a^T "
        r"\left(Q - h + J_T^T \mu \sigma \lambda_N^k\right) \quad \text{subject to} \quad J a = \gamma, \quad "
        r"J_N a + \zeta_N \ge 0",
        "a^(k+1) = argmin 1/2 a^T M a - a^T (Q - h + J_T^T mu sigma lam_N^k)   subject to   J a = gamma,   "
        "J_N a + zeta_N >= 0",
    ),
    "contraction": Formula(
        r"\varrho = \|A_0^{-1/2}\, C\, A_0^{-1/2}\|, \quad A_0 = J_N K J_N^T, \quad C = A - A_0",
        "rho = || A_0^(-1/2) C A_0^(-1/2) ||,   A_0 = J_N K J_N^T,   C = A - A_0",
    ),
}
"""The formulas of the method, by name."""


NOTATION: tuple[tuple[str, str, str, str], ...] = (
    ("$J_N$, $\\zeta_N$", "$W_N$, $\\bar W_N$", "rows of the gaps, bias", "gap accelerations $w=J_Na+\\zeta_N$"),
    ("$J_T$, $v_T$", "$W_T$, $\\dot x_A$, $\\dot x_C$", "slip of A, of C", "directions and velocities of the slip"),
    ("$\\sigma=-\\operatorname{sgn}v_T$", "$s$", "sign of friction", "friction opposes the slip"),
    ("$\\lambda_N$", "$\\lambda$, $N$", "force at A, at C; $N_A$, $N_C$", "normal forces, N"),
    ("$\\lambda_T=\\sigma\\mu\\lambda_N$", "$f(F)$", "$T_A$, $T_C$ in drawings", "friction forces, N"),
    ("$A$", "$A$", "contact operator", "gap accelerations per unit of normal force, 1/kg"),
    ("$b$", "$B$", "bias $B$ in claims and maps", "gap accelerations without contact forces, m/s²"),
    ("$A_0$, $C$", "–", "$A=A_0+C$", "parts of $A$ without friction and of friction"),
    ("$\\varrho$", "–", "contraction factor", "bound on how frozen friction shrinks the error"),
)
"""Letters: here, of the source and of its claims and errata, elsewhere in the report, meaning."""

TERMS: dict[str, str] = {
    "positive definite, for an unsymmetric $A$":
        "$x^TAx>0$ for all $x\\ne0$, which is the same as that its symmetric "
        "part $\\frac12(A+A^T)$ is positive definite",
    "P-matrix":
        "all principal minors are positive, which is weaker; then and only then the LCP has exactly one "
        "solution for every $b$",
    "ideal, non-ideal force": "a force that does no work on what the constraints allow; friction is not ideal",
    "$A_1$, $b_1$; $b_2$ of the source":
        "matrix and right-hand sides of its constraints in the accelerations: equations with index 1, inequalities "
        "with index 2",
    "$h$, $l$; $s$, $g$ as sizes":
        "numbers of the holonomic and of the other equations; of the holonomic and of the "
        "other inequalities (elsewhere $h$ are inertia terms, $l$ a length, $s$ a sign, $g$ gravity)",
    "$f(F)$, $H$, $Y$":
        "friction as a function of the ideal forces $F$, the directions in which it acts, and a force "
        "known in advance that acts in these directions",
    "$G$, $G^{Ci}$ and $F$, $F^{Ci}$":
        "directions of the ideal forces and their sizes, those of the constraints with the index $Ci$",
    "certified":
        "the certificate's bound on the relative error of the acceleration, computed from the mechanics and "
        "not from the solver's word",
    "confirmed": "an answer whose certificate is within 1e-7; an erratum that the numbers of this run show",
    "1 + largest acceleration":
        "errors are $\\max_i|a_i-a_i^*|/(1+\\max_i|a_i^*|)$ with the true $a^*$, in SI units, "
        "so that small accelerations do not blow them up",
    "borderline":
        "whether two answers are equal is there a matter of rounding (a violation of the criterion from "
        f"{BORDER[0]:g} to {BORDER[1]:g}); such states are counted apart",
}  # fmt: skip
"""Words that claims, errata and maps use."""


def _method(results: PaperResults, findings: list[str]) -> Section:
    blocks: list[Block] = [
        Table(
            "notation-001", "Letters of this report, of the source (also in claims and errata), and what drawings, "
            "tables and maps write.",
            ("here", "source", "elsewhere", "meaning"), tuple(tuple(map(Tex, row)) for row in NOTATION),
        ),
        Table("terms-001", "Words and letters of claims, errata and maps.", ("word", "meaning"),
              tuple(tuple(map(Tex, row)) for row in TERMS.items())),
        Paragraph("Sliding friction is a known multiple of the normal force, against the slip:"),
        _FORMULAS["motion"],
        Paragraph(Tex(
            "With the joints eliminated ($K$ is $M^{-1}$ restricted to the directions they leave free, $a_J$ the "
            "acceleration without contact forces, $a_0$ the one without joints as well) the gap accelerations are "
            "linear in the normal forces:"
        )),
        _FORMULAS["operator"],
        Paragraph("The source finds the normal forces by the quadratic program normal-force-qp,"),
        _FORMULAS["printed"],
        Paragraph("The laws of contact are the linear complementarity problem lcp,"),
        _FORMULAS["lcp"],
        Paragraph(
            "The quadratic form is a potential of the source's variational condition only if A is symmetric, and "
            "friction makes it unsymmetric. For positive definite A the program returns the forces of the LCP exactly "
            "if those forces satisfy"
        ),
        _FORMULAS["criterion"],
        Paragraph(
            "which holds for symmetric A and for one contact, and fails as a rule where one of two contacts opens. "
            "Weights repair it where they exist (weighted-normal-force-qp): the optimality conditions are then the LCP."
        ),
        _FORMULAS["weighted"],
        Paragraph(
            "With joints kept, eq. (24) of the source minimises over all ideal forces (joint-force-qp). Eliminating "
            "the joints from it leaves a term that (29) does not have, so that it is wrong already for one contact:"
        ),
        _FORMULAS["joints"],
        Paragraph(
            "Eqs. (22) and (25) take a force that is known in advance into Gauss's principle, which is right. Coulomb "
            "friction is not known in advance, but the principle may be iterated (frozen-friction); its fixed points "
            "are the solutions of the LCP, and it converges if ϱ < 1:"
        ),
        _FORMULAS["frozen"],
        _FORMULAS["contraction"],
    ]  # fmt: skip
    found: list[Programs] | None = results.value("programs")
    if found:
        blocks.append(Table(
            "frozen-001",
            "Frozen friction on states of the two bars (both ends on the floor, sliding to the left, no rotation). The "
            "first iterate has no friction at all.",
            ("state", "ϱ", "programs", "force at A / N", "force at C / N", "first iterate wrong by / N", "error at "
            "the end / N"),
            tuple((p.label, p.contraction, p.count, p.lcp[0], p.lcp[1], float(np.abs(p.first - p.lcp).max()),
                   float("nan") if p.frozen is None else float(np.abs(p.frozen - p.lcp).max())) for p in found),
        ))  # fmt: skip
        findings.append(_printed_program(found))
    return Section("method-001", "Method", tuple(blocks))


def _printed_program(found: Sequence[Programs]) -> str:
    """A sentence on the forces of (29) at the special states."""
    same = [p for p in found if p.misses(p.printed) <= EQUAL]
    lifts = sum(float(p.w[1]) > 0 and p.lcp[1] == 0 for p in found if p.misses(p.printed) > EQUAL)
    predicted = sum(p.predicts == (p.misses(p.printed) <= EQUAL) for p in found)
    text = (
        f"The printed program (29) returns the forces of mechanics on {len(same)} of {len(found)} states of the two "
        "bars listed in the method"
    )
    tensile = min((float(p.printed.min()) for p in found if p.printed is not None), default=0.0)
    if tensile < 0:
        text += f", and forces down to {tensile:.4g} N on the others ({lifts} of which lift C off)"
    return f"{text}. The criterion predicts {predicted} of {len(found)}."
