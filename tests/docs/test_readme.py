"""What the README promises beside running as written, which tests/docs/test_docs.py sees to."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipk

import gaussopt as go

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, int, str]]:
    found = []
    for page in PAGES:
        for i, match in enumerate(re.finditer(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)):
            found.append((page.name, i, match.group(1)))
    return found


def example(word: str) -> str:
    return next(code for page, _, code in blocks("python") if page == "README.md" and word in code)


def numbers(svg: str) -> list[float]:
    return [float(x) for x in re.findall(r"(?<![\w.#-])-?\d+\.?\d*(?![\w.])", svg)]


def test_the_readme_is_short_and_begins_with_ten_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1200
    first = [line for line in example("pendulum").splitlines() if line.strip() and not line.startswith("import")]
    assert len(first) <= 10


def test_the_rod_with_contact_is_solved_alike_by_all_formulations(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(example("Contact("), names)
    fall = names["fall"]
    assert isinstance(fall, go.Trajectory)
    assert [e["kind"] for e in fall.events] == ["impact", "landing"]
    lines = capsys.readouterr().out.splitlines()[1:]
    assert len(lines) == 6
    assert all(line.split()[1] == "solved" for line in lines)


def test_the_pictures_are_those_that_the_code_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pendulum also has the period of the complete elliptic integral, and both motions keep their energy."""
    monkeypatch.chdir(tmp_path)
    for word, file in (("pendulum", "pendulum.svg"), ("two-links", "two-links.svg")):
        names: dict[str, object] = {}
        exec(example(word), names)
        motion = names["motion"]
        assert isinstance(motion, go.Trajectory)
        assert abs(motion.energy[-1] - motion.energy[0]) < 1e-6
        shown, written = (numbers((folder / file).read_text()) for folder in (ROOT / "docs" / "figures", tmp_path))
        assert shown == pytest.approx(written, abs=0.06)
        if file == "pendulum.svg":
            crests = np.flatnonzero(np.diff(np.sign(motion.v[:, 0])) < 0)
            period = 4 * ellipk(np.sin(1.0) ** 2) / np.sqrt(9.81)
            assert motion.t[crests[1]] == pytest.approx(period, abs=2e-3)


def test_commands_are_one_line_each_and_ci_runs_the_test_one() -> None:
    shell = [code for page, _, code in blocks("sh") if page == "README.md"]
    commands = [c.strip() for c in shell if "--require-hashes" in c]
    assert len(commands) == 2
    assert all("\n" not in c for c in commands)
    assert commands[0].endswith("gaussopt papers")
    assert commands[1].endswith("python -m pytest")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    picked = re.search(r"grep -m1 -E '([^']+)' README.md", script)
    assert picked is not None
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert next(line for line in lines if re.search(picked[1], line)) == commands[1]  # all of it, not its last line
    for left_out in ("campaigns", "documents"):
        assert f"\npython -m pytest -m {left_out}" in script


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
    packed = hatch["build"]["targets"]["sdist"]["only-include"]
    assert all(any(f"{path}/".startswith(f"{place}/") for place in packed) for path in shown)
    for rule in hatch["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text, changed = re.subn(rule["pattern"], rule["replacement"], text)
        assert changed
    assert not re.findall(r"\]\((?!https?:)[^)]+\)", text)
