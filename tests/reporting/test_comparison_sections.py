"""The report of a comparison, from records made by hand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from comparison_records import FOUR_BAR, KNIFE_EDGE, answers, motion, refused, stack, times
from report_pages import data_of, figures_of, tables_of, without_times

from gaussopt.comparison.records import STARTS, Answers, Times
from gaussopt.comparison.records import MotionRecord as Motion
from gaussopt.comparison.records import StepSource as Source
from gaussopt.reporting.document import Document, Table
from gaussopt.reporting.figures import plots
from gaussopt.reporting.html.page import write
from gaussopt.reporting.sections import atlas as atlas_section
from gaussopt.reporting.sections import problems
from gaussopt.reporting.sections.comparison import document, kinds_of
from gaussopt.reporting.sections.grouping import groups, listed, per_cent, short

pytestmark = pytest.mark.usefixtures("undrawn")  # but for those of the fixture `doc`

US = 1e-6


@dataclass
class Found:
    answers: tuple[Answers, ...] = ()
    times: tuple[Times, ...] = ()
    motions: tuple[Motion, ...] = ()
    failures: dict[str, str] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)


def full() -> Found:
    a: list[Answers] = []
    t: list[Times] = []
    for start, factor in zip(STARTS, (3.0, 2.0, 1.0), strict=True):
        for source in (FOUR_BAR, KNIFE_EDGE):
            for solver, right, us in (("kkt", "cccc", 20), ("osqp", "cccm", 40), ("plausible", "llll", 5)):
                spent = [4 if solver == "osqp" and start == "warm" else 9] * 4
                a.append(answers(solver, right, source=source, start=start, residual=1e-12, iterations=spent))
                speed = factor if solver == "osqp" else 1.0
                t.append(times(solver, [us * US * speed * k for k in (1.0, 1.1, 1.2, 1.3)], source=source, start=start))
        for solver, works in (("lemke", (5, 5, 500)), ("pgs", (20, 21, 22))):
            for contacts, us in zip((1.0, 10.0, 100.0), works, strict=True):
                source = stack(contacts)
                a.append(answers(solver, "cccc", source=source, formulation="lcp", start=start))
                t.append(times(solver, [us * US] * 4, source=source, formulation="lcp", start=start))
        a.append(answers("kkt", "llll", formulation="printed", exact=False, start=start))
        a.append(refused("lemke", start=start))
    for eps in ("1e-2", "1e-3", "1e-4"):
        a.append(answers(f"osqp(eps_abs={eps})", "llll", certified=[float(eps)] * 4))
        t.append(times(f"osqp(eps_abs={eps})", [10 * US] * 4))
    a.append(answers("slow", "c", failure="time limit: 10 s", residual=0.25))
    m = (motion("quasi-velocity", 800), motion("routh", 1200))
    return Found(tuple(a), tuple(t), m, {"four-bar gauss deap": "crashed: signal 11"}, {"versions": {"numpy": "2"}})


def titles(doc: Document) -> list[str]:
    return [s.anchor for s in doc.sections]


def table(doc: Document, name: str) -> Table:
    return next(t for t in tables_of(doc.sections) if t.name == name)


@pytest.fixture(scope="module")
def doc() -> Document:
    return document(full())


def test_a_weighted_qp_that_nowhere_exists_is_no_comparison() -> None:
    assert atlas_section._weighted({"no weights": 9}).startswith("Weights exist at no state,")
    assert "P-matrix" in atlas_section._weighted({"no weights": 9, "not a P-matrix": 1})
    said = atlas_section._weighted({"different": 2, "no weights": 9})
    assert said.endswith("equals the LCP at 0 states and differs at 2")


def test_all_sections(doc: Document) -> None:
    assert titles(doc) == [
        "reading", "right", "fast", "precision", "warm", "families", "motions", "claims", "problems", "refused",
        "failures", "environment",
    ]  # fmt: skip


def test_the_liar_is_named_first(doc: Document) -> None:
    assert doc.findings[1] == "2 of 6 pairs are not right on every step: gauss by plausible and slow."
    assert "plausible is never confirmed: the certificate confirms none of 24 answers" in doc.findings[2]
    assert "correct rate is 0" in doc.findings[2]
    first = table(doc, "words").rows[0]
    assert (first[0], first[6]) == ("plausible", 0.0)
    assert {r[0] for r in table(doc, "words").rows} == {"plausible", "osqp"}
    (every,) = (d.frame for d in data_of(doc.sections) if d.name == "words-all")
    assert set(every["solver"][every["false_claims"] > 0]) == {
        "plausible", "osqp(eps_abs=1e-2)", "osqp(eps_abs=1e-3)", "osqp(eps_abs=1e-4)",
    }  # fmt: skip
    told = "gauss by kkt and osqp (asked at 8 of 20 steps); lcp by lemke and pgs (asked at 12 of 20 steps)"
    assert told in doc.findings[0]
    # A wrong formula is charged to the formula, loose options are not called lies of the solver.
    text = " ".join(doc.findings)
    assert "printed on four-bar (12 of 12)" in text
    assert "3 make false claims too: osqp" in text


def test_findings_say_who_is_fast_and_where_that_reverses(doc: Document) -> None:
    text = "\n".join(doc.findings)
    assert "four-bar: the fastest by the shifted geometric mean of a set-up and solve are kkt" in text
    assert "A warm start saves time: osqp on four-bar (takes 0.5 of the cold time)" in text
    assert "between contacts = 10 and 100" in text
    assert "the first place changes hands" in text
    assert "On claim C16 of paper 004, that quasi-velocities are computed faster than Routh's equations: " in text
    assert "slow" in text


def test_matrix_tells_confirmed_from_claimed(doc: Document) -> None:
    rows = {r[0]: r[1:] for r in table(doc, "right-problem-four-bar").rows}
    assert rows["kkt"][0] == 1e-12
    assert rows["plausible"][0] == "1e-01; 0\u202f% confirmed, correct 0\u202f%"
    assert rows["osqp"][0] == "1e-12; 100\u202f% confirmed, correct 75\u202f%"
    assert rows["slow"][0].startswith("∞; 25")
    assert not any(r.startswith("osqp(") for r in rows)
    (only,) = table(doc, "right-one-problem-four-bar").rows
    assert only[:2] == ("printed", "kkt")


def test_three_rows_for_three_starts(doc: Document) -> None:
    rows = [r for r in table(doc, "starts-problem-four-bar").rows if r[0] == "osqp"]
    assert [r[1] for r in rows] == list(STARTS)
    assert [r[4] for r in rows] == pytest.approx([138, 92, 46])


def test_means_charge_failures(doc: Document) -> None:
    rows = {r[0]: r for r in table(doc, "means-problem-four-bar").rows}
    assert next(iter(rows)) == "kkt"
    assert rows["plausible"][3] == 4
    assert rows["plausible"][1] > 10 * rows["osqp"][1] * 0.9


def test_set_up_first_solve_and_re_solves_have_columns_and_profiles() -> None:
    a, t = [], []
    for solver, works in (("osqp", {"setup": 80, "cold": 40, "warm": 10}), ("kkt", {"setup": 20})):
        for start, us in works.items():
            a.append(answers(solver, "cccc", start=start, begins=[0]))
            parts = {"setup": [0.75 * us * US] * 5, "solve": [0.25 * us * US] * 5}
            t.append(times(solver, [80 * US] + [us * US] * 3, start=start, parts=parts))
    found = document(Found(tuple(a), tuple(t)))
    means = table(found, "means-problem-four-bar")
    assert means.columns[-4:] == ("set-up", "first solve", "re-solve, cold", "re-solve, warm")
    assert {r[0]: (r[1], r[5], *r[-4:]) for r in means.rows} == {
        "osqp": (pytest.approx(10.0), 3, 60.0, 20.0, 40.0, 10.0),
        "kkt": (pytest.approx(20.0), 3, 15.0, 5.0, "–", "–"),
    }
    names = {f.name for f in figures_of(found.sections)}
    assert {f"profile-{stage}problem-four-bar" for stage in ("", "re-solve-cold-", "set-up-and-first-solve-")} <= names
    assert "the fastest by the shifted geometric mean of a re-solve are osqp" in "\n".join(found.findings)


def test_estimates_are_called_so() -> None:
    a = (answers("slow", "ccccc", begins=[0]), answers("fast", "ccccc", begins=[0]))
    t = (times("slow", [9 * US, 3 * US, 3 * US]), times("fast", [US] * 5))
    found = document(Found(a, t))
    assert {r[0]: r[4] for r in table(found, "means-problem-four-bar").rows} == {"slow": 2, "fast": 0}
    assert "slow (3 µs, estimated at 2 of 4 steps)" in "\n".join(found.findings)
    (profile,) = (f for f in figures_of(found.sections) if f.name == "profile-problem-four-bar")
    assert "Estimated times: slow at 2 steps." in profile.caption


def test_who_refuses_or_was_never_right_is_told_so_among_the_fastest() -> None:
    a = [
        answers(s, "cc", source=source) for s in ("sure", "slow") for source in (FOUR_BAR, replace(FOUR_BAR, part="B"))
    ]
    a += [answers("picky", "cc"), refused("picky", source=replace(FOUR_BAR, part="B"))]
    a += [answers("never", "ll", source=x.source) for x in a[:2]]
    us = {"sure": 20, "slow": 40, "picky": 1, "never": 1}
    t = tuple(times(x.solver, [us[x.solver] * US] * 2, source=x.source) for x in a if not x.refused)
    (line,) = (f for f in document(Found(tuple(a), t)).findings if "the fastest" in f)
    assert line.endswith(
        "sure (20 µs over 4 steps), slow (40 µs over 4 steps) and picky (1 µs over 2 steps, 2 refused)."
    )
    (line,) = (f for f in document(Found(tuple(a[-2:] + a[:2]), t)).findings if "the fastest" in f)
    assert line.endswith("are sure (20 µs).")


def test_families_along_a_dial(doc: Document) -> None:
    (row,) = table(doc, "reversals-family-stack-contacts").rows
    assert row[:4] == ("lemke", "pgs", 10.0, 100.0)
    assert table(doc, "dial-accuracy-family-stack-contacts").columns == ("solver", "1", "10", "100")
    sources = stack(1.0), stack(10.0), stack(100.0)
    a = tuple(answers("lemke", right, source=s) for s, right in zip(sources, ("cc", "cr", "rr"), strict=True))
    doc = document(Found(a, tuple(times("lemke", [US] * 2, source=s) for s in sources)))
    (row,) = table(doc, "dial-accuracy-family-stack-contacts").rows
    assert row == ("lemke", 1e-12, "1e-12; recognised as infeasible", "recognised as infeasible")


def test_failures_keep_residuals(doc: Document) -> None:
    (row,) = table(doc, "ended-early").rows
    assert row[3:] == ("time limit: 10 s", 1, 1e-12, 0.25, 0.25, 0.25)
    assert table(doc, "failures").rows == (("four-bar gauss deap", "crashed: signal 11"),)
    assert table(doc, "refused").rows == (("–", "gauss", "lemke", "four-bar", "it takes linear systems only"),)
    assert table(doc, "environment").rows == (("versions: numpy", "2"),)


def test_refusals_are_told_by_reason() -> None:
    a = []
    for solver in ("lemke", "pgs"):
        for f in ("gauss", "dual"):
            word = f"The solver {solver!r} does not take this program: it takes LCP, not QP."
            a.append(replace(refused(solver, formulation=f), refused=word))
    for n in (1, 2):
        word = f"The formulation 'lcp' does not fit: the step has {n} rows."
        a.append(replace(refused("kkt", formulation="lcp"), refused=word))
    a.append(replace(refused("", formulation="dual"), refused="M is singular"))
    assert table(document(Found(tuple(a))), "refused").rows == (
        ("formulation", "lcp", "all", "four-bar", "the step has 1 rows."),
        ("formulation", "dual", "all", "four-bar", "M is singular"),
        ("solver", "gauss, dual", "lemke, pgs", "four-bar", "it takes LCP, not QP."),
    )


def test_it_is_written(doc: Document, tmp_path: Path) -> None:
    page = write(doc, tmp_path).read_text(encoding="utf-8")
    assert "plausible is never confirmed" in page
    assert 'href="data/summary-problem-four-bar.csv"' in page
    assert "](data/summary-problem-four-bar.csv)" in (tmp_path / "index.md").read_text(encoding="utf-8")
    assert len(pd.read_csv(tmp_path / "data" / "summary-problem-four-bar.csv")) == 19
    for figure in figures_of(doc.sections):
        assert figure.alt
        assert figure.caption
        assert len(figure.data)
        assert (tmp_path / "figures" / f"{figure.name}.svg").is_file()


def test_reports_on_other_times_differ_in_nothing_but_times(drawn: None, doc: Document, tmp_path: Path) -> None:
    found = full()
    slower = tuple(
        replace(t, per_step=[3.0 * s for s in t.per_step], parts={p: [3.0 * s for s in q] for p, q in t.parts.items()})
        for t in found.times
    )
    first, second = (
        write(of, tmp_path / name).read_text(encoding="utf-8")
        for name, of in (("first", doc), ("second", document(replace(found, times=slower))))
    )
    assert first != second
    assert without_times(first) == without_times(second)


def test_sections_without_data_are_left_out() -> None:
    for asked in ((), (refused("lemke"),)):
        doc = document(Found(asked))
        assert titles(doc) == ["refused"] * len(asked)
        assert doc.findings == ("No pair answered any step.",)
    doc = document(Found(answers=(answers("kkt", "cc"), answers("osqp", "cl"))))
    assert titles(doc) in (["reading", "right", "warm", "problems"], ["reading", "right", "problems"])
    assert "osqp at 1 of 2" in " ".join(doc.findings)


def test_programs_without_formulation() -> None:
    qps = [Source("qp", name) for name in ("HS21", "HS35")]
    a = tuple(answers(s, "c", source=q, formulation="", start="setup") for q in qps for s in ("osqp", "piqp"))
    t = tuple(times(x.solver, [5 * US], source=x.source, formulation="", start="setup") for x in a)
    doc = document(Found(a, t))
    (group,) = groups(Found(a, t))
    assert group.title == "Convex programs"
    assert "2 of 2" in doc.findings[0]
    assert [r[0] for r in table(doc, "means-qp").rows] == ["osqp", "piqp"]


def test_the_table_of_a_folder_links_to_its_single_programs(doc: Document, tmp_path: Path) -> None:
    assert doc.pages == ()  # states of problems follow one another, and have no page
    sources = [Source(kind, name, "mine") for kind in ("qp", "lcp") for name in ("A 1", "a-1", "<b>")]
    asked = [answers(s, "c", source=x, formulation="", start="setup") for x in sources for s in ("osqp", "piqp")]
    asked[2] = refused("osqp", source=sources[1], formulation="", start="setup")
    asked[4] = answers("osqp", "", source=sources[2], formulation="", start="setup", failure="time limit: 5 s")
    clock = [times("piqp", [5 * US], source=x, formulation="", start="setup") for x in sources]
    doc = document(Found(tuple(asked), tuple(clock)))
    (page,) = doc.pages
    assert [s.title for s in page.sections] == ["Convex programs of mine", "Complementarity problems of mine"]
    singles = {s.anchor: s for of in page.sections for s in of.sections}
    for kind in ("qp", "lcp"):
        cells = [row[0] for row in table(doc, f"solved-{kind}-mine").rows]
        assert [singles[cell.anchor].title for cell in cells] == [cell.text for cell in cells] == ["A 1", "a-1", "<b>"]
    first, refusing, broken = (t.rows for t in tables_of(page.sections[:1]))
    assert [row[0] for row in first] == ["osqp", "piqp"]
    assert (first[1][1], first[1][2], first[1][3], first[1][-1]) == ("solved", "solved", 1e-12, pytest.approx(5.0))
    assert [row[0] for row in refusing] == ["piqp"]
    assert broken[0][:2] == ("osqp", "time limit: 5 s")
    assert np.isnan(broken[0][-1])
    main = write(doc, tmp_path).read_text(encoding="utf-8")
    single = (tmp_path / "single-problems.html").read_text(encoding="utf-8")
    for anchor in singles:
        assert f'href="single-problems.html#{anchor}"' in main
        assert f'id="{anchor}"' in single


def test_words() -> None:
    assert listed(list("abcd"), 2) == "a, b and 2 more"
    assert per_cent(1.0) == "100 %"
    assert per_cent(0.999) == "99.9 %"
    assert per_cent(0.5) == "50 %"
    assert short(123456.789) == 123500.0
    assert short("text") == "text"


def test_claims_of_infeasibility() -> None:
    a = (answers("kkt", "cccc"), answers("denier", "ciii"), answers("kkt", "rrrr", source=KNIFE_EDGE),
         answers("denier", "rrcc", source=KNIFE_EDGE), answers("hopeful", "ssss", source=KNIFE_EDGE))  # fmt: skip
    doc = document(Found(a))
    text = "\n".join(doc.findings)
    assert "denier calls solvable steps infeasible: 3 of its 8 answers" in text
    assert "hopeful is never confirmed: the certificate confirms none of 4 answers" in text
    assert "1 of 3 pairs of a formulation and a solver are right on every step that they take (confirmed by" in text
    assert "confirmed by the certificate, or rightly called ill-posed" in text
    rows = {r[0]: r[1:] for r in table(doc, "right-problem-knife-edge-body").rows}
    assert rows["kkt"][0] == "recognised as infeasible"
    assert rows["denier"][0] == "1e-12; 50\u202f% confirmed, 50\u202f% recognised as infeasible"
    assert rows["hopeful"][0] == "∞; 0\u202f% confirmed, correct 0\u202f%"
    words = {r[0]: r for r in table(doc, "words").rows}
    assert words["denier"][3:5] == (0, 3)


def test_false_claims_are_the_same_number_in_table_and_findings() -> None:
    doc = document(Found((answers("mixed", "clli"), answers("kkt", "cccc"))))
    assert table(doc, "words").rows[0][3:5] == (2, 1)
    assert "call answers solved that the certificate does not confirm: mixed at 2 of 3" in "\n".join(doc.findings)


def test_who_is_right_on_a_few_steps_only_is_told_with_their_number() -> None:
    every = answers("every", "ccc"), answers("every", "cc", source=KNIFE_EDGE)
    a = (answers("few", "cc", source=KNIFE_EDGE), refused("few"), *every)
    assert document(Found(a)).findings[0].endswith(": gauss by every; gauss by few (asked at 2 of 5 steps).")
    programs = tuple(replace(x, source=replace(x.source, kind="qp", part="set")) for x in a)
    assert table(document(Found(programs)), "right-qp-set").rows == (
        ("every", 1e-12), ("few", "1e-12, at 2 of 5 steps"),
    )  # fmt: skip


def test_steps_with_several_solutions_are_told_once() -> None:
    a = (answers("lemke", "ccvv"), answers("pgs", "ccvv"), answers("lemke", "vv", source=KNIFE_EDGE))
    doc = document(Found(a))
    (line,) = (f for f in doc.findings if f.startswith("There are several solutions"))
    assert "2 of 4 steps of four-bar, 2 of 2 steps of knife-edge-body" in line
    assert "no solver is confirmed or blamed there" in line
    assert "2 of 2 pairs" in doc.findings[0]
    assert table(doc, "right-problem-four-bar").rows[0][1] == 1e-12
    assert table(doc, "right-problem-knife-edge-body").rows == (("lemke", "several solutions"),)
    assert "fail at every step" not in "\n".join(doc.findings)


def test_a_step_without_a_solution_counts_against_a_pair_only_if_it_claims_one() -> None:
    a = (answers("modest", "ccn"), answers("knowing", "ccr"), answers("liar", "ccs"), answers("weak", "cfn"))
    doc = document(Found(a))
    assert doc.findings[0].startswith("2 of 4 pairs of a formulation and a solver are right on every step")
    assert doc.findings[0].endswith("gauss by knowing and modest.")
    assert doc.findings[1] == "2 of 4 pairs are not right on every step: gauss by liar and weak."
    assert "liar at 1 of 3" in "\n".join(doc.findings)
    (line,) = (f for f in doc.findings if f.startswith("No solution exists"))
    assert line == (
        "No solution exists at 1 of 3 steps of four-bar; whether a pair is right on every step depends on such a step "
        "only if its solver calls it solved."
    )
    nowhere = document(
        Found((answers("modest", "nn"), answers("knowing", "rr"), answers("kkt", "c", source=KNIFE_EDGE)))
    )
    assert "No solution exists at 2 of 2 steps of four-bar" in "\n".join(nowhere.findings)
    assert "fail at every step" not in "\n".join(nowhere.findings)
    alone = document(Found((answers("liar", "ccs"), answers("knowing", "ccr"))))
    assert not any(f.startswith("No solution exists") for f in alone.findings)


def test_answers_that_differ_on_the_clock_are_named() -> None:
    a = (answers("steady", "cccc"), answers("fickle", "cccc"))
    t = (times("steady", [20 * US] * 4), times("fickle", [5 * US] * 4, unconfirmed=[0, 1, 1, 0]))
    doc = document(Found(a, t))
    text = "\n".join(doc.findings)
    assert "not on rescaled numbers are answers of fickle (at 2 steps, over all starts, of four-bar)." in text
    assert {r[0]: r[3] for r in table(doc, "means-problem-four-bar").rows} == {"steady": 0, "fickle": 2}
    assert "(46.1 µs, 2 failures, 2 of them on rescaled numbers only)" in text


def test_why_solvers_fail(tmp_path: Path) -> None:
    many, other = "The residual is 1e-3 <script>.", "It stopped."
    a = (
        answers("kkt", "cc"),
        answers("bad", "ff", reasons={many: 2}),
        answers("bad", "ff", source=KNIFE_EDGE, reasons={many.replace("3", "5"): 1, other: 1}),
        answers("gone", "", failure="crashed: signal 11"),
        answers("kkt", "ff", formulation="printed", exact=False, reasons={"The formula is wrong.": 2}),
    )
    doc = document(Found(a))
    (line,) = (f for f in doc.findings if "fail at every step" in f)
    assert line == (
        "These solvers fail at every step of a source: bad on 2 sources (The residual is 1e-3 <script>); "
        "gone on 1 source (crashed: signal 11)."
    )
    assert table(doc, "reasons").rows[0] == ("bad", "gauss", "four-bar", 2, many)
    assert len(table(doc, "reasons").rows) == 4
    page = write(doc, tmp_path).read_text(encoding="utf-8")
    assert "1e-3 &lt;script&gt;" in page
    assert "1e-3 <script>" not in page


def test_many_reasons_are_in_a_file() -> None:
    a = [answers("kkt", "f", formulation=f"{c}{d}", reasons={"It stopped.": 1}) for c in "abcdefg" for d in "abcdefg"]
    doc = document(Found(tuple(a)))
    assert len(table(doc, "reasons").rows) == 12
    (every,) = (d.frame for d in data_of(doc.sections) if d.name == "reasons-all")
    assert len(every) == 49


def test_failures_by_kind() -> None:
    assert kinds_of(["crashed: a", "crashed: b", "time limit: c", "It broke.", "No: d", "x", "lost: e"]) == (
        "2 crashed, 1 at the time limit, 1 lost, 3 errors"
    )
    doc = document(Found((answers("kkt", "c"),), failures={"x": "The options are wrong."}))
    assert "1 case has no result (1 error); see Failures." in doc.findings
    assert table(doc, "failures").caption == "Cases without a result: 1 error."
    assert not any("rashed" in f for f in doc.findings)


def test_targets_end_at_the_floor_of_programs() -> None:
    for source, last in ((Source("qp", "HS21"), "1e-08"), (FOUR_BAR, "1e-12")):
        a = tuple(answers(s, "c", source=source) for s in ("osqp", "piqp"))
        t = tuple(times(s, [5 * US], source=source) for s in ("osqp", "piqp"))
        (found,) = (x for x in tables_of(document(Found(a, t)).sections) if x.name.startswith("fastest-"))
        assert found.rows[-1][0] == last
        assert ("square root of rounding" in found.caption) == (last == "1e-08")
        assert "medians" in found.caption


def test_figures_repeat_bit_for_bit(drawn: None) -> None:
    taus = np.array([1.0, 2.0, 10.0])
    curves = {"a": np.array([0.5, 0.5, 1.0]), "b": np.array([0.0, 0.2, 0.2])}
    assert plots.profiles(taus, curves, "τ", "share") == plots.profiles(taus, curves, "τ", "share")
    points = {"a": (taus, taus), "b": (taus, 2 * taus)}
    hollow = {"a": np.array([True, False, True]), "b": np.zeros(3, dtype=bool)}
    for bands in (None, points):
        assert plots.sweeps(points, "x", "y", bands=bands, hollow=hollow, joined=("a",)).startswith("<?xml")
    assert plots.boxes(["a"], {"cold": [[1, 2, 3, 4, 5]], "warm": [[np.nan] * 5]}, "x").startswith("<?xml")


def test_problems_are_shown_as_they_are_compared(doc: Document) -> None:
    part = next(s for s in doc.sections if s.anchor == "problems")
    bar = next(s for s in part.sections if s.anchor == "problem-four-bar")
    kinds = [type(b).__name__ for b in bar.blocks]
    assert kinds == ["Paragraph", "Figure", "Table"]
    assert "fixed bearings" in bar.blocks[1].alt  # type: ignore[union-attr]
    assert table(doc, "parameters-four-bar").rows[0][:3] == ("m", 12.0, "kg")


def asked(*names: str) -> list[Answers]:
    return [replace(answers("kkt", "c"), source=Source("problem", name, "r")) for name in names]


def test_problems_that_are_not_here_or_have_no_sketch() -> None:
    known = {"of-another-day": {"parameters": {"m": 2.0}}}
    found = problems.section(asked("of-another-day", "two-bar (mu=0.3)", "two-bar (contact, mu=0.3)"), known)
    assert found is not None
    away, bars = found.sections
    assert "not registered" in away.blocks[0].text  # type: ignore[union-attr]
    assert away.blocks[1].rows == (("m", 2.0),)  # type: ignore[union-attr]
    assert "Here as two-bar (mu=0.3); two-bar (contact, mu=0.3)." in bars.blocks[0].text  # type: ignore[union-attr]
    assert problems.section([]) is None


def test_problems_with_strange_names_have_plain_anchors() -> None:
    found = problems.section(asked("weird name $x$ <b>", 'a"b onmouseover="x', "a b", "a-b", "日本語"))
    assert found is not None
    assert [s.anchor for s in found.sections] == [
        "problem-weird-name-x-b", "problem-a-b-onmouseover-x", "problem-a-b", "problem-a-b-2", "problem-unnamed",
    ]  # fmt: skip
