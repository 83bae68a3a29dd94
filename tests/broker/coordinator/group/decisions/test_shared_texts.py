"""Texts that many members have: one object, as long as it is used, and a bounded number of them."""

import sys

from barnabas.broker.coordinator.group.decisions import shared_texts as module
from barnabas.broker.coordinator.group.decisions.shared_texts import (
    LISTS_MAX,
    TEXT_LENGTH_MAX,
    TEXTS_MAX,
    shared,
    shared_names,
)


def fresh(text: str) -> str:
    """An equal text that is another object."""
    return bytes(text.encode()).decode()


def test_equal_texts_are_one_object() -> None:
    assert shared(fresh("client-1")) is shared(fresh("client-1"))
    names = fresh("orders"), fresh("payments")
    assert shared_names((*names,)) is shared_names((fresh("orders"), fresh("payments")))
    assert shared_names((fresh("orders"),))[0] is shared(fresh("orders"))


def test_the_order_of_names_is_kept() -> None:
    assert shared_names(("b", "a")) == ("b", "a")


def test_a_text_is_given_back_once_so_many_others_were_used() -> None:
    text = shared(fresh("a client that comes once"))
    held = sys.getrefcount(text)
    for number in range(TEXTS_MAX):
        shared(f"client number {number}")
    assert sys.getrefcount(text) < held, "nobody but this test holds it"
    assert module._shared.cache_info().currsize <= TEXTS_MAX


def test_lists_are_given_back_too() -> None:
    names = shared_names((fresh("a topic of one group"),))
    held = sys.getrefcount(names)
    for number in range(LISTS_MAX):
        shared_names((f"topic number {number}",))
    assert sys.getrefcount(names) < held


def test_a_long_text_is_nobodys_but_its_own() -> None:
    text = "x" * (TEXT_LENGTH_MAX + 1)
    size = module._shared.cache_info().currsize
    assert shared(text) is text
    assert shared_names((text,))[0] is text
    assert module._shared.cache_info().currsize == size
