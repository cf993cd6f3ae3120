"""Commands that compare, export sequences, merge stored results, and write reports on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaussopt.cli import common
from gaussopt.cli.common import argument, option
from gaussopt.cli.contact_files import RowOrder
from gaussopt.core.errors import BadInput

if TYPE_CHECKING:
    from gaussopt.comparison.changes import Changes
    from gaussopt.comparison.spec import Spec
    from gaussopt.modelling.problem import Problem


Sources = Annotated[
    list[str] | None,
    argument("PROBLEM|FILE|DIR", "Problems by name or file; files of programs (.json .npz .mat .mps .qps "
             ".parquet) or folders of them; files of solvers.", "problem", files=(".py", ".json")),
]  # fmt: skip
Families = Annotated[list[str] | None, option("--family", "From `gaussopt list families`; repeatable.", "family")]
Dials = Annotated[
    list[str] | None,
    option("--dial", "Sweep a dial, or set it: NAME=A:B, =A,B,C or =A; repeatable.", metavar="NAME=A:B"),
]
Sequences = Annotated[list[Path] | None, option("--sequence", "Replay what `gaussopt export` wrote.", metavar="DIR")]
Contacts = Annotated[
    list[Path] | None,
    option("--contact", "Contacts with friction cones: an FCLIB, Siconos, ContactBench or JSON file, or a folder; "
           "repeatable.", metavar="FILE|DIR"),
]  # fmt: skip
Out = Annotated[Path, option("--out", "Folder of the finished cases, the tables and the report.")]
Convex = Annotated[bool, option("--qp", "The small convex test set that ships with gaussopt.")]
Lcp = Annotated[bool, option("--lcp", "The set of complementarity problems that ships with gaussopt.")]
Formulations = Annotated[
    str | None, option("--formulations --formulation", "Names, comma-separated; all if absent.", "formulation")
]
Solvers = Annotated[
    str | None,
    option("--solvers --solver", "Comma-separated, such as kkt,osqp(eps_abs=1e-3); all installed if absent.", "solver"),
]
Precision = Annotated[
    str | None,
    option("--precision", "Formulations on which solvers are also asked for every precision, from loose to tight.",
           "formulation", words=("all",), metavar="all|NAMES"),
]  # fmt: skip
Settings = Annotated[
    str,
    option("--settings", "Tolerances of all solvers, comma-separated: default, low (1e-3), mid (1e-6), high (1e-9).",
           words=("default", "low", "mid", "high")),
]  # fmt: skip
Steppers = Annotated[
    str,
    option("--stepper", "Of the simulated motions, comma-separated, such as rk4,rk45(rtol=1e-6,dt=0.1).", "stepper"),
]
Stride = Annotated[int, option("--stride", "Distance of two states of a reference that are taken, in states.")]
Motions = Annotated[
    bool | None,
    option("--motions/--no-motions", "Whether pairs that are right on every step also simulate the motion; without "
           "this option and without names only the fastest of each formulation do.", show_default=False),
]  # fmt: skip
Budget = Annotated[
    float, option("--time-budget", "Seconds on the clock for a solver on a sequence or file; 0: no times.")
]
Limit = Annotated[
    float, option("--case-limit", "Seconds after which a sequence or file is given up; of --lcp the whole set.")
]
Against = Annotated[
    Path | None,
    option("--against", "Say what changed since this comparison; exit code 1 if anything is worse.", metavar="DIR"),
]
Parquet = Annotated[bool, option("--parquet", "Write the table of all answers as Parquet too.")]
Exported = Annotated[
    str | None,
    argument("PROBLEM|ATLAS", "A problem by name or file.py, a model for MuJoCo, .xml or .urdf, or the file atlas.nc "
             "of `gaussopt atlas`.", "problem", files=(".py", ".nc", ".xml", ".urdf")),
]  # fmt: skip
Folder = Annotated[Path, argument("DIR", "What `gaussopt compare --out DIR` wrote.")]
Folders = Annotated[list[Path], argument("DIR DIR...", "What `gaussopt compare --out` wrote.")]
OtherOut = Annotated[
    Path | None, option("--out", "Another folder for the report, without the cases; DIR if not given.")
]
MergedOut = Annotated[Path, option("--out", "Folder of the merged comparison; it must be new.")]
Written = Annotated[str, option("--formulation", "Formulation whose programs are written.", "formulation")]
NewOut = Annotated[Path, option("--out", "Folder to write into; it must be new.")]
FamilyInstead = Annotated[str | None, option("--family", "From `gaussopt list families`, in its place.")]
DialsOfFamily = Annotated[list[str] | None, option("--dial", "Of the family.", metavar="NAME=VALUE")]
Followed = Annotated[
    str | None, option("--reference", "Reference trajectory to follow; the problem's first if not given.")
]
EveryNth = Annotated[int, option("--stride", "Distance of two states, or cells, that are taken.")]
MOST_SAID = 20
"""Maximum number of sentences on contradictions that are printed; the report contains all of them."""


def compare_command(
    context: typer.Context, out: Out, sources: Sources = None, family: Families = None, dial: Dials = None,
    qp: Convex = False, lcp: Lcp = False, sequence: Sequences = None, contact: Contacts = None,
    formulations: Formulations = None, solvers: Solvers = None, precision: Precision = None,
    settings: Settings = "default", stepper: Steppers = "rk4",
    dt: common.TimeStep = None, t_end: common.End = None, tolerance: common.Tolerance = 1e-7, stride: Stride = 10,
    motions: Motions = None, time_budget: Budget = 0.2, case_limit: Limit = 300.0, jobs: common.Jobs = 1,
    dask: common.Dask = None, parquet: Parquet = False, against: Against = None, rows: RowOrder = None,
    json_: common.Json = False,
) -> None:  # fmt: skip
    """Compare formulations and solvers on states, in time, and as trajectories; a killed run can be resumed."""
    from gaussopt.comparison.changes import changes
    from gaussopt.comparison.compare import compare
    from gaussopt.comparison.results import Results
    from gaussopt.comparison.solver_spec import split_words
    from gaussopt.reporting.write import write_comparison, write_report

    before = None if against is None else Results.load(against)  # read now, since `out` may be the same folder
    count = common.processes(jobs)
    chosen = _sources(sources or [], family or [], dial or [], (qp, lcp), sequence or [], contact or [], rows)
    with common.cluster(dask) as executor, common.progress_bar("compare", json_, lines=True, even=False) as progress:
        results = compare(
            chosen, common.names_of(formulations), None if solvers is None else split_words(solvers),
            stepper=split_words(stepper), dt=dt, t_end=t_end, tolerance=tolerance, stride=stride,
            precision=True if precision == "all" else common.names_of(precision) or (),
            settings=common.names_of(settings) or ["default"], motions=motions,
            time_budget=time_budget, case_limit=case_limit, jobs=count, executor=executor, out=out,
            progress=progress, note=common.note,
        )  # fmt: skip
    summary = write_comparison(results, out, parquet)
    found = None if before is None else changes(before, results)
    if found is not None:
        summary |= write_report(results, out, found)
    _finish(context.obj, summary, json_, found)


def report_command(
    context: typer.Context, folder: Folder, out: OtherOut = None, against: Against = None, parquet: Parquet = False,
    json_: common.Json = False,
) -> None:  # fmt: skip
    """Write the report on stored results again, without computing them again."""
    from gaussopt.comparison.changes import changes
    from gaussopt.comparison.results import Results
    from gaussopt.reporting.write import write_report

    results = Results.load(folder)
    found = None if against is None else changes(Results.load(against), results)
    summary = write_report(results, out or folder, found)
    if parquet:
        results.to_parquet((out or folder) / "tables" / "steps.parquet")
    _finish(context.obj, summary, json_, found)


def merge_command(context: typer.Context, folders: Folders, out: MergedOut, json_: common.Json = False) -> None:
    """Merge comparisons from several machines into one folder, which names the machines; report contradictions."""
    from gaussopt.comparison.merging import merge_results
    from gaussopt.reporting.write import write_comparison

    results = merge_results(folders, out, common.note)
    conflicts = results.meta["conflicts"]
    more = len(conflicts) - MOST_SAID
    for sentence in [*conflicts[:MOST_SAID], *[f"{more} more such sentences are in the report."] * (more > 0)]:
        common.note(sentence)
    summary = write_comparison(results, out) | {"machines": list(results.meta["machines"]), "conflicts": conflicts}
    _finish(context.obj, summary, json_)


def export_command(
    context: typer.Context, formulation: Written, out: NewOut, problem: Exported = None, family: FamilyInstead = None,
    dial: DialsOfFamily = None, reference: Followed = None, stride: EveryNth = 1, t_end: common.End = None,
    set_: common.Set = None,
    json_: common.Json = False,
) -> None:  # fmt: skip
    """Write the step programs along a reference trajectory as files for other programs, each with its solution.

    With moreau-jean they are the contact problems of the time steps of a motion in space, as FCLIB files. Programs of
    the steps of a family, or of the cells of an atlas, are written in the same way.
    """
    from gaussopt.comparison import contact_export, sequence_files
    from gaussopt.core.time_step import SteppedSystem
    from gaussopt.modelling.problem import problem as find

    atlas = problem is not None and problem.endswith(".nc")
    for wrong, sentence in (
        ((problem is None) == (family is None), "Give a problem, or an atlas, or a family by --family: one of them."),
        (dial and not family, "--dial turns a dial of a family; name the family with --family."),
        (family and (reference or set_ or t_end or stride != 1),
         "--reference, --set, --stride and --t-end are not of families."),
        (atlas and (reference or set_ or t_end), "--reference, --set and --t-end are not of atlases."),
        (reference and formulation == "moreau-jean",
         "--reference does not apply to moreau-jean: the steps are those of the motion itself."),
    ):  # fmt: skip
        if wrong:
            raise BadInput(sentence)
    with common.progress_bar("export", json_) as progress:
        if family is not None:
            found = sequence_files.export_family(family, dial or [], formulation, out, progress)
        elif atlas:
            found = sequence_files.export_atlas(Path(str(problem)), formulation, out, stride=stride, progress=progress)
        else:
            entry = find(str(problem), **common.settings_of(set_))
            if isinstance(entry.system, SteppedSystem) and formulation != "moreau-jean":
                raise BadInput(f"{entry.label} states its own time steps; give --formulation moreau-jean.")
            if formulation == "moreau-jean":
                found = contact_export.export_contacts(entry, out, stride=stride, t_end=t_end, progress=progress)
            else:
                how: dict[str, Any] = {"reference": reference, "stride": stride, "t_end": t_end, "progress": progress}
                found = sequence_files.export_sequence(entry, formulation, out, **how)
    _tell_export(context.obj, found, problem or family, out, json_)


def _tell_export(screen: Any, found: dict[str, Any], name: str | None, out: Path, as_json: bool) -> None:
    """Print what was written: programs with a manifest, or files of contact problems."""
    if "files" in found:
        count = len(found["files"])
        message = f"{count} contact problems of {name} in {out}; {found['certified']} with a certified solution."
        if "stopped" in found:
            message += f" They end where the motion does: {found['stopped']}"
        common.show(screen, as_json, {"status": "solved", "message": message, "count": count, **found}, message)
        return
    certified = sum("solution" in row for row in found["programs"])
    message = (
        f"{found['count']} programs ({found['kind']}) of {found['problem']}, {found['reference']}, as "
        f"{found['formulation']}; {certified} with a certified solution."
    )
    data = {
        "status": "solved", "message": message, "manifest": str(out / "manifest.json"), "certified": certified,
        **{k: found[k] for k in ("problem", "reference", "formulation", "kind", "count")},
    }  # fmt: skip
    common.show(screen, as_json, data, message, f"Manifest: {data['manifest']}")


def _sources(
    names: list[str], families: list[str], dials: list[str], sets: tuple[bool, bool], sequences: list[Path],
    contacts: list[Path], rows: str | None,
) -> list[str | Problem | Spec]:  # fmt: skip
    from gaussopt.comparison.file_sources import programs_of
    from gaussopt.comparison.sources import ExportedSequence, convex_programs, family_sweep, lcp_programs

    found: list[str | Problem | Spec] = [*names]
    if dials and not families:
        raise BadInput("--dial turns a dial of a family; name the family with --family.")
    unknown = [d for d in dials if not any(_has(name, d) for name in families)]
    for name in families:
        # Each family gets only the dials that it has, and dials that no family has, so that it refuses these.
        found += family_sweep(name, [d for d in dials if _has(name, d)] + unknown)
    found += [*(convex_programs() if sets[0] else ()), *(lcp_programs() if sets[1] else ())]
    found += [ExportedSequence.of(folder) for folder in sequences]
    return [*found, *(spec for path in contacts for spec in programs_of(path, common.note, rows, contacts=True))]


def _has(family: str, dial: str) -> bool:
    from gaussopt.core import registry

    return dial.partition("=")[0].strip() in {d.name for d in registry.load("family", family).dials}


def _finish(out: Any, summary: dict[str, Any], as_json: bool, found: Changes | None = None) -> None:
    from gaussopt.comparison.changes import sentences

    if found is not None:
        summary = {**summary, "against": found.to_mapping()}
    told = [] if found is None else sentences(found)
    common.show(out, as_json, summary, *summary["findings"], *told, f"Report: {summary['report']}")
    for source, reason in summary["unanswered"].items():
        common.note(f"No pair answers the steps of {source}: {reason.rstrip('.')}.")
    if summary["status"] != "solved":
        common.stop(summary["message"])
    if found is not None and found.worse:
        common.stop(f"Worse than before: {', '.join(found.worse_pairs)}.")
