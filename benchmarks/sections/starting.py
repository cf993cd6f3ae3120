"""Seconds until something is there: the import, the help, the first compiled motion."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from measuring import Competitor, interleave
from page import Goal, Section, Table, spread

MOTION = "import gaussopt as go; go.simulate('crank-slider', engine='compiled', t_end=0.1, error_estimate=False)"
COMMANDS = {
    "python -c 'import gaussopt'": ("-c", "import gaussopt"),
    "gaussopt --help": ("-m", "gaussopt", "--help"),
    "a first compiled motion, generated code kept from before": ("-c", MOTION),
    "python -c 'import numpy'": ("-c", "import numpy"),
    "python -c pass": ("-c", "pass"),
}
"""The last two for comparison."""
LIMITS = (0.5, 0.5, 1.2)


def measure(budget: float) -> Section:
    """Every command in a process of its own."""
    _process(COMMANDS["a first compiled motion, generated code kept from before"])()
    times = interleave([Competitor(name, _process(command)) for name, command in COMMANDS.items()], budget)
    rows = [(f"`{name}`", spread(times.of(name), 1.0, "s")) for name in COMMANDS]
    data = [{"command": name, "seconds": times.of(name).median} for name in COMMANDS]
    goals = [
        Goal(f"`{name}`" if "--" in name or "-c" in name else name, limit, True, times.of(name), unit="s")
        for name, limit in zip(COMMANDS, LIMITS, strict=False)
    ]
    return Section("Starting", (), (Table(("command", "seconds"), rows, data),), goals)


def _process(command: tuple[str, ...]) -> Callable[[], object]:
    def run() -> object:
        return subprocess.run([sys.executable, *command], check=True, capture_output=True)

    return run
