"""Stories of what a broker refuses, tries again, and forgets."""

from typing import Any

import pytest

from barnabas.broker.runtime.events.cause import RequestCause
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.support.worlds.broker import settle, until
from tests.support.worlds.story import MINUTE_MS, Stories, Story

STORIES = Stories()


def fetching(*topics: tuple[str, list[int]], offset: int = 0, **fields: Any) -> FetchRequest:
    asked = [
        FetchTopic(
            topic=name,
            partitions=[
                FetchPartition(partition=each, fetch_offset=offset, partition_max_bytes=1) for each in partitions
            ],
        )
        for name, partitions in topics
    ]
    return FetchRequest(**{"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1, "topics": asked, **fields})


@STORIES.about()
async def fetches_are_refused(story: Story) -> None:
    told = story.told
    await story.client.ask(fetching(("t", [0])), 4)
    assert not told.of("fetch.refused"), "there was nothing to read, and no error"
    await story.client.ask(fetching(("t", [0, 7]), ("nowhere", [1]), offset=5), 11)
    first, second, third = told.of("fetch.refused")
    assert first.facts == {
        "topic": "t",
        "partition": 0,
        "error": "OFFSET_OUT_OF_RANGE",
        "fetch_offset": 5,
        "errors_count": 3,
    }
    for event, topic, partition in ((second, "t", 7), (third, "nowhere", 1)):
        assert (event.facts["topic"], event.facts["partition"]) == (topic, partition)
        assert event.facts["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert isinstance(first.cause, RequestCause)
    assert (first.cause.api, first.cause.version, first.cause.client_id) == ("Fetch", 11, "test")
    assert first.cause is second.cause is third.cause
    assert story.world.broker.events.cause is None
    await story.client.ask(fetching(session_id=77, session_epoch=3), 11)
    whole = told.of("fetch.refused")[3].facts
    assert (whole["topic"], whole["partition"], whole["error"]) == (None, None, "FETCH_SESSION_ID_NOT_FOUND")
    await story.client.ask(fetching(("t", list(range(100, 200)))), 4)
    assert len(told.of("fetch.refused")) == 4 + 20
    assert told.of("fetch.refused")[-1].facts["errors_count"] == 100


@STORIES.about({"producer.id.expiration.ms": str(MINUTE_MS)})
async def producers_expire(story: Story) -> None:
    await story.world.broker.start()
    for producer_id in range(30):
        batch = story.world.batch(b"value", producer=(producer_id, 0, 0))
        story.world.services.partitions.append("t", 1, bytearray(batch))
    story.world.clock.advance(30 * MINUTE_MS)
    await until(lambda: story.told.of("producer.ids_expired"))
    facts = story.told.only("producer.ids_expired").facts
    assert (facts["topic"], facts["partition"], facts["producers_count"]) == ("t", 1, 30)
    assert facts["producer_ids"] == [str(each) for each in range(20)]


@pytest.mark.pure
async def test_a_marker_that_is_tried_again_has_the_cause_of_its_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    partitions = story.world.services.partitions
    producer = await story.init()
    await story.add(producer, ("t", [0]), ("u", [0]))
    get_led = type(partitions).get_led

    def refusing(self: Any, topic: str, partition: int) -> Any:
        if topic == "u":
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        return get_led(self, topic, partition)

    monkeypatch.setattr(type(partitions), "get_led", refusing)
    assert await story.end(producer) is ErrorCode.NONE
    await settle()
    told = story.told
    assert not told.of("transaction.completed")
    monkeypatch.undo()
    await story.world.advance(MINUTE_MS)
    refused = told.only("transaction.marker_refused")
    assert (refused.facts["error"], refused.facts["is_tried_again"]) == ("LEADER_NOT_AVAILABLE", True)
    late = told.events[told.events.index(refused) :]
    assert [event.name for event in late if event.name != "request.answered"][-1] == "transaction.completed"
    cause = told.only("transaction.prepared").cause
    assert isinstance(cause, RequestCause)
    assert all(event.cause == cause for event in late), "however late they come"
    assert story.world.broker.events.cause is None
