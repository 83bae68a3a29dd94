"""Bugs of files: what is on the disk when, and what a start makes of what it finds."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("a torn batch taken for a whole one", "The check of a recovered batch leaves its CRC out.", seeds=200).at(
        "SegmentWalk._check", "not verify_crc(batch)", "len(batch) == 0"
    ),
    Bug(
        "a transaction index that is not cut",
        "What was aborted behind the end of a cut log is still in its index.",
        seeds=300,
    ).at(
        "_Loader._reread",
        "self._directory.remove(segment.txn_index.name)\nsegment.reset_indexes()",
        "kept = list(segment.txn_index.entries)\nsegment.reset_indexes()\nsegment.txn_index._entries = kept",
    ),
    Bug("indexes that are not cut", "The indexes of a log that was cut are trusted by the next start.", seeds=300).at(
        "SEGMENT_CASES",
        "SegmentCase('E', False, False, ANY, Trust.REREAD, 'nothing confirms that any of it reached the disk')",
        "SegmentCase('E', False, False, ANY, Trust.AS_IT_IS, 'nothing confirms that any of it reached the disk')",
    ),
    Bug(
        "a failed sync forgotten",
        "The next sync succeeds, so the broker goes on; what the failed one should have written is nowhere.",
        seeds=300,
    ).at("SyncJob.failed", "self._disk.go_offline(str(error))"),
    Bug(
        "a snapshot without coordinators",
        "A snapshot does not say which coordinator ended a producer's transaction last.",
    ).at("ProducerStateEntry.entry", "self.coordinator_epoch", "-1"),
    Bug(
        "a high watermark that stays behind",
        "Its checkpoint says where the log of a clean stop begins, not where it ends.",
    ).at("LogCheckpoints.note", "log.high_watermark", "log.log_start_offset"),
    Bug(
        "a batch judged by nobody",
        "What could not be judged as the disk failed is appended if the disk is well a moment later.",
        seeds=400,
        is_missed=True,
    ).at(
        "_handle_transactional",
        "_append_all(request, context, failed, producer)",
        "_append_all(request, context, producer=producer)",
    ),
    Bug(
        "a checkpoint renamed before it is written",
        "A small file gets its name before its content is on the disk.",
        seeds=300,
    ).at("write_whole", "sync_file(file, path)"),
    Bug("a cut that is not synced", "What a failed append left is cut off until the power goes.", is_missed=True).at(
        "Segment._cut_back", "self._sync_state.cut()"
    ),
    Bug(
        "deleted segments that come back",
        "Retention does not sync the directory, and the log start that says so is not on the disk yet.",
        is_missed=True,
    ).at(
        "Retention.first_on_disk",
        "self._given_up is not None and self._directory.changes_synced < self._given_up[0]",
        "False",
    ),
    Bug(
        "a sync that counts what was written meanwhile",
        "What is appended while a sync is under way is acknowledged with it.",
        is_missed=True,
    ).at(
        "Flusher.finish",
        "self._watermarks.synced(plan.end_offset)",
        "self._watermarks.synced(self._watermarks.log_end_offset)",
    ),
    Bug(
        "a segment whose name is not synced",
        "A power cut takes a segment with all that was acknowledged of it.",
        seeds=300,
    ).at("Flusher._plan", "[self._directory] if self._directory.is_dirty else []", "[]"),
)
