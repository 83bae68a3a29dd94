"""Patterns as Kafka takes them: what matches, what is refused, and that nobody can make us count for ever.

What is expected of each pattern was recorded from RE2/J in Apache Kafka 4.4.0 (ListTransactions v2).
"""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.runtime.patterns import InvalidPattern, compile_pattern

IDS = ["a", "b", "c", "d.x", "ünï\n"]
MATCHES = {
    "": [],
    "a": ["a"],
    "[a-c]": ["a", "b", "c"],
    "d.*": ["d.x"],
    "d": [],
    ".*x": ["d.x"],
    "(?i)A": ["a"],
    "(?i:A)": ["a"],
    ".n.*": [],
    "ü.*": [],
    "(?s)ü.*": ["ünï\n"],
    r"\pL": ["a", "b", "c"],
    r"\PL": [],
    "(?P<n>a)": ["a"],
    "(?<n>a)": ["a"],
    "a{1000}": [],
    "a*?": ["a"],
    "a??": ["a"],
    "a{,2}": [],
    "a{2": [],
    r"a\z": ["a"],
    r"\Aa": ["a"],
    r"\Qd.x\E": ["d.x"],
    "[[:alpha:]]": ["a", "b", "c"],
    "a|b": ["a", "b"],
    "^a$": ["a"],
    "(?U)a": ["a"],
    r"\ba\b": ["a"],
    r"\x61": ["a"],
    r"\x{61}": ["a"],
    r"\141": ["a"],
    r"\d": [],
    "[]a]": ["a"],
    r"\w": ["a", "b", "c"],
    r"\_": [],
    "(?-s).": ["a", "b", "c"],
    r"[^\n]*": ["a", "b", "c", "d.x"],
    "(a|b|c|d[.]x)": ["a", "b", "c", "d.x"],
}
REFUSED = ["(", r"(a)\1", "(?=a)a", "(?!a)b", "(?<=a)b", "a{1001}", "(a{100}){11}", "a++", "a**", "a{2}{2}", r"\Z"]
REFUSED += [r"\C", "(?>a)", "(?#c)a", "(?x) a", r"\h", r"\y", "[a-", "[b-a]", "*a", "a)", "\\", "(?P=n)", "(?(1)a)"]
REFUSED += [r"\N{LATIN}", r"\u0061", "{2}", "[[:nothing:]]", r"\p{Nothing}", r"[a-\d]", "(?"]


@pytest.mark.parametrize("pattern", MATCHES)
def test_a_pattern_matches_whole_ids_as_in_kafka(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    assert [name for name in IDS if compiled.matches(name)] == MATCHES[pattern]


@pytest.mark.parametrize("pattern", REFUSED)
def test_patterns_unknown_to_re2_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        compile_pattern(pattern)


_atoms = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\w", "^", "$", r"\b"])
_patterns = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,}"])).map(
            lambda both: f"(?:{both[0]}){both[1]}"
        ),
    ),
    max_leaves=8,
)


@given(_patterns, st.text(alphabet="ab ", max_size=6))
def test_it_matches_what_pythons_own_engine_matches(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).matches(text) == (re.fullmatch(pattern, text) is not None)


def test_a_pattern_that_makes_others_count_for_ever_takes_no_time() -> None:
    started = time.process_time()  # a machine with other work takes none of it
    assert not compile_pattern("(a*)*(a|aa)+(a|a?)+b").matches("a" * 10_000)
    assert time.process_time() - started < 5


def test_quoted_backslashes_are_no_escapes() -> None:
    assert compile_pattern(r"\Q\C\E").matches(r"\C")
    assert compile_pattern(r"\\C").matches(r"\C")


def test_a_pattern_that_is_too_large_is_refused() -> None:
    with pytest.raises(InvalidPattern):
        compile_pattern("((a{100}){10}){10}" * 100)
