"""The examples in docstrings of public names and interfaces print what they show."""

from __future__ import annotations

import doctest
import importlib

import gaussopt as go
from gaussopt.comparison.spec import Spec
from gaussopt.contact.laws import ContactLaws
from gaussopt.core.solver import Solver


def test_examples_of_docstrings() -> None:
    found = [
        test
        for entry in (*(getattr(go, name) for name in go.__all__), ContactLaws, Solver, Spec)
        for test in doctest.DocTestFinder(recurse=False).find(
            entry, entry.__name__, module=importlib.import_module(entry.__module__)
        )
        if test.examples
    ]
    assert found
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in found:
        assert runner.run(test).failed == 0, test.name
