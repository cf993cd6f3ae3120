"""Steps of very many contacts: small ones side by side, each judged exactly, never wrong and half of them solved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import block_diag
from soundness.judge import contact
from soundness.judge.bilateral import SOLVED
from soundness.trials import calls, findings
from soundness.trials.contact_families import CONTACT
from soundness.trials.findings import WRONG

pytestmark = pytest.mark.campaigns

SLIDING = ("sliding", "large friction")
PLANE = (*SLIDING, "without slip", "large friction without slip", "redundant contacts", "ties")
PAIRS = {
    SLIDING: (("lcp", "lemke"), ("lcp", "principal-pivoting"), ("stick-slip", "newton")),
    PLANE: (("stick-slip", "lemke"), ("stick-slip", "principal-pivoting"), ("stick-slip", "newton")),
}
ROWS = ("zeta_N", "zeta_T", "v_T", "mu")


def side_by_side(steps):
    """One step that does not couple the given ones."""
    n, k = (np.cumsum([0, *(len(s[key]) for s in steps)]) for key in ("Q", "mu"))
    J_N, J_T = np.zeros((k[-1], n[-1])), np.zeros((k[-1], 1, n[-1]))
    for i, s in enumerate(steps):
        J_N[k[i] : k[i + 1], n[i] : n[i + 1]] = s["J_N"]
        J_T[k[i] : k[i + 1], :, n[i] : n[i + 1]] = s["J_T"]
    joined = {key: np.concatenate([s[key] for s in steps]) for key in ("Q", "gamma", *ROWS)}
    blocks = {key: block_diag(*(s[key] for s in steps)) for key in ("M", "J")}
    return {**joined, **blocks, "J_N": J_N, "J_T": J_T}


def parts(steps, claim):
    """What an answer says of each of them."""
    ends = {name: np.cumsum([len(s[key]) for s in steps])[:-1]
            for name, key in (("x", "Q"), ("lam", "gamma"), ("lam_N", "mu"), ("lam_T", "mu"))}  # fmt: skip
    cut = {name: [None] * len(steps) if getattr(claim, name) is None else
           [part.tolist() for part in np.split(np.array(getattr(claim, name)), where)]
           for name, where in ends.items()}  # fmt: skip
    return [replace(claim, **{name: values[i] for name, values in cut.items()}) for i in range(len(steps))]


def drawn(rng, names, number, soluble=False):
    """So many steps in the plane, with the truth about each."""
    steps = []
    while len(steps) < number:
        data = CONTACT[str(rng.choice(names))][1](rng)
        if data["J_T"].shape[1] == 1 and ((truth := contact.judge(data)).verdict == SOLVED or not soluble):
            steps.append((data, truth))
    return steps


@pytest.mark.parametrize("families", PAIRS)
def test_nothing_wrong_is_called_solved_and_half_is_solved(families):
    asked = solved = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        # In some, a few parts have no solution or several.
        steps = drawn(rng, families, int(rng.integers(25, 60)), soluble=True) + drawn(rng, families, seed % 3)
        data, truths = side_by_side([s for s, _ in steps]), [t for _, t in steps]
        for formulation, solver in PAIRS[families]:
            claim = calls.answer("step", calls.subject("step", data), data, formulation, solver)
            if claim.status != "solved":
                asked += all(t.verdict == SOLVED for t in truths)
                continue
            asked, solved = asked + 1, solved + 1
            for truth, part in zip(truths, parts([s for s, _ in steps], claim), strict=True):
                found = findings.of_contact_step(truth, part)
                assert found.outcome != WRONG, (seed, len(data["mu"]), formulation, solver, found)
    assert solved >= asked / 2 > 0
