"""Make the reports that stand in the repository small.

    gaussopt papers --jobs 2 --pdf --out reports/papers
    python benchmarks/committed_reports.py link reports/papers

    gaussopt compare ... --out runs/solvers
    python benchmarks/committed_reports.py shorten runs/solvers reports/solvers

`link` lets the pages show the figures beside them, where the pages that were written hold each figure as text, and
writes the hashes of all files.
`shorten` writes the findings and the main tables of the report on a comparison, and the data of which
docs/how-to-choose.md is made; the whole report has pages of several megabytes, and a command makes it again.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
from fnmatch import fnmatch
from pathlib import Path

from gaussopt.plotting.svg import data_uri

WHAT = {
    "solvers": (
        "The five problems of the papers by every formulation and solver",
        """\
gaussopt compare crank-slider four-bar knife-edge-body sliding-rod two-bar --precision gauss,lcp --stride 25 \\
  --solvers "clarabel,cvxpy,daqp,deap,deap(coordinates=full),deap-cma,deap-cma(coordinates=full),enumerate,highs,\
kkt,lemke,newton,osqp,pgs,piqp,proxqp,scs" --t-end 0.02 --time-budget 0.05 --case-limit 120 --out runs/solvers""",
    ),
    "families": (
        "Families of steps along each of their dials",
        """\
gaussopt compare --family sliding-row --family box-stack --family linkage --dial contacts=1,5,20,100,200 \\
  --dial bodies=2,10,50,100 --dial constraints=6,14,20 --dial friction=0,0.3,0.6 --dial mass-ratio=1,1e3,1e6 \\
  --dial redundancy=0,2 --dial units=1e-3,1,1e3 --dial height=0.1,0.5,1.5 --dial joints=0,3 \\
  --formulations lcp,lcp-qp,stick-slip,gauss,lagrange,null-space --time-budget 0.02 --case-limit 20 \\
  --out runs/families""",
    ),
    "claims": (
        "The claims of the papers on cost: direct linear algebra with and without multipliers",
        """\
gaussopt compare crank-slider four-bar knife-edge-body --family linkage --dial bodies=2,7,30,100 --solvers kkt \\
  --formulations lagrange,gauss,dual,null-space,least-squares,udwadia-kalaba,routh,quasi-velocity \\
  --stepper "rk45(rtol=1e-6,atol=1e-6),rk45(rtol=1e-9,atol=1e-9)" --time-budget 0.1 --out runs/claims""",
    ),
    "friction": (
        "Contacts with friction cones: exact solvers and relaxations",
        """\
python benchmarks/contact_cases.py runs/contact-cases
gaussopt compare --contact runs/contact-cases --formulations \\
  coulomb-soccp,aclm,tresca,panagiotopoulos,coulomb-ccp,coulomb-pyramid:4,coulomb-pyramid:16 \\
  --solvers admm,apgd,clarabel,enumerate-cone,extragradient,hybrid,lemke,nsgs,nsn-ac,nsn-fb,prox,psor,scs \\
  --time-budget 2 --case-limit 30 --out runs/friction""",
    ),
    "benchmarks": (
        "Benchmark problems of multibody dynamics against published values",
        "gaussopt benchmarks --jobs 2 --out runs/benchmarks",
    ),
}
"""Title and command of each short report; data/environment.csv holds its settings."""

SHOWN = (
    "words", "wrong-programs", "claims", "right-contact-*", "right-one-contact-*", "solved-contact-*", "benchmarks-*",
)  # fmt: skip
"""Tables that a short report shows."""

PICTURES = ("profile-contact-*", "profile-pairs-contact-*", "work-*")
"""Figures that it shows."""

KEPT = ("words-all", "means-all-problem-*", "dial-all-family-*", "claim-*", "environment")
"""Data that it keeps beside them."""

GUIDES = {"benchmarks": "bodies-and-joints.md#benchmark-problems"}
"""Where it is said how to read a report, if not in comparing-solvers.md."""


SUMS = "SHA256SUMS"
"""The file with the hashes of all others of a report."""


def link(report: Path) -> int:
    """Replace the figures in all pages by links to figures/; the number of those replaced."""
    shown = {
        f'src="{data_uri(figure.read_text(encoding="utf-8"))}"': f'src="figures/{figure.name}"'
        for figure in sorted((report / "figures").glob("*.svg"))
    }
    replaced = 0
    for file in sorted(report.glob("*.html")):
        page = file.read_text(encoding="utf-8")
        replaced += page.count('src="data:')
        for inside, beside in shown.items():
            page = page.replace(inside, beside)
        assert 'src="data:' not in page, f"a figure of {file.name} is none of those beside it"
        file.write_text(page.replace("img-src data:;", "img-src 'self';"), encoding="utf-8")
    (report / SUMS).write_text(hashes(report), encoding="utf-8")
    return replaced


def hashes(report: Path) -> str:
    """Return the SHA-256 of each file of a report as the program sha256sum writes and checks them."""
    files = sorted(f for f in report.rglob("*") if f.is_file() and f.name != SUMS)
    return "".join(f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.relative_to(report).as_posix()}\n" for f in files)


def shorten(report: Path, short: Path) -> None:
    """Write a short report, of the same name as its folder, in place of what is there."""
    title, command = WHAT[short.name]
    text = (report / "index.md").read_text(encoding="utf-8")
    findings = text[text.index("## What was found") : text.index('<a id="contents">')]
    findings = re.sub(r"\[([^]]+)\]\(#[^)]*\)", r"\1", findings)  # the sections that they lead to are not here
    shown = [name for name in re.findall(r"\(data/([^)]+)\.csv\)", text) if any(fnmatch(name, k) for k in SHOWN)]
    tables = [_table(text, name) for name in dict.fromkeys(shown)]
    pictures = [p for p in sorted((report / "figures").glob("*.svg")) if any(fnmatch(p.stem, k) for k in PICTURES)]
    kinds = (*SHOWN, *PICTURES, *KEPT)
    files = [f for f in sorted((report / "data").glob("*.csv")) if any(fnmatch(f.stem, k) for k in kinds)]
    data = ["## Data", *(f"- [{file.name}](data/{file.name})" for file in files)]
    parts = [
        f"# {title}",
        "What was found, the most important first, and the main tables. Times are those of one machine: read ratios. "
        f"[How to read it](../../docs/{GUIDES.get(short.name, 'comparing-solvers.md')}).",
        findings.strip(), "## Tables", *tables, *(["## Figures"] if pictures else ()),
        *(_picture(text, picture.name) for picture in pictures), "\n".join([data[0], "", *data[1:]]),
        "## How this page was made",
        "These lines write the whole report, and this page again.",
        f"```sh\n{command}\npython benchmarks/committed_reports.py shorten runs/{short.name} reports/{short.name}\n```",
    ]  # fmt: skip
    kept = {f"data/{file.name}": file.read_bytes() for file in files}
    kept |= {f"figures/{picture.name}": picture.read_bytes() for picture in pictures}
    shutil.rmtree(short, ignore_errors=True)
    for name, content in kept.items():
        (short / name).parent.mkdir(parents=True, exist_ok=True)
        (short / name).write_bytes(content)
    (short / "index.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _table(text: str, name: str) -> str:
    """A table of index.md with its caption."""
    place = text.index(f"(data/{name}.csv)")
    begin = text.rindex("\n\n", 0, place) + 2
    head = text.index("\n\n", place) + 2
    # The numbers of tables are those of the whole report.
    return re.sub(r"^\*\*Table \d+\.\*\* ", "", text[begin : text.index("\n\n", head)])


def _picture(text: str, name: str) -> str:
    """A figure of index.md with its caption, which has no number here."""
    begin = text.rindex("![", 0, text.index(f"(figures/{name})"))
    end = text.index("\n\n", text.index("\n\n", begin) + 2)
    return re.sub(r"\*\*Figure \d+\.\*\* ", "", text[begin:end])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Make the reports of the repository small.")
    commands = parser.add_subparsers(dest="command", required=True)
    linking = commands.add_parser("link", help="show figures as files")
    linking.add_argument("report", type=Path)
    shortening = commands.add_parser("shorten", help="keep findings, main tables and the data that docs read")
    shortening.add_argument("report", type=Path)
    shortening.add_argument("short", type=Path, help=f"a folder called {', '.join(WHAT)}")
    given = parser.parse_args()
    if given.command == "link":
        print(f"{link(given.report)} figures linked")
    else:
        shorten(given.report, given.short)


if __name__ == "__main__":
    main()
