"""librdkafka's consumers as writers of a history: readers of both kinds, of groups' offsets, and of all at the end.

A consumer does not report which of its records came in one Fetch, so what shows in a single moment cannot be judged by
it. How far a partition could be read is in its statistics: the watermarks of a poll are the last ones that it received.
"""

import json
import threading
import time
from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.simulation.history import history
from tests.simulation.history.history import OffsetRead, Poll
from tests.support.histories.clients import INPUT, PATIENCE_S
from tests.support.histories.notes import Notes

RECONNECT = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "log_level": 0,
    # Without it a producer whose only broker was down forgets that broker, but not that it was a group's coordinator:
    # send_offsets_to_transaction then waits for it for minutes, whatever its timeout is (librdkafka #5511 and #5456).
    "metadata.recovery.strategy": "none",
}
_STATISTICS_MS = 100
_ASK_OFFSETS_AGAIN_S = 0.05


def _consumer(
    address: str, group: str, *, is_committed: bool = True, more: Mapping[str, object] | None = None
) -> Consumer:
    """`more`: settings."""
    isolation = "read_committed" if is_committed else "read_uncommitted"
    shared = {"bootstrap.servers": address, "group.id": group, "isolation.level": isolation, **RECONNECT}
    return Consumer({**shared, "enable.auto.commit": False, "fetch.wait.max.ms": 50, **(more or {})})


class Reader:
    """Follows all partitions from their beginning, until it is over."""

    def __init__(
        self,
        notes: Notes,
        address: str,
        name: str,
        partitions: Sequence[history.TopicPartition],
        is_over: threading.Event,
        *,
        is_committed: bool,
    ) -> None:
        self._notes, self._name, self._is_over, self._is_committed = notes, name, is_over, is_committed
        self._positions = dict.fromkeys(partitions, 0)
        self._ends = dict.fromkeys(partitions, (0, 0))
        self._polls = 0
        found = {"stats_cb": self._note_ends, "statistics.interval.ms": _STATISTICS_MS}
        self._consumer = _consumer(address, name, is_committed=is_committed, more=found)

    def run(self) -> None:
        self._consumer.assign([TopicPartition(*at, 0) for at in self._positions])
        while not self._is_over.is_set():
            began_us = self._notes.now_us()
            self._note(began_us, self._consumer.consume(200, timeout=0.1))
        self._consumer.close()

    def _note(self, began_us: int, messages: list[Message]) -> None:
        for at, records in _by_partition(messages).items():
            self._poll(at, began_us, records)

    def _note_ends(self, statistics: str) -> None:
        """A callback of the client: what it knows of its partitions now."""
        topics = json.loads(statistics)["topics"]
        for at, before in self._ends.items():
            partition = topics.get(at[0], {}).get("partitions", {}).get(str(at[1]), {})
            found = partition.get("ls_offset", -1), partition.get("hi_offset", -1)
            if min(found) >= 0 and found != before:
                self._ends[at] = found
                self._poll(at, self._notes.now_us(), [])

    def _poll(self, at: history.TopicPartition, began_us: int, records: list[tuple[int, bytes]]) -> None:
        self._polls += 1
        self._notes.new_poll(
            self._positions,
            at,
            records,
            self._ends[at],
            client=self._name,
            is_committed=self._is_committed,
            times_us=(began_us, self._notes.now_us()),
            fetch=self._polls,
        )


class OffsetReader:
    """Asks for groups' offsets again and again, until it is over."""

    def __init__(self, notes: Notes, address: str, groups: list[str], is_over: threading.Event) -> None:
        self._notes, self._is_over = notes, is_over
        self._consumers = {group: _consumer(address, group) for group in groups}

    def run(self) -> None:
        while not self._is_over.wait(_ASK_OFFSETS_AGAIN_S):
            self._notes.history.offset_reads += self._read(1.0)
        for consumer in self._consumers.values():
            consumer.close()

    def _read(self, timeout_s: float) -> list[OffsetRead]:
        found = []
        for group, consumer in self._consumers.items():
            try:
                found.append(read_offset(self._notes, consumer, group, timeout_s))
            except KafkaException:
                continue  # the broker is away, or the offset is not decided yet
        return found


def read_offset(notes: Notes, consumer: Consumer, group: str, timeout_s: float) -> OffsetRead:
    """The group's offset of INPUT."""
    began_us = notes.now_us()
    [found] = consumer.committed([TopicPartition(*INPUT)], timeout_s)
    if found.error is not None:
        raise KafkaException(found.error)
    return OffsetRead("offsets", group, INPUT, began_us, notes.now_us(), max(found.offset, -1))


def read_all(notes: Notes, address: str, partitions: list[history.TopicPartition], groups: list[str]) -> None:
    """What readers of both kinds see when all is over, and the groups' offsets; into the history."""
    to_end = {"enable.partition.eof": True}
    kinds = {kind: _consumer(address, "final", is_committed=kind, more=to_end) for kind in (True, False)}
    ends = {at: tuple(_end(kinds[kind], at) for kind in (True, False)) for at in partitions}
    for is_committed, consumer in kinds.items():
        began_us = notes.now_us()
        for at, records in _read_to_end(consumer, partitions).items():
            stable, high = ends[at]
            notes.history.final.append(
                Poll(
                    client="final",
                    is_committed=is_committed,
                    at=at,
                    began_us=began_us,
                    ended_us=notes.now_us(),
                    boot=notes.boots,
                    fetch=0,
                    from_offset=0,
                    next_offset=records[-1][0] + 1 if records else 0,
                    records=records,
                    log_start_offset=0,
                    last_stable_offset=stable,
                    high_watermark=high,
                )
            )
        consumer.close()
    for group in groups:
        consumer = _consumer(address, group)
        notes.history.final_offsets.append(read_offset(notes, consumer, group, PATIENCE_S))
        consumer.close()


def is_settled(address: str, partitions: list[history.TopicPartition]) -> bool:
    """Whether no transaction is open: readers of committed records get as far as all others."""
    kinds = [_consumer(address, "settled", is_committed=kind) for kind in (True, False)]
    try:
        return all(_end(kinds[0], at) == _end(kinds[1], at) for at in partitions)
    finally:
        for consumer in kinds:
            consumer.close()


def _end(consumer: Consumer, at: history.TopicPartition) -> int:
    """How far readers of this kind get, by the broker's present answer."""
    found = consumer.get_watermark_offsets(TopicPartition(*at), timeout=PATIENCE_S, cached=False)
    assert found is not None, f"no offsets of {at} in time"
    high: int = found[1]
    return high


def _read_to_end(
    consumer: Consumer, partitions: list[history.TopicPartition]
) -> dict[history.TopicPartition, list[tuple[int, bytes]]]:
    consumer.assign([TopicPartition(*at, 0) for at in partitions])
    found: dict[history.TopicPartition, list[tuple[int, bytes]]] = {at: [] for at in partitions}
    ended: set[tuple[str | None, int | None]] = set()
    until_s = time.monotonic() + PATIENCE_S
    while len(ended) < len(partitions):
        messages = [message for message in (consumer.poll(0.2),) if message is not None]
        assert time.monotonic() < until_s, f"the ends of {set(partitions) - ended} are not reached"
        for message in messages:
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                ended.add((message.topic(), message.partition()))
        for at, records in _by_partition(messages).items():
            found[at] += records
    return found


def _by_partition(messages: list[Message]) -> dict[history.TopicPartition, list[tuple[int, bytes]]]:
    """Offsets and values; a message that is not a record reports a lost connection, or an end."""
    found: dict[history.TopicPartition, list[tuple[int, bytes]]] = {}
    for message in messages:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if message.error() is None and topic is not None and partition is not None and offset is not None:
            found.setdefault((topic, partition), []).append((offset, message.value() or b""))
    return found
