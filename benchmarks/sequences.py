"""Export a sequence and run qpbenchmark on it, for docs/qpbenchmark.md: python benchmarks/sequences.py --out FILE.

Needs `pip install qpbenchmark` beside gaussopt and its solvers.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import pandas as pd

import gaussopt as go
from gaussopt.comparison.sequence_files import export_sequence

SOLVERS = ("clarabel", "daqp", "osqp", "piqp", "proxqp", "scs")
SEQUENCES = (("crank-slider", "gauss"), ("two-bar", "lcp-qp"))
SETTINGS = "mid_accuracy"
STRIDE = 10


def measure(folder: Path) -> pd.DataFrame:
    """Largest residuals and median seconds by solver, as qpbenchmark computes them."""
    results = folder / "results.csv"
    for solver in SOLVERS:
        program, test_set = Path(sys.executable).with_name("qpbenchmark"), folder / "step_sequence.py"
        command = [program, "--results-path", results, test_set, "run", "--settings", SETTINGS, "--solver", solver]
        # Its report at the end wants all settings and somebody's name; the results are written before.
        subprocess.run(command, capture_output=True, text=True, check=False, input="\n")
    table = pd.read_csv(results)
    columns = {
        "found": "mean", "primal_residual": "max", "dual_residual": "max", "duality_gap": "max", "runtime": "median",
    }  # fmt: skip
    return table.groupby("solver").agg(columns)


def main() -> None:
    """Export, run, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    lines = [
        "# qpbenchmark on exported sequences",
        "",
        f"Step programs at every {STRIDE}th state of a reference, written by `gaussopt export` and run by qpbenchmark "
        f"{metadata.version('qpbenchmark')} with `{SETTINGS}`: share of programs solved, largest residuals and median "
        "microseconds, as qpbenchmark computes them.",
        "",
        "| sequence | solver | found | primal residual | dual residual | duality gap | microseconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for problem, formulation in SEQUENCES:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "sequence"
            export_sequence(go.problem(problem), formulation, folder, stride=STRIDE)
            for solver, row in measure(folder).iterrows():
                lines.append(
                    f"| {problem}, {formulation} | {solver} | {row['found']:.0%} | {row['primal_residual']:.1e} | "
                    f"{row['dual_residual']:.1e} | {row['duality_gap']:.1e} | {1e6 * row['runtime']:.0f} |"
                )
    lines += ["", "Written by `python benchmarks/sequences.py --out docs/qpbenchmark.md`."]
    text = "\n".join(lines) + "\n"
    if out is None:
        print(text)
    else:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
