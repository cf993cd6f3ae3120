"""What the README promises beside running as written, which tests/docs/test_docs.py sees to."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import gaussopt as go

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, int, str]]:
    found = []
    for page in PAGES:
        for i, match in enumerate(re.finditer(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)):
            found.append((page.name, i, match.group(1)))
    return found


def test_sizes_that_the_readme_promises() -> None:
    examples = [code for page, _, code in blocks("python") if page == "README.md"]
    count = [len([line for line in c.splitlines() if line.strip() and not line.startswith("import")]) for c in examples]
    assert len(count) == 4
    instant, energies, functions, contact = count
    assert instant <= 15
    assert energies <= 10
    assert functions <= 12
    assert contact <= 14


def test_the_rod_with_contact_is_solved_alike_by_all_formulations(capsys: pytest.CaptureFixture[str]) -> None:
    code = next(code for page, _, code in blocks("python") if page == "README.md" and "Contact(" in code)
    names: dict[str, object] = {}
    exec(code, names)
    fall = names["fall"]
    assert isinstance(fall, go.Trajectory)
    assert [e["kind"] for e in fall.events] == ["impact", "landing"]
    lines = capsys.readouterr().out.splitlines()[1:]
    assert len(lines) == 6
    assert all(line.split()[1] == "solved" for line in lines)


def test_the_pendulums_keep_energy_and_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain, double = (code for page, _, code in blocks("python") if page == "README.md" and "pendulum" in code)
    if plain.startswith("# double"):
        plain, double = double, plain
    names: dict[str, object] = {}
    exec(plain, names)
    motion = names["motion"]
    assert isinstance(motion, go.Trajectory)
    # RK4 with dt = 1 ms: the length drifts by less than 1e-9 and the energy stays at m g y = 0.
    assert abs(motion.q[-1] @ motion.q[-1] - 1.0) < 1e-9
    assert abs(motion.energy[-1]) < 1e-9
    Path("double_pendulum.py").write_text(double)
    motion = go.simulate("double_pendulum.py", dt=1e-3)
    assert motion.position_drift.max() < 1e-8
    assert abs(motion.energy[-1]) < 1e-7


def test_commands_are_one_line_each_and_ci_runs_the_test_one() -> None:
    shell = [code for page, _, code in blocks("sh") if page == "README.md"]
    commands = [c.strip() for c in shell if "--require-hashes" in c]
    assert len(commands) == 2
    assert all("\n" not in c for c in commands)
    assert commands[0].endswith("gaussopt papers")
    assert commands[1].endswith("python -m pytest")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "python -m pytest$" in script
    assert "\npython -m pytest -m documents\n" in script  # which the line above leaves out


def test_locks_hold_what_their_command_needs_and_no_address() -> None:
    main, tests = ((ROOT / f"requirements{kind}.lock").read_text(encoding="utf-8") for kind in ("", "-test"))
    pinned, more = (set(re.findall(r"^[\w.-]+==[\w.]+", lock, re.M)) for lock in (main, tests))
    assert pinned < more, "a version differs"
    assert not {"pytest", "mypy", "ruff", "sphinx", "playwright"} & {pin.partition("==")[0] for pin in pinned}
    assert not re.search(r"://|--(extra-)?index|--find-links", main + tests)


def test_the_readme_of_a_package_index_shows_and_links_nothing_that_is_not_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hatch = project["tool"]["hatch"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert shown
    assert set(shown) <= set(hatch["build"]["targets"]["sdist"]["only-include"])
    for rule in hatch["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text, changed = re.subn(rule["pattern"], rule["replacement"], text)
        assert changed
    assert not re.findall(r"\]\((?!https?:)[^)]+\)", text)
