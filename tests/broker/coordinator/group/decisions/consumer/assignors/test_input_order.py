"""The orders of Kafka's coordinator, for cases that Kafka was asked about; tests/oracle asks it about random ones."""

from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import subscription, timeline_order
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import Subscription
from barnabas.storage.steps import finish

_MEMBERS = ("consumer-1", "consumer-2", "consumer-3", "consumer-4", "consumer-5")


def test_names_of_no_topic_count_and_have_no_id() -> None:
    ids = {"orders": b"o" * 16, "payments": b"p" * 16}
    assert finish(subscription(("orders", "nothing", "payments"), ids)) == Subscription((b"p" * 16, b"o" * 16), 3)
    assert finish(subscription((), ids)) == Subscription((), 0)


def test_a_name_that_is_there_twice_is_one_topic() -> None:
    assert finish(subscription(("orders", "orders"), {"orders": b"o" * 16})) == Subscription((b"o" * 16,), 1)


def test_members_are_in_the_order_of_the_timeline() -> None:
    assert finish(timeline_order(_MEMBERS, 5)) == ["consumer-2", "consumer-4", "consumer-1", "consumer-3", "consumer-5"]


def test_entries_of_one_slot_iterate_backwards_and_a_larger_table_has_more_slots() -> None:
    assert finish(timeline_order(_MEMBERS[:3], 2)) == ["consumer-2", "consumer-1", "consumer-3"]
    assert finish(timeline_order(reversed(_MEMBERS[:3]), 2)) == ["consumer-1", "consumer-2", "consumer-3"]
    assert finish(timeline_order(reversed(_MEMBERS[:3]), 3)) == ["consumer-2", "consumer-1", "consumer-3"]
