"""A fresh server for a page, of either kind, with the page's topics in it and ready to answer."""

from pathlib import Path

from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.read_share_group_state_summary import PartitionData as SummaryPartition
from barnabas.protocol.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadStateSummaryData,
)
from tests.support.clients.java import compiled_plugin
from tests.support.kafka.process import KafkaProcess
from tests.support.probes.names import Names
from tests.support.probes.page import Answer, Page
from tests.support.probes.player import Player
from tests.support.probes.secured import Door, prepare, secured_options
from tests.support.probes.wire import Wire
from tests.support.processes.own_broker import OwnBroker
from tests.support.processes.server import Server
from tests.support.security.secured import SecuredBroker, SecuredKafka
from tests.support.source_tree import ROOT
from tests.support.waiting import until

PARTITIONS = 3
KEPT = {"retention.ms": "-1"}  # the records are years old
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
_NOT_YET = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
COORDINATED = 50  # partitions of a coordinators' topic


_RECEIVER = ROOT / "tests" / "support" / "kafka" / "TelemetryReceiver.java"

Told = list[list[list[Answer]]]
"""The answers of a page: by story, by step."""


class _SlowMarkers(OwnBroker):
    """A broker that others can ask while a transaction is completed."""

    def command(self) -> list[str]:
        python, _, _, *arguments = super().command()
        return [python, "-m", "tests.support.probes.slow_markers", *arguments]


def answers_of_barnabas(page: Page, directory: Path) -> Told:
    """What Barnabas answers to the page."""
    flags, settings = _flags(page), SETTINGS | page.settings
    kind = _SlowMarkers if page.has_slow_markers else OwnBroker
    if page.secured:
        server: OwnBroker = SecuredBroker(directory / "data", settings, flags=flags, **secured_options(page.secured))
    else:
        server = kind(directory / "data", settings, flags=flags)
    with server:
        answers = _answers(page, server, is_recorded=True)
        assert "Traceback" not in server.log, server.log
    return answers


def answers_of_kafka(page: Page, directory: Path, *, has_answers: bool = False) -> Told:
    """What Apache Kafka answers to it. `has_answers`: the page has its answers, for which reading requests wait."""
    plugins = compiled_plugin(_RECEIVER, directory / "plugins") if "metric.reporters" in page.settings else None
    flags, settings = _flags(page), SETTINGS | page.settings
    if page.secured:
        options = secured_options(page.secured)
        server: KafkaProcess = SecuredKafka(directory / "data", settings, flags=flags, **options)
    else:
        server = KafkaProcess(directory / "data", settings, format_arguments=flags, plugins=plugins)
    with server:
        return _answers(page, server, is_recorded=False, lags=has_answers)


def _flags(page: Page) -> tuple[str, ...]:
    """What both servers' directories are formatted with."""
    return tuple(word for name, level in page.features.items() for word in ("--feature", f"{name}={level}"))


def _answers(page: Page, server: Server, *, is_recorded: bool, lags: bool = False) -> Told:
    names = Names()
    with Wire(server.port) as wire:
        _make_topics(page, wire, names)
        until(lambda: _has_leaders(page, wire))
        until(lambda: _has_coordinators(wire))
        if page.has_transactions:
            until(lambda: _has_transaction_coordinators(wire))
        if page.has_share_groups:
            until(lambda: _has_share_coordinator(wire))
        prepare(page.secured, wire)
    delay_ms = int(page.settings.get("connection.failed.authentication.delay.ms", 0))
    door = Door(page.secured, server)
    player = Player(door.port, names, door.enter, delay_ms / 1000, lags=lags)
    return [player.tell(story, is_recorded=is_recorded) for story in page.stories]


def _make_topics(page: Page, wire: Wire, names: Names) -> None:
    topics = [
        CreatableTopic(
            name=name,
            num_partitions=int(given.get("partitions", PARTITIONS)),
            replication_factor=1,
            assignments=[],
            configs=[
                CreatableTopicConfig(name=key, value=value)
                for key, value in (KEPT | given).items()
                if key != "partitions"
            ],
        )
        for name, given in page.topics.items()
    ]
    if topics:
        for topic in wire.ask(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7).topics:
            assert topic.error_code == 0, topic
            names.learn_topic(topic.name, topic.topic_id)


def _has_leaders(page: Page, wire: Wire) -> bool:
    """Kafka's broker learns of a topic some time after the controller has reported it."""
    topics = [
        ListOffsetsTopic(
            name=name,
            partitions=[
                ListOffsetsPartition(partition_index=index, timestamp=-1)
                for index in range(int(given.get("partitions", PARTITIONS)))
            ],
        )
        for name, given in page.topics.items()
    ]
    answer = wire.ask(ListOffsetsRequest(replica_id=-1, topics=topics), 5)
    return not any(each.error_code for topic in answer.topics for each in topic.partitions)


def _has_coordinators(wire: Wire) -> bool:
    """The first question makes the coordinators' topics, and every partition of them is loaded for itself."""
    names = _names()
    found = wire.ask(FindCoordinatorRequest(coordinator_keys=names[:1]), 4).coordinators
    producer = wire.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 4)
    if found[0].error_code or producer.error_code:
        return False
    return not any(wire.ask(OffsetFetchRequest(group_id=name, topics=[]), 7).error_code in _NOT_YET for name in names)


def _has_transaction_coordinators(wire: Wire) -> bool:
    """The same; an unknown one does not exist, and leaves nothing behind."""
    names = _names()
    found = wire.ask(FindCoordinatorRequest(coordinator_keys=names[:1], key_type=1), 4).coordinators
    if found[0].error_code:
        return False
    answer = wire.ask(DescribeTransactionsRequest(transactional_ids=names), 0)
    return not any(each.error_code in _NOT_YET for each in answer.transaction_states)


def _has_share_coordinator(wire: Wire) -> bool:
    """Pages with share groups let its topic have one partition."""
    found = wire.ask(FindCoordinatorRequest(coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAQ:0"], key_type=2), 6)
    asked = ReadStateSummaryData(topic_id=bytes(16), partitions=[SummaryPartition(partition=0, leader_epoch=0)])
    answer = wire.ask(ReadShareGroupStateSummaryRequest(group_id="g", topics=[asked]), 1)
    codes = [each.error_code for topic in answer.results for each in topic.partitions]
    return not found.coordinators[0].error_code and not any(code in _NOT_YET for code in codes)


def _names() -> list[str]:
    """One for every partition of a coordinators' topic."""
    names = (f"loaded-{number}" for number in range(1000))
    return list({partition_for(name, COORDINATED): name for name in names}.values())
