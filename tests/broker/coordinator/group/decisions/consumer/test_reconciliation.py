"""What a request says a member owns."""

import time

from barnabas.broker.coordinator.group.decisions.consumer.reconciliation import claimed

_T, _U = b"t" * 16, b"u" * 16


def test_a_topic_named_twice_counts_with_all_it_is_named_with() -> None:
    assert claimed([(_T, [0, 1]), (_U, []), (_T, [1, 2])]) == {_T: frozenset({0, 1, 2}), _U: frozenset()}


def test_a_topic_named_again_for_each_partition_costs_no_more_than_named_once() -> None:
    started = time.process_time()  # a machine with other work takes none of it
    found = claimed((_T, [number]) for number in range(100_000))
    assert time.process_time() - started < 2
    assert len(found[_T]) == 100_000
