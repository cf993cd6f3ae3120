"""Batches on a graphics processor, in numba's simulator: the loops, the parts, the folder, and what is refused.

The simulator replaces `numba.cuda` when it is imported, so everything runs in one process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gaussopt as go
from gaussopt.compiled import cuda

METHODS = {
    "rk4": 1e-14, "semi-implicit": 1e-14, "velocity-gauss": 1e-13, "rattle": 1e-14, "rk45": 1e-9, "dop853": 1e-9,
}  # fmt: skip
"""Steppers, and how closely they agree with the processor: to the tolerance where they choose their steps."""

SCRIPT = """
import json, sys
import numpy as np
import gaussopt as go
from gaussopt.simulation import batch_cuda

def batch(problem, name, device, **settings):
    entry = go.problem(problem)
    values = entry.parameter_values[name] * np.linspace(0.8, 1.1, 5)
    settings = {"t_end": 0.0072, **settings}
    return go.simulate_batch(problem, parameters={name: values}, dt=1e-3, record_every=5, device=device, **settings)

def apart(problem, name, **settings):
    card, known = (batch(problem, name, device, **settings) for device in ("cuda", "cpu"))
    assert card.attrs["engine"] == "cuda" and (card.status == "solved").all() and card.time.equals(known.time), card
    return max(float(abs(card[x] - known[x]).max()) for x in ("q", "v"))

found = {"methods": {s: apart("crank-slider", "tau", stepper=s) for s in json.loads(sys.argv[1])}}
found["projected"] = {
    s: apart("crank-slider", "tau", stepper=s, stabilisation="projection", t_end=0.0052)
    for s in ("rk4", "semi-implicit", "dop853")
}
found["singular mass"] = apart("four-bar", "psi")
found["certified"] = float(batch("crank-slider", "tau", "cuda").relative_error.max())
whole = batch("crank-slider", "tau", "cuda")
batch_cuda.MEMBERS = 2
shown = []
parts = batch("crank-slider", "tau", "cuda", progress=shown.append)
found["parts"] = bool(parts.drop_attrs().identical(whole.drop_attrs()))
found["shown"] = shown == sorted(shown) and shown[-1] == 1.0

def stop(done):
    if done > 0.3:
        raise KeyboardInterrupt

stopped = batch("crank-slider", "tau", "cuda", progress=stop)
found["stopped"] = stopped.status.values.tolist()
found["kept"] = bool((stopped.q[:2] == whole.q[:2]).all())
batch_cuda.MEMBERS = 100

# A parameter that is no number, a start off the constraints, and a mass below zero.
entry = go.problem("crank-slider")
q0 = np.tile(entry.q0, (4, 1))
q0[2] += 0.1
odd = go.simulate_batch(
    "crank-slider", parameters={"tau": [-0.5, np.nan, -0.5, -0.5], "m1": [1.0, 1.0, 1.0, -1.0]},
    initial={"q0": q0, "v0": entry.v0}, dt=1e-3, t_end=0.005, device="cuda",
)
found["odd"] = odd.status.values.tolist()
folder = sys.argv[2]
first = batch("crank-slider", "tau", "cuda", out=folder)
found["folder"] = bool(first.equals(batch("crank-slider", "tau", "cuda", out=folder)))
try:
    batch("crank-slider", "tau", "cpu", out=folder)
except go.GaussoptError as error:
    found["other device"] = str(error)
contact = {"stepper": "moreau-jean"}
found["contacts"] = {
    "friction-oscillator": apart("friction-oscillator", "mu", t_end=0.0172, **contact),
    "bouncing-ball": apart("bouncing-ball", "e", t_end=0.0172, **contact),
}
swings = [batch("friction-oscillator", "mu", "cuda", t_end=0.0172, **contact)]
batch_cuda.MEMBERS = 2
swings.append(batch("friction-oscillator", "mu", "cuda", t_end=0.0172, **contact))
batch_cuda.MEMBERS = 100
found["contact parts"] = bool(swings[0].drop_attrs().identical(swings[1].drop_attrs()))
found["contact certificates"] = float(swings[0].relative_error.max())
box = go.problem("box")
fallen = go.simulate_batch(
    "box", initial={"q0": np.array([box.q0, box.q0 - 1.0]), "v0": box.v0}, dt=1e-3, t_end=0.01, device="cuda", **contact
)
one = go.simulate("box", dt=1e-3, t_end=0.01, error_estimate=False, **contact)
found["irregular"] = fallen.status.values.tolist(), float(abs(fallen.q.values[0] - one.q).max())
for problem in ("bouncing-ball", "crank-slider"):
    try:
        go.simulate_batch(
            problem, parameters={"g": [9.0, 10.0]}, dt=1e-3, t_end=0.01, device="cuda",
            stabilisation="none" if problem == "bouncing-ball" else "baumgarte",
        )
    except go.GaussoptError as error:
        found[problem] = str(error)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("numba.cuda")
    folder: Path = tmp_path_factory.mktemp("card")
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(list(METHODS)), str(folder / "batch")],
        capture_output=True, text=True, env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    result: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return result


def test_every_method_agrees_with_the_processor(found: dict[str, Any]) -> None:
    assert {s: (x, x <= METHODS[s]) for s, x in found["methods"].items() if x > METHODS[s]} == {}
    assert all(x <= METHODS[s] for s, x in found["projected"].items()), found["projected"]
    assert found["singular mass"] < 1e-14
    assert 0.0 < found["certified"] < 1e-12


def test_parts_change_no_bit_and_an_interrupted_batch_keeps_the_parts_that_are_back(found: dict[str, Any]) -> None:
    assert [found[x] for x in ("parts", "shown", "kept")] == [True, True, True]
    assert found["stopped"] == ["solved"] * 2 + ["interrupted"] * 3


def test_members_that_fail_have_their_status_alone(found: dict[str, Any]) -> None:
    assert found["odd"][0] == "solved"
    assert found["odd"][1] == found["odd"][2] == "bad_input"
    assert found["odd"][3] != "solved"


def test_a_folder_goes_on_with_its_own_device_only(found: dict[str, Any]) -> None:
    assert found["folder"]
    assert "device" in found["other device"]


def test_contacts_agree_with_the_processor_and_irregular_steps_are_left_to_it(found: dict[str, Any]) -> None:
    assert max(found["contacts"].values()) < 1e-13
    assert found["contact parts"]
    assert 0.0 <= found["contact certificates"] < 1e-12
    # A box that sticks with two feet fails on the card, and a start inside the floor is refused.
    status, difference = found["irregular"]
    assert status == ["solved", "bad_input"]
    assert difference < 1e-14


def test_what_a_card_cannot_do_is_refused_by_a_sentence(found: dict[str, Any]) -> None:
    assert found["bouncing-ball"] == (
        "device='cuda' cannot take this batch: it has contacts, which the stepper 'moreau-jean' can take, not 'rk4'; "
        "leave device out."
    )
    assert "baumgarte" in found["crank-slider"]


def cuda_is_there() -> bool:
    try:
        cuda.driver()
    except go.GaussoptError:
        return False
    return True


def test_without_a_card_one_sentence_says_so() -> None:
    with pytest.raises(go.GaussoptError, match=r"^device is 'gpu'; give one of 'cpu', 'cuda'\.$"):
        go.simulate_batch("pendulum", parameters={"g": [9.0]}, dt=1e-3, t_end=0.01, device="gpu")
    if not cuda_is_there():
        with pytest.raises(go.GaussoptError, match=r"^device='cuda' needs .*leave device out\.$"):
            go.simulate_batch("pendulum", parameters={"g": [9.0]}, dt=1e-3, t_end=0.01, device="cuda")
