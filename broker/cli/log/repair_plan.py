"""The plan of `barnabas log repair` for a partition: which bytes and offsets are removed, and why. No changes.

Theory of operation: every batch is read with its CRC. A damaged stretch between whole batches is taken out, and a batch
without records takes its offsets, so that all whole batches stay and nothing moves. But if a transaction is open there,
the stretch may have contained the marker that ended it, and later batches could get the wrong outcome: then the log
ends there. It ends there, too, if the stretch was never synced, as when the log is opened.

Knows one partition's files. Nothing is guessed: no offset, length or record of a damaged stretch is trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from barnabas.logfiles.data_directory import PartitionFiles
from barnabas.logfiles.log_file import LogFile
from barnabas.logfiles.walk import Bounds, LogStretch, walk_batches
from barnabas.protocol.files.checkpoints import EpochEntry, epoch_at
from barnabas.protocol.files.names import FileKind, FileState, parse_segment_file, segment_file
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.control import read_marker
from barnabas.storage.config import LONG_MAX
from barnabas.storage.disk.checkpoints import LogCheckpoint


class Loss(NamedTuple):
    """Offsets from `first` up to `after`, exclusive, that are lost; 0 bytes if their bytes are already gone.

    Compaction or an earlier loss may have removed some of them before.
    """

    path: str
    position: int
    size: int
    first: int
    after: int
    why: str

    @property
    def line(self) -> str:
        """The loss as a sentence."""
        if self.first < self.after:
            offsets = f"offsets {self.first} to {self.after - 1}"
        else:
            offsets = f"no offset below {self.first}"
        return f"{self.path} @ {self.position}: {self.size} bytes, {offsets}: {self.why}"


class CutStretch(NamedTuple):
    """Bytes to take out of a segment; the offsets from `first` up to `after` get a batch without records."""

    position: int
    size: int
    first: int
    after: int
    epoch: int
    timestamp: int


class RepairPlan(NamedTuple):
    """The repair of one partition.

    stretches: bytes to take out, by base offset of the segment. ends_in: base offset, position and next offset of the
    new end of the log, None if the end stays. dropped: base offsets of removed segments. set_aside: files beside the
    log that are moved away. notes: other changes.
    """

    files: PartitionFiles
    losses: list[Loss]
    stretches: dict[int, list[CutStretch]]
    ends_in: tuple[int, int, int] | None
    dropped: list[int]
    set_aside: list[str]
    notes: list[str]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to repair."""
        return not (self.losses or self.set_aside or self.notes)


class _Batch(NamedTuple):
    found: LogStretch
    header: BatchHeader


class Planner:
    """Plans the repair of one partition."""

    def __init__(self, files: PartitionFiles, checkpoint: LogCheckpoint, missing: Iterable[int] = ()) -> None:
        """Begin a plan. `missing`: base offsets of lost segments, unless other segments have their offsets."""
        self._missing = list(missing)
        self._checkpoint = checkpoint
        self._open: set[int] = set()  # producers with data in a transaction that has not ended
        self._epoch = 0
        self._epochs: dict[int, int] = {}  # by the first offset of each
        self._timestamp = -1
        self.plan = RepairPlan(files, [], {}, None, [], [], [])
        self.next_offset = files.segments[0].base_offset if files.segments else checkpoint.log_start_offset

    def has_other_epochs(self, entries: Sequence[EpochEntry]) -> bool:
        """Return whether a batch has another leader epoch than the checkpoint, where the checkpoint cannot lag."""
        synced = LONG_MAX if self._checkpoint.was_clean else self._checkpoint.recovery_point
        return any(
            epoch_at(entries, offset) not in (None, epoch) for offset, epoch in self._epochs.items() if offset < synced
        )

    def walk(self) -> None:
        """Read all segments and make the plan."""
        files = self.plan.files
        for number, segment in enumerate(files.segments):
            if self.plan.ends_in is not None:
                self._drop(number)
                continue
            self.next_offset = max(self.next_offset, segment.base_offset)
            self._walk_segment(number)
        lost_from = self.next_offset
        if lost_from < self._checkpoint.recovery_point and self.plan.ends_in is None:
            path = files.log_path(-1) if files.segments else files.directory
            size = files.segments[-1].size if files.segments else 0
            why = "they were synced, but are not on the disk"
            self.plan.losses.append(Loss(path, size, 0, lost_from, self._checkpoint.recovery_point, why))

    def _walk_segment(self, number: int) -> None:
        files = self.plan.files
        base_offset, size = files.segments[number]
        with LogFile(files.log_path(number), size) as log:
            bounds = Bounds(base_offset, files.limit(number))
            pieces = _pieces(walk_batches(log, 0, size, bounds), bounds, self._checkpoint.recovery_point)
            for good, bad in pieces:
                if bad is not None and not self._damaged(number, bad, good):
                    return
                if good is not None:
                    self._account(good)
        after = files.limit(number)
        if after is not None and any(self.next_offset <= base_offset < after for base_offset in self._missing):
            self._damaged(number, (size, 0), None, "the segment after it is missing")

    def _account(self, batch: _Batch) -> None:
        header, data = batch.header, batch.found.batch
        if header.partition_leader_epoch != self._epoch or not self._epochs:
            self._epochs[header.base_offset] = header.partition_leader_epoch
        self.next_offset, self._epoch, self._timestamp = (
            header.next_offset,
            header.partition_leader_epoch,
            header.max_timestamp,
        )
        if header.is_transactional and not header.is_control:
            self._open.add(header.producer_id)
        elif header.is_control and data is not None:
            marker = read_marker(data)
            if marker is not None:
                self._open.discard(marker.producer_id)

    def _damaged(self, number: int, bad: tuple[int, int], behind: _Batch | None, what: str = "damaged") -> bool:
        """Plan a damaged stretch (position, size) before the batch `behind`. Return False if the log ends there."""
        files, (position, size) = self.plan.files, bad
        base_offset, path = files.segments[number].base_offset, files.log_path(number)
        is_last = files.limit(number) is None
        after = behind.header.base_offset if behind is not None else files.limit(number)
        is_unsynced = not self._checkpoint.was_clean and self.next_offset >= self._checkpoint.recovery_point
        if behind is None and is_last:
            why = "the log ends in bytes that are not a batch"
        elif is_unsynced:
            why = f"{what} where no synced offset is known, so the log ends here"
        elif self._open:
            why = f"{what} while a transaction is open: its marker may be in it, so the log ends here"
        else:
            assert after is not None, "a batch or a segment follows it"
            self.plan.losses.append(Loss(path, position, size, self.next_offset, after, what))
            stretch = CutStretch(position, size, self.next_offset, after, self._epoch, self._timestamp)
            self.plan.stretches.setdefault(base_offset, []).append(stretch)
            return True
        rest = files.segments[number].size - position
        end = files.limit(number) or max(self._last_offset(number, position), self._checkpoint.recovery_point)
        self.plan.losses.append(Loss(path, position, rest, self.next_offset, max(end, self.next_offset), why))
        self.plan = self.plan._replace(ends_in=(base_offset, position, self.next_offset))
        return False

    def _last_offset(self, number: int, position: int) -> int:
        """Return the offset after the last whole batch from `position` on."""
        _, size = self.plan.files.segments[number]
        with LogFile(self.plan.files.log_path(number), size) as log:
            found = walk_batches(log, position, size, Bounds(self.next_offset, None))
            return max((each.header.next_offset for each in found if each.header and not each.damage), default=0)

    def _drop(self, number: int) -> None:
        files = self.plan.files
        base_offset, size = files.segments[number]
        after = files.limit(number)
        if after is None:
            self.next_offset = base_offset
            after = max(self._last_offset(number, 0), self._checkpoint.recovery_point, base_offset)
        self.plan.dropped.append(base_offset)
        path = files.log_path(number)
        self.plan.losses.append(Loss(path, 0, size, base_offset, after, "after the log's new end"))


def _pieces(
    found: Iterator[LogStretch], bounds: Bounds, boundary: int
) -> Iterator[tuple[_Batch | None, tuple[int, int] | None]]:
    """Yield (a whole batch, the damaged stretch before it as position and size), in order; the last may have no batch.

    If two batches have common offsets, the one with a gap before it is damaged. So is one that contains `boundary` in
    its middle, since a batch began there.
    """
    before = bounds.base_offset  # the offset after the batch before `held`
    held: _Batch | None = None
    held_bad: tuple[int, int] | None = None
    bad: tuple[int, int] | None = None
    for each in found:
        header = each.header
        if header is not None and each.batch is not None and _may_be(header, bounds.end):
            behind = before if held is None else held.header.next_offset
            if header.base_offset >= behind and not behind < boundary < header.next_offset:
                if held is not None:
                    yield held, held_bad
                    before = held.header.next_offset
                held, held_bad, bad = _Batch(each, header), bad, None
                continue
            if held is not None and bad is None and before <= header.base_offset and before < held.header.base_offset:
                held_bad = _joined(held_bad, (held.found.position, held.found.size))
                held = _Batch(each, header)
                continue
        bad = _joined(bad, (each.position, each.size))
    if held is not None:
        yield held, held_bad
    if bad is not None:
        yield None, bad


def _may_be(header: BatchHeader, end: int) -> bool:
    return header.last_offset_delta >= 0 and header.next_offset <= end


def _joined(first: tuple[int, int] | None, second: tuple[int, int]) -> tuple[int, int]:
    return second if first is None else (first[0], second[0] + second[1] - first[0])


def orphans(names: list[str]) -> list[tuple[int, str]]:
    """Return base offset and name of each index whose log is missing, as in missing.check_segments."""
    parsed = [file for file in map(parse_segment_file, names) if file is not None]
    logs = {file.base_offset for file in parsed if file.kind is FileKind.LOG}
    indexes = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)
    return sorted(
        (file.base_offset, segment_file(file.base_offset, file.kind))
        for file in parsed
        if file.kind in indexes and file.state is FileState.LIVE and file.base_offset not in logs
    )
