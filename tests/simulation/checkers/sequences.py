"""Rules about what a log knows of its producers: no sequence is left out, and snapshots are what the log says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from barnabas.protocol.files.producer_snapshot import ProducerEntry, decode
from barnabas.protocol.records.batch import BatchHeader, iter_batches
from tests.simulation.checkers.records import seen
from tests.simulation.history.history import NO_PRODUCER, History, TopicPartition
from tests.simulation.world.disk import Disk

_DATA = "/data"


def accepted_gaps(history: History) -> Iterator[str]:
    """A record is taken only behind the one with the sequence before, of the same producer and epoch.

    A producer that a log knows nothing of may begin anywhere, as in Kafka. Where the beginning of a log was deleted
    nobody can tell.
    """
    records = seen(history.final, is_committed=False)
    offsets = {at: {value: offset for offset, value in each} for at, each in records.items()}
    deleted = {poll.at for poll in history.final if poll.log_start_offset > 0}
    there = [
        (offsets[send.at][send.value], send)
        for send in history.sends
        if send.producer != NO_PRODUCER and send.at not in deleted and send.value in offsets.get(send.at, ())
    ]
    known = {(send.producer, send.at, send.sequence) for _, send in there}
    begins: dict[tuple[int, TopicPartition], int] = {}
    for offset, send in there:
        key = send.producer[0], send.at
        begins[key] = min(offset, begins.get(key, offset))
    for offset, send in there:
        is_first = begins[send.producer[0], send.at] == offset
        if send.sequence > 0 and not is_first and (send.producer, send.at, send.sequence - 1) not in known:
            who = f"{send.producer[0]}/{send.producer[1]}"
            yield f"{send.line()}: it was taken with sequence {send.sequence} of {who}, and the one before is not there"


@dataclass(slots=True)
class _Seen:
    """Of one producer, by the batches of a log."""

    epoch: int = -1
    last_sequence: int = -1
    last_offset: int = -1
    first_of_open: int = -1

    def add(self, header: BatchHeader) -> None:
        if header.producer_epoch != self.epoch:
            self.epoch, self.last_sequence, self.last_offset = header.producer_epoch, -1, -1
        if header.is_control:
            self.first_of_open = -1
            return
        self.last_sequence, self.last_offset = header.last_sequence, header.last_offset
        if header.is_transactional and self.first_of_open < 0:
            self.first_of_open = header.base_offset

    def differs_from(self, entry: ProducerEntry) -> bool:
        told = entry.producer_epoch, entry.last_sequence, entry.last_offset, entry.current_txn_first_offset
        return told != (self.epoch, self.last_sequence, self.last_offset, self.first_of_open)


def wrong_snapshots(disk: Disk) -> Iterator[str]:
    """Each snapshot of a log that is whole has of every producer what the batches below it say."""
    for name in sorted(disk.peek_names(_DATA)):
        path = f"{_DATA}/{name}"
        if name.startswith("__") or disk.peek(path) is not None or name.endswith("-delete"):
            continue
        yield from _wrong_in(disk, path)


def _wrong_in(disk: Disk, path: str) -> Iterator[str]:
    names = sorted(disk.peek_names(path))
    logs = [name for name in names if name.endswith(".log")]
    if not logs or int(logs[0].removesuffix(".log")) > 0:
        return  # what was deleted is not known any more
    headers = [header for name in logs for _, header in iter_batches(disk.peek(f"{path}/{name}") or b"")]
    for name in names:
        if not name.endswith(".snapshot"):
            continue
        end_offset = int(name.removesuffix(".snapshot"))
        producers: dict[int, _Seen] = {}
        for header in headers:
            if header.producer_id >= 0 and header.last_offset < end_offset:
                producers.setdefault(header.producer_id, _Seen()).add(header)
        told = {entry.producer_id: entry for entry in decode(disk.peek(f"{path}/{name}") or b"", end_offset)}
        for producer_id, expected in producers.items():
            entry = told.get(producer_id)
            if entry is None or expected.differs_from(entry):
                yield f"{path}/{name}: the log says {producer_id} {expected}, the snapshot {entry}"
