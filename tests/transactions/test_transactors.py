"""What every client promises of a transactional producer: all or nothing, one owner of an id, offsets that go along."""

import uuid
from collections.abc import Mapping

import pytest

from tests.support.processes.server import Server
from tests.transactions.clients.programs import PROGRAMS
from tests.transactions.model import Fenced, Program
from tests.transactions.views import committed_offsets, make_topics, values, write

Programs = Mapping[str, Program]
COUNT = 30

every_client = pytest.mark.parametrize("name", PROGRAMS)


@pytest.fixture
def topic(server: Server) -> str:
    """The name of a new topic."""
    name = f"topic-{uuid.uuid4().hex[:8]}"
    make_topics(server.address, name)
    return name


@every_client
def test_committed_records_are_read_at_once_and_aborted_ones_never(
    server: Server, programs: Programs, name: str, topic: str
) -> None:
    producer = programs[name].open(server.address, f"{name}-{topic}")
    producer.begin()
    for partition in range(3):
        producer.send(topic, partition, f"first {partition}")
    assert values(server.address, topic) == []
    producer.commit()
    first = ["first 0", "first 1", "first 2"]
    assert values(server.address, topic) == first
    producer.begin()
    producer.send(topic, 0, "given up")
    producer.send(topic, 2, "given up")
    producer.abort()
    assert values(server.address, topic) == first
    assert values(server.address, topic, "read_uncommitted") == [*first, "given up", "given up"]
    producer.begin()
    producer.send(topic, 1, "after all")
    producer.commit()
    assert values(server.address, topic) == ["after all", *first]
    producer.close()


@every_client
def test_a_second_instance_takes_over_and_the_first_is_fenced(
    server: Server, programs: Programs, name: str, topic: str
) -> None:
    first = programs[name].open(server.address, f"{name}-{topic}")
    first.begin()
    first.send(topic, 0, "of the first")
    second = programs[name].open(server.address, f"{name}-{topic}")
    with pytest.raises(Fenced):
        first.commit()
    second.begin()
    second.send(topic, 0, "of the second")
    second.commit()
    assert values(server.address, topic) == ["of the second"]
    second.close()


@every_client
def test_offsets_are_committed_with_what_was_made_of_their_records_or_not_at_all(
    server: Server, programs: Programs, name: str, topic: str
) -> None:
    group, target = f"copiers-of-{topic}", f"{topic}-copied"
    make_topics(server.address, target)
    write(server.address, topic, COUNT)
    producer = programs[name].open(server.address, f"{name}-{topic}")
    producer.begin()
    producer.copy(group, topic, target, 10)
    assert committed_offsets(server.address, group, topic) == 0
    producer.commit()
    assert committed_offsets(server.address, group, topic) == 10
    producer.begin()
    producer.copy(group, topic, target, 10)
    producer.abort()
    assert committed_offsets(server.address, group, topic) == 10
    producer.begin()
    producer.copy(group, topic, target, 20)
    producer.commit()
    assert committed_offsets(server.address, group, topic) == COUNT
    assert values(server.address, target) == values(server.address, topic)
    producer.close()
