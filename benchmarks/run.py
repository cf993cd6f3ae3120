"""Measure everything and write docs/performance.md: our motions beside other engines, accuracy beside time.

    python benchmarks/run.py [--out docs/performance.md] [--json FILE] [--only SECTION ...] [--budget SECONDS]

Needs the extra `bench` and g++; what is not installed is said in its row. Never fails on a slow machine: run it on a
quiet one and read ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import overhead  # noqa: E402
import rivals  # noqa: E402
from measuring import compiler_version, machine, versions  # noqa: E402
from page import Section, markdown, plain  # noqa: E402
from rivals import handwritten  # noqa: E402
from rivals.compiling import OPTIMISED  # noqa: E402
from sections import batch, compiling, contacts, crank_slider, four_bar, links, slow_paths, space, starting, steps  # noqa: E402

SECTIONS: dict[str, Callable[[float], Section]] = {
    "crank-slider": crank_slider.measure,
    "four-bar": four_bar.measure,
    "steps": steps.measure,
    "batch": batch.measure,
    "chain": links.measure,
    "contact": contacts.measure,
    "slow-paths": slow_paths.measure,
    "space": space.measure,
    "compiling": compiling.measure,
    "starting": starting.measure,
    "python-loop": lambda budget: overhead.section(max(8, min(40, round(budget / 1.5)))),
}
PACKAGES = ("gaussopt", "numpy", "llvmlite", "osqp", "daqp", "cvxpy", "clarabel", *rivals.PACKAGES)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Markdown page")
    parser.add_argument("--json", type=Path, help="the same as numbers")
    parser.add_argument("--only", nargs="+", choices=tuple(SECTIONS), default=tuple(SECTIONS))
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for the rounds of a section, about")
    arguments = parser.parse_args()
    sections = []
    for name in arguments.only:
        print(f"{name} ...", flush=True)
        sections.append(SECTIONS[name](arguments.budget))
    found, flags = versions(PACKAGES), _flags()
    text = markdown(
        "Performance",
        (
            "Times of all engines of a table were taken in turns, in one run: medians, with quartiles in brackets. A "
            "fast wrong answer is no answer: beside each time stands the error against a reference. Ratios are medians "
            "of those within a round.",
        ),
        sections,
        (
            f"{machine()}. {', '.join(f'{k} {v}' for k, v in found.items())}. {flags}",
            "Written by `python benchmarks/run.py --out docs/performance.md`; read ratios, not microseconds.",
        ),
    )
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    if arguments.json:
        numbers = {"machine": machine(), "versions": found, "compiler": flags, "sections": plain(sections)}
        arguments.json.write_text(json.dumps(numbers, indent=1), encoding="utf-8")


def _flags() -> str:
    """Compilers and what they were told."""
    if shutil.which(handwritten.COMPILER) is None:
        return f"No {handwritten.COMPILER} here."
    return (
        f"Hand-written C++ and CasADi's C: {compiler_version(handwritten.COMPILER)}, `{' '.join(OPTIMISED)}`, no "
        "-ffast-math."
    )


if __name__ == "__main__":
    main()
