"""Bugs of files: syncs, checkpoints, and the recovery at a start."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug(
        "CRC not checked by recovery", "Recovery accepts a torn batch because it does not check the CRC.", seeds=200
    ).at("SegmentWalk._check", "not verify_crc(batch)", "len(batch) == 0"),
    Bug(
        "transaction index not truncated",
        "The transaction index of a truncated log still has aborted transactions behind the new end.",
        seeds=300,
    ).at(
        "_Loader._reread",
        "self._directory.remove(segment.txn_index.name)\nsegment.reset_indexes()",
        "kept = list(segment.txn_index.entries)\nsegment.reset_indexes()\nsegment.txn_index._entries = kept",
    ),
    Bug(
        "indexes not rebuilt after a crash",
        "After an unclean stop, the next start does not read unsynced segments again, and trusts their indexes.",
        seeds=300,
    ).at(
        "SEGMENT_CASES",
        "SegmentCase('E', False, False, ANY, Trust.REREAD, 'nothing confirms that any of it reached the disk')",
        "SegmentCase('E', False, False, ANY, Trust.AS_IT_IS, 'nothing confirms that any of it reached the disk')",
    ),
    Bug(
        "failed sync ignored",
        "The disk stays online after a failed sync, although the data of that sync is lost.",
        seeds=300,
    ).at("SyncJob.failed", "self._disk.go_offline(str(error))"),
    Bug(
        "coordinator epoch not in a snapshot",
        "A producer snapshot does not contain the coordinator epoch of the last marker.",
    ).at("ProducerStateEntry.entry", "self.coordinator_epoch", "-1"),
    Bug(
        "wrong high watermark checkpoint",
        "After a clean stop, the checkpoint has the log start offset instead of the high watermark.",
    ).at("LogCheckpoints.note", "log.high_watermark", "log.log_start_offset"),
    Bug(
        "unverified batch appended after a disk error",
        "A batch that could not be verified because of a disk error is appended if the disk works again.",
        seeds=400,
        is_missed=True,
    ).at(
        "_handle_transactional",
        "_append_all(request, context, failed, producer)",
        "_append_all(request, context, producer=producer)",
    ),
    Bug(
        "checkpoint renamed before its sync",
        "A small file gets its final name before its content is on disk.",
        seeds=300,
    ).at("write_whole", "sync_file(file, path)"),
    Bug(
        "truncation not synced",
        "After a power cut, the removed remains of a failed append are in the log again.",
        is_missed=True,
    ).at("Segment._cut_back", "self._sync_state.cut()"),
    Bug(
        "segment deletion not synced",
        "Retention does not sync the directory, and the new log start offset is not on disk yet.",
        is_missed=True,
    ).at(
        "Retention.first_on_disk",
        "self._given_up is not None and self._directory.changes_synced < self._given_up[0]",
        "False",
    ),
    Bug(
        "later appends acknowledged by a sync",
        "Records that are appended during a sync are acknowledged with it.",
        is_missed=True,
    ).at(
        "Flusher.finish",
        "self._watermarks.synced(plan.end_offset)",
        "self._watermarks.synced(self._watermarks.log_end_offset)",
    ),
    Bug(
        "directory of a new segment not synced",
        "A power cut removes a new segment with its acknowledged records.",
        is_missed=True,
    ).at("Flusher._plan", "[self._directory] if self._directory.is_dirty else []", "[]"),
)
