"""Regular events that machine code locates and settles are those that the event loop finds and settles itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.compiled import contact_kernel as kernel
from gaussopt.compiled.advances.contact_events import EventMarcher
from gaussopt.integration.events.crossings import Crossings
from gaussopt.integration.events.scanning import CURVED, HermitePoint, above
from gaussopt.integration.events.segments import RegularEvent
from gaussopt.jit.kernel import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="compilation is switched off")

FIELDS = "q", "v", "a", "lam", "lam_N", "lam_T", "gap", "slip", "mode", "kinetic", "potential", "error_bound"


def driven(**values: float) -> go.Problem:
    """A mass on a spring on a rough floor, driven along the floor, and lifted by a force that grows."""
    x, y, u, v, t = sp.symbols("x y u v t")
    m, k, g, mu, F, w, lift = sp.symbols("m k g mu F w lift")
    system = go.System.from_lagrangian(
        [x, y], [u, v], t=t, kinetic=m * (u**2 + v**2) / 2, potential=m * g * y + k * x**2 / 2,
        forces=[F * sp.sin(w * t), lift * t], contacts=[go.Contact("foot", position=(x, y), mu=mu, e_N=0.5)],
        parameters={m: 1.0, k: 40.0, g: 9.81, mu: 0.4, F: 6.0, w: 3.0, lift: 0.0} | {
            symbol: values[symbol.name] for symbol in (m, k, g, mu, F, w, lift) if symbol.name in values
        }, name="driven-mass",
    )  # fmt: skip
    return go.Problem.of(system, q0=[0.1, 0.0], t_end=3.0, dt=1e-3)


CASES: dict[str, tuple[Callable[[], go.Problem], dict[str, Any], set[str]]] = {
    "sticks and slips": (driven, {}, {"stick", "slip"}),
    "lifts off": (lambda: driven(lift=12.0), {"t_end": 1.5}, {"stick", "slip", "lift_off"}),
    "reverses": (lambda: driven(mu=0.02, F=20.0), {}, {"reversal"}),
    "two bars": (lambda: go.problem("two-bar"), {}, {"reversal"}),
    "with joints": (lambda: go.problem("sliding-rod"), {"t_end": 0.5}, set()),
    "bounces": (lambda: go.problem("bouncing-ball"), {"t_end": 0.6, "dt": 2e-3}, {"impact"}),
    "woodpecker": (lambda: go.problem("woodpecker"), {"t_end": 0.12}, {"stick", "slip", "impact", "lift_off"}),
}


def motion(case: str) -> go.Trajectory:
    make, settings, _ = CASES[case]
    found = go.simulate(
        make(), stepper="rk4", engine="compiled", error_estimate=False, step_folder=None, **settings
    )  # fmt: skip
    assert found.status is go.Status.SOLVED, found.message
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_event_loop_finds_and_settles_the_same_events(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = motion(case)
    assert CASES[case][2] <= {e["kind"] for e in ours.events}
    monkeypatch.setattr(EventMarcher, "pass_event", lambda *state: None)
    theirs = motion(case)
    assert [(e["kind"], e.get("contact")) for e in ours.events] == [
        (e["kind"], e.get("contact")) for e in theirs.events
    ]
    np.testing.assert_allclose([e["t"] for e in ours.events], [e["t"] for e in theirs.events], rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.t, theirs.t, rtol=0, atol=1e-12)
    for field in FIELDS:
        mine, other = getattr(ours, field), getattr(theirs, field)
        bound = 1e-9 if case == "woodpecker" else 1e-11  # its impacts amplify rounding errors
        np.testing.assert_allclose(
            mine, other, rtol=0, atol=bound * (1 + np.nanmax(np.abs(other), initial=0)), err_msg=field
        )
    assert ours.meta["steps"] == theirs.meta["steps"]


@pytest.mark.parametrize("case", ["sticks and slips", "lifts off", "reverses", "two bars"])
def test_machine_code_settles_every_event_within_steps(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[RegularEvent | None] = []
    searched: Counter[bool] = Counter()
    locate, search = EventMarcher.pass_event, Crossings.first

    def noted(self: EventMarcher, *state: Any) -> RegularEvent | None:
        passed.append(locate(self, *state))
        return passed[-1]

    def looked(self: Crossings, *step: Any) -> Any:
        found = search(self, *step)
        searched[bool(found[0])] += 1
        return found

    monkeypatch.setattr(EventMarcher, "pass_event", noted)
    monkeypatch.setattr(Crossings, "first", looked)
    found = motion(case)
    settled = [event for event in passed if event is not None and event.changed is not None]
    inside = [e for e in found.events if e["kind"] in ("stick", "slip", "reversal", "lift_off")]
    assert len(settled) == len(inside) > 1
    assert searched[True] == len({e["t"] for e in found.events}) - len({e["t"] for e in inside})


def test_a_contact_that_does_not_come_to_rest_slips_back_at_once() -> None:
    found = motion("reverses")
    at = [e["t"] for e in found.events if e["kind"] == "reversal"]
    assert len(at) > 2
    for t in at:
        before, after = np.flatnonzero(found.t == t)[[0, -1]]
        np.testing.assert_allclose(found.slip[[before, after], 0, 0], 0.0, atol=1e-12)
        assert found.lam_T[before, 0, 0] * found.lam_T[after, 0, 0] < 0  # friction changes its direction


@pytest.mark.parametrize("seed", range(20))
def test_a_gap_that_leaves_zero_fast_enough_stays_open(seed: int) -> None:
    # A curvature up to CURVED times that at the ends is assumed; a cubic with less than that has no zero where
    # `above` says so.
    random = np.random.default_rng(seed)
    proved = 0
    for _ in range(200):
        h, rate = 10.0 ** random.uniform(-4, 0), 10.0 ** random.uniform(-4, 1)
        second, third = random.normal(size=2) * 10.0 ** random.uniform(-3, 2)
        value = random.choice([0.0, -1e-16, 1e-12])
        cubic = np.polynomial.Polynomial([value, rate, second / 2, third / 6])
        ends = [HermitePoint(s, float(cubic(s)), float(cubic.deriv()(s))) for s in (0.0, h)]
        curvature = max(abs(second), abs(second + third * h))
        if above(ends[0], ends[1], curvature, 1e-15):
            proved += 1
            s = np.linspace(0.0, h, 400)[1:]
            assert cubic(s).min() > -1e-15
            rows = np.zeros((2, 1, kernel.SEEN))
            for row, (point, bend) in zip(rows, zip(ends, (second, second + third * h), strict=True), strict=True):
                row[0, :4] = point.value, point.rate, bend, 1e-15
            assert kernel.above(*rows, 0, h)
    assert proved > 20


def test_a_gap_that_leaves_zero_slowly_is_not_taken_for_open() -> None:
    h, curvature = 1e-2, 9.81
    slow, fast = (HermitePoint(0.0, 0.0, share * 0.5 * CURVED * curvature * h) for share in (0.99, 1.01))
    end = HermitePoint(h, 1.0, 0.0)
    assert not above(slow, HermitePoint(h, 1e-6, slow.rate), curvature, 1e-15)
    assert above(fast, HermitePoint(h, 1e-6, fast.rate), curvature, 1e-15)
    assert not above(HermitePoint(0.0, -1e-9, fast.rate), end, curvature, 1e-15)
    assert math.isclose(fast.rate / slow.rate, 1.01 / 0.99)
