"""What the README and the docs say runs as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gaussopt as go

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, int, str]]:
    found = []
    for page in PAGES:
        for i, match in enumerate(re.finditer(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)):
            found.append((page.name, i, match.group(1)))
    return found


@pytest.mark.parametrize(("page", "number", "code"), blocks("python"), ids=lambda x: str(x)[:20])
def test_python_block_runs(
    page: str,
    number: int,
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "block"}
    exec(compile(code, f"{page}, block {number}", "exec"), names)
    motion = names.get("motion")
    if motion is not None:
        assert isinstance(motion, go.Trajectory)
        assert motion.status is go.Status.SOLVED


def test_sizes_that_the_readme_promises() -> None:
    examples = [code for page, _, code in blocks("python") if page == "README.md"]
    count = [len([line for line in c.splitlines() if line.strip() and not line.startswith("import")]) for c in examples]
    assert len(count) == 4
    assert count[3] <= 14
    assert count[0] <= 15
    assert count[1] <= 12
    assert count[2] <= 8


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


def test_both_pendulums_agree_with_energy_and_length() -> None:
    finals = []
    for page, _, code in blocks("python"):
        if page == "README.md" and "pendulum" in code:
            names: dict[str, object] = {}
            exec(code, names)
            motion = names["motion"]
            assert isinstance(motion, go.Trajectory)
            # RK4 with dt = 1 ms: the length drifts by less than 1e-9 and the energy stays at m g y = 0.
            assert abs(motion.q[-1] @ motion.q[-1] - 1.0) < 1e-9
            assert abs(motion.energy[-1]) < 1e-9
            finals.append(motion.q[-1])
    assert len(finals) == 2
    assert finals[0] == pytest.approx(finals[1], abs=1e-11)


def test_links_and_pictures_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_commands_are_one_line_each_and_ci_runs_the_test_one() -> None:
    shell = [code for page, _, code in blocks("sh") if page == "README.md"]
    commands = [c.strip() for c in shell if "requirements.lock" in c]
    assert len(commands) == 2
    assert all("\n" not in c for c in commands)
    assert commands[0].endswith("gaussopt papers")
    assert commands[1].endswith("python -m pytest")
    assert "python -m pytest$" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_flag_shown_is_a_flag() -> None:
    import subprocess
    import sys

    shown = set(re.findall(r"(?<=\s)--[a-z][a-z-]+", "\n".join(c for p, _, c in blocks("sh") if p == "README.md")))
    shown -= {"--require-hashes", "--no-deps"}
    known = ""
    for command in ("run", "solve", "verify", "papers", "list", "compare", "atlas", "report", "export"):
        done = subprocess.run(
            [sys.executable, "-m", "gaussopt", command, "--help"], capture_output=True, text=True, check=True
        )
        known += done.stdout
    assert all(flag in known for flag in shown), shown
