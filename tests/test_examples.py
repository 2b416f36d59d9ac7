"""Every public name has an example in its docstring, which the doctests run."""

from __future__ import annotations

import doctest
import inspect

import pytest

import alphasynth

NAMES = [name for name in alphasynth.__all__ if name != "__version__"]


def has_example(public):
    return bool(doctest.DocTestParser().get_examples(inspect.getdoc(public) or ""))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_example(name):
    public = getattr(alphasynth, name)
    assert has_example(public)
    # The doctests of src find it: it is written where the name lives, and not inherited.
    own = public.__doc__ or ""
    assert ">>> " in own


def test_functions_of_public_modules_have_one_too():
    for module in alphasynth._MODULES:
        public = getattr(alphasynth, module)
        functions = [getattr(public, name) for name in public.__all__ if inspect.isfunction(getattr(public, name))]
        assert functions
        assert [made.__name__ for made in functions if not has_example(made)] == []


def test_a_name_without_one_is_seen():
    class Bare:
        """No example, though >>> stands in it."""

    assert not has_example(Bare)
