"""The examples in docstrings of public names print what they show."""

from __future__ import annotations

import doctest
import importlib

import gaussopt as go


def test_examples_of_docstrings() -> None:
    found = [
        test
        for name in go.__all__
        for test in doctest.DocTestFinder(recurse=False).find(
            getattr(go, name), name, module=importlib.import_module(getattr(go, name).__module__)
        )
        if test.examples
    ]
    assert found
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in found:
        assert runner.run(test).failed == 0, test.name
