"""Error codes that faults answer: where in an answer they stand, and what is done of the rest of a request."""

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.requests import commit, fetch
from tests.support.worlds.faulty_broker import FaultyWorld, asked, produce


def end_offsets(faulty: FaultyWorld, *partitions: tuple[str, int]) -> list[int]:
    return [faulty.world.services.partitions.get(*each).log_end_offset for each in partitions]


async def test_only_the_partitions_that_match_fail_in_produce(faulty: FaultyWorld) -> None:
    faulty.world.services.catalogue.create_topic("t", 3)
    faulty.world.services.catalogue.create_topic("u", 1)
    faulty.arm({"api": "Produce", "topic": "t", "partition": 1}, {"error": "NOT_LEADER_OR_FOLLOWER"})
    batch = faulty.world.batch(b"x")
    (answer,) = await asked(faulty.connect(), produce({"t": {0: batch, 1: batch, 2: batch}, "u": {0: batch}}), 12)
    found = {
        (topic.name, each.index): (each.error_code, each.base_offset)
        for topic in answer.responses
        for each in topic.partition_responses
    }
    assert found == {("t", 0): (0, 0), ("t", 1): (6, -1), ("t", 2): (0, 0), ("u", 0): (0, 0)}
    assert len(answer.responses) == 2
    assert end_offsets(faulty, ("t", 0), ("t", 1), ("t", 2), ("u", 0)) == [1, 0, 1, 1]


async def test_a_whole_produce_fails_where_nothing_else_is_requested(faulty: FaultyWorld) -> None:
    topic = faulty.world.services.catalogue.create_topic("t", 1)
    faulty.arm({"api": "Produce", "topic": "t"}, {"error": "KAFKA_STORAGE_ERROR"})
    request = produce({"t": {0: faulty.world.batch(b"x")}})
    request.topic_data[0].topic_id = topic.topic_id
    (answer,) = await asked(faulty.connect(), request, 13)
    assert answer.responses[0].topic_id == topic.topic_id
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert end_offsets(faulty, ("t", 0)) == [0]


async def test_an_error_for_acks_0_closes_the_connection_as_ever(faulty: FaultyWorld) -> None:
    faulty.world.services.catalogue.create_topic("t", 1)
    faulty.arm({"api": "Produce"}, {"error": "NOT_LEADER_OR_FOLLOWER"})
    peer = faulty.connect()
    await peer.put(produce({"t": {0: faulty.world.batch(b"x")}}, acks=0), 12)
    assert peer.is_closed
    assert end_offsets(faulty, ("t", 0)) == [0]


async def test_only_the_topics_that_match_fail_in_offset_commit(faulty: FaultyWorld) -> None:
    for name in "ab":
        faulty.world.services.catalogue.create_topic(name, 1)
    faulty.arm({"api": "OffsetCommit", "topic": "a", "group": "g"}, {"error": "UNKNOWN_TOPIC_OR_PARTITION"})
    request = commit("g", 7, "a")
    request.topics += commit("g", 7, "b").topics
    (answer,) = await asked(faulty.connect(), request, 8)
    assert {topic.name: topic.partitions[0].error_code for topic in answer.topics} == {"a": 3, "b": 0}


async def test_a_fetch_has_the_code_in_the_partitions_that_match_also_of_its_session(faulty: FaultyWorld) -> None:
    faulty.world.services.catalogue.create_topic("t", 2)
    peer = faulty.connect()
    batch = faulty.world.batch(b"x")
    await asked(peer, produce({"t": {0: batch}}), 12)
    (answer,) = await asked(peer, fetch(0, 1, wait_ms=500, session_epoch=0), 12)
    session_id = answer.session_id
    assert session_id != 0
    faulty.arm({"api": "Fetch", "topic": "t", "partition": 1}, {"error": "NOT_LEADER_OR_FOLLOWER"})
    (answer,) = await asked(peer, fetch(topics=[], wait_ms=500, session_id=session_id, session_epoch=1), 12)
    found = {each.partition_index: each.error_code for topic in answer.responses for each in topic.partitions}
    assert (answer.error_code, found[1]) == (0, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert found.get(0, 0) == 0
    await peer.put(fetch(topics=[], wait_ms=500, session_id=session_id, session_epoch=2), 12)
    await faulty.world.advance(500)
    (answer,) = peer.answers()
    assert answer.error_code == 0, "the session goes on"


async def test_codes_of_a_session_stand_at_the_top_of_a_fetch(faulty: FaultyWorld) -> None:
    faulty.world.services.catalogue.create_topic("t", 1)
    faulty.arm({"api": "Fetch"}, {"error": "FETCH_SESSION_ID_NOT_FOUND"}, times="always")
    (answer,) = await asked(faulty.connect(), fetch(wait_ms=500), 12)
    assert (answer.error_code, answer.responses) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, [])
    peer = faulty.connect()
    assert await asked(peer, fetch(wait_ms=500), 4) == []
    assert peer.is_closed, "version 4 has no place for it"


async def test_metadata_tells_its_brokers_and_the_code_of_the_topics_that_match(faulty: FaultyWorld) -> None:
    for name in "ab":
        faulty.world.services.catalogue.create_topic(name, 1)
    topics = [MetadataRequestTopic(name=name) for name in "ab"]
    faulty.arm({"api": "Metadata", "topic": "a"}, {"error": "TOPIC_AUTHORIZATION_FAILED"})
    (answer,) = await asked(faulty.connect(), MetadataRequest(topics=topics))
    assert len(answer.brokers) == 1
    assert {topic.name: topic.error_code for topic in answer.topics} == {"a": 29, "b": 0}
    faulty.arm({"api": "Metadata"}, {"error": "LEADER_NOT_AVAILABLE"})
    (answer,) = await asked(faulty.connect(), MetadataRequest(topics=topics))
    assert [(each.error_code, each.partitions[0].error_code) for each in answer.topics] == [(0, 5), (0, 5)]
