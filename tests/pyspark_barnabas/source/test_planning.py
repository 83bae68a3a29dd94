"""Ranges, limits and what has changed: the decisions of a source, without a broker."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.metadata import PartitionInfo, TopicInfo
from pyspark_barnabas.commit.ledger import SourceOffset
from pyspark_barnabas.sink.checkpoint import parse_offsets as parse_checkpoint
from pyspark_barnabas.source.errors import DataLoss, lose
from pyspark_barnabas.source.offsets import (
    OffsetsError,
    StreamPosition,
    from_json,
    position_from_json,
    position_to_json,
    to_json,
)
from pyspark_barnabas.source.planning.changes import find_changes
from pyspark_barnabas.source.planning.limits import Patience, limit, waiting
from pyspark_barnabas.source.ranges import OffsetRange, plan
from pyspark_barnabas.source.subscription import Assigned, Named, Subscription, TopicPattern, ids_of, subscribed

A0, A1, B0 = ("a", 0), ("a", 1), ("b", 0)
places = st.tuples(st.sampled_from("ab"), st.integers(0, 12))
offsets = st.dictionaries(places, st.integers(0, 10**6), max_size=8)
ranges = offsets.flatmap(
    lambda starts: st.lists(st.integers(0, 10**5), min_size=len(starts), max_size=len(starts)).map(
        lambda sizes: [
            OffsetRange(*where, start, start + size) for (where, start), size in zip(starts.items(), sizes, strict=True)
        ]
    )
)


@given(offsets)
def test_offsets_survive_a_checkpoint_and_equal_ones_are_equal_texts(some: dict[tuple[str, int], int]) -> None:
    text = json.dumps(to_json(some))
    assert from_json(json.loads(text)) == some
    assert json.dumps(to_json(from_json(json.loads(text)))) == text
    assert json.dumps(to_json(dict(reversed(some.items())))) == text


def test_partitions_are_sorted_as_numbers() -> None:
    assert list(to_json({("t", 10): 1, ("t", 9): 2})["t"]) == ["9", "10"]


def test_a_position_survives_a_checkpoint_and_equal_ones_are_equal_texts() -> None:
    position = StreamPosition({A0: 3, ("b", 1): 4}, {"a": "Yv6hB3KQTlmm4dx8pN0XcA", "b": "-_6hB3KQTlmm4dx8pN0XcA"})
    text = json.dumps(position_to_json(position))
    assert position_from_json(json.loads(text)) == position
    reordered = StreamPosition(dict(reversed(position.offsets.items())), dict(reversed(position.topic_ids.items())))
    assert json.dumps(position_to_json(reordered)) == text


@given(offsets, offsets)
def test_where_the_first_batch_begins_survives_a_checkpoint(
    some: dict[tuple[str, int], int], begin: dict[tuple[str, int], int]
) -> None:
    position = StreamPosition(some, {"a": "Yv6hB3KQTlmm4dx8pN0XcA"}, begin)
    text = json.dumps(position_to_json(position))
    assert position_from_json(json.loads(text)) == position
    reordered = position._replace(begin=dict(reversed(begin.items())))
    assert json.dumps(position_to_json(reordered)) == text


def test_a_position_adds_no_offsets_for_those_who_read_only_offsets() -> None:
    found = position_to_json(StreamPosition({A0: 3}, {"a": "Yv6hB3KQTlmm4dx8pN0XcA"}, {A0: 1}))
    assert found == {"a": {"0": 3}, "a#Yv6hB3KQTlmm4dx8pN0XcA": {}, '#{"a":{"0":1}}': {}}
    assert from_json(found) == {A0: 3}
    assert parse_checkpoint(f"v1\n{{}}\n{json.dumps(found)}").offsets == (SourceOffset("a", 0, 3),)


def test_a_position_of_an_older_release_has_no_topic_ids() -> None:
    assert position_from_json({"a": {"0": 3}}) == StreamPosition({A0: 3}, {})


def test_a_checkpoint_of_something_else_is_refused() -> None:
    with pytest.raises(OffsetsError, match="should be a JSON object"):
        from_json({"logOffset": 5})


@given(ranges, st.integers(0, 40), st.integers(0, 10**5))
def test_the_tasks_read_every_offset_once(whole: list[OffsetRange], min_partitions: int, max_records: int) -> None:
    pieces = plan(whole, min_partitions=min_partitions, max_records=max_records and max_records + 500)
    assert all(piece.size > 0 for piece in pieces)
    assert pieces == sorted(pieces)
    joined: list[OffsetRange] = []
    for piece in pieces:
        if joined and joined[-1].where == piece.where and joined[-1].end == piece.start:
            joined[-1] = joined[-1]._replace(end=piece.end)
        else:
            joined.append(piece)
    assert joined == sorted(each for each in whole if each.size)


@given(ranges, st.integers(500, 10**4))
def test_no_task_reads_more_than_it_may(whole: list[OffsetRange], max_records: int) -> None:
    assert all(piece.size <= max_records for piece in plan(whole, max_records=max_records))


@pytest.mark.parametrize(
    ("sizes", "min_partitions", "pieces"),
    [
        ([1000], 4, [4]),
        ([1000, 1000], 3, [2, 2]),  # halves are rounded up
        ([1, 1000], 3, [1, 2]),  # the small one is left alone, the others share what is left
        ([100, 100, 10000], 10, [1, 1, 8]),
        ([3], 10, [3]),  # no task without an offset
        ([1000, 1000], 2, [1, 1]),
        ([1000, 1000], 1, [1, 1]),
    ],
)
def test_large_partitions_are_cut_until_there_are_enough(
    sizes: list[int], min_partitions: int, pieces: list[int]
) -> None:
    whole = [OffsetRange("t", number, 50, 50 + size) for number, size in enumerate(sizes)]
    found = [piece.partition for piece in plan(whole, min_partitions=min_partitions)]
    assert [found.count(number) for number in range(len(sizes))] == pieces


@given(offsets, offsets, st.integers(1, 10**6))
def test_a_limited_batch_starves_no_partition_and_goes_beyond_no_end(
    start: dict[tuple[str, int], int], latest: dict[tuple[str, int], int], most: int
) -> None:
    ends = limit(start, latest, most)
    assert ends.keys() == latest.keys()
    with_more = {where for where in latest if where in start and latest[where] > start[where]}
    read = {where: ends[where] - start[where] for where in with_more}
    assert all(0 < read[where] <= latest[where] - start[where] for where in with_more)
    assert sum(read.values()) <= max(most, 0) + len(with_more)
    assert all(ends[where] == latest[where] for where in latest.keys() - with_more)


def test_a_limit_is_shared_out_by_how_much_is_waiting() -> None:
    assert limit({A0: 0, A1: 100, B0: 7}, {A0: 900, A1: 200, B0: 7}, 100) == {A0: 90, A1: 110, B0: 7}


def test_new_partitions_wait_with_all_they_have() -> None:
    assert waiting({A0: 10}, {A0: 15, A1: 4}) == 9


def test_a_batch_waits_for_enough_but_not_too_long_and_never_at_first() -> None:
    patience = Patience(least=10, max_delay_ms=1000)
    assert not patience.waits(1, now_ms=5000)
    assert patience.waits(9, now_ms=5999)
    assert not patience.waits(9, now_ms=6000)
    assert not patience.waits(10, now_ms=6001)
    assert patience.waits(0, now_ms=7000)


def test_new_partitions_are_read_from_their_beginning() -> None:
    changes = find_changes(StreamPosition({A0: 5}, {}), StreamPosition({A0: 7, A1: 3}, {}), {A1: 0}, {})
    assert changes == ([OffsetRange("a", 0, 5, 7), OffsetRange("a", 1, 0, 3)], [])


@pytest.mark.parametrize(
    ("start", "end", "earliest", "sentence", "ranges"),
    [
        ({A0: 5}, {A0: 5, A1: 9}, {A1: 4}, "a-1 begins at 4, not at 0", [OffsetRange("a", 1, 4, 9)]),
        ({A0: 5}, {A0: 5, A1: 9}, {}, "a-1 was created and deleted", []),
        ({A0: 5, B0: 6}, {A0: 8}, {}, "b-0 was deleted", [OffsetRange("a", 0, 5, 8)]),
        ({A0: 5}, {A0: 3}, {}, "a-0 ends at 3, but was read up to 5", []),
    ],
)
def test_unreadable_offsets_are_a_loss_and_the_rest_is_read(
    start: dict[tuple[str, int], int],
    end: dict[tuple[str, int], int],
    earliest: dict[tuple[str, int], int],
    sentence: str,
    ranges: list[OffsetRange],
) -> None:
    changes = find_changes(StreamPosition(start, {"a": "id"}), StreamPosition(end, {"a": "id"}), earliest, {"a": "id"})
    assert changes.ranges == ranges
    [loss] = changes.losses
    assert sentence in loss


@pytest.mark.parametrize(
    ("at_start", "at_end", "now", "ids"),
    [
        ({"a": "old"}, {"a": "new"}, {"a": "new"}, ("old", "new")),
        ({"a": "old"}, {"a": "new"}, {}, ("old", "new")),
        ({"a": "old"}, {"a": "old"}, {"a": "new"}, ("old", "new")),  # an earlier run planned the batch
        ({}, {"a": "old"}, {"a": "new"}, ("old", "new")),
        ({"a": "old"}, {}, {"a": "new"}, ("old", "new")),
        ({"a": "old"}, {"a": "old"}, {"a": "old"}, None),
        ({"a": "old"}, {}, {}, None),
        ({}, {"a": "new"}, {"a": "new"}, None),  # the checkpoint is of the stock source or an older release
        ({}, {}, {"a": "new"}, None),
        ({"b": "old"}, {"a": "new"}, {"a": "new"}, None),
    ],
)
@pytest.mark.parametrize("end", [9, 5, 0])
def test_a_topic_with_another_id_is_one_loss_whatever_offsets_it_has(
    at_start: dict[str, str], at_end: dict[str, str], now: dict[str, str], ids: tuple[str, str] | None, end: int
) -> None:
    changes = find_changes(StreamPosition({A0: 5}, at_start), StreamPosition({A0: end}, at_end), {}, now)
    assert changes.ranges == ([OffsetRange("a", 0, 5, 9)] if end > 5 else [])
    if ids is not None:
        [loss] = changes.losses
        assert loss.startswith(f"a had the id {ids[0]} when it was last read, and has {ids[1]} now")
    else:
        assert len(changes.losses) == (end < 5)


def test_a_loss_fails_the_query_or_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    lose([], fail=True)
    with pytest.raises(DataLoss, match=r"a; b.*set failOnDataLoss to false"):
        lose(["a", "b"], fail=True)
    lose(["c"], fail=False)
    assert "c. Some records may have been lost" in caplog.text


@pytest.mark.parametrize(
    ("subscription", "found"),
    [
        (Named(("a", "c")), {A0, A1}),
        (TopicPattern("^(a|b)$"), {A0, A1, B0}),
        (TopicPattern("b"), {B0, ("ab", 0)}),
        (TopicPattern(".*"), {A0, A1, B0, ("ab", 0)}),
        (Assigned((A1, ("c", 3))), {A1}),
    ],
)
def test_a_subscription_means_the_partitions_that_there_are(
    subscription: Subscription, found: set[tuple[str, int]]
) -> None:
    partition = PartitionInfo(1, 0, (1,), (1,), 0)
    topics = [
        TopicInfo(name, bytes(16), name == "inside", 0, dict.fromkeys(range(count), partition))
        for name, count in (("a", 2), ("b", 1), ("ab", 1), ("inside", 1))
    ]
    assert subscribed(subscription, topics) == found


def test_only_topics_that_are_read_and_have_an_id_have_one_in_a_position() -> None:
    topics = [
        TopicInfo(name, topic_id, False, 0, {})
        for name, topic_id in (("a", bytes(15) + b"\1"), ("b", bytes(16)), ("c", bytes(15) + b"\2"))
    ]
    assert ids_of(topics, {A0, A1, B0}) == {"a": "AAAAAAAAAAAAAAAAAAAAAQ"}
