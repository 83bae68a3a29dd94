"""What a ConsumerGroupHeartbeat is refused for is said in Kafka's words; the probe book compares the codes alone."""

from pathlib import Path
from typing import Any, NamedTuple

from barnabas.client.client import GROUP, Client
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.waiting import PATIENCE_S, until

_JOINING: dict[str, Any] = {"member_epoch": 0, "rebalance_timeout_ms": 1000, "topic_partitions": []}
_NAMED = {**_JOINING, "subscribed_topic_names": ["missing"]}
_EXPRESSIONS = (
    *("(", "a)", "a**", "*", "a(*)", "[b-a]", "[a", "\\", "\\8", "\\xg", "(?=x)", "(?P<x", "(?P<x>a)(?P<x>b)"),
    *("a{9999}", "x{2,1}", "\\p{Nope}", "[[:bla:]]"),
)
_REQUESTS: tuple[dict[str, Any], ...] = (
    {**_NAMED, "group_id": ""},
    {"member_id": "", "member_epoch": 1},
    {"member_epoch": 0},
    {"member_epoch": 0, "rebalance_timeout_ms": 5},
    _JOINING,
    {"member_epoch": -2},
    {"member_epoch": -5},
    {"member_epoch": 3, "server_assignor": "x"},
    {**_NAMED, "rack_id": " "},
    {**_NAMED, "instance_id": ""},
    {"member_epoch": 3},
    {"member_epoch": -1},
    {"member_epoch": -2, "instance_id": "i"},
    *({**_JOINING, "subscribed_topic_regex": each} for each in _EXPRESSIONS),
    _NAMED,
    {"member_epoch": 9},
    {"member_epoch": 1},
    {"member_id": "q", "member_epoch": 2},
    {"member_id": "q", "member_epoch": -1},
    {"member_epoch": 2, "instance_id": "j"},
    {**_NAMED, "member_id": "s1", "instance_id": "i"},
    {**_NAMED, "member_id": "s2", "instance_id": "i"},
    {"member_id": "s2", "member_epoch": 3, "instance_id": "i"},
    {"member_id": "s2", "member_epoch": -2, "instance_id": "i"},
)
_LOADING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


class _Said(NamedTuple):
    code: int
    message: str | None
    epoch: int


def _told(address: str) -> list[_Said]:
    with Client(address) as client:
        client.with_retries(lambda: client.coordinator(GROUP, "g", client.deadline()), client.deadline())
        return [_ask(client, {"group_id": "g", "member_id": "m", **fields}) for fields in _REQUESTS]


def _ask(client: Client, fields: dict[str, Any]) -> _Said:
    said: list[_Said] = []

    def is_answered() -> bool:
        connection = client.coordinator(GROUP, "g", client.deadline())
        answer = connection.ask(ConsumerGroupHeartbeatRequest(**fields), client.deadline())
        said.append(_Said(answer.error_code, answer.error_message, answer.member_epoch))
        return answer.error_code not in _LOADING

    until(is_answered, PATIENCE_S)
    return said[-1]


def test_every_refusal_is_said_in_kafkas_words(tmp_path: Path) -> None:
    settings = {"group.consumer.assignment.interval.ms": 0}
    with KafkaProcess(tmp_path / "kafka", settings) as kafka:
        expected = _told(kafka.address)
    with BrokerProcess(tmp_path / "barnabas", settings) as broker:
        assert _told(broker.address) == expected
    assert sum(1 for said in expected if said.code) > 30
