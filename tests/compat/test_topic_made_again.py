"""A topic is deleted and one of its name is made, while stock clients write, read and have committed.

The clients know the old topic's id, its leader epoch, their sequence numbers in it and positions behind its end. What
each request is answered with is in tests/golden/probes/made_again.txt; here is whether the clients get on with it.
franz-go is left out: it gives up what it has for a topic that is gone for more than a moment.
"""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.model import PARTITIONS, StreamingClient, by_position
from tests.support.processes.server import Server
from tests.support.waiting import until

COUNT = 40_000
DELETE_AT = 1_000  # acknowledgements
TIMEOUT_S = 90
SETTINGS = {"num.partitions": PARTITIONS, "auto.create.topics.enable": "false"}
Clients = Mapping[str, StreamingClient]


@pytest.mark.parametrize("name", ["confluent-kafka", "java-4.4.0"])
def test_clients_go_on_in_the_new_topic_and_see_nothing_of_the_old(server: Server, clients: Clients, name: str) -> None:
    client, topic, address = clients[name], f"again-{name}", server.address
    reader, group = clients["confluent-kafka"], f"readers-{name}"
    make(address, topic)
    acknowledged: dict[int, int] = {}
    enough, is_deleted = threading.Event(), threading.Event()

    def on_ack(number: int, offset: int) -> None:
        acknowledged[number] = offset
        if len(acknowledged) == DELETE_AT:
            enough.set()
            is_deleted.wait(TIMEOUT_S)  # it does not get far meanwhile: what it prints, or has in flight, is limited

    with ThreadPoolExecutor(1) as writer:
        writing = writer.submit(client.stream, address, topic, COUNT, on_ack)
        assert enough.wait(TIMEOUT_S)
        before = set(acknowledged)
        reader.read_in_group(address, topic, group, len(before) // 2)
        admin = AdminClient({"bootstrap.servers": address})
        admin.delete_topics([topic])[topic].result(30)
        is_deleted.set()
        make(address, topic)
        writing.result(TIMEOUT_S)
    assert sorted(acknowledged) == list(range(COUNT))
    stored = by_position(reader.read(address, topic))
    numbers = [int(record.value or b"") for record in stored]
    assert before.isdisjoint(numbers), "a record of the old topic"
    assert len(numbers) == len(set(numbers)), "a record twice"
    gone = set(range(COUNT)) - set(numbers)
    assert numbers
    assert gone == set(list(acknowledged)[: len(gone)]), "what was acknowledged after the others is in the new topic"
    for partition in range(PARTITIONS):
        offsets = [record.offset for record in stored if record.partition == partition]
        assert offsets == list(range(len(offsets)))
    # The group's offsets went with the old topic: it begins anew.
    found = by_position(reader.read_in_group(address, topic, group, len(numbers)))
    assert [(each.partition, each.offset) for each in found] == [(each.partition, each.offset) for each in stored]


def make(address: str, topic: str) -> None:
    """Create the topic; Kafka may still be deleting the one before."""

    def is_made() -> bool:
        admin = AdminClient({"bootstrap.servers": address})
        try:
            admin.create_topics([NewTopic(topic, num_partitions=PARTITIONS)])[topic].result(30)
        except KafkaException as refused:
            if refused.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
            return False
        return True

    until(is_made)
