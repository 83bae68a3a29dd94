"""The order of Java's hash tables, for cases that Java was asked about; tests/oracle asks it about random ones."""

import pytest

from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import (
    INTEGER,
    STRING,
    HashOrder,
    copied_table_size,
    roomy_table_size,
    table_size,
)


def test_integers_that_fit_the_table_are_in_order() -> None:
    assert HashOrder(INTEGER, keys=(5, 15, 0, 3)).in_order() == [0, 3, 5, 15]


def test_keys_of_one_bin_stay_in_the_order_in_which_they_came() -> None:
    assert HashOrder(INTEGER, keys=(17, 2, 1, 33)).in_order() == [17, 1, 33, 2]


def test_a_computed_key_comes_first_in_its_bin() -> None:
    order = HashOrder(INTEGER, keys=(17, 1))
    assert order.compute_if_absent(33)
    assert not order.compute_if_absent(17)
    assert order.in_order() == [33, 17, 1]


def test_a_table_doubles_after_a_put_and_before_a_computed_key() -> None:
    order = HashOrder(INTEGER, 2, (2, 0))
    assert order.in_order() == [0, 2]  # in four bins
    order = HashOrder(INTEGER, 2)
    for key in (2, 0, 4):
        order.compute_if_absent(key)
    assert order.in_order() == [4, 0, 2]
    order = HashOrder(INTEGER, 2, (2,))
    order.compute_if_absent(0)
    assert order.in_order() == [0, 2]


def test_a_key_that_is_removed_and_comes_again_is_the_last_of_its_bin() -> None:
    order = HashOrder(INTEGER, keys=(1, 17, 33))
    order.remove(1)
    order.remove(5)
    order.put(1)
    assert order.in_order() == [17, 33, 1]
    assert len(order) == 3


def test_a_long_bin_doubles_a_small_table_and_becomes_a_tree_in_a_large_one() -> None:
    keys = range(0, 640, 64)
    assert HashOrder(INTEGER, keys=keys).in_order() == list(keys)  # of 64 bins, but only just
    assert HashOrder(INTEGER, 64, keys).in_order() == [192, 0, 64, 128, 256, 320, 384, 448, 512, 576]


def test_strings_go_by_their_hash() -> None:
    assert HashOrder(STRING, keys=("consumer-1", "consumer-2", "a", "b", "")).in_order() == [
        "",
        "a",
        "b",
        "consumer-2",
        "consumer-1",
    ]


@pytest.mark.parametrize(("capacity", "size"), [(0, 1), (1, 1), (2, 2), (3, 4), (16, 16), (17, 32)])
def test_a_table_has_a_power_of_two_of_bins(capacity: int, size: int) -> None:
    assert table_size(capacity) == size


@pytest.mark.parametrize(
    ("count", "copied", "roomy"), [(0, 16, 1), (1, 16, 2), (12, 16, 32), (13, 32, 32), (24, 32, 64)]
)
def test_a_table_has_room_for_what_it_is_made_for(count: int, copied: int, roomy: int) -> None:
    assert copied_table_size(count) == copied
    assert roomy_table_size(count) == roomy
