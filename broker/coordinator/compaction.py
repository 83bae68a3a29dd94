"""Compaction of `__transaction_state`: the present states are written again, and what is before them goes.

Every transaction adds records to this log, and each record replaces the ones before it of its id, so that nearly all
of a long log is history. Once a partition holds more than RECORDS_MIN records, and more than RECORDS_PER_ID for each
of its ids, the state of every id is appended again, in turns. When all of that is on the disk, flushing or not, the
log's start moves to where it began. Files that lie before the start go with the next retention pass.

Invariant: behind the new start, which is where the log ended when its ids were listed, the log says of every id what
the whole log says. An id of the list has its state there, or the tombstone that removed it meanwhile; a newer id has
all its records there. What is appended is the state as it is in that very moment, so it repeats the last record of its
id and the order of records stays the order of what happened: a kill at any time leaves a log that loads to the same.
"""

from __future__ import annotations

from asyncio import Future
from typing import Protocol

from barnabas.broker.clock import Clock
from barnabas.broker.coordinator.runtime.ownership import CoordinatorPartition, OwnedTopic
from barnabas.broker.coordinator.transaction.machine import TransactionMachine
from barnabas.broker.coordinator.transaction.model import TransactionStored
from barnabas.broker.log_lines import line, logger
from barnabas.broker.slices import Kind, Slices, Work
from barnabas.protocol.errors import EncodeError, KafkaError

_log = logger("coordinator")

RECORDS_MIN = 10_000
"""No log is compacted for fewer records, and none again before so many more."""
RECORDS_PER_ID = 10
COMPACTION = Kind(under_way_max=1_000, steps_max=256, slice_ms=5, may_begin_again=False)
"""Writing the states of one partition again, a record in each step."""


class CompactedTopic(OwnedTopic, Protocol):
    """A coordinator's topic whose log may lose its beginning."""

    def synced(self, partition: int) -> Future[None]:
        """Done once all that is in the log now is on the disk, whether flushing is on or not. KafkaError."""

    def delete_replaced_before(self, partition: int, offset: int) -> None:
        """Move the log's start: everything that still counts stands behind it. KafkaError."""


class Compactor:
    """Looks after all partitions. A partition that it does not know, or compacts right now, is not counted."""

    def __init__(self, topic: CompactedTopic, clock: Clock, upkeep: Slices) -> None:
        self._topic = topic
        self._clock = clock
        self._upkeep = upkeep
        self._spare: dict[int, int] = {}  # how many records a partition may take before it is looked at

    def watch(self, partition: CoordinatorPartition[TransactionMachine]) -> None:
        """It was loaded."""
        self._spare[partition.index] = 0
        self.appended(partition, 1)

    def appended(self, partition: CoordinatorPartition[TransactionMachine], count: int) -> None:
        """Its log has grown by so many records. Never raises."""
        spare = self._spare.get(partition.index)
        if spare is None:
            return
        self._spare[partition.index] = spare - count
        if count > spare:
            try:
                self._look(partition)
            except KafkaError as refusal:
                self._give_up(partition, refusal)

    def _look(self, partition: CoordinatorPartition[TransactionMachine]) -> None:
        start_offset, end_offset = self._topic.extent(partition.index)
        ids = list(partition.machine.transactions)
        spare = max(RECORDS_MIN, RECORDS_PER_ID * len(ids)) - (end_offset - start_offset)
        if spare >= 0:
            self._spare[partition.index] = spare
        elif not partition.machine.writes_whole_states:
            self._spare[partition.index] = RECORDS_MIN
        else:
            del self._spare[partition.index]
            self._upkeep.in_slices(lambda: self._compact(partition, ids, end_offset), COMPACTION)

    def _compact(
        self, partition: CoordinatorPartition[TransactionMachine], ids: list[str], start_offset: int
    ) -> Work[None]:
        """Append the states of these ids, wait for the disk, and let go of what is before."""
        machine = partition.machine
        yield self._upkeep.next_turn()  # whoever has appended goes on first
        try:
            while ids:
                if partition.shard.is_closed:
                    return
                transactional_id = ids.pop()
                txn = machine.transaction(transactional_id)
                if txn is not None:
                    record = machine.encode(TransactionStored(transactional_id, txn))
                    self._topic.append(partition.index, [record], self._clock.now_ms())
                yield None
            if partition.shard.is_closed:
                return
            synced = self._topic.synced(partition.index)
            yield synced
            if synced.cancelled() or partition.shard.is_closed:
                return
            synced.result()
            self._topic.delete_replaced_before(partition.index, start_offset)
        except (KafkaError, EncodeError) as refusal:
            self._give_up(partition, refusal)
            return
        self._spare[partition.index] = RECORDS_MIN
        _log.info(line("transaction log compacted", partition=partition.index, log_start_offset=start_offset))

    def _give_up(self, partition: CoordinatorPartition[TransactionMachine], why: Exception) -> None:
        """The log stays as long as it is, for now."""
        self._spare[partition.index] = RECORDS_MIN
        _log.warning(line("transaction log not compacted", partition=partition.index, reason=why))
