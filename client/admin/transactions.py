"""Listing and describing transactions, and ending hanging ones.

Coordinators (list, describe) and partitions (producers) have two views: if a partition has an open transaction that no
coordinator knows, it hangs, and all readers of committed records there wait forever. `find_hanging` compares the
views, `abort_on_partition` writes the marker that lets the readers continue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from barnabas.client.client import TRANSACTION, Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.errors import UnsupportedByBroker, raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import LATEST, READ_COMMITTED, list_offsets
from barnabas.client.transaction_requests import ProducerIdentity, init_producer
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.transaction_states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    EMPTY,
    OPEN_STATES,
    PREPARE_EPOCH_FENCE,
)
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest, TransactionState
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from barnabas.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from barnabas.protocol.registry import ApiKey

T = TypeVar("T")

MAX_TIMEOUT_MS = 900_000  # default of transaction.max.timeout.ms: no transaction should be open for longer
STATES = (EMPTY, *sorted(OPEN_STATES), COMPLETE_ABORT, COMPLETE_COMMIT, DEAD, PREPARE_EPOCH_FENCE)
_DURATION_SINCE, _PATTERN_SINCE = 1, 2
_FENCING_TIMEOUT_MS = 1


class TransactionListing(NamedTuple):
    """A transactional id in a list."""

    transactional_id: str
    producer_id: int
    state: str


class TransactionInfo(NamedTuple):
    """The coordinator's state of a transactional id. `start_timestamp_ms` is -1 if no transaction was begun."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_timestamp_ms: int
    partitions: list[TopicPartition]


class PartitionProducer(NamedTuple):
    """A producer known to a partition; `txn_start_offset` is -1 unless it has an open transaction there."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    txn_start_offset: int

    @property
    def place(self) -> TopicPartition:
        return self.topic, self.partition


class EndOffsets(NamedTuple):
    """The end offsets of a partition: the last stable offset for committed records, the high watermark for all."""

    last_stable_offset: int
    high_watermark: int


class TransactionHold(NamedTuple):
    """The effect of an open transaction on readers of committed records of one partition.

    They stop at `last_stable_offset`, `held_back` offsets before the end. `in_front` is the producer of the first open
    transaction, which may be another one.
    """

    topic: str
    partition: int
    txn_start_offset: int
    last_stable_offset: int
    high_watermark: int
    held_back: int
    in_front: int


# --- the coordinators' view ---


def list_transactions(
    client: Client,
    *,
    states: Iterable[str] = (),
    producer_ids: Iterable[int] = (),
    longer_than_ms: int = -1,
    pattern: str | None = None,
) -> list[TransactionListing]:
    """Return the transactional ids of all brokers, by id; only those that match every given filter.

    UnsupportedByBroker if a broker is too old for a filter. ValueError for a state that does not exist.
    """
    request = ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=list(producer_ids),
        duration_filter=longer_than_ms,
        transactional_id_pattern=pattern,
    )
    needs = _PATTERN_SINCE if pattern else _DURATION_SINCE if longer_than_ms >= 0 else 0

    def read(connection: BrokerConnection, deadline: Deadline) -> list[TransactionListing]:
        if connection.version(ApiKey.LIST_TRANSACTIONS) < needs:
            raise UnsupportedByBroker("the broker is too old to list transactions by their age or a pattern")
        response: ListTransactionsResponse = connection.ask(request, deadline)
        raise_for(response.error_code, None, f"transactions of {connection.address}")
        if response.unknown_state_filters:
            raise ValueError(f"there is no state {', '.join(response.unknown_state_filters)}")
        return [
            TransactionListing(each.transactional_id, each.producer_id, each.transaction_state)
            for each in response.transaction_states
        ]

    deadline = client.deadline()
    client.refresh([], deadline)
    found = [_ask_node(client, node_id, read, deadline) for node_id in client.cluster.brokers]
    return sorted(listing for listings in found for listing in listings)


def describe_transactions(client: Client, transactional_ids: Sequence[str]) -> list[TransactionInfo]:
    """Return the transactions, in that order; KafkaError TRANSACTIONAL_ID_NOT_FOUND for the first unknown one."""
    deadline = client.deadline()
    found: dict[str, TransactionInfo] = {}

    def attempt() -> None:
        by_coordinator: dict[BrokerConnection, list[str]] = {}
        for transactional_id in transactional_ids:
            if transactional_id not in found:
                connection = client.coordinator(TRANSACTION, transactional_id, deadline)
                by_coordinator.setdefault(connection, []).append(transactional_id)
        for connection, ids in by_coordinator.items():
            response = connection.ask(DescribeTransactionsRequest(transactional_ids=ids), deadline)
            for state in response.transaction_states:
                raise_for(state.error_code, None, f"transactional id {state.transactional_id!r}")
                found[state.transactional_id] = read_transaction(state)

    def look_again(error: KafkaError) -> None:
        for transactional_id in transactional_ids:
            client.forget_coordinator(TRANSACTION, transactional_id)

    client.with_retries(attempt, deadline, look_again)
    return [found[transactional_id] for transactional_id in transactional_ids]


def fence(client: Client, transactional_id: str, deadline: Deadline | None = None) -> ProducerIdentity:
    """Fence the producer of this id and abort its open transaction. It must initialise again."""
    return init_producer(client, transactional_id, timeout_ms=_FENCING_TIMEOUT_MS, deadline=deadline).identity


def read_transaction(state: TransactionState) -> TransactionInfo:
    """Return one transaction from a coordinator's response."""
    return TransactionInfo(
        state.transactional_id,
        state.transaction_state,
        state.producer_id,
        state.producer_epoch,
        state.transaction_timeout_ms,
        state.transaction_start_time_ms,
        sorted((topic.topic, number) for topic in state.topics for number in topic.partitions),
    )


# --- the partitions' view ---


def describe_producers(client: Client, partitions: Iterable[TopicPartition]) -> list[PartitionProducer]:
    """Return every producer known to these partitions, by partition and producer id."""
    deadline = client.deadline()
    wanted = list(partitions)
    found: dict[TopicPartition, list[PartitionProducer]] = {}

    def attempt() -> None:
        by_leader: dict[int, dict[str, list[int]]] = {}
        for topic, partition in wanted:
            if (topic, partition) not in found:
                topics = by_leader.setdefault(client.leader(topic, partition, deadline), {})
                topics.setdefault(topic, []).append(partition)
        for leader, topics in by_leader.items():
            request = DescribeProducersRequest(
                topics=[TopicRequest(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
            )
            for topic_answer in client.node(leader, deadline).ask(request, deadline).topics:
                for answer in topic_answer.partitions:
                    place = topic_answer.name, answer.partition_index
                    raise_for(answer.error_code, answer.error_message, f"{place[0]}-{place[1]}")
                    found[place] = [
                        PartitionProducer(
                            *place,
                            each.producer_id,
                            each.producer_epoch,
                            each.last_sequence,
                            each.last_timestamp,
                            each.coordinator_epoch,
                            each.current_txn_start_offset,
                        )
                        for each in answer.active_producers
                    ]

    client.with_retries(attempt, deadline, lambda error: client.forget({topic for topic, _ in wanted}))
    return sorted(producer for place in wanted for producer in found.get(place, ()))


def partition_ends(client: Client, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, EndOffsets]:
    """Return the last stable offset and the high watermark of each partition."""
    wanted = dict.fromkeys(partitions, LATEST)
    ends, stable = list_offsets(client, wanted), list_offsets(client, wanted, isolation=READ_COMMITTED)
    return {place: EndOffsets(stable[place].offset, ends[place].offset) for place in wanted}


def holds_of(
    producer_id: int, producers: Iterable[PartitionProducer], ends: Mapping[TopicPartition, EndOffsets]
) -> list[TransactionHold]:
    """Return where the open transaction of `producer_id` blocks readers, and which one is first there. Pure.

    producers: all producers of all these partitions.
    """
    open_ones = [each for each in producers if each.txn_start_offset >= 0]
    first = {each.place: each for each in sorted(open_ones, key=lambda each: -each.txn_start_offset)}
    found = []
    for each in open_ones:
        if each.producer_id == producer_id:
            stable, high = ends[each.place]
            in_front = first[each.place].producer_id
            found.append(
                TransactionHold(*each.place, each.txn_start_offset, stable, high, max(0, high - stable), in_front)
            )
    return sorted(found)


# --- hanging transactions ---


def find_hanging(
    client: Client, partitions: Iterable[TopicPartition], *, longer_than_ms: int = MAX_TIMEOUT_MS
) -> list[PartitionProducer]:
    """Return transactions open in these partitions for longer than that which no coordinator has as open."""
    now_ms = client.clock.now_ms()
    suspects = [
        each
        for each in describe_producers(client, partitions)
        if each.txn_start_offset >= 0 and now_ms - each.last_timestamp_ms > longer_than_ms
    ]
    if not suspects:
        return []
    listed = list_transactions(client, producer_ids=sorted({each.producer_id for each in suspects}))
    known = describe_transactions(client, [each.transactional_id for each in listed])
    return hanging(suspects, known)


def hanging(suspects: Iterable[PartitionProducer], known: Iterable[TransactionInfo]) -> list[PartitionProducer]:
    """Return the suspects whose partition is in no transaction of their producer. Pure."""
    legal = {(txn.producer_id, place) for txn in known for place in txn.partitions}
    return [each for each in suspects if (each.producer_id, each.place) not in legal]


def find_open(client: Client, place: TopicPartition, txn_start_offset: int) -> PartitionProducer:
    """Return the producer whose transaction began at this offset; KafkaError INVALID_TXN_STATE if there is none."""
    for each in describe_producers(client, [place]):
        if each.txn_start_offset == txn_start_offset:
            return each
    raise KafkaError(
        ErrorCode.INVALID_TXN_STATE,
        f"no transaction that began at offset {txn_start_offset} is open in {place[0]}-{place[1]}",
    )


def abort_on_partition(client: Client, producer: PartitionProducer) -> None:
    """Write the marker that aborts this producer's transaction in this one partition, ignoring coordinators.

    It does not block the coordinator's own markers: the epoch is the latest one of the partition.
    """
    deadline = client.deadline()
    topic = WritableTxnMarkerTopic(name=producer.topic, partition_indexes=[producer.partition])
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[topic],
        coordinator_epoch=max(0, producer.coordinator_epoch),
    )

    def attempt() -> None:
        leader = client.node(client.leader(*producer.place, deadline), deadline)
        for result in leader.ask(WriteTxnMarkersRequest(markers=[marker]), deadline).markers:
            for answered in result.topics:
                for answer in answered.partitions:
                    raise_for(answer.error_code, None, f"{answered.name}-{answer.partition_index}")

    client.with_retries(attempt, deadline, lambda error: client.forget([producer.topic]))


def _ask_node(client: Client, node_id: int, read: Callable[[BrokerConnection, Deadline], T], deadline: Deadline) -> T:
    return client.with_retries(lambda: read(client.node(node_id, deadline), deadline), deadline)
