"""Programs whose data directory changes hands, between this broker and Apache Kafka, and what they expect.

`begin` makes the topics. `work` is one turn of the programs with the broker that has the directory now, `check` is what
the next broker has to know of all turns before. The programs outlive brokers: an idempotent producer sends its last
batch again, a transactional one is a zombie by now, a prepared transaction waits for its second phase, groups go on
where they were.

Invariant: an expectation is noted only after the acknowledgement.
"""

import time
from typing import Any, NamedTuple

import pytest

from barnabas.client import transaction_requests
from barnabas.client.admin import groups
from barnabas.client.admin.configs import ConfigSource, ResourceType, describe_configs
from barnabas.client.admin.topics import create_topic, describe_topics
from barnabas.client.client import TRANSACTION, Client
from barnabas.client.consume.classic_membership import ClassicProtocol
from barnabas.client.consume.consumer import Consumer
from barnabas.client.consume.consumer_membership import ConsumerProtocol
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.offsets import READ_COMMITTED, committed_offsets
from barnabas.client.produce.producer import Producer
from barnabas.client.transaction_requests import ProducerIdentity
from barnabas.client.transactions.producer import TransactionalProducer
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.records.builder import NewRecord, build_batch
from tests.support.waiting import until

WORDS, STATE, ENDINGS, PREPARED = "words", "state", "endings", "prepared"
RECORDS, KEYS, ROUNDS = 40, 6, 8
TIMEOUT_MS = 60_000
SETTINGS = {
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.num.partitions": 2,
    "transaction.two.phase.commit.enable": "true",
    "unstable.api.versions.enable": "true",
    "share.coordinator.state.topic.num.partitions": 1,
}
"""What both brokers are started with."""
PROTOCOLS = {"classics": ClassicProtocol, "moderns": ConsumerProtocol}


class Retry(NamedTuple):
    """A batch of the idempotent producer, and where it was written."""

    batch: bytes
    base_offset: int


class HandoverWorld:
    """The programs of one directory through all its turns."""

    def __init__(self) -> None:
        self.turns = 0
        self.words: list[bytes] = []
        self.state: dict[bytes, bytes] = {}
        self.endings: list[bytes] = []
        self.prepared: list[bytes] = []
        self.topic_ids: dict[str, bytes] = {}
        self._positions = dict.fromkeys(PROTOCOLS, 0)
        self._in_transactions = 0
        self._idempotent: ProducerIdentity | None = None
        self._sequence = 0
        self._retry: Retry | None = None
        self._open: ProducerIdentity | None = None
        self._waiting: ProducerIdentity | None = None  # with its prepared transaction
        self._value = b""
        self._crashes: ProducerIdentity | None = None

    def begin(self, client: Client) -> None:
        """Make the topics."""
        for name, configs in {
            WORDS: {"retention.ms": "-1", "segment.bytes": "1048576"},
            STATE: {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.0"},
            ENDINGS: {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.0"},
            PREPARED: {"retention.ms": "-1"},
        }.items():
            self.topic_ids[name] = create_topic(client, name, partitions=1, configs=configs)

    def begin_again_and_again(self, client: Client) -> None:
        """A producer that fails at once and is started again, 10,100 times: `__transaction_state` is shortened."""
        request = InitProducerIdRequest(transactional_id="crashes", transaction_timeout_ms=TIMEOUT_MS)
        transaction_requests.init_producer(client, "crashes", timeout_ms=TIMEOUT_MS)
        deadline = client.deadline(60_000)
        coordinator = client.coordinator(TRANSACTION, "crashes", deadline)
        for _ in range(101):
            for _ in range(100):
                coordinator.send(request, deadline)
            answers = [coordinator.receive(deadline) for _ in range(100)]
            assert {answer.error_code for answer in answers} <= {ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS}
            self._crashes = max(ProducerIdentity(each.producer_id, each.producer_epoch) for each in answers)

    # --- one turn's work ---

    def work(self, client: Client) -> None:
        """What the programs do in one turn, with a broker that has been checked."""
        self.turns += 1
        self._say_words(client)
        self._keep_state(client)
        self._end_transactions(client)
        self._leave_one_open(client)
        self._prepare(client)
        for group in PROTOCOLS:
            self._go_on(client, group, len(self.words) - RECORDS // 2)

    def _say_words(self, client: Client) -> None:
        values = [b"%d-%d" % (self.turns, number) for number in range(RECORDS)]
        with Producer(client, compression="lz4") as producer:
            for value in values[1:]:
                producer.send(WORDS, value, partition=0)
        self.words += values[1:]
        if self._idempotent is None:
            answer = client.ask_any(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=TIMEOUT_MS))
            assert answer.error_code == ErrorCode.NONE
            self._idempotent = ProducerIdentity(answer.producer_id, answer.producer_epoch)
        batch = _batch(values[0], self._idempotent, self._sequence)
        self._sequence += 1
        self._retry = Retry(batch, _produce(client, WORDS, batch))
        self.words.append(values[0])

    def _keep_state(self, client: Client) -> None:
        """Every key again and again, each round in its own segment; one key goes for good in each turn."""
        with Producer(client) as producer:
            for number in range(ROUNDS):
                for key in range(KEYS):
                    self._set(producer, b"key-%d" % key, b"%d-%d-%d" % (self.turns, number, key))
                producer.flush()
            self._set(producer, b"key-%d" % (self.turns % KEYS), None)

    def _set(self, producer: Producer, key: bytes, value: bytes | None) -> None:
        producer.send(STATE, value, key=key, partition=0)
        if value is None:
            self.state.pop(key, None)
        else:
            self.state[key] = value

    def _end_transactions(self, client: Client) -> None:
        producer = TransactionalProducer(client, "ends")
        producer.init()
        for number in range(4):
            value = b"ended-%d-%d" % (self.turns, number)
            producer.begin()
            producer.send(ENDINGS, value, key=value, partition=0)
            producer.send_offsets({(WORDS, 0): 100 * self.turns + number}, "in-transactions")
            if number % 2:
                producer.abort()
            else:
                producer.commit()
                self.endings.append(value)
                self._in_transactions = 100 * self.turns + number

    def _leave_one_open(self, client: Client) -> None:
        producer = TransactionalProducer(client, "stays-open")
        producer.init()
        producer.begin()
        producer.send(ENDINGS, b"open", key=b"open", partition=0)
        producer.send_offsets({(WORDS, 0): 1}, "never")
        producer.flush()
        self._open = producer.identity

    def _prepare(self, client: Client) -> None:
        producer = TransactionalProducer(client, "two-phases")
        producer.init(enable_2pc=True)
        producer.begin()
        self._value = b"prepared-%d" % self.turns
        producer.send(PREPARED, self._value, partition=0)
        producer.flush()
        self._waiting = producer.identity

    def _go_on(self, client: Client, group: str, until_position: int) -> None:
        """Read on from where the group was, and commit."""
        expected = self.words[self._positions[group] : until_position]
        found: list[bytes | None] = []
        deadline = client.deadline(20_000)
        reset = "none" if self.turns > 1 else "earliest"
        member = GroupConsumer(client, group, [WORDS], protocol=PROTOCOLS[group](), auto_offset_reset=reset)
        with member:
            while len(found) < len(expected) and not deadline.is_over:
                found += [each.record.value for each in member.poll(max_records=len(expected) - len(found))]
        assert found == expected, f"{group}: {len(found)} of {len(expected)} records"
        self._positions[group] = until_position

    # --- what the next broker has to know ---

    def check(self, client: Client) -> None:
        """All of what was acknowledged, as it is seen by clients; and what was left open is ended."""
        self._check_catalogue(client)
        self._check_groups(client)
        self._check_producers(client)
        assert _read(client, WORDS) == self.words
        self._second_phase(client)
        self._fence(client)
        until(lambda: _latest(client, STATE) == self.state)
        assert sorted(_latest(client, ENDINGS)) == sorted(self.endings)
        assert _read(client, PREPARED, READ_COMMITTED) == self.prepared

    def _check_catalogue(self, client: Client) -> None:
        topics = {topic.name: topic for topic in describe_topics(client, self.topic_ids)}
        assert {name: topic.topic_id for name, topic in topics.items()} == self.topic_ids
        settings = {value.name: value for value in describe_configs(client, ResourceType.TOPIC, STATE)}
        assert (settings["segment.ms"].value, settings["segment.ms"].source) == ("1", ConfigSource.TOPIC)

    def _check_groups(self, client: Client) -> None:
        for group, position in self._positions.items():
            assert _committed(client, group) == position
        assert _committed(client, "in-transactions") == self._in_transactions
        assert groups.describe_group(client, "moderns").protocol_type in ("", "consumer")

    def _check_producers(self, client: Client) -> None:
        """The last batch of before is known, and so is the last epoch of the producer that restarts often."""
        assert self._retry is not None
        again = _produce(client, WORDS, self._retry.batch)
        assert again == self._retry.base_offset, (again, self._retry.base_offset)
        if self._crashes is not None:
            before = self._crashes
            self._crashes = transaction_requests.init_producer(client, "crashes", timeout_ms=TIMEOUT_MS).identity
            assert self._crashes.producer_id == before.producer_id
            assert self._crashes.producer_epoch == before.producer_epoch + 1

    def _second_phase(self, client: Client) -> None:
        assert self._waiting is not None
        assert self._value not in _read(client, PREPARED, READ_COMMITTED)
        identity = self._waiting
        try:
            found = transaction_requests.init_producer(
                client, "two-phases", timeout_ms=1, enable_2pc=True, keep_prepared=True
            )
        except KafkaError as refusal:
            if refusal.code != ErrorCode.UNSUPPORTED_VERSION:  # Apache Kafka stores it, but has no request for it
                raise
        else:
            assert found.ongoing == self._waiting
            identity = found.identity
        protocol = transaction_requests.find_protocol(client, "two-phases")
        transaction_requests.end(client, "two-phases", identity, commit=True, protocol=protocol)
        self.prepared.append(self._value)

    def _fence(self, client: Client) -> None:
        assert self._open is not None
        before = self._open
        producer = TransactionalProducer(client, "stays-open")
        producer.init()
        assert producer.identity.producer_id == before.producer_id
        assert producer.identity.producer_epoch > before.producer_epoch
        with pytest.raises(KafkaError, match=r"INVALID_PRODUCER_EPOCH|PRODUCER_FENCED"):
            _produce(client, ENDINGS, _batch(b"zombie", before, 1, "stays-open"), "stays-open")
        assert _committed(client, "never") == -1


def _batch(value: bytes, who: ProducerIdentity, sequence: int, transactional_id: str | None = None) -> bytes:
    return bytes(
        build_batch(
            [NewRecord(value, value, (), int(time.time() * 1000))],
            producer_id=who.producer_id,
            producer_epoch=who.producer_epoch,
            base_sequence=sequence,
            transactional=transactional_id is not None,
        )
    )


def _produce(client: Client, topic: str, batch: bytes, transactional_id: str | None = None) -> int:
    """The base offset the leader gave the batch, or gave it before. KafkaError."""
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
    request = ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=10_000, topic_data=[data])
    deadline = client.deadline()
    leader = client.leader(topic, 0, deadline)
    answer: Any = client.node(leader, deadline).ask(request, deadline, highest_version=12)
    (partition,) = answer.responses[0].partition_responses
    if partition.error_code:
        raise KafkaError(ErrorCode(partition.error_code), partition.error_message)
    return int(partition.base_offset)


def _records(client: Client, topic: str, isolation: int = 0) -> list[Any]:
    consumer = Consumer(client, isolation=isolation, auto_offset_reset="earliest")
    consumer.assign([(topic, 0)])
    found = consumer.poll(0)
    while not consumer.is_at_end():
        found += consumer.poll(500)
    return [each.record for each in found]


def _read(client: Client, topic: str, isolation: int = 0) -> list[bytes | None]:
    return [record.value for record in _records(client, topic, isolation)]


def _latest(client: Client, topic: str) -> dict[bytes, bytes]:
    """What a table made of the topic holds."""
    found: dict[bytes, bytes] = {}
    for record in _records(client, topic, READ_COMMITTED):
        if record.value is None:
            found.pop(record.key, None)
        else:
            found[record.key] = record.value
    return found


def _committed(client: Client, group: str) -> int:
    return committed_offsets(client, group, [(WORDS, 0)]).get((WORDS, 0), -1)
