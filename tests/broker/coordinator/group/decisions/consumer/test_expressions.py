"""Regular expressions of subscriptions: against names of topics, and refused as RE2/J refuses them."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.decisions.consumer.expressions import LEVELS_MAX, InvalidExpression, compiled


def matches(expression: str, name: str) -> bool:
    return compiled(expression).matches(name)


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("orders-.*", "orders-"),
        ("(foo|bar)+-[0-9]{1,3}", "foobar-123"),
        ("(?i)FOO", "fOo"),
        ("(?i:f)oo", "Foo"),
        ("(?i-i)foo", "foo"),
        ("^t$", "t"),
        ("\\At\\z", "t"),
        ("\\bfoo\\b.*", "foo.x"),
        ("f\\Boo", "foo"),
        ("[[:alpha:]]+\\d", "ab1"),
        ("[^[:digit:]a-c]", "d"),
        ("\\Qa.b\\E", "a.b"),
        ("\\x61\\x{62}\\143", "abc"),
        ("\\p{Lu}\\pN[\\p{Latin}]", "A1z"),
        ("\\PN", "a"),
        ("(?P<name>a)(?<other>b)", "ab"),
        ("(a|b|)*", ""),
        ("[]a]", "a"),
        ("[a-]", "-"),
        ("\\w\\D", "a_"),
    ],
)
def test_a_name_matches(expression: str, name: str) -> None:
    assert matches(expression, name)


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("foo", "foobar"),
        ("\\bfoo\\b.*", "foox"),
        ("a|b", "ab"),
        ("\\d", "a"),
        ("x$y", "xy"),
        ("[^a]", "a"),
        ("a{,2}", "a"),
    ],
)
def test_a_name_does_not_match(expression: str, name: str) -> None:
    assert not matches(expression, name)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("(a", "missing closing )"),
        ("a)", "regexp/syntax: internal error"),
        ("[a", "missing closing ]"),
        ("*a", "missing argument to repetition operator"),
        ("(*)", "missing argument to repetition operator"),
        ("a**", "invalid nested repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("a{2,1}", "invalid repeat count"),
        ("\\", "trailing backslash at end of expression"),
        ("\\8", "invalid escape sequence"),
        ("\\C", "invalid escape sequence"),
        ("(?z)", "invalid or unsupported Perl syntax"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("(?P<x", "invalid named capture"),
        ("(?P<x>a)(?P<x>b)", "duplicate capture group name"),
        ("\\p{Foo}", "invalid character class range"),
        ("[z-a]", "invalid character class range"),
        ("[[:foo:]]", "invalid character class range"),
    ],
)
def test_errors_are_reported_as_by_kafka(expression: str, why: str) -> None:
    with pytest.raises(InvalidExpression, match=re.escape(why)):
        compiled(expression)


@pytest.mark.parametrize(
    "expression", ["(((a{1000}){1000}){1000})", "(((){1000}){1000}){1000}", "(" * 300 + ")" * 300, "a" * 5_000]
)
def test_no_expression_makes_work_without_end(expression: str) -> None:
    with pytest.raises(InvalidExpression):
        compiled(expression)


@pytest.mark.parametrize(("opening", "closing"), [("(x|", ")*"), ("(?:", ")*"), ("(?:x(?:y|", ")*)*"), ("(", ")")])
def test_the_deepest_expression_is_compiled_and_no_deeper_one(opening: str, closing: str) -> None:
    levels = LEVELS_MAX // opening.count("(")
    compiled(opening * levels + "y" + closing * levels)
    with pytest.raises(InvalidExpression, match="nests too deeply"):
        compiled(opening * LEVELS_MAX + "(y)" + closing * LEVELS_MAX)


@pytest.mark.parametrize("expression", ["[(?P<x>](?P<x>[(?P<x>]a)", "(?P<x>\\(?P<x>a)", "\\Q((?P<x>\\E(?P<x>a)"])
def test_a_parenthesis_in_a_class_or_quote_is_no_group(expression: str) -> None:
    compiled(expression)


def _expression(rolls: Random, depth: int) -> str:
    kind = rolls.random()
    if depth == 0 or kind < 0.3:
        return rolls.choice(["a", "b", "c", "[ab]", "[^a]", "."])
    if kind < 0.5:
        return _expression(rolls, depth - 1) + _expression(rolls, depth - 1)
    if kind < 0.65:
        return f"({_expression(rolls, depth - 1)}|{_expression(rolls, depth - 1)})"
    return f"({_expression(rolls, depth - 1)})" + rolls.choice(
        ["", "*", "+", "?", "*?", "{1,2}", "{2}", "{0,2}", "{1,}"]
    )


@given(st.integers(0, 2**32 - 1))
def test_where_python_reads_an_expression_alike_both_agree(seed: int) -> None:
    rolls = Random(seed)
    expression = _expression(rolls, 4)
    try:
        compiled(expression)
    except InvalidExpression:
        return  # too large
    for _ in range(5):
        name = "".join(rolls.choice("abc") for _ in range(rolls.randrange(6)))
        assert matches(expression, name) == bool(re.fullmatch(expression, name)), (expression, name)
