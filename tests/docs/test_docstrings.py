"""The examples in docstrings of public names and interfaces print what they show."""

from __future__ import annotations

import doctest
import importlib

import gaussopt as go
from gaussopt.comparison.spec import Spec
from gaussopt.contact.laws import ContactLaws
from gaussopt.core.solver import Solver

WIDTH = 84
"""Characters of a line of code, behind the prompt of four that the site shows before it."""


def test_examples_of_docstrings() -> None:
    found = [
        test
        for entry in (*(getattr(go, name) for name in go.__all__), go.System.from_lagrangian, ContactLaws, Solver, Spec)
        for test in doctest.DocTestFinder(recurse=False).find(
            entry, entry.__name__, module=importlib.import_module(entry.__module__)
        )
        if test.examples
    ]
    assert found
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in found:
        longest = max(len(line) for example in test.examples for line in example.source.splitlines())
        assert longest <= WIDTH or test.name not in go.__all__, test.name
        assert runner.run(test).failed == 0, test.name
