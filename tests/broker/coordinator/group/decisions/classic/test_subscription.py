"""What the broker learns from the consumer protocol's metadata."""

import pytest

from barnabas.broker.coordinator.group.decisions.classic.model import ClassicGroupMember, Group
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.classic.subscription import (
    parse_topics,
    subscribed_topics,
    topics_in_use,
)

_TWO_TOPICS = bytes.fromhex("0001 00000002 000161 00026262 ffffffff 00000000")


def test_the_topics_are_read_and_the_rest_is_left_alone() -> None:
    assert parse_topics(_TWO_TOPICS) == ["a", "bb"]


@pytest.mark.parametrize("end", range(13))
def test_cut_metadata_is_no_subscription(end: int) -> None:
    assert parse_topics(_TWO_TOPICS[:end]) is None


@pytest.mark.parametrize(
    "metadata",
    [b"\xff\xff" + _TWO_TOPICS[2:], b"\0\1\xff\xff\xff\xff", b"\0\1\x7f\xff\xff\xff", b"\0\1\0\0\0\1\0\1\xff"],
)
def test_strange_metadata_is_no_subscription(metadata: bytes) -> None:
    assert parse_topics(metadata) is None


def _group(*metadata: bytes, protocol_type: str = "consumer") -> Group:
    members = {
        str(number): ClassicGroupMember(str(number), None, "c", "/h", 1, 1, (("range", each),))
        for number, each in enumerate(metadata)
    }
    return Group("g", ClassicGroupState.STABLE, 0, 1, protocol_type, "range", "0", members)


def test_a_group_reads_what_any_of_its_members_does() -> None:
    assert subscribed_topics(_group(_TWO_TOPICS, bytes.fromhex("000000000001000163"))) == frozenset({"a", "bb", "c"})


def test_one_unreadable_member_hides_the_whole_subscription() -> None:
    assert subscribed_topics(_group(_TWO_TOPICS, b"?")) is None


def test_other_protocols_say_nothing_of_topics() -> None:
    assert subscribed_topics(_group(_TWO_TOPICS, protocol_type="connect")) is None


def test_a_member_that_joined_after_the_generation_began_does_not_count() -> None:
    group = _group(_TWO_TOPICS, bytes.fromhex("000000000001000163"))
    group.newcomers.add("1")
    assert subscribed_topics(group) == frozenset({"a", "bb"})


def test_of_the_topics_asked_about_those_that_are_read_are_in_use() -> None:
    assert topics_in_use(_group(_TWO_TOPICS), {"a", "c"}) == {"a"}
    assert topics_in_use(_group(), {"a", "c"}) == set()


def test_every_topic_is_in_use_where_nobody_knows_what_is_read() -> None:
    unreadable = _group(_TWO_TOPICS, b"?")
    assert topics_in_use(unreadable, {"a", "c"}) == {"a", "c"}
    forming = _group(_TWO_TOPICS)
    forming.generation_id, forming.protocol_name = 0, None
    assert topics_in_use(forming, {"a", "c"}) == {"a", "c"}


def test_a_group_of_another_kind_uses_no_topics() -> None:
    assert topics_in_use(_group(_TWO_TOPICS, protocol_type="connect"), {"a", "c"}) == set()
    assert topics_in_use(_group(protocol_type=""), {"a", "c"}) == set()
