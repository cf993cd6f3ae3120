"""Solvers by name and options in one word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaussopt as go
from gaussopt.comparison.solver_spec import (
    canonical,
    parse_word,
    precision_words,
    solver_class,
    solver_word,
    split_words,
)
from gaussopt.core import registry
from gaussopt.core.solver import make_solver, missing_packages

NAME = st.from_regex(r"[a-z][a-z0-9-]{0,8}(:[A-Z]{2,8})?", fullmatch=True)
KEY = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
VALUE = st.one_of(st.floats(allow_nan=False), st.integers(), st.booleans(), st.just("full"))
WORD = st.builds(solver_word, NAME, st.dictionaries(KEY, VALUE, max_size=3))


@given(NAME, st.dictionaries(KEY, VALUE, max_size=3))
def test_a_word_is_read_back(name: str, options: dict[str, object]) -> None:
    assert parse_word(solver_word(name, options)) == (name, {k: str(v) for k, v in options.items()})


@given(st.lists(WORD, min_size=1, max_size=4))
def test_lists_are_split_outside_parentheses(words: list[str]) -> None:
    assert split_words(",".join(words)) == words
    assert split_words(" , ".join(words) + " ") == words


def test_one_solver_has_one_name() -> None:
    words = "osqp( eps_abs = 1e-3 , eps_rel=1e-3 )", "osqp(eps_rel=1e-3,eps_abs=0.001)"
    assert {canonical(word) for word in words} == {"osqp(eps_abs=0.001,eps_rel=0.001)"}


@pytest.mark.parametrize("text", ["osqp(", "osqp)x", "osqp(a=1)(b=2)", "a b"])
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(go.BadInput):
        [solver_class(word) for word in split_words(text)]


@pytest.mark.parametrize(
    ("word", "complaint"),
    [("osqp(eps_abs)", "NAME=VALUE"), ("osqp(eps_abs=x)", "expected float"), ("oqsp", "osqp"), ("osqp(a=1", "closing")],
)
def test_sentences(word: str, complaint: str) -> None:
    with pytest.raises(go.GaussoptError, match=complaint):
        solver_class(word)


@pytest.mark.parametrize("name", registry.names("solver"))
def test_every_setting_of_precision_is_a_setting(name: str) -> None:
    if missing_packages(registry.load("solver", name)):
        pytest.skip("not installed")
    for word in precision_words(name):
        base, options = parse_word(word)
        assert base == name
        assert vars(make_solver(base, options).options) != vars(make_solver(base).options) or len(options) > 0
