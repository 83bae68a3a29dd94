"""The driver's part of both readers against a broker: bounds, changes of topics, limits, committed offsets."""

import json
from collections.abc import Callable

import pytest

from barnabas.client.admin.records import delete_records
from barnabas.client.admin.topics import create_partitions, create_topic, delete_topic, list_topics
from barnabas.client.client import Client
from barnabas.client.offsets import committed_offsets
from barnabas.client.produce.producer import Producer
from pyspark_barnabas.source.errors import DataLoss, SourceError
from pyspark_barnabas.source.offsets import StreamPosition, position_from_json, position_to_json
from pyspark_barnabas.source.options import batch_settings, stream_settings
from pyspark_barnabas.source.planning.batch_plan import plan_batch
from pyspark_barnabas.source.planning.stream_plan import StreamPlan
from pyspark_barnabas.source.ranges import OffsetRange
from tests.support.clients.committed import begun
from tests.support.processes.own_broker import OwnBroker

START_MS = 1_700_000_000_000

BatchPlan = Callable[..., list[tuple[int, int, int]]]
NewStream = Callable[..., StreamPlan]


def fill(client: Client, topic: str, *counts: int, first_ms: int = START_MS) -> None:
    """Records in each partition, at one a second from first_ms on; the topic is made if need be."""
    if topic not in {info.name for info in list_topics(client)}:
        create_topic(client, topic, partitions=len(counts))
    with Producer(client) as producer:
        for partition, count in enumerate(counts):
            for number in range(count):
                producer.send(topic, b"v", partition=partition, timestamp=first_ms + number * 1000)


@pytest.fixture
def batch_plan(client: Client, broker: OwnBroker) -> BatchPlan:
    """batch_plan(topic, **options): (partition, start, end) of each task."""

    def plan(topic: str, **options: str) -> list[tuple[int, int, int]]:
        settings = batch_settings({"kafka.bootstrap.servers": broker.address, "subscribe": topic, **options})
        return [(each.partition, each.start, each.end) for each in plan_batch(client, settings)]

    return plan


@pytest.fixture
def stream(client: Client, broker: OwnBroker) -> NewStream:
    def new(**options: str) -> StreamPlan:
        return StreamPlan(client, stream_settings({"kafka.bootstrap.servers": broker.address, **options}))

    return new


def test_a_batch_reads_what_there_is(client: Client, batch_plan: BatchPlan) -> None:
    fill(client, "whole", 5, 0, 7)
    assert batch_plan("whole") == [(0, 0, 5), (2, 0, 7)]
    assert batch_plan("whole", minPartitions="4") == [(0, 0, 2), (0, 2, 5), (2, 0, 3), (2, 3, 7)]
    assert batch_plan("whole", maxRecordsPerPartition="4") == [(0, 0, 2), (0, 2, 5), (2, 0, 3), (2, 3, 7)]


def test_a_batch_reads_between_offsets_and_moments(client: Client, batch_plan: BatchPlan) -> None:
    fill(client, "between", 10, 20)
    start = json.dumps({"between": {"0": -2, "1": 3}})
    end = json.dumps({"between": {"0": 4, "1": -1}})
    assert batch_plan("between", startingOffsets=start, endingOffsets=end) == [(0, 0, 4), (1, 3, 20)]
    moments = {"startingTimestamp": str(START_MS + 2000), "endingTimestamp": str(START_MS + 15_000)}
    assert batch_plan("between", **moments) == [(0, 2, 10), (1, 2, 15)]
    by_partition = json.dumps({"between": {"0": START_MS + 9000, "1": START_MS}})
    assert batch_plan("between", startingOffsetsByTimestamp=by_partition) == [(0, 9, 10), (1, 0, 20)]


def test_a_moment_after_the_last_record_is_an_error_or_the_end(client: Client, batch_plan: BatchPlan) -> None:
    fill(client, "late", 10, 20)
    late = {"startingTimestamp": str(START_MS + 12_000)}
    with pytest.raises(SourceError, match="no record of late-0 is as late"):
        batch_plan("late", **late)
    assert batch_plan("late", **late, startingOffsetsByTimestampStrategy="latest") == [(1, 12, 20)]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": "nowhere,named"}, "there is no topic 'nowhere'"),
        ({"subscribe": "", "assign": '{"named":[0,1,9]}'}, "there is no partition named-9"),
        ({"startingOffsets": '{"named":{"0":0}}'}, "startingOffsets does not have named-1"),
        ({"endingOffsets": '{"named":{"0":0,"1":0,"2":0}}'}, "endingOffsets has named-2, which is not read"),
        ({"startingOffsetsByTimestamp": '{"named":{"0":0}}'}, "startingOffsetsByTimestamp does not have named-1"),
        (
            {"startingOffsets": '{"named":{"0":3,"1":0}}', "endingOffsets": '{"named":{"0":2,"1":0}}'},
            "named-0 from 3 to 2 cannot be",
        ),
    ],
)
def test_unreadable_input_is_reported_in_a_sentence(
    client: Client, batch_plan: BatchPlan, options: dict[str, str], sentence: str
) -> None:
    fill(client, "named", *((5, 5) if "named" not in {t.name for t in list_topics(client)} else ()))
    with pytest.raises(SourceError, match=sentence):
        batch_plan("named", **options)


def test_offsets_that_are_not_there_are_a_loss(client: Client, batch_plan: BatchPlan) -> None:
    fill(client, "aged", 10)
    delete_records(client, {("aged", 0): 4})
    beyond = {"startingOffsets": '{"aged":{"0":2}}', "endingOffsets": '{"aged":{"0":12}}'}
    with pytest.raises(DataLoss, match="aged-0 from 2 to 12 was to be read, but the log has only 4 to 10"):
        batch_plan("aged", **beyond)
    assert batch_plan("aged", **beyond, failOnDataLoss="false") == [(0, 4, 10)]
    assert batch_plan("aged") == [(0, 4, 10)]


def test_reading_ends_where_the_first_open_transaction_begins(client: Client, batch_plan: BatchPlan) -> None:
    fill(client, "open", 3)
    producer = begun(client, "opener")
    producer.send("open", b"v", partition=0)
    producer.flush()
    assert batch_plan("open") == [(0, 0, 3)]
    assert batch_plan("open", **{"kafka.isolation.level": "read_uncommitted"}) == [(0, 0, 4)]
    producer.commit()
    assert batch_plan("open") == [(0, 0, 5)]  # the marker is an offset, too


def test_a_stream_begins_where_it_is_told_to(client: Client, stream: NewStream) -> None:
    fill(client, "first", 4, 6)
    assert stream(subscribe="first").first_position().offsets == {("first", 0): 4, ("first", 1): 6}
    assert stream(subscribePattern="firs.", startingOffsets="earliest").first_position().offsets == {
        ("first", 0): 0,
        ("first", 1): 0,
    }
    assert stream(assign='{"first":[1]}', startingTimestamp=str(START_MS + 3000)).first_position().offsets == {
        ("first", 1): 3
    }
    with pytest.raises(SourceError, match=r"there is no topic 'fist' \(did you mean first\?\) and no topic 'nowhere'$"):
        stream(subscribe="nowhere,fist").first_position()
    assert stream(subscribePattern="nowhere.*").first_position().offsets == {}


def test_a_batch_of_a_stream_is_limited(client: Client, stream: NewStream) -> None:
    fill(client, "limited", 30, 10, 0)
    plan = stream(subscribe="limited")
    start = StreamPosition({("limited", 0): 0, ("limited", 1): 0, ("limited", 2): 0}, {})
    whole = plan.end_of_batch(start, None, waits=False)
    assert whole.offsets == {("limited", 0): 30, ("limited", 1): 10, ("limited", 2): 0}
    assert plan.seen == whole
    without_one = StreamPosition({("limited", 0): 0}, {})  # the others have come since: they count from their beginning
    for begin in (start, without_one):
        end = plan.end_of_batch(begin, 20, waits=True)
        assert end.offsets == {("limited", 0): 15, ("limited", 1): 5, ("limited", 2): 0}
        assert end.topic_ids == whole.topic_ids
        assert end.topic_ids.keys() == {"limited"}


def test_a_stream_waits_for_enough_unless_its_end_is_fixed(client: Client, stream: NewStream) -> None:
    fill(client, "enough", 5)
    plan = stream(subscribe="enough", minOffsetsPerTrigger="10")
    start = StreamPosition({("enough", 0): 0}, {})
    assert plan.end_of_batch(start, None, waits=True).offsets == {("enough", 0): 5}  # the first is not waited for
    assert plan.end_of_batch(start, None, waits=True) == start
    assert plan.end_of_batch(start, None, waits=False).offsets == {("enough", 0): 5}
    plan.fix_the_end()
    assert plan.end_of_batch(start, None, waits=True).offsets == {("enough", 0): 5}


def test_records_behind_the_fixed_end_are_not_read(client: Client, stream: NewStream) -> None:
    fill(client, "fixed", 5)
    plan = stream(subscribe="fixed")
    plan.fix_the_end()
    fill(client, "fixed", 5)
    assert plan.end_of_batch(StreamPosition({("fixed", 0): 0}, {}), None, waits=False).offsets == {("fixed", 0): 5}


@pytest.mark.parametrize(
    "starting",
    [
        {"startingOffsets": "latest"},
        {"startingTimestamp": str(START_MS + 10**9), "startingOffsetsByTimestampStrategy": "latest"},
        {"startingTimestamp": str(START_MS + 4_500), "startingOffsetsByTimestampStrategy": "latest"},
    ],
    ids=["offsets", "time", "time-behind-the-end"],
)
def test_a_stream_from_the_latest_begins_at_an_end_that_spark_has(
    client: Client, stream: NewStream, request: pytest.FixtureRequest, starting: dict[str, str]
) -> None:
    topic = f"busy-{request.node.callspec.id}"
    fill(client, topic, 5)
    plan = stream(subscribe=topic, **starting)
    plan.fix_the_end()
    fill(client, topic, 3, first_ms=START_MS + 3_000)
    create_partitions(client, topic, 2)
    start = plan.first_position()
    end = plan.end_of_batch(start, None, waits=False)
    assert start.offsets == end.offsets == {(topic, 0): 5}
    assert plan.ranges(start, end) == []
    fill(client, topic, 0, 2)
    again = stream(subscribe=topic, **starting)
    later = again.end_of_batch(end, None, waits=False)
    assert again.ranges(end, later) == [OffsetRange(topic, 0, 5, 8), OffsetRange(topic, 1, 0, 2)]


def test_new_partitions_are_read_from_their_beginning(client: Client, stream: NewStream) -> None:
    fill(client, "growing", 5)
    plan = stream(subscribe="growing")
    start = plan.first_position()
    create_partitions(client, "growing", 2)
    fill(client, "growing", 1, 2)
    end = plan.end_of_batch(start, None, waits=False)
    assert plan.ranges(start, end) == [OffsetRange("growing", 0, 5, 6), OffsetRange("growing", 1, 0, 2)]


def test_a_topic_that_goes_is_a_loss_or_passed_over(client: Client, stream: NewStream) -> None:
    fill(client, "going", 5)
    fill(client, "staying", 5)
    both = {"subscribe": "going,staying", "startingOffsets": "earliest"}
    start = stream(**both).first_position()
    delete_topic(client, "going")
    end = stream(**both).end_of_batch(start, None, waits=False)
    assert end.offsets == {("staying", 0): 5}
    with pytest.raises(DataLoss, match="going-0 was deleted or is no longer subscribed"):
        stream(**both).ranges(start, end)
    assert stream(**both, failOnDataLoss="false").ranges(start, end) == [OffsetRange("staying", 0, 0, 5)]


def test_a_topic_with_fewer_records_than_were_read_is_a_loss(client: Client, stream: NewStream) -> None:
    """With a checkpoint that has no topic id."""
    fill(client, "again", 2)
    start = StreamPosition({("again", 0): 5}, {})
    options = {"subscribe": "again", "fetchOffset.retryIntervalMs": "1"}
    end = stream(**options).end_of_batch(start, None, waits=False)
    assert end.offsets == {("again", 0): 2}
    with pytest.raises(DataLoss, match="again-0 ends at 2, but was read up to 5"):
        stream(**options).ranges(start, end)


@pytest.mark.parametrize("partitions", [(2,), (5,), (8,), ()], ids=["fewer", "as many", "more", "none"])
def test_a_topic_made_again_is_a_loss_or_read_on(
    client: Client, stream: NewStream, partitions: tuple[int, ...]
) -> None:
    topic = f"made-again-{sum(partitions)}"
    options = {"subscribe": topic, "startingOffsets": "latest", "fetchOffset.retryIntervalMs": "1"}
    fill(client, topic, 5)
    start = stream(**options).first_position()
    delete_topic(client, topic)
    fill(client, topic, *(partitions or (0,)))
    end = stream(**options).end_of_batch(start, None, waits=False)
    assert end != start
    with pytest.raises(DataLoss, match=rf"^{topic} had the id [^;]* is another cluster[^;]* failOnDataLoss to false$"):
        stream(**options).ranges(start, end)
    size = sum(partitions) - 5
    assert stream(**options, failOnDataLoss="false").ranges(start, end) == (
        [OffsetRange(topic, 0, 5, sum(partitions))] if size > 0 else []
    )
    again = stream(**options)
    assert again.end_of_batch(end, None, waits=False) == end


def test_a_batch_that_an_earlier_run_planned_is_not_read_from_another_topic(client: Client, stream: NewStream) -> None:
    options = {"subscribe": "planned", "startingOffsets": "earliest"}
    fill(client, "planned", 5)
    earlier = stream(**options)
    start = earlier.first_position()
    end = earlier.end_of_batch(start, None, waits=False)
    delete_topic(client, "planned")
    fill(client, "planned", 5)
    with pytest.raises(DataLoss, match=r"^planned had the id "):
        stream(**options).ranges(start, end)
    assert earlier.ranges(start, end) == [OffsetRange("planned", 0, 0, 5)], "it has not seen the new topic"


@pytest.mark.parametrize(("starting", "begin"), [("latest", 5), ("earliest", 0)])
def test_a_first_batch_that_an_earlier_run_planned_begins_where_that_run_began(
    client: Client, stream: NewStream, starting: str, begin: int
) -> None:
    topic = f"killed-{starting}"
    options = {"subscribe": topic, "startingOffsets": starting}
    fill(client, topic, 5)
    earlier = stream(**options)
    start = earlier.first_position()
    fill(client, topic, 3)
    end = position_from_json(position_to_json(earlier.end_of_batch(start, None, waits=False)))
    create_partitions(client, topic, 2)
    fill(client, topic, 2, 4)
    later = stream(**options)
    assert later.ranges(later.first_position(), end) == [OffsetRange(topic, 0, begin, 8)]
    second = later.end_of_batch(end, None, waits=False)
    assert second.begin is None
    assert later.ranges(end, second) == [OffsetRange(topic, 0, 8, 10), OffsetRange(topic, 1, 0, 4)]


def test_only_the_end_of_the_first_batch_tells_its_beginning(client: Client, stream: NewStream) -> None:
    """With AvailableNow the run that repeats the batch ends where it would begin, and Spark compares the texts."""
    fill(client, "told-once", 5)
    earlier = stream(subscribe="told-once")
    start = earlier.first_position()
    fill(client, "told-once", 3)
    first_end = earlier.end_of_batch(start, None, waits=False)
    fill(client, "told-once", 3)
    later = stream(subscribe="told-once")
    later.fix_the_end()
    assert later.ranges(later.first_position(), first_end) == [OffsetRange("told-once", 0, 5, 8)]
    second_end = later.end_of_batch(first_end, None, waits=False)
    assert later.ranges(first_end, second_end) == [OffsetRange("told-once", 0, 8, 11)]
    assert later.end_of_batch(second_end, None, waits=False) == second_end


def test_a_first_batch_without_records_begins_where_its_run_began(client: Client, stream: NewStream) -> None:
    fill(client, "quiet", 5)
    earlier = stream(subscribe="quiet")
    end = earlier.end_of_batch(earlier.first_position(), None, waits=False)
    fill(client, "quiet", 3)
    later = stream(subscribe="quiet")
    assert later.ranges(later.first_position(), end) == []
    assert later.ranges(end, end) == []
    assert later.ranges(end, later.end_of_batch(end, None, waits=False)) == [OffsetRange("quiet", 0, 5, 8)]


def test_a_checkpoint_without_topic_ids_gets_them_with_the_next_records(client: Client, stream: NewStream) -> None:
    fill(client, "older", 5)
    plan = stream(subscribe="older")
    start = StreamPosition({("older", 0): 5}, {})
    assert plan.end_of_batch(start, None, waits=False) == start, "no batch only for the id"
    fill(client, "older", 1)
    end = plan.end_of_batch(start, None, waits=False)
    assert end.topic_ids.keys() == {"older"}
    assert plan.ranges(start, end) == [OffsetRange("older", 0, 5, 6)]


def test_the_groups_offsets_follow_if_asked_to(client: Client, stream: NewStream) -> None:
    fill(client, "followed", 5)
    end = {("followed", 0): 5}
    stream(subscribe="followed", **{"kafka.group.id": "silent"}).commit(end)
    assert committed_offsets(client, "silent") == {}
    stream(subscribe="followed", commitOffsets="true", **{"kafka.group.id": "followers"}).commit(end)
    assert committed_offsets(client, "followers") == end
