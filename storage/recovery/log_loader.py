"""Opening a partition: from the files in its directory to a log that can be appended to.

recovery_decisions.py decides, this acts: finish interrupted work, check each segment, reread data that may not be
durable, cut at the first damage, rebuild producer state. Run twice, it has nothing to do the second time. Every change
of a name is durable before the log is used: a snapshot or a segment that came back after the next power cut would
belong to a log that is gone.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from barnabas.protocol.files.names import (
    LOG_START_CHECKPOINT,
    FileKind,
    FileState,
    segment_file,
)
from barnabas.storage.config import LONG_MAX, LogConfig
from barnabas.storage.disk.checkpoints import LogCheckpoint
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.sync_job import RemovalJob
from barnabas.storage.errors import CorruptFile, DirectoryFull
from barnabas.storage.producers.producer_state_manager import ProducerStateManager
from barnabas.storage.producers.snapshots import ProducerSnapshots
from barnabas.storage.recovery.first_listing import first_listing
from barnabas.storage.recovery.interrupted import Interrupted
from barnabas.storage.recovery.listing import Listing
from barnabas.storage.recovery.missing_files import check_between, check_end, check_first, check_segments
from barnabas.storage.recovery.opening import SEGMENTS_A_PIECE, Opening
from barnabas.storage.recovery.producer_state_rebuild import ProducerRebuild
from barnabas.storage.recovery.recovery_decisions import (
    Tail,
    TailAction,
    Trust,
    decide_tail,
    stray_snapshots,
    trust_segment,
)
from barnabas.storage.recovery.report import Recovered, RecoveryReport
from barnabas.storage.recovery.segment_recovery import (
    TailDamage,
    corrupt,
    find_damage,
    set_segment_aside,
    set_tail_aside,
    synced_ahead,
    walk_to_end,
)
from barnabas.storage.recovery.segment_reread import SegmentReread
from barnabas.storage.recovery.segment_walk import SegmentWalk
from barnabas.storage.segment.leader_epoch_cache import LeaderEpochCache
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segment_checksums import SegmentChecksums

_ABORTED_HELD_MAX = 4096  # aborted transactions of a segment in memory while it is reread


class LoadedLog(NamedTuple):
    """The parts of a PartitionLog. The last segment is active."""

    segments: list[Segment]
    producers: ProducerStateManager
    snapshots: ProducerSnapshots
    epochs: LeaderEpochCache
    sums: SegmentChecksums
    log_start_offset: int
    recovery_point: int
    recovered: Recovered


def load_log(directory: Directory, config: LogConfig, checkpoint: LogCheckpoint, now_ms: int) -> Opening[LoadedLog]:
    """Open the partition in `directory`, which exists. CorruptFile on damage that cannot be repaired safely."""
    loader = _Loader(directory, config, checkpoint, now_ms)
    try:
        return (yield from loader.load())
    except BaseException:  # also when cancelled half way: open files occupy disk space when they are deleted
        loader.close_files()
        raise


class _Loader:
    def __init__(self, directory: Directory, config: LogConfig, checkpoint: LogCheckpoint, now_ms: int) -> None:
        self._directory = directory
        self._config = config
        self._checkpoint = checkpoint
        self._now_ms = now_ms
        self._segments: list[Segment] = []
        self._report = RecoveryReport()
        self._are_index_removals_durable = False
        self._gone_unsynced: list[int] = []  # base offsets of segments of which a power cut left only the indexes
        self._has_unsynced_names = False  # possibly: a killed run created them, and would have synced them later

    def load(self) -> Opening[LoadedLog]:
        found, self._sums = yield from first_listing(self._directory)
        self._gone_unsynced = check_segments(self._directory, found, self._synced_offset())
        self._epochs = LeaderEpochCache(self._directory)
        if (first := check_first(self._directory, found, self._epochs, self._checkpoint)) is not None:
            yield from self._begin_epochs_instead(first, found)
        found = yield from Interrupted(self._directory, self._config, self._now_ms, self._report).finish(found)
        self._live = found.live
        self._epochs_found = self._epochs.entries
        self._snapshots = ProducerSnapshots(self._directory, self._live[FileKind.PRODUCER_SNAPSHOT])
        if not self._checkpoint.was_clean:
            self._snapshots.doubt_from(self._checkpoint.recovery_point)
        is_cleaned = self._config.is_compacted or self._checkpoint.was_cleaned
        self._segments_found = len(found.logs)
        yield from self._open_segments(found.logs, is_cleaned=is_cleaned)
        if not is_cleaned:
            yield from self._check_between()
        self._rebuild = ProducerRebuild(self._segments, self._snapshots, self._now_ms, self._high_watermark())
        yield from self._recover_segments()
        self._restart_below_start()
        return (yield from self._settle())

    def _begin_epochs_at(self, offset: int) -> None:
        """Durably set the start of the epochs, before the `.deleted` files or the row that explain it are removed."""
        self._epochs.truncate_from_start(offset)
        self._epochs.write()

    def _begin_epochs_instead(self, offset: int, found: Listing) -> Opening[None]:
        """Remove `.deleted` logs to make space if there is none for the epochs; other files of their segments stay."""
        try:
            self._begin_epochs_at(offset)
        except DirectoryFull:
            logs = f"{FileKind.LOG.value}{FileState.DELETED.value}"
            yield RemovalJob(self._directory, [name for name in found.other_names if name.endswith(logs)])
            self._begin_epochs_at(offset)

    def close_files(self) -> None:
        """Close every descriptor."""
        for segment in self._segments:
            segment.log.close()

    def _check_between(self) -> Opening[None]:
        """Check for Y: segments that are gone between existing ones. Compaction may remove some legitimately."""
        bases = [segment.base_offset for segment in self._segments]
        synced = self._synced_offset()
        gone = set(self._sums.base_offsets).difference(bases) if bases else ()
        for base_offset in sorted(gone):
            if bases[0] < base_offset < min(bases[-1], synced):
                behind = bisect_right(bases, base_offset)
                walk = self._walk(self._segments[behind - 1], 0)
                if (yield from walk_to_end(walk)) is None:
                    check_between(self._directory, walk.next_offset, base_offset, bases[behind])

    def _synced_offset(self) -> int:
        """Return the offset below which everything is on the disk."""
        return LONG_MAX if self._checkpoint.was_clean else self._checkpoint.recovery_point

    def _high_watermark(self) -> int:
        """Return the largest possible high watermark: no limit if one replica is enough, else the checkpoint's."""
        return LONG_MAX if self._config.min_insync_replicas <= 1 else self._checkpoint.high_watermark or 0

    # --- segments ---

    def _open_segments(self, bases: list[int], *, is_cleaned: bool) -> Opening[None]:
        while len(bases) > 1 and self._directory.size(segment_file(bases[-1], FileKind.LOG)) == 0:
            self._report.add("X")  # created by a failed or by the last roll; the log may have grown past its base
            Segment(self._directory, bases.pop(), self._config, self._now_ms).remove()
        for count, (base, after) in enumerate(zip(bases, [*bases[1:], None], strict=False)):
            if count and not count % SEGMENTS_A_PIECE:
                yield None
            is_synced = self._is_synced(after)
            self._segments.append(self._open_segment(base, is_durable=is_synced))
            if is_synced:
                self._sums.check_size(self._segments[-1], may_be_shorter=is_cleaned)

    def _open_segment(self, base_offset: int, *, is_durable: bool) -> Segment:
        segment = Segment.open(self._directory, base_offset, self._config, self._now_ms, is_durable=is_durable)
        segment.indexes.tells_all_times = self._checkpoint.tells_all_times
        return segment

    def _is_synced(self, end_offset: int | None) -> bool:
        """Return whether the segment that ends there is durable. Of the last one (None) a flush syncs only the log."""
        if self._checkpoint.was_clean:
            return True
        return end_offset is not None and end_offset <= self._checkpoint.recovery_point

    def _recover_segments(self) -> Opening[None]:
        for index, segment in enumerate(self._segments):
            if index and not index % SEGMENTS_A_PIECE:
                yield None
            is_last = index == len(self._segments) - 1
            has_indexes = self._has_indexes(segment)
            damage = None
            if is_last and has_indexes:
                walk = self._walk(segment, segment.offset_index.last[1])
                damage = yield from walk_to_end(walk)
                if damage is not None and self._checkpoint.was_clean:
                    yield from self._judge(segment, damage)  # raises before anything is changed
                end_offset = walk.next_offset if damage is None else None
                has_indexes = self._are_indexes_of(segment, walk.next_offset)
            else:
                end_offset = None if is_last else self._segments[index + 1].base_offset
                has_indexes = has_indexes and self._are_indexes_synced(end_offset)
            case = trust_segment(
                was_clean=self._checkpoint.was_clean, is_synced=self._is_synced(end_offset), has_indexes=has_indexes
            )
            self._report.add(case.letter)
            if case.decision is Trust.REREAD:
                if (yield from self._reread(index, is_unsynced=case.letter == "E")):
                    break
            elif damage is not None:
                yield from self._judge(segment, damage)

    def _has_indexes(self, segment: Segment) -> bool:
        """Return whether both sparse indexes exist (valid in the last segment) and a transaction index is unchanged."""
        base, live = segment.base_offset, self._live
        if base not in live[FileKind.OFFSET_INDEX] or base not in live[FileKind.TIME_INDEX]:
            return False
        if segment is self._segments[-1] and not segment.indexes.load(segment.size):
            return False
        has_txn_index = base in live[FileKind.TXN_INDEX]
        if has_txn_index:
            try:
                segment.txn_index.check()
            except CorruptFile:
                return False
        return self._sums.is_right(segment, has_txn_index=has_txn_index)

    def _are_indexes_synced(self, end_offset: int | None) -> bool:
        """Return whether the indexes are synced: at the recovery point if a producer snapshot exists, written last."""
        checkpoint = self._checkpoint
        return checkpoint.was_clean or end_offset != checkpoint.recovery_point or end_offset in self._snapshots.offsets

    def _are_indexes_of(self, segment: Segment, end_offset: int) -> bool:
        """Return whether the last segment's indexes belong to the log that ends there, not to a longer or shorter one.

        After a kill they do if a producer snapshot stands at the end: it is written last, by a clean stop or a roll.
        """
        if segment.time_index.last[1] >= max(end_offset, segment.base_offset + 1):
            return False
        return self._checkpoint.was_clean or end_offset in self._snapshots.offsets

    def _walk(self, segment: Segment, position: int) -> SegmentWalk:
        is_exact = not self._checkpoint.was_clean and not self._config.is_compacted
        boundary = self._checkpoint.recovery_point if is_exact else None
        synced = self._synced_offset()
        return SegmentWalk(segment, position, self._config.max_message_bytes, boundary, self._epochs_found, synced)

    def _reread(self, index: int, *, is_unsynced: bool) -> Opening[bool]:
        """Rebuild a segment's indexes, epochs and producer state from its batches. True if the log ends here now."""
        segment = self._segments[index]
        self._report.segments_reread += 1
        self._has_unsynced_names = True
        yield from self._rebuild.advance_to(segment.base_offset)
        if is_unsynced:  # these may describe batches that are gone; all of it is found again below
            self._epochs.truncate_from_end(segment.base_offset)
            self._snapshots.remove([offset for offset in self._snapshots.offsets if offset > segment.base_offset])
            if index > 0:
                self._snapshots.write(segment.base_offset, self._rebuild.producers.snapshot())
        self._directory.remove(segment.txn_index.name)
        segment.reset_indexes()
        self._sums.forget(segment)
        # The old files may name batches that a power cut took. An active segment's are written when it is sealed.
        self._directory.remove(segment.offset_index.name)
        self._directory.remove(segment.time_index.name)
        self._are_index_removals_durable = False
        walk = self._walk(segment, 0)
        reread = SegmentReread(segment, walk, self._epochs, self._rebuild, _ABORTED_HELD_MAX)
        while reread.step():
            if segment.txn_index.in_memory >= _ABORTED_HELD_MAX:
                self._release_aborted(segment)
            yield None
        is_cut = yield from self._judge(segment, (yield from find_damage(walk)))
        behind = self._segments[index + 1 :]
        if behind and (is_cut or self._has_hole_behind(walk.next_offset, behind[0])):
            self._drop_behind(index, walk.next_offset)
            return True
        if behind:
            if self._is_synced(behind[0].base_offset):
                yield from synced_ahead(segment.log, segment.size)
                segment.close()  # the recovery point has passed it already
            else:
                segment.seal()
            segment.txn_index.release()
            yield from self._rebuild.advance_to(behind[0].base_offset)
        return False

    def _release_aborted(self, segment: Segment) -> None:
        """Write the aborted transactions found so far to the file and drop them from memory.
        The other indexes must be durably removed before: beside them, after a power cut, it would count as complete.
        """
        if not self._are_index_removals_durable:
            self._directory.sync()
            self._are_index_removals_durable = True
        segment.txn_index.release()

    def _has_hole_behind(self, next_offset: int, after: Segment) -> bool:
        """Return whether unsynced batches are missing between a reread segment and the next, lost by a power cut.

        A compacted log has such holes legitimately, unless an index lies in one.
        """
        if self._is_synced(after.base_offset):
            return False
        if self._config.is_compacted:
            return any(next_offset <= base_offset < after.base_offset for base_offset in self._gone_unsynced)
        return after.base_offset != next_offset

    def _judge(self, segment: Segment, damage: TailDamage | None) -> Opening[bool]:
        """Apply the decision of the table about a tail. True if something was cut."""
        is_synced = damage is not None and (
            self._checkpoint.was_clean or damage.lowest_offset < self._checkpoint.recovery_point
        )
        case = decide_tail(Tail.WHOLE if damage is None else damage.tail, is_synced=is_synced)
        self._report.add(case.letter)
        if damage is None:
            return False
        if case.decision is TailAction.REFUSE:
            raise corrupt(segment, damage, case)
        if case.decision is TailAction.SET_ASIDE:
            yield from set_tail_aside(self._directory, segment, damage.position)
        yield from synced_ahead(segment.log, segment.size)
        segment.truncate(damage.position, damage.next_offset)
        self._report.dropped(damage.size)
        self._report.note(
            f"{segment.log.name}: {damage.size} bytes from offset {damage.next_offset} on dropped: {damage.what}"
        )
        return True

    def _drop_behind(self, index: int, next_offset: int) -> None:
        """Drop segments after a cut or a hole (U), so that a prefix of the written log remains."""
        self._report.add("U")
        for segment in self._segments[index + 1 :]:
            self._report.dropped(segment.size, segments=1)
            self._report.note(f"{segment.log.name}: {segment.size} bytes dropped: the log ends at {next_offset} now")
            set_segment_aside(self._directory, segment)
        del self._segments[index + 1 :]

    def _restart_below_start(self) -> None:
        """Restart a log that ends below its start offset (V): it holds only deleted records.

        CorruptFile after a clean stop, at which no log ends below its start.
        """
        start_offset = self._checkpoint.log_start_offset
        if self._segments and self._end_offset() < start_offset:
            if self._checkpoint.was_clean:
                raise CorruptFile(
                    self._segments[-1].log.path,
                    f"the log ends at offset {self._end_offset()}, but by {LOG_START_CHECKPOINT} it starts at "
                    f"{start_offset}",
                )
            self._report.add("V")
            for segment in self._segments:
                self._report.dropped(segment.size, segments=1)
                set_segment_aside(self._directory, segment)
            self._report.note(f"every segment dropped: their records were deleted, the log starts at {start_offset}")
            self._segments.clear()

    # --- the rest ---

    def _settle(self) -> Opening[LoadedLog]:
        checkpoint = self._checkpoint
        if not self._segments:
            self._segments.append(
                Segment.create(self._directory, checkpoint.log_start_offset, self._config, self._now_ms)
            )
        elif self._segments[-1].is_sealed:
            self._segments[-1].activate()
        end_offset = self._end_offset()
        check_end(self._segments[-1].log.path, end_offset, checkpoint)
        bases = [segment.base_offset for segment in self._segments]
        strays = stray_snapshots(self._snapshots.offsets, bases, end_offset)
        self._report.add("P" if any(offset > end_offset for offset in strays) else "")
        self._report.add("Q" if any(offset < end_offset for offset in strays) else "")
        self._snapshots.remove(strays)
        yield from self._rebuild.advance_to(end_offset)
        self._report.add(self._rebuild.letters)
        log_start_offset = max(checkpoint.log_start_offset, bases[0])
        self._epochs.truncate_from_end(end_offset)
        if self._epochs_found and self._epochs_found[0].start_offset < bases[0]:
            self._begin_epochs_at(log_start_offset)
        self._epochs.truncate_from_start(log_start_offset)
        if self._has_unsynced_names or (self._directory.is_dirty and self._segments_found):
            self._directory.sync()  # the names of a new log are synced with its first records (log/flush.py)
        recovery_point = end_offset if checkpoint.was_clean else checkpoint.recovery_point
        return LoadedLog(
            self._segments,
            self._rebuild.producers,
            self._snapshots,
            self._epochs,
            self._sums,
            log_start_offset,
            recovery_point,
            self._report.recovered(end_offset, self._rebuild.headers_replayed),
        )

    def _end_offset(self) -> int:
        return self._segments[-1].next_offset
