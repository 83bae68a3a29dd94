"""What Spark prints of an error: a sentence that says all stands alone, and a bug keeps its traceback."""

import traceback
from collections.abc import Iterator

import pytest

from pyspark_barnabas.reporting.user_errors import UserError, sentence_alone, sentence_alone_in_rows


def _fail(error: Exception) -> None:
    try:
        raise OSError("the reason, which the sentence has")
    except OSError as reason:
        raise error from reason


@sentence_alone
def _method(error: Exception) -> None:
    _fail(error)


def _rows(error: Exception) -> Iterator[int]:
    yield 1
    _fail(error)


def test_a_sentence_comes_without_what_led_to_it() -> None:
    with pytest.raises(UserError) as found:
        _method(UserError("set an option"))
    printed = "".join(traceback.format_exception(found.value))
    assert printed.endswith("UserError: set an option\n")
    assert "OSError" not in printed
    assert "_fail" not in printed


def test_a_sentence_among_rows_does_so_too() -> None:
    rows = sentence_alone_in_rows(_rows(UserError("set an option")))
    assert next(rows) == 1
    with pytest.raises(UserError) as found:
        next(rows)
    assert "_fail" not in "".join(traceback.format_exception(found.value))


def test_any_other_error_keeps_everything() -> None:
    with pytest.raises(ValueError, match="a bug") as found:
        _method(ValueError("a bug"))
    printed = "".join(traceback.format_exception(found.value))
    assert "OSError" in printed
    assert "_fail" in printed
