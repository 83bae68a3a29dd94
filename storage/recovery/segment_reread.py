# compiled: mypyc, as a start after a kill runs it for each batch
"""Rereading a segment: its indexes, leader epochs and producer state are made again from its batches, in steps."""

from __future__ import annotations

from barnabas.protocol.records.batch import LOG_OVERHEAD, NO_PRODUCER_ID
from barnabas.storage.recovery.opening import PauseCounter
from barnabas.storage.recovery.producer_state_rebuild import ProducerRebuild
from barnabas.storage.recovery.segment_walk import SegmentWalk
from barnabas.storage.segment.leader_epoch_cache import LeaderEpochCache
from barnabas.storage.segment.segment import Segment


class SegmentReread:
    """A segment that is reread, from a walk that begins at its first batch. The segment's indexes are empty before."""

    def __init__(
        self, segment: Segment, walk: SegmentWalk, epochs: LeaderEpochCache, rebuild: ProducerRebuild, aborted_max: int
    ) -> None:
        """Start before the first batch. aborted_max: so many aborted transactions in memory end a step."""
        self._segment = segment
        self._walk = walk
        self._batches = iter(walk)
        self._epochs = epochs
        self._rebuild = rebuild
        self._aborted_max = aborted_max
        self._pace = PauseCounter()

    def step(self) -> bool:
        """Reread the next batches; return False after the last one."""
        latest_epoch = self._epochs.latest_epoch
        for position, header, marker in self._batches:
            self._segment.index_stored(position, header)
            epoch = header.partition_leader_epoch
            if epoch > latest_epoch:
                latest_epoch = epoch
                self._epochs.assign(latest_epoch, header.base_offset)
            is_held = False
            if header.producer_id > NO_PRODUCER_ID:
                aborted = self._rebuild.replay(header, marker)
                if aborted is not None:
                    self._segment.add_aborted(aborted)
                    is_held = self._segment.txn_index.in_memory >= self._aborted_max
            if self._pace.is_over(LOG_OVERHEAD + header.batch_length) or is_held:
                self._rebuild.offset = self._walk.next_offset
                return True
        self._rebuild.offset = self._walk.next_offset
        return False
