"""The known differences are found from the names alone, small, and proved; equivalent pairs are not refuted."""

from __future__ import annotations

import json
from fractions import Fraction
from xml.etree import ElementTree

import numpy as np
import pytest

import gaussopt as go
from gaussopt.falsification.exact_sliding import Sliding, contact_laws, printed
from gaussopt.falsification.example import Example
from gaussopt.falsification.pairs import ComparedPair
from gaussopt.falsification.spaces import BilateralSteps, ConeProblems, LCPs, SingularSteps, Space
from gaussopt.linalg import rational


def test_a_step_of_the_example_is_solved_differently_by_the_product(tmp_path) -> None:
    found = go.falsify("least-squares-as-printed", "least-squares")
    files = {path.name: path for path in found.write(tmp_path)}
    step = go.StepData.from_mapping(json.loads(files["example.step.json"].read_text()))
    answers = [go.solve_step(step, name, tolerance=float("inf")).a for name in (found.a, found.b)]
    assert abs(answers[0] - answers[1]).max() > 0.05
    data = json.loads(files["falsify.json"].read_text())
    assert data["found"] is True
    assert len(data["proof"]["lines"]) == 3
    assert r"\begin{pmatrix}" in files["proof.tex"].read_text()


@pytest.mark.parametrize(
    ("a", "b", "given"),
    [
        ("gauss", "lagrange", ()), ("least-squares", "udwadia-kalaba", ()), ("lcp", "lcp-qp", ()),
        ("normal-force-qp", "lcp", "one-contact"), ("normal-force-qp", "lcp", "symmetric"),
        ("weighted-normal-force-qp", "lcp", "symmetric"),
        ("coulomb-ccp", "coulomb-soccp", "sticking"),
    ],
)  # fmt: skip
def test_equivalent_pairs_survive_and_tell_what_was_searched(a: str, b: str, given: str) -> None:
    most = 120 if given == "sticking" else 700
    found = go.falsify(a, b, given or (), tries=most, seconds=60)
    assert not found.found
    assert sum(row["compared"] for row in found.searched) >= 100
    assert found.tries <= most + 20
    assert max(row["largest"] for row in found.searched) < 1e-6
    assert str(found.tries) in found.message
    assert bool(found.equivalence) == (not given)
    assert given or not any(row["one has no answer"] for row in found.searched)


def test_gauss_and_lagrange_are_not_solved_by_the_same_arithmetic() -> None:
    """By one solver they would agree to the last bit, and the search would compare a solver with itself."""
    found = go.falsify("gauss", "lagrange", tries=300)
    assert 0 < max(row["largest"] for row in found.searched) < 1e-12


@pytest.mark.parametrize(
    ("space", "size"),
    [
        (LCPs(["positive-definite"]), (3,)), (LCPs(["p-matrix"]), (2,)), (LCPs(["symmetric"]), (2,)),
        (BilateralSteps(()), (4, 2)), (SingularSteps(()), (3, 1)), (ConeProblems(()), (2,)),
    ],
)  # fmt: skip
def test_examples_decoded_together_are_those_decoded_one_by_one(space: Space, size: tuple[int, ...]) -> None:
    points = np.random.default_rng(4).uniform(-1.0, 1.0, (40, space.count(size)))
    together = list(space.decoded(size, points))
    assert any(found is not None for found in together)
    for x, found in zip(points, together, strict=True):
        alone = space.decode(size, x)
        assert (alone is None) == (found is None)
        for name in found or {}:
            assert np.array_equal(alone[name], found[name])


def test_rows_that_depend_on_each_other_are_no_example() -> None:
    numbers = {"M": np.eye(3), "Q": np.ones(3), "J": [[1, 0, 0], [2, 0, 0]], "gamma": [0, 0]}
    assert not BilateralSteps(()).allows(Example.of("step", numbers))
    assert BilateralSteps(()).allows(Example.of("step", {**numbers, "J": [[1, 0, 0], [2, 1, 0]]}))


def test_large_examples_are_not_proved() -> None:
    space = BilateralSteps(())
    pair = ComparedPair("least-squares-as-printed", "least-squares", space)
    rng = np.random.default_rng(2)
    for size, proved in (((4, 2), True), ((30, 15), False)):
        example = space.example(size, rng.uniform(-1.0, 1.0, space.count(size)))
        a, b = (answer(example.numbers) for answer in pair.answers)
        assert abs(a - b).max() > 1e-3 * abs(a).max()
        assert (pair.prove(example) is not None) == proved


def test_the_progress_rises_to_the_limit() -> None:
    told: list[float] = []
    go.falsify("lcp", "lcp-qp", tries=1000, progress=told.append)
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] <= 1


def test_functions_of_the_user() -> None:
    def right(M, q):
        return go.enumerate_lcp(go.LCP(M, q)).solutions[0]

    def symmetric_part(M, q):
        return go.enumerate_lcp(go.LCP(0.5 * (M + M.T), q)).solutions[0]

    assert not go.falsify(right, "lcp", tries=200).found
    found = go.falsify(symmetric_part, "lcp")
    assert found.found
    assert not found.proof.exact
    assert found.example.size("k") == 2


def test_functions_from_w_q_mu_to_r() -> None:
    def without_friction(W, q, mu):
        r = np.zeros(len(q))
        r[::3] = go.enumerate_lcp(go.LCP(W[::3, ::3], q[::3])).solutions[0]
        return r

    def nothing(W, q, mu):
        return np.zeros(len(q))

    found = go.falsify(without_friction, nothing)
    assert found.found
    assert found.example.size("k") == 1
    assert found.example.arrays["q"][0] < 0


def test_a_mechanism_keeps_its_parameters() -> None:
    found = go.falsify("normal-force-qp", "lcp", go.problem("two-bar"))
    assert found.found
    step = Sliding.of(found.example)
    assert contact_laws(step).point != printed(step).point
    assert set(found.example.setting) > {"slip of contact 1", "slip of contact 2"}


def test_a_mechanism_is_drawn_with_the_forces_of_each_formulation(tmp_path) -> None:
    found = go.falsify("normal-force-qp", "lcp", go.problem("two-bar"))
    files = {path.name: path for path in found.write(tmp_path)}
    assert set(found.pictures) == {"normal-force-qp", "lcp"}
    for name, svg in found.pictures.items():
        root = ElementTree.fromstring(svg)
        z = found.proof.numbers[name]["z"]
        assert root.attrib["aria-label"].endswith(f"({', '.join(f'{float(x):.4g}' for x in z)}) N.")
        assert files[f"{name}.svg"].read_text(encoding="utf-8") == svg
        assert f'alt="Contact forces of {name}"' in found._repr_html_()
    of_law = [x != 0 for x in found.proof.numbers["lcp"]["z"]]
    assert sorted(of_law) == [False, True]
    a, b = (svg.count("<path") for svg in found.pictures.values())
    assert a == b + 4  # shafts and heads of two arrows more: at the contact that opens by the law


def test_nothing_is_drawn_without_a_mechanism() -> None:
    assert not go.falsify("normal-force-qp", "lcp").pictures


def test_bad_input_says_what_to_do() -> None:
    with pytest.raises(go.UnknownName):
        go.falsify("lcp", "lpc")
    with pytest.raises(go.UnknownName, match="assumption"):
        go.falsify("lcp", "lcp-qp", "definite")
    with pytest.raises(go.BadInput, match="says nothing of the examples"):
        go.falsify("gauss", "lagrange", "sticking")
    with pytest.raises(go.BadInput, match="impact laws are compared with each other"):
        go.falsify("newton", "lcp")
    with pytest.raises(go.BadInput, match="positive"):
        go.falsify("lcp", "lcp-qp", tries=0)


def test_the_known_smallest_example_and_exact_algebra() -> None:
    example = Example.of("lcp", {"M": [[2, 1], [0, 2]], "q": [-2, 1]})
    of = Sliding.of(example)
    assert contact_laws(of).point == [1, 0]
    assert printed(of).point == [Fraction(7, 8), Fraction(1, 4)]
    A = rational.exact([[2, 1, 3], [1, 0, 1], [3, 1, 4]])
    assert rational.determinant(A) == 0
    assert rational.solve(A, rational.exact([1, 2, 3])) is None
    assert rational.independent(A) == [0, 1]
    assert not (A @ rational.kernel(A)).any()
    assert rational.leading_minors(A) == [2, -1, 0]
