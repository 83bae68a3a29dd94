"""The benchmark says which form of the hot modules it measured, and does not measure another than was asked for."""

import argparse

import pytest

from barnabas import form
from bench.measuring import measured_form

OTHER = {form.PURE: form.COMPILED, form.COMPILED: form.PURE}[form.running()]


@pytest.mark.parametrize("wished", [None, form.running()])
def test_the_form_that_runs_is_named(wished: str | None) -> None:
    assert f"the {form.running()} form" in measured_form.in_words(wished)


def test_another_form_than_was_asked_for_is_not_measured() -> None:
    with pytest.raises(SystemExit, match=f"this Python runs the {form.running()} form"):
        measured_form.in_words(OTHER)


def test_a_form_that_does_not_exist_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    measured_form.add_option(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--form", "fast"])
    assert "invalid choice: 'fast'" in capsys.readouterr().err
