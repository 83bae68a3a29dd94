"""Which rows of a table a run leaves out: a sibling that shows no other kind of fault than the rows beside it."""

import pytest
from _pytest.mark import ParameterSet


def long(*values: object) -> ParameterSet:
    """Return a row that runs with scripts/test --long only."""
    return pytest.param(*values, marks=pytest.mark.long)
