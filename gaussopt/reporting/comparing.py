"""The report of a comparison: what each pair did on given states and as a trajectory."""

from __future__ import annotations

from gaussopt.comparison import Results
from gaussopt.reporting.document import Document, Paragraph, Section, Table


def document(results: Results) -> Document:
    """A document of two tables, and of what failed."""
    states = Table(
        "states",
        "Every pair on the states of a reference: answers that the certificate confirms, answers that the solver calls "
        "solved, largest error relative to 1 + |a|, largest certified relative error; medians of microseconds a step.",
        ("problem", "reference", "formulation", "solver", "states", "confirmed", "claimed", "error", "certified",
         "build", "hand over", "solve", "recover", "verify"),
        tuple(
            (r.problem, r.reference, r.formulation, r.solver, r.states, r.solved, r.claimed, r.error, r.certified,
             *(1e6 * x for x in (r.build, r.update or r.setup, r.solve, r.recover, r.verify)))
            for r in results.states if not r.refused
        ),
    )  # fmt: skip
    motions = Table(
        "motions",
        "Pairs that passed on every state, as trajectories: error against the reference, certified relative error, "
        "drift.",
        ("problem", "formulation", "solver", "stepper", "dt", "t_end", "status", "error", "certified", "position drift",
         "velocity drift", "seconds", "in the solver"),
        tuple(
            (r.problem, r.formulation, r.solver, r.stepper, r.dt, r.t_end, r.status, r.error, r.certified,
             r.position_drift, r.velocity_drift, r.seconds, r.solve_seconds)
            for r in results.motions
        ),
    )  # fmt: skip
    refused = tuple((r.problem, r.formulation, r.solver, r.refused) for r in results.states if r.refused)
    sections = [Section("states", "On given states", (states,)), Section("motions", "As trajectories", (motions,))]
    if refused:
        table = Table("refused", "Pairs that do not apply.", ("problem", "formulation", "solver", "reason"), refused)
        sections.append(Section("refused", "Refused", (table,)))
    if results.failures:
        rows = tuple(results.failures.items())
        failed = Table("failures", "Cases that broke.", ("case", "reason"), rows)
        sections.append(Section("failures", "Failures", (Paragraph("These cases have no result."), failed)))
    confirmed = [r for r in results.states if not r.refused and r.solved == r.states]
    overruled = [r for r in results.states if not r.refused and r.claimed > r.solved]
    findings = (
        f"{len(confirmed)} of {sum(not r.refused for r in results.states)} pairs are confirmed by the certificate on "
        "every state.",
        f"{len(overruled)} pairs call answers solved that the certificate does not confirm.",
        f"{sum(r.status == 'solved' for r in results.motions)} of {len(results.motions)} trajectories reached their "
        "end.",
    )
    lead = "Formulations and solvers on equal terms: the same states, the same certificate, the same integrator."
    return Document("Comparison", lead, findings, tuple(sections))
