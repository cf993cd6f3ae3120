"""Inputs that somebody might give by mistake or on purpose: files of every format, options of every command.

Every input follows from a seed and a number. Most are nearly right, as those reach deepest.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import hashlib
import io
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gaussopt.storage import netcdf

DEVICE_ZERO = "/dev/zero"
Entry = bytes | str | None
"""What is at a path: contents, where a link leads, or a folder."""


@dataclass(frozen=True)
class Case:
    """One input.

    Attributes
    ----------
    kind : what is varied
    arguments : of the command line, or the name of a reader in `READERS` with what it reads
    files : what lies in the working folder
    way : "inside" this process, in a "process" of its own, or by a "reader"
    """

    kind: str
    arguments: tuple[str, ...]
    files: dict[str, Entry] = field(default_factory=dict)
    way: str = "inside"


# -- values -----------------------------------------------------------------------------------------------------

LEAVES: tuple[Any, ...] = (
    None, True, False, "", "1", "1.0", "abc", "\u00e9\u202e", "\ud800", "NaN", [], {}, [[]], [[], []], [None], ["1"],
    [[1, 2], [3]], math.nan, math.inf, -math.inf, -0.0, 0, 1, -1, 2.5, 1e308, -1e308, 5e-324, 1e-160, 1e154, 1e16,
    10**400, 2**63, 2**64, -(2**63) - 1, 10**9, [0.0] * 7, {"shape": [2, 2]}, {"shape": [10**9, 10**9], "row": [],
    "column": [], "value": []}, {"shape": [2, 2], "row": [0, 5], "column": [0, -1], "value": [1, "x"]}, [[[1.0]]],
)  # fmt: skip
WORDS = (
    "", " ", "nan", "inf", "-inf", "-0", "0", "-1", "1e-300", "1e400", "1.5", "abc", "\u0661", "\uff10.\uff11", "1_0",
    "0x10", "1,2", "1;2", "None", "true", "[]", "{}", "=", "==", "a=", "=1", "a=b=c", "\u00e9", "\u202e", "\U0001f600",
    "x" * 300, "../x", "/", ".", "~", "*", "--json", "-x", "--", "a\tb", "a\nb", "'", '"', "%s", "{0}", "\\", "1e-3 ",
    "gauss ", "GAUSS", "gaus", "lemk", "kkt,", ",", "kkt,kkt", "kkt(", "kkt()", "kkt(x=1)", "0:1:2", "1:0:3", "::",
    "9" * 400, "nan:nan:2", "0:1:1e9",
)  # fmt: skip
NUMBERS = (
    "nan", "inf", "-inf", "-0", "0", "-1", "-1e-300", "1e-300", "5e-324", "1e400", "1e308", "abc", "", " ", "1,5",
    "\uff10.\uff11", "0x1", "1e", "+", "None", "1e-7", "0.002", " 0.002 ",
)  # fmt: skip
COUNTS = ("nan", "-1", "0", "1", "2", "1.5", "1e3", "", "abc", "9" * 30, "-" + "9" * 30, "\u0661", "+1", " 1 ")
NAMES = {
    "--formulation": (
        "gauss", "lagrange", "dual", "routh", "null-space", "stick-slip", "lcp", "lcp-qp", "moreau-jean",
        "normal-force-qp", "weighted-normal-force-qp", "least-squares", "least-squares-as-printed",
        "pinv-mass-as-printed", "quasi-velocity", "udwadia-kalaba", "joint-force-qp", "frozen-friction", "impact",
    ),
    "--solver": (
        "kkt", "newton", "lemke", "pgs", "principal-pivoting", "enumerate", "osqp", "daqp", "clarabel", "piqp",
        "proxqp", "scs", "sparse-kkt", "quadprog",
    ),
    "--stepper": ("rk4", "rk45", "dop853", "radau", "rattle", "semi-implicit", "velocity-gauss", "moreau-jean",
                  "as-printed-001"),
    "--stabilisation": ("none", "baumgarte", "projection"),
    "--impact": ("newton", "poisson", "none"),
    "--accumulation": ("stop", "close"),
    "--on-singular": ("warn", "stop"),
    "--engine": ("auto", "interpreted", "compiled"),
}  # fmt: skip
PROBLEMS = {
    "bouncing-ball": ("m", "g", "h"), "knife-edge-body": ("m",), "crank-slider": ("l1", "m1"), "box": ("mu",),
    "block-on-incline": ("mu", "alpha"), "friction-oscillator": ("mu",), "two-bar": ("mu", "l1"),
}  # fmt: skip
KINDS = ("problems", "formulations", "solvers", "steppers", "families", "solver", "Problems", "")

STEPS: tuple[dict[str, Any], ...] = (
    {"kind": "step", "M": [[2.0, 0.0], [0.0, 3.0]], "Q": [1.0, -9.81], "J": [[1.0, 1.0]], "gamma": [0.5], "h": [0, 1]},
    {"kind": "step", "M": [[1.0]], "Q": [-9.81], "J_N": [[1.0]], "zeta_N": [0.0], "g_N": [0.0], "gdot_N": [0.0],
     "e_N": [0.5], "e_T": [0.0], "t": 0.0, "dt": 0.01, "q": [0.0], "v": [0.0]},
    {"kind": "step", "M": [[1.0, 0.0], [0.0, 1.0]], "Q": [1.0, -9.81], "J_N": [[0.0, 1.0]], "zeta_N": [0.0],
     "J_T": [[1.0, 0.0]], "zeta_T": [0.0], "v_T": [0.0], "mu": [0.3]},
    {"kind": "step", "M": [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], "Q": [1.0, 0.5, -9.81], "J_N": [[0, 0, 1.0]],
     "zeta_N": [0.0], "J_T": [[[1.0, 0, 0], [0, 1.0, 0]]], "zeta_T": [[0.0, 0.0]], "v_T": [[0.0, 1.0]], "mu": [0.3]},
    {"kind": "step", "M": [[1.0, 0.2], [0.2, 1.0]], "Q": [0.0, 1.0], "J": [[0.0, 1.0]], "gamma": [0.0],
     "D_omega": [[1.0], [0.0]], "w_omega": [0.0, 0.0]},
    {"kind": "step", "M": {"shape": [2, 2], "row": [0, 1], "column": [0, 1], "value": [1.0, 2.0]}, "Q": [0, -9.81],
     "J": {"shape": [1, 2], "row": [0, 0], "column": [0, 1], "value": [1.0, -1.0]}, "gamma": [-1.0]},
)  # fmt: skip
PROGRAMS: tuple[dict[str, Any], ...] = (
    {"kind": "qp", "P": [[2.0, 0.5], [0.5, 1.0]], "q": [-1.0, 1.0], "A": [[1.0, 1.0], [1.0, -1.0]], "l": [1.0, -1.0],
     "u": [1.0, 2.0]},
    {"kind": "qp", "P": [[1e12, 0], [0, 0.0]], "q": [-1e6, -0.1], "A": [[1.0, 0.0]], "l": [None], "u": [1.0]},
    {"kind": "lcp", "M": [[2.0, 1.0], [1.0, 2.0]], "q": [-1.0, 1.0]},
    {"kind": "lcp", "M": [[0.0, -1.0], [1.0, 0.0]], "q": [1.0, -1.0]},
    {"kind": "lcp", "M": [[1.0]], "q": [0.0]},
)  # fmt: skip
ANSWERS: tuple[dict[str, Any], ...] = (
    {"a": [0.5, 0.0], "lam": [0.1]}, {"a": [0.0], "lam_N": [9.81]}, {"a": [0.0, 0.0], "lam_N": [9.81], "lam_T": [-1.0]},
    {"a": [0.0, 0.0, 0.0], "lam_N": [9.81], "lam_T": [[-1.0, 0.0]]}, {"x": [1.0, 0.0], "y": [1.0, 0.0]},
    {"z": [0.5, 0.0]}, {"z": [0.0]},
)  # fmt: skip


# -- spoiling ---------------------------------------------------------------------------------------------------


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in nested lists and mappings."""
    found = [path] if path else []
    if isinstance(data, dict | list):
        entries = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in entries:
            found += places(value, (*path, key))
    return found


def spoiled(rng: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    """The same with one to three things changed."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        where = places(data)
        if not where:
            break
        *path, last = rng.choice(where)
        owner: Any = data
        for key in path:
            owner = owner[key]
        match rng.randrange(8):
            case 0:
                del owner[last]
            case 1 if isinstance(owner, list):
                owner.insert(last, copy.deepcopy(rng.choice((owner[last], *LEAVES))))
            case 2 if isinstance(owner, dict):
                name = str(last)
                near = rng.choice((name.upper(), name.lower(), f"{name}s", f" {name}", name[:-1], "note", ""))
                owner[near] = owner.pop(last) if rng.random() < 0.6 else copy.deepcopy(rng.choice(LEAVES))
            case 3 if isinstance(owner[last], int | float):
                with contextlib.suppress(OverflowError):
                    owner[last] = owner[last] * rng.choice((-1, 1e-9, 1e9, 1e154, 1e-200, 2.0**40))
            case 4 if isinstance(owner[last], list):
                owner[last] = [owner[last]] if rng.random() < 0.5 else owner[last] * rng.choice((0, 2, 3))
            case 5 if isinstance(owner[last], list | dict):
                owner[last] = json.dumps(owner[last])
            case _:
                owner[last] = copy.deepcopy(rng.choice(LEAVES))
    return data


def written(rng: random.Random, data: Any) -> bytes:
    """A JSON text, now and then one that is damaged or unusual."""
    text = json.dumps(data)
    if rng.random() < 0.85:
        return text.encode()
    match rng.randrange(9):
        case 0:
            return text.encode(rng.choice(("utf-16", "utf-32", "utf-8-sig")))
        case 1:  # the same key again
            first = text[1:].split(",")[0]
            return f"{{{first}, {text[1:]}".encode()
        case 2:
            return (rng.choice("[{") * rng.choice((50, 3000, 100_000))).encode()
        case 3:
            return text.replace("1", "1" * rng.choice((30, 5000)), 1).encode()
        case 4:
            return rng.choice((b"", b" ", b"null", b"[]", b"1", b'"x"', b"{}", b"\xff\xfe", b"\0", b"{]", b"NaN"))
        case 5:
            return text.encode() + rng.choice((b"x", b"{}", b",", b"\0", b"\n\n"))
        case _:
            return damaged(rng, text.encode())


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Bytes flipped, cut, doubled or overwritten."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if not found:
            break
        at = rng.randrange(len(found))
        match rng.randrange(6):
            case 0 | 1:
                found[at] ^= 1 << rng.randrange(8)
            case 2:
                del found[at:]
            case 3:
                del found[at : at + rng.choice((1, 4, 64))]
            case 4:
                found[at:at] = found[at : at + rng.choice((1, 8, 256))]
            case _:
                size = rng.choice((1, 4, 8))
                found[at : at + size] = rng.choice((b"\0", b"\xff", b"\x80", b"\x7f")) * size
    return bytes(found)


# -- commands ---------------------------------------------------------------------------------------------------


def _value(rng: random.Random, option: str) -> str:
    """A value for an option: right, nearly right, or absurd."""
    if rng.random() < 0.25:
        return rng.choice(WORDS)
    if option in NAMES:
        return rng.choice(NAMES[option])
    if option in ("--jobs", "--stride", "--record-every", "--loads"):
        return rng.choice(COUNTS)
    if option == "--set":
        names = [name for known in PROBLEMS.values() for name in known]
        name = rng.choice((*names, "q0", "v0", "case", "variant", "name", "self", "t_end", "values"))
        return f"{name}={rng.choice((*NUMBERS, '1,2', '1,2,3', '[0]', 'nan,nan', 'regular', '0.5', '1'))}"
    if option == "--solver-option":
        name = rng.choice(("tolerance", "eps_abs", "max_iter", "iterations", "verbose", "solver", "x", "eps_rel"))
        return f"{name}={rng.choice((*NUMBERS, 'True', '10'))}"
    if option == "--axis":
        return f"{rng.choice(('mu', 'theta1', 'x', ''))}={rng.choice(('0:1:2', '0:1', '1', 'nan', '0:inf:2', '::'))}"
    if option == "--dial":
        return (
            f"{rng.choice(('contacts', 'friction', 'units', 'x'))}={rng.choice(('1', '1:4', '1,2', 'nan', '-1', ''))}"
        )
    if option == "--family":
        return rng.choice(("sliding-row", "linkage", "box-stack", "chain", "chains"))
    if option == "--dt":
        return rng.choice(NUMBERS).replace("1e-7", "1e-4")  # twenty thousand steps may well take long
    return rng.choice(NUMBERS)


SHARED = ("--formulation", "--solver", "--stepper", "--dt", "--t-end", "--stabilisation", "--impact", "--accumulation",
          "--set")  # fmt: skip
OPTIONS = {
    "solve": ("--formulation", "--solver", "--solver-option", "--tolerance"),
    "verify": ("--tolerance",),
    "run": (*SHARED, "--solver-option", "--rtol", "--atol", "--tolerance", "--engine", "--record-every", "--save",
            "--on-singular"),
    "animate": (*SHARED, "--from", "--out"),
    "atlas": ("--axis", "--set", "--slips", "--loads", "--out"),
    "compare": ("--family", "--dial", "--sequence", "--formulations", "--solvers", "--precision", "--stepper", "--dt",
                "--t-end", "--tolerance", "--stride", "--time-budget", "--case-limit", "--jobs", "--out", "--qp"),
    "report": ("--out",),
    "export": ("--formulation", "--reference", "--stride", "--set", "--out"),
    "papers": ("--out", "--quick", "--jobs"),
    "benchmarks": ("--out", "--quick", "--jobs"),
    "list": (),
}  # fmt: skip
FLAGS = ("--qp", "--quick")
FATAL = {
    "compare": ("--solvers", "no-such-solver"), "papers": ("--jobs", "-1"), "benchmarks": ("--jobs", "-1"),
    "atlas": ("--set", "no-such-name=1"),
    "animate": ("--set", "no-such-name=1"), "export": ("--set", "no-such-name=1"),
}  # fmt: skip
"""What ends a command that would take long, after most of what it is given was looked at."""


def _options(rng: random.Random, command: str, most: int) -> list[str]:
    found: list[str] = []
    known = OPTIONS[command]
    for _ in range(rng.randint(0, most) if known else 0):
        option = rng.choice(known)
        if rng.random() < 0.03:
            option = rng.choice((option[:-1], option + "x", option.upper(), option.replace("--", "-")))
        if option in FLAGS:
            found.append(option)
        elif option in ("--out", "--save", "--from", "--sequence"):
            file = rng.choice(("o", "o.nc", "o.svg", "file", "file/x", "folder", "link", "", ".", "no/such", "o.NC"))
            found += [option, file]
        elif rng.random() < 0.03:
            found.append(option)  # without its value
        elif rng.random() < 0.1:
            found.append(f"{option}={_value(rng, option)}")
        else:
            found += [option, _value(rng, option)]
    if rng.random() < 0.5:
        found.append("--json")
    return found


AROUND: dict[str, Entry] = {"file": b"x", "folder": None, "link": "nowhere"}


def _path(rng: random.Random, right: str) -> str:
    """A path, now and then to something else."""
    if rng.random() < 0.96:
        return right
    return rng.choice(("no-such", "", ".", "folder", "link", "file", "/dev/null", "\u00e9", "x" * 300, "a\nb", "file/x",
                       DEVICE_ZERO, "/proc/self/mem", "loop"))  # fmt: skip


def solve(rng: random.Random) -> Case:
    """A step or program, spoiled or with spoiled options."""
    data = rng.choice(STEPS + PROGRAMS)
    if rng.random() < 0.85:
        data = spoiled(rng, data)
    most = 1 if rng.random() < 0.5 else 3
    arguments = ["solve", _path(rng, "given.json"), *_options(rng, "solve", most)]
    return Case("solve", tuple(arguments), {**AROUND, "loop": "loop", "given.json": written(rng, data)})


def verify(rng: random.Random) -> Case:
    """A step or program and an answer, either of them spoiled."""
    data = rng.choice(STEPS + PROGRAMS)
    wanted = {"qp": "x", "lcp": "z", "step": "a"}[data["kind"]]
    answer = rng.choice([a for a in ANSWERS if wanted in a])
    if rng.random() < 0.6:
        answer = spoiled(rng, answer)
    if rng.random() < 0.4:
        data = spoiled(rng, data)
    arguments = ["verify", _path(rng, "given.json"), _path(rng, "answer.json"), *_options(rng, "verify", 1)]
    files = {"given.json": written(rng, data), "answer.json": written(rng, answer)}
    return Case("verify", tuple(arguments), {**AROUND, "loop": "loop", **files})


def run(rng: random.Random) -> Case:
    """A short motion with odd options."""
    problem = rng.choice(tuple(PROBLEMS))
    given = [_path(rng, problem), "--dt", "0.001", "--t-end", "0.002", *_options(rng, "run", 3)]
    return Case("run", ("run", *given), AROUND)


def refused(rng: random.Random) -> Case:
    """A command that would take long, with something that ends it."""
    command = rng.choice(tuple(FATAL))
    compared = rng.choice(("bouncing-ball", "given.json", "no-such", "no-such.json", "file"))
    first = {"compare": compared, "papers": "", "benchmarks": ""}
    name = first.get(command, rng.choice((*PROBLEMS, "no-such")))
    given = [command, *([name] if name else []), *_options(rng, command, 4)]
    if command in ("atlas", "animate", "export", "compare") and "--out" not in given and rng.random() < 0.9:
        given += ["--out", "o.svg" if command == "animate" else "o"]
    if command == "export" and "--formulation" not in given:
        given += ["--formulation", "gauss"]
    # Last, as the last of an option that is given twice counts.
    given += FATAL[command]
    files = {**AROUND, "given.json": written(rng, spoiled(rng, rng.choice(STEPS + PROGRAMS)))}
    return Case(command, tuple(given), files)


def cheap(rng: random.Random) -> Case:
    """Commands that only look things up, unknown commands, and no command at all."""
    match rng.randrange(4):
        case 0:
            given = ["list", rng.choice(KINDS), *_options(rng, "list", 0)]
        case 1:
            known = sorted(OPTIONS.keys() - {"papers", "benchmarks"})  # which, right as they are, take minutes
            given = [rng.choice((*known, "lis", "RUN", "", "--version", "--help", "-h")), rng.choice(WORDS)]
        case 2:
            given = ["report", _path(rng, "folder"), *_options(rng, "report", 1)]
        case _:
            given = [rng.choice(WORDS) for _ in range(rng.randrange(4))]
    return Case("words", tuple(given), {**AROUND, "loop": "loop"})


# -- folders and binary files that gaussopt wrote ---------------------------------------------------------------


@cache
def material(folder: Path) -> dict[str, dict[str, bytes]]:
    """Files by what they are: motions, sequences, results, cases of a store."""
    return {
        part.name: {
            str(file.relative_to(part)): file.read_bytes() for file in sorted(part.rglob("*")) if file.is_file()
        }
        for part in sorted(folder.iterdir())
    }


OTHERS = (
    np.zeros(0), np.zeros(2), np.full((2, 3), np.nan), np.float64(1.0), np.arange(5), np.array([b"x", b"y"]),
    np.zeros((1, 1, 1, 1)), np.array(["a"], dtype="S1"),
)  # fmt: skip


def motion(rng: random.Random, given: dict[str, dict[str, bytes]]) -> Case:
    """A motion in NetCDF: damaged, or forged by somebody who knows how its seal is made, or without one."""
    name, content = rng.choice(sorted(given["motions"].items()))
    if rng.random() < 0.2:
        return Case("motion", ("motion", name), {name: damaged(rng, content)}, "reader")
    body = content[: content.rindex(netcdf.MARK)]
    if rng.random() < 0.03:  # read in a process of its own
        return Case("motion", ("motion", name), {name: damaged(rng, body)}, "reader")
    body = _altered(rng, body)
    seal = netcdf.MARK + hashlib.sha256(body).hexdigest().encode() + b"\n"
    return Case("motion", ("motion", name), {name: body + seal}, "reader")


def _altered(rng: random.Random, content: bytes) -> bytes:
    """A NetCDF file with other entries."""
    import h5py

    place = io.BytesIO(content)
    with h5py.File(place, "r+") as file:
        for _ in range(rng.choice((1, 1, 2))):
            if rng.random() < 0.5:
                owner: Any = file.attrs if rng.random() < 0.8 else file[rng.choice(sorted(file))].attrs
                name = rng.choice(sorted(owner) or ["status"])
                if rng.random() < 0.2 and name in owner:
                    del owner[name]
                    continue
                try:
                    known = json.loads(owner[name])
                    owner[name] = json.dumps(spoiled(rng, known if isinstance(known, dict) else {"x": known}))
                except (KeyError, ValueError, TypeError):
                    owner[name] = rng.choice(("", "x", 1.5, "[", "{}", "null", "[1]", "NaN"))
                continue
            name = rng.choice(sorted(file))
            other = rng.choice(OTHERS)
            if rng.random() < 0.3:
                with contextlib.suppress(Exception):
                    file[f"{name}x"] = file[name]
            del file[name]
            if rng.random() < 0.7:
                file[name] = other
    return place.getvalue()


def _manifested(rng: random.Random, files: dict[str, bytes]) -> dict[str, bytes]:
    """A sequence whose manifest is spoiled, its sums right where it has any: a forger's work."""
    manifest = spoiled(rng, json.loads(files["manifest.json"]))
    rows = manifest.get("programs")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and rng.random() < 0.7:
            if rng.random() < 0.05:
                row["file"] = rng.choice(("../x", DEVICE_ZERO, ".", "", "manifest.json", "loop", "\0", "x" * 300))
            content = files.get(str(row.get("file")))
            if content is not None:
                row["sha256"] = hashlib.sha256(content).hexdigest()
    return {**files, "manifest.json": written(rng, manifest)}


def sequence(rng: random.Random, given: dict[str, dict[str, bytes]]) -> Case:
    """An exported sequence with spoiled programs or a spoiled manifest."""
    part = rng.choice(sorted(name for name in given if name.startswith("sequence")))
    files = dict(given[part])
    name = rng.choice(sorted(name for name in files if not name.endswith(".py")))
    if rng.random() < 0.5:
        files = _manifested(rng, files)
    else:
        content = files[name]
        if name.endswith(".json") and rng.random() < 0.7:
            files[name] = written(rng, spoiled(rng, json.loads(content)))
        else:
            files[name] = damaged(rng, content)
        if name != "manifest.json" and rng.random() < 0.8:
            manifest = json.loads(files["manifest.json"])
            for row in manifest["programs"]:
                if row["file"] == name:
                    row["sha256"] = hashlib.sha256(files[name]).hexdigest()
            files["manifest.json"] = json.dumps(manifest).encode()
    return Case("sequence", ("sequence", "given"), {f"given/{k}": v for k, v in files.items()} | {"x": b"1"}, "reader")


def results(rng: random.Random, given: dict[str, dict[str, bytes]]) -> Case:
    """The results of a comparison, damaged or spoiled."""
    content = given["store"]["results.json.gz"]
    if rng.random() < 0.3:
        content = damaged(rng, content)
    else:
        data = spoiled(rng, json.loads(gzip.decompress(content)))
        content = gzip.compress(written(rng, _forged(rng, data)), compresslevel=1, mtime=0)
    return Case("results", ("results", "given"), {"given/results.json.gz": content}, "reader")


def _forged(rng: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    """The same, mostly with a checksum that is right."""
    if "checksum" in data and rng.random() < 0.7:
        del data["checksum"]
        text = json.dumps(data, sort_keys=True, separators=(",", ":"))
        data["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    return data


def store(rng: random.Random, given: dict[str, dict[str, bytes]]) -> Case:
    """A store of finished cases, damaged or forged."""
    files = dict(given["store"])
    name = rng.choice(sorted(n for n in files if n == "store.json" or n.startswith("cases")))
    content, reader = files[name], "store"
    if name.endswith(".json") and rng.random() < 0.6:
        files[name], reader = written(rng, _forged(rng, spoiled(rng, json.loads(content)))), "forged store"
    else:
        files[name] = damaged(rng, content)
    return Case("store", (reader, "given"), {f"given/{k}": v for k, v in files.items()}, "reader")


def whole(rng: random.Random, given: dict[str, dict[str, bytes]]) -> Case:
    """Damaged folders and files through the commands that read them."""
    match rng.randrange(3):
        case 0:
            found = motion(rng, given)
            name = found.arguments[1]
            problem = name.removesuffix(".nc")
            return Case("motion", ("animate", problem, "--from", name, "--out", "o.svg", "--json"), found.files)
        case 1:
            return Case("results", ("report", "given", "--out", "o", "--json"), results(rng, given).files)
        case _:
            found = sequence(rng, given)
            options = ("--solvers", "no-such-solver", "--out", "o", "--json")
            return Case("sequence", ("compare", "--sequence", "given", *options), found.files)


Plain = Callable[[random.Random], Case]
Given = Callable[[random.Random, dict[str, dict[str, bytes]]], Case]
PLAIN: tuple[tuple[Plain, float], ...] = ((solve, 30), (verify, 14), (run, 12), (refused, 12), (cheap, 6))
GIVEN: tuple[tuple[Given, float], ...] = ((motion, 4), (sequence, 9), (results, 5), (store, 4), (whole, 1.5))
PROCESSES = 0.002
"""Share of the commands that run in a process of their own, where exit codes and crashes are real."""


def case_of(seed: int, number: int, folder: Path) -> Case:
    """The input of a number.

    Parameters
    ----------
    folder : with what gaussopt wrote, see `fuzz.prepare`
    """
    from fuzz_files import contacts, hostile

    rng = random.Random(f"{seed}/{number}")
    makers: list[tuple[Callable[..., Case], float]] = [*PLAIN, (contacts, 8), *GIVEN, (hostile, 4)]
    (maker,) = rng.choices([m for m, _ in makers], [weight for _, weight in makers])
    given = (material(folder),) if maker in [hostile, *(m for m, _ in GIVEN)] else ()
    found = maker(rng, *given)
    if found.way == "inside" and rng.random() < PROCESSES and not any("\0" in word for word in found.arguments):
        return Case(found.kind, found.arguments, found.files, "process")
    return found
