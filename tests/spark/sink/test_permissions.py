"""The sink where it is not allowed something, against Apache Kafka with its authorizer.

Who has no rule of its own is allowed everything that no rule names (allow.everyone.if.no.acl.found): so each test names
what it forbids, by letting somebody else have it.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.client.admin.acls import AclBinding, create_acls
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.commit.ledger import SourceOffset
from pyspark_barnabas.sink.checkpoint import CheckpointOffsets
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.kafka.process import KafkaProcess
from tests.support.spark.sink_query import Query, committed_values, rows

TOPIC, GROUP, TRANSACTIONAL_ID = 2, 3, 5
_LITERAL, _PREFIXED, _ALL, _DESCRIBE, _ALLOW = 3, 4, 2, 8, 3


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcess]:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    with KafkaProcess(tmp_path_factory.mktemp("acl") / "data", settings) as server:
        yield server


def keep_for_alice(client: Client, resource: int, name: str, pattern: int = _LITERAL) -> None:
    """Only Alice may do anything with it from now on."""
    _allow(client, resource, name, pattern, "User:alice", _ALL)


def _allow(client: Client, resource: int, name: str, pattern: int, principal: str, operation: int) -> None:
    create_acls(client, [AclBinding(resource, name, pattern, principal, "*", operation, _ALLOW)])


def query(broker: KafkaProcess, name: str) -> Query:
    return Query(SinkSettings(ConnectionSettings(broker.address), topic=name, prefix=name))


def test_a_topic_that_is_not_ours_is_reported(broker: KafkaProcess, client: Client) -> None:
    create_topic(client, "hers")
    keep_for_alice(client, TOPIC, "hers")
    with pytest.raises(SinkFailed, match=r"TOPIC_AUTHORIZATION_FAILED.*needs WRITE and DESCRIBE on the topics"):
        query(broker, "hers").write(0, [rows(["a"])])


@pytest.mark.parametrize(
    ("hers", "name", "words"),
    [
        ((TOPIC, "__ledger-of-hers.ledger"), "ledger-of-hers", "'__ledger-of-hers.ledger' READ and DESCRIBE_CONFIGS"),
        ((TRANSACTIONAL_ID, "her-ids", _PREFIXED), "her-ids", "on all transactional ids that begin with 'her-ids'"),
    ],
)
def test_what_the_sink_needs_beside_the_topic_is_reported_where_it_is_not_ours(
    broker: KafkaProcess, client: Client, hers: tuple[Any, ...], name: str, words: str
) -> None:
    keep_for_alice(client, *hers)
    with pytest.raises(SinkFailed, match=re.escape(words)):
        query(broker, name).write(0, [rows(["a"])])


def test_a_group_that_is_not_ours_is_reported_and_the_batch_is_aborted(broker: KafkaProcess, client: Client) -> None:
    create_topic(client, "source")
    keep_for_alice(client, GROUP, "her-group")
    sink = query(broker, "her-group")
    checkpoint = CheckpointOffsets("0", (SourceOffset("source", 0, 1),))
    with pytest.raises(SinkFailed, match="needs READ on the group 'her-group'"):
        sink.play(0, [rows(["a"])], checkpoint)
    assert committed_values(client, "her-group") == []  # and nothing is open that readers would wait for
    sink.settings = SinkSettings(sink.settings.connection, topic="her-group", prefix="her-group", group_id="")
    sink.start()
    sink.play(0, [rows(["b"])], checkpoint)
    assert committed_values(client, "her-group") == ["b"]


def test_a_source_that_is_not_ours_to_read_is_reported_and_the_batch_is_aborted(
    broker: KafkaProcess, client: Client
) -> None:
    create_topic(client, "her-source")
    create_topic(client, "from-hers")
    keep_for_alice(client, TOPIC, "her-source")
    _allow(client, TOPIC, "her-source", _LITERAL, "User:*", _DESCRIBE)
    checkpoint = CheckpointOffsets("0", (SourceOffset("her-source", 0, 1),))
    with pytest.raises(SinkFailed, match="This needs READ on the topics that the query reads"):
        query(broker, "from-hers").play(0, [rows(["a"])], checkpoint)
    assert committed_values(client, "from-hers") == []
